/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device_cq - completions of the program, as deep as it asked, and the channels that tell of them.
 *
 * Arming tells at once of completions that are there and that no event has told of yet.  The
 * stricter rule of verbs (only those that come later) costs programs their wake-up where one came
 * between their last look and the arming (UCX hung).  To tell of all that are
 * there, as we did, costs those that arm first and look then, once per event, an event for nothing:
 * perftest's latency tests with -e took it for their completion and overran their queue of one.
 *
 * An overrun is the program's mistake, but must not be silent: the queue says so from then on,
 * and queue pairs that complete into it fail.
 */
#include "device_local.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define RUNG 1u /* the only kind of event that a channel has */

int weft_dev_channel_open(struct weft_dev *dev, struct weft_dev_channel **out)
{
	struct weft_dev_channel *channel;
	int rc;

	if (device_is_dead(dev))
		return ENODEV;
	channel = calloc(1, sizeof(*channel));
	if (!channel)
		return ENOMEM;
	channel->dev = dev;
	rc = event_open(&channel->events);
	if (rc) {
		free(channel);
		return rc;
	}
	weft_lock_take(&dev->lock);
	dev->n_channels++;
	weft_lock_give(&dev->lock);
	*out = channel;
	return 0;
}

int weft_dev_channel_close(struct weft_dev_channel *channel)
{
	struct weft_dev *dev = channel->dev;

	if (!device_is_dead(dev)) {
		weft_lock_take(&dev->lock);
		bool busy = channel->users != 0;

		if (!busy)
			dev->n_channels--;
		weft_lock_give(&dev->lock);
		if (busy)
			return EBUSY;
	}
	event_close(&channel->events);
	free(channel);
	return 0;
}

int weft_dev_channel_fd(const struct weft_dev_channel *channel)
{
	return channel->events.fd[0];
}

/* NULL: it has been closed.  Who armed twice is told twice. */
static struct weft_dev_cq *take_rung(struct weft_dev_channel *channel)
{
	uint32_t kind;
	struct event_source *source = event_take(&channel->events, &kind);
	struct weft_dev_cq *cq = source ? source->user : NULL;

	if (cq && --cq->rung)
		event_add(&channel->events, source, kind);
	return cq;
}

int weft_dev_channel_get(struct weft_dev_channel *channel, void **user)
{
	return weft_dev_channel_take(channel, user, NULL);
}

int weft_dev_channel_take(struct weft_dev_channel *channel, void **user, void (*got)(void *user))
{
	struct weft_dev *dev = channel->dev;

	for (;;) {
		if (device_is_dead(dev))
			return ENODEV;
		int rc = event_wait(&channel->events);

		if (rc)
			return rc;
		weft_lock_take(&dev->lock);
		struct weft_dev_cq *cq = take_rung(channel);

		if (cq)
			*user = cq->events.user;
		if (cq && got)
			got(*user);
		weft_lock_give(&dev->lock);
		if (cq)
			return 0;
	}
}

static struct weft_dev_wc *open_ring(uint32_t entries, uint32_t *mask)
{
	uint32_t n = 16;

	while (n < entries)
		n *= 2;
	*mask = n - 1;
	return calloc(n, sizeof(struct weft_dev_wc));
}

int weft_dev_cq_open(struct weft_dev *dev, uint32_t entries, struct weft_dev_channel *channel,
	void *user, struct weft_dev_cq **out)
{
	struct weft_dev_cq *cq;

	if (device_is_dead(dev))
		return ENODEV;
	if (!entries || entries > CQES_MAX || (channel && channel->dev != dev))
		return EINVAL;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return ENOMEM;
	*cq = (struct weft_dev_cq){ .dev = dev, .channel = channel, .entries = entries };
	cq->events.user = user;
	cq->bell.user = cq;
	cq->ring = open_ring(entries, &cq->mask);
	if (!cq->ring) {
		free(cq);
		return ENOMEM;
	}
	weft_lock_take(&dev->lock);
	bool has_room = dev->n_cqs < CQS_MAX;

	if (has_room) {
		dev->n_cqs++;
		if (channel)
			channel->users++;
	}
	weft_lock_give(&dev->lock);
	if (!has_room) {
		free(cq->ring);
		free(cq);
		return ENOMEM;
	}
	*out = cq;
	return 0;
}

int weft_dev_cq_close(struct weft_dev_cq *cq)
{
	struct weft_dev *dev = cq->dev;

	if (!device_is_dead(dev)) {
		weft_lock_take(&dev->lock);
		bool busy = cq->users != 0;

		if (!busy) {
			dev->n_cqs--;
			event_drop(&cq->events);
			event_drop(&cq->bell);
			link_out(&cq->in_overrun);
			if (cq->channel)
				cq->channel->users--;
		}
		weft_lock_give(&dev->lock);
		if (busy)
			return EBUSY;
	}
	free(cq->ring);
	free(cq);
	return 0;
}

/* Sends that were posted and will complete here.  Who posted them cannot know that they have not
 * done so yet: here they may be waiting for a peer, where a card has sent them long ago. */
static uint64_t count_owed(const struct weft_dev_cq *cq)
{
	uint64_t owed = 0;

	for (const struct link *at = cq->senders; at; at = at->next) {
		const struct weft_dev_qp *qp = at->of;

		for (uint64_t k = qp->sq_head; k != qp->sq_tail; k++)
			owed += (qp->sq[k & qp->sq_mask].flags & WEFT_DEV_SIGNALED) != 0;
	}
	return owed;
}

int weft_dev_cq_resize(struct weft_dev_cq *cq, uint32_t entries)
{
	struct weft_dev *dev = cq->dev;
	struct weft_dev_wc *ring;
	uint32_t mask;
	int rc = 0;

	if (device_is_dead(dev))
		return ENODEV;
	if (!entries || entries > CQES_MAX)
		return EINVAL;
	ring = open_ring(entries, &mask);
	if (!ring)
		return ENOMEM;
	weft_lock_take(&dev->lock);
	if (entries < cq->entries && cq->tail - cq->head + count_owed(cq) > entries) {
		rc = EINVAL;
	} else {
		struct weft_dev_wc *old = cq->ring;

		for (uint32_t i = cq->head; i != cq->tail; i++)
			ring[i & mask] = old[i & cq->mask];
		cq->ring = ring;
		cq->mask = mask;
		cq->entries = entries;
		ring = old;
	}
	weft_lock_give(&dev->lock);
	free(ring);
	return rc;
}

uint32_t weft_dev_cq_entries(const struct weft_dev_cq *cq)
{
	return cq->entries;
}

void weft_dev_cq_set_owner(struct weft_dev_cq *cq, uint32_t owner)
{
	if (device_is_dead(cq->dev))
		return;
	weft_lock_take(&cq->dev->lock);
	cq->events.owner = owner;
	weft_lock_give(&cq->dev->lock);
}

static void ring_bell(struct weft_dev_cq *cq)
{
	cq->armed = cq->armed_solicited = false;
	cq->told = cq->tail;
	if (!cq->channel)
		return;
	cq->rung++;
	event_add(&cq->channel->events, &cq->bell, RUNG);
}

void cq_put(struct weft_dev_cq *cq, const struct weft_dev_wc *wc, bool solicited)
{
	if (cq->overrun)
		return;
	if (cq->tail - cq->head >= cq->entries) {
		cq->overrun = true;
		event_put(cq->dev, &cq->events, WEFT_DEV_CQ_ERROR);
		link_in(&cq->dev->overrun, &cq->in_overrun, cq);
		if (cq->armed || cq->armed_solicited)
			ring_bell(cq);
		return;
	}
	cq->ring[cq->tail++ & cq->mask] = *wc;
	progress_complete(cq->dev);
	if (cq->armed || (cq->armed_solicited && (solicited || wc->status)))
		ring_bell(cq);
}

void cq_forget_qp(struct weft_dev_cq *cq, uint32_t qpn)
{
	uint32_t kept = cq->head, told = cq->told;

	for (uint32_t i = cq->head; i != cq->tail; i++) {
		const struct weft_dev_wc *wc = &cq->ring[i & cq->mask];

		if (wc->qpn != qpn)
			cq->ring[kept++ & cq->mask] = *wc;
		else if ((int32_t)(i - cq->told) < 0)
			told--;
	}
	cq->tail = kept;
	cq->told = told;
}

/* The program knows that this send is over. */
static void tell(struct weft_dev *dev, const struct weft_dev_wc *wc)
{
	struct weft_dev_qp *qp = dev->qps[wc->qpn & (QP_SLOTS - 1)];
	bool is_send = wc->op != WEFT_DEV_DONE_RECV && wc->op != WEFT_DEV_DONE_RECV_IMM;

	if (is_send && qp && qp->number == wc->qpn && qp->untold)
		qp->untold--;
}

static int take(struct weft_dev_cq *cq, struct weft_dev_wc wc[], int max)
{
	int n = 0;

	while (n < max && cq->head != cq->tail) {
		wc[n] = cq->ring[cq->head++ & cq->mask];
		tell(cq->dev, &wc[n++]);
	}
	return n || !cq->overrun ? n : -1;
}

int weft_dev_cq_poll(struct weft_dev_cq *cq, struct weft_dev_wc wc[], int max)
{
	struct weft_dev *dev = cq->dev;
	int n;

	if (WEFT_UNLIKELY(device_is_dead(dev)))
		return -1;
	weft_lock_take(&dev->lock);
	progress_poll(dev);
	n = take(cq, wc, max);
	if (!n) {
		(void)run_once(dev);
		n = take(cq, wc, max);
	}
	if (WEFT_UNLIKELY(progress_polled(dev, n != 0)))
		n = take(cq, wc, max);
	weft_lock_give(&dev->lock);
	return n;
}

int weft_dev_cq_arm(struct weft_dev_cq *cq, bool solicited_only)
{
	struct weft_dev *dev = cq->dev;

	if (device_is_dead(dev))
		return ENODEV;
	weft_lock_take(&dev->lock);
	if (solicited_only && !cq->armed)
		cq->armed_solicited = true;
	else
		cq->armed = true;
	if ((cq->head != cq->tail && cq->told != cq->tail) || cq->overrun)
		ring_bell(cq);
	progress_sleep(dev);
	weft_lock_give(&dev->lock);
	return 0;
}
