/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ev_queue - EV events: a place in the ring that all processes write.
 *
 * The queue itself holds nothing but its place, so it cannot overrun.  A reader that falls behind
 * by more than the queue's size loses the oldest, and is told exactly how many with the next event.
 */
#include "mrc_local.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Size of the event of API 1.0.0, which ends before `state`. */
#define OLD_BYTES 48u

struct mrc_cq *mrc_ctl_create_ev_event_cq(struct mrc_context *mrc_ctx, int cqe, void *cq_context,
	struct mrc_comp_channel *channel, int comp_vector)
{
	if (!alive_is(mrc_ctx) || cqe < 1 || comp_vector || !channel_fits(channel, mrc_ctx))
		return fail_null(EINVAL);
	struct station *station = mrc_ctx->station;
	struct mrc_cq *cq = calloc(1, sizeof(*cq));
	int rc = cq ? watcher_start(station) : ENOMEM;

	if (!rc && !alive_add(cq))
		rc = ENOMEM;
	if (rc) {
		free(cq);
		return fail_null(rc);
	}
	cq->context = mrc_ctx;
	cq->channel = channel;
	cq->user = cq_context;
	cq->capacity = WEFT_MIN((uint32_t)cqe, PLANT_EVENTS);
	atomic_fetch_add(&mrc_ctx->objects, 1);
	if (channel)
		atomic_fetch_add(&channel->queues, 1);
	weft_lock_take(&station->lock);
	plant_lock(station->plant);
	cq->at = station->plant->events;
	plant_unlock(station->plant);
	cq->next = station->ev_queues;
	station->ev_queues = cq;
	weft_lock_give(&station->lock);
	return cq;
}

void ev_queue_close(struct mrc_cq *cq)
{
	struct station *station = cq->context->station;

	for (struct mrc_cq **at = &station->ev_queues; *at; at = &(*at)->next) {
		if (*at == cq) {
			*at = cq->next;
			break;
		}
	}
}

void ev_queue_ring(struct station *station)
{
	for (struct mrc_cq *cq = station->ev_queues; cq; cq = cq->next) {
		if (cq->armed && channel_ring(cq))
			cq->armed = false;
	}
}

int ev_queue_arm(struct mrc_cq *cq, int solicited_only)
{
	struct station *station = cq->context->station;

	(void)solicited_only; /* events are nobody's request */
	if (!cq->channel)
		return EINVAL;
	weft_lock_take(&station->lock);
	plant_lock(station->plant);
	bool is_waiting = station->plant->events != cq->at;

	plant_unlock(station->plant);
	cq->armed = !(is_waiting && channel_ring(cq));
	weft_lock_give(&station->lock);
	return 0;
}

int mrc_ctl_poll_ev_event(struct mrc_cq *ev_cq, int num_entries, struct mrc_ctl_ev_event *ev_event)
{
	if (!ev_cq || ev_cq->inner || num_entries < 0 || (num_entries && !ev_event))
		return -EINVAL;
	struct plant *plant = ev_cq->context->station->plant;
	bool is_old = ev_cq->context->version < MRC_API_VER(1, 0, 1);
	size_t step = is_old ? OLD_BYTES : sizeof(*ev_event);
	uint64_t lost = 0;
	int n = 0;

	weft_lock_take(&ev_cq->context->station->lock);
	plant_lock(plant);
	if (num_entries && plant->events - ev_cq->at > ev_cq->capacity) {
		lost = plant->events - ev_cq->at - ev_cq->capacity;
		ev_cq->at += lost;
	}
	for (; n < num_entries && ev_cq->at != plant->events; n++, ev_cq->at++) {
		const struct plant_event *from = &plant->event[ev_cq->at % PLANT_EVENTS];
		struct mrc_ctl_ev_event event = { .profile_id = from->profile_id,
			.ev = from->ev,
			.drop_count = (uint32_t)WEFT_MIN(lost, (uint64_t)UINT32_MAX),
			.state = from->state };

		memcpy((char *)ev_event + (size_t)n * step, &event, step);
		lost = 0;
	}
	plant_unlock(plant);
	weft_lock_give(&ev_cq->context->station->lock);
	return n;
}
