/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <weft/wire.h>

TEST(weft_tclass_encode__makes_data_ecn_capable_and_control_not)
{
	const struct weft_dscp dscp = {
		.data = 4, .rtx = 8, .control = 46, .trimmed = 12, .trimmed_lasthop = 16,
		.no_trim = 2
	};

	CHECK_EQ(weft_tclass_encode(&dscp, WEFT_CLASS_DATA), 4 << 2 | 2);
	CHECK_EQ(weft_tclass_encode(&dscp, WEFT_CLASS_RETX), 8 << 2 | 2);
	CHECK_EQ(weft_tclass_encode(&dscp, WEFT_CLASS_CONTROL), 46 << 2);
	CHECK_EQ(weft_tclass_encode(&dscp, WEFT_CLASS_NO_TRIM), 2 << 2 | 2);
}

TEST(weft_tclass_mark__reads_both_messages)
{
	const struct weft_dscp dscp = WEFT_DSCP_DEFAULT;

	CHECK_EQ(weft_tclass_mark(&dscp, weft_tclass_encode(&dscp, WEFT_CLASS_DATA)), 0);
	CHECK_EQ(weft_tclass_mark(&dscp, 8 << 2 | 3), WEFT_MARK_CE);
	CHECK_EQ(weft_tclass_mark(&dscp, 8 << 2 | 1), 0); /* ECT(1) says nothing */
	CHECK_EQ(weft_tclass_mark(&dscp, 16 << 2 | 2), WEFT_MARK_TRIMMED);
	CHECK_EQ(weft_tclass_mark(&dscp, 18 << 2 | 3), WEFT_MARK_TRIMMED_LASTHOP | WEFT_MARK_CE);
}
