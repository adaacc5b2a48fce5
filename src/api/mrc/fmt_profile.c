/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fmt_profile - EV format profiles: how wide the fields of an EV are on the wire.
 *
 * A change is made on a copy and put in place only when all of it is right, so that a failed call
 * has changed nothing.  A profile that nobody has configured is in state INIT; it takes up a slot
 * only from OFFLINE on.
 */
#include "mrc_local.h"

#include <errno.h>
#include <string.h>

#define MASK_ALL                                                                                   \
	(MRC_CTL_EV_FMT_PROFILE_STATE | MRC_CTL_EV_FMT_PROFILE_CUR_STATE |                         \
		MRC_CTL_EV_FMT_PROFILE_MODE | MRC_CTL_EV_FMT_PROFILE_OP |                          \
		MRC_CTL_EV_FMT_VENDOR_CFG)

static int set_fields(struct plant_fmt *fmt, const struct mrc_ctl_ev_fmt_profile_attr *attr)
{
	if (attr->ev_fmt_op.op != MRC_CTL_EV_FMT_OP_MODIFY_FIELDS)
		return EINVAL;
	int rc = fields_check_fmt(
		fmt->mode, attr->ev_fmt_op.fmt_fields, attr->ev_fmt_op.fmt_field_count);

	if (rc)
		return rc;
	fmt->n_fields = (uint8_t)attr->ev_fmt_op.fmt_field_count;
	memcpy(fmt->field, attr->ev_fmt_op.fmt_fields,
		sizeof(fmt->field[0]) * fmt->n_fields);
	return 0;
}

static int move(struct plant_fmt *fmt, enum mrc_ctl_profile_state to)
{
	switch (to) {
	case MRC_CTL_PROFILE_INIT:
		if (fmt->state != MRC_CTL_PROFILE_OFFLINE)
			return EINVAL;
		break;
	case MRC_CTL_PROFILE_OFFLINE:
		if (!fmt->mode)
			return EINVAL;
		break;
	case MRC_CTL_PROFILE_ONLINE:
		if (fmt->state == MRC_CTL_PROFILE_INIT || !fmt->n_fields)
			return EINVAL;
		break;
	default:
		return EINVAL;
	}
	fmt->state = (uint8_t)to;
	return 0;
}

static bool is_needed(struct plant *plant, uint64_t id)
{
	for (uint32_t i = 0; i < PLANT_PROFILES; i++) {
		const struct plant_evs *evs = &plant->evs[i];

		if (evs->state == MRC_CTL_PROFILE_ONLINE && evs->fmt_id == id &&
			evs->mode != MRC_CTL_EV_MODE_AUTO)
			return true;
	}
	return false;
}

static int get_fields(const struct plant_fmt *fmt, struct mrc_ctl_ev_fmt_profile_attr *attr)
{
	if (attr->ev_fmt_op.op != MRC_CTL_EV_FMT_OP_QUERY_FIELDS)
		return EINVAL;
	return fields_tell(attr->ev_fmt_op.fmt_fields, &attr->ev_fmt_op.fmt_field_count, fmt->field,
		fmt->n_fields, sizeof(fmt->field[0]));
}

static int modify(struct plant *plant, uint64_t id, struct mrc_ctl_ev_fmt_profile_attr *attr,
	int mask)
{
	struct plant_fmt *slot = plant_fmt_take(plant, id);

	if (!slot)
		return ENOMEM;
	struct plant_fmt fmt = *slot;
	/* The published list of what a modify may do has the question for fields, too. */
	bool asks = mask & MRC_CTL_EV_FMT_PROFILE_OP &&
		    attr->ev_fmt_op.op == MRC_CTL_EV_FMT_OP_QUERY_FIELDS;
	int config = MRC_CTL_EV_FMT_PROFILE_MODE | (asks ? 0 : MRC_CTL_EV_FMT_PROFILE_OP);
	int rc = 0;

	if (mask & MRC_CTL_EV_FMT_PROFILE_CUR_STATE && attr->cur_profile_state != fmt.state)
		return EINVAL;
	if (fmt.state == MRC_CTL_PROFILE_INIT &&
		!(mask & MRC_CTL_EV_FMT_PROFILE_STATE &&
			attr->profile_state == MRC_CTL_PROFILE_OFFLINE))
		return EINVAL;
	if (fmt.state == MRC_CTL_PROFILE_ONLINE) {
		if (mask & config)
			return EINVAL;
		if (mask & MRC_CTL_EV_FMT_PROFILE_STATE && is_needed(plant, id))
			return EBUSY;
	}
	if (mask & MRC_CTL_EV_FMT_PROFILE_MODE) {
		if (!fields_mode_width(attr->ev_fmt_mode))
			return EINVAL;
		if (fmt.mode != attr->ev_fmt_mode)
			fmt.n_fields = 0;
		fmt.mode = (uint8_t)attr->ev_fmt_mode;
	}
	if (mask & MRC_CTL_EV_FMT_PROFILE_OP)
		rc = asks ? get_fields(&fmt, attr) : set_fields(&fmt, attr);
	if (mask & MRC_CTL_EV_FMT_VENDOR_CFG)
		memcpy(fmt.vendor_cfg, attr->vendor_cfg, sizeof(fmt.vendor_cfg));
	if (!rc && mask & MRC_CTL_EV_FMT_PROFILE_STATE)
		rc = move(&fmt, attr->profile_state);
	if (!rc)
		*slot = fmt;
	return rc;
}

int mrc_ctl_modify_ev_fmt_profile(struct mrc_context *mrc_ctx, uint64_t ev_fmt_profile_id,
	struct mrc_ctl_ev_fmt_profile_attr *attr, int attr_mask)
{
	if (!alive_is(mrc_ctx) || !attr || attr_mask & ~MASK_ALL)
		return fail(EINVAL);
	struct plant *plant = mrc_ctx->station->plant;

	plant_lock(plant);
	int rc = modify(plant, ev_fmt_profile_id, attr, attr_mask);

	plant_unlock(plant);
	return rc ? fail(rc) : 0;
}

int mrc_ctl_query_ev_fmt_profile(struct mrc_context *mrc_ctx, uint64_t ev_fmt_profile_id,
	struct mrc_ctl_ev_fmt_profile_attr *attr, int attr_mask)
{
	static const struct plant_fmt none;

	if (!alive_is(mrc_ctx) || !attr || attr_mask & ~MASK_ALL)
		return fail(EINVAL);
	struct plant *plant = mrc_ctx->station->plant;
	int rc = 0;

	plant_lock(plant);
	const struct plant_fmt *fmt = plant_fmt_find(plant, ev_fmt_profile_id);

	if (!fmt)
		fmt = &none;
	if (attr_mask & (MRC_CTL_EV_FMT_PROFILE_STATE | MRC_CTL_EV_FMT_PROFILE_CUR_STATE)) {
		attr->profile_state = (enum mrc_ctl_profile_state)fmt->state;
		attr->cur_profile_state = (enum mrc_ctl_profile_state)fmt->state;
	}
	if (attr_mask & MRC_CTL_EV_FMT_PROFILE_MODE)
		attr->ev_fmt_mode = (enum mrc_ctl_ev_fmt_mode)fmt->mode;
	if (attr_mask & MRC_CTL_EV_FMT_PROFILE_OP)
		rc = get_fields(fmt, attr);
	if (attr_mask & MRC_CTL_EV_FMT_VENDOR_CFG)
		memcpy(attr->vendor_cfg, fmt->vendor_cfg, sizeof(attr->vendor_cfg));
	plant_unlock(plant);
	return rc ? fail(rc) : 0;
}
