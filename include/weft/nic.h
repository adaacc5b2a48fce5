/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_NIC_H
#define WEFT_NIC_H
/*
 * nic - the end of a host's cables: between a transport and any network, in virtual time.
 *
 *   transport ---- weft_nic_output() ---> packet --weft_frame_of()--------> frame --> the caller's
 *             <---- weft_nic_input() ---- packet <--weft_frame_arrive()---- frame <-- network
 *
 * One line per plane and no queue: a transport is asked for one packet at the moment a line is
 * free, so a path is chosen when the packet can really leave, and what has just arrived is known.
 *
 *   while (weft_nic_output(&nic, &pkt, now_ps))
 *       send it, and nic.free_ps[pkt.port] = when its line is free again;
 *   ask again at weft_nic_next_ps(&nic, now_ps), and whenever anything has arrived or was posted
 *
 * Between two instants at which anything arrives, becomes due or becomes free nothing can change,
 * so only those need a visit; at equal times let arrivals come first.
 *
 * Time     Picoseconds since an epoch of the caller's choice, above 0, never backwards.
 * Memory   None of its own: a struct weft_nic is a view of what the caller keeps.
 * Threads  One at a time per NIC.
 * Errors   None here; what strangers send is dropped and counted by the transport.
 */
#include <weft/switch.h>
#include <weft/transport.h>
#include <weft/wire.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- packets and frames ---- */

/* A carrier's uSIDs behind its block, as frame.route has them. */
static inline uint64_t weft_frame_route(const uint8_t carrier[16])
{
	uint64_t route = 0;

	for (unsigned i = WEFT_USID_BLOCK_BYTES; i < WEFT_USID_BLOCK_BYTES + 8; i++)
		route = route << 8 | carrier[i];
	return route;
}

/*
 * Ethernet header and IP packet of a packet: what its frame counts in queues.  encap_bytes: of the
 * headers before BTH, WEFT_ENCAP_SRV6_BYTES and its like.
 */
static inline uint16_t weft_frame_bytes(const struct weft_pkt *pkt, uint32_t encap_bytes)
{
	return (uint16_t)(WEFT_FRAME_ETHER_BYTES + encap_bytes + weft_wire_bytes(pkt));
}

/*
 * What switches see of a packet: all fields of the frame but handle, route and in_port, which are
 * the caller's.  bytes: weft_frame_bytes(), which the caller wants for the line as well.
 */
static inline void weft_frame_of(
	struct weft_frame *frame, const struct weft_pkt *pkt, uint16_t bytes)
{
	frame->flow = pkt->ev;
	frame->bytes = bytes;
	frame->tclass = pkt->tclass;
	frame->mark = 0;
	frame->hop_limit = 64;
	frame->flags = weft_frame_flags((enum weft_class)pkt->tclass);
}

/*
 * What the network did to a packet, and the plane it came in by; peer, whom it is from, is the
 * caller's.  Of one that was cut METH and TSETH are left (weft_wire_decode() zeroes the rest): more
 * than that the engine does not read, whatever else stands there.
 */
static inline void weft_frame_arrive(
	const struct weft_frame *frame, uint32_t plane, struct weft_pkt *pkt)
{
	pkt->mark = frame->mark;
	pkt->port = (uint8_t)plane;
}

/* ---- a transport and its lines ---- */

/* Always: where the table is known, calls through it are then none. */
#define WEFT_IN_LINE static inline __attribute__((always_inline))

/* A transport and when its lines are free; all of it the caller's. */
struct weft_nic {
	const struct weft_transport *transport;
	void *state;       /* the transport's */
	uint64_t *free_ps; /* [planes] when each line is free; WEFT_NEVER: not before it is said */
	uint32_t planes;   /* 1 .. WEFT_PORTS_MAX */
	uint32_t paused;   /* bit n: plane n's switch wants no data (PFC) */
};

/* Bit n: the line of plane n is free. */
WEFT_IN_LINE uint32_t weft_nic_free(const struct weft_nic *nic, uint64_t now_ps)
{
	uint32_t free = 0;

	for (uint32_t p = 0; p < nic->planes; p++)
		free |= (uint32_t)(nic->free_ps[p] <= now_ps) << p;
	return free;
}

/* A timer of the transport is due: what was posted may be over though nothing has come. */
WEFT_IN_LINE bool weft_nic_is_due(const struct weft_nic *nic, uint64_t now_ps)
{
	return nic->transport->next_ps(nic->state) <= now_ps;
}

/* One packet that leaves now by pkt->port; false: nothing may, until something changes. */
WEFT_IN_LINE bool weft_nic_output(const struct weft_nic *nic, struct weft_pkt *pkt, uint64_t now_ps)
{
	const struct weft_transport *t = nic->transport;
	bool is_due = weft_nic_is_due(nic, now_ps);
	uint32_t free;

	if (!is_due && !t->wants_output(nic->state))
		return false;
	free = weft_nic_free(nic, now_ps);
	return (is_due || free) && t->output(nic->state, pkt, free, nic->paused, now_ps);
}

/* When to ask again, if nothing arrives and nothing is posted before; WEFT_NEVER: not at all. */
WEFT_IN_LINE uint64_t weft_nic_next_ps(const struct weft_nic *nic, uint64_t now_ps)
{
	enum { TICK_PS = 1000 }; /* of the coarsest transport: what is due again may wait for it */
	uint64_t next_ps = nic->transport->next_ps(nic->state);

	if (next_ps <= now_ps)
		next_ps = now_ps + TICK_PS;
	if (!nic->transport->wants_output(nic->state))
		return next_ps;
	for (uint32_t p = 0; p < nic->planes; p++) {
		if (nic->free_ps[p] > now_ps && nic->free_ps[p] < next_ps)
			next_ps = nic->free_ps[p];
	}
	return next_ps;
}

/* A packet as weft_frame_arrive() has left it; place: where its bytes belong (engine.h). */
WEFT_IN_LINE void weft_nic_input(const struct weft_nic *nic, const struct weft_pkt *pkt,
	uint64_t now_ps, struct weft_place *place)
{
	nic->transport->input(nic->state, pkt, now_ps, place);
}

#ifdef __cplusplus
}
#endif
#endif /* WEFT_NIC_H */
