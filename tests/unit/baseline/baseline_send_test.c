/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

static bool lose_all(struct pair *p, struct weft_pkt *pkt, uint32_t from)
{
	(void)p;
	(void)pkt;
	return from == 1;
}

static bool lose_last(struct pair *p, struct weft_pkt *pkt, uint32_t from)
{
	(void)p;
	return from || pkt->flags & WEFT_BTH_RTX || pkt->op != WEFT_OP_WRITE_LAST;
}

/* Nothing comes after the last packet that would show its loss: only the timer does. */
TEST(send_timer__repeats_a_lost_tail)
{
	static const struct {
		enum weft_baseline_kind kind;
		uint64_t rto_us, repeats;
	} rows[] = { { WEFT_BASELINE_ROCE, 524, 4 }, /* none of four was acknowledged */
		{ WEFT_BASELINE_ROCE_SR, 100, 1 }, { WEFT_BASELINE_SPRAY, 320, 1 },
		{ WEFT_BASELINE_NDP, 320, 1 } };

	for (unsigned i = 0; i < WEFT_COUNT(rows); i++) {
		struct pair *p = pair_make(rows[i].kind);

		p->pass = lose_last;
		pair_open(p);
		pair_post(p, 0, 4 * 4096);
		pair_run(p, WEFT_NEVER);
		CHECK(p->done[0] >= rows[i].rto_us * 1000000);
		CHECK(p->done[0] <= (rows[i].rto_us + 20) * 1000000);
		CHECK_EQ(weft_baseline_stats(p->end[0])->timeouts, 1);
		CHECK_EQ(weft_baseline_stats(p->end[0])->tx_rtx_pkts, rows[i].repeats);
		pair_close(p);
	}
}

TEST(send_timer__never_gives_up)
{
	struct pair *p = pair_make(WEFT_BASELINE_ROCE);

	p->pass = lose_all;
	pair_open(p);
	pair_post(p, 0, 4096);
	pair_run(p, UINT64_C(10000000000));
	CHECK_EQ(weft_baseline_stats(p->end[0])->timeouts, 19); /* 10 ms of 524 us */
	p->pass = NULL;
	pair_run(p, WEFT_NEVER);
	CHECK(p->done[0] > 0);
	pair_close(p);
}

/* A pause stops data and lets answers go; what was paused goes on as if nothing had been. */
TEST(weft_baseline_output__honours_pauses)
{
	struct pair *p = pair_make(WEFT_BASELINE_ROCE);

	pair_open(p);
	p->paused = 1;
	pair_post(p, 0, 50000);
	pair_run(p, 5000000);
	CHECK_EQ(p->sent, 0);
	p->paused = 0;
	pair_run(p, WEFT_NEVER);
	CHECK(p->done[0] > 5000000);
	CHECK_EQ(weft_baseline_stats(p->end[0])->tx_rtx_pkts, 0);
	pair_close(p);
}

/* 1 MB at 100 Gb/s: back to back, one line's time and a round trip. */
TEST(weft_baseline_output__fills_the_line)
{
	static const enum weft_baseline_kind kinds[] = { WEFT_BASELINE_ROCE, WEFT_BASELINE_ROCE_SR,
		WEFT_BASELINE_SPRAY, WEFT_BASELINE_NDP };

	for (unsigned i = 0; i < WEFT_COUNT(kinds); i++) {
		struct pair *p = pair_make(kinds[i]);
		uint64_t ideal_ps = UINT64_C(1000000) * (4096 + 166) / 4096 * 80 + 4 * 1000000;

		pair_open(p);
		pair_post(p, 0, 1000000);
		pair_run(p, WEFT_NEVER);
		CHECK(p->done[0] >= ideal_ps && p->done[0] <= ideal_ps * 103 / 100);
		pair_close(p);
	}
}

/* At a quarter of the rate it takes four times as long. */
TEST(weft_baseline_output__keeps_the_pace)
{
	struct pair *p = pair_make(WEFT_BASELINE_ROCE);

	p->config.settings.dcqcn = true;
	p->config.settings.timer_ps = UINT64_C(1000000000000); /* no recovery meanwhile */
	pair_open(p);
	p->end[0]->senders[0].rate.rate_bps = p->config.port_bps / 4;
	pair_post(p, 0, 1000000);
	pair_run(p, UINT64_C(1000000000));
	CHECK(p->done[0] > 320000000 && p->done[0] < 345000000);
	pair_close(p);
}

static bool lose_pulls(struct pair *p, struct weft_pkt *pkt, uint32_t from)
{
	return !from || pkt->op != WEFT_OP_EP_REQUEST || p->now_ps > 200000000;
}

/* All pulls of the first window are lost: nothing is under way, and nobody will ask again. */
TEST(time_out__sends_unasked_where_pulls_were_lost)
{
	struct pair *p = pair_make(WEFT_BASELINE_NDP);

	p->pass = lose_pulls;
	p->config.settings.window_pkts = 4;
	pair_open(p);
	pair_post(p, 0, 40 * 4096);
	pair_run(p, 200000000);
	CHECK_EQ(p->sent, 4);
	pair_run(p, WEFT_NEVER);
	CHECK(p->done[0] > 0 && p->arrived[0] > 0);
	CHECK(weft_baseline_stats(p->end[0])->timeouts >= 1);
	CHECK_EQ(weft_baseline_stats(p->end[0])->tx_rtx_pkts, 0);
	pair_close(p);
}
