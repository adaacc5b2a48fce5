/* SPDX-License-Identifier: BSD-2-Clause */
#include "demos.h"

#include <weft/net.h>

static struct demo_gap gaps[1000];

TEST(watch_stop__tells_gaps_of_its_time_in_order)
{
	uint64_t from = weft_clock_now(NULL);
	struct demo_watch *watch = watch_start();

	REQUIRE(watch);
	/* All that this machine has to do besides: enough to be late at times, or not. */
	while (weft_clock_now(NULL) < from + 50000000)
		;
	size_t n = watch_stop(watch, gaps, 1000);
	uint64_t to = weft_clock_now(NULL);
	for (size_t i = 0; i < n; i++) {
		CHECK(gaps[i].ns >= DEMO_GAP_NS);
		CHECK(gaps[i].at_ns >= from && gaps[i].at_ns + gaps[i].ns <= to);
		CHECK(!i || gaps[i - 1].at_ns <= gaps[i].at_ns);
	}
}

TEST(samples_total__counts_from_the_first_sample)
{
	uint64_t bytes[] = { 10, 20, 15, 40 };
	struct demo_samples s = { .planes = 2, .n = 2, .bytes = bytes };

	CHECK_EQ(samples_total(&s), 25);
	s.n = 0;
	CHECK_EQ(samples_total(&s), 0);
}

TEST(samples_busy_t1__is_the_one_that_carried_more_of_late)
{
	struct demo_samples s = { .t1_bytes = { { 1000, 500 }, { 990, 400 } } };

	CHECK_EQ(samples_busy_t1(&s), 1);
	s.t1_bytes[0][0] = 2000;
	CHECK_EQ(samples_busy_t1(&s), 0);
}

TEST(samples_take__reads_the_ports_of_a_host)
{
	struct demo_samples s = { 0 };
	struct term term;
	struct demo demo;

	demo_up(&demo, &term);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(samples_take(&s, demo.lab, demo.receiver, 100 + (uint64_t)i), 0);
	CHECK_EQ(s.n, 3);
	CHECK_EQ(s.planes, DEMO_PLANES);
	CHECK_EQ(s.at_ns[2], 102);
	CHECK(samples_total(&s) < 10000); /* what a kernel says of itself on a new link */
	samples_end(&s);
	demo_lab_down(&demo);
	leave_folder();
}
