/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * receive - packets of the peer's queue pairs.
 *
 * Go-back-N takes the next packet and no other; the first that comes out of order is answered with
 * a NAK, the others are not (InfiniBand 1.4, 9.7.5.2.8), and acknowledgements are for every fourth
 * packet and the last of a message.  The others keep what comes within their bitmap and answer each
 * packet, as IRN and NDP do.  Packets cut by switches mean nothing to RoCE.
 *
 * Marks: a CNP for a queue pair at most every `cnp_ps` (DCQCN, 3.1), the echo of each mark for
 * DCTCP.
 */
#include "baseline_local.h"

enum { ACK_EVERY = 4 };
#define TRIM_MARKS (WEFT_MARK_TRIMMED | WEFT_MARK_TRIMMED_LASTHOP)

static void place(struct weft_baseline *r, const struct receiver *v, const struct weft_pkt *pkt)
{
	uint32_t *got = &r->got[(uint64_t)v->conn * MESSAGES + pkt->w.msn % MESSAGES];

	r->counters.rx_data_pkts++;
	r->counters.rx_data_bytes += pkt->w.len_bytes;
	r->receives[v->conn].came_bytes += pkt->w.len_bytes;
	*got += pkt->w.len_bytes;
	if (*got < pkt->w.msg_bytes)
		return;
	*got = 0;
	done_tell(r, pkt->w.imm, true);
}

static uint32_t index_of(const struct weft_baseline *r, const struct receiver *v)
{
	return (uint32_t)(v - r->receivers);
}

static void acknowledge(struct weft_baseline *r, struct receiver *v)
{
	v->unanswered = 0;
	if (v->acked)
		return;
	v->acked = true;
	answer_push(r, (struct answer){ .receiver = index_of(r, v), .op = WEFT_OP_ACK });
}

static void take_in_order(struct weft_baseline *r, struct receiver *v, const struct weft_pkt *pkt)
{
	int32_t ahead = psn_diff(psn_near(pkt->psn, v->expected), v->expected);

	if (ahead > 0) {
		r->counters.rx_out_of_order++;
		if (!v->nak_sent)
			answer_push(r, (struct answer){ .receiver = index_of(r, v),
					       .op = WEFT_OP_ACK,
					       .nak = true });
		v->nak_sent = true;
		return;
	}
	if (ahead < 0) {
		r->counters.rx_duplicate++;
		acknowledge(r, v);
		return;
	}
	v->expected++;
	v->nak_sent = false;
	place(r, v, pkt);
	if (++v->unanswered >= ACK_EVERY || pkt->op == WEFT_OP_WRITE_LAST)
		acknowledge(r, v);
}

static void take_any(struct weft_baseline *r, struct receiver *v, const struct weft_pkt *pkt)
{
	uint64_t *came = bits_of(r, r->came, index_of(r, v));
	uint32_t psn = psn_near(pkt->psn, v->expected);
	int32_t ahead = psn_diff(psn, v->expected);

	if (ahead >= (int32_t)r->bits) {
		r->counters.drops++;
		return;
	}
	if (ahead < 0 || bit_get(r, came, psn)) {
		r->counters.rx_duplicate++;
	} else {
		r->counters.rx_out_of_order += ahead > 0;
		bit_set(r, came, psn);
		place(r, v, pkt);
		while (bit_get(r, came, v->expected)) {
			bit_clear(r, came, v->expected);
			v->expected++;
		}
	}
	answer_push(r, (struct answer){ .receiver = index_of(r, v),
			       .psn = psn,
			       .op = WEFT_OP_SACK,
			       .ce = pkt->mark & WEFT_MARK_CE });
}

static void notify(struct weft_baseline *r, struct receiver *v)
{
	if (!r->config.settings.dcqcn || r->now_ps < v->cnp_ps)
		return;
	v->cnp_ps = r->now_ps + r->config.settings.cnp_ps;
	answer_push(r, (struct answer){ .receiver = index_of(r, v), .op = WEFT_OP_PROBE });
}

static void count_demand(
	struct weft_baseline *r, struct receiver *v, const struct weft_pkt *pkt, bool is_trimmed)
{
	uint32_t demand = (uint32_t)pkt->w.va;

	if (psn_diff(demand, v->demand) > 0 && demand - v->demand < WEFT_PSN_HALF)
		v->demand = demand;
	v->demand += is_trimmed;
	if (v->arrivals != v->demand)
		v->arrivals++;
	pull_want(r, v);
}

void receive(struct weft_baseline *r, const struct weft_pkt *pkt)
{
	bool is_trimmed = pkt->mark & TRIM_MARKS;

	if (pkt->dqpn >= r->n_receivers || r->receives[pkt->dqpn / r->qps].peer != pkt->peer ||
		!pkt->w.len_bytes) {
		r->counters.drops++;
		return;
	}
	struct receiver *v = &r->receivers[pkt->dqpn];

	r->counters.rx_trimmed += is_trimmed;
	r->counters.rx_ce += pkt->mark & WEFT_MARK_CE;
	if (pkt->mark & WEFT_MARK_CE)
		notify(r, v);
	if (r->kind->is_pulled)
		count_demand(r, v, pkt, is_trimmed);
	if (is_trimmed && r->kind->is_spray)
		answer_push(r,
			(struct answer){
				.receiver = index_of(r, v), .psn = pkt->psn, .op = WEFT_OP_NACK });
	else if (is_trimmed)
		return;
	else if (r->kind->is_selective)
		take_any(r, v, pkt);
	else
		take_in_order(r, v, pkt);
}

void weft_baseline_input(struct weft_baseline *r, const struct weft_pkt *pkt, uint64_t now_ps)
{
	WEFT_ASSERT(now_ps >= r->now_ps);
	r->now_ps = now_ps;
	if (weft_op_is_write(pkt->op))
		receive(r, pkt);
	else
		heard(r, pkt);
}
