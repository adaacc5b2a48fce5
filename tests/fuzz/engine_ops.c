/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * engine_ops - the input decides what is called on three endpoints; see ops.h for what must hold.
 *
 * When the bytes are used up the network heals, and everything that was posted must come to its
 * end by the engine's own deadlines alone: the loop moves only where weft_next_timeout() says.
 */
#include "ops_net.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

#define HEAL_LIMIT_NS UINT64_C(2000000000)

uint64_t ops_calls;
uint8_t ops_region[CONNS][2][REGION_BYTES];
uint8_t ops_source[ENDS][SOURCE_BYTES];

/* ---- connections ---- */

/* What a connection's ends agree on; drawn when its first end opens. */
static void agree(struct ops *o, struct conn *c)
{
	c->strict = ops_chance(o, 128);
	c->excused = o->config.cq_depth == 16; /* too small for both queues: it may overrun */
	c->attr = (struct weft_qp_attr){
		.mpr_rx_psns = o->config.window_psns, .mpr_tx_psns = o->config.window_psns,
		.dynamic_mpr = ops_chance(o, 128), .trim_nack_rx = ops_chance(o, 192),
		.timeout_exp = (uint8_t)(2 + ops_below(o, 7)),
		.linear_count = (uint8_t)ops_below(o, 4),
		.retry_count = c->strict ? 25 : (uint8_t)ops_below(o, 4),
		.cc = ops_chance(o, 128) ? &weft_cc_fixed : &weft_cc_nscc,
		.cc_config = { .rate_bps = 100000000000,
			       .max_cwnd_bytes = 1u << (10 + ops_below(o, 11)),
			       .trimming = ops_chance(o, 128) },
	};
	c->attr.wimm_rx = c->attr.wimm_tx = 1 + ops_below(o, 8);
	c->psn[0] = ops_chance(o, 128) ? WEFT_PSN_MASK - ops_byte(o) : ops_below(o, 1u << 24);
	c->psn[1] = ops_below(o, 1u << 24);
}

static void add_region(struct ops *o, struct conn *c, int side)
{
	struct half *h = &c->half[side];
	uint32_t index = (uint32_t)(c - o->conn);

	if (h->has_region)
		return;
	WEFT_ASSERT(!weft_region_add(o->end[c->end[side]], OPS_VA, ops_region[index][side],
				     REGION_BYTES, index, WEFT_ACCESS_REMOTE_WRITE,
				     (uint32_t)ops_number(o, 4), &h->rkey));
	h->has_region = true;
	ops_called(o, c->end[side]);
}

static void close_half(struct ops *o, struct conn *c, int side)
{
	struct half *h = &c->half[side];

	if (h->qp) {
		weft_qp_close(h->qp);
		ops_called(o, c->end[side]);
	}
	if (h->has_region) {
		WEFT_ASSERT(!weft_region_drop(o->end[c->end[side]], h->rkey));
		ops_called(o, c->end[side]);
	}
	*h = (struct half){ 0 };
	while (ops_poll(o, c->end[side], 16))
		;
}

static void open_conn(struct ops *o, struct conn *c)
{
	agree(o, c);
	for (int side = 0; side < 2; side++) {
		struct half *h = &c->half[side];
		uint32_t end = c->end[side];

		h->tenant = ++o->tenants;
		c->attr.cq_tx = c->attr.cq_rx = c->attr.pd = (uint32_t)(c - o->conn);
		c->attr.user = h->tenant;
		WEFT_ASSERT(!weft_qp_open(o->end[end], &c->attr, &h->qp));
		ops_called(o, end);
		add_region(o, c, side);
	}
}

/* One step further in life, or the end of it. */
static void call_conn(struct ops *o)
{
	struct conn *c = &o->conn[ops_below(o, CONNS)];
	int side = (int)ops_below(o, 2);
	struct half *h = &c->half[side];
	uint32_t end = c->end[side], peer = c->end[!side];

	if (!h->qp) {
		open_conn(o, c);
		return;
	}
	enum weft_qp_state state = h->qp->state;

	if (state == WEFT_QP_ERROR || (state == WEFT_QP_RTS && ops_chance(o, 4))) {
		if (ops_chance(o, 128)) {
			c->excused = true;
			weft_qp_move(h->qp, WEFT_QP_ERROR, NULL, o->now);
			ops_called(o, end);
			return;
		}
		close_half(o, c, 0);
		close_half(o, c, 1);
		return;
	}
	if (state == WEFT_QP_RTS)
		return;
	struct weft_qp_attr attr = c->attr;

	attr.peer = peer;
	attr.peer_qpn = c->half[!side].qp->qpn;
	attr.pathset = o->set[end][peer];
	attr.psn_tx = c->psn[side];
	attr.psn_rx = c->psn[!side];
	WEFT_ASSERT(!weft_qp_move(h->qp, state == WEFT_QP_INIT ? WEFT_QP_RTR : WEFT_QP_RTS, &attr,
				  o->now));
	ops_called(o, end);
}

/* ---- the application ---- */

static void post_recv(struct ops *o, struct conn *c, int side)
{
	struct half *h = &c->half[side];

	if (h->recvs - h->recvs_done >= WORKS / 2)
		return; /* else the queue of completions may run over */
	if (weft_post_recv(h->qp, h->recvs) == 0)
		h->recvs++;
	ops_called(o, c->end[side]);
}

/* The peer of an immediate must have a receive for it; now and then it has not. */
static bool may_send_imm(struct ops *o, struct conn *c, int side)
{
	struct half *peer = &c->half[!side];

	if (ops_chance(o, 2)) {
		c->excused = true;
		return true;
	}
	if (peer->recvs <= c->half[side].imms)
		post_recv(o, c, !side);
	return peer->recvs > c->half[side].imms;
}

static void call_post(struct ops *o)
{
	struct conn *c = &o->conn[ops_below(o, CONNS)];
	int side = (int)ops_below(o, 2);
	struct half *h = &c->half[side], *peer = &c->half[!side];

	if (!h->qp || h->qp->state != WEFT_QP_RTS || !peer->qp ||
	    h->posted - h->completed >= WORKS / 2)
		return;
	uint32_t max = WEFT_MIN((uint32_t)WORK_BYTES_MAX, 8 * o->config.mtu_bytes);
	struct work work = {
		.len_bytes = ops_chance(o, 32) ? 0 : ops_below(o, max + 1),
		.from = ops_below(o, SOURCE_BYTES - WORK_BYTES_MAX),
		.to = h->cursor,
		.has_imm = ops_chance(o, 80),
		.silent = ops_chance(o, 64) && h->posted - h->completed < 8,
	};

	if (work.has_imm && !may_send_imm(o, c, side))
		return;
	struct weft_work post = {
		.id = h->posted, .remote_va = OPS_VA + work.to, .rkey = peer->rkey,
		.data = ops_source[c->end[side]] + work.from, .len_bytes = work.len_bytes,
		.imm = h->posted, .has_imm = work.has_imm, .silent = work.silent,
	};
	int error = weft_post_write(h->qp, &post);

	ops_called(o, c->end[side]);
	if (error) {
		WEFT_ASSERT(error == WEFT_EFULL);
		return;
	}
	/* What lies there now is wrong in every byte. */
	uint8_t *there = ops_region[c - o->conn][!side] + work.to;

	for (uint32_t i = 0; i < work.len_bytes; i++)
		there[i] = (uint8_t)~ops_source[c->end[side]][work.from + i];
	h->works[h->posted++ % WORKS] = work;
	h->imms += work.has_imm;
	h->cursor = (h->cursor + work.len_bytes) % (REGION_BYTES - WORK_BYTES_MAX);
}

static void call_tune(struct ops *o)
{
	struct conn *c = &o->conn[ops_below(o, CONNS)];
	int side = (int)ops_below(o, 2);
	struct half *h = &c->half[side];

	if (!h->qp)
		return;
	switch (ops_below(o, 8)) {
	case 0:
		weft_qp_set_mpr(h->qp, ops_below(o, 5) * 64);
		break;
	case 1:
		weft_qp_set_penalty(h->qp, (uint8_t)ops_byte(o));
		break;
	case 2:
		if (ops_chance(o, 32) && h->has_region) {
			c->excused = true;
			WEFT_ASSERT(!weft_region_drop(o->end[c->end[side]], h->rkey));
			h->has_region = false;
		}
		break;
	case 3:
		add_region(o, c, side);
		break;
	default:
		post_recv(o, c, side);
		return;
	}
	ops_called(o, c->end[side]);
}

/* ---- the operator ---- */

static void call_control(struct ops *o)
{
	uint32_t end = ops_below(o, ENDS), peer = (end + 1 + ops_below(o, ENDS - 1)) % ENDS;
	uint32_t ev = ops_below(o, PATHS), cookie = ops_byte(o);
	struct weft_event events[4];
	struct weft_probe_done probes[4];
	struct weft_path_info path;
	struct weft_set_info set;
	struct weft_qp_info qp;
	uint64_t seq = ops_byte(o);

	ev |= (ev % PORTS) << 16;
	switch (ops_below(o, 10)) {
	case 0:
		weft_port_mark(o->end[end], ops_below(o, PORTS + 1), ops_chance(o, 160), o->now);
		break;
	case 1:
	case 2:
		weft_path_mark(o->end[end], o->set[end][peer], ev, ops_below(o, 6), o->now);
		break;
	case 3:
		weft_post_probe(o->end[end], o->set[end][peer], ev, cookie, o->now);
		break;
	case 4:
		weft_poll_probe(o->end[end], probes, 4);
		break;
	case 5:
		weft_events(o->end[end], &seq, events, 4);
		weft_path_info(o->end[end], o->set[end][peer], ops_below(o, PATHS), &path);
		weft_set_info(o->end[end], o->set[end][peer], &set);
		if (o->conn[0].half[0].qp)
			weft_qp_info(o->conn[0].half[0].qp, &qp);
		break;
	case 8:
		weft_post_port_status(o->end[end], o->set[end][peer], ev, 1u << ops_below(o, 4),
				      cookie, o->now);
		break;
	case 9:
		weft_path_replace(o->end[end], o->set[end][peer], ev, PATHS + cookie,
				  ops_below(o, PORTS + 1), o->now);
		break;
	case 6:
		o->dead[end] = ops_chance(o, 128) ? 0 : 1u << ops_below(o, PORTS);
		return;
	default: /* a set that nobody uses is made anew */
		if (weft_pathset_close(o->end[end], o->set[end][peer]) == 0)
			ops_open_set(o, end, peer);
		break;
	}
	ops_called(o, end);
}

static void call_level(struct ops *o)
{
	uint8_t *const levels[] = { &o->drop, &o->dup, &o->mark,
				    &o->trim, &o->disorder, &o->change };
	uint32_t which = ops_below(o, 6), shift = ops_below(o, 8);

	*levels[which] = (uint8_t)(ops_byte(o) >> shift);
}

/* ---- packets and time ---- */

static uint32_t output(struct ops *o, uint32_t end, uint32_t max, uint32_t ports)
{
	struct weft_pkt pkts[24];
	uint32_t n = (uint32_t)weft_output(o->end[end], pkts, WEFT_MIN(max, 24u), ports, o->now);

	WEFT_ASSERT(n <= max);
	ops_called(o, end);
	for (uint32_t i = 0; i < n; i++) {
		const struct pathset *set;

		WEFT_ASSERT(pkts[i].port < PORTS);
		WEFT_ASSERT(ports & o->end[end]->ports_up & 1u << pkts[i].port);
		if (weft_op_is_write(pkts[i].op)) {
			set = &o->end[end]->sets[o->set[end][pkts[i].peer]];
			const struct path *path = &set->path[pathset_find(set, pkts[i].ev)];

			WEFT_ASSERT(path->state != WEFT_PATH_DENIED && path->plane == pkts[i].port);
		}
		ops_net(o, end, &pkts[i]);
	}
	return n;
}

static void call_output(struct ops *o)
{
	uint32_t end = ops_below(o, ENDS), max = 1 + ops_below(o, 24);

	output(o, end, max, ops_chance(o, 64) ? ops_byte(o) : UINT32_MAX);
}

static struct flight take_flight(struct ops *o, uint32_t index)
{
	struct flight f = o->flight[index];

	memmove(&o->flight[index], &o->flight[index + 1],
		(--o->flights - index) * sizeof(o->flight[0]));
	return f;
}

static void deliver(struct ops *o, uint32_t max)
{
	struct weft_pkt pkts[8];
	struct weft_place places[8];
	uint32_t n = 0, to = 0;

	while (n < max && o->flights) {
		bool any = !o->healed && ops_chance(o, o->disorder);
		uint32_t index = any ? ops_below(o, o->flights) : 0;

		if (n && o->flight[index].to != to)
			break;
		struct flight f = take_flight(o, index);

		to = f.to;
		pkts[n++] = f.pkt;
		o->old[o->olds++ % WEFT_COUNT(o->old)] = f;
	}
	if (!n)
		return;
	for (uint32_t i = 0; i < n; i++)
		ops_arrive(o, to, &pkts[i]);
	weft_input(o->end[to], pkts, n, o->now, places);
	for (uint32_t i = 0; i < n; i++)
		ops_place(o, to, &pkts[i], &places[i]);
	ops_called(o, to);
}

static void call_deliver(struct ops *o)
{
	o->now += ops_byte(o) * 16;
	deliver(o, 1 + ops_below(o, 8));
}

/* A packet of the past once more, or a new one made from it. */
static void call_forge(struct ops *o)
{
	if (!o->olds || o->flights == FLIGHTS)
		return;
	struct flight f = o->old[ops_below(o, WEFT_MIN(o->olds, (uint32_t)WEFT_COUNT(o->old)))];
	uint32_t changes = o->change ? ops_below(o, 4) : 0;

	for (uint32_t i = 0; i < changes; i++)
		ops_change(o, &f.pkt);
	if (changes && ops_hits_strict(o, f.to, &f.pkt))
		return;
	o->flight[o->flights++] = f;
}

static void call_time(struct ops *o)
{
	uint32_t end = ops_below(o, ENDS);
	uint64_t due = weft_next_timeout(o->end[end]), before_ns = o->now;

	switch (ops_below(o, 16)) {
	case 0:
		o->now += ops_number(o, 3); /* up to 17 ms */
		break;
	case 1:
		o->now += ops_chance(o, 8) ? ops_number(o, 5) % 100000000000 : ops_number(o, 2);
		break;
	case 2:
	case 3:
	case 4:
		if (due != WEFT_NEVER)
			o->now = WEFT_MAX(o->now, due);
		break;
	default:
		o->now += ops_number(o, 2) / 4;
		break;
	}
	o->longest_ns = WEFT_MAX(o->longest_ns, o->now - before_ns);
}

/* ---- the end ---- */

static void end_broken_conns(struct ops *o)
{
	for (uint32_t i = 0; i < CONNS; i++) {
		struct conn *c = &o->conn[i];
		bool whole = true;

		for (int side = 0; side < 2; side++)
			whole &= c->half[side].qp && c->half[side].qp->state == WEFT_QP_RTS;
		for (int side = 0; side < 2 && !whole; side++) {
			struct half *h = &c->half[side];

			if (!h->qp || h->qp->state == WEFT_QP_ERROR)
				continue;
			/* One end of a strict one failed without a reason? */
			WEFT_ASSERT(!c->strict || c->excused || !c->half[!side].qp ||
				    c->half[!side].qp->state != WEFT_QP_ERROR);
			c->excused = true;
			weft_qp_move(h->qp, WEFT_QP_ERROR, NULL, o->now);
			ops_called(o, c->end[side]);
		}
	}
}

static bool all_done(struct ops *o)
{
	for (uint32_t i = 0; i < CONNS; i++) {
		struct conn *c = &o->conn[i];

		for (int side = 0; side < 2; side++) {
			const struct half *h = &c->half[side];

			if (!h->qp || h->qp->state == WEFT_QP_ERROR)
				continue;
			if (h->qp->sq_head != h->qp->sq_tail)
				return false;
			if (c->strict && !c->excused && c->half[!side].imms != h->imms_heard)
				return false;
		}
	}
	return true;
}

static void heal(struct ops *o)
{
	o->healed = true;
	for (uint32_t e = 0; e < ENDS; e++) {
		for (uint32_t port = 0; port < PORTS; port++)
			weft_port_mark(o->end[e], port, true, o->now);
		for (uint32_t p = 0; p < ENDS; p++)
			for (uint32_t i = 0; e != p && i < PATHS; i++)
				weft_path_mark(o->end[e], o->set[e][p], i | (i % PORTS) << 16,
					       WEFT_PATH_GOOD, o->now);
		ops_called(o, e);
	}
	end_broken_conns(o);
}

static void settle(struct ops *o)
{
	heal(o);
	for (;;) {
		uint64_t at = WEFT_NEVER;

		for (uint32_t e = 0; e < ENDS; e++) {
			while (output(o, e, 24, UINT32_MAX) == 24)
				;
			while (ops_poll(o, e, 16))
				;
			at = WEFT_MIN(at, weft_next_timeout(o->end[e]));
		}
		end_broken_conns(o);
		if (all_done(o))
			break;
		if (o->flights) {
			o->now += 100;
			deliver(o, 1);
			continue;
		}
		WEFT_ASSERT(at != WEFT_NEVER); /* nobody would ever call again */
		o->now = WEFT_MAX(at, o->now + 1);
	}
}

static void finish(struct ops *o)
{
	uint64_t start_ns = o->now;

	settle(o);
	/* Round trips have been measured that took as long as the clock jumped; timers follow. */
	WEFT_ASSERT(o->now - start_ns <= HEAL_LIMIT_NS + 8 * o->longest_ns);
	for (uint32_t e = 0; e < ENDS; e++)
		while (ops_poll(o, e, 16))
			;
	for (uint32_t i = 0; i < CONNS; i++)
		for (int side = 0; side < 2; side++) {
			struct conn *c = &o->conn[i];
			struct half *h = &c->half[side];
			bool overrun = o->config.cq_depth == 16;

			while (h->completed < h->posted && h->works[h->completed % WORKS].silent &&
			       !h->failed)
				ops_verify(o, c, side, h->completed++);
			WEFT_ASSERT(!h->qp || overrun || h->completed == h->posted);
		}
	for (uint32_t i = 0; i < CONNS; i++) {
		close_half(o, &o->conn[i], 0);
		close_half(o, &o->conn[i], 1);
	}
	for (uint32_t e = 0; e < ENDS; e++)
		WEFT_ASSERT(o->end[e]->pages_used == 0);
}

static void fill_sources(void)
{
	struct weft_rng rng;

	if (ops_source[0][0])
		return;
	weft_rng_seed(&rng, 42);
	for (uint32_t e = 0; e < ENDS; e++)
		for (uint32_t i = 0; i < SOURCE_BYTES; i++)
			ops_source[e][i] = (uint8_t)weft_rng_u64(&rng);
	ops_source[0][0] = 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	static void (*const calls[16])(struct ops *) = {
		call_output, call_output, call_output, call_output,
		call_deliver, call_deliver, call_deliver, call_deliver,
		call_deliver, call_post, call_post, call_time,
		call_time, NULL, NULL, NULL,
	};
	static void (*const rare[16])(struct ops *) = {
		call_conn, call_conn, call_conn, call_conn, call_conn, call_control,
		call_control, call_forge, call_forge, call_tune, call_tune, call_tune,
		call_level, call_forge, call_control, call_tune,
	};
	static struct ops o;

	fill_sources();
	memset(&o, 0, sizeof(o));
	o.in = (struct bytes){ data, data + len_bytes };
	o.now = 1000;
	ops_start(&o);
	while (!ops_over(&o)) {
		uint32_t byte = ops_byte(&o);

		if (calls[byte % 16])
			calls[byte % 16](&o);
		else if (byte % 16 == 13)
			ops_poll(&o, byte / 16 % ENDS, 16);
		else
			rare[byte / 16](&o);
	}
	finish(&o);
	return 0;
}
