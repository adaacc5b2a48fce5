/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PLAY_LOCAL_H
#define PLAY_LOCAL_H
/*
 * What the files of play share.
 *
 *   file.c    a scenario is read          wish.c     what breaks, and when
 *   scenario_place.c   its fabric                  traffic.c  who sends to whom
 *   claim.c   its claims, judged          measure.c  what a claim may speak of
 *   vacuous.c claims that say nothing
 *   scenario_run.c     a run                       sample.c   how it went over time
 *   engine.c  its engine and switches     script.c   what a run consists of
 *   outcome.c what came of each load      recovery.c what came of each event
 */
#include <weft/base.h>
#include <weft/workload.h>
#include <weft/scenario.h>
#include <weft/yaml.h>

enum { LOADS_MAX = 32, FAULTS_MAX = 256, CLAIMS_MAX = WEFT_SCENARIO_CLAIMS_MAX };

/* ---- wish.c ---- */

struct wish_kind;
struct wish {
	const struct wish_kind *kind;
	const char *where;
	uint64_t at_ps, for_ps, every_ps, step_ps, up_ps, down_ps, bps; /* 0: not said */
	uint32_t ppm, of, line, index;
	uint32_t way; /* enum weft_way; 0: not said */
	bool has_at;
};
/* NULL: it is set; otherwise what is wrong. */
const char *wish_set(struct wish *fault, const char *key, const char *value);
const char *wish_set_kind(struct wish *fault, const char *word, char hint[64]);
/* Everything has been set: do the words fit together? */
const char *wish_check(const struct weft_topo *topo, const struct wish *fault);
bool wish_expand(struct weft_scenario_faults *faults, const struct weft_topo *topo,
	const struct wish *fault, uint64_t stop_ps, uint64_t seed);

/* ---- traffic.c ---- */

/* One entry of the list `load`: a job of room workload, or flows pair by pair. */
struct traffic {
	struct weft_workload_spec spec;
	char name[32];
	uint32_t line;
	bool is_flows, both; /* both: and back */
	bool has_seed;
	bool is_together;  /* see struct weft_scenario_group */
	uint64_t first_ps; /* when the first of its flows begins */
	uint32_t *from, *to;
	uint32_t n_pairs;
};
bool traffic_read(struct weft_yaml *doc, const struct weft_topo *topo, yaml_node_t *node,
	const char *folder, struct traffic *traffic);
void traffic_free(struct traffic *traffic);
/* Adds its flows behind those of all; *ideal_ps: of these alone, from the first start. */
bool traffic_add(const struct weft_topo *topo, const struct traffic *traffic, uint64_t seed,
	struct weft_workload *all, uint64_t *ideal_ps, char *error, size_t error_bytes);
/* When the first of them begins; 0: there is none. */
uint64_t first_start_ps(const struct weft_sim_flow flows[], uint32_t n);
/* Payload that the receivers of these flows can take in, bits per second. */
double traffic_line_bps(
	const struct weft_topo *topo, const struct weft_sim_flow flows[], uint32_t n);

/* ---- scenario_place.c ---- */

bool place_read(struct weft_yaml *doc, yaml_node_t *node, const char *text, size_t text_bytes,
	const char *folder, struct weft_topo **topo);

/* ---- engine.c ---- */

/* *transport_line: untouched if it does not say. */
bool engine_read(struct weft_yaml *doc, yaml_node_t *node, struct weft_sim_config *config,
	uint32_t *transport_line);

/* ---- claim.c, measure.c ---- */

struct claim {
	const char *text; /* as it is written */
	const char *in;   /* "sim", "lab"; NULL: both */
	char measure[32], group[32];
	uint64_t from_ps, to_ps; /* 0, WEFT_NEVER: all of it */
	char op[3];
	double value;     /* in base units: ps, bits per second, bytes, things */
	char relative[8]; /* "ideal", "line"; "": the value stands for itself */
	uint64_t digest, seed;
	bool is_digest, is_windowed;
	uint32_t held, of; /* see struct weft_scenario_judgement */
	uint32_t line;
};
/* NULL: it is a claim; otherwise what is wrong. */
const char *claim_parse(struct claim *claim, const char *text, char hint[96]);
/* Whether these loads have what it speaks of.  The only load there is need not be named. */
bool claim_fits(struct claim *claim, const struct traffic loads[], uint32_t n_loads, char hint[96]);

enum measure_unit { MEASURE_COUNT, MEASURE_TIME, MEASURE_RATE, MEASURE_BYTES, MEASURE_RATIO };
struct measure {
	const char *word;
	enum measure_unit unit;
	bool is_windowed; /* may have "from .. to .." */
	double (*of)(const struct weft_scenario_result *result, const struct claim *claim);
	const char *help;
};
bool measure_is_sim_only(const struct measure *measure); /* a lab cannot tell */
/* What `ideal` is to a measure: nothing, of each flow where they begin together, of the whole. */
enum measure_ideal { IDEAL_NONE, IDEAL_FLOW, IDEAL_WHOLE };
enum measure_ideal measure_ideal(const struct measure *measure);
bool measure_is_of_job(const struct measure *measure); /* it needs a load */
const struct measure *measure_find(const char *word, char hint[96]);
/* It is about the end of the last flow, which no transport can bring below the ideal. */
bool measure_is_of_last(const struct measure *measure);
bool measure_is_of_run(const struct measure *measure); /* no load has one of its own */
/* Whether a row of samples is in the window of the claim. */
bool measure_in_window(
	const struct weft_scenario_result *result, const struct claim *claim, uint32_t row);
/* NaN: cannot be said of this run. */
double measure_of(const struct weft_scenario_result *result, const struct claim *claim);
void measure_text(enum measure_unit unit, double value, char *text, size_t bytes);
const struct weft_scenario_group *group_find(
	const struct weft_scenario_result *result, const char *name); /* NULL: none */

/* ---- vacuous.c ---- */

/* False: it says nothing about this run, and why. */
bool vacuous_before(const struct weft_scenario_result *result, const struct claim *claim,
	const struct measure *measure, char *why, size_t why_bytes);
/* The same of what was measured; ideal: 0 or what it is compared with, both from the same start. */
bool vacuous_after(const struct weft_scenario_result *result, const struct measure *measure,
	double value, double ideal, char *why, size_t why_bytes);

/* ---- outcome.c, recovery.c ---- */

void recoveries_find(struct weft_scenario_result *result);

/* ---- script.c, sample.c ---- */

struct sampler {
	struct weft_scenario_result *result;
	const struct weft_sim *sim;
	uint32_t rows_max, room;
	uint64_t step_ps, next_ps;
	double *last; /* what each column stood at */
	bool is_fixed, has_states;
};
bool sample_open(struct sampler *s, struct weft_scenario_result *result, const struct weft_sim *sim,
	uint64_t step_ps, uint32_t rows_max, bool is_fixed);
void sample_take(struct sampler *s, uint64_t now_ps);
void sample_close(struct sampler *s);

struct weft_scenario {
	struct weft_scenario_head head;
	struct weft_yaml doc;
	char *name, *text;
	bool has_doc;
	struct weft_topo *topo;
	struct weft_sim_config config;
	struct traffic loads[LOADS_MAX];
	struct wish *faults;
	struct claim *claims;
	uint64_t sample_ps;
};
/* The flows of one run, and the groups they make, one per load.  False: error. */
bool flows_make(const struct weft_scenario *play, uint64_t seed, struct weft_workload *all,
	struct weft_scenario_group **groups, char *error, size_t error_bytes);

#endif
