/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * engine_xrc - extended reliable connections: one way, to whichever shared queue a message names.
 *
 *   XRC_SEND  --{ SRQN a, send }-->  XRC_RECV of domain d  -->  queue a of domain d
 *             --{ SRQN b, send }-->                        -->  queue b of domain d
 *
 * Every request carries the number of a queue (IBTA vol. 1, annex A14): sends and immediates take
 * their receive there, and keys are held against that queue's protection domain.  While a packet is
 * taken its queue and domain are the QP's, so that everything else serves XRC unchanged; between
 * packets the QP has neither.
 *
 * Receives are bound in the order of messages (recvq.c), and packets of a later message may come
 * first.  For that to stay true with several queues, a sender does not begin a message to another
 * queue before all that consume a receive of the last one have been acknowledged; all that are
 * under way at a time then name the same.  A round trip per change of queue is the price; the other
 * way, naming all queues in between in each packet, has no bound.
 */
#include "engine_local.h"

static struct recvq *find(const struct weft_endpoint *ep, const struct ext *ext, uint32_t srqn)
{
	uint32_t number = srqn & UINT16_MAX;

	if (!number || number > ep->config.recvqs)
		return NULL;
	struct recvq *q = &ep->recvqs[number - 1];

	return q->in_use && q->xrcd && q->xrcd == ext->xrcd && q->srqn == srqn ? q : NULL;
}

bool xrc_belongs(const struct weft_qp *qp, const struct weft_pkt *pkt)
{
	bool named = pkt->flags & WEFT_BTH_XRC;

	if (qp->ext->xrc == XRC_NONE)
		return !named && !weft_op_is_xrc_write(pkt->op);
	return named && qp->ext->xrc == XRC_RECEIVES;
}

bool xrc_enter(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	const struct recvq *q = find(qp->ep, qp->ext, pkt->w.srqn);

	if (!q) {
		respond_refuse(qp, WEFT_DROP_BAD_SRQN, WEFT_AETH_NAK_INVALID_REQUEST, pkt->port,
			       WEFT_LOCAL_PROTOCOL);
		return false;
	}
	qp->ext->recvq = pkt->w.srqn & UINT16_MAX;
	qp->pd = q->pd | (qp->deny & WEFT_ACCESS_REMOTE_WRITE ? PD_SHUT : 0);
	return true;
}

void xrc_leave(struct weft_qp *qp)
{
	qp->ext->recvq = WEFT_NO_RECVQ;
	qp->pd |= PD_SHUT;
}

static uint32_t srqn_of(const struct weft_qp *qp, const struct sq_work *work)
{
	return qp->ext->extra[work - qp->sq].srqn;
}

bool xrc_may_begin(const struct weft_qp *qp, const struct sq_work *work)
{
	return !(work->marks & WORK_XRC) || !(work->marks & WORK_CONSUMES) ||
	       !qp->wimm_inflight || qp->ext->srqn == srqn_of(qp, work);
}

void xrc_begin(struct weft_qp *qp, const struct sq_work *work)
{
	if (work->marks & WORK_CONSUMES)
		qp->ext->srqn = srqn_of(qp, work);
}

void xrc_stamp(const struct weft_qp *qp, const struct sq_work *work, struct weft_pkt *pkt)
{
	pkt->flags |= WEFT_BTH_XRC;
	pkt->w.srqn = srqn_of(qp, work);
}

static bool has_of(const struct weft_qp *qp, uint32_t recvq)
{
	for (uint16_t i = qp->rq_head; i != qp->rq_tail; i++)
		if (qp->ext->slot[i & qp->ep->rq_mask].recvq == recvq)
			return true;
	return false;
}

void xrc_forget(struct weft_endpoint *ep, uint32_t recvq)
{
	for (uint32_t i = 0; i < ep->exts_used; i++) {
		const struct ext *ext = &ep->exts[i];

		if (!ext->in_use || ext->xrc != XRC_RECEIVES || !has_of(ext->qp, recvq))
			continue;
		qp_fail(ext->qp, WEFT_LOCAL_PROTOCOL);
		ext->qp->nak = ext->qp->refused = WEFT_AETH_NAK_REMOTE_OPERATION;
	}
}

int weft_recvq_share(struct weft_endpoint *ep, uint32_t number, uint32_t xrcd, uint32_t pd,
		     uint32_t *srqn)
{
	if (number == WEFT_NO_RECVQ || number > ep->config.recvqs ||
	    !ep->recvqs[number - 1].in_use)
		return WEFT_ENOENT;
	struct recvq *q = &ep->recvqs[number - 1];

	if (!xrcd || pd & PD_SHUT)
		return WEFT_EINVAL;
	if (q->xrcd || q->users)
		return WEFT_ESTATE;
	q->xrcd = xrcd;
	q->pd = pd;
	q->srqn = (uint32_t)++q->lives << 16 | number;
	*srqn = q->srqn;
	return 0;
}
