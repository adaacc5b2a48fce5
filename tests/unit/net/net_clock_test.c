/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <weft/net.h>

TEST(weft_clock_now__never_runs_backwards)
{
	uint64_t last = weft_clock_now(NULL);

	CHECK(last > 0);
	for (unsigned i = 0; i < 10000; i++) {
		uint64_t now = weft_clock_now(NULL);

		CHECK(now >= last);
		last = now;
	}
}

TEST(weft_clock_cpu_ns__counts_work)
{
	uint64_t cpu = weft_clock_cpu_ns(), thread = weft_clock_thread_ns();
	uint64_t end = weft_clock_now(NULL) + 2000000;

	while (weft_clock_now(NULL) < end)
		;
	CHECK(weft_clock_cpu_ns() > cpu);
	CHECK(weft_clock_thread_ns() > thread);
	CHECK(weft_clock_unix_ns() > UINT64_C(1600000000000000000));
}

TEST(weft_clock_sleep__sleeps)
{
	uint64_t from = weft_clock_now(NULL);

	weft_clock_sleep(2000000);
	CHECK(weft_clock_now(NULL) - from >= 2000000);
}

TEST(weft_clock_left_ms__rounds_up_and_ends_at_0)
{
	uint64_t now = weft_clock_now(NULL);

	CHECK_EQ(weft_clock_left_ms(now), 0);
	CHECK_EQ(weft_clock_left_ms(0), 0);
	CHECK(weft_clock_left_ms(now + 5000000000) > 4000);
	CHECK(weft_clock_left_ms(now + 5000000000) <= 5000);
	CHECK_EQ(weft_clock_left_ms(UINT64_MAX), 3600000);
}
