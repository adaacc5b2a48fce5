/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASELINE_LOCAL_H
#define BASELINE_LOCAL_H
/*
 * What the files of baseline share.
 *
 *   baseline_table.c   kinds, and what each of them does       baseline_open.c    memory, settings,
 *   numbers
 *   baseline_post.c    messages into packets and back          baseline_send.c    what leaves next,
 *   and by which port
 *   baseline_agenda.c  who may send, who wakes when            heard.c   answers of the receiver
 *   receive.c packets of the sender                   answer.c  what receivers say
 *   dcqcn.c   a rate by marks     dctcp.c a window by marks     baseline_check.c
 */
#include <weft/base.h>
#include <weft/baseline.h>

#include <string.h>

#define NONE UINT32_MAX

enum {
	MESSAGES = 16, /* of a connection, under way at the same time; a power of two */
	ANSWERS = 512, /* waiting per list */
	DONES = 256,
	PLANES_MAX = 16,
	ANY = PLANES_MAX, /* the list of those that may leave by any port */
	LISTS = PLANES_MAX + 1,
	CE_ECHO = 1, /* in weft_pkt_sack.cc_type_flags: what is acknowledged was marked */
};

struct kind { /* see baseline_table.c */
	const char *name;
	bool is_spray;     /* a path for each packet */
	bool is_selective; /* receivers keep what comes out of order */
	bool knows_order;  /* a gap means a loss: all packets take one path */
	bool is_pulled;
	bool is_dealt; /* all paths in turn, in an order drawn anew for each round */
	bool has_window; /* DCTCP's */
	bool has_rate;   /* DCQCN's, where it is wanted */
	bool is_striped; /* queue pair i lives on plane i */
	uint32_t rto_us;
};
const struct kind *kind_of(enum weft_baseline_kind kind);

struct dcqcn {
	uint64_t rate_bps, target_bps;
	uint64_t alpha_ps, timer_ps; /* when; WEFT_NEVER: at full rate, no marks */
	uint64_t bytes;              /* since the counter went off */
	uint32_t alpha;              /* of ALPHA_ONE */
	uint32_t by_timer, by_bytes; /* times that the rate was raised */
};
#define ALPHA_ONE (1u << 20)

struct dctcp {
	uint32_t window_q8; /* packets, in 256ths */
	uint32_t alpha;     /* of ALPHA_ONE */
	uint32_t acked, marked, end;
};

struct sender { /* one queue pair, sending */
	uint32_t una, next, end, sent; /* PSNs; sent: highest ever, where next goes back */
	uint32_t conn;
	uint32_t list_next, list_prev;
	uint32_t heap_at; /* NONE: not in it */
	uint32_t ev, epoch, hash;
	uint8_t list; /* LISTS: in none */
	uint8_t port;
	bool recovering;
	uint32_t n_acked;         /* bits in acked: not lost, not cumulative */
	uint32_t n_rtx, rtx_from; /* bits in rtx; none below rtx_from */
	uint32_t scan, recover;   /* ROCE_SR: lost packets below scan are marked */
	uint32_t old;             /* what was sent when the timer was set last */
	uint32_t credits, pulls;
	uint32_t round, order; /* packets; what the order of this round was drawn from */
	uint64_t wake_ps; /* as it stands in the heap */
	uint64_t pace_ps, rto_ps;
	struct dcqcn rate;
	struct dctcp window;
};

struct receiver { /* one queue pair, receiving */
	uint32_t expected; /* all before it have come */
	uint32_t conn;
	uint32_t latest; /* the packet that is answered next */
	uint32_t hash;
	uint32_t list_next; /* of those to be pulled */
	uint32_t granted, arrivals, demand;
	uint64_t cnp_ps; /* no sooner */
	bool nak_sent, acked, is_pulling; /* acked: an answer waits already */
	uint8_t unanswered;
};

struct message {
	uint64_t id;
	uint32_t len_bytes;
	uint8_t final; /* queue pair that has its last packet */
};

struct conn {
	uint32_t peer, peer_number;
	uint32_t oldest, posted; /* messages, counted for ever */
	uint32_t first_queued, last_queued;
	uint32_t turn; /* queue pair that a short message goes to */
	uint64_t came_bytes;
};

struct queued { /* a message that waits for its turn */
	uint64_t id;
	uint32_t len_bytes, next;
};

struct answer {
	uint32_t receiver, psn, ev;
	uint8_t op, port;
	bool ce, nak;
};

struct answers {
	struct answer *ring;
	uint32_t first, end;
};

struct weft_baseline {
	struct weft_baseline_config config;
	const struct kind *kind;
	uint32_t qps, window_pkts, bits; /* bits: of each bitmap */
	uint32_t n_senders, n_receivers;
	uint64_t pull_every_ps, pull_ps;
	struct conn *sends, *receives;
	struct sender *senders;
	struct receiver *receivers;
	struct message *messages; /* [send][MESSAGES] */
	uint32_t *ends;           /* [send][MESSAGES][qp]: PSN behind its part */
	uint32_t *got;            /* [receive][MESSAGES]: bytes */
	struct queued *queued;
	uint32_t free_queued;
	uint64_t *acked, *rtx, *came; /* [sender], [sender], [receiver] */
	uint32_t *heap, n_heap;
	uint32_t ready_first[LISTS], ready_last[LISTS];
	uint32_t n_ready, n_answers;
	struct answers answers[LISTS];
	uint32_t pull_first, pull_last;
	struct weft_baseline_done dones[DONES];
	uint32_t first_done, end_done;
	uint32_t epoch;
	uint64_t now_ps;
	struct weft_rng rng;
	struct weft_baseline_counters counters;
};

static inline int32_t psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b);
}

/* A PSN of 24 bits as it was before it was cut, near another one. */
static inline uint32_t psn_near(uint32_t psn, uint32_t near)
{
	return near + (uint32_t)weft_psn_diff(psn & WEFT_PSN_MASK, near & WEFT_PSN_MASK);
}

/* ---- bitmaps, in a circle ---- */

static inline uint64_t *bits_of(const struct weft_baseline *r, uint64_t *bits, uint32_t qp)
{
	return bits + (uint64_t)qp * (r->bits / 64);
}
static inline bool bit_get(const struct weft_baseline *r, const uint64_t *bits, uint32_t psn)
{
	return bits[psn % r->bits / 64] >> psn % 64 & 1;
}
static inline void bit_set(const struct weft_baseline *r, uint64_t *bits, uint32_t psn)
{
	bits[psn % r->bits / 64] |= UINT64_C(1) << psn % 64;
}
static inline void bit_clear(const struct weft_baseline *r, uint64_t *bits, uint32_t psn)
{
	bits[psn % r->bits / 64] &= ~(UINT64_C(1) << psn % 64);
}

/* What may still be on its way. */
static inline uint32_t in_flight(const struct sender *s)
{
	return s->next - s->una - s->n_acked - s->n_rtx;
}

static inline uint32_t sender_index(const struct weft_baseline *r, const struct sender *s)
{
	return (uint32_t)(s - r->senders);
}

/* ---- baseline_agenda.c ---- */

/* After anything about it has changed: into the list it belongs to, awake in time. */
void agenda_settle(struct weft_baseline *r, struct sender *s);
bool agenda_may_send(const struct weft_baseline *r, const struct sender *s);
void agenda_rotate(struct weft_baseline *r, struct sender *s); /* behind the others of its list */
struct sender *agenda_due(struct weft_baseline *r);            /* out of the heap; NULL: none */
void agenda_path(struct weft_baseline *r, struct sender *s);   /* of a queue pair with one path */

/* ---- baseline_post.c ---- */

void post_feed(
	struct weft_baseline *r, uint32_t conn); /* messages that wait, while there is room */
void post_finish(struct weft_baseline *r, uint32_t conn); /* tells of those that are acknowledged */
/* Fills in what packet psn of a queue pair carries. */
void post_cut(const struct weft_baseline *r, const struct sender *s, uint32_t psn,
	struct weft_pkt *pkt);
void done_tell(struct weft_baseline *r, uint64_t id, bool arrived);

/* ---- baseline_send.c, heard.c, receive.c, answer.c ---- */

void send_timer(struct weft_baseline *r, struct sender *s);
void send_restart_timer(struct weft_baseline *r, struct sender *s);
void rtx_mark(struct weft_baseline *r, struct sender *s, uint32_t psn);
void heard(struct weft_baseline *r, const struct weft_pkt *pkt);
void receive(struct weft_baseline *r, const struct weft_pkt *pkt);
void answer_push(struct weft_baseline *r, struct answer answer);
/* The path of a hash by one of those ports, picked at random; false: none leads there. */
bool spray(struct weft_baseline *r, uint32_t peer, uint32_t hash, uint32_t free, uint32_t *ev,
	uint8_t *port);
bool answer_take(struct weft_baseline *r, uint32_t free, struct weft_pkt *pkt);
void pull_want(struct weft_baseline *r, struct receiver *v);
void pull_due(struct weft_baseline *r);

/* ---- dcqcn.c, dctcp.c ---- */

void dcqcn_init(struct dcqcn *d, uint64_t line_bps);
void dcqcn_on_cnp(struct dcqcn *d, const struct weft_baseline_settings *set, uint64_t line_bps,
	uint64_t now_ps);
void dcqcn_on_sent(struct dcqcn *d, const struct weft_baseline_settings *set, uint64_t line_bps,
	uint32_t bytes);
void dcqcn_on_time(struct dcqcn *d, const struct weft_baseline_settings *set, uint64_t line_bps,
	uint64_t now_ps);
static inline uint64_t dcqcn_next_ps(const struct dcqcn *d)
{
	return WEFT_MIN(d->alpha_ps, d->timer_ps);
}
void dctcp_init(struct dctcp *d, uint32_t window_pkts);
/* una, next: after it. */
void dctcp_on_ack(struct dctcp *d, uint32_t pkts, bool marked, uint32_t una, uint32_t next,
	uint32_t window_max);
void dctcp_on_timeout(struct dctcp *d);

#endif
