/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_SCENARIO_H
#define WEFT_SCENARIO_H
/*
 * scenario - scenario files: a fabric, a load, what breaks, and what is claimed about it.
 *
 *   scenario.yaml --> weft_scenario_open --> struct weft_scenario
 *                                             |  one run per seed
 *                                             v
 *                     sim, in steps --> struct weft_scenario_result: flow times, samples, events
 *                                             |
 *                     claims <----------------+-----> tables, JSON lines, pictures, pages
 *
 * docs/scenarios.md has the words.  What is measured does not depend on threads or on the machine;
 * what it cost stands apart.
 *
 * Time     Picoseconds from the start of the run.
 * Memory   opened objects are the caller's to close; a result outlives its scenario.
 * Threads  one per object; a run has its own (options.threads).
 * Ranks    several processes play the same together (sim.h); all get the same results.
 * Errors   0 or true; otherwise one line in error: "FILE:LINE: FIELD: what is wrong".
 */
#include <weft/sim.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weft_scenario;

/* What the file says about itself.  Texts are "" where it says nothing, and live as long as it. */
struct weft_scenario_head {
	const char *file, *name, *title, *tell;
	const char *text;    /* the whole file */
	const char *picture; /* a kind of picture: weft_scenario_picture_kinds */
	uint64_t seed_first, seed_last;
	uint64_t stop_ps;
	uint32_t n_claims, n_loads, n_faults;
	uint32_t fabric_line, transport_line, faults_line; /* 0: it does not say */
	bool is_picture_set;
};

int weft_scenario_open(
	struct weft_scenario **play, const char *path, char *error, size_t error_bytes);
/* folder: where a fabric file named in the text is looked for. */
int weft_scenario_open_text(struct weft_scenario **play, const char *text, size_t text_bytes,
	const char *name, const char *folder, char *error, size_t error_bytes);
void weft_scenario_close(struct weft_scenario *play); /* NULL is fine */
const struct weft_scenario_head *weft_scenario_head(const struct weft_scenario *play);
const struct weft_topo *weft_scenario_topo(const struct weft_scenario *play);
/* "7", "1-3": at most WEFT_SCENARIO_SEEDS_MAX of them, of 32 bits.  False: not of that form. */
#define WEFT_SCENARIO_SEEDS_MAX 10000u
bool weft_scenario_seeds(const char *text, uint64_t *first, uint64_t *last);
/* True: the file at path has the words of a scenario, and not those of a fabric. */
bool weft_scenario_is_scenario(const char *path);

/* ---- faults by words ---- */

struct weft_scenario_event {           /* something that breaks, for people */
	uint64_t begin_ps, end_ps; /* WEFT_NEVER: does not end */
	char text[96];
};
struct weft_scenario_faults {
	struct weft_sim_fault *list; /* the caller's to free */
	uint32_t *lines;             /* [n]: of the file; 0: of none */
	uint32_t n, room;
	struct weft_scenario_event *events; /* as well; at most WEFT_SCENARIO_EVENTS_MAX of them */
	uint32_t n_events;
};
#define WEFT_SCENARIO_EVENTS_MAX 256u
/* "link-down h3.p0 at 20us for 30us every 100us"; docs/scenarios.md has the kinds. */
bool weft_scenario_fault_add(struct weft_scenario_faults *faults, const struct weft_topo *topo,
	const char *text, uint64_t stop_ps, uint64_t seed, char *error, size_t error_bytes);
void weft_scenario_faults_free(struct weft_scenario_faults *faults);

/* ---- a run ---- */

struct weft_scenario_options {
	uint64_t seed;
	uint32_t threads;                   /* 0: 1 */
	const struct weft_sim_ranks *ranks; /* NULL: alone; lent */
	uint32_t rows_max;                  /* of samples; 0: 400 */
	weft_sim_watch_fn *watch;
	void *watch_arg;
	uint64_t (*now_ns)(void *); /* of real time, for what a run costs; called with NULL */
};

/*
 * A load of the scenario and its flows: [first, first + n), steps of computing among them.
 *
 *   start                                                         end of its last flow
 *     |<----------------------- took_ps, ideal_ps at best --------------->|
 *     |<-- step -->|<-- step -->|<-- step ...
 */
struct weft_scenario_group {
	char name[32];
	uint32_t first, n, line;
	uint64_t start_ps; /* of the first of its flows */
	uint64_t ideal_ps; /* of this load alone, from its own start */
	double line_bps;   /* payload that its receivers can take in per second, by arithmetic */
	bool is_together;  /* its flows begin at once and wait for none: its ideal is each one's */
	/* what came of it */
	bool has_begun;           /* some message of it */
	uint32_t n_flows, n_done; /* without computing, which is no flow to whoever counts */
	uint64_t took_ps;         /* WEFT_NEVER: it is not over */
	uint32_t n_steps;         /* 1: it has none */
	uint32_t n_steps_over;
	uint64_t *steps_ps; /* ascending; WEFT_NEVER: not over */
};

enum weft_scenario_how {
	WEFT_SCENARIO_SUM,
	WEFT_SCENARIO_MAX,
	WEFT_SCENARIO_LAST
}; /* of two rows made one */

/*
 * Something measured over time.  Row i is about (at_ps[i - 1], at_ps[i]]: bytes that came, frames
 * that were lost (SUM); bytes that wait (MAX), paths that are out (LAST).
 */
struct weft_scenario_column {
	char name[40], unit[12];
	enum weft_scenario_how how;
	double *values; /* rows of them */
};

/*
 * Of the goodput after an event.  An event of which nothing can be said has a why.
 *
 *   before ----.                          .------   95 % of before: whole again
 *   settled     \         .--------------'          95 % of what it settles at: no longer felt
 *   lowest       `-------'
 *              |--felt---|           |whole|
 *              begin                 end of the event
 */
struct weft_scenario_recovery {
	uint32_t event;
	uint64_t felt_ps;  /* from its begin; 0: it was not; WEFT_NEVER: not within felt_of_ps */
	uint64_t whole_ps; /* from its end; 0: at once; WEFT_NEVER: not within whole_of_ps */
	uint64_t felt_of_ps, whole_of_ps; /* how long was looked; whole_of_ps 0: nothing to see */
	double lowest, before;            /* bytes per second */
	const char *why;                  /* NULL: the above has been measured; a static text */
};

struct weft_scenario_result {
	char name[64], title[128], file[256], fabric[WEFT_TOPO_NAME_BYTES], transport[24];
	uint64_t seed, stop_ps;
	uint64_t begin_ps, ideal_ps; /* when the first flow begins; when the last can be done */
	uint32_t idle_fault_line;    /* of a fault that never came, the run being over; 0: none */
	uint32_t hosts, planes, threads, paths;
	uint64_t host_bps;
	double line_bps; /* payload that all receivers can take in per second, by arithmetic */
	uint64_t rtt_ps; /* of the longest path, without queues */
	struct weft_sim_totals totals;
	struct weft_counters counters;
	struct weft_sim_memory memory;
	uint32_t n_flows;
	uint64_t *flow_ps;   /* by flow, 0: not done; the times of all, groups after each other */
	uint64_t *end_ps;    /* by flow, computing too: when in the run it was done; 0: it is not */
	uint64_t *alone_ps;  /* by flow: the least it can take; 0: computes, or is repeated */
	uint64_t *start_ps;  /* by flow */
	uint64_t *len_bytes; /* by flow */
	struct weft_scenario_group *groups;
	uint32_t n_groups;
	uint32_t n_messages, n_done; /* flows without computing; of these, done */
	uint64_t took_ps; /* to the end of the last one; WEFT_NEVER: not all have ended */
	uint64_t *at_ps;
	uint32_t rows;
	struct weft_scenario_column *columns;
	uint32_t n_columns;
	struct weft_scenario_event *events;
	uint32_t n_events;
	struct weft_scenario_recovery *recoveries; /* one per event that happened */
	uint32_t n_recoveries;
	uint32_t n_missed;    /* events for which the run was over too soon */
	double open_s, run_s; /* of real time */
	double slower;        /* how much slower than the scenario a live run was; 0: simulated */
	uint64_t late_ps;     /* live: the longest that a host was not run by this machine */
};

/* What a run of this scenario needs; false: error says what is wrong with its words. */
bool weft_scenario_estimate(const struct weft_scenario *play,
	const struct weft_scenario_options *options, struct weft_sim_memory *memory, char *error,
	size_t error_bytes);
/* NULL: error. */
struct weft_scenario_result *weft_scenario_run(const struct weft_scenario *play,
	const struct weft_scenario_options *options, char *error, size_t error_bytes);
void weft_scenario_result_free(struct weft_scenario_result *result); /* NULL is fine */

/*
 * ---- for other worlds than sim: what is to happen, and a result to be filled in ----
 */
struct weft_scenario_first {
	uint64_t at_ps; /* when something of it happens first; WEFT_NEVER: nothing */
	uint32_t line;
};
struct weft_scenario_script {
	const struct weft_sim_config *config; /* transport, paths, switches; the scenario's */
	struct weft_sim_flow *flows;          /* docs of weft_sim_open() hold */
	struct weft_sim_edge *edges;
	uint32_t n_flows, n_edges;
	struct weft_scenario_faults faults; /* in no order of time */
	struct weft_scenario_first *firsts; /* one per fault of the file */
	uint32_t n_firsts;
	struct weft_scenario_group *groups;
	uint32_t n_groups;
};
bool weft_scenario_script_open(struct weft_scenario_script *script,
	const struct weft_scenario *play, uint64_t seed, char *error, size_t error_bytes);
void weft_scenario_script_close(struct weft_scenario_script *script);
/*
 * Describes the run; room for rows_max rows of these columns (their names, units and ways; ended by
 * an empty name).  The caller fills in flow_ps, end_ps, start_ps, totals, counters and rows, then
 * has it concluded: what came of each load, and of each event.  NULL: out of memory.
 */
struct weft_scenario_result *weft_scenario_result_new(const struct weft_scenario *play,
	const struct weft_scenario_script *script, uint64_t seed,
	const struct weft_scenario_column columns[], uint32_t rows_max);
void weft_scenario_conclude(
	struct weft_scenario_result *result, const struct weft_scenario_script *script);

/*
 * By nearest rank over all flows; group NULL: of all loads.  WEFT_NEVER: of one that is not done,
 * which takes longer than any that is.  0: there is none.
 */
uint64_t weft_scenario_quantile(
	const struct weft_scenario_result *result, const char *group, uint64_t num, uint64_t den);
/* Its time over its ideal, both from where its flows begin; NULL: all loads.  0: not over. */
double weft_scenario_over_ideal(
	const struct weft_scenario_result *result, const struct weft_scenario_group *group);
/* The same of the steps of a load. */
uint64_t weft_scenario_step_quantile(
	const struct weft_scenario_group *group, uint64_t num, uint64_t den);
/* NULL: no such column. */
const struct weft_scenario_column *weft_scenario_column(
	const struct weft_scenario_result *result, const char *name);

/* ---- claims ---- */

enum weft_scenario_verdict { WEFT_SCENARIO_FAILED, WEFT_SCENARIO_PASSED, WEFT_SCENARIO_SKIPPED };
struct weft_scenario_judgement {
	const char *claim;              /* as it is written; as long as the scenario */
	char measured[48];              /* with its unit */
	char why[96];                   /* of SKIPPED and of what cannot be judged */
	enum weft_scenario_verdict verdict; /* under this seed */
	uint32_t line;
	uint32_t held, of; /* it is to hold under so many of so many seeds; of 0: under each */
};
#define WEFT_SCENARIO_CLAIMS_MAX 128u
/* where: "sim" or "lab". */
void weft_scenario_judge(const struct weft_scenario *play, uint32_t claim,
	const struct weft_scenario_result *result, const char *where,
	struct weft_scenario_judgement *judgement);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_SCENARIO_H */
