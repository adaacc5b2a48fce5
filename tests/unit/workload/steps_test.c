/* SPDX-License-Identifier: BSD-2-Clause */
#include "few.h"

static uint64_t *steps_of(const uint16_t step[], const uint64_t end_ps[], uint32_t n, uint32_t *out)
{
	struct weft_sim_flow flows[8] = { 0 };

	for (uint32_t i = 0; i < n; i++)
		flows[i] = (struct weft_sim_flow){ .step = step[i], .start_ps = 100 };
	return weft_workload_steps(flows, end_ps, n, out);
}

TEST(weft_workload_steps__counts_each_from_the_end_of_the_one_before)
{
	static const uint16_t step[] = { 0, 0, 1, 2, 2, 7 };
	static const uint64_t end_ps[] = { 150, 400, 1000, 700, 900, 1010 };
	uint32_t n;
	uint64_t *ps = steps_of(step, end_ps, 6, &n);

	/* 300, 600, 0 (over before the one before it was), 10; numbers may be left out. */
	REQUIRE(n == 4);
	CHECK_EQ(ps[0], 0);
	CHECK_EQ(ps[1], 10);
	CHECK_EQ(ps[2], 300);
	CHECK_EQ(ps[3], 600);
	free(ps);
}

TEST(weft_workload_steps__leaves_what_has_not_ended_and_all_after_it_open)
{
	static const uint16_t step[] = { 0, 1, 1, 2 };
	static const uint64_t end_ps[] = { 150, 200, 0, 300 };
	uint32_t n;
	uint64_t *ps = steps_of(step, end_ps, 4, &n);

	REQUIRE(n == 3);
	CHECK_EQ(ps[0], 50);
	CHECK(ps[1] == WEFT_NEVER && ps[2] == WEFT_NEVER);
	free(ps);
	free(weft_workload_steps(NULL, NULL, 0, &n));
	CHECK_EQ(n, 0);
}
