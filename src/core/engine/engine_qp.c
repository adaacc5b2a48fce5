/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * engine_qp - lifecycle: RESET -> INIT -> RTR -> RTS -> ERROR, as a grid, and what each step
 * resets.
 *
 * Message numbers begin at 0 [P 8.7].  A QP number is a slot and a generation, so that packets of a
 * former tenant find nobody. Going to ERROR flushes both queues at once: the engine holds no memory
 * of the application's that would have to be waited for, because payload is only ever read during
 * weft_output().
 */
#include "engine_local.h"

/* Who may go where by weft_qp_move(); opening and closing are calls of their own. */
static const bool may_move[][WEFT_QP_ERROR + 1] = {
	/* to:             RESET  INIT   RTR    RTS    ERROR */
	[WEFT_QP_RESET] = { false, false, false, false, false },
	[WEFT_QP_INIT] = { false, false, true, false, true },
	[WEFT_QP_RTR] = { false, false, false, true, true },
	[WEFT_QP_RTS] = { false, false, false, false, true },
	[WEFT_QP_ERROR] = { false, false, false, false, false },
};

static void next_qpn(struct weft_endpoint *ep, struct weft_qp *qp)
{
	do {
		qp->qpn = (qp->qpn + ep->qp_mask + 1) & WEFT_PSN_MASK;
		qp->qpn = (qp->qpn & ~ep->qp_mask) | qp->index;
	} while (qp->qpn <= WEFT_EP_QPN);
}

/* Keeps what belongs to the slot, clears what belonged to the tenant. */
static void wipe(struct weft_qp *qp)
{
	struct weft_qp keep = {
		.ep = qp->ep,
		.sq = qp->sq,
		.pages = qp->pages,
		.rx_bits = qp->rx_bits,
		.rx_last = qp->rx_last,
		.parked = qp->parked,
		.rq = qp->rq,
		.kind = QP_STRICT,
		.qpn = qp->qpn,
		.index = qp->index,
		.ready = qp->ready, /* it may still stand in the ring */
	};
	const struct weft_endpoint *ep = qp->ep;

	*qp = keep;
	memset(qp->rx_bits, 0, (ep->rx_mask + 1) / 8);
	memset(qp->rx_last, 0, (ep->rx_mask + 1) / 8);
	memset(qp->pages, 0xff, (ep->page_mask + 1) * sizeof(*qp->pages));
	memset(qp->parked, 0, (ep->wimm_mask + 1) * sizeof(*qp->parked));
}

/* Without a rate or a window an algorithm would start at one packet and stay there. */
static bool cc_is_told(const struct weft_cc_config *cc)
{
	return cc->rate_bps || cc->max_cwnd_bytes || cc->fixed_bytes;
}

static void start_cc(struct weft_qp *qp, const struct weft_cc_config *config)
{
	struct weft_cc_config cc = *config;

	if (!cc.mtu_bytes)
		cc.mtu_bytes = weft_nominal_bytes(qp->mtu_bytes);
	if (!cc.base_rtt_ns)
		cc.base_rtt_ns = qp->ep->config.base_rtt_ns;
	qp->cc->init(qp->cc_state, &cc);
	qp->cwnd = qp->cc->window_bytes(qp->cc_state);
}

static void deny(struct weft_qp *qp, uint32_t deny)
{
	qp->deny = (uint8_t)deny;
	bool shut = deny & WEFT_ACCESS_REMOTE_WRITE || (qp->ext && qp->ext->xrc);

	qp->pd = (qp->pd & ~PD_SHUT) | (shut ? PD_SHUT : 0);
}

uint32_t qp_next_used(const struct weft_endpoint *ep, uint32_t i)
{
	uint32_t words = WEFT_DIV_UP(ep->config.qps, 64u), word = i / 64;
	uint64_t bits = word < words ? ep->qps_used[word] & UINT64_MAX << i % 64 : 0;

	while (!bits && ++word < words)
		bits = ep->qps_used[word];
	return bits ? 64 * word + weft_ctz64(bits) : ep->config.qps;
}

static void set_used(struct weft_qp *qp, bool is_used)
{
	uint64_t *word = &qp->ep->qps_used[qp->index / 64], bit = UINT64_C(1) << qp->index % 64;

	qp->in_use = is_used;
	*word = is_used ? *word | bit : *word & ~bit;
}

/* A free slot gets a tenant, and a number that no packet of the last one can name. */
void qp_slot_take(struct weft_qp *qp, const struct weft_qp_attr *attr)
{
	struct weft_endpoint *ep = qp->ep;

	next_qpn(ep, qp);
	wipe(qp);
	set_used(qp, true);
	qp->state = WEFT_QP_INIT;
	qp->cq_tx = attr->cq_tx;
	qp->cq_rx = attr->cq_rx;
	qp->pd = attr->pd;
	deny(qp, attr->deny);
	qp->user = attr->user;
	qp->mtu_bytes = (uint16_t)ep->config.mtu_bytes;
	qp->cc = attr->cc;
	start_cc(qp, &attr->cc_config);
}

static struct weft_qp *open_strict(struct weft_endpoint *ep, const struct weft_qp_attr *attr)
{
	for (uint32_t i = 0; i < ep->config.qps; i++) {
		/* From the far end where others want pairs. */
		uint32_t at = ep->config.extended_qps ? ep->qp_mask - i : i;

		if (ep->qps[at].in_use)
			continue;
		qp_slot_take(&ep->qps[at], attr);
		return &ep->qps[at];
	}
	return NULL;
}

static const char *init_fault(const struct weft_endpoint *ep, const struct weft_qp_attr *attr)
{
	if (attr->cq_tx >= ep->config.cqs || attr->cq_rx >= ep->config.cqs)
		return "cq_tx, cq_rx: below the endpoint's cqs";
	if (!attr->cc || attr->cc->state_bytes > WEFT_CC_STATE_MAX)
		return "cc: an algorithm of cc.h, as &weft_cc_nscc";
	if (!cc_is_told(&attr->cc_config))
		return "cc_config: rate_bps, max_cwnd_bytes or fixed_bytes, above 0";
	if (attr->pd & PD_SHUT)
		return "pd: below 2^31";
	if (attr->deny > ACCESS_ALL)
		return "deny: WEFT_ACCESS_ bits";
	if (!ext_is_possible(ep, attr))
		return "kind: others than STRICT want extended_qps, and what is theirs";
	return NULL;
}

static const char *rtr_fault(const struct weft_endpoint *ep, const struct weft_qp_attr *attr)
{
	if (attr->pathset >= ep->config.pathsets || !ep->sets[attr->pathset].in_use)
		return "pathset: one that is open";
	if (ep->sets[attr->pathset].peer != attr->peer)
		return "peer: the same as the path set's";
	if (attr->peer_qpn > WEFT_PSN_MASK || attr->peer_qpn <= WEFT_EP_QPN)
		return "peer_qpn: 3 to 2^24 - 1";
	if (attr->psn_rx > WEFT_PSN_MASK)
		return "psn_rx: below 2^24";
	if (attr->mpr_rx_psns < WEFT_MPR_UNIT_PSNS || attr->mpr_rx_psns % WEFT_MPR_UNIT_PSNS ||
	    attr->mpr_rx_psns > ep->config.window_psns)
		return "mpr_rx_psns: a multiple of 128, up to the endpoint's window_psns";
	if (attr->wimm_rx > ep->config.wimm_max)
		return "wimm_rx: up to the endpoint's wimm_max";
	if (attr->mtu_bytes &&
	    (attr->mtu_bytes < WEFT_MTU_MIN || attr->mtu_bytes % 4 ||
	     attr->mtu_bytes > ep->config.mtu_bytes))
		return "mtu_bytes: a multiple of 4, 64 up to the endpoint's mtu_bytes";
	return NULL;
}

static const char *rts_fault(const struct weft_qp_attr *attr)
{
	if (attr->psn_tx > WEFT_PSN_MASK)
		return "psn_tx: below 2^24";
	if (attr->mpr_tx_psns < WEFT_MPR_UNIT_PSNS)
		return "mpr_tx_psns: 128 and more";
	if (attr->wimm_tx > UINT16_MAX)
		return "wimm_tx: up to 65535";
	if (!qp_retry_fits(attr))
		return "timeout_exp: 1 to 24, timeout_exp_max: up to 24, linear_count: up to 7, "
		       "retry_count: up to 25";
	return NULL;
}

const char *weft_qp_attr_fault(const struct weft_endpoint *ep, enum weft_qp_state to,
			       const struct weft_qp_attr *attr)
{
	switch (to) {
	case WEFT_QP_INIT:
		return init_fault(ep, attr);
	case WEFT_QP_RTR:
		return rtr_fault(ep, attr);
	case WEFT_QP_RTS:
		return rts_fault(attr);
	default:
		return NULL;
	}
}

int weft_qp_open(struct weft_endpoint *ep, const struct weft_qp_attr *attr, struct weft_qp **out)
{
	if (init_fault(ep, attr))
		return WEFT_EINVAL;
	struct weft_qp *qp = attr->kind == WEFT_QP_STRICT ? open_strict(ep, attr) :
							    ext_open(ep, attr);

	if (!qp)
		return WEFT_EFULL;
	*out = qp;
	return 0;
}

int qp_become_rtr(struct weft_qp *qp, const struct weft_qp_attr *attr)
{
	struct weft_endpoint *ep = qp->ep;

	if (rtr_fault(ep, attr))
		return WEFT_EINVAL;
	qp->peer = attr->peer;
	qp->peer_qpn = attr->peer_qpn;
	qp->set = (uint16_t)attr->pathset;
	qp->rx_cack = weft_psn_add(attr->psn_rx, WEFT_PSN_MASK); /* - 1 */
	qp->rx_max = qp->rx_cack;
	qp->rx_sweep = attr->psn_rx;
	qp->rx_mpr = attr->mpr_rx_psns;
	qp->wimm_rx = (uint16_t)attr->wimm_rx;
	qp->dynamic_mpr = attr->dynamic_mpr;
	qp->trim_nack_rx = attr->trim_nack_rx;
	if (attr->mtu_bytes && attr->mtu_bytes != qp->mtu_bytes) {
		qp->mtu_bytes = (uint16_t)attr->mtu_bytes;
		if (cc_is_told(&attr->cc_config))
			start_cc(qp, &attr->cc_config);
	}
	ep->sets[qp->set].users++;
	return 0;
}

bool qp_retry_fits(const struct weft_qp_attr *attr)
{
	return attr->timeout_exp >= 1 && attr->timeout_exp <= 24 && attr->timeout_exp_max <= 24 &&
	       attr->linear_count <= 7 && attr->retry_count <= 25;
}

void qp_take_retry(struct weft_qp *qp, const struct weft_qp_attr *attr)
{
	qp->timeout_exp = attr->timeout_exp;
	qp->timeout_exp_max = attr->timeout_exp_max ? attr->timeout_exp_max : 24;
	qp->linear_count = attr->linear_count;
	qp->retry_count = attr->retry_count;
	qp->give_up_ns = attr->give_up_ns;
}

int qp_become_rts(struct weft_qp *qp, const struct weft_qp_attr *attr)
{
	struct weft_endpoint *ep = qp->ep;

	if (rts_fault(attr))
		return WEFT_EINVAL;
	qp->psn_next = qp->psn_unack = qp->lost_low = qp->ask_psn = attr->psn_tx;
	qp->mpr_tx = WEFT_MIN(attr->mpr_tx_psns, ep->config.window_psns);
	qp->wimm_tx = (uint16_t)attr->wimm_tx;
	qp_take_retry(qp, attr);
	loss_learn_reorder(qp);
	return 0;
}

int weft_qp_move(struct weft_qp *qp, enum weft_qp_state to, const struct weft_qp_attr *attr,
		 uint64_t now)
{
	struct weft_endpoint *ep = qp->ep;
	int error = 0;

	if ((unsigned)to > WEFT_QP_ERROR)
		return WEFT_EINVAL;
	if (!may_move[qp->state][to])
		return WEFT_ESTATE;
	ep->now = WEFT_MAX(ep->now, now);
	if (to == WEFT_QP_ERROR) {
		qp_fail(qp, WEFT_FLUSHED);
		return 0;
	}
	if (to == WEFT_QP_RTR)
		error = qp->ext ? ext_become_rtr(qp, attr) : qp_become_rtr(qp, attr);
	else if (to == WEFT_QP_RTS)
		error = qp->ext ? ext_become_rts(qp, attr) : qp_become_rts(qp, attr);
	if (error)
		return error;
	qp_note_state(qp, to);
	uint32_t slots = qp->ext ? 2 : 1; /* the first user of its set? */

	if (to == WEFT_QP_RTR && qp->set != SET_NONE && ep->sets[qp->set].users == slots)
		probe_arm(ep, qp->set, ep->now);
	return 0;
}

void qp_note_state(struct weft_qp *qp, enum weft_qp_state to)
{
	event_note(qp->ep, WEFT_EV_QP_STATE, qp->qpn, qp->set, qp->state, to, 0);
	qp->state = (uint8_t)to;
	qp->progress_ns = qp->ep->now;
}

static void leave_set(struct weft_qp *qp)
{
	if ((qp->state == WEFT_QP_RTR || qp->state == WEFT_QP_RTS) && qp->set != SET_NONE)
		qp->ep->sets[qp->set].users--;
}

static void flush(struct weft_qp *qp, enum weft_status first)
{
	struct weft_endpoint *ep = qp->ep;

	sent_drop_all(qp);
	for (enum weft_status status = first; qp->sq_head != qp->sq_tail; status = WEFT_FLUSHED)
		cq_finish_work(qp, status);
	while (qp->rq_head != qp->rq_tail) {
		uint32_t at = qp->rq_head++ & ep->rq_mask;
		struct weft_done done = {
			.id = qp->rq[at],
			.recvq = qp->ext ? qp->ext->slot[at].recvq : 0,
			.kind = qp->ext ? WEFT_DONE_RECV : WEFT_DONE_RECV_IMM,
			.status = WEFT_FLUSHED,
		};
		cq_push(qp, qp->cq_rx, &done);
	}
	timer_set(ep, timer_of_qp(qp), WEFT_NEVER);
}

/* A slot of replies fails with its owner, who is told of. */
static void set_failed(struct weft_qp *qp, bool has_failed)
{
	struct weft_endpoint *ep = qp->ep;
	uint64_t *word = &ep->failed[qp->index / 64], bit = UINT64_C(1) << qp->index % 64;

	if (qp->kind == QP_REPLIES || !(*word & bit) == !has_failed)
		return;
	*word ^= bit;
	ep->failed_n += has_failed ? 1 : UINT32_MAX;
}

bool weft_qp_failed(struct weft_endpoint *ep, struct weft_qp_failure *failure)
{
	uint32_t words = WEFT_DIV_UP(ep->config.qps, 64u);

	if (WEFT_LIKELY(!ep->failed_n))
		return false;
	while (!ep->failed[ep->failed_at])
		ep->failed_at = (ep->failed_at + 1) % words;
	struct weft_qp *qp = &ep->qps[64 * ep->failed_at + weft_ctz64(ep->failed[ep->failed_at])];

	set_failed(qp, false);
	*failure = (struct weft_qp_failure){
		.user = qp->user, .qpn = qp->qpn, .status = qp->status, .refused = qp->refused
	};
	return true;
}

void qp_fail_slot(struct weft_qp *qp, enum weft_status status)
{
	if (qp->state == WEFT_QP_ERROR)
		return;
	set_failed(qp, true);
	event_note(qp->ep, WEFT_EV_QP_STATE, qp->qpn, qp->set, qp->state, WEFT_QP_ERROR, status);
	leave_set(qp);
	qp->state = WEFT_QP_ERROR;
	qp->status = (uint8_t)status;
	flush(qp, status);
	if (qp->kind == QP_EXTENDED)
		qp->ext->out_head = qp->ext->out_tail;
}

void qp_fail(struct weft_qp *qp, enum weft_status status)
{
	qp_fail_slot(qp, status);
	if (qp->ext && ext_other(qp))
		qp_fail_slot(ext_other(qp), status);
}

void qp_slot_free(struct weft_qp *qp)
{
	leave_set(qp);
	sent_drop_all(qp);
	cq_forget(qp, qp->cq_tx);
	cq_forget(qp, qp->cq_rx);
	timer_set(qp->ep, timer_of_qp(qp), WEFT_NEVER);
	set_failed(qp, false);
	qp->state = WEFT_QP_RESET;
	set_used(qp, false);
}

void weft_qp_close(struct weft_qp *qp)
{
	WEFT_ASSERT(qp->in_use && qp->kind != QP_REPLIES);
	if (qp->ext)
		ext_free(qp);
	qp_slot_free(qp);
}

struct weft_qp *weft_qp_find(struct weft_endpoint *ep, uint32_t qpn)
{
	return qp_by_qpn(ep, qpn);
}

void qp_make_ready(struct weft_qp *qp)
{
	struct weft_endpoint *ep = qp->ep;

	if (qp->ready)
		return;
	qp->ready = true;
	ep->ready[ep->ready_tail++ & ep->qp_mask] = qp->index;
}

void qp_take_window(struct weft_qp *qp)
{
	uint32_t window = qp->cc->window_bytes(qp->cc_state);

	if (WEFT_UNLIKELY(window < qp->cwnd - qp->cwnd / 4))
		event_note(qp->ep, WEFT_EV_CWND, qp->qpn, qp->set, window, qp->inflight,
			   qp->rtt_ns);
	qp->cwnd = window;
}

int weft_qp_set_mpr(struct weft_qp *qp, uint32_t mpr_psns)
{
	if (mpr_psns < WEFT_MPR_UNIT_PSNS || mpr_psns % WEFT_MPR_UNIT_PSNS ||
	    mpr_psns > qp->ep->config.window_psns)
		return WEFT_EINVAL;
	if (!qp->dynamic_mpr || qp->state < WEFT_QP_RTR || qp->state == WEFT_QP_ERROR)
		return WEFT_ESTATE;
	/* What was promised stays accepted until the peer has heard of less. */
	qp->rx_mpr = WEFT_MAX(mpr_psns, qp->rx_mpr - qp->rx_mpr % WEFT_MPR_UNIT_PSNS);
	qp->rx_mpr_told = mpr_psns;
	return 0;
}

int weft_qp_set_deny(struct weft_qp *qp, uint32_t access)
{
	if (access > ACCESS_ALL)
		return WEFT_EINVAL;
	deny(qp, access);
	return 0;
}

int weft_qp_set_penalty(struct weft_qp *qp, uint8_t penalty)
{
	if (penalty > 127)
		return WEFT_EINVAL;
	qp->restore_out = !penalty && (qp->penalty_out || qp->restore_out);
	qp->penalty_out = penalty;
	return 0;
}

int weft_post_recv(struct weft_qp *qp, uint64_t id)
{
	if (qp->state == WEFT_QP_RESET || qp->state == WEFT_QP_ERROR)
		return WEFT_ESTATE;
	if ((uint16_t)(qp->rq_tail - qp->rq_head) > qp->ep->rq_mask)
		return WEFT_EFULL;
	if (qp->ext)
		return WEFT_ESTATE; /* weft_post_receive() */
	qp->rq[qp->rq_tail++ & qp->ep->rq_mask] = id;
	return 0;
}

void weft_qp_info(const struct weft_qp *qp, struct weft_qp_info *info)
{
	*info = (struct weft_qp_info){
		.qpn = qp->qpn,
		.peer = qp->peer,
		.peer_qpn = qp->peer_qpn,
		.pathset = qp->set,
		.state = qp->state,
		.status = qp->status,
		.refused = qp->refused,
		.mtu_bytes = qp->mtu_bytes,
		.psn_next = qp->psn_next,
		.psn_unacked = qp->psn_unack,
		.psn_cack = qp->rx_cack,
		.inflight_bytes = qp->inflight,
		.mpr_tx_psns = qp->mpr_tx,
		.sq_used = (uint16_t)(qp->sq_tail - qp->sq_head),
		.rq_used = (uint16_t)(qp->rq_tail - qp->rq_head),
		.rtt_ns = qp->rtt_ns,
		.rtt_min_ns = qp->rtt_min_ns,
		.rx_nominal_bytes = qp->rx_bytes,
		.reorder_ns = qp->reorder_ns,
		.timeouts_in_row = qp->timeouts,
	};
	qp->cc->report(qp->cc_state, &info->cc);
}
