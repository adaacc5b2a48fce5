/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * incast_report - tables for people, and the JSON that report.html draws itself from.
 *
 * The claims are about trimming and stand first, each with what was found, held or not.  The table
 * below them has the same for the other ways to treat what does not fit: what trimming bought.
 */
#include "incast.h"
#include "page.h"

#include <inttypes.h>
#include <stdio.h>
#include <weft/base.h>
#include <weft/net.h>
#include <weft/version.h>

#define SPARKS 64u

extern const unsigned char incast_report_html[]; /* embedded by the build */

/* ---- for people ---- */

static void claims_print(
	const struct term *term, const struct incast_run *run, const struct incast_result *result)
{
	struct incast_claim claims[INCAST_CLAIMS];

	incast_claims(run, result, claims);
	printf("\n%sWith trimming%s\n\n", term_on(term, TERM_BOLD), term_off(term));
	for (unsigned i = 0; i < INCAST_CLAIMS; i++)
		printf("  %s%-5s%s %s (%s)\n",
			term_on(term, claims[i].holds ? TERM_GREEN : TERM_RED),
			claims[i].holds ? "yes" : "NO", term_off(term), claims[i].text,
			claims[i].found);
}

static void head(struct table *table)
{
	static const char *const names[] = { "full", "shares", "victim", "queue", "trimmed",
		"dropped", "NACKs", "sent again", "timeouts", "burst p50", "p99", "longest" };

	table_begin(table, "llrrrrrrrrrr");
	for (size_t i = 0; i < WEFT_COUNT(names); i++)
		table_add(table, "%s", names[i]);
}

static void row(struct table *table, const struct term *term, const struct incast_run *run,
	const struct incast_result *r)
{
	const struct incast_counts *c = &run->counts;
	char text[HUMAN_MAX];

	table_add(
		table, "%s%s%s", term_on(term, TERM_BOLD), incast_words[run->kind], term_off(term));
	table_add(table, "%.2f to %.2f", r->least, r->most);
	table_add(table, "%.2f", r->share[INCAST_VICTIM]);
	table_add(table, "%s", human_bytes(text, r->queue_p50_bytes));
	const uint64_t counts[] = { c->trimmed, c->dropped, c->nacks, c->again, c->timeouts };

	for (size_t i = 0; i < WEFT_COUNT(counts); i++)
		table_add(table, "%s", human_count(text, counts[i]));
	const uint64_t times[] = { r->message_p50_ns, r->message_p99_ns, r->burst_max_ns };

	for (size_t i = 0; i < WEFT_COUNT(times); i++)
		table_add(table, "%s", human_ns(text, times[i]));
}

void incast_tables(const struct term *term, const struct incast_plan *plan,
	const struct incast_run runs[], unsigned n)
{
	char text[HUMAN_MAX], bytes[HUMAN_MAX];
	struct incast_result result;
	struct table table;

	for (unsigned i = 0; i < n; i++) {
		incast_measure(plan, &runs[i], &result);
		if (runs[i].kind == INCAST_TRIM && runs[i].is_done)
			claims_print(term, &runs[i], &result);
	}
	printf("\n%sWhat trimming buys%s\n\n", term_on(term, TERM_BOLD), term_off(term));
	head(&table);
	for (unsigned i = 0; i < n; i++) {
		incast_measure(plan, &runs[i], &result);
		if (runs[i].n)
			row(&table, term, &runs[i], &result);
	}
	table_print(&table, term);
	printf("\nShares of the fair one, and the queue in front of the one NIC, over %.1f s.  "
	       "Bursts: "
	       "%u of %s from each\nsender at once over new connections; ideal, until all are "
	       "done: "
	       "%s.\n",
		(double)plan->steady_ns / 1e9, plan->bursts, human_bytes(bytes, plan->burst_bytes),
		human_ns(text, incast_ideal_ns(plan)));
	for (unsigned i = 0; i < n; i++) {
		incast_measure(plan, &runs[i], &result);
		if (runs[i].is_done && result.unfinished)
			printf("%s%s: %u messages of bursts were not done at the end%s; what is "
			       "said "
			       "of bursts is at least so long.\n",
				term_on(term, TERM_RED), incast_words[runs[i].kind],
				result.unfinished, term_off(term));
	}
	for (unsigned i = 0; i < n; i++)
		if (runs[i].late_ns)
			printf("%s: the machine kept the endpoints waiting for up to %s.\n",
				incast_words[runs[i].kind], human_ns(text, runs[i].late_ns));
}

/* Mean over each column of the whole run. */
static void spark_line(const struct term *term, const struct incast_run *run, const char *label,
	const double values[], double max)
{
	char picture[TERM_PICTURE_BYTES(SPARKS)];

	printf("  %-6s%-22s %s\n", incast_words[run->kind], label,
		term_spark(term, picture, values, SPARKS, max));
}

void incast_picture(const struct term *term, const struct incast_plan *plan,
	const struct incast_run runs[], unsigned n)
{
	double line = incast_line_bytes(plan);

	printf("\n%sOver time%s: %.1f s the victim alone, %.1f s seven to one, then bursts\n\n",
		term_on(term, TERM_BOLD), term_off(term), (double)plan->lead_ns / 1e9,
		(double)(plan->settle_ns + plan->steady_ns) / 1e9);
	for (unsigned i = 0; i < n; i++) {
		double into[SPARKS] = { 0 }, queue[SPARKS] = { 0 }, lost[SPARKS] = { 0 };
		const struct incast_run *run = &runs[i];

		for (size_t k = 1; k < run->n; k++) {
			const struct incast_sample *a = &run->samples[k - 1], *b = a + 1;
			size_t c = k * SPARKS / run->n;
			uint64_t bytes = 0;

			for (uint32_t f = 0; f < INCAST_SENDERS; f++)
				bytes += b->bytes[f] - a->bytes[f];
			if (b->at_ns > a->at_ns)
				into[c] += (double)bytes / line / (double)(b->at_ns - a->at_ns);
			queue[c] = WEFT_MAX(queue[c], (double)b->queue_bytes);
			lost[c] += (double)(b->trimmed + b->dropped - a->trimmed - a->dropped);
		}
		spark_line(term, run, "into the one NIC", into, 0);
		spark_line(term, run, "waiting for it", queue, 0);
		spark_line(term, run, run->kind == INCAST_TRIM ? "trimmed" : "dropped", lost, 0);
		putchar('\n');
	}
}

/* ---- for programs ---- */

static json_t *seconds(uint64_t ns)
{
	return json_real((double)ns / 1e9);
}

/* Of each step: how much more than at the one before. */
static json_t *flow_json(const struct incast_run *run, uint32_t flow)
{
	json_t *list = json_array();

	for (size_t i = 1; i < run->n; i++)
		json_array_append_new(
			list, json_integer((json_int_t)(run->samples[i].bytes[flow] -
							run->samples[i - 1].bytes[flow])));
	return list;
}

static json_t *series_json(const struct incast_run *run)
{
	json_t *flows = json_array(), *at = json_array(), *queue = json_array();
	json_t *trimmed = json_array(), *dropped = json_array(), *marked = json_array();

	for (uint32_t f = 0; f < INCAST_FLOWS; f++)
		json_array_append_new(flows, flow_json(run, f));
	for (size_t i = 1; i < run->n; i++) {
		const struct incast_sample *a = &run->samples[i - 1], *b = a + 1;

		json_array_append_new(at, seconds(b->at_ns));
		json_array_append_new(queue, json_integer(b->queue_bytes));
		json_array_append_new(trimmed, json_integer((json_int_t)(b->trimmed - a->trimmed)));
		json_array_append_new(dropped, json_integer((json_int_t)(b->dropped - a->dropped)));
		json_array_append_new(marked, json_integer((json_int_t)(b->marked - a->marked)));
	}
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "at_s", at, "flow_bytes", flows,
		"queue_bytes", queue, "trimmed", trimmed, "dropped", dropped, "marked", marked);
}

static json_t *counts_json(const struct incast_counts *c)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "data_pkts",
		(json_int_t)c->data, "sent_again", (json_int_t)c->again, "nacks",
		(json_int_t)c->nacks, "timeouts", (json_int_t)c->timeouts, "tail_probes",
		(json_int_t)c->tail_probes, "spurious", (json_int_t)c->spurious, "trimmed",
		(json_int_t)c->trimmed, "dropped", (json_int_t)c->dropped, "marked",
		(json_int_t)c->marked, "pauses", (json_int_t)c->pauses);
}

static json_t *result_json(const struct incast_result *r)
{
	json_t *shares = json_array();

	for (uint32_t f = 0; f < INCAST_FLOWS; f++)
		json_array_append_new(shares, json_real(r->share[f]));
	return json_pack("{s:o, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:i, s:I, s:I}", "shares",
		shares, "least", r->least, "most", r->most, "refused_share", r->again_share,
		"message_p50_ms", (double)r->message_p50_ns / 1e6, "message_p99_ms",
		(double)r->message_p99_ns / 1e6, "burst_p50_ms", (double)r->burst_p50_ns / 1e6,
		"burst_max_ms", (double)r->burst_max_ns / 1e6, "unfinished", (int)r->unfinished,
		"queue_p50_bytes", (json_int_t)r->queue_p50_bytes, "queue_max_bytes",
		(json_int_t)r->queue_max_bytes);
}

static json_t *run_json(const struct incast_plan *plan, const struct incast_run *run)
{
	struct incast_claim claims[INCAST_CLAIMS];
	struct incast_result result;
	json_t *list = json_array(), *bursts = json_array();

	incast_measure(plan, run, &result);
	incast_claims(run, &result, claims);
	for (unsigned i = 0; i < INCAST_CLAIMS; i++)
		json_array_append_new(
			list, json_pack("{s:s, s:b, s:s}", "text", claims[i].text, "holds",
				      claims[i].holds, "found", claims[i].found));
	for (uint32_t b = 0; b < plan->bursts; b++) {
		json_t *one = json_array();

		for (uint32_t f = 0; f < INCAST_SENDERS; f++)
			json_array_append_new(one, json_real((double)run->burst_ns[b][f] / 1e6));
		json_array_append_new(bursts, one);
	}
	return json_pack("{s:s, s:b, s:s, s:f, s:o, s:o, s:o, s:o, s:o, s:o}", "full",
		incast_words[run->kind], "ok", run->is_done, "error", run->error, "late_ms",
		(double)run->late_ns / 1e6, "counts", counts_json(&run->counts),
		"counts_before_bursts", counts_json(&run->at_stop), "result", result_json(&result),
		"claims", list, "burst_ms", bursts, "series", series_json(run));
}

static json_t *plan_json(const struct incast_plan *plan)
{
	json_t *bursts = json_array();

	for (uint32_t b = 0; b < plan->bursts; b++)
		json_array_append_new(bursts, seconds(incast_burst_ns(plan, b)));
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:f, s:f, s:I, s:s}", "lead_s",
		seconds(plan->lead_ns), "steady_s", seconds(incast_steady_ns(plan)), "stop_s",
		seconds(incast_stop_ns(plan)), "total_s", seconds(incast_total_ns(plan)),
		"bursts_s", bursts, "burst_bytes", (json_int_t)plan->burst_bytes, "ideal_ms",
		(double)incast_ideal_ns(plan) / 1e6, "line_bytes_per_ms",
		incast_line_bytes(plan) * 1e6, "link_bps", (json_int_t)plan->rate_bps, "marks",
		plan->marks_core_only ? "core" : "all");
}

json_t *incast_json(const struct incast_plan *plan, const struct incast_run runs[], unsigned n,
	const char *world)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < n; i++)
		json_array_append_new(list, run_json(plan, &runs[i]));
	return json_pack("{s:i, s:s, s:I, s:s, s:o, s:o, s:o}", "weft_demo_incast", 1, "version",
		WEFT_VERSION, "unix_s", (json_int_t)(weft_clock_unix_ns() / 1000000000), "world",
		world, "machine", page_machine(), "plan", plan_json(plan), "runs", list);
}

int incast_write(const char *folder, const json_t *json)
{
	return page_finish("weft demo incast", folder, incast_report_html, json);
}
