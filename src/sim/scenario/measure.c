/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * measure - what a claim may speak of, and where it is found in a result.
 *
 * Everything is of the run or of the samples, nothing of the machine that computed it: a claim that
 * holds here holds everywhere.
 */
#include "scenario_local.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct weft_scenario_group *group_find(const struct weft_scenario_result *r, const char *name)
{
	for (uint32_t i = 0; i < r->n_groups && name && *name; i++) {
		if (!strcmp(r->groups[i].name, name))
			return &r->groups[i];
	}
	return NULL;
}

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

/* Flows of a load, or of all. */
struct span {
	uint32_t first, end;
};
static struct span span_of(const struct weft_scenario_result *r, const char *name)
{
	const struct weft_scenario_group *group = group_find(r, name);

	return group ? (struct span){ group->first, group->first + group->n }
		     : (struct span){ 0, r->n_flows };
}

/* Times of flows, ascending; the caller's to free.  WEFT_NEVER: not done.  NULL: out of memory. */
static uint64_t *sorted(const struct weft_scenario_result *r, const char *name, uint32_t *n)
{
	struct span span = span_of(r, name);
	uint64_t *list = calloc(span.end - span.first + 1, sizeof(*list));

	*n = 0;
	for (uint32_t i = span.first; i < span.end && list; i++) {
		if (r->len_bytes[i])
			list[(*n)++] = r->flow_ps[i] ? r->flow_ps[i] : WEFT_NEVER;
	}
	if (list)
		qsort(list, *n, sizeof(*list), by_value);
	return list;
}

uint64_t weft_scenario_quantile(
	const struct weft_scenario_result *r, const char *group, uint64_t num, uint64_t den)
{
	uint32_t n;
	uint64_t *list = sorted(r, group, &n), ps = list ? weft_rank_value(list, n, num, den) : 0;

	free(list);
	return ps;
}

const struct weft_scenario_column *weft_scenario_column(
	const struct weft_scenario_result *r, const char *name)
{
	for (uint32_t i = 0; i < r->n_columns; i++) {
		if (!strcmp(r->columns[i].name, name))
			return &r->columns[i];
	}
	return NULL;
}

/* ---- flows ---- */

/* As claims have it: what has not ended is longer than anything; 0: there is nothing. */
static double time_of(uint64_t ps)
{
	return ps == WEFT_NEVER ? INFINITY : ps ? (double)ps : NAN;
}

static double quantile(
	const struct weft_scenario_result *r, const struct claim *c, uint64_t num, uint64_t den)
{
	return time_of(weft_scenario_quantile(r, c->group, num, den));
}

static double fct_min(const struct weft_scenario_result *r, const struct claim *c)
{
	return quantile(r, c, 0, 1);
}

static double fct_p50(const struct weft_scenario_result *r, const struct claim *c)
{
	return quantile(r, c, 1, 2);
}

static double fct_p99(const struct weft_scenario_result *r, const struct claim *c)
{
	return quantile(r, c, 99, 100);
}

static double fct_p999(const struct weft_scenario_result *r, const struct claim *c)
{
	return quantile(r, c, 999, 1000);
}

static double fct_max(const struct weft_scenario_result *r, const struct claim *c)
{
	return quantile(r, c, 1, 1);
}

static double fct_mean(const struct weft_scenario_result *r, const struct claim *c)
{
	uint32_t n;
	uint64_t *list = sorted(r, c->group, &n);
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += time_of(list[i]);
	free(list);
	return n ? sum / n : NAN;
}

/* How unequal flows were: the slowest over the fastest. */
static double fct_spread(const struct weft_scenario_result *r, const struct claim *c)
{
	return fct_max(r, c) / fct_min(r, c);
}

static double flows(const struct weft_scenario_result *r, const struct claim *c)
{
	const struct weft_scenario_group *group = group_find(r, c->group);

	return (double)(group ? group->n_flows : r->n_messages);
}

static double completed(const struct weft_scenario_result *r, const struct claim *c)
{
	const struct weft_scenario_group *group = group_find(r, c->group);

	return (double)(group ? group->n_done : r->n_done);
}

static int by_ratio(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

/* Of each flow: how much longer than alone in the fabric. */
static double slowdown(
	const struct weft_scenario_result *r, const struct claim *c, uint64_t num, uint64_t den)
{
	struct span span = span_of(r, c->group);
	double *list = calloc(span.end - span.first + 1, sizeof(*list)), ratio = NAN;
	uint64_t n = 0;

	for (uint32_t i = span.first; i < span.end && list; i++) {
		if (r->alone_ps[i])
			list[n++] = r->flow_ps[i] ? (double)r->flow_ps[i] / (double)r->alone_ps[i]
						  : INFINITY;
	}
	if (n) {
		qsort(list, n, sizeof(*list), by_ratio);
		ratio = list[weft_rank(n, num, den) - 1];
	}
	free(list);
	return ratio;
}

static double slowdown_p50(const struct weft_scenario_result *r, const struct claim *c)
{
	return slowdown(r, c, 1, 2);
}

static double slowdown_p99(const struct weft_scenario_result *r, const struct claim *c)
{
	return slowdown(r, c, 99, 100);
}

static double slowdown_max(const struct weft_scenario_result *r, const struct claim *c)
{
	return slowdown(r, c, 1, 1);
}

/* ---- jobs ---- */

static double jct(const struct weft_scenario_result *r, const struct claim *c)
{
	const struct weft_scenario_group *group = group_find(r, c->group);

	return time_of(group ? group->took_ps : r->took_ps);
}

static double steps(const struct weft_scenario_result *r, const struct claim *c)
{
	const struct weft_scenario_group *group = group_find(r, c->group);

	return group ? (double)group->n_steps_over : NAN;
}

static double step(
	const struct weft_scenario_result *r, const struct claim *c, uint64_t num, uint64_t den)
{
	const struct weft_scenario_group *group = group_find(r, c->group);

	return group ? time_of(weft_scenario_step_quantile(group, num, den)) : NAN;
}

static double step_p50(const struct weft_scenario_result *r, const struct claim *c)
{
	return step(r, c, 1, 2);
}

static double step_p99(const struct weft_scenario_result *r, const struct claim *c)
{
	return step(r, c, 99, 100);
}

static double step_p999(const struct weft_scenario_result *r, const struct claim *c)
{
	return step(r, c, 999, 1000);
}

static double step_max(const struct weft_scenario_result *r, const struct claim *c)
{
	return step(r, c, 1, 1);
}

static double failed(const struct weft_scenario_result *r, const struct claim *c)
{
	(void)c;
	return r->totals.flows_failed;
}

static double end(const struct weft_scenario_result *r, const struct claim *c)
{
	(void)c;
	return (double)r->totals.now_ps;
}

/* ---- what went over time ---- */

/* Rows whose middle is in it. */
bool measure_in_window(const struct weft_scenario_result *r, const struct claim *c, uint32_t row)
{
	uint64_t begin_ps = row ? r->at_ps[row - 1] : 0;
	uint64_t middle_ps = begin_ps + (r->at_ps[row] - begin_ps) / 2;

	return middle_ps >= c->from_ps && middle_ps < c->to_ps;
}

enum fold { FOLD_SUM, FOLD_MAX, FOLD_MIN_RATE, FOLD_RATE };

static double fold(const struct weft_scenario_result *r, const struct claim *c, const char *name,
	enum fold how)
{
	const struct weft_scenario_column *column = weft_scenario_column(r, name);
	double sum = 0, most = 0, least = INFINITY, span_ps = 0;

	for (uint32_t i = 0; column && i < r->rows; i++) {
		double ps = (double)(r->at_ps[i] - (i ? r->at_ps[i - 1] : 0));

		if (!measure_in_window(r, c, i) || !(ps > 0))
			continue;
		sum += column->values[i];
		most = WEFT_MAX(most, column->values[i]);
		least = WEFT_MIN(least, column->values[i] * 8e12 / ps);
		span_ps += ps;
	}
	if (!column || !(span_ps > 0))
		return NAN;
	return how == FOLD_SUM        ? sum
	       : how == FOLD_MAX      ? most
	       : how == FOLD_MIN_RATE ? least
				      : sum * 8e12 / span_ps;
}

static double rate(const struct weft_scenario_result *r, const struct claim *c, enum fold how)
{
	char name[48] = "goodput";

	if (*c->group)
		(void)snprintf(name, sizeof(name), "goodput.%s", c->group);
	return fold(r, c, name, how);
}

static double goodput(const struct weft_scenario_result *r, const struct claim *c)
{
	return rate(r, c, FOLD_RATE);
}

static double goodput_min(const struct weft_scenario_result *r, const struct claim *c)
{
	return rate(r, c, FOLD_MIN_RATE);
}

static double counted(const struct weft_scenario_result *r, const struct claim *c, const char *name,
	uint64_t total)
{
	return c->is_windowed ? fold(r, c, name, FOLD_SUM) : (double)total;
}

static double lost(const struct weft_scenario_result *r, const struct claim *c)
{
	return counted(r, c, "lost", r->totals.lost);
}

static double trimmed(const struct weft_scenario_result *r, const struct claim *c)
{
	return counted(r, c, "trimmed", r->totals.trimmed);
}

static double marked(const struct weft_scenario_result *r, const struct claim *c)
{
	return counted(r, c, "marked", r->totals.marked);
}

static double pauses(const struct weft_scenario_result *r, const struct claim *c)
{
	return counted(r, c, "pauses", r->totals.pauses);
}

static double repeated(const struct weft_scenario_result *r, const struct claim *c)
{
	return counted(r, c, "repeated", r->counters.tx_rtx_pkts);
}

static double retired(const struct weft_scenario_result *r, const struct claim *c)
{
	return counted(r, c, "retired", r->counters.paths_retired);
}

static double revived(const struct weft_scenario_result *r, const struct claim *c)
{
	return counted(r, c, "revived", r->counters.paths_revived);
}

static double corrupt(const struct weft_scenario_result *r, const struct claim *c)
{
	(void)c;
	return (double)r->totals.corrupt;
}

static double timeouts(const struct weft_scenario_result *r, const struct claim *c)
{
	(void)c;
	return (double)r->counters.timeouts;
}

static double lost_per_flow(const struct weft_scenario_result *r, const struct claim *c)
{
	(void)c;
	return r->n_messages ? (double)r->totals.lost / r->n_messages : NAN;
}

static double repeated_share(const struct weft_scenario_result *r, const struct claim *c)
{
	(void)c;
	return r->counters.tx_data_pkts
		       ? (double)r->counters.tx_rtx_pkts / (double)r->counters.tx_data_pkts
		       : NAN;
}

static double queue_up(const struct weft_scenario_result *r, const struct claim *c)
{
	return fold(r, c, "queue up", FOLD_MAX);
}

static double queue_t1(const struct weft_scenario_result *r, const struct claim *c)
{
	return fold(r, c, "queue t1", FOLD_MAX);
}

static double queue_down(const struct weft_scenario_result *r, const struct claim *c)
{
	return fold(r, c, "queue down", FOLD_MAX);
}

/* The longest of them.  NaN: nothing can be said of any event, and so not that all is well. */
static double longest(double so_far, uint64_t ps)
{
	double this = ps == WEFT_NEVER ? INFINITY : (double)ps;

	return isnan(so_far) ? this : WEFT_MAX(so_far, this);
}

static double recovery_max(const struct weft_scenario_result *r, const struct claim *c)
{
	double most = NAN;

	(void)c;
	for (uint32_t i = 0; i < r->n_recoveries; i++) {
		if (!r->recoveries[i].why)
			most = longest(most, r->recoveries[i].felt_ps);
	}
	return most;
}

static double whole_max(const struct weft_scenario_result *r, const struct claim *c)
{
	double most = NAN;

	(void)c;
	for (uint32_t i = 0; i < r->n_recoveries; i++) {
		if (!r->recoveries[i].why && r->recoveries[i].whole_of_ps)
			most = longest(most, r->recoveries[i].whole_ps);
	}
	return most;
}

/* ---- names ---- */

static const struct measure measures[] = {
	{ "flows", MEASURE_COUNT, false, flows, "how many there are" },
	{ "completed", MEASURE_COUNT, false, completed, "flows that are done" },
	{ "failed", MEASURE_COUNT, false, failed, "flows whose connection gave up" },
	{ "end", MEASURE_TIME, false, end, "when the run was over" },
	{ "fct_min", MEASURE_TIME, false, fct_min, "of flows: from the post to the completion" },
	{ "fct_mean", MEASURE_TIME, false, fct_mean, "" },
	{ "fct_p50", MEASURE_TIME, false, fct_p50, "" },
	{ "fct_p99", MEASURE_TIME, false, fct_p99, "" },
	{ "fct_p999", MEASURE_TIME, false, fct_p999, "" },
	{ "fct_max", MEASURE_TIME, false, fct_max, "" },
	{ "fct_spread", MEASURE_RATIO, false, fct_spread, "slowest over fastest" },
	{ "slowdown_p50", MEASURE_RATIO, false, slowdown_p50,
		"of flows: over what alone they take" },
	{ "slowdown_p99", MEASURE_RATIO, false, slowdown_p99, "" },
	{ "slowdown_max", MEASURE_RATIO, false, slowdown_max, "" },
	{ "jct", MEASURE_TIME, false, jct, "of a load: from its start to its last flow's end" },
	{ "steps", MEASURE_COUNT, false, steps, "of a job: those that are over" },
	{ "step_p50", MEASURE_TIME, false, step_p50,
		"of a job: from one step's end to the next's" },
	{ "step_p99", MEASURE_TIME, false, step_p99, "" },
	{ "step_p999", MEASURE_TIME, false, step_p999, "" },
	{ "step_max", MEASURE_TIME, false, step_max, "" },
	{ "goodput", MEASURE_RATE, true, goodput, "payload that arrived, mean" },
	{ "goodput_min", MEASURE_RATE, true, goodput_min, "the same, in the worst sample" },
	{ "lost", MEASURE_COUNT, true, lost, "frames" },
	{ "lost_per_flow", MEASURE_RATIO, false, lost_per_flow, "" },
	{ "corrupt", MEASURE_COUNT, false, corrupt, "of these: refused by an ICRC" },
	{ "trimmed", MEASURE_COUNT, true, trimmed, "frames" },
	{ "marked", MEASURE_COUNT, true, marked, "frames" },
	{ "pauses", MEASURE_COUNT, true, pauses, "PFC: that a switch told a neighbour to stop" },
	{ "repeated", MEASURE_COUNT, true, repeated, "data packets" },
	{ "repeated_share", MEASURE_RATIO, false, repeated_share, "of all data packets" },
	{ "retired", MEASURE_COUNT, true, retired, "paths" },
	{ "revived", MEASURE_COUNT, true, revived, "paths" },
	{ "timeouts", MEASURE_COUNT, false, timeouts, "" },
	{ "queue_up", MEASURE_BYTES, true, queue_up, "the longest at a T0's port to a T1" },
	{ "queue_t1", MEASURE_BYTES, true, queue_t1, "the longest at a T1's port" },
	{ "queue_down", MEASURE_BYTES, true, queue_down, "the longest at a port to a host" },
	{ "recovery_max", MEASURE_TIME, false, recovery_max,
		"after an event until goodput is back or has settled" },
	{ "whole_max", MEASURE_TIME, false, whole_max,
		"after an event's end until goodput is what it was before" },
};

const struct measure *measure_find(const char *word, char hint[96])
{
	const char *meant;

	for (unsigned i = 0; i < WEFT_COUNT(measures); i++) {
		if (!strcmp(measures[i].word, word))
			return &measures[i];
	}
	meant = weft_word_near(word, measures, WEFT_COUNT(measures), sizeof(measures[0]));
	(void)snprintf(hint, 96, "no measure '%.32s'%s%s%s", word, meant ? ", did you mean '" : "",
		meant ? meant : ": docs/scenarios.md lists them", meant ? "'?" : "");
	return NULL;
}

enum measure_ideal measure_ideal(const struct measure *measure)
{
	if (measure->of == end || measure->of == jct)
		return IDEAL_WHOLE;
	return strncmp(measure->word, "fct_", 4) || measure->unit != MEASURE_TIME ? IDEAL_NONE
										  : IDEAL_FLOW;
}

bool measure_is_of_last(const struct measure *measure)
{
	return measure->of == end || measure->of == jct || measure->of == fct_max;
}

bool measure_is_of_run(const struct measure *measure)
{
	static const char *const of_loads[] = { "flows", "completed", "fct_", "slowdown_", "jct",
		"step", "goodput" };

	for (unsigned i = 0; i < WEFT_COUNT(of_loads); i++) {
		if (!strncmp(measure->word, of_loads[i], strlen(of_loads[i])))
			return false;
	}
	return true;
}

bool measure_is_of_job(const struct measure *measure)
{
	return measure->of == jct || !strncmp(measure->word, "step", 4);
}

/* A lab's switches say how long a queue was at most since they began, and not when. */
bool measure_is_sim_only(const struct measure *measure)
{
	return measure->unit == MEASURE_BYTES || measure->of == pauses;
}

double measure_of(const struct weft_scenario_result *result, const struct claim *claim)
{
	char hint[96];
	const struct measure *measure = measure_find(claim->measure, hint);

	WEFT_ASSERT(measure);
	return measure->of(result, claim);
}

void measure_text(enum measure_unit unit, double value, char *text, size_t bytes)
{
	if (isnan(value))
		(void)snprintf(text, bytes, "-");
	else if (isinf(value))
		(void)snprintf(text, bytes, "never");
	else if (unit == MEASURE_TIME && value < 1e10)
		(void)snprintf(text, bytes, "%.2f us", value / 1e6);
	else if (unit == MEASURE_TIME)
		(void)snprintf(text, bytes, "%.3f ms", value / 1e9);
	else if (unit == MEASURE_RATE && value < 1e12)
		(void)snprintf(text, bytes, "%.2f Gb/s", value / 1e9);
	else if (unit == MEASURE_RATE)
		(void)snprintf(text, bytes, "%.2f Tb/s", value / 1e12);
	else if (unit == MEASURE_BYTES)
		(void)snprintf(text, bytes, "%.1f KB", value / 1e3);
	else if (unit == MEASURE_RATIO)
		(void)snprintf(text, bytes, "%.4f", value);
	else
		(void)snprintf(text, bytes, "%.0f", value);
}
