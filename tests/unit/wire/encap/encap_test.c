/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <weft/wire.h>

static struct weft_encap encap_of(uint8_t kind, bool ipv4)
{
	struct weft_encap encap = { .kind = kind,
		.hop_limit = 63,
		.flow = { .src_port = 0xc000, .dst_port = WEFT_UDP_PORT } };

	for (unsigned i = 0; i < 16; i++) {
		encap.via_src[i] = encap.flow.src[i] = (uint8_t)(0x10 + i);
		encap.via[i] = encap.flow.dst[i] = (uint8_t)(0x30 + i);
	}
	if (ipv4) {
		memset(encap.flow.src, 0, 10);
		memset(encap.flow.src + 10, 0xff, 2);
		memcpy(encap.flow.dst, encap.flow.src, 12);
		encap.flow.ipv4_frag = WEFT_IPV4_DF;
	}
	return encap;
}

TEST(weft_encap_put__comes_back_from_parse)
{
	static const struct {
		uint8_t kind;
		bool ipv4;
		uint32_t ev_seen;
		size_t bytes;
	} rows[] = {
		{ WEFT_ENCAP_SRV6, false, 0x89abcdef, 40 + 40 + 8 },
		{ WEFT_ENCAP_USID, false, 0x36373839, 40 + 8 }, /* from the address */
		{ WEFT_ENCAP_STEV, false, 0x89abcdef, 40 + 8 },
		{ WEFT_ENCAP_UDP_PORT, false, 0xcdef, 40 + 8 },
		{ WEFT_ENCAP_UDP_PORT, true, 0xcdef, 20 + 8 },
	};
	uint8_t frame[WEFT_ENCAP_BYTES_MAX + 36];
	struct weft_wire_fault fault;

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct weft_encap encap = encap_of(rows[i].kind, rows[i].ipv4);
		struct weft_arrival arrival;
		struct weft_flow flow;

		size_t at = weft_encap_put(
			&encap, &WEFT_DSCP_DEFAULT, WEFT_CLASS_DATA, 0x89abcdef, 36, frame);

		CHECK_EQ(at, rows[i].bytes);
		REQUIRE(weft_encap_parse(
			frame, at + 36, rows[i].kind, &WEFT_DSCP_DEFAULT, &arrival, &fault));
		weft_encap_flow(&encap, 0x89abcdef, &flow);
		CHECK_MEM(&arrival.flow, &flow, sizeof(flow));
		CHECK_EQ(arrival.kind, rows[i].kind);
		CHECK_EQ(arrival.ev, rows[i].ev_seen);
		CHECK_EQ(arrival.mark, 0);
		CHECK_EQ(arrival.hop_limit, 63);
		CHECK(arrival.datagram == frame + at);
		CHECK_EQ(arrival.datagram_bytes, 36);
		if (!rows[i].ipv4)
			CHECK_MEM(arrival.via, encap.via, 16);
	}
}

TEST(weft_encap_parse__checks_udp)
{
	static const struct {
		uint8_t at, value;
		enum weft_drop drop;
	} rows[] = {
		{ 6, 6, WEFT_DROP_NOT_MRC },
		{ 6, 0, WEFT_DROP_NOT_MRC },
		{ 40 + 5, 45, WEFT_DROP_TRUNCATED },
		{ 40 + 5, 43, WEFT_DROP_BAD_LENGTH },
		{ 40 + 5, 0, WEFT_DROP_BAD_LENGTH },
		{ 5, 7, WEFT_DROP_TRUNCATED },
	};
	struct weft_encap encap = encap_of(WEFT_ENCAP_STEV, false);
	uint8_t frame[WEFT_ENCAP_BYTES_MAX + 36];
	struct weft_arrival arrival;
	struct weft_wire_fault fault;

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		size_t at =
			weft_encap_put(&encap, &WEFT_DSCP_DEFAULT, WEFT_CLASS_DATA, 1, 36, frame);

		frame[rows[i].at] = rows[i].value;
		CHECK(!weft_encap_parse(
			frame, at + 36, WEFT_ENCAP_STEV, &WEFT_DSCP_DEFAULT, &arrival, &fault));
		if (fault.drop != rows[i].drop)
			CHECK_FAIL("row %zu: %s", i, weft_drop_name(fault.drop));
	}
}

TEST(weft_encap_parse__wants_a_whole_udp_header)
{
	struct weft_encap encap = encap_of(WEFT_ENCAP_STEV, false);
	uint8_t frame[WEFT_ENCAP_BYTES_MAX];
	struct weft_arrival arrival;
	struct weft_wire_fault fault;
	size_t at = weft_encap_put(&encap, &WEFT_DSCP_DEFAULT, WEFT_CLASS_DATA, 1, 0, frame);

	REQUIRE(weft_encap_parse(frame, at, WEFT_ENCAP_STEV, &WEFT_DSCP_DEFAULT, &arrival, &fault));
	CHECK_EQ(arrival.datagram_bytes, 0);
	for (uint8_t bytes = 0; bytes < 8; bytes++) {
		frame[5] = bytes;
		CHECK(!weft_encap_parse(
			frame, at, WEFT_ENCAP_STEV, &WEFT_DSCP_DEFAULT, &arrival, &fault));
		CHECK_EQ(fault.drop, WEFT_DROP_TRUNCATED);
		CHECK_EQ(fault.bit, 8 * (40 + bytes));
	}
}

TEST(weft_encap_put__asserts_on_what_cannot_be_sent)
{
	struct weft_encap encap = encap_of(WEFT_ENCAP_STEV, true); /* IPv4 has no flow label */
	uint8_t frame[WEFT_ENCAP_BYTES_MAX];

	CHECK_PANICS(weft_encap_put(&encap, &WEFT_DSCP_DEFAULT, 0, 1, 36, frame));
	encap = encap_of(WEFT_ENCAP_USID, false);
	CHECK_PANICS(weft_encap_put(&encap, &WEFT_DSCP_DEFAULT, 0, 1, 60000, frame));
}

TEST(weft_encap_name__knows_four)
{
	CHECK_STR(weft_encap_name(WEFT_ENCAP_SRV6), "srv6");
	CHECK_STR(weft_encap_name(WEFT_ENCAP_UDP_PORT), "udp_port");
	CHECK_STR(weft_encap_name(WEFT_ENCAP_KINDS), "?");
}
