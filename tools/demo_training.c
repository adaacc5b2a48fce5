/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_training - `weft demo training`: a model is trained on four hosts while the network breaks.
 *
 * The job is examples/training/train.py, PyTorch's DistributedDataParallel over Open MPI, unchanged
 * between the runs.  What counts is that the parameters are the same to the last bit, and how long
 * the longest step took: all ranks wait for the slowest.
 */
#include "demo.h"
#include "live_args.h"
#include "training.h"
#include "commands.h"

#include <argp.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/base.h>
#include <weft/net.h>

#define RATE_BPS UINT64_C(200000000) /* per link: eight of them are what four ranks can fill here */
#define RUN_NS UINT64_C(240000000000) /* nobody waits longer for a job */
#define RUNS_MAX 3u

struct training_args {
	const char *folder, *script;
	unsigned steps;
	bool only_tcp, only_weft;
};

static const struct argp_option options[] = {
	{ "steps", 's', "N", 0, "of the training (default: 200)", 0 },
	{ "only", 'o', "NET", 0, "weft or tcp (default: both)", 0 },
	{ "script", 'p', "FOLDER", 0, "where train.py is (default: examples/training)", 0 },
	{ "out", 'd', "FOLDER", 0, "where the report goes (default: build/demo-training)", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct training_args *a = state->input;

	switch (key) {
	case 's':
		a->steps = (unsigned)arg_number(state, "steps", arg, 10, TRAINING_STEPS_MAX);
		return 0;
	case 'o':
		a->only_tcp = !strcmp(arg, "tcp");
		a->only_weft = !strcmp(arg, "weft");
		if (!a->only_tcp && !a->only_weft)
			argp_error(state, "--only %s: wants weft or tcp", arg);
		return 0;
	case 'p':
		a->script = arg;
		return 0;
	case 'd':
		a->folder = arg;
		return 0;
	case ARGP_KEY_ARG:
		argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* On a terminal, one line that is drawn again; elsewhere the end of each run says enough. */
static void show_step(const struct term *term, const struct training_run *run, unsigned steps)
{
	char text[HUMAN_MAX];

	if (!term->tty || !run->n)
		return;
	printf("\r\x1b[K  %-22s step %u of %u, %s", training_name(run), run->n, steps,
		human_ns(text, run->steps[run->n - 1].ns));
	fflush(stdout);
}

static void show_hit(
	const struct term *term, const struct training_fault *fault, const struct training_hit *hit)
{
	printf("%s  step %3u  %s%s%s (%s)\n", term->tty ? "\r\x1b[K" : "", hit->step,
		term_on(term, TERM_YELLOW), fault->name, term_off(term), hit->text);
}

static int go(struct demo *demo, const struct training_plan *plan, struct training_job *job,
	struct training_run *run)
{
	uint64_t start = weft_clock_now(NULL);
	unsigned hits = 0;

	while (training_read(job, run, 10)) {
		uint64_t now = weft_clock_now(NULL);

		if (training_strike(plan, demo->lab, run, run->n, now) ||
			training_flap(plan, demo->lab, run, now))
			return -1;
		if (hits < run->n_hits) {
			show_hit(demo->term, &plan->faults[hits], &run->hits[hits]);
			hits++;
		}
		if (demo_stopped || now - start > RUN_NS) {
			(void)snprintf(run->error, sizeof(run->error), "%s after %u steps",
				demo_stopped ? "interrupted" : "still not done", run->n);
			return -1;
		}
		show_step(demo->term, run, plan->steps);
	}
	return 0;
}

static int run_once(struct demo *demo, const struct training_args *a, const char *self,
	const struct training_plan *plan, struct training_run *run)
{
	struct training_job *job = NULL;
	char error[DEMO_TEXT_BYTES];

	int result = training_start(demo, self, a->script, plan, run, &job);

	live_direct(true);
	if (!result)
		result = go(demo, plan, job, run);
	live_direct(false);
	training_stop(demo, job, run);
	(void)weft_lab_undo(demo->lab, 0, error, sizeof(error));
	training_judge(plan, demo->lab, run);
	printf("%s  %-22s %u steps%s%s\n", demo->term->tty ? "\r\x1b[K" : "", training_name(run),
		run->n, run->done ? "" : ": ", run->done ? "" : run->error);
	return result;
}

static void introduce(const struct demo *demo, const struct training_plan *plan)
{
	char rate[HUMAN_MAX];

	printf("\n%sA training job on a fabric that breaks%s\n\n"
	       "  PyTorch DistributedDataParallel, Open MPI, one rank on each of 4 hosts, %u "
	       "steps\n"
	       "  %d planes of 2 T0 + 2 T1 switches, links of %s; %u faults, by step\n\n",
		term_on(demo->term, TERM_BOLD), term_off(demo->term), plan->steps, DEMO_PLANES,
		human_rate(rate, demo->rate_bps), plan->n);
}

static bool same_parameters(const struct training_run runs[], unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (!runs[i].done || strcmp(runs[i].sha256, runs[0].sha256) != 0)
			return false;
	}
	return n > 0;
}

static int show(const struct demo *demo, const struct training_plan *plan,
	const struct training_run runs[], unsigned n)
{
	json_t *json = training_json(plan, runs, n);
	int result = same_parameters(runs, n) ? EXIT_OK : EXIT_FAILED;

	for (unsigned i = 0; i < n; i++)
		if (!training_as_planned(plan, &runs[i]))
			result = EXIT_FAILED;
	training_tables(demo->term, plan, runs, n);
	if (training_write(demo->folder, json))
		result = EXIT_FAILED;
	json_decref(json);
	return result;
}

static int demonstrate(struct demo *demo, const struct training_args *a, const char *self)
{
	static const struct {
		enum training_net net;
		bool is_faulty;
	} all[] = { { TRAINING_WEFT, false }, { TRAINING_WEFT, true }, { TRAINING_TCP, true } };
	struct training_run *runs = calloc(RUNS_MAX, sizeof(*runs));
	struct training_plan plan;
	char error[DEMO_TEXT_BYTES] = "";
	unsigned n = 0;

	static_assert(WEFT_COUNT(all) <= RUNS_MAX, "one each");
	if (!runs)
		return EXIT_FAILED;
	training_plan_fill(&plan, a->steps);
	introduce(demo, &plan);
	if (!a->only_weft && training_tcp_planes(demo, error, sizeof(error))) {
		fprintf(stderr, "weft demo training: %s\n", error);
		free(runs);
		return EXIT_FAILED;
	}
	for (size_t i = 0; i < WEFT_COUNT(all) && !demo_stopped; i++) {
		if ((a->only_tcp && all[i].net == TRAINING_WEFT) ||
			(a->only_weft && all[i].net == TRAINING_TCP))
			continue;
		runs[n].net = all[i].net;
		runs[n].is_faulty = all[i].is_faulty;
		(void)run_once(demo, a, self, &plan, &runs[n++]);
	}
	int result = demo_stopped ? EXIT_FAILED : show(demo, &plan, runs, n);

	free(runs);
	return result;
}

/* What it needs beyond packages.txt, which is a gigabyte that nothing else needs. */
static bool has_python(void)
{
	return !system("/usr/bin/python3 -c 'import torch, mpi4py' >/dev/null 2>&1") &&
	       !system("command -v mpirun >/dev/null 2>&1");
}

int demo_training(int argc, char **argv)
{
	static const struct argp argp = { options, parse, "",
		"Trains a small model on four hosts (PyTorch, Open MPI) over Weft with nothing "
		"broken, "
		"over Weft while the fabric breaks, and over TCP while it breaks; compares the "
		"parameters and the time that steps take.",
		NULL, NULL, NULL };
	struct training_args a = {
		.folder = "build/demo-training", .script = "examples/training", .steps = 200
	};
	struct term term;
	struct demo demo = { .term = &term, .rate_bps = RATE_BPS };
	char error[DEMO_TEXT_BYTES] = "", self[PATH_MAX] = "", script[PATH_MAX], folder[PATH_MAX];

	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return EXIT_USAGE;
	term_open(&term, stdout);
	if (!has_python()) {
		fprintf(stderr, "weft demo training: wants Debian's packages python3-torch, "
				"python3-mpi4py and openmpi-bin\n");
		return EXIT_FAILED;
	}
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 || !realpath(a.script, script)) {
		fprintf(stderr, "weft demo training: %s: no such folder\n", a.script);
		return EXIT_FAILED;
	}
	a.script = script;
	demo_catch_signals();
	int result = file_folder(a.folder, error, sizeof(error)) ? EXIT_FAILED : EXIT_OK;

	if (!result && realpath(a.folder, folder)) {
		demo.folder = folder;
		result = demo_lab_up(&demo, error, sizeof(error)) ? EXIT_FAILED : EXIT_OK;
	}
	if (result)
		fprintf(stderr, "weft demo training: %s\n", error);
	else
		result = demonstrate(&demo, &a, self);
	demo_lab_down(&demo);
	return result;
}
