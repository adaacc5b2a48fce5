/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * picture - which columns of a result make which picture.
 */
#include "report_local.h"

#include <stdlib.h>
#include <string.h>

const struct weft_report_kind weft_report_kinds[] = {
	{ "goodput", "payload that arrives, over time, by load; beside it what arithmetic allows" },
	{ "fct", "what share of flows is done within how many times the ideal" },
	{ "queues", "the longest queue per tier, over time" },
	{ "losses", "frames lost and cut, packets sent again, over time" },
	{ "states", "how many paths of each plane are good, passed over, avoided or denied" },
	{ "paths", "what the first flow sends over each of its paths, over time" },
	{ "planes", "the longest queue, by tier and plane, over time" },
	{ "cuts", "frames cut, by tier and plane, over time" },
	{ "drops", "frames lost in switches, by tier and plane, over time" },
	{ NULL, NULL },
};

const char *weft_report_kind_usual(const struct weft_scenario_result *r)
{
	return r->n_flows >= 16 && !r->n_events ? "fct" : "goodput";
}

/* Numbers for one picture, freed with it. */
struct canvas {
	const struct weft_scenario_result *result;
	double *memory[SERIES_MAX + 4];
	unsigned n;
	double unit_ps; /* of the time axis */
	const char *x_name;
	const double *x;
};

static double *numbers(struct canvas *c, uint32_t n)
{
	WEFT_ASSERT(c->n < WEFT_COUNT(c->memory));
	double *list = calloc(n ? n : 1, sizeof(*list));

	c->memory[c->n++] = list;
	return list;
}

static bool canvas_open(struct canvas *c, const struct weft_scenario_result *r)
{
	double *x;

	*c = (struct canvas){ .result = r, .unit_ps = 1e6, .x_name = "us" };
	if (r->rows && r->at_ps[r->rows - 1] > UINT64_C(5000000000)) {
		c->unit_ps = 1e9;
		c->x_name = "ms";
	}
	x = numbers(c, r->rows);
	for (uint32_t i = 0; x && i < r->rows; i++)
		x[i] = (double)r->at_ps[i] / c->unit_ps;
	c->x = x;
	return x && r->rows;
}

static void canvas_close(struct canvas *c)
{
	for (unsigned i = 0; i < c->n; i++)
		free(c->memory[i]);
}

static void set_time(struct plot *p, const struct canvas *c)
{
	const struct weft_scenario_result *r = c->result;

	p->x_name = c->x_name;
	p->x_max = c->x[r->rows - 1];
	for (uint32_t i = 0; i < r->n_events && p->n_bands < BANDS_MAX; i++) {
		const struct weft_scenario_event *e = &r->events[i];

		if (e->begin_ps >= r->at_ps[r->rows - 1]) /* it did not happen */
			continue;
		p->bands[p->n_bands++] = (struct band){ .begin = (double)e->begin_ps / c->unit_ps,
			.end = e->end_ps == WEFT_NEVER ? p->x_max : (double)e->end_ps / c->unit_ps,
			.text = e->text };
	}
}

/* A column, each row times `scale`, or per second of simulated time. */
static bool add_column(struct plot *p, struct canvas *c, const char *column, const char *name,
	double scale, bool is_rate)
{
	const struct weft_scenario_result *r = c->result;
	const struct weft_scenario_column *from = weft_scenario_column(r, column);

	if (!from || p->n_series == SERIES_MAX)
		return true;
	double *y = numbers(c, r->rows);

	if (!y)
		return false;
	for (uint32_t i = 0; i < r->rows; i++) {
		double ps = (double)(r->at_ps[i] - (i ? r->at_ps[i - 1] : 0));

		y[i] = from->values[i] * scale * (is_rate && ps > 0 ? 1e12 / ps : 1);
	}
	p->series[p->n_series] = (struct series){
		.name = name, .x = c->x, .y = y, .n = r->rows, .colour = (uint8_t)p->n_series
	};
	p->n_series++;
	return true;
}

static bool draw_goodput(struct plot *p, struct canvas *c)
{
	const struct weft_scenario_result *r = c->result;
	bool is_large = r->line_bps >= 1e13, good = true;
	double scale = is_large ? 8e-12 : 8e-9;
	char name[48];

	p->title = "goodput";
	p->y_name = is_large ? "Tb/s of payload" : "Gb/s of payload";
	if (r->n_groups < 2)
		good = add_column(p, c, "goodput", "all flows", scale, true);
	for (uint32_t i = 0; i < r->n_groups && r->n_groups > 1 && good; i++) {
		(void)snprintf(name, sizeof(name), "goodput.%s", r->groups[i].name);
		good = add_column(p, c, name, r->groups[i].name, scale, true);
	}
	if (!p->n_series)
		good = good && add_column(p, c, "goodput", "all flows", scale, true);
	p->rules[p->n_rules++] = (struct rule){ r->line_bps * scale / 8, "all receivers' lines" };
	return good;
}

static bool draw_queues(struct plot *p, struct canvas *c)
{
	p->title = "longest queue";
	p->y_name = "KB";
	return add_column(p, c, "queue up", "T0 to T1", 1e-3, false) &&
	       add_column(p, c, "queue t1", "T1 to T0", 1e-3, false) &&
	       add_column(p, c, "queue down", "T0 to host", 1e-3, false);
}

static bool draw_losses(struct plot *p, struct canvas *c)
{
	p->title = "lost, cut, sent again";
	p->y_name = "per sample";
	p->is_log = true;
	bool good = add_column(p, c, "lost", "lost", 1, false) &&
		    add_column(p, c, "trimmed", "trimmed", 1, false) &&
		    add_column(p, c, "repeated", "sent again", 1, false);

	for (unsigned i = 0; i < p->n_series; i++)
		p->series[i].is_step = true;
	return good;
}

/* Packets per ms of one path; rows are put together, since a path sends one packet now and then. */
static const double *path_rate(
	struct canvas *c, const struct weft_scenario_column *from, uint32_t bins, uint32_t each)
{
	const struct weft_scenario_result *r = c->result;
	double *y = numbers(c, bins);

	for (uint32_t b = 0; y && b < bins; b++) {
		uint64_t begin_ps = b ? r->at_ps[b * each - 1] : 0;
		uint64_t ps = r->at_ps[(b + 1) * each - 1] - begin_ps;

		for (uint32_t i = b * each; i < (b + 1) * each; i++)
			y[b] += from->values[i] * 1e9 / (double)(ps ? ps : 1);
	}
	return y;
}

/* A row per path: 32 lines in one plot are a tangle. */
static bool draw_paths(FILE *out, struct canvas *c, bool is_standalone)
{
	const struct weft_scenario_result *r = c->result;
	uint32_t each = WEFT_MAX(r->rows / 80, 1u), bins = r->rows / each;
	struct heat h = { .title = "packets of the first flow, by path",
		.x_name = c->x_name,
		.unit = "per ms",
		.columns = bins,
		.is_good = true };
	double *x = numbers(c, bins);
	unsigned plane;

	for (uint32_t b = 0; x && b < bins; b++)
		x[b] = c->x[(b + 1) * each - 1];
	h.x = x;
	/* By plane; within a plane in the order in which the engine has them. */
	for (uint32_t i = 0; x && i < r->n_columns * r->planes && h.rows < SERIES_MAX; i++) {
		const struct weft_scenario_column *column = &r->columns[i % r->n_columns];

		if (sscanf(column->name, "ev p%u.", &plane) != 1 || plane != i / r->n_columns)
			continue;
		h.names[h.rows] = column->name + 3;
		h.values[h.rows] = path_rate(c, column, bins, each);
		if (!h.values[h.rows++])
			return false;
	}
	if (!h.rows || !bins)
		return false;
	heat_draw(out, &h, is_standalone);
	return true;
}

static const char *const plane_names[WEFT_TOPO_PLANES_MAX] = { "p0", "p1", "p2", "p3", "p4", "p5",
	"p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13", "p14", "p15" };

static bool draw_states(FILE *out, struct canvas *c, bool is_standalone)
{
	static const char *const words[] = { "good", "skip", "bad", "denied" };
	const struct weft_scenario_result *r = c->result;
	struct strips *t = calloc(1, sizeof(*t));
	struct plot *plot = calloc(1, sizeof(*plot));
	bool good = t && plot;
	char name[48];

	if (good) {
		*t = (struct strips){ .title = "states of paths, by plane",
			.x_name = c->x_name,
			.x = c->x,
			.columns = r->rows,
			.n_states = STATES_MAX,
			.states = { "good", "marked: passed over once", "assumed bad: probed",
				"denied" } };
		set_time(plot, c);
		memcpy(t->bands, plot->bands, sizeof(t->bands));
		t->n_bands = plot->n_bands;
	}
	for (uint32_t p = 0; good && p < r->planes && p < STRIPS_MAX; p++) {
		t->names[p] = plane_names[p];
		t->rows++;
		for (unsigned i = 0; i < STATES_MAX; i++) {
			(void)snprintf(name, sizeof(name), "p%u ev %s", (unsigned)p, words[i]);
			const struct weft_scenario_column *column = weft_scenario_column(r, name);

			good = good && column;
			t->values[p][i] = column ? column->values : NULL;
		}
	}
	if (good)
		strips_draw(out, t, is_standalone);
	free(plot);
	free(t);
	return good;
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

static bool draw_fct(struct plot *p, struct canvas *c)
{
	const struct weft_scenario_result *r = c->result;

	p->title = "flows done within";
	p->x_name = "times the ideal of their load; of jobs, times what a flow takes alone";
	p->y_name = "share of flows";
	p->x_min = 1;
	p->x_max = 1;
	p->y_max = 1;
	p->n_bands = 0;
	for (uint32_t g = 0; g < r->n_groups && p->n_series < 8; g++) {
		const struct weft_scenario_group *group = &r->groups[g];
		double *x = numbers(c, group->n), *y = numbers(c, group->n);
		uint32_t n = 0, all = 0; /* steps of computing are no flows */

		for (uint32_t i = 0; x && y && i < group->n; i++) {
			all += r->len_bytes[group->first + i] != 0;
			uint64_t ps = r->flow_ps[group->first + i];
			uint64_t least_ps = group->is_together ? group->ideal_ps
							       : r->alone_ps[group->first + i];

			if (ps && least_ps)
				x[n++] = (double)ps / (double)least_ps;
		}
		if (!n)
			continue;
		qsort(x, n, sizeof(*x), by_value);
		for (uint32_t i = 0; i < n; i++)
			y[i] = (double)(i + 1) / all;
		p->x_min = WEFT_MIN(p->x_min, x[0]);
		p->x_max = WEFT_MAX(p->x_max, x[n - 1]);
		p->series[p->n_series] = (struct series){ .name = group->name,
			.x = x,
			.y = y,
			.n = n,
			.colour = (uint8_t)p->n_series,
			.is_step = true };
		p->n_series++;
	}
	p->x_max += (p->x_max - p->x_min) * 0.02 + 0.001;
	return p->n_series;
}

/* Heat by tier and, within a tier, by plane; arrows are the ways of a port: up, down. */
static const struct heat_kind {
	const char *word, *title, *unit;
	struct {
		const char *column, *name;
	} tiers[WEFT_SIM_TIERS];
} heat_kinds[] = {
	{ "planes", "longest queue, by tier and plane", "bytes",
		{ { "queue up", "T0 \xe2\x86\x91" }, { "queue t1", "T1 \xe2\x86\x93" },
			{ "queue down", "T0 \xe2\x86\x93" } } },
	{ "cuts", "frames cut, by tier and plane", "frames",
		{ { "trimmed t0", "T0" }, { "trimmed t1", "T1" } } },
	{ "drops", "frames lost in switches, by tier and plane", "frames",
		{ { "dropped t0", "T0" }, { "dropped t1", "T1" } } },
};

static bool draw_heat(FILE *out, struct canvas *c, const char *kind, bool is_standalone)
{
	const struct weft_scenario_result *r = c->result;
	const struct heat_kind *k = heat_kinds;
	struct heat h = { .x_name = c->x_name, .x = c->x, .columns = r->rows };
	char name[48], names[WEFT_COUNT(h.names)][16];

	while (strcmp(kind, k->word) != 0)
		k++;
	h.title = k->title;
	h.unit = k->unit;
	for (uint32_t i = 0; i < r->planes * WEFT_SIM_TIERS; i++) {
		unsigned tier = i / r->planes, p = i % r->planes;

		if (!k->tiers[tier].column || h.rows == WEFT_COUNT(h.names))
			continue;
		(void)snprintf(name, sizeof(name), "p%u %s", p, k->tiers[tier].column);
		const struct weft_scenario_column *column = weft_scenario_column(r, name);

		if (!column)
			return false;
		(void)snprintf(names[h.rows], sizeof(names[0]), "%s p%u", k->tiers[tier].name, p);
		h.names[h.rows] = names[h.rows];
		h.values[h.rows++] = column->values;
	}
	if (!h.rows)
		return false;
	heat_draw(out, &h, is_standalone);
	return true;
}

bool weft_report_picture(
	FILE *out, const char *kind, const struct weft_scenario_result *r, bool is_standalone)
{
	static const struct {
		const char *word;
		bool (*draw)(struct plot *plot, struct canvas *canvas);
	} kinds[] = { { "goodput", draw_goodput }, { "fct", draw_fct }, { "queues", draw_queues },
		{ "losses", draw_losses } };
	struct plot *plot = calloc(1, sizeof(*plot));
	struct canvas c = { 0 };
	bool good = plot && canvas_open(&c, r), drawn = false;

	if (good && (!strcmp(kind, "planes") || !strcmp(kind, "cuts") || !strcmp(kind, "drops")))
		drawn = draw_heat(out, &c, kind, is_standalone);
	else if (good && !strcmp(kind, "states"))
		drawn = draw_states(out, &c, is_standalone);
	else if (good && !strcmp(kind, "paths"))
		drawn = draw_paths(out, &c, is_standalone);
	for (unsigned i = 0; i < WEFT_COUNT(kinds) && good && !drawn; i++) {
		if (strcmp(kind, kinds[i].word))
			continue;
		set_time(plot, &c);
		good = kinds[i].draw(plot, &c) && plot->n_series;
		if (good)
			plot_draw(out, plot, is_standalone);
		drawn = good;
	}
	canvas_close(&c);
	free(plot);
	return drawn;
}
