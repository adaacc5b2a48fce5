/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORLD_H
#define WORLD_H
/*
 * world - engines at the ends, our switches in between, cables and tables from topo, virtual time.
 *
 *   engine --NIC, rate--> delay --> [T0] --> delay --> [T1] --> delay --> [T0] --> delay --> engine
 *
 * Frames are structs.  One event per hop and way: a port has at most one pending, as switch.h
 * has it; ties go by order of creation.  Hosts hold no queue: the engine is asked when the line
 * is free.
 */
#include "check.h"

#include <weft/engine.h>
#include <weft/switch.h>
#include <weft/topo.h>

enum { WORLD_HOSTS = 32, WORLD_EVENTS = 1 << 16, WORLD_FRAMES = 1 << 14, WORLD_BYTES = 1 << 27 };
#define WORLD_VA 0x10000u

/* world_carry() counts on each AT_HOST standing behind its AT_SWITCH. */
enum event_kind { AT_SWITCH, AT_HOST, PAUSE_AT_SWITCH, PAUSE_AT_HOST, PORT_DUE, HOST_DUE };

struct event {
	uint64_t at_ps, order;
	struct weft_frame frame;
	uint32_t node, port;
	uint8_t kind;
	bool pause;
};

struct host {
	struct weft_endpoint *ep;
	struct weft_qp *qp; /* to peer, when it sends */
	void *block;
	uint64_t free_ps[WEFT_TOPO_PLANES_MAX];
	uint64_t wake_ps; /* of its pending HOST_DUE */
	uint64_t got_bytes;
	uint64_t from_bytes[WORLD_HOSTS]; /* by sender */
	uint64_t done_ps;                 /* of its last message */
	uint64_t digest;                  /* of what it got, as sim has it */
	uint32_t paused;                  /* planes */
	uint32_t done, due;               /* messages */
};

struct world;
/* Who runs the engines, if not the world itself: something else that is to do the same. */
struct world_driver {
	void (*take_in)(struct world *w, uint32_t host, const struct weft_pkt *pkt);
	void (*emit)(struct world *w, uint32_t host); /* all that may leave now */
};

struct world {
	const struct world_driver *driver; /* NULL: the world */
	void *driver_arg;
	uint64_t *down; /* [switch]: ports whose cable is out */
	struct weft_topo *topo;
	struct weft_topo_shape shape;
	struct weft_port_profile profiles[2]; /* between switches, to hosts */
	struct weft_frame_pool pool;
	struct weft_frame frames[WORLD_FRAMES];
	struct weft_switch **switches; /* by node - hosts */
	bool *pending;                 /* [switch][port] */
	uint32_t n_switches, ports_max;
	struct host hosts[WORLD_HOSTS];
	struct event events[WORLD_EVENTS];
	struct weft_pkt pkts[WORLD_EVENTS];
	uint32_t n_events, pkt_free[WORLD_EVENTS], n_pkt_free;
	uint64_t now_ps, orders, lost, digest;
	uint32_t qp_window_psns;
};

static uint8_t world_memory[WORLD_BYTES]; /* everybody's payload; never touched */

/* Payload bytes per ns of a host's line that carries full packets only, all planes together. */
static inline double world_line_rate(const struct world *w)
{
	return (double)w->shape.host_bps * w->shape.planes / 8e9 * 4096 / (4238 + 24);
}

/* ---- events ---- */

static inline bool event_before(const struct event *a, const struct event *b)
{
	return a->at_ps != b->at_ps ? a->at_ps < b->at_ps : a->order < b->order;
}

static inline void world_push(struct world *w, struct event event)
{
	uint32_t i = w->n_events++;

	REQUIRE(w->n_events < WORLD_EVENTS);
	event.order = w->orders++;
	while (i && event_before(&event, &w->events[(i - 1) / 2])) {
		w->events[i] = w->events[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	w->events[i] = event;
}

static inline struct event world_pop(struct world *w)
{
	struct event first = w->events[0], last = w->events[--w->n_events];
	uint32_t i = 0;

	for (;;) {
		uint32_t c = 2 * i + 1;

		if (c >= w->n_events)
			break;
		c += c + 1 < w->n_events && event_before(&w->events[c + 1], &w->events[c]);
		if (!event_before(&w->events[c], &last))
			break;
		w->events[i] = w->events[c];
		i = c;
	}
	w->events[i] = last;
	return first;
}

/* ---- cables ---- */

/* What leaves node by port arrives over there. */
static inline void world_carry(struct world *w, uint32_t node, uint32_t port, struct event event)
{
	struct weft_link link = weft_topo_link(w->topo, weft_topo_port_link(w->topo, node, port));
	unsigned end = link.node[0] == node ? 1 : 0;

	event.node = link.node[end];
	event.port = link.port[end];
	event.frame.in_port = (uint16_t)link.port[end];
	event.at_ps += (uint64_t)link.delay_ns * 1000;
	event.kind = (uint8_t)(event.kind + (event.node < w->shape.hosts));
	world_push(w, event);
}

/* ---- hosts ---- */

/* Ethernet, outer and inner IPv6, UDP, BTH, ICRC; then as [P 1.15] adds up. */
static inline uint16_t world_bytes(const struct weft_pkt *pkt)
{
	uint32_t bytes = 14 + 80 + 8 + 12 + 4;

	if (weft_op_is_data(pkt->op))
		return (uint16_t)(bytes + 4 + 16 + (pkt->flags & WEFT_BTH_TS ? 4 : 0) +
				  (weft_op_has_imm(pkt->op) ? 4 : 0) +
				  WEFT_ALIGN_UP((uint32_t)pkt->w.len_bytes, 4u));
	switch (pkt->op) {
	case WEFT_OP_SACK:
	case WEFT_OP_EP_RESPONSE:
		return (uint16_t)(bytes + 36);
	case WEFT_OP_NACK:
		return (uint16_t)(bytes + 20);
	case WEFT_OP_ACK:
		return (uint16_t)(bytes + 4);
	default:
		return (uint16_t)(bytes + 16);
	}
}

static inline void world_depart(struct world *w, uint32_t host, const struct weft_pkt *pkt)
{
	struct weft_link line = weft_topo_link(w->topo, host * w->shape.planes + pkt->port);
	uint64_t byte_ps_q16 = (UINT64_C(8000000000000) << 16) / line.bps;
	uint32_t index = w->pkt_free[--w->n_pkt_free];
	uint8_t flags = pkt->tclass == WEFT_CLASS_CONTROL ? 0 : WEFT_FRAME_ECT;
	struct event event = { .kind = AT_SWITCH };
	uint8_t addr[16];

	REQUIRE(w->n_pkt_free);
	w->pkts[index] = *pkt;
	w->pkts[index].peer = host;
	REQUIRE(weft_topo_usid(w->topo, host, pkt->peer, pkt->ev, addr));
	event.frame = (struct weft_frame){ .handle = index,
		.flow = pkt->ev,
		.bytes = world_bytes(pkt),
		.tclass = pkt->tclass,
		.hop_limit = 64,
		.flags = flags };
	if (pkt->tclass == WEFT_CLASS_DATA || pkt->tclass == WEFT_CLASS_RETX)
		event.frame.flags |= WEFT_FRAME_TRIMMABLE;
	for (unsigned i = 4; i < 12; i++)
		event.frame.route = event.frame.route << 8 | addr[i];
	event.at_ps = w->now_ps + ((event.frame.bytes + WEFT_FRAME_GAP_BYTES) * byte_ps_q16 >> 16);
	w->hosts[host].free_ps[pkt->port] = event.at_ps;
	world_carry(w, host, pkt->port, event);
}

static inline void world_wake(struct world *w, uint32_t host, uint64_t at_ps)
{
	struct host *h = &w->hosts[host];

	if (at_ps >= h->wake_ps)
		return;
	h->wake_ps = at_ps;
	world_push(w, (struct event){ .at_ps = at_ps, .kind = HOST_DUE, .node = host });
}

static inline uint32_t world_free_planes(const struct world *w, uint32_t host)
{
	const struct host *h = &w->hosts[host];
	uint32_t free_planes = 0;

	for (uint32_t p = 0; p < w->shape.planes; p++)
		free_planes |= (uint32_t)(h->free_ps[p] <= w->now_ps) << p;
	return free_planes & ~h->paused;
}

static inline void world_emit(struct world *w, uint32_t host)
{
	struct host *h = &w->hosts[host];
	struct weft_done done;
	uint64_t next_ps = WEFT_NEVER;
	struct weft_pkt pkt;

	if (w->driver)
		w->driver->emit(w, host);
	while (!w->driver &&
		weft_output(h->ep, &pkt, 1, world_free_planes(w, host), w->now_ps / 1000))
		world_depart(w, host, &pkt);
	while (weft_poll(h->ep, 0, &done, 1)) {
		CHECK_EQ(done.status, WEFT_OK);
		h->done++;
		h->done_ps = w->now_ps;
	}
	for (uint32_t p = 0; p < w->shape.planes; p++)
		if (h->free_ps[p] > w->now_ps)
			next_ps = WEFT_MIN(next_ps, h->free_ps[p]);
	uint64_t timeout_ns = weft_next_timeout(h->ep);

	if (timeout_ns != WEFT_NEVER)
		next_ps = WEFT_MIN(next_ps,
			timeout_ns * 1000 > w->now_ps ? timeout_ns * 1000 : w->now_ps + 1000);
	if (next_ps != WEFT_NEVER)
		world_wake(w, host, next_ps);
}

static inline void world_arrive(struct world *w, const struct event *event)
{
	struct host *h = &w->hosts[event->node];
	uint32_t index = (uint32_t)event->frame.handle;
	struct weft_pkt *pkt = &w->pkts[index];
	struct weft_place place;

	pkt->mark = event->frame.mark;
	pkt->port = (uint8_t)event->port;
	if (pkt->mark & (WEFT_MARK_TRIMMED | WEFT_MARK_TRIMMED_LASTHOP))
		pkt->w.data = NULL;
	if (w->driver) {
		w->driver->take_in(w, event->node, pkt);
	} else {
		weft_input(h->ep, pkt, 1, w->now_ps / 1000, &place);
		h->got_bytes += place.len_bytes;
		h->from_bytes[pkt->peer] += place.len_bytes;
	}
	w->digest = (w->digest ^ (w->now_ps + pkt->psn + pkt->mark * 31u)) *
		    UINT64_C(0x9e3779b97f4a7c15);
	h->digest = (h->digest ^ (w->now_ps + pkt->psn + pkt->mark * 31u)) *
		    UINT64_C(0x9e3779b97f4a7c15);
	w->pkt_free[w->n_pkt_free++] = index;
	world_emit(w, event->node);
}

/* ---- switches ---- */

static inline void world_due(struct world *w, uint32_t node, uint32_t port)
{
	uint32_t index = node - w->shape.hosts;
	uint64_t at_ps = weft_switch_port_next(w->switches[index], port);
	bool *pending = &w->pending[(size_t)index * w->ports_max + port];

	if (*pending || at_ps == WEFT_NEVER)
		return;
	*pending = true;
	world_push(w, (struct event){ .at_ps = WEFT_MAX(at_ps, w->now_ps),
			      .kind = PORT_DUE,
			      .node = node,
			      .port = port });
}

static inline void world_tell(struct world *w, uint32_t node)
{
	struct event event = { .at_ps = w->now_ps, .kind = PAUSE_AT_SWITCH };
	uint32_t port;

	while (weft_switch_pause_poll(w->switches[node - w->shape.hosts], &port, &event.pause))
		world_carry(w, node, port, event);
}

static inline void world_switch(struct world *w, struct event *event)
{
	struct weft_switch *sw = w->switches[event->node - w->shape.hosts];
	bool is_cut = w->down && w->down[event->node - w->shape.hosts] >> event->port & 1;
	uint32_t port;

	if (is_cut || weft_switch_input(sw, &event->frame, w->now_ps, &port)) {
		w->lost++;
		w->pkt_free[w->n_pkt_free++] = (uint32_t)event->frame.handle;
	} else {
		world_due(w, event->node, port);
	}
	world_tell(w, event->node);
}

static inline void world_port(struct world *w, const struct event *event)
{
	uint32_t index = event->node - w->shape.hosts;
	struct weft_departure departure;

	w->pending[(size_t)index * w->ports_max + event->port] = false;
	if (!weft_switch_take(w->switches[index], event->port, w->now_ps, &departure)) {
		/* Paused or broken since. */
	} else if (departure.drop) {
		w->lost++;
		w->pkt_free[w->n_pkt_free++] = (uint32_t)departure.frame.handle;
	} else {
		CHECK_EQ(departure.starts_ps, w->now_ps);
		world_carry(w, event->node, event->port,
			(struct event){ .at_ps = departure.ends_ps,
				.frame = departure.frame,
				.kind = AT_SWITCH });
	}
	world_due(w, event->node, event->port);
	world_tell(w, event->node);
}

static inline void world_step(struct world *w)
{
	struct event event = world_pop(w);

	w->now_ps = event.at_ps;
	switch ((enum event_kind)event.kind) {
	case AT_SWITCH:
		world_switch(w, &event);
		break;
	case AT_HOST:
		world_arrive(w, &event);
		break;
	case PORT_DUE:
		world_port(w, &event);
		break;
	case HOST_DUE:
		if (w->hosts[event.node].wake_ps != event.at_ps)
			break; /* an earlier one has run since */
		w->hosts[event.node].wake_ps = WEFT_NEVER;
		world_emit(w, event.node);
		break;
	case PAUSE_AT_SWITCH:
		weft_switch_pause(w->switches[event.node - w->shape.hosts], event.port, event.pause,
			w->now_ps);
		world_due(w, event.node, event.port);
		break;
	case PAUSE_AT_HOST:
		w->hosts[event.node].paused &= ~(1u << event.port);
		w->hosts[event.node].paused |= (uint32_t)event.pause << event.port;
		world_emit(w, event.node);
		break;
	}
}

static inline void world_run(struct world *w, uint64_t until_ns)
{
	while (w->n_events && w->events[0].at_ps <= until_ns * 1000)
		world_step(w);
	w->now_ps = WEFT_MAX(w->now_ps, until_ns * 1000);
}

#endif
