/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_play - `weft play SCENARIO`: a scenario file, and whether its claims hold.
 *
 * All seeds are run, also after one has failed: a claim that fails under one seed of three says
 * something else than one that fails under all.
 */
#include "live_args.h"
#include "play_lab.h"
#include "sim_text.h"
#include "sim_progress.h"
#include "sim_ranks.h"
#include "commands.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <weft/net.h>
#include <weft/report.h>
#include <weft/yaml.h>

enum {
	OPTION_ON = 256,
	OPTION_SVG,
	OPTION_REPORT,
	OPTION_DRY,
	OPTION_RATE,
	OPTION_RANKS,
	KEPT_MAX = 16
};

struct play_args {
	const char *scenario, *on, *json, *svg, *report;
	const char *text; /* NULL: it is in the file scenario */
	uint64_t seed_first, seed_last;
	uint64_t rate_bps;
	uint32_t threads, ranks; /* ranks: 0 is not said */
	bool has_seeds, dry_run, quiet;
};

/* clang-format off */
static const struct argp_option options[] = {
	{ "on", OPTION_ON, "WORLD", 0, "sim: in virtual time (default); lab: live, slower", 0 },
	{ "rate", OPTION_RATE, "RATE", 0, "lab: of a host's line (default: 400Mb/s by all hosts)",
		0 },
	{ "seeds", 's', "N[-M]", 0, "instead of those of the file", 0 },
	{ "threads", 't', "N", 0, "results do not depend on it (default: 1)", 0 },
	{ "ranks", OPTION_RANKS, "N", 0,
		"under mpirun or srun: so many and no others; 1: alone (default: all of them)", 0 },
	{ "json", 'j', "FILE", 0, "write JSON lines, - for standard output", 0 },
	{ "report", OPTION_REPORT, "FILE", 0, "write a page with all pictures (HTML)", 0 },
	{ "svg", OPTION_SVG, "FILE", 0, "write the scenario's picture, of the first seed", 0 },
	{ "dry-run", OPTION_DRY, NULL, 0, "read, say how much memory it needs, and stop", 0 },
	{ "quiet", 'q', NULL, 0, "print claims that fail, and one line at the end", 0 },
	{ 0 },
};
/* clang-format on */

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct play_args *a = state->input;

	switch (key) {
	case OPTION_ON:
		if (strcmp(arg, "sim") && strcmp(arg, "lab"))
			argp_error(state, "on: \"%s\", wanted is sim or lab", arg);
		a->on = arg;
		return 0;
	case 's':
		if (!weft_scenario_seeds(arg, &a->seed_first, &a->seed_last))
			argp_error(state, "seeds: \"%s\", wanted is 7 or 1-3", arg);
		a->has_seeds = true;
		return 0;
	case 't':
		a->threads = (uint32_t)arg_number(state, "threads", arg, 1, WEFT_SIM_THREADS_MAX);
		return 0;
	case OPTION_RANKS:
		a->ranks = (uint32_t)arg_number(state, "ranks", arg, 1, WEFT_SIM_RANKS_MAX);
		return 0;
	case 'j':
		a->json = arg;
		return 0;
	case OPTION_SVG:
		a->svg = arg;
		return 0;
	case OPTION_REPORT:
		a->report = arg;
		return 0;
	case OPTION_RATE:
		if (!weft_unit_parse(WEFT_UNIT_SPEED, arg, &a->rate_bps) ||
			a->rate_bps < WEFT_TOPO_BPS_MIN || a->rate_bps > WEFT_TOPO_FREE_BPS)
			argp_error(state, "rate: \"%s\", wanted is a speed from 1Mb/s to 400Gb/s",
				arg);
		return 0;
	case OPTION_DRY:
		a->dry_run = true;
		return 0;
	case 'q':
		a->quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		if (a->scenario)
			argp_usage(state);
		a->scenario = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->scenario)
			argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static bool is_live(const struct play_args *a)
{
	return !strcmp(a->on, "lab");
}

struct session {
	const struct play_args *args;
	struct weft_scenario *play;
	struct term term;
	FILE *json;
	uint32_t runs;
	struct play_tally tally;
	struct weft_scenario_result *kept[KEPT_MAX]; /* for the page */
	struct sim_ranks ranks;
	char error[1024]; /* "": nothing is wrong */
};

static int fail(struct session *s, const char *what)
{
	(void)snprintf(s->error, sizeof(s->error), "%s", what);
	return EXIT_FAILED;
}

/* Says what it needs where that is asked for, or more than there is. */
static bool fits(struct session *s, int *rc)
{
	const struct play_args *a = s->args;
	struct weft_scenario_options o = {
		.seed = a->seed_first, .threads = a->threads, .ranks = s->ranks.to
	};
	struct weft_sim_memory m;
	char error[512], n[2][HUMAN_MAX];

	*rc = EXIT_OK;
	if (!weft_scenario_estimate(s->play, &o, &m, error, sizeof(error))) {
		*rc = fail(s, error);
		return false;
	}
	if (a->dry_run)
		printf("%s: %sneeds %s of memory\n", a->scenario, s->ranks.to ? "each rank " : "",
			human_bytes(n[0], m.total));
	if (m.total <= m.available)
		return !a->dry_run;
	if (s->ranks.to)
		snprintf(error, sizeof(error),
			"%s: rank %" PRIu32 " needs %s of memory, and its share of what is free is"
			" %s: use more machines, fewer paths or hosts",
			a->scenario, m.rank, human_bytes(n[0], m.total),
			human_bytes(n[1], m.available));
	else
		snprintf(error, sizeof(error),
			"%s: this needs %s of memory, and %s are free: use fewer paths or hosts",
			a->scenario, human_bytes(n[0], m.total), human_bytes(n[1], m.available));
	*rc = fail(s, error);
	return false;
}

/* The picture that the scenario wants. */
static bool draw(const struct session *s, const struct weft_scenario_result *r, char *error,
	size_t error_bytes)
{
	const struct weft_scenario_head *head = weft_scenario_head(s->play);
	const char *kind = head->is_picture_set ? head->picture : weft_report_kind_usual(r);
	FILE *out = fopen(s->args->svg, "w");
	bool drawn = out && weft_report_picture(out, kind, r, true);

	if (out && (fclose(out) || !drawn))
		(void)snprintf(error, error_bytes, "%s: no picture \"%s\" of this run",
			s->args->svg, kind);
	else if (!out)
		(void)snprintf(error, error_bytes, "%s: %s", s->args->svg, strerror(errno));
	return drawn;
}

static bool write_page(const struct session *s, char *error, size_t error_bytes)
{
	FILE *out = fopen(s->args->report, "w");
	bool good = out && weft_report_page(out, s->play, s->kept,
				   s->runs < KEPT_MAX ? s->runs : KEPT_MAX, s->args->on);

	if (!out || fclose(out) || !good) {
		(void)snprintf(error, error_bytes, "%s: cannot be written: %s", s->args->report,
			strerror(errno));
		return false;
	}
	return true;
}

static struct weft_scenario_result *simulate(
	struct session *s, uint64_t seed, char *error, size_t error_bytes)
{
	struct sim_progress progress;
	char what[64];

	(void)snprintf(what, sizeof(what), "seed %" PRIu64, seed);
	sim_progress_begin(
		&progress, what, weft_scenario_head(s->play)->stop_ps, sim_ranks_screen(&s->ranks));
	struct weft_scenario_options o = { .seed = seed,
		.threads = s->args->threads,
		.ranks = s->ranks.to,
		.watch = s->ranks.is_silent ? NULL : sim_progress_watch,
		.watch_arg = &progress,
		.now_ns = weft_clock_now };
	struct weft_scenario_result *r = weft_scenario_run(s->play, &o, error, error_bytes);

	sim_progress_end(&progress);
	return r;
}

static bool run_one(struct session *s, uint64_t seed, char *error, size_t error_bytes)
{
	const struct play_args *a = s->args;
	const struct weft_scenario_head *head = weft_scenario_head(s->play);
	struct weft_scenario_result *r =
		is_live(a) ? play_lab_run(s->play, seed, a->rate_bps, a->quiet ? NULL : &s->term,
				     error, error_bytes)
			   : simulate(s, seed, error, error_bytes);

	if (!r)
		return false;
	if (!a->quiet) {
		fprintf(s->term.out, "\n");
		play_print_result(r, &s->term);
		play_print_claims(s->play, r, a->on, &s->term, &s->tally);
	} else {
		for (uint32_t i = 0; i < head->n_claims; i++) {
			struct weft_scenario_judgement j;

			weft_scenario_judge(s->play, i, r, a->on, &j);
			if (!play_tally_add(&s->tally, i, &j))
				continue;
			printf("%s:%" PRIu32 ": seed %" PRIu64 ": %s: measured %s\n", a->scenario,
				j.line, seed, j.claim, *j.why ? j.why : j.measured);
		}
	}
	bool good = !s->json || play_json_write(s->json, s->play, r, a->on);

	if (!good)
		(void)snprintf(error, error_bytes, "%s: %s", a->json, strerror(errno));
	if (good && a->svg && !s->runs)
		good = draw(s, r, error, error_bytes);
	if (a->report && s->runs < KEPT_MAX)
		s->kept[s->runs] = r;
	else
		weft_scenario_result_free(r);
	s->runs++;
	return good;
}

static int run_all(struct session *s)
{
	const struct play_args *a = s->args;
	uint32_t n = weft_scenario_head(s->play)->n_claims;
	char error[512];

	for (uint64_t seed = a->seed_first; seed <= a->seed_last; seed++) {
		if (!run_one(s, seed, error, sizeof(error)))
			return fail(s, error);
	}
	if (s->json != stdout)
		play_tally_shares(&s->tally, a->scenario);
	if (a->report && !write_page(s, error, sizeof(error)))
		return fail(s, error);
	if ((a->quiet || s->runs > 1) && s->json != stdout) {
		printf("%s: %" PRIu32 " claim%s, %" PRIu32 " seed%s: ", a->scenario, n,
			n == 1 ? "" : "s", s->runs, s->runs == 1 ? "" : "s");
		play_print_tally(&s->tally);
	}
	return s->tally.failed ? EXIT_FAILED : EXIT_OK;
}

static int play_all(struct session *s)
{
	const struct play_args *a = s->args;
	bool is_stdout = a->json && !strcmp(a->json, "-");
	char error[512];
	int rc = EXIT_OK;

	if (is_live(a) ? a->dry_run : !fits(s, &rc))
		return rc;
	s->json = !a->json ? NULL : is_stdout ? stdout : fopen(a->json, "w");
	if (a->json && !s->json) {
		(void)snprintf(error, sizeof(error), "%s: %s", a->json, strerror(errno));
		return fail(s, error);
	}
	if (!a->quiet)
		play_print_head(s->play, &s->term);
	rc = run_all(s);
	if (s->json && !is_stdout && fclose(s->json))
		rc = fail(s, "JSON: cannot be written");
	return rc;
}

static int prepare(struct session *s, struct play_args *a)
{
	char error[1024];

	if (!sim_ranks_join(&s->ranks, is_live(a) ? 1 : a->ranks, error, sizeof(error)))
		return fail(s, error);
	if (s->ranks.is_silent) /* files are rank 0's to write */
		a->json = a->svg = a->report = NULL;
	if (a->text ? weft_scenario_open_text(&s->play, a->text, strlen(a->text), a->scenario, "",
			      error, sizeof(error))
		    : weft_scenario_open(&s->play, a->scenario, error, sizeof(error)))
		return fail(s, error);
	if (!a->has_seeds) {
		a->seed_first = weft_scenario_head(s->play)->seed_first;
		a->seed_last = weft_scenario_head(s->play)->seed_last;
	}
	term_open(&s->term, stdout);
	return EXIT_OK;
}

static int work(struct play_args *a)
{
	struct session s = { .args = a };
	int rc = prepare(&s, a);

	if (rc == EXIT_OK)
		rc = play_all(&s);
	if (!sim_ranks_leave(&s.ranks, s.error, sizeof(s.error))) {
		if (!s.ranks.is_silent)
			fprintf(stderr, "%s\n", s.error);
		rc = EXIT_FAILED;
	}
	if (s.ranks.is_silent)
		rc = EXIT_OK;
	for (unsigned i = 0; i < KEPT_MAX; i++)
		weft_scenario_result_free(s.kept[i]);
	weft_scenario_close(s.play);
	return rc;
}

int play_text(const char *text, const struct sim_args *args)
{
	struct play_args a = { .scenario = "weft sim",
		.text = text,
		.on = "sim",
		.json = args->json ? "-" : NULL,
		.report = args->report,
		.threads = args->config.threads,
		.ranks = args->ranks,
		.dry_run = args->dry_run,
		.quiet = args->json };

	return work(&a);
}

int cmd_play(int argc, char **argv)
{
	static const struct argp argp = { options, parse, "SCENARIO",
		"Play a scenario file: its fabric, its load, what breaks; and see whether what it "
		"claims holds under every seed.",
		NULL, NULL, NULL };
	struct play_args a = { .on = "sim", .threads = 1 };

	unsigned flags = sim_ranks_argp_flags();

	if (argp_parse(&argp, argc, argv, flags, NULL, &a))
		return flags ? EXIT_OK : EXIT_USAGE; /* rank 0 explains it */
	return work(&a);
}
