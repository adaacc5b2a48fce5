/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <weft/proto.h>

#include <ctype.h>

TEST(weft_op_name__knows_twelve_opcodes_and_ours)
{
	unsigned known = 0;

	for (unsigned op = 0; op < 256; op++)
		known += strcmp(weft_op_name((uint8_t)op), "?") != 0;
	CHECK_EQ(known, 12 + 22);
	CHECK_STR(weft_op_name(WEFT_OP_WRITE_ONLY_IMM), "write_only_imm");
	CHECK_STR(weft_op_name(WEFT_OP_PROBE), "probe");
}

TEST(weft_nack_reason_name__knows_seven_reasons_and_one_of_ours)
{
	unsigned known = 0;

	for (unsigned reason = 0; reason < 256; reason++)
		known += strcmp(weft_nack_reason_name((uint8_t)reason), "?") != 0;
	CHECK_EQ(known, 7 + 1);
	CHECK_STR(weft_nack_reason_name(WEFT_NACK_PSN_OOR_WINDOW), "psn_oor_window");
}

TEST(weft_syndrome_name__knows_the_ack_and_four_naks)
{
	unsigned known = 0;

	for (unsigned syndrome = 0; syndrome < 256; syndrome++)
		known += strcmp(weft_syndrome_name((uint8_t)syndrome), "?") != 0;
	CHECK_EQ(known, 5);
	CHECK_STR(weft_syndrome_name(0x1f), "ack");
}

static void check_key(const char *got, const char *upper)
{
	char want[64];
	size_t i;

	for (i = 0; upper[i]; i++)
		want[i] = (char)tolower((unsigned char)upper[i]);
	want[i] = 0;
	CHECK_STR(got, want);
}

TEST(weft_drop_name__is_the_list_in_lower_case)
{
#define WEFT_DROP(NAME, text)                                                                      \
	check_key(weft_drop_name(WEFT_DROP_##NAME), #NAME);                                        \
	CHECK_STR(weft_drop_text(WEFT_DROP_##NAME), text);
#include <weft/drops.def>
#undef WEFT_DROP
	CHECK_STR(weft_drop_name(WEFT_DROP_COUNT), "?");
	CHECK_STR(weft_drop_text(WEFT_DROP_COUNT), "?");
}

TEST(weft_event_name__is_the_list_in_lower_case)
{
#define WEFT_EVENT(NAME, a, b, c, text)                                                            \
	check_key(weft_event_name(WEFT_EV_##NAME), #NAME);                                         \
	CHECK_STR(weft_event_text(WEFT_EV_##NAME), text);                                          \
	CHECK_STR(weft_event_field(WEFT_EV_##NAME, 0), a);                                         \
	CHECK_STR(weft_event_field(WEFT_EV_##NAME, 2), c);
#include <weft/events.def>
#undef WEFT_EVENT
	CHECK_STR(weft_event_name(WEFT_EV_COUNT), "?");
	CHECK_STR(weft_event_text(WEFT_EV_COUNT), "?");
	CHECK_STR(weft_event_field(WEFT_EV_COUNT, 0), "");
	CHECK_STR(weft_event_field(WEFT_EV_NONE, 3), "");
}
