/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device_run - who makes a device go: whoever polls it, and a thread for the time when nobody does.
 *
 * A passive side (a target of writes or reads, a program that spins on a byte of memory) never
 * calls us, so there must be a thread; a program that polls is quicker than any thread could be.
 * Both take turns under one lock.  The thread sleeps on the port's descriptor, the greetings'
 * and a bell, until the engine's next deadline: an idle device costs nothing.  While somebody
 * polls hard, each packet would wake the thread for nothing and take the poller's CPU; so it
 * sleeps by time then, and the poller says when it goes (device_watch.c).
 *
 * Where it may, the thread runs before those that compute: it works for microseconds at a time,
 * and without it a message waits for a whole time slice of whoever has the CPU (8 bytes, 99 %:
 * 2 ms without, 0.2 ms with; two busy cores).
 *
 * Rejected: the thread polls too (a core per process), or is the only one to run the engine (two
 * wake-ups of 20 us per round trip, [M 3.7]).
 */
#include "progress/progress_local.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#define DONE_BURST 64u
#define POLLED_RECENTLY_NS UINT64_C(20000)
#define REAL_TIME_PRIORITY 1 /* below the switch, which serves all */
#define PLANES_EVERY_NS UINT64_C(2000000)
#define FAULTS_EVERY_NS UINT64_C(100000000) /* a program may install handlers at any time */
#define REAP_EVERY_NS UINT64_C(20000000)
#define BLIND_NS UINT64_C(2000000)
#define SLEEP_NS_MAX UINT64_C(1000000000)

/*
 * What the peer did, or we could not keep, is told whether or not some work was there to fail with
 * it; a failure of our own requests has its completion (IBTA vol. 1, 11.6.3.2).
 */
static bool is_told(const struct weft_dev_qp *qp, uint32_t why)
{
	return why == WEFT_LOCAL_PROTOCOL || why == WEFT_LOCAL_NO_RECV || why == WEFT_CQ_OVERRUN ||
	       qp->attr.state != WEFT_DEV_ERR;
}

static void take_failure(struct weft_dev_qp *qp, const struct weft_qp_failure *failure)
{
	uint32_t kind = WEFT_DEV_QP_ACCESS, why = failure->status;

	if (why == WEFT_CQ_OVERRUN || why == WEFT_RETRY_EXCEEDED)
		kind = WEFT_DEV_QP_FATAL;
	else if (failure->refused == WEFT_AETH_NAK_INVALID_REQUEST)
		kind = WEFT_DEV_QP_REQUEST;
	if (why != WEFT_FLUSHED && is_told(qp, why))
		event_put(qp->dev, &qp->events, kind);
	if (qp->attr.state == WEFT_DEV_ERR)
		return;
	if (why == WEFT_RETRY_EXCEEDED)
		say_lost(qp);
	pair_to_error(qp);
}

/* Queue pairs that failed on their own, as receivers do: nobody else says so. */
static void take_failures(struct weft_dev *dev)
{
	struct weft_qp_failure failure;

	while (WEFT_UNLIKELY(weft_qp_failed(dev->ep, &failure))) {
		struct weft_dev_qp *qp = (struct weft_dev_qp *)(uintptr_t)failure.user;

		if (failure.user & COURIER_USER)
			contact_failed((struct courier *)(uintptr_t)(failure.user & ~COURIER_USER));
		else if (qp && qp->eq && qp->eq_number == failure.qpn)
			take_failure(qp, &failure);
	}
}

static void look_at_planes(struct weft_dev *dev)
{
	uint32_t up = dev->port->ops->carrier(dev->port) & ~dev->planes_shut;
	uint32_t changed = up ^ dev->planes_up;

	if (WEFT_LIKELY(!changed))
		return;
	for (uint32_t i = 0; i < dev->port->planes; i++) {
		if (!(changed >> i & 1))
			continue;
		/* The pump has told the engine of the link, but knows no administrator. */
		if (dev->planes_shut >> i & 1)
			(void)weft_port_mark(dev->ep, i, false, weft_pump_now(dev->pump));
		event_put_plane(dev, up >> i & 1 ? WEFT_DEV_PLANE_UP : WEFT_DEV_PLANE_DOWN, i);
	}
	device_find_planes(dev);
	if (!up != !dev->planes_up)
		event_put_plane(dev, up ? WEFT_DEV_PORT_ACTIVE : WEFT_DEV_PORT_DOWN, 0);
	dev->planes_up = up;
}

static void look_at_limits(struct weft_dev *dev)
{
	for (struct weft_dev_srq *srq = dev->srqs; srq; srq = srq->next)
		if (srq->limit_armed && weft_recvq_limit_hit(dev->ep, srq->recvq)) {
			srq->limit_armed = false;
			srq->attr.limit = 0;
			event_put(dev, &srq->events, WEFT_DEV_SRQ_LIMIT);
		}
}

/*
 * In SQD nothing is given to the engine, so that what it has runs out.  Works without a completion
 * of their own are done when the engine has none; those with one, when it has been taken.
 */
static void look_at_draining(struct weft_dev *dev)
{
	for (struct link *at = dev->draining; at; at = at->next) {
		struct weft_dev_qp *qp = at->of;
		bool drains = qp->attr.state == WEFT_DEV_SQD && pair_is_open(qp);

		if (drains && !done_is_idle(qp))
			continue;
		link_out(at);
		if (drains && qp->attr.notify)
			event_put(dev, &qp->events, WEFT_DEV_SQ_DRAINED);
	}
}

static void fail_all(const struct link *list)
{
	for (const struct link *at = list; at; at = at->next) {
		struct weft_dev_qp *qp = at->of;

		if (qp->attr.state == WEFT_DEV_ERR || qp->attr.state == WEFT_DEV_RESET)
			continue;
		event_put(qp->dev, &qp->events, WEFT_DEV_QP_FATAL);
		pair_to_error(qp);
	}
}

/* Completions that found no room: their queue pairs cannot report any more. */
static void fail_overrun(struct weft_dev *dev)
{
	while (dev->overrun) {
		struct weft_dev_cq *cq = dev->overrun->of;

		link_out(&cq->in_overrun);
		fail_all(cq->senders);
		fail_all(cq->receivers);
		/* Those of a domain all have its queue, which nothing completes into. */
		for (const struct weft_dev_srq *srq = dev->srqs; srq; srq = srq->next)
			if (srq->attr.xrcd && srq->attr.cq == cq)
				fail_all(srq->attr.xrcd->cq->receivers);
	}
}

bool run_done(struct weft_dev *dev)
{
	struct weft_done done[DONE_BURST];
	bool moved = false;
	size_t n;

	while ((n = weft_poll(dev->ep, 0, done, DONE_BURST))) {
		for (size_t i = 0; i < n; i++)
			done_take(dev, &done[i]);
		moved = true;
	}
	return moved;
}

static bool turn(struct weft_dev *dev)
{
	bool moved = weft_pump_step(dev->pump, 0) != 0;
	uint64_t now = weft_pump_now(dev->pump);

	moved |= run_done(dev);
	take_failures(dev);
	if (WEFT_UNLIKELY(dev->overrun != NULL))
		fail_overrun(dev);
	if (dev->srqs)
		look_at_limits(dev);
	if (WEFT_UNLIKELY(dev->draining != NULL))
		look_at_draining(dev);
	/* One round: those for which there is still no room put themselves back. */
	struct link *round;

	link_move(&round, &dev->backlog);
	while (WEFT_UNLIKELY(round != NULL)) {
		struct weft_dev_qp *qp = round->of;

		link_out(&qp->in_backlog);
		queue_feed(qp);
	}
	if (now >= dev->progress.planes_ns) {
		dev->progress.planes_ns = now + PLANES_EVERY_NS;
		look_at_planes(dev);
	}
	if (now >= dev->progress.faults_ns) {
		dev->progress.faults_ns = now + FAULTS_EVERY_NS;
		weft_nofault_watch();
	}
	if (!dev->progress.quiet.wake.hush_bytes)
		quiet_wake(dev);
	if (now >= dev->progress.reap_ns && dev->n_zombies) {
		dev->progress.reap_ns = now + REAP_EVERY_NS;
		(void)zombie_reap(dev, now, false);
	}
	return moved;
}

bool run_once(struct weft_dev *dev)
{
	bool moved;

	if (WEFT_LIKELY(!dev->dmabufs))
		return turn(dev);
	dmabuf_begin_all(dev);
	moved = turn(dev);
	dmabuf_end_all(dev);
	return moved;
}

void run_wake(struct weft_dev *dev)
{
	if (!dev->progress.asleep || weft_next_timeout(dev->ep) >= dev->progress.wake_at_ns)
		return;
	dev->progress.wake_at_ns = 0; /* once is enough */
	watch_kick(dev);
}

void run_greet(struct weft_dev *dev)
{
	if (dev->progress.asleep || dev->progress.stands)
		watch_kick(dev);
}

void run_planes(struct weft_dev *dev)
{
	dev->progress.planes_ns = 0;
}

static uint64_t next_deadline(struct weft_dev *dev, uint64_t now)
{
	uint64_t next = WEFT_MIN(weft_next_timeout(dev->ep), dev->greetings.at_ns);

	if (dev->n_zombies)
		next = WEFT_MIN(next, now + REAP_EVERY_NS);
	return WEFT_MIN(next, now + SLEEP_NS_MAX);
}

static void sleep_on(struct weft_dev *dev)
{
	struct progress *p = &dev->progress;
	uint64_t now = device_now(dev), one;
	uint64_t next = WEFT_MIN(next_deadline(dev, now), watch_awake(dev, now));
	int fd = dev->port->ops->sleep(dev->port, true);

	if (fd == WEFT_PORT_BUSY)
		return;
	if (fd == WEFT_PORT_BLIND)
		next = WEFT_MIN(next, now + BLIND_NS);
	if (next > now) {
		struct pollfd fds[3] = { { .fd = p->wake_fd, .events = POLLIN },
			{ .fd = dev->greetings.fd, .events = POLLIN },
			{ .fd = fd, .events = POLLIN } };
		struct timespec limit = { .tv_sec = (time_t)((next - now) / 1000000000),
			.tv_nsec = (long)((next - now) % 1000000000) };

		p->asleep = p->armed = true;
		p->bell_fd = p->waits_at = dev->port->has_bell ? fd : -1;
		p->wake_at_ns = next;
		weft_lock_give(&dev->lock);
		int n = ppoll(fds, 3, &limit, NULL);

		if (n > 0 && fds[0].revents && read(p->wake_fd, &one, sizeof(one)) < 0)
			n = 0;
		watch_enter(dev, true);
		p->asleep = false;
		p->planes_ns = 0; /* perhaps it was a link */
	}
	(void)dev->port->ops->sleep(dev->port, false);
	p->armed = false;
}

/* Not of the program's threads: of this one only, and not of its children. */
static void hurry(void)
{
	struct sched_param param = { .sched_priority = REAL_TIME_PRIORITY };

	(void)sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &param);
}

/* What is due, and what has come.  False: nothing moved. */
static bool step(struct weft_dev *dev, uint64_t now)
{
	greet_read(dev);
	greet_timers(dev, now);
	acks_let_go(dev);
	return run_once(dev);
}

uint64_t weft_dev_step(struct weft_dev *dev)
{
	uint64_t now, next = WEFT_NEVER;

	if (device_is_dead(dev) || !dev->has_net)
		return WEFT_NEVER;
	weft_lock_take(&dev->lock);
	dev->progress.planes_ns = 0; /* perhaps it was a link */
	do {
		now = device_now(dev);
	} while (step(dev, now));
	next = next_deadline(dev, now);
	weft_lock_give(&dev->lock);
	return WEFT_MAX(next, now + 1);
}

static void *thread_main(void *arg)
{
	struct weft_dev *dev = arg;

	(void)prctl(PR_SET_NAME, "weft-device");
	(void)prctl(PR_SET_TIMERSLACK, 1);
	hurry();
	weft_lock_take(&dev->lock);
	while (!dev->progress.stop) {
		uint64_t now = device_now(dev);

		if (now < dev->progress.polled_ns + POLLED_RECENTLY_NS) {
			watch_stand_back(dev);
			greet_read(dev);
			continue;
		}
		if (!step(dev, now)) {
			sleep_on(dev);
			continue;
		}
		/* Let whoever waits for the lock have it. */
		weft_lock_give(&dev->lock);
		weft_lock_take(&dev->lock);
	}
	weft_lock_give(&dev->lock);
	return NULL;
}

int run_start(struct weft_dev *dev)
{
	sigset_t all, old;

	if (dev->progress.has_thread || dev->has_net)
		return 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are the program's */
	int rc = pthread_create(&dev->progress.thread, NULL, thread_main, dev);

	pthread_sigmask(SIG_SETMASK, &old, NULL);
	dev->progress.has_thread = !rc;
	return rc;
}

void run_stop(struct weft_dev *dev)
{
	struct progress *p = &dev->progress;
	uint64_t one = 1;
	bool has_thread;

	weft_lock_take(&dev->lock);
	p->stop = true;
	has_thread = p->has_thread;
	weft_lock_give(&dev->lock);
	if (!has_thread)
		return;
	if (write(p->wake_fd, &one, sizeof(one)) < 0)
		WEFT_ASSERT(errno == EAGAIN);
	pthread_join(p->thread, NULL);
}
