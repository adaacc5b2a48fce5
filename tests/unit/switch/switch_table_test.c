/* SPDX-License-Identifier: BSD-2-Clause */
#include "one.h"

static struct one one;

TEST(weft_switch_sid_add__holds_a_full_scale_table)
{
	one.config = (struct weft_switch_config){ 0 };
	one_open(&one, NULL);
	struct weft_switch_config config = one.config;
	struct weft_hop hop = { .kind = WEFT_HOP_PORT };
	struct weft_switch *sw;

	config.ports = 512;
	config.sids = 513;
	void *block = aligned_alloc(64, weft_switch_size(&config));

	REQUIRE(weft_switch_init(&sw, block, &config));
	for (uint16_t i = 0; i < 513; i++) {
		/* As the uSID plan numbers them: hosts from 1, T1s from 0x4000, own 0x8000. */
		uint16_t sid = i < 256 ? i + 1 : i < 512 ? 0x4000 + i - 256 : 0x8000;

		hop.port = i % 512;
		CHECK(weft_switch_sid_add(sw, sid, &hop));
		CHECK(!weft_switch_sid_add(sw, sid, &hop));
	}
	CHECK(!weft_switch_sid_add(sw, 0x8001, &hop)); /* as many as were asked for */
	for (uint32_t sid = 0; sid < 65536; sid++) {
		const struct weft_hop *found = sid ? table_find_sid(sw, (uint16_t)sid) : NULL;
		bool is_there = (sid >= 1 && sid <= 256) || (sid >= 0x4000 && sid < 0x4100) ||
				sid == 0x8000;

		CHECK_EQ(found != NULL, is_there);
		if (found && sid <= 256)
			CHECK_EQ(found->port, sid - 1);
		if (is_there)
			CHECK_EQ(weft_switch_sid_pkts(sw, (uint16_t)sid), 1);
	}
	free(block);
	one_close(&one);
}

TEST(weft_switch_sid_add__refuses_what_leads_nowhere)
{
	static const struct weft_hop bad[] = {
		{ .kind = WEFT_HOP_NONE },
		{ .kind = 17 },
		{ .kind = WEFT_HOP_PORT, .port = PORTS },
		{ .kind = WEFT_HOP_UA, .port = PORTS },
		{ .kind = WEFT_HOP_HASH, .port = 0, .ports = 0 },
		{ .kind = WEFT_HOP_HASH, .port = 4, .ports = 5 },
		{ .kind = WEFT_HOP_FIELD, .port = 0, .ports = 4, .shift = 32 },
		{ .kind = WEFT_HOP_HASH, .port = 65535, .ports = 65535 },
	};
	struct weft_hop good = { .kind = WEFT_HOP_PORT };
	uint8_t prefix[16] = { 0xfd };

	one_open(&one, NULL);
	for (size_t i = 0; i < WEFT_COUNT(bad); i++) {
		CHECK(!weft_switch_sid_add(one.sw, 0x4000, &bad[i]));
		CHECK(!weft_switch_prefix_add(one.sw, prefix, 64, &bad[i]));
	}
	CHECK(!weft_switch_sid_add(one.sw, 0, &good));
	CHECK(!weft_switch_prefix_add(one.sw, prefix, 56, &good));
	CHECK(weft_switch_sid_add(one.sw, 0x4000, &good));
	one_close(&one);
}

/* What one frame to a uSID, or our own and it, meets. */
static enum weft_switch_drop fate(uint64_t route)
{
	struct weft_frame frame = { .route = route, .bytes = 100, .hop_limit = 9 };
	struct weft_departure departure;
	uint32_t port;
	enum weft_switch_drop drop = weft_switch_input(one.sw, &frame, 0, &port);

	if (!drop)
		CHECK(weft_switch_take(one.sw, port, UINT64_MAX / 2, &departure));
	return drop;
}

TEST(weft_switch_sid_hole__swallows_one_entry_s_frames)
{
	uint64_t own = (uint64_t)OWN << 48, next = UINT64_C(3) << 32, rest = 1 << 16;

	one_open(&one, NULL);
	CHECK(!weft_switch_sid_hole(one.sw, 0x7777, true));
	CHECK(!weft_switch_sid_hole(one.sw, 0, true));
	CHECK(weft_switch_sid_hole(one.sw, 3, true));
	CHECK_EQ(fate(own | next | rest), WEFT_SWITCH_DROP_FAULT);
	CHECK_EQ(fate(next << 16 | rest), WEFT_SWITCH_DROP_FAULT);
	CHECK_EQ(fate(own | UINT64_C(2) << 32 | rest), WEFT_SWITCH_DROP_NONE);
	CHECK(weft_switch_sid_hole(one.sw, 3, false));
	CHECK_EQ(fate(own | next | rest), WEFT_SWITCH_DROP_NONE);
	CHECK(weft_switch_sid_hole(one.sw, 0xe002, true)); /* a link's */
	CHECK_EQ(fate(UINT64_C(0xe002) << 48 | rest), WEFT_SWITCH_DROP_FAULT);
	CHECK(weft_switch_sid_hole(one.sw, OWN, true));
	CHECK_EQ(fate(own | UINT64_C(2) << 32 | rest), WEFT_SWITCH_DROP_FAULT);
	CHECK_EQ(weft_switch_drops(one.sw, WEFT_SWITCH_DROP_FAULT), 4);
	weft_switch_reboot(one.sw, 0);
	one_routes(&one);
	CHECK_EQ(fate(own | next | rest), WEFT_SWITCH_DROP_NONE);
	one_close(&one);
}

TEST(weft_switch_prefix_add__longest_match_wins)
{
	uint8_t addr[16] = { 0xfd, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3 };
	struct weft_hop hop = { .kind = WEFT_HOP_PORT };

	one_open(&one, NULL);
	CHECK(!table_find_prefix(one.sw, addr));
	CHECK(weft_switch_prefix_add(one.sw, addr, 48, &hop));
	CHECK(!weft_switch_prefix_add(one.sw, addr, 48, &hop));
	hop.port = 1;
	CHECK(weft_switch_prefix_add(one.sw, addr, 64, &hop));
	hop.port = 2;
	CHECK(weft_switch_prefix_add(one.sw, addr, 128, &hop));
	CHECK_EQ(table_find_prefix(one.sw, addr)->port, 2);
	addr[15] = 4;
	CHECK_EQ(table_find_prefix(one.sw, addr)->port, 1);
	addr[7] = 9;
	CHECK_EQ(table_find_prefix(one.sw, addr)->port, 0);
	addr[5] = 9;
	CHECK(!table_find_prefix(one.sw, addr));
	hop.kind = WEFT_HOP_UN;
	CHECK(!weft_switch_prefix_add(one.sw, addr, 64, &hop));
	one_close(&one);
}

TEST(table_clear__forgets_all)
{
	uint8_t addr[16] = { 0xfd };
	struct weft_hop hop = { .kind = WEFT_HOP_PORT };

	one_open(&one, NULL);
	CHECK(weft_switch_prefix_add(one.sw, addr, 48, &hop));
	table_clear(one.sw);
	CHECK(!table_find_sid(one.sw, OWN));
	CHECK(!table_find_prefix(one.sw, addr));
	one_routes(&one);
	CHECK(table_find_sid(one.sw, OWN));
	one_close(&one);
}

TEST(weft_hop_is_possible__keeps_ports_in_range)
{
	static const struct {
		struct weft_hop hop;
		bool is_possible;
	} rows[] = { { { .kind = WEFT_HOP_NONE }, false },
		{ { .kind = WEFT_HOP_UN, .port = 9 }, true },
		{ { .kind = WEFT_HOP_UA, .port = 3 }, true },
		{ { .kind = WEFT_HOP_UA, .port = 4 }, false },
		{ { .kind = WEFT_HOP_PORT, .port = 4 }, false },
		{ { .kind = WEFT_HOP_HASH, .port = 1, .ports = 3 }, true },
		{ { .kind = WEFT_HOP_HASH, .port = 1, .ports = 4 }, false },
		{ { .kind = WEFT_HOP_HASH, .port = 1, .ports = 0 }, false },
		{ { .kind = WEFT_HOP_FIELD, .ports = 4, .shift = 31 }, true },
		{ { .kind = WEFT_HOP_FIELD, .ports = 4, .shift = 32 }, false },
		{ { .kind = 77 }, false } };

	for (unsigned i = 0; i < WEFT_COUNT(rows); i++)
		CHECK_EQ(weft_hop_is_possible(&rows[i].hop, 4), rows[i].is_possible);
}
