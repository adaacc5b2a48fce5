/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_profile - what profiles mean to a QP: a choice of paths (ev_use.c), and a congestion control.
 *
 * A QP takes hold of its profiles when it moves to RTR, because only then is the peer known, and
 * lets go of them in RESET or when it is destroyed.
 */
#include "mrc_local.h"

#include <stdlib.h>
#include <string.h>

/* ---- congestion control ---- */

static uint32_t milli(float value)
{
	return (uint32_t)(value * 1000.0f + 0.5f);
}

void profile_cc(const struct plant_cc *cc, const struct weft_dev_attr *dev,
	struct weft_dev_qp_attr *attr)
{
	const struct mrc_ctl_cc_nscc_cfg *c = &cc->config;

	attr->has_cc_config = true;
	/* What is 0 in these the device knows better: rate, packet, round trip of its fabric. */
	attr->cc_config = (struct weft_cc_config){ .rate_bps = dev->rate_bps,
		.mtu_bytes = weft_nominal_bytes(dev->mtu_bytes),
		.base_rtt_ns = c->base_rtt,
		.disable_qa = c->disable_qa,
		.target_qdelay_ns = c->target_delay,
		.max_cwnd_bytes = c->max_cwnd,
		.fi = (uint32_t)(c->fi + 0.5f),
		.fi_scale_milli = milli(c->fi_scale),
		.eta_bytes = (uint32_t)(c->eta + 0.5f),
		.gamma_milli = milli(c->gamma),
		.max_md_jump_milli = milli(c->max_md_jump),
		.adjust_bytes = c->adjust_bytes_threshold,
		.adjust_period_ns = c->adjust_period_threshold,
		.qa_gate = c->qa_gate,
		.qa_threshold_ns = c->qa_threshold };
	memset(attr->cc, 0, sizeof(attr->cc));
	if (cc->algorithm[0]) {
		memcpy(attr->cc, cc->algorithm, sizeof(cc->algorithm));
		return;
	}
	memcpy(attr->cc, "fixed", sizeof("fixed")); /* a window that is never in the way */
	attr->cc_config.fixed_bytes = attr->cc_config.max_cwnd_bytes = UINT32_C(1) << 30;
}

/* ---- QPs ---- */

bool profile_is_online(struct mrc_qp *qp, const struct mrc_qp_attr *attr, int mask)
{
	struct plant *plant = qp->context->station->plant;
	bool is = true;

	plant_lock(plant);
	if (mask & MRC_QP_EV_PROFILE_ID && attr->profile.ev_profile_id) {
		const struct plant_evs *evs = plant_evs_find(plant, attr->profile.ev_profile_id);

		is &= evs && evs->state == MRC_CTL_PROFILE_ONLINE;
	}
	if (mask & MRC_QP_CC_PROFILE_ID && attr->profile.cc_profile_id) {
		const struct plant_cc *cc = plant_cc_find(plant, attr->profile.cc_profile_id);

		is &= cc && cc->state == MRC_CTL_PROFILE_ONLINE;
	}
	plant_unlock(plant);
	return is;
}

static int take_evs(struct mrc_qp *qp, const uint8_t gid[16])
{
	struct station *station = qp->context->station;
	int rc = 0;

	memcpy(qp->peer, gid, 16);
	plant_lock(station->plant);
	struct plant_evs *evs = plant_evs_find(station->plant, qp->attr.profile.ev_profile_id);

	if (!evs || evs->state != MRC_CTL_PROFILE_ONLINE)
		rc = ENOENT;
	if (!rc && evs->mode != MRC_CTL_EV_MODE_AUTO)
		rc = ev_use_open(qp, station->plant, evs);
	/* What a process found that has died since is nobody's word any more. */
	bool is_first = !rc && !plant_evs_users(station->plant, evs);

	for (uint32_t i = 0; is_first && i < evs->count; i++)
		evs->ev[i].bad = false;
	if (!rc && !plant_use(station->plant, evs, NULL, 1))
		rc = ENOMEM;
	if (!rc) {
		qp->evs = evs;
		qp->changes = evs->changes;
	}
	plant_unlock(station->plant);
	return rc;
}

static int take_cc(struct mrc_qp *qp, struct weft_dev_qp_attr *attr)
{
	struct station *station = qp->context->station;
	struct weft_dev_attr dev;
	int rc = 0;

	weft_dev_query(station->dev, &dev);
	plant_lock(station->plant);
	struct plant_cc *cc = plant_cc_find(station->plant, qp->attr.profile.cc_profile_id);

	if (!cc || cc->state != MRC_CTL_PROFILE_ONLINE)
		rc = ENOENT;
	if (!rc && !plant_use(station->plant, NULL, cc, 1))
		rc = ENOMEM;
	if (!rc) {
		profile_cc(cc, &dev, attr);
		qp->cc = cc;
	}
	plant_unlock(station->plant);
	return rc;
}

int profile_apply(struct mrc_qp *qp, const uint8_t gid[16], struct weft_dev_qp_attr *attr,
	uint32_t *mask)
{
	struct station *station = qp->context->station;
	int rc = 0;

	profile_release(qp);
	if (qp->attr.profile.cc_profile_id) {
		rc = take_cc(qp, attr);
		*mask |= WEFT_DEV_SET_CC;
	}
	if (!rc && qp->attr.profile.ev_profile_id) {
		rc = take_evs(qp, gid);
		if (!rc && qp->paths) {
			attr->paths = qp->paths;
			*mask |= WEFT_DEV_SET_PATHS;
		}
	}
	if (!rc)
		rc = watcher_start(station);
	if (rc) {
		profile_release(qp);
		return rc;
	}
	memset(qp->state, WEFT_PATH_EMPTY, sizeof(qp->state));
	weft_lock_take(&station->lock);
	qp->next = station->qps;
	station->qps = qp;
	weft_lock_give(&station->lock);
	return 0;
}

void profile_release(struct mrc_qp *qp)
{
	struct station *station = qp->context->station;

	weft_lock_take(&station->lock);
	for (struct mrc_qp **at = &station->qps; *at; at = &(*at)->next) {
		if (*at == qp) {
			*at = qp->next;
			break;
		}
	}
	if ((qp->evs || qp->cc) && !station_is_dead(station)) {
		plant_lock(station->plant);
		if (qp->evs)
			watcher_forget(qp);
		plant_use(station->plant, qp->evs, qp->cc, -1);
		plant_unlock(station->plant);
	}
	weft_lock_give(&station->lock);
	if (qp->paths)
		weft_dev_paths_close(station->dev, qp->paths);
	free(qp->ev);
	qp->ev = NULL;
	qp->evs = NULL;
	qp->cc = NULL;
	qp->paths = qp->n_evs = qp->n_list = 0;
}
