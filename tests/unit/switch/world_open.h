/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORLD_OPEN_H
#define WORLD_OPEN_H
/* world_open - builds a world out of a fabric file's text, and connects pairs in it. */
#include "world.h"

/* From the fabric file alone: at the start, and after a reboot. */
static inline void world_fill_table(struct world *w, uint32_t node)
{
	struct weft_switch *sw = w->switches[node - w->shape.hosts];
	struct weft_route route;

	for (uint32_t i = 0; weft_topo_route(w->topo, node, i, &route); i++) {
		struct weft_hop hop = { .port = (uint16_t)route.port };

		if (route.kind != WEFT_ROUTE_END && route.kind != WEFT_ROUTE_USID)
			continue;
		hop.kind = route.kind == WEFT_ROUTE_END ? WEFT_HOP_UN : WEFT_HOP_PORT;
		REQUIRE(weft_switch_sid_add(
			sw, (uint16_t)(route.prefix[4] << 8 | route.prefix[5]), &hop));
	}
}

static inline void world_open_switch(struct world *w, uint32_t node)
{
	struct weft_node info = weft_topo_node(w->topo, node);
	struct weft_switch **sw = &w->switches[node - w->shape.hosts];
	struct weft_switch_config config = { .ports = info.ports,
		.sids = info.ports + 16,
		.mtu_bytes = 4252,
		.dscp = WEFT_DSCP_DEFAULT,
		.seed = node,
		.profiles = w->profiles,
		.n_profiles = 2,
		.pool = &w->pool };

	REQUIRE(weft_switch_init(sw, aligned_alloc(64, weft_switch_size(&config)), &config));
	for (uint32_t port = 0; port < info.ports; port++) {
		uint32_t index = weft_topo_port_link(w->topo, node, port);
		struct weft_link link = weft_topo_link(w->topo, index);

		REQUIRE(weft_switch_port_set(
			*sw, port, link.bps, link.node[0] < w->shape.hosts ? 1 : 0));
	}
	world_fill_table(w, node);
}

static inline void world_open_host(struct world *w, uint32_t host)
{
	struct weft_config config;
	struct host *h = &w->hosts[host];
	uint32_t rkey;

	weft_config_default(&config);
	config.qps = config.cqs = config.regions = config.pathsets = 16;
	config.sq_depth = config.rq_depth = 16;
	config.cq_depth = 64;
	config.ports = w->shape.planes;
	config.base_rtt_ns = w->shape.base_rtt_ns;
	config.seed = 100 + host;
	config.inflight_pkts = 4096;
	h->block = aligned_alloc(64, WEFT_ALIGN_UP(weft_endpoint_size(&config), (size_t)64));
	CHECK_EQ(weft_endpoint_init(&h->ep, h->block, &config), 0);
	CHECK_EQ(weft_region_add(h->ep, WORLD_VA, world_memory, WORLD_BYTES, 3,
			 WEFT_ACCESS_REMOTE_WRITE, 99, &rkey),
		0);
	h->wake_ps = WEFT_NEVER;
	w->qp_window_psns = config.window_psns;
}

static inline struct world *world_open(const char *text, enum weft_discipline discipline)
{
	struct world *w = calloc(1, sizeof(*w));
	char error[256];

	REQUIRE(w &&
		!weft_topo_open_text(&w->topo, text, strlen(text), "test", error, sizeof(error)));
	w->shape = *weft_topo_shape(w->topo);
	uint64_t bdp = w->shape.core_bps / 8 * w->shape.base_rtt_ns / 1000000000u;
	uint64_t link_bdp = w->shape.core_bps / 8 * 2 * w->shape.core_delay_ns / 1000000000u;

	w->now_ps = 1000000;
	weft_frame_pool_init(&w->pool, w->frames, WORLD_FRAMES);
	for (unsigned i = 0; i < 2; i++)
		weft_port_profile_fill(
			&w->profiles[i], discipline, i == 1, (uint32_t)bdp, (uint32_t)link_bdp);
	for (uint32_t i = 0; i < WORLD_EVENTS; i++)
		w->pkt_free[w->n_pkt_free++] = i;
	w->n_switches = w->shape.nodes - w->shape.hosts;
	for (uint32_t node = w->shape.hosts; node < w->shape.nodes; node++)
		w->ports_max = WEFT_MAX(w->ports_max, weft_topo_node(w->topo, node).ports);
	w->switches = calloc(w->n_switches, sizeof(*w->switches));
	w->pending = calloc((size_t)w->n_switches * w->ports_max, sizeof(bool));
	REQUIRE(w->shape.hosts <= WORLD_HOSTS && w->switches && w->pending);
	for (uint32_t node = w->shape.hosts; node < w->shape.nodes; node++)
		world_open_switch(w, node);
	for (uint32_t host = 0; host < w->shape.hosts; host++)
		world_open_host(w, host);
	return w;
}

static inline void world_close(struct world *w)
{
	for (uint32_t i = 0; i < w->n_switches; i++) {
		weft_switch_check(w->switches[i]);
		free(w->switches[i]);
	}
	for (uint32_t host = 0; host < w->shape.hosts; host++) {
		weft_check(w->hosts[host].ep);
		free(w->hosts[host].block);
	}
	free(w->switches);
	free(w->pending);
	free(w->down);
	weft_topo_close(w->topo);
	free(w);
}

static inline uint32_t world_open_paths(struct world *w, uint32_t src, uint32_t dst)
{
	uint32_t evs[256], set;
	uint8_t ports[256];
	size_t n = weft_topo_evs(w->topo, src, dst, 1, evs, WEFT_COUNT(evs));

	for (size_t i = 0; i < n; i++)
		ports[i] = (uint8_t)weft_ev_plane(evs[i]);
	struct weft_pathset_attr attr = {
		.peer = dst, .evs = evs, .ports = ports, .n = (uint32_t)n,
		.in_order = true
	};

	CHECK_EQ(weft_pathset_open(w->hosts[src].ep, &attr, &set), 0);
	return set;
}

/* One QP between two hosts; src sends `messages` messages of len_bytes from now on. */
static inline void world_send(struct world *w, uint32_t src, uint32_t dst, uint32_t len_bytes,
	uint32_t messages, bool trimming)
{
	uint32_t ends[2] = { src, dst }, sets[2];
	struct weft_qp *qps[2];
	struct weft_qp_info info[2];
	uint32_t rkey;

	for (int i = 0; i < 2; i++) {
		struct weft_qp_attr attr = { .pd = 3,
			.cc = &weft_cc_nscc,
			.cc_config = { .rate_bps = w->shape.host_bps * w->shape.planes,
				.mtu_bytes = weft_nominal_bytes(4096),
				.base_rtt_ns = w->shape.base_rtt_ns,
				.trimming = trimming } };

		sets[i] = world_open_paths(w, ends[i], ends[!i]);
		CHECK_EQ(weft_qp_open(w->hosts[ends[i]].ep, &attr, &qps[i]), 0);
		weft_qp_info(qps[i], &info[i]);
	}
	for (int i = 0; i < 2; i++) {
		struct weft_qp_attr attr = { .peer = ends[!i],
			.peer_qpn = info[!i].qpn,
			.pathset = sets[i],
			.mpr_rx_psns = w->qp_window_psns,
			.mpr_tx_psns = w->qp_window_psns,
			.wimm_rx = 16,
			.wimm_tx = 16,
			.trim_nack_rx = trimming,
			.timeout_exp = 8,
			.linear_count = 7,
			.retry_count = 25 };

		CHECK_EQ(weft_qp_move(qps[i], WEFT_QP_RTR, &attr, w->now_ps / 1000), 0);
		CHECK_EQ(weft_qp_move(qps[i], WEFT_QP_RTS, &attr, w->now_ps / 1000), 0);
	}
	CHECK_EQ(weft_region_add(w->hosts[dst].ep, WORLD_VA, world_memory, WORLD_BYTES, 3,
			 WEFT_ACCESS_REMOTE_WRITE, src, &rkey),
		0);
	w->hosts[src].qp = qps[0];
	for (uint32_t i = 0; i < messages; i++) {
		struct weft_work work = { .id = i,
			.remote_va = WORLD_VA,
			.len_bytes = len_bytes,
			.data = world_memory,
			.rkey = rkey };

		CHECK_EQ(weft_post_write(qps[0], &work), 0);
	}
	world_wake(w, src, w->now_ps);
}

#endif
