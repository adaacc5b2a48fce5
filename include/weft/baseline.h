/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_BASELINE_H
#define WEFT_BASELINE_H
/*
 * baseline - what MRC replaces, in the same packets: other transports, to be compared with.
 *
 *   post --> [connection: 1..16 queue pairs] --weft_baseline_output()--> struct weft_pkt
 *                ^ which path: the caller's                                 | the caller's network
 *   poll <-- done, arrived <-- [answers] <----weft_baseline_input()---------+
 *
 *   kind      paths                     repeats                     source
 *   ROCE      one per queue pair        go-back-N                   InfiniBand 1.4, 9.7 (RC)
 *   ROCE_SR   one per queue pair        selective, BDP window       IRN, SIGCOMM 2018
 *   STRIPE    one queue pair per plane  go-back-N                   ROCE, its planes dealt out
 *   SPRAY     any, at random, forgotten selective, DCTCP window     Dixit, INFOCOM 2013; DCTCP 2010
 *   NDP       any, at random, forgotten on trimming, pulls          NDP, SIGCOMM 2017
 *
 * DCQCN (SIGCOMM 2015) may be had with the first three.  All of them send packets of MRC's sizes,
 * so that figures differ by what transports do and not by headers.  Control packets borrow its
 * opcodes: ACK (NAKs too), SACK, NACK (trimmed), PROBE (a CNP, which is as long), EP_REQUEST (a
 * pull).  Connections keep no path state: a path is a hash of five numbers, or random.
 *
 * Time     Picoseconds, never backwards, passed in.
 * Memory   One block lent at init; nothing is allocated.  Numbers of connections are the caller's
 *          choice below config.sends and .receives.
 * Threads  One at a time per endpoint.
 * Errors   False, and nothing has changed.  Packets that fit nowhere are dropped and counted.
 */
#include <weft/proto.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_BASELINE_QPS_MAX 16u
#define WEFT_BASELINE_ANY_PLANE UINT32_MAX
#define WEFT_BASELINE_NO_PATH UINT32_MAX

/* What the engine is compared with; docs/baselines.md says what each one does. */
enum weft_baseline_kind {
	WEFT_BASELINE_NONE, /* not a baseline: the engine */
	WEFT_BASELINE_ROCE,
	WEFT_BASELINE_ROCE_SR,
	WEFT_BASELINE_STRIPE,
	WEFT_BASELINE_SPRAY,
	WEFT_BASELINE_NDP,
	WEFT_BASELINE_KINDS
};
/* "mrc" for NONE, "roce", "roce-sr", "stripe", "spray", "ndp"; "?" for what is none of them. */
const char *weft_baseline_name(enum weft_baseline_kind kind);
/* The kind of that name; false: there is none, and *kind stays. */
bool weft_baseline_find(const char *name, enum weft_baseline_kind *kind);
/* DCQCN may be had, and its switches drop or pause; all others, MRC too, have some that trim. */
bool weft_baseline_is_roce(enum weft_baseline_kind kind);

/* What a person may choose; 0 everywhere: what the papers say, scaled to the line. */
struct weft_baseline_settings {
	enum weft_baseline_kind kind;
	uint32_t qps;         /* of a connection, 1 .. 16; 0: one; STRIPE: one per plane */
	bool dcqcn;           /* ROCE, ROCE_SR, STRIPE */
	uint32_t window_pkts; /* in flight per queue pair; ROCE: no limit; NDP: sent unasked */
	uint64_t rto_ps;      /* nothing heard of the oldest packet for so long */
	/* DCQCN: g = 1/256, F = 5 */
	uint64_t cnp_ps, alpha_ps, timer_ps; /* 50, 55, 55 us */
	uint64_t counter_bytes;              /* 10 MB */
	uint64_t step_bps, leap_bps;         /* 40 and 400 Mb/s at 40 Gb/s */
};

/*
 * Which path a packet takes.  plane: WEFT_BASELINE_ANY_PLANE, or that one.  hash: where to look;
 * the same one gives the same path as long as routes do not change.  *port: the plane it leaves by.
 * WEFT_BASELINE_NO_PATH: that plane does not lead there now; ANY_PLANE always gives a path.
 */
typedef uint32_t weft_baseline_path_fn(
	void *user, uint32_t peer, uint32_t plane, uint32_t hash, uint8_t *port);

/* Fixed for life. */
struct weft_baseline_config {
	struct weft_baseline_settings settings;
	uint32_t host, planes;
	uint32_t sends, receives; /* connections */
	uint32_t works;           /* posted and not done, all connections together */
	uint32_t payload_bytes;
	uint32_t overhead_bytes;  /* of a data frame on the line: headers, FCS, gap */
	uint64_t port_bps;
	uint64_t rtt_ps;          /* of the longest path, empty */
	uint64_t seed;
	weft_baseline_path_fn *path;
	void *user;
};

struct weft_baseline;

size_t weft_baseline_size(const struct weft_baseline_config *config); /* 0: impossible */
/* block: weft_baseline_size() bytes, 64-byte aligned. */
bool weft_baseline_init(
	struct weft_baseline **baseline, void *block, const struct weft_baseline_config *config);
/* Both ends, before anything is posted: peer's receiving connection, or its sending one. */
void weft_baseline_connect(struct weft_baseline *baseline, bool is_receiver, uint32_t number,
	uint32_t peer, uint32_t peer_number);

/* One message over a sending connection; they are done in order.  False: too many, no bytes. */
bool weft_baseline_post(struct weft_baseline *baseline, uint32_t number, uint64_t id,
	uint32_t bytes, uint64_t now_ps);

/* Takes one packet in; what fits nowhere is dropped and counted. */
void weft_baseline_input(
	struct weft_baseline *baseline, const struct weft_pkt *pkt, uint64_t now_ps);
/*
 * Fires what is due, then gives one packet that may leave by the ports in free.  Data does not
 * leave by those in paused (PFC).  False: nothing may leave.
 */
bool weft_baseline_output(struct weft_baseline *baseline, struct weft_pkt *pkt, uint32_t free,
	uint32_t paused, uint64_t now_ps);
uint64_t weft_baseline_next_ps(const struct weft_baseline *baseline); /* WEFT_NEVER: idle */
/* False: output has nothing to give until something is put in or posted or a timer is due. */
bool weft_baseline_wants_output(const struct weft_baseline *baseline);
/* Paths are asked for anew from now on. */
void weft_baseline_routes_changed(struct weft_baseline *baseline);

/* One message that is over, at either end. */
struct weft_baseline_done {
	uint64_t id;  /* its low 32 bits, if arrived */
	bool arrived; /* here, whole; else: sent from here, and acknowledged */
};
/* The next of them, to be asked for after each input; false: no more. */
bool weft_baseline_poll(struct weft_baseline *baseline, struct weft_baseline_done *done);

struct weft_baseline_counters { /* all of them only grow */
	uint64_t tx_data_pkts, tx_data_bytes, tx_rtx_pkts, rx_data_pkts, rx_data_bytes;
	uint64_t rx_out_of_order, rx_duplicate, rx_ce, rx_trimmed;
	uint64_t tx_acks, tx_naks, tx_cnps, tx_pulls, rx_acks, rx_naks, rx_cnps, rx_pulls;
	uint64_t timeouts, answers_lost, drops;
};
/* For the life of the baseline, and always current. */
const struct weft_baseline_counters *weft_baseline_stats(const struct weft_baseline *baseline);

/* Payload that was placed by a receiving connection; each byte once. */
uint64_t weft_baseline_received_bytes(const struct weft_baseline *baseline, uint32_t number);

struct weft_baseline_sender { /* of one queue pair of a sending connection */
	uint64_t rate_bps;    /* DCQCN's; the line's without it */
	uint32_t window_pkts; /* 0: no limit */
	uint32_t acked, next, end; /* PSNs: those below are acknowledged, sent, posted */
};
/* number: of a sending connection; qp: below settings.qps. */
void weft_baseline_look(const struct weft_baseline *baseline, uint32_t number, uint32_t qp,
	struct weft_baseline_sender *sender);
/* Walks every invariant; aborts on a broken one. */
void weft_baseline_check(const struct weft_baseline *baseline);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_BASELINE_H */
