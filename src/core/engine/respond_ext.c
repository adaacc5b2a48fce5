/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * respond_ext - packets of the extended profile become placements, and wait for their turn.
 *
 * As in respond.c, what can be answered without looking at memory comes first, and nothing of our
 * state moves before the last check has passed.  New is a packet that finds no receive: it is
 * refused as if it had not come (recvq.c).
 *
 * A send that is longer than its receive is taken without being placed, and fails the QP only in
 * its turn: what was sent before it still arrives, as verbs programs expect.
 */
#include "engine_local.h"

static bool belongs(const struct weft_qp *qp, const struct weft_pkt *pkt)
{
	uint8_t op = pkt->op;

	if (!qp->ext || !weft_op_is_extended(op) || weft_op_is_datagram(op) != qp->ext->datagrams)
		return false;
	bool reply = op >= WEFT_OP_REPLY_FIRST && op <= WEFT_OP_REPLY_REFUSED;

	if (reply)
		return qp->kind == QP_REPLIES;
	return qp->kind == QP_EXTENDED && xrc_belongs(qp, pkt);
}

/* Where in its message a packet of a send may be. */
static bool fits(const struct weft_pkt *pkt, uint32_t mtu)
{
	uint64_t offset = pkt->w.va, end = offset + pkt->w.len_bytes;
	uint32_t msg = pkt->w.msg_bytes;

	if (weft_op_is_datagram(pkt->op)) /* whole, and `va` is something else */
		return pkt->w.len_bytes <= mtu && pkt->w.len_bytes == msg;
	if (offset > msg || end > msg || offset % mtu)
		return false;
	switch (pkt->op) {
	case WEFT_OP_SEND_FIRST:
	case WEFT_OP_SEND_MIDDLE:
		return pkt->w.len_bytes == mtu && end < msg;
	case WEFT_OP_SEND_LAST:
	case WEFT_OP_SEND_LAST_IMM:
		return pkt->w.len_bytes && pkt->w.len_bytes <= mtu && offset && end == msg;
	default:
		return pkt->w.len_bytes <= mtu && !offset && end == msg;
	}
}

static void place_at(struct weft_place *place, void *to, bool scattered, const struct weft_pkt *pkt)
{
	uint32_t offset = weft_op_is_datagram(pkt->op) ? 0 : (uint32_t)pkt->w.va;

	place->to = scattered ? to : (uint8_t *)to + offset;
	place->list_at = scattered ? offset + 1 : 0;
	place->from = pkt->w.data;
	place->len_bytes = pkt->w.len_bytes;
}

/* The key of a window that ends when this arrives; a datagram's is its Q_Key. */
static bool shuts(const struct weft_pkt *pkt)
{
	return pkt->w.rkey && !weft_op_is_datagram(pkt->op);
}

static uint8_t how_of(const struct weft_pkt *pkt)
{
	return (uint8_t)(PARKED_SEND | (weft_op_has_imm(pkt->op) ? PARKED_IMM : 0) |
			 (shuts(pkt) ? PARKED_SHUTS : 0) |
			 (pkt->flags & WEFT_BTH_SOLICITED ? PARKED_SOLICITED : 0));
}

static void take_send(struct weft_qp *qp, const struct weft_pkt *pkt, uint64_t now,
		      struct weft_place *place)
{
	uint16_t ahead = (uint16_t)(pkt->w.rqmsn - qp->rx_rqmsn);
	bool last = weft_op_ends_message(pkt->op);

	if (!fits(pkt, qp->mtu_bytes) || (shuts(pkt) && weft_op_has_imm(pkt->op))) {
		respond_refuse(qp, WEFT_DROP_BAD_LENGTH, WEFT_AETH_NAK_INVALID_REQUEST, pkt->port,
			       WEFT_LOCAL_PROTOCOL);
		return;
	}
	struct recv_slot *slot = ahead < qp->wimm_rx ? recvq_bind(qp, ahead) : NULL;

	if (ahead < qp->wimm_rx && !slot) {
		recvq_refuse(qp, pkt, now);
		return;
	}
	if (ahead >= qp->wimm_rx || (last && !respond_park(qp, pkt, how_of(pkt)))) {
		respond_refuse(qp, WEFT_DROP_WIMM_OVERFLOW, WEFT_AETH_NAK_WIMM_OVERFLOW, pkt->port,
			       WEFT_LOCAL_PROTOCOL);
		return;
	}
	if (qp->ext->datagrams) {
		slot->qkey = pkt->w.rkey;
		slot->group = (uint32_t)pkt->w.va;
	}
	if (pkt->w.len_bytes && pkt->w.msg_bytes <= slot->len_bytes)
		place_at(place, slot->to, slot->scattered, pkt);
	respond_take(qp, pkt, last, now);
}

static void take_request(struct weft_qp *qp, const struct weft_pkt *pkt, uint64_t now)
{
	if (reads_take_request(qp, pkt))
		respond_take(qp, pkt, true, now);
	else
		respond_refuse(qp, WEFT_DROP_BAD_FIELD, WEFT_AETH_NAK_INVALID_REQUEST, pkt->port,
			       WEFT_LOCAL_PROTOCOL);
}

static void take_reply(struct weft_qp *replies, const struct weft_pkt *pkt, uint64_t now,
		       struct weft_place *place)
{
	struct ext *ext = replies->ext;
	struct weft_qp *qp = ext->qp;
	struct read_out *read = reads_find(ext, pkt);

	if (!read) {
		drop_count(qp->ep, WEFT_DROP_UNKNOWN_READ);
		return;
	}
	const struct work_extra *extra = &ext->extra[read->slot];

	qp->ep->count.rx_reply++;
	if (pkt->op == WEFT_OP_REPLY_REFUSED) {
		read->done = true;
		read->status = (uint8_t)ack_in_status((uint8_t)pkt->w.rkey);
	} else {
		if (pkt->w.len_bytes)
			place_at(place, extra->to, extra->scattered, pkt);
		read->done = !--read->pkts_left;
	}
	respond_take(replies, pkt, weft_op_ends_message(pkt->op), now);
	if (qp->state != WEFT_QP_RTS)
		return;
	if (read->done)
		ext_finish(qp);
	if (qp->state == WEFT_QP_RTS)
		ack_in_progress(qp, now); /* the peer is there */
}

static void take_any(struct weft_qp *qp, const struct weft_pkt *pkt, uint64_t now,
		     struct weft_place *place)
{
	if (pkt->op <= WEFT_OP_SEND_ONLY_IMM || weft_op_is_datagram(pkt->op))
		take_send(qp, pkt, now, place);
	else
		take_request(qp, pkt, now);
}

/* One that names a shared queue, whose domain says what it may reach. */
static void take_xrc(struct weft_qp *qp, const struct weft_pkt *pkt, uint64_t now,
		     struct weft_place *place)
{
	struct weft_pkt plain = *pkt;

	if (!xrc_enter(qp, pkt))
		return;
	if (weft_op_is_xrc_write(pkt->op)) {
		plain.op = (uint8_t)(pkt->op - WEFT_OP_XRC_WRITE_FIRST + WEFT_OP_WRITE_FIRST);
		respond_write(qp, &plain, now, place);
	} else {
		take_any(qp, pkt, now, place);
	}
	xrc_leave(qp);
}

void respond_extended(struct weft_qp *qp, const struct weft_pkt *pkt, uint64_t now,
		      struct weft_place *place)
{
	if (!belongs(qp, pkt))
		drop_count(qp->ep, weft_op_is_extended(pkt->op) ? WEFT_DROP_EXTENDED :
								   WEFT_DROP_NOT_MRC);
	else if (respond_stray(qp, pkt, now))
		return;
	else if (qp->kind == QP_REPLIES)
		take_reply(qp, pkt, now, place);
	else if (qp->ext->xrc)
		take_xrc(qp, pkt, now, place);
	else
		take_any(qp, pkt, now, place);
}

/* ---- in turn ---- */

static void tell(struct weft_qp *qp, const struct parked_imm *end, uint8_t status)
{
	uint8_t imm = end->how & PARKED_IMM ? WEFT_DONE_HAS_IMM : 0;
	uint8_t solicited = end->how & PARKED_SOLICITED ? WEFT_DONE_SOLICITED : 0;
	uint8_t shut = end->how & PARKED_SHUTS ? WEFT_DONE_SHUT : 0;
	uint32_t at = qp->rq_head++ & qp->ep->rq_mask;
	const struct recv_slot *slot = &qp->ext->slot[at];
	struct weft_done done = {
		.id = qp->rq[at],
		.recvq = slot->recvq,
		.qkey = slot->qkey,
		.group = slot->group,
		.len_bytes = end->msg_bytes,
		.imm = end->imm,
		.kind = end->how & PARKED_SEND ? WEFT_DONE_RECV : WEFT_DONE_RECV_IMM,
		.status = status,
		.flags = imm | solicited | shut,
	};

	cq_push(qp, qp->cq_rx, &done);
}

/* The NAK is about this message: it and all after it are not acknowledged, those before it are. */
static void refuse_from(struct weft_qp *qp, const struct parked_imm *end, uint8_t syndrome,
			uint8_t port)
{
	tails_cut(qp->ext, end->psn);
	if (qp->ext->tails)
		reads_settle_later(qp->ext);
	qp->rx_msn -= (uint16_t)(qp->rx_msn - end->msn);
	ack_out_ack(qp, syndrome, port);
	qp->nak = qp->refused = syndrome;
}

/* Why a message cannot be what it was to be; WEFT_OK: it can. */
static uint8_t fault_of(struct weft_qp *qp, const struct parked_imm *end, uint8_t *syndrome)
{
	const struct recv_slot *slot = &qp->ext->slot[qp->rq_head & qp->ep->rq_mask];

	if (end->how & PARKED_SEND && end->msg_bytes > slot->len_bytes) {
		drop_count(qp->ep, slot->spoilt ? WEFT_DROP_NO_RECV : WEFT_DROP_BAD_LENGTH);
		*syndrome = slot->spoilt ? WEFT_AETH_NAK_REMOTE_OPERATION
					 : WEFT_AETH_NAK_INVALID_REQUEST;
		return slot->spoilt ? WEFT_LOCAL_PROTOCOL : WEFT_LOCAL_LENGTH;
	}
	if (end->how & PARKED_SHUTS && !memwin_shut_by(qp, end->imm)) {
		drop_count(qp->ep, WEFT_DROP_BAD_RKEY);
		*syndrome = WEFT_AETH_NAK_REMOTE_ACCESS;
		return WEFT_LOCAL_PROTOCOL;
	}
	return WEFT_OK;
}

void respond_deliver(struct weft_qp *qp, uint8_t port)
{
	struct weft_endpoint *ep = qp->ep;
	struct ext *ext = qp->ext;

	for (;;) {
		struct parked_imm *end = &qp->parked[qp->rx_rqmsn & ep->wimm_mask];
		uint8_t syndrome = 0;

		if (!end->valid || weft_psn_diff(end->psn, qp->rx_cack) > 0)
			break;
		WEFT_ASSERT(qp->rq_head != qp->rq_tail);
		end->valid = false;
		qp->parked_imms--;
		qp->rx_rqmsn++;
		uint8_t why = fault_of(qp, end, &syndrome);

		tell(qp, end, why);
		if (qp->state == WEFT_QP_ERROR) { /* no room to tell the application */
			refuse_from(qp, end, WEFT_AETH_NAK_REMOTE_OPERATION, port);
			return;
		}
		if (why) {
			refuse_from(qp, end, syndrome, port);
			qp_fail(qp, why);
			return;
		}
	}
	const struct read_in *in = &ext->in[ext->in_next & ep->rd_mask];

	if ((in->valid && weft_psn_diff(in->psn, qp->rx_cack) <= 0) ||
	    (ext->tails && tails_are_due(ext)))
		reads_settle_later(ext);
}
