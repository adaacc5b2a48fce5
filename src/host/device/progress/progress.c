/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * progress - what the rest of the device says to who makes it go: its program polls, posts, sleeps.
 *
 * The only way in.  Which thread looks at the port (device_watch.c), when acknowledgements leave
 * (acks.c), whether a switch is woken (quiet.c) and what a turn is (device_run.c) follow from it.
 *
 * Hot: once per poll, and per work.
 */
#include "progress/progress_local.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

int progress_open(struct weft_dev *dev)
{
	struct progress *p = &dev->progress;
	pthread_condattr_t attr;
	int rc = pthread_condattr_init(&attr);

	if (rc)
		return rc;
	p->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	rc = p->wake_fd < 0 ? errno : 0;
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	if (!rc)
		rc = pthread_cond_init(&p->news, &attr);
	if (rc)
		progress_close(dev);
	(void)pthread_condattr_destroy(&attr);
	p->stand_ns = STAND_NS_MIN;
	p->bell_fd = -1;
	p->preemptions = -1;
	return rc;
}

void progress_close(struct weft_dev *dev)
{
	if (dev->progress.wake_fd >= 0)
		close(dev->progress.wake_fd);
}

void progress_poll(struct weft_dev *dev)
{
	quiet_poll(dev);
}

bool progress_polled(struct weft_dev *dev, bool has_found)
{
	quiet_polled(dev);
	if (has_found) {
		watch_leave(dev, false);
		return false;
	}
	if (WEFT_LIKELY(!watch_come(dev, weft_pump_now(dev->pump))))
		return false;
	watch_pause(dev);
	return true;
}

void progress_post(struct weft_dev *dev)
{
	quiet_post(dev);
	/* What has come in is taken in the first turn, and the second one sends. */
	if (run_once(dev) && weft_wants_output(dev->ep))
		(void)run_once(dev);
	run_wake(dev);
	quiet_posted(dev);
}

void progress_sleep(struct weft_dev *dev)
{
	watch_leave(dev, true); /* the thread takes over at once */
}

void progress_complete(struct weft_dev *dev)
{
	if (dev->progress.waiting)
		(void)pthread_cond_broadcast(&dev->progress.news);
}

void progress_owe(struct weft_dev_qp *qp, uint32_t bytes)
{
	qp->dev->progress.owed_bytes += bytes;
	qp->dev->progress.owing = qp;
}

void progress_paid(struct weft_dev *dev, uint32_t bytes)
{
	dev->progress.owed_bytes -= bytes;
}

void progress_forget(struct weft_dev_qp *qp)
{
	if (qp->dev->progress.owing == qp)
		qp->dev->progress.owing = NULL;
}
