/* SPDX-License-Identifier: BSD-2-Clause */
#include "small.h"

/* One packet in an empty fabric: there, and its SACK back, to the picosecond of the ideal; the
 * engine counts in whole nanoseconds, so each of its two answers may be one late.
 */
TEST(mrc_run__takes_exactly_as_long_as_arithmetic_says)
{
	static const char *const fabrics[] = { SMALL_ONE, SMALL_FOUR };

	for (unsigned f = 0; f < WEFT_COUNT(fabrics); f++) {
		struct small s = small_make(fabrics[f]);

		s.flows[s.n++] = (struct weft_sim_flow){ .src = 0, .dst = 15, .len_bytes = 4096 };
		small_run(&s);
		uint64_t ideal_ps = weft_sim_ideal_ps(s.topo, s.flows, s.n);
		uint64_t ack_ps = line_ps(s.sim->shape.host_bps, ACK_BYTES);

		/* The work is done when the transport ACK behind the SACK has come. */
		CHECK(weft_sim_flow_ps(s.sim, 0) >= ideal_ps - 1000);
		CHECK(weft_sim_flow_ps(s.sim, 0) <= ideal_ps + 4 * ack_ps + 1000);
		CHECK(s.totals.packet_hops >= 4 * 3); /* and a probe of the way back */
		small_close(&s);
	}
}

TEST(mrc_run__starts_flows_when_they_are_due)
{
	struct small s = small_make(SMALL_ONE);

	s.flows[s.n++] = (struct weft_sim_flow){ .src = 0, .dst = 15, .len_bytes = 4096 };
	s.flows[s.n++] = (struct weft_sim_flow){
		.src = 0, .dst = 15, .len_bytes = 4096, .start_ps = UINT64_C(5000000000)
	};
	s.flows[s.n++] = (struct weft_sim_flow){
		.src = 0, .dst = 15, .len_bytes = 4096, .start_ps = UINT64_C(2000000000)
	};
	small_run(&s);
	CHECK_EQ(s.totals.flows_done, 3);
	CHECK_EQ(weft_sim_flow_ps(s.sim, 1), weft_sim_flow_ps(s.sim, 0));
	CHECK_EQ(weft_sim_flow_ps(s.sim, 2), weft_sim_flow_ps(s.sim, 0));
	CHECK(s.totals.now_ps >= UINT64_C(5000000000));
	/* Little happens between them, and nobody walks through five thousand windows. */
	CHECK(s.totals.windows < 1000);
	small_close(&s);
}

/*
 * A message that waits for room in its connection leaves when the one before it is done, not when
 * the host next has something else to do.
 */
TEST(mrc_run__sends_what_has_waited_at_once)
{
	struct small one = small_make(SMALL_ONE), many = small_make(SMALL_ONE);
	uint64_t first_ps = WEFT_NEVER, last_ps = 0;

	one.flows[one.n++] = (struct weft_sim_flow){ .src = 0, .dst = 15, .len_bytes = 64 };
	small_run(&one);
	for (; many.n < DEPTH_MAX + 1; many.n++)
		many.flows[many.n] = one.flows[0];
	small_run(&many);
	for (uint32_t i = 0; i < many.n; i++) {
		struct weft_sim_times times;

		weft_sim_flow_times(many.sim, i, &times);
		first_ps = WEFT_MIN(first_ps, times.done_ps);
		last_ps = WEFT_MAX(last_ps, times.done_ps);
	}
	CHECK(last_ps - first_ps <= weft_sim_flow_ps(one.sim, 0) + 1000);
	small_close(&one);
	small_close(&many);
}
