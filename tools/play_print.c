/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * play_print - what a run says: flow times beside the bound by arithmetic, what broke and how long
 * that was felt, and the claims, each with what was measured.
 */
#include "play.h"
#include "sim_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <weft/base.h>

void play_print_head(const struct weft_scenario *play, const struct term *term)
{
	const struct weft_scenario_head *h = weft_scenario_head(play);
	const struct weft_topo_shape *s = weft_topo_shape(weft_scenario_topo(play));
	char hosts[HUMAN_MAX], rate[HUMAN_MAX];

	fprintf(term->out, "%s%s%s%s%s\n", term_on(term, TERM_BOLD), h->name, term_off(term),
		*h->title && *h->name ? ": " : "", h->title);
	fprintf(term->out,
		"%s: %s hosts, %" PRIu32 " plane%s of %s, %" PRIu32 " T0s and %" PRIu32
		" T1s in each\n",
		s->name, human_count(hosts, s->hosts), s->planes, s->planes == 1 ? "" : "s",
		human_rate(rate, s->host_bps), s->t0s, s->t1s);
}

static const struct {
	uint64_t num, den;
} ranks[] = { { 1, 2 }, { 99, 100 }, { 999, 1000 }, { 1, 1 } };

static void add_time(struct table *t, uint64_t ps)
{
	if (ps)
		sim_us_add(t, ps, "not done");
	else
		table_add(t, "-");
}

static void add_load(
	const struct weft_scenario_result *r, const struct weft_scenario_group *g, struct table *t)
{
	uint64_t ideal_ps = g ? g->ideal_ps : r->ideal_ps, took_ps = g ? g->took_ps : r->took_ps;

	table_add(t, "%s", g ? g->name : "all");
	table_add(t, "%" PRIu32, g ? g->n_flows : r->n_messages);
	table_add(t, "%" PRIu32, g ? g->n_done : r->n_done);
	for (unsigned i = 0; i < WEFT_COUNT(ranks); i++)
		add_time(t,
			weft_scenario_quantile(r, g ? g->name : NULL, ranks[i].num, ranks[i].den));
	add_time(t, took_ps);
	table_add(t, "%.2f", (double)ideal_ps / 1e6);
	double over = weft_scenario_over_ideal(r, g);

	if (over > 0)
		table_add(t, "%.3f", over);
	else
		table_add(t, "-");
}

static void print_times(const struct weft_scenario_result *r, const struct term *term)
{
	static const char *const heads[] = { "load", "flows", "done", "P50 us", "P99", "P99.9",
		"slowest", "all us", "ideal us", "x ideal" };
	struct table t;

	table_begin(&t, "lrrrrrrrrr");
	for (unsigned i = 0; i < WEFT_COUNT(heads); i++)
		table_add(&t, "%s", heads[i]);
	for (uint32_t g = 0; g < r->n_groups; g++)
		add_load(r, &r->groups[g], &t);
	if (r->n_groups > 1)
		add_load(r, NULL, &t);
	table_print(&t, term);
}

/* Loads that go by steps: what a person who trains waits for. */
static void print_steps(const struct weft_scenario_result *r, const struct term *term)
{
	static const char *const heads[] = { "job", "steps", "over", "step P50 us", "P99", "P99.9",
		"slowest" };
	struct table t;
	uint32_t jobs = 0;

	for (uint32_t i = 0; i < r->n_groups; i++)
		jobs += r->groups[i].n_steps > 1;
	if (!jobs)
		return;
	table_begin(&t, "lrrrrrr");
	for (unsigned i = 0; i < WEFT_COUNT(heads); i++)
		table_add(&t, "%s", heads[i]);
	for (uint32_t i = 0; i < r->n_groups; i++) {
		const struct weft_scenario_group *g = &r->groups[i];

		if (g->n_steps < 2)
			continue;
		table_add(&t, "%s", g->name);
		table_add(&t, "%" PRIu32, g->n_steps);
		table_add(&t, "%" PRIu32, g->n_steps_over);
		for (unsigned k = 0; k < WEFT_COUNT(ranks); k++)
			add_time(&t, weft_scenario_step_quantile(g, ranks[k].num, ranks[k].den));
	}
	table_print(&t, term);
}

/* "12.3", or that it was not within what could be looked at. */
static void add_recovery(struct table *t, uint64_t ps, uint64_t of_ps)
{
	if (ps == WEFT_NEVER)
		table_add(t, "over %.1f", (double)of_ps / 1e6);
	else if (!of_ps)
		table_add(t, "-");
	else
		table_add(t, "%.1f", (double)ps / 1e6);
}

static void print_recoveries(const struct weft_scenario_result *r, const struct term *term)
{
	static const char *const heads[] = { "what broke", "at us", "before", "lowest",
		"felt for us", "whole after us", "" };
	struct table t;
	char n[HUMAN_MAX];

	if (r->n_missed)
		fprintf(term->out, "%" PRIu32 " fault%s would have come after the run was over\n",
			r->n_missed, r->n_missed == 1 ? "" : "s");
	if (!r->n_recoveries)
		return;
	table_begin(&t, "lrrrrrl");
	for (unsigned i = 0; i < WEFT_COUNT(heads); i++)
		table_add(&t, "%s", heads[i]);
	for (uint32_t i = 0; i < r->n_recoveries && i < 20; i++) {
		const struct weft_scenario_recovery *v = &r->recoveries[i];

		table_add(&t, "%s", r->events[v->event].text);
		table_add(&t, "%.1f", (double)r->events[v->event].begin_ps / 1e6);
		if (v->why) {
			for (unsigned k = 0; k < 4; k++)
				table_add(&t, "-");
		} else {
			table_add(&t, "%s", human_rate(n, (uint64_t)(v->before * 8)));
			table_add(&t, "%s", human_rate(n, (uint64_t)(v->lowest * 8)));
			if (v->felt_ps)
				add_recovery(&t, v->felt_ps, v->felt_of_ps);
			else
				table_add(&t, "not felt");
			add_recovery(&t, v->whole_ps, v->whole_of_ps);
		}
		table_add(&t, "%s", v->why ? v->why : "");
	}
	table_print(&t, term);
	if (r->n_recoveries > 20)
		fprintf(term->out, "... and %" PRIu32 " more\n", r->n_recoveries - 20);
}

void play_print_result(const struct weft_scenario_result *r, const struct term *term)
{
	const struct weft_counters *c = &r->counters;
	char n[6][HUMAN_MAX];

	print_times(r, term);
	print_steps(r, term);
	print_recoveries(r, term);
	fprintf(term->out,
		"packets    %s data, %s repeated, %s marked, %s trimmed, %s lost; paths %s "
		"retired, "
		"%s brought back\n",
		human_count(n[0], c->tx_data_pkts), human_count(n[1], c->tx_rtx_pkts),
		human_count(n[2], r->totals.marked), human_count(n[3], r->totals.trimmed),
		human_count(n[4], r->totals.lost), human_count(n[5], c->paths_retired),
		human_count((char[HUMAN_MAX]){ 0 }, c->paths_revived));
	if (r->slower > 0) {
		fprintf(term->out,
			"lab        seed %" PRIu64 ", %.2f s (and %.1f s to set up), time %.0f "
			"times slower\n",
			r->seed, r->run_s, r->open_s, r->slower);
		fprintf(term->out,
			"machine    stood still for %.2f us of the scenario's time at most\n",
			(double)r->late_ps / 1e6);
		return;
	}
	fprintf(term->out, "digest     %016" PRIx64 "  seed %" PRIu64 ", %.2f us simulated\n",
		r->totals.digest, r->seed, (double)r->totals.now_ps / 1e6);
	fprintf(term->out, "cost       %.2f s (and %.2f s to set up), %.2f M packet-hops/s\n",
		r->run_s, r->open_s,
		r->run_s > 0 ? (double)r->totals.packet_hops / 1e6 / r->run_s : 0);
}

void play_print_tally(const struct play_tally *t)
{
	if (t->failed)
		printf("FAILED");
	else if (t->passed)
		printf(t->skipped ? "all that were judged passed" : "all passed");
	else
		printf(t->skipped ? "none was judged" : "nothing is claimed");
	if (t->skipped)
		printf(" (%" PRIu32 " skipped)", t->skipped);
	printf("\n");
}

void play_print_claims(const struct weft_scenario *play, const struct weft_scenario_result *result,
	const char *where, const struct term *term, struct play_tally *tally)
{
	static const struct {
		const char *word;
		enum term_style style;
	} verdicts[] = { { "FAILED", TERM_RED }, { "passed", TERM_GREEN },
		{ "skipped", TERM_DIM } };
	uint32_t n = weft_scenario_head(play)->n_claims;
	struct table t;

	if (!n)
		return;
	table_begin(&t, "lll");
	table_add(&t, "claim");
	table_add(&t, "measured");
	table_add(&t, "verdict");
	for (uint32_t i = 0; i < n; i++) {
		struct weft_scenario_judgement j;

		weft_scenario_judge(play, i, result, where, &j);
		(void)play_tally_add(tally, i, &j);
		table_add(&t, "%s", j.claim);
		table_add(&t, "%s", *j.why ? j.why : j.measured);
		table_add(&t, "%s%s%s", term_on(term, verdicts[j.verdict].style),
			verdicts[j.verdict].word, term_off(term));
	}
	table_print(&t, term);
}
