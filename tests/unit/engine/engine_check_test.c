/* SPDX-License-Identifier: BSD-2-Clause */
#include "hand.h"

/* End 0 has 32 packets in flight and one lost; end 1 has a hole. */
static void setup(struct world *w)
{
	struct weft_pkt pkts[32];

	hand_open(w, 32, 16);
	world_write(w, 0, 1, 0, 1u << 20);
	REQUIRE(hand_out(w, 0, pkts, 32) == 32);
	loss_mark(w->qp[0], pkts[4].psn, LOSS_NACK, w->now);
	struct weft_pkt pkt = hand_write(w, 3, 100);

	hand_in(w, 1, &pkt);
}

static void inflight(struct world *w) { w->qp[0]->inflight++; }
static void lost(struct world *w) { w->qp[0]->lost--; }
static void lost_low(struct world *w) { w->qp[0]->lost_low += 9; }
static void acked_and_lost(struct world *w) { sent_page_of(w->qp[0], 0xffff04)->acked |= 1u << 4; }
static void record_path(struct world *w) { sent_find(w->qp[0], 0xffff09)->path = 99; }
static void record_work(struct world *w) { sent_find(w->qp[0], 0xffff09)->work = 7; }
static void page_count(struct world *w) { w->end[0]->pages_used--; }
static void page_leak(struct world *w)
{
	w->end[0]->page_free = w->end[0]->page_next[w->end[0]->page_free];
}
static void send_queue(struct world *w) { w->qp[0]->sq_send = (uint16_t)(w->qp[0]->sq_tail + 1); }
static void wimm(struct world *w) { w->qp[0]->wimm_inflight = 9999; }
static void no_window(struct world *w) { w->qp[0]->cwnd = 0; }
static void no_deadline(struct world *w) { timer_set(w->end[0], w->qp[0]->index, WEFT_NEVER); }
static void half_open(struct world *w) { w->qp[0]->in_use = false; }
static void out_of_order(struct world *w) { w->qp[1]->rx_ooo++; }
static void arrived_bit(struct world *w) { window_set(w->qp[1], 0xffff00, true); }
static void last_bit(struct world *w) { w->qp[1]->rx_last[0] |= 1; }
static void highest(struct world *w) { w->qp[1]->rx_max = weft_psn_add(w->qp[1]->rx_cack, 9999); }
static void active(struct world *w) { w->end[0]->sets[w->set[0]].active--; }
static void users(struct world *w) { w->end[0]->sets[w->set[0]].users++; }
static void empty_mask(struct world *w) { w->end[0]->sets[w->set[0]].own_empty |= 1; }
static void good_in_waiting(struct world *w) { w->end[0]->sets[w->set[0]].plane[0].target++; }
static void bad_in_rotation(struct world *w)
{
	struct pathset *set = &w->end[0]->sets[w->set[0]];

	set->path[set->order[0]].state = WEFT_PATH_ASSUMED_BAD;
}
static void heap_order(struct world *w) { w->end[0]->heap_pos[w->end[0]->heap[0]] = 5; }
static void late_key(struct world *w) { w->end[0]->key[w->end[0]->heap[0]] = WEFT_NEVER - 1; }
static void answers(struct world *w) { w->end[0]->answer_tail += 5000; }
static void ready_ring(struct world *w) { w->end[0]->ready_tail += 100; }
static void completions(struct world *w) { w->end[0]->cqs[2].tail += 5000; }

static void expect_panic(const char *name, void (*spoil)(struct world *w))
{
	struct world w = { 0 };

	setup(&w);
	weft_check(w.end[0]);
	weft_check(w.end[1]);
	spoil(&w);
	fprintf(stderr, "%s\n", name);
	CHECK_PANICS((weft_check(w.end[0]), weft_check(w.end[1])));
	world_close(&w);
}

TEST(weft_check__finds_each_broken_number)
{
	static const struct {
		const char *name;
		void (*spoil)(struct world *w);
	} rows[] = {
#define ROW(name) { #name, name }
		ROW(inflight), ROW(lost), ROW(lost_low), ROW(acked_and_lost), ROW(record_path),
		ROW(record_work), ROW(page_count), ROW(page_leak), ROW(send_queue), ROW(wimm),
		ROW(no_window), ROW(no_deadline), ROW(half_open), ROW(out_of_order),
		ROW(arrived_bit), ROW(last_bit), ROW(highest), ROW(active), ROW(users),
		ROW(empty_mask), ROW(good_in_waiting), ROW(bad_in_rotation),
		ROW(heap_order), ROW(late_key), ROW(answers), ROW(ready_ring), ROW(completions),
#undef ROW
	};

	for (size_t i = 0; i < WEFT_COUNT(rows); i++)
		expect_panic(rows[i].name, rows[i].spoil);
}

static bool some_are_lost(struct world *w, int from, struct weft_pkt *pkt)
{
	(void)from;
	(void)pkt;
	return weft_rng_chance(&w->rng, 2, 100);
}

TEST(weft_check__is_content_all_through_a_lossy_transfer)
{
	struct world w = { .check = true, .skew_ns = 700, .fault = some_are_lost };
	struct weft_done done;

	hand_open(&w, 32, 16);
	for (uint32_t i = 0; i < 8; i++)
		world_write(&w, i % 2, i, 0, 300000);
	CHECK_EQ(world_wait(&w, 0, 4, 50000000, &done), 4);
	CHECK_EQ(world_wait(&w, 1, 4, 50000000, &done), 4);
	weft_check(w.end[0]);
	weft_check(w.end[1]);
	CHECK(w.dropped > 0);
	CHECK_EQ(w.end[0]->pages_used, 1); /* the one it stands in */
	CHECK_EQ(w.end[1]->pages_used, 1);
	world_close(&w);
}
