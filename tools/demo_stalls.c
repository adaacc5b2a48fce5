/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_stalls - how long a transfer stands still when a plane, a switch or a port dies.
 *
 * The demo's own plan, deaths only, many times over; each death counts from its strike until it
 * was mended, so that coming back is judged too only by `weft demo`.  Beside each stall stands what
 * of it lies within one of the machine's own gaps; "not the machine's" is the worst of those that
 * do not for the larger part.  A death that the lab did not have in force for long enough is no
 * death: it is left out and named, and the exit status says so.
 */
#include "demo.h"
#include "live_args.h"
#include "commands.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/base.h>

#define RUNS_MAX 1000
#define SPEED_MBPS 120
#define LEAST_SHARE 0.75 /* of its time that a death must have lasted; when it came is the same */
#define GOOD_SHARE 0.98  /* of what the lines carry: headers and faults take more than the rest */

struct stalls_args {
	enum weft_lab_switches switches;
	const char *folder;
	unsigned runs;
	bool json;
};

struct death { /* one time that a fault struck; all zero: it was not made */
	bool is_made;
	struct demo_gap stall;
	uint64_t machine_ns;
	double before_bps, during_bps;
};

static const struct argp_option options[] = {
	{ "runs", 'n', "N", 0, "how many times each (default: 10)", 0 },
	{ "out", 'd', "FOLDER", 0, "where file and copy go (default: build/demo)", 0 },
	{ "json", 'j', NULL, 0, "the numbers of each death, for programs", 0 },
	DEMO_FABRIC_OPTION,
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct stalls_args *a = state->input;

	switch (key) {
	case 'n':
		a->runs = (unsigned)arg_number(state, "runs", arg, 1, RUNS_MAX);
		return 0;
	case 'f':
		if (!weft_lab_switches_find(arg, &a->switches))
			argp_error(state, "--fabric %s: wants soft, kernel or xdp", arg);
		return 0;
	case 'd':
		a->folder = arg;
		return 0;
	case 'j':
		a->json = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int by_length(const void *a, const void *b)
{
	const struct death *one = a, *two = b;

	if (one->is_made != two->is_made)
		return one->is_made ? -1 : 1;
	return one->stall.ns < two->stall.ns ? -1 : one->stall.ns > two->stall.ns;
}

static double to_ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

/* No empty bin at all: shorter than two of them. */
static void add_stall(struct table *table, uint64_t ns)
{
	if (ns)
		table_add(table, "%.1f", to_ms(ns));
	else
		table_add(table, "<%u", (unsigned)(2 * DEMO_BIN_NS / 1000000));
}

static unsigned count_made(const struct death *deaths, unsigned n)
{
	unsigned made = 0;

	for (unsigned i = 0; i < n; i++)
		made += deaths[i].is_made;
	return made;
}

static void print_deaths(
	const struct term *term, const struct demo_plan *plan, struct death *deaths, unsigned runs)
{
	static const char *const heads[] = { "fault", "times", "median ms", "worst ms",
		"of it the machine's", "worst not the machine's", "goodput kept" };
	struct table table;

	table_begin(&table, "lrrrrrr");
	for (size_t i = 0; i < WEFT_COUNT(heads); i++)
		table_add(&table, "%s", heads[i]);
	for (unsigned i = 0; i < plan->n; i++) {
		struct death *all = deaths + (size_t)i * runs;
		uint64_t blameless = 0;
		bool any_blameless = false;
		double kept = 0;

		unsigned made = count_made(all, runs);

		qsort(all, runs, sizeof(*all), by_length);
		table_add(&table, "%s", plan->faults[i]->name);
		if (!made) {
			table_add(&table, "NOT MADE");
			for (size_t c = 2; c < WEFT_COUNT(heads); c++)
				table_add(&table, "-");
			continue;
		}
		table_add(&table, "%u", made);
		for (unsigned r = 0; r < made; r++) {
			if (2 * all[r].machine_ns < all[r].stall.ns || !all[r].stall.ns) {
				blameless = all[r].stall.ns;
				any_blameless = true;
			}
			kept += all[r].before_bps > 0 ? all[r].during_bps / all[r].before_bps : 0;
		}
		add_stall(&table, all[made / 2].stall.ns);
		add_stall(&table, all[made - 1].stall.ns);
		table_add(&table, "%.1f", to_ms(all[made - 1].machine_ns));
		if (any_blameless)
			add_stall(&table, blameless);
		else
			table_add(&table, "-"); /* nothing is known of the network's own */
		table_add(&table, "%.1f %%", 100 * kept / made);
	}
	table_print(&table, term);
}

static int print_json(const struct demo_plan *plan, const struct death *deaths, unsigned runs)
{
	json_t *root = json_array();

	for (unsigned i = 0; i < plan->n; i++) {
		json_t *list = json_array();

		for (unsigned r = 0; r < runs; r++) {
			const struct death *d = &deaths[(size_t)i * runs + r];

			if (d->is_made)
				json_array_append_new(
					list, json_pack("{s:f, s:f, s:f, s:f}", "stall_ms",
						      to_ms(d->stall.ns), "machine_ms",
						      to_ms(d->machine_ns), "before_bps",
						      d->before_bps, "during_bps", d->during_bps));
		}
		json_array_append_new(root,
			json_pack("{s:s, s:o}", "fault", plan->faults[i]->name, "deaths", list));
	}
	int result = json_dumpf(root, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));

	printf("\n");
	json_decref(root);
	return result ? EXIT_FAILED : EXIT_OK;
}

static int run_once(struct demo *demo, struct death *deaths, unsigned r, unsigned runs)
{
	struct demo_run *run = calloc(1, sizeof(*run));

	if (!run)
		return EXIT_FAILED;
	int result = run_transport(demo, run);

	for (unsigned i = 0; i < demo->plan.n && !result; i++) {
		const struct demo_hit *hit = &run->hits[i];
		struct death *d = &deaths[(size_t)i * runs + r];

		/* Without a healthy time before it there is nothing to compare with. */
		if ((double)hit->judged.lasted_ns < LEAST_SHARE * (double)demo->plan.hold_ns ||
			hit->before_bps <= 0) {
			fprintf(stderr, "weft demo stalls: run %u: %s: NOT MADE: %s\n", r + 1,
				demo->plan.faults[i]->name, hit->judged.why);
			continue;
		}
		d->is_made = true;
		d->stall = series_stall(&run->series, hit->judged.from_ns, hit->judged.to_ns);
		d->machine_ns = run_machine_share(run, d->stall);
		d->before_bps = hit->before_bps;
		d->during_bps = hit->during_bps;
	}
	if (!result && run->wrong_bytes)
		(void)snprintf(run->error, sizeof(run->error), "the copy is wrong");
	result = result || *run->error ? EXIT_FAILED : EXIT_OK;
	if (result)
		fprintf(stderr, "weft demo stalls: run %u: %s\n", r + 1, run->error);
	else
		fprintf(stderr, "run %u of %u: longest stall %.2f ms, of it the machine's %.2f\n",
			r + 1, runs, to_ms(run->stall.ns), to_ms(run->stall_machine_ns));
	run_end(run);
	free(run);
	return result;
}

static int measure(struct demo *demo, const struct stalls_args *a)
{
	struct death *deaths = calloc((size_t)a->runs * DEMO_FAULTS_MAX, sizeof(*deaths));
	int result = deaths ? EXIT_OK : EXIT_FAILED;

	for (unsigned r = 0; r < a->runs && !result && !demo_stopped; r++)
		result = run_once(demo, deaths, r, a->runs);
	if (!result && !demo_stopped && a->json)
		result = print_json(&demo->plan, deaths, a->runs);
	else if (!result && !demo_stopped)
		print_deaths(demo->term, &demo->plan, deaths, a->runs);
	for (unsigned i = 0; i < demo->plan.n && !result; i++)
		if (count_made(deaths + (size_t)i * a->runs, a->runs) < a->runs)
			result = EXIT_FAILED;
	free(deaths);
	return demo_stopped ? EXIT_FAILED : result;
}

int demo_stalls(int argc, char **argv)
{
	static const struct argp argp = { options, parse, "",
		"How long a transfer stands still when a plane, a T1 or a port dies, with carrier "
		"or "
		"silently: each many times, median and worst.",
		NULL, NULL, NULL };
	struct stalls_args a = { .folder = "build/demo", .runs = 10 };
	char error[DEMO_TEXT_BYTES] = "", path[4096];
	struct term term;
	struct demo demo = {
		.term = &term, .quiet = true, .rate_bps = UINT64_C(1000000) * SPEED_MBPS
	};

	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return EXIT_USAGE;
	term_open(&term, stdout);
	demo.switches = a.switches;
	plan_all(&demo.plan, true);
	demo.plan.lead_ns = 500000000;
	demo.plan.hold_ns = 250000000;
	demo.plan.gap_ns = 400000000;
	demo.folder = a.folder;
	demo.file = path;
	demo.file_bytes = (uint64_t)(GOOD_SHARE * DEMO_PLANES * (double)demo.rate_bps / 8 *
				     (double)plan_total_ns(&demo.plan) / 1e9);
	(void)snprintf(path, sizeof(path), "%s/stalls-input", a.folder);
	demo_catch_signals();
	int result = file_folder(a.folder, error, sizeof(error)) ||
		     file_assemble(path, demo.file_bytes, error, sizeof(error)) ||
		     demo_lab_up(&demo, error, sizeof(error));
	if (result)
		fprintf(stderr, "weft demo stalls: %s\n", error);
	else
		result = measure(&demo, &a);
	demo_lab_down(&demo);
	return result ? EXIT_FAILED : EXIT_OK;
}
