/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef EXTENDED_OPS_H
#define EXTENDED_OPS_H
/*
 * extended_ops - what the target of that name plays with: two endpoints, what their applications
 * have posted, what is on its way between them; and how all that begins.
 */
#include "engine_local.h"

#include <stdlib.h>

enum {
	CONNS = 2, PORTS = 2, PATHS = 4, JOBS = 64, BUFFERS = 64, MSG_MAX = 2048,
	TARGET_BYTES = JOBS * MSG_MAX, SOURCE_BYTES = 1 << 16, FLIGHTS = 96, SHARED = CONNS,
	XRC = CONNS + 1, QUEUES = 2, XRC_DOMAIN = 9,
};
#define VA UINT64_C(0x40000)
#define SHARED_ID (UINT64_C(1) << 32)
#define XRC_ID(queue) (UINT64_C(2) << 32 | (uint64_t)(queue) << 16)

struct job {
	uint8_t kind, queue; /* queue: of XRC */
	bool silent, has_imm;
	uint32_t len_bytes, from, to;
	uint64_t before; /* atomics: what must have been there */
};

struct area { /* all that packets for one QP may touch */
	uint64_t counter, results[JOBS];
	uint8_t target[TARGET_BYTES];
	uint8_t dest[JOBS][MSG_MAX];
	uint8_t recv[BUFFERS][MSG_MAX];
};

struct half {
	struct weft_qp *qp;
	uint64_t tenant, model; /* model: of the peer's counter */
	uint32_t key, source_key;
	uint32_t posted, completed, heard; /* heard: of the peer's jobs, looked at for receives */
	uint32_t recvs, recvs_done;
	struct job jobs[JOBS];
};

struct flight {
	struct weft_pkt pkt;
	uint8_t to;
};

struct ops {
	const uint8_t *at, *end;
	uint64_t now, tenants, start_ns, longest_ns;
	struct weft_config config;
	struct weft_endpoint *ep[2];
	uint32_t set[2], recvq, shared_posted, shared_done;
	/* A stalled message holds its buffer while others come round to it: then both write. */
	uint8_t shared_users[BUFFERS];
	bool shared_mixed[BUFFERS];
	struct half half[XRC + 1][2]; /* of XRC: end 0 sends, end 1 receives; none is SHARED */
	uint32_t xrc_queue[QUEUES], srqn[QUEUES], xrc_posted[QUEUES], xrc_done[QUEUES];
	bool xrc_is_honest;
	uint32_t window; /* of end 1 onto what the second connection may touch; 0: none */
	struct weft_qp *dgram[2];
	struct flight flight[FLIGHTS], old[8];
	uint32_t flights, olds;
	uint8_t drop, dup, trim, change, disorder;
	bool healed;
};

extern uint64_t ops_calls;
static struct area area[2][XRC + 1]; /* SHARED: its receives, and datagrams */
static uint8_t source[2][SOURCE_BYTES];

static uint32_t byte(struct ops *o)
{
	return o->at < o->end ? *o->at++ : 0;
}

static uint32_t below(struct ops *o, uint32_t n)
{
	return (byte(o) << 8 | byte(o)) % n;
}

static bool chance(struct ops *o, uint32_t of_256)
{
	return byte(o) < of_256;
}

static void called(struct ops *o, int end)
{
	ops_calls++;
	weft_check(o->ep[end]);
}

/* ---- opening ---- */

static void open_conn(struct ops *o, uint32_t c)
{
	struct weft_qp_attr attr = {
		.cq_tx = c, .cq_rx = c, .pd = c, .kind = WEFT_QP_EXTENDED,
		.cc = chance(o, 128) ? &weft_cc_nscc : &weft_cc_fixed,
		.cc_config = { .rate_bps = 100000000000, .max_cwnd_bytes = 4096u << below(o, 6) },
		.mpr_rx_psns = o->config.window_psns, .mpr_tx_psns = o->config.window_psns,
		.trim_nack_rx = chance(o, 128), .timeout_exp = (uint8_t)(2 + below(o, 6)),
		.retry_count = c ? (uint8_t)below(o, 4) : 25,
		.rnr_timer = (uint8_t)(1 + below(o, 8)),
		.rnr_retry = c ? (uint8_t)below(o, 8) : WEFT_RNR_FOR_EVER,
		.wimm_rx = 4, .wimm_tx = 4, .rd_atomic_rx = 2, .rd_atomic_tx = 1 + below(o, 2),
	};
	uint32_t psn[2] = { WEFT_PSN_MASK - byte(o), below(o, 65536) };
	uint32_t all = WEFT_ACCESS_REMOTE_WRITE | WEFT_ACCESS_REMOTE_READ |
		       WEFT_ACCESS_REMOTE_ATOMIC;

	for (int e = 0; e < 2; e++) {
		struct half *h = &o->half[c][e];

		attr.recvq = e ? o->recvq : WEFT_NO_RECVQ;
		*h = (struct half){ .tenant = ++o->tenants };
		attr.user = h->tenant;
		area[e][c].counter = 0;
		WEFT_ASSERT(!weft_qp_open(o->ep[e], &attr, &h->qp));
		WEFT_ASSERT(!weft_region_add(o->ep[e], VA, &area[e][c].counter,
					     sizeof(struct area), c, all, byte(o) << 24, &h->key));
		WEFT_ASSERT(!weft_region_add(o->ep[e], VA, source[e], SOURCE_BYTES, c,
					     WEFT_ACCESS_REMOTE_READ, byte(o) << 24,
					     &h->source_key));
	}
	for (int e = 0; e < 2; e++) {
		attr.peer = (uint32_t)!e;
		attr.peer_qpn = o->half[c][!e].qp->qpn;
		attr.pathset = o->set[e];
		attr.psn_tx = psn[e];
		attr.psn_rx = psn[!e];
		WEFT_ASSERT(!weft_qp_move(o->half[c][e].qp, WEFT_QP_RTR, &attr, o->now));
		WEFT_ASSERT(!weft_qp_move(o->half[c][e].qp, WEFT_QP_RTS, &attr, o->now));
		called(o, e);
	}
}

static void close_conn(struct ops *o, uint32_t c)
{
	for (int e = 0; e < 2; e++) {
		weft_qp_close(o->half[c][e].qp);
		weft_region_drop(o->ep[e], o->half[c][e].key);
		weft_region_drop(o->ep[e], o->half[c][e].source_key);
		called(o, e);
	}
}

/* One way, from end 0 to whichever of end 1's two queues a message names. */
static void open_xrc(struct ops *o)
{
	struct weft_qp_attr attr = {
		.cq_tx = XRC, .cq_rx = XRC, .pd = XRC, .xrcd = XRC_DOMAIN, .cc = &weft_cc_nscc,
		.cc_config = { .rate_bps = 100000000000, .max_cwnd_bytes = 4096u << below(o, 6) },
		.mpr_rx_psns = o->config.window_psns, .mpr_tx_psns = o->config.window_psns,
		.trim_nack_rx = chance(o, 128), .timeout_exp = (uint8_t)(2 + below(o, 6)),
		.retry_count = 25, .rnr_timer = (uint8_t)(1 + below(o, 8)),
		.rnr_retry = WEFT_RNR_FOR_EVER, .wimm_rx = 4, .wimm_tx = 4,
		.rd_atomic_rx = 2, .rd_atomic_tx = 2,
	};

	o->xrc_is_honest = chance(o, 128);
	for (int e = 0; e < 2; e++) {
		struct half *h = &o->half[XRC][e];

		attr.kind = e ? WEFT_QP_XRC_RECV : WEFT_QP_XRC_SEND;
		h->tenant = attr.user = ++o->tenants;
		area[e][XRC].counter = 0;
		WEFT_ASSERT(!weft_qp_open(o->ep[e], &attr, &h->qp));
	}
	for (uint32_t q = 0; q < QUEUES; q++) {
		WEFT_ASSERT(!weft_recvq_open(o->ep[1], &o->xrc_queue[q]));
		WEFT_ASSERT(!weft_recvq_share(o->ep[1], o->xrc_queue[q], XRC_DOMAIN, XRC,
					      &o->srqn[q]));
	}
	WEFT_ASSERT(!weft_region_add(o->ep[1], VA, &area[1][XRC].counter, sizeof(struct area), XRC,
				     7, byte(o) << 24, &o->half[XRC][1].key));
	WEFT_ASSERT(!weft_region_add(o->ep[1], VA, source[1], SOURCE_BYTES, XRC,
				     WEFT_ACCESS_REMOTE_READ, byte(o) << 24,
				     &o->half[XRC][1].source_key));
	for (int e = 0; e < 2; e++) {
		attr.peer = (uint32_t)!e;
		attr.peer_qpn = o->half[XRC][!e].qp->qpn;
		attr.pathset = o->set[e];
		attr.psn_tx = attr.psn_rx = 0xfffff0;
		WEFT_ASSERT(!weft_qp_move(o->half[XRC][e].qp, WEFT_QP_RTR, &attr, o->now));
		WEFT_ASSERT(!weft_qp_move(o->half[XRC][e].qp, WEFT_QP_RTS, &attr, o->now));
		called(o, e);
	}
}

/* End 0 has no receives: what is sent to it ends the connection in time. */
static void open_datagrams(struct ops *o)
{
	struct weft_qp_attr attr = {
		.cq_tx = SHARED, .cq_rx = SHARED, .pd = 0, .kind = WEFT_QP_DATAGRAM,
		.cc = &weft_cc_fixed, .cc_config = { .rate_bps = 1 },
		.mpr_rx_psns = o->config.window_psns, .mpr_tx_psns = o->config.window_psns,
		.timeout_exp = 4, .retry_count = 3, .rnr_timer = 1, .rnr_retry = 3,
		.wimm_rx = 4, .wimm_tx = 4,
	};

	for (int e = 0; e < 2; e++) {
		attr.recvq = e ? o->recvq : WEFT_NO_RECVQ;
		WEFT_ASSERT(!weft_qp_open(o->ep[e], &attr, &o->dgram[e]));
	}
	for (int e = 0; e < 2; e++) {
		attr.peer = (uint32_t)!e;
		attr.peer_qpn = o->dgram[!e]->qpn;
		attr.pathset = o->set[e];
		WEFT_ASSERT(!weft_qp_move(o->dgram[e], WEFT_QP_RTR, &attr, o->now));
		WEFT_ASSERT(!weft_qp_move(o->dgram[e], WEFT_QP_RTS, &attr, o->now));
		called(o, e);
	}
}

static void choose(struct ops *o)
{
	static const uint32_t mtus[] = { 64, 256, 1024, 512 };

	weft_config_default(&o->config);
	o->config.qps = 8;
	o->config.cqs = XRC + 1;
	o->config.regions = 8;
	o->config.pathsets = 1;
	o->config.paths_per_set = PATHS;
	o->config.ports = PORTS;
	o->config.sq_depth = 16;
	o->config.rq_depth = 8;
	o->config.cq_depth = 256;
	o->config.window_psns = 128;
	o->config.inflight_pkts = chance(o, 64) ? 1 : 512;
	o->config.wimm_max = 8;
	o->config.answers = chance(o, 64) ? 16 : 128;
	o->config.events = 16;
	o->config.mtu_bytes = mtus[below(o, 4)];
	o->config.sack_bytes = 1024u << below(o, 4);
	o->config.extended_qps = CONNS + 2;
	o->config.rd_atomic_max = 2;
	o->config.recvqs = 1 + QUEUES;
	o->config.recvq_depth = 16;
	o->drop = (uint8_t)(byte(o) / 6);
	o->dup = (uint8_t)(byte(o) / 8);
	o->trim = (uint8_t)(byte(o) / 8);
	o->change = (uint8_t)(byte(o) / 4);
	o->disorder = (uint8_t)byte(o);
}

static void start(struct ops *o)
{
	static void *block[2];
	static const uint32_t evs[PATHS] = { 1, 2, 3, 4 };
	static const uint8_t ports[PATHS] = { 0, 1, 0, 1 };

	choose(o);
	for (int e = 0; e < 2; e++) {
		struct weft_pathset_attr set = { .peer = (uint32_t)!e, .evs = evs, .ports = ports,
						 .n = PATHS };

		o->config.seed = 3 + (uint64_t)e;
		free(block[e]);
		block[e] = aligned_alloc(64, weft_endpoint_size(&o->config));
		WEFT_ASSERT(!weft_endpoint_init(&o->ep[e], block[e], &o->config));
		WEFT_ASSERT(!weft_pathset_open(o->ep[e], &set, &o->set[e]));
	}
	WEFT_ASSERT(!weft_recvq_open(o->ep[1], &o->recvq));
	for (uint32_t c = 0; c < CONNS; c++)
		open_conn(o, c);
	open_xrc(o);
	open_datagrams(o);
}

#endif
