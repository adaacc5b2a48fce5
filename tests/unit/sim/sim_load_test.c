/* SPDX-License-Identifier: BSD-2-Clause */
#include "small.h"

TEST(weft_sim_permutation__is_one_cycle)
{
	struct small s = small_make(SMALL_ONE);
	uint32_t at = 0, steps = 0;

	small_permute(&s, 1000);
	do {
		CHECK_EQ(s.flows[at].src, at);
		CHECK_EQ(s.flows[at].len_bytes, 1000);
		at = s.flows[at].dst;
		steps++;
	} while (at && steps < 100);
	CHECK_EQ(steps, 16);
	uint32_t first = s.flows[0].dst, differ = 0;

	for (uint64_t seed = 2; seed < 10; seed++) {
		weft_sim_permutation(s.topo, 1000, seed, s.flows);
		differ += s.flows[0].dst != first;
	}
	CHECK(differ > 0);
	small_close(&s);
}

TEST(weft_sim_incast__takes_senders_from_other_t0s)
{
	struct small s = small_make(SMALL_ONE);
	bool sends[16] = { false };

	CHECK(weft_sim_incast(s.topo, 12, 500, 1, s.flows));
	for (uint32_t i = 0; i < 12; i++) {
		CHECK(s.flows[i].src >= 4 && s.flows[i].src < 16);
		CHECK(!sends[s.flows[i].src]);
		CHECK_EQ(s.flows[i].dst, 0);
		sends[s.flows[i].src] = true;
	}
	CHECK(!weft_sim_incast(s.topo, 13, 500, 1, s.flows));
	CHECK(!weft_sim_incast(s.topo, 0, 500, 1, s.flows));
	small_close(&s);
}

TEST(weft_sim_ring__sends_from_each_host_to_the_next)
{
	struct small s = small_make(SMALL_ONE);

	weft_sim_ring(s.topo, 700, s.flows);
	for (uint32_t i = 0; i < 16; i++) {
		CHECK_EQ(s.flows[i].src, i);
		CHECK_EQ(s.flows[i].dst, (i + 1) % 16);
		CHECK_EQ(s.flows[i].len_bytes, 700);
	}
	s.n = 16;
	small_run(&s);
	CHECK_EQ(s.totals.flows_done, 16);
	small_close(&s);
}
