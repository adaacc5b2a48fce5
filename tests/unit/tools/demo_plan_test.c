/* SPDX-License-Identifier: BSD-2-Clause */
#include "demos.h"

TEST(plan_fault_ns__leaves_a_gap_after_each)
{
	struct demo_plan plan = { .lead_ns = 100, .hold_ns = 30, .gap_ns = 20 };

	plan_all(&plan, false);
	CHECK_EQ(plan_fault_ns(&plan, 0), 100);
	CHECK_EQ(plan_fault_ns(&plan, 2), 200);
	CHECK_EQ(plan_total_ns(&plan), 100 + 50 * plan.n);
}

TEST(plan_strike_ns__flaps_fill_the_hold_time)
{
	struct demo_plan plan = { .lead_ns = 100, .hold_ns = 50, .gap_ns = 20 };

	plan_all(&plan, false);
	REQUIRE(plan.faults[0]->times == 3);
	CHECK_EQ(plan_for_ns(&plan, 0), 10);
	CHECK_EQ(plan_strike_ns(&plan, 0, 0), 100);
	CHECK_EQ(plan_strike_ns(&plan, 0, 2) + plan_for_ns(&plan, 0), 150);
	CHECK_EQ(plan_for_ns(&plan, 1), 50);
	CHECK_EQ(plan_late_ns(&plan), 10);
}

TEST(plan_all__deaths_are_a_part)
{
	struct demo_plan all, deaths;

	plan_all(&all, false);
	plan_all(&deaths, true);
	CHECK_EQ(all.n, 8);
	CHECK_EQ(deaths.n, 6);
	for (unsigned i = 0; i < deaths.n; i++)
		CHECK(deaths.faults[i]->is_death);
}

TEST(plan_strike__breaks_what_the_plan_says)
{
	struct weft_lab_fault now[WEFT_LAB_FAULTS_MAX];
	char text[DEMO_TEXT_BYTES], error[DEMO_TEXT_BYTES] = "";
	uint32_t id = 0;
	struct term term;
	struct demo demo;

	demo_up(&demo, &term);
	plan_all(&demo.plan, false);
	demo.plan.hold_ns = 60000000000;
	for (unsigned i = 0; i < demo.plan.n; i++) {
		CHECK_EQ(plan_strike(&demo.plan, i, demo.lab, 1, text, &id, error, sizeof(error)),
			0);
		CHECK_STR(error, "");
		CHECK_EQ(id, i + 1);
		CHECK_EQ(weft_lab_faults(demo.lab, now, WEFT_LAB_FAULTS_MAX), 1);
		CHECK_EQ(now[0].kind, demo.plan.faults[i]->kind);
		CHECK_EQ(now[0].loss_ppm, demo.plan.faults[i]->loss_ppm);
		CHECK_EQ(weft_lab_undo(demo.lab, 0, error, sizeof(error)), 0);
	}
	demo_lab_down(&demo);
	leave_folder();
}
