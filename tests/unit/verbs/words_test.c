/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_device.h"

TEST(words__are_there_for_every_value_and_no_other)
{
	for (int i = 0; i <= IBV_WC_TM_RNDV_INCOMPLETE; i++)
		CHECK(strcmp(ibv_wc_status_str((enum ibv_wc_status)i), "unknown"));
	CHECK_STR(ibv_wc_status_str((enum ibv_wc_status)99), "unknown");
	for (int i = 0; i <= IBV_EVENT_WQ_FATAL; i++)
		CHECK(strcmp(ibv_event_type_str((enum ibv_event_type)i), "unknown"));
	CHECK_STR(ibv_event_type_str((enum ibv_event_type)99), "unknown");
	CHECK_STR(ibv_port_state_str(IBV_PORT_ACTIVE), "active");
	CHECK_STR(ibv_port_state_str((enum ibv_port_state)9), "unknown");
	CHECK_STR(ibv_node_type_str(IBV_NODE_CA), "InfiniBand channel adapter");
	CHECK_STR(ibv_node_type_str(IBV_NODE_UNKNOWN), "unknown");
}

TEST(rates__go_there_and_back)
{
	for (int rate = IBV_RATE_2_5_GBPS; rate <= IBV_RATE_1200_GBPS; rate++) {
		int mult = ibv_rate_to_mult((enum ibv_rate)rate);
		int mbps = ibv_rate_to_mbps((enum ibv_rate)rate);

		CHECK(mbps > 0);
		CHECK_EQ(mbps_to_ibv_rate(mbps), rate);
		if (mult > 0) {
			CHECK_EQ(mult * 2500, mbps);
			CHECK_EQ(mult_to_ibv_rate(mult), rate);
		}
	}
	CHECK_EQ(ibv_rate_to_mult(IBV_RATE_100_GBPS), -1);
	CHECK_EQ(ibv_rate_to_mbps(IBV_RATE_MAX), -1);
	CHECK_EQ(mult_to_ibv_rate(7), IBV_RATE_MAX);
	CHECK_EQ(mbps_to_ibv_rate(7), IBV_RATE_MAX);
}
