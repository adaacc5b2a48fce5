/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_incast - `weft demo incast`: seven hosts send to one, and what trimming is good for.
 *
 * The same load three times, by what switches do with what does not fit.  In virtual time it takes
 * seconds and is the same every time; live, it lasts as long as it says and the machine has its
 * share in it.
 */
#include "demo.h"
#include "incast.h"
#include "commands.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/base.h>

struct incast_args {
	const char *folder;
	bool quick, is_virtual, marks_core_only;
	bool only[INCAST_KINDS], any_only;
};

static const struct argp_option options[] = {
	{ "virtual", 'v', NULL, 0, "in virtual time: exact, and the same every time", 0 },
	{ "quick", 'q', NULL, 0, "a short one: 8 s instead of 22 per run", 0 },
	{ "only", 'o', "NAME", 0, "trim, drop or pause; may be given twice (default: all three)",
		0 },
	{ "marks", 'm', "WHERE", 0,
		"all, or core: no ECN marks on the last hop, as in the paper (default: all)", 0 },
	{ "out", 'd', "FOLDER", 0, "where the report goes (default: build/demo-incast)", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static void parse_only(struct argp_state *state, struct incast_args *a, const char *arg)
{
	for (unsigned kind = 0; kind < INCAST_KINDS; kind++) {
		if (strcmp(incast_words[kind], arg))
			continue;
		a->only[kind] = a->any_only = true;
		return;
	}
	argp_error(state, "--only %s: wants trim, drop or pause", arg);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct incast_args *a = state->input;

	switch (key) {
	case 'v':
		a->is_virtual = true;
		return 0;
	case 'q':
		a->quick = true;
		return 0;
	case 'd':
		a->folder = arg;
		return 0;
	case 'm':
		if (strcmp(arg, "all") && strcmp(arg, "core"))
			argp_error(state, "--marks %s: wants all or core", arg);
		a->marks_core_only = !strcmp(arg, "core");
		return 0;
	case 'o':
		parse_only(state, a, arg);
		return 0;
	case ARGP_KEY_ARG:
		argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void introduce(
	const struct term *term, const struct incast_plan *plan, const struct incast_args *a)
{
	char rate[HUMAN_MAX], bytes[HUMAN_MAX];

	printf("\n%sSeven send to one%s\n\n"
	       "  h4 to h10 to h0, and h15 to its neighbour h1, which must not notice\n"
	       "  2 planes of 4 T0 + 4 T1 switches (ours), links of %s, marks: %s\n"
	       "  %.1f s of everything that goes, then %u bursts of 7 x %s; %s\n\n",
		term_on(term, TERM_BOLD), term_off(term), human_rate(rate, plan->rate_bps),
		plan->marks_core_only ? "not on the last hop" : "everywhere",
		(double)(plan->settle_ns + plan->steady_ns) / 1e9, plan->bursts,
		human_bytes(bytes, plan->burst_bytes), a->is_virtual ? "virtual time" : "live");
}

static int show(const struct term *term, const struct incast_plan *plan,
	const struct incast_run runs[], unsigned n, const struct incast_args *a)
{
	json_t *json = incast_json(plan, runs, n, a->is_virtual ? "virtual" : "live");
	int result = EXIT_OK;

	incast_picture(term, plan, runs, n);
	incast_tables(term, plan, runs, n);
	if (incast_write(a->folder, json))
		result = EXIT_FAILED;
	json_decref(json);
	for (unsigned i = 0; i < n; i++) {
		struct incast_result measured;

		incast_measure(plan, &runs[i], &measured);
		if (measured.unfinished)
			result = EXIT_FAILED;
		if (runs[i].is_done)
			continue;
		fprintf(stderr, "weft demo incast: %s: %s\n", incast_words[runs[i].kind],
			runs[i].error);
		result = EXIT_FAILED;
	}
	return result;
}

int demo_incast(int argc, char **argv)
{
	static const struct argp argp = { options, parse, "",
		"Seven hosts send to one NIC while an eighth sends to its neighbour, with switches "
		"that trim, that drop and that pause; shows what each does to shares, timeouts and "
		"the time that bursts take.",
		NULL, NULL, NULL };
	struct incast_args a = { .folder = "build/demo-incast" };
	struct incast_run runs[INCAST_KINDS] = { 0 };
	struct incast_plan plan;
	struct term term;
	char error[DEMO_TEXT_BYTES] = "";
	unsigned n = 0;

	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return EXIT_USAGE;
	term_open(&term, stdout);
	demo_catch_signals();
	incast_plan_fill(&plan, a.quick, !a.is_virtual);
	plan.marks_core_only = a.marks_core_only;
	if (file_folder(a.folder, error, sizeof(error))) {
		fprintf(stderr, "weft demo incast: %s\n", error);
		return EXIT_FAILED;
	}
	introduce(&term, &plan, &a);
	for (unsigned kind = 0; kind < INCAST_KINDS && !demo_stopped; kind++) {
		if (a.any_only && !a.only[kind])
			continue;
		runs[n].kind = (enum incast_kind)kind;
		if (a.is_virtual)
			(void)incast_virtual(&plan, &runs[n]);
		else
			(void)incast_live(&plan, a.folder, &runs[n]);
		n++;
	}
	int result = demo_stopped ? EXIT_FAILED : show(&term, &plan, runs, n, &a);

	for (unsigned i = 0; i < n; i++)
		incast_end(&runs[i]);
	return result;
}
