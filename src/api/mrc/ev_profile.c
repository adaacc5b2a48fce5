/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ev_profile - EV profiles: which paths the QPs of a group spray over.
 *
 * The rules about states and attributes are those of the OCP MRC API 1.0.1 [P 3.11].  Attributes
 * and the state change on a copy; only the entries of an EV operation are changed in place, one by
 * one, because the API wants the earlier ones done when a later one fails.  So a profile that lacks
 * something on its way to ONLINE keeps what came with the move, and stays OFFLINE.
 */
#include "mrc_local.h"

#include <errno.h>
#include <string.h>

#define CONFIG                                                                                     \
	(MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID | MRC_CTL_EV_PROFILE_COUNT |          \
		MRC_CTL_EV_PROFILE_MIN_ACTIVE)
#define OPS (MRC_CTL_EV_PROFILE_EV_OP | MRC_CTL_EV_PROFILE_EV_FIELDS_OP)
#define MASK_ALL                                                                                   \
	(CONFIG | MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_CUR_STATE |                        \
		MRC_CTL_EV_PROFILE_EVENT_MASK | OPS | MRC_CTL_EV_PROFILE_VENDOR_CFG)

/* Everything of a profile but its EVs: what fits on a stack. */
struct head {
	uint8_t state, mode;
	uint64_t fmt_id;
	uint32_t count, min_active;
	int event_mask;
	bool has_min_active, has_event_mask;
};

static int set_config(struct head *head, const struct mrc_ctl_ev_profile_attr *attr, int mask)
{
	if (mask & MRC_CTL_EV_PROFILE_MODE) {
		if (attr->ev_mode != MRC_CTL_EV_MODE_AUTO &&
			attr->ev_mode != MRC_CTL_EV_MODE_EXP &&
			attr->ev_mode != MRC_CTL_EV_MODE_GEN)
			return EINVAL;
		head->mode = (uint8_t)attr->ev_mode;
	}
	if (mask & MRC_CTL_EV_PROFILE_FMT_ID)
		head->fmt_id = attr->ev_fmt_profile_id;
	if (mask & MRC_CTL_EV_PROFILE_COUNT) {
		if (attr->ev_count < 1)
			return EINVAL;
		if (attr->ev_count > PLANT_EVS)
			return E2BIG;
		head->count = attr->ev_count;
	}
	if (mask & MRC_CTL_EV_PROFILE_MIN_ACTIVE) {
		head->min_active = attr->ev_min_active;
		head->has_min_active = true;
	}
	if (mask & MRC_CTL_EV_PROFILE_EVENT_MASK) {
		if (attr->ev_event_mask & ~(MRC_CTL_EV_GOOD | MRC_CTL_EV_ASSUMED_BAD))
			return EINVAL;
		head->event_mask = attr->ev_event_mask;
		head->has_event_mask = true;
	}
	return 0;
}

/* Another mode or length: what stands in the list is forgotten. */
static bool empties(const struct plant_evs *evs, const struct head *head)
{
	return evs->mode != head->mode || evs->count != head->count;
}

/* What must be known before QPs may use it. */
static int check_online(struct plant *plant, const struct plant_evs *evs, const struct head *head)
{
	bool is_list = head->mode == MRC_CTL_EV_MODE_EXP;

	if (head->mode == MRC_CTL_EV_MODE_AUTO)
		return 0;
	if (is_list && empties(evs, head))
		return EINVAL;
	const struct plant_fmt *fmt = plant_fmt_find(plant, head->fmt_id);

	if (!fmt || fmt->state != MRC_CTL_PROFILE_ONLINE)
		return fmt ? EINVAL : ENOENT;
	if (head->mode == MRC_CTL_EV_MODE_GEN && !evs->n_fields)
		return EINVAL;
	/* The format may be another one than when they were given. */
	if (evs->n_fields && fields_check(evs->field, evs->n_fields, fmt))
		return EINVAL;
	for (uint32_t i = 0; is_list && i < head->count; i++) {
		if (!evs->ev[i].ev.port)
			return EINVAL;
	}
	return 0;
}

static int move(struct plant *plant, const struct plant_evs *evs, struct head *head, int mask,
	enum mrc_ctl_profile_state to)
{
	int need = MRC_CTL_EV_PROFILE_FMT_ID | MRC_CTL_EV_PROFILE_COUNT;
	int rc = 0;

	if (head->state == MRC_CTL_PROFILE_ONLINE && to != MRC_CTL_PROFILE_ONLINE &&
		plant_evs_users(plant, evs))
		return EBUSY;
	switch (to) {
	case MRC_CTL_PROFILE_INIT:
		rc = head->state == MRC_CTL_PROFILE_OFFLINE ? 0 : EINVAL;
		break;
	case MRC_CTL_PROFILE_OFFLINE:
		if (head->state == MRC_CTL_PROFILE_INIT &&
			(!head->mode ||
				(head->mode != MRC_CTL_EV_MODE_AUTO && (mask & need) != need)))
			rc = EINVAL;
		break;
	case MRC_CTL_PROFILE_ONLINE:
		rc = head->state == MRC_CTL_PROFILE_INIT ? EINVAL : check_online(plant, evs, head);
		break;
	default:
		rc = EINVAL;
	}
	head->state = (uint8_t)to;
	return rc;
}

/* The ports of the device take turns, as its own paths do. */
static void generate(const struct mrc_context *context, struct plant_evs *evs)
{
	uint32_t planes = context->station->planes;

	for (uint32_t i = 0; i < evs->count; i++) {
		fields_generate(evs->field, evs->n_fields, i / planes,
			(evs->count + planes - 1) / planes, evs->ev[i].ev.val);
		evs->ev[i].ev.port = (uint8_t)(i % planes + 1);
	}
}

static int set_fields(struct plant *plant, struct plant_evs *evs, uint64_t fmt_id,
	const struct mrc_ctl_ev_profile_attr *attr)
{
	const struct plant_fmt *fmt = plant_fmt_find(plant, fmt_id);
	int n = attr->ev_fields_op.field_count;

	if (attr->ev_fields_op.op != MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS)
		return EINVAL;
	if (!fmt || !fmt->n_fields)
		return fmt ? EINVAL : ENOENT;
	int rc = fields_check(attr->ev_fields_op.fields, n, fmt);

	if (rc)
		return rc;
	memcpy(evs->field, attr->ev_fields_op.fields, sizeof(evs->field[0]) * (size_t)n);
	evs->n_fields = n;
	return 0;
}

static int check_turn(struct plant *plant, const struct plant_evs *slot,
	const struct mrc_ctl_ev_profile_attr *attr, int mask)
{
	if ((mask & OPS) == OPS)
		return EINVAL;
	if (mask & MRC_CTL_EV_PROFILE_CUR_STATE && attr->cur_profile_state != slot->state)
		return EINVAL;
	if (slot->state == MRC_CTL_PROFILE_INIT &&
		!(mask & MRC_CTL_EV_PROFILE_STATE &&
			attr->profile_state == MRC_CTL_PROFILE_OFFLINE))
		return EINVAL;
	if (slot->state == MRC_CTL_PROFILE_ONLINE && mask & CONFIG)
		return plant_evs_users(plant, slot) ? EBUSY : EINVAL;
	return 0;
}

static void put_head(struct plant_evs *evs, const struct head *head)
{
	if (empties(evs, head))
		memset(evs->ev, 0, sizeof(evs->ev));
	evs->state = head->state;
	evs->mode = head->mode;
	evs->fmt_id = head->fmt_id;
	evs->count = head->count;
	evs->min_active = head->min_active;
	evs->event_mask = head->event_mask;
	evs->has_min_active = head->has_min_active;
	evs->has_event_mask = head->has_event_mask;
	evs->changes++;
}

static int get_fields(const struct plant_evs *evs, struct mrc_ctl_ev_profile_attr *attr)
{
	if (attr->ev_fields_op.op != MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS)
		return EINVAL;
	return fields_tell(attr->ev_fields_op.fields, &attr->ev_fields_op.field_count, evs->field,
		evs->n_fields, sizeof(evs->field[0]));
}

/* A modify may ask as a query does; it is then one for the rest of what it says. */
static bool asks(const struct mrc_ctl_ev_profile_attr *attr, int mask)
{
	return (mask & MRC_CTL_EV_PROFILE_EV_OP &&
		       (attr->ev_op.op == MRC_CTL_EV_OP_QUERY_EV_STATE ||
			       attr->ev_op.op == MRC_CTL_EV_OP_QUERY_EV_ARRAY)) ||
	       (mask & MRC_CTL_EV_PROFILE_EV_FIELDS_OP &&
		       attr->ev_fields_op.op == MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS);
}

/* All but the EVs of a list, and a move that waits for those: done, or nothing has changed. */
static int configure(struct mrc_context *context, struct plant_evs *slot, struct head *head,
	const struct mrc_ctl_ev_profile_attr *attr, int mask)
{
	struct plant *plant = context->station->plant;
	bool sets_fields = mask & MRC_CTL_EV_PROFILE_EV_FIELDS_OP && !asks(attr, mask);
	int rc = set_config(head, attr, mask);

	if (!rc && head->min_active > head->count && head->mode != MRC_CTL_EV_MODE_AUTO)
		rc = EINVAL;
	if (!rc && head->mode != MRC_CTL_EV_MODE_AUTO && mask & MRC_CTL_EV_PROFILE_FMT_ID &&
		!plant_fmt_find(plant, head->fmt_id))
		rc = ENOENT;
	if (!rc && mask & MRC_CTL_EV_PROFILE_STATE)
		rc = move(plant, slot, head, mask, attr->profile_state);
	if (!rc && sets_fields)
		rc = set_fields(plant, slot, head->fmt_id, attr);
	if (rc)
		return rc;
	bool anew = sets_fields || empties(slot, head);

	put_head(slot, head);
	if (mask & MRC_CTL_EV_PROFILE_VENDOR_CFG)
		memcpy(slot->vendor_cfg, attr->vendor_cfg, sizeof(slot->vendor_cfg));
	if (slot->mode == MRC_CTL_EV_MODE_GEN && slot->n_fields && anew)
		generate(context, slot);
	return 0;
}

static int modify(struct mrc_context *context, uint64_t id, struct mrc_ctl_ev_profile_attr *attr,
	int mask)
{
	struct plant *plant = context->station->plant;
	struct plant_evs *slot = plant_evs_take(plant, id);

	if (!slot)
		return ENOMEM;
	struct head head = { slot->state, slot->mode, slot->fmt_id, slot->count, slot->min_active,
		slot->event_mask, slot->has_min_active, slot->has_event_mask };
	/* What a move to ONLINE needs may come with it: then that is done before. */
	bool is_late = mask & OPS && mask & MRC_CTL_EV_PROFILE_STATE &&
		       attr->profile_state == MRC_CTL_PROFILE_ONLINE &&
		       slot->state == MRC_CTL_PROFILE_OFFLINE;
	int rc = check_turn(plant, slot, attr, mask);

	if (!rc && !(asks(attr, mask) && !(mask & ~OPS)))
		rc = configure(context, slot, &head, attr,
			is_late ? mask & ~MRC_CTL_EV_PROFILE_STATE : mask);
	if (!rc && mask & MRC_CTL_EV_PROFILE_EV_OP)
		rc = evs_operate(slot, plant, attr, asks(attr, mask));
	if (!rc && mask & MRC_CTL_EV_PROFILE_EV_FIELDS_OP && asks(attr, mask))
		rc = get_fields(slot, attr);
	if (!rc && is_late)
		rc = move(plant, slot, &head, mask, MRC_CTL_PROFILE_ONLINE);
	if (!rc && is_late)
		put_head(slot, &head);
	return rc;
}

int mrc_ctl_modify_ev_profile(struct mrc_context *mrc_ctx, uint64_t ev_profile_id,
	struct mrc_ctl_ev_profile_attr *attr, int attr_mask)
{
	if (!alive_is(mrc_ctx) || !attr || attr_mask & ~MASK_ALL)
		return fail(EINVAL);
	struct plant *plant = mrc_ctx->station->plant;

	plant_lock(plant);
	int rc = modify(mrc_ctx, ev_profile_id, attr, attr_mask);

	plant_unlock(plant);
	return rc ? fail(rc) : 0;
}

static void get_head(
	const struct plant_evs *evs, struct mrc_ctl_ev_profile_attr *attr, int attr_mask)
{
	if (attr_mask & (MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_CUR_STATE)) {
		attr->profile_state = (enum mrc_ctl_profile_state)evs->state;
		attr->cur_profile_state = (enum mrc_ctl_profile_state)evs->state;
	}
	if (attr_mask & MRC_CTL_EV_PROFILE_MODE)
		attr->ev_mode = (enum mrc_ctl_ev_mode)evs->mode;
	if (attr_mask & MRC_CTL_EV_PROFILE_FMT_ID)
		attr->ev_fmt_profile_id = evs->fmt_id;
	if (attr_mask & MRC_CTL_EV_PROFILE_COUNT)
		attr->ev_count = evs->count;
	if (attr_mask & MRC_CTL_EV_PROFILE_MIN_ACTIVE)
		attr->ev_min_active = evs->min_active;
	if (attr_mask & MRC_CTL_EV_PROFILE_EVENT_MASK)
		attr->ev_event_mask = evs->event_mask;
	if (attr_mask & MRC_CTL_EV_PROFILE_VENDOR_CFG)
		memcpy(attr->vendor_cfg, evs->vendor_cfg, sizeof(attr->vendor_cfg));
}

int mrc_ctl_query_ev_profile(struct mrc_context *mrc_ctx, uint64_t ev_profile_id,
	struct mrc_ctl_ev_profile_attr *attr, int attr_mask)
{
	static struct plant_evs none; /* never written: has no EVs to operate on */

	if (!alive_is(mrc_ctx) || !attr || attr_mask & ~MASK_ALL || (attr_mask & OPS) == OPS)
		return fail(EINVAL);
	struct plant *plant = mrc_ctx->station->plant;
	int rc = 0;

	plant_lock(plant);
	struct plant_evs *evs = plant_evs_find(plant, ev_profile_id);

	if (!evs)
		evs = &none;
	get_head(evs, attr, attr_mask);
	if (attr_mask & MRC_CTL_EV_PROFILE_EV_FIELDS_OP)
		rc = get_fields(evs, attr);
	if (attr_mask & MRC_CTL_EV_PROFILE_EV_OP)
		rc = evs_operate(evs, plant, attr, true);
	plant_unlock(plant);
	return rc ? fail(rc) : 0;
}
