/* SPDX-License-Identifier: BSD-2-Clause */
#include "stage.h"

#define BROKEN "faults:\n  - link-down h0.p0 at 3us for 5us\n"

TEST(weft_scenario_script_open__lists_flows_and_moments)
{
	struct weft_scenario *play = stage_open(STAGE_BASE "load: [ring, incast:4]\n" BROKEN);
	struct weft_scenario_script script;
	char error[256];

	REQUIRE(weft_scenario_script_open(&script, play, 1, error, sizeof(error)));
	CHECK_EQ(script.n_flows, 20);
	REQUIRE(script.n_groups == 2);
	CHECK_EQ(script.groups[1].first, 16);
	REQUIRE(script.faults.n == 2);
	CHECK_EQ(script.faults.list[0].kind, WEFT_SIM_LINK_DOWN);
	CHECK_EQ(script.faults.list[1].at_ps, 8000000);
	CHECK_EQ(script.faults.n_events, 1);
	weft_scenario_script_close(&script);
	CHECK(!script.flows);
	weft_scenario_close(play);
}

TEST(weft_scenario_result_new__is_a_sheet_to_be_filled_in)
{
	static const struct weft_scenario_column columns[] = {
		{ .name = "goodput", .unit = "bytes", .how = WEFT_SCENARIO_SUM },
		{ .name = "flows done", .unit = "flows", .how = WEFT_SCENARIO_LAST },
		{ .name = "" },
	};
	struct weft_scenario *play = stage_open(STAGE_BASE "load: [ring]\nexpect:\n"
						       "  - goodput >= 1Gb/s\n" BROKEN);
	struct weft_scenario_script script;
	struct weft_scenario_judgement j;
	char error[256];

	REQUIRE(weft_scenario_script_open(&script, play, 1, error, sizeof(error)));
	struct weft_scenario_result *r = weft_scenario_result_new(play, &script, 7, columns, 16);

	REQUIRE(r);
	CHECK_EQ(r->seed, 7);
	CHECK_EQ(r->n_flows, 16);
	CHECK_EQ(r->n_events, 1);
	CHECK(r->ideal_ps > 0);
	for (uint32_t i = 0; i < 16; i++) {
		r->at_ps[i] = (i + 1) * 1000000;
		/* 2 MB a microsecond; nothing in the two that follow the fault. */
		weft_scenario_column(r, "goodput")->values[i] = i == 3 || i == 4 ? 0 : 2e6;
	}
	r->rows = 16;
	r->totals.now_ps = r->at_ps[15];
	r->flow_ps[3] = r->end_ps[3] = 5000000;
	weft_scenario_conclude(r, &script);
	weft_scenario_script_close(&script); /* the result outlives it */
	REQUIRE(r->n_recoveries == 1);
	CHECK_EQ(r->recoveries[0].felt_ps, 2000000);
	CHECK_EQ(r->groups[0].n_done, 1);
	CHECK(r->groups[0].took_ps == WEFT_NEVER);
	weft_scenario_judge(play, 0, r, "lab", &j);
	CHECK_EQ(j.verdict, WEFT_SCENARIO_PASSED);
	weft_scenario_result_free(r);
	weft_scenario_close(play);
}
