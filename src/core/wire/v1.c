/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * v1 - the MRC 1.0 transport headers, byte for byte.
 *
 * Layouts are structs of byte arrays, drawn below as the tables of the specification have them, and
 * read or written field by field: no bit-fields (their order is the compiler's), no packed structs
 * (they invite unaligned pointers), no generic table walker on this path (one was considered: it
 * costs an order of magnitude more than straight stores; wire_fields.c has the table, for showing
 * only, and a test holds the two together).
 *
 * A decoder for strangers' bytes is strict where a wrong value could later be acted on (opcode,
 * TVer, partition, lengths, enumerations) and blind where the specification says reserved.  All
 * lengths are checked once, in front, against the opcode's fixed size; nothing after that can leave
 * the buffer.
 *
 * Packets of the extended profile are shaped like writes and go the same way; only what their
 * lengths may be differs (docs/decisions/110).
 *
 * Sources: MRC 1.0 Tables 6-3..6-9 and 7-10..7-23 as reported by EMU, DISS, NS3A and FPGA
 * (docs/protocol.md); disputed bits are in weft/disputed.h.
 *
 * Hot: one call per packet, each way.
 */
#include <weft/base.h>

#include "wire_local.h"

struct bth { /* [P 1.3] */
	uint8_t op;       /* 110 and the RC opcode */
	uint8_t pad_tver; /* disputed 2 | PadCnt 2 | TVer 4 */
	uint8_t pkey[2];
	uint8_t variant; /* RESERVED, and ones for the ICRC */
	uint8_t dqpn[3];
	uint8_t flags; /* A 1 | RESERVED 1, ours: solicited | RTX 1 | TS 1 | RESERVED 4 */
	uint8_t psn[3];
};

struct meth { /* [P 1.4] */
	uint8_t rqmsn[2];
	uint8_t msn[2];
};

struct tseth { /* [P 1.5] */
	uint8_t ts[2];
	uint8_t res[1];   /* tsr 1 | RESERVED 7 */
	uint8_t ftype[1]; /* RESERVED 4 | ftype 4 */
};

struct reth { /* [P 1.6] */
	uint8_t va[8]; /* of this packet's first byte */
	uint8_t rkey[4];
	uint8_t dma_len[4]; /* of the whole message */
};

struct immdt {
	uint8_t imm[4];
};

struct aeth {
	uint8_t syndrome;
	uint8_t msn[3];
};

struct seth {                  /* with CC_STATE behind it [P 1.8] */
	uint8_t nxt;           /* RESERVED 4 | nxt[4:1] 4, sent as zero */
	uint8_t m_pr;          /* nxt[0] 1 | M 2 | RESERVED 3 | PR 1 | RESERVED 1 */
	uint8_t psn_offset[2]; /* or probe_id when PR */
	uint8_t ev[4];
	uint8_t spdcid[2];
	uint8_t dpdcid[2];
	uint8_t res12; /* RESERVED */
	uint8_t cack_psn[3];
	uint8_t cc_type_flags; /* cc_type 4 | cc_flags 4 */
	uint8_t mpr;
	uint8_t sack_offset[2];
	uint8_t bitmap[8];
	struct {
		uint8_t ts[2];
		uint8_t ooo[2];  /* RESERVED 1 | ooo_count 15 */
		uint8_t penalty; /* restore_cwnd 1 | rcv_cwnd_pen 7 */
		uint8_t rcvd[3];
	} cc;
};

struct neth {
	uint8_t res0[2]; /* RESERVED */
	uint8_t reason;
	uint8_t vendor_info;
	uint8_t ev[4];
	uint8_t spdcid[2];
	uint8_t dpdcid[2];
	uint8_t res12; /* RESERVED */
	uint8_t psn[3];
	uint8_t cc_type_flags;
	uint8_t res17; /* RESERVED */
	uint8_t ts[2];
};

struct peth { /* [P 1.11] */
	uint8_t res0[3]; /* RESERVED */
	uint8_t vendor_info;
	uint8_t probe_id[2];
	uint8_t res6[2]; /* RESERVED */
	uint8_t spdcid[2];
	uint8_t dpdcid[2];
	struct tseth ts;
};

struct erth {
	uint8_t res0; /* RESERVED */
	uint8_t op;   /* RESERVED 6 | op 2 */
	uint8_t res2; /* RESERVED */
	uint8_t vendor_info;
	uint8_t port_mask[4];
	uint8_t res8[4]; /* RESERVED */
	struct tseth ts;
};

struct eeth {         /* the size of SETH and CC_STATE, and the timestamp where CC_STATE has it */
	uint8_t res0; /* RESERVED */
	uint8_t op;   /* RESERVED 2 | op 2 (or, disputed, two bits lower) | RESERVED 4 */
	uint8_t res2[26]; /* RESERVED */
	uint8_t ts[2];
	uint8_t res30[6]; /* RESERVED */
};

#define SIZE_IS(type, bytes) _Static_assert(sizeof(struct type) == (bytes), #type)
#define OFFSET_IS(type, member, bytes)                                                             \
	_Static_assert(offsetof(struct type, member) == (bytes), #type "." #member)
SIZE_IS(bth, 12);
OFFSET_IS(bth, dqpn, 5);
OFFSET_IS(bth, flags, 8);
SIZE_IS(meth, 4);
SIZE_IS(tseth, 4);
SIZE_IS(reth, 16);
OFFSET_IS(reth, dma_len, 12);
SIZE_IS(immdt, 4);
SIZE_IS(aeth, 4);
SIZE_IS(seth, 36);
OFFSET_IS(seth, cack_psn, 13);
OFFSET_IS(seth, mpr, 17);
OFFSET_IS(seth, bitmap, 20);
OFFSET_IS(seth, cc, 28);
OFFSET_IS(seth, cc.penalty, 32);
SIZE_IS(neth, 20);
OFFSET_IS(neth, psn, 13);
OFFSET_IS(neth, ts, 18);
SIZE_IS(peth, 16);
OFFSET_IS(peth, probe_id, 4);
OFFSET_IS(peth, ts, 12);
SIZE_IS(erth, 16);
OFFSET_IS(erth, port_mask, 4);
OFFSET_IS(erth, ts, 12);
SIZE_IS(eeth, 36);
OFFSET_IS(eeth, ts, 28);
_Static_assert(sizeof(struct bth) + sizeof(struct seth) == WEFT_WIRE_HEADERS_MAX, "the longest");
_Static_assert(sizeof(struct bth) + sizeof(struct meth) + sizeof(struct tseth) +
			       sizeof(struct xrceth) + sizeof(struct reth) + sizeof(struct immdt) <=
		       WEFT_WIRE_HEADERS_MAX,
	"writes fit too");

enum {
	FTYPE = 1, /* TSETH.ftype of a timestamp */
	FLAGS_KNOWN = WEFT_BTH_ACK_REQ | WEFT_BTH_SOLICITED | WEFT_BTH_RTX | WEFT_BTH_TS,
	FLAGS_DATA_ONLY = WEFT_BTH_SOLICITED | WEFT_BTH_TS,
	MARK_CUT = WEFT_MARK_TRIMMED | WEFT_MARK_TRIMMED_LASTHOP,
	TVER_BIT = 12,
	PADCNT_BIT = 10,
	PKEY_BIT = 16,
	DQPN_BIT = 40,
};
/* Bit number of a member of the header behind BTH, for faults. */
#define BIT(type, member) (8 * (sizeof(struct bth) + offsetof(struct type, member)))

static void put_ts(struct tseth *tseth, uint16_t ts)
{
	put16(tseth->ts, ts);
	tseth->res[0] = WEFT_TSETH_TSR << 7;
	tseth->ftype[0] = FTYPE;
}

static bool ts_is_valid(const struct tseth *tseth)
{
	return (tseth->ftype[0] & 0x0f) == FTYPE;
}

static size_t put_write(const struct weft_pkt *pkt, uint8_t *start)
{
	uint8_t *p = start;
	struct meth *meth = (struct meth *)p;

	put16(meth->rqmsn, pkt->w.rqmsn);
	put16(meth->msn, pkt->w.msn);
	p += sizeof(*meth);
	if (pkt->flags & WEFT_BTH_TS) {
		put_ts((struct tseth *)p, pkt->w.ts);
		p += sizeof(struct tseth);
	}
	if (WEFT_UNLIKELY(pkt->flags & flag_xrc(pkt->op))) {
		put32(p, pkt->w.srqn & WEFT_PSN_MASK);
		p += sizeof(struct xrceth);
	}
	struct reth *reth = (struct reth *)p;

	put64(reth->va, pkt->w.va);
	put32(reth->rkey, pkt->w.rkey);
	put32(reth->dma_len, pkt->w.msg_bytes);
	p += sizeof(*reth);
	if (weft_op_has_imm(pkt->op)) {
		put32(((struct immdt *)p)->imm, pkt->w.imm);
		p += sizeof(struct immdt);
	}
	return (size_t)(p - start);
}

static size_t put_sack(const struct weft_pkt *pkt, struct seth *seth)
{
	const struct weft_pkt_sack *sack = &pkt->sack;

	seth->nxt = 0;
	seth->m_pr = (uint8_t)((sack->m & 3) << 5 | (sack->is_probe ? 2 : 0));
	put16(seth->psn_offset, sack->is_probe ? sack->probe_id : (uint16_t)sack->psn_offset);
	put32(seth->ev, sack->ev);
	put16(seth->spdcid, pkt->sqpn_low);
	put16(seth->dpdcid, pkt->dqpn);
	seth->res12 = 0;
	put24(seth->cack_psn, sack->cack_psn);
	seth->cc_type_flags = sack->cc_type_flags;
	seth->mpr = sack->mpr_units;
	put16(seth->sack_offset, (uint16_t)sack->sack_offset);
	put64(seth->bitmap, WEFT_BITMAP_TO_WIRE(sack->bitmap));
	put16(seth->cc.ts, sack->ts);
	put16(seth->cc.ooo, sack->ooo_pkts & 0x7fffu);
	seth->cc.penalty = (uint8_t)((sack->restore_cwnd ? 0x80 : 0) | (sack->penalty & 0x7f));
	put24(seth->cc.rcvd, sack->rcvd_units);
	return sizeof(*seth);
}

static size_t put_nack(const struct weft_pkt *pkt, struct neth *neth)
{
	__builtin_memset(neth, 0, sizeof(*neth));
	neth->reason = pkt->nack.reason;
	neth->vendor_info = pkt->nack.vendor_info;
	put32(neth->ev, pkt->nack.ev);
	put16(neth->spdcid, pkt->sqpn_low);
	put16(neth->dpdcid, pkt->dqpn);
	put24(neth->psn, pkt->nack.psn);
	neth->cc_type_flags = pkt->nack.cc_type_flags;
	put16(neth->ts, pkt->nack.ts);
	return sizeof(*neth);
}

static size_t put_probe(const struct weft_pkt *pkt, struct peth *peth)
{
	__builtin_memset(peth, 0, sizeof(*peth));
	put16(peth->probe_id, pkt->probe.probe_id);
	put16(peth->spdcid, pkt->sqpn_low);
	put16(peth->dpdcid, pkt->dqpn);
	put_ts(&peth->ts, pkt->probe.ts);
	return sizeof(*peth);
}

static size_t put_endpoint(const struct weft_pkt *pkt, uint8_t *p)
{
	struct erth *erth = (struct erth *)p;
	struct eeth *eeth = (struct eeth *)p;

	if (pkt->op == WEFT_OP_EP_REQUEST) {
		__builtin_memset(erth, 0, sizeof(*erth));
		erth->op = pkt->ep.op & 3;
		put32(erth->port_mask, pkt->ep.port_mask);
		put_ts(&erth->ts, pkt->ep.ts);
		return sizeof(*erth);
	}
	__builtin_memset(eeth, 0, sizeof(*eeth));
	eeth->op = (uint8_t)((pkt->ep.op & 3) << WEFT_EETH_OP_SHIFT);
	put16(eeth->ts, pkt->ep.ts);
	return sizeof(*eeth);
}

static size_t put_ack(const struct weft_pkt *pkt, struct aeth *aeth)
{
	aeth->syndrome = pkt->ack.syndrome;
	put24(aeth->msn, pkt->ack.msn);
	return sizeof(*aeth);
}

size_t weft_wire_encode(const struct weft_pkt *pkt, uint8_t *headers)
{
	struct bth *bth = (struct bth *)headers;
	uint8_t *next = headers + sizeof(*bth);
	bool write = weft_op_is_data(pkt->op);
	unsigned pad = write ? -(unsigned)pkt->w.len_bytes & 3 : 0;

	bth->op = pkt->op;
	bth->pad_tver = (uint8_t)(pad << 4);
	put16(bth->pkey, WEFT_WIRE_PKEY);
	bth->variant = 0;
	put24(bth->dqpn, pkt->dqpn);
	bth->flags = pkt->flags & (write ? FLAGS_KNOWN | flag_xrc(pkt->op)
					 : FLAGS_KNOWN & ~FLAGS_DATA_ONLY);
	put24(bth->psn, pkt->psn);
	if (WEFT_LIKELY(write))
		return sizeof(*bth) + put_write(pkt, next);
	switch (pkt->op) {
	case WEFT_OP_SACK:
		return sizeof(*bth) + put_sack(pkt, (struct seth *)next);
	case WEFT_OP_NACK:
		return sizeof(*bth) + put_nack(pkt, (struct neth *)next);
	case WEFT_OP_ACK:
		return sizeof(*bth) + put_ack(pkt, (struct aeth *)next);
	case WEFT_OP_PROBE:
		return sizeof(*bth) + put_probe(pkt, (struct peth *)next);
	default:
		WEFT_ASSERT(pkt->op == WEFT_OP_EP_REQUEST || pkt->op == WEFT_OP_EP_RESPONSE);
		return sizeof(*bth) + put_endpoint(pkt, next);
	}
}

/* How payload and message lengths go together, by the packet's place in its message. */
static bool place_is_right(uint8_t op, uint32_t payload_bytes, uint32_t msg_bytes)
{
	switch (op) {
	case WEFT_OP_WRITE_ONLY:
	case WEFT_OP_WRITE_ONLY_IMM:
	case WEFT_OP_SEND_ONLY:
	case WEFT_OP_SEND_ONLY_IMM:
	case WEFT_OP_XRC_WRITE_ONLY:
	case WEFT_OP_XRC_WRITE_ONLY_IMM:
	case WEFT_OP_REPLY_ONLY:
	case WEFT_OP_DATAGRAM:
	case WEFT_OP_DATAGRAM_IMM:
		return payload_bytes == msg_bytes;
	case WEFT_OP_READ_REQUEST:
	case WEFT_OP_REPLY_REFUSED:
		return !payload_bytes;
	case WEFT_OP_CMP_SWAP:
	case WEFT_OP_FETCH_ADD:
		return payload_bytes == 2 * sizeof(uint64_t) && msg_bytes == payload_bytes;
	default:
		break;
	}
	if (!weft_op_ends_message(op) && payload_bytes & 3)
		return false;
	return payload_bytes > 0 && payload_bytes < msg_bytes;
}

/* METH and TSETH: all that a trimmed packet is sure to have [P 4.9].  Returns bytes; 0: a fault. */
static size_t get_write_head(
	const uint8_t *p, size_t left, struct weft_pkt *pkt, struct weft_wire_fault *fault)
{
	bool has_ts = pkt->flags & WEFT_BTH_TS;
	size_t need = sizeof(struct meth) + (has_ts ? sizeof(struct tseth) : 0);
	const struct meth *meth = (const struct meth *)p;
	const struct tseth *tseth = (const struct tseth *)(p + sizeof(*meth));

	if (left < need)
		return fault_at(fault, WEFT_DROP_TRUNCATED, 8 * (sizeof(struct bth) + left));
	pkt->w.rqmsn = get16(meth->rqmsn);
	pkt->w.msn = get16(meth->msn);
	pkt->w.ts = 0;
	if (has_ts) {
		if (!ts_is_valid(tseth))
			return fault_at(fault, WEFT_DROP_BAD_FIELD,
				BIT(tseth, ftype) + 8 * sizeof(*meth) + 4);
		pkt->w.ts = get16(tseth->ts);
	}
	return need;
}

/* left: bytes behind BTH, ICRC included. */
static bool get_write(const uint8_t *start, size_t left, struct weft_pkt *pkt, unsigned pad,
	struct weft_wire_fault *fault)
{
	size_t at = get_write_head(start, left, pkt, fault);

	if (!at)
		return false;
	if (pkt->mark & MARK_CUT) {
		pkt->w.data = NULL;
		pkt->w.va = 0;
		pkt->w.rkey = pkt->w.msg_bytes = pkt->w.imm = pkt->w.srqn = 0;
		pkt->w.len_bytes = 0;
		return true;
	}
	bool has_imm = weft_op_has_imm(pkt->op), has_srqn = pkt->flags & WEFT_BTH_XRC;
	const struct xrceth *xrceth = (const struct xrceth *)(start + at);

	at += has_srqn ? sizeof(*xrceth) : 0;
	const struct reth *reth = (const struct reth *)(start + at);

	at += sizeof(*reth) + (has_imm ? sizeof(struct immdt) : 0);
	if (left < at + WEFT_WIRE_ICRC_BYTES)
		return fault_at(fault, WEFT_DROP_TRUNCATED, 8 * (sizeof(struct bth) + left));
	size_t padded = left - at - WEFT_WIRE_ICRC_BYTES;

	if (padded > WEFT_MTU_MAX)
		return fault_at(
			fault, WEFT_DROP_OVERSIZED, 8 * (sizeof(struct bth) + at + WEFT_MTU_MAX));
	if (padded & 3)
		return fault_at(fault, WEFT_DROP_BAD_LENGTH, 8 * (sizeof(struct bth) + left));
	if (pad > padded)
		return fault_at(fault, WEFT_DROP_BAD_LENGTH, PADCNT_BIT);
	pkt->w.srqn = has_srqn ? get24(xrceth->srqn) : 0;
	pkt->w.va = get64(reth->va);
	pkt->w.rkey = get32(reth->rkey);
	pkt->w.msg_bytes = get32(reth->dma_len);
	pkt->w.imm = has_imm ? get32(start + at - sizeof(struct immdt)) : 0;
	pkt->w.len_bytes = (uint16_t)(padded - pad);
	pkt->w.data = start + at;
	if (!place_is_right(pkt->op, pkt->w.len_bytes, pkt->w.msg_bytes))
		return fault_at(fault, WEFT_DROP_BAD_LENGTH,
			8 * (sizeof(struct bth) + (size_t)(reth->dma_len - start)));
	return true;
}

static bool get_sack(const struct seth *seth, struct weft_pkt *pkt, struct weft_wire_fault *fault)
{
	uint16_t offset_or_id = get16(seth->psn_offset);
	bool is_probe = seth->m_pr & 2;

	pkt->sqpn_low = get16(seth->spdcid);
	pkt->sack = (struct weft_pkt_sack){
		.bitmap = WEFT_BITMAP_FROM_WIRE(get64(seth->bitmap)),
		.ev = get32(seth->ev),
		.cack_psn = get24(seth->cack_psn),
		.rcvd_units = get24(seth->cc.rcvd),
		.psn_offset = is_probe ? 0 : (int16_t)offset_or_id,
		.sack_offset = (int16_t)get16(seth->sack_offset),
		.probe_id = is_probe ? offset_or_id : 0,
		.ts = get16(seth->cc.ts),
		.ooo_pkts = get16(seth->cc.ooo) & 0x7fff,
		.m = seth->m_pr >> 5 & 3,
		.mpr_units = seth->mpr,
		.penalty = seth->cc.penalty & 0x7f,
		.cc_type_flags = seth->cc_type_flags,
		.is_probe = is_probe,
		.restore_cwnd = seth->cc.penalty >> 7,
	};
	if (pkt->sack.m > WEFT_M_ALWAYS_SKIP)
		return fault_at(fault, WEFT_DROP_BAD_FIELD, BIT(seth, m_pr) + 1);
	return true;
}

static bool get_nack(const struct neth *neth, struct weft_pkt *pkt, struct weft_wire_fault *fault)
{
	pkt->sqpn_low = get16(neth->spdcid);
	pkt->nack = (struct weft_pkt_nack){
		.ev = get32(neth->ev),
		.psn = get24(neth->psn),
		.ts = get16(neth->ts),
		.reason = neth->reason,
		.vendor_info = neth->vendor_info,
		.cc_type_flags = neth->cc_type_flags,
	};
	switch (neth->reason) {
	case WEFT_NACK_TRIMMED:
	case WEFT_NACK_TRIMMED_LASTHOP:
	case WEFT_NACK_NO_BITMAP:
	case WEFT_NACK_NO_PKT_BUFFER:
	case WEFT_NACK_NO_RESOURCE:
	case WEFT_NACK_PSN_OOR_WINDOW:
	case WEFT_NACK_UNEXP_EVENT:
	case WEFT_NACK_RNR:
		return true;
	default:
		return fault_at(fault, WEFT_DROP_BAD_FIELD, BIT(neth, reason));
	}
}

static bool get_ack(const struct aeth *aeth, struct weft_pkt *pkt, struct weft_wire_fault *fault)
{
	pkt->ack = (struct weft_pkt_ack){ .msn = get24(aeth->msn), .syndrome = aeth->syndrome };
	switch (aeth->syndrome) {
	case WEFT_AETH_ACK:
	case WEFT_AETH_NAK_PSN_SEQUENCE:
	case WEFT_AETH_NAK_INVALID_REQUEST:
	case WEFT_AETH_NAK_REMOTE_ACCESS:
	case WEFT_AETH_NAK_REMOTE_OPERATION:
		return true;
	default:
		return fault_at(fault, WEFT_DROP_BAD_FIELD, BIT(aeth, syndrome));
	}
}

static bool get_probe(const struct peth *peth, struct weft_pkt *pkt, struct weft_wire_fault *fault)
{
	pkt->sqpn_low = get16(peth->spdcid);
	pkt->probe = (struct weft_pkt_probe){ .probe_id = get16(peth->probe_id),
		.ts = get16(peth->ts.ts) };
	if (!ts_is_valid(&peth->ts))
		return fault_at(fault, WEFT_DROP_BAD_FIELD, BIT(peth, ts.ftype) + 4);
	return true;
}

static bool get_endpoint(const uint8_t *p, struct weft_pkt *pkt, struct weft_wire_fault *fault)
{
	const struct erth *erth = (const struct erth *)p;
	const struct eeth *eeth = (const struct eeth *)p;

	if (pkt->dqpn != WEFT_EP_QPN)
		return fault_at(fault, WEFT_DROP_BAD_FIELD, DQPN_BIT);
	if (pkt->op == WEFT_OP_EP_RESPONSE) {
		pkt->ep = (struct weft_pkt_ep){
			.op = (eeth->op >> WEFT_EETH_OP_SHIFT |
				      eeth->op >> WEFT_EETH_OP_SHIFT_ALT) &
			      3,
			.ts = get16(eeth->ts),
		};
		return true;
	}
	pkt->ep = (struct weft_pkt_ep){
		.port_mask = get32(erth->port_mask), .op = erth->op & 3, .ts = get16(erth->ts.ts)
	};
	if (pkt->ep.op > WEFT_EP_EV_PROBE)
		return fault_at(fault, WEFT_DROP_BAD_FIELD, BIT(erth, op) + 6);
	if (!ts_is_valid(&erth->ts))
		return fault_at(fault, WEFT_DROP_BAD_FIELD, BIT(erth, ts.ftype) + 4);
	return true;
}

static bool get_control(
	const struct bth *bth, size_t left, struct weft_pkt *pkt, struct weft_wire_fault *fault)
{
	const uint8_t *p = (const uint8_t *)(bth + 1);
	size_t need = weft_wire_control_bytes(pkt->op) + WEFT_WIRE_ICRC_BYTES;

	pkt->flags &= (uint8_t)~FLAGS_DATA_ONLY; /* a TSETH follows METH only */
	if (pkt->mark & MARK_CUT)
		return fault_at(fault, WEFT_DROP_BAD_FIELD, 0); /* the class that is never cut */
	if (left != need)
		return fault_at(fault, left < need ? WEFT_DROP_TRUNCATED : WEFT_DROP_OVERSIZED,
			8 * (sizeof(*bth) + WEFT_MIN(left, need)));
	if (bth->pad_tver & 0x30)
		return fault_at(fault, WEFT_DROP_BAD_FIELD, PADCNT_BIT);
	switch (pkt->op) {
	case WEFT_OP_SACK:
		return get_sack((const struct seth *)p, pkt, fault);
	case WEFT_OP_NACK:
		return get_nack((const struct neth *)p, pkt, fault);
	case WEFT_OP_ACK:
		return get_ack((const struct aeth *)p, pkt, fault);
	case WEFT_OP_PROBE:
		return get_probe((const struct peth *)p, pkt, fault);
	default:
		return get_endpoint(p, pkt, fault);
	}
}

bool weft_wire_decode(const uint8_t *datagram, size_t bytes, uint8_t mark, struct weft_pkt *pkt,
	struct weft_wire_fault *fault)
{
	const struct bth *bth = (const struct bth *)datagram;

	if (bytes < sizeof(*bth))
		return fault_at(fault, WEFT_DROP_TRUNCATED, 8 * bytes);
	bool write = weft_op_is_data(bth->op);

	if (!write && !weft_wire_control_bytes(bth->op))
		return fault_at(fault, WEFT_DROP_NOT_MRC, 0);
	if (bth->pad_tver & 0x0f)
		return fault_at(fault, WEFT_DROP_BAD_TVER, TVER_BIT);
	/* Bit 15 is membership; a limited member may speak to a full one, which is what we are. */
	if ((get16(bth->pkey) | 0x8000) != WEFT_WIRE_PKEY)
		return fault_at(fault, WEFT_DROP_BAD_FIELD, PKEY_BIT);
	pkt->op = bth->op;
	pkt->mark = mark;
	pkt->flags = bth->flags & (FLAGS_KNOWN | flag_xrc(bth->op));
	pkt->reserved = 0;
	pkt->sqpn_low = 0;
	pkt->dqpn = get24(bth->dqpn);
	pkt->psn = get24(bth->psn);
	if (WEFT_LIKELY(write))
		return get_write(datagram + sizeof(*bth), bytes - sizeof(*bth), pkt,
			bth->pad_tver >> 4 & 3, fault);
	return get_control(bth, bytes - sizeof(*bth), pkt, fault);
}
