/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * done - what the engine has finished becomes what the program is told.
 *
 * The engine reports a work by its number in the program's queue; all before it are done, too.
 * It has one completion queue here, emptied in every turn; how the program shares its queues
 * among queue pairs is decided when their completions are handed out.  The first failure is told as
 * it is and everything behind it as flushed, from the program's own queue, so that nothing the
 * program has posted stays without an answer, whatever the engine knew of it.
 */
#include "device_local.h"

#include <stdlib.h>
#include <string.h>

static const uint8_t statuses[] = {
	[WEFT_OK] = WEFT_DEV_OK,
	[WEFT_FLUSHED] = WEFT_DEV_WR_FLUSH_ERR,
	[WEFT_RETRY_EXCEEDED] = WEFT_DEV_RETRY_EXC_ERR,
	[WEFT_REMOTE_ACCESS] = WEFT_DEV_REM_ACCESS_ERR,
	[WEFT_REMOTE_INVALID] = WEFT_DEV_REM_INV_REQ_ERR,
	[WEFT_REMOTE_OPERATION] = WEFT_DEV_REM_OP_ERR,
	[WEFT_LOCAL_NO_RECV] = WEFT_DEV_LOC_QP_OP_ERR,
	[WEFT_LOCAL_PROTOCOL] = WEFT_DEV_LOC_ACCESS_ERR,
	[WEFT_CQ_OVERRUN] = WEFT_DEV_GENERAL_ERR,
	[WEFT_LOCAL_LENGTH] = WEFT_DEV_LOC_LEN_ERR,
	[WEFT_RNR_RETRY_EXCEEDED] = WEFT_DEV_RNR_RETRY_EXC_ERR,
	[WEFT_LOCAL_MEMORY] = WEFT_DEV_LOC_PROT_ERR,
};

static const uint8_t ops[] = {
	[WEFT_DEV_WRITE] = WEFT_DEV_DONE_WRITE,
	[WEFT_DEV_WRITE_IMM] = WEFT_DEV_DONE_WRITE,
	[WEFT_DEV_SEND] = WEFT_DEV_DONE_SEND,
	[WEFT_DEV_SEND_IMM] = WEFT_DEV_DONE_SEND,
	[WEFT_DEV_READ] = WEFT_DEV_DONE_READ,
	[WEFT_DEV_CMP_SWAP] = WEFT_DEV_DONE_CMP_SWAP,
	[WEFT_DEV_FETCH_ADD] = WEFT_DEV_DONE_FETCH_ADD,
	[WEFT_DEV_LOCAL_INV] = WEFT_DEV_DONE_LOCAL_INV,
	[WEFT_DEV_BIND_MW] = WEFT_DEV_DONE_BIND_MW,
	[WEFT_DEV_SEND_INV] = WEFT_DEV_DONE_SEND,
};

/* The oldest send is over. */
static void finish_send(struct weft_dev_qp *qp, uint32_t status, uint32_t vendor)
{
	struct work *work = &qp->sq[qp->sq_head & qp->sq_mask];

	post_release(qp, work);
	if (status != WEFT_DEV_OK && work->op == WEFT_DEV_BIND_MW)
		mw_undo(qp, work);
	qp->sq_head++;
	if (qp->sq_fed < qp->sq_head)
		qp->sq_fed = qp->sq_head;
	if (status == WEFT_DEV_OK && !(work->flags & WEFT_DEV_SIGNALED))
		return;
	struct weft_dev_wc wc = {
		.id = work->id,
		.status = status,
		.op = ops[work->op],
		.vendor = vendor,
		.len_bytes = work->len_bytes,
		.qpn = qp->number,
		.at_ns = weft_pump_now(qp->dev->pump),
	};

	qp->untold++;
	cq_put(qp->init.cq_tx, &wc, false);
}

void done_recv(struct weft_dev_qp *qp, struct weft_dev_wc *wc, bool solicited)
{
	wc->qpn = qp->number;
	wc->at_ns = weft_pump_now(qp->dev->pump);
	cq_put(qp->init.cq_rx, wc, solicited);
}

void done_flush(struct weft_dev_qp *qp)
{
	while (qp->sq_head != qp->sq_tail)
		finish_send(qp, WEFT_DEV_WR_FLUSH_ERR, WEFT_FLUSHED);
	while (qp->rq_head != qp->rq_tail) {
		struct weft_dev_wc wc = { .id = qp->rq[qp->rq_head++ & qp->rq_mask].id,
			.status = WEFT_DEV_WR_FLUSH_ERR,
			.op = WEFT_DEV_DONE_RECV,
			.vendor = WEFT_FLUSHED };

		done_recv(qp, &wc, false);
	}
	qp->rq_fed = qp->rq_tail;
}

bool done_is_idle(const struct weft_dev_qp *qp)
{
	struct weft_qp_info info;

	if (qp->held)
		return true; /* a datagram is done when it has been given away */
	weft_qp_info(qp->eq, &info);
	for (uint64_t i = qp->sq_head; i != qp->sq_fed; i++)
		if (qp->sq[i & qp->sq_mask].flags & WEFT_DEV_SIGNALED)
			return false;
	return !info.sq_used;
}

void done_until(struct weft_dev_qp *qp, uint64_t end)
{
	while (qp->sq_head != end)
		finish_send(qp, WEFT_DEV_OK, WEFT_OK);
}

void done_fail_front(struct weft_dev_qp *qp, uint32_t status)
{
	if (qp->sq_head != qp->sq_tail)
		finish_send(qp, status, WEFT_FLUSHED);
	if (status == WEFT_DEV_RETRY_EXC_ERR)
		say_lost(qp);
	pair_to_error(qp);
}

static void take_recv(struct weft_dev_qp *qp, const struct weft_done *done)
{
	struct weft_dev_wc wc = {
		.status = statuses[done->status],
		.op = done->kind == WEFT_DONE_RECV_IMM ? WEFT_DEV_DONE_RECV_IMM
						       : WEFT_DEV_DONE_RECV,
		.vendor = done->status,
		.len_bytes = done->len_bytes,
		.imm = done->imm,
		.src_qpn = qp->attr.peer_qpn,
	};
	bool has_imm = done->kind == WEFT_DONE_RECV_IMM || done->flags & WEFT_DONE_HAS_IMM;
	bool solicited = qp->init.profile == WEFT_DEV_STRICT || done->flags & WEFT_DONE_SOLICITED;
	struct recv *recv;
	struct weft_dev_srq *srq = qp->init.xrcd ? xrc_find(qp->dev, done->recvq) : qp->init.srq;

	if (qp->init.xrcd && !srq)
		return;
	wc.flags = (has_imm ? WEFT_DEV_WC_WITH_IMM : 0u) |
		   (done->flags & WEFT_DONE_SHUT ? WEFT_DEV_WC_WITH_INV : 0u);
	if (srq) {
		recv = &srq->slots[done->id];
		srq->free[srq->n_free++] = (uint32_t)done->id;
	} else {
		if (done->id != qp->rq_head)
			return; /* of a life before RESET */
		recv = &qp->rq[qp->rq_head++ & qp->rq_mask];
	}
	wc.id = recv->id;
	if (done->status == WEFT_LOCAL_PROTOCOL && recv->fault)
		wc.status = recv->fault;
	if (qp->init.xrcd)
		xrc_done(qp, srq, &wc, solicited);
	else
		done_recv(qp, &wc, solicited);
	if (done->status && qp->attr.state != WEFT_DEV_ERR)
		pair_to_error(qp);
}

static void take_send(struct weft_dev_qp *qp, const struct weft_done *done)
{
	if (done->id < qp->sq_head || done->id >= qp->sq_tail)
		return; /* flushed already */
	done_until(qp, done->id);
	finish_send(qp, statuses[done->status], done->status);
	if (done->status == WEFT_RETRY_EXCEEDED && qp->attr.state != WEFT_DEV_ERR)
		say_lost(qp);
	if (done->status && qp->attr.state != WEFT_DEV_ERR)
		pair_to_error(qp);
	else if (qp->sq_fed != qp->sq_tail)
		queue_backlog(qp);
}

void done_take(struct weft_dev *dev, const struct weft_done *done)
{
	struct weft_dev_qp *qp = (struct weft_dev_qp *)(uintptr_t)done->user;

	if (done->user & COURIER_USER) {
		courier_done(dev, (struct courier *)(uintptr_t)(done->user & ~COURIER_USER), done);
		return;
	}
	if (!qp || done->status >= WEFT_COUNT(statuses))
		return;
	if (done->kind == WEFT_DONE_RECV_IMM || done->kind == WEFT_DONE_RECV)
		take_recv(qp, done);
	else
		take_send(qp, done);
}
