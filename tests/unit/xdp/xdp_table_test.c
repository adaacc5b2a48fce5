/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

static struct pair pair;

static void open_pair(void)
{
	memset(&pair, 0, sizeof(pair));
	pair_open(&pair);
}

TEST(weft_xdp_sid_add__refuses)
{
	struct weft_hop un = { .kind = WEFT_HOP_UN };
	const struct weft_hop bad[] = {
		{ .kind = WEFT_HOP_NONE },
		{ .kind = WEFT_HOP_PORT, .port = PAIR_PORTS },
		{ .kind = WEFT_HOP_UA, .port = PAIR_PORTS },
		{ .kind = WEFT_HOP_HASH, .port = 1, .ports = 0 },
		{ .kind = WEFT_HOP_HASH, .port = 1, .ports = PAIR_PORTS },
		{ .kind = WEFT_HOP_FIELD, .port = 1, .ports = 2, .shift = 32 },
		{ .kind = 17 },
	};

	open_pair();
	for (size_t i = 0; i < WEFT_COUNT(bad); i++)
		CHECK(!weft_xdp_sid_add(pair.xdp, 0x4000, &bad[i]));
	CHECK(!weft_xdp_sid_add(pair.xdp, 0, &un));
	CHECK(!weft_xdp_sid_add(pair.xdp, PAIR_OWN, &un)); /* a second time */
	uint32_t sid = 0x4000;

	while (pair.xdp->n_sids < PAIR_SIDS)
		CHECK(weft_xdp_sid_add(pair.xdp, (uint16_t)sid++, &un));
	CHECK(!weft_xdp_sid_add(pair.xdp, (uint16_t)sid, &un)); /* full */
	pair_close(&pair);
}

TEST(weft_xdp_prefix_add__refuses)
{
	const uint8_t all[16] = { 0xfd, [5] = 1 }, other[16] = { 0xfd, [5] = 9 };
	struct weft_hop hop = { .kind = WEFT_HOP_PORT }, un = { .kind = WEFT_HOP_UN };

	open_pair();
	CHECK(!weft_xdp_prefix_add(pair.xdp, other, 47, &hop));
	CHECK(!weft_xdp_prefix_add(pair.xdp, other, 48, &un));
	uint32_t group = pair.xdp->n_group;
	struct weft_hop hash = { .kind = WEFT_HOP_HASH, .ports = 4 };

	CHECK(!weft_xdp_prefix_add(pair.xdp, all, 48, &hash)); /* a second time */
	CHECK_EQ(pair.xdp->n_group, group);
	for (uint8_t i = 0; i < 5; i++) {
		uint8_t prefix[16] = { 0xfd, 1, i };

		CHECK(weft_xdp_prefix_add(pair.xdp, prefix, 48, &hop));
	}
	CHECK(!weft_xdp_prefix_add(pair.xdp, other, 48, &hop)); /* full */
	pair_close(&pair);
}

TEST(tables_empty__forgets_routes_and_keeps_counters)
{
	const uint16_t usids[6] = { PAIR_OWN, 2, 5 };
	uint8_t frame[100];

	open_pair();
	pair_frame(frame, sizeof(frame), usids, TCLASS_DATA, 17);
	CHECK_EQ(pair_feed(&pair, 0, frame, sizeof(frame)), WEFT_SWITCH_DROP_NONE);
	weft_xdp_reboot(pair.xdp);
	CHECK_EQ(weft_xdp_sid_pkts(pair.xdp, PAIR_OWN), 1);
	/* In another order: its counter is still its own. */
	struct weft_hop next = { .kind = WEFT_HOP_PORT, .port = 1 }, own = { .kind = WEFT_HOP_UN };

	CHECK(weft_xdp_sid_add(pair.xdp, 2, &next) && weft_xdp_sid_add(pair.xdp, PAIR_OWN, &own));
	CHECK_EQ(pair_feed(&pair, 0, frame, sizeof(frame)), WEFT_SWITCH_DROP_NONE);
	CHECK_EQ(weft_xdp_sid_pkts(pair.xdp, PAIR_OWN), 2);
	CHECK_EQ(weft_xdp_sid_pkts(pair.xdp, 2), 2);
	CHECK_EQ(weft_xdp_sid_pkts(pair.xdp, 3), 0);
	pair_close(&pair);
}

TEST(weft_xdp_sid_hole__wants_an_entry)
{
	open_pair();
	CHECK(!weft_xdp_sid_hole(pair.xdp, 0x4321, true));
	CHECK(weft_xdp_sid_hole(pair.xdp, 0x0200, false));
	CHECK_EQ(pair.xdp->state->sids[0x0200].kind, XDP_HOP_PORT);
	pair_close(&pair);
}
