/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timer - one deadline for each QP, each path set, and the endpoint's own requests.
 *
 * What each is for:
 *   QP       retransmission timeout, tail probe, end of a hold after a recoverable NACK
 *   set      probes of bad paths, reverse probes, port status that was not answered
 *   requests endpoint operations that stay without an answer
 *
 * Deadlines move later with nearly every acknowledgement and earlier almost never.  So the
 * heap keeps a key that is only a lower bound of the true deadline: moving later is one store,
 * and an entry that comes up too early is put back.  A wheel would be as fast but costs
 * memory per endpoint, and the simulator has a hundred thousand of those.
 */
#include "engine_local.h"

void timer_init(struct weft_endpoint *ep)
{
	for (uint32_t i = 0; i < ep->timers; i++) {
		ep->due[i] = ep->key[i] = WEFT_NEVER;
		ep->heap_pos[i] = UINT32_MAX;
	}
	ep->heap_n = 0;
}

static void put(struct weft_endpoint *ep, uint32_t pos, uint32_t timer)
{
	ep->heap[pos] = timer;
	ep->heap_pos[timer] = pos;
}

static void sift_up(struct weft_endpoint *ep, uint32_t pos)
{
	uint32_t timer = ep->heap[pos];

	while (pos > 0) {
		uint32_t up = (pos - 1) / 4;

		if (ep->key[ep->heap[up]] <= ep->key[timer])
			break;
		put(ep, pos, ep->heap[up]);
		pos = up;
	}
	put(ep, pos, timer);
}

static void sift_down(struct weft_endpoint *ep, uint32_t pos)
{
	uint32_t timer = ep->heap[pos];

	for (;;) {
		uint32_t best = pos * 4 + 1;

		if (best >= ep->heap_n)
			break;
		for (uint32_t i = best + 1; i < WEFT_MIN(pos * 4 + 5, ep->heap_n); i++)
			if (ep->key[ep->heap[i]] < ep->key[ep->heap[best]])
				best = i;
		if (ep->key[ep->heap[best]] >= ep->key[timer])
			break;
		put(ep, pos, ep->heap[best]);
		pos = best;
	}
	put(ep, pos, timer);
}

void timer_set(struct weft_endpoint *ep, uint32_t timer, uint64_t due)
{
	ep->due[timer] = due;
	if (due >= ep->key[timer]) /* includes "not in the heap": its key is NEVER */
		return;
	ep->key[timer] = due;
	if (ep->heap_pos[timer] == UINT32_MAX)
		put(ep, ep->heap_n++, timer);
	sift_up(ep, ep->heap_pos[timer]);
}

static void remove_first(struct weft_endpoint *ep)
{
	uint32_t timer = ep->heap[0];

	ep->heap_pos[timer] = UINT32_MAX;
	ep->key[timer] = WEFT_NEVER;
	if (--ep->heap_n == 0)
		return;
	put(ep, 0, ep->heap[ep->heap_n]);
	sift_down(ep, 0);
}

uint32_t timer_pop(struct weft_endpoint *ep, uint64_t now)
{
	while (ep->heap_n && ep->key[ep->heap[0]] <= now) {
		uint32_t timer = ep->heap[0];

		if (ep->due[timer] == WEFT_NEVER) {
			remove_first(ep);
		} else if (ep->due[timer] > now) {
			ep->key[timer] = ep->due[timer];
			sift_down(ep, 0);
		} else {
			ep->due[timer] = WEFT_NEVER;
			remove_first(ep);
			return timer;
		}
	}
	return UINT32_MAX;
}
