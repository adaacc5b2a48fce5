/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_report - what came out: tables for people, report.json for programs, report.html for both.
 *
 * demo_report.html draws itself from the JSON (page.h).
 * "after" is the whole time between the mending and the next fault: who needs long to recover
 * shows it there.
 */
#include "demo.h"
#include "page.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/base.h>
#include <weft/net.h>
#include <weft/version.h>

extern const unsigned char demo_report_html[]; /* demo_report.html, embedded by the build */

/* ---- tables ---- */

/* Without one empty bin, two arrivals were less than two bins apart. */
static void add_ms(struct table *table, const struct term *term, uint64_t ns)
{
	double ms = (double)ns / 1e6;

	if (!ns)
		table_add(table, "<%u", (unsigned)(2 * DEMO_BIN_NS / 1000000));
	else
		table_add(table, "%s%.*f%s", term_on(term, ms > 20 ? TERM_RED : TERM_PLAIN),
			ms < 10 ? 1 : 0, ms, ms > 20 ? term_off(term) : "");
}

static void faults_table(const struct demo *demo, const struct demo_run runs[], unsigned n)
{
	const struct term *term = demo->term;
	struct table table;
	char align[TABLE_COLUMNS_MAX] = "rl";

	for (unsigned r = 0; r < n; r++)
		(void)snprintf(align + strlen(align), 4, "rr");
	table_begin(&table, align);
	table_add(&table, " ");
	table_add(&table, "fault (plane 0)");
	for (unsigned r = 0; r < n; r++) {
		table_add(&table, "%s Mb/s", demo_names[runs[r].transport]);
		table_add(&table, "stall ms");
	}
	for (unsigned i = 0; i < demo->plan.n; i++) {
		table_add(&table, "%u", i + 1);
		table_add(&table, "%s", demo->plan.faults[i]->name);
		for (unsigned r = 0; r < n; r++) {
			const struct demo_hit *hit = &runs[r].hits[i];

			if (hit->judged.verdict == DEMO_NOT_MADE) {
				table_add(&table, "%sNOT MADE%s", term_on(term, TERM_RED),
					term_off(term));
				table_add(&table, "-");
				continue;
			}
			table_add(&table, "%s%.0f %s %.0f %s %.0f",
				hit->judged.verdict == DEMO_OTHERWISE ? "* " : "",
				hit->before_bps / 1e6, term->utf8 ? "›" : ">",
				hit->during_bps / 1e6, term->utf8 ? "›" : ">",
				hit->after_bps / 1e6);
			add_ms(&table, term, hit->stall.ns);
		}
	}
	table_print(&table, term);
}

/* Under the table: what was otherwise than planned, in which run. */
static void otherwise_list(const struct demo *demo, const struct demo_run runs[], unsigned n)
{
	const struct term *term = demo->term;

	for (unsigned r = 0; r < n; r++) {
		for (unsigned i = 0; i < demo->plan.n; i++) {
			const struct demo_judged *j = &runs[r].hits[i].judged;

			if (j->verdict == DEMO_MADE)
				continue;
			printf("%s%s%s %s, fault %u: %s\n", term_on(term, TERM_RED),
				j->verdict == DEMO_NOT_MADE ? "NOT MADE:" : "* not as planned:",
				term_off(term), demo_names[runs[r].transport], i + 1, j->why);
		}
	}
}

static double mean_bps(const struct demo_run *run)
{
	return run->end_ns > run->zero_ns
		       ? (double)run->bytes * 8e9 / (double)(run->end_ns - run->zero_ns)
		       : 0;
}

static void verdict_cell(struct table *table, const struct demo *demo, const struct demo_run *run)
{
	const struct term *term = demo->term;
	bool good = run->done && !run->wrong_bytes;
	unsigned made = run_made(demo, run);
	char but[64] = "";

	if (made < demo->plan.n)
		(void)snprintf(but, sizeof(but), "; %u of %u faults NOT as planned",
			demo->plan.n - made, demo->plan.n);
	table_add(table, "%s%s%s%s", term_on(term, good && !*but ? TERM_GREEN : TERM_RED),
		!good                         ? *run->error ? run->error : "WRONG"
		: run->transport == DEMO_WEFT ? "copied, identical"
					      : "all right so far as it came",
		but, term_off(term));
}

static void totals_table(const struct demo *demo, const struct demo_run runs[], unsigned n)
{
	const struct term *term = demo->term;
	struct table table;
	char text[HUMAN_MAX];

	table_begin(&table, "lrrrrrrrl");
	static const char *const heads[] = { "", "bytes", "time", "goodput", "longest stall",
		"of it the machine's", "resent packets", "bytes wrong", "verdict" };
	for (size_t i = 0; i < WEFT_COUNT(heads); i++)
		table_add(&table, "%s", heads[i]);
	for (unsigned r = 0; r < n; r++) {
		const struct demo_run *run = &runs[r];

		table_add(&table, "%s", demo_names[run->transport]);
		table_add(&table, "%s", human_bytes(text, run->bytes));
		table_add(&table, "%s", human_ns(text, run->end_ns - run->zero_ns));
		table_add(&table, "%s", human_rate(text, (uint64_t)mean_bps(run)));
		table_add(&table, "%.1f ms", (double)run->stall.ns / 1e6);
		table_add(&table, "%.1f ms", (double)run->stall_machine_ns / 1e6);
		table_add(&table, "%s", human_count(text, run->retransmits));
		table_add(&table, "%s", human_count(text, run->wrong_bytes));
		verdict_cell(&table, demo, run);
	}
	table_print(&table, term);
}

void report_tables(const struct demo *demo, const struct demo_run runs[], unsigned n)
{
	faults_table(demo, runs, n);
	otherwise_list(demo, runs, n);
	printf("\nGoodput before %s during %s after (until the next fault); stall: the longest "
	       "time "
	       "without a byte.\n\n",
		demo->term->utf8 ? "›" : ">", demo->term->utf8 ? "›" : ">");
	totals_table(demo, runs, n);
	for (unsigned r = 0; r < n; r++)
		if (*runs[r].sha256)
			printf("\nSHA-256 at both ends: %s\n", runs[r].sha256);
}

/* ---- JSON ---- */

static json_t *stall_json(const struct demo_run *run, struct demo_gap stall, uint64_t machine_ns)
{
	double at_s = stall.at_ns > run->zero_ns ? (double)(stall.at_ns - run->zero_ns) / 1e9 : 0;

	return json_pack("{s:f, s:f, s:f}", "at_s", at_s, "ms", (double)stall.ns / 1e6,
		"machine_ms", (double)machine_ns / 1e6);
}

static double seconds(const struct demo_run *run, uint64_t at_ns)
{
	return (double)(int64_t)(at_ns - run->zero_ns) / 1e9;
}

/* A fault that was never in force has no times, rates or stall. */
static json_t *hit_json(
	const struct demo_run *run, const struct demo_fault *fault, const struct demo_hit *hit)
{
	const struct demo_judged *j = &hit->judged;
	json_t *json = json_pack("{s:s, s:s, s:s, s:s, s:f}", "name", fault->name, "what",
		hit->text, "verdict", demo_verdicts[j->verdict], "why", j->why, "lasted_s",
		(double)j->lasted_ns / 1e9);

	if (json && j->from_ns)
		(void)json_object_update_new(json,
			json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:o}", "from_s",
				seconds(run, j->from_ns), "to_s", seconds(run, j->to_ns), "end_s",
				seconds(run, hit->end_ns), "before_bps", hit->before_bps,
				"during_bps", hit->during_bps, "after_bps", hit->after_bps, "stall",
				stall_json(run, hit->stall, hit->machine_ns)));
	return json;
}

/* Bytes per 10 ms from the first on. */
static json_t *goodput_json(const struct demo_run *run)
{
	const uint64_t step = 10000000;
	json_t *list = json_array();

	for (uint64_t at = run->zero_ns; run->series.n && at < run->end_ns; at += step)
		json_array_append_new(
			list, json_integer((json_int_t)(series_bytes_at(&run->series, at + step) -
							series_bytes_at(&run->series, at))));
	return json_pack("{s:i, s:o}", "step_ms", 10, "bytes", list);
}

static json_t *planes_json(const struct demo_run *run)
{
	const struct demo_samples *s = &run->samples;
	json_t *times = json_array(), *planes = json_array();

	for (size_t i = 0; i < s->n; i++)
		json_array_append_new(times, json_real(seconds(run, s->at_ns[i])));
	for (uint32_t p = 0; p < s->planes; p++) {
		json_t *one = json_array();

		for (size_t i = 0; i < s->n; i++)
			json_array_append_new(one,
				json_integer(
					(json_int_t)(s->bytes[i * s->planes + p] - s->bytes[p])));
		json_array_append_new(planes, one);
	}
	return json_pack("{s:o, s:o}", "at_s", times, "bytes", planes);
}

static json_t *run_json(const struct demo *demo, const struct demo_run *run)
{
	json_t *hits = json_array(), *machine = json_array();

	for (unsigned i = 0; i < demo->plan.n; i++)
		json_array_append_new(hits, hit_json(run, demo->plan.faults[i], &run->hits[i]));
	for (size_t i = 0; i < run->n_machine; i++)
		json_array_append_new(machine,
			json_pack("{s:f, s:f}", "at_s", seconds(run, run->machine[i].at_ns), "ms",
				(double)run->machine[i].ns / 1e6));
	return json_pack(
		"{s:s, s:b, s:b, s:s, s:I, s:f, s:f, s:I, s:I, s:I, s:s, s:o, s:o, s:o, s:o, s:o}",
		"transport", demo_names[run->transport], "ok", run->done && !run->wrong_bytes,
		"as_planned", run_made(demo, run) == demo->plan.n, "error", run->error, "bytes",
		(json_int_t)run->bytes, "seconds", (double)(run->end_ns - run->zero_ns) / 1e9,
		"goodput_bps", mean_bps(run), "wrong_bytes", (json_int_t)run->wrong_bytes,
		"resent_packets", (json_int_t)run->retransmits, "paths", (json_int_t)run->paths,
		"sha256", run->sha256, "longest_stall",
		stall_json(run, run->stall, run->stall_machine_ns), "faults", hits, "goodput",
		goodput_json(run), "planes", planes_json(run), "machine_gaps", machine);
}

static json_t *plan_json(const struct demo_plan *plan)
{
	json_t *faults = json_array();

	for (unsigned i = 0; i < plan->n; i++)
		json_array_append_new(
			faults, json_pack("{s:s, s:s, s:f}", "name", plan->faults[i]->name, "story",
					plan->faults[i]->story, "at_s",
					(double)plan_fault_ns(plan, i) / 1e9));
	return json_pack("{s:f, s:f, s:f, s:f, s:o}", "lead_s", (double)plan->lead_ns / 1e9,
		"hold_s", (double)plan->hold_ns / 1e9, "gap_s", (double)plan->gap_ns / 1e9,
		"total_s", (double)plan_total_ns(plan) / 1e9, "faults", faults);
}

json_t *report_json(const struct demo *demo, const struct demo_run runs[], unsigned n)
{
	const struct weft_topo_shape *s = weft_topo_shape(weft_lab_topo(demo->lab));
	json_t *list = json_array();

	for (unsigned r = 0; r < n; r++)
		json_array_append_new(list, run_json(demo, &runs[r]));
	return json_pack(
		"{s:i, s:s, s:I, s:o, s:{s:s, s:s, s:i, s:i, s:i, s:i, s:I, s:i}, s:{s:s, s:I}, "
		"s:o, s:b, s:o}",
		"weft_demo", 2, "version", WEFT_VERSION, "unix_s",
		(json_int_t)(weft_clock_unix_ns() / 1000000000), "machine", page_machine(),
		"fabric", "name", s->name, "switches",
		weft_lab_switches_name(weft_lab_switches(demo->lab)), "planes", (int)s->planes,
		"t0s", (int)s->t0s, "t1s", (int)s->t1s, "hosts", (int)s->hosts, "link_bps",
		(json_int_t)demo->rate_bps, "mtu", (int)s->mtu_bytes, "file", "path", demo->file,
		"bytes", (json_int_t)demo->file_bytes, "plan", plan_json(&demo->plan), "as_planned",
		runs_all_made(demo, runs, n), "runs", list);
}

int report_write(const struct demo *demo, const json_t *json)
{
	return page_finish("weft demo", demo->folder, demo_report_html, json);
}
