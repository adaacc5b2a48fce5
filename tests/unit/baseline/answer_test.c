/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

/* One message over NDP: whatever the first window does not hold is asked for, and nothing else. */
TEST(pull_due__asks_for_what_there_is)
{
	for (uint32_t pkts = 1; pkts < 200; pkts += 11) {
		struct pair *p = pair_make(WEFT_BASELINE_NDP);

		pair_open(p);
		pair_post(p, 0, pkts * 4096);
		pair_run(p, WEFT_NEVER);
		CHECK(p->done[0] > 0);
		uint32_t window = p->end[0]->window_pkts;

		CHECK_EQ(weft_baseline_stats(p->end[1])->tx_pulls,
			pkts > window ? pkts - window : 0);
		pair_close(p);
	}
}

/* The second message of a connection that was idle sends its first window unasked again. */
TEST(pull_due__is_not_owed_anything_by_the_past)
{
	struct pair *p = pair_make(WEFT_BASELINE_NDP);

	pair_open(p);
	pair_post(p, 0, 100 * 4096);
	pair_run(p, WEFT_NEVER);
	uint64_t took_ps = p->done[0], began_ps = p->now_ps;

	pair_post(p, 1, 100 * 4096);
	pair_run(p, WEFT_NEVER);
	CHECK(p->done[1] - began_ps <= took_ps + took_ps / 50);
	CHECK_EQ(weft_baseline_stats(p->end[1])->tx_pulls, 2 * (100 - p->end[0]->window_pkts));
	pair_close(p);
}

/* Pulls come no closer than frames do: a burst of headers is not answered by a burst of data. */
TEST(pull_due__keeps_to_the_line)
{
	struct pair *p = pair_make(WEFT_BASELINE_NDP);
	uint64_t last_ps = 0;
	struct weft_pkt pkt;
	uint32_t pulls = 0;

	pair_open(p);
	for (uint32_t psn = 0; psn < 10; psn++) {
		pkt = (struct weft_pkt){ .op = WEFT_OP_WRITE_MIDDLE,
			.psn = psn,
			.mark = WEFT_MARK_TRIMMED,
			.w = { .msg_bytes = 1 << 20, .len_bytes = 4096, .va = 100 } };
		weft_baseline_input(p->end[1], &pkt, 0);
	}
	for (uint64_t now_ps = 0; now_ps < 10000000; now_ps += 1000) {
		while (weft_baseline_output(p->end[1], &pkt, 1, 0, now_ps)) {
			if (pkt.op != WEFT_OP_EP_REQUEST)
				continue;
			CHECK(!pulls || now_ps - last_ps >= p->end[1]->pull_every_ps - 1000);
			last_ps = now_ps;
			pulls++;
			CHECK_EQ(pkt.psn, pulls);
		}
	}
	CHECK_EQ(pulls, 10);
	pair_close(p);
}

/* A list that is full loses answers and says so; nothing hangs for it. */
TEST(answer_push__counts_what_it_has_no_room_for)
{
	struct pair *p = pair_make(WEFT_BASELINE_SPRAY);

	p->config.settings.window_pkts = 2048;
	pair_open(p);
	for (uint32_t psn = 0; psn < ANSWERS + 10; psn++) {
		struct weft_pkt pkt = { .op = WEFT_OP_WRITE_MIDDLE,
			.psn = psn,
			.w = { .msg_bytes = 1 << 30, .len_bytes = 4096 } };

		weft_baseline_input(p->end[1], &pkt, 0);
	}
	CHECK_EQ(weft_baseline_stats(p->end[1])->answers_lost, 10);
	weft_baseline_check(p->end[1]);
	pair_close(p);
}

TEST(spray__takes_all_free_ports_and_no_other)
{
	struct pair *p = pair_make(WEFT_BASELINE_SPRAY);
	uint32_t seen = 0, ev;
	uint8_t port;

	p->config.planes = 8;
	pair_open(p);
	for (unsigned i = 0; i < 400; i++) {
		CHECK(spray(p->end[0], 1, i, 0xb4, &ev, &port));
		CHECK(ev >> 16 == port);
		seen |= 1u << port;
	}
	CHECK_EQ(seen, 0xb4);
	p->gone = 2; /* that plane does not lead there */
	for (unsigned i = 0; i < 100; i++)
		CHECK(spray(p->end[0], 1, i, 0xb4, &ev, &port) && port != 2);
	pair_close(p);
}
