/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_H
#define BENCH_H
/*
 * bench - how long an operation takes, on a machine that is never quiet.
 *
 *   BENCH("decode a write", 4096, weft_wire_decode(...));     prints   decode a write   7.1 ns
 *
 * Rounds of about a millisecond; the best one is the operation, the rest is the neighbours, and
 * the median beside it says how much they were.  timespec_get() is C11's wall clock: a step of it
 * spoils one round of two hundred.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BENCH_ROUNDS = 200 };

static inline double bench_now_ns(void)
{
	struct timespec ts;

	timespec_get(&ts, TIME_UTC);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static inline int bench_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static inline void bench_print(const char *name, double round_ns[BENCH_ROUNDS], unsigned ops)
{
	qsort(round_ns, BENCH_ROUNDS, sizeof(round_ns[0]), bench_compare);
	printf("%-44s %8.2f ns   (median %.2f)\n", name, round_ns[0] / ops,
		round_ns[BENCH_ROUNDS / 2] / ops);
}

/* Keeps the compiler from dropping or hoisting what leads to value, an lvalue. */
#define BENCH_USE(value) __asm__ volatile("" : : "g"(&(value)) : "memory")

/* Runs the statement `ops` times per round; `i` counts inside a round. */
#define BENCH(name, ops, statement)                                                                \
	do {                                                                                       \
		static double round_ns[BENCH_ROUNDS];                                              \
		for (unsigned round = 0; round < BENCH_ROUNDS; round++) {                          \
			double start_ns = bench_now_ns();                                          \
			for (unsigned i = 0; i < (ops); i++) {                                     \
				statement;                                                         \
			}                                                                          \
			round_ns[round] = bench_now_ns() - start_ns;                               \
		}                                                                                  \
		bench_print(name, round_ns, ops);                                                  \
	} while (0)

#endif
