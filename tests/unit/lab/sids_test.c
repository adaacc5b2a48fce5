/* SPDX-License-Identifier: BSD-2-Clause */
#include "labs.h"

/* How often the switch steered by this uSID; UINT64_MAX: it has no such uSID. */
static uint64_t packets(struct world *world, uint32_t node, uint16_t usid, bool is_ua)
{
	struct weft_lab_sid sids[64];
	int n = sids_read(&world->nodes[node].netlink, sids, 64);

	REQUIRE(n >= 0);
	for (int i = 0; i < n; i++) {
		CHECK_EQ(sids[i].is_ua, is_ua);
		if (sids[i].usid == usid)
			return sids[i].packets;
	}
	return UINT64_MAX;
}

static uint64_t all_packets(struct world *world)
{
	const struct weft_topo_shape *s = weft_topo_shape(world->topo);
	struct weft_lab_sid sids[64];
	uint64_t sum = 0;

	for (uint32_t node = s->hosts; node < s->nodes; node++) {
		int n = sids_read(&world->nodes[node].netlink, sids, 64);

		for (int i = 0; i < n; i++)
			sum += sids[i].packets;
	}
	return sum;
}

/* Follows an address by what stands in it: the switch of each uSID counted it, and no other. */
static void check_path(struct world *world, uint32_t src, uint32_t dst, uint32_t ev, bool is_ua)
{
	uint64_t before[3], sum = all_packets(world);
	uint32_t links[4], node = src;
	uint8_t address[16];
	size_t n = weft_topo_path_links(world->topo, src, dst, ev, links);

	REQUIRE(n && weft_topo_usid(world->topo, src, dst, ev, address));
	for (unsigned turn = 0; turn < 2; turn++) {
		node = src;
		for (size_t i = 0; i + 1 < n; i++) {
			struct weft_link l = weft_topo_link(world->topo, links[i]);
			const uint8_t *at = address + 4 + 2 * i;

			node = l.node[l.node[0] == node];
			uint64_t now = packets(world, node, (uint16_t)(at[0] << 8 | at[1]), is_ua);
			CHECK(now != UINT64_MAX);
			if (turn)
				CHECK_EQ(now - before[i], 7);
			before[i] = now;
		}
		if (!turn)
			CHECK_EQ(deliver(world, src, dst, ev, 7), 7);
	}
	CHECK_EQ(all_packets(world) - sum, 7 * (n - 1));
}

static void check_pairs(const char *text, bool is_ua)
{
	struct world world;
	uint32_t evs[64];

	build(&world, text, WEFT_LAB_RATE_NONE);
	uint32_t last = weft_topo_shape(world.topo)->hosts - 1;
	for (uint32_t dst = 1; dst <= last; dst += last - 1 ? last - 1 : 1) {
		size_t n = weft_topo_evs(world.topo, 0, dst, 1, evs, 64);

		for (size_t i = 0; i < n; i++)
			check_path(&world, 0, dst, evs[i], is_ua);
	}
	world_close(&world);
}

TEST(sids_read__counts_each_switch_s_own_uN)
{
	check_pairs(TWO_PLANES, false);
	check_pairs(PARALLEL, false);
}

TEST(sids_read__counts_each_link_s_uA)
{
	check_pairs(TWO_PLANES "usid: {behavior: uA}\n", true);
	check_pairs(PARALLEL "usid: {behavior: uA}\n", true);
}

TEST(sids_read__takes_no_more_than_there_is_room_for)
{
	struct weft_lab_sid sids[4] = { 0 };
	struct world world;

	build(&world, TWO_PLANES "usid: {behavior: uA}\n", WEFT_LAB_RATE_NONE);
	CHECK_EQ(sids_read(&world.nodes[4].netlink, sids, 3), 3);
	CHECK_EQ(sids[3].usid, 0);
	CHECK_EQ(sids_read(&world.nodes[4].netlink, sids, 4), 4);
	CHECK_EQ(sids_read(&world.nodes[0].netlink, sids, 4), 0); /* a host */
	world_close(&world);
}

TEST(sids_read__tells_packets_that_end_too_early)
{
	struct weft_lab_sid sids[4] = { 0 };
	struct world world;
	uint8_t address[16];

	build(&world, TWO_PLANES, WEFT_LAB_RATE_NONE);
	int tx = udp_open(&world, 0, 5000);
	REQUIRE(weft_topo_usid(world.topo, 0, 3, 0, address));
	memset(address + 6, 0, 10);
	CHECK(udp_send(tx, address, "x", 1));
	for (int i = 0; i < 200 && !sids[0].errors; i++) {
		poll(NULL, 0, 1);
		CHECK_EQ(sids_read(&world.nodes[4].netlink, sids, 4), 1);
	}
	CHECK_EQ(sids[0].errors, 1);
	CHECK_EQ(sids[0].packets, 1);
	close(tx);
	world_close(&world);
}
