/* SPDX-License-Identifier: BSD-2-Clause */
/* What a lab asks of kernel programs; faults and paths are in lab_fault_test.c, twin_test.c. */
#include "labs.h"

#include <weft/xdp.h>

static struct world world;

static void begin(uint64_t rate_bps)
{
	if (!build_programs(&world, TWO_PLANES, rate_bps))
		SKIP("the kernel takes no program of ours");
}

TEST(program_open__leaves_nothing_to_the_kernel)
{
	begin(WEFT_LAB_RATE_NONE);
	CHECK(!world.nodes[0].xdp); /* a host */
	for (uint32_t node = 4; node < world.n_nodes; node++) {
		char value[4] = "";

		CHECK(world.nodes[node].xdp);
		REQUIRE(world_enter(&world, node));
		int fd = open("/proc/sys/net/ipv6/conf/all/forwarding", O_RDONLY);
		CHECK(read(fd, value, sizeof(value) - 1) > 0);
		CHECK_EQ(value[0], '0');
		close(fd);
	}
	CHECK_EQ(deliver(&world, 0, 3, weft_ev(1, 1), 100), 100);
	world_close(&world);
}

TEST(program_open__refuses_what_it_cannot_do)
{
	struct weft_lab_options options = { .switches = WEFT_LAB_SWITCHES_XDP, .offloads = true };

	need_root_here();
	CHECK(!world_open(&world, read_fabric(TWO_PLANES), &options));
	CHECK(strstr(world.error, "offloads"));
	world_close(&world);
	options.offloads = false;
	CHECK(!world_open(&world, read_fabric(TWO_PLANES "switch: {full: pause}\n"), &options));
	CHECK(strstr(world.error, "cannot pause"));
	world_close(&world);
}

TEST(program_settle__counts_what_a_dead_cable_would_have_carried)
{
	struct weft_lab_fault fault = { 0 };
	struct weft_lab_end_stats ends[2];
	char error[256];
	uint32_t id, t0;

	begin(WEFT_LAB_RATE_NONE);
	t0 = weft_topo_t0(world.topo, 0, 0);
	REQUIRE(!weft_lab_fault_parse(
		world.topo, "link-down", "p0.t0-0:t1-1", &fault, error, sizeof(error)));
	REQUIRE(fault_add(&world, &fault, 0, &id));
	CHECK_EQ(deliver(&world, 0, 3, weft_ev(0, 1), 5), 0);
	CHECK_EQ(weft_xdp_drops(world.nodes[t0].xdp, WEFT_SWITCH_DROP_PORT_DOWN), 5);
	REQUIRE(link_stats(&world, fault.where, ends));
	CHECK_EQ(ends[0].tx_dropped, 5);
	CHECK(!ends[0].carrier && !ends[1].carrier);
	REQUIRE(fault_undo(&world, id));
	CHECK_EQ(deliver(&world, 0, 3, weft_ev(0, 1), 5), 5);
	world_close(&world);
}

TEST(program_settle__loses_a_share_at_the_switch)
{
	struct weft_lab_fault fault = { 0 };
	char error[256];
	uint32_t id;

	begin(WEFT_LAB_RATE_NONE);
	REQUIRE(!weft_lab_fault_parse(
		world.topo, "loss", "p0.t0-0:t1-1", &fault, error, sizeof(error)));
	fault.loss_ppm = 300000;
	fault.way = 1; /* up alone: the default is both */
	REQUIRE(fault_add(&world, &fault, 0, &id));
	int got = (int)deliver(&world, 0, 3, weft_ev(0, 1), 2000);
	CHECK_NEAR(got, 1400, 105); /* five deviations */
	CHECK_EQ(weft_xdp_drops(
			 world.nodes[weft_topo_t1(world.topo, 0, 1)].xdp, WEFT_SWITCH_DROP_FAULT),
		2000 - got);
	CHECK_EQ(deliver(&world, 3, 0, weft_ev(0, 1), 200), 200); /* the other way */
	world_close(&world);
}

TEST(program_stats__are_the_program_s)
{
	struct weft_lab_end_stats ends[2];
	struct weft_lab_sid sids[4];
	uint32_t link, node;

	begin(WEFT_LAB_RATE_NONE);
	link = weft_topo_link_find(world.topo, "p1.t0-0:t1-1");
	node = weft_topo_t1(world.topo, 1, 1);
	CHECK_EQ(deliver(&world, 0, 3, weft_ev(1, 1), 70), 70);
	REQUIRE(link_stats(&world, link, ends));
	CHECK_EQ(ends[0].tx_packets, 70);
	CHECK_EQ(ends[0].tx_bytes, 70 * (14 + 40 + 8 + 1));
	CHECK_EQ(ends[1].rx_packets, 70);
	CHECK_EQ(ends[1].tx_packets, 0);
	CHECK(ends[0].up && ends[1].carrier);
	CHECK_EQ(program_sids(&world, node, sids, 4), 1);
	CHECK_EQ(sids[0].packets, 70);
	CHECK(!sids[0].is_ua);
	world_close(&world);
}
