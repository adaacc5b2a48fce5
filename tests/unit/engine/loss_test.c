/* SPDX-License-Identifier: BSD-2-Clause */
#include "world.h"

static uint64_t fault_from_ns;
static uint32_t fault_percent_ev;
static uint32_t fault_permille;

static void setup(struct world *w, uint32_t paths)
{
	struct weft_config config;

	world_config(&config);
	world_open(w, &config);
	world_connect(w, paths, paths / 2, &weft_cc_nscc);
}

static void report(const struct world *w)
{
	for (unsigned i = 0; weft_counter_name(i); i++) {
		uint64_t a = weft_counter_value(weft_stats(w->end[0]), i);
		uint64_t b = weft_counter_value(weft_stats(w->end[1]), i);

		if (a || b)
			fprintf(stderr, "  %-20s %10lu %10lu\n", weft_counter_name(i), a, b);
	}
}

static bool one_path_dies(struct world *w, int from, struct weft_pkt *pkt)
{
	return from == 0 && w->now >= fault_from_ns && pkt->ev == fault_percent_ev;
}

static bool one_plane_dies(struct world *w, int from, struct weft_pkt *pkt)
{
	(void)from;
	return w->now >= fault_from_ns && pkt->port == 3;
}

static bool one_path_loses(struct world *w, int from, struct weft_pkt *pkt)
{
	return from == 0 && pkt->ev == fault_percent_ev && weft_rng_chance(&w->rng, 20, 100);
}

static bool everything_loses(struct world *w, int from, struct weft_pkt *pkt)
{
	(void)from;
	(void)pkt;
	return weft_rng_chance(&w->rng, fault_permille, 1000);
}

static struct weft_path_info path_of(struct world *w, int end, uint32_t ev)
{
	struct weft_path_info info = { 0 };

	for (uint32_t i = 0; !weft_path_info(w->end[end], w->set[end], i, &info); i++)
		if (info.ev == ev)
			break;
	return info;
}

static void transfer(struct world *w, const char *name, uint64_t limit_ns)
{
	struct weft_done done = { 0 };
	uint64_t start = w->now;

	world_write(w, 0, 1, 0, WORLD_MEMORY);
	CHECK_EQ(world_wait(w, 0, 1, limit_ns, &done), 1);
	CHECK_EQ(done.status, WEFT_OK);
	CHECK_MEM(w->memory[1], w->memory[0], WORLD_MEMORY);
	fprintf(stderr, "%s: took %lu ns dropped %lu longest gap %lu\n", name, w->now - start, w->dropped, w->longest_gap_ns);
}

TEST(loss__a_silent_path_is_bypassed_within_3_rtt)
{
	struct world w = { .check = true, .fault = one_path_dies };

	setup(&w, 256);
	fault_from_ns = w.now + 50000;
	fault_percent_ev = 2u << 11 | 5;
	transfer(&w, "path dies", 10000000);
	struct weft_path_info info = path_of(&w, 0, fault_percent_ev);
	fprintf(stderr, "state %u after %lu ns sent %u acked %u lost %u\n", info.state, info.changed_ns - fault_from_ns, info.sent, info.acked, info.lost);
	CHECK(info.changed_ns - fault_from_ns < 36000);
	report(&w);
	world_close(&w);
}

TEST(loss__a_silent_plane_is_given_up_as_a_whole)
{
	struct world w = { .check = true, .fault = one_plane_dies };

	setup(&w, 256);
	fault_from_ns = w.now + 50000;
	transfer(&w, "plane dies", 10000000);
	report(&w);
	world_close(&w);
}

TEST(loss__a_path_that_loses_20_percent_is_out_within_100_us)
{
	struct world w = { .check = true, .fault = one_path_loses };

	setup(&w, 16);
	fault_percent_ev = 2u << 11 | 0;
	transfer(&w, "20 %", 10000000);
	report(&w);
	world_close(&w);
}

TEST(loss__one_percent_everywhere)
{
	struct world w = { .check = true, .fault = everything_loses };

	setup(&w, 256);
	fault_permille = 10;
	transfer(&w, "1 %", 10000000);
	report(&w);
	world_close(&w);
}

TEST(loss__thirty_percent_everywhere)
{
	struct world w = { .check = true, .fault = everything_loses };

	setup(&w, 16);
	fault_permille = 300;
	transfer(&w, "30 %", 1000000000);
	report(&w);
	world_close(&w);
}
