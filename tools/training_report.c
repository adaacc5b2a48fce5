/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * training_report - the table, and the JSON that report.html draws itself from.
 */
#include "page.h"
#include "training.h"

#include <inttypes.h>
#include <string.h>
#include <weft/base.h>
#include <weft/net.h>

extern const unsigned char training_report_html[]; /* embedded by the build */

static void row(struct table *table, const struct training_run *run)
{
	struct training_result r;
	char text[HUMAN_MAX];

	training_measure(run, &r);
	table_add(table, "%s", training_name(run));
	table_add(table, "%u", run->n);
	table_add(table, "%s", human_ns(text, r.median_ns));
	table_add(table, "%s", human_ns(text, r.p99_ns));
	table_add(table, "%s", human_ns(text, r.longest_ns));
	table_add(table, "%u", r.longest);
	table_add(table, "%s", human_ns(text, r.total_ns));
	table_add(table, "%s", human_count(text, run->again));
}

static void otherwise_list(
	const struct term *term, const struct training_plan *plan, const struct training_run *run)
{
	for (unsigned i = 0; i < plan->n && run->is_faulty; i++) {
		const struct demo_judged *j = &run->hits[i].judged;

		if (j->verdict != DEMO_MADE)
			printf("%s%s%s %s, %s: %s\n", term_on(term, TERM_RED),
				j->verdict == DEMO_NOT_MADE ? "NOT MADE:" : "Not as planned:",
				term_off(term), training_name(run), plan->faults[i].name, j->why);
	}
}

void training_tables(const struct term *term, const struct training_plan *plan,
	const struct training_run runs[], unsigned n)
{
	static const char *const head[] = { "", "steps", "median step", "P99", "longest", "which",
		"all steps", "sent again" };
	struct table table;

	printf("\n%sSteps%s\n\n", term_on(term, TERM_BOLD), term_off(term));
	table_begin(&table, "lrrrrrrr");
	for (size_t i = 0; i < WEFT_COUNT(head); i++)
		table_add(&table, "%s", head[i]);
	for (unsigned i = 0; i < n; i++)
		row(&table, &runs[i]);
	table_print(&table, term);
	for (unsigned i = 0; i < n; i++)
		otherwise_list(term, plan, &runs[i]);
	printf("\n%sSHA-256 of the parameters%s\n\n", term_on(term, TERM_BOLD), term_off(term));
	for (unsigned i = 0; i < n; i++) {
		bool same = runs[i].done && !strcmp(runs[i].sha256, runs[0].sha256);

		printf("  %s%s%s  %s\n", term_on(term, same ? TERM_GREEN : TERM_RED),
			runs[i].done ? runs[i].sha256 : "none: the job did not come to its end",
			term_off(term), training_name(&runs[i]));
		if (*runs[i].error)
			printf("  %s\n", runs[i].error);
	}
}

static double seconds(const struct training_run *run, uint64_t at_ns)
{
	return ((double)at_ns - (double)run->began_ns) / 1e9;
}

/* One that was never in force has no times. */
static json_t *hit_json(const struct training_run *run, const struct training_fault *fault,
	const struct training_hit *hit)
{
	const struct demo_judged *j = &hit->judged;
	json_t *json = json_pack("{s:s, s:s, s:s, s:i, s:s, s:s, s:f}", "name", fault->name,
		"story", fault->story, "what", hit->text, "step", (int)hit->step, "verdict",
		demo_verdicts[j->verdict], "why", j->why, "lasted_s", (double)j->lasted_ns / 1e9);

	if (json && j->from_ns)
		(void)json_object_update_new(
			json, json_pack("{s:f, s:f}", "from_s", seconds(run, j->from_ns), "to_s",
				      seconds(run, j->to_ns)));
	return json;
}

static json_t *run_json(const struct training_plan *plan, const struct training_run *run)
{
	json_t *at = json_array(), *took = json_array(), *loss = json_array(), *hits = json_array();
	struct training_result r;

	training_measure(run, &r);
	for (unsigned i = 0; i < run->n; i++) {
		json_array_append_new(at, json_real(seconds(run, run->steps[i].at_ns)));
		json_array_append_new(took, json_real((double)run->steps[i].ns / 1e6));
		json_array_append_new(loss, json_real(run->steps[i].loss));
	}
	for (unsigned i = 0; i < plan->n && run->is_faulty; i++)
		json_array_append_new(hits, hit_json(run, &plan->faults[i], &run->hits[i]));
	return json_pack(
		"{s:s, s:b, s:b, s:s, s:s, s:s, s:I, s:I, s:I, s:f, s:f, s:f, s:i, s:f, s:o, "
		"s:o, s:o, s:o}",
		"name", training_name(run), "faulty", run->is_faulty, "done", run->done, "error",
		run->error, "net", run->net == TRAINING_TCP ? "tcp" : "weft", "sha256", run->sha256,
		"parameters", (json_int_t)run->parameters, "ranks", (json_int_t)run->ranks,
		"sent_again", (json_int_t)run->again, "median_ms", (double)r.median_ns / 1e6,
		"p99_ms", (double)r.p99_ns / 1e6, "longest_ms", (double)r.longest_ns / 1e6,
		"longest_step", (int)r.longest, "total_s", (double)r.total_ns / 1e9, "at_s", at,
		"step_ms", took, "loss", loss, "hits", hits);
}

json_t *training_json(
	const struct training_plan *plan, const struct training_run runs[], unsigned n)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < n; i++)
		json_array_append_new(list, run_json(plan, &runs[i]));
	return json_pack("{s:I, s:i, s:o, s:o}", "unix_s",
		(json_int_t)(weft_clock_unix_ns() / 1000000000), "steps", (int)plan->steps,
		"machine", page_machine(), "runs", list);
}

int training_write(const char *folder, const json_t *json)
{
	return page_finish("weft demo training", folder, training_report_html, json);
}
