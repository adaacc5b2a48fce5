/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables are checked by walking packets through them, as switches would. */
#include "fabrics.h"

#define BLOCKS8                                                                                    \
	"fc00:0::/32, fc00:1::/32, fc00:2::/32, fc00:3::/32, fc00:4::/32, fc00:5::/32, "           \
	"fc00:6::/32, fc00:7::/32"

static bool is_match(const struct weft_route *route, const uint8_t addr[16])
{
	uint32_t bytes = route->prefix_bits / 8, bits = route->prefix_bits % 8;

	return route->kind != WEFT_ROUTE_NONE && !memcmp(route->prefix, addr, bytes) &&
	       (!bits || (addr[bytes] ^ route->prefix[bytes]) >> (8 - bits) == 0);
}

/* Longest prefix; counts how many equally long ones there were: more than one is a clash. */
static bool look_up(const struct weft_topo *topo, uint32_t node, const uint8_t addr[16],
	struct weft_route *best)
{
	struct weft_route route;
	uint32_t ties = 0;

	best->prefix_bits = 0;
	for (uint32_t i = 0; weft_topo_route(topo, node, i, &route); i++) {
		if (!is_match(&route, addr))
			continue;
		ties = route.prefix_bits == best->prefix_bits ? ties + 1 : 0;
		if (route.prefix_bits > best->prefix_bits)
			*best = route;
	}
	CHECK_EQ(ties, 0);
	return best->prefix_bits != 0;
}

/* Sends addr from src's port; returns the node that takes it, the links crossed in links. */
static uint32_t walk(
	const struct weft_topo *topo, uint32_t node, uint8_t addr[16], uint32_t links[8], size_t *n)
{
	struct weft_route route;

	*n = 0;
	for (int steps = 0; steps < 16; steps++) {
		if (!look_up(topo, node, addr, &route))
			return WEFT_TOPO_NONE;
		if (route.kind == WEFT_ROUTE_LOCAL)
			return node;
		if (route.kind == WEFT_ROUTE_END || route.kind == WEFT_ROUTE_UA) {
			memmove(addr + 4, addr + 6, 10);
			addr[14] = addr[15] = 0;
		}
		if (route.kind == WEFT_ROUTE_END)
			continue;
		uint32_t link = weft_topo_port_link(topo, node, route.port);
		struct weft_link l = weft_topo_link(topo, link);

		REQUIRE(*n < 8);
		links[(*n)++] = link;
		node = l.node[0] == node ? l.node[1] : l.node[0];
	}
	return WEFT_TOPO_NONE;
}

static void check_all_pairs(const char *text)
{
	struct weft_topo *topo = fabric(text);
	uint32_t hosts = weft_topo_shape(topo)->hosts, evs[64], want[4], got[8];

	for (uint32_t src = 0; src < hosts; src++) {
		for (uint32_t dst = 0; dst < hosts; dst++) {
			size_t n_evs = weft_topo_evs(topo, src, dst, 3, evs, 64), n;

			CHECK(src == dst || n_evs > 0);
			for (size_t i = 0; i < n_evs; i++) {
				uint8_t addr[16];

				REQUIRE(weft_topo_usid(topo, src, dst, evs[i], addr));
				CHECK_EQ(walk(topo, src, addr, got, &n), dst);
				CHECK_EQ(weft_topo_usid_ev(addr), evs[i]);
				CHECK_EQ(weft_topo_path_links(topo, src, dst, evs[i], want), n);
				CHECK_MEM(got, want, n * sizeof(*want));
			}
		}
	}
	weft_topo_close(topo);
}

TEST(weft_topo_route__delivers_every_ev_of_every_pair)
{
	check_all_pairs(LAB8);
	check_all_pairs(UNEVEN);
	check_all_pairs(ONE_TIER);
	check_all_pairs(LAB8 "overrides: [{link: p3.t0-1:t1-0, cabled: false}]\n");
	check_all_pairs(LAB8 "usid: {block: [" BLOCKS8 "]}\n");
}

TEST(weft_topo_route__delivers_every_ev_of_every_pair_link_by_link)
{
	check_all_pairs(LAB8 "usid: {behavior: uA}\n");
	check_all_pairs(UNEVEN "usid: {behavior: uA}\n");
	check_all_pairs(ONE_TIER "usid: {behavior: uA}\n");
	check_all_pairs(LAB8 "usid: {behavior: uA}\n"
			     "overrides: [{link: p3.t0-1:t1-0, cabled: false}]\n");
	check_all_pairs(LAB8 "usid: {behavior: uA, block: [" BLOCKS8 "]}\n");
}

/* A uA says nothing about its switch, so only the plane keeps a packet from a wrong one. */
TEST(weft_topo_route__sends_each_plane_s_uas_by_its_own_port)
{
	struct weft_topo *topo = fabric(LAB8 "usid: {behavior: uA}\n");
	struct weft_route route;
	uint32_t links[8];
	uint8_t addr[16];
	size_t n;

	for (uint32_t plane = 0; plane < 8; plane++) {
		REQUIRE(weft_topo_usid(topo, 0, 3, weft_ev(plane, 1), addr));
		REQUIRE(look_up(topo, 0, addr, &route));
		CHECK_EQ(route.kind, WEFT_ROUTE_USID);
		CHECK_EQ(route.port, plane);
		CHECK_EQ(route.prefix_bits, 38);
		addr[4] ^= 0x04; /* the uA of another plane: this plane's T0 does not know it */
		CHECK_EQ(walk(topo, weft_topo_t0(topo, plane, 0), addr, links, &n), WEFT_TOPO_NONE);
	}
	weft_topo_close(topo);
}

TEST(weft_topo_route__delivers_host_addresses_on_every_plane)
{
	struct weft_topo *topo = fabric(UNEVEN);
	uint32_t links[8];
	size_t n;

	for (uint32_t src = 0; src < 7; src++) {
		for (uint32_t dst = 0; dst < 7; dst++) {
			for (uint32_t plane = 0; plane < 3; plane++) {
				uint8_t addr[16];

				weft_topo_host_addr(topo, dst, plane, addr);
				CHECK_EQ(walk(topo, src, addr, links, &n), dst);
				for (size_t i = 0; i < n; i++)
					CHECK_EQ(weft_topo_link(topo, links[i]).plane, plane);
			}
		}
	}
	weft_topo_close(topo);
}

TEST(weft_topo_route__knows_no_uncabled_port)
{
	struct weft_topo *topo = fabric(LAB8 "overrides: [{link: h3.p1, cabled: false}]\n");
	uint32_t t0 = weft_topo_t0(topo, 1, 1), missing = 0;
	struct weft_route route;

	for (uint32_t i = 0; weft_topo_route(topo, t0, i, &route); i++) {
		missing += route.kind == WEFT_ROUTE_NONE;
		CHECK(route.kind == WEFT_ROUTE_NONE || route.kind == WEFT_ROUTE_END ||
			route.port != 1);
	}
	CHECK_EQ(missing, 2); /* its uSID and its address */
	weft_topo_close(topo);
}

TEST(weft_topo_route__fits_the_paper_s_table_sizes)
{
	struct weft_topo *topo = fabric(PAPER);
	struct weft_route route;
	uint32_t n = 0;

	for (uint32_t i = 0; weft_topo_route(topo, weft_topo_t0(topo, 7, 511), i, &route); i++)
		n += route.prefix_bits == 48 && route.kind != WEFT_ROUTE_HOST;
	CHECK_EQ(n, 1 + 256 + 256);
	n = 0;
	for (uint32_t i = 0; weft_topo_route(topo, weft_topo_t1(topo, 0, 255), i, &route); i++)
		n += route.prefix_bits == 48;
	CHECK_EQ(n, 1 + 512);
	weft_topo_close(topo);
}

TEST(weft_topo_route__needs_one_uA_per_port)
{
	struct weft_topo *topo = fabric(PAPER "usid: {behavior: uA}\n");
	struct weft_route route;
	uint32_t n = 0, others = 0;

	for (uint32_t i = 0; weft_topo_route(topo, weft_topo_t0(topo, 7, 511), i, &route); i++) {
		n += route.kind == WEFT_ROUTE_UA;
		others += route.kind != WEFT_ROUTE_UA && route.kind != WEFT_ROUTE_HOST;
	}
	CHECK_EQ(n, 256 + 256);
	CHECK_EQ(others, 0);
	n = 0;
	for (uint32_t i = 0; weft_topo_route(topo, weft_topo_t1(topo, 0, 255), i, &route); i++)
		n += route.kind == WEFT_ROUTE_UA;
	CHECK_EQ(n, 512);
	weft_topo_close(topo);
}

static void walk_far(const char *text)
{
	struct weft_topo *topo = fabric(text);
	uint32_t links[8];
	uint8_t addr[16];
	size_t n;

	REQUIRE(weft_topo_usid(topo, 1, 131071, weft_ev(7, 255), addr));
	CHECK_EQ(walk(topo, 1, addr, links, &n), 131071);
	CHECK_EQ(n, 4);
	weft_topo_close(topo);
}

TEST(weft_topo_route__walks_the_paper_s_fabric)
{
	walk_far(PAPER);
	walk_far(PAPER "usid: {behavior: uA}\n");
}
