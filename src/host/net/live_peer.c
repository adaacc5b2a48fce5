/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live_peer - whom this endpoint knows, and over which paths it reaches them.
 *
 * Sessions with the same remote endpoint share one peer number and one path set, so that what one
 * connection learns about a path serves all.  All paths of the pair get an address, not only the
 * sprayed ones, because answers may have to go out on any of them.
 */
#include "live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATHS_DEFAULT 256u

struct routes {                         /* to one peer */
	uint32_t evs[WEFT_NET_EVS_MAX]; /* in the order in which planes take turns */
	struct weft_udp_path path[WEFT_NET_EVS_MAX];
	uint8_t ports[WEFT_NET_EVS_MAX];
	uint32_t n;
};

/* What switches leave of the destination. */
static void put_arrival(const struct weft_live *live, uint32_t dst, struct weft_udp_path *path)
{
	weft_topo_host_usid(live->topo, dst, weft_ev_plane(path->ev), path->arrive);
	path->arrive[6] = (uint8_t)(path->ev >> 24);
	path->arrive[7] = (uint8_t)(path->ev >> 16);
	path->arrive[8] = (uint8_t)(path->ev >> 8);
	path->arrive[9] = (uint8_t)path->ev;
}

/* To a program of this host: by the first switch and back, but the kernel, where it has the
 * sockets, would not take a packet from itself that came in by an interface. */
static void find_self(const struct weft_live *live, struct routes *routes)
{
	for (uint32_t plane = 0; plane < live->shape->planes; plane++) {
		struct weft_udp_path *path = &routes->path[plane];

		path->ev = routes->evs[plane] = weft_ev(plane, 0);
		put_arrival(live, live->host, path);
		weft_topo_usid_self(live->topo, live->host, path->ev, path->dst);
		if (live->kind->is_kernel)
			memcpy(path->dst, path->arrive, 16);
	}
	routes->n = live->shape->planes;
}

static int find_usid(const struct weft_live *live, const struct offer *offer, struct routes *routes,
	char *error, size_t bytes)
{
	uint32_t dst = weft_topo_node_find(live->topo, offer->host);

	if (dst >= live->shape->hosts || (dst == live->host && !offer->may_be_self)) {
		snprintf(error, bytes, "peer calls itself \"%s\", which is %s", offer->host,
			dst == live->host ? "this host" : "no host of this fabric");
		return -1;
	}
	for (uint32_t plane = 0; plane < offer->planes; plane++) {
		uint8_t addr[16];

		weft_topo_host_addr(live->topo, dst, plane, addr);
		if (!memcmp(addr, offer->addr[plane], sizeof(addr)))
			continue;
		snprintf(error, bytes, "peer's offer: addrs: number %u is not that of %s", plane,
			offer->host);
		return -1;
	}
	if (dst == live->host) {
		find_self(live, routes);
		return 0;
	}
	routes->n = (uint32_t)weft_topo_evs(live->topo, live->host, dst, live->config.engine.seed,
		routes->evs, WEFT_NET_EVS_MAX);
	for (uint32_t i = 0; i < routes->n; i++) {
		struct weft_udp_path *path = &routes->path[i];

		path->ev = routes->evs[i];
		WEFT_ASSERT(weft_topo_usid(live->topo, live->host, dst, path->ev, path->dst));
		put_arrival(live, dst, path);
	}
	return 0;
}

static void find_plain(
	const struct weft_live *live, const struct offer *offer, struct routes *routes)
{
	for (uint32_t k = 0; k < live->n_src_ports; k++) {
		for (uint32_t plane = 0; plane < offer->planes; plane++) {
			struct weft_udp_path *path = &routes->path[routes->n];

			path->ev = weft_ev(plane, k);
			memcpy(path->dst, offer->addr[plane], 16);
			memcpy(path->arrive, offer->addr[plane], 16);
			routes->evs[routes->n++] = path->ev;
		}
	}
}

/* What the port must know of it, and the paths that lead there. */
static int tell_port(struct weft_live *live, const struct offer *offer, uint32_t peer,
	struct routes *routes, char *error, size_t bytes)
{
	struct weft_udp_peer attr = { .udp_port = offer->udp_port,
		.n_src_ports = offer->n_src_ports,
		.addrs = offer->planes,
		.absent = offer->absent,
		.paths = routes->path };

	if (live->topo && find_usid(live, offer, routes, error, bytes))
		return -1;
	if (!live->topo)
		find_plain(live, offer, routes);
	if (!routes->n) {
		snprintf(error, bytes, "no path leads to %s", offer->host);
		return -1;
	}
	for (uint32_t i = 0; i < offer->planes; i++)
		attr.absent |= weft_inet_is_none(offer->addr[i]) ? 1u << i : 0;
	attr.n_paths = routes->n;
	memcpy(attr.src_port, offer->src_port, sizeof(attr.src_port));
	memcpy(attr.addr, offer->addr, sizeof(attr.addr));
	if (live->kind->peer_add(live->port, peer, &attr)) {
		snprintf(error, bytes,
			"%s: its addresses are in use by another peer, or there is no memory for "
			"it",
			offer->host);
		return -1;
	}
	return 0;
}

static int add(struct weft_live *live, const struct offer *offer, uint32_t peer,
	struct routes *routes, char *error, size_t bytes)
{
	if (tell_port(live, offer, peer, routes, error, bytes))
		return -1;
	for (uint32_t i = 0; i < routes->n; i++)
		routes->ports[i] = (uint8_t)weft_ev_plane(routes->evs[i]);
	uint32_t want = live->config.paths ? live->config.paths : PATHS_DEFAULT;
	struct weft_pathset_attr set = { .peer = peer, .evs = routes->evs, .ports = routes->ports };

	set.n = WEFT_MIN(WEFT_MIN(routes->n, want), live->config.engine.paths_per_set);
	if (weft_pathset_open(live->ep, &set, &live->peers[peer].pathset)) {
		snprintf(error, bytes, "%s: no room for its paths", offer->host);
		live->kind->peer_drop(live->port, peer);
		return -1;
	}
	return 0;
}

uint32_t live_peer_find(const struct weft_live *live, const struct offer *offer)
{
	uint32_t i = 0;

	for (; i < LIVE_PEERS_MAX; i++) {
		const struct live_peer *p = &live->peers[i];

		if (p->users && p->src_port == offer->src_port[0] &&
			p->udp_port == offer->udp_port && p->home == offer->home &&
			!memcmp(p->addr, offer->addr[offer->home], 16))
			break;
	}
	return i;
}

int live_peer_take(struct weft_live *live, const struct offer *offer, uint32_t *peer, char *error,
	size_t error_bytes)
{
	uint32_t empty = 0;

	*peer = live_peer_find(live, offer);
	if (*peer < LIVE_PEERS_MAX) {
		live->peers[*peer].users++;
		return 0;
	}
	while (empty < LIVE_PEERS_MAX && live->peers[empty].users)
		empty++;
	if (empty == LIVE_PEERS_MAX) {
		snprintf(error, error_bytes, "more than %u peers", LIVE_PEERS_MAX);
		return -1;
	}
	struct routes *routes = calloc(1, sizeof(*routes));

	if (!routes) {
		snprintf(error, error_bytes, "%s: no memory for its paths", offer->host);
		return -1;
	}
	int rc = add(live, offer, empty, routes, error, error_bytes);

	free(routes);
	if (rc)
		return -1;
	live->peers[empty].users = 1;
	live->peers[empty].src_port = offer->src_port[0];
	live->peers[empty].udp_port = offer->udp_port;
	live->peers[empty].home = offer->home;
	memcpy(live->peers[empty].addr, offer->addr[offer->home], 16);
	*peer = empty;
	return 0;
}

bool live_peer_again(struct weft_live *live, const struct offer *offer)
{
	uint32_t peer = live_peer_find(live, offer);
	struct routes *routes = peer < LIVE_PEERS_MAX ? calloc(1, sizeof(*routes)) : NULL;
	char error[256];

	if (!routes)
		return false;
	live->kind->peer_drop(live->port, peer);
	/* Its addresses may be another's by now; then it has none, as if all planes were dead. */
	(void)tell_port(live, offer, peer, routes, error, sizeof(error));
	free(routes);
	return true;
}

void live_peer_give(struct weft_live *live, uint32_t peer)
{
	WEFT_ASSERT(peer < LIVE_PEERS_MAX && live->peers[peer].users);
	if (--live->peers[peer].users)
		return;
	(void)weft_pathset_close(live->ep, live->peers[peer].pathset);
	live->kind->peer_drop(live->port, peer);
}

bool weft_live_peer_at(const struct weft_live *live, uint32_t peer, uint8_t addr[16],
	uint32_t *plane, uint16_t *udp_port)
{
	if (peer >= LIVE_PEERS_MAX || !live->peers[peer].users)
		return false;
	memcpy(addr, live->peers[peer].addr, 16);
	*plane = live->peers[peer].home;
	*udp_port = live->peers[peer].udp_port;
	return true;
}
