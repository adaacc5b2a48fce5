/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc - hosts whose NICs are the engine.
 *
 * Connections of a host that lead to the same peer share their paths, as queue pairs of one NIC do.
 */
#include "visit.h"

#include <weft/nic_mrc.h>

#define REGION_BASE ((void *)64) /* nothing is ever written there: packets carry no bytes */

static size_t block_bytes(
	const struct weft_sim_config *config, uint32_t host, const struct host_ends *ends)
{
	struct weft_config endpoint;

	plan_host(config, host, ends, &endpoint);
	return weft_endpoint_size(&endpoint);
}

/* ---- connections ---- */

static void open_set(struct weft_sim *sim, uint32_t end)
{
	const struct conn *conn = &sim->wiring.conns[end >> 1];
	uint32_t src = end & 1 ? conn->dst : conn->src, dst = end & 1 ? conn->src : conn->dst;
	struct flow_end *e = &sim->wiring.flow_ends[end];
	uint32_t evs[512];
	uint8_t ports[512];
	size_t wanted = e->sends ? sim->config.paths : sim->config.reply_paths;
	size_t n = weft_topo_evs(sim->config.topo, src, dst, sim->config.seed + 1, evs, wanted);

	for (size_t i = 0; i < n; i++)
		ports[i] = (uint8_t)weft_ev_plane(evs[i]);
	struct weft_pathset_attr set = {
		.peer = dst, .evs = evs, .ports = ports, .n = (uint32_t)n, .in_order = true
	};

	e->set = NONE; /* no path: ends that share it stay closed, and their flows fail */
	if (n)
		WEFT_ASSERT(!weft_pathset_open(sim->hosts[src].ep, &set, &e->set));
}

static void open_end(struct weft_sim *sim, uint32_t end)
{
	const struct conn *conn = &sim->wiring.conns[end >> 1];
	struct weft_endpoint *ep = sim->hosts[end & 1 ? conn->dst : conn->src].ep;
	struct flow_end *e = &sim->wiring.flow_ends[end];
	struct weft_qp_attr attr = { .cc = sim->config.cc,
		.cc_config = { .rate_bps = sim->shape.host_bps * sim->shape.planes,
			.mtu_bytes = weft_nominal_bytes(plan_payload(&sim->shape)),
			.base_rtt_ns = sim->shape.base_rtt_ns,
			.trimming = weft_sim_discipline(&sim->config) == WEFT_DISCIPLINE_TRIM } };
	struct weft_qp *qp;
	struct weft_qp_info info;

	e->qpn = 0;
	if (e->lead == end)
		open_set(sim, end);
	e->set = sim->wiring.flow_ends[e->lead].set;
	if (e->set == NONE)
		return;
	WEFT_ASSERT(!weft_qp_open(ep, &attr, &qp));
	weft_qp_info(qp, &info);
	e->qpn = info.qpn;
}

static void open_all(struct lane *lane, uint32_t index)
{
	struct weft_sim *sim = lane->sim;
	struct host *host = &sim->hosts[index];
	const struct wiring *w = &sim->wiring;
	struct weft_config config;

	plan_host(&sim->config, index, &w->of_host[index], &config);
	WEFT_ASSERT(!weft_endpoint_init(&host->ep, sim->blocks + sim->block_of[index], &config));
	(void)weft_output(host->ep, NULL, 0, 0, WEFT_SIM_START_PS / 1000); /* tells it the time */
	WEFT_ASSERT(!weft_region_add(host->ep, 0, REGION_BASE, UINT32_MAX, 0,
		WEFT_ACCESS_REMOTE_WRITE, 99, &sim->rkeys[index]));
	for (uint32_t i = w->ends_of[index]; i < w->ends_of[index + 1]; i++)
		open_end(sim, w->ends[i]);
}

static void connect_end(struct weft_sim *sim, uint32_t end)
{
	const struct conn *conn = &sim->wiring.conns[end >> 1];
	const struct flow_end *e = &sim->wiring.flow_ends[end];
	const struct flow_end *peer = &sim->wiring.flow_ends[end ^ 1];
	struct weft_endpoint *ep = sim->hosts[end & 1 ? conn->dst : conn->src].ep;
	struct weft_config config;

	if (!e->qpn || !peer->qpn)
		return;
	plan_endpoint(&sim->config, 0, 1, 1, &config);
	struct weft_qp_attr attr = { .peer = end & 1 ? conn->src : conn->dst,
		.peer_qpn = peer->qpn,
		.pathset = e->set,
		.mpr_rx_psns = config.window_psns,
		.mpr_tx_psns = config.window_psns,
		.wimm_rx = conn->told ? conn->depth : 1,
		.wimm_tx = conn->told ? conn->depth : 1,
		.trim_nack_rx = weft_sim_discipline(&sim->config) == WEFT_DISCIPLINE_TRIM,
		.timeout_exp = 8,
		.linear_count = 7,
		.retry_count = 25 };
	struct weft_qp *qp = weft_qp_find(ep, e->qpn);

	WEFT_ASSERT(!weft_qp_move(qp, WEFT_QP_RTR, &attr, WEFT_SIM_START_PS / 1000));
	WEFT_ASSERT(!weft_qp_move(qp, WEFT_QP_RTS, &attr, WEFT_SIM_START_PS / 1000));
	for (unsigned i = 0; conn->told && end & 1 && i < conn->depth; i++)
		WEFT_ASSERT(!weft_post_recv(qp, 0));
}

static void connect_all(struct lane *lane, uint32_t host)
{
	const struct wiring *w = &lane->sim->wiring;

	for (uint32_t i = w->ends_of[host]; i < w->ends_of[host + 1]; i++)
		connect_end(lane->sim, w->ends[i]);
}

static bool post(struct lane *lane, uint32_t host, const struct flow_end *end,
	const struct weft_work *work, uint64_t now_ps)
{
	struct weft_qp *qp = weft_qp_find(lane->sim->hosts[host].ep, end->qpn);

	(void)now_ps; /* the engine has been told */
	return qp && !weft_post_write(qp, work);
}

static void on_received(const struct host *host, const struct weft_done *done)
{
	struct weft_qp *qp = weft_qp_find(host->ep, done->qpn);

	if (qp)
		(void)weft_post_recv(qp, 0);
}

static uint64_t came(const struct host *host, const struct flow_end *end)
{
	struct weft_qp *qp = end->qpn ? weft_qp_find(host->ep, end->qpn) : NULL;
	struct weft_qp_info info;

	if (!qp)
		return 0;
	weft_qp_info(qp, &info);
	return info.rx_nominal_bytes;
}

/* ---- a window ---- */

static void run(struct lane *lane, uint32_t index)
{
	visit_run(lane, index, &weft_transport_mrc);
}

static void fetch(const struct lane *lane, uint32_t index, unsigned visits)
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

const struct host_kind hosts_mrc = {
	.next_ps = weft_transport_mrc_next_ps,
	.port_mark = weft_transport_mrc_port_mark,
	.counters = weft_transport_mrc_counters,
	.check = weft_transport_mrc_check,
	.block_bytes = block_bytes,
	.open = open_all,
	.connect = connect_all,
	.post = post,
	.on_received = on_received,
	.came = came,
	.run = run,
	.fetch = fetch,
};
