/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * incast_sender - what a sending host does, asked again and again: take what is done, post what
 * is due.  It knows the plan and the time and nothing of the world, so that virtual and live runs
 * do the same.
 *
 * While the victim is alone, each of the seven has a part of that time to itself and sends packet
 * after packet: NSCC takes the shortest round trip that it sees for the path's length, and who
 * first sends in an incast never sees one without queue.  (Ultra Ethernet advises a probe for the
 * same reason.)
 */
#include "incast.h"

#include <weft/base.h>

#define LONG_ID UINT64_C(0x100000000) /* works of the long incast; a burst's id is its number */

static void take_done(struct incast_sender *s, uint64_t at_ns)
{
	struct weft_done done;

	while (weft_poll(s->ep, 0, &done, 1)) {
		if (done.status != WEFT_OK && !s->status)
			s->status = done.status;
		if (done.id >= LONG_ID)
			s->outstanding--;
		else if (done.status == WEFT_OK)
			s->took_ns[done.id] = WEFT_MAX(at_ns - s->posted_ns[done.id], UINT64_C(1));
	}
}

static bool post(
	struct incast_sender *s, uint32_t qp, uint64_t id, uint32_t offset, uint32_t len_bytes)
{
	struct weft_work work = { .id = id,
		.remote_va = offset,
		.data = s->data ? s->data + offset : NULL,
		.len_bytes = len_bytes,
		.rkey = s->rkey };

	return !weft_post_write(s->qp[qp], &work);
}

/* One packet at a time, alone. */
static uint64_t sound(struct incast_sender *s, uint64_t at_ns)
{
	uint64_t part_ns = s->plan->lead_ns / INCAST_FLOWS, begin_ns = part_ns * s->flow;

	if (at_ns < begin_ns)
		return begin_ns;
	if (at_ns < begin_ns + part_ns && !s->outstanding &&
		post(s, 0, LONG_ID, 0, INCAST_MTU_BYTES))
		s->outstanding++;
	return s->plan->lead_ns;
}

uint64_t incast_send(struct incast_sender *s, uint64_t at_ns)
{
	const struct incast_plan *plan = s->plan;
	bool is_victim = s->flow == INCAST_VICTIM;
	uint64_t from_ns = is_victim ? 0 : plan->lead_ns;
	uint64_t to_ns = is_victim ? incast_total_ns(plan) : incast_stop_ns(plan);

	take_done(s, at_ns);
	if (s->status)
		return WEFT_NEVER;
	if (!is_victim && at_ns < plan->lead_ns)
		return sound(s, at_ns);
	while (at_ns >= from_ns && at_ns < to_ns && s->outstanding < INCAST_MESSAGES &&
		post(s, 0, LONG_ID, s->outstanding * INCAST_MESSAGE_BYTES, INCAST_MESSAGE_BYTES))
		s->outstanding++;
	while (!is_victim && s->next_burst < plan->bursts &&
		at_ns >= incast_burst_ns(plan, s->next_burst) &&
		post(s, 1 + s->next_burst, s->next_burst, 0, plan->burst_bytes))
		s->posted_ns[s->next_burst++] = at_ns;
	return is_victim || s->next_burst == plan->bursts
		       ? WEFT_NEVER
		       : WEFT_MAX(incast_burst_ns(plan, s->next_burst), at_ns + 1);
}
