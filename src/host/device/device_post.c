/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device_post - work from the program into its queue, and from there into the engine.
 *
 * The program's queue is as deep as it asked; the engine's is shallow and shared by no one, so
 * what does not fit waits here.  As with cards, a place is free again when its completion has been
 * polled: programs post until there is no room, and their completion queues hold just that many.
 *
 * Keys are checked when work is posted: a wrong one becomes a completion in its turn, as with NICs;
 * a receive's, when a message comes that needs its memory.  Several pieces of data are gathered
 * into one; inline data is copied.
 *
 * Hot: once per work.
 */
#include "device_local.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

size_t post_list_bytes(uint32_t sges)
{
	return sizeof(struct sge_list) + sges * sizeof(((struct sge_list *)0)->part[0]);
}

void post_scatter(void *to, uint32_t at, const void *from, uint32_t len_bytes)
{
	struct sge_list *list = to;
	const uint8_t *bytes = from;

	for (uint32_t i = 0; i < list->n && len_bytes; i++) {
		if (at >= list->part[i].bytes) {
			at -= list->part[i].bytes;
			continue;
		}
		uint32_t n = WEFT_MIN(len_bytes, list->part[i].bytes - at);

		(void)weft_nofault_copy(list->part[i].at + at, bytes, n);
		bytes += n;
		len_bytes -= n;
		at = 0;
	}
}

void post_place(void *arg, const struct weft_place *place)
{
	(void)arg;
	post_scatter(place->to, place->list_at - 1, place->from, place->len_bytes);
}

/* Sums and checks; false: a key, a bound or an access is wrong. */
static bool take_list(const struct weft_dev_pd *pd, const struct weft_dev_sge sges[], uint32_t n,
	uint32_t access, struct sge_list *list, uint32_t *len_bytes)
{
	uint64_t sum = 0;

	list->n = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!sges[i].len_bytes)
			continue;
		list->part[list->n].at = mr_memory(pd, &sges[i], access);
		list->part[list->n].bytes = sges[i].len_bytes;
		list->part[list->n].lkey = sges[i].lkey;
		if (!list->part[list->n++].at)
			return false;
		sum += sges[i].len_bytes;
	}
	*len_bytes = (uint32_t)WEFT_MIN(sum, (uint64_t)UINT32_MAX);
	return true;
}

bool post_list(uint8_t *room, const struct weft_dev_pd *pd, const struct weft_dev_recv *recv,
	struct recv *out)
{
	struct sge_list *list = (void *)room;

	*out = (struct recv){ .id = recv->id };
	if (!take_list(pd, recv->sges, recv->n_sges, WEFT_DEV_LOCAL_WRITE, list,
		    &out->len_bytes)) {
		out->fault = WEFT_DEV_LOC_PROT_ERR;
		return true;
	}
	if (out->len_bytes > MESSAGE_MAX) {
		say_too_long(out->len_bytes);
		return false;
	}
	out->scattered = list->n > 1;
	out->lent = list->n == 1;
	out->lkey = list->n == 1 ? list->part[0].lkey : 0;
	out->to = list->n > 1 ? (void *)list : list->n ? list->part[0].at : NULL;
	return true;
}

/* ---- sends ---- */

static int take_inline(struct weft_dev_qp *qp, const struct weft_dev_send *send, struct work *work)
{
	uint8_t *at = qp->inlines + (qp->sq_tail & qp->sq_mask) * qp->init.inline_bytes;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < send->n_sges; i++)
		sum += send->sges[i].len_bytes;
	if (sum > qp->init.inline_bytes)
		return EINVAL;
	work->data = at;
	work->len_bytes = (uint32_t)sum;
	for (uint32_t i = 0; i < send->n_sges; i++) {
		if (send->sges[i].len_bytes)
			memcpy(at, (const void *)(uintptr_t)send->sges[i].addr,
				send->sges[i].len_bytes);
		at += send->sges[i].len_bytes;
	}
	return 0;
}

static int gather(const struct sge_list *list, struct work *work)
{
	uint8_t *at = malloc(work->len_bytes);

	if (!at)
		return ENOMEM;
	work->data = work->owned = at;
	for (uint32_t i = 0; i < list->n; i++) {
		if (!weft_nofault_copy(at, list->part[i].at, list->part[i].bytes))
			work->fault = WEFT_DEV_LOC_PROT_ERR;
		at += list->part[i].bytes;
	}
	(void)weft_nofault_take();
	return 0;
}

static int take_memory(struct weft_dev_qp *qp, const struct weft_dev_send *send, struct work *work)
{
	bool comes_back = send->op >= WEFT_DEV_READ && send->op <= WEFT_DEV_FETCH_ADD;
	_Alignas(8) uint8_t room[sizeof(struct sge_list) +
				 SGES_MAX * sizeof(((struct sge_list *)0)->part[0])];
	struct sge_list *list = (void *)room;

	if (!take_list(qp->pd, send->sges, send->n_sges, comes_back ? WEFT_DEV_LOCAL_WRITE : 0,
		    list, &work->len_bytes)) {
		work->fault = WEFT_DEV_LOC_PROT_ERR;
		return 0;
	}
	if (work->len_bytes > MESSAGE_MAX) {
		say_too_long(work->len_bytes);
		work->fault = WEFT_DEV_LOC_LEN_ERR;
		return 0;
	}
	if (list->n <= 1) {
		work->data = work->to = list->n ? list->part[0].at : NULL;
		work->lent = list->n == 1;
		work->lkey = list->n ? list->part[0].lkey : 0;
		return 0;
	}
	if (!comes_back)
		return gather(list, work);
	work->to = work->owned = malloc(post_list_bytes(list->n));
	if (!work->owned)
		return ENOMEM;
	memcpy(work->owned, list, post_list_bytes(list->n));
	work->scattered = true;
	return 0;
}

static bool may_do(const struct weft_dev_qp *qp, const struct weft_dev_send *send)
{
	if (send->op > WEFT_DEV_SEND_INV || send->n_sges > qp->init.sq_sges ||
		(send->n_sges && !send->sges))
		return false;
	if (qp->init.profile == WEFT_DEV_DATAGRAM)
		return (send->op == WEFT_DEV_SEND || send->op == WEFT_DEV_SEND_IMM) && send->ah;
	if (send->op >= WEFT_DEV_LOCAL_INV && qp->init.profile != WEFT_DEV_EXTENDED)
		return false;
	if ((send->op >= WEFT_DEV_READ && send->op <= WEFT_DEV_BIND_MW &&
		    send->flags & WEFT_DEV_INLINE) ||
		qp->init.profile == WEFT_DEV_XRC_RECV || send->srqn > WEFT_PSN_MASK ||
		(send->op == WEFT_DEV_SEND_INV && !send->rkey))
		return false;
	return qp->init.profile != WEFT_DEV_STRICT || send->op <= WEFT_DEV_WRITE_IMM;
}

static int take_send(struct weft_dev_qp *qp, const struct weft_dev_send *send)
{
	struct work *work = &qp->sq[qp->sq_tail & qp->sq_mask];
	struct weft_dev_ah *ah = qp->init.profile == WEFT_DEV_DATAGRAM ? send->ah : NULL;
	int rc;

	*work = (struct work){
		.id = send->id,
		.remote_va = send->remote_va,
		.rkey = send->rkey,
		.imm = send->imm,
		.op = (uint8_t)send->op,
		.flags = (uint8_t)(send->flags |
				   (qp->init.signal_all ? (uint32_t)WEFT_DEV_SIGNALED : 0u)),
		.operand = { send->operand[0], send->operand[1] },
		.ah = ah,
		.peer_qpn = send->peer_qpn,
		.qkey = send->qkey,
		.srqn = send->srqn,
		.is_group = ah && send->peer_qpn == GROUP_QPN && group_is(ah->gid),
	};
	rc = mw_is_work(send->op)          ? mw_take(qp, send, work)
	     : send->flags & WEFT_DEV_INLINE ? take_inline(qp, send, work)
					     : take_memory(qp, send, work);
	if (rc)
		return rc;
	if (qp->init.profile == WEFT_DEV_DATAGRAM && work->len_bytes > qp->dev->end.mtu_bytes)
		work->fault = WEFT_DEV_LOC_LEN_ERR;
	if ((send->op == WEFT_DEV_CMP_SWAP || send->op == WEFT_DEV_FETCH_ADD) && !work->fault &&
		work->len_bytes != 8)
		work->fault = WEFT_DEV_LOC_LEN_ERR;
	progress_owe(qp, work->len_bytes);
	if (ah)
		ah->works++;
	qp->sq_tail++;
	return 0;
}

/* Its program may have closed its address handle, to which the datagram was still to go. */
static void let_ah_go(struct weft_dev_ah *ah)
{
	if (ah && !--ah->works && ah->is_closed)
		free(ah);
}

void post_release(struct weft_dev_qp *qp, struct work *work)
{
	progress_paid(qp->dev, work->len_bytes);
	free(work->owned);
	work->owned = NULL;
	let_ah_go(work->ah);
	work->ah = NULL;
}

/* All or none: nothing of them is fed before the last has been taken. */
static int take_sends(struct weft_dev_qp *qp, const struct weft_dev_send sends[], uint32_t n)
{
	uint64_t before = qp->sq_tail;
	int rc = 0;

	if (qp->attr.state < WEFT_DEV_RTS)
		return EINVAL;
	if (qp->sq_tail - qp->sq_head + qp->untold + n > qp->init.sq_depth)
		return ENOMEM;
	for (uint32_t i = 0; i < n && !rc; i++)
		rc = take_send(qp, &sends[i]);
	while (rc && qp->sq_tail != before) {
		struct work *work = &qp->sq[--qp->sq_tail & qp->sq_mask];

		post_release(qp, work);
		if (work->op == WEFT_DEV_BIND_MW)
			mw_undo(qp, work);
	}
	return rc;
}

int weft_dev_post_send(struct weft_dev_qp *qp, const struct weft_dev_send *send, bool more)
{
	return weft_dev_post_sends(qp, send, 1, more);
}

int weft_dev_post_sends(
	struct weft_dev_qp *qp, const struct weft_dev_send sends[], uint32_t n, bool more)
{
	struct weft_dev *dev = qp->dev;
	int rc;

	if (WEFT_UNLIKELY(device_is_dead(dev)))
		return ENODEV;
	for (uint32_t i = 0; i < n; i++)
		if (!may_do(qp, &sends[i]))
			return EINVAL;
	weft_lock_take(&dev->lock);
	rc = take_sends(qp, sends, n);
	if (!rc && qp->attr.state == WEFT_DEV_ERR)
		done_flush(qp);
	else if (!rc)
		queue_feed(qp);
	if (!more) {
		progress_post(dev);
	}
	weft_lock_give(&dev->lock);
	return rc;
}

/* ---- into the engine ---- */

static const uint8_t kinds[] = {
	[WEFT_DEV_WRITE] = WEFT_WORK_WRITE,
	[WEFT_DEV_WRITE_IMM] = WEFT_WORK_WRITE,
	[WEFT_DEV_SEND] = WEFT_WORK_SEND,
	[WEFT_DEV_SEND_IMM] = WEFT_WORK_SEND,
	[WEFT_DEV_READ] = WEFT_WORK_READ,
	[WEFT_DEV_CMP_SWAP] = WEFT_WORK_CMP_SWAP,
	[WEFT_DEV_FETCH_ADD] = WEFT_WORK_FETCH_ADD,
	[WEFT_DEV_SEND_INV] = WEFT_WORK_SEND,
};

/* 0: taken; EAGAIN: later; else it fails with that completion status, negated. */
static int give(struct weft_dev_qp *qp, const struct weft_work *to)
{
	int rc = weft_post(qp->eq, to);

	return !rc ? 0 : rc == WEFT_EFULL ? EAGAIN : -WEFT_DEV_LOC_QP_OP_ERR;
}

static int give_one(struct weft_dev_qp *qp, struct work *work)
{
	bool is_datagram = qp->init.profile == WEFT_DEV_DATAGRAM;
	struct weft_work to = {
		.id = qp->sq_fed,
		.remote_va = work->remote_va,
		.data = work->data,
		.len_bytes = work->len_bytes,
		.rkey = work->rkey,
		.imm = work->imm,
		.has_imm = work->op == WEFT_DEV_WRITE_IMM || work->op == WEFT_DEV_SEND_IMM,
		.silent = !(work->flags & WEFT_DEV_SIGNALED),
		.kind = is_datagram ? WEFT_WORK_DATAGRAM : kinds[work->op],
		.fence = work->flags & WEFT_DEV_FENCE,
		.solicited = work->flags & WEFT_DEV_SOLICITED,
		.scattered = work->scattered,
		.to = work->to,
		.operand = { work->operand[0], work->operand[1] },
		.qkey = work->qkey & 1u << 31 ? qp->attr.qkey : work->qkey,
		.srqn = work->srqn,
		.shuts = work->op == WEFT_DEV_SEND_INV ? work->rkey : 0,
	};
	if (work->fault)
		return -work->fault;
	if (is_datagram && work->lent &&
		!weft_nofault_reach((void *)(uintptr_t)work->data, work->len_bytes, false)) {
		(void)weft_nofault_take();
		return -WEFT_DEV_LOC_PROT_ERR;
	}
	if (work->is_group)
		return group_give(qp, work, &to);
	if (!is_datagram)
		return give(qp, &to);
	int rc = datagram_post(qp, work->ah->gid, work->peer_qpn, &to);

	/* One to nowhere has left, as far as one knows. */
	return rc == EINPROGRESS ? EAGAIN : rc == ENOENT ? 0 : rc;
}

void queue_backlog(struct weft_dev_qp *qp)
{
	link_in(&qp->dev->backlog, &qp->in_backlog, qp);
}

static void feed_receives(struct weft_dev_qp *qp)
{
	if (qp->held) {
		held_hand_over(qp);
		qp->rq_fed = qp->rq_tail;
	}
	while (qp->rq_fed != qp->rq_tail) {
		const struct recv *recv = &qp->rq[qp->rq_fed & qp->rq_mask];
		struct weft_recv to = { .id = qp->rq_fed,
			.to = recv->to,
			.len_bytes = recv->len_bytes,
			.scattered = recv->scattered,
			.spoilt = recv->fault != 0 };
		int rc = qp->init.profile == WEFT_DEV_STRICT ? weft_post_recv(qp->eq, to.id)
							     : weft_post_receive(qp->eq, &to);

		if (rc)
			break;
		qp->rq_fed++;
	}
}

void queue_feed(struct weft_dev_qp *qp)
{
	if (!pair_is_open(qp) || qp->attr.state == WEFT_DEV_ERR)
		return;
	feed_receives(qp);
	while (qp->attr.state == WEFT_DEV_RTS && qp->sq_fed != qp->sq_tail) {
		struct work *work = &qp->sq[qp->sq_fed & qp->sq_mask];

		if (work->ah && work->ah->is_closed)
			work->fault = WEFT_DEV_LOC_QP_OP_ERR;
		bool is_here = mw_is_work(work->op);

		/* What ends here does so in its turn. */
		if (is_here || work->fault ? !done_is_idle(qp) : !qp->connected)
			break;
		if (is_here || work->fault)
			done_until(qp, qp->sq_fed);
		int rc = is_here ? -(int)mw_do(qp, work) : give_one(qp, work);

		if (rc == EAGAIN)
			break;
		if ((is_here || qp->held) && !rc) {
			done_until(qp, qp->sq_fed + 1);
			continue;
		}
		qp->sq_fed++;
		if (!rc)
			continue;
		/* What was posted before it may still be under way; its turn comes then. */
		if (qp->sq_fed - 1 == qp->sq_head) {
			done_fail_front(qp, (uint32_t)-rc);
			return;
		}
		qp->sq_fed--;
		break;
	}
	if ((qp->connected && qp->attr.state == WEFT_DEV_RTS && qp->sq_fed != qp->sq_tail) ||
		qp->rq_fed != qp->rq_tail || (qp->init.srq && held_waits(qp)))
		queue_backlog(qp);
}

/* ---- receives ---- */

int weft_dev_post_recv(struct weft_dev_qp *qp, const struct weft_dev_recv *recv)
{
	struct weft_dev *dev = qp->dev;
	int rc = 0;

	if (WEFT_UNLIKELY(device_is_dead(dev)))
		return ENODEV;
	if (qp->init.srq || xrc_is_part(qp->init.profile) ||
		recv->n_sges > qp->init.rq_sges || (recv->n_sges && !recv->sges))
		return EINVAL;
	weft_lock_take(&dev->lock);
	uint64_t slot = qp->rq_tail & qp->rq_mask;

	if (qp->attr.state == WEFT_DEV_RESET)
		rc = EINVAL;
	else if (qp->rq_tail - qp->rq_head >= qp->init.rq_depth)
		rc = ENOMEM;
	else if (!post_list(qp->lists + slot * post_list_bytes(qp->init.rq_sges), qp->pd, recv,
			 &qp->rq[slot]))
		rc = EINVAL;
	if (!rc) {
		qp->rq_tail++;
		if (qp->attr.state == WEFT_DEV_ERR)
			done_flush(qp);
		else if (qp->held)
			held_hand_over(qp);
		else
			queue_feed(qp);
	}
	weft_lock_give(&dev->lock);
	return rc;
}
