/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ack_in - what the peer says about packets we sent.
 *
 * A SACK says four things at once: what has arrived (cumulative PSN, 64 bits, and the PSN that
 * triggered it), how that one path is doing (M), how the receiver's byte counter moved (the
 * clock of congestion control), and by its clear bits what had not arrived when it was made.
 * The last is used only together with evidence in engine_loss.c: for other implementations a clear
 * bit may mean "no information" [P 1.9].
 *
 * Messages are completed by the transport ACK, not by a SACK [P 2.4], in posting order [P 8.13].
 *
 * Anything that speaks of packets we never sent is forged or corrupt and is dropped whole.
 *
 * Hot: ack_in_sack() runs per SACK.
 */
#include "engine_local.h"

void ack_in_progress(struct weft_qp *qp, uint64_t now)
{
	qp->progressed = false;
	qp->progress_ns = now;
	qp->timeouts = 0;
	qp->nack_row = 0;
	qp->probe_wait_ns = 0;
	loss_arm(qp, now);
	if (request_has_work(qp))
		qp_make_ready(qp);
}

/* Smoothed as RFC 6298; ours is in ns and decides timers, congestion control keeps its own. */
static void learn_rtt(struct weft_qp *qp, uint32_t rtt_ns)
{
	if (!qp->rtt_min_ns) {
		qp->rtt_min_ns = qp->rtt_ns = rtt_ns;
		qp->rttvar_ns = rtt_ns / 2;
	} else {
		uint32_t off = rtt_ns > qp->rtt_ns ? rtt_ns - qp->rtt_ns : qp->rtt_ns - rtt_ns;

		qp->rtt_min_ns = WEFT_MIN(qp->rtt_min_ns, rtt_ns);
		qp->rttvar_ns += off / 4 - qp->rttvar_ns / 4;
		qp->rtt_ns += rtt_ns / 8 - qp->rtt_ns / 8;
	}
	loss_learn_reorder(qp);
}

/*
 * The echoed stamp holds the receiver's service time; our record has the range that 16 bits of
 * 128 ns lack.  Of a packet that was sent more than once it says which copy was meant, so that
 * Karn's rule ([P 5.4] has UET's form of it) is not needed: in an incast all that a sender has out
 * may be repeats, and congestion control moves by samples alone.
 */
static uint32_t sample_rtt(const struct sent_rec *rec, uint16_t ts, uint64_t now)
{
	uint64_t age_ns = age16_ns(now, rec->sent16);
	uint32_t echo_ns = (uint16_t)((uint16_t)(now / WEFT_TS_UNIT_NS) - ts) * WEFT_TS_UNIT_NS;

	bool fits = age_ns < UINT64_C(60000) * WEFT_TS_UNIT_NS &&
		    echo_ns <= age_ns + WEFT_TS_UNIT_NS;

	if ((rec->sends != 1 && !fits) || age_ns > UINT32_MAX)
		return 0;
	if (fits)
		age_ns = echo_ns;
	return (uint32_t)WEFT_MAX(age_ns, (uint64_t)1);
}

/* False: this SACK is older than one we have seen. */
static bool count_received(struct weft_qp *qp, uint32_t units, uint32_t *newly)
{
	uint32_t moved = (units - qp->rcvd_units) & RCVD_MASK;

	*newly = 0;
	if (moved > RCVD_MASK / 2)
		return false;
	qp->rcvd_units = units;
	*newly = moved * WEFT_RCVD_UNIT_BYTES;
	return true;
}

/* True: every PSN that this SACK names has been sent. */
static bool names_only_sent(const struct weft_qp *qp, const struct weft_pkt *pkt)
{
	const struct weft_pkt_sack *s = &pkt->sack;
	int32_t ahead = weft_psn_diff(qp->psn_next, s->cack_psn); /* 1: all has arrived */
	int32_t first_unsent = ahead - s->sack_offset; /* bit number of psn_next */

	if (ahead < 1 || (!s->is_probe && s->psn_offset >= ahead))
		return false;
	if (first_unsent >= 64)
		return true;
	return first_unsent <= 0 ? !s->bitmap : !(s->bitmap >> first_unsent);
}

static void hear_window(struct weft_qp *qp, const struct weft_pkt_sack *s)
{
	uint32_t mpr = WEFT_MIN((uint32_t)s->mpr_units * WEFT_MPR_UNIT_PSNS,
				qp->ep->config.window_psns);

	if (!qp->dynamic_mpr || !s->mpr_units || mpr == qp->mpr_tx)
		return;
	qp->mpr_tx = mpr;
	event_note(qp->ep, WEFT_EV_MPR, qp->qpn, qp->set, mpr, 0, 0);
}

static void hear_clear(struct pathset *set, uint32_t path)
{
	path_on_clear(set, path);
	if (set->path[path].state == WEFT_PATH_GOOD)
		pathset_alive(set, path);
}

/* What the triggering packet tells about its path; returns the RTT sample. */
static uint32_t hear_trigger(struct weft_qp *qp, const struct weft_pkt_sack *s, uint32_t psn,
			     uint64_t now)
{
	struct weft_endpoint *ep = qp->ep;
	struct pathset *set = &ep->sets[qp->set];
	uint32_t path = PATH_NONE, rtt_ns = 0;

	if (sent_is_open(qp, psn)) {
		const struct sent_rec *rec = sent_find(qp, psn);

		if (set->path[rec->path].ev == s->ev) {
			path = rec->path;
			rtt_ns = sample_rtt(rec, s->ts, now);
			if (s->m != WEFT_M_ALWAYS_SKIP)
				path_on_delivery(qp, rec, now);
			sent_ack_bits(qp, psn, 1);
		}
	}
	if (path == PATH_NONE)
		path = pathset_find(set, s->ev);
	if (path == PATH_NONE)
		return rtt_ns;
	if (rtt_ns)
		set->path[path].rtt_ns = rtt_ns;
	if (s->m == WEFT_M_SKIP_ONCE)
		path_on_mark(ep, qp->set, path, now);
	else if (s->m == WEFT_M_ALWAYS_SKIP)
		path_retire(ep, qp->set, path, false, now);
	else
		hear_clear(set, path);
	return rtt_ns;
}

/* A probe's answer proves that what left before the probe had its chance. */
static void hear_probe(struct weft_qp *qp, const struct weft_pkt_sack *s, uint64_t now)
{
	if (!qp->probe_out || s->probe_id != qp->probe_id) {
		drop_count(qp->ep, WEFT_DROP_UNKNOWN_REQUEST);
		return;
	}
	uint32_t sent16 = time16(qp->probe_sent_ns);

	qp->probe_out = false;
	if (!qp->rack_valid || later16(now, sent16, qp->rack_sent16)) {
		qp->rack_sent16 = sent16;
		qp->rack_valid = true;
	}
	learn_rtt(qp, (uint32_t)WEFT_MIN(now - qp->probe_sent_ns, (uint64_t)UINT32_MAX));
	/* The peer is there, and sends the data of reads by a deadline of its own. */
	if (qp->kind == QP_EXTENDED && !sent_outstanding(qp) && reads_outstanding(qp->ext))
		qp->progressed = true;
}

static void tell_cc(struct weft_qp *qp, const struct weft_pkt_sack *s, uint32_t newly,
		    uint32_t rtt_ns, uint64_t now)
{
	struct weft_cc_ack ack = {
		.now = now,
		.newly_bytes = newly,
		.inflight_bytes = qp->inflight,
		.rtt_ns = rtt_ns,
		.penalty = s->penalty,
		.restore = s->restore_cwnd,
		.marked = s->m != WEFT_M_NONE,
	};
	qp->cc->on_ack(qp->cc_state, &ack);
	qp_take_window(qp);
}

void ack_in_sack(struct weft_qp *qp, const struct weft_pkt *pkt, uint64_t now)
{
	const struct weft_pkt_sack *s = &pkt->sack;
	struct weft_endpoint *ep = qp->ep;

	ep->count.rx_sack++;
	if (!names_only_sent(qp, pkt)) {
		drop_count(ep, WEFT_DROP_ACK_UNSENT);
		return;
	}
	uint32_t before = qp->psn_unack, rack16 = qp->rack_sent16;
	bool had_rack = qp->rack_valid;
	uint32_t base = weft_psn_add(s->cack_psn, (uint32_t)(int32_t)s->sack_offset);
	uint32_t psn = weft_psn_add(s->cack_psn, (uint32_t)(int32_t)s->psn_offset);
	uint32_t newly, rtt_ns = 0;
	bool recent = count_received(qp, s->rcvd_units, &newly);

	if (s->is_probe)
		hear_probe(qp, s, now);
	else
		rtt_ns = hear_trigger(qp, s, psn, now);
	if (weft_psn_diff(s->cack_psn, qp->psn_unack) >= 0)
		sent_release(qp, weft_psn_add(s->cack_psn, 1));
	sent_ack_bits(qp, base, s->bitmap);
	if (rtt_ns)
		learn_rtt(qp, rtt_ns);
	if (WEFT_UNLIKELY(qp->rack_sent16 - rack16 > ep->config.base_rtt_ns >> 4) && had_rack)
		loss_find_dark(qp, rack16, now);
	if (recent && sent_outstanding(qp))
		loss_scan(qp, base, ~s->bitmap, now);
	if (WEFT_UNLIKELY(qp->in_doubt) && recent && sent_outstanding(qp))
		loss_scan_all(qp, s->ooo_pkts, now);
	tell_cc(qp, s, newly, rtt_ns, now);
	hear_window(qp, s);
	loss_keep_clock(qp, now);
	if (qp->progressed || qp->psn_unack != before)
		ack_in_progress(qp, now);
	else if (request_has_work(qp))
		qp_make_ready(qp);
	if (s->is_probe)
		loss_on_answer(qp, now);
}

static bool is_fatal_nack(uint8_t reason)
{
	return reason == WEFT_NACK_UNEXP_EVENT;
}

static void hear_trim(struct weft_qp *qp, uint8_t reason, uint32_t path, uint32_t bytes,
		      uint64_t now)
{
	struct weft_cc_loss loss = {
		.now = now,
		.lost_bytes = bytes,
		.inflight_bytes = qp->inflight,
		.kind = reason == WEFT_NACK_TRIMMED || reason == WEFT_NACK_TRIMMED_LASTHOP ?
				WEFT_CC_LOSS_TRIM :
				WEFT_CC_LOSS_NACK,
	};
	if (reason == WEFT_NACK_TRIMMED)
		path_on_mark(qp->ep, qp->set, path, now);
	qp->cc->on_loss(qp->cc_state, &loss);
	qp_take_window(qp);
}

/* Recoverable, but not at once: the peer is short of something. */
static void back_off(struct weft_qp *qp, uint64_t now)
{
	uint32_t shift = WEFT_MIN(qp->nack_row, (uint8_t)12);

	qp->hold_ns = now + ((uint64_t)qp->ep->config.base_rtt_ns << shift);
	if (qp->retry_count != 25 && qp->nack_row >= qp->linear_count + qp->retry_count) {
		qp_fail(qp, WEFT_RETRY_EXCEEDED);
		return;
	}
	count8(&qp->nack_row);
	loss_arm(qp, now);
}

void ack_in_nack(struct weft_qp *qp, const struct weft_pkt *pkt, uint64_t now)
{
	const struct weft_pkt_nack *n = &pkt->nack;
	struct weft_endpoint *ep = qp->ep;

	ep->count.rx_nack++;
	if (weft_psn_diff(n->psn, qp->psn_next) >= 0) {
		drop_count(ep, WEFT_DROP_ACK_UNSENT);
		return;
	}
	if (is_fatal_nack(n->reason)) {
		qp_fail(qp, WEFT_REMOTE_OPERATION);
		return;
	}
	if (!sent_is_open(qp, n->psn)) {
		drop_count(ep, WEFT_DROP_ACK_STALE);
		return;
	}
	const struct sent_page *page = sent_page_of(qp, n->psn);
	uint64_t settled = (page->acked | page->lost) >> (n->psn % PAGE_PSNS) & 1;
	struct sent_rec *rec = sent_find(qp, n->psn);

	/* A NACK of an earlier copy says nothing about the one that is on its way, but that the
	 * path of the earlier one delivers.
	 */
	if (settled || ep->sets[qp->set].path[rec->path].ev != n->ev) {
		if (n->reason == WEFT_NACK_TRIMMED || n->reason == WEFT_NACK_TRIMMED_LASTHOP)
			path_forgive(qp, n->psn, now);
		drop_count(ep, WEFT_DROP_ACK_STALE);
		return;
	}
	if (n->reason == WEFT_NACK_RNR && qp->kind != QP_EXTENDED) {
		drop_count(ep, WEFT_DROP_EXTENDED);
		return;
	}
	event_note(ep, WEFT_EV_NACK_IN, qp->qpn, qp->set, n->psn, n->reason, n->ev);
	loss_mark(qp, n->psn, LOSS_NACK, now);
	if (n->reason == WEFT_NACK_RNR) {
		recvq_on_rnr(qp, n, now);
		return;
	}
	hear_trim(qp, n->reason, rec->path, rec->bytes, now);
	if (n->reason != WEFT_NACK_TRIMMED && n->reason != WEFT_NACK_TRIMMED_LASTHOP)
		back_off(qp, now);
	else
		ack_in_progress(qp, now); /* the peer is there */
	if (qp->state == WEFT_QP_RTS)
		qp_make_ready(qp);
}

enum weft_status ack_in_status(uint8_t syndrome)
{
	switch (syndrome) {
	case WEFT_AETH_NAK_REMOTE_ACCESS:
		return WEFT_REMOTE_ACCESS;
	case WEFT_AETH_NAK_INVALID_REQUEST:
		return WEFT_REMOTE_INVALID;
	default:
		return WEFT_REMOTE_OPERATION;
	}
}

/* Transport ACK: the peer has placed all messages before msn (cumulative, 24 bits). */
void ack_in_ack(struct weft_qp *qp, const struct weft_pkt *pkt, uint64_t now)
{
	struct weft_endpoint *ep = qp->ep;
	uint16_t cut = (uint16_t)(qp->sq_send - qp->sq_head); /* works sent to their end */
	uint32_t done_msn = (uint32_t)(qp->msn_done & WEFT_PSN_MASK);
	int32_t n = weft_psn_diff(pkt->ack.msn, done_msn);

	ep->count.rx_ack++;
	if (n > cut) {
		drop_count(ep, WEFT_DROP_ACK_UNSENT);
		return;
	}
	if (WEFT_UNLIKELY(qp->kind == QP_EXTENDED) && n > 0) {
		ext_on_ack(qp, n);
		n = 0;
	}
	for (; n > 0 && qp->state == WEFT_QP_RTS; n--) {
		const struct sq_work *work = &qp->sq[qp->sq_head & ep->sq_mask];
		uint32_t end = weft_psn_add(work->psn_first, work->pkts);

		if (weft_psn_diff(end, qp->psn_unack) > 0)
			sent_release(qp, end);
		qp->msn_done++;
		cq_finish_work(qp, WEFT_OK);
		qp->progressed = true;
	}
	if (qp->state != WEFT_QP_RTS)
		return;
	if (pkt->ack.syndrome != WEFT_AETH_ACK && pkt->ack.syndrome >> 5 != 0) {
		qp_fail(qp, ack_in_status(pkt->ack.syndrome));
		return;
	}
	if (qp->progressed)
		ack_in_progress(qp, now);
}
