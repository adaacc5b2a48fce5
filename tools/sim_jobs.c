/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_jobs - what jobs took, step by step.
 *
 * A step ends with the last of its flows, computing included; the next one is counted from there.
 * That is what a person who trains sees, so it stands beside the times of messages.
 */
#include "sim_text.h"

#include <stdlib.h>
#include <weft/base.h>

bool sim_jobs_are_plain(const struct weft_workload *load)
{
	for (uint32_t i = 0; i < load->n; i++) {
		const struct weft_sim_flow *f = &load->flows[i];

		if (f->n_after || f->repeats > 1 || f->src == f->dst || f->step ||
			f->start_ps != load->flows[0].start_ps)
			return false;
	}
	return true;
}

static bool measure(const struct weft_workload *load, const struct weft_workload_job *from,
	const struct weft_sim *sim, uint64_t ends[], struct sim_job *job)
{
	uint64_t *steps;

	*job = (struct sim_job){ .name = from->name, .start_ps = UINT64_MAX };
	for (uint32_t i = 0; i < from->n; i++) {
		const struct weft_sim_flow *f = &load->flows[from->first + i];
		struct weft_sim_times times;

		weft_sim_flow_times(sim, from->first + i, &times);
		ends[i] = times.done_ps;
		job->flows++;
		job->done += times.done_ps > 0;
		job->messages += f->src == f->dst ? 0 : f->repeats ? f->repeats : 1;
		job->start_ps = WEFT_MIN(job->start_ps, f->start_ps);
		job->end_ps = WEFT_MAX(job->end_ps, times.done_ps);
	}
	steps = weft_workload_steps(load->flows + from->first, ends, from->n, &job->steps);
	if (!steps)
		return false;
	job->p50_ps = weft_rank_value(steps, job->steps, 1, 2);
	job->p99_ps = weft_rank_value(steps, job->steps, 99, 100);
	job->p999_ps = weft_rank_value(steps, job->steps, 999, 1000);
	job->slowest_ps = weft_rank_value(steps, job->steps, 1, 1);
	free(steps);
	return true;
}

bool sim_jobs_measure(
	const struct weft_workload *load, const struct weft_sim *sim, struct sim_job jobs[])
{
	uint64_t *ends = calloc((size_t)load->n + 1, sizeof(*ends));
	bool good = ends;

	for (uint32_t i = 0; i < load->n_jobs && good; i++)
		good = measure(load, &load->jobs[i], sim, ends, &jobs[i]);
	free(ends);
	return good;
}

void sim_jobs_print(const struct sim_job jobs[], uint32_t n, const struct term *term)
{
	static const char *const heads[] = { "job", "steps", "step P50 us", "P99", "P99.9",
		"slowest", "end us", "messages", "not done" };
	struct table table;

	table_begin(&table, "lrrrrrrrr");
	for (unsigned i = 0; i < WEFT_COUNT(heads); i++)
		table_add(&table, "%s", heads[i]);
	for (uint32_t i = 0; i < n; i++) {
		char text[HUMAN_MAX];

		table_add(&table, "%s", jobs[i].name);
		table_add(&table, "%u", (unsigned)jobs[i].steps);
		sim_us_add(&table, jobs[i].p50_ps, "not over");
		sim_us_add(&table, jobs[i].p99_ps, "not over");
		sim_us_add(&table, jobs[i].p999_ps, "not over");
		sim_us_add(&table, jobs[i].slowest_ps, "not over");
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
			json_pack("{s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:f}", "name",
				jobs[i].name, "flows", (json_int_t)jobs[i].flows, "done",
				(json_int_t)jobs[i].done, "messages", (json_int_t)jobs[i].messages,
				"steps", (json_int_t)jobs[i].steps, "step_p50_us",
				sim_us_json(jobs[i].p50_ps), "step_p99_us",
				sim_us_json(jobs[i].p99_ps), "step_p999_us",
				sim_us_json(jobs[i].p999_ps), "step_slowest_us",
				sim_us_json(jobs[i].slowest_ps), "end_us",
				(double)jobs[i].end_ps / 1e6));
	return list;
}
