/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sample - how it went over time.
 *
 * Nobody knows beforehand how long a run will last, so sampling starts fine; when the table is
 * full, two rows become one and the step doubles.  What is looked at between two steps is the same
 * for any number of threads, and so are the samples.
 */
#include "scenario_local.h"

#include <stdlib.h>
#include <string.h>

enum {
	GROUPS_FIRST = 12, /* column */
	GROUPS_MAX = 8,
	EVS_MAX = 32,
	COLUMNS_MAX = 32 + GROUPS_MAX + 16 * WEFT_TOPO_PLANES_MAX + EVS_MAX,
	PATHS_MAX = 300000, /* looked at for each row; with more their states are left out */
};

static bool column(
	struct sampler *s, enum weft_scenario_how how, const char *unit, const char *name)
{
	struct weft_scenario_column *c = &s->result->columns[s->result->n_columns++];

	WEFT_ASSERT(s->result->n_columns <= COLUMNS_MAX);
	c->how = how;
	(void)snprintf(c->name, sizeof(c->name), "%s", name);
	(void)snprintf(c->unit, sizeof(c->unit), "%s", unit);
	c->values = calloc(s->room, sizeof(*c->values));
	return c->values;
}

/* Of each plane what waits, is cut and is lost; and the same by tier: heat is drawn of it. */
static const struct {
	const char *name, *unit;
	enum weft_scenario_how how;
} of_plane[] = {
	{ "waiting", "bytes", WEFT_SCENARIO_MAX },
	{ "trimmed", "frames", WEFT_SCENARIO_SUM },
	{ "dropped", "frames", WEFT_SCENARIO_SUM },
	{ "queue up", "bytes", WEFT_SCENARIO_MAX },
	{ "queue t1", "bytes", WEFT_SCENARIO_MAX },
	{ "queue down", "bytes", WEFT_SCENARIO_MAX },
	{ "trimmed t0", "frames", WEFT_SCENARIO_SUM },
	{ "trimmed t1", "frames", WEFT_SCENARIO_SUM },
	{ "dropped t0", "frames", WEFT_SCENARIO_SUM },
	{ "dropped t1", "frames", WEFT_SCENARIO_SUM },
};

static bool name_columns(struct sampler *s)
{
	struct weft_scenario_result *r = s->result;
	char name[64];
	bool good = column(s, WEFT_SCENARIO_SUM, "bytes", "goodput") &&
		    column(s, WEFT_SCENARIO_SUM, "frames", "lost") &&
		    column(s, WEFT_SCENARIO_SUM, "frames", "trimmed") &&
		    column(s, WEFT_SCENARIO_SUM, "frames", "marked") &&
		    column(s, WEFT_SCENARIO_SUM, "frames", "pauses") &&
		    column(s, WEFT_SCENARIO_SUM, "packets", "repeated") &&
		    column(s, WEFT_SCENARIO_SUM, "paths", "retired") &&
		    column(s, WEFT_SCENARIO_SUM, "paths", "revived") &&
		    column(s, WEFT_SCENARIO_LAST, "flows", "flows done") &&
		    column(s, WEFT_SCENARIO_MAX, "bytes", "queue up") &&
		    column(s, WEFT_SCENARIO_MAX, "bytes", "queue t1") &&
		    column(s, WEFT_SCENARIO_MAX, "bytes", "queue down");

	for (uint32_t g = 0; g < r->n_groups && r->n_groups <= GROUPS_MAX && good; g++) {
		(void)snprintf(name, sizeof(name), "goodput.%s", r->groups[g].name);
		good = column(s, WEFT_SCENARIO_SUM, "bytes", name);
	}
	for (uint32_t i = 0; i < r->planes * WEFT_COUNT(of_plane) && good; i++) {
		unsigned p = i / WEFT_COUNT(of_plane), k = i % WEFT_COUNT(of_plane);

		(void)snprintf(name, sizeof(name), "p%u %s", p, of_plane[k].name);
		good = column(s, of_plane[k].how, of_plane[k].unit, name);
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
		if (!column(s, WEFT_SCENARIO_LAST, "paths", name))
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
		if (!column(s, WEFT_SCENARIO_SUM, "packets", name))
			return false;
	}
	return true;
}

bool sample_open(struct sampler *s, struct weft_scenario_result *result, const struct weft_sim *sim,
	uint64_t step_ps, uint32_t rows_max, bool is_fixed)
{
	*s = (struct sampler){ .result = result,
		.sim = sim,
		.rows_max = rows_max,
		.room = rows_max + 2,
		.step_ps = step_ps,
		.next_ps = step_ps,
		.is_fixed = is_fixed };
	result->columns = calloc(COLUMNS_MAX, sizeof(*result->columns));
	result->at_ps = calloc(s->room, sizeof(*result->at_ps));
	s->last = calloc(COLUMNS_MAX, sizeof(*s->last));
	return result->columns && result->at_ps && s->last && name_columns(s) && name_states(s) &&
	       name_paths(s);
}

/* ---- one look ---- */

/* One plane, in the order of of_plane[]. */
static void look_at_plane(const struct sampler *s, uint32_t plane, double longest[WEFT_SIM_TIERS],
	double now[static WEFT_COUNT(of_plane)])
{
	struct weft_sim_tier tiers[WEFT_SIM_TIERS];
	struct weft_sim_plane counts;

	weft_sim_plane(s->sim, plane, &counts);
	weft_sim_queues(s->sim, plane, tiers);
	now[0] = 0;
	now[1] = (double)(counts.trimmed[0] + counts.trimmed[1]);
	now[2] = (double)(counts.dropped[0] + counts.dropped[1]);
	for (unsigned i = 0; i < WEFT_SIM_TIERS; i++) {
		longest[i] = WEFT_MAX(longest[i], (double)tiers[i].waiting_max_bytes);
		now[0] += (double)tiers[i].waiting_bytes;
		now[3 + i] = (double)tiers[i].waiting_max_bytes;
	}
	for (unsigned i = 0; i < 2; i++) {
		now[6 + i] = (double)counts.trimmed[i];
		now[8 + i] = (double)counts.dropped[i];
	}
}

/* What has come of each load, which is a job.  Shares may be off by a byte, and never shrink. */
static void look_at_groups(const struct sampler *s, double now[])
{
	const struct weft_scenario_result *r = s->result;
	uint64_t bytes[GROUPS_MAX];

	weft_sim_jobs(s->sim, bytes, r->n_groups);
	for (uint32_t g = 0; g < r->n_groups; g++)
		now[g] = WEFT_MAX((double)bytes[g], s->last[GROUPS_FIRST + g]);
}

/* Fills now[] in the order of name_columns(), name_states() and name_paths(). */
static uint32_t look(const struct sampler *s, double now[])
{
	const struct weft_scenario_result *r = s->result;
	double longest[WEFT_SIM_TIERS] = { 0 };
	struct weft_sim_totals totals;
	struct weft_counters sum;
	struct weft_path_info info;
	uint32_t n = GROUPS_FIRST;

	weft_sim_totals(s->sim, &totals);
	weft_sim_counters(s->sim, &sum);
	if (r->n_groups <= GROUPS_MAX) {
		look_at_groups(s, now + n);
		n += r->n_groups;
	}
	for (uint32_t p = 0; p < r->planes; p++, n += WEFT_COUNT(of_plane))
		look_at_plane(s, p, longest, now + n);
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
		(double)totals.marked, (double)totals.pauses, (double)sum.tx_rtx_pkts,
		(double)sum.paths_retired, (double)sum.paths_revived, totals.flows_done, longest[0],
		longest[1], longest[2] };

	memcpy(now, head, sizeof(head));
	return n;
}

/* Two rows become one. */
static void halve(struct sampler *s)
{
	struct weft_scenario_result *r = s->result;
	uint32_t rows = r->rows / 2;

	for (uint32_t i = 0; i < rows; i++)
		r->at_ps[i] = r->at_ps[2 * i + 1];
	for (uint32_t k = 0; k < r->n_columns; k++) {
		struct weft_scenario_column *c = &r->columns[k];

		for (uint32_t i = 0; i < rows; i++) {
			double a = c->values[2 * i], b = c->values[2 * i + 1];

			c->values[i] = c->how == WEFT_SCENARIO_SUM   ? a + b
				       : c->how == WEFT_SCENARIO_MAX ? WEFT_MAX(a, b)
								 : b;
		}
	}
	r->rows = rows;
	s->step_ps *= 2;
}

void sample_take(struct sampler *s, uint64_t now_ps)
{
	struct weft_scenario_result *r = s->result;
	double now[COLUMNS_MAX] = { 0 };
	uint32_t n;

	s->next_ps = now_ps + s->step_ps;
	if (r->rows && now_ps <= r->at_ps[r->rows - 1])
		return;
	n = look(s, now);
	WEFT_ASSERT(n == r->n_columns && r->rows < s->room);
	for (uint32_t k = 0; k < n; k++) {
		struct weft_scenario_column *c = &r->columns[k];

		c->values[r->rows] = c->how == WEFT_SCENARIO_SUM ? now[k] - s->last[k] : now[k];
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
	free(s->last);
	s->last = NULL;
}
