/* SPDX-License-Identifier: BSD-2-Clause */
#include "switchd_local.h"

#include "check.h"

#include <time.h>

TEST(real_now_ns__is_the_monotonic_clock)
{
	struct timespec t;
	uint64_t before = real_now_ns();

	timespec_get(&t, TIME_UTC);
	CHECK(real_now_ns() >= before);
	uint64_t unix_ns = real_unix_ns(), want = (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
	CHECK(unix_ns >= want && unix_ns < want + 5000000000);
}

TEST(real_sleep_ns__sleeps_so_long)
{
	uint64_t before = real_now_ns();

	real_sleep_ns(3000000);
	CHECK(real_now_ns() - before >= 3000000);
}
