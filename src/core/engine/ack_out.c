/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ack_out - when to answer, and what the answer shows.
 *
 * Triggers (7.5.2, [P 4.1]): enough new data, the A bit, a CE mark, a retransmission, a probe; and
 * a duplicate, whose sender has evidently not heard us.  Answers wait in one queue until a port is
 * free and are built only then, so they show the newest state, and triggers that say nothing
 * of their own (no CE, no RTX, no probe) are content with a SACK that is still queued: a burst
 * of 32 packets costs one.
 *
 * One trigger is ours: a packet that asked (A bit) may have overtaken others, and the SACK that it
 * got then shows holes; when the last of them closes without any other cause, it is answered once
 * more.  The end of a message is where that happens, since its last packet is shorter and quicker
 * than those before it; without the second answer its sender would wait for a tail probe
 * (measured: 50 us instead of 70 for 2 MB over one 400 Gb/s plane, src/sim/sim).
 *
 * Which 64 PSNs to show: fresh news first (what no SACK has shown yet), together with as much
 * below the highest PSN as fits, so that each arrival is shown several times and a lost SACK
 * costs nothing.  While there are holes further down, every other SACK looks back at a stretch
 * of them, because a sender may call a packet lost only when it is told that it is missing.
 * (UET's "oldest not yet SACKed" shows each arrival once; EMU's fixed base never shows old
 * holes again: [P 8.9].)
 *
 * A transport ACK follows a SACK whenever messages have been completed since the last one.
 *
 * Hot: ack_out_on_data() per packet, the rest per answer.
 */
#include "engine_local.h"

enum { MORE_SACKS = 3, ACKS_FEW = 4 };

struct answer *answer_add(struct weft_endpoint *ep)
{
	if (ep->answer_tail - ep->answer_head > ep->answer_mask) {
		drop_count(ep, WEFT_DROP_CONTROL_FULL);
		return NULL;
	}
	struct answer *answer = &ep->answers[ep->answer_tail++ & ep->answer_mask];

	*answer = (struct answer){ .at_ns = ep->now, .path = PATH_NONE, .set = SET_NONE };
	return answer;
}

/* What every answer to a packet carries. */
static struct answer answer_to(const struct weft_qp *qp, const struct weft_pkt *pkt, uint8_t kind,
			       uint16_t ts, uint64_t now)
{
	return (struct answer){
		.at_ns = now,
		.qp = qp->index,
		.qpn = qp->qpn,
		.ev = pkt->ev,
		.psn = pkt->psn,
		.ts = ts,
		.path = PATH_NONE,
		.kind = kind,
		.m = pkt->mark & WEFT_MARK_CE ? WEFT_M_SKIP_ONCE : WEFT_M_NONE,
		.port = port_kept(qp->ep, pkt->port),
	};
}

/* Data comes in: paths for our answers are to be kept known (engine_probe.c). */
static void hear_inbound(struct weft_qp *qp, uint64_t now)
{
	struct weft_endpoint *ep = qp->ep;
	struct pathset *set = &ep->sets[qp->set];

	if (set->heard)
		return;
	set->heard = true;
	probe_arm(ep, qp->set, now);
}

/* A mark or a repeat takes the place of a plain SACK in the queue: it shows all the same. */
static void add_sack(struct weft_qp *qp, const struct weft_pkt *pkt, bool plain, uint64_t now)
{
	struct weft_endpoint *ep = qp->ep;
	uint32_t seq = qp->rx_sack_answer - 1;
	bool queued = qp->rx_sack_answer &&
		      seq - ep->answer_head < ep->answer_tail - ep->answer_head;

	qp->rx_trigger = 0;
	if (queued && plain)
		return; /* it will show this packet as well */
	hear_inbound(qp, now);
	if (!queued) {
		seq = ep->answer_tail;
		if (!answer_add(ep))
			return;
	}
	struct answer *answer = &ep->answers[seq & ep->answer_mask];

	*answer = answer_to(qp, pkt, ANSWER_SACK, pkt->w.ts, now);
	answer->flags = pkt->flags & WEFT_BTH_RTX;
	qp->rx_sack_answer = plain ? seq + 1 : 0; /* the others keep an answer of their own */
}

void ack_out_on_data(struct weft_qp *qp, const struct weft_pkt *pkt, bool fresh, uint64_t now)
{
	bool special = (pkt->mark & WEFT_MARK_CE) || (pkt->flags & WEFT_BTH_RTX);
	bool closed = qp->rx_asked && !qp->rx_ooo;

	if (pkt->flags & WEFT_BTH_ACK_REQ || closed)
		qp->rx_asked = qp->rx_ooo != 0;
	if (!fresh)
		qp->rx_msn_told = qp->rx_msn - 1; /* it may have missed the transport ACK */
	if (pkt->mark & WEFT_MARK_CE)
		qp->ep->count.rx_ce++;
	if (special || !fresh || closed || pkt->flags & WEFT_BTH_ACK_REQ ||
	    qp->rx_trigger >= qp->ep->config.sack_bytes)
		add_sack(qp, pkt, !special, now);
	else if (qp->rx_msn - qp->rx_msn_told >= ACK_MESSAGES)
		ack_out_ack(qp, WEFT_AETH_ACK, pkt->port);
}

/*
 * Who probes has heard too little, and may not be able to send anything that would make us say
 * more: what it takes to be under way fills its window (measured: 250 us, until the timeout, after
 * a plane of four had fallen silent with our SACKs on it).  So it is told of as much of its window
 * as MORE_SACKS hold beyond the first, and of other parts when it probes again.
 */
void ack_out_on_probe(struct weft_qp *qp, const struct weft_pkt *pkt, uint64_t now)
{
	bool again = qp->rx_msn && qp->rx_msn_told == qp->rx_msn; /* all has been told */
	int32_t span = qp->rx_ooo ? weft_psn_diff(qp->rx_max, qp->rx_cack) : 0;
	int32_t sacks = 1 + WEFT_MIN(WEFT_MAX(span - 1, 0) / 64, MORE_SACKS);

	qp->ep->count.rx_probe++;
	for (int32_t i = 0; i < sacks; i++) {
		struct answer *answer = answer_add(qp->ep);

		if (!answer)
			return;
		*answer = answer_to(qp, pkt, ANSWER_SACK, pkt->probe.ts, now);
		answer->again = again;
		answer->more = i;
		answer->is_probe = !i;
		answer->probe_id = i ? 0 : pkt->probe.probe_id;
		qp->rx_msn_told = qp->rx_msn - 1; /* say it again: the ACK may be what was lost */
	}
}

void ack_out_nack(struct weft_qp *qp, const struct weft_pkt *pkt, uint8_t reason, uint64_t now)
{
	struct answer *answer = answer_add(qp->ep);

	if (!answer)
		return;
	*answer = answer_to(qp, pkt, ANSWER_NACK, pkt->w.ts, now);
	answer->reason = reason;
}

static void add_ack(struct weft_qp *qp, uint8_t syndrome, uint8_t port, bool again)
{
	struct answer *answer = answer_add(qp->ep);

	if (!answer)
		return;
	answer->qp = qp->index;
	answer->qpn = qp->qpn;
	answer->kind = ANSWER_ACK;
	answer->reason = syndrome;
	answer->port = port_kept(qp->ep, port);
	answer->again = again;
	qp->rx_msn_told = qp->rx_msn;
}

void ack_out_ack(struct weft_qp *qp, uint8_t syndrome, uint8_t port)
{
	add_ack(qp, syndrome, port, false);
}

/* Marks, repeats and probes are not: their senders act upon the answer. */
static bool is_plain(const struct answer *answer)
{
	if (answer->again || answer->more)
		return false;
	return answer->kind == ANSWER_ACK ? answer->reason == WEFT_AETH_ACK :
					    answer->kind == ANSWER_SACK && !answer->is_probe &&
						    !answer->flags && answer->m == WEFT_M_NONE;
}

uint64_t weft_acks_since(const struct weft_endpoint *ep)
{
	uint32_t n = ep->answer_tail - ep->answer_head;

	if (!n || n > ACKS_FEW)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!is_plain(&ep->answers[(ep->answer_head + i) & ep->answer_mask]))
			return 0;
	}
	return ep->answers[ep->answer_head & ep->answer_mask].at_ns;
}

void weft_keep_acks(struct weft_endpoint *ep, uint64_t keep_ns)
{
	ep->keep_acks_ns = keep_ns;
}

bool ack_out_keeps(const struct weft_endpoint *ep, uint64_t now)
{
	uint64_t since = ep->keep_acks_ns ? weft_acks_since(ep) : 0;

	return since && now - since < ep->keep_acks_ns;
}

/* ---- building ---- */

/* Chooses the first PSN to show and notes what is then shown. */
static uint32_t choose_base(struct weft_qp *qp, const struct answer *answer)
{
	uint32_t low = weft_psn_add(qp->rx_cack, 1);
	uint32_t high, base = low;
	bool holes_below;

	if (weft_psn_diff(qp->rx_cack, qp->rx_max) > 0)
		qp->rx_max = qp->rx_cack;
	high = weft_psn_add(qp->rx_max, WEFT_PSN_MASK - 62); /* rx_max - 63 */
	if (weft_psn_diff(high, low) < 0)
		high = low;
	holes_below = high != low;
	if (qp->rx_fresh && weft_psn_diff(qp->rx_low_new, low) < 0)
		qp->rx_fresh = weft_psn_diff(qp->rx_max, low) >= 0;
	if (qp->rx_fresh && weft_psn_diff(qp->rx_low_new, low) < 0)
		qp->rx_low_new = low;
	if (!holes_below || answer->is_probe) {
		base = low;
	} else if (answer->more) { /* from where the first one ends to the highest, and again */
		base = qp->rx_sweep;
		if (weft_psn_diff(base, low) < 64 || weft_psn_diff(base, qp->rx_max) > 0)
			base = weft_psn_add(low, 64);
		qp->rx_sweep = weft_psn_add(base, 64);
	} else if (qp->rx_look_back) {
		base = qp->rx_sweep;
		if (weft_psn_diff(base, low) < 0 || weft_psn_diff(base, high) >= 0)
			base = low;
		qp->rx_sweep = weft_psn_add(base, 64);
	} else {
		base = qp->rx_fresh && weft_psn_diff(qp->rx_low_new, high) < 0 ? qp->rx_low_new :
										 high;
	}
	qp->rx_look_back = holes_below && !qp->rx_look_back;
	if (qp->rx_fresh && weft_psn_diff(qp->rx_low_new, base) >= 0) {
		uint32_t end = weft_psn_add(base, 64);

		if (weft_psn_diff(qp->rx_max, end) < 0)
			qp->rx_fresh = false;
		else if (weft_psn_diff(qp->rx_low_new, end) < 0)
			qp->rx_low_new = end;
	}
	return base;
}

static uint16_t echo(const struct answer *answer, uint64_t now)
{
	return (uint16_t)(answer->ts + (now - answer->at_ns) / WEFT_TS_UNIT_NS);
}

static void build_sack(struct weft_qp *qp, const struct answer *answer, struct weft_pkt *pkt,
		       uint64_t now)
{
	uint32_t base = choose_base(qp, answer);
	uint64_t units = WEFT_DIV_UP(qp->rx_bytes, WEFT_RCVD_UNIT_BYTES);
	/* The window may have moved on since: further back than 16 bits tell is just "long ago". */
	int32_t ahead = WEFT_MAX(weft_psn_diff(answer->psn, qp->rx_cack), INT16_MIN);
	bool has_trigger = !answer->is_probe && !answer->more;

	pkt->op = WEFT_OP_SACK;
	pkt->flags = answer->flags;
	pkt->sack = (struct weft_pkt_sack){
		.bitmap = window_bits(qp, base),
		.ev = answer->ev,
		.cack_psn = qp->rx_cack,
		.rcvd_units = (uint32_t)(units & RCVD_MASK),
		.psn_offset = (int16_t)(has_trigger ? ahead : answer->more ? INT16_MIN : 0),
		.sack_offset = (int16_t)weft_psn_diff(base, qp->rx_cack),
		.probe_id = answer->probe_id,
		.ts = echo(answer, now),
		.ooo_pkts = (uint16_t)WEFT_MIN(qp->rx_ooo, 0x7fffu),
		.m = answer->m,
		.mpr_units = (uint8_t)(qp->dynamic_mpr ? qp->rx_mpr_told / WEFT_MPR_UNIT_PSNS : 0),
		.penalty = qp->penalty_out,
		.cc_type_flags = WEFT_CC_TYPE_NSCC << 4,
		.is_probe = answer->is_probe,
		.restore_cwnd = qp->restore_out,
	};
	qp->ep->count.tx_sack++;
}

static void build_ack(struct weft_qp *qp, uint8_t syndrome, struct weft_pkt *pkt)
{
	pkt->op = WEFT_OP_ACK;
	pkt->flags = 0;
	pkt->ack = (struct weft_pkt_ack){
		.msn = qp->rx_msn & WEFT_PSN_MASK,
		.syndrome = syndrome,
	};
	qp->rx_msn_told = qp->rx_msn;
	qp->ep->count.tx_ack++;
}

static void build_nack(struct weft_qp *qp, const struct answer *answer, struct weft_pkt *pkt,
		       uint64_t now)
{
	pkt->op = WEFT_OP_NACK;
	pkt->flags = 0;
	pkt->nack = (struct weft_pkt_nack){
		.ev = answer->ev,
		.psn = answer->psn,
		.ts = echo(answer, now),
		.reason = answer->reason,
		.cc_type_flags = WEFT_CC_TYPE_NACK << 4,
		.vendor_info = answer->reason == WEFT_NACK_RNR ? qp->ext->rnr_timer : 0,
	};
	qp->ep->count.tx_nack++;
}

static void build_probe(struct weft_qp *qp, const struct answer *answer, struct weft_pkt *pkt,
			uint64_t now)
{
	pkt->op = WEFT_OP_PROBE;
	pkt->flags = 0;
	/* It must not overtake what it asks about, and a trimmed packet would. */
	pkt->tclass = WEFT_CLASS_NO_TRIM;
	pkt->probe = (struct weft_pkt_probe){
		.probe_id = answer->probe_id,
		.ts = (uint16_t)(now / WEFT_TS_UNIT_NS),
	};
	if (answer->probe_id == qp->probe_id)
		qp->probe_sent_ns = now;
	qp->ep->count.tx_probe++;
}

/*
 * By the plane of the question, or if its line is busy by any.  What has to be said again waits a
 * little for that line, though: its plane lives, and another may be dead without our knowing.  With
 * two planes the ACK, which follows its SACK at once, would go by the dead one every time.
 */
static uint32_t reply_path(struct weft_endpoint *ep, struct pathset *set,
			   const struct answer *answer, uint32_t ports, uint64_t now)
{
	uint32_t asked = 1u << answer->port;

	if (answer->again && !(ports & asked) && pathset_usable(ep, set) & asked &&
	    now - answer->at_ns < ep->config.base_rtt_ns)
		return PATH_NONE;
	return pathset_reply(ep, set, answer->port, ports);
}

static bool build_for_qp(struct weft_qp *qp, const struct answer *answer, struct weft_pkt *pkt,
			 uint32_t ports, uint64_t now)
{
	struct weft_endpoint *ep = qp->ep;
	struct pathset *set = &ep->sets[qp->set];
	uint32_t path;

	if (answer->kind == ANSWER_PROBE)
		path = pathset_pick_away(ep, set, ports, answer->path);
	else
		path = reply_path(ep, set, answer, ports, now);
	if (path == PATH_NONE)
		return false;
	*pkt = (struct weft_pkt){
		.peer = qp->peer,
		.ev = set->path[path].ev,
		.port = set->path[path].plane,
		.tclass = WEFT_CLASS_CONTROL,
		.sqpn_low = (uint16_t)qp->qpn,
		.dqpn = qp->peer_qpn,
	};
	if (answer->kind == ANSWER_SACK)
		build_sack(qp, answer, pkt, now);
	else if (answer->kind == ANSWER_NACK)
		build_nack(qp, answer, pkt, now);
	else if (answer->kind == ANSWER_ACK)
		build_ack(qp, answer->reason, pkt);
	else
		build_probe(qp, answer, pkt, now);
	return true;
}

/* An endpoint operation of ours, or the answer to a peer's. */
static bool build_for_endpoint(struct weft_endpoint *ep, const struct answer *answer,
			       struct weft_pkt *pkt, uint32_t ports, uint64_t now)
{
	uint32_t ev = answer->ev, port = answer->port;

	if (answer->set < ep->config.pathsets && ep->sets[answer->set].in_use) {
		struct pathset *set = &ep->sets[answer->set];
		uint32_t path = answer->path;

		if (path == PATH_NONE)
			path = reply_path(ep, set, answer, ports, now);
		if (path == PATH_NONE || path >= set->paths)
			return false;
		ev = set->path[path].ev;
		port = set->path[path].plane;
	}
	if (!(ports >> port & 1))
		return false;
	*pkt = (struct weft_pkt){
		.peer = answer->qp,
		.ev = ev,
		.port = (uint8_t)port,
		.tclass = WEFT_CLASS_CONTROL,
		.op = answer->is_response ? WEFT_OP_EP_RESPONSE : WEFT_OP_EP_REQUEST,
		.dqpn = WEFT_EP_QPN,
		.psn = answer->psn,
		.ep = { .port_mask = answer->mask,
			.ts = answer->is_response ? echo(answer, now) :
						    (uint16_t)(now / WEFT_TS_UNIT_NS),
			.op = answer->op },
	};
	if (answer->is_response) {
		ep->count.tx_ep_response++;
	} else {
		struct request *request = &ep->requests[answer->psn % REQUESTS];

		if (request->open && request->id == answer->psn)
			request->sent_ns = now;
		ep->count.tx_ep_request++;
	}
	return true;
}

/*
 * A QP that is gone, a request that has timed out, an answer whose one cable is out: left in the
 * queue they would crowd out the living.
 */
static bool is_void(const struct weft_endpoint *ep, const struct answer *answer)
{
	const struct request *request = &ep->requests[answer->psn % REQUESTS];
	const struct weft_qp *qp = &ep->qps[answer->qp & ep->qp_mask];

	if (answer->kind != ANSWER_EP)
		return !qp->in_use || qp->qpn != answer->qpn;
	if (!answer->is_response)
		return !request->open || request->id != answer->psn;
	return answer->set == SET_NONE && !(ep->ports_up >> answer->port & 1);
}

size_t ack_out_send(struct weft_endpoint *ep, struct weft_pkt pkts[], size_t max, uint32_t ports,
		    uint64_t now)
{
	uint32_t waiting = ep->answer_tail - ep->answer_head;
	size_t n = 0;

	for (; waiting && n < max; waiting--) {
		struct answer answer = ep->answers[ep->answer_head & ep->answer_mask];
		struct weft_qp *qp = &ep->qps[answer.qp & ep->qp_mask];
		bool built;

		ep->answer_head++;
		if (is_void(ep, &answer))
			continue;
		if (answer.kind == ANSWER_EP)
			built = build_for_endpoint(ep, &answer, &pkts[n], ports, now);
		else
			built = build_for_qp(qp, &answer, &pkts[n], ports, now);
		if (!built) { /* its port is busy: let the others by */
			ep->answers[ep->answer_tail++ & ep->answer_mask] = answer;
			continue;
		}
		n++;
		if (answer.kind == ANSWER_SACK && qp->rx_msn != qp->rx_msn_told) {
			add_ack(qp, WEFT_AETH_ACK, answer.port, answer.again);
			waiting++;
		}
		if (answer.kind == ANSWER_SACK && qp->rx_fresh && !answer.is_probe)
			qp->rx_trigger = ep->config.sack_bytes; /* more news than one SACK holds */
	}
	return n;
}
