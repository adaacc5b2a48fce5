/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * courier - the connection that takes datagrams from one queue pair to another.
 *
 * UD promises nothing, but a card's network loses next to nothing, and programs rely on it:
 * perftest and the pingpongs wait for ever for what was lost.  Here planes flap, and a sender may
 * have the CPU of its receiver.  So datagrams go by connections of the engine, one for each two
 * queue pairs that talk, with the spraying, recovery and back pressure of everything else.
 *
 *   program's QP --copy--> [courier] ~~~ planes ~~~ [courier] --> held --> program's receive
 *
 * A send completes when the courier has a copy: that is all that UD says, and no peer can hold up
 * the completions for another.  Where a peer takes nothing any more (dead, cut off, or without
 * receives for longer than its room lasts) sends wait for SILENCE_NS once, as for a card's link
 * without credits, and are lost from then on until it moves again.
 *
 * Not taken: completing when the peer acknowledges (one slow peer holds up all others' completions,
 * which verbs tells in the order of posting); sequence numbers and repeats in this room (a second
 * transport beside the engine's).
 */
#include "datagrams/datagrams_local.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SILENCE_NS UINT64_C(500000000) /* as RC with `timeout` 14 and 7 tries, perftest's */
#define RNR_TIMER 15u                  /* IBTA's code: 1.92 ms; asked for that often at last */
#define BACKOFF_EXP 15u                /* repeats to a silent peer come every 34 ms at last */

static struct weft_qp_attr attr_of(struct weft_dev *dev, uint64_t rate_bps)
{
	const struct weft_config *engine = weft_live_engine(dev->live);
	struct weft_qp_attr attr = { .kind = WEFT_QP_DATAGRAM,
		.mpr_rx_psns = engine->window_psns,
		.wimm_rx = engine->wimm_max,
		.trim_nack_rx = true };

	weft_live_qp_defaults(dev->live, rate_bps, &attr);
	attr.linear_count = 1;
	attr.retry_count = 24;
	attr.timeout_exp_max = (uint8_t)WEFT_MAX(attr.timeout_exp, BACKOFF_EXP);
	attr.give_up_ns = SILENCE_NS;
	attr.rnr_timer = RNR_TIMER;
	attr.rnr_retry = 1;
	attr.rnr_give_up_ns = UINT64_MAX;
	return attr;
}

struct courier *courier_open(struct weft_dev_qp *qp, struct contact *contact)
{
	struct weft_dev *dev = qp->dev;
	struct weft_qp_attr attr = attr_of(dev, dev->end.rate_bps);
	struct courier *courier = calloc(1, sizeof(*courier));
	struct weft_qp_info info;
	int rc;

	if (!courier)
		return NULL;
	attr.pd = qp->pd->number;
	attr.recvq = held_queue(qp->held);
	attr.user = (uintptr_t)courier | COURIER_USER;
	while ((rc = weft_qp_open(dev->ep, &attr, &courier->eq)) == WEFT_EFULL)
		if (!zombie_reap(dev, 0, true))
			break;
	if (rc) {
		free(courier);
		return NULL;
	}
	weft_qp_info(courier->eq, &info);
	courier->eq_number = info.qpn;
	courier->psn_tx = (uint32_t)device_random(dev) & WEFT_PSN_MASK;
	courier->qp = qp;
	courier->contact = contact;
	courier->held = held_share(qp->held);
	return courier;
}

void courier_say(const struct courier *courier, struct greet_qp *own)
{
	const struct weft_config *engine = weft_live_engine(courier->qp->dev->live);

	own->eq_number = courier->eq_number;
	own->psn = courier->psn_tx;
	own->mpr_psns = engine->window_psns;
	own->wimm = engine->wimm_max;
	own->profile = WEFT_DEV_DATAGRAM;
	own->trim_nack = true;
}

int courier_connect(
	struct courier *courier, const struct contact *contact, const struct greet_qp *peer)
{
	struct weft_dev *dev = courier->qp->dev;
	const struct weft_config *engine = weft_live_engine(dev->live);
	struct weft_qp_attr attr = attr_of(dev, contact->end.rate_bps);
	uint64_t now = device_now(dev);

	weft_live_qp_mtu(&attr, WEFT_MIN(dev->end.mtu_bytes, contact->end.mtu_bytes));
	attr.peer = contact->peer;
	attr.pathset = contact->pathset;
	attr.peer_qpn = peer->eq_number;
	attr.psn_rx = peer->psn;
	attr.psn_tx = courier->psn_tx;
	attr.mpr_tx_psns = WEFT_MIN(peer->mpr_psns, engine->window_psns);
	attr.wimm_tx = WEFT_MIN(peer->wimm, engine->wimm_max);
	attr.trim_nack_rx = peer->trim_nack;
	return weft_qp_move(courier->eq, WEFT_QP_RTR, &attr, now) ||
			       weft_qp_move(courier->eq, WEFT_QP_RTS, &attr, now)
		       ? -1
		       : 0;
}

/* What it has goes out still, and what comes is acknowledged and is nobody's. */
void courier_let_go(struct courier *courier)
{
	struct weft_dev *dev = courier->qp->dev;
	const struct contact *contact = courier->contact;
	struct zombie zombie = { .eq = courier->eq,
		.courier = courier,
		.peer = contact->peer,
		.has_peer = contact->known };

	courier->qp = NULL;
	courier->contact = NULL;
	zombie_make(dev, &zombie, contact->known);
}

void courier_free(struct courier *courier)
{
	held_release(courier->held);
	free(courier);
}

int courier_send(struct courier *courier, struct weft_work *work)
{
	struct weft_dev *dev = courier->qp->dev;
	uint64_t now = weft_pump_now(dev->pump);
	uint8_t *copy;
	int rc;

	if (!courier->under_way)
		courier->moved_ns = now;
	if (courier->under_way == weft_live_engine(dev->live)->sq_depth) {
		if (now - courier->moved_ns >= SILENCE_NS) {
			dev->datagrams.lost++;
			return ENOENT;
		}
		greet_due(dev, courier->moved_ns + SILENCE_NS);
		return EAGAIN;
	}
	copy = malloc(WEFT_MAX(work->len_bytes, 1u));
	if (!copy)
		return EAGAIN;
	if (work->len_bytes && !weft_nofault_copy(copy, work->data, work->len_bytes)) {
		(void)weft_nofault_take();
		free(copy);
		return ENOENT; /* it was there a moment ago: give_one() has looked */
	}

	struct weft_work own = *work;

	own.data = copy;
	own.id = (uintptr_t)copy;
	own.silent = false;
	rc = weft_post(courier->eq, &own);
	if (rc) { /* it has just failed, and its contact is about to be forgotten */
		free(copy);
		return rc == WEFT_EFULL ? EAGAIN : ENOENT;
	}
	courier->under_way++;
	return 0;
}

/* False: it is as if it had not come. */
static bool take(struct courier *courier, const struct weft_done *done)
{
	struct weft_dev_qp *qp = courier->qp;
	struct weft_dev *dev = qp->dev;
	const uint8_t *gid = done->group ? group_of(qp, done->group) : dev->name.gid;
	struct weft_dev_wc wc = { .status = WEFT_DEV_OK,
		.op = WEFT_DEV_DONE_RECV,
		.len_bytes = WEFT_GRH_BYTES + done->len_bytes,
		.imm = done->imm,
		.src_qpn = courier->contact->qpn,
		.flags = WEFT_DEV_WC_GRH |
			 (done->flags & WEFT_DONE_HAS_IMM ? WEFT_DEV_WC_WITH_IMM : 0u) };

	courier->contact->used_ns = weft_pump_now(dev->pump);
	dev->datagrams.refused += done->qkey != qp->attr.qkey;
	/* To a group that it has left meanwhile, or was never in. */
	dev->datagrams.copies_refused += !gid;
	if (done->qkey != qp->attr.qkey || !gid || qp->attr.state == WEFT_DEV_ERR)
		return false;
	courier->contact->is_passive = false;
	held_put(qp, done->id, &wc, (struct grh){ courier->contact->gid, gid },
		done->flags & WEFT_DONE_SOLICITED);
	return true;
}

void courier_done(struct weft_dev *dev, struct courier *courier, const struct weft_done *done)
{
	if (done->kind == WEFT_DONE_DATAGRAM) {
		free((void *)(uintptr_t)done->id);
		courier->under_way--;
		courier->moved_ns = weft_pump_now(dev->pump);
		if (courier->qp && courier->qp->sq_fed != courier->qp->sq_tail)
			queue_backlog(courier->qp);
	} else if (done->status || !courier->qp || !take(courier, done)) {
		held_drop(courier->held, done->id);
	}
}
