/* SPDX-License-Identifier: BSD-2-Clause */
#include "one.h"

static struct one one;

enum { FULL = 4238 };

static struct weft_port_profile lossless(void)
{
	struct weft_port_profile profile;

	weft_port_profile_fill(&profile, WEFT_DISCIPLINE_LOSSLESS, false, 100000, 20000);
	profile.xoff_bytes = 4 * FULL;
	profile.xon_bytes = 2 * FULL;
	profile.headroom_bytes = 3 * FULL;
	return profile;
}

static struct weft_frame from(uint16_t in_port)
{
	struct weft_frame frame = one_frame(2, FULL);

	frame.in_port = in_port;
	return frame;
}

TEST(pfc_enter__stops_the_neighbour_and_lets_it_go_on)
{
	struct weft_port_profile profile = lossless();
	struct weft_departure departure;
	uint32_t port;
	bool pause;

	one_open(&one, &profile);
	for (unsigned i = 0; i < 4; i++)
		CHECK_EQ(one_send(&one, from(1), 0), 0);
	CHECK(!weft_switch_pause_poll(one.sw, &port, &pause));
	CHECK_EQ(one_send(&one, from(1), 0), 0);
	CHECK(weft_switch_pause_poll(one.sw, &port, &pause));
	CHECK_EQ(port, 1);
	CHECK(pause);
	CHECK(!weft_switch_pause_poll(one.sw, &port, &pause));
	/* Two more were on their way; a third was not. */
	CHECK_EQ(one_send(&one, from(1), 0), 0);
	CHECK_EQ(one_send(&one, from(1), 0), 0);
	CHECK_EQ(one_send(&one, from(1), 0), WEFT_SWITCH_DROP_HEADROOM);
	CHECK_EQ(one_send(&one, from(3), 0), 0); /* the others' share is theirs */
	for (unsigned i = 0; i < 5; i++) {
		CHECK(!weft_switch_pause_poll(one.sw, &port, &pause));
		REQUIRE(weft_switch_take(one.sw, 2, UINT64_MAX - 1, &departure));
	}
	CHECK(weft_switch_pause_poll(one.sw, &port, &pause));
	CHECK_EQ(port, 1);
	CHECK(!pause);
	CHECK_EQ(weft_switch_port_counters(one.sw, 1)->pfc_sent, 2);
	one_close(&one);
}

TEST(pfc_leave__takes_back_a_pause_that_nobody_has_heard)
{
	struct weft_port_profile profile = lossless();
	struct weft_departure departure;
	uint32_t port;
	bool pause;

	one_open(&one, &profile);
	for (unsigned i = 0; i < 5; i++)
		CHECK_EQ(one_send(&one, from(1), 0), 0);
	for (unsigned i = 0; i < 3; i++)
		REQUIRE(weft_switch_take(one.sw, 2, UINT64_MAX - 1, &departure));
	CHECK(!weft_switch_pause_poll(one.sw, &port, &pause));
	one_close(&one);
}

TEST(weft_switch_pause__holds_data_and_not_control)
{
	struct weft_port_profile profile = lossless();
	struct weft_frame control = one_frame(2, 100);
	struct weft_departure departure;
	uint32_t port;

	one_open(&one, &profile);
	weft_switch_pause(one.sw, 2, true, 0);
	CHECK_EQ(one_send(&one, from(1), 0), 0);
	CHECK_EQ(weft_switch_port_next(one.sw, 2), WEFT_NEVER);
	control.tclass = WEFT_CLASS_CONTROL;
	CHECK_EQ(weft_switch_input(one.sw, &control, 500, &port), 0);
	REQUIRE(weft_switch_take(one.sw, 2, 500, &departure));
	CHECK_EQ(departure.frame.tclass, WEFT_CLASS_CONTROL);
	CHECK_EQ(departure.starts_ps, 500);
	CHECK_EQ(weft_switch_port_next(one.sw, 2), WEFT_NEVER);
	weft_switch_pause(one.sw, 2, false, 1000000);
	CHECK_EQ(weft_switch_port_next(one.sw, 2), 1000000);
	CHECK_EQ(weft_switch_port_counters(one.sw, 2)->pfc_received, 2);
	one_close(&one);
}
