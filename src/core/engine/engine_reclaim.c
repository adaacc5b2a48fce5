/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * engine_reclaim - memory that its owner takes back while work still names it.
 *
 * A card holds on to registered pages until the last access; we cannot, and what was deregistered
 * may be unmapped a moment later.  So a work that still sends from there goes on from elsewhere,
 * where its owner has put a copy, and a receive that points there points nowhere from now on: the
 * message that finds it is not placed and fails (IBTA vol. 1, 9.9.3: a remote operational error
 * for its sender).  All of this is rare, and may search.
 */
#include "engine_local.h"

int weft_work_move(struct weft_qp *qp, uint64_t id, const void *data)
{
	for (uint16_t i = qp->sq_head; i != qp->sq_tail; i++) {
		struct sq_work *work = &qp->sq[i & qp->ep->sq_mask];

		if (work->id != id)
			continue;
		if (data && !(work->marks & WORK_READS))
			work->data = data;
		return 0;
	}
	return WEFT_ENOENT;
}

static int spoil(struct weft_qp *qp, uint32_t recvq, uint64_t id)
{
	for (uint16_t i = qp->rq_head; qp->ext && i != qp->rq_tail; i++) {
		uint32_t at = i & qp->ep->rq_mask;

		if (qp->rq[at] != id || qp->ext->slot[at].recvq != recvq)
			continue;
		qp->ext->slot[at] = (struct recv_slot){ .recvq = (uint16_t)recvq, .spoilt = true };
		return 0;
	}
	return WEFT_ENOENT;
}

int weft_recv_spoil(struct weft_qp *qp, uint64_t id)
{
	return spoil(qp, WEFT_NO_RECVQ, id);
}

int weft_recvq_spoil(struct weft_endpoint *ep, uint32_t number, uint64_t id)
{
	if (number == WEFT_NO_RECVQ || number > ep->config.recvqs)
		return WEFT_ENOENT;
	struct recvq *q = &ep->recvqs[number - 1];

	for (uint32_t i = q->head; i != q->tail; i++) {
		struct weft_recv *recv = &q->ring[i & (ep->config.recvq_depth - 1)];

		if (recv->id != id)
			continue;
		*recv = (struct weft_recv){ .id = id, .spoilt = true };
		return 0;
	}
	/* A message has begun to arrive there. */
	for (uint32_t i = 0; i < ep->exts_used; i++)
		if (ep->exts[i].in_use && !spoil(ep->exts[i].qp, number, id))
			return 0;
	return WEFT_ENOENT;
}
