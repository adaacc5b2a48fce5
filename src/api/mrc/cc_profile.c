/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cc_profile - CC profiles: which congestion control a QP has, and its parameters.
 *
 * Parameters come as floats in the units of the UET tables; the engine calculates in integers, so
 * that a seed means the same on every machine.  Ranges are checked here, where floats still are.
 */
#include "mrc_local.h"

#include <errno.h>
#include <string.h>

#define MASK_ALL                                                                                   \
	(MRC_CTL_CC_PROFILE_STATE | MRC_CTL_CC_PROFILE_CUR_STATE | MRC_CTL_CC_PROFILE_ALGORITHM |  \
		MRC_CTL_CC_PROFILE_CONFIG | MRC_CTL_CC_PROFILE_VENDOR_CFG)

static bool in_range(float value, float max)
{
	return value >= 0 && value <= max; /* false for a NaN */
}

static int set_config(struct plant_cc *cc, const struct mrc_ctl_cc_nscc_cfg *config)
{
	cc->has_config = true;
	memset(&cc->config, 0, sizeof(cc->config));
	if (!config)
		return 0;
	if (!cc->algorithm[0]) /* nothing there to configure */
		return EINVAL;
	if (!in_range(config->eta, 1e9f) || !in_range(config->fi, 1e9f) ||
		!in_range(config->fi_scale, 1e6f) || !in_range(config->gamma, 1.0f) ||
		!in_range(config->max_md_jump, 1.0f) || config->qa_gate > 31)
		return EINVAL;
	cc->config = *config;
	return 0;
}

static int set_algorithm(struct plant_cc *cc, const char *name)
{
	memset(cc->algorithm, 0, sizeof(cc->algorithm));
	cc->has_config = false;
	if (!name)
		return 0;
	if (!weft_cc_find(name) || strlen(name) >= sizeof(cc->algorithm))
		return EINVAL;
	memcpy(cc->algorithm, name, strlen(name));
	return 0;
}

static int move(struct plant *plant, struct plant_cc *slot, struct plant_cc *cc, int mask,
	enum mrc_ctl_profile_state to)
{
	if (cc->state == MRC_CTL_PROFILE_ONLINE && to != MRC_CTL_PROFILE_ONLINE &&
		plant_cc_users(plant, slot))
		return EBUSY;
	switch (to) {
	case MRC_CTL_PROFILE_INIT:
		if (cc->state != MRC_CTL_PROFILE_OFFLINE)
			return EINVAL;
		break;
	case MRC_CTL_PROFILE_OFFLINE:
		if (cc->state == MRC_CTL_PROFILE_INIT && !(mask & MRC_CTL_CC_PROFILE_ALGORITHM))
			return EINVAL;
		break;
	case MRC_CTL_PROFILE_ONLINE:
		if (cc->state == MRC_CTL_PROFILE_INIT || (!cc->has_config && cc->algorithm[0]))
			return EINVAL;
		break;
	default:
		return EINVAL;
	}
	cc->state = (uint8_t)to;
	return 0;
}

static int modify(
	struct plant *plant, uint64_t id, struct mrc_ctl_cc_profile_attr *attr, int mask)
{
	struct plant_cc *slot = plant_cc_take(plant, id);

	if (!slot)
		return ENOMEM;
	struct plant_cc cc = *slot;
	int rc = 0;

	if (mask & MRC_CTL_CC_PROFILE_CUR_STATE && attr->cur_profile_state != cc.state)
		return EINVAL;
	if (cc.state == MRC_CTL_PROFILE_INIT &&
		!(mask & MRC_CTL_CC_PROFILE_STATE &&
			attr->profile_state == MRC_CTL_PROFILE_OFFLINE))
		return EINVAL;
	if (cc.state == MRC_CTL_PROFILE_ONLINE &&
		mask & (MRC_CTL_CC_PROFILE_ALGORITHM | MRC_CTL_CC_PROFILE_CONFIG))
		return plant_cc_users(plant, slot) ? EBUSY : EINVAL;
	if (mask & MRC_CTL_CC_PROFILE_ALGORITHM)
		rc = set_algorithm(&cc, attr->algorithm);
	if (!rc && mask & MRC_CTL_CC_PROFILE_CONFIG)
		rc = set_config(&cc, attr->cc_config);
	if (mask & MRC_CTL_CC_PROFILE_VENDOR_CFG)
		memcpy(cc.vendor_cfg, attr->vendor_cfg, sizeof(cc.vendor_cfg));
	if (!rc && mask & MRC_CTL_CC_PROFILE_STATE)
		rc = move(plant, slot, &cc, mask, attr->profile_state);
	if (!rc)
		*slot = cc;
	return rc;
}

int mrc_ctl_modify_cc_profile(struct mrc_context *mrc_ctx, uint64_t cc_profile_id,
	struct mrc_ctl_cc_profile_attr *attr, int attr_mask)
{
	if (!alive_is(mrc_ctx) || !attr || attr_mask & ~MASK_ALL)
		return fail(EINVAL);
	struct plant *plant = mrc_ctx->station->plant;

	plant_lock(plant);
	int rc = modify(plant, cc_profile_id, attr, attr_mask);

	plant_unlock(plant);
	return rc ? fail(rc) : 0;
}

int mrc_ctl_query_cc_profile(struct mrc_context *mrc_ctx, uint64_t cc_profile_id,
	struct mrc_ctl_cc_profile_attr *attr, int attr_mask)
{
	static const struct plant_cc none;

	if (!alive_is(mrc_ctx) || !attr || attr_mask & ~MASK_ALL)
		return fail(EINVAL);
	struct plant *plant = mrc_ctx->station->plant;

	plant_lock(plant);
	const struct plant_cc *cc = plant_cc_find(plant, cc_profile_id);

	if (!cc)
		cc = &none;
	if (attr_mask & (MRC_CTL_CC_PROFILE_STATE | MRC_CTL_CC_PROFILE_CUR_STATE)) {
		attr->profile_state = (enum mrc_ctl_profile_state)cc->state;
		attr->cur_profile_state = (enum mrc_ctl_profile_state)cc->state;
	}
	if (attr_mask & MRC_CTL_CC_PROFILE_ALGORITHM) {
		const struct weft_cc_ops *ops = weft_cc_find(cc->algorithm);

		attr->algorithm = ops ? ops->name : NULL;
	}
	if (attr_mask & MRC_CTL_CC_PROFILE_CONFIG) {
		/* Declared const, but a query has nowhere else to put it. */
		void *to = (void *)(uintptr_t)attr->cc_config;

		if (to)
			memcpy(to, &cc->config, sizeof(cc->config));
		else
			attr->cc_config = &cc->config;
	}
	if (attr_mask & MRC_CTL_CC_PROFILE_VENDOR_CFG)
		memcpy(attr->vendor_cfg, cc->vendor_cfg, sizeof(attr->vendor_cfg));
	plant_unlock(plant);
	return 0;
}
