/* SPDX-License-Identifier: BSD-2-Clause */
#include "stage.h"

static const char *parse(struct claim *claim, const char *text)
{
	static char hint[96];

	*claim = (struct claim){ 0 };
	return claim_parse(claim, text, hint);
}

TEST(claim_parse__reads_what_is_compared)
{
	struct claim c;

	CHECK(!parse(&c, "crowd.goodput from 1ms to 1.5ms >= 0.9 line"));
	CHECK_STR(c.group, "crowd");
	CHECK_STR(c.measure, "goodput");
	CHECK_STR(c.op, ">=");
	CHECK_STR(c.relative, "line");
	CHECK_EQ(c.from_ps, UINT64_C(1000000000));
	CHECK_EQ(c.to_ps, UINT64_C(1500000000));
	CHECK_NEAR(c.value, 0.9, 1e-12);
	CHECK(!parse(&c, "fct_max <= 1.5ms"));
	CHECK_NEAR(c.value, 1.5e9, 1);
	CHECK(!parse(&c, "queue_down < 64KiB"));
	CHECK_NEAR(c.value, 65536, 1e-9);
}

TEST(claim_parse__says_what_is_wrong)
{
	static const struct {
		const char *text, *wrong;
	} rows[] = {
		{ "", "empty" },
		{ "lost", "wanted is MEASURE" },
		{ "lost is 3", "wanted is MEASURE" },
		{ "lst == 3", "no measure 'lst', did you mean 'lost'?" },
		{ "lost == 3us", "the number has no unit" },
		{ "fct_max <= 3", "a time is wanted" },
		{ "goodput >= 3us", "a speed is wanted" },
		/* No run could fail what is beyond all numbers. */
		{ "fct_max <= infs", "a time is wanted" },
		{ "fct_max <= nans", "a time is wanted" },
		{ "fct_max <= 1e308s", "a time is wanted" },
		{ "fct_max <= 2 line", "fct, jct and end compare to ideal" },
		{ "lost <= 2 ideal", "fct, jct and end compare to ideal" },
		{ "fct_max from 1us to 2us <= 3us", "this measure is of the whole run" },
		{ "goodput from 2us to 1us >= 3Gb/s", "wanted is from TIME to TIME" },
		{ "goodput from 1us >= 3Gb/s", "wanted is from TIME to TIME" },
		{ "a b c d e f g h i j", "too many words" },
		/* No run can fail what holds of every run. */
		{ "lost >= 0", "no run can fail this" },
		{ "lost > -1", "no run can fail this" },
		{ "lost != -1", "no run can fail this" },
		{ "goodput <= 1 line", "no run can fail this" },
		{ "goodput < 1.1 line", "no run can fail this" },
		{ "goodput >= 0 line", "no run can fail this" },
		{ "fct_max >= 1 ideal", "no run can fail this" },
		{ "jct > 0.5 ideal", "no run can fail this" },
	};
	struct claim c;

	for (unsigned i = 0; i < WEFT_COUNT(rows); i++) {
		const char *wrong = parse(&c, rows[i].text);
		char head[96] = "";

		REQUIRE(wrong);
		(void)snprintf(head, sizeof(head), "%.*s", (int)strlen(rows[i].wrong), wrong);
		CHECK_STR(head, rows[i].wrong);
	}
}

TEST(weft_scenario_judge__compares_and_says_what_it_found)
{
	struct weft_scenario *play = stage_open(STAGE_BASE STAGE_LOAD
		"expect:\n  - completed == 16\n  - completed != 16\n  - fct_max > 1.001 ideal\n"
		"  - fct_max < 1 ideal\n  - goodput <= 0.999 line\n  - {claim: lost == 1, in: "
		"lab}\n"
		"  - {digest: 0123456789abcdef}\n  - {digest: 0123456789abcdef, seed: 9}\n"
		"  - goodput from 1ms to 2ms >= 0.1 line\n");
	static const enum weft_scenario_verdict wanted[] = { WEFT_SCENARIO_PASSED,
		WEFT_SCENARIO_FAILED, WEFT_SCENARIO_PASSED, WEFT_SCENARIO_FAILED,
		WEFT_SCENARIO_PASSED, WEFT_SCENARIO_SKIPPED, WEFT_SCENARIO_FAILED,
		WEFT_SCENARIO_SKIPPED, WEFT_SCENARIO_FAILED };
	struct weft_scenario_result *r = stage_run(play, 1);

	for (uint32_t i = 0; i < WEFT_COUNT(wanted); i++) {
		struct weft_scenario_judgement j;

		weft_scenario_judge(play, i, r, "sim", &j);
		CHECK_EQ(j.verdict, wanted[i]);
		CHECK(*j.claim && (*j.measured || *j.why));
	}
	weft_scenario_result_free(r);
	weft_scenario_close(play);
}
