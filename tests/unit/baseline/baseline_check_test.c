/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

static bool lose_third(struct pair *p, struct weft_pkt *pkt, uint32_t from)
{
	(void)pkt;
	(void)from;
	return weft_rng_below(&p->end[0]->rng, 3) != 0;
}

/* A third of everything is lost, both ways: all of them bring it across, and stay whole. */
TEST(weft_baseline_check__finds_nothing_wrong_under_loss)
{
	for (unsigned kind = WEFT_BASELINE_ROCE; kind < WEFT_BASELINE_KINDS; kind++) {
		struct pair *p = pair_make((enum weft_baseline_kind)kind);

		p->config.settings.qps = 2;
		p->config.planes = 2;
		p->pass = lose_third;
		pair_open(p);
		for (uint32_t i = 0; i < 20; i++)
			pair_post(p, i, 1 + i * 3000);
		pair_run(p, UINT64_C(2000000000000));
		for (uint32_t i = 0; i < 20; i++)
			CHECK(p->done[i] > 0 && p->arrived[i] > 0);
		pair_close(p);
	}
}

TEST(weft_baseline_check__finds_what_is_wrong)
{
	struct pair *p = pair_make(WEFT_BASELINE_NDP);

	pair_open(p);
	pair_post(p, 0, 100000);
	pair_run(p, 1000000);
	p->end[0]->senders[0].n_rtx++;
	CHECK_PANICS(weft_baseline_check(p->end[0]));
	pair_close(p);
}

TEST(weft_baseline_look__says_how_far_it_is)
{
	struct pair *p = pair_make(WEFT_BASELINE_SPRAY);
	struct weft_baseline_sender s;

	pair_open(p);
	pair_post(p, 0, 30 * 4096);
	pair_run(p, 1000000);
	weft_baseline_look(p->end[0], 0, 0, &s);
	CHECK_EQ(s.end, 30);
	CHECK_EQ(s.next, p->sent);
	CHECK_EQ(s.acked, 0);
	CHECK_EQ(s.window_pkts, p->end[0]->window_pkts);
	CHECK_EQ(s.rate_bps, p->config.port_bps);
	pair_close(p);
}
