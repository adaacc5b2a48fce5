/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * extended - QPs of the extended profile: their life, their works, the order of completions.
 *
 * An EXTENDED QP is two streams, each a QP of the engine with a PSN space of its own: requests, and
 * replies to the peer's.  One stream for both (as IBTA has it, where responses borrow the
 * requester's PSNs) was tried on paper: a reply would have to overtake a message that is held by
 * a fence or by RNR, in the middle of that message, or both ends can wait for each other.
 *
 * All state beyond a strict QP's is in struct ext, of which there are config.extended_qps: an
 * endpoint of the simulator has none.
 */
#include "engine_local.h"

static bool recvq_exists(const struct weft_endpoint *ep, uint32_t number)
{
	return number == WEFT_NO_RECVQ ||
	       (number <= ep->config.recvqs && ep->recvqs[number - 1].in_use);
}

bool ext_is_possible(const struct weft_endpoint *ep, const struct weft_qp_attr *attr)
{
	return attr->kind == WEFT_QP_STRICT ||
	       (attr->kind <= WEFT_QP_XRC_RECV && recvq_exists(ep, attr->recvq) &&
		(attr->kind <= WEFT_QP_DATAGRAM || attr->recvq == WEFT_NO_RECVQ));
}

static struct ext *free_ext(struct weft_endpoint *ep)
{
	for (uint32_t i = 0; i < ep->config.extended_qps; i++)
		if (!ep->exts[i].in_use)
			return &ep->exts[i];
	return NULL;
}

/* Keeps the rings, forgets the tenant; it may still stand among those to be settled. */
static void wipe_ext(struct ext *ext, const struct weft_qp_attr *attr)
{
	*ext = (struct ext){
		.slot = ext->slot,
		.extra = ext->extra,
		.out = ext->out,
		.in = ext->in,
		.tail = ext->tail,
		.result = ext->result,
		.settling = ext->settling,
		.recvq = attr->recvq,
		.xrcd = attr->xrcd,
		.xrc = attr->kind == WEFT_QP_XRC_SEND ? XRC_SENDS :
		       attr->kind == WEFT_QP_XRC_RECV ? XRC_RECEIVES : XRC_NONE,
		.datagrams = attr->kind == WEFT_QP_DATAGRAM,
		.in_use = true,
	};
}

static struct weft_qp *open_pair(struct weft_endpoint *ep, const struct weft_qp_attr *attr,
				 struct ext *ext)
{
	for (uint32_t i = 0; i + 1 < ep->config.qps; i += 2) {
		struct weft_qp *qp = &ep->qps[i], *replies = &ep->qps[i + 1];

		if (qp->in_use || replies->in_use)
			continue;
		uint32_t last = replies->qpn;

		do
			qp_slot_take(qp, attr);
		while ((qp->qpn | 1) == last);
		qp_slot_take(replies, attr);
		replies->qpn = qp->qpn | 1;
		replies->kind = QP_REPLIES;
		replies->ext = ext;
		qp->kind = QP_EXTENDED;
		qp->ext = ext;
		ext->qp = qp;
		ext->replies = replies;
		memset(ext->in, 0, (ep->rd_mask + 1) * sizeof(*ext->in));
		return qp;
	}
	return NULL;
}

struct weft_qp *ext_open(struct weft_endpoint *ep, const struct weft_qp_attr *attr)
{
	struct ext *ext = free_ext(ep);
	struct weft_qp_attr own = *attr;
	struct weft_qp *qp;

	if (!ext)
		return NULL;
	wipe_ext(ext, attr);
	if (ext->datagrams)
		own.deny = ACCESS_ALL;
	qp = open_pair(ep, &own, ext);
	ext->in_use = qp != NULL;
	ep->exts_used = WEFT_MAX(ep->exts_used, (uint32_t)(ext - ep->exts) + ext->in_use);
	if (qp && ext->xrc)
		xrc_leave(qp);
	if (qp && ext->recvq)
		ep->recvqs[ext->recvq - 1].users++;
	return qp;
}

void ext_free(struct weft_qp *qp)
{
	struct ext *ext = qp->ext;

	if (ext->recvq)
		qp->ep->recvqs[ext->recvq - 1].users--;
	qp_slot_free(ext->replies);
	ext->in_use = false;
}

static bool reads_are_possible(const struct weft_qp *qp, const struct weft_qp_attr *attr)
{
	return attr->rd_atomic_rx <= qp->ep->rd_mask + 1 && attr->rnr_timer < 32;
}

int ext_become_rtr(struct weft_qp *qp, const struct weft_qp_attr *attr)
{
	struct ext *ext = qp->ext;
	struct weft_qp_attr second;

	if (attr->peer_qpn & 1 || !reads_are_possible(qp, attr) ||
	    attr->wimm_rx > qp->ep->config.rq_depth)
		return WEFT_EINVAL;
	int error = qp_become_rtr(qp, attr);

	if (error)
		return error;
	second = *attr;
	second.peer_qpn |= 1;
	second.wimm_rx = 0;
	error = qp_become_rtr(ext->replies, &second);
	WEFT_ASSERT(!error);
	ext->rd_rx = (uint16_t)attr->rd_atomic_rx;
	ext->rnr_timer = attr->rnr_timer;
	qp_note_state(ext->replies, WEFT_QP_RTR);
	return 0;
}

static void take_rnr(struct ext *ext, const struct weft_qp_attr *attr)
{
	ext->rnr_retry = attr->rnr_retry;
	ext->rnr_give_up_ns = attr->rnr_give_up_ns;
}

int ext_become_rts(struct weft_qp *qp, const struct weft_qp_attr *attr)
{
	struct ext *ext = qp->ext;
	int error;

	if (attr->rnr_retry > WEFT_RNR_FOR_EVER)
		return WEFT_EINVAL;
	error = qp_become_rts(qp, attr);
	if (error)
		return error;
	error = qp_become_rts(ext->replies, attr);
	WEFT_ASSERT(!error);
	ext->rd_tx = (uint16_t)WEFT_MIN(attr->rd_atomic_tx, qp->ep->rd_mask + 1);
	take_rnr(ext, attr);
	ext->rnr_psn = attr->psn_tx;
	qp_note_state(ext->replies, WEFT_QP_RTS);
	reads_settle_later(ext); /* what came while we could not answer */
	return 0;
}

int weft_qp_set_retry(struct weft_qp *qp, const struct weft_qp_attr *attr)
{
	struct ext *ext = qp->ext;

	if (!qp_retry_fits(attr) ||
	    (ext && (attr->rnr_retry > WEFT_RNR_FOR_EVER || !reads_are_possible(qp, attr))))
		return WEFT_EINVAL;
	if (qp->state != WEFT_QP_RTR && qp->state != WEFT_QP_RTS)
		return WEFT_ESTATE;
	qp_take_retry(qp, attr);
	if (ext) {
		qp_take_retry(ext->replies, attr);
		take_rnr(ext, attr);
		ext->rnr_timer = attr->rnr_timer;
		ext->rd_tx = (uint16_t)WEFT_MIN(attr->rd_atomic_tx, qp->ep->rd_mask + 1);
		ext->rd_rx = (uint16_t)attr->rd_atomic_rx;
	}
	if (qp->state == WEFT_QP_RTS && request_has_work(qp))
		qp_make_ready(qp);
	return 0;
}

/* ---- works ---- */

static bool can_do(const struct weft_qp *qp, const struct weft_work *work)
{
	if (!qp->ext)
		return work->kind == WEFT_WORK_WRITE && !work->fence && !work->solicited;
	if (qp->ext->datagrams)
		return work->kind == WEFT_WORK_DATAGRAM && qp->wimm_tx &&
		       work->len_bytes <= qp->mtu_bytes;
	if (qp->ext->xrc == XRC_RECEIVES || work->srqn > WEFT_PSN_MASK ||
	    (work->shuts && (qp->ext->xrc || work->kind != WEFT_WORK_SEND || work->has_imm)))
		return false;
	switch (work->kind) {
	case WEFT_WORK_WRITE:
		return !work->has_imm || qp->wimm_tx;
	case WEFT_WORK_SEND:
		return qp->wimm_tx > 0;
	case WEFT_WORK_READ:
		return qp->ext->rd_tx && !work->has_imm && (work->to || !work->len_bytes);
	case WEFT_WORK_FETCH_ADD:
	case WEFT_WORK_CMP_SWAP:
		return qp->ext->rd_tx && !work->has_imm && work->to && !work->scattered;
	default:
		return false;
	}
}

static bool is_atomic(uint8_t kind)
{
	return kind == WEFT_WORK_FETCH_ADD || kind == WEFT_WORK_CMP_SWAP;
}

static uint8_t marks_of(const struct weft_work *work)
{
	bool consumes = work->kind == WEFT_WORK_SEND || work->kind == WEFT_WORK_DATAGRAM ||
			(work->kind == WEFT_WORK_WRITE && work->has_imm);
	bool reads = work->kind == WEFT_WORK_READ || is_atomic(work->kind);

	return (uint8_t)((consumes ? WORK_CONSUMES : 0) | (reads ? WORK_READS : 0) |
			 (work->fence || work->shuts ? WORK_FENCED : 0) |
			 (work->solicited ? WORK_SOLICITED : 0));
}

static void post(struct weft_qp *qp, const struct weft_work *work)
{
	uint32_t at = qp->sq_tail++ & qp->ep->sq_mask;
	struct work_extra *extra = &qp->ext->extra[at];
	bool bytes_here = work->kind != WEFT_WORK_READ && !is_atomic(work->kind);

	*extra = (struct work_extra){
		.to = work->to,
		.operand = { work->operand[0], work->operand[1] },
		.srqn = work->srqn,
		.scattered = work->scattered,
	};
	qp->sq[at] = (struct sq_work){
		.data = bytes_here ? work->data : NULL,
		.va = work->remote_va,
		.id = work->id,
		.len_bytes = bytes_here ? work->len_bytes : 0,
		.rkey = work->rkey,
		.imm = work->imm,
		.kind = work->kind,
		.marks = (uint8_t)(marks_of(work) | (qp->ext->xrc ? WORK_XRC : 0)),
		.has_imm = work->has_imm,
		.silent = work->silent,
	};
	if (work->kind == WEFT_WORK_SEND) {
		qp->sq[at].va = 0; /* counts bytes of the message */
		qp->sq[at].rkey = work->shuts;
	} else if (work->kind == WEFT_WORK_WRITE && qp->ext->xrc) {
		qp->sq[at].kind = WORK_XRC_WRITE;
	} else if (work->kind == WEFT_WORK_READ) {
		qp->sq[at].asked_bytes = work->len_bytes;
	} else if (work->kind == WEFT_WORK_DATAGRAM) {
		qp->sq[at].va = work->group;
		qp->sq[at].rkey = work->qkey;
	} else if (is_atomic(work->kind)) {
		qp->sq[at].data = (const uint8_t *)extra->operand;
		qp->sq[at].len_bytes = sizeof(extra->operand);
	}
}

int weft_post(struct weft_qp *qp, const struct weft_work *work)
{
	if (!can_do(qp, work))
		return WEFT_EINVAL;
	if (!qp->ext)
		return weft_post_write(qp, work);
	if (qp->state != WEFT_QP_RTS)
		return WEFT_ESTATE;
	if ((uint16_t)(qp->sq_tail - qp->sq_head) > qp->ep->sq_mask)
		return WEFT_EFULL;
	post(qp, work);
	qp_make_ready(qp);
	loss_on_post(qp);
	return 0;
}

bool ext_may_begin(const struct weft_qp *qp, const struct sq_work *work)
{
	const struct ext *ext = qp->ext;
	uint16_t out = (uint16_t)(ext->out_tail - ext->out_head);

	if ((work->marks & WORK_FENCED && out) || !xrc_may_begin(qp, work))
		return false;
	return !(work->marks & WORK_READS) || out < ext->rd_tx;
}

/* ---- completions, in the order of posting ---- */

static bool may_finish(struct weft_qp *qp, const struct sq_work *work)
{
	struct ext *ext = qp->ext;

	if (!(work->marks & WORK_READS))
		return weft_psn_diff(ext->msn_acked, qp->msn_done & WEFT_PSN_MASK) > 0;
	const struct read_out *read = &ext->out[ext->out_head & qp->ep->rd_mask];

	if (!read->done)
		return false;
	if (read->status != WEFT_OK) {
		qp_fail(qp, read->status);
		return false;
	}
	ext->out_head++;
	return true;
}

/* A reply tells as well that the request and all before it have been placed. */
static void release(struct weft_qp *qp, const struct sq_work *work)
{
	uint32_t end = weft_psn_add(work->psn_first, work->pkts);

	if (weft_psn_diff(end, qp->psn_unack) > 0)
		sent_release(qp, end);
}

void ext_finish(struct weft_qp *qp)
{
	struct ext *ext = qp->ext;

	while (qp->state == WEFT_QP_RTS && qp->sq_head != qp->sq_send) {
		const struct sq_work *work = &qp->sq[qp->sq_head & qp->ep->sq_mask];

		if (!may_finish(qp, work))
			return;
		release(qp, work);
		qp->msn_done++;
		if (weft_psn_diff(qp->msn_done & WEFT_PSN_MASK, ext->msn_acked) > 0)
			ext->msn_acked = qp->msn_done & WEFT_PSN_MASK;
		cq_finish_work(qp, WEFT_OK);
		qp->progressed = true;
	}
}

/* n counts from the oldest that has not completed, as ack_in_ack() has checked. */
void ext_on_ack(struct weft_qp *qp, int32_t n)
{
	struct ext *ext = qp->ext;
	uint32_t msn = weft_psn_add(qp->msn_done & WEFT_PSN_MASK, (uint32_t)n);

	if (weft_psn_diff(msn, ext->msn_acked) <= 0)
		return;
	ext->msn_acked = msn;
	release(qp, &qp->sq[(uint16_t)(qp->sq_head + n - 1) & qp->ep->sq_mask]);
	qp->progressed = true;
	ext_finish(qp);
}
