/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ev_use - which paths of the device a QP sprays over, because its EV profile says so.
 *
 * An EV of a profile is a value of the wire; a path of the device is a number of ours.  With SRv6
 * they are matched by the address: as many leading bytes as the EV has before its trailing zeros
 * must be those of the path's uSID carrier.  With structured EVs and UDP ports switches hash, so
 * any value leads somewhere: the device's own number names its path, any other value is a hash of
 * its bits over the paths of its plane, as a switch would do.
 *
 * Several EVs may mean one path, which is denied when all of them are.  A profile may change while
 * QPs use it: paths that no EV means any more give their places to those that EVs mean now, and
 * are denied where there is none to take it.  A path beyond the number of places that the QP began
 * with (a copy of an EV was replaced by something else) is used from the next RTR on.
 */
#include "mrc_local.h"

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


/* ---- the paths of a QP ---- */

struct wish { /* each path once, and whether every EV that means it is denied */
	uint32_t n;
	uint32_t ev[PATHS_MAX];
	bool denied[PATHS_MAX];
};

static uint32_t find(const uint32_t list[], uint32_t n, uint32_t ev)
{
	for (uint32_t i = 0; i < n; i++) {
		if (list[i] == ev)
			return i;
	}
	return n;
}

static void wish_add(struct wish *wish, uint32_t ev, bool denied)
{
	uint32_t at = find(wish->ev, wish->n, ev);

	if (at < wish->n) {
		wish->denied[at] &= denied;
	} else if (at < PATHS_MAX) {
		wish->ev[at] = ev;
		wish->denied[at] = denied;
		wish->n++;
	}
}

/* What each EV of the profile means towards the QP's peer. */
static int resolve(struct mrc_qp *qp, struct plant *plant, const struct plant_evs *evs,
	struct wish *wish)
{
	const struct plant_fmt *fmt = plant_fmt_find(plant, evs->fmt_id);
	struct weft_dev *dev = qp->context->station->dev;
	uint32_t *all = fmt ? calloc(EVS_MAX, sizeof(*all)) : NULL;

	if (!all)
		return fmt ? ENOMEM : ENOENT;
	int n = weft_dev_evs(dev, qp->peer, all, EVS_MAX);

	wish->n = 0;
	for (uint32_t i = 0; n > 0 && i < qp->n_evs; i++) {
		struct mrc_ctl_ev ev;

		evs_expanded(plant, evs, i, &ev);
		qp->ev[i] = profile_match(
			dev, qp->peer, fmt->mode, &ev, all, WEFT_MIN((uint32_t)n, EVS_MAX));
		if (qp->ev[i] != NO_EV)
			wish_add(wish, qp->ev[i], evs->ev[i].denied);
	}
	free(all);
	return n > 0 ? 0 : EHOSTUNREACH;
}

static void say(struct mrc_qp *qp, uint32_t slot, bool denied)
{
	if (qp->said[slot] != denied &&
		!weft_dev_paths_mark(qp->context->station->dev, qp->paths, qp->list[slot],
			denied ? WEFT_PATH_DENIED : WEFT_PATH_GOOD))
		qp->said[slot] = denied;
}

int ev_use_open(struct mrc_qp *qp, struct plant *plant, const struct plant_evs *evs)
{
	struct wish *wish = calloc(1, sizeof(*wish));
	uint32_t allowed = 0, floor;

	qp->n_evs = evs->count;
	qp->ev = calloc(evs->count, sizeof(*qp->ev));
	int rc = wish && qp->ev ? resolve(qp, plant, evs, wish) : ENOMEM;

	for (uint32_t i = 0; !rc && i < wish->n; i++)
		allowed += !wish->denied[i];
	if (!rc && !allowed)
		rc = EHOSTUNREACH; /* none of them leads there, or all are denied */
	if (!rc) {
		floor = evs->has_min_active ? evs->min_active : wish->n / 4;
		rc = weft_dev_paths_open(qp->context->station->dev, wish->ev, wish->n, wish->n,
			WEFT_MIN(WEFT_MAX(floor, 1u), wish->n), &qp->paths);
	}
	if (!rc) {
		qp->n_list = wish->n;
		memcpy(qp->list, wish->ev, sizeof(qp->list));
		memset(qp->said, 0, sizeof(qp->said));
	}
	for (uint32_t i = 0; !rc && i < wish->n; i++)
		say(qp, i, wish->denied[i]);
	free(wish);
	return rc;
}

/* A place whose path no EV means any more; n_list: none. */
static uint32_t find_left(const struct mrc_qp *qp, const struct wish *wish)
{
	for (uint32_t i = 0; i < qp->n_list; i++) {
		if (find(wish->ev, wish->n, qp->list[i]) == wish->n)
			return i;
	}
	return qp->n_list;
}

void ev_use_hear(struct mrc_qp *qp, struct plant *plant)
{
	struct plant_evs *evs = qp->evs;
	struct wish *wish = evs->changes == qp->changes ? NULL : calloc(1, sizeof(*wish));

	if (!wish || resolve(qp, plant, evs, wish)) {
		free(wish);
		return;
	}
	qp->changes = evs->changes;
	for (uint32_t i = 0; i < wish->n; i++) {
		if (find(qp->list, qp->n_list, wish->ev[i]) < qp->n_list)
			continue;
		uint32_t slot = find_left(qp, wish);

		if (slot == qp->n_list)
			break;
		if (weft_dev_paths_replace(qp->context->station->dev, qp->paths, qp->list[slot],
			    wish->ev[i]))
			continue;
		qp->list[slot] = wish->ev[i];
		qp->said[slot] = false;
	}
	for (uint32_t i = 0; i < qp->n_list; i++) {
		uint32_t at = find(wish->ev, wish->n, qp->list[i]);

		say(qp, i, at == wish->n || wish->denied[at]);
	}
	free(wish);
}
