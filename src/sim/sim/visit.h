/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_VISIT_H
#define SIM_VISIT_H
/*
 * visit - one host through one window, whatever transport it has.
 *
 * Between two instants at which anything arrives, becomes due or becomes free nothing can change
 * (nic.h), so only those are visited, in order; at equal times arrivals come first.
 *
 * The transport writes a packet where it will lie until it is delivered; on cables and in queues
 * only its frame moves.  In a header: each kind of host has it in line, with its own table.
 *
 * Hot: all of it.
 */
#include "sim_local.h"

/* Of each kind its own, so that what its table says is known to the compiler. */
#define IN_LINE static inline __attribute__((always_inline))

enum { FETCH_MAIL = 4 }; /* arrivals that are looked at before their time */

struct visit {
	struct weft_nic nic;
	struct lane *lane;
	struct weft_sim *sim;
	struct host *host;
	const uint16_t *line_of; /* [plane] */
	uint32_t index;
	bool answered; /* something came that may have completed a work */
};

IN_LINE struct visit visit_of(
	struct lane *lane, uint32_t index, const struct weft_transport *transport)
{
	struct weft_sim *sim = lane->sim;
	uint64_t first = (uint64_t)index * sim->shape.planes;
	struct host *host = &sim->hosts[index];

	return (struct visit){ .nic = { .transport = transport,
				       .state = host->state,
				       .free_ps = &sim->free_ps[first],
				       .planes = sim->shape.planes,
				       .paused = host->paused },
		.lane = lane,
		.sim = sim,
		.host = host,
		.line_of = &sim->host_lines[first],
		.index = index };
}

/* The slot that is kept ready has just been filled: it leaves, or its cable is out. */
IN_LINE void visit_depart(struct visit *v, uint64_t now_ps)
{
	struct lane *lane = v->lane;
	struct weft_sim *sim = v->sim;
	struct weft_pkt *pkt = &sim->slab.pkts[lane->spare];
	const struct line *line = &sim->lines[v->line_of[pkt->port]];
	uint16_t bytes = weft_frame_bytes(pkt, WEFT_ENCAP_SRV6_BYTES);
	uint32_t line_bytes = bytes + WEFT_FRAME_GAP_BYTES;
	uint64_t end_ps = now_ps + (line_bytes * line->byte_ps_q16 >> 16);

	v->nic.free_ps[pkt->port] = end_ps;
	if (WEFT_LIKELY(v->host->ports_up >> pkt->port & 1)) {
		uint32_t t0 = sim->shape.hosts + pkt->port * sim->shape.t0s + v->host->t0;
		struct weft_frame *frame =
			mail_room(lane, t0, end_ps + line->delay_ps, lane->spare);

		weft_frame_of(frame, pkt, bytes);
		frame->route = host_route(sim, v->index, pkt->peer, pkt->ev);
		frame->in_port = v->host->downlink;
		pkt->peer = v->index;
		lane->spare = slab_take(&sim->slab, &lane->cache);
		if (lane->cache.free != NONE)
			__builtin_prefetch(&sim->slab.pkts[lane->cache.free], 1);
	} else {
		lane->lost++;
	}
}

IN_LINE void visit_pause(struct visit *v, uint32_t bit, bool is_pause)
{
	v->nic.paused = is_pause ? v->nic.paused | bit : v->nic.paused & ~bit;
	v->host->paused = (uint16_t)v->nic.paused;
}

/* What comes by this frame is taken in: the port is there, and the ICRC holds. */
IN_LINE bool visit_takes_in(struct visit *v, const struct weft_frame *frame)
{
	const struct host *host = v->host;
	uint32_t port = frame->in_port;

	if (WEFT_LIKELY((host->ports_up & ~host->ports_gray) >> port & 1 && !host->is_paused &&
			!(frame->flags & FRAME_CORRUPT)))
		return true;
	struct weft_frame copy = *frame;

	if (!(host->ports_up >> port & 1) || host->is_paused ||
		!fault_gray(v->lane, v->index, port, &copy))
		return false;
	v->lane->corrupt += copy.flags & FRAME_CORRUPT ? 1 : 0;
	return !(copy.flags & FRAME_CORRUPT);
}

/* A delivery becomes part of what makes two runs the same. */
IN_LINE void visit_digest(struct visit *v, const struct weft_pkt *pkt, uint64_t now_ps)
{
	v->host->digest = (v->host->digest ^ (now_ps + pkt->psn + pkt->mark * 31u)) *
			  UINT64_C(0x9e3779b97f4a7c15);
}

IN_LINE void visit_finish(struct visit *v, uint64_t now_ps)
{
	struct weft_done done;

	v->answered = false;
	while (v->nic.transport->poll(v->nic.state, &done)) {
		if (done.kind == WEFT_DONE_WRITE ||
			v->sim->wiring.told[done.imm / 64] >> done.imm % 64 & 1)
			flow_on_done(v->lane, v->index, &done, now_ps);
	}
}

IN_LINE void visit_deliver(
	struct visit *v, const struct weft_frame *frame, uint64_t now_ps)
{
	struct weft_sim *sim = v->sim;
	uint32_t slot = (uint32_t)frame->handle;
	struct weft_pkt *pkt = &sim->slab.pkts[slot];
	struct weft_place place;

	if (WEFT_UNLIKELY(frame->flags & FRAME_PAUSE)) {
		visit_pause(v, 1u << frame->in_port, frame->mark);
		return;
	}
	if (WEFT_LIKELY(visit_takes_in(v, frame))) {
		weft_frame_arrive(frame, frame->in_port, pkt);
		v->answered |= !weft_op_is_write(pkt->op) || v->host->listens;
		weft_nic_input(&v->nic, pkt, now_ps, &place);
		visit_digest(v, pkt, now_ps);
		if (v->nic.transport->is_polled_at_once)
			visit_finish(v, now_ps);
	} else {
		v->lane->lost++;
	}
	slab_give(&sim->slab, &v->lane->cache, slot);
}

/* Sends what may leave; then says when it is to be asked again. */
IN_LINE void visit_emit(struct visit *v, uint64_t now_ps)
{
	for (;;) {
		v->answered |= weft_nic_is_due(&v->nic, now_ps); /* may end a work, too */
		if (!weft_nic_output(&v->nic, &v->sim->slab.pkts[v->lane->spare], now_ps))
			break;
		visit_depart(v, now_ps);
	}
	v->host->wake_ps = weft_nic_next_ps(&v->nic, now_ps);
}

/* What comes after mail number i: its records, and of one that is nearer its paths. */
IN_LINE void visit_fetch(const struct visit *v, uint32_t i)
{
	const struct lane *lane = v->lane;
	const struct weft_pkt *pkts = v->sim->slab.pkts;

	for (unsigned step = 0; step < 2 && v->nic.transport->fetch; step++) {
		uint32_t at = i + FETCH_MAIL / (1 + step);

		if (at < lane->mail.n)
			v->nic.transport->fetch(v->nic.state,
				&pkts[(uint32_t)mail_frame(lane, at)->handle], step);
	}
}

IN_LINE void visit_run(
	struct lane *lane, uint32_t index, const struct weft_transport *transport)
{
	struct weft_sim *sim = lane->sim;
	struct visit v = visit_of(lane, index, transport);
	struct host *host = v.host;
	uint32_t i = 0, at = lane->action;

	mail_collect(lane, index);
	const struct action *action = fault_next(lane, index, &at);

	for (uint32_t k = 0; k < FETCH_MAIL && k < lane->mail.n && transport->fetch; k++)
		transport->fetch(host->state,
			&sim->slab.pkts[(uint32_t)mail_frame(lane, k)->handle], 0);
	for (;;) {
		uint64_t now_ps = WEFT_MIN(host->wake_ps, flow_next_ps(sim, host));

		if (i < lane->mail.n)
			now_ps = WEFT_MIN(now_ps, mail_ps(lane, i));
		if (action)
			now_ps = WEFT_MIN(now_ps, action->at_ps);
		if (now_ps >= lane->end_ps)
			break;
		while (action && action->at_ps <= now_ps) {
			fault_host(lane, index, action);
			v.nic.paused = host->paused;
			action = fault_next(lane, index, &at);
		}
		for (; i < lane->mail.n && mail_ps(lane, i) == now_ps; i++) {
			visit_fetch(&v, i);
			visit_deliver(&v, mail_frame(lane, i), now_ps);
		}
		if (WEFT_UNLIKELY(host->is_paused))
			continue;
		if (flow_next_ps(sim, host) <= now_ps)
			flow_start(lane, index, now_ps);
		visit_emit(&v, now_ps);
		if (v.answered) {
			visit_finish(&v, now_ps);
			if (transport->wants_output(host->state))
				host->wake_ps = now_ps; /* more was posted: once again */
		}
	}
	host_alarm(lane, index);
}

#endif
