/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PAIR_H
#define PAIR_H
/*
 * pair - the world with one EXTENDED QP on each end, and words for what tests do with it.
 *
 * Memory as in the world: end 0's is random, end 1's is zero, each registered for everything.
 * Receives are PAIR_RECV_BYTES each, from PAIR_RECVS on, so that they do not meet what tests write.
 */
#include "world.h"

enum { PAIR_RECVS = 1 << 23, PAIR_RECV_BYTES = 1 << 16, PAIR_PATHS = 32 };

#define PAIR_SECOND UINT64_C(1000000000) /* ns */

static inline void pair_config(struct weft_config *config)
{
	world_config(config);
	config->extended_qps = 3;
	config->rd_atomic_max = 16;
	config->recvqs = 2;
	config->recvq_depth = 16;
	config->qps = 8;
}

/* What both ends agree on, to be changed between pair_attr() and pair_join(). */
static inline struct weft_qp_attr pair_attr(const struct world *w)
{
	return (struct weft_qp_attr){
		.pd = 3, .user = 42, .cc = &weft_cc_nscc, .kind = WEFT_QP_EXTENDED,
		.cc_config = { .rate_bps = w->rate_bps * w->config.ports,
			       .base_rtt_ns = w->config.base_rtt_ns },
		.peer = 7,
		.mpr_rx_psns = w->config.window_psns, .mpr_tx_psns = w->config.window_psns,
		.wimm_rx = 32, .wimm_tx = 32, .trim_nack_rx = true,
		.timeout_exp = 8, .linear_count = 2, .retry_count = 5,
		.rnr_timer = 12, .rnr_retry = 7, .rd_atomic_rx = 16, .rd_atomic_tx = 16,
	};
}

static inline void pair_open(struct world *w, const struct weft_qp_attr *attr)
{
	uint32_t evs[PAIR_PATHS];
	uint8_t ports[PAIR_PATHS];

	for (uint32_t i = 0; i < PAIR_PATHS; i++) {
		ports[i] = (uint8_t)(i % w->config.ports);
		evs[i] = (uint32_t)ports[i] << 11 | i / w->config.ports;
	}
	for (int i = 0; i < 2; i++) {
		struct weft_pathset_attr set = { .peer = 7, .evs = evs, .ports = ports,
						 .n = PAIR_PATHS };
		uint32_t all = WEFT_ACCESS_REMOTE_WRITE | WEFT_ACCESS_REMOTE_READ |
			       WEFT_ACCESS_REMOTE_ATOMIC;

		CHECK_EQ(weft_pathset_open(w->end[i], &set, &w->set[i]), 0);
		CHECK_EQ(weft_qp_open(w->end[i], attr, &w->qp[i]), 0);
		CHECK_EQ(weft_region_add(w->end[i], 0x10000, w->memory[i], WORLD_MEMORY, 3, all,
					 (uint32_t)weft_rng_u64(&w->rng), &w->rkey[!i]), 0);
	}
}

static inline void pair_join(struct world *w, const struct weft_qp_attr *both)
{
	for (int i = 0; i < 2; i++) {
		struct weft_qp_attr attr = *both;

		attr.peer_qpn = w->qp[!i]->qpn;
		attr.pathset = w->set[i];
		attr.psn_rx = i ? 0xffff00 : 0x000080;
		attr.psn_tx = i ? 0x000080 : 0xffff00;
		CHECK_EQ(weft_qp_move(w->qp[i], WEFT_QP_RTR, &attr, w->now), 0);
		CHECK_EQ(weft_qp_move(w->qp[i], WEFT_QP_RTS, &attr, w->now), 0);
	}
}

/* The usual beginning. */
static inline void pair_start(struct world *w)
{
	struct weft_config config;

	pair_config(&config);
	world_open(w, &config);
	struct weft_qp_attr attr = pair_attr(w);

	pair_open(w, &attr);
	pair_join(w, &attr);
}

static inline uint8_t *pair_recv_at(const struct world *w, int end, uint64_t id)
{
	return w->memory[end] + PAIR_RECVS + id % 64 * PAIR_RECV_BYTES;
}

static inline void pair_recv(struct world *w, int end, uint64_t id)
{
	struct weft_recv recv = { .id = id, .to = pair_recv_at(w, end, id),
				  .len_bytes = PAIR_RECV_BYTES };

	CHECK_EQ(weft_post_receive(w->qp[end], &recv), 0);
}

static inline struct weft_work pair_work(const struct world *w, int from, uint8_t kind,
					 uint64_t id, uint32_t offset, uint32_t len_bytes)
{
	return (struct weft_work){
		.id = id, .kind = kind, .remote_va = 0x10000 + offset, .rkey = w->rkey[from],
		.data = w->memory[from] + offset, .len_bytes = len_bytes,
		.to = w->memory[from] + offset,
	};
}

static inline void pair_send(struct world *w, int from, uint64_t id, uint32_t offset,
			     uint32_t len_bytes)
{
	struct weft_work work = pair_work(w, from, WEFT_WORK_SEND, id, offset, len_bytes);

	CHECK_EQ(weft_post(w->qp[from], &work), 0);
}

/* Drops one data packet in ten, whoever sends it. */
static inline bool pair_lossy(struct world *w, int from, struct weft_pkt *pkt)
{
	(void)from;
	return weft_op_is_data(pkt->op) && weft_rng_chance(&w->rng, 1, 10);
}

/* Both ends say that all is well. */
static inline void pair_end(struct world *w)
{
	weft_check(w->end[0]);
	weft_check(w->end[1]);
	world_close(w);
}

/* Waits for the next completion of an end: it must be this one. */
static inline void pair_expect(struct world *w, int end, uint64_t id, uint8_t kind,
	uint8_t status)
{
	struct weft_done done = { .id = UINT64_MAX };

	CHECK_EQ(world_wait(w, end, 1, PAIR_SECOND, &done), 1);
	CHECK_EQ(done.id, id);
	CHECK_EQ(done.kind, kind);
	if (done.status != status)
		CHECK_FAIL("%s instead of %s", weft_status_name(done.status),
			   weft_status_name(status));
}

#endif
