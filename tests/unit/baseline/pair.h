/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PAIR_H
#define PAIR_H
/* pair - two hosts with a baseline transport, a line between them, a hand that takes packets. */
#include "check.h"
#include "baseline_local.h"

#include <stdlib.h>

enum { FLIGHTS = 4096, ONE_WAY_PS = 2000000 };

struct flight {
	struct weft_pkt pkt;
	uint64_t at_ps;
	uint32_t to;
};

struct pair {
	struct weft_baseline_config config;
	struct weft_baseline *end[2];
	struct flight flights[FLIGHTS];
	uint32_t first, last, sent; /* sent: data packets, by end 0 */
	uint64_t now_ps, free_ps[2][PLANES_MAX];
	uint32_t paused; /* ports of end 0 */
	uint32_t asked;  /* paths */
	uint32_t gone;   /* a plane that leads nowhere; NONE */
	/* Looks at what end 0 or 1 sends, and may change it.  False: it is lost. */
	bool (*pass)(struct pair *p, struct weft_pkt *pkt, uint32_t from);
	uint64_t done[64], arrived[64]; /* when, by id */
};

static inline uint32_t pair_path(
	void *user, uint32_t peer, uint32_t plane, uint32_t hash, uint8_t *port)
{
	struct pair *p = user;

	CHECK(peer < 2);
	p->asked++;
	*port = (uint8_t)(plane == WEFT_BASELINE_ANY_PLANE ? hash % p->config.planes : plane);
	if (*port == p->gone && plane != WEFT_BASELINE_ANY_PLANE)
		return WEFT_BASELINE_NO_PATH;
	if (*port == p->gone)
		*port = (uint8_t)((*port + 1u) % p->config.planes);
	return (uint32_t)*port << 16 | hash % 64;
}

/* 100 Gb/s, 4 KiB packets, one connection from 0 to 1, up to 64 messages. */
static inline struct pair *pair_make(enum weft_baseline_kind kind)
{
	struct pair *p = calloc(1, sizeof(*p));

	REQUIRE(p);
	p->gone = NONE;
	p->config = (struct weft_baseline_config){ .settings = { .kind = kind },
		.planes = 1,
		.sends = 1,
		.receives = 1,
		.works = 64,
		.payload_bytes = 4096,
		.overhead_bytes = 166,
		.port_bps = UINT64_C(100000000000),
		.rtt_ps = 2 * ONE_WAY_PS,
		.seed = 1,
		.path = pair_path,
		.user = p };
	return p;
}

static inline void pair_open(struct pair *p)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct weft_baseline_config config = p->config;

		config.host = i;
		config.seed += i;
		size_t bytes = weft_baseline_size(&config);

		REQUIRE(bytes);
		void *block = aligned_alloc(64, WEFT_ALIGN_UP(bytes, (size_t)64));

		REQUIRE(block && weft_baseline_init(&p->end[i], block, &config));
		weft_baseline_connect(p->end[i], i, 0, !i, 0);
	}
}

static inline void pair_post(struct pair *p, uint64_t id, uint32_t len_bytes)
{
	CHECK(weft_baseline_post(p->end[0], 0, id, len_bytes, p->now_ps));
}

static inline void pair_take(struct pair *p, uint32_t end)
{
	struct weft_baseline_done done;

	while (weft_baseline_poll(p->end[end], &done)) {
		uint64_t *at = done.arrived ? p->arrived : p->done;

		REQUIRE(done.id < 64);
		CHECK_EQ(done.arrived, end);
		CHECK_EQ(at[done.id], 0); /* once */
		at[done.id] = p->now_ps;
	}
	weft_baseline_check(p->end[end]);
}

static inline void pair_send(struct pair *p, uint32_t end)
{
	struct weft_pkt pkt;

	for (;;) {
		uint32_t free = 0;

		for (uint32_t i = 0; i < p->config.planes; i++)
			free |= (uint32_t)(p->free_ps[end][i] <= p->now_ps) << i;
		if (!weft_baseline_output(p->end[end], &pkt, free, end ? 0 : p->paused, p->now_ps))
			return;
		CHECK(free >> pkt.port & 1);
		bool is_data = weft_op_is_write(pkt.op);
		uint32_t bytes = is_data ? pkt.w.len_bytes + p->config.overhead_bytes : 150u;

		p->free_ps[end][pkt.port] =
			p->now_ps + bytes * UINT64_C(8000000000000) / p->config.port_bps;
		p->sent += is_data;
		if (p->pass && !p->pass(p, &pkt, end))
			continue;
		REQUIRE(p->last - p->first < FLIGHTS);
		pkt.peer = end;
		p->flights[p->last++ % FLIGHTS] = (struct flight){
			.pkt = pkt, .at_ps = p->free_ps[end][pkt.port] + ONE_WAY_PS, .to = !end
		};
	}
}

static inline uint64_t pair_next(const struct pair *p)
{
	uint64_t next_ps = WEFT_NEVER;

	for (uint32_t i = p->first; i != p->last; i++)
		next_ps = WEFT_MIN(next_ps, p->flights[i % FLIGHTS].at_ps);
	for (uint32_t end = 0; end < 2; end++) {
		uint64_t own_ps = weft_baseline_next_ps(p->end[end]);

		next_ps = WEFT_MIN(next_ps, WEFT_MAX(own_ps, p->now_ps));
		for (uint32_t i = 0; i < p->config.planes; i++) {
			if (weft_baseline_wants_output(p->end[end]) &&
				p->free_ps[end][i] > p->now_ps)
				next_ps = WEFT_MIN(next_ps, p->free_ps[end][i]);
		}
	}
	return next_ps;
}

/* Until nothing is left to happen, or until_ps.  Flights of two planes may overtake each other. */
static inline void pair_run(struct pair *p, uint64_t until_ps)
{
	for (;;) {
		for (uint32_t end = 0; end < 2; end++)
			pair_send(p, end);
		uint64_t next_ps = pair_next(p);

		if (next_ps == WEFT_NEVER || next_ps > until_ps)
			break;
		p->now_ps = next_ps;
		for (uint32_t i = p->first; i != p->last; i++) {
			struct flight *f = &p->flights[i % FLIGHTS];

			if (f->at_ps > p->now_ps)
				continue;
			f->at_ps = WEFT_NEVER;
			weft_baseline_input(p->end[f->to], &f->pkt, p->now_ps);
			pair_take(p, f->to);
		}
		while (p->first != p->last && p->flights[p->first % FLIGHTS].at_ps == WEFT_NEVER)
			p->first++;
	}
	if (until_ps != WEFT_NEVER)
		p->now_ps = until_ps;
}

static inline void pair_close(struct pair *p)
{
	free(p->end[0]);
	free(p->end[1]);
	free(p);
}

#endif
