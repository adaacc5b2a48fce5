/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * absent - memory that is registered, and not there any more when its bytes are moved.
 *
 * A card has its pages pinned.  Here the program may unmap or protect them, or cut the file under
 * them, and whoever moves the bytes learns of it (room nofault), after the engine has taken the
 * packet.  No acknowledgement has left yet, and no completion has been told: so the receiver
 * refuses the message after all, as if its key had been wrong (IBTA vol. 1, 9.9.3: a remote access
 * error for its sender; for a send, whose memory the receiver chose, an operational one), and a
 * read fails at home.  Data that cannot be read fails the work that sends it.  Nobody else's
 * queue pair notices.
 *
 * All of this is rare, and may search.
 */
#include "engine_local.h"

/* Completions of this turn that speak of bytes which are not there; false: there are none. */
static bool spoil_done(struct weft_qp *qp, uint32_t index, bool of_receives)
{
	struct cq *cq = &qp->ep->cqs[index];
	bool any = false;

	for (uint32_t i = cq->head; i != cq->tail; i++) {
		struct weft_done *done = &cq->ring[i & qp->ep->cq_mask];
		bool receives = done->kind == WEFT_DONE_RECV || done->kind == WEFT_DONE_RECV_IMM;
		bool reads = done->kind == WEFT_DONE_READ || done->kind == WEFT_DONE_CMP_SWAP ||
			     done->kind == WEFT_DONE_FETCH_ADD;

		if (done->qpn != qp->qpn || done->status || !(of_receives ? receives : reads))
			continue;
		done->status = WEFT_LOCAL_MEMORY;
		any = true;
	}
	return any;
}

/* The receive that the message was to go into. */
static void fail_receive(struct weft_qp *qp)
{
	if (qp->rq_head == qp->rq_tail)
		return;
	uint32_t at = qp->rq_head++ & qp->ep->rq_mask;
	struct weft_done done = {
		.id = qp->rq[at],
		.recvq = qp->ext->slot[at].recvq,
		.kind = WEFT_DONE_RECV,
		.status = WEFT_LOCAL_MEMORY,
	};

	cq_push(qp, qp->cq_rx, &done);
}

/* The message and all after it are not acknowledged. */
static void refuse(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	bool is_write = weft_op_is_write(pkt->op) || weft_op_is_xrc_write(pkt->op);
	uint16_t told = (uint16_t)(qp->rx_msn - pkt->w.msn);

	if (told <= INT16_MAX)
		qp->rx_msn -= told;
	if (!spoil_done(qp, qp->cq_rx, true) && !is_write && qp->ext)
		fail_receive(qp);
	respond_refuse(qp, WEFT_DROP_NO_MEMORY,
		is_write ? WEFT_AETH_NAK_REMOTE_ACCESS : WEFT_AETH_NAK_REMOTE_OPERATION, pkt->port,
		WEFT_LOCAL_PROTOCOL);
}

void weft_place_lost(struct weft_endpoint *ep, const struct weft_pkt *pkt)
{
	struct weft_qp *qp = qp_by_qpn(ep, pkt->dqpn);

	if (!qp)
		return;
	bool is_reply = qp->kind == QP_REPLIES;
	struct weft_qp *owner = is_reply ? qp->ext->qp : qp;

	if (is_reply)
		(void)spoil_done(owner, owner->cq_tx, false);
	if (owner->state == WEFT_QP_ERROR)
		return;
	if (!is_reply) {
		refuse(owner, pkt);
		return;
	}
	drop_count(ep, WEFT_DROP_NO_MEMORY);
	qp_fail(owner, WEFT_LOCAL_MEMORY);
}

void absent_reply(struct weft_qp *replies, struct sq_work *work)
{
	work->kind = WORK_REFUSED;
	work->rkey = WEFT_AETH_NAK_REMOTE_ACCESS;
	work->data = NULL;
	drop_count(replies->ep, WEFT_DROP_NO_MEMORY);
	qp_fail_slot(replies->ext->qp, WEFT_LOCAL_PROTOCOL);
	replies->ext->qp->refused = WEFT_AETH_NAK_REMOTE_ACCESS;
}

static struct sq_work *find_work(struct weft_qp *qp, const uint8_t *at)
{
	for (uint16_t i = qp->sq_head; i != qp->sq_tail; i++) {
		struct sq_work *work = &qp->sq[i & qp->ep->sq_mask];

		if (work->data && !(work->marks & WORK_READS) && at >= work->data &&
			at < work->data + work->len_bytes)
			return work;
	}
	return NULL;
}

void weft_data_lost(struct weft_endpoint *ep, const void *at)
{
	for (uint32_t i = 0; i < ep->config.qps; i++) {
		struct weft_qp *qp = &ep->qps[i];
		struct sq_work *work =
			qp->in_use && qp->state != WEFT_QP_ERROR ? find_work(qp, at) : NULL;

		if (!work)
			continue;
		if (qp->kind == QP_REPLIES)
			absent_reply(qp, work);
		else
			qp_fail(qp, WEFT_LOCAL_MEMORY);
	}
}
