/* SPDX-License-Identifier: BSD-2-Clause */
/* Words between keeper and switches.  What each fault then does is fault's test, for all kinds. */
#include "labs.h"

static struct world world;

static uint32_t inject(const char *kind, const char *where, uint32_t way)
{
	struct weft_lab_fault fault;
	char error[256];
	uint32_t id = 0;

	if (weft_lab_fault_parse(world.topo, kind, where, &fault, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	fault.way = way;
	fault.loss_ppm = 1000000;
	if (!fault_add(&world, &fault, 1000, &id))
		CHECK_FAIL("%s", world.error);
	return id;
}

/* h0 to h3 over p0.t1-1 is what is looked at: alive, or not. */
static bool is_alive(void)
{
	return deliver(&world, 0, 3, weft_ev(0, 1), 3) == 3;
}

TEST(soft_settle__tells_a_switch_again_what_it_forgot_without_power)
{
	build_soft(&world, TWO_PLANES);
	uint32_t hole = inject("blackhole", "p0.t0-0:t1-1", WEFT_LAB_UP);
	CHECK(!is_alive());
	uint32_t reboot = inject("reboot", "p0.t0-0", WEFT_LAB_UP);
	CHECK(!is_alive());
	CHECK(fault_undo(&world, reboot));
	CHECK(!is_alive());
	CHECK(fault_undo(&world, hole));
	CHECK(is_alive());

	uint32_t freeze = inject("freeze", "p0.t1-1", WEFT_LAB_UP);
	reboot = inject("reboot", "p0.t1-1", WEFT_LAB_UP);
	CHECK(fault_undo(&world, reboot));
	CHECK(!is_alive());
	CHECK(fault_undo(&world, freeze));
	CHECK(is_alive());
	build_end(&world);
}

TEST(soft_settle__keeps_a_link_down_that_another_fault_wants_down)
{
	build_soft(&world, TWO_PLANES);
	uint32_t down = inject("link-down", "p0.t0-0:t1-1", WEFT_LAB_UP);
	uint32_t reboot = inject("reboot", "p0.t1-1", WEFT_LAB_UP);
	CHECK(fault_undo(&world, reboot));
	CHECK(!is_alive());
	inject("reboot", "p0.t1-1", WEFT_LAB_UP);
	CHECK(fault_undo(&world, down));
	CHECK(!is_alive());
	CHECK(fault_undo(&world, 0));
	CHECK(is_alive());
	build_end(&world);
}

TEST(soft_settle__loses_in_the_fabric_and_not_in_the_kernel)
{
	struct weft_lab_end_stats ends[2];

	build_soft(&world, TWO_PLANES);
	uint32_t link = weft_topo_link_find(world.topo, "h3.p0");
	inject("loss", "h3.p0", WEFT_LAB_DOWN);
	CHECK(!is_alive());
	CHECK(request_stats(&world.nodes[3].netlink, port_ifindex(&world, 3, 0), &ends[0]));
	CHECK(ends[0].rx_packets < 3); /* nothing reached the host */
	CHECK(!world.soft.told[link].loss_ppm[0]);
	CHECK_EQ(world.soft.told[link].loss_ppm[1], 1000000);
	build_end(&world);
}

TEST(soft_settle__slows_and_spoils_and_ends_it)
{
	struct weft_lab_fault slow = { .kind = WEFT_LAB_SLOW, .rate_bps = 50000000 },
			      slower = { .kind = WEFT_LAB_SLOW, .rate_bps = 5000000 },
			      corrupt = { .kind = WEFT_LAB_CORRUPT, .way = 1, .loss_ppm = 7 };
	uint32_t ids[3];

	build_soft(&world, TWO_PLANES);
	slow.where = slower.where = corrupt.where = weft_topo_link_find(world.topo, "p0.t0-0:t1-0");
	const struct soft_told *told = &world.soft.told[slow.where];

	CHECK(fault_add(&world, &slow, 0, &ids[0]));
	CHECK(fault_add(&world, &slower, 0, &ids[1]));
	CHECK(fault_add(&world, &corrupt, 0, &ids[2]));
	CHECK_EQ(told->rate_bps, 5000000);
	CHECK_EQ(told->spoil_ppm[0], 7);
	CHECK_EQ(told->spoil_ppm[1], 0);
	CHECK(fault_undo(&world, ids[1]));
	CHECK_EQ(told->rate_bps, 50000000);
	CHECK(fault_undo(&world, 0));
	CHECK_EQ(told->rate_bps, 0);
	CHECK_EQ(told->spoil_ppm[0], 0);
	build_end(&world);
}

TEST(soft_stats__counts_both_ends_of_every_link_of_a_path)
{
	struct weft_lab_end_stats before[4][2], after[2];
	uint32_t links[4];

	build_soft(&world, TWO_PLANES);
	REQUIRE(weft_topo_path_links(world.topo, 0, 3, weft_ev(1, 1), links) == 4);
	for (int i = 0; i < 4; i++)
		CHECK(link_stats(&world, links[i], before[i]));
	CHECK_EQ(deliver(&world, 0, 3, weft_ev(1, 1), 50), 50);
	poll(NULL, 0, 5); /* older than what is told again */
	for (int i = 0; i < 4; i++) {
		int end = i >= 2; /* the sending end */

		CHECK(link_stats(&world, links[i], after));
		CHECK(after[end].tx_packets - before[i][end].tx_packets >= 50);
		CHECK(after[!end].rx_packets - before[i][!end].rx_packets >= 50);
		CHECK(after[end].tx_bytes - before[i][end].tx_bytes >= 50 * 49);
		CHECK(after[0].up && after[0].carrier && after[1].up && after[1].carrier);
	}
	build_end(&world);
}

TEST(soft_sids__reads_what_the_kernel_would_have_counted)
{
	struct weft_lab_sid sids[8];

	build_soft(&world, TWO_PLANES "usid: {behavior: uA}\n");
	CHECK_EQ(deliver(&world, 0, 3, weft_ev(0, 1), 9), 9);
	CHECK_EQ(soft_sids(&world, weft_topo_t0(world.topo, 0, 0), sids, 8), 4);
	for (int i = 0; i < 4; i++) {
		CHECK(sids[i].is_ua);
		CHECK_EQ(sids[i].packets, sids[i].usid == 0xe003 ? 9 : 0);
	}
	CHECK_EQ(soft_sids(&world, weft_topo_t0(world.topo, 0, 0), sids, 2), 2);
	build_end(&world);
}
