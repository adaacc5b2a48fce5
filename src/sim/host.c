/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host - one engine through one window.
 *
 * A NIC here holds no queue: the engine is asked for one packet at the moment a port's line is
 * free, so a path is chosen when the packet can really leave, and what has just arrived is known.
 * Between two instants at which anything arrives, becomes due or becomes free nothing can change,
 * so only those are visited, in order; at equal times arrivals come first.  The engine counts in
 * nanoseconds, cables in picoseconds: it is told the time rounded down.
 *
 * The engine writes a packet where it will lie until it is delivered; on cables and in queues only
 * its frame moves.
 *
 * Hot: all of it.
 */
#include "nic.h"

uint32_t host_bytes(const struct weft_pkt *pkt)
{
	uint32_t bytes = ACK_BYTES - 4;

	if (weft_op_is_write(pkt->op))
		return bytes + 20 + (pkt->flags & WEFT_BTH_TS ? 4 : 0) +
		       (weft_op_has_imm(pkt->op) ? 4 : 0) +
		       WEFT_ALIGN_UP((uint32_t)pkt->w.len_bytes, 4u);
	switch (pkt->op) {
	case WEFT_OP_SACK:
	case WEFT_OP_EP_RESPONSE:
		return bytes + 36;
	case WEFT_OP_NACK:
		return bytes + 20;
	case WEFT_OP_ACK:
		return bytes + 4;
	default:
		return bytes + 16;
	}
}

uint64_t host_route(const struct weft_sim *sim, uint32_t src, uint32_t dst, uint32_t ev)
{
	const struct weft_topo_shape *s = &sim->shape;
	const struct host *from = &sim->hosts[src];
	/* Not read off that host: it lies in no cache. */
	uint32_t to_t0 = dst / s->hosts_per_t0, downlink = dst % s->hosts_per_t0;
	uint32_t plane = weft_ev_plane(ev), uplink = weft_ev_uplink(ev);
	const uint16_t *t0s = &sim->t0_sids[plane * s->t0s * s->parallel];
	uint64_t down = sim->host_sids[plane * s->hosts_per_t0 + downlink];
	uint64_t own = (uint64_t)t0s[from->t0 * s->parallel] << 48;

	if (from->t0 == to_t0)
		return own | down << 32 | ev;
	uint64_t t1 = sim->t1_sids[plane * s->uplinks + uplink];
	uint32_t which = s->parallel == 1 ? 0 : uplink % s->parallel;
	uint64_t t0 = t0s[to_t0 * s->parallel + which];

	return own | t1 << 32 | t0 << 16 | down;
}

enum { FETCH_MAIL = 4 }; /* arrivals that are looked at before their time */

struct run {
	struct nic nic;
	bool answered; /* something came that may have completed a work */
};

/* Sends what may leave; then says when it is to be asked again. */
static void emit(struct run *r, uint64_t now_ps)
{
	struct weft_endpoint *ep = r->nic.host->ep;
	uint64_t now_ns = now_ps / 1000, next_ps = WEFT_NEVER;

	while (weft_wants_output(ep) || weft_next_timeout(ep) <= now_ns) {
		uint32_t ports = nic_free_ports(&r->nic, now_ps);

		if (weft_next_timeout(ep) <= now_ns)
			r->answered = true; /* a timer may end a work, too */
		else if (!ports)
			break;
		if (!weft_output(ep, &r->nic.sim->slab.pkts[r->nic.lane->spare], 1, ports, now_ns))
			break;
		nic_depart(&r->nic, now_ps);
	}
	if (weft_wants_output(ep))
		next_ps = nic_next_free_ps(&r->nic, now_ps);
	uint64_t timeout_ns = weft_next_timeout(ep);

	if (timeout_ns != WEFT_NEVER)
		next_ps = WEFT_MIN(
			next_ps, timeout_ns * 1000 > now_ps ? timeout_ns * 1000 : now_ps + 1000);
	r->nic.host->wake_ps = next_ps;
}

static void finish(struct run *r, uint64_t now_ps)
{
	struct weft_done done;

	r->answered = false;
	while (weft_poll(r->nic.host->ep, 0, &done, 1))
		flow_on_done(r->nic.lane, r->nic.index, &done, now_ps);
}

static void deliver(struct run *r, const struct weft_frame *frame, uint64_t now_ps)
{
	struct weft_sim *sim = r->nic.sim;
	struct host *host = r->nic.host;
	uint32_t slot = (uint32_t)frame->handle;
	struct weft_pkt *pkt = &sim->slab.pkts[slot];
	struct weft_place place;

	if (WEFT_LIKELY(nic_takes_in(&r->nic, frame))) {
		pkt->mark = frame->mark;
		pkt->port = (uint8_t)frame->in_port;
		r->answered |= !weft_op_is_write(pkt->op) || host->listens;
		weft_input(host->ep, pkt, 1, now_ps / 1000, &place);
		nic_digest(&r->nic, pkt, now_ps);
	} else {
		r->nic.lane->lost++;
	}
	slab_give(&sim->slab, &r->nic.lane->cache, slot);
}

void host_alarm(struct lane *lane, uint32_t index)
{
	struct weft_sim *sim = lane->sim;
	struct host *host = &sim->hosts[index];
	uint64_t at_ps = WEFT_MIN(host->wake_ps, flow_next_ps(sim, host));

	if (at_ps == WEFT_NEVER)
		return;
	if (at_ps < WEFT_MAX(lane->step_end_ps, lane->end_ps + sim->window_ps)) {
		node_due(lane, index);
		return;
	}
	uint64_t window = at_ps / sim->window_ps;

	if (window < host->wheel_window)
		wheel_set(&lane->wheel, sim->hosts, index, window);
}

void host_fetch(const struct lane *lane, uint32_t index, unsigned visits)
{
	const struct weft_sim *sim = lane->sim;
	const struct host *host = &sim->hosts[index];

	if (visits == FETCH_VISITS) {
		__builtin_prefetch(host, 1);
		__builtin_prefetch(&sim->free_ps[(uint64_t)index * sim->shape.planes], 1);
	} else {
		weft_endpoint_fetch(host->ep, FETCH_VISITS - 1 - visits);
	}
}

/* What comes after mail number i: its records, and of one that is nearer its paths. */
static void fetch_mail(const struct run *r, uint32_t i)
{
	const struct lane *lane = r->nic.lane;
	const struct weft_pkt *pkts = r->nic.sim->slab.pkts;

	for (unsigned step = 0; step < 2; step++) {
		uint32_t at = i + FETCH_MAIL / (1 + step);

		if (at < lane->mail.n)
			weft_packet_fetch(r->nic.host->ep,
				&pkts[(uint32_t)mail_frame(lane, at)->handle], step);
	}
}

void host_run(struct lane *lane, uint32_t index)
{
	struct weft_sim *sim = lane->sim;
	struct host *host = &sim->hosts[index];
	struct run r = { .nic = nic_of(lane, index) };
	uint32_t i = 0, at = lane->action;

	mail_collect(lane, index);
	const struct action *action = fault_next(lane, index, &at);

	for (uint32_t k = 0; k < FETCH_MAIL && k < lane->mail.n; k++)
		weft_packet_fetch(host->ep,
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
			action = fault_next(lane, index, &at);
		}
		for (; i < lane->mail.n && mail_ps(lane, i) == now_ps; i++) {
			fetch_mail(&r, i);
			deliver(&r, mail_frame(lane, i), now_ps);
		}
		if (WEFT_UNLIKELY(host->is_paused))
			continue;
		flow_start(lane, index, now_ps);
		emit(&r, now_ps);
		if (r.answered)
			finish(&r, now_ps);
	}
	host_alarm(lane, index);
}
