/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_NIC_H
#define SIM_NIC_H
/*
 * nic - a host's ports, whatever transport stands behind them: one line per plane, no queue.
 *
 * What host.c (the engine) and guest.c (its rivals) do alike.  In a header, because it is done for
 * each packet and both are to have it in line.
 */
#include "local.h"

struct nic { /* of the host that is being run */
	struct lane *lane;
	struct weft_sim *sim;
	struct host *host;
	uint64_t *free_ps; /* [plane] */
	const struct line *lines;
	const uint16_t *line_of; /* [plane] */
	uint32_t index;
};

static inline struct nic nic_of(struct lane *lane, uint32_t index)
{
	struct weft_sim *sim = lane->sim;
	uint64_t first = (uint64_t)index * sim->shape.planes;

	return (struct nic){ .lane = lane,
		.sim = sim,
		.host = &sim->hosts[index],
		.free_ps = &sim->free_ps[first],
		.lines = sim->lines,
		.line_of = &sim->host_lines[first],
		.index = index };
}

/* A bit per port whose line is free. */
static inline uint32_t nic_free_ports(const struct nic *nic, uint64_t now_ps)
{
	uint32_t free = 0;

	for (uint32_t p = 0; p < nic->sim->shape.planes; p++)
		free |= (uint32_t)(nic->free_ps[p] <= now_ps) << p;
	return free;
}

/* When the next line becomes free; WEFT_NEVER: all are. */
static inline uint64_t nic_next_free_ps(const struct nic *nic, uint64_t now_ps)
{
	uint64_t next_ps = WEFT_NEVER;

	for (uint32_t p = 0; p < nic->sim->shape.planes; p++) {
		if (nic->free_ps[p] > now_ps)
			next_ps = WEFT_MIN(next_ps, nic->free_ps[p]);
	}
	return next_ps;
}

/* The slot that is kept ready has just been filled: it leaves, or its cable is out. */
static inline void nic_depart(struct nic *nic, uint64_t now_ps)
{
	struct lane *lane = nic->lane;
	struct weft_sim *sim = nic->sim;
	struct weft_pkt *pkt = &sim->slab.pkts[lane->spare];
	const struct line *line = &nic->lines[nic->line_of[pkt->port]];
	uint32_t bytes = host_bytes(pkt);
	uint64_t end_ps = now_ps + ((bytes + WEFT_FRAME_GAP_BYTES) * line->byte_ps_q16 >> 16);

	nic->free_ps[pkt->port] = end_ps;
	if (WEFT_LIKELY(nic->host->ports_up >> pkt->port & 1)) {
		uint32_t t0 = sim->shape.hosts + pkt->port * sim->shape.t0s + nic->host->t0;
		struct weft_frame *frame =
			mail_room(lane, t0, end_ps + line->delay_ps, lane->spare);

		frame->route = host_route(sim, nic->index, pkt->peer, pkt->ev);
		frame->flow = pkt->ev;
		frame->bytes = (uint16_t)bytes;
		frame->in_port = nic->host->downlink;
		frame->tclass = pkt->tclass;
		frame->mark = 0;
		frame->hop_limit = 64;
		frame->flags = weft_frame_flags(pkt->tclass);
		pkt->peer = nic->index;
		lane->spare = slab_take(&sim->slab, &lane->cache);
		if (lane->cache.free != NONE)
			__builtin_prefetch(&sim->slab.pkts[lane->cache.free], 1);
	} else {
		lane->lost++;
	}
}

/* What comes by this frame is taken in: the port is there, and the ICRC holds. */
static inline bool nic_takes_in(struct nic *nic, const struct weft_frame *frame)
{
	const struct host *host = nic->host;
	uint32_t port = frame->in_port;

	if (WEFT_LIKELY((host->ports_up & ~host->ports_gray) >> port & 1 && !host->is_paused &&
			!(frame->flags & FRAME_CORRUPT)))
		return true;
	struct weft_frame copy = *frame;

	if (!(host->ports_up >> port & 1) || host->is_paused ||
		!fault_gray(nic->lane, nic->index, port, &copy))
		return false;
	nic->lane->corrupt += copy.flags & FRAME_CORRUPT ? 1 : 0;
	return !(copy.flags & FRAME_CORRUPT);
}

/* A delivery becomes part of what makes two runs the same. */
static inline void nic_digest(struct nic *nic, const struct weft_pkt *pkt, uint64_t now_ps)
{
	nic->host->digest = (nic->host->digest ^ (now_ps + pkt->psn + pkt->mark * 31u)) *
			    UINT64_C(0x9e3779b97f4a7c15);
}

#endif
