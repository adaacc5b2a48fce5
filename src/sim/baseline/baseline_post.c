/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * baseline_post - messages become packets of queue pairs, and are done when those are acknowledged.
 *
 * A message is dealt out over all queue pairs of its connection in one piece each, as NCCL does
 * when it splits data over queue pairs; one with fewer packets than there are goes to a single
 * one, by turns.  So many messages may be under way at once as receivers have counters for their
 * bytes; the others wait.  A message has arrived when all its bytes have, wherever they came along.
 */
#include "baseline_local.h"

static struct message *message_of(const struct weft_baseline *r, uint32_t conn, uint32_t number)
{
	return &r->messages[(uint64_t)conn * MESSAGES + number % MESSAGES];
}

static uint32_t *ends_of(const struct weft_baseline *r, uint32_t conn, uint32_t number)
{
	return &r->ends[((uint64_t)conn * MESSAGES + number % MESSAGES) * r->qps];
}

void done_tell(struct weft_baseline *r, uint64_t id, bool arrived)
{
	WEFT_ASSERT(r->end_done - r->first_done < DONES); /* nobody polls */
	r->dones[r->end_done++ % DONES] = (struct weft_baseline_done){ id, arrived };
}

static void begin(struct weft_baseline *r, uint32_t index, const struct queued *q)
{
	struct conn *conn = &r->sends[index];
	uint32_t pkts = (uint32_t)WEFT_DIV_UP((uint64_t)q->len_bytes, r->config.payload_bytes);
	struct message *m = message_of(r, index, conn->posted);
	uint32_t *ends = ends_of(r, index, conn->posted);
	bool is_short = pkts < r->qps;
	uint32_t one = conn->turn % r->qps;

	*m = (struct message){ .id = q->id,
		.len_bytes = q->len_bytes,
		.final = (uint8_t)(is_short ? one : r->qps - 1) };
	conn->turn += is_short;
	conn->posted++;
	for (uint32_t i = 0; i < r->qps; i++) {
		struct sender *s = &r->senders[index * r->qps + i];
		uint32_t part = pkts / r->qps + (i < pkts % r->qps);

		if (is_short)
			part = i == one ? pkts : 0;
		/* As a connection that has just been made: NDP's first window is sent unasked. */
		if (s->una == s->end)
			s->credits = r->window_pkts;
		s->end += part;
		ends[i] = s->end;
		agenda_settle(r, s);
	}
}

void post_feed(struct weft_baseline *r, uint32_t index)
{
	struct conn *conn = &r->sends[index];

	while (conn->first_queued != NONE && conn->posted - conn->oldest < MESSAGES) {
		uint32_t at = conn->first_queued;
		struct queued *q = &r->queued[at];

		conn->first_queued = q->next;
		begin(r, index, q);
		q->next = r->free_queued;
		r->free_queued = at;
	}
}

void post_finish(struct weft_baseline *r, uint32_t index)
{
	struct conn *conn = &r->sends[index];

	for (; conn->oldest != conn->posted; conn->oldest++) {
		const uint32_t *ends = ends_of(r, index, conn->oldest);

		for (uint32_t i = 0; i < r->qps; i++) {
			if (psn_diff(r->senders[index * r->qps + i].una, ends[i]) < 0)
				return;
		}
		done_tell(r, message_of(r, index, conn->oldest)->id, false);
	}
}

void post_cut(
	const struct weft_baseline *r, const struct sender *s, uint32_t psn, struct weft_pkt *pkt)
{
	const struct conn *conn = &r->sends[s->conn];
	uint32_t qp = sender_index(r, s) - s->conn * r->qps, number = conn->oldest;

	while (psn_diff(psn, ends_of(r, s->conn, number)[qp]) >= 0) {
		number++;
		WEFT_ASSERT(number != conn->posted);
	}
	const struct message *m = message_of(r, s->conn, number);
	bool is_last = psn + 1 == ends_of(r, s->conn, number)[qp];
	uint32_t rest = m->len_bytes % r->config.payload_bytes;

	pkt->op = is_last ? WEFT_OP_WRITE_LAST : WEFT_OP_WRITE_MIDDLE;
	pkt->w = (struct weft_pkt_write){ .msg_bytes = m->len_bytes,
		.imm = (uint32_t)m->id,
		.msn = (uint16_t)number,
		.len_bytes =
			(uint16_t)(is_last && qp == m->final && rest ? rest
								     : r->config.payload_bytes) };
}

bool weft_baseline_post(
	struct weft_baseline *r, uint32_t number, uint64_t id, uint32_t len_bytes, uint64_t now_ps)
{
	WEFT_ASSERT(number < r->config.sends && now_ps >= r->now_ps);
	struct conn *conn = &r->sends[number];
	uint32_t at = r->free_queued;

	if (at == NONE || !len_bytes || conn->peer == NONE)
		return false;
	r->now_ps = now_ps;
	r->free_queued = r->queued[at].next;
	r->queued[at] = (struct queued){ .id = id, .len_bytes = len_bytes, .next = NONE };
	if (conn->first_queued == NONE)
		conn->first_queued = at;
	else
		r->queued[conn->last_queued].next = at;
	conn->last_queued = at;
	post_feed(r, number);
	return true;
}

bool weft_baseline_poll(struct weft_baseline *r, struct weft_baseline_done *done)
{
	if (r->first_done == r->end_done)
		return false;
	*done = r->dones[r->first_done++ % DONES];
	return true;
}
