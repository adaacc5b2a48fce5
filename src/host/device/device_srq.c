/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device_srq - receives for several queue pairs: slots here, the queue itself in the engine.
 *
 * Receives come back in any order, so each has a slot of its own here instead of a place in a ring.
 */
#include "device_local.h"

#include <errno.h>
#include <stdlib.h>

static void free_srq(struct weft_dev_srq *srq)
{
	free(srq->slots);
	free(srq->free);
	free(srq->lists);
	free(srq);
}

int weft_dev_srq_open(struct weft_dev_pd *pd, const struct weft_dev_srq_attr *attr, void *user,
	struct weft_dev_srq **out)
{
	struct weft_dev *dev = pd->dev;
	struct weft_dev_srq *srq;
	int rc;

	if (device_is_dead(dev))
		return ENODEV;
	if (!attr->depth || attr->depth > SRQ_DEPTH_MAX || attr->sges > SGES_MAX ||
		(attr->xrcd && (attr->xrcd->dev != dev || !attr->cq || attr->cq->dev != dev)))
		return EINVAL;
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return ENOMEM;
	*srq = (struct weft_dev_srq){ .dev = dev, .pd = pd, .attr = *attr, .events.user = user };
	srq->attr.limit = 0;
	srq->slots = calloc(attr->depth, sizeof(*srq->slots));
	srq->free = calloc(attr->depth, sizeof(*srq->free));
	srq->lists = calloc(attr->depth, post_list_bytes(attr->sges));
	if (!srq->slots || !srq->free || !srq->lists) {
		free_srq(srq);
		return ENOMEM;
	}
	for (uint32_t i = 0; i < attr->depth; i++)
		srq->free[srq->n_free++] = attr->depth - 1 - i;
	weft_lock_take(&dev->lock);
	rc = dev->n_srqs == SRQS_MAX ? ENOMEM : weft_recvq_open(dev->ep, &srq->recvq);
	if (!rc && attr->xrcd)
		rc = xrc_share(srq);
	if (!rc) {
		srq->next = dev->srqs;
		dev->srqs = srq;
		dev->n_srqs++;
		pd->users++;
	}
	weft_lock_give(&dev->lock);
	if (rc) {
		free_srq(srq);
		return ENOMEM;
	}
	*out = srq;
	return 0;
}

int weft_dev_srq_close(struct weft_dev_srq *srq)
{
	struct weft_dev *dev = srq->dev;

	if (!device_is_dead(dev)) {
		weft_lock_take(&dev->lock);
		bool busy = srq->users != 0;

		/* Queue pairs that acknowledge on still hold it. */
		while (!busy && weft_recvq_close(dev->ep, srq->recvq) == WEFT_ESTATE)
			busy = !zombie_reap(dev, 0, true);
		if (!busy && srq->srqn)
			xrc_unshare(srq);
		if (!busy) {
			struct weft_dev_srq **at = &dev->srqs;

			while (*at != srq)
				at = &(*at)->next;
			*at = srq->next;
			event_drop(&srq->events);
			dev->n_srqs--;
			srq->pd->users--;
		}
		weft_lock_give(&dev->lock);
		if (busy)
			return EBUSY;
	}
	free_srq(srq);
	return 0;
}

int weft_dev_srq_limit(struct weft_dev_srq *srq, uint32_t limit)
{
	struct weft_dev *dev = srq->dev;
	int rc = EINVAL;

	if (device_is_dead(dev))
		return ENODEV;
	weft_lock_take(&dev->lock);
	if (limit <= srq->attr.depth && !weft_recvq_set_limit(dev->ep, srq->recvq, limit)) {
		srq->attr.limit = limit;
		srq->limit_armed = limit != 0;
		rc = 0;
	}
	run_wake(dev);
	weft_lock_give(&dev->lock);
	return rc;
}

void weft_dev_srq_query(const struct weft_dev_srq *srq, struct weft_dev_srq_attr *attr)
{
	*attr = srq->attr;
}

/* There is room: it was there before. */
int srq_again(struct weft_dev_srq *srq, uint32_t slot)
{
	const struct recv *own = &srq->slots[slot];
	const struct weft_recv to = { .id = slot,
		.to = own->to,
		.len_bytes = own->len_bytes,
		.scattered = own->scattered,
		.spoilt = own->fault != 0 };

	return weft_recvq_post(srq->dev->ep, srq->recvq, &to) ? ENOMEM : 0;
}

/* Datagrams may be waiting for it. */
static void hand_over(struct weft_dev_srq *srq)
{
	for (const struct link *at = srq->dev->backlog; at; at = at->next) {
		struct weft_dev_qp *qp = at->of;

		if (qp->init.srq == srq && held_waits(qp))
			held_hand_over(qp);
	}
}

int weft_dev_srq_post(struct weft_dev_srq *srq, const struct weft_dev_recv *recv)
{
	struct weft_dev *dev = srq->dev;
	int rc = 0;

	if (WEFT_UNLIKELY(device_is_dead(dev)))
		return ENODEV;
	if (recv->n_sges > srq->attr.sges || (recv->n_sges && !recv->sges))
		return EINVAL;
	weft_lock_take(&dev->lock);
	if (!srq->n_free) {
		rc = ENOMEM;
	} else {
		uint32_t slot = srq->free[srq->n_free - 1];
		struct recv *own = &srq->slots[slot];

		if (!post_list(srq->lists + slot * post_list_bytes(srq->attr.sges), srq->pd, recv,
			    own)) {
			rc = EINVAL;
		} else {
			rc = srq_again(srq, slot);
			srq->n_free -= !rc;
			hand_over(srq);
		}
	}
	weft_lock_give(&dev->lock);
	return rc;
}
