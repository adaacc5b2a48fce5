/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

/* Two queue pairs of one port send by turns. */
TEST(agenda_rotate__gives_everybody_a_turn)
{
	struct pair *p = pair_make(WEFT_BASELINE_ROCE);
	struct weft_pkt pkt;

	p->config.settings.qps = 2;
	pair_open(p);
	pair_post(p, 0, 8 * 4096);
	for (uint32_t i = 0; i < 8; i++) {
		CHECK(weft_baseline_output(p->end[0], &pkt, 1, 0, 0));
		CHECK_EQ(pkt.dqpn, i % 2);
	}
	CHECK(!weft_baseline_output(p->end[0], &pkt, 1, 0, 0));
	pair_close(p);
}

TEST(agenda_due__wakes_in_the_order_of_time)
{
	struct pair *p = pair_make(WEFT_BASELINE_ROCE);
	struct weft_rng rng;
	uint64_t last_ps = 0;

	p->config.settings.qps = 16;
	pair_open(p);
	struct weft_baseline *r = p->end[0];

	weft_rng_seed(&rng, 1);
	for (uint32_t i = 0; i < 200; i++) {
		struct sender *s = &r->senders[weft_rng_below(&rng, 16)];

		s->rto_ps = 1 + weft_rng_below(&rng, 1000);
		agenda_settle(r, s);
		weft_baseline_check(r);
	}
	r->now_ps = 0;
	CHECK(!agenda_due(r));
	r->now_ps = 2000;
	for (uint32_t n = r->n_heap; n--;) {
		struct sender *s = agenda_due(r);

		REQUIRE(s);
		CHECK(s->wake_ps >= last_ps && s->wake_ps <= s->rto_ps);
		last_ps = s->wake_ps;
	}
	CHECK(!agenda_due(r));
	pair_close(p);
}

TEST(agenda_path__keeps_a_queue_pair_on_its_path_until_routes_change)
{
	struct pair *p = pair_make(WEFT_BASELINE_STRIPE);

	p->config.planes = 2;
	pair_open(p);
	pair_post(p, 0, 400000);
	pair_run(p, 10000000);
	uint32_t ev[2] = { p->end[0]->senders[0].ev, p->end[0]->senders[1].ev };

	CHECK_EQ(ev[0] >> 16, 0);
	CHECK_EQ(ev[1] >> 16, 1);
	/* Plane 1 is withdrawn: its stripe moves, the other stays. */
	p->gone = 1;
	weft_baseline_routes_changed(p->end[0]);
	weft_baseline_routes_changed(p->end[1]);
	pair_run(p, WEFT_NEVER);
	CHECK(p->done[0] > 0);
	CHECK_EQ(p->end[0]->senders[0].ev, ev[0]);
	CHECK_EQ(p->end[0]->senders[1].ev >> 16, 0);
	pair_close(p);
}
