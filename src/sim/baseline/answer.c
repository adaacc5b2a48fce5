/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * answer - what receivers say, in short packets before all data, and when they ask for more.
 *
 * Answers say what is true when they leave, not when they were due, so an acknowledgement that
 * waits is not queued twice.  They take a path by a hash of their own, or any.
 *
 * NDP's receiver (Handley et al., SIGCOMM 2017, section 3.2) asks for one packet for each that has
 * arrived, whole or cut, connection by connection, and no faster than its line takes them in.  It
 * does not ask for what the sender does not have: packets say how much that is.
 */
#include "baseline_local.h"

static uint32_t list_of(const struct weft_baseline *r, const struct answer *a)
{
	return r->kind->is_spray ? ANY : a->port;
}

void answer_push(struct weft_baseline *r, struct answer a)
{
	const struct receiver *v = &r->receivers[a.receiver];

	if (!r->kind->is_spray) {
		uint32_t peer = r->receives[v->conn].peer, plane = WEFT_BASELINE_ANY_PLANE;

		if (r->kind->is_striped)
			plane = (a.receiver - v->conn * r->qps) % r->config.planes;
		a.ev = r->config.path(r->config.user, peer, plane, v->hash, &a.port);
		if (a.ev == WEFT_BASELINE_NO_PATH)
			a.ev = r->config.path(
				r->config.user, peer, WEFT_BASELINE_ANY_PLANE, v->hash, &a.port);
		WEFT_ASSERT(a.port < r->config.planes);
	}
	struct answers *list = &r->answers[list_of(r, &a)];

	if (list->end - list->first == ANSWERS) {
		r->counters.answers_lost++;
		if (a.op == WEFT_OP_ACK && !a.nak)
			r->receivers[a.receiver].acked = false;
		if (a.nak)
			r->receivers[a.receiver].nak_sent = false;
		return;
	}
	list->ring[list->end++ % ANSWERS] = a;
	r->n_answers++;
}

bool spray(struct weft_baseline *r, uint32_t peer, uint32_t hash, uint32_t free, uint32_t *ev,
	uint8_t *port)
{
	uint32_t n = weft_popcount64(free), skip = n > 1 ? (uint32_t)weft_rng_below(&r->rng, n) : 0;
	uint32_t rest = free;

	for (; skip; skip--)
		rest &= rest - 1;
	for (uint32_t i = 0; i < n; i++) {
		*ev = r->config.path(r->config.user, peer, weft_ctz64(rest), hash, port);
		if (*ev != WEFT_BASELINE_NO_PATH)
			return true;
		rest &= rest - 1;
		rest = rest ? rest : free;
	}
	*ev = r->config.path(r->config.user, peer, WEFT_BASELINE_ANY_PLANE, hash, port);
	return free >> *port & 1;
}

static void fill_sack(const struct weft_baseline *r, const struct receiver *v,
	const struct answer *a, struct weft_pkt_sack *sack)
{
	const uint64_t *came = bits_of(r, r->came, a->receiver);
	int32_t ahead = psn_diff(a->psn, v->expected);
	uint32_t base = ahead > 0 ? (uint32_t)ahead / 64 * 64 : 0;

	sack->cack_psn = (v->expected - 1) & WEFT_PSN_MASK;
	sack->sack_offset = (int16_t)(base + 1);
	sack->psn_offset = (int16_t)(ahead + 1);
	sack->cc_type_flags = a->ce ? CE_ECHO : 0;
	for (uint32_t i = 0; i < 64 && base + i < r->bits; i++)
		sack->bitmap |= (uint64_t)bit_get(r, came, v->expected + base + i) << i;
}

static void fill(struct weft_baseline *r, const struct answer *a, struct weft_pkt *pkt)
{
	struct receiver *v = &r->receivers[a->receiver];
	const struct conn *conn = &r->receives[v->conn];

	*pkt = (struct weft_pkt){ .peer = conn->peer,
		.ev = a->ev,
		.port = a->port,
		.tclass = WEFT_CLASS_CONTROL,
		.op = a->op,
		.dqpn = conn->peer_number * r->qps + (a->receiver - v->conn * r->qps) };
	switch (a->op) {
	case WEFT_OP_ACK:
		pkt->psn = (v->expected - 1) & WEFT_PSN_MASK;
		pkt->ack.syndrome = a->nak ? WEFT_AETH_NAK_PSN_SEQUENCE : WEFT_AETH_ACK;
		r->counters.tx_naks += a->nak;
		r->counters.tx_acks += !a->nak;
		if (!a->nak)
			v->acked = false;
		break;
	case WEFT_OP_SACK:
		fill_sack(r, v, a, &pkt->sack);
		r->counters.tx_acks++;
		break;
	case WEFT_OP_NACK:
		pkt->nack.psn = a->psn & WEFT_PSN_MASK;
		pkt->nack.reason = WEFT_NACK_TRIMMED;
		r->counters.tx_naks++;
		break;
	case WEFT_OP_EP_REQUEST:
		pkt->psn = a->psn & WEFT_PSN_MASK;
		r->counters.tx_pulls++;
		break;
	default:
		r->counters.tx_cnps++;
	}
}

bool answer_take(struct weft_baseline *r, uint32_t free, struct weft_pkt *pkt)
{
	struct answers *list = NULL;

	if (!r->n_answers || !free)
		return false;
	for (uint32_t rest = free; rest && !list; rest &= rest - 1) {
		struct answers *l = &r->answers[weft_ctz64(rest)];

		list = l->first != l->end ? l : NULL;
	}
	if (!list)
		list = &r->answers[ANY];
	if (list->first == list->end)
		return false;
	struct answer *a = &list->ring[list->first % ANSWERS];

	uint32_t peer = r->receives[r->receivers[a->receiver].conn].peer;

	if (r->kind->is_spray &&
		!spray(r, peer, (uint32_t)weft_rng_u64(&r->rng), free, &a->ev, &a->port))
		return false;
	fill(r, a, pkt);
	list->first++;
	r->n_answers--;
	return true;
}

/* ---- pulls ---- */

void pull_want(struct weft_baseline *r, struct receiver *v)
{
	uint32_t index = (uint32_t)(v - r->receivers);

	if (v->is_pulling || v->granted == v->arrivals)
		return;
	v->is_pulling = true;
	v->list_next = NONE;
	if (r->pull_first == NONE)
		r->pull_first = index;
	else
		r->receivers[r->pull_last].list_next = index;
	r->pull_last = index;
}

void pull_due(struct weft_baseline *r)
{
	while (r->pull_first != NONE && r->pull_ps <= r->now_ps) {
		struct receiver *v = &r->receivers[r->pull_first];

		r->pull_first = v->list_next;
		v->is_pulling = false;
		v->granted++;
		answer_push(r, (struct answer){ .receiver = (uint32_t)(v - r->receivers),
				       .psn = v->granted,
				       .op = WEFT_OP_EP_REQUEST });
		pull_want(r, v);
		/* A line that was idle is not owed anything. */
		if (r->pull_ps + r->pull_every_ps < r->now_ps)
			r->pull_ps = r->now_ps;
		r->pull_ps += r->pull_every_ps;
	}
}
