/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * baseline_send - what leaves next.
 *
 * Answers first: they are short, and a NIC gives them a queue of their own.  Then queue pairs by
 * turns, each at its pace; what is to be repeated before what is new.
 *
 * A timer that goes off means that the oldest packet was lost, and with go-back-N everything behind
 * it.  Where packets overtake each other nothing else tells of a loss (a trimmed packet is not
 * one): then all that was sent before the timer was set, and is not acknowledged, is sent again.
 * IRN has two timers (Mittal et al., SIGCOMM 2018, section 3.1): the short one where three packets
 * or fewer are under way, since then no later packet may come to show a gap.
 *
 * A sender that is pulled, has more to send and nothing under way waits for a pull that may be
 * lost, and no packet of its own will bring another: after a longer time it sends one unasked.
 */
#include "baseline_local.h"

enum { FEW = 3, STARVED_RTOS = 8 };
#define SHORT_RTO_PS UINT64_C(100000000)

void send_restart_timer(struct weft_baseline *r, struct sender *s)
{
	uint64_t rto_ps = r->config.settings.rto_ps;
	uint32_t out = r->kind->is_selective ? in_flight(s) : s->next - s->una;

	if (r->kind->is_selective && r->kind->knows_order && s->next - s->una <= FEW)
		rto_ps = WEFT_MIN(rto_ps, SHORT_RTO_PS);
	/* Longer: a pull that waits behind those of other senders is not lost. */
	if (!out && r->kind->is_pulled && s->una != s->end) {
		rto_ps *= STARVED_RTOS;
		out = 1;
	}
	s->rto_ps = out ? r->now_ps + rto_ps : WEFT_NEVER;
	s->old = s->next;
}

void rtx_mark(struct weft_baseline *r, struct sender *s, uint32_t psn)
{
	uint64_t *rtx = bits_of(r, r->rtx, sender_index(r, s));

	if (psn_diff(psn, s->una) < 0 || psn_diff(psn, s->next) >= 0 ||
		bit_get(r, bits_of(r, r->acked, sender_index(r, s)), psn) || bit_get(r, rtx, psn))
		return;
	bit_set(r, rtx, psn);
	if (!s->n_rtx++ || psn_diff(psn, s->rtx_from) < 0)
		s->rtx_from = psn;
}

static void time_out(struct weft_baseline *r, struct sender *s)
{
	uint32_t marked = s->n_rtx;
	bool is_idle = r->kind->is_pulled && !in_flight(s);

	if (is_idle && s->credits) { /* it may send, its ports may not */
		send_restart_timer(r, s);
		return;
	}
	r->counters.timeouts++;
	if (!r->kind->is_selective) {
		s->next = s->una;
		s->rto_ps = WEFT_NEVER;
		return;
	}
	if (r->kind->knows_order) {
		rtx_mark(r, s, s->una);
		s->recovering = true;
		s->recover = s->next;
		s->scan = s->una + 1;
	} else {
		for (uint32_t psn = s->una; psn_diff(psn, s->old) < 0; psn++)
			rtx_mark(r, s, psn);
	}
	marked = s->n_rtx - marked;
	if (r->kind->is_pulled)
		s->credits += marked + is_idle; /* nobody will ask for what did not arrive */
	if (r->kind->has_window && marked)
		dctcp_on_timeout(&s->window);
	send_restart_timer(r, s);
}

void send_timer(struct weft_baseline *r, struct sender *s)
{
	if (s->rto_ps <= r->now_ps)
		time_out(r, s);
	if (dcqcn_next_ps(&s->rate) <= r->now_ps)
		dcqcn_on_time(&s->rate, &r->config.settings, r->config.port_bps, r->now_ps);
	agenda_settle(r, s);
}

static uint32_t take_rtx(struct weft_baseline *r, struct sender *s)
{
	uint64_t *rtx = bits_of(r, r->rtx, sender_index(r, s));
	uint32_t psn = s->rtx_from;

	while (!bit_get(r, rtx, psn)) {
		psn++;
		WEFT_ASSERT(psn_diff(psn, s->next) < 0);
	}
	bit_clear(r, rtx, psn);
	s->n_rtx--;
	s->rtx_from = psn + 1;
	return psn;
}

/* Demand: how often the receiver will have asked when all is sent, first windows not counted. */
static uint32_t demand_of(const struct sender *s)
{
	uint32_t unsent = s->end - s->next + s->n_rtx;

	return s->pulls + (unsent > s->credits ? unsent - s->credits : 0);
}

static void fill(struct weft_baseline *r, struct sender *s, struct weft_pkt *pkt)
{
	const struct conn *conn = &r->sends[s->conn];
	bool is_repeat = s->n_rtx;
	uint32_t psn = is_repeat ? take_rtx(r, s) : s->next++;

	*pkt = (struct weft_pkt){ .peer = conn->peer,
		.ev = s->ev,
		.port = s->port,
		.tclass = WEFT_CLASS_DATA,
		.flags = WEFT_BTH_TS, /* the length of MRC's packets */
		.dqpn = conn->peer_number * r->qps + (sender_index(r, s) - s->conn * r->qps),
		.psn = psn & WEFT_PSN_MASK };
	post_cut(r, s, psn, pkt);
	if (psn_diff(psn, s->sent) < 0) {
		pkt->flags |= WEFT_BTH_RTX;
		r->counters.tx_rtx_pkts++;
	} else {
		s->sent = psn + 1;
	}
	s->credits -= r->kind->is_pulled;
	pkt->w.va = demand_of(s);
	r->counters.tx_data_pkts++;
	r->counters.tx_data_bytes += pkt->w.len_bytes;
	if (s->rto_ps == WEFT_NEVER || (is_repeat && psn == s->una) ||
		(r->kind->is_pulled && in_flight(s) == 1))
		send_restart_timer(r, s);
}

static void pace(struct weft_baseline *r, struct sender *s, const struct weft_pkt *pkt)
{
	const struct weft_baseline_config *c = &r->config;
	uint32_t bytes = pkt->w.len_bytes + c->overhead_bytes;

	dcqcn_on_sent(&s->rate, &c->settings, c->port_bps, bytes);
	if (s->rate.rate_bps < c->port_bps)
		s->pace_ps = WEFT_MAX(s->pace_ps, r->now_ps) +
			     bytes * UINT64_C(8000000000000) / s->rate.rate_bps;
}

/*
 * A hash for the next packet.  NDP's senders take all paths in turn and shuffle them after each
 * round (section 3.1.1), which is evener than drawing each time.  How many paths there are is not
 * known here, so a round is 64 hashes with reversed bits: of any power of two of paths, each has
 * its turn before one has its second.
 */
static uint32_t hash_of_next(struct weft_baseline *r, struct sender *s)
{
	uint32_t dice = (uint32_t)weft_rng_u64(&r->rng), bits, hash = 0;

	if (!r->kind->is_dealt)
		return dice;
	if (!(s->round++ % 64))
		s->order = dice;
	bits = s->round * (s->order | 1) + (s->order >> 16);
	for (uint32_t i = 0; i < 6; i++)
		hash |= (bits >> i & 1) << (31 - i);
	return hash | dice >> 6;
}

static bool send_data(struct weft_baseline *r, struct weft_pkt *pkt, uint32_t free)
{
	uint32_t index = NONE;

	for (uint32_t rest = free; rest && index == NONE; rest &= rest - 1)
		index = r->ready_first[weft_ctz64(rest)];
	if (index == NONE && free)
		index = r->ready_first[ANY];
	if (index == NONE)
		return false;
	struct sender *s = &r->senders[index];

	if (r->kind->is_spray &&
		!spray(r, r->sends[s->conn].peer, hash_of_next(r, s), free, &s->ev, &s->port)) {
		agenda_rotate(r, s);
		return false;
	}
	fill(r, s, pkt);
	pace(r, s, pkt);
	agenda_rotate(r, s);
	agenda_settle(r, s);
	return true;
}

bool weft_baseline_output(struct weft_baseline *r, struct weft_pkt *pkt, uint32_t free,
	uint32_t paused, uint64_t now_ps)
{
	struct sender *s;

	WEFT_ASSERT(now_ps >= r->now_ps);
	r->now_ps = now_ps;
	while ((s = agenda_due(r)))
		send_timer(r, s);
	pull_due(r);
	free &= (1u << r->config.planes) - 1;
	return answer_take(r, free, pkt) || send_data(r, pkt, free & ~paused);
}

uint64_t weft_baseline_next_ps(const struct weft_baseline *r)
{
	uint64_t next_ps = r->n_heap ? r->senders[r->heap[0]].wake_ps : WEFT_NEVER;

	return r->pull_first == NONE ? next_ps : WEFT_MIN(next_ps, r->pull_ps);
}

bool weft_baseline_wants_output(const struct weft_baseline *r)
{
	return r->n_ready || r->n_answers;
}

void weft_baseline_routes_changed(struct weft_baseline *r)
{
	r->epoch++;
	for (uint32_t i = 0; i < r->n_senders; i++)
		agenda_settle(r, &r->senders[i]);
}
