/* SPDX-License-Identifier: BSD-2-Clause */
#include "switches.h"

#include <poll.h>

static struct place place;
static struct weft_switchd *sw;
static struct program alice, bob;

static void begin(void)
{
	place_open(&place, SMALL2);
	sw = switch_open(&place, NULL);
	CHECK_EQ(program_open(&alice, sw, "alice", 4000), 0);
	CHECK_EQ(program_open(&bob, sw, "bob", 5000), 0);
	REQUIRE(alice.link && bob.link);
}

static void end(void)
{
	program_close(&alice);
	program_close(&bob);
	turns(sw, 3);
	CHECK_EQ(sw->nic.n, 0);
	CHECK_EQ(sw->slots.n_free, sw->slots.n);
	weft_network_check(sw->network);
	weft_switchd_close(sw);
	place_close(&place);
}

TEST(nic_open__sizes_a_line)
{
	begin();
	/* With Ethernet's 38 bytes, at 8 ns a byte. */
	CHECK_EQ(sw->nic.frame_ps, (sw->shape->mtu_bytes + 38) * UINT64_C(8000));
	end();
}

TEST(nic_accept__refuses_in_words)
{
	struct program p;

	begin();
	CHECK_EQ(program_open(&p, sw, "carol", 0), -1);
	CHECK(strstr(p.error, "fabric small2 has no host named 'carol'"));
	CHECK_EQ(program_open(&p, sw, "p0.t0-0", 0), -1);
	CHECK(strstr(p.error, "no host named 'p0.t0-0'"));
	CHECK_EQ(program_open(&p, sw, "alice", 4000), -1);
	CHECK(strstr(p.error, "UDP port 4000 of alice is another program's"));
	CHECK_EQ(sw->nic.n, 2);
	end();
}

TEST(nic_accept__says_that_it_is_full)
{
	struct program p;

	begin();
	sw->nic.max = 2;
	CHECK_EQ(program_open(&p, sw, "alice", 0), -1);
	CHECK(strstr(p.error, "the switch is full: 2 of 2 programs have attached"));
	sw->nic.max = 10;
	uint32_t n_free = sw->slots.n_free;

	sw->slots.n_free = 3;
	CHECK_EQ(program_open(&p, sw, "alice", 0), -1);
	CHECK(strstr(p.error, "2 of 10 programs have attached, 3 of 8192 slots are free"));
	sw->slots.n_free = n_free;
	CHECK_EQ(sw->drops[EDGE_PROGRAM], 2);
	end();
}

TEST(nic_accept__chooses_ports_and_planes)
{
	struct program a, b;

	begin();
	CHECK_EQ(program_open(&a, sw, "alice", 0), 0);
	CHECK_EQ(program_open(&b, sw, "alice", 0), 0);
	CHECK(a.hello.udp_port >= 32768 && b.hello.udp_port >= 32768);
	CHECK(a.hello.udp_port != b.hello.udp_port);
	CHECK_EQ(a.hello.planes, 2);
	CHECK_EQ(weft_shm_carrier(a.link), 3);
	program_close(&a);
	program_close(&b);
	end();
}

TEST(nic_take__carries_bytes_across_every_path)
{
	struct weft_shm_desc d[4];
	uint32_t evs[8];

	begin();
	size_t n = weft_topo_evs(sw->topo, ALICE, BOB, 1, evs, 4);
	REQUIRE(n == 4);
	for (size_t i = 0; i < n; i++)
		CHECK(program_send(&alice, sw->topo, ALICE, BOB, evs[i], 5000, 1000 + i));
	REQUIRE(program_receive(&bob, sw, d, n) == n);
	for (size_t i = 0; i < n; i++) {
		const uint8_t *ip = weft_shm_packet(&bob.pool, d[i].slot);
		uint32_t ev = weft_topo_usid_ev(ip + 24), k = 0;

		while (k < n && evs[k] != ev)
			k++;
		REQUIRE(k < n);
		evs[k] = UINT32_MAX; /* each once */
		CHECK_EQ(d[i].bytes, 1000 + k);
		CHECK_EQ(d[i].plane, weft_ev_plane(ev));
		CHECK_EQ(ip[48], 48);
		CHECK_EQ(ip[d[i].bytes - 1], (uint8_t)(d[i].bytes - 1));
		CHECK_EQ(ip[7], 61); /* three hops */
		CHECK(d[i].at_ns <= real_now_ns());
	}
	program_done(&bob, d, n);
	CHECK_EQ(sw->nic.of_host[ALICE]->sent, n);
	CHECK_EQ(sw->nic.of_host[BOB]->received, n);
	end();
}

TEST(nic_take__leaves_what_the_line_cannot_take_yet)
{
	struct weft_shm_desc d[64];
	uint32_t ev = weft_ev(0, 0);

	begin();
	/* 64 frames of 1000 bytes are half a millisecond of the line. */
	alice.at_ns = real_now_ns();
	for (unsigned i = 0; i < 64; i++)
		CHECK(program_send(&alice, sw->topo, ALICE, BOB, ev, 5000, 1000));
	(void)loop_turn(sw, alice.at_ns);
	CHECK(sw->nic.of_host[ALICE]->sent < 64);
	REQUIRE(program_receive(&bob, sw, d, 64) == 64);
	for (unsigned i = 1; i < 64; i++) /* at line rate, whenever we looked */
		CHECK_NEAR((int64_t)(d[i].at_ns - d[i - 1].at_ns), 1038 * 8, 1);
	program_done(&bob, d, 64);
	end();
}

/* Of a line that nobody used: the first packet says since when it is in use. */
TEST(nic_take__takes_what_an_idle_line_has_carried_meanwhile)
{
	struct weft_shm_desc d[40];

	begin();
	alice.at_ns = real_now_ns();
	alice.flags = WEFT_SHM_BULK;
	for (unsigned i = 0; i < 40; i++) /* 333 us in all, and more than one round takes */
		CHECK(program_send(&alice, sw->topo, ALICE, BOB, weft_ev(0, 0), 5000, 1000));
	(void)loop_turn(sw, alice.at_ns + 1000000);
	CHECK_EQ(sw->nic.of_host[ALICE]->sent, 40);
	CHECK_EQ(sw->bulk_ps, to_ps(sw, alice.at_ns + 1000000));
	REQUIRE(program_receive(&bob, sw, d, 40) == 40);
	program_done(&bob, d, 40);
	end();
}

TEST(nic_take__does_not_lose_the_line_to_a_late_turn)
{
	struct weft_shm_desc d[32];

	begin();
	turns(sw, 1);
	for (unsigned i = 0; i < 32; i++)
		CHECK(program_send(&alice, sw->topo, ALICE, BOB, weft_ev(1, 1), 5000, 1000));
	uint64_t sent_ns = real_now_ns();
	usleep(20000);
	(void)loop_turn(sw, real_now_ns()); /* all of it happened long ago */
	CHECK_EQ(weft_shm_take(bob.link, WEFT_SHM_RX, d, 32), 32);
	CHECK(d[31].at_ns < sent_ns + 1000000);
	program_done(&bob, d, 32);
	end();
}

TEST(nic_deliver__goes_by_the_port_and_counts_the_rest)
{
	struct program other;
	struct weft_shm_desc d[2];

	begin();
	CHECK_EQ(program_open(&other, sw, "bob", 5001), 0);
	CHECK(program_send(&alice, sw->topo, ALICE, BOB, weft_ev(0, 0), 5001, 100));
	CHECK(program_send(&alice, sw->topo, ALICE, BOB, weft_ev(0, 0), 5000, 101));
	CHECK(program_send(&alice, sw->topo, ALICE, BOB, weft_ev(0, 0), 5002, 102));
	REQUIRE(program_receive(&other, sw, d, 1) == 1);
	CHECK_EQ(d[0].bytes, 100);
	program_done(&other, d, 1);
	REQUIRE(program_receive(&bob, sw, d, 1) == 1);
	CHECK_EQ(d[0].flags, 0); /* never was on a wire */
	CHECK_EQ(d[0].bytes, 101);
	program_done(&bob, d, 1);
	turns(sw, 2);
	CHECK_EQ(sw->drops[EDGE_NOBODY], 1);
	program_close(&other);
	end();
}

TEST(nic_deliver__drops_for_who_does_not_read)
{
	static struct weft_shm_desc d[RING_ENTRIES];
	unsigned sent = 0, want = RING_ENTRIES + 700;

	begin();
	for (unsigned i = 0; i < 4 * want && sent < want; i++) {
		if (program_send(&alice, sw->topo, ALICE, BOB, weft_ev(0, 0), 5000, 100))
			sent++;
		else
			turns(sw, 1);
	}
	CHECK_EQ(sent, want);
	turns(sw, 20);
	CHECK_EQ(sw->nic.of_host[BOB]->held, RING_ENTRIES);
	CHECK_EQ(sw->drops[EDGE_RX_FULL], 700);
	/* And goes on when he does. */
	CHECK_EQ(weft_shm_take(bob.link, WEFT_SHM_RX, d, RING_ENTRIES), RING_ENTRIES);
	program_done(&bob, d, RING_ENTRIES);
	turns(sw, 1);
	CHECK(program_send(&alice, sw->topo, ALICE, BOB, weft_ev(0, 0), 5000, 100));
	CHECK_EQ(program_receive(&bob, sw, d, 1), 1);
	program_done(&bob, d, 1);
	end();
}

TEST(nic_deliver__lets_nobody_hoard_the_pool)
{
	static struct weft_shm_desc d[RING_ENTRIES];
	unsigned sent = 0;

	begin();
	for (unsigned i = 0; i < 40000 && sent < 2 * RING_ENTRIES + 300; i++) {
		if (program_send(&alice, sw->topo, ALICE, BOB, weft_ev(0, 0), 5000, 60))
			sent++;
		else
			turns(sw, 1);
		(void)weft_shm_take(bob.link, WEFT_SHM_RX, d, RING_ENTRIES); /* and keeps them */
	}
	turns(sw, 20);
	CHECK_EQ(sw->nic.of_host[BOB]->held, 2 * RING_ENTRIES);
	CHECK_EQ(sw->drops[EDGE_RX_FULL], 300);
	end();
}

TEST(nic_take__survives_foul_descriptors)
{
	struct weft_shm_desc foul[] = { { .slot = 0 }, { .slot = 8191, .bytes = 100 },
		{ .slot = 8190, .bytes = 65535 } };

	begin();
	uint32_t slot = program_slot(&alice);
	for (unsigned i = 0; i < 3; i++) { /* slots that were never lent: force them through */
		alice.pool.owner[foul[i].slot] = 0;
		CHECK_EQ(weft_shm_put(alice.link, WEFT_SHM_TX, &foul[i], 1), 1);
	}
	for (unsigned i = 0; i < 2; i++) { /* twice the same */
		struct weft_shm_desc d = { .slot = slot, .bytes = 20 };

		alice.pool.owner[slot] = 0;
		CHECK_EQ(weft_shm_put(alice.link, WEFT_SHM_TX + 1, &d, 1), 1);
	}
	turns(sw, 5);
	CHECK(nic_bad(sw) >= 3);
	weft_network_check(sw->network);
	end();
}

/* While a link turns bits in everything, as it came to light. */
TEST(nic_take__takes_packets_of_every_length)
{
	begin();
	weft_network_link_spoil(sw->network, find_link(sw, "alice.p0"), 3, 1000000);
	for (uint16_t bytes = 0; bytes <= 60; bytes++) {
		struct weft_shm_desc d = { .slot = program_slot(&alice), .bytes = bytes };
		uint8_t *ip = weft_shm_packet(&alice.pool, d.slot);

		REQUIRE(d.slot != SLOT_NONE);
		memset(ip, 0, 60);
		ip[0] = 0x60;
		CHECK_EQ(weft_shm_put(alice.link, WEFT_SHM_TX, &d, 1), 1);
		turns(sw, 2);
	}
	turns(sw, 20);
	CHECK_EQ(nic_bad(sw), 1); /* the one without a length */
	CHECK_EQ(weft_network_stats(sw->network)->sent, 60);
	CHECK_EQ(weft_network_stats(sw->network)->dropped, 60);
	end();
}

/* Whether the program, asleep, is woken by a turn at that time. */
static bool is_woken(struct program *p, uint64_t now_ns)
{
	struct pollfd bell = { .fd = weft_shm_wait_fd(p->link), .events = POLLIN };

	weft_shm_will_sleep(p->link, true);
	(void)loop_turn(sw, now_ns);
	bool woken = poll(&bell, 1, 0) == 1;
	weft_shm_will_sleep(p->link, false);
	CHECK(weft_shm_bell_clear(p->link));
	return woken;
}

TEST(nic_take__wakes_who_waits_for_his_line)
{
	begin();
	uint64_t now_ns = alice.at_ns = real_now_ns();
	for (unsigned i = 0; i < 5; i++) /* 32 us of the line each */
		CHECK(program_send(&alice, sw->topo, ALICE, BOB, weft_ev(0, 0), 9, 4000));
	alice.at_ns = 0;
	CHECK(is_woken(&alice, now_ns)); /* some wait on */
	CHECK(is_woken(&alice, now_ns + 70000));
	CHECK(!is_woken(&alice, now_ns + 900000)); /* the rest goes: he has lost no time */
	CHECK(!is_woken(&alice, now_ns + 1000000));
	CHECK_EQ(sw->nic.of_host[ALICE]->sent, 5);
	/* So many at once may have been all that he lets wait. */
	for (unsigned i = 0; i < 8; i++)
		CHECK(program_send(&alice, sw->topo, ALICE, BOB, weft_ev(0, 0), 9, 100));
	usleep(1200);
	CHECK(is_woken(&alice, real_now_ns() + 2000000));
	end();
}

TEST(nic_take__wakes_who_waits_for_slots)
{
	static uint32_t others[8192];
	uint32_t n = 0;
	unsigned sent = 0;

	begin();
	while (sw->slots.n_free) /* others have them all */
		others[n++] = slots_take(&sw->slots);
	while (program_send(&alice, sw->topo, ALICE, BOB, weft_ev(sent % 2, 0), 9, 60))
		sent++;
	CHECK(sent >= 64);
	(void)loop_turn(sw, real_now_ns() + 1000000);
	while (sw->slots.n_free)
		others[n++] = slots_take(&sw->slots);
	CHECK(!is_woken(&alice, real_now_ns() + 2000000));
	CHECK_EQ(program_slot(&alice), SLOT_NONE);
	while (n)
		slots_give(&sw->slots, others[--n]);
	CHECK(is_woken(&alice, real_now_ns() + 3000000));
	CHECK(program_slot(&alice) != SLOT_NONE);
	end();
}

TEST(nic_take__does_not_believe_in_the_future)
{
	struct weft_shm_desc d = { .at_ns = UINT64_MAX, .bytes = 100 };

	begin();
	d.slot = program_slot(&alice);
	packet_make(sw->topo, ALICE, BOB, weft_ev(0, 0), 5000, weft_shm_packet(&alice.pool, d.slot),
		100);
	CHECK_EQ(weft_shm_put(alice.link, WEFT_SHM_TX, &d, 1), 1);
	REQUIRE(program_receive(&bob, sw, &d, 1) == 1);
	CHECK(d.at_ns <= real_now_ns());
	program_done(&bob, &d, 1);
	end();
}

/* Among many, those that are silent are not looked at until they ring. */
TEST(nic_take__hears_the_quiet_when_they_ring)
{
	static struct program crowd[70];
	struct weft_shm_desc d[4];

	begin();
	for (unsigned i = 0; i < WEFT_COUNT(crowd); i++)
		CHECK_EQ(program_attach(&crowd[i], sw, "alice", 0), 0);
	usleep(6000);
	turns(sw, 3);
	CHECK_EQ(sw->nic.n_polled, 0);
	(void)nic_will_sleep(sw, false); /* as ears do that are woken for others */
	CHECK(program_send(&alice, sw->topo, ALICE, BOB, weft_ev(0, 0), 5000, 100));
	turns(sw, 2);
	CHECK_EQ(sw->nic.n_polled, 0); /* it has not rung */
	weft_shm_bell(alice.link);
	REQUIRE(program_receive(&bob, sw, d, 1) == 1);
	CHECK_EQ(sw->nic.n_polled, 2); /* bob holds a packet */
	usleep(6000);
	turns(sw, 3);
	CHECK_EQ(sw->nic.n_polled, 1);
	program_done(&bob, d, 1);
	usleep(6000);
	turns(sw, 3);
	CHECK_EQ(sw->nic.n_polled, 0);
	CHECK_EQ(sw->nic.process[1]->held, 0);
	/* Some leave, from anywhere in the list. */
	CHECK(program_send(&crowd[3], sw->topo, ALICE, BOB, weft_ev(0, 0), 9, 100));
	weft_shm_bell(crowd[3].link);
	turns(sw, 2);
	for (unsigned i = 0; i < WEFT_COUNT(crowd); i += 2)
		program_close(&crowd[i]);
	turns(sw, 3);
	for (unsigned i = 0; i < sw->nic.n; i++)
		CHECK_EQ(sw->nic.list[i]->place, i);
	for (unsigned i = 1; i < WEFT_COUNT(crowd); i += 2)
		program_close(&crowd[i]);
	end();
}

TEST(nic_carrier__tells_which_planes_are_up)
{
	begin();
	weft_network_link_mark(sw->network, find_link(sw, "bob.p1"), false, sw->ran_ps);
	loop_tell_carrier(sw);
	CHECK_EQ(weft_shm_carrier(bob.link), 1);
	CHECK_EQ(weft_shm_carrier(alice.link), 3);
	weft_network_link_mark(sw->network, find_link(sw, "bob.p1"), true, sw->ran_ps);
	loop_tell_carrier(sw);
	CHECK_EQ(weft_shm_carrier(bob.link), 3);
	end();
}

TEST(nic_wake__takes_everything_back_from_the_dead)
{
	struct weft_shm_desc d[8];

	begin();
	for (unsigned i = 0; i < 8; i++)
		CHECK(program_send(&alice, sw->topo, ALICE, BOB, weft_ev(0, 1), 5000, 500));
	REQUIRE(program_receive(&bob, sw, d, 4) == 4); /* some read, some waiting in the ring */
	uint32_t before = sw->slots.n_free;
	program_close(&bob);
	turns(sw, 5);
	CHECK_EQ(sw->nic.n, 1);
	CHECK(sw->slots.n_free > before);
	CHECK_EQ(program_open(&bob, sw, "bob", 5000), 0); /* his port is free again */
	end();
}

TEST(nic_will_sleep__sees_what_came_just_before)
{
	begin();
	turns(sw, 5);
	CHECK(nic_will_sleep(sw, true));
	(void)nic_will_sleep(sw, false);
	CHECK(program_send(&alice, sw->topo, ALICE, BOB, weft_ev(0, 0), 5000, 100));
	CHECK(!nic_will_sleep(sw, true));
	(void)nic_will_sleep(sw, false);
	end();
}
