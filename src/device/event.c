/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event - what a program has not asked for, by a pipe.
 *
 * A pipe is a descriptor that blocks, polls and takes O_NONBLOCK as programs expect of the real
 * one.  A record names its object by a number that is never used twice, so that one whose object
 * has been closed meanwhile is skipped instead of being handed out.
 *
 * Each listener has a pipe of its own, so that who waits in one interface neither takes another's
 * events nor wakes for them.
 */
#include "local.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct record {
	uint64_t number; /* of the object; below 64 with PLANE events: the plane */
	uint32_t kind, padding;
};

int event_pipe(int fd[2])
{
	if (pipe2(fd, O_CLOEXEC))
		return errno;
	/* Ours never blocks: a program that does not read must not stop the device. */
	(void)fcntl(fd[1], F_SETFL, O_NONBLOCK);
	return 0;
}

int event_read(int fd, void *record, size_t bytes)
{
	ssize_t n = read(fd, record, bytes);

	if (n == (ssize_t)bytes)
		return 0;
	return n < 0 ? errno : EIO;
}

int weft_dev_event_fd(const struct weft_dev *dev)
{
	return dev->event_fd[0];
}

/* False: its object is gone. */
static bool find(const struct weft_dev *dev, const struct record *record,
	struct weft_dev_event *event)
{
	*event = (struct weft_dev_event){ .kind = record->kind };
	if (record->kind <= WEFT_DEV_PORT_DOWN) {
		event->number = (uint32_t)record->number;
		return true;
	}
	for (uint32_t i = 0; record->kind <= WEFT_DEV_QP_LAST_WQE && i < SLOTS; i++) {
		if (!dev->qps[i] || dev->qps[i]->event_number != record->number)
			continue;
		event->user = dev->qps[i]->init.user;
		event->owner = dev->qps[i]->init.owner;
		return true;
	}
	for (const struct weft_dev_cq *cq = dev->cqs; cq; cq = cq->next)
		if (cq->number == record->number) {
			event->user = cq->user;
			event->owner = cq->owner;
			return true;
		}
	for (const struct weft_dev_srq *srq = dev->srqs; srq; srq = srq->next)
		if (srq->number == record->number) {
			event->user = srq->user;
			return true;
		}
	return false;
}

static void tell(int fd, const struct record *record)
{
	if (write(fd, record, sizeof(*record)) < 0)
		return; /* thousands wait already */
}

void event_put(struct weft_dev *dev, uint32_t kind, uint64_t number)
{
	struct record record = { .number = number, .kind = kind };
	struct weft_dev_event event;

	if (!find(dev, &record, &event))
		return;
	bool is_common = kind <= WEFT_DEV_PORT_DOWN;

	if (is_common || !event.owner)
		tell(dev->event_fd[1], &record);
	for (const struct weft_dev_listener *at = dev->listeners; at; at = at->next)
		if (is_common || at->owner == event.owner)
			tell(at->fd[1], &record);
}

static int get(struct weft_dev *dev, int fd, struct weft_dev_event *event)
{
	if (device_is_dead(dev))
		return ENODEV;
	/* Who has no queue pair wants to hear of planes all the same. */
	weft_lock_take(&dev->lock);
	int error = run_start(dev);

	weft_lock_give(&dev->lock);
	if (error)
		return error;
	for (;;) {
		struct record record;
		int rc;

		if (device_is_dead(dev))
			return ENODEV;
		rc = event_read(fd, &record, sizeof(record));
		if (rc)
			return rc;
		weft_lock_take(&dev->lock);
		bool found = find(dev, &record, event);

		weft_lock_give(&dev->lock);
		if (found)
			return 0;
	}
}

int weft_dev_event_get(struct weft_dev *dev, struct weft_dev_event *event)
{
	return get(dev, dev->event_fd[0], event);
}

/* ---- listeners ---- */

int weft_dev_listener_open(struct weft_dev *dev, uint32_t owner, struct weft_dev_listener **out)
{
	if (device_is_dead(dev))
		return ENODEV;
	if (!owner)
		return EINVAL;
	struct weft_dev_listener *listener = calloc(1, sizeof(*listener));

	if (!listener)
		return ENOMEM;
	int rc = event_pipe(listener->fd);

	if (rc) {
		free(listener);
		return rc;
	}
	(void)fcntl(listener->fd[0], F_SETFL, O_NONBLOCK);
	listener->dev = dev;
	listener->owner = owner;
	weft_lock_take(&dev->lock);
	listener->next = dev->listeners;
	dev->listeners = listener;
	weft_lock_give(&dev->lock);
	*out = listener;
	return 0;
}

void weft_dev_listener_close(struct weft_dev_listener *listener)
{
	struct weft_dev *dev = listener->dev;

	if (!device_is_dead(dev)) {
		weft_lock_take(&dev->lock);
		for (struct weft_dev_listener **at = &dev->listeners; *at; at = &(*at)->next) {
			if (*at == listener) {
				*at = listener->next;
				break;
			}
		}
		weft_lock_give(&dev->lock);
	}
	close(listener->fd[0]);
	close(listener->fd[1]);
	free(listener);
}

int weft_dev_listener_fd(const struct weft_dev_listener *listener)
{
	return listener->fd[0];
}

int weft_dev_listener_get(struct weft_dev_listener *listener, struct weft_dev_event *event)
{
	return get(listener->dev, listener->fd[0], event);
}
