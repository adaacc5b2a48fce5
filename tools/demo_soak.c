/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_soak - a file must arrive identical whatever breaks on the way.
 *
 * Each run draws its faults from its own seed: kinds, places, times, lengths, overlapping as they
 * come, so that a run that fails can be had again by its number alone.  Only the loss of all ports
 * of a NIC is left out, since a connection may end of that.  Half of the faults are drawn where the
 * file passes; the rest anywhere, since what is broken elsewhere must not matter.  A run passes
 * only if the lab has noted each fault while bytes were to come: one not made proves nothing.
 */
#include "demo.h"
#include "live_args.h"
#include "commands.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <weft/base.h>
#include <weft/net.h>

#define SPEED_MBPS 100
#define MIB_MAX 65536
#define RUNS_MAX 1000000
#define FAULTS_DRAWN_MAX 12
#define LIMIT_NS UINT64_C(60000000000)
#define LOOK_US 2000
#define SPAN                                                                                       \
	0.6 /* of the shortest time the file can take: a lab kept waiting still makes the last */

struct soak_args {
	enum weft_lab_switches switches;
	const char *folder;
	uint64_t seed, mib;
	unsigned runs;
};

struct drawn {
	uint64_t at_ns; /* after the copy began */
	struct weft_lab_fault fault;
	struct demo_strike strike;
	struct demo_judged judged; /* only why it was not asked for */
};

static const struct argp_option options[] = {
	{ "runs", 'n', "N", 0, "how many (default: 20)", 0 },
	{ "seed", 's', "S", 0, "of the first run; each next one has the next (default: 1)", 0 },
	{ "mib", 'm', "MIB", 0, "size of the file (default: 128)", 0 },
	{ "out", 'd', "FOLDER", 0, "where file and copy go (default: build/demo)", 0 },
	DEMO_FABRIC_OPTION,
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct soak_args *a = state->input;

	switch (key) {
	case 'n':
		a->runs = (unsigned)arg_number(state, "runs", arg, 1, RUNS_MAX);
		return 0;
	case 's':
		a->seed = arg_number(state, "seed", arg, 0, INT64_MAX);
		return 0;
	case 'm':
		a->mib = arg_number(state, "mib", arg, 1, MIB_MAX);
		return 0;
	case 'f':
		if (!weft_lab_switches_find(arg, &a->switches))
			argp_error(state, "--fabric %s: wants soft, kernel or xdp", arg);
		return 0;
	case 'd':
		a->folder = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static uint32_t draw_place(
	struct weft_rng *rng, const struct demo *demo, enum weft_lab_fault_kind kind)
{
	const struct weft_topo *topo = weft_lab_topo(demo->lab);
	const struct weft_topo_shape *s = weft_topo_shape(topo);
	bool on_the_way = weft_rng_below(rng, 2);
	uint32_t host = weft_rng_below(rng, 2) ? demo->sender : demo->receiver;
	uint32_t plane = (uint32_t)weft_rng_below(rng, s->planes);
	uint32_t hosts_links = s->hosts * s->planes;

	switch (kind) {
	case WEFT_LAB_PORT_DOWN:
		return on_the_way ? host * s->planes + plane
				  : (uint32_t)weft_rng_below(rng, hosts_links);
	case WEFT_LAB_FREEZE:
	case WEFT_LAB_REBOOT:
		return s->hosts + (uint32_t)weft_rng_below(rng, s->nodes - s->hosts);
	case WEFT_LAB_PLANE_DOWN:
	case WEFT_LAB_PLANE_FREEZE:
		return plane;
	default:
		return on_the_way ? weft_topo_port_link(topo, weft_topo_host_t0(topo, host, plane),
					    s->hosts_per_t0 +
						    (uint32_t)weft_rng_below(rng, s->uplinks))
				  : (uint32_t)weft_rng_below(rng, s->links);
	}
}

/* Kinds whose place is a link include those of the hosts. */
static struct drawn draw(struct weft_rng *rng, const struct demo *demo, uint64_t span_ns)
{
	struct drawn d = { .at_ns = weft_rng_below(rng, span_ns) };

	d.fault.kind = (enum weft_lab_fault_kind)weft_rng_below(rng, WEFT_LAB_NIC_DOWN);
	d.fault.where = draw_place(rng, demo, d.fault.kind);
	d.fault.for_ns = 10000000 + weft_rng_below(rng, 400000000);
	d.fault.way = (uint32_t)(1 + weft_rng_below(rng, 3));
	/* On its way up from a host there is no switch to drop it. */
	if (d.fault.kind == WEFT_LAB_BLACKHOLE &&
		d.fault.where < weft_topo_shape(weft_lab_topo(demo->lab))->hosts *
					weft_topo_shape(weft_lab_topo(demo->lab))->planes)
		d.fault.way = WEFT_LAB_DOWN;
	if (d.fault.kind == WEFT_LAB_LOSS)
		d.fault.loss_ppm = (uint32_t)(10000 + weft_rng_below(rng, 990001));
	return d;
}

static int by_time(const void *a, const void *b)
{
	const struct drawn *one = a, *two = b;

	return one->at_ns < two->at_ns ? -1 : one->at_ns > two->at_ns;
}

static unsigned draw_all(const struct demo *demo, uint64_t seed, struct drawn drawn[])
{
	struct weft_rng rng;
	uint64_t span_ns = (uint64_t)(SPAN * 8e9 * (double)demo->file_bytes /
				      (DEMO_PLANES * (double)demo->rate_bps));

	weft_rng_seed(&rng, seed);
	unsigned n = 2 + (unsigned)weft_rng_below(&rng, FAULTS_DRAWN_MAX - 1);
	for (unsigned i = 0; i < n; i++)
		drawn[i] = draw(&rng, demo, span_ns);
	qsort(drawn, n, sizeof(*drawn), by_time);
	return n;
}

static void strike(struct demo *demo, struct drawn *d)
{
	if (weft_lab_fault(demo->lab, &d->fault, &d->strike.id, d->judged.why, DEMO_WHY_BYTES))
		d->strike.id = 0;
}

static int wait_running(struct demo *demo, struct demo_run *run, uint64_t *began)
{
	uint64_t start = weft_clock_now(NULL);

	do {
		int over = demo_copy.ended(demo, run);

		if (over < 0 || demo_stopped)
			return -1;
		*began = weft_clock_now(NULL);
		if (samples_take(&run->samples, demo->lab, demo->receiver, *began))
			return -1;
		if (over || samples_total(&run->samples) > 1000000)
			return 0;
		usleep(LOOK_US);
	} while (*began - start < LIMIT_NS);
	(void)snprintf(run->error, sizeof(run->error), "nothing arrived");
	return -1;
}

static int copy_through(struct demo *demo, struct demo_run *run, struct drawn drawn[], unsigned n)
{
	uint64_t began = 0;
	unsigned i = 0;
	int over = wait_running(demo, run, &began);

	while (!over && !demo_stopped) {
		uint64_t since = weft_clock_now(NULL) - began;

		while (i < n && since >= drawn[i].at_ns)
			strike(demo, &drawn[i++]);
		over = demo_copy.ended(demo, run);
		if (!over && since > LIMIT_NS) {
			(void)snprintf(
				run->error, sizeof(run->error), "it did not come to its end");
			over = -1;
		}
		usleep(LOOK_US);
	}
	return over < 0 || demo_stopped ? -1 : 0;
}

static bool was_made(const struct demo_run *run, const struct drawn *d)
{
	return judge_was_on(&d->strike.record, run->series.start_ns, run->series.end_ns);
}

static unsigned count_made(
	const struct demo *demo, const struct demo_run *run, struct drawn drawn[], unsigned n)
{
	unsigned made = 0;

	for (unsigned i = 0; i < n; i++) {
		judge_ask(demo->lab, &drawn[i].strike, 1, &drawn[i].judged);
		made += was_made(run, &drawn[i]);
	}
	return made;
}

static void tell_faults(
	const struct demo *demo, const struct demo_run *run, const struct drawn drawn[], unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const char *why = drawn[i].judged.why;
		char text[DEMO_TEXT_BYTES];

		weft_lab_fault_text(weft_lab_topo(demo->lab), &drawn[i].fault, text, sizeof(text));
		printf("    %5" PRIu64 " ms  %s, for %" PRIu64 " ms%s%s\n",
			drawn[i].at_ns / 1000000, text, drawn[i].fault.for_ns / 1000000,
			was_made(run, &drawn[i]) ? ""
			: *why                   ? ": NOT MADE: "
						 : ": NOT MADE: not while bytes came",
			was_made(run, &drawn[i]) ? "" : why);
	}
}

/* 0: identical, and under all of its faults. */
static int tell_run(const struct demo *demo, uint64_t seed, struct demo_run *run,
	struct drawn drawn[], unsigned n, bool is_good)
{
	const struct demo_series *s = &run->series;
	struct demo_gap stall = series_stall(s, s->start_ns, s->end_ns);
	unsigned made = count_made(demo, run, drawn, n);
	char bytes[HUMAN_MAX], took[HUMAN_MAX], faults[48];

	if (made == n)
		(void)snprintf(faults, sizeof(faults), "%u faults", n);
	else
		(void)snprintf(faults, sizeof(faults), "only %u of %u faults", made, n);
	if (is_good)
		printf("seed %" PRIu64 ": identical%s; %s, %s in %s, %" PRIu64
		       " packets sent again, longest stall %.0f ms\n",
			seed, made == n ? "" : ", but NOT AS DRAWN", faults,
			human_bytes(bytes, demo->file_bytes),
			human_ns(took, s->end_ns - s->start_ns), run->retransmits,
			(double)stall.ns / 1e6);
	else
		printf("seed %" PRIu64 ": FAILED: %s, %" PRIu64 " bytes wrong\n", seed,
			*run->error ? run->error : "the copy differs", run->wrong_bytes);
	if (!is_good || made < n)
		tell_faults(demo, run, drawn, n);
	fflush(stdout);
	return is_good && made == n ? 0 : -1;
}

static int soak_once(struct demo *demo, uint64_t seed)
{
	struct drawn drawn[FAULTS_DRAWN_MAX + 1];
	struct demo_run *run = calloc(1, sizeof(*run));
	char error[DEMO_TEXT_BYTES];

	if (!run)
		return -1;
	unsigned n = draw_all(demo, seed, drawn);
	live_direct(true);
	int result = demo_copy.start(demo, run) || copy_through(demo, run, drawn, n);
	live_direct(false);
	run->failed = result;
	result = demo_copy.stop(demo, run) || result || run->wrong_bytes ? -1 : 0;
	(void)weft_lab_undo(demo->lab, 0, error, sizeof(error));
	if (!demo_stopped)
		result = tell_run(demo, seed, run, drawn, n, !result);
	run_end(run);
	free(run);
	return result;
}

int demo_soak(int argc, char **argv)
{
	static const struct argp argp = { options, parse, "",
		"Copies a file under random faults, again and again, and compares every byte.",
		NULL, NULL, NULL };
	struct soak_args a = { .folder = "build/demo", .runs = 20, .seed = 1, .mib = 128 };
	char error[DEMO_TEXT_BYTES] = "", path[4096];
	struct term term;
	struct demo demo = {
		.term = &term, .quiet = true, .rate_bps = UINT64_C(1000000) * SPEED_MBPS
	};
	unsigned failures = 0;

	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return EXIT_USAGE;
	term_open(&term, stdout);
	demo.folder = a.folder;
	demo.switches = a.switches;
	demo.file = path;
	demo.file_bytes = a.mib << 20;
	(void)snprintf(path, sizeof(path), "%s/soak-input", a.folder);
	demo_catch_signals();
	if (file_folder(a.folder, error, sizeof(error)) ||
		file_assemble(path, demo.file_bytes, error, sizeof(error)) ||
		demo_lab_up(&demo, error, sizeof(error))) {
		fprintf(stderr, "weft demo soak: %s\n", error);
		demo_lab_down(&demo);
		return EXIT_FAILED;
	}
	unsigned r = 0;
	for (; r < a.runs && !demo_stopped; r++)
		failures += soak_once(&demo, a.seed + r) != 0;
	demo_lab_down(&demo);
	printf("%u of %u runs identical, under all of their faults\n", r - failures, a.runs);
	return failures || demo_stopped ? EXIT_FAILED : EXIT_OK;
}
