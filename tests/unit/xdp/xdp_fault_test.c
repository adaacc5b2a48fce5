/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

static struct pair pair;
static uint8_t frame[200], out[FRAME_MAX];

static void open_pair(void)
{
	const uint16_t usids[6] = { PAIR_OWN, 2, 5 };

	memset(&pair, 0, sizeof(pair));
	pair_open(&pair);
	pair_frame(frame, sizeof(frame), usids, TCLASS_DATA, 17);
}

static unsigned sent_of(unsigned n)
{
	unsigned sent = 0;

	for (unsigned i = 0; i < n; i++) {
		size_t bytes = sizeof(frame);

		sent += pair_run(&pair, 0, frame, out, &bytes);
	}
	return sent;
}

TEST(weft_xdp_fault_add__loses_a_share)
{
	struct weft_switch_fault fault = {
		.in_port = WEFT_SWITCH_ANY, .out_port = 1, .loss_ppm = 200000
	};

	open_pair();
	weft_xdp_port_rate(pair.xdp, 1, 0); /* no queue: nothing else may drop */
	CHECK(weft_xdp_fault_add(pair.xdp, &fault));
	unsigned sent = sent_of(10000);

	CHECK_NEAR((int)sent, 8000, 200); /* five deviations */
	CHECK_EQ(weft_xdp_drops(pair.xdp, WEFT_SWITCH_DROP_FAULT), 10000 - sent);
	weft_xdp_fault_clear(pair.xdp);
	CHECK_EQ(sent_of(100), 100);
	pair_close(&pair);
}

TEST(weft_xdp_fault_add__refuses)
{
	struct weft_switch_fault fault = { .in_port = PAIR_PORTS, .out_port = WEFT_SWITCH_ANY };

	open_pair();
	CHECK(!weft_xdp_fault_add(pair.xdp, &fault));
	fault = (struct weft_switch_fault){ .out_port = PAIR_PORTS };
	CHECK(!weft_xdp_fault_add(pair.xdp, &fault));
	fault = (struct weft_switch_fault){ .loss_ppm = 1000001 };
	CHECK(!weft_xdp_fault_add(pair.xdp, &fault));
	fault.loss_ppm = 0;
	for (unsigned i = 0; i < WEFT_XDP_FAULTS_MAX; i++)
		CHECK(weft_xdp_fault_add(pair.xdp, &fault));
	CHECK(!weft_xdp_fault_add(pair.xdp, &fault));
	CHECK_EQ(sent_of(10), 10); /* the longest list, none of which hits */
	pair_close(&pair);
}

TEST(weft_xdp_port_mark__takes_a_port_down_alone)
{
	open_pair();
	weft_xdp_port_mark(pair.xdp, 1, false);
	CHECK_EQ(sent_of(3), 0);
	CHECK_EQ(weft_xdp_drops(pair.xdp, WEFT_SWITCH_DROP_PORT_DOWN), 3);
	weft_xdp_port_mark(pair.xdp, 1, true);
	CHECK_EQ(sent_of(3), 3);
	CHECK_PANICS(weft_xdp_port_mark(pair.xdp, 7, true)); /* was never set */
	pair_close(&pair);
}

TEST(weft_xdp_reboot__ends_what_was_injected)
{
	struct weft_hop own = { .kind = WEFT_HOP_UN }, next = { .kind = WEFT_HOP_PORT, .port = 1 };
	struct weft_switch_fault fault = {
		.in_port = WEFT_SWITCH_ANY, .out_port = WEFT_SWITCH_ANY, .loss_ppm = 1000000
	};

	open_pair();
	CHECK_EQ(sent_of(2), 2);
	CHECK(weft_xdp_depth_bytes(pair.xdp, 1, WEFT_QUEUE_DATA) > 0);
	CHECK(weft_xdp_fault_add(pair.xdp, &fault));
	weft_xdp_freeze(pair.xdp, true);
	CHECK_EQ(sent_of(2), 0);
	weft_xdp_reboot(pair.xdp);
	CHECK_EQ(weft_xdp_depth_bytes(pair.xdp, 1, WEFT_QUEUE_DATA), 0);
	CHECK_EQ(sent_of(2), 0);
	CHECK_EQ(weft_xdp_drops(pair.xdp, WEFT_SWITCH_DROP_NO_SID), 2);
	CHECK(weft_xdp_sid_add(pair.xdp, PAIR_OWN, &own) && weft_xdp_sid_add(pair.xdp, 2, &next));
	CHECK_EQ(sent_of(2), 2);
	pair_close(&pair);
}
