/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_report - what came out, beside what could have come out at best.
 *
 * The bound by arithmetic stands next to the times because a time alone says nothing; what did not
 * go well (lost, trimmed, repeated) stands under them, and what it cost last, since only that
 * differs from run to run.
 */
#include "sim_text.h"

#include <weft/base.h>

#include <inttypes.h>
#include <string.h>

uint64_t sim_quantile(const struct sim_report *report, uint64_t num, uint64_t den)
{
	return weft_rank_value(report->sorted_ps, report->n, num, den);
}

static double times_ideal(const struct sim_report *r, uint64_t ps)
{
	return r->ideal_ps ? (double)ps / (double)r->ideal_ps : 0;
}

static void print_times(const struct sim_report *r, const struct term *term)
{
	static const struct {
		const char *name;
		uint64_t num, den;
	} rows[] = { { "fastest", 0, 1 }, { "P50", 1, 2 }, { "P99", 99, 100 },
		{ "P99.9", 999, 1000 }, { "slowest", 1, 1 } };
	struct table table;

	table_begin(&table, "lrr");
	table_add(&table, "flow");
	table_add(&table, "us");
	table_add(&table, "x ideal");
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t ps = sim_quantile(r, rows[i].num, rows[i].den);

		table_add(&table, "%s", rows[i].name);
		sim_us_add(&table, ps, "not done");
		if (ps == WEFT_NEVER)
			table_add(&table, "-");
		else
			table_add(&table, "%.3f", times_ideal(r, ps));
	}
	table_add(&table, "ideal");
	table_add(&table, "%.2f", (double)r->ideal_ps / 1e6);
	table_add(&table, "1.000");
	table_print(&table, term);
}

static bool is_baseline(const struct sim_report *r)
{
	return r->transport && strcmp(r->transport, "mrc") != 0;
}

/* Times of single messages and of steps; the ideal is the end of all. */
static void print_jobs(const struct sim_report *r, const struct term *term)
{
	const struct weft_hist *h = &r->messages;
	uint64_t end_ps = 0;

	sim_jobs_print(r->jobs, r->n_jobs, term);
	for (uint32_t i = 0; i < r->n_jobs; i++)
		end_ps = WEFT_MAX(end_ps, r->jobs[i].end_ps);
	fprintf(term->out, "end        %.2f us; ideal %.2f us, %.3f x\n", (double)end_ps / 1e6,
		(double)(r->begin_ps + r->ideal_ps) / 1e6,
		times_ideal(r, end_ps - WEFT_MIN(end_ps, r->begin_ps)));
	fprintf(term->out, "message    P50 %.2f us, P99 %.2f us, slowest %.2f us\n",
		(double)weft_hist_quantile(h, 1, 2) / 1e3,
		(double)weft_hist_quantile(h, 99, 100) / 1e3,
		(double)weft_hist_quantile(h, 1, 1) / 1e3);
}

void sim_report_print(const struct sim_report *r, const struct term *term)
{
	const struct weft_counters *c = &r->counters;
	const struct weft_sim_totals *t = &r->totals;
	char n[6][HUMAN_MAX];

	fprintf(term->out, "%s: %s hosts, %" PRIu32 " plane%s, %s", r->shape->name,
		human_count(n[0], r->shape->hosts), r->shape->planes,
		r->shape->planes == 1 ? "" : "s", r->load);
	if (!r->jobs && r->bytes)
		fprintf(term->out, " of %" PRIu64 " bytes", r->bytes);
	fprintf(term->out, "%s%s\n", is_baseline(r) ? " over " : "",
		is_baseline(r) ? r->transport : "");
	if (r->jobs)
		print_jobs(r, term);
	else if (r->n)
		print_times(r, term);
	fprintf(term->out, "flows      %s of %s done", human_count(n[0], t->flows_done),
		human_count(n[1], r->n_flows));
	if (t->flows_failed)
		fprintf(term->out, ", %s FAILED", human_count(n[0], t->flows_failed));
	fprintf(term->out, "; %.2f us simulated\n", (double)t->now_ps / 1e6);
	fprintf(term->out,
		"packets    %s data, %s repeated, %s SACKs, %s marked, %s trimmed, %s lost\n",
		human_count(n[0], c->tx_data_pkts), human_count(n[1], c->tx_rtx_pkts),
		human_count(n[2], c->tx_sack), human_count(n[3], t->marked),
		human_count(n[4], t->trimmed), human_count(n[5], t->lost));
	fprintf(term->out, "paths      %s retired, %s brought back; %s timeouts, %s tail probes\n",
		human_count(n[0], c->paths_retired), human_count(n[1], c->paths_revived),
		human_count(n[2], c->timeouts), human_count(n[3], c->tail_probes));
	if (r->n_missed)
		fprintf(term->out,
			"faults     %" PRIu32 " would have come after the run was over\n",
			r->n_missed);
	fprintf(term->out, "digest     %016" PRIx64 "\n", t->digest);
	fprintf(term->out, "cost       %.2f s (and %.2f s to set up), ", r->run_s, r->open_s);
	if (r->ranks > 1)
		fprintf(term->out, "%" PRIu32 " ranks of ", r->ranks);
	fprintf(term->out, "%" PRIu32 " thread%s, %.2f M packet-hops/s, %.2f per CPU second; %s\n",
		r->threads, r->threads == 1 ? "" : "s",
		r->run_s > 0 ? (double)t->packet_hops / 1e6 / r->run_s : 0,
		r->cpu_s > 0 ? (double)t->packet_hops / 1e6 / r->cpu_s : 0,
		human_bytes(n[0], r->rss_bytes));
}

json_t *sim_report_json(const struct sim_report *r)
{
	const struct weft_counters *c = &r->counters;
	const struct weft_sim_totals *t = &r->totals;
	char digest[17];

	snprintf(digest, sizeof(digest), "%016" PRIx64, t->digest);
	json_t *times = json_pack("{s:o, s:o, s:o, s:o, s:o, s:f}", "fastest",
		sim_us_json(sim_quantile(r, 0, 1)), "p50", sim_us_json(sim_quantile(r, 1, 2)),
		"p99", sim_us_json(sim_quantile(r, 99, 100)), "p99.9",
		sim_us_json(sim_quantile(r, 999, 1000)), "slowest",
		sim_us_json(sim_quantile(r, 1, 1)), "ideal", (double)r->ideal_ps / 1e6);
	json_t *packets = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "data",
		(json_int_t)c->tx_data_pkts, "repeated", (json_int_t)c->tx_rtx_pkts, "sacks",
		(json_int_t)c->tx_sack, "marked", (json_int_t)t->marked, "trimmed",
		(json_int_t)t->trimmed, "lost", (json_int_t)t->lost, "pauses",
		(json_int_t)t->pauses, "hops", (json_int_t)t->packet_hops);
	json_t *engine = json_pack("{s:I, s:I, s:I, s:I}", "paths_retired",
		(json_int_t)c->paths_retired, "paths_revived", (json_int_t)c->paths_revived,
		"timeouts", (json_int_t)c->timeouts, "tail_probes", (json_int_t)c->tail_probes);
	json_t *cost = json_pack("{s:I, s:f, s:f, s:f, s:I, s:I, s:I}", "ranks",
		(json_int_t)WEFT_MAX(r->ranks, 1u), "open_s", r->open_s, "run_s", r->run_s, "cpu_s",
		r->cpu_s, "rss_bytes", (json_int_t)r->rss_bytes, "estimate_bytes",
		(json_int_t)r->memory.total, "windows", (json_int_t)t->windows);

	json_t *jobs = r->jobs ? sim_jobs_json(r->jobs, r->n_jobs) : json_null();

	return json_pack(
		"{s:s, s:s, s:I, s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:o, s:s,"
		" s:o, s:o, s:o, s:o, s:o}",
		"transport", r->transport ? r->transport : "mrc", "fabric", r->shape->name, "hosts",
		(json_int_t)r->shape->hosts, "planes", (json_int_t)r->shape->planes, "load",
		r->load, "bytes", (json_int_t)r->bytes, "seed", (json_int_t)r->seed, "threads",
		(json_int_t)r->threads, "faults", (json_int_t)r->n_faults, "flows",
		(json_int_t)r->n_flows, "done", (json_int_t)t->flows_done, "failed",
		(json_int_t)t->flows_failed, "simulated_us", (double)t->now_ps / 1e6,
		"slowest_over_ideal",
		sim_quantile(r, 1, 1) == WEFT_NEVER
			? json_null()
			: json_real(times_ideal(r, sim_quantile(r, 1, 1))),
		"digest", digest, "fct_us", times, "packets", packets, "engine", engine, "cost",
		cost, "jobs", jobs);
}
