/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device_mw - memory windows: keys to parts of registrations, given and taken back by works.
 *
 * A card does such a work in its turn, and so it is here: when all before it in its queue have been
 * done, by this file; only then those behind it are given to the engine.  IBTA lets some overtake
 * (vol. 1, 10.8.3.3); waiting costs a round trip behind unfinished work and can surprise nobody.
 *
 * Which kind of window of type 2 one has is the device's choice: this is 2B, where the domain
 * counts as well as the queue pair (10.6.7.2.2).  A bind that cannot be, and a window that a work
 * cannot take back, end the queue pair, as with other providers.
 */
#include "device_local.h"

#include <errno.h>
#include <stdlib.h>

static bool is_bound(const struct weft_dev_mw *mw)
{
	return mw->bound && weft_memwin_is_bound(mw->pd->dev->ep, mw->bound);
}

int weft_dev_mw_open(struct weft_dev_pd *pd, unsigned type, struct weft_dev_mw **out)
{
	struct weft_dev *dev = pd->dev;
	int error = 0;

	if (device_is_dead(dev))
		return ENODEV;
	if (type != 1 && type != 2)
		return EINVAL;
	struct weft_dev_mw *mw = calloc(1, sizeof(*mw));

	if (!mw)
		return ENOMEM;
	mw->pd = pd;
	mw->type = type;
	weft_lock_take(&dev->lock);
	if (dev->n_mws == MWS_MAX ||
		weft_memwin_open(dev->ep, pd->number, (uint32_t)device_random(dev), &mw->key))
		error = ENOMEM;
	if (!error) {
		mw->bound = mw->key; /* in its place; not bound yet */
		mw->next = dev->mws;
		dev->mws = mw;
		dev->n_mws++;
		pd->users++;
	}
	weft_lock_give(&dev->lock);
	if (error)
		free(mw);
	else
		*out = mw;
	return error;
}

/* Works that wait for their turn still name it. */
static void forget(struct weft_dev *dev, const struct weft_dev_mw *mw)
{
	for (const struct link *at = dev->opened; at; at = at->next) {
		struct weft_dev_qp *qp = at->of;

		for (uint64_t k = qp->sq_fed; k != qp->sq_tail; k++) {
			struct work *work = &qp->sq[k & qp->sq_mask];

			if (work->op != WEFT_DEV_BIND_MW || work->mw != mw)
				continue;
			mw_undo(qp, work);
			work->fault = WEFT_DEV_MW_BIND_ERR;
		}
	}
}

int weft_dev_mw_close(struct weft_dev_mw *mw)
{
	struct weft_dev *dev = mw->pd->dev;

	if (!device_is_dead(dev)) {
		struct weft_dev_mw **at = &dev->mws;

		weft_lock_take(&dev->lock);
		forget(dev, mw);
		(void)weft_memwin_close(dev->ep, mw->bound);
		while (*at != mw)
			at = &(*at)->next;
		*at = mw->next;
		dev->n_mws--;
		mw->pd->users--;
		weft_lock_give(&dev->lock);
	}
	free(mw);
	return 0;
}

uint32_t weft_dev_mw_key(const struct weft_dev_mw *mw)
{
	return mw->key;
}

/* ---- works ---- */

int mw_take(struct weft_dev_qp *qp, const struct weft_dev_send *send, struct work *work)
{
	const struct weft_dev_bind *bind = send->bind;

	if (send->op == WEFT_DEV_LOCAL_INV)
		return 0;
	if (!bind || !bind->mw || bind->mw->pd->dev != qp->dev)
		return EINVAL;
	work->mw = bind->mw;
	work->remote_va = bind->addr;
	work->window_bytes = bind->len_bytes;
	work->lkey = bind->mr_key;
	work->access = bind->access;
	work->zero_based = bind->zero_based;
	if (bind->mw->type == 2)
		return 0;
	/* Its place is taken now, so that the program knows the key. */
	work->rkey = 0;
	if (bind->len_bytes && weft_memwin_open(qp->dev->ep, bind->mw->pd->number,
				       (uint32_t)device_random(qp->dev), &work->rkey))
		return ENOMEM;
	if (work->rkey)
		bind->mw->key = work->rkey;
	return 0;
}

void mw_undo(struct weft_dev_qp *qp, struct work *work)
{
	if (work->mw && work->mw->type == 1 && work->rkey)
		(void)weft_memwin_close(qp->dev->ep, work->rkey);
	work->mw = NULL;
}

/* The registration that a bind names, if it may be bound so. */
static const struct weft_dev_mr *find_mr(const struct weft_dev_qp *qp, const struct work *work)
{
	const uint32_t rights =
		WEFT_DEV_REMOTE_WRITE | WEFT_DEV_REMOTE_READ | WEFT_DEV_REMOTE_ATOMIC;
	const struct weft_dev_mr *mr = qp->dev->mrs[mr_slot(work->lkey)];

	if (!mr || mr->key != work->lkey || mr->pd != qp->pd || !(mr->access & WEFT_DEV_MW_BIND) ||
		work->access & ~rights ||
		(work->access & (WEFT_DEV_REMOTE_WRITE | WEFT_DEV_REMOTE_ATOMIC) &&
			!(mr->access & WEFT_DEV_LOCAL_WRITE)) ||
		work->window_bytes > mr->len_bytes ||
		work->remote_va - mr->iova > mr->len_bytes - work->window_bytes)
		return NULL;
	return mr;
}

/* The next key is in its own place, where it waits. */
static uint32_t bind_type_1(struct weft_dev_qp *qp, struct work *work, struct weft_memwin *to)
{
	struct weft_dev_mw *mw = work->mw;

	if (work->window_bytes && weft_memwin_bind(qp->dev->ep, work->rkey, to))
		return WEFT_DEV_MW_BIND_ERR;
	if (work->window_bytes) {
		(void)weft_memwin_close(qp->dev->ep, mw->bound);
		mw->bound = work->rkey;
	} else {
		(void)weft_memwin_shut(qp->dev->ep, mw->bound);
	}
	return WEFT_DEV_OK;
}

/* The program's are the low eight bits of the key that it names; the rest is the window's whatever
 * it says, as with cards.  The same key again would let in whoever has kept it. */
static uint32_t bind_type_2(struct weft_dev_qp *qp, struct work *work, struct weft_memwin *to)
{
	struct weft_dev_mw *mw = work->mw;

	to->qpn = qp->eq_number;
	to->rkey = (mw->bound & ~0xffu) | (to->rkey & 0xffu);
	if (to->rkey == mw->bound || weft_memwin_bind(qp->dev->ep, mw->bound, to))
		return WEFT_DEV_MW_BIND_ERR;
	mw->bound = mw->key = to->rkey;
	mw->qp = qp;
	return WEFT_DEV_OK;
}

static uint32_t bind(struct weft_dev_qp *qp, struct work *work)
{
	bool is_void = work->mw->type == 1 && !work->window_bytes;
	const struct weft_dev_mr *mr = is_void ? NULL : find_mr(qp, work);

	if ((!mr && !is_void) || work->mw->pd != qp->pd)
		return WEFT_DEV_MW_BIND_ERR;
	struct weft_memwin to = { .va = work->zero_based ? 0 : work->remote_va,
		.base = mr ? mr->base + (work->remote_va - mr->iova) : NULL,
		.len_bytes = work->window_bytes,
		.access = mr_rights(work->access),
		.rkey = work->rkey,
		.qpn = WEFT_ANY_QP };
	uint32_t status =
		work->mw->type == 1 ? bind_type_1(qp, work, &to) : bind_type_2(qp, work, &to);

	if (!status)
		work->mw->mr = mr;
	return status;
}

static uint32_t invalidate(struct weft_dev_qp *qp, const struct work *work)
{
	for (struct weft_dev_mw *mw = qp->dev->mws; mw; mw = mw->next)
		if (mw->type == 2 && mw->bound == work->rkey && mw->qp == qp && is_bound(mw))
			return weft_memwin_shut(qp->dev->ep, mw->bound) ? WEFT_DEV_LOC_QP_OP_ERR
									: WEFT_DEV_OK;
	return WEFT_DEV_LOC_QP_OP_ERR;
}

uint32_t mw_do(struct weft_dev_qp *qp, struct work *work)
{
	if (work->fault)
		return work->fault;
	return work->op == WEFT_DEV_LOCAL_INV ? invalidate(qp, work) : bind(qp, work);
}

/* ---- ends of other things ---- */

void mw_forget_qp(struct weft_dev_qp *qp)
{
	for (uint64_t i = qp->sq_fed; i != qp->sq_tail; i++)
		if (qp->sq[i & qp->sq_mask].op == WEFT_DEV_BIND_MW)
			mw_undo(qp, &qp->sq[i & qp->sq_mask]);
	for (struct weft_dev_mw *mw = qp->dev->mws; mw; mw = mw->next) {
		if (mw->qp != qp)
			continue;
		(void)weft_memwin_shut(qp->dev->ep, mw->bound);
		mw->qp = NULL;
	}
}

bool mw_uses(const struct weft_dev_mr *mr)
{
	for (const struct weft_dev_mw *mw = mr->pd->dev->mws; mw; mw = mw->next)
		if (mw->mr == mr && is_bound(mw))
			return true;
	return false;
}
