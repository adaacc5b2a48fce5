/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * async - what happens to QPs and ports without being asked for.
 *
 * The device has one queue of events for all its users.  Objects of this API are marked (tagged()),
 * so that each of the two libraries passes over the other's; who reads gets what is his and events
 * of ports, and a program that waits in both libraries at once finds a port's event in one of them.
 */
#include "local.h"

#include <string.h>

static bool is_ours(const struct weft_dev_event *from)
{
	return (uintptr_t)from->user & 1;
}

static struct mrc_qp *qp_of(const struct weft_dev_event *from)
{
	return (struct mrc_qp *)((uintptr_t)from->user & ~(uintptr_t)1);
}

/* False: nothing for this API. */
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
	case WEFT_DEV_QP_FATAL:
		to->event_type = IBV_EVENT_QP_FATAL;
		break;
	case WEFT_DEV_QP_ACCESS:
		to->event_type = IBV_EVENT_QP_ACCESS_ERR;
		break;
	default: /* the whole device's port is not a port of MRC; queues of verbs are verbs' */
		return false;
	}
	if (!is_ours(from))
		return false;
	to->element.qp = qp_of(from);
	atomic_fetch_add(&to->element.qp->unacked, 1);
	return true;
}

int mrc_get_async_event(struct mrc_context *mrc_ctx, struct mrc_async_event *event)
{
	struct weft_dev_event from;

	if (!mrc_ctx || !event)
		return fail(EINVAL);
	do {
		int rc = weft_dev_event_get(mrc_ctx->station->dev, &from);

		if (rc)
			return fail(rc);
	} while (!translate(&from, event));
	return 0;
}

void mrc_ack_async_event(struct mrc_async_event *event)
{
	if (event && (event->event_type == IBV_EVENT_QP_FATAL ||
			     event->event_type == IBV_EVENT_QP_ACCESS_ERR))
		atomic_fetch_sub(&event->element.qp->unacked, 1);
}
