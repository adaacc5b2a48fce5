/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device_paths - what a controller wants to see and say: EVs, groups of them, planes, probes.
 *
 * A group is a choice of EVs without a peer; each QP that uses it gets a path set of its own, with
 * those that lead to its peer, when it connects.  What is said of an EV of the group holds for
 * those and for all that come later.
 */
#include "device_local.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The topology's number of the host; false: no fabric file, or not one of its hosts. */
static bool find_host(struct weft_dev *dev, const uint8_t gid[16], uint32_t *own, uint32_t *host)
{
	const struct weft_topo *topo = weft_live_topo(dev->live);
	uint32_t plane;

	return topo && weft_topo_host_find(topo, gid, host, &plane) &&
	       weft_topo_host_find(topo, dev->end.addr[0], own, &plane);
}

static const struct contact *known(const struct weft_dev *dev, const uint8_t gid[16])
{
	for (uint32_t i = 0; i < CONTACTS_MAX; i++) {
		const struct contact *contact = &dev->datagrams.contacts[i];

		if (contact->known && !memcmp(contact->gid, gid, 16))
			return contact;
	}
	return NULL;
}

/* A set of all paths that lead there: by a connected QP, else by a contact. */
static bool find_set(const struct weft_dev *dev, const uint8_t gid[16], uint32_t *set)
{
	const struct contact *contact = known(dev, gid);

	for (const struct link *at = dev->opened; at; at = at->next) {
		const struct weft_dev_qp *qp = at->of;

		if (!qp->connected || qp->init.profile == WEFT_DEV_DATAGRAM ||
			memcmp(qp->attr.gid, gid, 16))
			continue;
		*set = qp->peer_set;
		return true;
	}
	if (contact)
		*set = contact->pathset;
	return contact != NULL;
}

int weft_dev_evs(struct weft_dev *dev, const uint8_t gid[16], uint32_t evs[], size_t max)
{
	uint32_t own, host, set, n = 0;
	struct weft_path_info info;

	if (device_is_dead(dev))
		return -1;
	weft_lock_take(&dev->lock);
	if (find_host(dev, gid, &own, &host) && own != host) {
		n = (uint32_t)weft_topo_evs(weft_live_topo(dev->live), own, host,
			weft_live_engine(dev->live)->seed, evs, max);
	} else if (find_set(dev, gid, &set)) {
		for (; n < max && !weft_path_info(dev->ep, set, n, &info); n++)
			evs[n] = info.ev;
	} else {
		n = UINT32_MAX;
	}
	weft_lock_give(&dev->lock);
	return n == UINT32_MAX ? -1 : (int)n;
}

int weft_dev_ev_address(struct weft_dev *dev, const uint8_t gid[16], uint32_t ev, uint8_t addr[16])
{
	uint32_t own, host;
	const struct contact *contact;
	int rc = ENOENT;

	if (device_is_dead(dev))
		return ENODEV;
	weft_lock_take(&dev->lock);
	contact = known(dev, gid);
	if (find_host(dev, gid, &own, &host)) {
		if (weft_topo_usid(weft_live_topo(dev->live), own, host, ev, addr))
			rc = 0;
	} else if (contact && weft_ev_plane(ev) < contact->end.planes) {
		memcpy(addr, contact->end.addr[weft_ev_plane(ev)], 16);
		rc = 0;
	}
	weft_lock_give(&dev->lock);
	return rc;
}

/* ---- groups ---- */

int weft_dev_paths_open(struct weft_dev *dev, const uint32_t evs[], uint32_t n, uint32_t active,
	uint32_t active_min, uint32_t *number)
{
	struct paths group = { .n = n, .active = active, .active_min = active_min };
	uint32_t at;

	if (device_is_dead(dev))
		return ENODEV;
	if (!n || n > 512 || active > n)
		return EINVAL;
	group.evs = malloc(n * sizeof(*evs));
	group.states = calloc(n, sizeof(*group.states));
	if (!group.evs || !group.states) {
		free(group.evs);
		free(group.states);
		return ENOMEM;
	}
	memcpy(group.evs, evs, n * sizeof(*evs));
	weft_lock_take(&dev->lock);
	for (at = 0; at < dev->n_paths && dev->paths[at].n; at++)
		;
	if (at == dev->n_paths) {
		struct paths *more = realloc(dev->paths, (at + 1) * sizeof(*more));

		if (more) {
			dev->paths = more;
			dev->n_paths++;
		}
	}
	bool fits = at < dev->n_paths;

	if (fits)
		dev->paths[at] = group;
	weft_lock_give(&dev->lock);
	if (!fits) {
		free(group.evs);
		free(group.states);
		return ENOMEM;
	}
	*number = at + 1;
	return 0;
}

int weft_dev_paths_close(struct weft_dev *dev, uint32_t number)
{
	int rc = 0;

	if (device_is_dead(dev))
		return ENODEV;
	weft_lock_take(&dev->lock);
	if (!number || number > dev->n_paths || !dev->paths[number - 1].n) {
		rc = EINVAL;
	} else if (dev->paths[number - 1].users) {
		rc = EBUSY;
	} else {
		free(dev->paths[number - 1].evs);
		free(dev->paths[number - 1].states);
		dev->paths[number - 1] = (struct paths){ 0 };
	}
	weft_lock_give(&dev->lock);
	return rc;
}

int weft_dev_paths_mark(
	struct weft_dev *dev, uint32_t number, uint32_t ev, enum weft_path_state to)
{
	int rc = ENOENT;

	if (device_is_dead(dev))
		return ENODEV;
	if (to != WEFT_PATH_GOOD && to != WEFT_PATH_DENIED && to != WEFT_PATH_ASSUMED_BAD)
		return EINVAL;
	weft_lock_take(&dev->lock);
	if (number && number <= dev->n_paths) {
		struct paths *group = &dev->paths[number - 1];

		for (uint32_t i = 0; i < group->n; i++)
			if (group->evs[i] == ev) {
				group->states[i] = to;
				rc = 0;
			}
	}
	for (const struct link *at = dev->opened; !rc && at; at = at->next) {
		const struct weft_dev_qp *qp = at->of;

		if (qp->has_own_set && qp->attr.paths == number)
			(void)weft_path_mark(dev->ep, qp->own_set, ev, to, device_now(dev));
	}
	weft_lock_give(&dev->lock);
	return rc;
}

static bool port_of(const struct weft_dev *dev, uint32_t set, uint32_t ev, uint32_t *port)
{
	struct weft_path_info info;

	for (uint32_t i = 0; !weft_path_info(dev->ep, set, i, &info); i++) {
		if (info.ev != ev)
			continue;
		*port = info.port;
		return true;
	}
	return false;
}

static void replace_in_set(struct weft_dev_qp *qp, uint32_t ev, uint32_t ev_new)
{
	struct weft_dev *dev = qp->dev;
	uint64_t now = device_now(dev);
	uint32_t port;

	if (!port_of(dev, qp->peer_set, ev_new, &port) ||
		weft_path_replace(dev->ep, qp->own_set, ev, ev_new, port, now))
		(void)weft_path_mark(dev->ep, qp->own_set, ev, WEFT_PATH_DENIED, now);
}

int weft_dev_paths_replace(struct weft_dev *dev, uint32_t number, uint32_t ev, uint32_t ev_new)
{
	struct paths *group = NULL;
	uint32_t at = 0;
	int rc = ENOENT;

	if (device_is_dead(dev))
		return ENODEV;
	weft_lock_take(&dev->lock);
	if (number && number <= dev->n_paths)
		group = &dev->paths[number - 1];
	while (group && at < group->n && group->evs[at] != ev)
		at++;
	if (group && at < group->n)
		rc = 0;
	for (uint32_t i = 0; !rc && i < group->n; i++)
		if (group->evs[i] == ev_new)
			rc = EINVAL;
	if (!rc) {
		group->evs[at] = ev_new;
		group->states[at] = WEFT_PATH_EMPTY;
	}
	for (const struct link *in = dev->opened; !rc && in; in = in->next) {
		struct weft_dev_qp *qp = in->of;

		if (qp->has_own_set && qp->attr.paths == number)
			replace_in_set(qp, ev, ev_new);
	}
	run_wake(dev);
	weft_lock_give(&dev->lock);
	return rc;
}

/* ---- one path ---- */

int weft_dev_path_info(struct weft_dev_qp *qp, uint32_t index, struct weft_path_info *info)
{
	int rc = ENOTCONN;

	if (device_is_dead(qp->dev))
		return ENODEV;
	weft_lock_take(&qp->dev->lock);
	if (qp->connected && qp->init.profile != WEFT_DEV_DATAGRAM)
		rc = weft_path_info(qp->dev->ep, qp->pathset, index, info) ? ENOENT : 0;
	weft_lock_give(&qp->dev->lock);
	return rc;
}

/* ports: NULL for a probe; else what the peer is to know of ours. */
static int ask(struct weft_dev *dev, const uint8_t gid[16], uint32_t ev, const uint32_t *ports,
	uint32_t cookie)
{
	uint32_t set;
	int rc;

	if (device_is_dead(dev))
		return ENODEV;
	weft_lock_take(&dev->lock);
	rc = run_start(dev) ? ENOMEM : 0;
	if (!rc && find_set(dev, gid, &set)) {
		uint64_t now = device_now(dev);
		int error = ports ? weft_post_port_status(dev->ep, set, ev, *ports, cookie, now) :
				    weft_post_probe(dev->ep, set, ev, cookie, now);

		rc = error == WEFT_EFULL ? EAGAIN : error ? ENOENT : 0;
	} else if (!rc) {
		/* The first process of the host answers for it. */
		const struct contact *contact = contact_take(dev, dev->number << SLOT_BITS, gid, 0);

		rc = contact && contact->tries < CONTACT_TRIES ? EAGAIN : EHOSTUNREACH;
	}
	(void)run_once(dev);
	run_wake(dev);
	weft_lock_give(&dev->lock);
	return rc;
}

int weft_dev_probe(struct weft_dev *dev, const uint8_t gid[16], uint32_t ev, uint32_t cookie)
{
	return ask(dev, gid, ev, NULL, cookie);
}

int weft_dev_port_status(struct weft_dev *dev, const uint8_t gid[16], uint32_t ev, uint32_t ports,
	uint32_t cookie)
{
	return ask(dev, gid, ev, &ports, cookie);
}

int weft_dev_probe_poll(struct weft_dev *dev, struct weft_probe_done done[], size_t max)
{
	size_t n;

	if (device_is_dead(dev))
		return 0;
	weft_lock_take(&dev->lock);
	(void)run_once(dev);
	n = weft_poll_probe(dev->ep, done, max);
	weft_lock_give(&dev->lock);
	return (int)n;
}

/* ---- planes and eyes ---- */

int weft_dev_plane_query(struct weft_dev *dev, uint32_t plane, struct weft_dev_plane *info)
{
	if (device_is_dead(dev))
		return ENODEV;
	if (plane >= dev->end.planes)
		return EINVAL;
	weft_lock_take(&dev->lock);
	uint32_t links = dev->port->ops->carrier(dev->port);

	*info = (struct weft_dev_plane){ .link = links >> plane & 1,
		.admin = !(dev->planes_shut >> plane & 1),
		.rate_bps = weft_live_line_bps(dev->live) / dev->end.planes };
	memcpy(info->addr, dev->end.addr[plane], 16);
	weft_lock_give(&dev->lock);
	return 0;
}

int weft_dev_plane_admin(struct weft_dev *dev, uint32_t plane, bool up)
{
	if (device_is_dead(dev))
		return ENODEV;
	if (plane >= dev->end.planes)
		return EINVAL;
	weft_lock_take(&dev->lock);
	uint32_t links = dev->port->ops->carrier(dev->port);

	if (up)
		dev->planes_shut &= ~(1u << plane);
	else
		dev->planes_shut |= 1u << plane;
	(void)weft_port_mark(
		dev->ep, plane, up && links >> plane & 1, device_now(dev));
	run_planes(dev);
	(void)run_once(dev);
	run_wake(dev);
	weft_lock_give(&dev->lock);
	return 0;
}
