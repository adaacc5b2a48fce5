/* SPDX-License-Identifier: BSD-2-Clause */
#include "one.h"

static struct one one;

TEST(forward_carrier__shifts_own_usids_and_follows_the_next)
{
	static const struct {
		uint16_t usids[6];
		enum weft_switch_drop drop;
		uint32_t port;
		uint16_t first; /* uSID in front afterwards */
		uint8_t hop_limit;
	} rows[] = {
		{ { OWN, 3, 9 }, 0, 2, 3, 63 },                  /* uN, neighbour's */
		{ { 3, 9 }, 0, 2, 3, 63 },                       /* passing through */
		{ { 0xe004, 3 }, 0, 3, 3, 63 },                  /* uA alone */
		{ { OWN, 0xe004, 3 }, 0, 3, 3, 62 },             /* uN, then our own uA */
		{ { OWN, OWN, 2, 1 }, 0, 1, 2, 62 },             /* twice to ourselves */
		{ { OWN, OWN, OWN, OWN, OWN, 8 }, 0, 7, 8, 59 }, /* as long as it goes */
		{ { OWN, OWN, OWN, OWN, OWN, OWN }, WEFT_SWITCH_DROP_SID_EXHAUSTED, 0, 0, 0 },
		{ { OWN }, WEFT_SWITCH_DROP_SID_EXHAUSTED, 0, 0, 0 },
		{ { 0xe001 }, WEFT_SWITCH_DROP_SID_EXHAUSTED, 0, 0, 0 },
		{ { 0 }, WEFT_SWITCH_DROP_SID_ZERO, 0, 0, 0 },
		{ { OWN, 0, 2 }, WEFT_SWITCH_DROP_SID_ZERO, 0, 0, 0 },
		{ { 0, 2 }, WEFT_SWITCH_DROP_SID_ZERO, 0, 0, 0 },
		{ { 0x7777 }, WEFT_SWITCH_DROP_NO_SID, 0, 0, 0 },
		{ { OWN, 0x7777, 1 }, WEFT_SWITCH_DROP_NO_SID, 0, 0, 0 },
	};

	one_open(&one, NULL);
	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct weft_frame frame = { .hop_limit = 64 };
		struct carrier carrier = { 0 };
		uint32_t port = 99;

		for (unsigned k = 0; k < 4; k++)
			carrier.high = carrier.high << 16 | rows[i].usids[k];
		carrier.low = (uint32_t)rows[i].usids[4] << 16 | rows[i].usids[5];
		CHECK_EQ(forward_carrier(one.sw, &carrier, &frame, NULL, &port), rows[i].drop);
		if (rows[i].drop)
			continue;
		CHECK_EQ(port, rows[i].port);
		CHECK_EQ(carrier.high >> 48, rows[i].first);
		CHECK_EQ(frame.hop_limit, rows[i].hop_limit);
	}
	one_close(&one);
}

TEST(forward_carrier__ends_where_the_hop_limit_does)
{
	one_open(&one, NULL);
	for (uint8_t limit = 0; limit < 4; limit++) {
		struct carrier carrier = { .high = (uint64_t)OWN << 48 | (uint64_t)OWN << 32 |
						   1u << 16 };
		struct weft_frame frame = { .hop_limit = limit };
		uint32_t port;

		CHECK_EQ(forward_carrier(one.sw, &carrier, &frame, NULL, &port),
			limit < 3 ? WEFT_SWITCH_DROP_HOP_LIMIT : WEFT_SWITCH_DROP_NONE);
	}
	one_close(&one);
}

static uint32_t port_of(uint16_t sid, uint32_t flow, const uint8_t *ip)
{
	struct carrier carrier = { .high = (uint64_t)sid << 48 };
	struct weft_frame frame = { .hop_limit = 64, .flow = flow };
	uint32_t port = 99;

	CHECK_EQ(forward_carrier(one.sw, &carrier, &frame, ip, &port), 0);
	return port;
}

TEST(forward_carrier__hashes_evenly_over_cabled_ports)
{
	struct weft_hop hop = { .kind = WEFT_HOP_HASH, .port = 2, .ports = 5 };
	uint32_t hits[PORTS] = { 0 };

	one_open(&one, NULL);
	CHECK(weft_switch_sid_add(one.sw, 0x4001, &hop));
	one.sw->ports[4].profile = PROFILE_NONE; /* never cabled */
	for (uint32_t flow = 0; flow < 40000; flow++) {
		uint32_t port = port_of(0x4001, flow, NULL);

		REQUIRE(port < PORTS);
		hits[port]++;
		CHECK_EQ(port_of(0x4001, flow, NULL), port); /* a flow keeps its port */
	}
	CHECK_EQ(hits[0] + hits[1] + hits[4] + hits[7], 0);
	for (uint32_t i = 2; i < 7; i++)
		CHECK(i == 4 || (hits[i] > 9600 && hits[i] < 10400));
	one.sw->ports[4].profile = 0;
	one_close(&one);
}

TEST(forward_carrier__hashes_past_ports_that_are_down)
{
	struct weft_hop hash = { .kind = WEFT_HOP_HASH, .port = 2, .ports = 4 };
	struct weft_hop field = { .kind = WEFT_HOP_FIELD, .port = 2, .ports = 4 };
	uint32_t hits[PORTS] = { 0 };

	one_open(&one, NULL);
	CHECK(weft_switch_sid_add(one.sw, 0x4001, &hash));
	CHECK(weft_switch_sid_add(one.sw, 0x4002, &field));
	weft_switch_port_mark(one.sw, 3, false, 0);
	for (uint32_t flow = 0; flow < 300; flow++) {
		hits[port_of(0x4001, flow, NULL)]++;
		CHECK_EQ(port_of(0x4002, flow, NULL), 2 + flow % 4); /* chosen by the sender */
	}
	CHECK(!hits[3] && hits[2] > 60 && hits[4] > 60 && hits[5] > 60);
	for (uint32_t port = 2; port < 6; port++)
		weft_switch_port_mark(one.sw, port, false, 0);
	CHECK_EQ(port_of(0x4001, 7, NULL), 2); /* where it will be dropped, and counted */
	weft_switch_port_mark(one.sw, 3, true, 0);
	CHECK_EQ(port_of(0x4001, 7, NULL), 3);
	one_close(&one);
}

TEST(forward_carrier__hashes_addresses_too_and_differently_per_switch)
{
	struct weft_hop hop = { .kind = WEFT_HOP_HASH, .port = 0, .ports = 8 };
	uint8_t ip[40] = { 0 };
	uint32_t moved = 0, other[256];

	one_open(&one, NULL);
	CHECK(weft_switch_sid_add(one.sw, 0x4001, &hop));
	for (unsigned i = 0; i < 256; i++) {
		ip[23] = (uint8_t)i;
		other[i] = port_of(0x4001, 5, ip);
		moved += i && other[i] != other[i - 1];
	}
	CHECK(moved > 200);
	one.sw->config.seed++;
	moved = 0;
	for (unsigned i = 0; i < 256; i++) {
		ip[23] = (uint8_t)i;
		moved += port_of(0x4001, 5, ip) != other[i];
	}
	CHECK(moved > 200);
	one_close(&one);
}

TEST(forward_carrier__reads_structured_evs)
{
	struct weft_hop hop = { .kind = WEFT_HOP_FIELD, .port = 4, .ports = 4, .shift = 8 };

	one_open(&one, NULL);
	CHECK(weft_switch_sid_add(one.sw, 0x4001, &hop));
	for (uint32_t field = 0; field < 8; field++)
		CHECK_EQ(port_of(0x4001, 0xf0000000 | field << 8 | 0xff, NULL), 4 + field % 4);
	one_close(&one);
}

TEST(forward_prefix__routes_or_says_why_not)
{
	uint8_t ip[40] = { [24] = 0xfd, [39] = 1 };
	struct weft_frame frame = { .hop_limit = 2 };
	struct weft_hop hop = { .kind = WEFT_HOP_PORT, .port = 6 };
	uint32_t port;

	one_open(&one, NULL);
	CHECK_EQ(forward_prefix(one.sw, &frame, ip, &port), WEFT_SWITCH_DROP_NO_ROUTE);
	CHECK(weft_switch_prefix_add(one.sw, ip + 24, 128, &hop));
	CHECK_EQ(forward_prefix(one.sw, &frame, ip, &port), 0);
	CHECK_EQ(port, 6);
	CHECK_EQ(frame.hop_limit, 1);
	CHECK_EQ(forward_prefix(one.sw, &frame, ip, &port), WEFT_SWITCH_DROP_HOP_LIMIT);
	one_close(&one);
}
