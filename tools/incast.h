/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INCAST_H
#define INCAST_H
/*
 * incast - what the files of `weft demo incast` share.
 *
 *   7 hosts ==> one NIC, and beside it 1 host ==> that NIC's neighbour: the victim
 *
 *   incast_plan     the fabric, who sends to whom, and when
 *   incast_sender   what one sending host does at a moment: the same code in both worlds
 *   incast_virtual  the world in virtual time: engines, a network, exact
 *   incast_live     the other: a switch and two processes full of endpoints, over shared memory
 *   incast_ends     what is in those two processes
 *   incast_measure  shares, quantiles and the claims, out of samples
 *   incast_report   tables, report.json, report.html
 *
 * Time     ns since the start of a run, whatever the world.
 * Errors   0, or -1 with one line in error.
 */
#include <jansson.h>
#include <stdatomic.h>
#include <weft/engine.h>
#include <weft/topo.h>

#include "term.h"

#define INCAST_SENDERS 7u
#define INCAST_VICTIM INCAST_SENDERS /* the flow beside */
#define INCAST_FLOWS (INCAST_SENDERS + 1)
#define INCAST_BURSTS_MAX 64u
#define INCAST_TEXT_BYTES 512
#define INCAST_FABRIC_BYTES 512

/* What a switch does with what does not fit; the words are the fabric file's. */
enum incast_kind { INCAST_TRIM, INCAST_DROP, INCAST_PAUSE, INCAST_KINDS };

/* ---- incast_plan.c ---- */

struct incast_plan {
	uint64_t rate_bps, delay_ns;            /* of each link */
	uint64_t lead_ns, settle_ns, steady_ns; /* victim alone; incast, not yet and measured */
	uint64_t rest_ns, burst_gap_ns;         /* then nothing; from burst to burst */
	uint32_t bursts, burst_bytes;           /* each sender sends so much, all at once */
	uint64_t step_ns;                       /* from sample to sample */
	uint32_t line_bytes; /* that a full packet lasts on a line, preamble and gap included */
	bool marks_core_only;
};

extern const char *const incast_words[INCAST_KINDS]; /* "trim" ... */
void incast_plan_fill(struct incast_plan *plan, bool is_quick, bool is_live);
uint64_t incast_steady_ns(const struct incast_plan *plan); /* when measuring begins */
uint64_t incast_stop_ns(const struct incast_plan *plan);   /* when the incast ends */
uint64_t incast_burst_ns(const struct incast_plan *plan, uint32_t burst);
uint64_t incast_total_ns(const struct incast_plan *plan);
void incast_ends(uint32_t flow, uint32_t *src, uint32_t *dst); /* hosts of the fabric */
void incast_fabric(
	const struct incast_plan *plan, enum incast_kind kind, char text[INCAST_FABRIC_BYTES]);

/* ---- one run ---- */

struct incast_sample {
	uint64_t at_ns;
	uint64_t bytes[INCAST_FLOWS]; /* of payload, arrived until then */
	uint64_t trimmed, dropped, marked;
	uint32_t queue_bytes; /* waiting in the ports to the one NIC, all planes: most since the
			       * sample before */
};

struct incast_counts {                                                /* of the whole run */
	uint64_t data, again, nacks, timeouts, tail_probes, spurious; /* all hosts */
	uint64_t trimmed, dropped, marked, pauses;                    /* all switches */
};

struct incast_run {
	enum incast_kind kind;
	bool is_done;
	char error[INCAST_TEXT_BYTES];
	struct incast_sample *samples;
	uint64_t *sorted; /* room for as many, for quantiles */
	size_t n, room;
	struct incast_counts counts, at_stop; /* at the end; when the bursts were still to come */
	uint64_t burst_ns[INCAST_BURSTS_MAX][INCAST_SENDERS]; /* until its sender knew; 0: never */
	uint64_t late_ns; /* live: the longest that an endpoint's process was not run */
};

/* A new one, all zero but the time. */
struct incast_sample *incast_add(struct incast_run *run, uint64_t at_ns);
void incast_end(struct incast_run *run);

/* ---- incast_sender.c ---- */

#define INCAST_MTU_BYTES 4096u /* of payload in a full packet */
#define INCAST_MESSAGE_BYTES 65536u
#define INCAST_MESSAGES 4u /* outstanding */
#define INCAST_MEMORY (INCAST_MESSAGES * INCAST_MESSAGE_BYTES)

/*
 * A flow's sending end.  Its QPs are in RTS, the first for the long incast and one for each burst,
 * so that every burst begins with whole first windows: those of a long incast have learned, and no
 * longer fill a queue that can hold their sum.  data is INCAST_MEMORY bytes, or NULL where payload
 * is not looked at; the same much is open at va 0 under rkey.
 */
struct incast_sender {
	const struct incast_plan *plan;
	uint32_t flow;
	struct weft_endpoint *ep;
	struct weft_qp *qp[1 + INCAST_BURSTS_MAX];
	const uint8_t *data;
	uint32_t rkey;
	uint32_t outstanding, next_burst;
	uint64_t posted_ns[INCAST_BURSTS_MAX];
	uint64_t took_ns[INCAST_BURSTS_MAX];
	uint8_t status; /* enum weft_status of the first work that failed */
};
/* Takes completions and posts what is due.  Returns when it wants to be called again at the
 * latest, or WEFT_NEVER. */
uint64_t incast_send(struct incast_sender *sender, uint64_t at_ns);

/* ---- worlds ---- */

int incast_virtual(const struct incast_plan *plan, struct incast_run *run);
/* folder: for the fabric file. */
int incast_live(const struct incast_plan *plan, const char *folder, struct incast_run *run);

/* ---- incast_ends.c ---- */

enum { INCAST_RECEIVERS, INCAST_TRANSMITTERS, INCAST_SIDES };

/* Memory that the processes of a live run share.  A side writes its part, the parent the rest. */
struct incast_shared {
	_Atomic uint64_t start_ns; /* of the run's time, on the clock; 0: not yet */
	_Atomic bool stop;
	struct incast_side {
		_Atomic bool is_ready, has_failed;
		_Atomic uint64_t late_ns;
		struct incast_counts counts; /* every few milliseconds */
		char error[INCAST_TEXT_BYTES];
	} side[INCAST_SIDES];
	_Atomic uint64_t bytes[INCAST_FLOWS]; /* arrived */
	uint64_t took_ns[INCAST_FLOWS][INCAST_BURSTS_MAX];
};

/* A side's whole life: opens its endpoints at the switch in dir, runs until told to stop. */
void incast_side_run(const struct incast_plan *plan, unsigned side, const char *fabric,
	const char *dir, struct incast_shared *shared);

/* ---- incast_measure.c ---- */

struct incast_result {
	double share[INCAST_FLOWS]; /* goodput over what is fair: line / senders, line */
	double least, most;         /* of the senders' */
	double again_share;         /* packets sent again, of all, while it was measured */
	uint64_t message_p50_ns, message_p99_ns; /* of the bursts' messages */
	uint64_t burst_p50_ns, burst_max_ns;     /* until the last message of a burst was done */
	uint32_t unfinished;                     /* messages of bursts */
	uint32_t queue_p50_bytes, queue_max_bytes;
};
void incast_measure(
	const struct incast_plan *plan, const struct incast_run *run, struct incast_result *result);

struct incast_claim {
	const char *text;
	bool holds;
	char found[64];
};
#define INCAST_CLAIMS 4u
/* What trimming is to be good for; made of runs with INCAST_TRIM. */
void incast_claims(const struct incast_run *run, const struct incast_result *result,
	struct incast_claim claims[INCAST_CLAIMS]);
double incast_line_bytes(const struct incast_plan *plan); /* of payload per ns into one NIC */
uint64_t incast_ideal_ns(const struct incast_plan *plan); /* of a burst */

/* ---- incast_report.c ---- */

void incast_tables(const struct term *term, const struct incast_plan *plan,
	const struct incast_run runs[], unsigned n);
json_t *incast_json(const struct incast_plan *plan, const struct incast_run runs[], unsigned n,
	const char *world);
int incast_write(const char *folder, const json_t *json);
void incast_picture(const struct term *term, const struct incast_plan *plan,
	const struct incast_run runs[], unsigned n);

#endif
