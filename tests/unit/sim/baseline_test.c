/* SPDX-License-Identifier: BSD-2-Clause */
#include "small.h"

static struct small make(const char *fabric, enum weft_baseline_kind kind)
{
	struct small s = small_make(fabric);

	s.config.baseline.kind = kind;
	s.config.discipline = kind == WEFT_BASELINE_SPRAY || kind == WEFT_BASELINE_NDP
				      ? WEFT_DISCIPLINE_TRIM
				      : WEFT_DISCIPLINE_DROP_TAIL;
	return s;
}

/* One packet in an empty fabric takes what arithmetic says, to the picosecond: a SACK is as long
 * as the shortest frame and 32 bytes, and crosses four links.
 */
TEST(baseline_run__takes_exactly_as_long_as_arithmetic_says)
{
	struct small s = make(SMALL_ONE, WEFT_BASELINE_ROCE);

	s.flows[s.n++] = (struct weft_sim_flow){ .src = 0, .dst = 15, .len_bytes = 4096 };
	small_run(&s);
	CHECK_EQ(weft_sim_flow_ps(s.sim, 0), weft_sim_ideal_ps(s.topo, s.flows, s.n));
	CHECK_EQ(s.totals.packet_hops, 8);
	small_close(&s);
}

/* Every kind on one plane and four, whole: nothing is left over, and the same for two threads. */
TEST(baseline_run__is_the_same_for_any_number_of_threads)
{
	for (unsigned i = 0; i < 2 * (WEFT_BASELINE_KINDS - 1); i++) {
		uint64_t digest = 0;

		for (uint32_t threads = 1; threads <= 3; threads += 2) {
			struct small s = make(i % 2 ? SMALL_FOUR : SMALL_ONE,
				(enum weft_baseline_kind)(WEFT_BASELINE_ROCE + i / 2));

			s.config.threads = threads;
			s.config.baseline.qps = 2;
			small_permute(&s, 300000);
			s.flows[0].dst =
				s.flows[1].dst == 0 ? 2 : s.flows[1].dst; /* a small incast */
			small_run(&s);
			CHECK_EQ(s.totals.flows_done, 16);
			CHECK_EQ(s.counters.rx_data_bytes, 16 * 300000);
			CHECK(!digest || digest == s.totals.digest);
			digest = s.totals.digest;
			small_close(&s);
		}
	}
}

/* Edges: what waits for an arrival begins when the last byte has come, over baselines too. */
TEST(baseline_run__tells_of_arrivals)
{
	static const struct weft_sim_edge edges[] = { { .flow = 0, .lag = 0 } };
	struct small s = make(SMALL_ONE, WEFT_BASELINE_ROCE_SR);
	struct weft_sim_times first, second;

	s.config.edges = edges;
	s.config.n_edges = 1;
	s.flows[s.n++] =
		(struct weft_sim_flow){ .src = 0, .dst = 15, .len_bytes = 40960, .repeats = 3 };
	s.flows[s.n++] = (struct weft_sim_flow){
		.src = 15, .dst = 3, .len_bytes = 4096, .repeats = 3, .n_after = 1
	};
	small_run(&s);
	CHECK_EQ(s.totals.flows_done, 2);
	weft_sim_flow_times(s.sim, 0, &first);
	weft_sim_flow_times(s.sim, 1, &second);
	CHECK(first.arrived_ps > 0 && second.started_ps > 0);
	CHECK(second.started_ps < first.arrived_ps && second.done_ps > first.arrived_ps);
	small_close(&s);
}

/* 8:1 with PFC: nothing is lost, and the line is full; without it go-back-N wastes it. */
TEST(baseline_run__loses_nothing_where_switches_pause)
{
	uint64_t last_ps[2];

	for (unsigned pauses = 0; pauses < 2; pauses++) {
		struct small s = make(SMALL_ONE, WEFT_BASELINE_ROCE);

		s.config.discipline = pauses ? WEFT_DISCIPLINE_LOSSLESS : WEFT_DISCIPLINE_DROP_TAIL;
		CHECK(weft_sim_incast(s.topo, 8, 1000000, 1, s.flows));
		s.n = 8;
		small_run(&s);
		CHECK_EQ(s.totals.flows_done, 8);
		CHECK_EQ(s.totals.pauses > 0, pauses);
		last_ps[pauses] = small_last_ps(&s) * 100 / weft_sim_ideal_ps(s.topo, s.flows, s.n);
		if (pauses)
			CHECK_EQ(s.totals.lost + s.counters.tx_rtx_pkts, 0);
		else
			CHECK(s.totals.lost > 0 && s.counters.tx_rtx_pkts > 1000);
		small_close(&s);
	}
	CHECK(last_ps[1] <= 103);
	CHECK(last_ps[0] >= 130);
}

TEST(plan_make__refuses_baselines_that_cannot_be)
{
	struct small s = make(SMALL_ONE, WEFT_BASELINE_NDP);
	struct weft_sim_memory memory;

	s.config.baseline.dcqcn = true;
	CHECK(weft_sim_estimate(&s.config, s.flows, 0, &memory, s.error, sizeof(s.error)) < 0);
	CHECK_STR(s.error, "transport: ndp has no DCQCN");
	s.config.baseline =
		(struct weft_baseline_settings){ .kind = WEFT_BASELINE_ROCE, .qps = 17 };
	CHECK(weft_sim_estimate(&s.config, s.flows, 0, &memory, s.error, sizeof(s.error)) < 0);
	CHECK_STR(s.error, "qps: 17, allowed is 1 to 16");
	s.config.baseline.kind = WEFT_BASELINE_NONE;
	s.config.discipline = WEFT_DISCIPLINE_LOSSLESS;
	CHECK(weft_sim_estimate(&s.config, s.flows, 0, &memory, s.error, sizeof(s.error)) < 0);
	small_close(&s);
}
