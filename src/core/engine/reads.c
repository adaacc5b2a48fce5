/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reads - reads and atomics: a request on one stream, its reply on the other.
 *
 * At the responder, a request waits until everything before it in its stream has been placed, so a
 * read sees the writes before it (IBTA vol. 1, 10.8.3.3).  What input has placed is moved by the
 * caller after weft_input(), so requests are executed at the beginning of weft_output(), in
 * order.  An atomic is executed when its request is executed, once: a repeated packet is a
 * duplicate PSN and never gets here.  Its result lies in a slot of its own until the requester has
 * acknowledged the reply that carries it, however often that is repeated.
 *
 * A reply is a work in the send queue of the replies' stream; as many may be out as the requester
 * may ask for, the next one waits for the first to be acknowledged.
 *
 * A request that cannot be granted is answered in its turn by a refusal, so that earlier ones
 * still end well; the QP then takes and executes nothing more (IBTA vol. 1, 9.9.3: an error of
 * class C), while its stream of replies goes on until the peer has them.  Replies from a region
 * that is dropped meanwhile turn into refusals, too: their packets keep their PSNs and lose their
 * bytes.
 */
#include "engine_local.h"

enum { ATOMIC_BYTES = sizeof(uint64_t) };

/* ---- the requester ---- */

static uint32_t packets(const struct weft_qp *qp, uint32_t len_bytes)
{
	return len_bytes ? (len_bytes - 1) / qp->mtu_bytes + 1 : 1;
}

void reads_begin(struct ext *ext, struct sq_work *work)
{
	const struct weft_endpoint *ep = ext->qp->ep;
	uint32_t len = work->kind == WEFT_WORK_READ ? work->asked_bytes : ATOMIC_BYTES;

	work->rqmsn = ext->out_tail;
	ext->out[ext->out_tail & ep->rd_mask] = (struct read_out){
		.len_bytes = len,
		.pkts_left = packets(ext->qp, len),
		.slot = (uint16_t)(work - ext->qp->sq),
	};
}

static bool fits(const struct weft_pkt *pkt, uint32_t len_bytes, uint32_t mtu)
{
	uint64_t offset = pkt->w.va;
	uint32_t len = pkt->w.len_bytes;

	if (pkt->w.msg_bytes != len_bytes || offset > len_bytes || offset % mtu)
		return false;
	return len == WEFT_MIN(mtu, len_bytes - (uint32_t)offset) && (len || !len_bytes);
}

struct read_out *reads_find(struct ext *ext, const struct weft_pkt *pkt)
{
	const struct weft_endpoint *ep = ext->qp->ep;
	uint16_t ahead = (uint16_t)(pkt->w.rqmsn - ext->out_head);
	struct read_out *read = &ext->out[pkt->w.rqmsn & ep->rd_mask];

	if (ahead >= (uint16_t)(ext->out_tail - ext->out_head) || read->done)
		return NULL;
	if (pkt->op == WEFT_OP_REPLY_REFUSED)
		return pkt->w.len_bytes ? NULL : read;
	return fits(pkt, read->len_bytes, ext->qp->mtu_bytes) ? read : NULL;
}

/* ---- the responder ---- */

void reads_settle_later(struct ext *ext)
{
	struct weft_endpoint *ep = ext->qp->ep;

	if (ext->settling)
		return;
	ext->settling = true;
	ep->settle[ep->settle_n++] = (uint32_t)(ext - ep->exts);
}

static bool is_atomic(uint8_t op)
{
	return op == WEFT_OP_CMP_SWAP || op == WEFT_OP_FETCH_ADD;
}

bool reads_take_request(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	struct ext *ext = qp->ext;
	struct read_in *in = &ext->in[pkt->w.rqmsn & qp->ep->rd_mask];
	bool atomic = is_atomic(pkt->op);

	if ((uint16_t)(pkt->w.rqmsn - ext->in_next) >= ext->rd_rx || in->valid ||
	    pkt->w.len_bytes != (atomic ? sizeof(in->operand) : 0))
		return false;
	*in = (struct read_in){
		.va = pkt->w.va,
		.rkey = pkt->w.rkey,
		.len_bytes = atomic ? ATOMIC_BYTES : pkt->w.msg_bytes,
		.psn = pkt->psn,
		.pd = qp->pd & ~PD_SHUT,
		.op = pkt->op,
		.valid = true,
	};
	if (atomic && pkt->w.data)
		memcpy(in->operand, pkt->w.data, sizeof(in->operand));
	qp->parked_imms++;
	return true;
}

/* Against the CPUs of this host, too.  Returns what was there before. */
static uint64_t execute(const struct read_in *in, uint64_t *at)
{
	uint64_t before = in->operand[0];

	if (in->op == WEFT_OP_FETCH_ADD)
		return __atomic_fetch_add(at, in->operand[0], __ATOMIC_SEQ_CST);
	__atomic_compare_exchange_n(at, &before, in->operand[1], false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	return before;
}

static void refuse(struct sq_work *reply, uint8_t syndrome)
{
	*reply = (struct sq_work){ .kind = WORK_REFUSED, .rkey = syndrome };
}

/* Fills in what the reply says. */
static void grant(struct ext *ext, const struct read_in *in, struct sq_work *reply)
{
	struct weft_endpoint *ep = ext->qp->ep;
	bool atomic = is_atomic(in->op);
	uint32_t access = atomic ? WEFT_ACCESS_REMOTE_ATOMIC : WEFT_ACCESS_REMOTE_READ;
	const struct reach asked = { in->rkey, in->pd, ext->qp->qpn, in->len_bytes, access,
		in->va };
	uint64_t *result = &ext->result[ext->replies->sq_tail & ep->rd_mask];
	uint8_t *at = NULL;

	reply->kind = WORK_REPLY;
	reply->len_bytes = in->len_bytes;
	reply->rkey = in->rkey;
	if (in->len_bytes)
		at = region_reach(ep, &asked);
	reply->data = at;
	if (ext->qp->deny & access) {
		refuse(reply, WEFT_AETH_NAK_INVALID_REQUEST);
		drop_count(ep, WEFT_DROP_BAD_ACCESS);
	} else if (in->len_bytes && !at) {
		refuse(reply, WEFT_AETH_NAK_REMOTE_ACCESS);
		drop_count(ep, region_fault(ep, &asked));
	} else if (atomic && ((uintptr_t)at | in->va) % sizeof(*result)) {
		refuse(reply, WEFT_AETH_NAK_INVALID_REQUEST);
		drop_count(ep, WEFT_DROP_BAD_FIELD);
	} else if (atomic && !absent_reach(ep, at, sizeof(*result))) {
		refuse(reply, WEFT_AETH_NAK_REMOTE_ACCESS);
		drop_count(ep, WEFT_DROP_NO_MEMORY);
	} else if (atomic) {
		*result = execute(in, (uint64_t *)(void *)at);
		reply->data = (const uint8_t *)result;
	}
}

static bool has_turn(const struct ext *ext, const struct read_in *in)
{
	const struct weft_qp *qp = ext->qp, *replies = ext->replies;

	return in->valid && weft_psn_diff(in->psn, qp->rx_cack) <= 0 &&
	       qp->state == WEFT_QP_RTS && replies->state == WEFT_QP_RTS &&
	       (uint16_t)(replies->sq_tail - replies->sq_head) <= qp->ep->rd_mask;
}

static void settle(struct ext *ext)
{
	struct weft_endpoint *ep = ext->qp->ep;
	struct weft_qp *replies = ext->replies;

	for (;;) {
		struct read_in *in = &ext->in[ext->in_next & ep->rd_mask];
		struct sq_work reply = { 0 };

		if (!has_turn(ext, in))
			return;
		grant(ext, in, &reply);
		reply.rqmsn = ext->in_next++;
		reply.silent = true;
		in->valid = false;
		ext->qp->parked_imms--;
		replies->sq[replies->sq_tail++ & ep->sq_mask] = reply;
		qp_make_ready(replies);
		loss_on_post(replies);
		if (reply.kind == WORK_REFUSED) {
			qp_fail_slot(ext->qp, WEFT_LOCAL_PROTOCOL);
			ext->qp->refused = (uint8_t)reply.rkey;
		}
	}
}

void reads_settle(struct weft_endpoint *ep)
{
	uint32_t n = ep->settle_n;

	ep->settle_n = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct ext *ext = &ep->exts[ep->settle[i]];

		ext->settling = false;
		if (!ext->in_use || !ext->replies)
			continue;
		tails_settle(ext);
		settle(ext);
	}
}

/* The result of an atomic lies with us. */
static bool is_result(const struct ext *ext, const struct sq_work *reply)
{
	const uint8_t *results = (const uint8_t *)ext->result;

	return reply->data >= results &&
	       reply->data < results + (ext->qp->ep->rd_mask + 1) * sizeof(*ext->result);
}

static void forget(struct weft_qp *replies, uint32_t rkey)
{
	for (uint16_t i = replies->sq_head; i != replies->sq_tail; i++) {
		struct sq_work *work = &replies->sq[i & replies->ep->sq_mask];

		if (work->kind != WORK_REPLY || work->rkey != rkey || !work->data ||
		    is_result(replies->ext, work))
			continue;
		work->kind = WORK_REFUSED;
		work->rkey = WEFT_AETH_NAK_REMOTE_ACCESS;
		work->data = NULL;
	}
}

void reads_forget_region(struct weft_endpoint *ep, const struct region *region)
{
	for (uint32_t i = 0; i < ep->exts_used; i++) {
		struct ext *ext = &ep->exts[i];

		if (!ext->in_use || !ext->replies)
			continue;
		forget(ext->replies, (uint32_t)region->open_to);
		tails_forget(ext, region->base, region->len_bytes);
	}
}

void reads_forget_key(struct weft_endpoint *ep, uint32_t rkey)
{
	for (uint32_t i = 0; i < ep->exts_used; i++) {
		struct ext *ext = &ep->exts[i];

		if (!ext->in_use || !ext->replies)
			continue;
		forget(ext->replies, rkey);
		tails_store(ext, rkey);
	}
}
