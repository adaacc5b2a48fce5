/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heard - what receivers say, and what senders make of it.
 *
 * Go-back-N: a NAK names the first packet that is missing; it and all behind it are sent again.
 * IRN: a gap below what was acknowledged selectively is a loss, each is repeated once per recovery,
 * and a recovery ends when all that was sent before it has been acknowledged.  Sprayed packets
 * overtake each other, so gaps mean nothing: only what a switch has cut is known to be missing.
 */
#include "baseline_local.h"

/* How many packets became acknowledged; they are forgotten. */
static uint32_t advance(struct weft_baseline *r, struct sender *s, uint32_t una)
{
	uint32_t fresh = una - s->una;

	if (!r->kind->is_selective) {
		s->una = una;
		return fresh;
	}
	uint64_t *acked = bits_of(r, r->acked, sender_index(r, s));
	uint64_t *rtx = bits_of(r, r->rtx, sender_index(r, s));

	for (; s->una != una; s->una++) {
		if (bit_get(r, acked, s->una)) {
			s->n_acked--;
			fresh--;
		}
		s->n_rtx -= bit_get(r, rtx, s->una);
		bit_clear(r, acked, s->una);
		bit_clear(r, rtx, s->una);
	}
	if (psn_diff(s->rtx_from, una) < 0)
		s->rtx_from = una;
	return fresh;
}

static uint32_t take_sacked(struct weft_baseline *r, struct sender *s, uint32_t psn)
{
	uint64_t *acked = bits_of(r, r->acked, sender_index(r, s));
	uint64_t *rtx = bits_of(r, r->rtx, sender_index(r, s));

	if (psn_diff(psn, s->una) < 0 || psn_diff(psn, s->next) >= 0 || bit_get(r, acked, psn))
		return 0;
	bit_set(r, acked, psn);
	s->n_acked++;
	s->n_rtx -= bit_get(r, rtx, psn);
	bit_clear(r, rtx, psn);
	return 1;
}

/* IRN: marks what is missing below the highest packet that has arrived. */
static void find_gaps(struct weft_baseline *r, struct sender *s, uint32_t highest)
{
	if (s->recovering && psn_diff(s->una, s->recover) >= 0)
		s->recovering = false;
	if (psn_diff(highest, s->una) <= 0)
		return;
	if (!s->recovering) {
		s->recovering = true;
		s->recover = s->next;
		s->scan = s->una;
	}
	if (psn_diff(s->scan, s->una) < 0)
		s->scan = s->una;
	for (; psn_diff(s->scan, highest) < 0; s->scan++)
		rtx_mark(r, s, s->scan);
}

/* False: what it acknowledges was never sent. */
static bool read_una(const struct sender *s, uint32_t psn, uint32_t *una)
{
	*una = psn_near(psn, s->una) + 1;
	if (psn_diff(*una, s->sent) > 0)
		return false;
	if (psn_diff(*una, s->una) < 0)
		*una = s->una; /* an old one, overtaken */
	return true;
}

static bool on_ack(struct weft_baseline *r, struct sender *s, const struct weft_pkt *pkt)
{
	bool is_nak = pkt->ack.syndrome == WEFT_AETH_NAK_PSN_SEQUENCE;
	uint32_t una;

	if (r->kind->is_selective || !read_una(s, pkt->psn, &una))
		return false;
	bool is_new = una != s->una;

	r->counters.rx_acks += !is_nak;
	r->counters.rx_naks += is_nak;
	(void)advance(r, s, una);
	if (psn_diff(s->next, una) < 0 || (is_nak && psn_near(pkt->psn, una) + 1 == una))
		s->next = una;
	if (is_new || is_nak)
		send_restart_timer(r, s);
	return true;
}

static bool on_sack(struct weft_baseline *r, struct sender *s, const struct weft_pkt *pkt)
{
	const struct weft_pkt_sack *sack = &pkt->sack;
	uint32_t una, fresh = 0, highest, before = s->una;

	if (!r->kind->is_selective || !read_una(s, sack->cack_psn, &una))
		return false;
	int32_t offset = sack->sack_offset;
	uint32_t base = psn_near(sack->cack_psn, s->una) + (uint32_t)offset;

	r->counters.rx_acks++;
	fresh = advance(r, s, una);
	highest = una;
	for (uint64_t bits = sack->bitmap; bits; bits &= bits - 1) {
		uint32_t psn = base + weft_ctz64(bits);

		fresh += take_sacked(r, s, psn);
		if (psn_diff(psn, s->next) < 0 && psn_diff(psn, highest) > 0)
			highest = psn;
	}
	if (r->kind->knows_order)
		find_gaps(r, s, highest);
	if (r->kind->has_window)
		dctcp_on_ack(&s->window, fresh, sack->cc_type_flags & CE_ECHO, s->una, s->next,
			r->window_pkts);
	if (s->una != before || !in_flight(s))
		send_restart_timer(r, s);
	return true;
}

static bool on_nack(struct weft_baseline *r, struct sender *s, const struct weft_pkt *pkt)
{
	if (!r->kind->is_spray)
		return false;
	r->counters.rx_naks++;
	rtx_mark(r, s, psn_near(pkt->nack.psn, s->una));
	if (r->kind->has_window)
		dctcp_on_ack(&s->window, 1, true, s->una, s->next, r->window_pkts);
	if (!in_flight(s))
		send_restart_timer(r, s);
	return true;
}

static bool on_pull(struct weft_baseline *r, struct sender *s, const struct weft_pkt *pkt)
{
	uint32_t pulls = psn_near(pkt->psn, s->pulls);
	int32_t more = psn_diff(pulls, s->pulls);

	if (!r->kind->is_pulled || more > (int32_t)r->bits)
		return false;
	r->counters.rx_pulls++;
	if (more > 0) {
		s->credits += (uint32_t)more;
		s->pulls = pulls;
	}
	return true;
}

static bool on_cnp(struct weft_baseline *r, struct sender *s)
{
	if (!r->config.settings.dcqcn)
		return false;
	r->counters.rx_cnps++;
	dcqcn_on_cnp(&s->rate, &r->config.settings, r->config.port_bps, r->now_ps);
	return true;
}

void heard(struct weft_baseline *r, const struct weft_pkt *pkt)
{
	bool ok = false;

	if (pkt->dqpn >= r->n_senders || r->sends[pkt->dqpn / r->qps].peer != pkt->peer) {
		r->counters.drops++;
		return;
	}
	struct sender *s = &r->senders[pkt->dqpn];

	switch (pkt->op) {
	case WEFT_OP_ACK:
		ok = on_ack(r, s, pkt);
		break;
	case WEFT_OP_SACK:
		ok = on_sack(r, s, pkt);
		break;
	case WEFT_OP_NACK:
		ok = on_nack(r, s, pkt);
		break;
	case WEFT_OP_EP_REQUEST:
		ok = on_pull(r, s, pkt);
		break;
	case WEFT_OP_PROBE:
		ok = on_cnp(r, s);
		break;
	default:
		break;
	}
	r->counters.drops += !ok;
	post_finish(r, s->conn);
	post_feed(r, s->conn);
	agenda_settle(r, s);
}
