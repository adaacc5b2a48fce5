/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * collectives - how long all-reduces and all-to-alls take, in quiet times and in times that
 * somebody else makes less quiet.
 *
 *   rounds x operations x sizes x  | quiet window |  pause  | flag file is there |  pause  |
 *
 * While the flag file is there, whoever waits for it breaks something.  Both kinds of window have
 * the same number of iterations and take turns at being first.  An iteration's time is that of the
 * rank for which it took longest.  Every iteration has data of its own; words all over it are
 * looked at after each, and all of them after a window's last.
 *
 *   mpicc -O2 -o collectives collectives.c
 *   mpirun -np 4 ./collectives FLAG [SECONDS [ROUNDS]]
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORDS_MAX 8388608u /* 64 MiB */
#define SAMPLES_MAX 60000u
#define LOOKS 32u
#define TRIAL 10u

enum { QUIET, BROKEN, KINDS };

struct load {
	const char *name;
	int to_all;     /* else a reduction */
	uint32_t words; /* of all-to-all: to each rank */
	uint32_t iterations, n[KINDS];
	double *times[KINDS];
};

static struct load loads[] = {
	{ .name = "all-reduce", .words = 1 },
	{ .name = "all-reduce", .words = 1024 },
	{ .name = "all-reduce", .words = 32768 },
	{ .name = "all-reduce", .words = 1048576 },
	{ .name = "all-reduce", .words = 8388608 },
	{ .name = "all-to-all", .to_all = 1, .words = 1 },
	{ .name = "all-to-all", .to_all = 1, .words = 1024 },
	{ .name = "all-to-all", .to_all = 1, .words = 131072 },
	{ .name = "all-to-all", .to_all = 1, .words = 1048576 },
};
#define LOADS (sizeof(loads) / sizeof(loads[0]))

static int rank, ranks;
static long bad;
static uint64_t *tx, *rx;

static uint64_t word(int sender, uint32_t iteration, uint32_t i)
{
	uint64_t x = (uint64_t)sender << 56 ^ (uint64_t)iteration << 28 ^ i;

	x *= UINT64_C(0x9e3779b97f4a7c15);
	return x ^ x >> 29;
}

static void *memory(size_t n, size_t bytes)
{
	void *got = calloc(n, bytes);

	if (!got)
		MPI_Abort(MPI_COMM_WORLD, 2);
	return got;
}

static uint32_t total(const struct load *load)
{
	return load->to_all ? load->words * (uint32_t)ranks : load->words;
}

static void touch(const struct load *load, uint32_t iteration, uint32_t step)
{
	for (uint32_t i = 0; i < total(load); i += step)
		tx[i] = word(rank, iteration, i);
}

static void look(const struct load *load, uint32_t iteration, uint32_t step)
{
	for (uint32_t i = 0; i < total(load); i += step) {
		uint64_t want = 0;

		if (load->to_all) {
			uint32_t from = i / load->words, at = i % load->words;

			want = word((int)from, iteration, (uint32_t)rank * load->words + at);
			bad += rx[i] != want;
			continue;
		}
		for (int r = 0; r < ranks; r++)
			want += word(r, iteration, i);
		bad += rx[i] != want;
	}
}

/* The words of all-to-all that are looked at must be those that were touched. */
static uint32_t step_of(const struct load *load)
{
	return load->words <= LOOKS ? 1 : load->words / LOOKS;
}

static double once(const struct load *load, uint32_t iteration, uint32_t step)
{
	touch(load, iteration, step);
	double began = MPI_Wtime();

	if (load->to_all)
		MPI_Alltoall(tx, (int)load->words, MPI_UINT64_T, rx, (int)load->words,
			MPI_UINT64_T, MPI_COMM_WORLD);
	else
		MPI_Allreduce(
			tx, rx, (int)load->words, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
	double took = MPI_Wtime() - began;

	look(load, iteration, step);
	return took;
}

/* How many fit a window, by some that are not counted. */
static void size_up(struct load *load, double window_s, uint32_t rounds)
{
	double began = MPI_Wtime();
	uint32_t n = 0;

	for (uint32_t i = 0; i < TRIAL; i++)
		(void)once(load, i, step_of(load));
	if (!rank) {
		double fit = window_s * TRIAL / (MPI_Wtime() - began);
		double most = SAMPLES_MAX / rounds;

		n = (uint32_t)(fit < most ? fit : most);
	}
	MPI_Bcast(&n, 1, MPI_UINT32_T, 0, MPI_COMM_WORLD);
	load->iterations = n < 5 ? 5 : n;
	for (int k = 0; k < KINDS; k++)
		load->times[k] = memory((size_t)load->iterations * rounds, sizeof(double));
}

static void pause_for(double seconds)
{
	struct timespec t = { .tv_sec = (time_t)seconds };

	t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
	MPI_Barrier(MPI_COMM_WORLD);
	nanosleep(&t, NULL);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void window(struct load *load, int kind, const char *flag)
{
	double *own = memory(load->iterations, sizeof(*own));
	uint32_t step = step_of(load), last = load->iterations - 1;

	if (kind == BROKEN && !rank) {
		FILE *file = fopen(flag, "w");

		if (!file || fclose(file))
			MPI_Abort(MPI_COMM_WORLD, 2);
	}
	pause_for(0.1);
	for (uint32_t i = 0; i < last; i++)
		own[i] = once(load, i, step);
	own[last] = once(load, last, 1); /* all of it */
	MPI_Barrier(MPI_COMM_WORLD);
	if (kind == BROKEN && !rank)
		(void)unlink(flag);
	if (kind == BROKEN)
		pause_for(1.2); /* until what is broken is whole */
	MPI_Reduce(own, load->times[kind] + load->n[kind], (int)load->iterations, MPI_DOUBLE,
		MPI_MAX, 0, MPI_COMM_WORLD);
	load->n[kind] += load->iterations;
	free(own);
}

/* ---- what comes out ---- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void report(void)
{
	printf("%-10s %8s %6s  %27s  %27s  %s\n", "", "", "", "quiet: P50    P99   P100 us",
		"broken: P50    P99   P100 us", "ratio of P50, P99, P100");
	for (struct load *load = loads; load < loads + LOADS; load++) {
		double *q = load->times[QUIET], *b = load->times[BROKEN];
		uint32_t n = load->n[QUIET], mid = n / 2, high = n - 1 - n / 100;

		qsort(q, n, sizeof(*q), compare);
		qsort(b, n, sizeof(*b), compare);
		printf("%-10s %8zu %6u %10.0f %8.0f %8.0f  %10.0f %8.0f %8.0f  %5.2f %5.2f %5.2f\n",
			load->name, load->words * sizeof(*tx), n, q[mid] * 1e6, q[high] * 1e6,
			q[n - 1] * 1e6, b[mid] * 1e6, b[high] * 1e6, b[n - 1] * 1e6,
			b[mid] / q[mid], b[high] / q[high], b[n - 1] / q[n - 1]);
	}
}

int main(int argc, char **argv)
{
	double window_s = argc > 2 ? atof(argv[2]) : 3;
	uint32_t rounds = argc > 3 ? (uint32_t)atoi(argv[3]) : 3;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc < 2 || window_s <= 0 || !rounds) {
		fprintf(stderr, "collectives FLAG [SECONDS [ROUNDS]]\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	tx = memory(WORDS_MAX, sizeof(*tx));
	rx = memory(WORDS_MAX, sizeof(*rx));
	for (struct load *load = loads; load < loads + LOADS; load++)
		size_up(load, window_s, rounds);
	for (uint32_t r = 0; r < rounds; r++) {
		for (struct load *load = loads; load < loads + LOADS; load++) {
			window(load, r % 2 ? BROKEN : QUIET, argv[1]);
			window(load, r % 2 ? QUIET : BROKEN, argv[1]);
		}
	}
	MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	if (!rank) {
		report();
		printf("words that were wrong: %ld\n", bad);
	}
	MPI_Finalize();
	return bad != 0;
}
