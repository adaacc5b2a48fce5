/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabrics.h"

static const char *const fabrics[] = { LAB8, UNEVEN, ONE_TIER };

TEST(weft_topo_link__both_ends_know_each_other)
{
	for (size_t f = 0; f < WEFT_COUNT(fabrics); f++) {
		struct weft_topo *topo = fabric(fabrics[f]);

		for (uint32_t i = 0; i < weft_topo_shape(topo)->links; i++) {
			struct weft_link l = weft_topo_link(topo, i);

			CHECK_EQ(weft_topo_port_link(topo, l.node[0], l.port[0]), i);
			CHECK_EQ(weft_topo_port_link(topo, l.node[1], l.port[1]), i);
			CHECK(l.cabled);
			struct weft_node a = weft_topo_node(topo, l.node[0]);
			struct weft_node b = weft_topo_node(topo, l.node[1]);
			CHECK_EQ(b.kind, a.kind + 1);
			CHECK_EQ(b.plane, l.plane);
			CHECK(a.kind == WEFT_NODE_HOST || a.plane == l.plane);
		}
		weft_topo_close(topo);
	}
}

TEST(weft_topo_port_link__counts_every_link_twice)
{
	for (size_t f = 0; f < WEFT_COUNT(fabrics); f++) {
		struct weft_topo *topo = fabric(fabrics[f]);
		uint32_t ends = 0;

		for (uint32_t i = 0; i < weft_topo_shape(topo)->nodes; i++) {
			for (uint32_t p = 0; p < weft_topo_node(topo, i).ports; p++)
				ends += weft_topo_port_link(topo, i, p) != WEFT_TOPO_NONE;
		}
		CHECK_EQ(ends, 2 * weft_topo_shape(topo)->links);
		weft_topo_close(topo);
	}
}

TEST(weft_topo_port_link__is_none_for_an_empty_downlink)
{
	struct weft_topo *topo = fabric(UNEVEN); /* 3 + 3 + 1 hosts */

	CHECK_EQ(downlinks(topo, 0), 3);
	CHECK_EQ(downlinks(topo, 2), 1);
	CHECK(weft_topo_port_link(topo, weft_topo_t0(topo, 1, 2), 0) != WEFT_TOPO_NONE);
	CHECK_EQ(weft_topo_port_link(topo, weft_topo_t0(topo, 1, 2), 1), WEFT_TOPO_NONE);
	weft_topo_close(topo);
}

TEST(weft_topo_node_name__is_found_again)
{
	for (size_t f = 0; f < WEFT_COUNT(fabrics); f++) {
		struct weft_topo *topo = fabric(fabrics[f]);
		char name[WEFT_TOPO_NAME_BYTES];

		for (uint32_t i = 0; i < weft_topo_shape(topo)->nodes; i++) {
			weft_topo_node_name(topo, i, name, sizeof(name));
			CHECK_EQ(weft_topo_node_find(topo, name), i);
		}
		for (uint32_t i = 0; i < weft_topo_shape(topo)->links; i++) {
			weft_topo_link_name(topo, i, name, sizeof(name));
			CHECK_EQ(weft_topo_link_find(topo, name), i);
		}
		weft_topo_close(topo);
	}
}

TEST(weft_topo_node_name__says_what_it_is)
{
	struct weft_topo *topo = fabric(UNEVEN);
	char name[WEFT_TOPO_NAME_BYTES];

	weft_topo_node_name(topo, 6, name, sizeof(name));
	CHECK_STR(name, "h6");
	weft_topo_node_name(topo, weft_topo_t1(topo, 2, 1), name, sizeof(name));
	CHECK_STR(name, "p2.t1-1");
	weft_topo_link_name(topo, 6 * 3 + 2, name, sizeof(name));
	CHECK_STR(name, "h6.p2");
	weft_topo_link_name(topo, core_link(topo, 1, 2, 3), name, sizeof(name));
	CHECK_STR(name, "p1.t0-2:t1-1/1");
	weft_topo_close(topo);
}

TEST(weft_topo_node_find__refuses_what_is_not_there)
{
	static const char *const names[] = { "", "h4", "h04", "h", "h-1", "p8.t0-0", "p0.t0-2",
		"p0.t2-0", "p0.t0-", "p0.t0-1x", "x", "p0", "h0.p0", "h99999999999" };
	static const char *const links[] = { "", "h0", "h4.p0", "h0.p8", "h0.p0x", "p0.t0-0",
		"p0.t0-0:t1-2", "p0.t0-0:t0-0", "p0.t0-0:t1-0/1", "p0.t0-0:t1-0 " };
	struct weft_topo *topo = fabric(LAB8);

	for (size_t i = 0; i < WEFT_COUNT(names); i++)
		CHECK_EQ(weft_topo_node_find(topo, names[i]), WEFT_TOPO_NONE);
	for (size_t i = 0; i < WEFT_COUNT(links); i++)
		CHECK_EQ(weft_topo_link_find(topo, links[i]), WEFT_TOPO_NONE);
	weft_topo_close(topo);
}

TEST(weft_topo_plane_find__takes_no_number_for_another)
{
	static const char *const bad[] = { "", "p", "8", "p8", "4294967296", "4294967297",
		"p4294967297", "18446744073709551617", "-1", "+1", " 1", "1 ", "1x", "01", "pp1" };
	struct weft_topo *topo = fabric(LAB8);

	CHECK_EQ(weft_topo_plane_find(topo, "1"), 1);
	CHECK_EQ(weft_topo_plane_find(topo, "p0"), 0);
	for (size_t i = 0; i < WEFT_COUNT(bad); i++)
		CHECK_EQ(weft_topo_plane_find(topo, bad[i]), WEFT_TOPO_NONE);
	weft_topo_close(topo);
}

TEST(weft_topo_node_find__knows_given_names)
{
	struct weft_topo *topo = fabric("name: n\nplanes: 2\nt0s: 1\nhosts: [alpha, h1, p0-x]\n");
	char name[WEFT_TOPO_NAME_BYTES];

	CHECK_EQ(weft_topo_node_find(topo, "alpha"), 0);
	CHECK_EQ(weft_topo_node_find(topo, "h1"), 1);
	CHECK_EQ(weft_topo_node_find(topo, "h0"), WEFT_TOPO_NONE);
	CHECK_EQ(weft_topo_link_find(topo, "p0-x.p1"), 5);
	weft_topo_link_name(topo, 1, name, sizeof(name));
	CHECK_STR(name, "alpha.p1");
	weft_topo_close(topo);
}

TEST(weft_topo_node__refuses_a_number_out_of_range)
{
	struct weft_topo *topo = fabric(LAB8);

	CHECK_PANICS(weft_topo_node(topo, 36));
	CHECK_PANICS(weft_topo_link(topo, 64));
	CHECK_PANICS(weft_topo_port_link(topo, 0, 8));
	CHECK_PANICS(weft_topo_host_t0(topo, 4, 0));
	weft_topo_close(topo);
}
