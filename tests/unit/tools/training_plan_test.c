/* SPDX-License-Identifier: BSD-2-Clause */
#include "demos.h"
#include "training.h"

static struct training_run run;
static struct training_plan plan;

TEST(training_plan_fill__spreads_the_faults_over_the_steps)
{
	training_plan_fill(&plan, 100);
	CHECK_EQ(plan.n, 4);
	CHECK_EQ(plan.at[0], 20);
	CHECK_EQ(plan.at[3], 80);
}

TEST(training_strike__breaks_one_at_a_time_and_flaps)
{
	struct weft_lab_fault now[WEFT_LAB_FAULTS_MAX];
	struct term term;
	struct demo demo;
	uint64_t at = 1000, flap = 0;

	demo_up(&demo, &term);
	memset(&run, 0, sizeof(run));
	training_plan_fill(&plan, 100);
	CHECK_EQ(training_strike(&plan, demo.lab, &run, 50, at), 0);
	CHECK_EQ(run.n_hits, 0); /* nothing is to be broken in this one */
	run.is_faulty = true;
	CHECK_EQ(training_strike(&plan, demo.lab, &run, 19, at), 0);
	CHECK_EQ(run.n_hits, 0);
	CHECK_EQ(training_strike(&plan, demo.lab, &run, 20, at), 0);
	CHECK_EQ(run.n_hits, 1);
	CHECK_EQ(weft_lab_faults(demo.lab, now, WEFT_LAB_FAULTS_MAX), 1);
	CHECK_EQ(now[0].kind, WEFT_LAB_PLANE_DOWN);
	/* Again, twice; not before its time, and never a fourth. */
	flap = 2 * plan.faults[0].hold_ns;
	CHECK_EQ(training_flap(&plan, demo.lab, &run, at + flap - 1), 0);
	CHECK_EQ(run.hits[0].times, 1);
	for (unsigned i = 1; i < 6; i++)
		CHECK_EQ(training_flap(&plan, demo.lab, &run, at + i * flap), 0);
	CHECK_EQ(run.hits[0].times, 3);
	/* The next one is due, but this one lasts. */
	CHECK_EQ(training_strike(&plan, demo.lab, &run, 90, run.hits[0].to_ns - 1), 0);
	CHECK_EQ(run.n_hits, 1);
	for (unsigned i = 0; i < 6; i++)
		CHECK_EQ(training_strike(&plan, demo.lab, &run, 90, run.hits[run.n_hits - 1].to_ns),
			0);
	CHECK_EQ(run.n_hits, plan.n);
	CHECK_STR(run.error, "");
	/* They were all asked for; the job was over before most of them had lasted. */
	(void)weft_lab_undo(demo.lab, 0, run.error, sizeof(run.error));
	run.end_ns = UINT64_MAX / 2;
	training_judge(&plan, demo.lab, &run);
	CHECK(!training_as_planned(&plan, &run));
	for (unsigned i = 0; i < plan.n; i++) {
		CHECK_EQ(run.hits[i].judged.verdict, DEMO_NOT_MADE);
		CHECK(run.hits[i].judged.from_ns);
		CHECK(!strncmp(run.hits[i].judged.why, "only ", 5));
	}
	demo_lab_down(&demo);
}

TEST(training_judge__wants_every_fault_of_the_plan)
{
	struct term term;
	struct demo demo;

	demo_up(&demo, &term);
	memset(&run, 0, sizeof(run));
	training_plan_fill(&plan, 100);
	training_judge(&plan, demo.lab, &run);
	CHECK(training_as_planned(&plan, &run)); /* nothing is to be broken in this one */
	run.is_faulty = true;
	run.end_ns = UINT64_MAX / 2;
	training_judge(&plan, demo.lab, &run);
	CHECK(!training_as_planned(&plan, &run));
	CHECK_STR(run.hits[2].judged.why, "all was over by then");
	for (unsigned i = 0; i < plan.n; i++)
		for (unsigned t = 0; t < plan.faults[i].times; t++)
			run.hits[i].strikes[t].record = (struct weft_lab_record){
				.on_ns = 1000 + 2 * t * plan.faults[i].hold_ns,
				.lift_ns = 1000 + (2 * t + 1) * plan.faults[i].hold_ns,
				.off_ns = 1000 + (2 * t + 1) * plan.faults[i].hold_ns
			};
	for (unsigned i = 0; i < plan.n; i++)
		run.hits[i].judged = (struct demo_judged){ 0 };
	training_judge(&plan, demo.lab, &run);
	CHECK(training_as_planned(&plan, &run));
	demo_lab_down(&demo);
}
