/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * script - what happens in a run of a scenario under one seed, and the sheet for what came of it.
 *
 * The simulator and a live lab get the same list of flows and the same list of moments at which
 * something breaks, and fill in the same sheet, so that a claim is judged by the same code.
 */
#include "scenario_local.h"

#include <stdlib.h>
#include <string.h>

/* Two loads of one name would be one to claims. */
static void name_apart(struct weft_scenario_group *groups, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		unsigned copies = 1;

		for (uint32_t k = 0; k < i; k++)
			copies += !strcmp(groups[k].name, groups[i].name);
		if (copies > 1)
			(void)snprintf(
				groups[i].name, sizeof(groups[i].name), "load%u", (unsigned)i + 1);
	}
}

bool flows_make(const struct weft_scenario *play, uint64_t seed, struct weft_workload *all,
	struct weft_scenario_group **groups, char *error, size_t error_bytes)
{
	char why[256] = "out of memory";
	bool good = true;

	*all = (struct weft_workload){ 0 };
	*groups = calloc(play->head.n_loads, sizeof(**groups));
	for (uint32_t i = 0; i < play->head.n_loads && *groups && good; i++) {
		const struct traffic *load = &play->loads[i];
		struct weft_scenario_group *group = &(*groups)[i];

		group->first = all->n;
		group->line = load->line;
		good = traffic_add(
			play->topo, load, seed + i, all, &group->ideal_ps, why, sizeof(why));
		if (!good)
			break;
		group->n = all->n - group->first;
		group->start_ps = first_start_ps(all->flows + group->first, group->n);
		(void)snprintf(group->name, sizeof(group->name), "%s", load->name);
		group->line_bps = traffic_line_bps(play->topo, all->flows + group->first, group->n);
		group->is_together = load->is_together;
	}
	if (good && *groups) {
		name_apart(*groups, play->head.n_loads);
		return true;
	}
	(void)snprintf(error, error_bytes, "%s: %s", play->head.file, why);
	weft_workload_close(all);
	free(*groups);
	*groups = NULL;
	return false;
}

bool weft_scenario_script_open(struct weft_scenario_script *script,
	const struct weft_scenario *play, uint64_t seed, char *error, size_t error_bytes)
{
	struct weft_workload load;

	*script = (struct weft_scenario_script){ .config = &play->config };
	if (!flows_make(play, seed, &load, &script->groups, error, error_bytes))
		return false;
	script->flows = load.flows;
	script->n_flows = load.n;
	script->edges = load.edges;
	script->n_edges = load.n_edges;
	script->n_groups = play->head.n_loads;
	load.flows = NULL;
	load.edges = NULL;
	weft_workload_close(&load);
	script->firsts = calloc(play->head.n_faults + 1u, sizeof(*script->firsts));
	if (!script->firsts) {
		(void)snprintf(error, error_bytes, "%s: out of memory", play->head.file);
		weft_scenario_script_close(script);
		return false;
	}
	for (uint32_t i = 0; i < play->head.n_faults; i++) {
		if (wish_expand(&script->faults, play->topo, &play->faults[i], play->head.stop_ps,
			    seed)) {
			/* Of a random process: when it begins, whatever is drawn. */
			script->firsts[script->n_firsts++] =
				(struct weft_scenario_first){ .at_ps = play->faults[i].at_ps,
					.line = play->faults[i].line };
			continue;
		}
		(void)snprintf(error, error_bytes,
			"%s:%u: faults: it would come more than a "
			"million times",
			play->head.file, (unsigned)play->faults[i].line);
		weft_scenario_script_close(script);
		return false;
	}
	return true;
}

void weft_scenario_script_close(struct weft_scenario_script *script)
{
	free(script->flows);
	free(script->edges);
	free(script->groups);
	free(script->firsts);
	weft_scenario_faults_free(&script->faults);
	*script = (struct weft_scenario_script){ 0 };
}

/* When all can be over: each load from its start, and all of them together. */
static uint64_t ideal_of(const struct weft_topo *topo, const struct weft_scenario_script *script)
{
	uint64_t all_ps = first_start_ps(script->flows, script->n_flows) +
			  weft_sim_ideal_ps(topo, script->flows, script->n_flows);

	for (uint32_t i = 0; i < script->n_groups; i++) {
		const struct weft_scenario_group *g = &script->groups[i];

		all_ps = WEFT_MAX(all_ps, g->start_ps + g->ideal_ps);
	}
	return all_ps;
}

static void describe(struct weft_scenario_result *r, const struct weft_scenario *play,
	const struct weft_scenario_script *script)
{
	const struct weft_topo_shape *s = weft_topo_shape(play->topo);

	(void)snprintf(r->name, sizeof(r->name), "%s", play->head.name);
	(void)snprintf(r->title, sizeof(r->title), "%s", play->head.title);
	(void)snprintf(r->file, sizeof(r->file), "%s", play->head.file);
	(void)snprintf(r->fabric, sizeof(r->fabric), "%s", s->name);
	(void)snprintf(r->transport, sizeof(r->transport), "%s",
		weft_baseline_name(play->config.baseline.kind));
	r->stop_ps = play->head.stop_ps;
	r->hosts = s->hosts;
	r->planes = s->planes;
	r->host_bps = s->host_bps;
	r->paths = play->config.paths;
	r->begin_ps = first_start_ps(script->flows, script->n_flows);
	r->ideal_ps = ideal_of(play->topo, script);
	r->line_bps = traffic_line_bps(play->topo, script->flows, script->n_flows);
	r->rtt_ps = UINT64_C(1000) * s->base_rtt_ns;
}

static bool make_columns(struct weft_scenario_result *r,
	const struct weft_scenario_column columns[], uint32_t rows_max)
{
	uint32_t n = 0;

	while (*columns[n].name)
		n++;
	r->columns = calloc(n, sizeof(*r->columns));
	r->at_ps = calloc(rows_max, sizeof(*r->at_ps));
	for (; r->columns && r->n_columns < n; r->n_columns++) {
		struct weft_scenario_column *c = &r->columns[r->n_columns];

		*c = columns[r->n_columns];
		c->values = calloc(rows_max, sizeof(*c->values));
		if (!c->values)
			return false;
	}
	return r->columns && r->at_ps;
}

struct weft_scenario_result *weft_scenario_result_new(const struct weft_scenario *play,
	const struct weft_scenario_script *script, uint64_t seed,
	const struct weft_scenario_column columns[], uint32_t rows_max)
{
	struct weft_scenario_result *r = calloc(1, sizeof(*r));
	uint32_t n = script->n_flows;

	if (!r)
		return NULL;
	r->seed = seed;
	r->threads = 1;
	r->n_flows = n;
	r->flow_ps = calloc(n, sizeof(*r->flow_ps));
	r->end_ps = calloc(n, sizeof(*r->end_ps));
	r->alone_ps = calloc(n, sizeof(*r->alone_ps));
	r->start_ps = calloc(n, sizeof(*r->start_ps));
	r->len_bytes = calloc(n, sizeof(*r->len_bytes));
	r->groups = calloc(script->n_groups, sizeof(*r->groups));
	r->events = calloc(script->faults.n_events + 1, sizeof(*r->events));
	if (!r->flow_ps || !r->end_ps || !r->alone_ps || !r->start_ps || !r->len_bytes ||
		!r->groups || !r->events || (columns && !make_columns(r, columns, rows_max))) {
		weft_scenario_result_free(r);
		return NULL;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct weft_sim_flow *f = &script->flows[i];
		uint64_t arrived_ps;

		r->start_ps[i] = f->start_ps;
		r->len_bytes[i] = f->len_bytes;
		if (f->len_bytes && f->repeats <= 1)
			r->alone_ps[i] = weft_sim_alone_ps(play->topo, f, &arrived_ps);
	}
	r->n_groups = script->n_groups;
	memcpy(r->groups, script->groups, r->n_groups * sizeof(*r->groups));
	r->n_events = script->faults.n_events;
	if (r->n_events)
		memcpy(r->events, script->faults.events, r->n_events * sizeof(*r->events));
	describe(r, play, script);
	return r;
}

void weft_scenario_result_free(struct weft_scenario_result *result)
{
	if (!result)
		return;
	for (uint32_t i = 0; i < result->n_columns; i++)
		free(result->columns[i].values);
	for (uint32_t i = 0; i < result->n_groups && result->groups; i++)
		free(result->groups[i].steps_ps);
	free(result->columns);
	free(result->at_ps);
	free(result->flow_ps);
	free(result->end_ps);
	free(result->alone_ps);
	free(result->start_ps);
	free(result->len_bytes);
	free(result->groups);
	free(result->events);
	free(result->recoveries);
	free(result);
}
