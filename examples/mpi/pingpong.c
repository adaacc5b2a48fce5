/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pingpong - how fast two ranks of MPI talk: a stream of messages, then one there and back.
 *
 *   mpirun -np 2 ./pingpong BYTES COUNT [WINDOW]
 *
 * Prints MB/s of the stream (WINDOW messages under way, 16 unless said), and half the round trip
 * in us: median and 99 %.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define WINDOW_MAX 64

static int rank;

static double stream(char *data, int bytes, int count, int window)
{
	MPI_Request requests[WINDOW_MAX];
	double begun = MPI_Wtime();

	for (int done = 0; done < count; done += window) {
		for (int i = 0; i < window; i++)
			if (rank)
				MPI_Irecv(data, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD,
					&requests[i]);
			else
				MPI_Isend(data, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD,
					&requests[i]);
		MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	return (double)bytes * ((count + window - 1) / window * window) /
	       (MPI_Wtime() - begun) / 1e6;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	int bytes = argc > 1 ? atoi(argv[1]) : 65536, count = argc > 2 ? atoi(argv[2]) : 1000;
	int window = argc > 3 ? atoi(argv[3]) : 16;
	char *data = bytes > 0 ? calloc(1, (size_t)bytes) : NULL;
	double *half = count > 0 ? calloc((size_t)count, sizeof(*half)) : NULL;

	if (!data || !half || window < 1 || window > WINDOW_MAX) {
		fprintf(stderr, "pingpong: wants BYTES COUNT [WINDOW up to %d]\n", WINDOW_MAX);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	(void)stream(data, bytes, window, window);
	double rate = stream(data, bytes, count, window);

	for (int i = 0; i < count; i++) {
		double begun = MPI_Wtime();

		if (!rank)
			MPI_Send(data, bytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
		MPI_Recv(data, bytes, MPI_BYTE, !rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (rank)
			MPI_Send(data, bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
		half[i] = (MPI_Wtime() - begun) / 2 * 1e6;
	}
	qsort(half, (size_t)count, sizeof(*half), compare);
	if (!rank)
		printf("%d bytes: %.0f MB/s, %.1f us, 99 %% %.1f us\n", bytes, rate,
			half[count / 2], half[(size_t)count * 99 / 100]);
	free(data);
	free(half);
	return MPI_Finalize();
}
