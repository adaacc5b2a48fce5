/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <weft/cc.h>

static uint64_t state[WEFT_CC_STATE_MAX / 8];

static uint32_t window(struct weft_cc_config config)
{
	memset(state, 0, sizeof(state));
	weft_cc_fixed.init(state, &config);
	return weft_cc_fixed.window_bytes(state);
}

TEST(init__takes_the_window_that_is_set)
{
	struct weft_cc_config c = {
		.rate_bps = UINT64_C(800000000000), .mtu_bytes = 4096, .base_rtt_ns = 12000
	};

	CHECK_EQ(window(c), 1800000); /* 1.5 BDP */
	c.max_cwnd_bytes = 100000;
	CHECK_EQ(window(c), 100000);
	c.fixed_bytes = 50000;
	CHECK_EQ(window(c), 50000);
	c.fixed_bytes = 1; /* could never send a packet */
	CHECK_EQ(window(c), 4096);
	c.fixed_bytes = UINT32_MAX;
	CHECK_EQ(window(c), 1u << 30);
	CHECK_EQ(window((struct weft_cc_config){ .mtu_bytes = 4096 }), 4096);
}

TEST(on_ack__and_on_loss_change_nothing_but_the_report)
{
	struct weft_cc_report report;

	window((struct weft_cc_config){
		.mtu_bytes = 4096, .base_rtt_ns = 12000, .fixed_bytes = 50000 });
	weft_cc_fixed.on_ack(state, &(struct weft_cc_ack){ .now = 5,
					    .newly_bytes = 4096,
					    .rtt_ns = 99000,
					    .marked = true,
					    .penalty = 127 });
	weft_cc_fixed.on_loss(state, &(struct weft_cc_loss){ .now = 6, .lost_bytes = 40000 });
	CHECK_EQ(weft_cc_fixed.window_bytes(state), 50000);
	weft_cc_fixed.on_ack(state, &(struct weft_cc_ack){ .now = 7 });
	weft_cc_fixed.report(state, &report);
	CHECK_EQ(report.base_rtt_ns, 12000);
	weft_cc_fixed.on_ack(state, &(struct weft_cc_ack){ .now = 8, .rtt_ns = 9000 });
	weft_cc_fixed.report(state, &report);
	CHECK_EQ(report.base_rtt_ns, 9000);
	CHECK_EQ(report.cwnd_bytes, 50000);
}
