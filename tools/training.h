/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TRAINING_H
#define TRAINING_H
/*
 * training - what the files of `weft demo training` share: a PyTorch job on four hosts of a lab,
 * once over Weft with nothing broken, once over Weft and once over TCP while planes flap, a T1
 * dies and a NIC loses a port.
 *
 *   demo_training    what is run, and what comes out of it
 *   training_plan    the faults, by step of the training: the same moments for each network
 *   training_job     mpirun and what it needs: one rank per host, and TCP's way across all planes
 *   training_log     what rank 0 says, line by line
 *   training_report  tables, report.json, report.html
 *
 * Time     CLOCK_MONOTONIC ns, in the job as here: one machine, one axis.
 * Errors   0, or -1 with one line in the run's error.
 */
#include "demo.h"

#define TRAINING_STEPS_MAX 5000u
#define TRAINING_FAULTS_MAX 8u
#define TRAINING_RANKS 4u

enum training_net { TRAINING_WEFT, TRAINING_TCP };

struct training_fault {
	const char *name, *story;
	enum weft_lab_fault_kind kind;
	const char *where;
	uint64_t hold_ns;
	unsigned times; /* so often, as long up as down between */
};

struct training_plan {
	unsigned steps;
	const struct training_fault *faults;
	unsigned n;
	unsigned at[TRAINING_FAULTS_MAX]; /* the step whose end starts it */
};

struct training_step {
	uint64_t at_ns, ns;
	double loss;
};

struct training_hit {
	uint64_t asked_ns, to_ns; /* struck; to be mended for good */
	unsigned step, times;     /* after which; struck so often by now */
	char text[DEMO_TEXT_BYTES];
	struct demo_strike strikes[DEMO_TIMES_MAX];
	struct demo_judged judged; /* after the run */
};

struct training_run {
	enum training_net net;
	bool is_faulty; /* goes through the plan */
	bool done;      /* the job came to its end and said so */
	char error[DEMO_TEXT_BYTES];
	uint64_t parameters, ranks;
	uint64_t began_ns, end_ns;
	struct training_step steps[TRAINING_STEPS_MAX];
	unsigned n;
	char sha256[65];
	struct training_hit hits[TRAINING_FAULTS_MAX]; /* of the plan's faults, each */
	unsigned n_hits;                               /* struck so far */
	uint64_t again; /* packets or segments that were sent once more, by all hosts */
};

struct training_result { /* of the steps; 0 where there are none */
	uint64_t median_ns, p99_ns, longest_ns, total_ns;
	unsigned longest; /* which step */
};

/* ---- training_plan.c ---- */

void training_plan_fill(struct training_plan *plan, unsigned steps);
/* Strikes what is due after so many steps.  0, or -1 with run->error. */
int training_strike(const struct training_plan *plan, struct weft_lab *lab,
	struct training_run *run, unsigned steps_done, uint64_t now);
/* After it: which were made while the job ran, by the lab's record. */
void training_judge(
	const struct training_plan *plan, struct weft_lab *lab, struct training_run *run);
/* All that was to be made was. */
bool training_as_planned(const struct training_plan *plan, const struct training_run *run);
/* Strikes again what flaps. */
int training_flap(const struct training_plan *plan, struct weft_lab *lab, struct training_run *run,
	uint64_t now);

/* ---- training_log.c ---- */

/* False: not one of the job's lines (it may be a message of anybody's). */
bool training_line(struct training_run *run, const char *line);
void training_measure(const struct training_run *run, struct training_result *result);
const char *training_name(const struct training_run *run); /* "Weft, nothing broken" */

/* ---- training_job.c ---- */

struct training_job;

/* self: this program; script: the folder of train.py. */
int training_start(struct demo *demo, const char *self, const char *script,
	const struct training_plan *plan, struct training_run *run, struct training_job **job);
/* Reads what it has said, waits up to wait_ms for more.  1: it goes on, 0: it has ended. */
int training_read(struct training_job *job, struct training_run *run, int wait_ms);
void training_stop(struct demo *demo, struct training_job *job, struct training_run *run);
/* Gives each host an IPv4 address per plane, by a VXLAN over the plane: for TCP. */
int training_tcp_planes(struct demo *demo, char *error, size_t error_bytes);

/* ---- training_report.c ---- */

void training_tables(const struct term *term, const struct training_plan *plan,
	const struct training_run runs[], unsigned n);
json_t *training_json(
	const struct training_plan *plan, const struct training_run runs[], unsigned n);
int training_write(const char *folder, const json_t *json);

#endif
