/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * async - what happens to QPs, queues and ports without being asked for.
 *
 * Each context hears of its own objects and of ports, and so does the verbs context beside it:
 * neither takes the other's events.  The API has no descriptor for events; whether to wait is read
 * from the verbs context's, which is what its examples open and programs know how to set.
 */
#include "mrc_local.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>

/* False: nothing for this API.  Under the station's lock, so that the object stays. */
static bool translate(const struct weft_dev_event *from, struct mrc_async_event *to)
{
	memset(to, 0, sizeof(*to));
	switch (from->kind) {
	case WEFT_DEV_PLANE_UP:
	case WEFT_DEV_PLANE_DOWN:
		to->event_type = from->kind == WEFT_DEV_PLANE_UP ? IBV_EVENT_PORT_ACTIVE
								 : IBV_EVENT_PORT_ERR;
		to->element.port_num = (int)from->number + 1; /* ports of MRC are planes */
		return true;
	case WEFT_DEV_CQ_ERROR:
		to->event_type = IBV_EVENT_CQ_ERR;
		to->element.cq = from->user;
		atomic_fetch_add(&to->element.cq->unacked, 1);
		return true;
	case WEFT_DEV_QP_FATAL:
	case WEFT_DEV_QP_ACCESS:
	case WEFT_DEV_QP_REQUEST: /* MRC's API has one word for both */
		to->event_type = from->kind == WEFT_DEV_QP_FATAL ? IBV_EVENT_QP_FATAL
								 : IBV_EVENT_QP_ACCESS_ERR;
		to->element.qp = from->user;
		atomic_fetch_add(&to->element.qp->unacked, 1);
		return true;
	default: /* the device as a whole is not a port of MRC */
		return false;
	}
}

static int take(struct mrc_context *context, struct mrc_async_event *event)
{
	struct weft_dev_event from;
	int rc;

	weft_lock_take(&context->station->lock);
	do
		rc = weft_dev_listener_get(context->listener, &from);
	while (!rc && !translate(&from, event));
	weft_lock_give(&context->station->lock);
	return rc;
}

int mrc_get_async_event(struct mrc_context *mrc_ctx, struct mrc_async_event *event)
{
	if (!mrc_ctx || !event)
		return fail(EINVAL);
	for (;;) {
		struct pollfd door = { .fd = weft_dev_listener_fd(mrc_ctx->listener),
			.events = POLLIN };
		int rc = take(mrc_ctx, event);

		if (!rc)
			return 0;
		if (rc != EAGAIN || fcntl(mrc_ctx->verbs->async_fd, F_GETFL) & O_NONBLOCK)
			return fail(rc);
		if (poll(&door, 1, -1) < 0)
			return -1; /* EINTR */
	}
}

void mrc_ack_async_event(struct mrc_async_event *event)
{
	if (!event)
		return;
	if (event->event_type == IBV_EVENT_CQ_ERR)
		atomic_fetch_sub(&event->element.cq->unacked, 1);
	else if (event->event_type == IBV_EVENT_QP_FATAL ||
		 event->event_type == IBV_EVENT_QP_ACCESS_ERR)
		atomic_fetch_sub(&event->element.qp->unacked, 1);
}
