/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile - what profiles mean to a QP: a choice of paths, and a congestion control.
 *
 * An EV of a profile is a value of the wire; a path of the device is a number of ours.  With SRv6
 * they are matched by the address: as many leading bytes as the EV has before its trailing zeros
 * must be those of the path's uSID carrier.  With structured EVs and UDP ports switches hash, so
 * any value leads somewhere: the device's own number names its path, any other value is a hash of
 * its bits over the paths of its plane, as a switch would do.
 *
 * Denied EVs go to the end of the list, behind the active ones, and are marked as soon as the QP
 * is connected: a controller may allow them later.
 */
#include "local.h"

#include <stdlib.h>
#include <string.h>

#define EVS_MAX 4096u
#define SRV6_BYTES_MIN 8u /* block and two uSIDs: less names no path */

static uint32_t read_value(const struct mrc_ctl_ev *ev, uint32_t fmt_mode)
{
	uint32_t high = (uint32_t)ev->val[0] << 8 | ev->val[1];

	return fmt_mode == MRC_CTL_EV_FMT_MODE_UDP
		       ? high
		       : high << 16 | (uint32_t)ev->val[2] << 8 | ev->val[3];
}

static uint32_t match_address(struct weft_dev *dev, const uint8_t gid[16],
	const struct mrc_ctl_ev *ev, const uint32_t evs[], uint32_t n)
{
	size_t bytes = 16;

	while (bytes && !ev->val[bytes - 1])
		bytes--;
	if (bytes < SRV6_BYTES_MIN)
		return NO_EV;
	for (uint32_t i = 0; i < n; i++) {
		uint8_t dst[16];

		if (evs[i] >> 16 == ev->port - 1u &&
			!weft_dev_ev_address(dev, gid, evs[i], dst) && !memcmp(dst, ev->val, bytes))
			return evs[i];
	}
	return NO_EV;
}

uint32_t profile_match(struct weft_dev *dev, const uint8_t gid[16], uint32_t fmt_mode,
	const struct mrc_ctl_ev *ev, const uint32_t evs[], uint32_t n)
{
	uint32_t value = read_value(ev, fmt_mode), same_plane = 0;

	if (!ev->port)
		return NO_EV;
	if (fmt_mode == MRC_CTL_EV_FMT_MODE_SRV6)
		return match_address(dev, gid, ev, evs, n);
	for (uint32_t i = 0; i < n; i++) {
		if (evs[i] >> 16 != ev->port - 1u)
			continue;
		if (evs[i] == value)
			return value;
		same_plane++;
	}
	if (!same_plane)
		return NO_EV;
	uint32_t pick = (value * UINT32_C(0x9e3779b1) >> 7) % same_plane;

	for (uint32_t i = 0; i < n; i++) {
		if (evs[i] >> 16 == ev->port - 1u && !pick--)
			return evs[i];
	}
	return NO_EV;
}

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

static bool has(const uint32_t list[], uint32_t n, uint32_t ev)
{
	for (uint32_t i = 0; i < n; i++) {
		if (list[i] == ev)
			return true;
	}
	return false;
}

/* Fills list: each path once, denied ones last.  *active: how many are not denied. */
static uint32_t order(const struct mrc_qp *qp, uint32_t list[], uint32_t *active)
{
	uint32_t n = 0;

	for (int denied = 0; denied < 2; denied++) {
		for (uint32_t i = 0; i < qp->n_evs; i++) {
			if (qp->ev[i] != NO_EV && qp->denied[i] == (denied != 0) &&
				!has(list, n, qp->ev[i]))
				list[n++] = qp->ev[i];
		}
		if (!denied)
			*active = n;
	}
	return n;
}

static int choose_paths(struct mrc_qp *qp, struct plant *plant, const struct plant_evs *evs,
	const uint8_t gid[16], const uint32_t all[], uint32_t n_all)
{
	const struct plant_fmt *fmt = plant_fmt_find(plant, evs->fmt_id);
	uint32_t list[PLANT_EVS], active = 0;

	if (!fmt)
		return ENOENT;
	qp->n_evs = evs->count;
	qp->ev = calloc(evs->count, sizeof(*qp->ev));
	qp->denied = calloc(evs->count, sizeof(*qp->denied));
	if (!qp->ev || !qp->denied)
		return ENOMEM;
	for (uint32_t i = 0; i < evs->count; i++) {
		struct mrc_ctl_ev ev;

		evs_expanded(plant, evs, i, &ev);
		qp->ev[i] = profile_match(
			qp->context->station->dev, gid, fmt->mode, &ev, all, n_all);
		qp->denied[i] = evs->ev[i].denied;
	}
	uint32_t n = order(qp, list, &active);

	if (!active)
		return EHOSTUNREACH; /* none of them leads there, or all are denied */
	n = WEFT_MIN(n, PATHS_MAX);
	active = WEFT_MIN(active, n);
	return weft_dev_paths_open(qp->context->station->dev, list, n, active,
		WEFT_MIN(evs->min_active, active), &qp->paths);
}

static int take_evs(struct mrc_qp *qp, const uint8_t gid[16])
{
	struct station *station = qp->context->station;
	uint32_t *all = calloc(EVS_MAX, sizeof(*all));
	int n = all ? weft_dev_evs(station->dev, gid, all, EVS_MAX) : 0;
	int rc = all ? 0 : ENOMEM;

	if (n <= 0 && !rc)
		rc = EHOSTUNREACH;
	plant_lock(station->plant);
	struct plant_evs *evs = plant_evs_find(station->plant, qp->attr.profile.ev_profile_id);

	if (!rc && (!evs || evs->state != MRC_CTL_PROFILE_ONLINE))
		rc = ENOENT;
	if (!rc && evs->mode != MRC_CTL_EV_MODE_AUTO)
		rc = choose_paths(qp, station->plant, evs, gid, all,
			WEFT_MIN((uint32_t)n, EVS_MAX));
	if (!rc && !plant_use(station->plant, evs, NULL, 1))
		rc = ENOMEM;
	if (!rc) {
		qp->evs = evs;
		qp->changes = evs->changes;
	}
	plant_unlock(station->plant);
	free(all);
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
		if (!rc)
			rc = watcher_start(station);
	}
	if (rc) {
		profile_release(qp);
		return rc;
	}
	memset(qp->state, WEFT_PATH_EMPTY, sizeof(qp->state));
	pthread_mutex_lock(&station->lock);
	qp->next = station->qps;
	station->qps = qp;
	pthread_mutex_unlock(&station->lock);
	return 0;
}

void profile_release(struct mrc_qp *qp)
{
	struct station *station = qp->context->station;

	pthread_mutex_lock(&station->lock);
	for (struct mrc_qp **at = &station->qps; *at; at = &(*at)->next) {
		if (*at == qp) {
			*at = qp->next;
			break;
		}
	}
	pthread_mutex_unlock(&station->lock);
	if (qp->evs || qp->cc) {
		plant_lock(station->plant);
		plant_use(station->plant, qp->evs, qp->cc, -1);
		plant_unlock(station->plant);
	}
	if (qp->paths)
		weft_dev_paths_close(station->dev, qp->paths);
	free(qp->ev);
	free(qp->denied);
	qp->ev = NULL;
	qp->denied = NULL;
	qp->evs = NULL;
	qp->cc = NULL;
	qp->paths = qp->n_evs = 0;
}
