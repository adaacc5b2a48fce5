/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * respond - packets become placements: window, duplicates, checks, order of immediates.
 *
 * Every packet says where its own bytes go, so it is placed as it arrives and nothing is
 * reordered; only immediates wait, parked by RQMSN, until everything before them is there.
 *
 * Order of checks: what can be answered without looking at memory comes first (window,
 * duplicates), and nothing of our state moves before the last check has passed.  A wrong key
 * or range from the right peer with a fresh PSN is that peer's error: it is told (NAK) and the
 * QP stops, as IBTA demands; from anybody else it never gets here.
 *
 * Hot: respond_write() runs per packet.
 */
#include "local.h"

static void refuse(struct weft_qp *qp, enum weft_drop why, uint8_t syndrome, uint8_t port,
		   enum weft_status status)
{
	drop_count(qp->ep, why);
	ack_out_ack(qp, syndrome, port);
	qp_fail(qp, status);
}

static bool length_fits(const struct weft_pkt *pkt, uint32_t mtu)
{
	uint32_t len = pkt->w.len_bytes;

	if (WEFT_LIKELY(pkt->op <= WEFT_OP_WRITE_MIDDLE))
		return len == mtu && pkt->w.msg_bytes > mtu;
	switch (pkt->op) {
	case WEFT_OP_WRITE_LAST:
	case WEFT_OP_WRITE_LAST_IMM:
		return len > 0 && len <= mtu && pkt->w.msg_bytes > mtu;
	default:
		return len <= mtu && len == pkt->w.msg_bytes;
	}
}

static void deliver_immediates(struct weft_qp *qp, uint8_t port)
{
	struct weft_endpoint *ep = qp->ep;

	for (;;) {
		struct parked_imm *imm = &qp->parked[qp->rx_rqmsn & ep->wimm_mask];

		if (!imm->valid || weft_psn_diff(imm->psn, qp->rx_cack) > 0)
			return;
		if (qp->rq_head == qp->rq_tail) { /* no RNR in MRC: the QP ends */
			refuse(qp, WEFT_DROP_NO_RECV, WEFT_AETH_NAK_REMOTE_OPERATION, port,
			       WEFT_LOCAL_NO_RECV);
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
		if (qp->state == WEFT_QP_ERROR)
			return;
	}
}

static void hear_inbound(struct weft_qp *qp, uint64_t now)
{
	struct weft_endpoint *ep = qp->ep;
	struct pathset *set = &ep->sets[qp->set];

	if (set->heard)
		return;
	set->heard = true;
	probe_arm(ep, qp->set, now);
}

/* A trimmed packet is a promise that its bytes are lost: nothing in it is placed. */
static void respond_trimmed(struct weft_qp *qp, const struct weft_pkt *pkt, int32_t ahead,
			    uint64_t now)
{
	struct weft_endpoint *ep = qp->ep;

	ep->count.rx_trimmed++;
	if (!qp->trim_nack_rx)
		drop_count(ep, WEFT_DROP_TRIM_NOT_AGREED);
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
static bool is_news(struct weft_qp *qp, const struct weft_pkt *pkt, int32_t ahead, uint64_t now)
{
	struct weft_endpoint *ep = qp->ep;

	if (ahead >= (int32_t)qp->rx_mpr) {
		drop_count(ep, WEFT_DROP_PSN_ABOVE);
		if (now - qp->oor_nack_ns >= ep->config.base_rtt_ns) {
			qp->oor_nack_ns = now;
			ack_out_nack(qp, pkt, WEFT_NACK_PSN_OOR_WINDOW, now);
		}
		return false;
	}
	if (ahead < -WEFT_MPR_MAX_PSNS) {
		drop_count(ep, WEFT_DROP_PSN_BELOW);
		return false;
	}
	if (ahead <= 0 || window_has(qp, pkt->psn)) {
		drop_count(ep, WEFT_DROP_DUPLICATE);
		ep->count.rx_duplicate++;
		ack_out_on_data(qp, pkt, false, now);
		return false;
	}
	return true;
}

static bool park_immediate(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	uint16_t ahead = (uint16_t)(pkt->w.rqmsn - qp->rx_rqmsn);
	struct parked_imm *imm = &qp->parked[pkt->w.rqmsn & qp->ep->wimm_mask];

	if (ahead >= qp->wimm_rx || imm->valid)
		return false;
	*imm = (struct parked_imm){
		.psn = pkt->psn,
		.imm = pkt->w.imm,
		.msg_bytes = pkt->w.msg_bytes,
		.valid = true,
	};
	qp->parked_imms++;
	return true;
}

/* Above the cumulative PSN: remembered in the window, and as news for the next SACK. */
static void take_ahead(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	window_set(qp, pkt->psn, weft_op_ends_message(pkt->op));
	qp->rx_ooo++;
	if (!qp->rx_fresh || weft_psn_diff(pkt->psn, qp->rx_low_new) < 0) {
		qp->rx_low_new = pkt->psn;
		qp->rx_fresh = true;
	}
}

/* The one that was waited for: it never enters the window, but may free a run that is there. */
static void take_next(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	qp->rx_cack = pkt->psn;
	qp->rx_msn += weft_op_ends_message(pkt->op);
	if (qp->rx_ooo)
		qp->rx_ooo -= window_advance(qp);
}

static void take(struct weft_qp *qp, const struct weft_pkt *pkt, int32_t ahead, uint64_t now)
{
	struct weft_endpoint *ep = qp->ep;

	if (weft_psn_diff(pkt->psn, qp->rx_max) > 0)
		qp->rx_max = pkt->psn;
	if (ahead == 1)
		take_next(qp, pkt);
	else
		take_ahead(qp, pkt);
	qp->rx_bytes += weft_nominal_bytes(pkt->w.len_bytes);
	qp->rx_trigger += WEFT_MAX(pkt->w.len_bytes, 1024);
	ep->count.rx_data_pkts++;
	ep->count.rx_data_bytes += pkt->w.len_bytes;
	hear_inbound(qp, now);
	/* The usual packet demands nothing and completes nothing. */
	if (qp->rx_trigger >= ep->config.sack_bytes || qp->rx_msn != qp->rx_msn_told ||
	    pkt->mark || pkt->flags & (WEFT_BTH_RTX | WEFT_BTH_ACK_REQ))
		ack_out_on_data(qp, pkt, true, now);
	if (qp->parked_imms)
		deliver_immediates(qp, pkt->port);
}

void respond_write(struct weft_qp *qp, const struct weft_pkt *pkt, uint64_t now,
		   struct weft_place *place)
{
	struct weft_endpoint *ep = qp->ep;
	int32_t ahead = weft_psn_diff(pkt->psn, qp->rx_cack);
	uint8_t *to = NULL;
	enum weft_drop why;

	if (WEFT_UNLIKELY(pkt->mark & (WEFT_MARK_TRIMMED | WEFT_MARK_TRIMMED_LASTHOP))) {
		respond_trimmed(qp, pkt, ahead, now);
		return;
	}
	/* Inside the window, and not there yet: almost always, so asked first. */
	if (WEFT_UNLIKELY((uint32_t)(ahead - 1) >= qp->rx_mpr - 1 || window_has(qp, pkt->psn)) &&
	    !is_news(qp, pkt, ahead, now))
		return;
	if (!length_fits(pkt, ep->config.mtu_bytes)) {
		refuse(qp, WEFT_DROP_BAD_LENGTH, WEFT_AETH_NAK_INVALID_REQUEST, pkt->port,
		       WEFT_LOCAL_PROTOCOL);
		return;
	}
	if (pkt->w.len_bytes) {
		to = region_place(ep, pkt->w.rkey, qp->pd, pkt->w.va, pkt->w.len_bytes, &why);
		if (!to) {
			refuse(qp, why, WEFT_AETH_NAK_REMOTE_ACCESS, pkt->port,
			       WEFT_LOCAL_PROTOCOL);
			return;
		}
	}
	if (weft_op_has_imm(pkt->op) && !park_immediate(qp, pkt)) {
		refuse(qp, WEFT_DROP_WIMM_OVERFLOW, WEFT_AETH_NAK_WIMM_OVERFLOW, pkt->port,
		       WEFT_LOCAL_PROTOCOL);
		return;
	}
	place->to = to;
	place->from = pkt->w.data;
	place->len_bytes = pkt->w.len_bytes;
	take(qp, pkt, ahead, now);
}
