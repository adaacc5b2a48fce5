/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * engine_loss - decide that a packet is gone.
 *
 * Witnesses, in order of trust:
 *   NACK     the peer saw the trimmed packet [P 4.8]: certain and early
 *   FIFO     a path is one queue; something sent later on it has arrived (one packet of slack)
 *   reorder  something sent reorder_ns later on any path has arrived; or something sent later at
 *            all, and this one is reorder_ns older than a round trip
 *   port     it was under way on a plane that has just gone [P 6.3]; all gone: the timer [P 6.6]
 *   timer    nothing was heard for the ACK timeout: certain and late [P 4.5], counted [P 4.6]
 * A gap alone is no witness, for spraying reorders by design; and a gap counts only where the
 * newest SACK says that the packet was still missing, so that a lost SACK never looks like
 * lost data.  Sources: [P 4.3] for the choice, RFC 8985 (RACK) for deciding by time of
 * transmission, which stays right when repeats break the order of PSNs.
 *
 * Silence of everybody is not blamed on paths: a peer that was not scheduled for 10 ms must
 * not cost it every path it has.
 *
 * When the tail is silent, a probe comes before the timer [P 4.7].  After it two things help:
 * loss_scan_all() knows what is missing by what the peer counts (qp->in_doubt), and one repeat may
 * leave whatever the window says (qp->rescue).
 *
 * Hot: loss_scan() per SACK with holes, loss_arm() per burst.  The rest is rare.
 */
#include "engine_local.h"

#define TRIES_MIN 3

/* How much later something else must have been sent, and have arrived. */
void loss_learn_reorder(struct weft_qp *qp)
{
	struct weft_endpoint *ep = qp->ep;
	uint64_t queueing = (uint64_t)(qp->rtt_ns - qp->rtt_min_ns) + 4 * (uint64_t)qp->rttvar_ns;
	/* Before the first sample nobody knows how deep the queues are. */
	uint64_t guess = (uint64_t)ep->config.base_rtt_ns << !qp->rtt_min_ns;
	uint64_t reorder = WEFT_MAX(guess, queueing);
	uint64_t limit = WEFT_MAX(UINT64_C(512) << qp->timeout_exp, reorder);

	if (qp->spurious_shift && ep->now - qp->spurious_ns > 64 * (uint64_t)qp->rtt_ns) {
		qp->spurious_shift--;
		qp->spurious_ns = ep->now;
	}
	reorder = WEFT_MIN(reorder << qp->spurious_shift, limit);
	qp->reorder_ns = (uint32_t)WEFT_MIN(reorder, (uint64_t)UINT32_MAX);
}

static void count_cause(struct weft_endpoint *ep, enum loss_cause cause)
{
	uint64_t *const counters[] = {
		[LOSS_FIFO] = &ep->count.lost_fifo,
		[LOSS_REORDER] = &ep->count.lost_reorder,
		[LOSS_TIMER] = &ep->count.lost_timer,
		[LOSS_SILENCE] = &ep->count.lost_timer,
		[LOSS_NACK] = &ep->count.lost_nack,
		[LOSS_PORT] = &ep->count.lost_port,
	};
	++*counters[cause];
}

void loss_mark(struct weft_qp *qp, uint32_t psn, enum loss_cause cause, uint64_t now)
{
	struct weft_endpoint *ep = qp->ep;
	struct sent_page *page = sent_page_of(qp, psn);
	struct sent_rec *rec = &page->rec[psn % PAGE_PSNS];
	uint64_t bit = UINT64_C(1) << (psn % PAGE_PSNS);

	WEFT_ASSERT(!((page->acked | page->lost) & bit));
	page->lost |= bit;
	rec->cause = (uint8_t)cause;
	qp->lost++;
	qp->inflight -= rec->bytes;
	if (weft_psn_diff(psn, qp->lost_low) < 0)
		qp->lost_low = psn;
	count_cause(ep, cause);
	if (cause == LOSS_NACK)
		return; /* congestion control and path hear it from the NACK's reason */
	if (cause == LOSS_PORT)
		return; /* a cable that is out, or a plane: no congestion, and no path's fault */
	struct weft_cc_loss loss = {
		.now = now,
		.lost_bytes = rec->bytes,
		.inflight_bytes = qp->inflight,
		.kind = WEFT_CC_LOSS_INFERRED,
	};
	qp->cc->on_loss(qp->cc_state, &loss);
	qp_take_window(qp);
	if (cause == LOSS_SILENCE) {
		path_on_silence(&ep->sets[qp->set], rec->path);
		return;
	}
	event_note(ep, WEFT_EV_PATH_LOSS, qp->qpn, qp->set, ep->sets[qp->set].path[rec->path].ev,
		psn, cause);
	path_on_loss(ep, qp->set, rec->path, rec->sent16, now);
	path_blame(qp, rec->path, psn);
}

/*
 * When the window is full nothing newer is sent that could arrive, so age decides (RFC 8985 6.2).
 * Where nothing has come for as long, caution that false alarms have taught holds up everything.
 */
static bool outlived(const struct weft_qp *qp, const struct sent_rec *rec)
{
	uint64_t now = qp->ep->now, calm_ns = qp->reorder_ns >> qp->spurious_shift;
	bool stalled = now - qp->progress_ns > qp->rtt_ns + calm_ns;

	return age16_ns(now, rec->sent16) >
	       (uint64_t)qp->rtt_ns + (stalled ? calm_ns : qp->reorder_ns);
}

static bool overtaken(const struct weft_qp *qp, const struct sent_rec *rec, enum loss_cause *cause)
{
	uint32_t behind16 = qp->rack_sent16 - rec->sent16;

	if (!later16(qp->ep->now, qp->rack_sent16, rec->sent16))
		return false; /* nothing sent later has arrived */
	if (behind16 > qp->reorder_ns >> 4 || outlived(qp, rec)) {
		*cause = LOSS_REORDER;
		return true;
	}
	const struct path *path = &qp->ep->sets[qp->set].path[rec->path];

	*cause = LOSS_FIFO;
	return (int32_t)(path->acked_seq - rec->path_seq) > FIFO_SLACK_PKTS;
}

/* In flight, of the page that starts at psn0. */
static uint64_t inflight_bits(const struct weft_qp *qp, uint32_t psn0)
{
	const struct sent_page *page = sent_page_of(qp, psn0);
	uint64_t bits = ~(page->acked | page->lost);
	int32_t low = weft_psn_diff(qp->psn_unack, psn0);
	int32_t high = weft_psn_diff(qp->psn_next, psn0);

	if (low > 0)
		bits &= ~UINT64_C(0) << low;
	if (high < PAGE_PSNS)
		bits &= ~(~UINT64_C(0) << high);
	return bits;
}

static bool page_is_open(const struct weft_qp *qp, uint32_t psn0)
{
	return weft_psn_diff(psn0, qp->psn_next) < 0 &&
	       weft_psn_diff(psn0, qp->psn_unack) > -PAGE_PSNS;
}

/* PSNs rise with time unless repeated: from the first young one on, all are too young. */
static bool is_young(const struct weft_qp *qp, const struct sent_rec *rec)
{
	return rec->sends == 1 && !later16(qp->ep->now, qp->rack_sent16, rec->sent16);
}

static bool was_dark(const struct weft_qp *qp, const struct sent_rec *rec)
{
	return rec->sent16 - qp->dark_from16 < qp->dark_to16 - qp->dark_from16;
}

/* Returns false when the rest of the window need not be looked at. */
static bool scan_page(struct weft_qp *qp, uint32_t psn0, uint64_t part, uint64_t now)
{
	const struct sent_page *page = sent_page_of(qp, psn0);

	for (part &= inflight_bits(qp, psn0); part; part &= part - 1) {
		uint32_t i = lowest_bit(part);
		enum loss_cause cause;

		if (is_young(qp, &page->rec[i]))
			return false;
		/* A plane that was given up a moment ago has taken others with it. */
		if (!overtaken(qp, &page->rec[i], &cause) || page->lost >> i & 1)
			continue;
		loss_mark(qp, psn0 + i, was_dark(qp, &page->rec[i]) ? LOSS_PORT : cause, now);
	}
	return true;
}

/*
 * The newest arrival left much later than the newest before that.  If nothing has arrived of what
 * left in between, by whatever plane, the peer was away, or we were: no path is to blame, no plane,
 * and no congestion.  A packet or two prove no such thing.
 */
void loss_find_dark(struct weft_qp *qp, uint32_t from16, uint64_t now)
{
	const struct weft_endpoint *ep = qp->ep;
	const struct pathset *set = &ep->sets[qp->set];
	uint32_t first = qp->psn_unack & ~(uint32_t)(PAGE_PSNS - 1), planes = 0, n = 0;
	uint32_t to16 = qp->rack_sent16, burst16 = to16 - (ep->config.base_rtt_ns >> 4);

	if (!sent_outstanding(qp))
		return;
	for (uint32_t psn0 = first; page_is_open(qp, psn0); psn0 = weft_psn_add(psn0, PAGE_PSNS)) {
		const struct sent_page *page = sent_page_of(qp, psn0);

		for (uint64_t bits = page->acked; bits; bits &= bits - 1) {
			uint32_t sent16 = page->rec[lowest_bit(bits)].sent16;

			if (!later16(now, sent16, burst16))
				from16 = later16(now, sent16, from16) ? sent16 : from16;
			else if (later16(now, to16, sent16))
				to16 = sent16;
		}
	}
	for (uint32_t psn0 = first; page_is_open(qp, psn0); psn0 = weft_psn_add(psn0, PAGE_PSNS)) {
		const struct sent_page *page = sent_page_of(qp, psn0);

		for (uint64_t bits = inflight_bits(qp, psn0); bits; bits &= bits - 1) {
			const struct sent_rec *rec = &page->rec[lowest_bit(bits)];

			if (rec->sent16 - from16 >= to16 - from16)
				continue;
			planes |= 1u << set->path[rec->path].plane;
			n++;
		}
	}
	if (n < PLANE_DEAD_LOSSES || pathset_usable(ep, set) & ~planes)
		return;
	qp->dark_from16 = from16;
	qp->dark_to16 = to16;
}

void loss_scan(struct weft_qp *qp, uint32_t base, uint64_t missing, uint64_t now)
{
	uint32_t shift = base % PAGE_PSNS;
	uint32_t psn0 = base - shift;

	if (!qp->rack_valid || !missing)
		return;
	if (page_is_open(qp, psn0) && !scan_page(qp, psn0, missing << shift, now))
		return;
	psn0 = weft_psn_add(psn0, PAGE_PSNS);
	if (shift && page_is_open(qp, psn0))
		scan_page(qp, psn0, missing >> (PAGE_PSNS - shift), now);
}

/*
 * One SACK shows 64 PSNs, and none beyond the highest that has arrived: where a whole tail is lost
 * it never shows that.  But it says how many packets the peer has out of order; when we know of as
 * many, whatever else is out was missing when it was built.
 */
void loss_scan_all(struct weft_qp *qp, uint32_t ooo_pkts, uint64_t now)
{
	uint32_t first = qp->psn_unack & ~(uint32_t)(PAGE_PSNS - 1), known = 0;

	for (uint32_t psn0 = first; page_is_open(qp, psn0); psn0 = weft_psn_add(psn0, PAGE_PSNS)) {
		uint64_t acked = sent_page_of(qp, psn0)->acked;

		if (psn0 == first)
			acked &= ~UINT64_C(0) << (qp->psn_unack - first);
		known += weft_popcount64(acked);
	}
	if (known != ooo_pkts || !qp->rack_valid)
		return;
	qp->in_doubt = false;
	for (uint32_t psn0 = first; page_is_open(qp, psn0); psn0 = weft_psn_add(psn0, PAGE_PSNS)) {
		if (!scan_page(qp, psn0, ~UINT64_C(0), now))
			return;
	}
}

static void lose_plane(struct weft_qp *qp, uint32_t plane, enum loss_cause cause, uint64_t now)
{
	const struct path *paths = qp->ep->sets[qp->set].path;

	if (!sent_outstanding(qp))
		return;
	for (uint32_t psn0 = qp->psn_unack & ~(uint32_t)(PAGE_PSNS - 1); page_is_open(qp, psn0);
		psn0 = weft_psn_add(psn0, PAGE_PSNS)) {
		for (uint64_t bits = inflight_bits(qp, psn0); bits; bits &= bits - 1) {
			uint32_t i = lowest_bit(bits);

			if (paths[sent_page_of(qp, psn0)->rec[i].path].plane == plane)
				loss_mark(qp, psn0 + i, cause, now);
		}
	}
	qp_make_ready(qp);
}

void loss_plane(
	struct weft_endpoint *ep, uint32_t set, uint32_t plane, enum loss_cause cause, uint64_t now)
{
	uint32_t i = qp_next_used(ep, 0);

	for (; i < ep->config.qps; i = qp_next_used(ep, i + 1))
		if (ep->qps[i].state == WEFT_QP_RTS && ep->qps[i].set == set)
			lose_plane(&ep->qps[i], plane, cause, now);
}

/* ---- timers ---- */

/* As agreed (1.024 us * 2^exp), but never before an answer can be there. */
static uint64_t timeout_ns(const struct weft_qp *qp)
{
	uint64_t soonest = WEFT_MAX(3 * (uint64_t)qp->ep->config.base_rtt_ns,
		(uint64_t)qp->rtt_ns + 4 * (uint64_t)qp->rttvar_ns);
	uint32_t doublings = (uint32_t)(qp->timeouts - WEFT_MIN(qp->timeouts, qp->linear_count));
	uint32_t exponent = WEFT_MIN(qp->timeout_exp + doublings, (uint32_t)qp->timeout_exp_max);

	/* One sample across a pause of the peer must not set the pace for ever. */
	soonest = WEFT_MIN(soonest, UINT64_C(8192) << qp->timeout_exp);
	return WEFT_MAX(UINT64_C(1024) << exponent, soonest);
}

/*
 * How long the tail may be silent.  Where a packet with the A bit is out, an answer is on its
 * way, unless it left by a plane that has just died: two round trips (RFC 8985 7.2), because all
 * planes stand still meanwhile.  Where none is (the window was cut after the last of them had
 * left, and what is in flight need not reach the peer's own threshold), nobody owes us one: ask
 * after a round trip.
 */
static uint64_t probe_wait_ns(const struct weft_qp *qp)
{
	uint64_t base = qp->ep->config.base_rtt_ns;
	uint64_t idle = sent_awaits_answer(qp) ? base + base : base;
	uint64_t seen = (uint64_t)qp->rtt_ns + 4 * (uint64_t)qp->rttvar_ns;

	return qp->probe_wait_ns ? qp->probe_wait_ns : WEFT_MAX(idle, seen);
}

/* No cable is in that leads to the peer. */
static bool is_cut_off(const struct weft_qp *qp)
{
	const struct weft_endpoint *ep = qp->ep;

	return qp->set != SET_NONE && !(ep->ports_up & ep->sets[qp->set].planes_mask);
}

/* Waiting for the peer, or for a port to come back. */
static bool is_waiting(const struct weft_qp *qp)
{
	return sent_outstanding(qp) || qp->sq_head != qp->sq_send ||
	       (qp->sq_send != qp->sq_tail && is_cut_off(qp));
}

void loss_arm(struct weft_qp *qp, uint64_t now)
{
	if (!is_waiting(qp)) {
		qp->rto_ns = 0;
		timer_set(qp->ep, timer_of_qp(qp), WEFT_NEVER);
		return;
	}
	if (!qp->rto_ns)
		qp->rto_ns = now + timeout_ns(qp);
	uint64_t due = WEFT_MIN(qp->rto_ns, qp->progress_ns + probe_wait_ns(qp));

	if (qp->lost && qp->hold_ns > now)
		due = WEFT_MIN(due, qp->hold_ns);
	if (qp->give_up_ns && qp->progress_ns + qp->give_up_ns > now)
		due = WEFT_MIN(due, qp->progress_ns + qp->give_up_ns);
	timer_set(qp->ep, timer_of_qp(qp), WEFT_MAX(due, now + 1));
}

/* Work that cannot leave has its retry budget, too; it runs from the first post. */
void loss_on_post(struct weft_qp *qp)
{
	if (!is_cut_off(qp))
		return;
	if (!qp->rto_ns)
		qp->progress_ns = qp->ep->now;
	loss_arm(qp, qp->ep->now);
}

/* Declares lost what is older than the timeout; how many, and the age of the oldest left. */
static uint32_t expire(struct weft_qp *qp, uint64_t limit_ns, uint64_t now, uint64_t *oldest_ns)
{
	uint32_t expired = 0;

	*oldest_ns = 0;
	if (!sent_outstanding(qp))
		return 0;
	for (uint32_t psn0 = qp->psn_unack & ~(uint32_t)(PAGE_PSNS - 1); page_is_open(qp, psn0);
		psn0 = weft_psn_add(psn0, PAGE_PSNS)) {
		for (uint64_t bits = inflight_bits(qp, psn0); bits; bits &= bits - 1) {
			uint32_t i = lowest_bit(bits);
			const struct sent_rec *rec = &sent_page_of(qp, psn0)->rec[i];
			uint64_t age_ns = age16_ns(now, rec->sent16);
			bool heard = qp->rack_valid && later16(now, qp->rack_sent16, rec->sent16);

			if (!(inflight_bits(qp, psn0) >> i & 1))
				continue; /* gone with its plane a moment ago */
			if (age_ns < limit_ns) {
				*oldest_ns = WEFT_MAX(*oldest_ns, age_ns);
				continue;
			}
			loss_mark(qp, psn0 + i, heard ? LOSS_TIMER : LOSS_SILENCE, now);
			expired++;
		}
	}
	return expired;
}

/* A clock that has leapt is no silence: then it was we who did not run, and nobody was asked. */
static bool is_spent(const struct weft_qp *qp, uint64_t now)
{
	if (qp->give_up_ns)
		return qp->timeouts >= TRIES_MIN && now >= qp->progress_ns + qp->give_up_ns;
	return qp->retry_count != 25 && qp->timeouts > qp->linear_count + qp->retry_count;
}

static void count_timeout(struct weft_qp *qp, uint32_t expired, uint64_t now)
{
	qp->timeout_ns = now;
	count8(&qp->timeouts);
	qp->ep->count.timeouts++;
	event_note(qp->ep, WEFT_EV_TIMEOUT, qp->qpn, qp->set, qp->psn_unack, expired, qp->timeouts);
	if (is_spent(qp, now))
		qp_fail(qp, WEFT_RETRY_EXCEEDED);
}

static void time_out(struct weft_qp *qp, uint64_t now)
{
	uint64_t limit_ns = timeout_ns(qp);
	uint64_t since_ns = WEFT_MAX(qp->progress_ns, qp->timeout_ns);
	uint64_t oldest_ns;
	uint32_t expired = expire(qp, limit_ns - 16, now, &oldest_ns);
	bool silent = !qp->inflight && now >= since_ns + limit_ns; /* RNR: since is to come */

	if (expired)
		qp_make_ready(qp);
	/* What left in one burst expires in several steps: that is one timeout, not many.  Nor is
	 * it another when what left behind the burst is as old as a doubled interval. */
	if ((expired || silent) && (!qp->timeouts || now - qp->timeout_ns >= limit_ns / 4 * 3)) {
		count_timeout(qp, expired, now);
		if (qp->state != WEFT_QP_RTS)
			return;
	}
	qp->rto_ns = now + timeout_ns(qp) - WEFT_MIN(oldest_ns, timeout_ns(qp) - 1);
}

static void send_probe(struct weft_qp *qp, uint64_t now)
{
	struct answer *answer = answer_add(qp->ep);

	if (!answer)
		return;
	qp->probe_out = true;
	qp->in_doubt = true;
	qp->probe_id++;
	qp->probe_sent_ns = now;
	answer->kind = ANSWER_PROBE;
	answer->qp = qp->index;
	answer->qpn = qp->qpn;
	answer->probe_id = qp->probe_id;
	answer->path = sent_outstanding(qp) ? sent_find(qp, qp->psn_unack)->path : PATH_NONE;
}

/*
 * The window has been cut below what is in flight after the last question was answered, and what
 * is in flight need not reach the peer's own threshold: unless we ask, both ends wait for each
 * other until the tail timer.
 */
void loss_keep_clock(struct weft_qp *qp, uint64_t now)
{
	uint32_t full = weft_nominal_bytes(qp->mtu_bytes);

	if (qp->inflight + full > qp->cwnd && qp->inflight < qp->ep->config.sack_bytes &&
		sent_outstanding(qp) && request_has_work(qp) && !qp->probe_out &&
		!sent_awaits_answer(qp))
		send_probe(qp, now);
}

/* The tail is silent: ask for the receiver's state instead of waiting for the timeout. */
static void probe_tail(struct weft_qp *qp, uint64_t now)
{
	uint64_t silent_ns = now - qp->progress_ns;

	/* The next one after as much silence again, but at least once per timeout. */
	qp->probe_wait_ns = silent_ns + WEFT_MIN(silent_ns, timeout_ns(qp));
	qp->ep->count.tail_probes++;
	send_probe(qp, now);
	event_note(qp->ep, WEFT_EV_TAIL_PROBE, qp->qpn, qp->set, qp->psn_unack, qp->probe_id,
		(uint32_t)WEFT_MIN(silent_ns, (uint64_t)UINT32_MAX));
}

/*
 * The peer answers, and still lacks what is on its way or about to be sent again.  Ask again once
 * that would be late: waits double for who is silent.  Not for longer than a timeout: repeats of
 * what never gets through must grow old enough to be counted.
 */
void loss_on_answer(struct weft_qp *qp, uint64_t now)
{
	uint64_t silent_ns = now - qp->progress_ns, age_ns = 0;

	/* Nothing else may make it say more (RFC 6675, 5 (4.3): whatever the window says). */
	qp->rescue = qp->lost;
	if (qp->rescue)
		qp_make_ready(qp);
	if (!qp->probe_wait_ns || !sent_outstanding(qp) || qp->hold_ns > now ||
		silent_ns > timeout_ns(qp))
		return;
	uint64_t late_ns = (uint64_t)qp->rtt_ns + qp->reorder_ns;
	uint32_t i = qp->psn_unack % PAGE_PSNS;

	if (inflight_bits(qp, qp->psn_unack - i) >> i & 1)
		age_ns = age16_ns(now, sent_find(qp, qp->psn_unack)->sent16);
	uint64_t rest_ns = late_ns - WEFT_MIN(age_ns, late_ns);

	rest_ns = WEFT_MAX(rest_ns, (uint64_t)qp->ep->config.base_rtt_ns);
	qp->probe_wait_ns = WEFT_MIN(qp->probe_wait_ns, silent_ns + rest_ns);
	loss_arm(qp, now);
}

void loss_on_timer(struct weft_qp *qp, uint64_t now)
{
	if (qp->state != WEFT_QP_RTS)
		return;
	if (!is_waiting(qp)) {
		loss_arm(qp, now);
		return;
	}
	if (qp->give_up_ns && is_spent(qp, now)) {
		qp_fail(qp, WEFT_RETRY_EXCEEDED);
		return;
	}
	if (qp->lost && now >= qp->hold_ns)
		qp_make_ready(qp);
	if (qp->rto_ns && now >= qp->rto_ns)
		time_out(qp, now);
	if (qp->state != WEFT_QP_RTS)
		return;
	if (now >= qp->progress_ns + probe_wait_ns(qp))
		probe_tail(qp, now);
	loss_arm(qp, now);
}
