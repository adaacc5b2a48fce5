/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORLD_H
#define WORLD_H
/*
 * world - two endpoints and the planes between them, in virtual time, for the engine's tests.
 *
 *   end[0] ==port p: rate_bps, one queue==> path (delay, loss, death, marks) ==> end[1]
 *          <=====================================================================
 *
 * Deliberately small: a port serialises, a path delays by the same time for every packet (so a
 * path is FIFO), and faults are functions of the packet.  net/port/port_loop.c is the grown-up one.
 */
#include "check.h"
#include "engine_local.h"

#include <stdlib.h>

enum { WORLD_PORTS = 8, WORLD_FLIGHT = 1 << 14, WORLD_MEMORY = 1 << 24 };

struct flight {
	uint64_t at_ns;
	uint64_t order;
	struct weft_pkt pkt;
	uint8_t to;
};

struct world {
	struct weft_config config;
	struct weft_endpoint *end[2];
	void *block[2];
	struct weft_qp *qp[2];
	uint32_t set[2];
	uint32_t rkey[2];           /* of the peer's memory, as seen by end i */
	uint8_t *memory[2];
	uint64_t now;
	uint64_t port_free_ns[2][WORLD_PORTS];
	uint64_t rate_bps;          /* per port */
	uint64_t delay_ns;          /* one way */
	uint64_t skew_ns;           /* path ev adds ev % 4 of these */
	struct flight *flight;      /* heap by time */
	uint32_t flights;
	uint64_t orders;
	struct weft_rng rng;
	bool cut;                   /* ports are down when marked so; nothing else changes */
	/* faults: return true to drop; may change marks */
	bool (*fault)(struct world *w, int from, struct weft_pkt *pkt);
	uint64_t dropped, delivered_bytes, last_delivery_ns, longest_gap_ns;
	uint64_t digest;
	bool check;                 /* weft_check() after every call */
	uint32_t check_turn;
};

static inline bool flight_before(const struct flight *a, const struct flight *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static inline void world_fly(struct world *w, int to, const struct weft_pkt *pkt, uint64_t at_ns)
{
	uint32_t i = w->flights++;
	struct flight f = { .at_ns = at_ns, .order = w->orders++, .pkt = *pkt, .to = (uint8_t)to };

	REQUIRE(w->flights < WORLD_FLIGHT);
	while (i && flight_before(&f, &w->flight[(i - 1) / 2])) {
		w->flight[i] = w->flight[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	w->flight[i] = f;
}

static inline struct flight world_land(struct world *w)
{
	struct flight first = w->flight[0], last = w->flight[--w->flights];
	uint32_t i = 0;

	for (;;) {
		uint32_t c = 2 * i + 1;

		if (c >= w->flights)
			break;
		if (c + 1 < w->flights && flight_before(&w->flight[c + 1], &w->flight[c]))
			c++;
		if (!flight_before(&w->flight[c], &last))
			break;
		w->flight[i] = w->flight[c];
		i = c;
	}
	w->flight[i] = last;
	return first;
}

static inline uint32_t world_wire_bytes(const struct weft_pkt *pkt)
{
	return weft_op_is_data(pkt->op) ? pkt->w.len_bytes + 166u : 178u;
}

static inline void world_open(struct world *w, const struct weft_config *config)
{
	w->config = *config;
	w->rate_bps = w->rate_bps ? w->rate_bps : 100000000000;
	w->delay_ns = w->delay_ns ? w->delay_ns : 5500;
	w->now = 1000;
	w->flight = malloc(WORLD_FLIGHT * sizeof(*w->flight));
	weft_rng_seed(&w->rng, config->seed);
	for (int i = 0; i < 2; i++) {
		struct weft_config mine = *config;
		size_t size = weft_endpoint_size(config);

		mine.seed += (uint64_t)i;
		REQUIRE(size);
		w->block[i] = aligned_alloc(64, WEFT_ALIGN_UP(size, (size_t)64));
		CHECK_EQ(weft_endpoint_init(&w->end[i], w->block[i], &mine), 0);
		w->memory[i] = malloc(WORLD_MEMORY);
		for (uint32_t b = 0; b < WORLD_MEMORY; b += 8) {
			uint64_t r = i ? 0 : weft_rng_u64(&w->rng);

			memcpy(w->memory[i] + b, &r, 8);
		}
	}
}

static inline void world_close(struct world *w)
{
	for (int i = 0; i < 2; i++) {
		free(w->block[i]);
		free(w->memory[i]);
	}
	free(w->flight);
}

/* One QP on each end over n paths; both directions may send. */
static inline void world_connect(struct world *w, uint32_t paths, uint32_t active,
				 const struct weft_cc_ops *cc)
{
	uint32_t evs[512];
	uint8_t ports[512];

	for (uint32_t i = 0; i < paths; i++) {
		ports[i] = (uint8_t)(i % w->config.ports);
		evs[i] = (uint32_t)ports[i] << 11 | i / w->config.ports;
	}
	for (int i = 0; i < 2; i++) {
		struct weft_pathset_attr set = {
			.peer = 7, .evs = evs, .ports = ports, .n = paths, .active = active
		};
		struct weft_qp_attr attr = {
			.pd = 3, .user = 42, .cc = cc,
			.cc_config = { .rate_bps = w->rate_bps * w->config.ports,
				       .base_rtt_ns = w->config.base_rtt_ns },
		};

		CHECK_EQ(weft_pathset_open(w->end[i], &set, &w->set[i]), 0);
		CHECK_EQ(weft_qp_open(w->end[i], &attr, &w->qp[i]), 0);
		CHECK_EQ(weft_region_add(w->end[i], 0x10000, w->memory[i], WORLD_MEMORY, 3,
					 WEFT_ACCESS_REMOTE_WRITE,
					 (uint32_t)weft_rng_u64(&w->rng), &w->rkey[!i]), 0);
	}
	for (int i = 0; i < 2; i++) {
		struct weft_qp_info other;

		weft_qp_info(w->qp[!i], &other);
		struct weft_qp_attr attr = {
			.peer = 7, .peer_qpn = other.qpn, .pathset = w->set[i],
			.psn_rx = i ? 0xffff00 : 0x000080, .psn_tx = i ? 0x000080 : 0xffff00,
			.mpr_rx_psns = w->config.window_psns, .mpr_tx_psns = w->config.window_psns,
			.wimm_rx = WEFT_MIN(w->config.wimm_max, 128u),
			.wimm_tx = WEFT_MIN(w->config.wimm_max, 128u),
			.trim_nack_rx = true, .timeout_exp = 8, .linear_count = 2,
			.retry_count = 5,
		};
		CHECK_EQ(weft_qp_move(w->qp[i], WEFT_QP_RTR, &attr, w->now), 0);
		CHECK_EQ(weft_qp_move(w->qp[i], WEFT_QP_RTS, &attr, w->now), 0);
	}
}

static inline void world_verify(struct world *w)
{
	if (w->check && w->check_turn++ % 16 == 0) {
		weft_check(w->end[0]);
		weft_check(w->end[1]);
	}
}

static inline bool world_is_fifo_free(const struct world *w, int i, uint32_t port)
{
	return w->port_free_ns[i][port] <= w->now;
}

static inline bool world_emit(struct world *w, int i)
{
	bool any = false;

	for (;;) {
		struct weft_pkt pkt;
		uint32_t free_ports = 0;

		for (uint32_t p = 0; p < w->config.ports; p++)
			free_ports |= (uint32_t)world_is_fifo_free(w, i, p) << p;
		if (!weft_output(w->end[i], &pkt, 1, free_ports, w->now))
			return any;
		any = true;
		uint64_t ser_ns = world_wire_bytes(&pkt) * 8000000000ull / w->rate_bps;

		w->port_free_ns[i][pkt.port] = w->now + ser_ns;
		if (w->fault && w->fault(w, i, &pkt))
			w->dropped++;
		else
			world_fly(w, !i, &pkt,
				  w->now + ser_ns + w->delay_ns + (pkt.ev & 3) * w->skew_ns);
		world_verify(w);
	}
}

static inline void world_arrive(struct world *w)
{
	struct flight f = world_land(w);
	struct weft_place place;

	w->now = f.at_ns;
	f.pkt.peer = 7;
	weft_input(w->end[f.to], &f.pkt, 1, w->now, &place);
	if (place.len_bytes) {
		if (place.from) /* else: only sizes are of interest */
			memcpy(place.to, place.from, place.len_bytes);
		w->delivered_bytes += place.len_bytes;
		if (w->last_delivery_ns && w->now - w->last_delivery_ns > w->longest_gap_ns)
			w->longest_gap_ns = w->now - w->last_delivery_ns;
		w->last_delivery_ns = w->now;
	}
	w->digest = (w->digest ^ (w->now * 31 + f.pkt.psn + f.pkt.op + f.pkt.ev)) *
		    0x9e3779b97f4a7c15u;
	world_verify(w);
}

/* The next moment at which anything can happen; WEFT_NEVER: nothing will. */
static inline uint64_t world_next(const struct world *w)
{
	uint64_t at = w->flights ? w->flight[0].at_ns : WEFT_NEVER;

	for (int i = 0; i < 2; i++) {
		at = WEFT_MIN(at, WEFT_MAX(weft_next_timeout(w->end[i]), w->now));
		for (uint32_t p = 0; p < w->config.ports; p++)
			if (w->port_free_ns[i][p] > w->now)
				at = WEFT_MIN(at, w->port_free_ns[i][p]);
	}
	return at;
}

static inline void world_step(struct world *w)
{
	world_emit(w, 0);
	world_emit(w, 1);
	uint64_t at = world_next(w);

	if (at == WEFT_NEVER)
		return;
	if (w->flights && w->flight[0].at_ns <= at)
		world_arrive(w);
	else
		w->now = WEFT_MAX(at, w->now + (at == w->now));
}

static inline void world_run_until(struct world *w, uint64_t end_ns)
{
	while (w->now < end_ns) {
		world_emit(w, 0);
		world_emit(w, 1);
		if (world_next(w) > end_ns) {
			w->now = end_ns;
			return;
		}
		world_step(w);
	}
}

/* Runs until `n` completions have come out of CQ 0 of end i, or the time is over. */
static inline size_t world_wait(struct world *w, int i, size_t n, uint64_t limit_ns,
				struct weft_done *last)
{
	uint64_t end_ns = w->now + limit_ns;
	size_t seen = 0;

	for (;;) {
		while (seen < n && weft_poll(w->end[i], 0, last, 1) == 1)
			seen++;
		if (seen == n || w->now >= end_ns)
			return seen;
		world_step(w);
	}
}

static inline void world_write(struct world *w, int from, uint64_t id, uint64_t offset,
			       uint32_t len_bytes)
{
	struct weft_work work = {
		.id = id, .remote_va = 0x10000 + offset, .data = w->memory[from] + offset,
		.len_bytes = len_bytes, .rkey = w->rkey[from],
	};
	CHECK_EQ(weft_post_write(w->qp[from], &work), 0);
}

static inline void world_config(struct weft_config *config)
{
	weft_config_default(config);
	config->qps = 4;
	config->cqs = 4;
	config->regions = 4;
	config->pathsets = 4;
	config->sq_depth = 64;
	config->rq_depth = 64;
}

#endif
