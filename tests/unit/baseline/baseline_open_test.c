/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

TEST(weft_baseline_size__refuses_what_cannot_be)
{
	struct pair *p = pair_make(WEFT_BASELINE_NONE);
	struct weft_baseline_config c;

	CHECK_EQ(weft_baseline_size(&p->config), 0);
	p->config.settings.kind = WEFT_BASELINE_ROCE;
	CHECK(weft_baseline_size(&p->config) > 0);
	c = p->config;
	c.settings.qps = WEFT_BASELINE_QPS_MAX + 1;
	CHECK_EQ(weft_baseline_size(&c), 0);
	c = p->config;
	c.planes = 17;
	CHECK_EQ(weft_baseline_size(&c), 0);
	c = p->config;
	c.path = NULL;
	CHECK_EQ(weft_baseline_size(&c), 0);
	c = p->config;
	c.settings = (struct weft_baseline_settings){ .kind = WEFT_BASELINE_NDP, .dcqcn = true };
	CHECK_EQ(weft_baseline_size(&c), 0);
	c.settings =
		(struct weft_baseline_settings){ .kind = WEFT_BASELINE_NDP, .window_pkts = 8193 };
	CHECK_EQ(weft_baseline_size(&c), 0);
	free(p);
}

TEST(weft_baseline_init__takes_from_the_papers_what_nobody_has_set)
{
	struct pair *p = pair_make(WEFT_BASELINE_STRIPE);

	p->config.planes = 4;
	pair_open(p);
	CHECK_EQ(p->end[0]->qps, 4); /* one per plane */
	CHECK_EQ(p->end[0]->config.settings.cnp_ps, 50000000);
	CHECK_EQ(p->end[0]->config.settings.timer_ps, 55000000);
	CHECK_EQ(p->end[0]->config.settings.step_bps, 100000000); /* 40 Mb/s of 40 Gb/s */
	CHECK_EQ(p->end[0]->config.settings.rto_ps, 524000000);
	pair_close(p);
	p = pair_make(WEFT_BASELINE_ROCE_SR);
	pair_open(p);
	/* 4 us at 100 Gb/s are 50 kB, and 11.7 frames. */
	CHECK_EQ(p->end[0]->window_pkts, 13);
	CHECK_EQ(p->end[0]->bits, 128);
	pair_close(p);
}

TEST(weft_baseline_connect__gives_each_queue_pair_a_hash_of_its_own)
{
	struct pair *p = pair_make(WEFT_BASELINE_ROCE);

	p->config.settings.qps = 16;
	pair_open(p);
	for (uint32_t i = 1; i < 16; i++) {
		CHECK(p->end[0]->senders[i].hash != p->end[0]->senders[0].hash);
		CHECK(p->end[0]->senders[i].hash != p->end[0]->receivers[i].hash);
	}
	pair_close(p);
}
