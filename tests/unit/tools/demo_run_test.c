/* SPDX-License-Identifier: BSD-2-Clause */
#include "demos.h"

#define START UINT64_C(5000000000)
#define MS UINT64_C(1000000)

TEST(run_gone__notices_an_end_once_and_for_all)
{
	pid_t child = fork();
	int status = 0;

	if (!child)
		_exit(3);
	for (int i = 0; i < 500 && !run_gone(&child, &status); i++)
		usleep(10000);
	CHECK_EQ(child, 0);
	CHECK_EQ(WEXITSTATUS(status), 3);
	CHECK(run_gone(&child, &status));
}

TEST(run_kill__ends_what_does_not_end_itself)
{
	pid_t child = fork(), before = child;

	if (!child) {
		pause();
		_exit(0);
	}
	run_kill(&child);
	CHECK_EQ(child, 0);
	CHECK_EQ(kill(before, 0), -1);
	run_kill(&child);
}

TEST(run_measure__tells_before_during_after)
{
	static struct demo_run run;
	static uint64_t bins[1000];
	struct demo demo = {
		.plan = { .lead_ns = 100 * MS, .hold_ns = 50 * MS, .gap_ns = 50 * MS, .n = 1 }
	};

	fill_series(&run.series, bins, 1000, START, 100, 120);
	run.transport = DEMO_TCP;
	run.zero_ns = START;
	run.n_hits = 1;
	run.hits[0] = (struct demo_hit){
		.from_ns = START + 100 * MS, .to_ns = START + 150 * MS, .end_ns = START + 200 * MS
	};
	run.machine[0] = (struct demo_gap){ START + 110 * MS, 3 * MS };
	run.n_machine = 1;
	run_measure(&demo, &run);
	CHECK_NEAR(run.hits[0].before_bps, 8e6, 1e5);
	CHECK_NEAR(run.hits[0].during_bps, 4.8e6, 2e5);
	CHECK_NEAR(run.hits[0].after_bps, 8e6, 1e5);
	CHECK_NEAR(run.hits[0].stall.ns / 1e6, 21.0, 1.0);
	CHECK_EQ(run.hits[0].machine_ns, 3 * MS);
	CHECK_EQ(run.stall.ns, run.hits[0].stall.ns);
}

TEST(run_transport__goes_through_a_plan)
{
	static struct demo_run run;
	struct term term;
	struct demo demo;

	demo_up(&demo, &term);
	plan_all(&demo.plan, false);
	demo.plan.n = 1; /* flaps: three strikes */
	demo.plan.hold_ns = 50 * MS;
	demo.plan.gap_ns = 50 * MS;
	run.transport = DEMO_TCP;
	CHECK_EQ(run_transport(&demo, &run), 0);
	CHECK_EQ(run.n_hits, 1);
	CHECK(run.hits[0].from_ns >= run.zero_ns + demo.plan.lead_ns);
	CHECK(strstr(run.hits[0].text, "link-down p0.t0-1:t1-"));
	struct weft_lab_fault left[8];
	CHECK_EQ(weft_lab_faults(demo.lab, left, 8), 0);
	run_end(&run);
	demo_lab_down(&demo);
	leave_folder();
}
