/* SPDX-License-Identifier: BSD-2-Clause */
#include "rig.h"

static struct rig rig;

static uint32_t link_of(const char *name)
{
	uint32_t link = weft_topo_link_find(rig.topo, name);

	REQUIRE(link != WEFT_TOPO_NONE);
	return link;
}

/* n frames from h0 to h4 by one path of plane 0, back to back from at_ps on. */
static void send_n(uint32_t n, uint32_t uplink, uint64_t at_ps)
{
	for (uint32_t i = 0; i < n; i++)
		CHECK(rig_send(
			&rig, 0, 4, weft_ev(0, uplink), (uplink * 100 + i) % 2000, 986, at_ps));
}

static size_t count_out(enum weft_switch_drop drop, uint32_t node)
{
	size_t n = 0;

	for (size_t i = 0; i < rig.n_outs; i++)
		n += rig.outs[i].drop == drop && rig.outs[i].node == node;
	return n;
}

enum { FULL_PS = 1024 * RIG_BYTE_PS };
static const uint64_t late_ps = UINT64_C(1000000000);

TEST(weft_network_link_mark__loses_what_is_on_the_cable)
{
	rig_open(&rig, rig_fabric, false);
	uint32_t link = link_of("p0.t0-0:t1-0/1"), t0 = weft_topo_t0(rig.topo, 0, 0);

	weft_network_link_rate(rig.network, link, UINT64_C(50000000000)); /* so that some wait */
	send_n(40, 1, 0);
	weft_network_link_mark(rig.network, link, false, 20 * FULL_PS);
	CHECK(!weft_network_link_is_up(rig.network, link));
	weft_network_check(rig.network);
	rig_run(&rig, late_ps);
	CHECK_EQ(rig.n_outs, 40);
	CHECK_EQ(count_out(WEFT_SWITCH_DROP_NONE, 4) + count_out(WEFT_SWITCH_DROP_PORT_DOWN, t0),
		40);
	/* Until the cut the link had time for nine; then they fly 500 ns. */
	CHECK_EQ(count_out(WEFT_SWITCH_DROP_NONE, 4), 5);
	rig.n_outs = 0;
	send_n(3, 1, late_ps);
	send_n(3, 0, late_ps); /* its twin is well */
	rig_run(&rig, 2 * late_ps);
	CHECK_EQ(count_out(WEFT_SWITCH_DROP_PORT_DOWN, t0), 3);
	CHECK_EQ(count_out(WEFT_SWITCH_DROP_NONE, 4), 3);
	weft_network_link_mark(rig.network, link, true, 2 * late_ps);
	weft_network_link_rate(rig.network, link, 0);
	rig.n_outs = 0;
	send_n(3, 1, 2 * late_ps);
	rig_run(&rig, 3 * late_ps);
	CHECK_EQ(count_out(WEFT_SWITCH_DROP_NONE, 4), 3);
	CHECK_EQ(rig.outs[0].at_ps, 2 * late_ps + 4 * FULL_PS + 1200000);
	rig_close(&rig);
}

TEST(weft_network_link_mark__loses_what_a_host_has_promised)
{
	rig_open(&rig, rig_fabric, false);
	uint32_t link = link_of("h0.p0");

	send_n(10, 0, 0);
	weft_network_link_mark(rig.network, link, false, 2 * FULL_PS + 100000);
	CHECK_EQ(weft_network_line_free_ps(rig.network, 0, 0), 2 * FULL_PS + 100000);
	CHECK_EQ(rig_run(&rig, 2 * FULL_PS + 100000), 8);
	CHECK_EQ(count_out(WEFT_SWITCH_DROP_PORT_DOWN, 0), 8);
	send_n(1, 0, 0); /* into a dead socket */
	rig_run(&rig, 3 * FULL_PS);
	CHECK_EQ(count_out(WEFT_SWITCH_DROP_PORT_DOWN, 0), 9);
	CHECK_EQ(rig.outs[8].frame.bytes, 1000);
	/* And what is to go down to it. */
	CHECK(rig_send(&rig, 4, 0, weft_ev(0, 0), 1, 986, 0));
	rig_run(&rig, late_ps);
	CHECK_EQ(count_out(WEFT_SWITCH_DROP_PORT_DOWN, weft_topo_t0(rig.topo, 0, 0)), 1);
	CHECK_EQ(count_out(WEFT_SWITCH_DROP_NONE, 4), 2);
	CHECK_EQ(rig.n_outs, 12);
	weft_network_link_mark(rig.network, link, true, late_ps);
	send_n(1, 0, 0);
	CHECK_EQ(rig_run(&rig, 2 * late_ps), 1);
	rig_close(&rig);
}

TEST(weft_network_link_rate__changes_both_ways_and_back)
{
	rig_open(&rig, rig_fabric, false);
	uint32_t link = link_of("h0.p0");

	weft_network_link_rate(rig.network, link, UINT64_C(10000000000));
	send_n(1, 0, 0);
	CHECK_EQ(rig_run(&rig, late_ps), 1);
	CHECK_EQ(rig.outs[0].at_ps, 13 * FULL_PS + 1200000);
	CHECK(rig_send(&rig, 4, 0, weft_ev(0, 0), 1, 986, 0));
	CHECK_EQ(rig_run(&rig, 2 * late_ps), 1);
	CHECK_EQ(rig.outs[1].at_ps, late_ps + 13 * FULL_PS + 1200000);
	weft_network_link_rate(rig.network, link, 0);
	send_n(1, 0, 0);
	CHECK_EQ(rig_run(&rig, 3 * late_ps), 1);
	CHECK_EQ(rig.outs[2].at_ps, 2 * late_ps + 4 * FULL_PS + 1200000);
	CHECK_PANICS(weft_network_link_rate(rig.network, link, 999999));
	rig_close(&rig);
}

TEST(weft_network_link_loss__takes_a_share_of_one_way)
{
	rig_open(&rig, rig_fabric, false);
	uint32_t link = link_of("p0.t0-0:t1-0"), t0 = weft_topo_t0(rig.topo, 0, 0);

	weft_network_link_loss(rig.network, link, 1, 200000);
	send_n(2000, 0, 0);
	for (uint32_t i = 0; i < 1000; i++)
		CHECK(rig_send(&rig, 4, 0, weft_ev(0, 0), i, 986, 0));
	rig_run(&rig, late_ps);
	CHECK_EQ(count_out(WEFT_SWITCH_DROP_NONE, 0), 1000);
	CHECK_NEAR((double)count_out(WEFT_SWITCH_DROP_FAULT, t0), 400, 60);
	CHECK_EQ(count_out(WEFT_SWITCH_DROP_FAULT, t0) + count_out(WEFT_SWITCH_DROP_NONE, 4), 2000);
	weft_network_link_loss(rig.network, link, 3, 0);
	rig.n_outs = 0;
	send_n(100, 0, late_ps);
	rig_run(&rig, 2 * late_ps);
	CHECK_EQ(count_out(WEFT_SWITCH_DROP_NONE, 4), 100);
	rig_close(&rig);
}

TEST(weft_network_link_spoil__turns_a_bit_of_a_share)
{
	rig_open(&rig, rig_fabric, true);
	uint32_t link = link_of("p0.t0-0:t1-0"), spoilt = 0;

	weft_network_link_spoil(rig.network, link, 1, 200000);
	send_n(1000, 0, 0);
	rig_run(&rig, late_ps);
	CHECK_EQ(count_out(WEFT_SWITCH_DROP_NONE, 4), 1000);
	for (uint32_t i = 0; i < rig.n_outs; i++) {
		const uint8_t *ip = rig_ip(&rig, rig.outs[i].frame.handle);
		uint32_t bits = 0, bytes = rig.outs[i].frame.bytes - WEFT_FRAME_ETHER_BYTES;

		for (uint32_t at = bytes / 2; at < bytes; at++)
			bits += (uint32_t)__builtin_popcount(ip[at]);
		CHECK(bits <= 1);
		spoilt += bits;
	}
	CHECK_NEAR((double)spoilt, 200, 45);
	weft_network_link_spoil(rig.network, link, 3, 0);
	rig_close(&rig);
	/* Nobody would know it. */
	rig_open(&rig, rig_fabric, false);
	weft_network_link_spoil(rig.network, link, 1, 1000000);
	send_n(10, 0, 0);
	rig_run(&rig, late_ps);
	CHECK_EQ(count_out(WEFT_SWITCH_DROP_FAULT, weft_topo_t0(rig.topo, 0, 0)), 10);
	rig_close(&rig);
}

/*
 * Frames of every length that no packet has, as what they could be the beginning of and as noise,
 * while everything on their way is broken: each comes back once, nothing outside of it is written.
 */
static void feed_short(uint32_t ip_bytes, uint8_t fill)
{
	static uint8_t before[RIG_SLOT];
	uint8_t *slot = rig.memory + ip_bytes * (size_t)RIG_SLOT, addr[16];
	struct weft_frame frame = { .handle = ip_bytes };

	memset(slot, fill, RIG_SLOT);
	REQUIRE(weft_topo_usid(rig.topo, 0, 4, weft_ev(0, 0), addr));
	if (!fill && ip_bytes >= 40) {
		rig_put_ip(&rig, ip_bytes, 0, 0, addr, ip_bytes);
	} else if (!fill && ip_bytes) {
		slot[RIG_OFFSET] = 0x60;
	}
	memcpy(before, slot, RIG_SLOT);
	CHECK(weft_network_send(rig.network, 0, 0, &frame, ip_bytes, 0));
	CHECK_EQ(rig_run(&rig, rig.network->agenda.now_ps + late_ps), 1);
	CHECK_MEM(slot, before, RIG_OFFSET);
	CHECK_MEM(slot + RIG_OFFSET + ip_bytes, before + RIG_OFFSET + ip_bytes,
		RIG_SLOT - RIG_OFFSET - ip_bytes);
	CHECK_EQ(rig.outs[0].frame.handle, ip_bytes);
	CHECK_EQ(rig.outs[0].frame.bytes, ip_bytes + WEFT_FRAME_ETHER_BYTES);
	if (ip_bytes < 40 || fill) /* not IPv6, longer than it is, or lost before anyone looked */
		CHECK(rig.outs[0].drop);
	rig.n_outs = 0;
}

TEST(weft_network_faults__meet_frames_of_every_length)
{
	enum fault { NOTHING, SPOIL, LOSS, HOLE, RATE, DOWN, FROZEN, OFF, PATH, FAULTS };

	for (unsigned fault = 0; fault < FAULTS; fault++) {
		rig_open(&rig, rig_fabric, true);
		uint32_t t0 = weft_topo_t0(rig.topo, 0, 0),
			 links[2] = { link_of("h0.p0"), link_of("p0.t0-0:t1-0") };

		for (unsigned i = 0; i < 2; i++) {
			weft_network_link_spoil(
				rig.network, links[i], 3, fault == SPOIL ? 1000000 : 0);
			weft_network_link_loss(
				rig.network, links[i], 3, fault == LOSS ? 1000000 : 0);
			weft_network_link_hole(rig.network, links[i], 3, fault == HOLE);
			weft_network_link_rate(
				rig.network, links[i], fault == RATE ? 1000000000 : 0);
			weft_network_link_mark(rig.network, links[i], fault != DOWN || !i, 0);
		}
		weft_network_freeze(rig.network, t0, fault == FROZEN, 0);
		weft_network_power(rig.network, t0, fault != OFF, 0);
		CHECK(weft_network_path_loss(
			rig.network, 0, 4, weft_ev(0, 0), fault == PATH ? 1000000 : 0));
		for (uint32_t ip_bytes = 0; ip_bytes <= 60; ip_bytes++) {
			feed_short(ip_bytes, 0);
			feed_short(ip_bytes, 0x6f);
			feed_short(ip_bytes, 0xff);
		}
		CHECK_EQ(weft_network_stats(rig.network)->arrived, fault == NOTHING || fault == RATE
									   ? 21
								   : fault == SPOIL ? 20
										    : 0);
		rig_close(&rig);
	}
}

TEST(weft_network_link_spoil__leaves_the_header_that_switches_read)
{
	uint8_t addr[16], header[40];
	uint32_t spoilt = 0;

	rig_open(&rig, rig_fabric, true);
	weft_network_link_spoil(rig.network, link_of("h0.p0"), 3, 1000000);
	REQUIRE(weft_topo_usid(rig.topo, 0, 4, weft_ev(0, 0), addr));
	for (uint32_t i = 0; i < 400; i++) {
		uint32_t ip_bytes = 41 + i % 20;

		memset(rig_ip(&rig, i), 0, 64);
		rig_put_ip(&rig, i, 0, 0, addr, ip_bytes);
		memcpy(header, rig_ip(&rig, i), sizeof(header));
		CHECK(weft_network_send(rig.network, 0, 0, &(struct weft_frame){ .handle = i },
			ip_bytes, rig.network->agenda.now_ps));
		CHECK_EQ(rig_run(&rig, rig.network->agenda.now_ps + late_ps), 1);
		CHECK_EQ(rig.outs[i].drop, WEFT_SWITCH_DROP_NONE);
		CHECK_MEM(rig_ip(&rig, i), header, 7); /* then the hop limit */
		CHECK_MEM(rig_ip(&rig, i) + 8, header + 8, 16);
		for (uint32_t at = 40; at < ip_bytes; at++)
			spoilt += rig_ip(&rig, i)[at] == 0x10;
	}
	CHECK_EQ(spoilt, 400);
	rig_close(&rig);
}

TEST(weft_network_link_hole__swallows_what_is_steered_into_it)
{
	rig_open(&rig, rig_fabric, true);
	uint32_t link = link_of("p0.t0-0:t1-0"), t0 = weft_topo_t0(rig.topo, 0, 0);
	uint8_t addr[16];

	weft_network_link_hole(rig.network, link, 1, true);
	for (uint32_t uplink = 0; uplink < 4; uplink++)
		send_n(10, uplink, uplink * UINT64_C(10000000));
	CHECK(rig_send(&rig, 4, 0, weft_ev(0, 0), 3000, 986, 0)); /* the other way */
	for (uint32_t i = 0; i < 16; i++) {                       /* TCP: not steered */
		weft_topo_host_addr(rig.topo, 4 + i % 12, 0, addr);
		rig_put_ip(&rig, 3100 + i, 0, 0, addr, 400);
		CHECK(weft_network_send(rig.network, 0, 0,
			&(struct weft_frame){ .handle = 3100 + i }, 400, late_ps / 2));
	}
	rig_run(&rig, late_ps);
	CHECK_EQ(rig.n_outs, 57);
	CHECK_EQ(count_out(WEFT_SWITCH_DROP_FAULT, t0), 10);
	CHECK_EQ(weft_network_stats(rig.network)->dropped, 10);
	weft_network_link_hole(rig.network, link, 3, false);
	rig.n_outs = 0;
	send_n(10, 0, late_ps);
	rig_run(&rig, 2 * late_ps);
	CHECK_EQ(count_out(WEFT_SWITCH_DROP_NONE, 4), 10);
	/* Down to a host, too: its T0 would send. */
	weft_network_link_hole(rig.network, link_of("h4.p0"), 3, true);
	rig.n_outs = 0;
	send_n(10, 2, 2 * late_ps);
	rig_run(&rig, 3 * late_ps);
	CHECK_EQ(count_out(WEFT_SWITCH_DROP_FAULT, weft_topo_t0(rig.topo, 0, 1)), 10);
	rig_close(&rig);
}

TEST(weft_network_freeze__keeps_what_waits)
{
	rig_open(&rig, rig_fabric, false);
	uint32_t node = weft_topo_t1(rig.topo, 0, 0);

	weft_network_link_rate(rig.network, link_of("p0.t0-1:t1-0"), UINT64_C(10000000000));
	send_n(20, 0, 0);
	weft_network_freeze(rig.network, node, true, 8 * FULL_PS + 600000);
	weft_network_check(rig.network);
	rig_run(&rig, late_ps);
	CHECK(weft_network_link_is_up(rig.network, link_of("p0.t0-1:t1-0")));
	size_t frozen = count_out(WEFT_SWITCH_DROP_FROZEN, node), out = rig.n_outs - frozen;

	CHECK_EQ(frozen, 13); /* two lines and 600 ns away: seven of them were there */
	CHECK_EQ(out, 1);
	weft_network_freeze(rig.network, node, false, late_ps);
	CHECK_EQ(rig_run(&rig, 2 * late_ps), 20 - frozen - out);
	CHECK_EQ(count_out(WEFT_SWITCH_DROP_NONE, 4), 20 - frozen);
	rig_close(&rig);
}

/*
 * Two hosts fill one uplink until 20 lines' time, so that the port has as much to send when nothing
 * comes in any more; some of that flies, some waits.  Returns how many have started by now_ps.
 */
static uint32_t fill_uplink(uint64_t now_ps)
{
	rig_open(&rig, rig_fabric, false);
	for (uint32_t i = 0; i < 40; i++)
		CHECK(rig_send(&rig, i % 2, 4 + i % 2, weft_ev(0, 0), i, 986, 0));
	return (uint32_t)WEFT_MIN((now_ps - FULL_PS - 100000) / FULL_PS + 1, UINT64_C(40));
}

enum { FILL_FROM = 10 * FULL_PS, FILL_TO = 45 * FULL_PS, FILL_STEP = 50000 };

TEST(weft_network_freeze__stops_no_frame_that_has_started)
{
	for (uint64_t now_ps = FILL_FROM; now_ps < FILL_TO; now_ps += FILL_STEP) {
		uint32_t started = fill_uplink(now_ps);

		weft_network_freeze(rig.network, weft_topo_t0(rig.topo, 0, 0), true, now_ps);
		rig_run(&rig, late_ps);
		CHECK_EQ(weft_network_stats(rig.network)->arrived, started);
		rig_close(&rig);
	}
}

TEST(weft_network_power__loses_on_the_cable_what_has_started)
{
	for (uint64_t now_ps = FILL_FROM; now_ps < FILL_TO; now_ps += FILL_STEP) {
		uint32_t started = fill_uplink(now_ps), node = weft_topo_t0(rig.topo, 0, 0);

		weft_network_power(rig.network, node, false, now_ps);
		CHECK_EQ(weft_switch_port_counters(weft_network_switch(rig.network, node), 4)
				 ->out_pkts,
			started);
		rig_run(&rig, late_ps);
		CHECK_EQ(rig.n_outs, 40);
		rig_close(&rig);
	}
}

TEST(weft_network_link_rate__leaves_what_has_started_at_its_speed)
{
	for (uint64_t now_ps = FILL_FROM; now_ps < FILL_TO; now_ps += FILL_STEP) {
		uint32_t started = fill_uplink(now_ps);

		weft_network_run(rig.network, now_ps);
		weft_network_link_rate(rig.network, link_of("p0.t0-0:t1-0"), UINT64_C(10000000000));
		rig_run(&rig, late_ps);
		CHECK_EQ(rig.n_outs, 40);
		for (uint32_t i = 0; i < 40; i++) {
			uint64_t slow = i < started ? 0 : 9 * (i - started + 1);

			CHECK_EQ(rig.outs[i].at_ps, (4 + i + slow) * FULL_PS + 1200000);
		}
		rig_close(&rig);
	}
}

TEST(weft_network_switch__shows_what_has_happened_by_now)
{
	for (uint64_t now_ps = FILL_FROM; now_ps < FILL_TO; now_ps += FILL_STEP) {
		uint32_t started = fill_uplink(now_ps);
		uint64_t come = WEFT_MIN((now_ps - 100000) / FULL_PS * 2, UINT64_C(40));

		weft_network_run(rig.network, now_ps);
		const struct weft_switch *sw =
			weft_network_switch(rig.network, weft_topo_t0(rig.topo, 0, 0));

		CHECK_EQ(weft_switch_port_counters(sw, 4)->out_pkts, started);
		CHECK_EQ(weft_switch_depth_bytes(sw, 4, WEFT_QUEUE_DATA), 1000 * (come - started));
		rig_close(&rig);
	}
}

TEST(weft_network_power__brings_a_switch_back_with_its_table)
{
	rig_open(&rig, rig_fabric, true);
	uint32_t node = weft_topo_t1(rig.topo, 0, 0), t0 = weft_topo_t0(rig.topo, 0, 0);
	uint32_t cut = link_of("p0.t0-0:t1-0");

	weft_network_link_rate(rig.network, link_of("p0.t0-1:t1-0"), UINT64_C(10000000000));
	weft_network_link_hole(rig.network, link_of("p0.t0-1:t1-0/1"), 2, true);
	send_n(20, 0, 0);
	weft_network_power(rig.network, node, false, 8 * FULL_PS + 600000);
	weft_network_check(rig.network);
	CHECK(!weft_network_link_is_up(rig.network, cut));
	rig_run(&rig, late_ps);
	CHECK_EQ(rig.n_outs, 20);
	CHECK(count_out(WEFT_SWITCH_DROP_REBOOT, node) >= 4);
	CHECK(count_out(WEFT_SWITCH_DROP_PORT_DOWN, t0) >= 10);
	CHECK_EQ(weft_switch_sid_pkts(weft_network_switch(rig.network, node), 0x4000), 0);
	/* While it is off somebody cuts a cable and mends another: neither comes up now. */
	weft_network_link_mark(rig.network, cut, false, late_ps);
	weft_network_link_mark(rig.network, link_of("p0.t0-0:t1-0/1"), true, late_ps);
	CHECK(!weft_network_link_is_up(rig.network, link_of("p0.t0-0:t1-0/1")));
	weft_network_power(rig.network, node, true, late_ps);
	CHECK(!weft_network_link_is_up(rig.network, cut));
	CHECK(weft_network_link_is_up(rig.network, link_of("p0.t0-0:t1-0/1")));
	weft_network_link_mark(rig.network, cut, true, late_ps);
	rig.n_outs = 0;
	send_n(5, 0, late_ps);
	send_n(5, 1, late_ps); /* the hole went with the table that had it */
	rig_run(&rig, 2 * late_ps);
	CHECK_EQ(count_out(WEFT_SWITCH_DROP_NONE, 4), 10);
	rig_close(&rig);
}

TEST(weft_network_path_loss__takes_a_share_of_one_path)
{
	rig_open(&rig, rig_fabric, false);
	uint32_t t0 = weft_topo_t0(rig.topo, 0, 0);

	CHECK(weft_network_path_loss(rig.network, 0, 4, weft_ev(0, 1), 1000000));
	CHECK(weft_network_path_loss(rig.network, 0, 1, weft_ev(0, 0), 1000000));
	CHECK(!weft_network_path_loss(rig.network, 0, 4, weft_ev(0, 4), 1));
	CHECK(!weft_network_path_loss(rig.network, 0, 0, weft_ev(0, 0), 1));
	for (uint32_t uplink = 0; uplink < 4; uplink++)
		send_n(10, uplink, 0);
	for (uint32_t i = 0; i < 10; i++) {
		CHECK(rig_send(&rig, 0, 5, weft_ev(0, 1), i, 986, 0)); /* another's path */
		CHECK(rig_send(&rig, 1, 4, weft_ev(0, 1), i, 986, 0));
		CHECK(rig_send(&rig, 0, 1, weft_ev(0, 0), i, 986, 0)); /* below one T0 */
		CHECK(rig_send(&rig, 0, 2, weft_ev(0, 0), i, 986, 0));
	}
	rig_run(&rig, late_ps);
	CHECK_EQ(rig.n_outs, 80);
	CHECK_EQ(count_out(WEFT_SWITCH_DROP_FAULT, t0), 20);
	CHECK_EQ(count_out(WEFT_SWITCH_DROP_NONE, 4), 40);
	CHECK_EQ(count_out(WEFT_SWITCH_DROP_NONE, 1), 0);
	/* Another share, then none; the other path's stays. */
	CHECK(weft_network_path_loss(rig.network, 0, 4, weft_ev(0, 1), 1));
	CHECK(weft_network_path_loss(rig.network, 0, 4, weft_ev(0, 1), 0));
	CHECK(weft_network_path_loss(rig.network, 0, 4, weft_ev(0, 1), 0));
	rig.n_outs = 0;
	send_n(10, 1, late_ps);
	CHECK(rig_send(&rig, 0, 1, weft_ev(0, 0), 1, 986, late_ps));
	rig_run(&rig, 2 * late_ps);
	CHECK_EQ(count_out(WEFT_SWITCH_DROP_NONE, 4), 10);
	CHECK_EQ(count_out(WEFT_SWITCH_DROP_FAULT, t0), 1);
	/* A reboot ends them all, for good. */
	CHECK(weft_network_path_loss(rig.network, 0, 4, weft_ev(0, 2), 1000000));
	weft_network_power(rig.network, t0, false, 2 * late_ps);
	weft_network_power(rig.network, t0, true, 2 * late_ps);
	CHECK(weft_network_path_loss(rig.network, 0, 9, weft_ev(0, 2), 1000000));
	rig.n_outs = 0;
	send_n(10, 2, 2 * late_ps);
	rig_run(&rig, 3 * late_ps);
	CHECK_EQ(count_out(WEFT_SWITCH_DROP_NONE, 4), 10);
	/* As many as a switch can hold; then there is no room, and one ended makes some. */
	uint32_t n = 0;

	for (uint32_t dst = 4; dst < 16; dst++)
		for (uint32_t uplink = 0; uplink < 4; uplink++)
			n += weft_network_path_loss(rig.network, 0, dst, weft_ev(0, uplink), 5);
	CHECK_EQ(n, WEFT_SWITCH_FAULTS_MAX);
	CHECK(weft_network_path_loss(rig.network, 0, 15, weft_ev(0, 3), 0));
	CHECK(weft_network_path_loss(rig.network, 0, 4, weft_ev(0, 0), 0));
	CHECK(weft_network_path_loss(rig.network, 0, 15, weft_ev(0, 3), 5));
	rig_close(&rig);
}
