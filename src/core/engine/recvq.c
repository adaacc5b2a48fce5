/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recvq - receives, a QP's own and shared ones, and what happens when there is none (RNR).
 *
 * A message names its receive: RQMSN counts the messages of a QP that consume one, so with
 * packets of message n + 1 arriving before those of n, each still finds where it belongs.  A
 * receive from a shared queue is bound to its message when the first packet arrives, and not
 * before all messages of that QP in front of it have theirs: else one shared receive could end
 * up with a message that waits for its predecessor, which waits for a receive.
 *
 * A packet that finds no receive is refused before anything of it is noted, as if it had never
 * arrived, and NACKed; its sender repeats it when the asked time is over.  One refusal is one
 * try, however many packets of a flight it concerns.  The times are those of IBTA vol. 1, table
 * "RNR NAK timer field encoding".
 *
 * A sender may be told not to give up for some time, whatever the number of tries.  Then it asks
 * beyond them again when as much time as it has waited already is over, so that a receive that is
 * a little late is found soon, and one that is not costs few packets.
 */
#include "engine_local.h"

#define FIRST_WAIT_NS UINT64_C(50000) /* beyond the tries */

uint64_t recvq_rnr_ns(uint8_t code)
{
	static const uint32_t units_of_10us[32] = {
		65536, 1,   2,   3,   4,   6,    8,    12,   16,   24,   32,
		48,    64,  96,  128, 192, 256,  384,  512,  768,  1024, 1536,
		2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};

	return units_of_10us[code & 31] * UINT64_C(10000);
}

static void put(struct weft_qp *qp, const struct weft_recv *recv)
{
	uint32_t at = qp->rq_tail++ & qp->ep->rq_mask;

	qp->rq[at] = recv->id;
	qp->ext->slot[at] = (struct recv_slot){
		.to = recv->to,
		.len_bytes = recv->len_bytes,
		.recvq = (uint16_t)qp->ext->recvq,
		.scattered = recv->scattered,
		.spoilt = recv->spoilt,
	};
}

int weft_post_receive(struct weft_qp *qp, const struct weft_recv *recv)
{
	if (!qp->ext || qp->kind == QP_REPLIES || (recv->len_bytes && !recv->to))
		return WEFT_EINVAL;
	if (qp->state == WEFT_QP_RESET || qp->state == WEFT_QP_ERROR || qp->ext->recvq ||
	    qp->ext->xrc)
		return WEFT_ESTATE;
	if ((uint16_t)(qp->rq_tail - qp->rq_head) > qp->ep->rq_mask)
		return WEFT_EFULL;
	put(qp, recv);
	return 0;
}

static struct recvq *find(const struct weft_endpoint *ep, uint32_t number)
{
	if (number == WEFT_NO_RECVQ || number > ep->config.recvqs)
		return NULL;
	return ep->recvqs[number - 1].in_use ? &ep->recvqs[number - 1] : NULL;
}

bool weft_recvq_take(struct weft_endpoint *ep, uint32_t number, struct weft_recv *recv)
{
	struct recvq *q = find(ep, number);

	if (!q || q->head == q->tail)
		return false;
	*recv = q->ring[q->head++ & (ep->config.recvq_depth - 1)];
	if (q->limit && q->tail - q->head < q->limit) {
		q->limit = 0;
		q->hit = true;
	}
	return true;
}

struct recv_slot *recvq_bind(struct weft_qp *qp, uint16_t ahead)
{
	struct weft_recv recv;

	while ((uint16_t)(qp->rq_tail - qp->rq_head) <= ahead) {
		if (!qp->ext->recvq || !weft_recvq_take(qp->ep, qp->ext->recvq, &recv))
			return NULL;
		put(qp, &recv);
	}
	struct recv_slot *slot =
		&qp->ext->slot[(uint16_t)(qp->rq_head + ahead) & qp->ep->rq_mask];

	if (WEFT_LIKELY(slot->recvq == qp->ext->recvq))
		return slot;
	drop_count(qp->ep, WEFT_DROP_BAD_SRQN); /* packets of one message name two queues */
	return NULL;
}

void recvq_refuse(struct weft_qp *qp, const struct weft_pkt *pkt, uint64_t now)
{
	qp->ep->count.tx_rnr++;
	ack_out_nack(qp, pkt, WEFT_NACK_RNR, now);
}

/* Until the next try; 0: there is none. */
static uint64_t wait_of(const struct ext *ext, uint8_t code, uint64_t now)
{
	uint64_t waited_ns = now - ext->rnr_since_ns;

	if (ext->rnr_retry == WEFT_RNR_FOR_EVER || ext->rnr_row < ext->rnr_retry)
		return recvq_rnr_ns(code);
	if (waited_ns >= ext->rnr_give_up_ns)
		return 0;
	return WEFT_MIN(WEFT_MIN(WEFT_MAX(waited_ns, FIRST_WAIT_NS), recvq_rnr_ns(code)),
		ext->rnr_give_up_ns - waited_ns);
}

/* The packet is marked lost already; it and all others wait until the hold is over. */
void recvq_on_rnr(struct weft_qp *qp, const struct weft_pkt_nack *nack, uint64_t now)
{
	struct ext *ext = qp->ext;

	qp->ep->count.rx_rnr++;
	if (now < qp->hold_ns)
		return;
	if (!ext->rnr_row || weft_psn_diff(qp->psn_unack, ext->rnr_psn) > 0) {
		ext->rnr_row = 0;
		ext->rnr_since_ns = now;
	}
	ext->rnr_psn = nack->psn;
	uint64_t wait_ns = wait_of(ext, nack->vendor_info, now);

	if (!wait_ns) {
		qp_fail(qp, WEFT_RNR_RETRY_EXCEEDED);
		return;
	}
	count8(&ext->rnr_row);
	/* What is still on its way must not be taken for another try. */
	qp->hold_ns = now + WEFT_MAX(wait_ns, 2 * (uint64_t)WEFT_MAX(qp->rtt_ns,
						      qp->ep->config.base_rtt_ns));
	qp->progress_ns = qp->hold_ns; /* the peer is there: its silence is counted from then on */
	qp->timeouts = 0;
	loss_arm(qp, now);
}

/* ---- shared ---- */

int weft_recvq_open(struct weft_endpoint *ep, uint32_t *number)
{
	for (uint32_t i = 0; i < ep->config.recvqs; i++) {
		if (ep->recvqs[i].in_use)
			continue;
		ep->recvqs[i] = (struct recvq){ .ring = ep->recvqs[i].ring,
						.lives = ep->recvqs[i].lives,
						.in_use = true };
		*number = i + 1;
		return 0;
	}
	return WEFT_EFULL;
}

int weft_recvq_close(struct weft_endpoint *ep, uint32_t number)
{
	struct recvq *q = find(ep, number);

	if (!q)
		return WEFT_ENOENT;
	if (q->users)
		return WEFT_ESTATE;
	q->in_use = false;
	if (q->xrcd)
		xrc_forget(ep, number);
	return 0;
}

int weft_recvq_post(struct weft_endpoint *ep, uint32_t number, const struct weft_recv *recv)
{
	struct recvq *q = find(ep, number);

	if (!q)
		return WEFT_ENOENT;
	if (recv->len_bytes && !recv->to)
		return WEFT_EINVAL;
	if (q->tail - q->head == ep->config.recvq_depth)
		return WEFT_EFULL;
	q->ring[q->tail++ & (ep->config.recvq_depth - 1)] = *recv;
	return 0;
}

int weft_recvq_set_limit(struct weft_endpoint *ep, uint32_t number, uint32_t limit)
{
	struct recvq *q = find(ep, number);

	if (!q)
		return WEFT_ENOENT;
	q->limit = limit;
	q->hit = false;
	return 0;
}

bool weft_recvq_limit_hit(struct weft_endpoint *ep, uint32_t number)
{
	struct recvq *q = find(ep, number);
	bool hit = q && q->hit;

	if (hit)
		q->hit = false;
	return hit;
}

uint32_t weft_recvq_count(const struct weft_endpoint *ep, uint32_t number)
{
	const struct recvq *q = find(ep, number);

	return q ? q->tail - q->head : 0;
}
