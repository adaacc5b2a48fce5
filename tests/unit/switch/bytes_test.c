/* SPDX-License-Identifier: BSD-2-Clause */
#include "one.h"

static struct one one;
static uint8_t ip[16384];

TEST(bytes_read__knows_class_and_marks)
{
	static const struct {
		uint8_t tclass, want_class, mark, flags;
	} rows[] = {
		{ 8 << 2 | 2, WEFT_CLASS_DATA, 0, WEFT_FRAME_ECT | WEFT_FRAME_TRIMMABLE },
		{ 8 << 2 | 1, WEFT_CLASS_DATA, 0, WEFT_FRAME_ECT | WEFT_FRAME_TRIMMABLE },
		{ 8 << 2, WEFT_CLASS_DATA, 0, WEFT_FRAME_TRIMMABLE },
		{ 8 << 2 | 3, WEFT_CLASS_DATA, WEFT_MARK_CE,
			WEFT_FRAME_ECT | WEFT_FRAME_TRIMMABLE },
		{ 46 << 2, WEFT_CLASS_CONTROL, 0, 0 },
		{ 16 << 2 | 2, WEFT_CLASS_DATA, WEFT_MARK_TRIMMED, WEFT_FRAME_ECT },
		{ 18 << 2, WEFT_CLASS_DATA, WEFT_MARK_TRIMMED_LASTHOP, 0 },
		{ 0, WEFT_CLASS_DATA, 0, 0 }, /* a stranger's: neither trimmed nor first */
	};
	uint16_t usids[6] = { OWN, 1 };

	one_open(&one, NULL);
	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct weft_frame frame = { 0 };

		one_bytes(ip, 200, usids, rows[i].tclass, 59);
		CHECK_EQ(bytes_read(one.sw, ip, 200, &frame), 0);
		CHECK_EQ(frame.tclass, rows[i].want_class);
		CHECK_EQ(frame.mark, rows[i].mark);
		CHECK_EQ(frame.flags, rows[i].flags);
		CHECK_EQ(frame.bytes, 214);
	}
	one_close(&one);
}

TEST(bytes_read__tells_retransmissions_where_they_have_a_code_point)
{
	struct weft_frame frame = { 0 };
	uint16_t usids[6] = { OWN, 1 };

	one_open(&one, NULL);
	one.sw->config.dscp.rtx = 9;
	one_bytes(ip, 200, usids, 9 << 2 | 2, 59);
	CHECK_EQ(bytes_read(one.sw, ip, 200, &frame), 0);
	CHECK_EQ(frame.tclass, WEFT_CLASS_RETX);
	CHECK_EQ(frame.flags, WEFT_FRAME_ECT | WEFT_FRAME_TRIMMABLE);
	one_close(&one);
}

TEST(bytes_read__measures)
{
	struct weft_frame frame = { 0 };
	uint16_t usids[6] = { OWN, 1 };

	one_open(&one, NULL);
	one_bytes(ip, 40, usids, TCLASS_DATA, 17);
	CHECK_EQ(bytes_read(one.sw, ip, 60, &frame), 0); /* padded by Ethernet */
	CHECK_EQ(frame.bytes, 54);
	CHECK_EQ(frame.flow, 0);
	for (size_t n = 0; n <= 60; n++) {
		frame = (struct weft_frame){ 0 };
		CHECK_EQ(bytes_read(one.sw, ip, n, &frame),
			n < 40 ? WEFT_SWITCH_DROP_NOT_IPV6 : WEFT_SWITCH_DROP_NONE);
		CHECK_EQ(frame.bytes, n < 40 ? 0 : 54);
	}
	one_bytes(ip, 9000, usids, TCLASS_DATA, 17);
	ip[2] = 0x12;
	ip[3] = 0x34;
	ip[40] = 0xab;
	ip[41] = 0xcd;
	CHECK_EQ(bytes_read(one.sw, ip, 9000, &frame), 0);
	CHECK_EQ(frame.flow, 0xabcd1234);
	CHECK_EQ(bytes_read(one.sw, ip, 8999, &frame), WEFT_SWITCH_DROP_TRUNCATED);
	one_bytes(ip, 9001, usids, TCLASS_DATA, 17);
	CHECK_EQ(bytes_read(one.sw, ip, 9001, &frame), WEFT_SWITCH_DROP_TOO_BIG);
	ip[0] = 0x45;
	CHECK_EQ(bytes_read(one.sw, ip, 9001, &frame), WEFT_SWITCH_DROP_NOT_IPV6);
	one_close(&one);
}

TEST(bytes_put_carrier__is_the_inverse_of_get)
{
	uint16_t usids[6] = { 1, 2, 3, 4, 5, 6 };
	struct carrier carrier;

	one_open(&one, NULL);
	one_bytes(ip, 40, usids, 0, 59);
	CHECK(bytes_in_block(one.sw, ip));
	bytes_get_carrier(ip, &carrier);
	CHECK_EQ(carrier.high, 0x0001000200030004);
	CHECK_EQ(carrier.low, 0x00050006);
	carrier.high = 0x1122334455667788;
	carrier.low = 0x99aabbcc;
	bytes_put_carrier(ip, &carrier);
	CHECK(bytes_in_block(one.sw, ip));
	CHECK_EQ(ip[28], 0x11);
	CHECK_EQ(ip[39], 0xcc);
	ip[24] = 0xfd;
	CHECK(!bytes_in_block(one.sw, ip));
	one_close(&one);
}

static void put_srh(uint8_t units, uint8_t type, uint8_t left, uint8_t last)
{
	uint16_t usids[6] = { OWN };

	one_bytes(ip, 200, usids, TCLASS_DATA, 43);
	memset(ip + 40, 0, 160);
	ip[40] = 41;
	ip[41] = units;
	ip[42] = type;
	ip[43] = left;
	ip[44] = last;
	for (unsigned i = 0; i < 9 * 16; i++)
		ip[48 + i] = (uint8_t)(i / 16 + 1);
}

TEST(bytes_next_segment__takes_one_up_or_says_what_is_wrong)
{
	static const struct {
		uint8_t units, type, left, last;
		enum weft_switch_drop drop;
		uint8_t address; /* each of its bytes */
	} rows[] = {
		{ 2, 4, 1, 0, 0, 1 }, /* MRC's: one segment */
		{ 4, 4, 2, 1, 0, 2 },
		{ 4, 4, 1, 1, 0, 1 },
		{ 2, 4, 0, 0, WEFT_SWITCH_DROP_SID_EXHAUSTED, 0 },
		{ 2, 4, 2, 0, WEFT_SWITCH_DROP_BAD_SRH, 0 },
		{ 2, 4, 1, 1, WEFT_SWITCH_DROP_BAD_SRH, 0 },
		{ 0, 4, 1, 0, WEFT_SWITCH_DROP_BAD_SRH, 0 },
		{ 2, 0, 1, 0, WEFT_SWITCH_DROP_BAD_SRH, 0 },
		{ 255, 4, 127, 126, WEFT_SWITCH_DROP_BAD_SRH, 0 },
		{ 18, 4, 9, 8, 0, 9 },
		{ 20, 4, 10, 9, WEFT_SWITCH_DROP_BAD_SRH, 0 },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		put_srh(rows[i].units, rows[i].type, rows[i].left, rows[i].last);
		CHECK_EQ(bytes_next_segment(ip, 200), rows[i].drop);
		if (rows[i].drop)
			continue;
		CHECK_EQ(ip[24], rows[i].address);
		CHECK_EQ(ip[39], rows[i].address);
		CHECK_EQ(ip[43], rows[i].left - 1);
	}
	put_srh(2, 4, 1, 0);
	CHECK_EQ(bytes_next_segment(ip, 47), WEFT_SWITCH_DROP_BAD_SRH);
	CHECK_EQ(bytes_next_segment(ip, 63), WEFT_SWITCH_DROP_BAD_SRH);
	CHECK_EQ(bytes_next_segment(ip, 64), 0);
	ip[6] = 17;
	CHECK_EQ(bytes_next_segment(ip, 200), WEFT_SWITCH_DROP_SID_EXHAUSTED);
}

TEST(bytes_write__changes_what_a_switch_may_change)
{
	uint8_t before[40];
	uint16_t usids[6] = { 1, 2, 3, 4, 5, 6 };
	struct weft_frame frame = { .bytes = 214, .hop_limit = 12, .mark = WEFT_MARK_CE };

	one_open(&one, NULL);
	one_bytes(ip, 200, usids, TCLASS_DATA, 41);
	ip[1] |= 0x0a; /* upper bits of the flow label */
	memcpy(before, ip, 40);
	bytes_write(one.sw, ip, &frame);
	CHECK_EQ(ip[7], 12);
	CHECK_EQ(ip[0] << 8 | ip[1], 0x6000 | (TCLASS_DATA | 3) << 4 | 0x0a);
	ip[7] = 64;
	ip[0] = before[0];
	ip[1] = before[1];
	CHECK_MEM(ip, before, 40);

	frame = (struct weft_frame){ .bytes = 128,
		.hop_limit = 64,
		.flags = WEFT_FRAME_CUT_HERE,
		.mark = WEFT_MARK_TRIMMED };
	bytes_write(one.sw, ip, &frame);
	CHECK_EQ(ip[0] << 8 | ip[1], 0x6000 | (16 << 2 | 2) << 4 | 0x0a); /* ECN as it was */
	CHECK_EQ(ip[4] << 8 | ip[5], 128 - 14 - 40);
	frame.mark = WEFT_MARK_TRIMMED_LASTHOP;
	bytes_write(one.sw, ip, &frame);
	CHECK_EQ((ip[0] << 8 | ip[1]) >> 6 & 0x3f, 18);
	one_close(&one);
}
