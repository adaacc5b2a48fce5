/* SPDX-License-Identifier: BSD-2-Clause */
#include "world.h"

static struct weft_endpoint *open_timers(struct world *w)
{
	struct weft_config config;

	world_config(&config);
	config.qps = 64;
	world_open(w, &config);
	return w->end[0];
}

TEST(timer_pop__gives_deadlines_in_order)
{
	struct world w = { 0 };
	struct weft_endpoint *ep = open_timers(&w);

	for (uint32_t i = 0; i < 64; i++)
		timer_set(ep, i, 1 + (i * 37) % 64);
	for (uint64_t t = 1; t <= 64; t++) {
		uint32_t timer = timer_pop(ep, t);

		CHECK_EQ(1 + (timer * 37) % 64, t);
		CHECK_EQ(timer_pop(ep, t), UINT32_MAX);
	}
	CHECK_EQ(weft_next_timeout(ep), WEFT_NEVER);
	world_close(&w);
}

TEST(timer_set__later_is_honoured_without_a_heap_move)
{
	struct world w = { 0 };
	struct weft_endpoint *ep = open_timers(&w);

	timer_set(ep, 5, 100);
	timer_set(ep, 5, 200);
	CHECK_EQ(weft_next_timeout(ep), 100); /* a lower bound */
	CHECK_EQ(timer_pop(ep, 150), UINT32_MAX);
	CHECK_EQ(weft_next_timeout(ep), 200);
	CHECK_EQ(timer_pop(ep, 200), 5);
	world_close(&w);
}

TEST(timer_set__earlier_and_never)
{
	struct world w = { 0 };
	struct weft_endpoint *ep = open_timers(&w);

	timer_set(ep, 1, 500);
	timer_set(ep, 2, 400);
	timer_set(ep, 1, 300);
	CHECK_EQ(timer_pop(ep, 350), 1);
	timer_set(ep, 2, WEFT_NEVER);
	CHECK_EQ(timer_pop(ep, 1000), UINT32_MAX);
	CHECK_EQ(weft_next_timeout(ep), WEFT_NEVER);
	world_close(&w);
}

TEST(timer__random_calls_agree_with_a_plain_scan)
{
	struct world w = { 0 };
	struct weft_endpoint *ep = open_timers(&w);
	uint64_t due[64], now = 1;

	for (int i = 0; i < 64; i++)
		due[i] = WEFT_NEVER;
	for (int step = 0; step < 20000; step++) {
		uint32_t i = (uint32_t)weft_rng_below(&w.rng, 64);

		due[i] = weft_rng_chance(&w.rng, 1, 8) ? WEFT_NEVER :
							  now + 1 + weft_rng_below(&w.rng, 1000);
		timer_set(ep, i, due[i]);
		now += weft_rng_below(&w.rng, 20);
		for (uint32_t t; (t = timer_pop(ep, now)) != UINT32_MAX;) {
			CHECK(due[t] <= now);
			due[t] = WEFT_NEVER;
		}
		for (int k = 0; k < 64; k++)
			CHECK(due[k] > now);
	}
	world_close(&w);
}
