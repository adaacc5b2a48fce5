/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPS_NET_H
#define OPS_NET_H
/*
 * ops_net - the network of engine_ops: loss, copies, marks, trimming, and fields that change.
 *
 * What a carrier of packets vouches for stays true: numbers keep the width they have on the wire,
 * the port is a cable of ours, and there are as many bytes of payload as the length says.
 */
#include "ops.h"

/* ---- the network ---- */

static inline void ops_fly(struct ops *o, uint32_t from, const struct weft_pkt *pkt)
{
	if (pkt->peer >= ENDS || o->flights == FLIGHTS)
		return;
	struct flight *f = &o->flight[o->flights++];

	f->to = (uint8_t)pkt->peer;
	f->pkt = *pkt;
	f->pkt.peer = from;
}

static inline void ops_trim(struct weft_pkt *pkt)
{
	pkt->mark |= pkt->psn & 1 ? WEFT_MARK_TRIMMED : WEFT_MARK_TRIMMED_LASTHOP;
	pkt->w.data = NULL;
	pkt->w.va = 0xfeedfeedfeed;
	pkt->w.rkey = pkt->w.msg_bytes = pkt->w.imm = pkt->w.len_bytes = 0;
}

/* Somebody who must not be lied to would take this for his own. */
static inline bool ops_hits_strict(struct ops *o, uint32_t end, const struct weft_pkt *pkt)
{
	struct weft_qp *qp = weft_qp_find(o->end[end], pkt->dqpn);
	int side;
	struct conn *c = qp ? ops_conn_of(o, end, qp, &side) : NULL;

	return c && c->strict && c->end[!side] == pkt->peer;
}

static inline uint64_t ops_change_number(struct ops *o, uint64_t n, unsigned bits)
{
	uint64_t mask = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;

	switch (ops_below(o, 7)) {
	case 0: return (n ^ UINT64_C(1) << ops_below(o, bits)) & mask;
	case 1: return (n + 1) & mask;
	case 2: return (n - 1) & mask;
	case 3: return 0;
	case 4: return mask;
	case 5: return (n + ops_byte(o)) & mask;
	default: return ops_number(o, 8) & mask;
	}
}

#define OPS_CHANGE(field, bits) ((field) = (__typeof__(field))ops_change_number(o, field, bits))

static inline void ops_change_write(struct ops *o, struct weft_pkt_write *w)
{
	switch (ops_below(o, 9)) {
	case 0: OPS_CHANGE(w->va, 64); break;
	case 8: w->va = OPS_VA + REGION_BYTES - w->len_bytes - 2 + ops_below(o, 5); break;
	case 1: OPS_CHANGE(w->rkey, 32); break;
	case 2: OPS_CHANGE(w->msg_bytes, 32); break;
	case 3: OPS_CHANGE(w->imm, 32); break;
	case 4: OPS_CHANGE(w->msn, 16); break;
	case 5: OPS_CHANGE(w->rqmsn, 16); break;
	case 6: OPS_CHANGE(w->ts, 16); break;
	default: OPS_CHANGE(w->len_bytes, 16); break;
	}
	w->data = ops_source[0]; /* as long as any length can say */
}

static inline void ops_change_sack(struct ops *o, struct weft_pkt_sack *s)
{
	switch (ops_below(o, 14)) {
	case 0: OPS_CHANGE(s->bitmap, 64); break;
	case 1: OPS_CHANGE(s->ev, 32); break;
	case 2: OPS_CHANGE(s->cack_psn, 24); break;
	case 3: OPS_CHANGE(s->rcvd_units, 24); break;
	case 4: OPS_CHANGE(s->psn_offset, 16); break;
	case 5: OPS_CHANGE(s->sack_offset, 16); break;
	case 6: OPS_CHANGE(s->probe_id, 16); break;
	case 7: OPS_CHANGE(s->ts, 16); break;
	case 8: OPS_CHANGE(s->ooo_pkts, 15); break;
	case 9: OPS_CHANGE(s->m, 2); break;
	case 10: OPS_CHANGE(s->mpr_units, 8); break;
	case 11: OPS_CHANGE(s->penalty, 7); break;
	case 12: s->is_probe = !s->is_probe; break;
	default: s->restore_cwnd = !s->restore_cwnd; break;
	}
}

static inline void ops_change_body(struct ops *o, struct weft_pkt *pkt)
{
	static const uint8_t reasons[] = { 0x01, 0x02, 0x06, 0x07, 0x0A, 0x0B, 0x19 };

	if (weft_op_is_write(pkt->op)) {
		ops_change_write(o, &pkt->w);
	} else if (pkt->op == WEFT_OP_SACK) {
		ops_change_sack(o, &pkt->sack);
	} else if (pkt->op == WEFT_OP_NACK) {
		switch (ops_below(o, 5)) {
		case 0: OPS_CHANGE(pkt->nack.ev, 32); break;
		case 1: OPS_CHANGE(pkt->nack.psn, 24); break;
		case 2: OPS_CHANGE(pkt->nack.ts, 16); break;
		case 3: pkt->nack.reason = reasons[ops_below(o, sizeof(reasons))]; break;
		default: OPS_CHANGE(pkt->nack.reason, 8); break;
		}
	} else if (pkt->op == WEFT_OP_ACK) {
		if (ops_chance(o, 128))
			OPS_CHANGE(pkt->ack.msn, 24);
		else
			OPS_CHANGE(pkt->ack.syndrome, 8);
	} else if (pkt->op == WEFT_OP_PROBE) {
		OPS_CHANGE(pkt->probe.probe_id, 16);
	} else {
		switch (ops_below(o, 3)) {
		case 0: OPS_CHANGE(pkt->ep.port_mask, 32); break;
		case 1: OPS_CHANGE(pkt->ep.ts, 16); break;
		default: OPS_CHANGE(pkt->ep.op, 2); break;
		}
	}
}

/* One field becomes something else.  The port stays one that exists: our own cable says it. */
static inline void ops_change(struct ops *o, struct weft_pkt *pkt)
{
	static const uint8_t ops[] = { 0xC6, 0xC7, 0xC8, 0xC9, 0xCA, 0xCB, 0xD1, 0xD8, 0xD9, 0xDC,
				       0xDD, 0xDE, 0x06, 0xFF };
	uint8_t was = pkt->op;

	switch (ops_below(o, 12)) {
	case 0: OPS_CHANGE(pkt->dqpn, 24); break;
	case 1: OPS_CHANGE(pkt->psn, 24); break;
	case 2: OPS_CHANGE(pkt->flags, 8); break;
	case 3: pkt->mark = (uint8_t)ops_below(o, 8); break;
	case 4: pkt->op = ops[ops_below(o, sizeof(ops))]; break;
	case 5: OPS_CHANGE(pkt->ev, 32); break;
	case 6: pkt->port = (uint8_t)ops_below(o, PORTS); break;
	case 7: pkt->peer = ops_below(o, ENDS + 1); break;
	default: ops_change_body(o, pkt); break;
	}
	if (pkt->op == was || (weft_op_is_write(was) && weft_op_is_write(pkt->op)))
		return;
	memset(&pkt->w, 0, sizeof(*pkt) - offsetof(struct weft_pkt, w)); /* another body */
	for (uint32_t i = ops_below(o, 8); i; i--)
		ops_change_body(o, pkt);
	if (weft_op_is_write(pkt->op))
		pkt->w.data = ops_source[0];
}

static inline void ops_net(struct ops *o, uint32_t from, const struct weft_pkt *sent)
{
	struct weft_pkt pkt = *sent;
	uint32_t to = pkt.peer;

	if (o->healed) {
		ops_fly(o, from, &pkt);
		return;
	}
	if (o->dead[from] >> pkt.port & 1 || (to < ENDS && o->dead[to] >> pkt.port & 1) ||
	    ops_chance(o, o->drop))
		return;
	if (ops_chance(o, o->mark) && pkt.tclass != WEFT_CLASS_CONTROL)
		pkt.mark |= WEFT_MARK_CE;
	if (weft_op_is_write(pkt.op) && ops_chance(o, o->trim))
		ops_trim(&pkt);
	if (ops_chance(o, o->dup))
		ops_fly(o, from, &pkt);
	if (to < ENDS && ops_chance(o, o->change)) {
		pkt.peer = from; /* as the receiver sees it */
		ops_change(o, &pkt);
		if (ops_hits_strict(o, to, &pkt))
			return;
		from = pkt.peer;
		pkt.peer = to;
	}
	ops_fly(o, from, &pkt);
}

#endif
