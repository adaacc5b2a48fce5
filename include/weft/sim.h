/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_SIM_H
#define WEFT_SIM_H
/*
 * sim - a whole fabric in virtual time: the engine at every host, our switch at every switch.
 *
 *   flows --> [engine] --NIC port--> cable --> [T0] --> cable --> [T1] --> ... --> [engine]
 *                                      ^ whatever starts in one window of time
 *                                        arrives in a later one
 *
 * Nothing is modelled twice: hosts are engine endpoints (engine.h), switches are fabric switches
 * (switch.h, struct mode), cables and tables come from the fabric file (topo.h).  What is simulated
 * is time, cables, and hosts that are never busy.
 *
 * Time     Picoseconds; the world starts at WEFT_SIM_START_PS, and so do flows that start at 0.
 * Memory   All of it is reserved by _open and touched as far as it is needed; nothing is allocated
 *          while time runs.  weft_sim_estimate() says before how much it will be.
 * Threads  config.threads while weft_sim_run() runs, none outside.  Results do not depend on it.
 * Errors   0, or -1 with one line in error.  A broken invariant aborts.
 */
#include <weft/base.h>
#include <weft/engine.h>
#include <weft/switch.h>
#include <weft/baseline.h>
#include <weft/topo.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_SIM_THREADS_MAX 64u
#define WEFT_SIM_START_PS UINT64_C(1000000) /* an engine's time starts above 0 */

#define WEFT_SIM_RANKS_MAX 1024u

struct weft_sim;
struct weft_sim_ranks;

struct weft_sim_config {
	const struct weft_topo *topo;       /* lent for the life of the simulation */
	uint32_t threads;                   /* 1 .. WEFT_SIM_THREADS_MAX; of each rank */
	const struct weft_sim_ranks *ranks; /* lent as well; NULL: this process does it all */
	uint64_t seed;
	uint32_t paths;       /* EVs per pair, all planes together: 1 .. 512 */
	uint32_t reply_paths; /* the same for the way back; SACKs and no data go there */
	/* What holds instead of the fabric file's `switch`; UNSAID: what the file says. */
	enum weft_discipline discipline; /* LOSSLESS: for baselines that honour pauses */
	enum weft_topo_marks marks;      /* CORE: no ECN on ports to hosts, as in the MRC paper */
	const struct weft_cc_ops *cc;
	struct weft_baseline_settings
		baseline; /* .kind: whose transport hosts have; NONE: the engine */
	uint64_t bgp_detect_ps, bgp_converge_ps; /* baselines: docs/baselines.md */
	const struct weft_sim_edge *edges;       /* lent to _estimate and _open; flows name them */
	uint32_t n_edges;
};
/* One thread, seed 1, 128 paths of which 16 serve for the way back, switches as filed, NSCC. */
void weft_sim_config_default(struct weft_sim_config *config);
/*
 * What its switches do: as it says, or as its fabric file does.  RoCE cannot use what is left of a
 * trimmed packet: where the file says trim, or nothing, and the configuration nothing, its switches
 * drop.
 */
enum weft_discipline weft_sim_discipline(const struct weft_sim_config *config);
enum weft_topo_marks weft_sim_marks(const struct weft_sim_config *config);

/*
 * ---- ranks: one run by several processes ----
 *
 *   rank 0: the first pods, the first T1s  <--- letters, once per step --->  rank 1: the next ones
 *
 * Each has the same topo, flows and faults, and memory for its own hosts and switches only.  All
 * call the same functions of this header in the same order with the same arguments; what is about
 * the whole run (totals, counters, queues, paths, messages) comes out the same in all of them, and
 * the same as in a process that is alone.  Flows and hosts of others: see weft_sim_gather().
 */
struct weft_sim_letter {
	const void *at; /* of eight bytes' alignment; of the sender's until exchange() is back */
	size_t bytes;
};
struct weft_sim_ranks {
	uint32_t rank, n; /* n: 1 .. WEFT_SIM_RANKS_MAX and not more than T0s per plane */
	uint32_t here;    /* ranks on this machine, this one included: they share its memory */
	void *user;
	/*
	 * out[i] goes to rank i and in[i] has come from it, good until the next call; the entries
	 * of the own rank are left alone.  Called as often by all ranks, by the thread that is in
	 * this header's function.  False: some rank is gone; then at once for ever.
	 */
	bool (*exchange)(
		void *user, const struct weft_sim_letter out[], struct weft_sim_letter in[]);
};

/*
 * One write of len_bytes from src to dst, or a step of computing at src alone.  All flows of a job
 * from one host to another share a queue pair, in the order in which they begin.
 *
 *   flow 0  h0 --------> h1                     edges[0] = { .flow = 0 }
 *   flow 1               h1 --computes-- h1     after_first 0, n_after 1: when 0 has arrived
 *
 * What a flow waits for must begin at its own source, and is done when its sender knows, or end
 * there: it has arrived when a write with immediate has consumed a receive there.  Nothing else
 * is ever known to a host.  A repeated flow begins again as soon as its edges allow; with
 * { .flow = itself, .lag = 1 } that is one repetition after the other.
 */
struct weft_sim_flow {
	uint32_t src, dst;             /* the same host: it computes for delay_ps */
	uint32_t len_bytes;            /* at least 1; 0 where it computes */
	uint64_t start_ps;             /* after WEFT_SIM_START_PS; not before that */
	uint32_t repeats;              /* 0 is 1 */
	uint64_t delay_ps;             /* it begins so long after start_ps and what it waits for */
	uint32_t after_first, n_after; /* config.edges: what it waits for */
	uint16_t job;
	uint16_t step; /* for whoever reports */
	bool told;     /* a write with immediate even if nobody waits for it */
};

#define WEFT_SIM_WHOLE UINT32_MAX
/* Repetition i waits for repetition i - lag of flow, if there is one; WHOLE: for all of them. */
struct weft_sim_edge {
	uint32_t flow, lag;
};

/*
 * The first flow that waits, maybe by way of others, for itself, so that it cannot begin.
 * UINT32_MAX: there is none.  All edges must name flows that exist.  Out of memory: none.
 */
uint32_t weft_sim_circle(const struct weft_sim_flow flows[], uint32_t n,
	const struct weft_sim_edge edges[], uint32_t n_edges);

/* ---- loads: who sends to whom ---- */

/* Every host sends once and receives once, in one random cycle: hosts flows. */
void weft_sim_permutation(const struct weft_topo *topo, uint32_t len_bytes, uint64_t seed,
	struct weft_sim_flow flows[]);
/* One step of a ring over all hosts in their order: each sends to the next one; hosts flows. */
void weft_sim_ring(const struct weft_topo *topo, uint32_t len_bytes, struct weft_sim_flow flows[]);
/* fan_in random hosts, none of them below host 0's T0s, send to host 0.  False: too few. */
bool weft_sim_incast(const struct weft_topo *topo, uint32_t fan_in, uint32_t len_bytes,
	uint64_t seed, struct weft_sim_flow flows[]);

/*
 * When the last of these flows can be done at the earliest, in ps after its start, by arithmetic:
 * the busiest of sources and destinations sends full packets back to back over all its planes, the
 * last one is stored and forwarded at each hop, and its acknowledgement comes back.
 */
uint64_t weft_sim_ideal_ps(
	const struct weft_topo *topo, const struct weft_sim_flow flows[], uint32_t n);

/* The same for one flow, once, alone in the fabric; *arrived_ps: until its last byte is there. */
uint64_t weft_sim_alone_ps(
	const struct weft_topo *topo, const struct weft_sim_flow *flow, uint64_t *arrived_ps);

/* ---- faults ---- */

enum weft_sim_fault_kind {
	WEFT_SIM_LINK_DOWN, /* both ends see it at once; what is on the cable is lost */
	WEFT_SIM_LINK_UP,
	WEFT_SIM_LINK_RATE,   /* value: bits per second, both ways */
	WEFT_SIM_NODE_FREEZE, /* a switch: forwards nothing, says nothing, links stay up */
	WEFT_SIM_NODE_THAW,
	WEFT_SIM_NODE_DOWN, /* a switch without power: frozen, and its links are down */
	WEFT_SIM_NODE_UP,
	WEFT_SIM_LINK_LOSS,    /* value: ppm of the frames that cross it and vanish; 0: none */
	WEFT_SIM_LINK_CORRUPT, /* value: ppm that the receiver's ICRC will refuse; 0: none */
	WEFT_SIM_HOST_PAUSE,   /* its NIC sends nothing and loses what comes, links stay up */
	WEFT_SIM_HOST_RESUME,
	WEFT_SIM_FAULTS
};
/* Added to the value of LOSS and CORRUPT: away from hosts only, to hosts only; none: both ways. */
#define WEFT_SIM_UP (UINT64_C(1) << 32)
#define WEFT_SIM_DOWN (UINT64_C(1) << 33)
struct weft_sim_fault {
	uint64_t at_ps; /* after WEFT_SIM_START_PS */
	uint8_t kind;   /* enum weft_sim_fault_kind */
	uint32_t where; /* link or node */
	uint64_t value;
};

/* ---- a run ---- */

/*
 * Bytes, by what for.  Packets and mail are guesses from bandwidth and delay.  Of several ranks it
 * is the one that has the least left over.
 */
struct weft_sim_memory {
	uint64_t endpoints, switches, packets, mail, tables, total;
	uint64_t available; /* its part of what its machine has left; UINT64_MAX: it does not say */
	uint32_t rank;
};
int weft_sim_estimate(const struct weft_sim_config *config, const struct weft_sim_flow flows[],
	uint32_t n, struct weft_sim_memory *memory, char *error, size_t error_bytes);

/* flows and faults are copied. */
int weft_sim_open(struct weft_sim **sim, const struct weft_sim_config *config,
	const struct weft_sim_flow flows[], uint32_t n, const struct weft_sim_fault faults[],
	uint32_t n_faults, char *error, size_t error_bytes);
void weft_sim_close(struct weft_sim *sim); /* NULL is fine */

struct weft_sim_totals {
	uint64_t now_ps;      /* after WEFT_SIM_START_PS: the end of the last window */
	uint64_t packet_hops; /* packets of any kind that crossed a link */
	uint64_t
		hops_ideal; /* what that comes to if nothing is sent twice, one ACK for 4 packets */
	uint64_t windows;
	uint64_t lost;    /* frames that switches and cut cables dropped */
	uint64_t trimmed; /* frames cut by switches */
	uint64_t marked;  /* frames marked by switches */
	uint64_t corrupt; /* of those lost: frames that a receiver's ICRC refused */
	uint64_t pauses;  /* times that a switch told a neighbour to stop (PFC) */
	uint32_t flows_done, flows_failed;
	uint64_t digest;      /* of every delivery, host by host: when, what */
	uint64_t packets_max; /* packets that existed at the same time, upper bound */
	bool is_cut;          /* a rank is gone: what is said is not about the whole any more */
};

/*
 * Called after each window by the thread that called weft_sim_run(), with what it and the others
 * have done until then: now_ps, packet_hops, hops_ideal, windows, flows_done and flows_failed.
 * False: stop, after the window that has begun meanwhile.
 */
typedef bool weft_sim_watch_fn(void *arg, const struct weft_sim_totals *so_far);

/*
 * Lets time run until all flows are done, until_ps (after WEFT_SIM_START_PS), or nothing is left
 * to happen.  Can be called again to go on.  watch may be NULL.
 */
void weft_sim_run(
	struct weft_sim *sim, uint64_t until_ps, weft_sim_watch_fn *watch, void *watch_arg);

/* ---- results ---- */

/*
 * Tells all ranks what each knows of flows and hosts: before, flow_ps and flow_times are right at
 * the flow's source (arrived_ps at its destination) only, host_digest at the host's rank.
 */
void weft_sim_gather(struct weft_sim *sim);
/* Each value becomes the sum of what all ranks gave. */
void weft_sim_sum(const struct weft_sim *sim, uint64_t values[], uint32_t n);

/* Between runs. */
void weft_sim_totals(const struct weft_sim *sim, struct weft_sim_totals *totals);
/* From its start until its sender knows that it is done; 0: not yet, or failed. */
uint64_t weft_sim_flow_ps(const struct weft_sim *sim, uint32_t flow);
/* After WEFT_SIM_START_PS.  done and arrived: of the last repetition; 0: not yet. */
struct weft_sim_times {
	uint64_t started_ps; /* posted, or in line behind others; of the first repetition */
	uint64_t done_ps;    /* its sender knows */
	uint64_t arrived_ps; /* its receiver knows; 0 also where it is not told */
};
void weft_sim_flow_times(const struct weft_sim *sim, uint32_t flow, struct weft_sim_times *times);
/* How long each message took, repetitions counted one by one: nanoseconds, up to 4 seconds. */
void weft_sim_messages(const struct weft_sim *sim, struct weft_hist *hist);
uint64_t weft_sim_host_digest(const struct weft_sim *sim, uint32_t host);
/* Sums of the endpoints' counters. */
void weft_sim_counters(const struct weft_sim *sim, struct weft_counters *sum);
/* Walks every invariant of this rank's endpoints and switches; aborts on a broken one. */
void weft_sim_check(const struct weft_sim *sim);

/*
 * ---- eyes: how things stand between two runs ----
 *
 * weft_sim_run() to the next moment, then look; nothing runs meanwhile, so that what is seen is the
 * same for any number of threads, and who does not look pays nothing.  All counts only grow.
 */
enum { WEFT_SIM_TIERS = 3 }; /* up from a T0, down from a T1, down from a T0 */

struct weft_sim_tier {              /* of all ports of one kind in one plane */
	uint64_t waiting_bytes;     /* now, all ports together */
	uint32_t waiting_max_bytes; /* now, at the port where most waits */
};
/* Walks all ports of a plane: some 10 ns each. */
void weft_sim_queues(
	const struct weft_sim *sim, uint32_t plane, struct weft_sim_tier tiers[WEFT_SIM_TIERS]);
/* Frames trimmed (marked, dropped) by the switches of one plane, below and above. */
struct weft_sim_plane {
	uint64_t trimmed[2], marked[2], dropped[2]; /* by T0s, by T1s */
};
void weft_sim_plane(const struct weft_sim *sim, uint32_t plane, struct weft_sim_plane *counts);
/*
 * Payload that has come, by jobs (struct weft_sim_flow): bytes[n_jobs].  Where one host receives
 * from several jobs it is exact for baselines, and for the engine what the host has got in the
 * proportion of what its queue pairs have, headers included.  Some 50 ns per flow and host.
 */
void weft_sim_jobs(const struct weft_sim *sim, uint64_t bytes[], uint32_t n_jobs);
/* The counters of one host's endpoint; of another rank's host all are 0. */
void weft_sim_host_counters(
	const struct weft_sim *sim, uint32_t host, struct weft_counters *counters);
/*
 * Path index of a flow, at its sender: false past the last one.  Flows whose QP never opened have
 * none.
 */
bool weft_sim_flow_path(
	const struct weft_sim *sim, uint32_t flow, uint32_t index, struct weft_path_info *info);
/*
 * How many of the paths that data goes over are in which state, by plane: states[planes], with
 * states[p][0] those that are WEFT_PATH_GOOD, and so on.  Returns how many there are, all together;
 * baselines have none.  Walks all of them: some 10 ns each.
 */
enum { WEFT_SIM_PATH_STATES = WEFT_PATH_DENIED - WEFT_PATH_GOOD + 1 };
uint64_t weft_sim_paths(const struct weft_sim *sim, uint64_t states[][WEFT_SIM_PATH_STATES]);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_SIM_H */
