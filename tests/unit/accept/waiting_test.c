/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <weft/accept.h>

TEST(weft_waiting_place__prefers_a_free_one_to_the_oldest)
{
	uint64_t until_ns[4] = { 40, 30, 50, 60 };

	CHECK_EQ(weft_waiting_place(until_ns, 4), 1);
	until_ns[3] = 0;
	CHECK_EQ(weft_waiting_place(until_ns, 4), 3);
	until_ns[0] = 0;
	CHECK_EQ(weft_waiting_place(until_ns, 4), 0);
	CHECK_EQ(weft_waiting_place(until_ns + 2, 1), 0);
}

TEST(weft_waiting_late__is_at_the_deadline_and_not_before)
{
	uint64_t until_ns[3] = { 0, 30, 20 };

	CHECK_EQ(weft_waiting_late(until_ns, 3, 19), 3);
	CHECK_EQ(weft_waiting_late(until_ns, 3, 20), 2);
	until_ns[2] = 0;
	CHECK_EQ(weft_waiting_late(until_ns, 3, 20), 3);
	CHECK_EQ(weft_waiting_late(until_ns, 3, UINT64_MAX), 1);
	CHECK_EQ(weft_waiting_late(until_ns, 0, UINT64_MAX), 0);
}

TEST(weft_waiting_next_ns__leaves_out_free_places)
{
	uint64_t until_ns[3] = { 0, 30, 20 };

	CHECK_EQ(weft_waiting_next_ns(until_ns, 3), 20);
	CHECK_EQ(weft_waiting_next_ns(until_ns, 2), 30);
	CHECK_EQ(weft_waiting_next_ns(until_ns, 1), UINT64_MAX);
}
