/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guest - one host with a rival's transport, through one window.
 *
 * The twin of host.c for what rival.h offers: the same NIC without a queue, the same instants at
 * which anything can change, the same switches and cables.  It is a file of its own so that the
 * engine's path has no branches for its rivals.  Rivals count picoseconds, since a pace in whole
 * nanoseconds would be a percent off at 400 Gb/s; and they honour pauses, which stop data and
 * nothing else.
 */
#include "nic.h"

/* ---- a configuration ---- */

void guest_config(const struct weft_sim_config *config, uint32_t host, const struct host_ends *ends,
	struct weft_rival_config *out)
{
	const struct weft_topo_shape *s = weft_topo_shape(config->topo);

	*out = (struct weft_rival_config){ .settings = config->rival,
		.host = host,
		.planes = s->planes,
		.sends = ends->sends,
		.receives = ends->receives,
		.works = ends->sends * WEFT_MAX(ends->depth, 1u),
		.payload_bytes = plan_payload(s),
		.overhead_bytes = DATA_HEADERS + WEFT_FRAME_GAP_BYTES,
		.port_bps = s->host_bps,
		.rtt_ps = (uint64_t)s->base_rtt_ns * 1000,
		.seed = config->seed * UINT64_C(0x9e3779b97f4a7c15) + 100 + host,
		.path = routes_path };
}

void guest_open(struct lane *lane, uint32_t index)
{
	struct weft_sim *sim = lane->sim;
	struct guest *guest = &sim->guests[index];
	const struct wiring *w = &sim->wiring;
	uint32_t numbers[2] = { 0, 0 };
	struct weft_rival_config config;

	*guest = (struct guest){ .lane = lane, .host = index };
	guest_config(&sim->config, index, &w->of_host[index], &config);
	config.user = guest;
	WEFT_ASSERT(weft_rival_init(&guest->rival, sim->blocks + sim->block_of[index], &config));
	for (uint32_t i = w->ends_of[index]; i < w->ends_of[index + 1]; i++) {
		struct flow_end *end = &w->flow_ends[w->ends[i]];

		end->qpn = 0;
		end->set = numbers[w->ends[i] & 1]++;
	}
}

void guest_connect(struct lane *lane, uint32_t index)
{
	const struct weft_sim *sim = lane->sim;
	const struct wiring *w = &sim->wiring;

	for (uint32_t i = w->ends_of[index]; i < w->ends_of[index + 1]; i++) {
		uint32_t end = w->ends[i];
		const struct conn *conn = &w->conns[end >> 1];
		uint32_t peer = end & 1 ? conn->src : conn->dst;

		if (weft_topo_paths(sim->config.topo, index, peer))
			weft_rival_connect(sim->guests[index].rival, end & 1, w->flow_ends[end].set,
				peer, w->flow_ends[end ^ 1].set);
	}
}

bool guest_post(struct lane *lane, const struct conn *conn, uint32_t number, uint64_t id,
	uint32_t len_bytes, uint64_t now_ps)
{
	return weft_rival_post(lane->sim->guests[conn->src].rival, number, id, len_bytes, now_ps);
}

const struct weft_counters *guest_counters(const struct weft_sim *sim, uint32_t host)
{
	const struct weft_rival_counters *c = weft_rival_stats(sim->guests[host].rival);
	struct weft_counters *to = &sim->guests[host].counters;

	*to = (struct weft_counters){ .tx_data_pkts = c->tx_data_pkts,
		.tx_data_bytes = c->tx_data_bytes,
		.tx_rtx_pkts = c->tx_rtx_pkts,
		.rx_data_pkts = c->rx_data_pkts,
		.rx_data_bytes = c->rx_data_bytes,
		.tx_sack = c->tx_acks,
		.rx_sack = c->rx_acks,
		.tx_nack = c->tx_naks,
		.rx_nack = c->rx_naks,
		.timeouts = c->timeouts,
		.rx_ce = c->rx_ce,
		.rx_trimmed = c->rx_trimmed,
		.rx_duplicate = c->rx_duplicate };
	return to;
}

/* ---- a window ---- */

struct visit {
	struct nic nic;
	struct guest *guest;
};

static void emit(struct visit *v, uint64_t now_ps)
{
	struct weft_rival *rival = v->guest->rival;
	uint64_t next_ps;

	while (weft_rival_output(rival, &v->nic.sim->slab.pkts[v->nic.lane->spare],
		nic_free_ports(&v->nic, now_ps), v->guest->paused, now_ps))
		nic_depart(&v->nic, now_ps);
	next_ps = weft_rival_next_ps(rival);
	if (weft_rival_wants_output(rival))
		next_ps = WEFT_MIN(next_ps, nic_next_free_ps(&v->nic, now_ps));
	v->nic.host->wake_ps = next_ps;
}

static void finish(struct visit *v, uint64_t now_ps)
{
	struct weft_rival_done done;

	while (weft_rival_poll(v->guest->rival, &done)) {
		struct weft_done d = { .id = done.id,
			.imm = (uint32_t)done.id,
			.kind = done.arrived ? WEFT_DONE_RECV_IMM : WEFT_DONE_WRITE };

		if (!done.arrived || v->nic.sim->wiring.told[d.imm / 64] >> d.imm % 64 & 1)
			flow_on_done(v->nic.lane, v->nic.index, &d, now_ps);
	}
}

static void deliver(struct visit *v, const struct weft_frame *frame, uint64_t now_ps)
{
	struct weft_sim *sim = v->nic.sim;
	uint32_t slot = (uint32_t)frame->handle, bit = 1u << frame->in_port;
	struct weft_pkt *pkt = &sim->slab.pkts[slot];

	if (frame->flags & FRAME_PAUSE) {
		v->guest->paused = frame->mark ? v->guest->paused | bit : v->guest->paused & ~bit;
		return;
	}
	if (nic_takes_in(&v->nic, frame)) {
		pkt->mark = frame->mark;
		pkt->port = (uint8_t)frame->in_port;
		weft_rival_input(v->guest->rival, pkt, now_ps);
		nic_digest(&v->nic, pkt, now_ps);
		finish(v, now_ps);
	} else {
		v->nic.lane->lost++;
	}
	slab_give(&sim->slab, &v->nic.lane->cache, slot);
}

void guest_fetch(const struct lane *lane, uint32_t index, unsigned visits)
{
	const struct weft_sim *sim = lane->sim;

	if (visits != FETCH_VISITS)
		return;
	__builtin_prefetch(&sim->hosts[index], 1);
	__builtin_prefetch(&sim->guests[index]);
}

void guest_run(struct lane *lane, uint32_t index)
{
	struct weft_sim *sim = lane->sim;
	struct host *host = &sim->hosts[index];
	struct visit v = { .nic = nic_of(lane, index), .guest = &sim->guests[index] };
	uint32_t i = 0, at = lane->action;

	mail_collect(lane, index);
	const struct action *action = fault_next(lane, index, &at);

	if (v.guest->epoch != lane->route_epoch) {
		v.guest->epoch = lane->route_epoch;
		weft_rival_routes_changed(v.guest->rival);
	}
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
			deliver(&v, mail_frame(lane, i), now_ps);
		if (host->is_paused)
			continue;
		flow_start(lane, index, now_ps);
		emit(&v, now_ps);
	}
	host_alarm(lane, index);
}
