/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check - an MPI program that looks at every byte it gets.
 *
 * Messages between all pairs, collectives, and one-sided access; sizes from 8 bytes to where
 * libraries change their protocol.  Prints one line per part and ends with an error if a byte is
 * wrong.  It knows nothing of what network it runs on.
 *
 *   mpicc -O2 -o check check.c && mpirun -np 4 ./check
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 262144u /* 2 MiB */
#define ADDS 20

static int rank, ranks;
static long bad;

/* What sender's word i for receiver in a round is. */
static uint64_t word(int sender, int receiver, uint32_t round, uint32_t i)
{
	uint64_t x = (uint64_t)sender << 40 ^ (uint64_t)receiver << 32 ^ (uint64_t)round << 24 ^ i;

	x *= UINT64_C(0x9e3779b97f4a7c15);
	return x ^ x >> 29;
}

static void fill(uint64_t *to, int sender, int receiver, uint32_t round, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		to[i] = word(sender, receiver, round, i);
}

static void check(const uint64_t *got, int sender, int receiver, uint32_t round, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		bad += got[i] != word(sender, receiver, round, i);
}

static void *memory(size_t words)
{
	uint64_t *got = calloc(words, sizeof(*got));

	if (!got)
		MPI_Abort(MPI_COMM_WORLD, 2);
	return got;
}

static void say(const char *part)
{
	long all = 0;

	MPI_Allreduce(&bad, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	if (!rank)
		printf("%s: %s\n", part, all ? "WRONG" : "ok");
	fflush(stdout);
	bad = all;
}

/* ---- two sides ---- */

static void messages(uint64_t *tx, uint64_t *rx)
{
	uint32_t round = 0;

	for (uint32_t n = 1; n <= WORDS_MAX; n *= 8, round++) {
		for (int step = 1; step < ranks; step++) {
			int to = (rank + step) % ranks, from = (rank + ranks - step) % ranks;

			fill(tx, rank, to, round, n);
			MPI_Sendrecv(tx, (int)n, MPI_UINT64_T, to, (int)round, rx, (int)n,
				MPI_UINT64_T, from, (int)round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			check(rx, from, rank, round, n);
		}
	}
	say("send, receive");
}

static void all_to_all(uint64_t *tx, uint64_t *rx)
{
	for (uint32_t n = 1, round = 0; n * (uint32_t)ranks <= WORDS_MAX; n *= 8, round++) {
		for (int r = 0; r < ranks; r++)
			fill(tx + (size_t)r * n, rank, r, round, n);
		MPI_Alltoall(tx, (int)n, MPI_UINT64_T, rx, (int)n, MPI_UINT64_T, MPI_COMM_WORLD);
		for (int r = 0; r < ranks; r++)
			check(rx + (size_t)r * n, r, rank, round, n);
	}
	say("all-to-all");
}

static void all_reduce(uint64_t *tx, uint64_t *rx)
{
	for (uint32_t n = 1, round = 0; n <= WORDS_MAX; n *= 8, round++) {
		fill(tx, rank, 0, round, n);
		MPI_Allreduce(tx, rx, (int)n, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
		for (uint32_t i = 0; i < n; i++) {
			uint64_t sum = 0;

			for (int r = 0; r < ranks; r++)
				sum += word(r, 0, round, i);
			bad += rx[i] != sum;
		}
	}
	say("all-reduce");
}

/* ---- one side ---- */

static void put_and_get(uint64_t *tx, uint64_t *rx)
{
	uint64_t *own = memory((size_t)WORDS_MAX * 2);
	int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
	MPI_Win window;

	MPI_Win_create(own, (MPI_Aint)(WORDS_MAX * 2 * sizeof(*own)), sizeof(*own), MPI_INFO_NULL,
		MPI_COMM_WORLD, &window);
	for (uint32_t n = 1, round = 0; n <= WORDS_MAX; n *= 8, round++) {
		fill(tx, rank, to, round, n);
		fill(own + WORDS_MAX, rank, rank, round, n); /* to be got */
		MPI_Win_fence(0, window);
		MPI_Put(tx, (int)n, MPI_UINT64_T, to, 0, (int)n, MPI_UINT64_T, window);
		MPI_Get(rx, (int)n, MPI_UINT64_T, from, WORDS_MAX, (int)n, MPI_UINT64_T, window);
		MPI_Win_fence(0, window);
		check(own, from, rank, round, n);
		check(rx, from, from, round, n);
	}
	MPI_Win_free(&window);
	free(own);
	say("put, get");
}

/* Everybody adds to rank 0's counters at once: every value is seen once, and the sum is exact. */
static void atomics(void)
{
	uint64_t *own, one = 1, got = 0, last = 0, n = (uint64_t)ranks * ADDS;
	uint64_t ones[64], *seen = memory(n);
	MPI_Win window;

	for (int i = 0; i < 64; i++)
		ones[i] = 1;
	MPI_Win_allocate(66 * sizeof(*own), sizeof(*own), MPI_INFO_NULL, MPI_COMM_WORLD, &own,
		&window);
	memset(own, 0, 66 * sizeof(*own));
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, window);
	for (int i = 0; i < ADDS; i++) {
		MPI_Fetch_and_op(&one, &got, MPI_UINT64_T, 0, 0, MPI_SUM, window);
		MPI_Win_flush(0, window);
		bad += got >= n;
		seen[got % n]++;
		for (uint64_t expected = last, is;; expected = is) {
			uint64_t next = expected + 1;

			MPI_Compare_and_swap(&next, &expected, &is, MPI_UINT64_T, 0, 1, window);
			MPI_Win_flush(0, window);
			last = next;
			if (is == expected)
				break;
		}
		MPI_Accumulate(ones, 64, MPI_UINT64_T, 0, 2, 64, MPI_UINT64_T, MPI_SUM, window);
	}
	MPI_Win_unlock_all(window);
	MPI_Allreduce(MPI_IN_PLACE, seen, (int)n, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
	for (int i = 0; !rank && i < 66; i++)
		bad += own[i] != n;
	MPI_Win_unlock(rank, window);
	for (uint64_t i = 0; i < n; i++)
		bad += seen[i] != 1;
	MPI_Win_free(&window);
	free(seen);
	say("fetch-and-op, compare-and-swap, accumulate");
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	uint64_t *tx = memory(WORDS_MAX), *rx = memory(WORDS_MAX);

	messages(tx, rx);
	all_reduce(tx, rx);
	all_to_all(tx, rx);
	put_and_get(tx, rx);
	atomics();
	free(tx);
	free(rx);
	MPI_Finalize();
	return bad != 0;
}
