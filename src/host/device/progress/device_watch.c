/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device_watch - who looks at the port now: a program that polls, or the device's thread.
 *
 *            polls in vain, again and again           found what it wanted, arms, waits
 *     POLLER ------------------------->  (the thread looks now and then, rarer and rarer)
 *     THREAD <-------------------------  (the port rings: the thread is there a wake-up later)
 *
 * A program that has its completion may spin on its memory next and never call us; the thread
 * must be awake as soon as something comes.  One that polls in a loop is quicker than the thread
 * and must not be disturbed by it.  So the poller itself hands over, both ways: by the port's bell
 * where the port has one that can be muted (shm), by the clock where it has not.
 *
 * Spinning is right as long as there is a CPU to spin on.  Where there is none, a poller that is
 * asked again and again uses up its time slice, and is then not there when the answer comes: with
 * three programs on two cores a ping-pong took 9 ms, two slices, per round.  Who sleeps a little is
 * woken in time.  So a poller that has been preempted (for longer than our own threads in real time
 * take), or waits for much (OWED_MANY), waits in the kernel for a moment until something completes,
 * at most PAUSE_NS.  For how long it stays that patient doubles with each time it is preempted
 * again.
 *
 * Rejected: sched_yield() (whoever computes takes a whole slice each time: no better than spinning,
 * measured); sleeping by time (20 us each: a fifth of a round trip, for nothing where it is quiet).
 */
#include "progress/progress_local.h"

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#define TIGHT_NS 5000u           /* between polls of a loop that does nothing else */
#define PREEMPTED_NS 1000000u    /* a pause of a loop: a slice, not a thread in real time */
#define PAUSE_AFTER_NS 40000u    /* of polls in vain: about what a wake-up costs */
#define PAUSE_NS 100000u
#define OWED_MANY (UINT64_C(512) << 10) /* bytes of sends: their end is not a matter of us */
#define PATIENCE_NS_MIN UINT64_C(20000000)
#define PATIENCE_NS_MAX UINT64_C(1000000000)
#define COMES_BACK_NS UINT64_C(50000000) /* who has polled may do so again */
#define ARM_TRIES 3u
#define ENTER_TRIES 5u

void watch_kick(struct weft_dev *dev)
{
	uint64_t one = 1;

	if (write(dev->progress.wake_fd, &one, sizeof(one)) < 0)
		return; /* it is readable already */
}

static void arm(struct weft_dev *dev)
{
	int fd = WEFT_PORT_BUSY;

	for (unsigned i = 0; i < ARM_TRIES && fd == WEFT_PORT_BUSY; i++) {
		fd = dev->port->ops->sleep(dev->port, true);
		if (fd == WEFT_PORT_BUSY)
			(void)run_once(dev);
	}
	dev->progress.armed = fd >= 0;
	dev->progress.bell_fd = fd;
}

/*
 * What has come is answered, whatever the program does.  But one that has just got something will
 * most likely post or poll at once, and its answer leaves with that: one wake-up of the switch for
 * two.  The thread answers for those that do not, where it will look in time.
 */
bool watch_looks_soon(const struct weft_dev *dev)
{
	const struct progress *p = &dev->progress;

	return p->has_thread &&
	       (p->asleep ? p->wake_at_ns <= weft_pump_now(dev->pump) + STAND_NS_MAX : p->stands);
}

void watch_leave(struct weft_dev *dev, bool for_long)
{
	struct progress *p = &dev->progress;

	p->vain = 0;
	if (weft_wants_output(dev->ep) && (for_long || !watch_looks_soon(dev)))
		(void)run_once(dev);
	if (for_long)
		quiet_wake(dev);
	if (!dev->port->has_bell && !for_long)
		return;
	p->polled_ns = 0;
	if (dev->port->has_bell && !p->armed)
		arm(dev); /* asleep, too: a poller may have muted its bell meanwhile */
	if ((p->stands || (p->asleep && dev->port->has_bell)) &&
		!(p->armed && p->bell_fd == p->waits_at))
		watch_kick(dev);
	else
		run_wake(dev);
}

/* Preempted since the last look?  By the kernel's count for this thread. */
static bool was_preempted(struct weft_dev *dev)
{
	struct rusage usage;
	long before = dev->progress.preemptions;

	if (getrusage(RUSAGE_THREAD, &usage))
		return false;
	dev->progress.preemptions = usage.ru_nivcsw;
	return usage.ru_nivcsw > before && before >= 0;
}

static void notice_gap(struct weft_dev *dev, uint64_t now)
{
	struct progress *p = &dev->progress;

	if (!was_preempted(dev))
		return;
	bool again = now - WEFT_MIN(now, p->patient_until_ns) < p->patience_ns;

	p->patience_ns = again ? WEFT_MIN(2 * p->patience_ns, PATIENCE_NS_MAX) : PATIENCE_NS_MIN;
	p->patient_until_ns = WEFT_MAX(p->patient_until_ns, now + p->patience_ns);
}

/* Silent sends are taken off late: whether much is under way, the queue that got the last of them
 * knows. */
bool watch_owes_much(const struct weft_dev *dev)
{
	const struct weft_dev_qp *qp = dev->progress.owing;
	struct weft_qp_info info = { 0 };
	uint64_t bytes = 0, oldest;

	if (dev->progress.owed_bytes < OWED_MANY || !qp || !qp->eq)
		return dev->progress.owed_bytes >= OWED_MANY;
	weft_qp_info(qp->eq, &info);
	oldest = qp->sq_fed - WEFT_MIN((uint64_t)info.sq_used, qp->sq_fed - qp->sq_head);
	for (uint64_t i = qp->sq_tail; i != oldest && bytes < OWED_MANY; i--)
		bytes += qp->sq[(i - 1) & qp->sq_mask].len_bytes;
	return bytes >= OWED_MANY;
}

static void disarm(struct weft_dev *dev, uint64_t now)
{
	struct progress *p = &dev->progress;

	(void)dev->port->ops->sleep(dev->port, false);
	p->armed = false;
	/* It waits for a bell that is mute now: let it look at the clock. */
	if (p->asleep && p->wake_at_ns > now + STAND_NS_MAX) {
		p->wake_at_ns = 0;
		watch_kick(dev);
	}
}

bool watch_come(struct weft_dev *dev, uint64_t now)
{
	struct progress *p = &dev->progress;
	uint64_t gap = now - WEFT_MIN(now, p->vain_ns);

	if (p->vain && gap > PREEMPTED_NS)
		notice_gap(dev, now);
	p->vain_ns = now;
	if (!p->vain++)
		p->vain_since_ns = now;
	if (now - p->vain_since_ns > PAUSE_AFTER_NS && p->has_thread &&
		(now < p->patient_until_ns || watch_owes_much(dev)))
		return true;
	p->polled_ns = now;
	if (p->armed && gap < TIGHT_NS)
		disarm(dev, now);
	return false;
}

void watch_pause(struct weft_dev *dev)
{
	uint64_t until = device_now(dev) + PAUSE_NS;
	struct timespec limit = { .tv_sec = (time_t)(until / 1000000000),
		.tv_nsec = (long)(until % 1000000000) };

	watch_leave(dev, true);
	dev->progress.waiting++;
	(void)weft_lock_wait(&dev->lock, &dev->progress.news, &limit);
	dev->progress.waiting--;
	dev->progress.vain = 0;
}

void watch_enter(struct weft_dev *dev, bool is_urgent)
{
	uint64_t ns = is_urgent ? STAND_NS_MIN : STAND_NS_MAX;

	for (unsigned i = 0; i < ENTER_TRIES; i++) {
		if (weft_lock_try(&dev->lock))
			return;
		weft_clock_sleep(ns);
		ns = WEFT_MIN(2 * ns, STAND_NS_MAX);
	}
	weft_lock_take(&dev->lock);
}

void watch_stand_back(struct weft_dev *dev)
{
	struct progress *p = &dev->progress;
	struct pollfd fds[3] = { { .fd = p->wake_fd, .events = POLLIN },
		{ .fd = dev->greetings.fd, .events = POLLIN },
		{ .fd = p->bell_fd, .events = POLLIN } };
	struct timespec limit = { .tv_nsec = (long)p->stand_ns };
	uint64_t one;

	p->stand_ns = WEFT_MIN(2 * p->stand_ns, STAND_NS_MAX);
	p->stands = true;
	p->waits_at = p->bell_fd;
	weft_lock_give(&dev->lock);
	int n = ppoll(fds, WEFT_COUNT(fds), &limit, NULL);

	if (n > 0 && fds[0].revents && read(p->wake_fd, &one, sizeof(one)) < 0)
		n = 0;
	watch_enter(dev, n > 0);
	p->stands = false;
	if (n <= 0 || !fds[2].revents)
		return;
	/* Rung, and nobody has looked since. */
	(void)dev->port->ops->sleep(dev->port, false);
	p->armed = false;
	p->bell_fd = -1;
}

uint64_t watch_awake(struct weft_dev *dev, uint64_t now)
{
	dev->progress.stand_ns = STAND_NS_MIN;
	return now < dev->progress.vain_ns + COMES_BACK_NS ? now + STAND_NS_MAX : WEFT_NEVER;
}
