/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event - what a program has not asked for, by a descriptor that is readable while there is some.
 *
 * Programs block on the real one, poll it, and set O_NONBLOCK and O_ASYNC: the read end of a pipe
 * does all of that.  But a pipe holds so many records and no more, and thousands of queue pairs
 * fail together.  So what waits is kept in the objects themselves, and those that have some are
 * linked: it always finds room, is found without a search, and goes with its object.  The pipe has
 * a byte, which who reads takes, and puts back while there is more.
 *
 * Of each kind one waits per object, as if the newest only had come: who has not yet heard that a
 * plane went down hears of its last change last.
 *
 * Each listener has a queue of its own, so that who waits in one interface neither takes another's
 * events nor wakes for them.
 */
#include "device_local.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define KIND_BITS 4u
#define KIND_MASK ((1u << KIND_BITS) - 1)

_Static_assert(WEFT_DEV_SRQ_LIMIT <= KIND_MASK, "a kind fits its bits");
_Static_assert((WEFT_DEV_QP_LAST_WQE - WEFT_DEV_QP_FATAL + 1) * KIND_BITS <= 32,
	"all kinds of one object do");

/* ---- queues ---- */

int event_open(struct event_queue *queue)
{
	queue->first = NULL;
	queue->last = &queue->first;
	if (pipe2(queue->fd, O_CLOEXEC))
		return errno;
	/* Ours never blocks: a program that does not read must not stop the device. */
	(void)fcntl(queue->fd[1], F_SETFL, O_NONBLOCK);
	return 0;
}

void event_close(struct event_queue *queue)
{
	for (unsigned i = 0; i < 2; i++)
		if (queue->fd[i] >= 0)
			close(queue->fd[i]);
}

/* Who reads wakes.  The byte that is there is as good as another; one that a reader has in hand is
 * not there, and he will look at what is left. */
static void ring(const struct event_queue *queue)
{
	int n = 0;

	if (!ioctl(queue->fd[0], FIONREAD, &n) && n)
		return;
	if (write(queue->fd[1], "", 1) < 0)
		return; /* the program has closed its end */
}

static void enter(struct event_queue *queue, struct event_source *source)
{
	source->queue = queue;
	source->next = NULL;
	source->from = queue->last;
	*queue->last = source;
	queue->last = &source->next;
}

static void leave(struct event_source *source)
{
	*source->from = source->next;
	if (source->next)
		source->next->from = source->from;
	else
		source->queue->last = source->from;
	source->queue = NULL;
}

void event_add(struct event_queue *queue, struct event_source *source, uint32_t kind)
{
	uint32_t others = 0, at = 0;

	for (uint32_t left = source->kinds; left; left >>= KIND_BITS) {
		if ((left & KIND_MASK) == kind)
			continue;
		others |= (left & KIND_MASK) << at;
		at += KIND_BITS;
	}
	source->kinds = others | kind << at;
	if (!source->queue)
		enter(queue, source);
	ring(queue);
}

void event_drop(struct event_source *source)
{
	if (source->queue)
		leave(source);
	source->kinds = 0;
}

struct event_source *event_take(struct event_queue *queue, uint32_t *kind)
{
	struct event_source *source = queue->first;

	if (!source)
		return NULL; /* its object has been closed, or another reader was here */
	leave(source);
	*kind = source->kinds & KIND_MASK;
	source->kinds >>= KIND_BITS;
	if (source->kinds)
		enter(queue, source);
	if (queue->first)
		ring(queue);
	return source;
}

int event_wait(const struct event_queue *queue)
{
	char byte;
	ssize_t n = read(queue->fd[0], &byte, 1);

	return n == 1 ? 0 : n < 0 ? errno : EIO;
}

/* ---- the device's ---- */

static struct weft_dev_listener *find_listener(const struct weft_dev *dev, uint32_t owner)
{
	struct weft_dev_listener *at = dev->listeners;

	while (at && at->owner != owner)
		at = at->next;
	return at;
}

void event_put(struct weft_dev *dev, struct event_source *source, uint32_t kind)
{
	if (!source->owner) {
		event_add(&dev->events, source, kind);
		return;
	}
	struct weft_dev_listener *listener = find_listener(dev, source->owner);

	if (listener)
		event_add(&listener->events, source, kind);
}

static void add_plane(
	struct event_queue *queue, struct plane_events *of, uint32_t kind, uint32_t plane)
{
	struct event_source *source = kind >= WEFT_DEV_PORT_ACTIVE ? &of->port : &of->plane[plane];

	source->number = plane;
	event_add(queue, source, kind);
}

void event_put_plane(struct weft_dev *dev, uint32_t kind, uint32_t plane)
{
	add_plane(&dev->events, &dev->plane_events, kind, plane);
	for (struct weft_dev_listener *at = dev->listeners; at; at = at->next)
		add_plane(&at->events, &at->plane_events, kind, plane);
}

static int get(struct weft_dev *dev, struct event_queue *queue, struct weft_dev_event *event,
	void (*got)(const struct weft_dev_event *event))
{
	const struct event_source *source = NULL;
	int rc;

	if (device_is_dead(dev))
		return ENODEV;
	/* Who has no queue pair wants to hear of planes all the same. */
	weft_lock_take(&dev->lock);
	rc = run_start(dev);
	weft_lock_give(&dev->lock);
	while (!rc && !source) {
		if (device_is_dead(dev))
			return ENODEV;
		rc = event_wait(queue);
		if (rc)
			break;
		*event = (struct weft_dev_event){ 0 };
		weft_lock_take(&dev->lock);
		source = event_take(queue, &event->kind);
		if (source) {
			event->number = source->number;
			event->owner = source->owner;
			event->user = source->user;
		}
		if (source && got)
			got(event);
		weft_lock_give(&dev->lock);
	}
	return rc;
}

int weft_dev_event_fd(const struct weft_dev *dev)
{
	return dev->events.fd[0];
}

int weft_dev_event_get(struct weft_dev *dev, struct weft_dev_event *event)
{
	return get(dev, &dev->events, event, NULL);
}

int weft_dev_event_take(struct weft_dev *dev, struct weft_dev_event *event,
	void (*got)(const struct weft_dev_event *event))
{
	return get(dev, &dev->events, event, got);
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
	int rc = event_open(&listener->events);

	if (rc) {
		free(listener);
		return rc;
	}
	(void)fcntl(listener->events.fd[0], F_SETFL, O_NONBLOCK);
	listener->dev = dev;
	listener->owner = owner;
	weft_lock_take(&dev->lock);
	bool is_first = !find_listener(dev, owner);

	if (is_first) {
		listener->next = dev->listeners;
		dev->listeners = listener;
	}
	weft_lock_give(&dev->lock);
	if (!is_first) {
		event_close(&listener->events);
		free(listener);
		return EBUSY;
	}
	*out = listener;
	return 0;
}

void weft_dev_listener_close(struct weft_dev_listener *listener)
{
	struct weft_dev *dev = listener->dev;

	if (!device_is_dead(dev)) {
		weft_lock_take(&dev->lock);
		struct weft_dev_listener **at = &dev->listeners;

		while (*at != listener)
			at = &(*at)->next;
		*at = listener->next;
		while (listener->events.first)
			event_drop(listener->events.first);
		weft_lock_give(&dev->lock);
	}
	event_close(&listener->events);
	free(listener);
}

int weft_dev_listener_fd(const struct weft_dev_listener *listener)
{
	return listener->events.fd[0];
}

int weft_dev_listener_get(struct weft_dev_listener *listener, struct weft_dev_event *event)
{
	return get(listener->dev, &listener->events, event, NULL);
}
