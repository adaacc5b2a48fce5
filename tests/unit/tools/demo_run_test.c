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
	struct demo demo = { .plan = {
				     .lead_ns = 100 * MS, .hold_ns = 50 * MS, .gap_ns = 50 * MS } };

	plan_all(&demo.plan, true);
	demo.plan.n = 1;
	fill_series(&run.series, bins, 1000, START, 100, 120);
	run.transport = DEMO_TCP;
	run.zero_ns = START - 40 * MS; /* seen too early; the receiver knows better */
	run.hits[0].strikes[0].record = (struct weft_lab_record){
		.on_ns = START + 100 * MS, .lift_ns = START + 150 * MS, .off_ns = START + 151 * MS
	};
	run.machine[0] = (struct demo_gap){ START + 110 * MS, 3 * MS };
	run.n_machine = 1;
	run_measure(&demo, &run);
	CHECK_EQ(run.zero_ns, START + MS / 2);
	CHECK_EQ(run.end_ns, START + MS / 2 + 200 * MS);
	CHECK_NEAR(run.bytes, 180000, 1000);
	CHECK_EQ(run.hits[0].judged.verdict, DEMO_MADE);
	CHECK_EQ(run_made(&demo, &run), 1);
	CHECK_EQ(run.hits[0].end_ns, START + 200 * MS);
	CHECK_NEAR(run.hits[0].before_bps, 8e6, 1e5);
	CHECK_NEAR(run.hits[0].during_bps, 4.8e6, 2e5);
	CHECK_NEAR(run.hits[0].after_bps, 8e6, 1e5);
	CHECK_NEAR(run.hits[0].stall.ns / 1e6, 21.0, 1.0);
	CHECK_EQ(run.hits[0].machine_ns, 3 * MS);
	CHECK_EQ(run.stall.ns, run.hits[0].stall.ns);
}

TEST(run_measure__does_not_tell_two_at_once_apart)
{
	static struct demo_run run;
	static uint64_t bins[1000];
	struct demo demo = { .plan = {
				     .lead_ns = 100 * MS, .hold_ns = 50 * MS, .gap_ns = 50 * MS } };

	plan_all(&demo.plan, true);
	demo.plan.n = 2;
	fill_series(&run.series, bins, 1000, START, 0, 0);
	run.transport = DEMO_TCP;
	for (unsigned i = 0; i < 2; i++)
		run.hits[i].strikes[0].record =
			(struct weft_lab_record){ .on_ns = START + (160 + 40 * i) * MS,
				.lift_ns = START + (210 + 40 * i) * MS,
				.off_ns = START + (210 + 40 * i) * MS };
	run_measure(&demo, &run);
	CHECK_EQ(run.hits[1].judged.verdict, DEMO_OTHERWISE);
	CHECK_STR(run.hits[1].judged.why, "began 0.010 s before the last one was mended");
	CHECK(run.hits[1].before_bps <= 0);
	CHECK(!runs_all_made(&demo, &run, 1));
}

TEST(run_transport__goes_through_a_plan)
{
	static struct demo_run run;
	struct term term;
	struct demo demo;

	demo_up(&demo, &term);
	plan_all(&demo.plan, false);
	demo.plan.n = 1; /* flaps: three strikes */
	demo.plan.hold_ns = 500 * MS;
	demo.plan.gap_ns = 1000 * MS; /* half of it may be late, on a machine with more to do */
	run.transport = DEMO_TCP;
	CHECK_EQ(run_transport(&demo, &run), 0);
	CHECK_STR(run.hits[0].judged.why, "");
	CHECK(runs_all_made(&demo, &run, 1));
	CHECK_EQ(run.zero_ns, run.series.start_ns);
	for (unsigned t = 0; t < 3; t++)
		CHECK(run.hits[0].strikes[t].record.off_ns);
	CHECK(strstr(run.hits[0].text, "link-down p0.t0-1:t1-"));
	struct weft_lab_fault left[8];
	CHECK_EQ(weft_lab_faults(demo.lab, left, 8), 0);
	run_end(&run);
	demo_lab_down(&demo);
	leave_folder();
}

/* The lab has as many faults as it takes: whatever else is asked for, it refuses. */
static void fill_lab(struct weft_lab *lab)
{
	struct weft_lab_fault fault = { .kind = WEFT_LAB_LOSS, .loss_ppm = 1, .way = 1 };
	char error[DEMO_TEXT_BYTES];

	fault.where = weft_topo_shape(weft_lab_topo(lab))->links - 1;
	for (unsigned i = 0; i < WEFT_LAB_FAULTS_MAX; i++)
		CHECK(!weft_lab_fault(lab, &fault, NULL, error, sizeof(error)));
}

TEST(run_transport__says_not_made_where_the_lab_refuses)
{
	static struct demo_run run;
	struct term term;
	struct demo demo;

	demo_up(&demo, &term);
	plan_all(&demo.plan, false);
	demo.plan.n = 2;
	demo.plan.hold_ns = 200 * MS;
	demo.plan.gap_ns = 1000 * MS; /* half of it may be late, on a machine with more to do */
	fill_lab(demo.lab);
	run.transport = DEMO_TCP;
	CHECK_EQ(run_transport(&demo, &run), 0); /* the transfer itself is as good as any */
	CHECK_EQ(run_made(&demo, &run), 0);
	CHECK(!runs_all_made(&demo, &run, 1));
	for (unsigned i = 0; i < 2; i++) {
		CHECK_EQ(run.hits[i].judged.verdict, DEMO_NOT_MADE);
		CHECK_STR(run.hits[i].judged.why, "256 faults at once, allowed: 256");
	}
	run_end(&run);
	demo_lab_down(&demo);
	leave_folder();
}
