/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_demo - `weft demo`: a file crosses a fabric that breaks.
 *
 * The fabric is written down anew for each demo, with link speeds at which the transfer lasts as
 * long as the plan and the machine is far from busy, so that what is seen is the network's doing.
 */
#include "demo.h"
#include "commands.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/base.h>

#define SPEED_MBPS 120 /* of a link, if we choose the file */
#define SPEED_QUICK_MBPS 60
#define SPEED_MIN_MBPS 20  /* slower than this, a packet's own time becomes a stall */
#define SPEED_MAX_MBPS 200 /* faster than this, two CPUs are busy */
/* The file lasts a little longer than the plan: headers take 0.05 of the lines, faults as much. */
#define SHARE_OF_LINES 0.98

struct demo_args {
	enum weft_lab_switches switches;
	const char *file, *folder;
	bool quick;
	bool only[DEMO_TRANSPORTS], any_only;
};

static const struct argp_option options[] = {
	{ "quick", 'q', NULL, 0, "a short one: slower links, a smaller file, 5 s per transport",
		0 },
	{ "only", 'o', "NAME", 0, "weft, mptcp or tcp; may be given twice (default: all three)",
		0 },
	{ "out", 'd', "FOLDER", 0, "where report and copy go (default: build/demo)", 0 },
	DEMO_FABRIC_OPTION,
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static const char *const words[DEMO_TRANSPORTS] = { "weft", "mptcp", "tcp" };
	struct demo_args *a = state->input;
	unsigned t = 0;

	switch (key) {
	case 'q':
		a->quick = true;
		return 0;
	case 'f':
		if (!weft_lab_switches_find(arg, &a->switches))
			argp_error(state, "--fabric %s: wants soft, kernel or xdp", arg);
		return 0;
	case 'd':
		a->folder = arg;
		return 0;
	case 'o':
		while (t < DEMO_TRANSPORTS && strcmp(words[t], arg))
			t++;
		if (t == DEMO_TRANSPORTS)
			argp_error(state, "--only %s: wants weft, mptcp or tcp", arg);
		else
			a->only[t] = a->any_only = true;
		return 0;
	case ARGP_KEY_ARG:
		if (a->file)
			argp_usage(state);
		a->file = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- what is copied, how fast ---- */

/* Bytes that all planes carry in the plan's time, less what faults and headers cost. */
static uint64_t bytes_at(const struct demo *demo, uint64_t rate_bps)
{
	double seconds = (double)plan_total_ns(&demo->plan) / 1e9;

	return (uint64_t)(seconds * SHARE_OF_LINES * DEMO_PLANES * (double)rate_bps / 8);
}

static int choose_file(
	struct demo *demo, const struct demo_args *a, char *error, size_t error_bytes)
{
	static char path[4096];
	char least[HUMAN_MAX];

	demo->rate_bps = UINT64_C(1000000) * (a->quick ? SPEED_QUICK_MBPS : SPEED_MBPS);
	demo->file = a->file;
	demo->file_bytes = bytes_at(demo, demo->rate_bps);
	if (!a->file) {
		(void)snprintf(path, sizeof(path), "%s/input", demo->folder);
		demo->file = path;
		return file_assemble(path, demo->file_bytes, error, error_bytes);
	}
	if (file_bytes(a->file, &demo->file_bytes, error, error_bytes))
		return -1;
	uint64_t min = UINT64_C(1000000) * SPEED_MIN_MBPS, max = UINT64_C(1000000) * SPEED_MAX_MBPS;
	if (demo->file_bytes < bytes_at(demo, min)) {
		(void)snprintf(error, error_bytes,
			"%s: too small to last through all faults, wants %s or more (or --quick)",
			a->file, human_bytes(least, bytes_at(demo, min)));
		return -1;
	}
	demo->rate_bps = min * demo->file_bytes / bytes_at(demo, min) / 1000000 * 1000000;
	demo->rate_bps = WEFT_MAX(min, WEFT_MIN(max, demo->rate_bps));
	return 0;
}

static void introduce(const struct demo *demo)
{
	const struct term *t = demo->term;
	char bytes[HUMAN_MAX], rate[HUMAN_MAX];

	printf("\n%sA file crosses a fabric that breaks%s\n\n"
	       "  %s, %s, from h0 to h2\n"
	       "  %d planes of 2 T0 + 2 T1 switches (%s), links of %s\n"
	       "  %u faults of %.1f s in plane 0, the same for each transport\n\n",
		term_on(t, TERM_BOLD), term_off(t), demo->file,
		human_bytes(bytes, demo->file_bytes), DEMO_PLANES,
		weft_lab_switches(demo->lab) == WEFT_LAB_SWITCHES_KERNEL ? "the kernel's own SRv6"
									 : "Weft's own",
		human_rate(rate, demo->rate_bps), demo->plan.n, (double)demo->plan.hold_ns / 1e9);
}

static int show(struct demo *demo, struct demo_run runs[], unsigned n)
{
	json_t *json = report_json(demo, runs, n);
	int result = EXIT_OK;

	picture_print(demo, runs, n);
	report_tables(demo, runs, n);
	if (report_write(demo, json))
		result = EXIT_FAILED;
	json_decref(json);
	printf("Next: weft demo stalls, incast, training; your own file: weft demo FILE; break "
	       "things by "
	       "hand:\n  weft lab up examples/fabrics/lab8.yaml; weft lab fault plane-down 0 "
	       "(docs/lab.md)\n");
	for (unsigned r = 0; r < n; r++) {
		if (!runs[r].done || runs[r].wrong_bytes || !runs_all_made(demo, &runs[r], 1))
			result = EXIT_FAILED;
		if (*runs[r].error)
			fprintf(stderr, "weft demo: %s: %s\n", demo_names[runs[r].transport],
				runs[r].error);
	}
	return result;
}

static int demonstrate(struct demo *demo, const struct demo_args *a)
{
	struct demo_run *runs = calloc(DEMO_TRANSPORTS, sizeof(*runs));
	unsigned n = 0;

	if (!runs)
		return EXIT_FAILED;
	introduce(demo);
	for (unsigned t = 0; t < DEMO_TRANSPORTS && !demo_stopped; t++) {
		if (a->any_only && !a->only[t])
			continue;
		runs[n].transport = (enum demo_transport)t;
		(void)run_transport(demo, &runs[n++]);
	}
	int result = demo_stopped ? EXIT_FAILED : show(demo, runs, n);
	if (demo_stopped)
		fprintf(stderr, "\nweft demo: interrupted; everything is taken down\n");
	for (unsigned r = 0; r < n; r++)
		run_end(&runs[r]);
	free(runs);
	return result;
}

int cmd_demo(int argc, char **argv)
{
	static struct {
		char name[24];
		int (*run)(int argc, char **argv);
	} others[] = { { "weft demo stalls", demo_stalls }, { "weft demo soak", demo_soak },
		{ "weft demo incast", demo_incast }, { "weft demo training", demo_training } };
	static const struct argp argp = { options, parse, "[FILE]\nstalls\nsoak\nincast\ntraining",
		"Copies a file across an emulated fabric of eight planes while links, switches and "
		"a "
		"whole plane fail; then sends it by MPTCP and by TCP through the same faults.",
		NULL, NULL, NULL };
	struct demo_args a = { .folder = "build/demo" };
	struct term term;
	struct demo demo = { .term = &term };
	char error[DEMO_TEXT_BYTES] = "";

	for (size_t i = 0; argc > 1 && i < WEFT_COUNT(others); i++) {
		if (strcmp(argv[1], others[i].name + strlen("weft demo ")))
			continue;
		argv[1] = others[i].name; /* what --help calls it */
		return others[i].run(argc - 1, argv + 1);
	}
	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return EXIT_USAGE;
	term_open(&term, stdout);
	plan_all(&demo.plan, false);
	demo.plan.lead_ns = a.quick ? 400000000 : 700000000;
	demo.plan.hold_ns = a.quick ? 250000000 : 400000000;
	demo.plan.gap_ns = a.quick ? 300000000 : 500000000;
	demo.folder = a.folder;
	demo.switches = a.switches;
	demo_catch_signals();
	int result = file_folder(a.folder, error, sizeof(error)) ||
				     choose_file(&demo, &a, error, sizeof(error)) ||
				     demo_lab_up(&demo, error, sizeof(error))
			     ? EXIT_FAILED
			     : EXIT_OK;
	if (result)
		fprintf(stderr, "weft demo: %s\n", error);
	else
		result = demonstrate(&demo, &a);
	demo_lab_down(&demo);
	return result;
}
