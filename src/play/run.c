/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run - one scenario, one seed: made, run in steps, read out.
 */
#include "local.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 400, ROWS_LARGE = 64, LARGE_HOSTS = 16384 };

/* Of real time, for what a run cost; nothing that is measured depends on it. */
static double real_s(const struct weft_play_options *options)
{
	return options->now_ns ? (double)options->now_ns(NULL) / 1e9 : 0;
}

/* Two loads of one name would be one to claims. */
static void name_apart(struct weft_play_group *groups, uint32_t n)
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

bool flows_make(const struct weft_play *play, uint64_t seed, struct weft_load *all,
	struct weft_play_group **groups, char *error, size_t error_bytes)
{
	char why[256] = "out of memory";
	bool good = true;

	*all = (struct weft_load){ 0 };
	*groups = calloc(play->head.n_loads, sizeof(**groups));
	for (uint32_t i = 0; i < play->head.n_loads && *groups && good; i++) {
		const struct traffic *load = &play->loads[i];
		struct weft_play_group *group = &(*groups)[i];

		group->first = all->n;
		good = traffic_add(
			play->topo, load, seed + i, all, &group->ideal_ps, why, sizeof(why));
		if (!good)
			break;
		group->n = all->n - group->first;
		(void)snprintf(group->name, sizeof(group->name), "%s", load->name);
		group->line_bps = traffic_line_bps(play->topo, all->flows + group->first, group->n);
	}
	if (good && *groups) {
		name_apart(*groups, play->head.n_loads);
		return true;
	}
	(void)snprintf(error, error_bytes, "%s: %s", play->head.file, why);
	weft_load_close(all);
	free(*groups);
	*groups = NULL;
	return false;
}

bool weft_play_estimate(const struct weft_play *play, uint64_t seed, struct weft_sim_memory *memory,
	char *error, size_t error_bytes)
{
	struct weft_sim_config config = play->config;
	struct weft_play_group *groups;
	struct weft_load all;
	char why[256];

	if (!flows_make(play, seed, &all, &groups, error, error_bytes))
		return false;
	config.seed = seed;
	config.edges = all.edges;
	config.n_edges = all.n_edges;
	bool good = !weft_sim_estimate(&config, all.flows, all.n, memory, why, sizeof(why));

	if (!good)
		(void)snprintf(error, error_bytes, "%s: %s", play->head.file, why);
	weft_load_close(&all);
	free(groups);
	return good;
}

/* ---- a run ---- */

struct job {
	const struct weft_play *play;
	const struct weft_play_options *options;
	struct weft_sim_config config;
	struct weft_play_result *result;
	struct weft_load load;
	struct weft_play_faults faults;
	struct weft_sim *sim;
	bool is_stopped;
};

static bool watch(void *arg, const struct weft_sim_totals *so_far)
{
	struct job *job = arg;

	if (job->options->watch && !job->options->watch(job->options->watch_arg, so_far))
		job->is_stopped = true;
	return !job->is_stopped;
}

/* What the whole is bound by: each load from its start, and all of them together. */
static uint64_t ideal_of(const struct job *job)
{
	const struct weft_play_result *r = job->result;
	uint64_t all_ps = weft_sim_ideal_ps(job->play->topo, job->load.flows, r->n_flows);

	for (uint32_t i = 0; i < r->n_groups; i++)
		all_ps = WEFT_MAX(all_ps, r->groups[i].ideal_ps);
	return all_ps;
}

static void describe(struct job *job)
{
	const struct weft_play *play = job->play;
	const struct weft_topo_shape *s = weft_topo_shape(play->topo);
	struct weft_play_result *r = job->result;

	(void)snprintf(r->name, sizeof(r->name), "%s", play->head.name);
	(void)snprintf(r->title, sizeof(r->title), "%s", play->head.title);
	(void)snprintf(r->file, sizeof(r->file), "%s", play->head.file);
	(void)snprintf(r->fabric, sizeof(r->fabric), "%s", s->name);
	(void)snprintf(
		r->transport, sizeof(r->transport), "%s", weft_rival_name(job->config.rival.kind));
	r->seed = job->config.seed;
	r->stop_ps = play->head.stop_ps;
	r->hosts = s->hosts;
	r->planes = s->planes;
	r->host_bps = s->host_bps;
	r->threads = job->config.threads;
	r->paths = job->config.paths;
	r->ideal_ps = ideal_of(job);
	r->line_bps = traffic_line_bps(play->topo, job->load.flows, r->n_flows);
}

static bool prepare(struct job *job, char *error, size_t error_bytes)
{
	const struct weft_play *play = job->play;
	struct weft_play_result *r = job->result;
	char why[256];

	if (!flows_make(play, job->options->seed, &job->load, &r->groups, error, error_bytes))
		return false;
	r->n_flows = job->load.n;
	job->config.edges = job->load.edges;
	job->config.n_edges = job->load.n_edges;
	r->n_groups = play->head.n_loads;
	for (uint32_t i = 0; i < play->head.n_faults; i++) {
		if (wish_expand(&job->faults, play->topo, &play->faults[i], play->head.stop_ps,
			    job->options->seed))
			continue;
		(void)snprintf(error, error_bytes,
			"%s:%u: faults: it would come more than a "
			"million times",
			play->head.file, (unsigned)play->faults[i].line);
		return false;
	}
	r->flow_ps = calloc(r->n_flows, sizeof(*r->flow_ps));
	r->start_ps = calloc(r->n_flows, sizeof(*r->start_ps));
	r->len_bytes = calloc(r->n_flows, sizeof(*r->len_bytes));
	if (!r->flow_ps || !r->start_ps || !r->len_bytes) {
		(void)snprintf(error, error_bytes, "%s: out of memory", play->head.file);
		return false;
	}
	describe(job);
	double before_s = real_s(job->options);

	if (weft_sim_estimate(
		    &job->config, job->load.flows, r->n_flows, &r->memory, why, sizeof(why)) ||
		weft_sim_open(&job->sim, &job->config, job->load.flows, r->n_flows,
			job->faults.list, job->faults.n, why, sizeof(why))) {
		(void)snprintf(error, error_bytes, "%s: %s", play->head.file, why);
		return false;
	}
	r->open_s = real_s(job->options) - before_s;
	r->events = job->faults.events;
	r->n_events = job->faults.n_events;
	job->faults.events = NULL;
	return true;
}

/* The first step: a hundredth of what the flows take at best, or what the file says. */
static uint64_t first_step_ps(const struct job *job, uint32_t rows)
{
	uint64_t step_ps = job->play->sample_ps;

	if (!step_ps)
		step_ps = WEFT_MIN(job->result->ideal_ps, job->play->head.stop_ps) / (rows / 4);
	return WEFT_MAX(step_ps, UINT64_C(100000));
}

static bool run(struct job *job, char *error, size_t error_bytes)
{
	struct weft_play_result *r = job->result;
	uint32_t rows = r->hosts > LARGE_HOSTS ? ROWS_LARGE : ROWS;
	uint64_t stop_ps = r->stop_ps, at_ps = 0;
	double before_s = real_s(job->options);
	struct sampler s;

	rows = job->options->rows_max ? WEFT_MAX(job->options->rows_max, 8u) : rows;
	if (!sample_open(&s, r, job->sim, job->load.flows, first_step_ps(job, rows), rows,
		    job->play->sample_ps)) {
		sample_close(&s);
		(void)snprintf(error, error_bytes, "%s: out of memory", job->play->head.file);
		return false;
	}
	while (at_ps < stop_ps && !job->is_stopped) {
		at_ps = WEFT_MIN(s.next_ps, stop_ps);
		weft_sim_run(job->sim, at_ps, watch, job);
		weft_sim_totals(job->sim, &r->totals);
		/* Windows are run as a whole: the last one may end a little later. */
		sample_take(&s, WEFT_MAX(at_ps, r->totals.now_ps));
		if (r->totals.flows_done + r->totals.flows_failed == r->n_flows)
			break;
	}
	sample_close(&s);
	r->run_s = real_s(job->options) - before_s;
	return true;
}

static void read_out(struct job *job)
{
	struct weft_play_result *r = job->result;

	weft_sim_totals(job->sim, &r->totals);
	weft_sim_counters(job->sim, &r->counters);
	for (uint32_t i = 0; i < r->n_flows; i++) {
		/* Steps of computing are no flows to those who ask how long flows took. */
		r->flow_ps[i] = job->load.flows[i].len_bytes ? weft_sim_flow_ps(job->sim, i) : 0;
		r->start_ps[i] = job->load.flows[i].start_ps;
		r->len_bytes[i] = job->load.flows[i].len_bytes;
	}
	recovery_find(r);
}

struct weft_play_result *weft_play_run(const struct weft_play *play,
	const struct weft_play_options *options, char *error, size_t error_bytes)
{
	struct job job = { .play = play,
		.options = options,
		.config = play->config,
		.result = calloc(1, sizeof(*job.result)) };
	bool good = false;

	job.config.seed = options->seed;
	job.config.threads = options->threads ? options->threads : 1;
	if (!job.result)
		(void)snprintf(error, error_bytes, "%s: out of memory", play->head.file);
	else if (prepare(&job, error, error_bytes) && run(&job, error, error_bytes))
		good = true;
	if (good)
		read_out(&job);
	weft_sim_close(job.sim);
	weft_play_faults_free(&job.faults);
	weft_load_close(&job.load);
	if (good)
		return job.result;
	weft_play_result_free(job.result);
	return NULL;
}

void weft_play_result_free(struct weft_play_result *result)
{
	if (!result)
		return;
	for (uint32_t i = 0; i < result->n_columns; i++)
		free(result->columns[i].values);
	free(result->columns);
	free(result->at_ps);
	free(result->flow_ps);
	free(result->start_ps);
	free(result->len_bytes);
	free(result->groups);
	free(result->events);
	free(result->recoveries);
	free(result);
}
