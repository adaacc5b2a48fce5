/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * engine_cq - completions wait here until they are polled.
 *
 * An overrun is the application's mistake (it sized the queue), but a lost completion must not
 * be silent: the QP that could not report fails, as verbs programs expect.
 */
#include "engine_local.h"

void cq_push(struct weft_qp *qp, uint32_t index, const struct weft_done *done)
{
	struct weft_endpoint *ep = qp->ep;
	struct cq *cq = &ep->cqs[index];

	if (cq->tail - cq->head > ep->cq_mask) {
		qp_fail(qp, WEFT_CQ_OVERRUN); /* its own flush finds the queue full and ends here */
		return;
	}
	struct weft_done *slot = &cq->ring[cq->tail++ & ep->cq_mask];

	*slot = *done;
	slot->qpn = qp->qpn;
	slot->user = qp->user;
}

static uint32_t read_bytes(const struct sq_work *work)
{
	return work->kind == WEFT_WORK_READ ? work->asked_bytes : (uint32_t)sizeof(uint64_t);
}

static uint8_t done_kind(uint8_t kind)
{
	if (kind == WEFT_WORK_WRITE || kind == WORK_XRC_WRITE)
		return WEFT_DONE_WRITE;
	return (uint8_t)(kind + 1);
}

void cq_finish_work(struct weft_qp *qp, enum weft_status status)
{
	WEFT_ASSERT(qp->sq_head != qp->sq_tail);
	const struct sq_work *work = &qp->sq[qp->sq_head & qp->ep->sq_mask];

	if (work->marks & WORK_CONSUMES && qp->sq_head != qp->sq_send)
		qp->wimm_inflight--;
	if (qp->sq_send == qp->sq_head) { /* flushed before it was cut to its end */
		if (work->marks & WORK_CONSUMES && qp->send_pkt)
			qp->wimm_inflight--;
		qp->sq_send++;
		qp->send_pkt = 0;
	}
	qp->sq_head++;
	if (WEFT_UNLIKELY(qp->kind == QP_REPLIES)) {
		reads_settle_later(qp->ext); /* there is room for one more */
		return;
	}
	if (work->silent && status == WEFT_OK)
		return;
	struct weft_done done = {
		.id = work->id,
		.len_bytes = work->marks & WORK_READS ? read_bytes(work) : work->len_bytes,
		.imm = work->imm,
		.kind = done_kind(work->kind),
		.status = (uint8_t)status,
	};
	cq_push(qp, qp->cq_tx, &done);
}

/* What a QP that is closed had to say is of no use to anybody, and its `user` may point nowhere. */
void cq_forget(const struct weft_qp *qp, uint32_t index)
{
	struct weft_endpoint *ep = qp->ep;
	struct cq *cq = &ep->cqs[index];
	uint32_t kept = cq->head;

	for (uint32_t i = cq->head; i != cq->tail; i++) {
		struct weft_done *done = &cq->ring[i & ep->cq_mask];

		if (done->qpn != qp->qpn)
			cq->ring[kept++ & ep->cq_mask] = *done;
	}
	cq->tail = kept;
}

size_t weft_poll(struct weft_endpoint *ep, uint32_t index, struct weft_done done[], size_t max)
{
	WEFT_ASSERT(index < ep->config.cqs);
	struct cq *cq = &ep->cqs[index];
	size_t n = WEFT_MIN(max, (size_t)(cq->tail - cq->head));

	if (WEFT_UNLIKELY(ep->settle_n))
		reads_settle(ep); /* bytes before the word that they are there */
	for (size_t i = 0; i < n; i++)
		done[i] = cq->ring[cq->head++ & ep->cq_mask];
	return n;
}
