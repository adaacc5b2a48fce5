/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_ranks - `weft sim` and `weft play` as one of several processes.
 *
 * libweft-mpi.so is loaded when a starter's environment says that there are others: a program that
 * is linked with MPI would need it on every laptop, and MPI_Init costs a process that is alone more
 * than many a simulation.
 */
#include "sim_ranks.h"

#include <argp.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libweft-mpi.so"

static uint32_t number(const char *name, uint32_t otherwise)
{
	const char *text = getenv(name);
	char *end;
	unsigned long value = text ? strtoul(text, &end, 10) : 0;

	return text && end != text && !*end && value <= UINT32_MAX ? (uint32_t)value : otherwise;
}

uint32_t sim_ranks_started(uint32_t *rank)
{
	static const char *const names[][2] = {
		{ "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK" },
		{ "PMI_SIZE", "PMI_RANK" },
		{ "SLURM_STEP_NUM_TASKS", "SLURM_PROCID" },
	};

	*rank = 0;
	for (unsigned i = 0; i < WEFT_COUNT(names); i++) {
		uint32_t n = number(names[i][0], 0), own = number(names[i][1], UINT32_MAX);

		if (n < 2 || own >= n)
			continue;
		*rank = own;
		return n;
	}
	return 1;
}

unsigned sim_ranks_argp_flags(void)
{
	uint32_t rank;

	(void)sim_ranks_started(&rank);
	return rank ? ARGP_SILENT : 0;
}

/* In a build it lies in lib/ beside the program; installed, in ../lib/weft. */
static void *load(char *error, size_t error_bytes)
{
	static const char *const places[] = { "lib", "../lib/weft" };
	char exe[PATH_MAX], file[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	void *library = NULL;

	exe[n > 0 ? n : 0] = 0;
	const char *slash = strrchr(exe, '/');

	for (unsigned i = 0; i < WEFT_COUNT(places) && slash && !library; i++) {
		(void)snprintf(
			file, sizeof(file), "%.*s/%s/" LIBRARY, (int)(slash - exe), exe, places[i]);
		/* Global: MPI's own plugins want to find MPI. */
		library = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
	}
	if (!library)
		(void)snprintf(error, error_bytes,
			"several processes were started, and %s: it is built where pkg-config finds"
			" Open MPI (libopenmpi-dev); --ranks 1 runs each for itself",
			dlerror());
	return library;
}

static bool open_mpi(struct sim_ranks *ranks, char *error, size_t error_bytes)
{
	int (*open)(struct weft_mpi **, char *, size_t);
	const struct weft_sim_ranks *(*table)(const struct weft_mpi *);

	*(void **)&open = dlsym(ranks->library, "weft_mpi_open");
	*(void **)&table = dlsym(ranks->library, "weft_mpi_table");
	if (!open || !table || !dlsym(ranks->library, "weft_mpi_close")) {
		(void)snprintf(error, error_bytes, "%s: of another version", LIBRARY);
		return false;
	}
	if (open(&ranks->mpi, error, error_bytes))
		return false;
	ranks->to = table(ranks->mpi);
	return true;
}

bool sim_ranks_join(struct sim_ranks *ranks, uint32_t wanted, char *error, size_t error_bytes)
{
	uint32_t rank, started = sim_ranks_started(&rank);

	*ranks = (struct sim_ranks){ .screen = stderr };
	if (wanted == 1 || (started == 1 && !wanted))
		return true;
	if (wanted && wanted != started) {
		ranks->is_silent = rank > 0;
		(void)snprintf(error, error_bytes,
			"ranks: %u are wanted, and %u started: mpirun -n %u weft ..., or srun -n "
			"%u",
			(unsigned)wanted, (unsigned)started, (unsigned)wanted, (unsigned)wanted);
		return false;
	}
	/* What is wrong before MPI is there may be wrong on one machine only: each speaks. */
	ranks->library = load(error, error_bytes);
	if (!ranks->library || !open_mpi(ranks, error, error_bytes))
		return false;
	ranks->is_silent = rank > 0;
	if (ranks->to->n != started) {
		(void)snprintf(error, error_bytes,
			"%u processes were started, and MPI knows %u: under Slurm, srun --mpi=pmix",
			(unsigned)started, (unsigned)ranks->to->n);
		return false;
	}
	if (ranks->is_silent && !freopen("/dev/null", "w", stdout)) {
		(void)snprintf(error, error_bytes, "/dev/null cannot be written");
		return false;
	}
	/* mpirun gives its children terminals, wherever it writes itself. */
	if (!getenv("CLICOLOR_FORCE"))
		(void)setenv("NO_COLOR", "1", 0);
	/* Errors go through pipes, but a person at this machine can be reached. */
	if (!isatty(STDERR_FILENO))
		ranks->screen = ranks->is_silent ? NULL : fopen("/dev/tty", "w");
	return true;
}

FILE *sim_ranks_screen(const struct sim_ranks *ranks)
{
	return ranks->is_silent ? NULL : ranks->screen;
}

bool sim_ranks_leave(struct sim_ranks *ranks, char *error, size_t error_bytes)
{
	bool (*close)(struct weft_mpi *, const char *, char *, size_t);
	char why[512];

	if (ranks->screen && ranks->screen != stderr)
		(void)fclose(ranks->screen);
	ranks->screen = stderr;
	if (!ranks->mpi)
		return !*error;
	*(void **)&close = dlsym(ranks->library, "weft_mpi_close");
	bool is_good = close(ranks->mpi, *error ? error : NULL, why, sizeof(why));

	if (!is_good)
		(void)snprintf(error, error_bytes, "%s", why);
	ranks->mpi = NULL;
	ranks->to = NULL;
	return is_good;
}
