/* SPDX-License-Identifier: BSD-2-Clause */
#include "one.h"

static struct one one;

enum { FULL = 4238, FULL_PS = (FULL + 24) * BYTE_PS };

static uint32_t drain(uint32_t port, enum weft_switch_drop want)
{
	struct weft_departure departure;
	uint32_t n = 0;

	while (weft_switch_take(one.sw, port, UINT64_MAX / 2, &departure)) {
		CHECK_EQ(departure.drop, want);
		n++;
	}
	return n;
}

TEST(weft_switch_port_mark__hands_back_what_can_no_longer_leave)
{
	one_open(&one, NULL);
	for (unsigned i = 0; i < 5; i++)
		CHECK_EQ(one_send(&one, one_frame(2, FULL), 0), 0);
	weft_switch_port_mark(one.sw, 2, false, 1000);
	CHECK_EQ(one_send(&one, one_frame(2, FULL), 1000), WEFT_SWITCH_DROP_PORT_DOWN);
	CHECK_EQ(weft_switch_port_next(one.sw, 2), 0); /* as soon as you like */
	CHECK_EQ(drain(2, WEFT_SWITCH_DROP_PORT_DOWN), 5);
	CHECK_EQ(weft_switch_port_next(one.sw, 2), WEFT_NEVER);
	CHECK_EQ(weft_switch_drops(one.sw, WEFT_SWITCH_DROP_PORT_DOWN), 6);
	CHECK_EQ(weft_switch_port_counters(one.sw, 2)->out_discards, 6);
	weft_switch_port_mark(one.sw, 2, true, 5000);
	CHECK_EQ(one_send(&one, one_frame(2, FULL), 5000), 0);
	CHECK_EQ(weft_switch_port_next(one.sw, 2), 5000);
	CHECK_EQ(drain(2, 0), 1);
	one_close(&one);
}

TEST(weft_switch_port_mark__flushes_what_waited_also_after_a_flap)
{
	one_open(&one, NULL);
	CHECK_EQ(one_send(&one, one_frame(2, FULL), 0), 0);
	weft_switch_port_mark(one.sw, 2, false, 1000);
	weft_switch_port_mark(one.sw, 2, true, 2000);
	CHECK_EQ(one_send(&one, one_frame(2, FULL), 2000), WEFT_SWITCH_DROP_PORT_DOWN);
	CHECK_EQ(drain(2, WEFT_SWITCH_DROP_PORT_DOWN), 1);
	CHECK_EQ(one_send(&one, one_frame(2, FULL), 3000), 0);
	CHECK_EQ(drain(2, 0), 1);
	one_close(&one);
}

TEST(weft_switch_port_rate__slows_what_starts_from_now_on)
{
	struct weft_departure departure;

	one_open(&one, NULL);
	CHECK_EQ(one_send(&one, one_frame(2, FULL), 0), 0);
	CHECK_EQ(one_send(&one, one_frame(2, FULL), 0), 0);
	REQUIRE(weft_switch_take(one.sw, 2, 0, &departure));
	weft_switch_port_rate(one.sw, 2, UINT64_C(10000000000));
	CHECK_EQ(departure.ends_ps, FULL_PS);
	REQUIRE(weft_switch_take(one.sw, 2, FULL_PS, &departure));
	CHECK_EQ(departure.ends_ps, 11 * FULL_PS);
	one_close(&one);
}

TEST(weft_switch_freeze__swallows_and_keeps)
{
	one_open(&one, NULL);
	CHECK_EQ(one_send(&one, one_frame(2, FULL), 0), 0);
	weft_switch_freeze(one.sw, true, 1000);
	CHECK_EQ(weft_switch_port_next(one.sw, 2), WEFT_NEVER);
	CHECK_EQ(drain(2, 0), 0);
	CHECK_EQ(one_send(&one, one_frame(2, FULL), 1000), WEFT_SWITCH_DROP_FROZEN);
	weft_switch_freeze(one.sw, false, 9000);
	CHECK_EQ(weft_switch_port_next(one.sw, 2), 9000);
	CHECK_EQ(drain(2, 0), 1);
	CHECK_EQ(weft_switch_drops(one.sw, WEFT_SWITCH_DROP_FROZEN), 1);
	one_close(&one);
}

TEST(weft_switch_freeze__wakes_its_ports_and_nothing_behind_them)
{
	struct port behind;

	one_open(&one, NULL);
	memcpy(&behind, one.sw->ports + PORTS, sizeof(behind)); /* tables, as it happens */
	weft_switch_freeze(one.sw, true, 0);
	weft_switch_freeze(one.sw, false, WEFT_NEVER - 1);
	for (unsigned i = 0; i < PORTS; i++)
		CHECK_EQ(one.sw->ports[i].start_ps, WEFT_NEVER - 1);
	CHECK(!memcmp(&behind, one.sw->ports + PORTS, sizeof(behind)));
	one_close(&one);
}

TEST(weft_switch_reboot__comes_back_empty_until_the_table_is_restored)
{
	struct weft_switch_fault fault = { WEFT_SWITCH_ANY, WEFT_SWITCH_ANY, 0, 0, 1000000 };

	one_open(&one, NULL);
	CHECK_EQ(one_send(&one, one_frame(2, FULL), 0), 0);
	CHECK(weft_switch_fault_add(one.sw, &fault));
	weft_switch_pause(one.sw, 3, true, 0);
	weft_switch_reboot(one.sw, 1000);
	CHECK_EQ(one_send(&one, one_frame(3, FULL), 2000), WEFT_SWITCH_DROP_NO_SID);
	CHECK_EQ(drain(2, WEFT_SWITCH_DROP_REBOOT), 1);
	one_routes(&one);
	CHECK_EQ(one_send(&one, one_frame(3, FULL), 3000), 0);
	CHECK_EQ(drain(3, 0), 1);
	one_close(&one);
}

TEST(weft_switch_fault_add__drops_a_share_of_one_path)
{
	struct weft_switch_fault fault = { .in_port = 0,
		.out_port = 2,
		.loss_ppm = 250000,
		.route = UINT64_C(7) << 16,
		.route_mask = UINT64_C(0xffff) << 16 };
	uint32_t lost = 0;

	one_open(&one, NULL);
	CHECK(weft_switch_fault_add(one.sw, &fault));
	for (unsigned i = 0; i < 8000; i++) {
		struct weft_frame frame = one_frame(2, 100);

		lost += one_send(&one, frame, 0) == WEFT_SWITCH_DROP_FAULT;
		frame.route ^= UINT64_C(1) << 16; /* another path */
		CHECK_EQ(one_send(&one, frame, 0), 0);
		CHECK_EQ(one_send(&one, one_frame(3, 100), 0), 0); /* another port */
		frame = one_frame(2, 100);
		frame.in_port = 1;
		CHECK_EQ(one_send(&one, frame, 0), 0);
		drain(2, 0);
		drain(3, 0);
	}
	CHECK_NEAR(lost / 8000.0, 0.25, 0.02);
	CHECK_EQ(weft_switch_drops(one.sw, WEFT_SWITCH_DROP_FAULT), lost);
	weft_switch_fault_clear(one.sw);
	for (unsigned i = 0; i < 100; i++)
		CHECK_EQ(one_send(&one, one_frame(2, 100), 0), 0);
	one_close(&one);
}

TEST(weft_switch_fault_add__refuses_the_impossible)
{
	struct weft_switch_fault fault = { .loss_ppm = 1000001 };

	one_open(&one, NULL);
	CHECK(!weft_switch_fault_add(one.sw, &fault));
	fault.loss_ppm = 1;
	fault.in_port = PORTS;
	CHECK(!weft_switch_fault_add(one.sw, &fault));
	fault.in_port = 0;
	fault.out_port = PORTS;
	CHECK(!weft_switch_fault_add(one.sw, &fault));
	fault.out_port = 0;
	for (unsigned i = 0; i < WEFT_SWITCH_FAULTS_MAX; i++)
		CHECK(weft_switch_fault_add(one.sw, &fault));
	CHECK(!weft_switch_fault_add(one.sw, &fault));
	one_close(&one);
}
