/* SPDX-License-Identifier: BSD-2-Clause */
#include "labs.h"

TEST(clock_now_ns__runs_forward_in_nanoseconds)
{
	uint64_t start_ns = clock_now_ns();

	poll(NULL, 0, 20);
	uint64_t took_ns = clock_now_ns() - start_ns;
	CHECK(took_ns >= 19000000);
	CHECK(took_ns < 20000000000);
}
