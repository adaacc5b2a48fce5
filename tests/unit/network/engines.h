/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ENGINES_H
#define ENGINES_H
/*
 * engines - an engine at each end of a network, in virtual time; frames are structs.
 *
 * A host holds no queue: its engine is asked for a packet when a line is free.  Nobody's payload
 * is ever touched.
 */
#include "check.h"

#include <weft/nic.h>
#include <weft/nic_mrc.h>
#include <weft/network.h>

enum { ENGINES_HOSTS = 64, ENGINES_PKTS = 1 << 16, ENGINES_BYTES = 1 << 27 };
#define ENGINES_VA 0x10000u

struct end {
	struct weft_endpoint *ep;
	struct weft_nic nic;
	uint64_t free_ps[WEFT_TOPO_PLANES_MAX];
	struct weft_qp *qp; /* to peer, when it sends */
	void *block;
	uint64_t wake_ps;
	uint64_t got_bytes;
	uint64_t from_bytes[ENGINES_HOSTS]; /* by sender */
	uint32_t done;                      /* messages */
	bool is_paused;                     /* some plane was, when it was asked last */
};

struct engines {
	struct weft_topo *topo;
	struct weft_topo_shape shape;
	struct weft_network *network;
	struct end ends[ENGINES_HOSTS];
	struct weft_pkt pkts[ENGINES_PKTS]; /* by handle */
	uint32_t pkt_free[ENGINES_PKTS], n_pkt_free;
	uint64_t now_ps;
	uint32_t window_psns;
};

static uint8_t engines_memory[ENGINES_BYTES];

/* Payload bytes per ns of a host whose lines carry full packets only, all planes together. */
static inline double engines_line_rate(const struct engines *w)
{
	return (double)w->shape.host_bps * w->shape.planes / 8e9 * 4096 / (4238 + 24);
}

static inline void engines_depart(struct engines *w, uint32_t host, const struct weft_pkt *pkt)
{
	REQUIRE(w->n_pkt_free);
	uint32_t index = w->pkt_free[--w->n_pkt_free], plane = pkt->port;
	uint16_t bytes = weft_frame_bytes(pkt, WEFT_ENCAP_SRV6_BYTES);
	struct weft_frame frame = { .handle = index };
	uint8_t addr[16];

	w->pkts[index] = *pkt;
	w->pkts[index].peer = host;
	REQUIRE(weft_topo_usid(w->topo, host, pkt->peer, pkt->ev, addr));
	weft_frame_of(&frame, pkt, bytes);
	frame.route = weft_frame_route(addr);
	REQUIRE(weft_network_send(
		w->network, host, plane, &frame, bytes - WEFT_FRAME_ETHER_BYTES, w->now_ps));
	w->ends[host].free_ps[plane] = weft_network_line_free_ps(w->network, host, plane);
}

/* The engine sends what it may, and says when it wants to be asked again. */
static inline void engines_emit(struct engines *w, uint32_t host)
{
	struct end *e = &w->ends[host];
	struct weft_done done;
	struct weft_pkt pkt;

	e->is_paused = false;
	for (uint32_t p = 0; p < w->shape.planes; p++) {
		e->free_ps[p] = weft_network_line_free_ps(w->network, host, p);
		e->is_paused |= e->free_ps[p] == WEFT_NEVER;
	}
	while (weft_nic_output(&e->nic, &pkt, w->now_ps))
		engines_depart(w, host, &pkt);
	while (weft_poll(e->ep, 0, &done, 1)) {
		CHECK_EQ(done.status, WEFT_OK);
		e->done++;
	}
	e->wake_ps = weft_nic_next_ps(&e->nic, w->now_ps);
}

static inline void engines_arrive(struct engines *w, const struct weft_network_out *out)
{
	uint32_t index = (uint32_t)out->frame.handle;
	struct weft_pkt *pkt = &w->pkts[index];
	struct weft_place place;

	w->pkt_free[w->n_pkt_free++] = index;
	if (out->drop)
		return;
	struct end *e = &w->ends[out->node];

	weft_frame_arrive(&out->frame, out->plane, pkt);
	weft_nic_input(&e->nic, pkt, w->now_ps, &place);
	e->got_bytes += place.len_bytes;
	e->from_bytes[pkt->peer] += place.len_bytes;
	e->wake_ps = w->now_ps;
}

/* Everything that happens next, at one moment; false: nothing up to until_ps. */
static inline bool engines_step(struct engines *w, uint64_t until_ps)
{
	uint64_t next_ps = weft_network_next_ps(w->network);
	struct weft_network_out outs[64];
	size_t n;

	for (uint32_t i = 0; i < w->shape.hosts; i++)
		next_ps = WEFT_MIN(next_ps, w->ends[i].wake_ps);
	if (next_ps > until_ps)
		return false;
	w->now_ps = WEFT_MAX(w->now_ps, next_ps);
	weft_network_run(w->network, w->now_ps);
	while ((n = weft_network_take(w->network, outs, WEFT_COUNT(outs))))
		for (size_t i = 0; i < n; i++)
			engines_arrive(w, &outs[i]);
	for (uint32_t i = 0; i < w->shape.hosts; i++)
		if (w->ends[i].wake_ps <= w->now_ps || w->ends[i].is_paused)
			engines_emit(w, i);
	return true;
}

static inline void engines_run(struct engines *w, uint64_t until_ns)
{
	while (engines_step(w, until_ns * 1000)) {
	}
	w->now_ps = WEFT_MAX(w->now_ps, until_ns * 1000);
}

/* ---- how it comes about ---- */

static inline void engines_open_end(struct engines *w, uint32_t host)
{
	struct weft_config config;
	struct end *e = &w->ends[host];
	uint32_t rkey;

	weft_config_default(&config);
	config.qps = config.cqs = config.regions = config.pathsets = 16;
	config.sq_depth = config.rq_depth = 16;
	config.cq_depth = 64;
	config.ports = w->shape.planes;
	config.base_rtt_ns = w->shape.base_rtt_ns;
	config.seed = 100 + host;
	config.inflight_pkts = 8192;
	e->block = aligned_alloc(64, WEFT_ALIGN_UP(weft_endpoint_size(&config), (size_t)64));
	CHECK_EQ(weft_endpoint_init(&e->ep, e->block, &config), 0);
	e->nic = (struct weft_nic){ .transport = &weft_transport_mrc,
		.state = e->ep,
		.free_ps = e->free_ps,
		.planes = w->shape.planes };
	CHECK_EQ(weft_region_add(e->ep, ENGINES_VA, engines_memory, ENGINES_BYTES, 3,
			 WEFT_ACCESS_REMOTE_WRITE, 99, &rkey),
		0);
	e->wake_ps = WEFT_NEVER;
	w->window_psns = config.window_psns;
}

static inline struct engines *engines_open(const char *text)
{
	struct engines *w = calloc(1, sizeof(*w));
	char error[256] = "";

	REQUIRE(w);
	if (weft_topo_open_text(&w->topo, text, strlen(text), "test", error, sizeof(error)))
		CHECK_STR(error, "");
	REQUIRE(w->topo);
	w->shape = *weft_topo_shape(w->topo);
	struct weft_network_config config = { .topo = w->topo, .frames = ENGINES_PKTS, .seed = 3 };

	REQUIRE(w->shape.hosts <= ENGINES_HOSTS);
	REQUIRE(!weft_network_open(&w->network, &config, error, sizeof(error)));
	w->now_ps = 1000000;
	for (uint32_t i = 0; i < ENGINES_PKTS; i++)
		w->pkt_free[w->n_pkt_free++] = i;
	for (uint32_t host = 0; host < w->shape.hosts; host++)
		engines_open_end(w, host);
	return w;
}

static inline void engines_close(struct engines *w)
{
	weft_network_check(w->network);
	weft_network_close(w->network);
	for (uint32_t host = 0; host < w->shape.hosts; host++) {
		weft_check(w->ends[host].ep);
		free(w->ends[host].block);
	}
	weft_topo_close(w->topo);
	free(w);
}

static inline uint32_t engines_open_paths(struct engines *w, uint32_t src, uint32_t dst)
{
	uint32_t evs[256], set;
	uint8_t ports[256];
	size_t n = weft_topo_evs(w->topo, src, dst, 1, evs, WEFT_COUNT(evs));

	for (size_t i = 0; i < n; i++)
		ports[i] = (uint8_t)weft_ev_plane(evs[i]);
	struct weft_pathset_attr attr = {
		.peer = dst, .evs = evs, .ports = ports, .n = (uint32_t)n
	};

	CHECK_EQ(weft_pathset_open(w->ends[src].ep, &attr, &set), 0);
	return set;
}

/* One QP between two hosts; src sends `messages` messages of len_bytes from now on. */
static inline void engines_send(
	struct engines *w, uint32_t src, uint32_t dst, uint32_t len_bytes, uint32_t messages)
{
	uint32_t ends[2] = { src, dst }, sets[2];
	bool trimming = w->shape.full == WEFT_FULL_TRIM;
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

		sets[i] = engines_open_paths(w, ends[i], ends[!i]);
		CHECK_EQ(weft_qp_open(w->ends[ends[i]].ep, &attr, &qps[i]), 0);
		weft_qp_info(qps[i], &info[i]);
	}
	for (int i = 0; i < 2; i++) {
		struct weft_qp_attr attr = { .peer = ends[!i],
			.peer_qpn = info[!i].qpn,
			.pathset = sets[i],
			.mpr_rx_psns = w->window_psns,
			.mpr_tx_psns = w->window_psns,
			.wimm_rx = 16,
			.wimm_tx = 16,
			.trim_nack_rx = trimming,
			.timeout_exp = 8,
			.linear_count = 7,
			.retry_count = 25 };

		CHECK_EQ(weft_qp_move(qps[i], WEFT_QP_RTR, &attr, w->now_ps / 1000), 0);
		CHECK_EQ(weft_qp_move(qps[i], WEFT_QP_RTS, &attr, w->now_ps / 1000), 0);
	}
	CHECK_EQ(weft_region_add(w->ends[dst].ep, ENGINES_VA, engines_memory, ENGINES_BYTES, 3,
			 WEFT_ACCESS_REMOTE_WRITE, src, &rkey),
		0);
	w->ends[src].qp = qps[0];
	for (uint32_t i = 0; i < messages; i++) {
		struct weft_work work = { .id = i,
			.remote_va = ENGINES_VA,
			.len_bytes = len_bytes,
			.data = engines_memory,
			.rkey = rkey };

		CHECK_EQ(weft_post_write(qps[0], &work), 0);
	}
	w->ends[src].wake_ps = w->now_ps;
}

#endif
