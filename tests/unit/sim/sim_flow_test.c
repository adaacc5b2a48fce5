/* SPDX-License-Identifier: BSD-2-Clause */
#include "small.h"

static struct weft_sim_times times_of(const struct small *s, uint32_t flow)
{
	struct weft_sim_times t;

	weft_sim_flow_times(s->sim, flow, &t);
	return t;
}

TEST(flow_start__waits_for_arrivals_completions_and_computing)
{
	static const struct weft_sim_edge edges[] = { { .flow = 0 }, { .flow = 1 }, { .flow = 2 } };
	struct small s = small_make(SMALL_ONE);

	s.flows[0] = (struct weft_sim_flow){ .src = 0, .dst = 5, .len_bytes = 100000 };
	s.flows[1] = (struct weft_sim_flow){
		.src = 5, .dst = 5, .delay_ps = 7000000, .after_first = 0, .n_after = 1
	};
	s.flows[2] = (struct weft_sim_flow){ .src = 5,
		.dst = 9,
		.len_bytes = 100000,
		.after_first = 1,
		.n_after = 1,
		.told = true };
	s.flows[3] = (struct weft_sim_flow){ .src = 5,
		.dst = 1,
		.len_bytes = 100,
		.delay_ps = 1000000,
		.after_first = 2,
		.n_after = 1 };
	s.n = 4;
	s.config.edges = edges;
	s.config.n_edges = 3;
	small_run(&s);
	CHECK_EQ(s.totals.flows_done, 4);
	struct weft_sim_times a = times_of(&s, 0), b = times_of(&s, 1), c = times_of(&s, 2),
			      d = times_of(&s, 3);

	CHECK(a.arrived_ps > 0 && a.arrived_ps < a.done_ps); /* the acknowledgement is later */
	CHECK_EQ(b.done_ps, a.arrived_ps + 7000000);
	CHECK_EQ(c.started_ps, b.done_ps);
	CHECK(c.arrived_ps > c.started_ps && c.arrived_ps < c.done_ps);
	CHECK_EQ(d.started_ps, c.done_ps + 1000000);
	CHECK_EQ(d.arrived_ps, 0);
	struct weft_hist hist;

	weft_sim_messages(s.sim, &hist);
	CHECK_EQ(hist.n, 3);
	CHECK(hist.max * 1000 <= WEFT_MAX(a.done_ps, c.done_ps - c.started_ps) + 1000);
	small_close(&s);
}

TEST(flow_start__keeps_connections_filled_and_in_order)
{
	struct small s = small_make(SMALL_ONE);

	for (uint32_t i = 0; i < 40; i++)
		s.flows[i] = (struct weft_sim_flow){
			.src = 3, .dst = 12, .len_bytes = 50000, .told = i % 2
		};
	s.n = 40;
	small_run(&s);
	CHECK_EQ(s.totals.flows_done, 40);
	CHECK_EQ(s.sim->wiring.n_conns, 1);
	for (uint32_t i = 1; i < 40; i++) {
		CHECK(times_of(&s, i).done_ps >= times_of(&s, i - 1).done_ps);
		CHECK_EQ(!times_of(&s, i).arrived_ps, i % 2 == 0);
	}
	/* As quick as one flow of that size: the line never waits for an acknowledgement. */
	struct weft_sim_flow whole = { .src = 3, .dst = 12, .len_bytes = 2000000 };
	uint64_t ideal_ps = weft_sim_ideal_ps(s.topo, &whole, 1);

	CHECK(times_of(&s, 39).done_ps < ideal_ps + ideal_ps / 10);
	small_close(&s);
}

/* All-reduce over a ring of n: 2 (n - 1) steps, each when the neighbour's before has come. */
static struct small ring(uint32_t threads, uint32_t n, uint32_t bytes, struct weft_sim_edge edges[])
{
	struct small s = small_make(SMALL_FOUR);

	for (uint32_t i = 0; i < n; i++) {
		edges[i] = (struct weft_sim_edge){ .flow = (i + n - 1) % n, .lag = 1 };
		s.flows[i] = (struct weft_sim_flow){ .src = i,
			.dst = (i + 1) % n,
			.len_bytes = bytes / n,
			.repeats = 2 * (n - 1),
			.after_first = i,
			.n_after = 1,
			.told = true };
	}
	s.n = n;
	s.config.threads = threads;
	s.config.edges = edges;
	s.config.n_edges = n;
	small_run(&s);
	return s;
}

TEST(flow_start__repeats_around_a_ring)
{
	struct weft_sim_edge edges[16];
	struct small one = ring(1, 16, 1600000, edges), four = ring(4, 16, 1600000, edges);
	struct weft_hist hist;

	CHECK_EQ(one.totals.flows_done, 16);
	CHECK_EQ(one.totals.digest, four.totals.digest);
	weft_sim_messages(four.sim, &hist);
	CHECK_EQ(hist.n, 16 * 30);
	uint64_t bytes = (uint64_t)100000 * 30 * 16;

	CHECK_EQ(one.counters.rx_data_bytes, bytes);
	for (uint32_t i = 0; i < 16; i++) {
		struct weft_sim_times a = times_of(&one, i), b = times_of(&four, i);

		CHECK_EQ(a.done_ps, b.done_ps);
		CHECK_EQ(a.arrived_ps, b.arrived_ps);
		/* 30 steps of 100 kB at 400 Gb/s and a microsecond or two of way: no less. */
		CHECK(a.arrived_ps > UINT64_C(30) * 2000000);
	}
	small_close(&one);
	small_close(&four);
}

TEST(flow_start__waits_for_the_whole_of_what_is_repeated)
{
	static const struct weft_sim_edge edges[] = { { .flow = 0, .lag = WEFT_SIM_WHOLE },
		{ .flow = 1, .lag = 1 } };
	struct small s = small_make(SMALL_ONE);

	s.flows[0] = (struct weft_sim_flow){ .src = 0, .dst = 5, .len_bytes = 5000, .repeats = 20 };
	s.flows[1] = (struct weft_sim_flow){
		.src = 5, .dst = 5, .delay_ps = 1000000, .repeats = 5, .n_after = 2
	};
	s.n = 2;
	s.config.edges = edges;
	s.config.n_edges = 2;
	small_run(&s);
	CHECK_EQ(s.totals.flows_done, 2);
	CHECK_EQ(times_of(&s, 1).done_ps, times_of(&s, 0).arrived_ps + 5000000);
	small_close(&s);
}

/* Its connection has failed: what waits for it never begins, and the run ends. */
TEST(flow_on_done__lets_nobody_begin_after_a_failure)
{
	static const struct weft_sim_edge edges[] = { { .flow = 0 } };
	struct small s = small_make("name: cut\nplanes: 1\nt0s: 2\nt1s: 1\nhosts: 4\n"
				    "host_links: {speed: 400Gb/s, delay: 1us}\n"
				    "core_links: {speed: 400Gb/s, delay: 1us}\n"
				    "overrides:\n  - {link: h3.p0, cabled: false}\n");

	s.flows[0] = (struct weft_sim_flow){ .src = 0, .dst = 3, .len_bytes = 5000, .repeats = 3 };
	s.flows[1] = (struct weft_sim_flow){ .src = 0, .dst = 1, .len_bytes = 5000, .n_after = 1 };
	s.n = 2;
	s.config.paths = s.config.reply_paths = 1;
	s.config.edges = edges;
	s.config.n_edges = 1;
	small_run(&s);
	CHECK_EQ(s.totals.flows_failed, 1);
	CHECK_EQ(s.totals.flows_done, 0);
	CHECK_EQ(times_of(&s, 1).done_ps, 0);
	small_close(&s);
}
