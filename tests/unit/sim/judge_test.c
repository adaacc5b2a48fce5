/* SPDX-License-Identifier: BSD-2-Clause */
#include "small.h"

static void refuse(const struct weft_sim_flow flows[], uint32_t n,
	const struct weft_sim_edge edges[], uint32_t n_edges, const char *want)
{
	struct small s = small_make(SMALL_ONE);

	s.config.edges = edges;
	s.config.n_edges = n_edges;
	CHECK(!judge_flows(&s.config, flows, n, s.error, sizeof(s.error)));
	CHECK_STR(s.error, want);
	small_close(&s);
}

TEST(judge_flows__names_what_cannot_be)
{
	struct weft_sim_flow f[2] = { { .src = 1, .dst = 2, .len_bytes = 9 },
		{ .src = 2, .dst = 3, .len_bytes = 9, .n_after = 1 } };
	struct weft_sim_edge e = { .flow = 0 };

	f[0].dst = 16;
	refuse(f, 1, &e, 1, "flow 0: from 1 to 16, wanted are two different hosts below 16");
	f[0].dst = 1;
	refuse(f, 1, &e, 1, "flow 0: from 1 to 1, wanted are two different hosts below 16");
	f[0] = (struct weft_sim_flow){ .src = 1, .dst = 2 };
	refuse(f, 1, &e, 1, "flow 0: 0 bytes");
	f[0].len_bytes = 9;
	f[1].after_first = 1;
	refuse(f, 2, &e, 1, "flow 1: edges 1 to 2, there are 1");
	f[1].after_first = UINT32_MAX;
	refuse(f, 2, &e, 1, "flow 1: edges 4294967295 to 0, there are 1");
	f[1].after_first = 0;
	e.flow = 2;
	refuse(f, 2, &e, 1, "flow 1: waits for flow 2 of 2");
	e.flow = 0;
	f[1].src = 4;
	refuse(f, 2, &e, 1,
		"flow 1: begins at host 4 and waits for flow 0, which neither begins nor ends"
		" there");
	f[1].src = 2;
	f[1].repeats = 3;
	refuse(f, 2, &e, 1, "flow 1: repeated 3 times, and flow 0 that it waits for, 1 times");
}

TEST(judge_flows__finds_circles)
{
	struct weft_sim_flow f[3] = { { .src = 1, .dst = 2, .len_bytes = 9 },
		{ .src = 2, .dst = 3, .len_bytes = 9, .after_first = 0, .n_after = 2 },
		{ .src = 3, .dst = 2, .len_bytes = 9, .after_first = 2, .n_after = 1 } };
	struct weft_sim_edge e[] = { { .flow = 0 }, { .flow = 2 }, { .flow = 1 } };

	refuse(f, 3, e, 3, "flow 1: it waits for flows that wait for it");
	e[1].lag = WEFT_SIM_WHOLE;
	refuse(f, 3, e, 3, "flow 1: it waits for flows that wait for it");
}

/* 0 waits for 1, which is in a circle with 2; 3 waits for nobody. */
TEST(weft_sim_circle__names_one_that_is_in_it)
{
	static const struct weft_sim_edge edges[] = { { .flow = 1 }, { .flow = 2 }, { .flow = 1 } };
	struct weft_sim_flow flows[] = { { .after_first = 0, .n_after = 1 },
		{ .after_first = 1, .n_after = 1 }, { .after_first = 2, .n_after = 1 },
		{ .after_first = 3 } };
	uint32_t circle = weft_sim_circle(flows, 4, edges, 3);

	CHECK_EQ(circle, 1);
	flows[2].n_after = 0;
	CHECK_EQ(weft_sim_circle(flows, 4, edges, 3), UINT32_MAX);
	CHECK_EQ(weft_sim_circle(flows, 0, edges, 0), UINT32_MAX);
}

/* A ring of rings: each repetition waits for the one before of the neighbour. */
TEST(judge_flows__lets_repetitions_go_round)
{
	struct small s = small_make(SMALL_ONE);
	struct weft_sim_flow f[2] = {
		{ .src = 1, .dst = 2, .len_bytes = 9, .repeats = 4, .n_after = 1 },
		{ .src = 2, .dst = 1, .len_bytes = 9, .repeats = 4, .after_first = 1, .n_after = 1 }
	};
	struct weft_sim_edge e[] = { { .flow = 1, .lag = 1 }, { .flow = 0, .lag = 1 } };

	s.config.edges = e;
	s.config.n_edges = 2;
	CHECK(judge_flows(&s.config, f, 2, s.error, sizeof(s.error)));
	small_close(&s);
}
