/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DEMO_H
#define DEMO_H
/*
 * demo - what the files of `weft demo` share.
 *
 *   demo_lab      the fabric: up, and certainly down
 *   demo_plan     which faults, when, on what
 *   demo_file     the file that is copied, and the comparison afterwards
 *   demo_stream   TCP and MPTCP: sender and receiver, as child processes on two hosts of the lab
 *   demo_copy     Weft: the same by `weft cp`
 *   demo_watch    what goes on beside: bytes per plane, and when the machine itself stood still
 *   demo_run      one transport: start, wait, break, mend, stop
 *   demo_judge    which faults have happened, by the lab's own record
 *   demo_series   numbers out of arrival times: rates, stalls
 *   demo_picture  the timeline in a terminal
 *   demo_report   tables, report.json, report.html
 *
 * Time     all CLOCK_MONOTONIC ns, the same for all processes, so that everything fits one axis.
 * Errors   0, or -1 with one line in error.
 */
#include <weft/lab.h>

#include <jansson.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "term.h"

#define DEMO_TEXT_BYTES 512
#define DEMO_WHY_BYTES 256
#define DEMO_FAULTS_MAX 16
#define DEMO_TIMES_MAX 4              /* that one of them strikes: flaps */
#define DEMO_BIN_NS UINT64_C(1000000) /* of arrival times: what a stall is rounded to */

#define DEMO_PLANES 8

extern volatile sig_atomic_t demo_stopped; /* a signal came: wind up */

/* ---- demo_series.c ---- */

struct demo_gap {
	uint64_t at_ns, ns;
};

#define DEMO_GAPS_MAX 8192u
#define DEMO_GAP_NS UINT64_C(1000000) /* shorter ones are not noted */

struct demo_series {
	uint64_t bin_ns, start_ns, end_ns; /* first and last arrival */
	uint64_t bytes;
	uint64_t *bins; /* cumulative bytes at the end of each bin since start_ns */
	size_t n, room;
	struct demo_gap gaps[DEMO_GAPS_MAX]; /* the receiving process was not run in time */
	uint32_t n_gaps;
};

/* bins: room for that many; what arrives later is counted in the last. */
void series_begin(struct demo_series *series, uint64_t *bins, size_t room);
void series_add(struct demo_series *series, uint64_t bytes, uint64_t now);
void series_add_gap(struct demo_series *series, uint64_t at_ns, uint64_t ns);
/* From what `weft cp --json` says at the receiver; bins are allocated. */
int series_read(struct demo_series *series, const json_t *json);
/* Bytes that had arrived by then. */
double series_bytes_at(const struct demo_series *series, uint64_t at_ns);
/* Mean, bits per second. */
double series_rate(const struct demo_series *series, uint64_t from_ns, uint64_t to_ns);
/* The longest time without an arrival that touches [from, to); to a bin. */
struct demo_gap series_stall(const struct demo_series *series, uint64_t from_ns, uint64_t to_ns);
/* How much of a stall is explained by the longest of these gaps that touches it. */
uint64_t gaps_cover(const struct demo_gap gaps[], size_t n, struct demo_gap stall);

/* ---- demo_plan.c ---- */

struct demo_fault {
	const char *name;  /* "T1 dies silently" */
	const char *story; /* one line for the report */
	enum weft_lab_fault_kind kind;
	const char *where; /* %u: which T1 */
	uint32_t loss_ppm;
	unsigned times; /* flaps: this often within the hold time */
	bool is_death;  /* of a plane, T1 or port: `demo stalls` measures it */
};

struct demo_plan {
	uint64_t lead_ns, hold_ns, gap_ns; /* before the first; of each; after each */
	const struct demo_fault *faults[DEMO_FAULTS_MAX];
	unsigned n;
};

void plan_all(struct demo_plan *plan, bool deaths_only);
uint64_t plan_fault_ns(const struct demo_plan *plan, unsigned i); /* start of fault i */
uint64_t plan_for_ns(const struct demo_plan *plan, unsigned i);   /* of each time it strikes */
/* When it strikes for that time: flaps are as long down as up, beginning and ending with down. */
uint64_t plan_strike_ns(const struct demo_plan *plan, unsigned i, unsigned time);
uint64_t plan_late_ns(const struct demo_plan *plan); /* later than this is not as planned */
uint64_t plan_total_ns(const struct demo_plan *plan);
/* Breaks it; text: what was broken, for people; id: the lab's number for it. */
int plan_strike(const struct demo_plan *plan, unsigned i, struct weft_lab *lab, uint32_t t1,
	char text[DEMO_TEXT_BYTES], uint32_t *id, char *error, size_t error_bytes);

/* ---- demo_judge.c ---- */

enum demo_verdict { DEMO_NOT_MADE, DEMO_OTHERWISE, DEMO_MADE };
extern const char *const demo_verdicts[]; /* "not made", "otherwise", "made" */

struct demo_strike {                   /* one time that a fault is made */
	uint64_t due_ns, for_ns;       /* as planned */
	uint32_t id;                   /* the lab's; 0: not asked for, or refused */
	struct weft_lab_record record; /* all zero: nothing is known of it */
};

struct demo_judged {
	enum demo_verdict verdict;
	char why[DEMO_WHY_BYTES]; /* not DEMO_MADE: what was otherwise, or why not */
	uint64_t from_ns, to_ns;  /* in force, by the lab's word; 0: never */
	uint64_t lasted_ns;       /* in between, for certain */
};

/* Fills in the records; out->why where the lab does not tell. */
void judge_ask(
	struct weft_lab *lab, struct demo_strike strikes[], unsigned n, struct demo_judged *out);
/* At some time in [from, end). */
bool judge_was_on(const struct weft_lab_record *record, uint64_t from_ns, uint64_t end_ns);
/*
 * One fault, of n strikes, in a transfer that ended at end_ns.  out->why may say beforehand why
 * some were not asked for.
 */
void judge(const struct demo_strike strikes[], unsigned n, uint64_t end_ns, uint64_t late_ns_max,
	struct demo_judged *out);

/* ---- demo_file.c ---- */

/* Writes `bytes` of this machine's own files to path, unless it is there already. */
int file_assemble(const char *path, uint64_t bytes, char *error, size_t error_bytes);
int file_bytes(const char *path, uint64_t *bytes, char *error, size_t error_bytes);
/* How many bytes differ (missing and surplus ones too). */
int file_compare(const char *a, const char *b, uint64_t *wrong, char *error, size_t error_bytes);
int file_folder(const char *path, char *error, size_t error_bytes); /* mkdir -p */

/* ---- demo_watch.c ---- */

#define DEMO_WATCH_CPUS_MAX 64
#define DEMO_SAMPLE_NS UINT64_C(20000000)

/* A thread on each CPU that wants to wake up every millisecond, and notes when it could not. */
struct demo_watch;
struct demo_watch *watch_start(void);
/* Stops; gaps in order of time, at most n. */
size_t watch_stop(struct demo_watch *watch, struct demo_gap gaps[], size_t n);

struct demo_samples { /* bytes that came in by each port of the receiver */
	uint32_t planes;
	size_t n, room;
	uint64_t *at_ns;
	uint64_t *bytes;         /* [sample * planes + plane] */
	uint64_t t1_bytes[2][2]; /* through each T1 of plane 0: at the last sample, and before */
};
int samples_take(struct demo_samples *samples, struct weft_lab *lab, uint32_t host, uint64_t now);
uint64_t samples_total(const struct demo_samples *samples); /* since the first */
uint32_t samples_busy_t1(const struct demo_samples *samples);
void samples_end(struct demo_samples *samples);

/* ---- one transport ---- */

enum demo_transport { DEMO_WEFT, DEMO_MPTCP, DEMO_TCP, DEMO_TRANSPORTS };
extern const char *const demo_names[DEMO_TRANSPORTS];

struct demo_hit {
	struct demo_strike strikes[DEMO_TIMES_MAX];
	struct demo_judged judged;
	uint64_t end_ns; /* of what is said about "after": the next one begins, or all is over */
	char text[DEMO_TEXT_BYTES];
	double before_bps, during_bps, after_bps;
	struct demo_gap stall;
	uint64_t machine_ns; /* of the stall, explained by the machine's own gaps */
};

struct demo_run {
	enum demo_transport transport;
	bool done, failed;
	char error[DEMO_TEXT_BYTES]; /* why it failed */
	struct demo_series series;
	struct demo_samples samples;
	struct demo_gap machine[DEMO_GAPS_MAX]; /* gaps of CPUs */
	size_t n_machine;
	struct demo_hit hits[DEMO_FAULTS_MAX]; /* of the plan's faults, each */
	struct demo_gap stall;                 /* the longest of all */
	uint64_t stall_machine_ns;
	/* The receiver's first byte; its last, or the end of the plan.  While it runs, zero_ns is
	 * when the receiver's ports began to count: when the plan's time begins. */
	uint64_t zero_ns, end_ns;
	uint64_t bytes; /* in between */
	uint64_t wrong_bytes, retransmits, paths;
	char sha256[65];           /* of both ends, which compared them */
	json_t *sender, *receiver; /* all that `weft cp` said */
};

struct demo {
	struct term *term;
	struct weft_lab *lab;
	struct demo_plan plan;
	const char *lab_name, *folder, *file;
	enum weft_lab_switches switches;
	uint64_t file_bytes, rate_bps; /* of each link */
	uint32_t sender, receiver;     /* hosts */
	uint64_t seed;
	bool quiet;
};

#define DEMO_FABRIC_OPTION                                                                         \
	{                                                                                          \
		"fabric", 'f', "KIND", 0, "who forwards: soft (default) or kernel", 0              \
	}
/* A transport, as demo_run sees it.  All return 0, or -1 with run->error. */
struct demo_driver {
	int (*start)(struct demo *demo, struct demo_run *run);
	int (*ended)(struct demo *demo, struct demo_run *run); /* 1: all is over */
	int (*stop)(struct demo *demo, struct demo_run *run);  /* and collect */
};
extern const struct demo_driver demo_stream, demo_copy;

/* Runs transport run->transport through the plan.  Also after a failure, run can be reported. */
int run_transport(struct demo *demo, struct demo_run *run);
/* Hits and stalls from the series and from what the lab has noted. */
void run_measure(const struct demo *demo, struct demo_run *run);
/* How many of the plan's faults were made as planned. */
unsigned run_made(const struct demo *demo, const struct demo_run *run);
/* Every fault of the plan was made in each run, and nothing else is said to be the same. */
bool runs_all_made(const struct demo *demo, const struct demo_run runs[], unsigned n);
/* How much of a stall lies within a gap of the machine or of the receiver's process. */
uint64_t run_machine_share(const struct demo_run *run, struct demo_gap stall);
void run_end(struct demo_run *run);

/* Forks a process that ends with its parent, on a host of the lab; 0 in the child, as fork. */
pid_t run_fork(const struct demo *demo, uint32_t host);
bool run_gone(pid_t *pid, int *status); /* it has ended; then *pid is 0 from now on */
void run_kill(pid_t *pid);

/* ---- demo_picture.c, demo_report.c ---- */

void picture_print(const struct demo *demo, const struct demo_run runs[], unsigned n);
void report_tables(const struct demo *demo, const struct demo_run runs[], unsigned n);
json_t *report_json(const struct demo *demo, const struct demo_run runs[], unsigned n);
int report_write(const struct demo *demo, const json_t *json);

/* ---- demo_lab.c ---- */

void demo_catch_signals(void);
int demo_lab_up(struct demo *demo, char *error, size_t error_bytes);
void demo_lab_down(struct demo *demo); /* also after a failed up, and twice */

/* ---- demo_stalls.c, demo_soak.c, demo_incast.c, demo_training.c: demos of their own ---- */

int demo_stalls(int argc, char **argv);
int demo_soak(int argc, char **argv);
int demo_incast(int argc, char **argv);
int demo_training(int argc, char **argv);

#endif
