/* SPDX-License-Identifier: BSD-2-Clause */
#include "small.h"

TEST(weft_sim_totals__adds_up)
{
	struct small s = small_make(SMALL_ONE);
	uint64_t digest = 0;

	small_permute(&s, 100 * 4096);
	small_run(&s);
	CHECK_EQ(s.totals.flows_done, 16);
	CHECK_EQ(s.totals.flows_failed, 0);
	CHECK_EQ(s.counters.tx_data_pkts, 1600);
	CHECK_EQ(s.counters.tx_data_bytes, 16 * 100 * 4096);
	CHECK_EQ(s.counters.rx_data_pkts, 1600);
	CHECK_EQ(s.counters.tx_sack, s.counters.rx_sack);
	/* Every packet crosses two links or four. */
	uint64_t pkts = s.counters.tx_data_pkts + s.counters.tx_sack + s.counters.tx_ack;

	CHECK(s.totals.packet_hops >= 2 * pkts && s.totals.packet_hops <= 4 * pkts);
	for (uint32_t host = 0; host < 16; host++) {
		CHECK(weft_sim_host_digest(s.sim, host) != 0);
		digest =
			(digest ^ weft_sim_host_digest(s.sim, host)) * UINT64_C(0xbf58476d1ce4e5b9);
	}
	CHECK_EQ(s.totals.digest, digest);
	small_close(&s);
}

TEST(weft_sim_flow_ps__is_0_until_a_flow_is_done)
{
	struct small s = small_make(SMALL_ONE);

	small_permute(&s, 100 * 4096);
	small_open(&s);
	weft_sim_run(s.sim, 5000000, NULL, NULL);
	CHECK_EQ(weft_sim_flow_ps(s.sim, 3), 0);
	small_run(&s);
	CHECK(weft_sim_flow_ps(s.sim, 3) > 0);
	CHECK_PANICS(weft_sim_flow_ps(s.sim, 16));
	small_close(&s);
}
