/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * held - where datagrams lie between their arrival and their receive.
 *
 * A datagram without a receive is lost, says IBTA.  A card is hardly ever so much faster than the
 * program behind it; a sender that has the receiver's CPU is, and perftest waits for ever for what
 * was lost.  So a queue pair of datagrams receives into room of its own, a few thousand packets,
 * and hands over, in order, what the program has receives for, of its own or of a shared queue;
 * when the room is full, senders wait (courier.c).  The price is a copy of each.
 *
 * The room is address space until a backlog needs it: what was freed last is used first.  The
 * engine has no more of it at a time than a burst of packets needs.
 *
 * It outlives its queue pair for as long as couriers receive into it.
 */
#include "datagrams/datagrams_local.h"

#include <stdlib.h>
#include <string.h>

#define ROOM 4096u /* datagrams */
#define POSTED 512u

struct held {
	struct weft_dev *dev;
	uint8_t *memory;
	uint32_t slot_bytes, n_free, recvq, users; /* users: the QP, and couriers */
	uint64_t first, end; /* of what waits; run freely */
	uint16_t free[ROOM];
	struct {
		struct weft_dev_wc wc;
		uint16_t slot;
		bool solicited;
	} waiting[ROOM];
};

struct held *held_open(struct weft_dev *dev)
{
	struct held *held = calloc(1, sizeof(*held));

	if (!held)
		return NULL;
	held->dev = dev;
	held->slot_bytes = WEFT_GRH_BYTES + dev->end.mtu_bytes;
	held->memory = malloc((size_t)ROOM * held->slot_bytes);
	if (!held->memory || weft_recvq_open(dev->ep, &held->recvq)) {
		free(held->memory);
		free(held);
		return NULL;
	}
	while (held->n_free < ROOM) {
		held->free[held->n_free] = (uint16_t)(ROOM - 1 - held->n_free);
		held->n_free++;
	}
	return held_share(held);
}

struct held *held_share(struct held *held)
{
	held->users++;
	return held;
}

void held_release(struct held *held)
{
	if (!held || --held->users)
		return;
	WEFT_ASSERT(!weft_recvq_close(held->dev->ep, held->recvq));
	free(held->memory);
	free(held);
}

uint32_t held_queue(const struct held *held)
{
	return held->recvq;
}

static uint8_t *slot_at(const struct held *held, uint64_t slot)
{
	return held->memory + slot * held->slot_bytes;
}

void held_feed(struct held *held)
{
	uint32_t n = weft_recvq_count(held->dev->ep, held->recvq);

	for (; held->n_free && n < POSTED; n++) {
		uint16_t slot = held->free[--held->n_free];
		struct weft_recv to = { .id = slot,
			.to = slot_at(held, slot) + WEFT_GRH_BYTES,
			.len_bytes = held->slot_bytes - WEFT_GRH_BYTES };

		WEFT_ASSERT(!weft_recvq_post(held->dev->ep, held->recvq, &to));
	}
}

void held_drop(struct held *held, uint64_t slot)
{
	held->free[held->n_free++] = (uint16_t)slot;
	held_feed(held);
}

/* The receive that is next, of the program's queue or a shared one; false: there is none. */
static bool next_receive(struct weft_dev_qp *qp, struct recv *next)
{
	struct weft_dev_srq *srq = qp->init.srq;
	struct weft_recv recv;

	if (!srq) {
		*next = qp->rq[qp->rq_head & qp->rq_mask];
		return qp->rq_head != qp->rq_tail;
	}
	if (!weft_recvq_take(qp->dev->ep, srq->recvq, &recv))
		return false;
	*next = srq->slots[recv.id];
	srq->free[srq->n_free++] = (uint32_t)recv.id;
	return true;
}

/* It met what is too long for it. */
static void put_back(struct weft_dev_qp *qp)
{
	struct weft_dev_srq *srq = qp->init.srq;

	if (srq)
		(void)srq_again(srq, srq->free[--srq->n_free]);
}

/* A receive whose memory was taken back: there is no datagram so short that it needs none. */
static void fail(struct weft_dev_qp *qp, const struct recv *recv)
{
	struct weft_dev_wc wc = { .id = recv->id,
		.status = recv->fault,
		.op = WEFT_DEV_DONE_RECV,
		.vendor = WEFT_LOCAL_PROTOCOL };

	qp->rq_head += !qp->init.srq;
	done_recv(qp, &wc, false);
	pair_to_error(qp);
}

/* False: nobody has room for it, and it waits on. */
static bool hand_over(struct weft_dev_qp *qp, uint64_t at)
{
	struct held *held = qp->held;
	struct weft_dev_wc *wc = &held->waiting[at].wc;
	const uint8_t *from = slot_at(held, held->waiting[at].slot);
	struct recv recv;

	if (!qp->init.srq && !qp->init.rq_depth)
		return true; /* there never will be a receive */
	if (!next_receive(qp, &recv))
		return false;
	if (recv.fault) {
		fail(qp, &recv);
		return true;
	}
	if (wc->len_bytes > recv.len_bytes) {
		qp->dev->datagrams.too_long++;
		put_back(qp);
		return true;
	}
	if (recv.scattered)
		post_scatter(recv.to, 0, from, wc->len_bytes);
	else
		(void)weft_nofault_copy(recv.to, from, wc->len_bytes);
	if (WEFT_UNLIKELY(weft_nofault_take() != NULL)) { /* it is not there any more */
		recv.fault = WEFT_DEV_LOC_PROT_ERR;
		fail(qp, &recv);
		return true;
	}
	wc->id = recv.id;
	qp->rq_head += !qp->init.srq;
	done_recv(qp, wc, held->waiting[at].solicited);
	return true;
}

void held_hand_over(struct weft_dev_qp *qp)
{
	struct held *held = qp->held;

	while (held->first != held->end && qp->attr.state != WEFT_DEV_ERR) {
		uint64_t at = held->first % ROOM;

		if (!hand_over(qp, at))
			break;
		held->first++;
		held->free[held->n_free++] = held->waiting[at].slot;
	}
	held_feed(held);
}

bool held_waits(const struct weft_dev_qp *qp)
{
	return qp->held && qp->held->first != qp->held->end;
}

/* What a receiver of datagrams finds in front of its data: an IPv6 header with both GIDs (IBTA
 * vol. 1, 10.5). */
static void put_grh(uint8_t grh[WEFT_GRH_BYTES], struct grh gids, uint32_t bytes)
{
	memset(grh, 0, 8);
	grh[0] = 0x60;
	grh[4] = (uint8_t)(bytes >> 8);
	grh[5] = (uint8_t)bytes;
	grh[6] = 17; /* UDP */
	grh[7] = 64;
	memcpy(grh + 8, gids.from, 16);
	memcpy(grh + 24, gids.to, 16);
}

void held_put(struct weft_dev_qp *qp, uint64_t slot, const struct weft_dev_wc *wc,
	struct grh gids, bool solicited)
{
	struct held *held = qp->held;
	uint64_t at = held->end++ % ROOM;

	put_grh(slot_at(held, slot), gids, wc->len_bytes - WEFT_GRH_BYTES);
	held->waiting[at].wc = *wc;
	held->waiting[at].slot = (uint16_t)slot;
	held->waiting[at].solicited = solicited;
	held_hand_over(qp);
	if (qp->init.srq && held_waits(qp))
		queue_backlog(qp);
}
