/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recovery - for how long an event was felt, and when all was as before.
 *
 * Goodput of all receivers together, by samples.  It is looked at from the event until the next one
 * begins, or until so many flows are done that goodput falls by itself; an event of which nothing
 * can be said that way is told with the reason and not passed over.
 */
#include "scenario_local.h"

#include <stdlib.h>

enum { BEFORE_ROWS = 4 };
#define ENOUGH 0.95 /* of what goodput was, or settles at: samples are never alike */

static const char too_late[] = "a tenth of the flows had ended already";

static double rate_of(const struct weft_scenario_result *r, const double bytes[], uint32_t row)
{
	uint64_t begin_ps = row ? r->at_ps[row - 1] : 0;

	return bytes[row] * 1e12 / (double)WEFT_MAX(r->at_ps[row] - begin_ps, 1u);
}

/* Bytes per second over [from, to), by rows; 0 where there is none. */
static double mean_rate(const struct weft_scenario_result *r, uint64_t from_ps, uint64_t to_ps)
{
	const double *bytes = weft_scenario_column(r, "goodput")->values;
	double sum = 0, ps = 0;

	for (uint32_t i = 0; i < r->rows; i++) {
		uint64_t begin_ps = i ? r->at_ps[i - 1] : 0;

		if (begin_ps < from_ps || r->at_ps[i] > to_ps)
			continue;
		sum += bytes[i];
		ps += (double)(r->at_ps[i] - begin_ps);
	}
	return ps > 0 ? sum * 1e12 / ps : 0;
}

/*
 * Until a tenth of the flows are done: goodput falls as they end, which no fault has done.  And a
 * round trip earlier: senders know by then what came in before.
 */
static uint64_t steady_end_ps(const struct weft_scenario_result *r)
{
	const double *done = weft_scenario_column(r, "flows done")->values;
	uint32_t row = 0;

	while (row + 1 < r->rows && done[row + 1] * 10 <= r->n_flows)
		row++;
	return row + 1 < r->rows ? r->at_ps[row] - WEFT_MIN(r->at_ps[row], r->rtt_ps)
				 : r->at_ps[row];
}

/* As long before as after, and some samples at least; if it can be, not while all begin. */
static double rate_before(const struct weft_scenario_result *r, uint64_t begin_ps, uint64_t end_ps)
{
	uint64_t sample_ps = r->at_ps[r->rows - 1] / r->rows;
	uint64_t span_ps = WEFT_MAX(end_ps - begin_ps, BEFORE_ROWS * sample_ps);
	uint64_t from_ps = begin_ps > span_ps ? begin_ps - span_ps : 0;
	double rate = mean_rate(r, WEFT_MAX(from_ps, r->rtt_ps), begin_ps);

	return rate > 0 ? rate : mean_rate(r, from_ps, begin_ps);
}

/* The moment up to which what is seen may be of this event. */
static uint64_t look_end_ps(const struct weft_scenario_result *r, uint64_t after_ps)
{
	uint64_t end_ps = steady_end_ps(r);

	for (uint32_t i = 0; i < r->n_events; i++) {
		if (r->events[i].begin_ps > after_ps)
			end_ps = WEFT_MIN(end_ps, r->events[i].begin_ps);
	}
	return end_ps;
}

/*
 * What goodput settles at with the event: its mean over the second half of it, as long as something
 * comes through then, or else over the second half of the time to the next one.
 */
static double settled_rate(const struct weft_scenario_result *r,
	const struct weft_scenario_event *e, uint64_t end_ps, double before)
{
	if (e->end_ps < end_ps) {
		double during =
			mean_rate(r, e->begin_ps + (e->end_ps - e->begin_ps) / 2, e->end_ps);

		if (during > before / 4)
			return during;
	}
	return mean_rate(r, e->begin_ps + (end_ps - e->begin_ps) / 2, end_ps);
}

/* From the event until goodput, once it has fallen below level, is there again. */
static void find_felt(const struct weft_scenario_result *r, uint64_t begin_ps, uint64_t end_ps,
	double level, struct weft_scenario_recovery *out)
{
	const double *bytes = weft_scenario_column(r, "goodput")->values;
	double lowest = out->lowest; /* without the last row */
	uint32_t low = 0, rows = 0;

	out->felt_of_ps = end_ps - begin_ps;
	for (uint32_t i = 0; i < r->rows && r->at_ps[i] <= end_ps; i++) {
		if (r->at_ps[i] <= begin_ps)
			continue;
		double rate = rate_of(r, bytes, i);

		rows++;
		lowest = out->lowest;
		out->lowest = WEFT_MIN(out->lowest, rate);
		low += rate < level;
		if (rate >= level && low && !out->felt_ps)
			out->felt_ps = WEFT_MAX(r->at_ps[i - 1], begin_ps) - begin_ps;
	}
	/* One low sample at the very end, after others that were not, says nothing yet. */
	if (!out->felt_ps && (low > 1 || (low && rows == 1)))
		out->felt_ps = WEFT_NEVER;
	else if (!out->felt_ps && low)
		out->lowest = lowest;
	if (!rows)
		out->why =
			end_ps == steady_end_ps(r) ? too_late : "the next one came before a sample";
}

/* From its end until goodput is what it was before it. */
static void find_whole(const struct weft_scenario_result *r, uint64_t over_ps, double level,
	struct weft_scenario_recovery *out)
{
	const double *bytes = weft_scenario_column(r, "goodput")->values;
	uint64_t end_ps = over_ps == WEFT_NEVER ? 0 : look_end_ps(r, over_ps);

	for (uint32_t i = 0; i < r->rows && r->at_ps[i] <= end_ps; i++) {
		uint64_t begin_ps = i ? r->at_ps[i - 1] : 0;

		if (r->at_ps[i] <= over_ps)
			continue;
		out->whole_of_ps = end_ps - over_ps;
		if (rate_of(r, bytes, i) >= level) {
			out->whole_ps = begin_ps > over_ps ? begin_ps - over_ps : 0;
			return;
		}
	}
	if (out->whole_of_ps)
		out->whole_ps = WEFT_NEVER;
}

static void recover(const struct weft_scenario_result *r, struct weft_scenario_recovery *out)
{
	const struct weft_scenario_event *e = &r->events[out->event];
	uint64_t begin_ps = e->begin_ps, end_ps;

	if (r->rows < 4 || begin_ps >= steady_end_ps(r)) {
		out->why = too_late;
		return;
	}
	end_ps = look_end_ps(r, begin_ps);

	double before = rate_before(r, begin_ps, end_ps);
	double settled = settled_rate(r, e, end_ps, before);

	if (!(before > 0)) {
		out->why = "nothing to compare with: no goodput before";
		return;
	}
	out->lowest = out->before = before;
	settled = settled > 0 ? WEFT_MIN(before, settled) : before;
	find_felt(r, begin_ps, end_ps, ENOUGH * settled, out);
	find_whole(r, e->end_ps, ENOUGH * before, out);
}

void recoveries_find(struct weft_scenario_result *r)
{
	if (!r->rows || !r->n_events)
		return;
	r->recoveries = calloc(r->n_events, sizeof(*r->recoveries));
	for (uint32_t i = 0; i < r->n_events && r->recoveries; i++) {
		struct weft_scenario_recovery *v = &r->recoveries[r->n_recoveries];

		if (r->events[i].begin_ps >= r->totals.now_ps) {
			r->n_missed++;
			continue;
		}
		v->event = i;
		recover(r, v);
		r->n_recoveries++;
	}
}
