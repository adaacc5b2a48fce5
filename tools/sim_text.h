/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_TEXT_H
#define SIM_TEXT_H
/*
 * sim_text - what `weft sim` is made of: quantities and faults as text, and what it says at the
 * end.
 */
#include "term.h"

#include <argp.h>
#include <jansson.h>
#include <weft/workload.h>
#include <weft/sim.h>

/* "20us", "1.5ms"; "2MB", "64KiB", "4096"; "100Gb/s".  False: not of that form. */
bool sim_read_time(const char *text, uint64_t *ps);
bool sim_read_bytes(const char *text, uint64_t *bytes);

/* And back, in us; WEFT_NEVER: null, and in a table that word. */
json_t *sim_us_json(uint64_t ps);
void sim_us_add(struct table *table, uint64_t ps, const char *never);

#define SIM_FAULT_TEXTS_MAX 256

/* What a person asked for; texts are argv's. */
struct sim_args {
	const char *fabric;
	const char *loads[WEFT_WORKLOAD_JOBS_MAX];
	uint32_t n_loads;
	const char *bytes_text;
	uint64_t bytes, until_ps;
	struct weft_sim_config config;
	uint32_t ranks; /* 0: not said */
	const char *faults[SIM_FAULT_TEXTS_MAX];
	uint32_t n_faults;
	const char *report;
	bool json, dry_run, has_reply_paths;
};

/* The same as a scenario's text, which is the caller's to free; NULL: error. */
char *sim_scenario_text(const struct sim_args *args, char *error, size_t error_bytes);
/* As `weft play` of that text: cmd_play.c. */
int play_text(const char *text, const struct sim_args *args);

/* Options about transports; input: struct weft_sim_config. */
extern const struct argp sim_baseline_argp;

/* What one job of a load took; name is the load's. */
struct sim_job {
	const char *name;
	uint32_t flows, done, steps;
	uint64_t messages;
	uint64_t start_ps, end_ps;                    /* of the run; end: of what is done */
	uint64_t p50_ps, p99_ps, p999_ps, slowest_ps; /* of steps; WEFT_NEVER: not over */
};
/* False: some flow begins later, waits, computes or is repeated: its job says more than flows. */
bool sim_jobs_are_plain(const struct weft_workload *load);
/* jobs[load->n_jobs].  False: out of memory. */
bool sim_jobs_measure(
	const struct weft_workload *load, const struct weft_sim *sim, struct sim_job jobs[]);
void sim_jobs_print(const struct sim_job jobs[], uint32_t n, const struct term *term);
json_t *sim_jobs_json(const struct sim_job jobs[], uint32_t n); /* a new reference */

struct sim_report {
	const char *load; /* as the person wrote it */
	const char *transport;
	uint64_t bytes, seed;                       /* bytes: of every flow; 0: each has its own */
	uint32_t threads, ranks, n_flows, n_faults; /* ranks: 0 is 1 */
	uint32_t n_missed;                          /* faults for which the run was over too soon */
	const struct weft_topo_shape *shape;
	struct weft_sim_totals totals;
	struct weft_counters counters;
	struct weft_sim_memory memory;
	uint64_t begin_ps, ideal_ps; /* of the first flow; from there to the last one's end */
	uint64_t *sorted_ps;         /* of flows, ascending, WEFT_NEVER: not done; n of them */
	uint32_t n;
	const struct sim_job *jobs; /* NULL: the flows say it all */
	uint32_t n_jobs;
	struct weft_hist messages;   /* ns, of loads with jobs */
	double open_s, run_s, cpu_s; /* of real time; cpu_s: of all threads while it ran */
	uint64_t rss_bytes;          /* of all ranks together */
};
/* The time that `num` of `den` flows do not exceed, by nearest rank; 0: there is none. */
uint64_t sim_quantile(const struct sim_report *report, uint64_t num, uint64_t den);
void sim_report_print(const struct sim_report *report, const struct term *term);
json_t *sim_report_json(const struct sim_report *report); /* a new reference */

#endif
