/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * incast_virtual - the incast in virtual time: engines at the hosts, the network between them.
 *
 * The same engine and the same switches as live, frames as structs; nothing waits for a CPU, so
 * this is what the protocol does, to the picosecond and the same on every machine.  A host has no
 * queue of its own: its engine is asked whenever one of its lines is free.
 */
#include "incast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/base.h>
#include <weft/nic_mrc.h>
#include <weft/network.h>

#define FRAMES (1u << 14)
#define START_NS UINT64_C(1000000) /* an engine's time starts above 0 */
#define HOSTS_MAX 16u
#define OUTS 64u
#define WATCH_NS UINT64_C(1000000) /* between looks at the queues */

struct host {
	struct weft_endpoint *ep;
	struct weft_nic nic;
	void *block;
	struct incast_sender *sender; /* NULL: it sends nothing */
	uint64_t free_ps[WEFT_TOPO_PLANES_MAX];
	uint64_t wake_ns, got_bytes[HOSTS_MAX];
	bool is_due; /* something came in, or a line is free again */
};

struct world {
	const struct incast_plan *plan;
	struct weft_topo *topo;
	const struct weft_topo_shape *shape;
	struct weft_network *network;
	struct host hosts[HOSTS_MAX];
	struct incast_sender senders[INCAST_FLOWS];
	struct weft_pkt *pkts;
	uint32_t free[FRAMES], n_free;
	uint64_t now_ns;
	uint32_t queue_bytes;
};

/* ---- opening ---- */

static bool open_host(struct world *w, uint32_t index)
{
	struct host *h = &w->hosts[index];
	struct weft_config config;

	weft_config_default(&config);
	config.qps = 512;
	config.cqs = 1;
	config.regions = config.pathsets = 16;
	config.sq_depth = config.rq_depth = 16;
	config.cq_depth = 256;
	config.ports = w->shape->planes;
	config.base_rtt_ns = w->shape->base_rtt_ns;
	config.seed = 100 + index;
	size_t bytes = WEFT_ALIGN_UP(weft_endpoint_size(&config), (size_t)64);

	h->block = aligned_alloc(64, bytes);
	if (!h->block)
		return false;
	WEFT_ASSERT(!weft_endpoint_init(&h->ep, h->block, &config));
	h->nic = (struct weft_nic){ .transport = &weft_transport_mrc,
		.state = h->ep,
		.free_ps = h->free_ps,
		.planes = w->shape->planes };
	h->wake_ns = WEFT_NEVER;
	return true;
}

static uint32_t open_paths(struct world *w, uint32_t src, uint32_t dst)
{
	uint32_t evs[256], set;
	uint8_t ports[256];
	struct weft_pathset_attr attr = { .peer = dst, .evs = evs, .ports = ports };

	attr.n = (uint32_t)weft_topo_evs(w->topo, src, dst, 1, evs, WEFT_COUNT(evs));
	for (uint32_t i = 0; i < attr.n; i++)
		ports[i] = (uint8_t)weft_ev_plane(evs[i]);
	WEFT_ASSERT(!weft_pathset_open(w->hosts[src].ep, &attr, &set));
	return set;
}

/* As live endpoints choose it: of at least four times round trip and queue. */
static uint8_t timeout_exp(const struct world *w)
{
	uint8_t exp = 1;

	while (exp < 24 && UINT64_C(1024) << exp < UINT64_C(8) * w->shape->base_rtt_ns)
		exp++;
	return exp;
}

static struct weft_qp *connect_pair(
	struct world *w, uint32_t src, uint32_t dst, const uint32_t sets[2], bool trims)
{
	const uint32_t ends[2] = { src, dst };
	struct weft_qp_info info[2];
	struct weft_qp *qps[2];
	struct weft_qp_attr attr = { .pd = 1,
		.cc = &weft_cc_nscc,
		.cc_config = { .rate_bps = w->shape->host_bps * w->shape->planes,
			.mtu_bytes = weft_nominal_bytes(INCAST_MTU_BYTES),
			.base_rtt_ns = w->shape->base_rtt_ns,
			.trimming = trims } };

	for (int i = 0; i < 2; i++) {
		WEFT_ASSERT(!weft_qp_open(w->hosts[ends[i]].ep, &attr, &qps[i]));
		weft_qp_info(qps[i], &info[i]);
	}
	for (int i = 0; i < 2; i++) {
		struct weft_qp_attr rts = { .peer = ends[!i],
			.peer_qpn = info[!i].qpn,
			.pathset = sets[i],
			.mpr_rx_psns = WEFT_MPR_UNIT_PSNS * 8,
			.mpr_tx_psns = WEFT_MPR_UNIT_PSNS * 8,
			.trim_nack_rx = trims,
			.timeout_exp = timeout_exp(w),
			.linear_count = 7,
			.retry_count = 6 };
		uint64_t now = w->now_ns;

		WEFT_ASSERT(!weft_qp_move(qps[i], WEFT_QP_RTR, &rts, now));
		WEFT_ASSERT(!weft_qp_move(qps[i], WEFT_QP_RTS, &rts, now));
	}
	return qps[0];
}

static void open_flow(struct world *w, uint32_t flow, bool trims)
{
	static uint8_t memory[INCAST_MEMORY]; /* everybody's: nothing is written */
	struct incast_sender *s = &w->senders[flow];
	uint32_t src, dst, sets[2];

	incast_ends(flow, &src, &dst);
	sets[0] = open_paths(w, src, dst);
	sets[1] = open_paths(w, dst, src);
	*s = (struct incast_sender){ .plan = w->plan, .flow = flow, .ep = w->hosts[src].ep };
	for (uint32_t i = 0; i < (flow == INCAST_VICTIM ? 1 : 1 + w->plan->bursts); i++)
		s->qp[i] = connect_pair(w, src, dst, sets, trims);
	WEFT_ASSERT(!weft_region_add(w->hosts[dst].ep, 0, memory, sizeof(memory), 1,
		WEFT_ACCESS_REMOTE_WRITE, flow, &s->rkey));
	w->hosts[src].sender = s;
	w->hosts[src].wake_ns = w->now_ns;
}

static int open_world(struct world *w, enum incast_kind kind, char *error, size_t error_bytes)
{
	char text[INCAST_FABRIC_BYTES];
	struct weft_network_config config = { .frames = FRAMES, .seed = 1 };

	incast_fabric(w->plan, kind, text);
	if (weft_topo_open_text(&w->topo, text, strlen(text), "incast", error, error_bytes))
		return -1;
	w->shape = weft_topo_shape(w->topo);
	WEFT_ASSERT(w->shape->hosts <= HOSTS_MAX);
	config.topo = w->topo;
	if (weft_network_open(&w->network, &config, error, error_bytes))
		return -1;
	w->now_ns = START_NS;
	for (uint32_t i = 0; i < FRAMES; i++)
		w->free[w->n_free++] = i;
	for (uint32_t i = 0; i < w->shape->hosts; i++) {
		if (open_host(w, i))
			continue;
		(void)snprintf(error, error_bytes, "out of memory");
		return -1;
	}
	for (uint32_t flow = 0; flow < INCAST_FLOWS; flow++)
		open_flow(w, flow, kind == INCAST_TRIM);
	return 0;
}

static void close_world(struct world *w)
{
	if (w->network)
		weft_network_check(w->network);
	weft_network_close(w->network);
	for (uint32_t i = 0; w->topo && i < w->shape->hosts; i++)
		free(w->hosts[i].block);
	weft_topo_close(w->topo);
	free(w->pkts);
	free(w);
}

/* ---- frames ---- */

static void depart(struct world *w, uint32_t host, const struct weft_pkt *pkt)
{
	uint16_t bytes = weft_frame_bytes(pkt, WEFT_ENCAP_SRV6_BYTES);
	struct weft_frame frame;
	uint8_t addr[16];

	WEFT_ASSERT(w->n_free);
	weft_frame_of(&frame, pkt, bytes);
	frame.handle = w->free[--w->n_free];
	w->pkts[frame.handle] = *pkt;
	w->pkts[frame.handle].peer = host;
	WEFT_ASSERT(weft_topo_usid(w->topo, host, pkt->peer, pkt->ev, addr));
	frame.route = weft_frame_route(addr);
	WEFT_ASSERT(weft_network_send(w->network, host, pkt->port, &frame,
		bytes - WEFT_FRAME_ETHER_BYTES, w->now_ns * 1000));
	w->hosts[host].free_ps[pkt->port] = weft_network_line_free_ps(w->network, host, pkt->port);
}

static void arrive(struct world *w, const struct weft_network_out *out)
{
	uint32_t index = (uint32_t)out->frame.handle;
	struct weft_pkt *pkt = &w->pkts[index];
	struct weft_place place;

	w->free[w->n_free++] = index;
	if (out->drop)
		return;
	struct host *h = &w->hosts[out->node];

	weft_frame_arrive(&out->frame, out->plane, pkt);
	weft_nic_input(&h->nic, pkt, w->now_ns * 1000, &place);
	h->got_bytes[pkt->peer] += place.len_bytes;
	h->is_due = true;
}

/* ---- time ---- */

static void emit(struct world *w, uint32_t host)
{
	struct host *h = &w->hosts[host];
	uint64_t wake_ns = WEFT_NEVER, now_ps = w->now_ns * 1000;
	struct weft_pkt pkt;

	h->is_due = false;
	if (h->sender) {
		wake_ns = incast_send(h->sender, w->now_ns - START_NS);
		wake_ns = wake_ns == WEFT_NEVER ? wake_ns : wake_ns + START_NS;
	}
	for (uint32_t p = 0; p < w->shape->planes; p++) {
		h->free_ps[p] = weft_network_line_free_ps(w->network, host, p);
		h->is_due |= h->free_ps[p] == WEFT_NEVER; /* paused: looked at after each event */
	}
	while (weft_nic_output(&h->nic, &pkt, now_ps))
		depart(w, host, &pkt);
	uint64_t next_ps = weft_nic_next_ps(&h->nic, now_ps);

	h->wake_ns = next_ps == WEFT_NEVER
			     ? wake_ns
			     : WEFT_MIN(wake_ns, WEFT_DIV_UP(next_ps, UINT64_C(1000)));
}

/* Up to the next moment at which anything happens, but not beyond. */
static void step(struct world *w, uint64_t until_ns)
{
	uint64_t next_ps = weft_network_next_ps(w->network);
	uint64_t next_ns = next_ps == WEFT_NEVER ? until_ns : WEFT_DIV_UP(next_ps, UINT64_C(1000));
	struct weft_network_out outs[OUTS];
	size_t n;

	for (uint32_t i = 0; i < w->shape->hosts; i++)
		next_ns = WEFT_MIN(next_ns, w->hosts[i].wake_ns);
	w->now_ns = WEFT_MAX(w->now_ns, WEFT_MIN(next_ns, until_ns));
	weft_network_run(w->network, w->now_ns * 1000);
	while ((n = weft_network_take(w->network, outs, OUTS)))
		for (size_t i = 0; i < n; i++)
			arrive(w, &outs[i]);
	for (uint32_t i = 0; i < w->shape->hosts; i++)
		if (w->hosts[i].is_due || w->hosts[i].wake_ns <= w->now_ns)
			emit(w, i);
}

/* ---- eyes ---- */

static uint32_t waiting_bytes(const struct world *w)
{
	uint32_t sum = 0;

	for (uint32_t plane = 0; plane < w->shape->planes; plane++) {
		struct weft_link link =
			weft_topo_link(w->topo, weft_topo_port_link(w->topo, 0, plane));
		unsigned end = link.node[0] == 0 ? 1 : 0;

		sum += weft_switch_depth_bytes(weft_network_switch(w->network, link.node[end]),
			link.port[end], WEFT_QUEUE_DATA);
	}
	return sum;
}

static void count_switches(const struct world *w, struct incast_counts *c)
{
	for (uint32_t node = w->shape->hosts; node < w->shape->nodes; node++) {
		const struct weft_switch *sw = weft_network_switch(w->network, node);

		for (uint32_t port = weft_topo_node(w->topo, node).ports; port--;) {
			const struct weft_port_counters *p = weft_switch_port_counters(sw, port);

			c->trimmed += p->trimmed;
			c->marked += p->ecn_marked;
			c->pauses += p->pfc_sent;
		}
	}
	c->dropped = weft_network_stats(w->network)->dropped;
}

static struct incast_counts count(const struct world *w)
{
	struct incast_counts c = { 0 };

	for (uint32_t i = 0; i < w->shape->hosts; i++) {
		const struct weft_counters *s = weft_stats(w->hosts[i].ep);

		c.data += s->tx_data_pkts;
		c.again += s->tx_rtx_pkts;
		c.nacks += s->rx_nack;
		c.timeouts += s->timeouts;
		c.tail_probes += s->tail_probes;
		c.spurious += s->spurious;
	}
	count_switches(w, &c);
	return c;
}

static void sample(struct world *w, struct incast_run *run)
{
	struct incast_sample *s = incast_add(run, w->now_ns - START_NS);
	struct incast_counts c = { 0 };

	if (!s)
		return;
	for (uint32_t flow = 0; flow < INCAST_FLOWS; flow++) {
		uint32_t src, dst;

		incast_ends(flow, &src, &dst);
		s->bytes[flow] = w->hosts[dst].got_bytes[src];
	}
	count_switches(w, &c);
	s->trimmed = c.trimmed;
	s->dropped = c.dropped;
	s->marked = c.marked;
	s->queue_bytes = w->queue_bytes;
	w->queue_bytes = 0;
}

static void watch(struct world *w, struct incast_run *run)
{
	uint64_t total_ns = incast_total_ns(w->plan), stop_ns = incast_burst_ns(w->plan, 0);

	for (uint64_t at_ns = 0; at_ns <= total_ns; at_ns += WATCH_NS) {
		while (w->now_ns < START_NS + at_ns)
			step(w, START_NS + at_ns);
		w->queue_bytes = WEFT_MAX(w->queue_bytes, waiting_bytes(w));
		if (at_ns % w->plan->step_ns)
			continue;
		sample(w, run);
		if (at_ns <= stop_ns)
			run->at_stop = count(w);
	}
}

int incast_virtual(const struct incast_plan *plan, struct incast_run *run)
{
	struct world *w = calloc(1, sizeof(*w));

	WEFT_ASSERT(plan->bursts <= INCAST_BURSTS_MAX && plan->burst_bytes <= INCAST_MEMORY);
	if (w) {
		w->plan = plan;
		w->pkts = calloc(FRAMES, sizeof(*w->pkts));
	}
	if (!w || !w->pkts) {
		(void)snprintf(run->error, sizeof(run->error), "out of memory");
		free(w);
		return -1;
	}
	if (open_world(w, run->kind, run->error, sizeof(run->error))) {
		close_world(w);
		return -1;
	}
	watch(w, run);
	run->counts = count(w);
	run->is_done = !run->error[0]; /* samples want memory */
	for (uint32_t flow = 0; flow < INCAST_FLOWS; flow++) {
		struct incast_sender *s = &w->senders[flow];

		for (uint32_t b = 0; flow < INCAST_SENDERS && b < plan->bursts; b++)
			run->burst_ns[b][flow] = s->took_ns[b];
		if (s->status && run->is_done) {
			run->is_done = false;
			(void)snprintf(run->error, sizeof(run->error), "flow %u: %s", flow,
				weft_status_name(s->status));
		}
	}
	close_world(w);
	return run->is_done ? 0 : -1;
}
