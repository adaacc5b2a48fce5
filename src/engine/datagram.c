/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datagram - one packet, to anybody, with no promise (IBTA's UD).
 *
 * Sprayed over the good paths of the set that the work names, and complete when it has left: there
 * is no PSN, no record, no acknowledgement, no window.  Nobody but the Q_Key guards the receiver.
 * What finds no receive, or too short a one, is dropped and counted.
 *
 * A receive begins with 40 bytes for a global route header, which are left to whoever knows
 * addresses.
 */
#include "local.h"

static void build(struct weft_qp *qp, const struct sq_work *work, const struct pathset *set,
		  uint32_t path, struct weft_pkt *pkt, uint64_t now)
{
	const struct work_extra *extra = &qp->ext->extra[qp->sq_head & qp->ep->sq_mask];

	*pkt = (struct weft_pkt){
		.peer = set->peer,
		.ev = set->path[path].ev,
		.port = set->path[path].plane,
		.tclass = WEFT_CLASS_NO_TRIM, /* nobody would send the rest again */
		.op = work->has_imm ? WEFT_OP_DATAGRAM_IMM : WEFT_OP_DATAGRAM,
		.flags = WEFT_BTH_TS | (work->marks & WORK_SOLICITED ? WEFT_BTH_SOLICITED : 0),
		.sqpn_low = (uint16_t)qp->qpn,
		.dqpn = extra->peer_qpn,
		.w = { .data = work->data,
		       .va = work->va,
		       .rkey = work->rkey,
		       .msg_bytes = work->len_bytes,
		       .imm = work->imm,
		       .ts = (uint16_t)(now / WEFT_TS_UNIT_NS),
		       .len_bytes = (uint16_t)work->len_bytes },
	};
}

static void complete(struct weft_qp *qp)
{
	qp->sq_send++;
	cq_finish_work(qp, WEFT_OK);
}

size_t datagram_send(struct weft_qp *qp, struct weft_pkt pkts[], size_t max, uint32_t ports,
		     uint64_t now, uint32_t *blocked)
{
	struct weft_endpoint *ep = qp->ep;
	size_t n = 0;

	*blocked = false;
	while (n < max && qp->sq_head != qp->sq_tail && qp->state == WEFT_QP_RTS) {
		const struct sq_work *work = &qp->sq[qp->sq_head & ep->sq_mask];
		struct pathset *set = &ep->sets[qp->ext->extra[qp->sq_head & ep->sq_mask].pathset];

		if (!set->in_use || !pathset_has_port(ep, set, ep->ports_up)) {
			complete(qp); /* lost on its way, as far as anybody can tell */
			continue;
		}
		uint32_t path = pathset_pick(ep, set, ports, PATH_NONE);

		if (path == PATH_NONE) {
			*blocked = true;
			return n;
		}
		set->path[path].sent++;
		build(qp, work, set, path, &pkts[n++], now);
		ep->count.tx_datagram++;
		complete(qp);
	}
	return n;
}

static enum weft_drop fault_of(const struct weft_qp *qp, const struct weft_pkt *pkt)
{
	if (pkt->op != WEFT_OP_DATAGRAM && pkt->op != WEFT_OP_DATAGRAM_IMM)
		return WEFT_DROP_EXTENDED;
	if (pkt->mark & (WEFT_MARK_TRIMMED | WEFT_MARK_TRIMMED_LASTHOP))
		return WEFT_DROP_TRIM_NOT_AGREED;
	if (pkt->w.rkey != qp->ext->qkey)
		return WEFT_DROP_BAD_QKEY;
	if (pkt->w.len_bytes != pkt->w.msg_bytes || (uint32_t)pkt->w.va > WEFT_PSN_MASK ||
	    pkt->w.len_bytes > qp->ep->config.mtu_bytes)
		return WEFT_DROP_BAD_LENGTH;
	return WEFT_DROP_COUNT;
}

/* No room in its receive.  One whose memory was taken back ends the QP; else every datagram after
 * this one would be lost to it, and nobody told. */
static void refuse(struct weft_qp *qp, const struct recv_slot *slot)
{
	drop_count(qp->ep, !slot || slot->spoilt ? WEFT_DROP_NO_RECV : WEFT_DROP_TOO_LONG);
	if (!slot || !slot->spoilt)
		return;
	struct weft_done done = {
		.id = qp->rq[qp->rq_head++ & qp->ep->rq_mask],
		.kind = WEFT_DONE_RECV,
		.status = WEFT_LOCAL_PROTOCOL,
	};

	cq_push(qp, qp->cq_rx, &done);
	qp_fail(qp, WEFT_LOCAL_PROTOCOL);
}

void datagram_take(struct weft_qp *qp, const struct weft_pkt *pkt, struct weft_place *place)
{
	enum weft_drop why = fault_of(qp, pkt);

	if (why != WEFT_DROP_COUNT) {
		drop_count(qp->ep, why);
		return;
	}
	const struct recv_slot *slot = recvq_bind(qp, 0);
	uint32_t len = WEFT_GRH_BYTES + pkt->w.len_bytes;

	if (!slot || len > slot->len_bytes) {
		refuse(qp, slot);
		return;
	}
	if (pkt->w.len_bytes) {
		place->to = slot->scattered ? slot->to : (uint8_t *)slot->to + WEFT_GRH_BYTES;
		place->list_at = slot->scattered ? WEFT_GRH_BYTES + 1 : 0;
		place->from = pkt->w.data;
		place->len_bytes = pkt->w.len_bytes;
	}
	bool has_imm = pkt->op == WEFT_OP_DATAGRAM_IMM;
	struct weft_done done = {
		.id = qp->rq[qp->rq_head++ & qp->ep->rq_mask],
		.len_bytes = len,
		.imm = has_imm ? pkt->w.imm : 0,
		.kind = WEFT_DONE_RECV,
		.status = WEFT_OK,
		.flags = (uint8_t)((has_imm ? WEFT_DONE_HAS_IMM : 0) |
				   (pkt->flags & WEFT_BTH_SOLICITED ? WEFT_DONE_SOLICITED : 0)),
		.peer = pkt->peer,
		.src_qpn = (uint32_t)pkt->w.va,
		.group = (uint32_t)(pkt->w.va >> 32),
	};

	qp->ep->count.rx_datagram++;
	cq_push(qp, qp->cq_rx, &done);
}
