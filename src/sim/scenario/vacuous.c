/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vacuous - why a claim says nothing about a run, whatever was measured in it.
 *
 * "No packet was lost" is true of a run in which nobody sent, of a window after its end, and of
 * one whose fault never came; and what is quicker than arithmetic allows has been compared with
 * the wrong thing.  A claim that holds for such a reason would be believed, so it fails and says
 * the reason.  Claims that no run could fail are refused when the file is read (claim.c).
 */
#include "scenario_local.h"

#include <math.h>

/* The engine counts nanoseconds; a live host's clock is read by a program. */
#define SIM_SLACK_PS 1000.0
#define LAB_SLACK 0.02

static const struct weft_scenario_group *never_begun(
	const struct weft_scenario_result *r, const struct claim *claim)
{
	for (uint32_t i = 0; i < r->n_groups; i++) {
		const struct weft_scenario_group *g = &r->groups[i];

		if (!g->has_begun && (!*claim->group || g == group_find(r, claim->group)))
			return g;
	}
	return NULL;
}

/* The rows that a window consists of: from when until when; false: none. */
static bool rows_of(const struct weft_scenario_result *r, const struct claim *c, uint64_t *from_ps,
	uint64_t *to_ps)
{
	bool found = false;

	for (uint32_t i = 0; i < r->rows; i++) {
		if (!measure_in_window(r, c, i))
			continue;
		*from_ps = found ? *from_ps : i ? r->at_ps[i - 1] : 0;
		*to_ps = r->at_ps[i];
		found = true;
	}
	return found;
}

static uint64_t longest_row_ps(const struct weft_scenario_result *r)
{
	uint64_t most_ps = 0;

	for (uint32_t i = 0; i < r->rows; i++)
		most_ps = WEFT_MAX(most_ps, r->at_ps[i] - (i ? r->at_ps[i - 1] : 0));
	return most_ps;
}

/* When the first of these flows begins, and when the last of them is over; NEVER: it is not. */
static void busy(const struct weft_scenario_result *r, const struct claim *c, uint64_t *from_ps,
	uint64_t *to_ps)
{
	*from_ps = WEFT_NEVER;
	*to_ps = 0;
	for (uint32_t i = 0; i < r->n_groups; i++) {
		const struct weft_scenario_group *g = &r->groups[i];

		if (*c->group && g != group_find(r, c->group))
			continue;
		*from_ps = WEFT_MIN(*from_ps, g->start_ps);
		*to_ps = g->took_ps == WEFT_NEVER ? WEFT_NEVER
						  : WEFT_MAX(*to_ps, g->start_ps + g->took_ps);
	}
}

static bool judge_window(const struct weft_scenario_result *r, const struct claim *c,
	const struct measure *measure, char *why, size_t bytes)
{
	uint64_t row_ps = longest_row_ps(r), from_ps, to_ps, busy_ps, idle_ps;
	double end_us = (double)r->totals.now_ps / 1e6;

	if (!rows_of(r, c, &from_ps, &to_ps)) {
		if (r->totals.now_ps <= c->from_ps)
			(void)snprintf(why, bytes, "the run was over at %.2f us, before", end_us);
		else
			(void)snprintf(why, bytes,
				"no sample lies in it: a longer window, or sample: TIME");
		return false;
	}
	if (to_ps + row_ps < c->to_ps) {
		(void)snprintf(why, bytes, "the run was over at %.2f us, within", end_us);
		return false;
	}
	busy(r, c, &busy_ps, &idle_ps);
	/* A speed that is to be low must not be so because there is nothing to send. */
	bool is_throughout = measure->unit == MEASURE_RATE && *c->op != '>';
	bool is_busy = is_throughout
			       ? busy_ps <= c->from_ps && idle_ps >= to_ps - WEFT_MIN(to_ps, row_ps)
			       : busy_ps < c->to_ps && idle_ps > c->from_ps;

	if (!is_busy)
		(void)snprintf(why, bytes, "nothing was under way%s",
			is_throughout ? " in part of it" : " then");
	return is_busy;
}

bool vacuous_before(const struct weft_scenario_result *r, const struct claim *c,
	const struct measure *measure, char *why, size_t bytes)
{
	const struct weft_scenario_group *group = never_begun(r, c);

	if (r->idle_fault_line)
		(void)snprintf(why, bytes, "the fault of line %u never came: over at %.2f us",
			(unsigned)r->idle_fault_line, (double)r->totals.now_ps / 1e6);
	else if (group)
		(void)snprintf(why, bytes, "load %s has not begun", group->name);
	else
		return !c->is_windowed || judge_window(r, c, measure, why, bytes);
	return false;
}

bool vacuous_after(const struct weft_scenario_result *r, const struct measure *measure,
	double value, double ideal, char *why, size_t bytes)
{
	double slack = r->slower > 0 ? LAB_SLACK * ideal : SIM_SLACK_PS;

	if (!measure_is_of_last(measure) || !(ideal > 0) || !(value < ideal - slack))
		return true;
	(void)snprintf(why, bytes, "%.3f ideal: no transport can be so quick", value / ideal);
	return false;
}
