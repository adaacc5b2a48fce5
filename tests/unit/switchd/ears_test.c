/* SPDX-License-Identifier: BSD-2-Clause */
#include "switches.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>

#define FAST                                                                                       \
	"name: small2\nplanes: 2\nt0s: 2\nt1s: 2\nhosts: [alice, bob]\n"                           \
	"host_links: {speed: 100Gb/s, delay: 0ns}\ncore_links: {speed: 100Gb/s, delay: 0ns}\n"     \
	"switch: {queue: 500KB}\nbase_rtt: 250us\n"
#define PATIENCE 100000u /* of 0.1 ms */
#define PORT 7

/* A switch of which this thread is the main one, and has the baton. */
struct stage {
	struct place place;
	struct weft_switchd *sw;
	struct program alice, bob;
};

static void stage_open(struct stage *s, const char *fabric)
{
	place_open(&s->place, fabric);
	s->sw = switch_open(&s->place, NULL);
	ears_open(s->sw, true);
	REQUIRE(!program_open(&s->alice, s->sw, "alice", PORT));
	REQUIRE(!program_open(&s->bob, s->sw, "bob", PORT));
	turns(s->sw, 5);
}

static void stage_close(struct stage *s)
{
	program_close(&s->alice);
	program_close(&s->bob);
	ears_close(s->sw);
	weft_switchd_close(s->sw);
	place_close(&s->place);
}

/* As before a sleep of the main thread; and after. */
static void let_go(struct weft_switchd *sw)
{
	while (!nic_will_sleep(sw, true)) {
		(void)nic_will_sleep(sw, false);
		weft_switchd_turn(sw);
	}
	baton_give(sw);
}

static void take_back(struct weft_switchd *sw)
{
	baton_take(sw);
	(void)nic_will_sleep(sw, false);
}

static size_t await(struct program *p, struct weft_shm_desc d[], size_t n)
{
	size_t got = 0;

	for (unsigned i = 0; i < PATIENCE && got < n; i++) {
		got += weft_shm_take(p->link, WEFT_SHM_RX, d + got, n - got);
		if (got < n)
			usleep(100);
	}
	return got;
}

static bool has_ears(const struct weft_switchd *sw)
{
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) || CPU_COUNT(&cpus) < 2 ||
		CPU_COUNT(&cpus) > (int)WEFT_SHM_EARS_MAX)
		return false;
	CHECK_EQ(sw->ears.n, (uint32_t)CPU_COUNT(&cpus));
	return true;
}

/* A packet to the other one, by an ear. */
static void pass(struct stage *s, struct program *from)
{
	bool is_alice = from == &s->alice;
	struct program *to = is_alice ? &s->bob : &s->alice;
	struct weft_shm_desc d;

	let_go(s->sw);
	REQUIRE(program_send(
		from, s->sw->topo, is_alice ? ALICE : BOB, is_alice ? BOB : ALICE, 1, PORT, 99));
	weft_shm_bell(from->link);
	REQUIRE(await(to, &d, 1) == 1);
	take_back(s->sw);
	program_done(to, &d, 1);
}

TEST(ears__forward_while_the_main_thread_sleeps)
{
	struct stage s;

	stage_open(&s, FAST);
	for (unsigned i = 0; i < 200 && has_ears(s.sw); i++)
		pass(&s, i % 2 ? &s.bob : &s.alice);
	stage_close(&s);
}

/* Who gathers would keep the sender from his CPU. */
TEST(ears__leave_streams_to_the_main_thread)
{
	struct weft_shm_desc d[64];
	struct stage s;

	stage_open(&s, FAST);
	if (has_ears(s.sw)) {
		struct pollfd kick = { .fd = s.sw->ears.kick_fd, .events = POLLIN };

		s.sw->gather_ns = 50000;
		s.sw->window_moved = UINT32_MAX; /* as it will be judged again, too */
		s.alice.flags = WEFT_SHM_BULK;
		let_go(s.sw);
		for (unsigned i = 0; i < 32; i++)
			REQUIRE(program_send(&s.alice, s.sw->topo, ALICE, BOB, 1, PORT, 99));
		weft_shm_bell(s.alice.link);
		CHECK_EQ(poll(&kick, 1, 20000), 1);
		take_back(s.sw);
		ears_heard(s.sw);
		CHECK_EQ(poll(&kick, 1, 0), 0);
		CHECK_EQ(program_receive(&s.bob, s.sw, d, 32), 32);
	}
	stage_close(&s);
}

/* A long message that somebody waits for is none. */
TEST(ears__keep_what_is_no_stream)
{
	struct weft_shm_desc d[64];
	struct stage s;

	stage_open(&s, FAST);
	if (has_ears(s.sw)) {
		struct pollfd kick = { .fd = s.sw->ears.kick_fd, .events = POLLIN };

		s.sw->gather_ns = 50000;
		s.sw->window_moved = UINT32_MAX;
		s.sw->ran_ps += 1000000000; /* the last stream is long over */
		let_go(s.sw);
		for (unsigned i = 0; i < 32; i++)
			REQUIRE(program_send(&s.alice, s.sw->topo, ALICE, BOB, 1, PORT, 99));
		weft_shm_bell(s.alice.link);
		CHECK_EQ(await(&s.bob, d, 32), 32);
		take_back(s.sw);
		CHECK_EQ(poll(&kick, 1, 0), 0);
	}
	stage_close(&s);
}

static void stay_on_this_cpu(cpu_set_t *before)
{
	cpu_set_t cpus;

	REQUIRE(!sched_getaffinity(0, sizeof(*before), before));
	CPU_ZERO(&cpus);
	CPU_SET((unsigned)sched_getcpu(), &cpus);
	REQUIRE(!sched_setaffinity(0, sizeof(cpus), &cpus));
}

/* Who holds the baton hears of it, and the ear does not stand in line. */
TEST(ears__leave_their_work_to_who_has_the_baton)
{
	cpu_set_t cpus;
	struct weft_shm_desc d;
	struct stage s;

	stage_open(&s, FAST);
	if (has_ears(s.sw)) {
		stay_on_this_cpu(&cpus); /* whose ear is called, the second time too */
		for (unsigned n = 0; n < 2; n++) {
			atomic_store(&s.sw->ears.called, false);
			while (!nic_will_sleep(s.sw, true))
				weft_switchd_turn(s.sw);
			REQUIRE(program_send(&s.alice, s.sw->topo, ALICE, BOB, 1, PORT, 99));
			weft_shm_bell(s.alice.link);
			for (unsigned i = 0; i < PATIENCE && !ears_are_called(s.sw); i++)
				usleep(100);
			CHECK(ears_are_called(s.sw));
			CHECK(!weft_shm_take(s.bob.link, WEFT_SHM_RX, &d, 1));
			CHECK(!baton_is_wanted(s.sw));
			CHECK_EQ(program_receive(&s.bob, s.sw, &d, 1), 1);
			program_done(&s.bob, &d, 1);
		}
		CHECK(!sched_setaffinity(0, sizeof(cpus), &cpus));
	}
	stage_close(&s);
}

/* Switches are nearer to each other than a turn takes. */
TEST(loop_turn__carries_a_packet_all_the_way_where_lines_are_fast)
{
	struct weft_shm_desc d;
	struct stage s;

	stage_open(&s, FAST);
	if (has_ears(s.sw)) {
		s.alice.at_ns = real_now_ns();
		REQUIRE(program_send(&s.alice, s.sw->topo, ALICE, BOB, 1, PORT, 99));
		CHECK_EQ(loop_turn(s.sw, s.alice.at_ns), 2); /* in and out, in no time */
		CHECK_EQ(weft_shm_take(s.bob.link, WEFT_SHM_RX, &d, 1), 1);
	}
	stage_close(&s);
}

static uint64_t used_us(void)
{
	struct rusage u;

	REQUIRE(!getrusage(RUSAGE_SELF, &u));
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* The eventfds are programs' as well: one could make them such that reading them does not wait. */
TEST(ears__sleep_whatever_a_program_does_to_their_files)
{
	struct stage s;

	stage_open(&s, FAST);
	if (has_ears(s.sw)) {
		for (uint32_t i = 0; i < s.sw->ears.n; i++)
			REQUIRE(!fcntl(s.sw->ears.ear[i].fd, F_SETFL, O_NONBLOCK));
		for (unsigned i = 0; i < 50; i++)
			pass(&s, &s.alice);
		uint64_t before_us = used_us();

		usleep(50000);
		CHECK(used_us() - before_us < 25000);
	}
	stage_close(&s);
}

/* A program that dies leaves nothing behind that ears would trip over. */
TEST(ears__outlive_their_programs)
{
	struct stage s;

	stage_open(&s, FAST);
	for (unsigned i = 0; i < 20 && has_ears(s.sw); i++) {
		let_go(s.sw);
		weft_shm_bell(s.alice.link);
		program_close(&s.alice);
		take_back(s.sw);
		turns(s.sw, 3);
		REQUIRE(!program_open(&s.alice, s.sw, "alice", PORT));
		pass(&s, &s.alice);
	}
	stage_close(&s);
}

/* All are called at once: one that finds the baton taken by another must hear of the end. */
TEST(ears_close__ends_all_of_them_each_time)
{
	struct place place;

	place_open(&place, FAST);
	struct weft_switchd *sw = switch_open(&place, NULL);

	for (unsigned i = 0; i < 2000; i++) {
		ears_open(sw, true);
		ears_close(sw);
	}
	weft_switchd_close(sw);
	place_close(&place);
}

TEST(ears_open__has_none_where_lines_are_slow_or_time_is_not_real)
{
	struct place place;

	place_open(&place, SMALL2);
	struct weft_switchd *sw = switch_open(&place, NULL);

	ears_open(sw, true);
	CHECK_EQ(sw->ears.n, 0);
	ears_close(sw);
	weft_switchd_close(sw);
	place_close(&place);
	place_open(&place, FAST);
	sw = switch_open(&place, NULL);
	ears_open(sw, false);
	CHECK_EQ(sw->ears.n, 0);
	ears_close(sw);
	weft_switchd_close(sw);
	place_close(&place);
}
