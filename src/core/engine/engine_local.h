/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_ENGINE_LOCAL_H
#define WEFT_ENGINE_LOCAL_H
/*
 * The engine's own structs and the calls between its files.
 *
 *   engine_request.c  works -> packets            respond.c  packets -> placements
 *   sent.c     what is in flight           window.c   what has arrived
 *   ack_in.c   SACK, NACK, ACK -> sent     ack_out.c  what to answer, and when
 *   engine_loss.c     what is gone                engine_probe.c    endpoint operations, port
 *   status
 *   pathset.c  which path next             path_state.c  Figure 5, as a grid
 *   timer.c    all deadlines               endpoint.c dispatch, memory
 *
 * The extended profile:
 *
 *   extended.c life of such QPs, posting   respond_ext.c  sends, requests, replies -> placements
 *   reads.c    reads and atomics, both ends  recvq.c      receives, own and shared; RNR
 *
 * Per packet each side touches two lines of its QP: see there.
 */
#include <weft/base.h>
#include <weft/engine.h>

#include <string.h>

enum {
	PAGE_PSNS = 64, /* sent records are lent to QPs by pages of this many */
	PAGE_NONE = 0xffff,
	PATH_NONE = 0xffff,
	SET_NONE = 0xffff,
	REQUESTS = 64,         /* endpoint operations outstanding; power of two */
	PROBE_DONE = 32,       /* answered controller probes waiting for weft_poll_probe() */
	SEND_BURST = 16,       /* packets one QP may send before the next one has its turn */
	ACK_MESSAGES = 16,     /* transport ACK after this many [P 8.14] */
	FIFO_SLACK_PKTS = 1,   /* [P 4.3] */
	PLANE_DEAD_LOSSES = 4, /* losses in a row, nothing acknowledged between: plane suspect */
	PATH_DEAD_LOSSES = 3,  /* the same for one path: it goes even at the floor */
	REPLIES = 4,           /* paths of a plane that answers go by; power of two */
	RCVD_MASK = 0xffffff,
	PROOF_SPAN_NS = 1000000, /* of a bad path's answers, at least */
};

/* One packet in flight.  Times are in units of 16 ns: 32 bits last 68 s. */
struct sent_rec {
	uint32_t sent16;   /* last transmission */
	uint16_t work;     /* slot of its work in the send queue */
	uint16_t path;     /* index in the set, last transmission */
	uint32_t path_seq; /* the path's `sent` counter at that transmission */
	uint16_t bytes;    /* nominal */
	uint8_t sends;     /* saturates */
	uint8_t cause;     /* enum loss_cause: how the copy before this one was lost */
};
static_assert(sizeof(struct sent_rec) == 16, "the budget is 24 bytes, pages want 16");

/* A PSN of a page is acked, lost (waits to be sent again), or in flight (neither bit). */
struct sent_page {
	uint64_t acked, lost;
	struct sent_rec rec[PAGE_PSNS];
};

struct sq_work {
	const uint8_t *data;
	uint64_t va, id;
	uint32_t len_bytes, rkey, imm;
	uint32_t psn_first, pkts; /* valid once the first packet has been cut */
	uint16_t msn, rqmsn;
	uint32_t asked_bytes; /* READ */
	uint8_t kind;         /* enum weft_work_kind, or one of these */
	uint8_t marks;        /* enum work_mark bits */
	bool has_imm, silent;
};
enum { WORK_REPLY = WEFT_WORK_DATAGRAM + 1, WORK_REFUSED, WORK_XRC_WRITE, WORK_KINDS };
enum work_mark {
	WORK_CONSUMES = 1, /* a receive of the peer; counts against wimm_tx */
	WORK_READS = 2,    /* waits for a reply; counts against rd_atomic_tx */
	WORK_FENCED = 4,
	WORK_GATES = 7,
	WORK_SOLICITED = 8,
	WORK_XRC = 16, /* names a shared queue of the peer */
};
static_assert(sizeof(struct sq_work) == 56, "extended works need no more than writes");

struct parked_imm { /* an immediate, or the end of a send, that waits for its turn */
	uint32_t psn, imm, msg_bytes;
	uint16_t msn;
	bool valid;
	uint8_t how; /* enum parked_how bits */
};
enum parked_how { PARKED_SEND = 1, PARKED_IMM = 2, PARKED_SOLICITED = 4, PARKED_SHUTS = 8 };

/* In qp.pd: no region's domain, so that a QP that takes no writes reaches none. */
#define PD_SHUT (1u << 31)
enum {
	ACCESS_ALL = WEFT_ACCESS_REMOTE_WRITE | WEFT_ACCESS_REMOTE_READ | WEFT_ACCESS_REMOTE_ATOMIC
};

enum qp_kind { QP_STRICT, QP_EXTENDED, QP_REPLIES };

struct ext;
struct recvq;

/*
 * Lines are ordered by who touches them.  A packet sent touches `ident` and `send`; a packet
 * received touches `ident`, and `answer` when a message ends in it or it demands a SACK; an
 * acknowledgement touches `ident`, `send` and `ack`.
 */
struct weft_qp {
	/* line 0, ident: who we are, and all that a usual received packet changes */
	struct weft_endpoint *ep;
	uint64_t *rx_bits; /* ring of rx_mask + 1 bits: arrived */
	uint64_t rx_bytes; /* nominal, each new untrimmed packet once */
	uint32_t qpn, peer, pd;
	uint32_t rx_cack;     /* this PSN and all before it have arrived */
	uint32_t rx_max;      /* highest PSN that has arrived out of order */
	uint32_t rx_mpr;      /* window we accept: the largest promise still in force */
	uint32_t rx_trigger;  /* sack_trigger_cnt */
	uint32_t rx_low_new;  /* lowest PSN that no SACK has shown yet; see ack_out.c */
	uint16_t rx_ooo;      /* arrived above rx_cack; windows have 32640 at most */
	uint16_t mtu_bytes;   /* path MTU: payload of a full packet, both ways */
	uint16_t parked_imms; /* immediates, sends and requests that wait for their turn */
	uint8_t state;        /* enum weft_qp_state */
	bool rx_fresh;        /* rx_low_new is valid */

	/* line 1, send */
	struct sq_work *sq WEFT_CACHE_ALIGNED;
	uint16_t *pages;    /* ring of page numbers, indexed by PSN / 64 */
	uint32_t psn_next;  /* to be sent */
	uint32_t psn_unack; /* oldest not known to have arrived */
	uint32_t inflight;  /* nominal bytes: sent, neither acked nor lost */
	uint32_t cwnd;      /* bytes, cached from cc */
	uint32_t mpr_tx;    /* min(peer's window, our records) */
	uint32_t send_pkt;  /* packets already cut from the work at sq_send */
	uint32_t lost;      /* PSNs marked lost */
	uint32_t since_ask; /* nominal bytes sent since the last A bit */
	uint32_t peer_qpn;
	uint16_t sq_head; /* oldest work not completed; all three run freely */
	uint16_t sq_send; /* next to be cut */
	uint16_t sq_tail; /* next free slot */
	uint16_t set;
	bool ready; /* in the ready ring */
	bool rack_valid, progressed;
	uint8_t kind; /* enum qp_kind */

	/* line 2, ack: what the peer said */
	uint32_t lost_low WEFT_CACHE_ALIGNED; /* no lost PSN below this one */
	uint32_t rack_sent16;                 /* latest transmission known to have arrived */
	uint32_t rcvd_units;                  /* last CC_STATE.rcvd_bytes seen */
	uint32_t rtt_ns, rttvar_ns, rtt_min_ns;
	uint32_t reorder_ns;    /* cached: see engine_loss.c */
	uint32_t msn_done;      /* messages completed by the peer, 24 bits count */
	uint64_t rto_ns;        /* records are looked through then; 0: nothing to wait for */
	uint64_t progress_ns;   /* last sign of life that concerned what we sent */
	uint64_t probe_wait_ns; /* after progress_ns; 0: the first wait */
	uint16_t msn_next;      /* of the next work to be cut */
	uint16_t rqmsn_next;
	uint16_t wimm_inflight, wimm_tx;

	/* line 3, answer: what we say */
	uint64_t *rx_last WEFT_CACHE_ALIGNED; /* ring like rx_bits: ends a message */
	struct parked_imm *parked;
	uint64_t *rq;            /* posted receives: ids */
	uint64_t oor_nack_ns;    /* last PSN_OOR_WINDOW NACK: one per RTT */
	uint32_t rx_msn;         /* messages completed, 24 bits */
	uint32_t rx_msn_told;    /* in the last transport ACK */
	uint32_t rx_sack_answer; /* 1 + sequence number of a queued SACK without a mark */
	uint32_t rx_sweep;       /* where the next look back at old holes starts */
	uint32_t rx_rqmsn;       /* next immediate to be delivered, low 16 bits count */
	uint16_t rq_head, rq_tail;
	uint16_t wimm_rx;
	uint8_t penalty_out;
	bool rx_look_back; /* next SACK looks back */
	bool rx_asked;     /* a packet with the A bit came while others before it had not */
	bool restore_out, dynamic_mpr, trim_nack_rx;

	/* cold */
	uint32_t rx_mpr_told WEFT_CACHE_ALIGNED; /* dynamic MPR: what SACKs say */
	uint32_t cq_rx, cq_tx, index;
	uint32_t ask_psn; /* the last packet with the A bit */
	uint64_t user;
	uint64_t timeout_ns;  /* the last expiry */
	uint64_t spurious_ns; /* the last packet declared lost that was not */
	uint64_t probe_sent_ns;
	uint64_t give_up_ns; /* see weft_qp_attr */
	uint64_t hold_ns;    /* no retransmission before: after a recoverable NACK */
	uint16_t probe_id;
	uint8_t timeout_exp, timeout_exp_max, linear_count, retry_count;
	uint8_t timeouts;       /* in a row, without progress */
	uint8_t nack_row;       /* recoverable NACKs in a row */
	uint8_t status;         /* enum weft_status: why ERROR */
	uint8_t deny;           /* WEFT_ACCESS_*: what regions' rights do not help with */
	uint8_t nak;            /* ERROR: what the peer was told, for whoever did not hear; or 0 */
	uint8_t refused;        /* ERROR: likewise, also where a reply said it */
	uint8_t spurious_shift; /* reorder_ns is doubled this often */
	bool probe_out, in_use, rescue, in_doubt; /* the last two: see engine_loss.c */
	uint32_t dark_from16, dark_to16; /* nothing sent in between got through: engine_loss.c */
	const struct weft_cc_ops *cc;
	struct ext *ext; /* NULL: strict; a stream of replies shares its QP's */
	uint64_t cc_state[WEFT_CC_STATE_MAX / 8];
};
static_assert(offsetof(struct weft_qp, sq) == 64, "ident is one line");
static_assert(offsetof(struct weft_qp, lost_low) == 128, "send is one line");
static_assert(offsetof(struct weft_qp, rx_last) == 192, "ack is one line");
static_assert(offsetof(struct weft_qp, rx_mpr_told) == 256, "answer is one line");

struct path { /* what every packet sent or acknowledged touches */
	uint32_t ev;
	uint32_t sent;      /* packets; its value is the sequence number of a transmission */
	uint32_t acked;     /* packets */
	uint32_t acked_seq; /* highest transmission known to have arrived */
	uint32_t acked16;   /* and when it was sent; valid once acked_seq is not 0 */
	uint32_t marked, rtt_ns;
	uint8_t plane, state;
	uint8_t losses; /* in a row, nothing acknowledged between; saturates */
	bool probing;
};
static_assert(sizeof(struct path) == 32, "two to a cache line");

struct path_past {         /* of the same path: what only losses and probes touch */
	uint64_t probe_ns; /* next probe of a bad path */
	uint64_t changed_ns;
	uint64_t proof_ns; /* first of the answers in a row; before any: see path_blame() */
	uint32_t lost;
	uint8_t proof_need, proof_have;
	uint8_t probe_exp; /* back-off of the next probe */
};
static_assert(sizeof(struct path_past) == 32, "two to a cache line");

struct plane {
	uint16_t first, total;   /* its stretch of order[] */
	uint16_t active;         /* order[first .. first + active) is sprayed over */
	uint16_t target;         /* as many as that should be */
	uint16_t left;           /* of the current pass; the next one is active - left from first */
	uint16_t lone;           /* the path that was marked last: see path_on_mark() */
	uint16_t rest;           /* turns that it still loses */
	uint8_t lone_marks;      /* in a row, less the answers without one */
	uint8_t doubt;           /* times that others were marked while it rested */
	uint16_t calm;           /* answers without a mark; wraps */
	uint32_t loss16;         /* when the last lost packet was sent */
	uint16_t losses;         /* in a row, nothing sent between them has arrived */
	uint16_t reply[REPLIES]; /* for answers: last known to be alive, or PATH_NONE */
	uint16_t reply_turn;     /* answers sent */
	uint8_t reply_newest;
	uint64_t probed_ns; /* last probe of a bad path */
	uint64_t alive_ns;  /* last probe that was answered */
};

struct pathset {
	uint32_t peer, paths, planes_mask;
	uint32_t own_empty;  /* planes with no active path, or none at all */
	uint32_t peer_ports; /* as the peer told us; all ones at first */
	uint32_t active, active_min;
	uint32_t users;        /* QPs */
	uint32_t next_of_peer; /* hash chain of sets by peer: one more than the next; 0: the last */
	uint8_t turn;          /* plane that sent last */
	uint8_t reply_turn;
	bool in_use, heard, asked; /* data came in; data went out since the last reverse probe */
	uint64_t reverse_ns;       /* next reverse probe */
	/* port status from the peer: the newest, and when it came */
	uint16_t status_id;
	/* of the last packet whose timeout ran out in silence: one more than its path, and what had
	 * got through there by then */
	uint16_t silent_path;
	uint32_t silent_seq;
	uint64_t status_ns;
	/* port status to the peer, until it answers */
	uint32_t told_mask;
	uint16_t told_id;
	uint8_t tell_tries;
	bool telling;
	uint64_t tell_ns;
	uint32_t rng; /* cheap, and not shared between sets */
	struct path *path;
	struct path_past *past;
	uint16_t *order;
	struct plane *plane; /* one per port of the endpoint */
};

enum answer_kind { ANSWER_SACK, ANSWER_NACK, ANSWER_ACK, ANSWER_PROBE, ANSWER_EP };

struct answer {         /* a control packet to be built when a port is free */
	uint64_t at_ns; /* arrival of what it answers */
	uint32_t qp;    /* index; for ANSWER_EP the peer */
	uint32_t qpn;   /* the slot may have a new tenant by then */
	uint32_t ev, psn;
	uint32_t mask;
	uint16_t ts, set, path, probe_id;
	uint8_t kind, m, reason, op, port, flags;
	bool is_probe, is_response, again, more; /* again, more: see ack_out_on_probe() */
};

struct request { /* an endpoint operation of ours that waits for its answer */
	uint64_t sent_ns;
	uint32_t set, path, cookie;
	uint16_t id;
	uint8_t op;
	bool open, controller;
	uint32_t mask; /* of a controller's port status */
};

struct region {
	uint64_t va, open_bytes; /* what remote writes may reach; 0: nothing */
	uint8_t *base;
	uint64_t open_to; /* key and domain that they must name; see region_names() */
	uint64_t len_bytes;
	uint32_t owner; /* of a window: one more than the QPN that it is for; 0: any's */
	uint8_t access;
	bool in_use, is_window, is_bound;
};
static_assert(sizeof(struct region) == 48, "looked up for each packet");

struct cq {
	struct weft_done *ring;
	uint32_t head, tail;
};

struct weft_endpoint {
	struct weft_config config;
	uint32_t ports_up;
	uint32_t qp_mask, region_mask, sq_mask, rq_mask, cq_mask, answer_mask, wimm_mask;
	uint32_t page_mask;  /* of a QP's ring of pages */
	uint32_t rx_mask;    /* of a receive window, in PSNs */
	uint32_t psn_window; /* packets in flight that the page ring can hold */
	uint64_t now;        /* of the last call */
	struct weft_rng rng;

	struct weft_qp *qps;
	struct pathset *sets;
	uint32_t *peer_heads; /* the chains, a power of two of them; see set_of_peer() */
	uint32_t peer_mask;
	struct path *paths;      /* all sets have theirs in here */
	struct path_past *pasts; /* and these two, at the same place */
	uint16_t *orders;
	struct region *regions;
	struct cq *cqs;
	struct sent_page *page;
	uint16_t *page_next; /* free list */
	uint32_t page_free, pages, pages_used;
	uint64_t *qps_used; /* bits, by number: `in_use` of each, for who looks for some of them */
	uint32_t *ready;    /* ring of QP indexes */
	uint32_t ready_head, ready_tail;
	struct answer *answers;
	uint32_t answer_head, answer_tail;
	uint64_t keep_acks_ns; /* weft_keep_acks() */

	struct ext *exts;
	uint32_t exts_used; /* those behind have never been */
	uint32_t *settle;   /* indexes of those with requests whose turn may have come */
	uint32_t settle_n, rd_mask;
	uint64_t *failed;             /* bits, by number: queue pairs for weft_qp_failed() */
	uint32_t failed_n, failed_at; /* failed_at: the word that is looked at next */
	struct recvq *recvqs;

	/* timers: QPs, then sets, then the requests */
	uint64_t *due; /* when it really wants to be called */
	uint64_t *key; /* what the heap believes; <= due */
	uint32_t *heap, *heap_pos;
	uint32_t heap_n, timers;

	struct weft_event *events;
	uint64_t event_seq;
	struct weft_counters count;          /* those of each packet first */
	struct request requests[REQUESTS];   /* from here on: cold */
	uint16_t request_head, request_tail; /* ids, free running */
	uint64_t request_timeout_ns;
	struct weft_probe_done probe_done[PROBE_DONE];
	uint32_t probe_done_head, probe_done_tail;
};

/* config.c */

/* The port that a packet came in by, where it is kept for an answer: the caller's word. */
static inline uint8_t port_kept(const struct weft_endpoint *ep, uint8_t port)
{
	WEFT_ASSERT(port < ep->config.ports);
	return port;
}

/* endpoint.c */
void event_note(struct weft_endpoint *ep, uint16_t kind, uint32_t qpn, uint32_t set, uint64_t a,
	uint32_t b, uint32_t c);
static inline void drop_count(struct weft_endpoint *ep, enum weft_drop why)
{
	ep->count.drops[why]++;
}

/* timer.c */
void timer_set(struct weft_endpoint *ep, uint32_t timer, uint64_t due);
uint32_t timer_pop(struct weft_endpoint *ep, uint64_t now); /* UINT32_MAX: none is due */
void timer_init(struct weft_endpoint *ep);
static inline uint32_t timer_of_qp(const struct weft_qp *qp)
{
	return qp->index;
}
static inline uint32_t timer_of_set(const struct weft_endpoint *ep, uint32_t set)
{
	return ep->config.qps + set;
}
static inline uint32_t timer_of_requests(const struct weft_endpoint *ep)
{
	return ep->config.qps + ep->config.pathsets;
}

/* engine_qp.c */
void qp_fail(struct weft_qp *qp, enum weft_status status);
bool qp_retry_fits(const struct weft_qp_attr *attr);
void qp_take_retry(struct weft_qp *qp, const struct weft_qp_attr *attr);
void qp_fail_slot(struct weft_qp *qp, enum weft_status status); /* not its replies */
/* The first one in use from number i on; config.qps: none. */
uint32_t qp_next_used(const struct weft_endpoint *ep, uint32_t i);
void qp_make_ready(struct weft_qp *qp);
void qp_take_window(struct weft_qp *qp); /* from congestion control */
void qp_slot_take(struct weft_qp *qp, const struct weft_qp_attr *attr);
int qp_become_rtr(struct weft_qp *qp, const struct weft_qp_attr *attr);
int qp_become_rts(struct weft_qp *qp, const struct weft_qp_attr *attr);
void qp_note_state(struct weft_qp *qp, enum weft_qp_state to);
void qp_slot_free(struct weft_qp *qp);
/* ---- absent.c: memory that is gone ---- */

/* What a reply was to bring cannot be read: it says so instead, and the QP has failed. */
void absent_reply(struct weft_qp *replies, struct sq_work *work);
/* Whether the caller of the engine can touch these bytes; where he does not say, he can. */
static inline bool absent_reach(const struct weft_endpoint *ep, void *at, size_t bytes)
{
	return !ep->config.reach || ep->config.reach(at, bytes, true);
}

static inline struct weft_qp *qp_by_qpn(struct weft_endpoint *ep, uint32_t qpn)
{
	struct weft_qp *qp = &ep->qps[qpn & ep->qp_mask];

	return qp->in_use && qp->qpn == qpn ? qp : NULL;
}

/* engine_cq.c */
void cq_push(struct weft_qp *qp, uint32_t cq, const struct weft_done *done);
void cq_finish_work(struct weft_qp *qp, enum weft_status status); /* the oldest */
void cq_forget(const struct weft_qp *qp, uint32_t cq); /* its completions that nobody polled */

/* engine_request.c */
size_t request_send(struct weft_qp *qp, struct weft_pkt pkts[], size_t max, uint32_t ports,
	uint64_t now, uint32_t *blocked);
bool request_has_work(const struct weft_qp *qp);

/* sent.c */
struct sent_page *sent_page_of(const struct weft_qp *qp, uint32_t psn);
struct sent_rec *sent_find(const struct weft_qp *qp, uint32_t psn);
struct sent_page *sent_reserve(struct weft_qp *qp, uint32_t psn); /* NULL: no page left */
void sent_release(struct weft_qp *qp, uint32_t psn);              /* all below psn have arrived */
void sent_ack_bits(struct weft_qp *qp, uint32_t base, uint64_t bits);
void sent_drop_all(struct weft_qp *qp);
static inline uint32_t sent_outstanding(const struct weft_qp *qp)
{
	return (qp->psn_next - qp->psn_unack) & WEFT_PSN_MASK;
}
static inline bool sent_is_open(const struct weft_qp *qp, uint32_t psn)
{
	return ((psn - qp->psn_unack) & WEFT_PSN_MASK) < sent_outstanding(qp);
}
/* Whether the last packet with the A bit may still be answered; it may have overtaken others. */
static inline bool sent_awaits_answer(const struct weft_qp *qp)
{
	if (!sent_is_open(qp, qp->ask_psn))
		return false;
	const struct sent_page *page = sent_page_of(qp, qp->ask_psn);

	return !((page->acked | page->lost) >> (qp->ask_psn % PAGE_PSNS) & 1);
}

/* ack_in.c */
void ack_in_sack(struct weft_qp *qp, const struct weft_pkt *pkt, uint64_t now);
void ack_in_nack(struct weft_qp *qp, const struct weft_pkt *pkt, uint64_t now);
void ack_in_ack(struct weft_qp *qp, const struct weft_pkt *pkt, uint64_t now);
void ack_in_progress(struct weft_qp *qp, uint64_t now);
enum weft_status ack_in_status(uint8_t syndrome);

/* engine_loss.c */
enum loss_cause { LOSS_FIFO, LOSS_REORDER, LOSS_TIMER, LOSS_SILENCE, LOSS_NACK, LOSS_PORT };
void loss_mark(struct weft_qp *qp, uint32_t psn, enum loss_cause cause, uint64_t now);
void loss_scan(struct weft_qp *qp, uint32_t base, uint64_t missing, uint64_t now);
void loss_find_dark(struct weft_qp *qp, uint32_t rack16, uint64_t now);
void loss_scan_all(struct weft_qp *qp, uint32_t ooo_pkts, uint64_t now);
void loss_plane(struct weft_endpoint *, uint32_t set, uint32_t plane, enum loss_cause, uint64_t);
void loss_on_answer(struct weft_qp *qp, uint64_t now); /* to a probe */
void loss_on_timer(struct weft_qp *qp, uint64_t now);
void loss_keep_clock(struct weft_qp *qp, uint64_t now);
void loss_arm(struct weft_qp *qp, uint64_t now);
void loss_on_post(struct weft_qp *qp);
void loss_learn_reorder(struct weft_qp *qp);

/* respond.c, window.c */
void respond_write(struct weft_qp *qp, const struct weft_pkt *pkt, uint64_t now,
	struct weft_place *place); /* left alone where nothing is to be moved */
bool respond_stray(struct weft_qp *qp, const struct weft_pkt *pkt, uint64_t now);
void respond_take(struct weft_qp *qp, const struct weft_pkt *pkt, bool last, uint64_t now);
void respond_refuse(
	struct weft_qp *, enum weft_drop, uint8_t syndrome, uint8_t port, enum weft_status why);
bool respond_park(struct weft_qp *qp, const struct weft_pkt *pkt, uint8_t how);
uint32_t window_advance(struct weft_qp *qp); /* how many PSNs cack moved */
uint64_t window_bits(const struct weft_qp *qp, uint32_t base);

/* ack_out.c */
void ack_out_on_data(struct weft_qp *qp, const struct weft_pkt *pkt, bool fresh, uint64_t now);
void ack_out_on_probe(struct weft_qp *qp, const struct weft_pkt *pkt, uint64_t now);
void ack_out_nack(struct weft_qp *qp, const struct weft_pkt *pkt, uint8_t reason, uint64_t now);
void ack_out_ack(struct weft_qp *qp, uint8_t syndrome, uint8_t port);
/* What there is to answer may wait, though data leaves. */
bool ack_out_keeps(const struct weft_endpoint *ep, uint64_t now);
size_t ack_out_send(
	struct weft_endpoint *ep, struct weft_pkt pkts[], size_t max, uint32_t ports, uint64_t now);
struct answer *answer_add(struct weft_endpoint *ep);

/* pathset.c */
uint32_t pathset_pick(struct weft_endpoint *, struct pathset *, uint32_t ports, uint32_t avoid);
uint32_t pathset_pick_away(struct weft_endpoint *, struct pathset *, uint32_t ports, uint32_t path);
/* The same for a burst; returns how many were found, fewer only where no port is free. */
uint32_t pathset_pick_many(struct weft_endpoint *ep, struct pathset *set, uint32_t ports,
	uint16_t picks[], uint32_t n);
uint32_t pathset_reply(
	struct weft_endpoint *ep, struct pathset *set, uint32_t port, uint32_t ports);
void pathset_rehome(struct pathset *set, uint32_t path, uint32_t plane);
void pathset_alive(struct pathset *set, uint32_t path);
void pathset_not_alive(struct pathset *set, uint32_t path);
bool pathset_has_port(const struct weft_endpoint *ep, const struct pathset *set, uint32_t ports);
bool pathset_is_active(const struct pathset *set, uint32_t path);
uint32_t pathset_find(const struct pathset *set, uint32_t ev);
/* The next set of this peer after that one (SET_NONE: the first), or SET_NONE. */
uint32_t pathset_of_peer(const struct weft_endpoint *ep, uint32_t peer, uint32_t after);
void pathset_empty_plane(struct weft_endpoint *ep, uint32_t set, uint32_t plane, uint64_t now);
void pathset_leave(struct pathset *set, uint32_t path);  /* the rotation; a backup takes over */
void pathset_return(struct pathset *set, uint32_t path); /* as active or as backup */
void pathset_back_up(struct pathset *set, uint32_t path);
void pathset_wake_plane(struct weft_endpoint *ep, uint32_t set, uint32_t plane, uint64_t now);
uint32_t pathset_usable(const struct weft_endpoint *ep, const struct pathset *set);

/* path_state.c */
enum path_event {
	PATH_SET,   /* an EV was put into the slot */
	PATH_MARK,  /* CE echoed, or trimmed inside the fabric */
	PATH_TURN,  /* the rotation came by */
	PATH_LOSS,  /* a packet was lost untrimmed; or ALWAYS_SKIP */
	PATH_PROOF, /* enough probes answered clean */
	PATH_DENY,
	PATH_ALLOW,
	PATH_EVENT_COUNT
};
bool path_step(
	struct weft_endpoint *ep, uint32_t set, uint32_t path, enum path_event event, uint64_t now);
/* The same with what follows: rotation, backups, probing, events. */
void path_on_loss(
	struct weft_endpoint *ep, uint32_t set, uint32_t path, uint32_t sent16, uint64_t now);
void path_retire(struct weft_endpoint *ep, uint32_t set, uint32_t path, bool hard, uint64_t now);
void path_allowed(struct weft_endpoint *ep, uint32_t set, uint32_t path, uint64_t now);
void path_revive(struct weft_endpoint *ep, uint32_t set, uint32_t path, uint64_t now);
void path_on_delivery(struct weft_qp *qp, const struct sent_rec *rec, uint64_t now);
void path_blame(struct weft_qp *qp, uint32_t path, uint32_t psn);
void path_on_silence(struct pathset *set, uint32_t index);
void path_forgive(struct weft_qp *qp, uint32_t psn, uint64_t now);
void path_on_mark(struct weft_endpoint *ep, uint32_t set, uint32_t path, uint64_t now);
void path_on_clear(struct pathset *set, uint32_t path); /* an answer without a mark */
bool path_rests(const struct plane *plane, uint32_t path);

/* engine_probe.c */
void probe_on_timer(struct weft_endpoint *ep, uint32_t set, uint64_t now);
void probe_arm(struct weft_endpoint *ep, uint32_t set, uint64_t now);
void probe_requests_timer(struct weft_endpoint *ep, uint64_t now);
bool probe_send(struct weft_endpoint *ep, uint32_t set, uint32_t path, bool controller,
	uint32_t cookie, uint64_t now);
void probe_on_request(struct weft_endpoint *ep, const struct weft_pkt *pkt, uint64_t now);
void probe_on_response(struct weft_endpoint *ep, const struct weft_pkt *pkt, uint64_t now);
void probe_forget(struct weft_endpoint *ep, uint32_t set, uint32_t path); /* as if unanswered */
void probe_tell_ports(struct weft_endpoint *ep, uint32_t set, uint64_t now);
void probe_retired(struct weft_endpoint *ep, uint32_t set, uint32_t path, uint64_t now);

#include "hot.h"
#include "extended.h"
#endif /* WEFT_ENGINE_LOCAL_H */
