/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPS_H
#define OPS_H
/*
 * ops - three endpoints, four connections, a network that does what it likes, and an oracle.
 *
 *   bytes -> decisions -> calls on the engine -> weft_check() of the endpoint that was called
 *                                            \-> the oracle below
 *
 * The oracle knows what the application is owed: bytes land only in the region of their own
 * connection; a write that completes well has all its bytes in place, and no late copy spoils
 * them; completions come once, in order, none missing; immediates arrive in posting order with
 * everything before them.
 *
 * A connection is strict or not.  Packets with changed fields never reach a strict one (they may
 * hit its endpoint, its neighbours, its path set), so whatever is forged elsewhere must leave it
 * whole: all it ever does is succeed, unless its own application asked for trouble (excused).
 * The others may be lied to; for them bounds, order and an end in bounded time are what remains.
 */
#include "engine_local.h"

#include <stdlib.h>

enum {
	ENDS = 3, CONNS = 4, PORTS = 4, PATHS = 12, WORKS = 64, FLIGHTS = 128,
	REGION_BYTES = 1 << 18, SOURCE_BYTES = 1 << 17, WORK_BYTES_MAX = 4096,
};

#define OPS_VA UINT64_C(0x100000) /* of every region */

struct bytes {
	const uint8_t *at, *end;
};

struct work {
	uint32_t len_bytes, from, to;
	bool has_imm, silent;
};

struct half { /* one end of a connection */
	struct weft_qp *qp;      /* NULL: closed */
	uint64_t tenant;         /* completions of a former one are not ours */
	uint32_t rkey;           /* of our region */
	bool has_region, failed;
	struct work works[WORKS]; /* ring by id */
	uint32_t posted, completed, cursor; /* cursor: next byte of the peer's region to use */
	uint32_t imms, imms_heard; /* sent by us; of the peer's, heard by us */
	uint32_t next_imm;         /* id of the peer's work to look at next for one */
	uint32_t recvs, recvs_done;
};

struct conn {
	struct half half[2];
	uint8_t end[2];
	bool strict, excused;
	struct weft_qp_attr attr; /* what both ends agreed on */
	uint32_t psn[2];          /* first PSN of each end */
};

struct flight {
	struct weft_pkt pkt;
	uint8_t to;
};

struct ops {
	struct bytes in;
	uint64_t now, longest_ns, tenants; /* longest: jump of the clock */
	struct weft_config config;
	struct weft_endpoint *end[ENDS];
	uint32_t set[ENDS][ENDS];  /* of an end, towards another */
	struct conn conn[CONNS];
	struct flight flight[FLIGHTS], old[16];
	uint32_t flights, olds;
	uint8_t drop, dup, mark, trim, change, disorder; /* out of 256 */
	uint32_t dead[ENDS];       /* ports whose cable is cut without a word */
	bool healed;
};

extern uint64_t ops_calls; /* on the engine, in all runs */
extern uint8_t ops_region[CONNS][2][REGION_BYTES];
extern uint8_t ops_source[ENDS][SOURCE_BYTES];

static inline uint32_t ops_byte(struct ops *o)
{
	return o->in.at < o->in.end ? *o->in.at++ : 0;
}

static inline bool ops_over(const struct ops *o)
{
	return o->in.at >= o->in.end;
}

static inline uint64_t ops_number(struct ops *o, unsigned n_bytes)
{
	uint64_t n = 0;

	while (n_bytes--)
		n = n << 8 | ops_byte(o);
	return n;
}

static inline uint32_t ops_below(struct ops *o, uint32_t n)
{
	return (uint32_t)ops_number(o, n <= 256 ? 1 : n <= 65536 ? 2 : 4) % n;
}

static inline bool ops_chance(struct ops *o, uint32_t of_256)
{
	return ops_byte(o) < of_256;
}

/* Every call on the engine ends here. */
static inline void ops_called(struct ops *o, uint32_t end)
{
	ops_calls++;
	weft_check(o->end[end]);
}

/* ---- setting up ---- */

static const uint8_t conn_ends[CONNS][2] = { { 0, 1 }, { 1, 0 }, { 0, 2 }, { 2, 1 } };

static inline void ops_choose_config(struct ops *o)
{
	static const uint32_t mtus[] = { 64, 256, 1024, 4096 };

	weft_config_default(&o->config);
	o->config.qps = CONNS;
	o->config.cqs = CONNS;
	o->config.regions = CONNS;
	o->config.pathsets = 2;
	o->config.paths_per_set = PATHS;
	o->config.ports = PORTS;
	o->config.sq_depth = 16;
	o->config.rq_depth = 16;
	o->config.cq_depth = ops_chance(o, 16) ? 16 : 128;
	o->config.window_psns = ops_chance(o, 128) ? 128 : 256;
	o->config.inflight_pkts = ops_chance(o, 64) ? 1 : 512;
	o->config.wimm_max = 8;
	o->config.answers = ops_chance(o, 64) ? 16 : 128;
	o->config.events = 16;
	o->config.mtu_bytes = mtus[ops_below(o, 4)];
	o->config.sack_bytes = 1024u << ops_below(o, 5);
	o->config.reverse_probe_ns = ops_chance(o, 64) ? 0 : 100000;
	o->config.proof_answers = 1 + ops_below(o, 4);
	o->drop = (uint8_t)(ops_byte(o) / 8);
	o->mark = (uint8_t)(ops_byte(o) / 4);
	o->trim = (uint8_t)(ops_byte(o) / 8);
	o->disorder = (uint8_t)ops_byte(o);
	o->dup = (uint8_t)(ops_byte(o) / 8);
	o->change = ops_chance(o, 128) ? 0 : (uint8_t)(ops_byte(o) / 4);
}

static inline void ops_open_set(struct ops *o, uint32_t from, uint32_t to)
{
	uint32_t evs[PATHS], n = 1 + ops_below(o, PATHS);
	uint8_t ports[PATHS];

	for (uint32_t i = 0; i < n; i++) {
		ports[i] = (uint8_t)(i % PORTS);
		evs[i] = (uint32_t)ports[i] << 16 | i;
	}
	struct weft_pathset_attr attr = {
		.peer = to, .evs = evs, .ports = ports, .n = n, .active = ops_below(o, n + 1),
		.active_min = ops_chance(o, 64),
	};

	WEFT_ASSERT(!weft_pathset_open(o->end[from], &attr, &o->set[from][to]));
	ops_called(o, from);
}

static inline void ops_start(struct ops *o)
{
	static uint8_t *blocks[ENDS];
	static size_t sizes[ENDS];

	ops_choose_config(o);
	for (uint32_t e = 0; e < ENDS; e++) {
		size_t size = weft_endpoint_size(&o->config);

		if (sizes[e] < size) {
			free(blocks[e]);
			blocks[e] = aligned_alloc(64, size);
			sizes[e] = size;
		}
		o->config.seed = 7 + e;
		WEFT_ASSERT(!weft_endpoint_init(&o->end[e], blocks[e], &o->config));
		ops_called(o, e);
	}
	for (uint32_t e = 0; e < ENDS; e++)
		for (uint32_t p = 0; p < ENDS; p++)
			if (e != p)
				ops_open_set(o, e, p);
	for (uint32_t c = 0; c < CONNS; c++)
		memcpy(o->conn[c].end, conn_ends[c], 2);
}

/* ---- the oracle ---- */

static inline struct conn *ops_conn_of(struct ops *o, uint32_t end, const struct weft_qp *qp,
				       int *side)
{
	for (uint32_t c = 0; c < CONNS; c++)
		for (*side = 0; *side < 2; ++*side)
			if (o->conn[c].end[*side] == end && o->conn[c].half[*side].qp == qp)
				return &o->conn[c];
	return NULL;
}

static inline void ops_verify(struct ops *o, struct conn *c, int sender, uint32_t id)
{
	const struct half *h = &c->half[sender];
	const struct work *work = &h->works[id % WORKS];
	const uint8_t *to = ops_region[c - o->conn][!sender] + work->to;

	if (!c->strict || id + WORKS < h->posted)
		return;
	WEFT_ASSERT(!memcmp(to, ops_source[c->end[sender]] + work->from, work->len_bytes));
}

static inline void ops_write_done(struct ops *o, struct conn *c, int side,
				  const struct weft_done *done)
{
	struct half *h = &c->half[side];

	for (; h->completed < done->id && h->works[h->completed % WORKS].silent; h->completed++) {
		WEFT_ASSERT(!h->failed);
		ops_verify(o, c, side, h->completed);
	}
	WEFT_ASSERT(done->id == h->completed && h->completed < h->posted);
	WEFT_ASSERT(done->len_bytes == h->works[done->id % WORKS].len_bytes);
	if (done->status == WEFT_OK) {
		WEFT_ASSERT(!h->failed);
		ops_verify(o, c, side, h->completed);
	} else {
		WEFT_ASSERT(!h->failed || done->status == WEFT_FLUSHED);
		WEFT_ASSERT(!c->strict || c->excused);
		h->failed = true;
	}
	h->completed++;
}

static inline void ops_imm_done(struct ops *o, struct conn *c, int side,
				const struct weft_done *done)
{
	struct half *h = &c->half[side];
	const struct half *peer = &c->half[!side];

	WEFT_ASSERT(done->id == h->recvs_done && h->recvs_done < h->recvs);
	h->recvs_done++;
	if (done->status != WEFT_OK) {
		WEFT_ASSERT(done->status == WEFT_FLUSHED && (!c->strict || c->excused));
		return;
	}
	if (!c->strict || !peer->qp)
		return;
	while (h->next_imm < peer->posted && !peer->works[h->next_imm % WORKS].has_imm)
		ops_verify(o, c, !side, h->next_imm++);
	WEFT_ASSERT(h->next_imm < peer->posted && done->imm == h->next_imm);
	WEFT_ASSERT(done->len_bytes == peer->works[h->next_imm % WORKS].len_bytes);
	ops_verify(o, c, !side, h->next_imm++);
	h->imms_heard++;
}

static inline size_t ops_poll(struct ops *o, uint32_t end, uint32_t max)
{
	struct weft_done done[16];
	size_t total = 0;

	for (uint32_t cq = 0; cq < CONNS; cq++) {
		struct conn *c = &o->conn[cq];
		size_t n = weft_poll(o->end[end], cq, done, WEFT_MIN(max, 16u));

		ops_called(o, end);
		for (size_t i = 0; i < n; i++) {
			int side = c->end[1] == end;
			struct half *h = &c->half[side];

			WEFT_ASSERT(done[i].status <= WEFT_CQ_OVERRUN);
			if (!h->qp || done[i].user != h->tenant)
				continue; /* of a tenant that has been closed */
			if (done[i].kind == WEFT_DONE_WRITE)
				ops_write_done(o, c, side, &done[i]);
			else
				ops_imm_done(o, c, side, &done[i]);
		}
		total += n;
	}
	return total;
}

/* What an honest sender promises: never beyond the window that it was told of. */
static inline void ops_arrive(struct ops *o, uint32_t end, const struct weft_pkt *pkt)
{
	const struct weft_qp *qp = weft_qp_find(o->end[end], pkt->dqpn);
	int side;
	const struct conn *c = qp ? ops_conn_of(o, end, qp, &side) : NULL;

	if (c && c->strict && weft_op_is_write(pkt->op) && pkt->peer == c->end[!side] &&
	    (qp->state == WEFT_QP_RTR || qp->state == WEFT_QP_RTS))
		WEFT_ASSERT(weft_psn_diff(pkt->psn, qp->rx_cack) < (int32_t)qp->rx_mpr);
}

static inline void ops_place(struct ops *o, uint32_t end, const struct weft_pkt *pkt,
			     const struct weft_place *place)
{
	int side;

	if (!place->len_bytes)
		return;
	struct weft_qp *qp = weft_qp_find(o->end[end], pkt->dqpn);
	struct conn *c = ops_conn_of(o, end, qp, &side);

	WEFT_ASSERT(qp && c && c->half[side].has_region);
	uint8_t *region = ops_region[c - o->conn][side], *to = place->to;

	WEFT_ASSERT(to >= region && to + place->len_bytes <= region + REGION_BYTES);
	WEFT_ASSERT(place->len_bytes == pkt->w.len_bytes && place->from == pkt->w.data);
	memcpy(to, place->from, place->len_bytes);
}

#endif
