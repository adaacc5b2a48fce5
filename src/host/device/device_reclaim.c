/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device_reclaim - a program deregisters memory that its own works still name.
 *
 * It may free that memory at once, and then we would crash the program, or write into what is
 * somebody else's by then.  IBTA calls such a work a local protection error (vol. 1, 10.6.6), and
 * most have none under way: but a program that has heard of the end of a silent write by the peer's
 * answer may be ahead of our ACK.  So data that is still to be sent is copied now and goes on;
 * reads and atomics fail their queue pair; receives fail the message that finds them.
 *
 * By key and not by address: the same bytes may be registered more than once.
 */
#include "device_local.h"

#include <stdlib.h>
#include <string.h>

static bool list_names(const struct sge_list *list, uint32_t key)
{
	for (uint32_t i = 0; i < list->n; i++)
		if (list->part[i].lkey == key)
			return true;
	return false;
}

static bool work_names(const struct work *work, uint32_t key)
{
	return work->scattered ? list_names(work->owned, key) : work->lent && work->lkey == key;
}

static bool recv_names(const struct recv *recv, uint32_t key)
{
	return recv->scattered ? list_names(recv->to, key) : recv->lent && recv->lkey == key;
}

/* False: it cannot go on. */
static bool copy(struct weft_dev_qp *qp, struct work *work, uint64_t id)
{
	bool sends = work->op < WEFT_DEV_READ || work->op == WEFT_DEV_SEND_INV;
	uint8_t *own = sends ? malloc(WEFT_MAX(work->len_bytes, 1u)) : NULL;

	if (own && !weft_nofault_copy(own, work->data, work->len_bytes)) {
		(void)weft_nofault_take();
		free(own);
		own = NULL;
	}
	if (id < qp->sq_fed && (!qp->eq || weft_work_move(qp->eq, id, own))) {
		free(own); /* it has arrived, and its completion is on its way */
		return true;
	}
	if (own) {
		work->data = work->owned = own;
		work->lent = false;
	}
	return own != NULL;
}

static void reclaim_sends(struct weft_dev_qp *qp, uint32_t key)
{
	for (uint64_t i = qp->sq_head; i != qp->sq_tail; i++) {
		struct work *work = &qp->sq[i & qp->sq_mask];

		if (!work_names(work, key) || copy(qp, work, i))
			continue;
		done_fail_front(qp, WEFT_DEV_LOC_PROT_ERR);
		return;
	}
}

static void spoil(struct recv *recv)
{
	recv->to = NULL;
	recv->len_bytes = 0;
	recv->scattered = recv->lent = false;
	recv->fault = WEFT_DEV_LOC_PROT_ERR;
}

static void reclaim_receives(struct weft_dev_qp *qp, uint32_t key)
{
	for (uint64_t i = qp->rq_head; i != qp->rq_tail; i++) {
		struct recv *recv = &qp->rq[i & qp->rq_mask];

		if (!recv_names(recv, key))
			continue;
		spoil(recv);
		if (i < qp->rq_fed && qp->eq)
			(void)weft_recv_spoil(qp->eq, i);
	}
}

static void reclaim_shared(struct weft_dev_srq *srq, uint32_t key)
{
	for (uint32_t i = 0; i < srq->attr.depth; i++) {
		bool is_free = false;

		if (!recv_names(&srq->slots[i], key))
			continue;
		for (uint32_t k = 0; !is_free && k < srq->n_free; k++)
			is_free = srq->free[k] == i;
		if (is_free)
			continue;
		spoil(&srq->slots[i]);
		(void)weft_recvq_spoil(srq->dev->ep, srq->recvq, i);
	}
}

void reclaim_memory(const struct weft_dev_mr *mr)
{
	struct weft_dev *dev = mr->pd->dev;

	for (const struct link *at = dev->opened; at; at = at->next) {
		struct weft_dev_qp *qp = at->of;

		if (qp->pd != mr->pd)
			continue;
		reclaim_receives(qp, mr->key);
		reclaim_sends(qp, mr->key);
	}
	for (struct weft_dev_srq *srq = dev->srqs; srq; srq = srq->next)
		if (srq->pd == mr->pd)
			reclaim_shared(srq, mr->key);
}
