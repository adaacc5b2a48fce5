/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scenario_run - one scenario, one seed: made, run in steps, read out.
 */
#include "scenario_local.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 400, ROWS_LARGE = 64, LARGE_HOSTS = 16384 };

/* Of real time, for what a run cost; nothing that is measured depends on it. */
static double real_s(const struct weft_scenario_options *options)
{
	return options->now_ns ? (double)options->now_ns(NULL) / 1e9 : 0;
}

static struct weft_sim_config config_of(
	const struct weft_scenario *play, const struct weft_scenario_options *options)
{
	struct weft_sim_config config = play->config;

	config.seed = options->seed;
	config.threads = options->threads ? options->threads : 1;
	config.ranks = options->ranks;
	return config;
}

bool weft_scenario_estimate(const struct weft_scenario *play,
	const struct weft_scenario_options *options, struct weft_sim_memory *memory, char *error,
	size_t error_bytes)
{
	struct weft_sim_config config = config_of(play, options);
	struct weft_scenario_group *groups;
	struct weft_workload all;
	char why[256];

	if (!flows_make(play, options->seed, &all, &groups, error, error_bytes))
		return false;
	config.edges = all.edges;
	config.n_edges = all.n_edges;
	bool good = !weft_sim_estimate(&config, all.flows, all.n, memory, why, sizeof(why));

	if (!good)
		(void)snprintf(error, error_bytes, "%s: %s", play->head.file, why);
	weft_workload_close(&all);
	free(groups);
	return good;
}

/* ---- a run ---- */

struct job {
	const struct weft_scenario *play;
	const struct weft_scenario_options *options;
	struct weft_sim_config config;
	struct weft_scenario_result *result;
	struct weft_scenario_script script;
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

static bool prepare(struct job *job, char *error, size_t error_bytes)
{
	const struct weft_scenario *play = job->play;
	struct weft_scenario_script *script = &job->script;
	char why[256];

	if (!weft_scenario_script_open(script, play, job->options->seed, error, error_bytes))
		return false;
	job->config.edges = script->edges;
	job->config.n_edges = script->n_edges;
	job->result = weft_scenario_result_new(play, script, job->options->seed, NULL, 0);
	if (!job->result) {
		(void)snprintf(error, error_bytes, "%s: out of memory", play->head.file);
		return false;
	}
	struct weft_scenario_result *r = job->result;
	double before_s = real_s(job->options);

	r->threads = job->config.threads;
	if (weft_sim_estimate(
		    &job->config, script->flows, r->n_flows, &r->memory, why, sizeof(why)) ||
		weft_sim_open(&job->sim, &job->config, script->flows, r->n_flows,
			script->faults.list, script->faults.n, why, sizeof(why))) {
		(void)snprintf(error, error_bytes, "%s: %s", play->head.file, why);
		return false;
	}
	r->open_s = real_s(job->options) - before_s;
	return true;
}

/* Any rank may want to stop: then all do. */
static bool is_stopped(const struct job *job)
{
	uint64_t n = job->is_stopped;

	weft_sim_sum(job->sim, &n, 1);
	return n;
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
	struct weft_scenario_result *r = job->result;
	uint32_t rows = r->hosts > LARGE_HOSTS ? ROWS_LARGE : ROWS;
	uint64_t stop_ps = r->stop_ps, at_ps = 0;
	double before_s = real_s(job->options);
	struct sampler s;

	rows = job->options->rows_max ? WEFT_MAX(job->options->rows_max, 8u) : rows;
	if (!sample_open(&s, r, job->sim, first_step_ps(job, rows), rows, job->play->sample_ps)) {
		sample_close(&s);
		(void)snprintf(error, error_bytes, "%s: out of memory", job->play->head.file);
		return false;
	}
	while (at_ps < stop_ps) {
		at_ps = WEFT_MIN(s.next_ps, stop_ps);
		weft_sim_run(job->sim, at_ps, watch, job);
		weft_sim_totals(job->sim, &r->totals);
		if (r->totals.is_cut) {
			sample_close(&s);
			(void)snprintf(error, error_bytes, "%s: another rank is gone",
				job->play->head.file);
			return false;
		}
		/* Windows are run as a whole: the last one may end a little later. */
		sample_take(&s, WEFT_MAX(at_ps, r->totals.now_ps));
		if (r->totals.flows_done + r->totals.flows_failed == r->n_flows || is_stopped(job))
			break;
	}
	sample_close(&s);
	r->run_s = real_s(job->options) - before_s;
	return true;
}

static void read_out(struct job *job)
{
	struct weft_scenario_result *r = job->result;

	weft_sim_totals(job->sim, &r->totals);
	weft_sim_counters(job->sim, &r->counters);
	weft_sim_gather(job->sim);
	for (uint32_t i = 0; i < r->n_flows; i++) {
		struct weft_sim_times times;

		weft_sim_flow_times(job->sim, i, &times);
		r->end_ps[i] = times.done_ps;
		/* Steps of computing are no flows to those who ask how long flows took. */
		r->flow_ps[i] = r->len_bytes[i] ? weft_sim_flow_ps(job->sim, i) : 0;
	}
	weft_scenario_conclude(r, &job->script);
}

struct weft_scenario_result *weft_scenario_run(const struct weft_scenario *play,
	const struct weft_scenario_options *options, char *error, size_t error_bytes)
{
	struct job job = { .play = play, .options = options, .config = config_of(play, options) };
	bool good = prepare(&job, error, error_bytes) && run(&job, error, error_bytes);

	if (good)
		read_out(&job);
	weft_sim_close(job.sim);
	weft_scenario_script_close(&job.script);
	if (good)
		return job.result;
	weft_scenario_result_free(job.result);
	return NULL;
}
