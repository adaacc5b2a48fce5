/* SPDX-License-Identifier: BSD-2-Clause */
#include "stage.h"

/* The only claim of a scenario, under seed 1. */
static struct weft_scenario_judgement judged(const char *text)
{
	static struct weft_scenario_judgement j;
	struct weft_scenario *play = stage_open(text);
	struct weft_scenario_result *r = stage_run(play, 1);

	weft_scenario_judge(play, 0, r, "sim", &j);
	weft_scenario_result_free(r);
	weft_scenario_close(play);
	return j;
}

static void check_void(const char *text, const char *why)
{
	struct weft_scenario_judgement j = judged(text);

	CHECK_EQ(j.verdict, WEFT_SCENARIO_FAILED);
	if (!strstr(j.why, why))
		CHECK_FAIL("it says '%s', wanted is '%s'", j.why, why);
}

static void check_same(const char *one, const char *other)
{
	struct weft_scenario_judgement a = judged(one), b = judged(other);

	CHECK_EQ(a.verdict, WEFT_SCENARIO_PASSED);
	CHECK_EQ(b.verdict, WEFT_SCENARIO_PASSED);
	CHECK_STR(a.measured, b.measured);
}

/* 16 hosts, 400 KB each: some 18 us. */
#define AT_ONE STAGE_BASE "load:\n  - permutation: {bytes: 400KB, at: 1ms}\n"

/* The start of a load is no time that its flows may take. */
TEST(bound_of__counts_from_where_flows_begin)
{
	struct weft_scenario_judgement j;

	j = judged(AT_ONE "expect: [fct_max <= 1.1 ideal]\n");
	CHECK_EQ(j.verdict, WEFT_SCENARIO_PASSED);
	CHECK(strstr(j.measured, ", 1.0"));
	check_same(AT_ONE "expect: [permutation.fct_max <= 1.5 ideal]\n",
		AT_ONE "expect: [fct_max <= 1.5 ideal]\n");
	j = judged(AT_ONE "expect: [end <= 1.5 ideal]\n");
	CHECK_EQ(j.verdict, WEFT_SCENARIO_PASSED);
	j = judged(AT_ONE "expect: [end > 5 ideal]\n");
	CHECK_EQ(j.verdict, WEFT_SCENARIO_FAILED);
	/* Two loads that begin together, though not at 0. */
	j = judged(STAGE_BASE
		"load:\n  - ring: {bytes: 400KB, at: 1ms}\n"
		"  - permutation: {bytes: 400KB, at: 1ms}\nexpect: [fct_max >= 3 ideal]\n");
	CHECK_EQ(j.verdict, WEFT_SCENARIO_FAILED);
}

TEST(vacuous_before__knows_a_fault_that_never_came)
{
	check_void(STAGE_BASE STAGE_LOAD
		"faults:\n  - freeze p0.t1-1 at 1ms\nexpect: [completed == 16]\n",
		"the fault of line 6 never came");
	check_void(STAGE_BASE STAGE_LOAD "faults:\n  - freeze p0.t1-1 at 2us for 1us\n"
					 "  - flap: {where: p1.t0-0:t1-0, up: 1ms, down: 1us, at: "
					 "1ms}\nexpect: [completed == 16]\n",
		"the fault of line 7 never came");
	/* From 0 on it might have come; that it did not is what was drawn. */
	CHECK_EQ(
		judged(STAGE_BASE STAGE_LOAD "faults:\n  - flap: {where: p1.t0-0:t1-0, up: 1000ms, "
					     "down: 1us, at: 0us}\nexpect: [completed == 16]\n")
			.verdict,
		WEFT_SCENARIO_PASSED);
	CHECK_EQ(judged(STAGE_BASE STAGE_LOAD
			 "faults:\n  - freeze p0.t1-1 at 2us for 1us every 10us\n"
			 "expect: [completed == 16]\n")
			 .verdict,
		WEFT_SCENARIO_PASSED);
}

TEST(vacuous_before__knows_a_load_that_has_not_begun)
{
	/* Its messages wait for computing that takes longer than the run. */
	check_void(STAGE_BASE "load:\n  - permutation: {bytes: 400KB}\n"
			      "  - chain: {bytes: 4KB, name: slow, compute: 1us}\n"
			      "  - training: {dp: 4, name: late, forward: 9ms, dp_bytes: 1MB}\n"
			      "expect: [failed == 0]\n",
		"load late has not begun");
	check_void(STAGE_BASE
		"load:\n  - training: {dp: 4, name: late, forward: 9ms, dp_bytes: 1MB}\n"
		"expect: [late.goodput < 0.5 line]\n",
		"load late has not begun");
}

TEST(vacuous_before__wants_samples_and_flows_in_the_window)
{
	/* The run is over long before. */
	check_void(STAGE_BASE STAGE_LOAD "expect: [lost from 1ms to 2ms == 0]\n",
		"the run was over at");
	check_void(STAGE_BASE STAGE_LOAD "expect: [lost from 5us to 2ms == 0]\n",
		"the run was over at");
	/* Nobody sends yet. */
	check_void(AT_ONE "expect: [lost from 10us to 900us == 0]\n", "nothing was under way then");
	/* One load is over before the window is: that it brings little says nothing. */
	check_void(STAGE_BASE "load:\n  - ring: {bytes: 40MB, name: long}\n"
			      "  - flows: {from: h0, to: h9, bytes: 100KB, name: short}\n"
			      "expect: [short.goodput from 5us to 500us <= 0.5 line]\n",
		"nothing was under way in part of it");
	/* And what there is, is judged. */
	CHECK_EQ(judged(STAGE_BASE "load:\n  - ring: {bytes: 40MB, name: long}\n"
				   "expect: [long.goodput from 100us to 500us <= 0.999 line]\n")
			 .verdict,
		WEFT_SCENARIO_PASSED);
}

TEST(vacuous_after__believes_nothing_that_beats_arithmetic)
{
	struct weft_scenario_result r = { 0 };
	char hint[96], why[96] = "";
	const struct measure *last = measure_find("fct_max", hint),
			     *any = measure_find("fct_p50", hint);

	CHECK(vacuous_after(&r, last, 1000000, 1000000, why, sizeof(why)));
	CHECK(vacuous_after(&r, last, 999500, 1000000, why, sizeof(why))); /* half a nanosecond */
	CHECK_STR(why, "");
	CHECK(!vacuous_after(&r, last, 278000, 1000000, why, sizeof(why)));
	CHECK_STR(why, "0.278 ideal: no transport can be so quick");
	CHECK(vacuous_after(&r, any, 278000, 1000000, why, sizeof(why))); /* not the last one's */
	r.slower = 1000;
	CHECK(vacuous_after(&r, last, 990000, 1000000, why, sizeof(why)));
	CHECK(!vacuous_after(&r, last, 900000, 1000000, why, sizeof(why)));
}
