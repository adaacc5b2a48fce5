/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * respond - packets become placements: window, duplicates, checks, order of immediates.
 *
 * Every packet says where its own bytes go, so it is placed as it arrives [P 2.2] and nothing is
 * reordered; only immediates wait, parked by RQMSN, until everything before them is there [P 2.3].
 *
 * Order of checks: what can be answered without looking at memory comes first (window [P 8.10],
 * duplicates [P 2.8]), and nothing of our state moves before the last check has passed.  A wrong
 * key or range from the right peer with a fresh PSN is that peer's error: it is told (NAK) and the
 * QP stops, as IBTA demands; from anybody else it never gets here.
 *
 * Hot: respond_write() runs per packet.
 */
#include "engine_local.h"

#define SLOW __attribute__((noinline)) /* off the common path: see respond_write() */

void respond_refuse(struct weft_qp *qp, enum weft_drop why, uint8_t syndrome, uint8_t port,
		    enum weft_status status)
{
	drop_count(qp->ep, why);
	ack_out_ack(qp, syndrome, port);
	qp_fail(qp, status);
	qp->nak = qp->refused = syndrome;
}

static bool length_fits(const struct weft_pkt *pkt, uint32_t mtu)
{
	uint32_t len = pkt->w.len_bytes;

	switch (pkt->op) {
	case WEFT_OP_WRITE_FIRST:
	case WEFT_OP_WRITE_MIDDLE:
		return len == mtu && pkt->w.msg_bytes > mtu;
	case WEFT_OP_WRITE_LAST:
	case WEFT_OP_WRITE_LAST_IMM:
		return len > 0 && len <= mtu && pkt->w.msg_bytes > mtu;
	default:
		return len <= mtu && len == pkt->w.msg_bytes;
	}
}

/* The NAK is about this message: it and all after it are not acknowledged. */
static SLOW void refuse_immediate(struct weft_qp *qp, const struct parked_imm *imm, uint8_t port)
{
	qp->rx_msn -= (uint16_t)(qp->rx_msn - imm->msn);
	ack_out_ack(qp, WEFT_AETH_NAK_REMOTE_OPERATION, port);
	qp->nak = WEFT_AETH_NAK_REMOTE_OPERATION;
}

static void deliver_immediates(struct weft_qp *qp, uint8_t port)
{
	struct weft_endpoint *ep = qp->ep;

	for (;;) {
		struct parked_imm *imm = &qp->parked[qp->rx_rqmsn & ep->wimm_mask];

		if (!imm->valid || weft_psn_diff(imm->psn, qp->rx_cack) > 0)
			return;
		if (qp->rq_head == qp->rq_tail) { /* no RNR in MRC: the QP ends */
			drop_count(ep, WEFT_DROP_NO_RECV);
			refuse_immediate(qp, imm, port);
			qp_fail(qp, WEFT_LOCAL_NO_RECV);
			return;
		}
		struct weft_done done = {
			.id = qp->rq[qp->rq_head++ & ep->rq_mask],
			.len_bytes = imm->msg_bytes,
			.imm = imm->imm,
			.kind = WEFT_DONE_RECV_IMM,
			.status = WEFT_OK,
		};
		imm->valid = false;
		qp->parked_imms--;
		qp->rx_rqmsn++;
		cq_push(qp, qp->cq_rx, &done);
		if (qp->state == WEFT_QP_ERROR) { /* no room to tell the application */
			refuse_immediate(qp, imm, port);
			return;
		}
	}
}

/* A trimmed packet is a promise that its bytes are lost: nothing in it is placed. */
static SLOW void respond_trimmed(struct weft_qp *qp, const struct weft_pkt *pkt, int32_t ahead,
				 uint64_t now)
{
	struct weft_endpoint *ep = qp->ep;

	ep->count.rx_trimmed++;
	if (!qp->trim_nack_rx)
		drop_count(ep, WEFT_DROP_TRIM_NOT_AGREED);
	else if (ahead < -WEFT_MPR_MAX_PSNS)
		drop_count(ep, WEFT_DROP_PSN_BELOW);
	else if (ahead <= 0 || (ahead < (int32_t)qp->rx_mpr && window_has(qp, pkt->psn)))
		ack_out_on_data(qp, pkt, false, now);
	else if (ahead >= (int32_t)qp->rx_mpr)
		drop_count(ep, WEFT_DROP_PSN_ABOVE);
	else
		ack_out_nack(qp, pkt,
			     pkt->mark & WEFT_MARK_TRIMMED_LASTHOP ? WEFT_NACK_TRIMMED_LASTHOP :
								     WEFT_NACK_TRIMMED,
			     now);
}

/* Outside the window, or seen before: answered as the protocol says, never written. */
static SLOW void respond_old(struct weft_qp *qp, const struct weft_pkt *pkt, int32_t ahead,
			     uint64_t now)
{
	struct weft_endpoint *ep = qp->ep;

	if (ahead >= (int32_t)qp->rx_mpr) {
		drop_count(ep, WEFT_DROP_PSN_ABOVE);
		if (now - qp->oor_nack_ns < ep->config.base_rtt_ns)
			return;
		qp->oor_nack_ns = now;
		ack_out_nack(qp, pkt, WEFT_NACK_PSN_OOR_WINDOW, now);
	} else if (ahead < -WEFT_MPR_MAX_PSNS) {
		drop_count(ep, WEFT_DROP_PSN_BELOW);
	} else {
		drop_count(ep, WEFT_DROP_DUPLICATE);
		ep->count.rx_duplicate++;
		ack_out_on_data(qp, pkt, false, now);
	}
}

bool respond_park(struct weft_qp *qp, const struct weft_pkt *pkt, uint8_t how)
{
	uint16_t ahead = (uint16_t)(pkt->w.rqmsn - qp->rx_rqmsn);
	struct parked_imm *imm = &qp->parked[pkt->w.rqmsn & qp->ep->wimm_mask];

	if (ahead >= qp->wimm_rx || imm->valid)
		return false;
	*imm = (struct parked_imm){
		.psn = pkt->psn,
		.imm = how & PARKED_SHUTS ? pkt->w.rkey : pkt->w.imm,
		.msg_bytes = pkt->w.msg_bytes,
		.msn = pkt->w.msn,
		.valid = true,
		.how = how,
	};
	qp->parked_imms++;
	return true;
}

/* What a fresh packet may still be wrong about; answered, and the QP stops. */
static bool is_refused(struct weft_qp *qp, const struct weft_pkt *pkt, const uint8_t *to)
{
	struct weft_endpoint *ep = qp->ep;
	uint8_t how = pkt->flags & WEFT_BTH_SOLICITED ? PARKED_IMM | PARKED_SOLICITED : PARKED_IMM;
	uint16_t ahead = (uint16_t)(pkt->w.rqmsn - qp->rx_rqmsn); /* of the next to be told */
	const struct reach asked = { pkt->w.rkey, qp->pd, qp->qpn, pkt->w.len_bytes,
		WEFT_ACCESS_REMOTE_WRITE, pkt->w.va };

	if (qp->deny & WEFT_ACCESS_REMOTE_WRITE)
		respond_refuse(qp, WEFT_DROP_BAD_ACCESS, WEFT_AETH_NAK_INVALID_REQUEST, pkt->port,
			       WEFT_LOCAL_PROTOCOL);
	else if (!length_fits(pkt, qp->mtu_bytes))
		respond_refuse(qp, WEFT_DROP_BAD_LENGTH, WEFT_AETH_NAK_INVALID_REQUEST, pkt->port,
			       WEFT_LOCAL_PROTOCOL);
	else if (!to && pkt->w.len_bytes)
		respond_refuse(qp,
			       region_fault(ep, &asked),
			       WEFT_AETH_NAK_REMOTE_ACCESS, pkt->port, WEFT_LOCAL_PROTOCOL);
	else if (!weft_op_has_imm(pkt->op))
		return false;
	else if (qp->kind == QP_EXTENDED && ahead < qp->wimm_rx && !recvq_bind(qp, ahead))
		recvq_refuse(qp, pkt, ep->now); /* once more later, when there is a receive */
	else if (!respond_park(qp, pkt, how))
		respond_refuse(qp, WEFT_DROP_WIMM_OVERFLOW, WEFT_AETH_NAK_WIMM_OVERFLOW, pkt->port,
			       WEFT_LOCAL_PROTOCOL);
	else
		return false;
	return true;
}

/* The usual packet demands nothing and completes nothing; this one may. */
static SLOW void answer_and_deliver(struct weft_qp *qp, const struct weft_pkt *pkt,
				    uint64_t now)
{
	ack_out_on_data(qp, pkt, true, now);
	if (qp->parked_imms && qp->kind == QP_STRICT)
		deliver_immediates(qp, pkt->port);
	else if (qp->parked_imms)
		respond_deliver(qp, pkt->port);
}

/* The one that was waited for: it never enters the window, but may free a run that is there. */
static SLOW void take_next(struct weft_qp *qp, const struct weft_pkt *pkt, bool last,
			   uint64_t now)
{
	qp->rx_cack = pkt->psn;
	qp->rx_msn += last;
	if (qp->rx_ooo)
		qp->rx_ooo = (uint16_t)(qp->rx_ooo - window_advance(qp));
	answer_and_deliver(qp, pkt, now);
}

static inline void take(struct weft_qp *qp, const struct weft_pkt *pkt, int32_t ahead, bool last,
			uint64_t now)
{
	struct weft_endpoint *ep = qp->ep;
	uint32_t len = pkt->w.len_bytes;

	qp->rx_bytes += weft_nominal_bytes(len);
	qp->rx_trigger += WEFT_MAX(len, 1024u);
	ep->count.rx_data_pkts++;
	ep->count.rx_data_bytes += len;
	if (ahead == 1) {
		take_next(qp, pkt, last, now);
		return;
	}
	window_set(qp, pkt->psn, last);
	qp->rx_ooo++;
	if (weft_psn_diff(pkt->psn, qp->rx_max) > 0)
		qp->rx_max = pkt->psn;
	if (!qp->rx_fresh || weft_psn_diff(pkt->psn, qp->rx_low_new) < 0) {
		qp->rx_low_new = pkt->psn;
		qp->rx_fresh = true;
	}
	if (qp->rx_trigger >= ep->config.sack_bytes || pkt->mark ||
	    pkt->flags & (WEFT_BTH_RTX | WEFT_BTH_ACK_REQ))
		answer_and_deliver(qp, pkt, now);
}

/* The same two steps for packets of the extended profile.  True: dealt with, go no further. */
bool respond_stray(struct weft_qp *qp, const struct weft_pkt *pkt, uint64_t now)
{
	int32_t ahead = weft_psn_diff(pkt->psn, qp->rx_cack);

	if (pkt->mark & (WEFT_MARK_TRIMMED | WEFT_MARK_TRIMMED_LASTHOP)) {
		respond_trimmed(qp, pkt, ahead, now);
		return true;
	}
	if ((uint32_t)(ahead - 1) < qp->rx_mpr - 1 && !window_has(qp, pkt->psn))
		return false;
	respond_old(qp, pkt, ahead, now);
	return true;
}

void respond_take(struct weft_qp *qp, const struct weft_pkt *pkt, bool last, uint64_t now)
{
	take(qp, pkt, weft_psn_diff(pkt->psn, qp->rx_cack), last, now);
}

/* Any packet but a full one from the beginning or the middle of a message. */
static SLOW void respond_special(struct weft_qp *qp, const struct weft_pkt *pkt, uint8_t *to,
				 int32_t ahead, uint64_t now, struct weft_place *place)
{
	const struct reach asked = { pkt->w.rkey, qp->pd, qp->qpn, pkt->w.len_bytes,
		WEFT_ACCESS_REMOTE_WRITE, pkt->w.va };

	if (!to && pkt->w.len_bytes && qp->kind == QP_EXTENDED)
		to = region_reach(qp->ep, &asked); /* by a window of this QP's */
	if (is_refused(qp, pkt, to))
		return;
	bool last = weft_op_ends_message(pkt->op);

	place->to = to;
	place->from = pkt->w.data;
	place->len_bytes = pkt->w.len_bytes;
	if (qp->kind == QP_EXTENDED && last && (ahead > 1 || qp->ext->tails))
		tails_keep(qp, pkt, place);
	take(qp, pkt, ahead, last, now);
}

/* All calls from here are tail calls: the common packet saves and restores nothing. */
void respond_write(struct weft_qp *qp, const struct weft_pkt *pkt, uint64_t now,
		   struct weft_place *place)
{
	int32_t ahead = weft_psn_diff(pkt->psn, qp->rx_cack);
	uint32_t mtu = qp->mtu_bytes, len = pkt->w.len_bytes;

	if (WEFT_UNLIKELY(pkt->mark & (WEFT_MARK_TRIMMED | WEFT_MARK_TRIMMED_LASTHOP))) {
		respond_trimmed(qp, pkt, ahead, now);
		return;
	}
	if (WEFT_UNLIKELY((uint32_t)(ahead - 1) >= qp->rx_mpr - 1 || window_has(qp, pkt->psn))) {
		respond_old(qp, pkt, ahead, now);
		return;
	}
	uint8_t *to = region_place(qp->ep, pkt->w.rkey, qp->pd, pkt->w.va, len);

	if (WEFT_UNLIKELY(pkt->op > WEFT_OP_WRITE_MIDDLE || len != mtu || !to ||
			  pkt->w.msg_bytes <= mtu)) {
		respond_special(qp, pkt, to, ahead, now, place);
		return;
	}
	place->to = to;
	place->from = pkt->w.data;
	place->len_bytes = len;
	take(qp, pkt, ahead, false, now);
}
