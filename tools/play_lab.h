/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PLAY_LAB_H
#define PLAY_LAB_H
/*
 * play_lab - a scenario on the live lab: real processes, real time, the same words.
 *
 *   parent: fabric file, lab up, faults at their times, samples   --+-- shared memory
 *   h0, h1, ...: one process per host, one endpoint each          --+   flows, counters
 *
 * Time runs `slower` times slower than in the scenario: links have that much less speed and that
 * much more delay, so that everything counted in packets and round trips is what it is in the
 * simulator.  What is measured is told in the scenario's time.
 *
 * Time     ns of the clock, unless its name says ps: the scenario's.
 * Errors   0 or true; otherwise one line in error.
 */
#include "play.h"

#include <stdatomic.h>
#include <weft/lab.h>

enum { PLAY_LAB_HOSTS_MAX = 64, PLAY_LAB_PAIRS_MAX = 1024, PLAY_LAB_ERROR_BYTES = 256 };

struct play_lab_flow {
	_Atomic uint64_t started_ns, done_ns; /* after the start; 0: not yet */
	_Atomic bool failed;
};

struct play_lab_host {          /* what a host's process tells; written by it alone, but for: */
	_Atomic bool is_paused; /* it is to do nothing */
	_Atomic bool has_failed;
	_Atomic uint64_t late_ns; /* the longest that it was not run */
	_Atomic uint64_t wrong_bytes;
	_Atomic uint64_t refused;      /* packets, by their ICRC */
	struct weft_counters counters; /* every few milliseconds */
	_Atomic uint32_t states[WEFT_TOPO_PLANES_MAX][WEFT_SIM_PATH_STATES]; /* of paths, too */
	char error[PLAY_LAB_ERROR_BYTES];
};

struct play_lab_shared {
	_Atomic uint32_t listening, ready, ended; /* hosts */
	_Atomic uint64_t start_ns;
	_Atomic bool stop;
	struct play_lab_host hosts[PLAY_LAB_HOSTS_MAX];
	struct play_lab_flow flows[]; /* of the script */
};

struct play_lab_pair {
	uint32_t src, dst;
	bool told; /* some flow of it is a write with immediate */
};

struct play_lab { /* made before hosts' processes are, and the same in all of them */
	const struct weft_scenario_script *script;
	const char *lab_name;
	struct play_lab_shared *shared;
	struct play_lab_pair *pairs;
	uint32_t n_pairs, hosts;
	uint32_t *pair_of; /* [flow]; UINT32_MAX: it computes */
	bool *told;        /* [flow] somebody waits for it where it arrives */
	uint8_t *pattern;  /* what everybody sends: pattern_bytes, the longest flow */
	uint32_t pattern_bytes;
	uint32_t timeout_ms;
	double slower;
};

static inline uint64_t play_lab_ns(const struct play_lab *l, uint64_t ps)
{
	return (uint64_t)((double)ps * l->slower / 1000);
}

/* What the parent has of it. */
struct play_lab_run {
	struct play_lab l;
	const struct weft_scenario *play;
	const struct weft_topo *topo;
	struct weft_scenario_script script;
	struct weft_scenario_result *result;
	struct weft_lab *lab;
	pid_t pids[PLAY_LAB_HOSTS_MAX];
	uint32_t *fault_ids; /* [moment]: the lab's number of what it began */
	uint32_t *pause_ids; /* [host * planes + plane]: of what keeps a paused host from hearing */
	uint32_t *order;     /* moments by time */
	uint64_t row_ns, rate_bps;
	char folder[64], name[WEFT_TOPO_NAME_BYTES];
	size_t shared_bytes;
	char *error;
	size_t error_bytes;
};
bool play_lab_fail(struct play_lab_run *r, const char *what); /* false */
/* Of a line of the scenario; field "": the line says it all. */
bool play_lab_fail_at(struct play_lab_run *r, uint32_t line, const char *field, const char *what);

/* ---- play_lab_world.c ---- */

bool play_lab_judge(struct play_lab_run *r); /* true: a lab can do all of it */
bool play_lab_write_fabric(struct play_lab_run *r, const char *path);
bool play_lab_plan(struct play_lab_run *r);  /* pairs, memory that is shared, the order of faults */
bool play_lab_start(struct play_lab_run *r); /* the hosts; true: they are connected */
bool play_lab_is_well(struct play_lab_run *r);
void play_lab_end(struct play_lab_run *r); /* the hosts, and all memory */
bool play_lab_strike(struct play_lab_run *r, uint32_t moment);

/* A host's whole life, in the process that it has to itself. */
void play_lab_host_run(const struct play_lab *l, uint32_t host);

/* rate_bps 0: so that this machine can carry it.  NULL: error. */
struct weft_scenario_result *play_lab_run(const struct weft_scenario *play, uint64_t seed,
	uint64_t rate_bps, const struct term *term, char *error, size_t error_bytes);

#endif
