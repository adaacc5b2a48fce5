/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <weft/cc.h>

TEST(weft_cc_all__is_complete)
{
	const struct weft_cc_config config = {
		.rate_bps = UINT64_C(100000000000), .mtu_bytes = 4096, .base_rtt_ns = 12000
	};
	unsigned n = 0;

	for (const struct weft_cc_ops *const *at = weft_cc_all; *at; at++, n++) {
		const struct weft_cc_ops *cc = *at;
		uint64_t state[WEFT_CC_STATE_MAX / 8] = { 0 };
		struct weft_cc_report report;

		CHECK(cc->name && cc->name[0]);
		CHECK(cc->state_bytes > 0 && cc->state_bytes <= WEFT_CC_STATE_MAX);
		cc->init(state, &config);
		cc->on_ack(state, &(struct weft_cc_ack){ .now = 1, .newly_bytes = 4096 });
		cc->on_loss(state, &(struct weft_cc_loss){ .now = 1, .lost_bytes = 4096 });
		cc->report(state, &report);
		CHECK_EQ(report.cwnd_bytes, cc->window_bytes(state));
		CHECK(report.cwnd_bytes >= 4096);
		/* Nothing may be written behind the promised size. */
		for (size_t i = cc->state_bytes; i < sizeof(state); i++)
			CHECK_EQ(((const unsigned char *)state)[i], 0);
	}
	CHECK(n >= 2);
}

TEST(weft_cc_find__wants_the_whole_name)
{
	CHECK(weft_cc_find("fixed") == &weft_cc_fixed);
	CHECK(weft_cc_find("uet-1.0-nscc") == &weft_cc_nscc);
	CHECK(!weft_cc_find("uet-1.0-nsc"));
	CHECK(!weft_cc_find("uet-1.0-nscc "));
	CHECK(!weft_cc_find(""));
	CHECK_PANICS((void)weft_cc_find(NULL));
}
