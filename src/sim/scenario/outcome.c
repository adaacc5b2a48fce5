/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * outcome - what came of each load: how many of its flows are done, how long it took, its steps.
 *
 * A flow that has not ended has no time, but it has taken longer than any that has: it stands at
 * the far end of every distribution, so that no figure gets better because a flow got lost.
 */
#include "scenario_local.h"

#include <stdlib.h>

uint64_t weft_scenario_step_quantile(
	const struct weft_scenario_group *group, uint64_t num, uint64_t den)
{
	return group->steps_ps ? weft_rank_value(group->steps_ps, group->n_steps, num, den) : 0;
}

/* Its time had come, and what holds back its first repetition was over. */
static bool has_begun(const struct weft_scenario_result *r,
	const struct weft_scenario_script *script, uint32_t flow)
{
	const struct weft_sim_flow *f = &script->flows[flow];

	if (r->end_ps[flow])
		return true;
	for (uint32_t k = 0; k < f->n_after; k++) {
		const struct weft_sim_edge *e = &script->edges[f->after_first + k];

		if ((!e->lag || e->lag == WEFT_SIM_WHOLE) && !r->end_ps[e->flow])
			return false;
	}
	return f->start_ps + f->delay_ps < r->totals.now_ps;
}

static void conclude(struct weft_scenario_result *r, const struct weft_scenario_script *script,
	struct weft_scenario_group *group)
{
	uint64_t start_ps = WEFT_NEVER, end_ps = 0;

	group->n_flows = group->n_done = 0;
	group->has_begun = false;
	for (uint32_t i = group->first; i < group->first + group->n; i++) {
		group->n_flows += r->len_bytes[i] != 0;
		group->n_done += r->flow_ps[i] != 0;
		start_ps = WEFT_MIN(start_ps, r->start_ps[i]);
		end_ps = WEFT_MAX(end_ps, r->end_ps[i] ? r->end_ps[i] : WEFT_NEVER);
		if (r->len_bytes[i])
			group->has_begun |= has_begun(r, script, i);
	}
	group->took_ps = end_ps == WEFT_NEVER ? end_ps : end_ps - WEFT_MIN(start_ps, end_ps);
	group->steps_ps = weft_workload_steps(
		script->flows + group->first, r->end_ps + group->first, group->n, &group->n_steps);
	group->n_steps_over = 0;
	for (uint32_t i = 0; group->steps_ps && i < group->n_steps; i++)
		group->n_steps_over += group->steps_ps[i] != WEFT_NEVER;
	group->has_begun |= !group->n_flows; /* it only computes */
	r->n_messages += group->n_flows;
	r->n_done += group->n_done;
	r->took_ps = WEFT_MAX(r->took_ps, end_ps);
}

double weft_scenario_over_ideal(
	const struct weft_scenario_result *r, const struct weft_scenario_group *group)
{
	uint64_t took_ps = group ? group->took_ps : r->took_ps;
	uint64_t ideal_ps = group ? group->ideal_ps : r->ideal_ps - r->begin_ps;

	if (took_ps == WEFT_NEVER || !ideal_ps)
		return 0;
	return (double)(group ? took_ps : took_ps - WEFT_MIN(took_ps, r->begin_ps)) /
	       (double)ideal_ps;
}

void weft_scenario_conclude(
	struct weft_scenario_result *result, const struct weft_scenario_script *script)
{
	result->n_messages = result->n_done = 0;
	result->took_ps = 0;
	for (uint32_t i = 0; i < result->n_groups; i++)
		conclude(result, script, &result->groups[i]);
	result->idle_fault_line = 0;
	for (uint32_t i = script->n_firsts; i--;) {
		if (script->firsts[i].at_ps >= result->totals.now_ps)
			result->idle_fault_line = script->firsts[i].line;
	}
	recoveries_find(result);
}
