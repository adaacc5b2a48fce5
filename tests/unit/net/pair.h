/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TEST_PAIR_H
#define TEST_PAIR_H
/*
 * pair - two endpoints on a loop, one connection between them, ready to send both ways.
 *
 *   struct pair pair; struct pair_config config = pair_default();
 *   pair_open(&pair, &config, bytes); pair_write(...); pair_run(&pair, n_done, limit_ns);
 *   pair_close(&pair);
 */
#include "check.h"

#include <weft/loop.h>

struct pair_config {
	struct weft_loop_config loop;
	struct weft_config engine;
	struct weft_cc_config cc_config;
	const struct weft_cc_ops *cc;
	uint32_t qps;
	uint8_t timeout_exp;
	uint8_t kind; /* enum weft_qp_kind */
	void (*scatter)(void *arg, const struct weft_place *place);
};

struct pair_end {
	void *block;
	struct weft_endpoint *ep;
	struct weft_pump *pump;
	struct weft_qp *qp[64];
	uint32_t qpn[64], set, rkey;
	uint8_t *memory;
	size_t memory_bytes;
	uint64_t writes_done, imms_done;
	struct weft_done last;
};

struct pair {
	struct pair_config config;
	struct weft_loop *loop;
	struct pair_end end[2];
};

/* 8 planes of 100 Gb/s, 32 uplinks each, round trip of about 12 us. */
static inline struct pair_config pair_default(void)
{
	struct pair_config c = { .cc = &weft_cc_nscc, .qps = 1, .timeout_exp = 8 };

	c.loop = (struct weft_loop_config){ .nodes = 2,
		.planes = 8,
		.uplinks = 32,
		.rate_bps = UINT64_C(100000000000),
		.delay_ns = 5000,
		.seed = 1 };
	weft_config_default(&c.engine);
	c.engine.base_rtt_ns = 12000;
	c.engine.seed = 1;
	c.cc_config = (struct weft_cc_config){ .rate_bps = UINT64_C(800000000000),
		.mtu_bytes = weft_nominal_bytes(4096),
		.base_rtt_ns = 12000 };
	return c;
}

static inline void pair_open_end(struct pair *pair, unsigned which, size_t memory_bytes)
{
	struct pair_end *end = &pair->end[which];
	const struct pair_config *c = &pair->config;
	struct weft_config engine = c->engine;
	uint32_t evs[512], planes = c->loop.planes;
	uint8_t ports[512];
	uint32_t n = 0;

	engine.seed += which;
	engine.ports = planes;
	end->block = aligned_alloc(64, WEFT_ALIGN_UP(weft_endpoint_size(&engine), (size_t)64));
	REQUIRE(end->block && !weft_endpoint_init(&end->ep, end->block, &engine));
	struct weft_pump_config pump = { .ep = end->ep,
		.port = weft_loop_port(pair->loop, which),
		.clock = weft_loop_clock,
		.clock_arg = pair->loop,
		.scatter = c->scatter,
		.scatter_arg = end };

	REQUIRE(!weft_pump_open(&end->pump, &pump));
	weft_loop_attach(pair->loop, which, end->pump, end->ep);
	for (uint32_t i = 0; i < planes * c->loop.uplinks && n < 512; i++, n++) {
		evs[i] = i % planes << 16 | i / planes;
		ports[i] = (uint8_t)(i % planes);
	}
	n = WEFT_MIN(n, engine.paths_per_set);
	struct weft_pathset_attr set = { .peer = !which, .evs = evs, .ports = ports, .n = n };

	REQUIRE(!weft_pathset_open(end->ep, &set, &end->set));
	end->memory_bytes = memory_bytes;
	end->memory = malloc(memory_bytes);
	REQUIRE(end->memory);
	REQUIRE(!weft_region_add(end->ep, 0x10000, end->memory, memory_bytes, 0,
		WEFT_ACCESS_REMOTE_WRITE, 0x1234, &end->rkey));
}

static inline void pair_connect(struct pair *pair)
{
	const struct pair_config *c = &pair->config;

	for (uint32_t i = 0; i < c->qps; i++) {
		struct weft_qp_attr attr = {
			.cc = c->cc,
			.kind = c->kind,
			.cc_config = c->cc_config,
			.user = i,
			.psn_rx = 0xfffff0,
			.psn_tx = 0xfffff0,
			.mpr_rx_psns = c->engine.window_psns,
			.mpr_tx_psns = c->engine.window_psns,
			.wimm_rx = c->engine.wimm_max,
			.wimm_tx = c->engine.wimm_max,
			.trim_nack_rx = c->loop.trim,
			.timeout_exp = c->timeout_exp,
			.linear_count = 7,
			.retry_count = 8,
		};

		for (unsigned which = 0; which < 2; which++) {
			struct weft_qp_info info;

			REQUIRE(!weft_qp_open(pair->end[which].ep, &attr, &pair->end[which].qp[i]));
			weft_qp_info(pair->end[which].qp[i], &info);
			pair->end[which].qpn[i] = info.qpn;
		}
		for (unsigned which = 0; which < 2; which++) {
			attr.peer = !which;
			attr.peer_qpn = pair->end[!which].qpn[i];
			attr.pathset = pair->end[which].set;
			REQUIRE(!weft_qp_move(pair->end[which].qp[i], WEFT_QP_RTR, &attr, 1));
			REQUIRE(!weft_qp_move(pair->end[which].qp[i], WEFT_QP_RTS, &attr, 1));
		}
	}
}

static inline void pair_open(
	struct pair *pair, const struct pair_config *config, size_t memory_bytes)
{
	*pair = (struct pair){ .config = *config };
	pair->loop = weft_loop_open(&config->loop);
	REQUIRE(pair->loop);
	pair_open_end(pair, 0, memory_bytes);
	pair_open_end(pair, 1, memory_bytes);
	pair_connect(pair);
}

/* Writes memory[from .. from + len) of one end to the same place of the other. */
static inline void pair_write(
	struct pair *pair, unsigned which, uint32_t qp, size_t from, uint32_t len, bool has_imm)
{
	struct pair_end *end = &pair->end[which];
	struct weft_work work = { .id = from,
		.remote_va = 0x10000 + from,
		.data = end->memory + from,
		.len_bytes = len,
		.rkey = pair->end[!which].rkey,
		.has_imm = has_imm,
		.imm = (uint32_t)from };

	REQUIRE(!weft_post_write(end->qp[qp], &work));
	weft_loop_kick(pair->loop, which);
}

static inline void pair_poll(struct pair *pair)
{
	for (unsigned which = 0; which < 2; which++) {
		struct weft_done done[16];
		size_t n;

		while ((n = weft_poll(pair->end[which].ep, 0, done, 16))) {
			for (size_t i = 0; i < n; i++) {
				if (done[i].kind == WEFT_DONE_WRITE)
					pair->end[which].writes_done++;
				else
					pair->end[which].imms_done++;
				pair->end[which].last = done[i];
			}
		}
	}
}

/* Until end 0 has n writes done, or the virtual time is over; returns the virtual time. */
static inline uint64_t pair_run(struct pair *pair, uint64_t n, uint64_t limit_ns)
{
	while (pair->end[0].writes_done < n && weft_loop_now(pair->loop) < limit_ns) {
		weft_loop_step(pair->loop, limit_ns);
		pair_poll(pair);
	}
	return weft_loop_now(pair->loop);
}

static inline void pair_close(struct pair *pair)
{
	for (unsigned which = 0; which < 2; which++) {
		weft_check(pair->end[which].ep);
		weft_pump_close(pair->end[which].pump);
		free(pair->end[which].block);
		free(pair->end[which].memory);
	}
	weft_loop_close(pair->loop);
}

#endif
