/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

static struct pair pair;

/* What frames count is compared with the switch in twin.h; here is what it has no twin of. */
TEST(weft_xdp_port_counters__know_the_deepest_queue)
{
	const uint16_t usids[6] = { PAIR_OWN, 2, 5 };
	uint8_t frame[1000], out[FRAME_MAX];
	struct weft_port_counters c;

	memset(&pair, 0, sizeof(pair));
	pair.rate_bps = 1000000000;
	pair_open(&pair);
	pair_frame(frame, sizeof(frame), usids, TCLASS_DATA, 17);
	for (unsigned i = 0; i < 20; i++) {
		size_t bytes = sizeof(frame);

		CHECK(pair_run(&pair, 0, frame, out, &bytes));
	}
	CHECK_EQ(weft_xdp_depth_bytes(pair.xdp, 1, WEFT_QUEUE_DATA), 20 * 1024);
	pair.now_ns += 10 * 1024 * 8;
	size_t bytes = sizeof(frame);

	CHECK(pair_run(&pair, 0, frame, out, &bytes));
	CHECK_EQ(weft_xdp_depth_bytes(pair.xdp, 1, WEFT_QUEUE_DATA), 11 * 1024);
	CHECK_EQ(weft_xdp_depth_bytes(pair.xdp, 1, WEFT_QUEUE_CONTROL), 0);
	weft_xdp_port_counters(pair.xdp, 1, &c);
	CHECK_EQ(c.queue[WEFT_QUEUE_DATA].watermark, 20 * 1024);
	CHECK_EQ(c.out_pkts, 21);
	CHECK_EQ(c.out_octets, 21000);
	weft_xdp_port_counters(pair.xdp, 0, &c);
	CHECK_EQ(c.in_pkts, 21);
	CHECK_EQ(c.out_pkts, 0);
	pair_close(&pair);
}

TEST(weft_xdp_drops__are_zero_at_first)
{
	memset(&pair, 0, sizeof(pair));
	pair_open(&pair);
	for (unsigned i = 0; i < WEFT_SWITCH_DROP_COUNT; i++)
		CHECK_EQ(weft_xdp_drops(pair.xdp, (enum weft_switch_drop)i), 0);
	CHECK_PANICS((void)weft_xdp_drops(pair.xdp, WEFT_SWITCH_DROP_COUNT));
	pair_close(&pair);
}
