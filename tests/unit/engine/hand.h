/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HAND_H
#define HAND_H
/*
 * hand - the world with nobody between the endpoints: tests write each packet themselves.
 *
 * Packets made here are what end 0 would send to end 1 (data) or end 1 to end 0 (answers); a test
 * then changes the field it is about.
 */
#include "world.h"

static inline void hand_open(struct world *w, uint32_t paths, uint32_t active)
{
	struct weft_config config;

	world_config(&config);
	world_open(w, &config);
	world_connect(w, paths, active, &weft_cc_fixed);
}

static inline size_t hand_out(struct world *w, int from, struct weft_pkt pkts[], size_t max)
{
	size_t n = weft_output(w->end[from], pkts, max, UINT32_MAX, w->now);

	weft_check(w->end[from]);
	return n;
}

static inline struct weft_place hand_in(struct world *w, int to, const struct weft_pkt *pkt)
{
	struct weft_place place;

	weft_input(w->end[to], pkt, 1, w->now, &place);
	weft_check(w->end[to]);
	return place;
}

static inline uint64_t hand_drops(const struct world *w, int end, enum weft_drop why)
{
	return weft_stats(w->end[end])->drops[why];
}

/* The n-th packet that end 0 would send, as a message of its own. */
static inline struct weft_pkt hand_write(const struct world *w, uint32_t n, uint16_t len_bytes)
{
	return (struct weft_pkt){
		.peer = 7,
		.ev = w->end[1]->sets[w->set[1]].path[0].ev,
		.op = WEFT_OP_WRITE_ONLY,
		.flags = WEFT_BTH_TS,
		.dqpn = w->qp[1]->qpn,
		.psn = weft_psn_add(0xffff00, n),
		.w = { .data = w->memory[0], .va = 0x10000, .rkey = w->rkey[0],
		       .msg_bytes = len_bytes, .len_bytes = len_bytes, .msn = (uint16_t)n },
	};
}

/* End 1 says that the first n packets have arrived, and bits of what follows the next one. */
static inline struct weft_pkt hand_sack(const struct world *w, uint32_t n, uint64_t bitmap)
{
	return (struct weft_pkt){
		.peer = 7,
		.op = WEFT_OP_SACK,
		.dqpn = w->qp[0]->qpn,
		.sack = { .cack_psn = weft_psn_add(0xffff00 - 1, n), .sack_offset = 2,
			  .bitmap = bitmap, .ev = UINT32_MAX },
	};
}

static inline struct weft_pkt hand_nack(const struct world *w, const struct weft_pkt *of,
					uint8_t reason)
{
	return (struct weft_pkt){
		.peer = 7,
		.op = WEFT_OP_NACK,
		.dqpn = w->qp[0]->qpn,
		.nack = { .ev = of->ev, .psn = of->psn, .reason = reason },
	};
}

static inline struct weft_pkt hand_ack(const struct world *w, uint32_t msn, uint8_t syndrome)
{
	return (struct weft_pkt){
		.peer = 7,
		.op = WEFT_OP_ACK,
		.dqpn = w->qp[0]->qpn,
		.ack = { .msn = msn, .syndrome = syndrome },
	};
}

static inline struct path *hand_path(struct world *w, int end, uint32_t ev)
{
	struct pathset *set = &w->end[end]->sets[w->set[end]];
	uint32_t index = pathset_find(set, ev);

	REQUIRE(index != PATH_NONE);
	return &set->path[index];
}

#endif
