/* SPDX-License-Identifier: BSD-2-Clause */
#include "small.h"

/* A load in which much goes wrong, so that a difference anywhere would spread. */
static struct small rough(uint32_t threads, uint64_t seed)
{
	struct small s = small_make(SMALL_FOUR);

	s.config.threads = threads;
	s.config.seed = seed;
	CHECK(weft_sim_incast(s.topo, 12, 100000, seed, s.flows));
	for (uint32_t i = 0; i < 12; i++)
		s.flows[12 + i] = (struct weft_sim_flow){ .src = i,
			.dst = 15 - i % 3,
			.len_bytes = 300000,
			.start_ps = i * UINT64_C(3000000) };
	s.n = 24;
	s.faults[s.n_faults++] = (struct weft_sim_fault){ UINT64_C(9000000), WEFT_SIM_NODE_DOWN,
		weft_topo_t1(s.topo, 1, 2), 0 };
	s.faults[s.n_faults++] = (struct weft_sim_fault){ UINT64_C(12000000), WEFT_SIM_LINK_DOWN,
		weft_topo_link_find(s.topo, "h14.p2"), 0 };
	s.faults[s.n_faults++] = (struct weft_sim_fault){ UINT64_C(80000000), WEFT_SIM_LINK_UP,
		weft_topo_link_find(s.topo, "h14.p2"), 0 };
	small_run(&s);
	CHECK_EQ(s.totals.flows_done, 24);
	CHECK(s.totals.trimmed > 0 && s.totals.lost > 0 && s.counters.paths_retired > 0);
	return s;
}

TEST(weft_sim_run__gives_the_same_for_any_number_of_threads)
{
	struct small one = rough(1, 1);

	for (uint32_t threads = 1; threads <= 4; threads++) {
		struct small many = rough(threads, 1);

		CHECK_EQ(many.totals.digest, one.totals.digest);
		CHECK_EQ(many.totals.packet_hops, one.totals.packet_hops);
		CHECK_EQ(many.totals.lost, one.totals.lost);
		CHECK_EQ(many.totals.windows, one.totals.windows);
		for (uint32_t i = 0; i < one.n; i++)
			CHECK_EQ(weft_sim_flow_ps(many.sim, i), weft_sim_flow_ps(one.sim, i));
		small_close(&many);
	}
	struct small other = rough(1, 2);

	CHECK(other.totals.digest != one.totals.digest);
	small_close(&other);
	small_close(&one);
}

static bool stop_after_ten(void *arg, const struct weft_sim_totals *so_far)
{
	CHECK(so_far->now_ps > 0 && so_far->packet_hops > 0 && so_far->flows_done < 16);
	return ++*(uint32_t *)arg < 10;
}

/* In pieces as in one: where it is interrupted does not show. */
TEST(weft_sim_run__can_be_interrupted)
{
	struct small whole = small_make(SMALL_ONE), pieces = small_make(SMALL_ONE);
	uint32_t windows = 0;

	pieces.config.threads = 2;
	small_permute(&whole, 500000);
	small_permute(&pieces, 500000);
	small_run(&whole);
	small_open(&pieces);
	weft_sim_run(pieces.sim, UINT64_C(5000000), NULL, NULL);
	weft_sim_totals(pieces.sim, &pieces.totals);
	CHECK(pieces.totals.now_ps >= 4000000 && pieces.totals.now_ps < 7000000);
	weft_sim_run(pieces.sim, UINT64_C(100000000000), stop_after_ten, &windows);
	CHECK_EQ(windows, 11); /* one had begun */
	weft_sim_totals(pieces.sim, &pieces.totals);
	CHECK(pieces.totals.flows_done < 16);
	small_run(&pieces);
	CHECK_EQ(pieces.totals.flows_done, 16);
	CHECK_EQ(pieces.totals.digest, whole.totals.digest);
	CHECK_EQ(pieces.totals.windows, whole.totals.windows);
	small_run(&pieces); /* it is over */
	CHECK_EQ(pieces.totals.windows, whole.totals.windows);
	small_close(&pieces);
	small_close(&whole);
}

TEST(weft_sim_run__ends_at_once_where_nothing_is_to_be_done)
{
	struct small s = small_make(SMALL_ONE);

	small_run(&s);
	CHECK_EQ(s.totals.packet_hops, 0);
	CHECK(s.totals.windows < 10);
	small_close(&s);
}

/* The 2 MB permutation of docs/simulator.md, small; uet-htsim's slowest of 128 is 1.12 x. */
TEST(weft_sim_run__gives_each_flow_of_a_permutation_its_line)
{
	struct small s = small_make(SMALL_ONE);

	small_permute(&s, 2000000);
	small_run(&s);
	double ratio = (double)small_last_ps(&s) / (double)weft_sim_ideal_ps(s.topo, s.flows, s.n);

	fprintf(stderr, "permutation of 16: slowest flow %.4f x ideal\n", ratio);
	CHECK(ratio >= 1.0 && ratio <= 1.05);
	CHECK_EQ(s.totals.lost, 0);
	CHECK_EQ(s.counters.tx_rtx_pkts + s.counters.timeouts + s.counters.tail_probes, 0);
	small_close(&s);
}
