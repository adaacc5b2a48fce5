/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event - what a program has not asked for, by a pipe.
 *
 * A pipe is a descriptor that blocks, polls and takes O_NONBLOCK as programs expect of the real
 * one.  A record names its object by a number that is never used twice, so that one whose object
 * has been closed meanwhile is skipped instead of being handed out.
 */
#include "local.h"

#include <errno.h>
#include <fcntl.h>
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

void event_put(struct weft_dev *dev, uint32_t kind, uint64_t number, void *user)
{
	struct record record = { .number = number, .kind = kind };

	(void)user;
	if (write(dev->event_fd[1], &record, sizeof(record)) < 0)
		return; /* thousands wait already */
}

int event_read(int fd, void *record, size_t bytes)
{
	for (;;) {
		ssize_t n = read(fd, record, bytes);

		if (n == (ssize_t)bytes)
			return 0;
		if (n >= 0)
			return EIO;
		if (errno != EINTR)
			return errno;
	}
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
			return true;
		}
	for (const struct weft_dev_srq *srq = dev->srqs; srq; srq = srq->next)
		if (srq->number == record->number) {
			event->user = srq->user;
			return true;
		}
	return false;
}

int weft_dev_event_get(struct weft_dev *dev, struct weft_dev_event *event)
{
	for (;;) {
		struct record record;
		int rc;

		if (device_is_dead(dev))
			return ENODEV;
		rc = event_read(dev->event_fd[0], &record, sizeof(record));
		if (rc)
			return rc;
		pthread_mutex_lock(&dev->lock);
		bool found = find(dev, &record, event);

		pthread_mutex_unlock(&dev->lock);
		if (found)
			return 0;
	}
}
