/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_WORKLOAD_H
#define WEFT_WORKLOAD_H
/*
 * workload - who sends what to whom, and after what: the work that a fabric is there for.
 *
 *   "ring-allreduce,bytes=64MB"  --+
 *   kind: training, tp: 8, ...   --+--> spec --> weft_workload_add() --> flows and edges (sim.h)
 *   x.goal, x.cm, workload.txt   --+               one job each
 *
 * A job's ranks are hosts of a list in an order (packed, spread over T0s, random).  Collectives are
 * flows that wait for each other; each rank of a group ends one with a step of no time, which the
 * next one waits for.  Rings are one flow per rank, repeated, whatever the number of steps.
 *
 * Units    A spec's values are text, so that a command line and YAML say the same thing: 64MB,
 * 20us.  Memory   what is opened is the caller's to close.  A load may be large: 56 bytes per
 * flow.  Errors   false and one line in error.  What is wrong in a file begins with FILE:LINE.
 */
#include <weft/sim.h>
#include <weft/topo.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { WEFT_WORKLOAD_JOBS_MAX = 64, WEFT_WORKLOAD_NAME_BYTES = 32, WEFT_WORKLOAD_TEXT_BYTES = 256 };
#define WEFT_WORKLOAD_FLOWS_MAX (UINT32_C(1) << 26)

struct weft_workload_job {
	char name[WEFT_WORKLOAD_NAME_BYTES];
	uint32_t first, n; /* its flows */
	uint32_t n_steps;  /* flows carry 0 .. n_steps - 1 */
};

/* Zero it before the first _add. */
struct weft_workload {
	struct weft_sim_flow *flows;
	uint32_t n, n_max;
	struct weft_sim_edge *edges;
	uint32_t n_edges, n_edges_max;
	struct weft_workload_job jobs[WEFT_WORKLOAD_JOBS_MAX];
	uint32_t n_jobs;
	bool broken; /* out of memory, or out of numbers; _add says so */
};

enum weft_workload_kind {
	WEFT_WORKLOAD_PERMUTATION,
	WEFT_WORKLOAD_RING,   /* one step: each to the next */
	WEFT_WORKLOAD_INCAST, /* fan_in ranks to rank 0; victim: one more flow to its neighbour */
	WEFT_WORKLOAD_PAIRS,  /* from to to */
	WEFT_WORKLOAD_CHAIN,  /* 0 to 1, then 1 to 2, and so on */
	WEFT_WORKLOAD_ALL_TO_ALL,
	WEFT_WORKLOAD_RING_ALLREDUCE,
	WEFT_WORKLOAD_TREE_ALLREDUCE,     /* a binary tree up and down, in pieces */
	WEFT_WORKLOAD_DOUBLING_ALLREDUCE, /* recursive halving, then doubling */
	WEFT_WORKLOAD_ALL_GATHER,
	WEFT_WORKLOAD_REDUCE_SCATTER,
	WEFT_WORKLOAD_POISSON,
	WEFT_WORKLOAD_TRAINING,
	WEFT_WORKLOAD_FILE, /* .goal, .cm, or SimAI's text */
	WEFT_WORKLOAD_KINDS
};
enum weft_workload_placement { WEFT_PLACE_PACKED, WEFT_PLACE_SPREAD, WEFT_PLACE_RANDOM };
/* Of "start" in a .cm file: csg-htsim's are picoseconds, uet-htsim's microseconds. */
enum weft_workload_start_unit { WEFT_START_UNSAID, WEFT_START_PS, WEFT_START_US };
/* Of a GOAL file's receives: as many as the send's, or what the buffer could take. */
enum weft_workload_recv_bytes { WEFT_RECV_EQUAL, WEFT_RECV_ANY };
enum weft_workload_sizes { WEFT_SIZES_FIXED, WEFT_SIZES_WEBSEARCH, WEFT_SIZES_HADOOP };

/* What one job is.  Fields that its kind does not have are left alone. */
struct weft_workload_spec {
	enum weft_workload_kind kind;
	enum weft_workload_placement placement;
	enum weft_workload_sizes sizes;
	enum weft_workload_start_unit start_unit;
	enum weft_workload_recv_bytes recv_bytes;
	char name[WEFT_WORKLOAD_NAME_BYTES];  /* empty: the kind's, or the file's */
	char hosts[WEFT_WORKLOAD_TEXT_BYTES]; /* "all", "0-63", "8-127/8", "0,5,9-12" */
	char file[WEFT_WORKLOAD_TEXT_BYTES];
	uint64_t bytes; /* of a flow; of a collective: of the whole buffer of a rank */
	uint64_t endless_bytes; /* of a .cm file's flow without an end; 0: there is none */
	uint64_t start_ps, compute_ps, for_ps;
	uint64_t seed;
	uint32_t fan_in, window, repeats, pieces, from, to;
	uint32_t load_permille;
	bool victim;
	/* training, and SimAI's text */
	uint32_t tp, cp, pp, dp, ep, layers, microbatches, steps, straggle_percent;
	uint64_t tp_bytes, cp_bytes, pp_bytes, dp_bytes, ep_bytes;
	uint64_t forward_ps, backward_ps;
};
void weft_workload_spec_default(struct weft_workload_spec *spec);

/*
 * key: kind, name, hosts, placement, file, start_unit, recv_bytes, bytes, endless, start, compute,
 * for, seed, fan_in, window, repeats, pieces, from, to, load (0.6), sizes, victim, tp, cp, pp, dp,
 * ep, layers, microbatches, steps, straggle, tp_bytes, cp_bytes, pp_bytes, dp_bytes, ep_bytes,
 * forward, backward.
 */
bool weft_workload_set(struct weft_workload_spec *spec, const char *key, const char *value,
	char *error, size_t error_bytes);
/* "ring-allreduce", "incast:32", "training,tp=8,dp=16", "x.goal,hosts=0-63". */
bool weft_workload_parse(
	struct weft_workload_spec *spec, const char *text, char *error, size_t error_bytes);
const char *weft_workload_kind_name(enum weft_workload_kind kind);

/* One more job.  A load that could not be added is to be closed. */
bool weft_workload_add(struct weft_workload *load, const struct weft_topo *topo,
	const struct weft_workload_spec *spec, char *error, size_t error_bytes);
/* The same from the text of a file; name stands for it in errors and says its format. */
bool weft_workload_add_text(struct weft_workload *load, const struct weft_topo *topo,
	const struct weft_workload_spec *spec, const char *name, const char *text,
	size_t text_bytes, char *error, size_t error_bytes);
void weft_workload_close(struct weft_workload *load);

/*
 * When the last flow can have ended at the earliest, by arithmetic: the larger of what the busiest
 * host must send or receive (weft_sim_ideal_ps) and of the longest chain of flows and computing,
 * each message alone in the fabric.  Loads of more than 2^24 messages: the former.
 */
uint64_t weft_workload_ideal_ps(const struct weft_workload *load, const struct weft_topo *topo);

/*
 * How long each step of a job took, ascending: the first from the earliest start, each other one
 * from the end of the one before.  flows: of one job; end_ps: when they ended, 0 where they have
 * not.  WEFT_NEVER: not over.  malloc'ed; NULL: out of memory.
 */
uint64_t *weft_workload_steps(
	const struct weft_sim_flow flows[], const uint64_t end_ps[], uint32_t n, uint32_t *n_steps);

/* htsim's .topo as a fabric file.  malloc'ed; NULL: error. */
char *weft_workload_topo_text(
	const char *name, const char *text, size_t text_bytes, char *error, size_t error_bytes);
char *weft_workload_topo_file(const char *path, char *error, size_t error_bytes);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_WORKLOAD_H */
