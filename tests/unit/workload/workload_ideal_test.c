/* SPDX-License-Identifier: BSD-2-Clause */
#include "few.h"

/* 7 into one: the receiver's line. */
TEST(weft_workload_ideal_ps__is_the_busiest_line)
{
	struct few f = few_open("incast:7,bytes=1MB,start=3us");
	uint64_t ideal_ps = weft_workload_ideal_ps(&f.load, f.topo);

	CHECK_EQ(ideal_ps, 3000000 + weft_sim_ideal_ps(f.topo, f.load.flows, f.load.n));
	CHECK(ideal_ps > UINT64_C(7) * 20000000 && ideal_ps < UINT64_C(7) * 22000000 + 20000000);
	few_close(&f);
}

/* A quick flow ahead of a slow one: what is looked at is when, not how far it has come since. */
TEST(weft_workload_ideal_ps__does_not_wait_for_later_repetitions)
{
	struct few f = few_make(NULL);
	struct weft_sim_flow flows[] = {
		{ .src = 1, .dst = 1, .delay_ps = 1000, .repeats = 100, .n_after = 1 },
		{ .src = 1,
			.dst = 1,
			.delay_ps = 5000,
			.repeats = 100,
			.after_first = 1,
			.n_after = 2 }
	};
	struct weft_sim_edge edges[] = { { 0, 1 }, { 0, 0 }, { 1, 1 } };

	f.load.flows = flows;
	f.load.n = 2;
	f.load.edges = edges;
	f.load.n_edges = 3;
	CHECK_EQ(weft_workload_ideal_ps(&f.load, f.topo), 1000 + 100 * 5000);
	weft_topo_close(f.topo);
}
