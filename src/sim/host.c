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
#include "local.h"

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
	const struct host *from = &sim->hosts[src], *to = &sim->hosts[dst];
	uint32_t plane = weft_ev_plane(ev), uplink = weft_ev_uplink(ev);
	const uint16_t *t0s = &sim->t0_sids[plane * s->t0s * s->parallel];
	uint64_t down = sim->host_sids[plane * s->hosts_per_t0 + to->downlink];
	uint64_t own = (uint64_t)t0s[from->t0 * s->parallel] << 48;

	if (from->t0 == to->t0)
		return own | down << 32 | ev;
	uint64_t t1 = sim->t1_sids[plane * s->uplinks + uplink];
	uint32_t which = s->parallel == 1 ? 0 : uplink % s->parallel;
	uint64_t t0 = t0s[to->t0 * s->parallel + which];

	return own | t1 << 32 | t0 << 16 | down;
}

struct run {
	struct lane *lane;
	struct weft_sim *sim;
	struct host *host;
	uint64_t *free_ps;
	const struct line *lines;
	const uint16_t *line_of;
	uint32_t index;
	bool answered; /* something came that may have completed a work */
};

/* The slot that is kept ready has just been filled. */
static void depart(struct run *r, uint64_t now_ps)
{
	struct lane *lane = r->lane;
	struct weft_sim *sim = r->sim;
	struct weft_pkt *pkt = &sim->slab.pkts[lane->spare];
	const struct line *line = &r->lines[r->line_of[pkt->port]];
	struct weft_frame frame = { .handle = lane->spare,
		.route = host_route(sim, r->index, pkt->peer, pkt->ev),
		.flow = pkt->ev,
		.bytes = (uint16_t)host_bytes(pkt),
		.in_port = r->host->downlink,
		.tclass = pkt->tclass,
		.hop_limit = 64,
		.flags = pkt->tclass == WEFT_CLASS_CONTROL
				 ? 0
				 : WEFT_FRAME_ECT | WEFT_FRAME_TRIMMABLE };
	uint64_t end_ps = now_ps + ((frame.bytes + WEFT_FRAME_GAP_BYTES) * line->byte_ps_q16 >> 16);

	r->free_ps[pkt->port] = end_ps;
	if (WEFT_LIKELY(r->host->ports_up >> pkt->port & 1)) {
		uint32_t t0 = sim->shape.hosts + pkt->port * sim->shape.t0s + r->host->t0;

		pkt->peer = r->index;
		mail_post(lane, t0, end_ps + line->delay_ps, &frame);
		lane->spare = slab_take(&sim->slab, &lane->cache);
		if (lane->cache.free != NONE)
			__builtin_prefetch(&sim->slab.pkts[lane->cache.free], 1);
	} else {
		lane->lost++;
	}
}

static uint32_t free_ports(const struct run *r, uint64_t now_ps)
{
	uint32_t free = 0;

	for (uint32_t p = 0; p < r->sim->shape.planes; p++)
		free |= (uint32_t)(r->free_ps[p] <= now_ps) << p;
	return free;
}

/* Sends what may leave; then says when it is to be asked again. */
static void emit(struct run *r, uint64_t now_ps)
{
	struct weft_endpoint *ep = r->host->ep;
	uint64_t now_ns = now_ps / 1000, next_ps = WEFT_NEVER;

	while (weft_wants_output(ep) || weft_next_timeout(ep) <= now_ns) {
		uint32_t ports = free_ports(r, now_ps);

		if (weft_next_timeout(ep) <= now_ns)
			r->answered = true; /* a timer may end a work, too */
		else if (!ports)
			break;
		if (!weft_output(ep, &r->sim->slab.pkts[r->lane->spare], 1, ports, now_ns))
			break;
		depart(r, now_ps);
	}
	if (weft_wants_output(ep)) {
		for (uint32_t p = 0; p < r->sim->shape.planes; p++) {
			if (r->free_ps[p] > now_ps)
				next_ps = WEFT_MIN(next_ps, r->free_ps[p]);
		}
	}
	uint64_t timeout_ns = weft_next_timeout(ep);

	if (timeout_ns != WEFT_NEVER)
		next_ps = WEFT_MIN(
			next_ps, timeout_ns * 1000 > now_ps ? timeout_ns * 1000 : now_ps + 1000);
	r->host->wake_ps = next_ps;
}

static void finish(struct run *r, uint64_t now_ps)
{
	struct weft_done done;

	r->answered = false;
	while (weft_poll(r->host->ep, 0, &done, 1))
		flow_on_done(r->lane, r->index, &done, now_ps);
}

/* What comes by this frame is taken in. */
static bool is_well(struct run *r, const struct weft_frame *frame)
{
	struct host *host = r->host;
	uint32_t port = frame->in_port;
	struct weft_frame copy;

	if (WEFT_LIKELY((host->ports_up & ~host->ports_gray) >> port & 1 && !host->is_paused &&
			!(frame->flags & FRAME_CORRUPT)))
		return true;
	copy = *frame;
	if (!(host->ports_up >> port & 1) || host->is_paused ||
		!fault_gray(r->lane, r->index, port, &copy))
		return false;
	r->lane->corrupt += copy.flags & FRAME_CORRUPT ? 1 : 0;
	return !(copy.flags & FRAME_CORRUPT);
}

static void deliver(struct run *r, const struct weft_frame *frame, uint64_t now_ps)
{
	struct weft_sim *sim = r->sim;
	struct host *host = r->host;
	uint32_t slot = (uint32_t)frame->handle;
	struct weft_pkt *pkt = &sim->slab.pkts[slot];
	struct weft_place place;

	if (WEFT_LIKELY(is_well(r, frame))) {
		pkt->mark = frame->mark;
		pkt->port = (uint8_t)frame->in_port;
		r->answered |= !weft_op_is_write(pkt->op) || host->listens;
		weft_input(host->ep, pkt, 1, now_ps / 1000, &place);
		host->digest = (host->digest ^ (now_ps + pkt->psn + pkt->mark * 31u)) *
			       UINT64_C(0x9e3779b97f4a7c15);
	} else {
		r->lane->lost++;
	}
	slab_give(&sim->slab, &r->lane->cache, slot);
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

void host_run(struct lane *lane, uint32_t index)
{
	struct weft_sim *sim = lane->sim;
	struct host *host = &sim->hosts[index];
	struct run r = { .lane = lane,
		.sim = sim,
		.host = host,
		.free_ps = &sim->free_ps[(uint64_t)index * sim->shape.planes],
		.lines = sim->lines,
		.line_of = &sim->host_lines[(uint64_t)index * sim->shape.planes],
		.index = index };
	uint32_t i = 0, at = lane->action;

	mail_collect(lane, index);
	const struct action *action = fault_next(lane, index, &at);

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
		for (; i < lane->mail.n && mail_ps(lane, i) == now_ps; i++)
			deliver(&r, mail_frame(lane, i), now_ps);
		if (WEFT_UNLIKELY(host->is_paused))
			continue;
		flow_start(lane, index, now_ps);
		emit(&r, now_ps);
		if (r.answered)
			finish(&r, now_ps);
	}
	host_alarm(lane, index);
}
