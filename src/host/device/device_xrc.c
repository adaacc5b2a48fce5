/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device_xrc - extended reliable connections: domains, and shared queues that messages name.
 *
 * A queue pair that receives has neither queues nor completions of its own: whatever arrives
 * completes where the shared queue says.  To everything else here it is a queue pair like any, so
 * its domain lends it a protection domain and a completion queue with nothing in them.
 *
 * A domain is one process's.  Cards let others open it by a file; here a packet has found its
 * process before it finds its queue pair, and there is no way on to another's memory.
 */
#include "device_local.h"

#include <errno.h>
#include <stdlib.h>

int weft_dev_xrcd_open(struct weft_dev *dev, struct weft_dev_xrcd **out)
{
	struct weft_dev_xrcd *xrcd = calloc(1, sizeof(*xrcd));
	int rc;

	if (!xrcd)
		return ENOMEM;
	xrcd->dev = dev;
	rc = weft_dev_pd_open(dev, &xrcd->pd);
	if (!rc)
		rc = weft_dev_cq_open(dev, 1, NULL, NULL, &xrcd->cq);
	if (rc) {
		if (xrcd->pd)
			(void)weft_dev_pd_close(xrcd->pd);
		free(xrcd);
		return rc;
	}
	xrcd->number = xrcd->pd->number;
	*out = xrcd;
	return 0;
}

int weft_dev_xrcd_close(struct weft_dev_xrcd *xrcd)
{
	struct weft_dev *dev = xrcd->dev;

	if (!device_is_dead(dev)) {
		weft_lock_take(&dev->lock);
		bool busy = xrcd->users || xrcd->pd->users;

		weft_lock_give(&dev->lock);
		if (busy)
			return EBUSY;
	}
	(void)weft_dev_cq_close(xrcd->cq);
	(void)weft_dev_pd_close(xrcd->pd);
	free(xrcd);
	return 0;
}

int weft_dev_xrc_recv_open(struct weft_dev_xrcd *xrcd, const struct weft_dev_qp_init *init,
	struct weft_dev_qp **qp)
{
	const struct weft_dev_qp_init own = { .profile = WEFT_DEV_XRC_RECV,
		.cq_tx = xrcd->cq,
		.cq_rx = xrcd->cq,
		.xrcd = xrcd,
		.owner = init->owner,
		.user = init->user };

	return weft_dev_qp_open(xrcd->pd, &own, qp);
}

void weft_dev_qp_set_user(struct weft_dev_qp *qp, void *user)
{
	if (device_is_dead(qp->dev))
		return;
	weft_lock_take(&qp->dev->lock);
	qp->init.user = qp->events.user = user;
	weft_lock_give(&qp->dev->lock);
}

/* ---- shared queues ---- */

uint32_t weft_dev_srq_number(const struct weft_dev_srq *srq)
{
	return srq->srqn;
}

int xrc_share(struct weft_dev_srq *srq)
{
	struct weft_dev *dev = srq->dev;

	if (weft_recvq_share(dev->ep, srq->recvq, srq->attr.xrcd->number, srq->pd->number,
		    &srq->srqn)) {
		(void)weft_recvq_close(dev->ep, srq->recvq);
		return EINVAL;
	}
	srq->attr.xrcd->users++;
	srq->attr.cq->users++;
	return 0;
}

void xrc_unshare(struct weft_dev_srq *srq)
{
	(void)run_once(srq->dev); /* receives that closing has flushed are still its own */
	srq->attr.xrcd->users--;
	srq->attr.cq->users--;
}

struct weft_dev_srq *xrc_find(const struct weft_dev *dev, uint32_t recvq)
{
	struct weft_dev_srq *srq = dev->srqs;

	while (srq && (srq->recvq != recvq || !srq->srqn))
		srq = srq->next;
	return srq;
}

void xrc_done(const struct weft_dev_qp *qp, const struct weft_dev_srq *srq,
	struct weft_dev_wc *wc, bool solicited)
{
	wc->qpn = qp->number;
	wc->at_ns = weft_pump_now(qp->dev->pump);
	cq_put(srq->attr.cq, wc, solicited);
}
