/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * quiet - what can wait a moment, so that the switch is woken once and not three times.
 *
 * To wake it costs who sends 5 to 15 us, since it takes his CPU (decisions/055): in the middle of a
 * message that he sends or receives in pieces.
 *
 * Acknowledgements wait for what the program says next (acks.c).
 *
 * Posts wake nobody where the program comes back at once, with a poll, which wakes, or with more.
 * One that does something else instead has its packets under way only when it comes back or the
 * thread looks (STAND_NS_MAX).  So a post that is followed at once earns EARN_NS, any other costs
 * as much as it would have been late by, and it must have been earned before.
 */
#include "progress/progress_local.h"

#define AT_ONCE_NS 3000
#define EARN_NS 1000   /* that a post may be late on average */
#define ENOUGH_NS 20000
#define CREDIT_NS_MAX 100000
#define CREDIT_NS_MIN (-4000000)
#define BULK_EVERY_NS 50000u
#define HUSH_BYTES 12000u /* two pieces of UCX: the switch may well begin */

/* The program is back after a post. */
static void judge_habit(struct weft_dev *dev)
{
	struct quiet *q = &dev->progress.quiet;

	if (WEFT_LIKELY(!q->posted_ns))
		return;
	int64_t late_ns = (int64_t)(device_now(dev) - q->posted_ns);

	q->credit_ns += late_ns < AT_ONCE_NS ? EARN_NS : -WEFT_MIN(late_ns, (int64_t)STAND_NS_MAX);
	q->credit_ns = WEFT_MAX(WEFT_MIN(q->credit_ns, CREDIT_NS_MAX), CREDIT_NS_MIN);
	q->posted_ns = 0;
}

void quiet_wake(struct weft_dev *dev)
{
	if (WEFT_UNLIKELY(dev->port->unwoken_bytes))
		dev->port->ops->tx(dev->port, NULL, 0, WEFT_WAKE_NOW);
}

/* A switch gathers what is a stream's. */
static void judge_bulk(struct weft_dev *dev)
{
	uint64_t now = weft_pump_now(dev->pump);

	if (now - dev->progress.quiet.bulk_ns < BULK_EVERY_NS)
		return;
	dev->progress.quiet.bulk_ns = now;
	dev->progress.quiet.wake.is_bulk = watch_owes_much(dev);
}

static void hush(struct weft_dev *dev, bool may_wait)
{
	struct weft_wake *wake = &dev->progress.quiet.wake;

	wake->hush_bytes = may_wait ? HUSH_BYTES : 0;
	weft_pump_wake(dev->pump, *wake);
}

void quiet_poll(struct weft_dev *dev)
{
	judge_bulk(dev);
	judge_habit(dev);
	acks_poll(dev);
	hush(dev, dev->port->unwoken_bytes != 0);
}

void quiet_polled(struct weft_dev *dev)
{
	acks_polled(dev);
	hush(dev, false);
	quiet_wake(dev);
}

void quiet_post(struct weft_dev *dev)
{
	judge_bulk(dev);
	judge_habit(dev);
	acks_post(dev);
	bool may_wait = dev->progress.quiet.credit_ns >= ENOUGH_NS && watch_looks_soon(dev);

	hush(dev, may_wait);
}

void quiet_posted(struct weft_dev *dev)
{
	acks_posted(dev);
	hush(dev, false);
	dev->progress.quiet.posted_ns = device_now(dev);
}
