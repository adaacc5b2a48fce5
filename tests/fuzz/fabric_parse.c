/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fabric_parse - any bytes as a fabric file; what is accepted must hang together.
 *
 * A parser that only survives is half tested.  Of an accepted fabric, a sample of pairs is walked:
 * the address of each EV, followed switch by switch through the static tables alone, must cross the
 * links that the path claims and end at its host.  Names must lead back to what they name.
 */
#include <weft/base.h>
#include <weft/topo.h>

#include <string.h>

enum { PAIRS = 4, EVS = 16, NAMES = 16, LINKS_MAX = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static bool has_prefix(const uint8_t addr[16], const struct weft_route *route)
{
	uint32_t bytes = route->prefix_bits / 8, bits = route->prefix_bits % 8;

	if (memcmp(addr, route->prefix, bytes))
		return false;
	return !bits || (addr[bytes] ^ route->prefix[bytes]) >> (8 - bits) == 0;
}

/* The entry that a kernel would take: the longest prefix. */
static struct weft_route look_up(
	const struct weft_topo *topo, uint32_t node, const uint8_t addr[16])
{
	struct weft_route best = { .kind = WEFT_ROUTE_NONE }, route;

	for (uint32_t i = 0; weft_topo_route(topo, node, i, &route); i++) {
		if (route.kind == WEFT_ROUTE_NONE || !has_prefix(addr, &route))
			continue;
		if (best.kind == WEFT_ROUTE_NONE || route.prefix_bits > best.prefix_bits)
			best = route;
	}
	return best;
}

static uint32_t other_end(const struct weft_topo *topo, uint32_t link, uint32_t node)
{
	struct weft_link l = weft_topo_link(topo, link);

	WEFT_ASSERT(l.cabled && (l.node[0] == node || l.node[1] == node));
	return l.node[l.node[0] == node];
}

/* Sends one packet by tables only. */
static void walk(const struct weft_topo *topo, uint32_t src, uint32_t dst, uint32_t ev)
{
	uint32_t links[LINKS_MAX];
	uint8_t addr[16];
	size_t n_links = weft_topo_path_links(topo, src, dst, ev, links);

	WEFT_ASSERT(n_links == 2 || n_links == 4);
	WEFT_ASSERT(weft_topo_usid(topo, src, dst, ev, addr));
	WEFT_ASSERT(weft_topo_port_link(topo, src, weft_ev_plane(ev)) == links[0]);
	struct weft_route route = look_up(topo, src, addr);
	bool is_ua = weft_topo_shape(topo)->behavior == WEFT_USID_UA;

	WEFT_ASSERT(route.kind == WEFT_ROUTE_USID && route.port == weft_ev_plane(ev));
	uint32_t node = other_end(topo, links[0], src);

	for (size_t i = 1; i < n_links; i++) {
		route = look_up(topo, node, addr);
		WEFT_ASSERT(route.kind == (is_ua ? WEFT_ROUTE_UA : WEFT_ROUTE_END));
		memmove(addr + 4, addr + 6, 10);
		memset(addr + 14, 0, 2);
		if (!is_ua)
			route = look_up(topo, node, addr);
		WEFT_ASSERT(route.kind == (is_ua ? WEFT_ROUTE_UA : WEFT_ROUTE_USID));
		WEFT_ASSERT(route.ports == 1);
		WEFT_ASSERT(weft_topo_port_link(topo, node, route.port) == links[i]);
		node = other_end(topo, links[i], node);
	}
	WEFT_ASSERT(node == dst);
	WEFT_ASSERT(look_up(topo, node, addr).kind == WEFT_ROUTE_LOCAL);
	WEFT_ASSERT(weft_topo_usid_ev(addr) == ev);
}

static void check_pair(const struct weft_topo *topo, struct weft_rng *rng)
{
	const struct weft_topo_shape *shape = weft_topo_shape(topo);
	uint32_t src = (uint32_t)weft_rng_below(rng, shape->hosts);
	uint32_t dst = (uint32_t)weft_rng_below(rng, shape->hosts);
	uint32_t evs[EVS];

	if (src == dst)
		return;
	size_t n = weft_topo_evs(topo, src, dst, weft_rng_u64(rng), evs, EVS);

	WEFT_ASSERT(n <= EVS && n <= weft_topo_paths(topo, src, dst));
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < i; j++)
			WEFT_ASSERT(evs[i] != evs[j]);
		walk(topo, src, dst, evs[i]);
	}
	uint32_t plane = (uint32_t)weft_rng_below(rng, shape->planes), host, back;
	uint8_t addr[16];

	weft_topo_host_addr(topo, src, plane, addr);
	WEFT_ASSERT(weft_topo_host_find(topo, addr, &host, &back) && host == src && back == plane);
}

static void check_names(const struct weft_topo *topo, struct weft_rng *rng)
{
	const struct weft_topo_shape *shape = weft_topo_shape(topo);
	char name[WEFT_TOPO_NAME_BYTES];

	for (unsigned i = 0; i < NAMES; i++) {
		uint32_t node = (uint32_t)weft_rng_below(rng, shape->nodes);
		uint32_t link = (uint32_t)weft_rng_below(rng, shape->links);

		weft_topo_node_name(topo, node, name, sizeof(name));
		WEFT_ASSERT(weft_topo_node_find(topo, name) == node);
		weft_topo_link_name(topo, link, name, sizeof(name));
		WEFT_ASSERT(weft_topo_link_find(topo, name) == link);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	const char *text = (const char *)data;
	char error[256] = "";
	struct weft_topo *topo;
	struct weft_rng rng;

	if (weft_topo_open_text(&topo, text, len_bytes, "fuzz", error, sizeof(error))) {
		/* A refusal names the file and a line. */
		WEFT_ASSERT(!strncmp(error, "fuzz:", 5) && memchr(error, 0, sizeof(error)));
		return 0;
	}
	weft_rng_seed(&rng, len_bytes);
	for (unsigned i = 0; i < PAIRS; i++)
		check_pair(topo, &rng);
	check_names(topo, &rng);
	weft_topo_close(topo);
	return 0;
}
