/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <weft/wire.h>

enum { OUTER = 40, SRH = 24, CE = 3 };

static struct weft_encap tunnel(bool has_segment)
{
	struct weft_encap encap = {
		.kind = WEFT_ENCAP_SRV6,
		.hop_limit = 64,
		.has_segment = has_segment,
		.flow = { .src = { 0xfd, 1 }, .dst = { 0xfd, 2 }, .dst_port = WEFT_UDP_PORT },
		.via_src = { 0xfd, 1 },
		.via = { 0xfc, 0, 0, 0, 0x0a, 0x01 },
		.segment = { 0xfc, 0, 0, 0, 0x0c, 0x02 },
	};

	return encap;
}

static bool parse(const uint8_t *frame, size_t bytes, struct weft_arrival *arrival,
	struct weft_wire_fault *fault)
{
	return weft_encap_parse(frame, bytes, WEFT_ENCAP_STEV, &WEFT_DSCP_DEFAULT, arrival, fault);
}

static size_t build(bool has_segment, uint8_t tclass, uint8_t *frame)
{
	struct weft_encap encap = tunnel(has_segment);

	return weft_encap_put(&encap, &WEFT_DSCP_DEFAULT, tclass, 0xabcd1234, 20, frame) + 20;
}

TEST(srv6_parse__takes_marks_from_the_outer_header)
{
	uint8_t frame[WEFT_ENCAP_BYTES_MAX + 20] = { 0 };
	struct weft_wire_fault fault;
	struct weft_arrival arrival;
	size_t bytes = build(false, WEFT_CLASS_DATA, frame);

	frame[1] |= CE << 4;
	REQUIRE(parse(frame, bytes, &arrival, &fault));
	CHECK_EQ(arrival.mark, WEFT_MARK_CE);
	/* Trimmed: outer says so, lengths inside are stale. */
	frame[0] = 0x60 | 16 >> 2;
	frame[1] = (16 & 3) << 6 | 2 << 4;
	REQUIRE(parse(frame, bytes - 8, &arrival, &fault));
	CHECK_EQ(arrival.mark, WEFT_MARK_TRIMMED);
	CHECK_EQ(arrival.datagram_bytes, 12);
	/* The same claim on the inner header is nobody's. */
	bytes = build(false, WEFT_CLASS_DATA, frame);
	frame[OUTER] = 0x60 | 16 >> 2;
	frame[OUTER + 1] = (16 & 3) << 6 | 2 << 4;
	REQUIRE(parse(frame, bytes, &arrival, &fault));
	CHECK_EQ(arrival.mark, 0);
	/* But an inner CE was earned before the tunnel. */
	frame[OUTER + 1] |= CE << 4;
	REQUIRE(parse(frame, bytes, &arrival, &fault));
	CHECK_EQ(arrival.mark, WEFT_MARK_CE);
}

TEST(srv6_parse__drops_a_mark_on_what_is_not_ecn_capable)
{
	uint8_t frame[WEFT_ENCAP_BYTES_MAX + 20] = { 0 };
	struct weft_wire_fault fault;
	struct weft_arrival arrival;
	size_t bytes = build(false, WEFT_CLASS_CONTROL, frame);

	REQUIRE(parse(frame, bytes, &arrival, &fault));
	frame[1] |= CE << 4;
	CHECK(!parse(frame, bytes, &arrival, &fault));
	CHECK_EQ(fault.drop, WEFT_DROP_BAD_FIELD);
	CHECK_EQ(fault.bit, 8 * OUTER + 10);
}

TEST(srv6_parse__steps_over_a_segment_list)
{
	uint8_t frame[WEFT_ENCAP_BYTES_MAX + 20] = { 0 };
	struct weft_wire_fault fault;
	struct weft_arrival arrival;
	size_t bytes = build(true, WEFT_CLASS_DATA, frame);

	CHECK_EQ(bytes, OUTER + SRH + 40 + 8 + 20);
	REQUIRE(parse(frame, bytes, &arrival, &fault));
	CHECK_EQ(arrival.segments_left, 1);
	CHECK_EQ(arrival.ev, 0xabcd1234);
	CHECK(arrival.datagram == frame + bytes - 20);
	frame[OUTER + 3] = 0;
	REQUIRE(parse(frame, bytes, &arrival, &fault));
	CHECK_EQ(arrival.segments_left, 0);
}

TEST(srv6_parse__points_at_bad_segment_lists)
{
	static const struct {
		uint8_t at, value;
		enum weft_drop drop;
		unsigned bit;
	} rows[] = {
		{ OUTER, 58, WEFT_DROP_NOT_MRC, 8 * OUTER },            /* ICMPv6 inside */
		{ OUTER + 2, 0, WEFT_DROP_NOT_MRC, 8 * (OUTER + 2) },   /* not an SRH */
		{ OUTER + 3, 2, WEFT_DROP_BAD_FIELD, 8 * (OUTER + 3) }, /* more left than listed */
		{ OUTER + 1, 255, WEFT_DROP_TRUNCATED, 8 * (OUTER + SRH + 40 + 8 + 20) },
		{ OUTER + SRH, 0x45, WEFT_DROP_NOT_MRC, 8 * (OUTER + SRH) },       /* IPv4 inside */
		{ OUTER + SRH + 6, 6, WEFT_DROP_NOT_MRC, 8 * (OUTER + SRH + 40) }, /* TCP */
	};
	uint8_t frame[WEFT_ENCAP_BYTES_MAX + 20] = { 0 };
	struct weft_wire_fault fault;
	struct weft_arrival arrival;

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		size_t bytes = build(true, WEFT_CLASS_DATA, frame);

		frame[rows[i].at] = rows[i].value;
		CHECK(!parse(frame, bytes, &arrival, &fault));
		if (fault.drop != rows[i].drop || fault.bit != rows[i].bit)
			CHECK_FAIL(
				"row %zu: %s at bit %u", i, weft_drop_name(fault.drop), fault.bit);
	}
}

TEST(srv6_parse__refuses_every_truncation)
{
	uint8_t frame[WEFT_ENCAP_BYTES_MAX + 20] = { 0 };
	struct weft_wire_fault fault;
	struct weft_arrival arrival;
	size_t bytes = build(true, WEFT_CLASS_DATA, frame);

	for (size_t cut = 0; cut < bytes; cut++) {
		uint8_t *block = malloc(cut ? cut : 1);

		memcpy(block, frame, cut);
		CHECK(!parse(block, cut, &arrival, &fault));
		CHECK_EQ(fault.drop, WEFT_DROP_TRUNCATED);
		free(block);
	}
}
