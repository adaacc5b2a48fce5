/* SPDX-License-Identifier: BSD-2-Clause */
#include "small.h"

TEST(wiring_make__has_one_connection_per_pair_and_job)
{
	struct weft_sim_flow f[] = { { .src = 3, .dst = 1, .len_bytes = 1 },
		{ .src = 1, .dst = 2, .len_bytes = 1, .repeats = 3 },
		{ .src = 3, .dst = 1, .len_bytes = 1 },
		{ .src = 3, .dst = 1, .len_bytes = 1, .job = 1 },
		{ .src = 1, .dst = 1, .delay_ps = 5 },
		{ .src = 1, .dst = 3, .len_bytes = 1, .repeats = 100, .told = true } };
	const uint32_t conns[] = { 0, 1, 0, 2, NONE, 3 };
	struct wiring w;

	REQUIRE(wiring_make(&w, f, 6, NULL, 4));
	CHECK_EQ(w.n_conns, 4);
	for (unsigned i = 0; i < 6; i++)
		CHECK_EQ(w.conn_of[i], conns[i]);
	CHECK_EQ(w.conns[0].depth, 2);
	CHECK_EQ(w.conns[1].depth, 3);
	CHECK_EQ(w.conns[3].depth, DEPTH_MAX);
	CHECK(!w.conns[0].told && w.conns[3].told);
	/* Host 1: ends of connections 0, 1, 2, 3, in that order. */
	CHECK_EQ(w.ends_of[2] - w.ends_of[1], 4);
	CHECK_EQ(w.ends[w.ends_of[1]], 1);
	CHECK_EQ(w.ends[w.ends_of[1] + 1], 2);
	CHECK_EQ(w.ends[w.ends_of[1] + 2], 5);
	CHECK_EQ(w.ends[w.ends_of[1] + 3], 6);
	CHECK_EQ(w.of_host[1].sends, 2);
	CHECK_EQ(w.of_host[1].receives, 2);
	CHECK_EQ(w.of_host[1].sets, 2); /* to 2, and to 3 whom it hears as well */
	CHECK_EQ(w.of_host[1].send_sets, 2);
	CHECK_EQ(w.of_host[2].send_sets, 0);
	CHECK_EQ(w.of_host[1].depth, 16);
	CHECK(w.of_host[3].listens && !w.of_host[1].listens && w.of_host[1].told);
	CHECK_EQ(w.flow_ends[5].lead, 1);
	CHECK(w.flow_ends[1].sends);
	wiring_drop(&w);
	CHECK(!w.memory);
}

TEST(wiring_make__tells_those_whom_somebody_waits_for)
{
	struct weft_sim_flow f[] = { { .src = 0, .dst = 1, .len_bytes = 1 },
		{ .src = 1, .dst = 2, .len_bytes = 1, .after_first = 0, .n_after = 1 },
		{ .src = 1, .dst = 3, .len_bytes = 1, .after_first = 1, .n_after = 1 } };
	struct weft_sim_edge e[] = { { .flow = 0 }, { .flow = 1 } };
	struct wiring w;

	REQUIRE(wiring_make(&w, f, 3, e, 4));
	CHECK_EQ(w.told[0], 1); /* the second is waited for where it begins */
	wiring_drop(&w);
}
