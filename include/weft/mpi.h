/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_MPI_H
#define WEFT_MPI_H
/*
 * mpi - the processes that MPI has started, as ranks of a simulation (sim.h).
 *
 *   mpirun -n 4 weft sim ...      weft_mpi_open --> struct weft_sim_ranks --> weft_sim_open ...
 *   srun -n 4 weft sim ...                            exchange = MPI_Isend, MPI_Irecv
 *
 * A library of its own, libweft-mpi.so, loaded when a program was started as one of several, so
 * that nobody else needs MPI.  Written against MPI 3.1; tested with Open MPI 4.1.
 *
 * Threads  All calls by the thread that has opened it (MPI_THREAD_FUNNELED).
 * Memory   Grows with the longest letter; letters that come are good until the next exchange.
 * Errors   A process that dies is the starter's business: mpirun ends the others.  A process that
 *          gives up says so by _close(), and the others' exchange() is false from then on.
 */
#include <weft/sim.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weft_mpi;

/* Once in a process.  Waits for all others.  0, or -1 with one line in error. */
int weft_mpi_open(struct weft_mpi **ranks, char *error, size_t error_bytes);
const struct weft_sim_ranks *weft_mpi_table(const struct weft_mpi *ranks);
/*
 * Ends it, together with all others.  wrong NULL: this one is through, and well.  False: some rank
 * is not, and error says which and why.
 */
bool weft_mpi_close(struct weft_mpi *ranks, const char *wrong, char *error, size_t error_bytes);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_MPI_H */
