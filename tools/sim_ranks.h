/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_RANKS_H
#define SIM_RANKS_H
/*
 * sim_ranks - `weft sim` and `weft play` as one of several processes.
 *
 * Started by mpirun or srun, every process does the same, and rank 0 speaks: the others' standard
 * output goes nowhere, and what is wrong with one of them is told to all and said by rank 0.
 */
#include <stdbool.h>
#include <stdio.h>
#include <weft/mpi.h>

struct sim_ranks {
	const struct weft_sim_ranks *to; /* NULL: this process is alone */
	void *library;
	struct weft_mpi *mpi;
	FILE *screen;
	bool is_silent; /* rank 0 speaks for it */
};

/* How many were started, as mpirun or srun tell each; 1: this one alone.  *rank: which it is. */
uint32_t sim_ranks_started(uint32_t *rank);
/* Flags for argp_parse: one of the ranks is enough to explain the usage. */
unsigned sim_ranks_argp_flags(void);
/* wanted: 0 as many as were started; 1 alone, whatever was started.  False: error says why. */
bool sim_ranks_join(struct sim_ranks *ranks, uint32_t wanted, char *error, size_t error_bytes);
/* Where progress is shown; NULL: nowhere. */
FILE *sim_ranks_screen(const struct sim_ranks *ranks);
/*
 * error: what is wrong here, "" if nothing.  False: here or elsewhere something is, and error says
 * what.  To be called after a join that has failed, too.  Who is silent then ends with EXIT_OK:
 * mpirun would end rank 0 before it has spoken.
 */
bool sim_ranks_leave(struct sim_ranks *ranks, char *error, size_t error_bytes);

#endif
