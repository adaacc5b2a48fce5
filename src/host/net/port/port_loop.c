/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * port_loop - a fabric small enough to reason about, driven by the next thing that happens.
 *
 * It models what a transport can tell apart from outside: rates of the first and the last link,
 * one delay per path, loss, death, a queue with marks and trimming, carrier.  Switches in between
 * are not modelled; that is the simulator's job, and this one exists so that the pump, the engine
 * and later the simulator can be compared packet by packet.
 *
 * Time jumps from event to event; a binary heap orders them, ties by order of creation, so a run
 * depends on nothing but the seed.  Each packet is two events: it reaches the last queue, and it
 * leaves it.  Doing both at sending time would be cheaper, but then two senders' packets would
 * queue in the order of sending instead of arrival.
 *
 * A caller who has real switches puts them in the middle, and then ours is only the port contract:
 * tests/unit/net/twin_test.c runs the pump over the very fabric that the simulator has.
 */
#include "net_local.h"
#include <weft/loop.h>
#include <weft/wire.h>

#include <stdlib.h>
#include <string.h>

#define FULL 1000000u

enum { AT_QUEUE, AT_NODE }; /* what happens to a packet when its time has come */

struct flight {
	struct weft_pkt pkt;
	uint32_t src, dst, next_free;
	uint8_t stage;
};

struct node {
	struct weft_port port; /* first: the port that its pump knows */
	struct weft_loop *loop;
	struct weft_pump *pump;
	struct weft_endpoint *ep;
	weft_loop_run_fn *run; /* in place of a pump; NULL: there is that, or nobody */
	void *run_arg;
	struct loop_peers *peers; /* NULL: they are nodes */
	uint64_t wake_ns;         /* when it must run, at the latest */
	uint64_t *nic_free_ns;   /* [plane] when its last byte has left */
	uint64_t *queue_free_ns; /* [plane] the same of the last link, towards this node */
	struct weft_pkt *inbox;
	uint32_t inbox_n, inbox_max, inbox_read, index;
};

struct weft_loop {
	struct weft_loop_config config;
	struct weft_loop_stats stats;
	uint64_t now, full_pkt_ns;
	struct weft_rng rng;
	struct node *nodes;
	uint64_t *path_extra_ns; /* [src][plane][uplink] */
	uint64_t *path_last_ns;  /* last arrival at the queue, so that a path stays in order */
	struct flight *flights;
	uint32_t flights_max, flights_free; /* list of free ones; UINT32_MAX ends it */
	struct loop_heap due;               /* flights, by when something happens to them */
	struct weft_loop_fault faults[WEFT_LOOP_FAULTS_MAX];
	uint32_t n_faults;
	struct loop_wire *wire; /* NULL: packets stay structs */
};

/* ---- packets under way ---- */

static uint32_t take_flight(struct weft_loop *loop)
{
	if (loop->flights_free == UINT32_MAX) {
		uint32_t n = loop->flights_max, more = n ? n : 1024;

		loop->flights = realloc(loop->flights, (n + more) * sizeof(*loop->flights));
		WEFT_ASSERT(loop->flights);
		for (uint32_t i = n; i < n + more; i++)
			loop->flights[i].next_free = i + 1 < n + more ? i + 1 : UINT32_MAX;
		loop->flights_free = n;
		loop->flights_max = n + more;
	}
	uint32_t index = loop->flights_free;

	loop->flights_free = loop->flights[index].next_free;
	return index;
}

static void give_flight(struct weft_loop *loop, uint32_t index)
{
	loop->flights[index].next_free = loop->flights_free;
	loop->flights_free = index;
}

/* ---- the fabric ---- */

/* Preamble to gap: Ethernet 14 + 4 and 20 around one IPv6 header, its UDP and the datagram. */
static uint32_t line_bytes(const struct weft_pkt *pkt)
{
	return 38 + WEFT_ENCAP_PLAIN_BYTES + weft_wire_bytes(pkt);
}

static uint64_t serial_ns(const struct weft_loop *loop, uint32_t bytes)
{
	uint64_t rate = loop->config.rate_bps;

	return rate ? ((uint64_t)bytes * 8 * 1000000000u + rate - 1) / rate : 0;
}

static size_t path_index(const struct weft_loop *loop, uint32_t src, uint32_t ev)
{
	return ((size_t)src * loop->config.planes + (ev >> 16)) * loop->config.uplinks +
	       (ev & 0xffff);
}

static bool is_match(uint32_t want, uint32_t have)
{
	return want == WEFT_LOOP_ANY || want == have;
}

static bool is_on(const struct weft_loop *loop, const struct weft_loop_fault *fault)
{
	return fault->from_ns <= loop->now && loop->now < fault->until_ns;
}

static uint32_t carrier_of(const struct weft_loop *loop, uint32_t node)
{
	uint32_t planes = loop->config.planes;
	uint32_t up = planes == 32 ? UINT32_MAX : (1u << planes) - 1;

	for (uint32_t i = 0; i < loop->n_faults; i++) {
		const struct weft_loop_fault *fault = &loop->faults[i];

		if (fault->carrier && is_on(loop, fault) && is_match(fault->src, node))
			up &= fault->plane == WEFT_LOOP_ANY ? 0 : ~(1u << fault->plane);
	}
	return up;
}

/* What the faults of this moment do to a packet; false: it is gone. */
static bool survive(
	struct weft_loop *loop, uint32_t src, const struct weft_pkt *pkt, uint64_t *delay_ns)
{
	uint32_t plane = pkt->ev >> 16, uplink = pkt->ev & 0xffff;

	for (uint32_t i = 0; i < loop->n_faults; i++) {
		const struct weft_loop_fault *fault = &loop->faults[i];

		if (!is_on(loop, fault) || !is_match(fault->plane, plane))
			continue;
		if (fault->carrier) {
			if (is_match(fault->src, src) || is_match(fault->src, pkt->peer))
				return false;
			continue;
		}
		if (!is_match(fault->src, src) || !is_match(fault->dst, pkt->peer) ||
			!is_match(fault->uplink, uplink))
			continue;
		if (fault->loss_ppm && weft_rng_chance(&loop->rng, fault->loss_ppm, FULL))
			return false;
		*delay_ns += fault->delay_ns;
	}
	return true;
}

static void depart(struct node *node, const struct weft_pkt *pkt)
{
	const struct weft_loop_middle *middle = node->loop->config.middle;

	if (middle) {
		node->loop->stats.sent++;
		middle->send(middle->user, node->index, pkt);
		return;
	}
	struct weft_loop *loop = node->loop;
	uint32_t plane = pkt->ev >> 16, bytes = line_bytes(pkt);

	WEFT_ASSERT(pkt->port == plane && plane < loop->config.planes);
	WEFT_ASSERT((pkt->ev & 0xffff) < loop->config.uplinks);
	WEFT_ASSERT(pkt->peer < loop->config.nodes);
	uint64_t left_ns = WEFT_MAX(node->nic_free_ns[plane], loop->now) + serial_ns(loop, bytes);
	size_t path = path_index(loop, node->index, pkt->ev);
	uint64_t delay_ns = loop->config.delay_ns + loop->path_extra_ns[path];

	node->nic_free_ns[plane] = left_ns;
	loop->stats.sent++;
	loop->stats.wire_bytes += bytes;
	if (weft_op_is_data(pkt->op)) {
		loop->stats.data_pkts++;
		loop->stats.data_bytes += pkt->w.len_bytes;
	}
	if (!survive(loop, node->index, pkt, &delay_ns)) {
		loop->stats.lost++;
		return;
	}
	uint64_t at_ns = WEFT_MAX(left_ns + delay_ns, loop->path_last_ns[path]);
	uint32_t index = take_flight(loop);
	struct flight *flight = &loop->flights[index];

	loop->path_last_ns[path] = at_ns;
	*flight = (struct flight){ .pkt = *pkt, .src = node->index, .dst = pkt->peer };
	flight->pkt.peer = node->index; /* whom it is from, from here on */
	flight->pkt.mark = 0;
	loop_heap_push(&loop->due, at_ns, index);
}

/* Marks, trims or drops; false: dropped. */
static bool enqueue(struct weft_loop *loop, struct weft_pkt *pkt, uint64_t backlog_ns)
{
	const struct weft_loop_config *c = &loop->config;
	uint64_t backlog = c->rate_bps ? backlog_ns * c->rate_bps / 8000000000u : 0;
	bool is_data = weft_op_is_data(pkt->op);

	if (c->queue_bytes && backlog + line_bytes(pkt) > c->queue_bytes && is_data) {
		if (!c->trim) {
			loop->stats.queue_drops++;
			return false;
		}
		pkt->mark |= WEFT_MARK_TRIMMED_LASTHOP;
		pkt->w = (struct weft_pkt_write){ /* what a cut leaves: METH and TSETH */
			.msn = pkt->w.msn, .rqmsn = pkt->w.rqmsn, .ts = pkt->w.ts
		};
		loop->stats.trimmed++;
		return true;
	}
	if (!c->ecn_max_bytes || backlog <= c->ecn_min_bytes || !is_data)
		return true;
	if (backlog >= c->ecn_max_bytes || weft_rng_chance(&loop->rng, backlog - c->ecn_min_bytes,
						   c->ecn_max_bytes - c->ecn_min_bytes)) {
		pkt->mark |= WEFT_MARK_CE;
		loop->stats.marked++;
	}
	return true;
}

static void reach_queue(struct weft_loop *loop, uint32_t index)
{
	struct flight *flight = &loop->flights[index];
	uint64_t *free_ns = &loop->nodes[flight->dst].queue_free_ns[flight->pkt.ev >> 16];
	uint64_t start_ns = WEFT_MAX(*free_ns, loop->now);

	if (!enqueue(loop, &flight->pkt, start_ns - loop->now)) {
		give_flight(loop, index);
		return;
	}
	*free_ns = start_ns + serial_ns(loop, line_bytes(&flight->pkt));
	flight->stage = AT_NODE;
	loop_heap_push(&loop->due, *free_ns, index);
}

static void put_in(struct node *node, const struct weft_pkt *pkt)
{
	if (node->inbox_n == node->inbox_max) {
		node->inbox_max = node->inbox_max ? 2 * node->inbox_max : 256;
		node->inbox = realloc(node->inbox, node->inbox_max * sizeof(*node->inbox));
		WEFT_ASSERT(node->inbox);
	}
	node->inbox[node->inbox_n++] = *pkt;
	node->loop->stats.delivered++;
}

static void reach_node(struct weft_loop *loop, uint32_t index)
{
	struct flight *flight = &loop->flights[index];
	struct node *node = &loop->nodes[flight->dst];

	if (carrier_of(loop, flight->dst) >> (flight->pkt.ev >> 16) & 1) {
		loop_digest(&loop->stats.digest, loop->now, flight->src, flight->dst, &flight->pkt);
		flight->pkt.port = (uint8_t)(flight->pkt.ev >> 16);
		put_in(node, &flight->pkt);
		node->wake_ns = loop->now;
	} else {
		loop->stats.lost++;
	}
	give_flight(loop, index);
}

/* ---- the port contract ---- */

static size_t rx(struct weft_port *port, struct weft_pkt pkts[], size_t max)
{
	struct node *node = (struct node *)port;
	size_t n = 0;

	while (n < max && node->inbox_read < node->inbox_n) {
		struct weft_pkt *pkt = &node->inbox[node->inbox_read++];

		if (node->loop->wire && !loop_wire_pass(node->loop->wire, n, pkt))
			continue;
		if (!node->peers || loop_peers_from(node->peers, &pkt->peer))
			pkts[n++] = *pkt;
		else
			port->stats.drops[WEFT_DROP_UNKNOWN_PEER]++;
	}
	if (node->inbox_read == node->inbox_n)
		node->inbox_read = node->inbox_n = 0;
	port->stats.rx_pkts += n;
	port->stats.rx_calls++;
	return n;
}

static void tx(
	struct weft_port *port, const struct weft_pkt pkts[], size_t n, struct weft_wake wake)
{
	struct node *node = (struct node *)port;

	(void)wake; /* nobody sleeps here */
	for (size_t i = 0; i < n; i++) {
		struct weft_pkt pkt = pkts[i];

		if (!node->peers || loop_peers_to(node->peers, &pkt.peer))
			depart(node, &pkt);
		else
			port->stats.tx_no_path++;
	}
	port->stats.tx_pkts += n;
	port->stats.tx_calls++;
}

static uint32_t room(struct weft_port *port, size_t *max)
{
	const struct node *node = (struct node *)port;
	const struct weft_loop *loop = node->loop;
	uint64_t limit_ns = loop->config.nic_pkts * loop->full_pkt_ns;
	uint32_t mask = 0, planes = 0;

	if (loop->config.middle) {
		*max = 1; /* one at a time: a line that has one is not free for the next */
		return loop->config.middle->free(loop->config.middle->user, node->index);
	}
	for (uint32_t plane = 0; plane < loop->config.planes; plane++) {
		if (loop->config.rate_bps && node->nic_free_ns[plane] >= loop->now + limit_ns)
			continue;
		mask |= 1u << plane;
		planes++;
	}
	*max = planes ? planes : 1;
	return mask;
}

static uint32_t carrier(struct weft_port *port)
{
	const struct node *node = (struct node *)port;

	return carrier_of(node->loop, node->index);
}

/* Time passes in weft_loop_step() only; a pump here is run with max_wait_ns 0. */
static void wait_for(struct weft_port *port, uint64_t max_ns)
{
	(void)port;
	(void)max_ns;
}

static void close_port(struct weft_port *port)
{
	(void)port; /* lives and ends with the loop */
}

static int go_to_sleep(struct weft_port *port, bool will)
{
	(void)port;
	(void)will;
	return WEFT_PORT_BLIND;
}

static const struct weft_port_ops ops = {
	.name = "loop",
	.rx = rx,
	.tx = tx,
	.room = room,
	.carrier = carrier,
	.wait = wait_for,
	.sleep = go_to_sleep,
	.close = close_port,
};

/* ---- the loop ---- */

static bool open_nodes(struct weft_loop *loop)
{
	const struct weft_loop_config *c = &loop->config;
	size_t paths = (size_t)c->nodes * c->planes * c->uplinks;

	loop->nodes = calloc(c->nodes, sizeof(*loop->nodes));
	loop->path_extra_ns = calloc(paths, sizeof(uint64_t));
	loop->path_last_ns = calloc(paths, sizeof(uint64_t));
	if (!loop->nodes || !loop->path_extra_ns || !loop->path_last_ns)
		return false;
	for (size_t i = 0; c->spread_ns && i < paths; i++)
		loop->path_extra_ns[i] = weft_rng_below(&loop->rng, c->spread_ns + 1);
	for (uint32_t i = 0; i < c->nodes; i++) {
		struct node *node = &loop->nodes[i];

		node->port.ops = &ops;
		node->port.planes = c->planes;
		node->loop = loop;
		node->index = i;
		node->wake_ns = WEFT_NEVER;
		node->nic_free_ns = calloc(c->planes, sizeof(uint64_t));
		node->queue_free_ns = calloc(c->planes, sizeof(uint64_t));
		if (!node->nic_free_ns || !node->queue_free_ns)
			return false;
	}
	return true;
}

struct weft_loop *weft_loop_open(const struct weft_loop_config *config)
{
	if (!config->nodes || config->nodes > WEFT_LOOP_NODES_MAX || !config->planes ||
		config->planes > WEFT_PORTS_MAX || !config->uplinks || config->uplinks > 65536)
		return NULL;
	struct weft_loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return NULL;
	struct weft_pkt full = { .op = WEFT_OP_WRITE_MIDDLE, .w.len_bytes = 4096 };

	loop->config = *config;
	loop->now = 1;
	loop->flights_free = UINT32_MAX;
	if (!loop->config.nic_pkts)
		loop->config.nic_pkts = 4;
	loop->full_pkt_ns = serial_ns(loop, line_bytes(&full));
	weft_rng_seed(&loop->rng, config->seed);
	if (config->wire_check)
		loop->wire = loop_wire_open();
	if (!open_nodes(loop) || (config->wire_check && !loop->wire)) {
		weft_loop_close(loop);
		return NULL;
	}
	return loop;
}

void weft_loop_close(struct weft_loop *loop)
{
	if (!loop)
		return;
	for (uint32_t i = 0; loop->nodes && i < loop->config.nodes; i++) {
		free(loop->nodes[i].nic_free_ns);
		free(loop->nodes[i].queue_free_ns);
		free(loop->nodes[i].inbox);
		free(loop->nodes[i].peers);
	}
	loop_wire_close(loop->wire);
	free(loop->nodes);
	free(loop->path_extra_ns);
	free(loop->path_last_ns);
	free(loop->flights);
	loop_heap_close(&loop->due);
	free(loop);
}

struct weft_port *weft_loop_port(struct weft_loop *loop, uint32_t node)
{
	WEFT_ASSERT(node < loop->config.nodes);
	return &loop->nodes[node].port;
}

uint64_t weft_loop_clock(void *loop)
{
	return ((struct weft_loop *)loop)->now;
}

uint64_t weft_loop_now(const struct weft_loop *loop)
{
	return loop->now;
}

const struct weft_loop_stats *weft_loop_stats(const struct weft_loop *loop)
{
	return &loop->stats;
}

void weft_loop_attach(
	struct weft_loop *loop, uint32_t node, struct weft_pump *pump, struct weft_endpoint *ep)
{
	WEFT_ASSERT(node < loop->config.nodes);
	loop->nodes[node].pump = pump;
	loop->nodes[node].ep = ep;
	loop->nodes[node].wake_ns = loop->now;
}

void weft_loop_attach_run(
	struct weft_loop *loop, uint32_t node, weft_loop_run_fn *run, void *arg)
{
	WEFT_ASSERT(node < loop->config.nodes);
	loop->nodes[node].run = run;
	loop->nodes[node].run_arg = arg;
	loop->nodes[node].wake_ns = run ? loop->now : WEFT_NEVER;
}

int weft_loop_peer_add(struct weft_port *port, uint32_t peer, const struct weft_udp_peer *attr)
{
	return loop_peers_add(&((struct node *)port)->peers, peer, attr->udp_port);
}

void weft_loop_peer_drop(struct weft_port *port, uint32_t peer)
{
	loop_peers_drop(((struct node *)port)->peers, peer);
}

void weft_loop_kick(struct weft_loop *loop, uint32_t node)
{
	WEFT_ASSERT(node < loop->config.nodes);
	loop->nodes[node].wake_ns = loop->now;
}

int weft_loop_fault(struct weft_loop *loop, const struct weft_loop_fault *fault)
{
	if (loop->n_faults == WEFT_LOOP_FAULTS_MAX)
		return WEFT_EFULL;
	if (fault->loss_ppm > FULL || fault->from_ns >= fault->until_ns ||
		(fault->plane != WEFT_LOOP_ANY && fault->plane >= loop->config.planes))
		return WEFT_EINVAL;
	loop->faults[loop->n_faults++] = *fault;
	return 0;
}

/* Carrier changes wake whoever sees them; other faults are only looked up by packets. */
static uint64_t next_carrier_ns(const struct weft_loop *loop)
{
	uint64_t next = WEFT_NEVER;

	for (uint32_t i = 0; i < loop->n_faults; i++) {
		const struct weft_loop_fault *fault = &loop->faults[i];

		if (!fault->carrier)
			continue;
		if (fault->from_ns > loop->now)
			next = WEFT_MIN(next, fault->from_ns);
		if (fault->until_ns > loop->now)
			next = WEFT_MIN(next, fault->until_ns);
	}
	return next;
}

static bool is_run(const struct node *node)
{
	return node->pump || node->run;
}

static void run_node(struct weft_loop *loop, struct node *node)
{
	while (!node->run && weft_pump_step(node->pump, 0))
		;
	uint64_t wake_ns = node->run ? node->run(node->run_arg) : weft_next_timeout(node->ep);

	/* A full port frees up when enough of it has left. */
	for (uint32_t plane = 0; plane < loop->config.planes; plane++) {
		uint64_t full_ns = loop->config.nic_pkts * loop->full_pkt_ns;

		if (loop->config.rate_bps && node->nic_free_ns[plane] >= loop->now + full_ns)
			wake_ns = WEFT_MIN(wake_ns, node->nic_free_ns[plane] - full_ns + 1);
	}
	WEFT_ASSERT(wake_ns > loop->now);
	node->wake_ns = wake_ns;
}

void weft_loop_arrive(struct weft_loop *loop, uint32_t node, const struct weft_pkt *pkt)
{
	WEFT_ASSERT(loop->config.middle && node < loop->config.nodes);
	put_in(&loop->nodes[node], pkt);
}

void weft_loop_run(struct weft_loop *loop, uint32_t node, uint64_t now_ns)
{
	WEFT_ASSERT(loop->config.middle && now_ns >= loop->now && node < loop->config.nodes);
	loop->now = now_ns;
	while (weft_pump_step(loop->nodes[node].pump, 0))
		;
}

bool weft_loop_step(struct weft_loop *loop, uint64_t until_ns)
{
	uint64_t carrier_ns = next_carrier_ns(loop);
	uint64_t next = WEFT_MIN(carrier_ns, loop_heap_next(&loop->due));

	for (uint32_t i = 0; i < loop->config.nodes; i++)
		if (is_run(&loop->nodes[i]))
			next = WEFT_MIN(next, loop->nodes[i].wake_ns);
	if (next > until_ns || next == WEFT_NEVER) {
		loop->now = WEFT_MAX(loop->now, until_ns == WEFT_NEVER ? loop->now : until_ns);
		return false;
	}
	loop->now = WEFT_MAX(loop->now, next);
	while (loop_heap_next(&loop->due) <= loop->now) {
		uint32_t index = loop_heap_pop(&loop->due);

		if (loop->flights[index].stage == AT_QUEUE)
			reach_queue(loop, index);
		else
			reach_node(loop, index);
	}
	for (uint32_t i = 0; i < loop->config.nodes; i++) {
		struct node *node = &loop->nodes[i];

		if (is_run(node) && (node->wake_ns <= loop->now || carrier_ns <= loop->now))
			run_node(loop, node);
	}
	return true;
}
