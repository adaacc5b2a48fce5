/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * held - datagrams that have come before their receives.
 *
 * A datagram without a receive is lost, says IBTA.  A card is hardly ever so much faster than the
 * program behind it; a sender that has the receiver's CPU is, and perftest waits for ever for what
 * was lost.  So a queue pair of datagrams receives into room of its own, a few thousand packets,
 * and hands over, in order, what the program has receives for; beyond that datagrams are lost and
 * counted.  The price is a copy of each.
 *
 * The room is address space until a backlog needs it: what was freed last is used first.
 */
#include "local.h"

#include <stdlib.h>
#include <string.h>

#define ROOM 4096u /* datagrams */

struct held {
	uint8_t *memory;
	uint32_t slot_bytes, n_free;
	uint64_t first, end; /* of what waits; run freely */
	uint16_t free[ROOM];
	struct {
		struct weft_dev_wc wc;
		uint16_t slot;
		bool solicited;
	} waiting[ROOM];
};

bool held_open(struct weft_dev_qp *qp)
{
	struct held *held = calloc(1, sizeof(*held));

	if (!held)
		return false;
	held->slot_bytes = WEFT_GRH_BYTES + qp->dev->end.mtu_bytes;
	held->memory = malloc((size_t)ROOM * held->slot_bytes);
	if (!held->memory) {
		free(held);
		return false;
	}
	qp->held = held;
	held_reset(qp);
	return true;
}

void held_close(struct weft_dev_qp *qp)
{
	if (qp->held)
		free(qp->held->memory);
	free(qp->held);
	qp->held = NULL;
}

void held_reset(struct weft_dev_qp *qp)
{
	struct held *held = qp->held;

	held->first = held->end = 0;
	for (held->n_free = 0; held->n_free < ROOM; held->n_free++)
		held->free[held->n_free] = (uint16_t)(ROOM - 1 - held->n_free);
}

static uint8_t *slot_at(const struct held *held, uint64_t slot)
{
	return held->memory + slot * held->slot_bytes;
}

void held_feed(struct weft_dev_qp *qp)
{
	struct held *held = qp->held;

	for (; held->n_free; held->n_free--) {
		uint16_t slot = held->free[held->n_free - 1];
		struct weft_recv to = { .id = slot,
			.to = slot_at(held, slot),
			.len_bytes = held->slot_bytes };

		if (weft_post_receive(qp->eq, &to))
			return;
	}
}

/* A receive whose memory was taken back: there is no datagram so short that it needs none. */
static void fail_front(struct weft_dev_qp *qp)
{
	const struct recv *recv = &qp->rq[qp->rq_head++ & qp->rq_mask];
	struct weft_dev_wc wc = { .id = recv->id,
		.status = recv->fault,
		.op = WEFT_DEV_DONE_RECV,
		.vendor = WEFT_LOCAL_PROTOCOL };

	done_recv(qp, &wc, false);
	pair_to_error(qp);
}

void held_hand_over(struct weft_dev_qp *qp)
{
	struct held *held = qp->held;
	bool any = false;

	while (held->first != held->end && qp->rq_head != qp->rq_tail) {
		const struct recv *recv = &qp->rq[qp->rq_head & qp->rq_mask];
		uint64_t at = held->first++ % ROOM;
		struct weft_dev_wc *wc = &held->waiting[at].wc;
		uint16_t slot = held->waiting[at].slot;

		held->free[held->n_free++] = slot;
		any = true;
		if (recv->fault) {
			fail_front(qp);
			break;
		}
		if (wc->len_bytes > recv->len_bytes) {
			qp->dev->datagrams_too_long++;
			continue;
		}
		if (recv->scattered)
			post_scatter(recv->to, 0, slot_at(held, slot), wc->len_bytes);
		else
			memcpy(recv->to, slot_at(held, slot), wc->len_bytes);
		wc->id = recv->id;
		qp->rq_head++;
		done_recv(qp, wc, held->waiting[at].solicited);
	}
	if (any && qp->eq && qp->attr.state != WEFT_DEV_ERR)
		held_feed(qp);
}

void *held_at(struct weft_dev_qp *qp, uint64_t slot)
{
	return slot < ROOM ? slot_at(qp->held, slot) : NULL;
}

void held_drop(struct weft_dev_qp *qp, uint64_t slot)
{
	if (slot >= ROOM)
		return;
	qp->held->free[qp->held->n_free++] = (uint16_t)slot;
	if (qp->eq && qp->attr.state != WEFT_DEV_ERR)
		held_feed(qp);
}

void held_put(struct weft_dev_qp *qp, uint64_t slot, const struct weft_dev_wc *wc, bool solicited)
{
	struct held *held = qp->held;
	uint64_t at = held->end++ % ROOM;

	held->waiting[at].wc = *wc;
	held->waiting[at].slot = (uint16_t)slot;
	held->waiting[at].solicited = solicited;
	held_hand_over(qp);
}
