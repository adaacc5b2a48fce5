/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_jobs - what jobs took, step by step.
 *
 * A step ends with the last of its flows, computing included; the next one is counted from there.
 * That is what a person who trains sees, so it stands beside the times of messages.
 */
#include "sim.h"

#include <stdlib.h>
#include <weft/base.h>

static int compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static uint64_t rank_of(const uint64_t sorted[], uint32_t n, uint64_t num, uint64_t den)
{
	uint64_t rank = (n * num + den - 1) / den;

	return n ? sorted[rank ? rank - 1 : 0] : 0;
}

bool sim_jobs_are_plain(const struct weft_load *load)
{
	for (uint32_t i = 0; i < load->n; i++) {
		const struct weft_sim_flow *f = &load->flows[i];

		if (f->n_after || f->repeats > 1 || f->src == f->dst || f->step)
			return false;
	}
	return true;
}

static void measure(const struct weft_load *load, const struct weft_load_job *from,
	const struct weft_sim *sim, uint64_t *ends, struct sim_job *job)
{
	*job = (struct sim_job){
		.name = from->name, .steps = from->n_steps, .start_ps = UINT64_MAX
	};
	for (uint32_t i = 0; i < job->steps; i++)
		ends[i] = 0;
	for (uint32_t i = from->first; i < from->first + from->n; i++) {
		const struct weft_sim_flow *f = &load->flows[i];
		struct weft_sim_times times;

		weft_sim_flow_times(sim, i, &times);
		job->flows++;
		job->done += times.done_ps > 0;
		job->messages += f->src == f->dst ? 0 : f->repeats ? f->repeats : 1;
		ends[f->step] = WEFT_MAX(ends[f->step], times.done_ps);
		job->start_ps = WEFT_MIN(job->start_ps, f->start_ps);
		job->end_ps = WEFT_MAX(job->end_ps, times.done_ps);
	}
	for (uint32_t i = job->steps; i--;) {
		uint64_t before = i ? ends[i - 1] : job->start_ps;

		ends[i] = ends[i] > before ? ends[i] - before : 0;
	}
	qsort(ends, job->steps, sizeof(*ends), compare);
	job->p50_ps = rank_of(ends, job->steps, 1, 2);
	job->p99_ps = rank_of(ends, job->steps, 99, 100);
	job->slowest_ps = rank_of(ends, job->steps, 1, 1);
}

bool sim_jobs_measure(
	const struct weft_load *load, const struct weft_sim *sim, struct sim_job jobs[])
{
	uint64_t *ends = malloc((UINT16_MAX + 1) * sizeof(*ends));

	if (!ends)
		return false;
	for (uint32_t i = 0; i < load->n_jobs; i++)
		measure(load, &load->jobs[i], sim, ends, &jobs[i]);
	free(ends);
	return true;
}

void sim_jobs_print(const struct sim_job jobs[], uint32_t n, const struct term *term)
{
	static const char *const heads[] = { "job", "steps", "step P50 us", "P99", "slowest",
		"end us", "messages", "not done" };
	struct table table;

	table_begin(&table, "lrrrrrrr");
	for (unsigned i = 0; i < WEFT_COUNT(heads); i++)
		table_add(&table, "%s", heads[i]);
	for (uint32_t i = 0; i < n; i++) {
		char text[HUMAN_MAX];

		table_add(&table, "%s", jobs[i].name);
		table_add(&table, "%u", (unsigned)jobs[i].steps);
		table_add(&table, "%.2f", (double)jobs[i].p50_ps / 1e6);
		table_add(&table, "%.2f", (double)jobs[i].p99_ps / 1e6);
		table_add(&table, "%.2f", (double)jobs[i].slowest_ps / 1e6);
		table_add(&table, "%.2f", (double)jobs[i].end_ps / 1e6);
		table_add(&table, "%s", human_count(text, jobs[i].messages));
		table_add(&table, "%s", human_count(text, jobs[i].flows - jobs[i].done));
	}
	table_print(&table, term);
}

json_t *sim_jobs_json(const struct sim_job jobs[], uint32_t n)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < n; i++)
		(void)json_array_append_new(list,
			json_pack("{s:s, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f}", "name",
				jobs[i].name, "flows", (json_int_t)jobs[i].flows, "done",
				(json_int_t)jobs[i].done, "messages", (json_int_t)jobs[i].messages,
				"steps", (json_int_t)jobs[i].steps, "step_p50_us",
				(double)jobs[i].p50_ps / 1e6, "step_p99_us",
				(double)jobs[i].p99_ps / 1e6, "step_slowest_us",
				(double)jobs[i].slowest_ps / 1e6, "end_us",
				(double)jobs[i].end_ps / 1e6));
	return list;
}
