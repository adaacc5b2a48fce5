/* SPDX-License-Identifier: BSD-2-Clause */
#include "stage.h"

#include <math.h>

static double measured(
	const struct weft_scenario *play, const struct weft_scenario_result *r, const char *text)
{
	struct claim claim = { 0 };
	char hint[96];

	REQUIRE(!claim_parse(&claim, text, hint));
	REQUIRE(claim_fits(&claim, play->loads, play->head.n_loads, hint));
	return measure_of(r, &claim);
}

/* What a job took is all of it; its flows are parts, and its steps lie end to end. */
TEST(weft_scenario_conclude__tells_a_job_from_its_flows)
{
	struct weft_scenario *play = stage_open(STAGE_FABRIC
		"stop: 50ms\nload:\n  - training: {tp: 2, pp: 2, dp: 4, layers: 2, microbatches: "
		"2, "
		"steps: 3, forward: 20us, backward: 40us, tp_bytes: 100KB, pp_bytes: 100KB, "
		"dp_bytes: 1MB, at: 10us}\n");
	struct weft_scenario_result *r = stage_run(play, 1);
	const struct weft_scenario_group *g = &r->groups[0];
	double sum = 0;

	CHECK(!g->is_together);
	CHECK_EQ(g->n_steps, 3);
	CHECK(g->n_flows > 0 && g->n_flows < g->n && g->n_done == g->n_flows);
	CHECK_EQ(r->n_done, r->n_messages);
	for (uint32_t i = 0; i < g->n_steps; i++)
		sum += (double)g->steps_ps[i];
	CHECK_NEAR(sum, (double)g->took_ps, 1.0);
	CHECK(g->took_ps >= g->ideal_ps);
	CHECK_NEAR((double)r->took_ps, (double)g->took_ps + 10e6, 1.0);
	CHECK_NEAR(measured(play, r, "jct <= 1s"), (double)g->took_ps, 1.0);
	CHECK_NEAR(measured(play, r, "steps == 3"), 3, 0);
	CHECK_NEAR(measured(play, r, "step_max <= 1s"), (double)g->steps_ps[2], 1.0);
	CHECK_NEAR(measured(play, r, "step_p50 <= 1s"), (double)g->steps_ps[1], 1.0);
	CHECK(measured(play, r, "slowdown_p50 <= 9") >= 1);
	CHECK(measured(play, r, "slowdown_max <= 9") >= measured(play, r, "slowdown_p50 <= 9"));
	weft_scenario_result_free(r);
	weft_scenario_close(play);
}

/* No figure gets better because a flow does not end. */
TEST(weft_scenario_conclude__counts_what_is_not_done_as_the_slowest)
{
	struct weft_scenario *play =
		stage_open(STAGE_FABRIC "stop: 1ms\nload:\n  - permutation: {bytes: "
					"100KB}\nfaults:\n  - nic-down h3 at 2us\n");
	struct weft_scenario_result *r = stage_run(play, 1);
	const struct weft_scenario_group *g = &r->groups[0];

	CHECK(g->is_together);
	CHECK_EQ(g->n_flows, 16);
	CHECK_EQ(g->n_done, 14); /* to it and from it: not */
	CHECK(g->took_ps == WEFT_NEVER && r->took_ps == WEFT_NEVER);
	CHECK_EQ(g->n_steps, 1);
	CHECK(g->steps_ps[0] == WEFT_NEVER);
	CHECK(weft_scenario_quantile(r, NULL, 14, 16) < UINT64_C(1000000000));
	CHECK(weft_scenario_quantile(r, NULL, 15, 16) == WEFT_NEVER);
	CHECK(weft_scenario_quantile(r, "permutation", 1, 1) == WEFT_NEVER);
	CHECK(isinf(measured(play, r, "fct_max <= 9 ideal")));
	CHECK(isinf(measured(play, r, "fct_mean <= 9 ideal")));
	CHECK(isinf(measured(play, r, "jct <= 9 ideal")));
	CHECK(isinf(measured(play, r, "slowdown_max <= 9")));
	CHECK_NEAR(measured(play, r, "steps == 0"), 0, 0);
	CHECK_NEAR(measured(play, r, "completed == 0"), 14, 0);
	weft_scenario_result_free(r);
	weft_scenario_close(play);
}
