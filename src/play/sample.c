/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sample - how it went over time.
 *
 * Nobody knows beforehand how long a run will last, so sampling starts fine; when the table is
 * full, two rows become one and the step doubles.  What is looked at between two steps is the same
 * for any number of threads, and so are the samples.
 */
#include "local.h"

#include <stdlib.h>
#include <string.h>

enum {
	GROUPS_MAX = 8,
	EVS_MAX = 32,
	COLUMNS_MAX = 32 + GROUPS_MAX + 8 * WEFT_TOPO_PLANES_MAX + EVS_MAX,
	PATHS_MAX = 300000, /* looked at for each row; with more their states are left out */
};

static bool column(struct sampler *s, enum weft_play_how how, const char *unit, const char *name)
{
	struct weft_play_column *c = &s->result->columns[s->result->n_columns++];

	WEFT_ASSERT(s->result->n_columns <= COLUMNS_MAX);
	c->how = how;
	(void)snprintf(c->name, sizeof(c->name), "%s", name);
	(void)snprintf(c->unit, sizeof(c->unit), "%s", unit);
	c->values = calloc(s->room, sizeof(*c->values));
	return c->values;
}

static bool name_columns(struct sampler *s)
{
	struct weft_play_result *r = s->result;
	char name[64];
	bool good = column(s, WEFT_PLAY_SUM, "bytes", "goodput") &&
		    column(s, WEFT_PLAY_SUM, "frames", "lost") &&
		    column(s, WEFT_PLAY_SUM, "frames", "trimmed") &&
		    column(s, WEFT_PLAY_SUM, "frames", "marked") &&
		    column(s, WEFT_PLAY_SUM, "packets", "repeated") &&
		    column(s, WEFT_PLAY_SUM, "paths", "retired") &&
		    column(s, WEFT_PLAY_SUM, "paths", "revived") &&
		    column(s, WEFT_PLAY_LAST, "flows", "flows done") &&
		    column(s, WEFT_PLAY_MAX, "bytes", "queue up") &&
		    column(s, WEFT_PLAY_MAX, "bytes", "queue t1") &&
		    column(s, WEFT_PLAY_MAX, "bytes", "queue down");

	for (uint32_t g = 0; g < r->n_groups && r->n_groups <= GROUPS_MAX && good; g++) {
		(void)snprintf(name, sizeof(name), "goodput.%s", r->groups[g].name);
		good = column(s, WEFT_PLAY_SUM, "bytes", name);
	}
	for (uint32_t p = 0; p < r->planes && good; p++) {
		(void)snprintf(name, sizeof(name), "p%u waiting", (unsigned)p);
		good = column(s, WEFT_PLAY_MAX, "bytes", name);
		(void)snprintf(name, sizeof(name), "p%u trimmed", (unsigned)p);
		good = good && column(s, WEFT_PLAY_SUM, "frames", name);
		(void)snprintf(name, sizeof(name), "p%u dropped", (unsigned)p);
		good = good && column(s, WEFT_PLAY_SUM, "frames", name);
	}
	return good;
}

static const char *const path_states[WEFT_SIM_PATH_STATES] = { "good", "skip", "bad", "denied" };

/* How many paths are in which state, by plane. */
static bool name_states(struct sampler *s)
{
	uint64_t states[WEFT_TOPO_PLANES_MAX][WEFT_SIM_PATH_STATES], n;
	char name[64];

	n = weft_sim_paths(s->sim, states);
	s->has_states = n && n <= PATHS_MAX;
	for (uint32_t i = 0; s->has_states && i < s->result->planes * WEFT_SIM_PATH_STATES; i++) {
		(void)snprintf(name, sizeof(name), "p%u ev %s",
			(unsigned)(i / WEFT_SIM_PATH_STATES),
			path_states[i % WEFT_SIM_PATH_STATES]);
		if (!column(s, WEFT_PLAY_LAST, "paths", name))
			return false;
	}
	return true;
}

/* The paths of the first flow, if a picture can show them. */
static bool name_paths(struct sampler *s)
{
	struct weft_path_info info;
	char name[64];
	uint32_t n = 0;

	while (s->result->n_flows && n <= EVS_MAX && weft_sim_flow_path(s->sim, 0, n, &info))
		n++;
	for (uint32_t i = 0; i < n && n <= EVS_MAX; i++) {
		(void)weft_sim_flow_path(s->sim, 0, i, &info);
		(void)snprintf(name, sizeof(name), "ev p%u.%u", (unsigned)(info.ev >> 16),
			(unsigned)(info.ev & 0xffff));
		if (!column(s, WEFT_PLAY_SUM, "packets", name))
			return false;
	}
	return true;
}

/* Who receives what a load sends. */
static bool find_receivers(struct sampler *s)
{
	const struct weft_play_result *r = s->result;

	s->has = calloc(GROUPS_MAX, sizeof(*s->has));
	for (uint32_t g = 0; g < r->n_groups && r->n_groups <= GROUPS_MAX && s->has; g++) {
		const struct weft_play_group *group = &r->groups[g];

		s->has[g] = calloc(r->hosts, 1);
		if (!s->has[g])
			return false;
		for (uint32_t i = group->first; i < group->first + group->n; i++)
			s->has[g][s->flows[i].dst] |= s->flows[i].len_bytes != 0;
	}
	return s->has;
}

bool sample_open(struct sampler *s, struct weft_play_result *result, const struct weft_sim *sim,
	const struct weft_sim_flow flows[], uint64_t step_ps, uint32_t rows_max, bool is_fixed)
{
	*s = (struct sampler){ .result = result,
		.sim = sim,
		.flows = flows,
		.rows_max = rows_max,
		.room = rows_max + 2,
		.step_ps = step_ps,
		.next_ps = step_ps,
		.is_fixed = is_fixed,
		.is_small = result->hosts <= 16384 };
	result->columns = calloc(COLUMNS_MAX, sizeof(*result->columns));
	result->at_ps = calloc(s->room, sizeof(*result->at_ps));
	s->last = calloc(COLUMNS_MAX, sizeof(*s->last));
	return result->columns && result->at_ps && s->last && find_receivers(s) &&
	       name_columns(s) && name_states(s) && name_paths(s);
}

/* ---- one look ---- */

static double sum_queues(const struct sampler *s, uint32_t plane, double longest[WEFT_SIM_TIERS])
{
	struct weft_sim_tier tiers[WEFT_SIM_TIERS];
	double waiting = 0;

	weft_sim_queues(s->sim, plane, tiers);
	for (unsigned i = 0; i < WEFT_SIM_TIERS; i++) {
		longest[i] = WEFT_MAX(longest[i], (double)tiers[i].waiting_max_bytes);
		waiting += (double)tiers[i].waiting_bytes;
	}
	return waiting;
}

/* What a host gets of other loads counts as well: see docs/scenarios.md. */
static double group_bytes(const struct sampler *s, uint32_t group)
{
	uint64_t bytes = 0;

	for (uint32_t host = 0; host < s->result->hosts; host++) {
		if (s->has[group][host])
			bytes += weft_sim_host_counters(s->sim, host)->rx_data_bytes;
	}
	weft_sim_sum(s->sim, &bytes, 1);
	return (double)bytes;
}

/* Fills now[] in the order of name_columns(), name_states() and name_paths(). */
static uint32_t look(const struct sampler *s, double now[])
{
	const struct weft_play_result *r = s->result;
	double longest[WEFT_SIM_TIERS] = { 0 };
	struct weft_sim_totals totals;
	struct weft_counters sum;
	struct weft_path_info info;
	uint32_t n = 11;

	weft_sim_totals(s->sim, &totals);
	weft_sim_counters(s->sim, &sum);
	for (uint32_t g = 0; g < r->n_groups && r->n_groups <= GROUPS_MAX; g++)
		now[n++] = group_bytes(s, g);
	for (uint32_t p = 0; p < r->planes; p++) {
		struct weft_sim_plane plane;

		weft_sim_plane(s->sim, p, &plane);
		now[n++] = sum_queues(s, p, longest);
		now[n++] = (double)(plane.trimmed[0] + plane.trimmed[1]);
		now[n++] = (double)(plane.dropped[0] + plane.dropped[1]);
	}
	if (s->has_states) {
		uint64_t states[WEFT_TOPO_PLANES_MAX][WEFT_SIM_PATH_STATES];

		(void)weft_sim_paths(s->sim, states);
		for (uint32_t i = 0; i < r->planes * WEFT_SIM_PATH_STATES; i++)
			now[n++] =
				(double)states[i / WEFT_SIM_PATH_STATES][i % WEFT_SIM_PATH_STATES];
	}
	for (uint32_t i = 0; n < r->n_columns && weft_sim_flow_path(s->sim, 0, i, &info); i++)
		now[n++] = info.sent;
	double head[] = { (double)sum.rx_data_bytes, (double)totals.lost, (double)totals.trimmed,
		(double)totals.marked, (double)sum.tx_rtx_pkts, (double)sum.paths_retired,
		(double)sum.paths_revived, totals.flows_done, longest[0], longest[1], longest[2] };

	memcpy(now, head, sizeof(head));
	return n;
}

/* Two rows become one. */
static void halve(struct sampler *s)
{
	struct weft_play_result *r = s->result;
	uint32_t rows = r->rows / 2;

	for (uint32_t i = 0; i < rows; i++)
		r->at_ps[i] = r->at_ps[2 * i + 1];
	for (uint32_t k = 0; k < r->n_columns; k++) {
		struct weft_play_column *c = &r->columns[k];

		for (uint32_t i = 0; i < rows; i++) {
			double a = c->values[2 * i], b = c->values[2 * i + 1];

			c->values[i] = c->how == WEFT_PLAY_SUM   ? a + b
				       : c->how == WEFT_PLAY_MAX ? WEFT_MAX(a, b)
								 : b;
		}
	}
	r->rows = rows;
	s->step_ps *= 2;
}

void sample_take(struct sampler *s, uint64_t now_ps)
{
	struct weft_play_result *r = s->result;
	double now[COLUMNS_MAX] = { 0 };
	uint32_t n;

	s->next_ps = now_ps + s->step_ps;
	if (r->rows && now_ps <= r->at_ps[r->rows - 1])
		return;
	n = look(s, now);
	WEFT_ASSERT(n == r->n_columns && r->rows < s->room);
	for (uint32_t k = 0; k < n; k++) {
		struct weft_play_column *c = &r->columns[k];

		c->values[r->rows] = c->how == WEFT_PLAY_SUM ? now[k] - s->last[k] : now[k];
		s->last[k] = now[k];
	}
	r->at_ps[r->rows++] = now_ps;
	if (r->rows >= s->rows_max && r->rows % 2 == 0) {
		halve(s);
		s->next_ps = now_ps + s->step_ps;
	}
}

void sample_close(struct sampler *s)
{
	for (unsigned g = 0; g < GROUPS_MAX && s->has; g++)
		free(s->has[g]);
	free(s->has);
	free(s->last);
	s->has = NULL;
	s->last = NULL;
}

/* ---- recovery ---- */

/* Bytes per second over [from, to), by rows; 0 where there is none. */
static double mean_rate(const struct weft_play_result *r, uint64_t from_ps, uint64_t to_ps)
{
	const double *bytes = weft_play_column(r, "goodput")->values;
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

/* Until a tenth of the flows are done: goodput falls as they end, which no fault has done. */
static uint64_t steady_end_ps(const struct weft_play_result *r)
{
	const double *done = weft_play_column(r, "flows done")->values;
	uint32_t row = 0;

	while (row + 1 < r->rows && done[row + 1] * 10 <= r->n_flows)
		row++;
	return r->at_ps[row];
}

/*
 * From the event until goodput, once it has fallen, is again 95 % of what it was before, or of what
 * it settles at if that is less: its mean over the second half of the event, as long as something
 * comes through then, or else of the time to the next event.  Nothing to say where too few rows are
 * left.
 */
static bool recover(
	const struct weft_play_result *r, uint32_t event, struct weft_play_recovery *out)
{
	uint64_t begin_ps = r->events[event].begin_ps, end_ps = steady_end_ps(r);
	uint64_t over_ps = r->events[event].end_ps;
	const double *bytes = weft_play_column(r, "goodput")->values;

	for (uint32_t i = 0; i < r->n_events; i++) {
		if (r->events[i].begin_ps > begin_ps)
			end_ps = WEFT_MIN(end_ps, r->events[i].begin_ps);
	}
	if (begin_ps >= end_ps)
		return false;
	uint64_t span_ps = end_ps - begin_ps;
	double before = mean_rate(r, begin_ps > span_ps ? begin_ps - span_ps : 0, begin_ps);
	double settled = mean_rate(r, begin_ps + span_ps / 2, end_ps);

	if (over_ps < end_ps) {
		double during = mean_rate(r, begin_ps + (over_ps - begin_ps) / 2, over_ps);

		settled = during > before / 4 ? during : settled;
	}
	double level = 0.95 * WEFT_MIN(before, settled);
	bool is_low = false, fell = false;

	if (!(level > 0))
		return false;
	*out = (struct weft_play_recovery){ .event = event, .lowest = before, .before = before };
	for (uint32_t i = 1; i < r->rows; i++) {
		uint64_t span = r->at_ps[i] - r->at_ps[i - 1];
		double rate = bytes[i] * 1e12 / (double)span;

		if (r->at_ps[i] <= begin_ps || r->at_ps[i] > end_ps)
			continue;
		out->lowest = WEFT_MIN(out->lowest, rate);
		if (rate < level) {
			fell = true;
			is_low = true;
		} else if (is_low) {
			is_low = false;
			out->ps = out->ps ? out->ps : r->at_ps[i - 1] - begin_ps;
		}
	}
	if (fell && !out->ps)
		out->ps = WEFT_NEVER;
	return true;
}

void weft_play_recoveries_find(struct weft_play_result *r)
{
	if (r->rows < 4 || !r->n_events)
		return;
	r->recoveries = calloc(r->n_events, sizeof(*r->recoveries));
	for (uint32_t i = 0; i < r->n_events && r->recoveries; i++)
		r->n_recoveries += recover(r, i, &r->recoveries[r->n_recoveries]);
}
