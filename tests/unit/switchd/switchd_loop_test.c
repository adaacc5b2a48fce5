/* SPDX-License-Identifier: BSD-2-Clause */
#include "switches.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static volatile int stop;

static void *stop_later(void *arg)
{
	usleep(*(unsigned *)arg);
	stop = 1;
	return NULL;
}

static uint64_t thread_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000 +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

TEST(weft_switchd_run__ends_when_told_and_sleeps_until_then)
{
	struct place place;
	pthread_t thread;
	unsigned us = 300000;

	place_open(&place, SMALL2);
	struct weft_switchd *sw = switch_open(&place, NULL);
	stop = 0;
	REQUIRE(!pthread_create(&thread, NULL, stop_later, &us));
	uint64_t cpu_ns = thread_ns();
	weft_switchd_run(sw, &stop);
	CHECK(thread_ns() - cpu_ns < 30000000); /* of 300 ms or more */
	pthread_join(thread, NULL);
	weft_switchd_close(sw);
	place_close(&place);
}

/* A switch that sleeps is woken by a packet, and wakes who waits for it. */
TEST(weft_switchd_run__is_woken_by_its_hosts)
{
	struct weft_shm_desc d[1];
	struct program alice, bob;
	struct place place;
	pid_t child;

	place_open(&place, SMALL2);
	child = fork();
	if (!child) {
		volatile int never = 0;

		weft_switchd_run(switch_open(&place, NULL), &never);
		_exit(0);
	}
	struct program *both[] = { &alice, &bob };
	static const char *const names[] = { "alice", "bob" };
	for (unsigned i = 0; i < 2; i++) {
		memset(both[i], 0, sizeof(alice));
		snprintf(both[i]->path, sizeof(alice.path), "%s/ports", place.dir);
		snprintf(both[i]->hello.host, sizeof(alice.hello.host), "%s", names[i]);
		both[i]->hello.udp_port = (uint16_t)(5000 + i);
		for (unsigned k = 0; k < 200 && !both[i]->link; k++) {
			(void)program_dial(both[i]);
			if (!both[i]->link)
				usleep(10000);
		}
		REQUIRE(both[i]->link);
	}
	struct weft_topo *topo;
	REQUIRE(!weft_topo_open(&topo, place.fabric, alice.error, sizeof(alice.error)));
	usleep(50000); /* it sleeps */
	weft_shm_will_sleep(bob.link, true);
	CHECK(program_send(&alice, topo, ALICE, BOB, weft_ev(0, 0), 5001, 100));
	weft_shm_bell(alice.link);
	struct pollfd bell = { .fd = weft_shm_wait_fd(bob.link), .events = POLLIN };
	CHECK_EQ(poll(&bell, 1, 2000), 1);
	CHECK_EQ(weft_shm_take(bob.link, WEFT_SHM_RX, d, 1), 1);
	weft_topo_close(topo);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	program_close(&alice);
	program_close(&bob);
	place_close(&place);
}

TEST(loop_turn__never_goes_back)
{
	struct place place;

	place_open(&place, SMALL2);
	struct weft_switchd *sw = switch_open(&place, NULL);
	(void)loop_turn(sw, sw->epoch_ns + 5000);
	CHECK_EQ(sw->ran_ps, 5000000);
	(void)loop_turn(sw, sw->epoch_ns + 4000);
	CHECK_EQ(sw->ran_ps, 5000000);
	(void)loop_turn(sw, 0);
	CHECK_EQ(sw->ran_ps, 5000000);
	weft_switchd_close(sw);
	place_close(&place);
}

/* A ping-pong is woken for, a stream is gathered: fast, or slow and much of it under way. */
TEST(loop_gathers__where_more_is_coming)
{
	struct place place;

	place_open(&place, SMALL2);
	struct weft_switchd *sw = switch_open(&place, NULL);
	CHECK(!loop_gathers(sw, 1000)); /* not much in the last millisecond */
	sw->gather_ns = 50000;
	CHECK(!loop_gathers(sw, 6)); /* a write, its answer, and what acknowledges them */
	CHECK(loop_gathers(sw, 12));
	for (unsigned i = 0; i < 6; i++) {
		struct weft_frame frame = { .handle = slots_take(&sw->slots) };

		CHECK(!loop_gathers(sw, 6));
		REQUIRE(weft_network_send(sw->network, ALICE, 0, &frame, 1000, sw->ran_ps));
	}
	CHECK(loop_gathers(sw, 0));
	weft_switchd_close(sw);
	place_close(&place);
}

static void judge(struct weft_switchd *sw, uint64_t turn_ps, uint64_t quiet_ps)
{
	sw->ran_ps += turn_ps;
	sw->newest_ps = sw->ran_ps - quiet_ps;
	loop_judge(sw, sw->window_ns, 40);
}

/* As long as packets come, not much longer: a message of 64 KiB is 16 of them, and then none. */
TEST(loop_judge__gathers_no_longer_than_bursts_last)
{
	struct place place;

	place_open(&place, SMALL2);
	struct weft_switchd *sw = switch_open(&place, NULL);
	CHECK_EQ(sw->burst_ns, GATHER_NS_MAX);
	judge(sw, 100000000, 1000000); /* a stream */
	CHECK_EQ(sw->burst_ns, GATHER_NS_MAX);
	judge(sw, 100000000, 80000000);
	CHECK_EQ(sw->burst_ns, GATHER_NS_MAX / 2);
	judge(sw, 50000000, 20000000); /* neither */
	CHECK_EQ(sw->burst_ns, GATHER_NS_MAX / 2);
	for (unsigned i = 0; i < 5; i++)
		judge(sw, 50000000, 30000000);
	CHECK_EQ(sw->burst_ns, 12000);
	sw->ran_ps += 50000000;
	loop_judge(sw, sw->window_ns, 0); /* nothing came: it says nothing */
	CHECK_EQ(sw->burst_ns, 12000);
	for (unsigned i = 0; i < 5; i++)
		judge(sw, 12000000, 1000000);
	CHECK_EQ(sw->burst_ns, GATHER_NS_MAX);
	weft_switchd_close(sw);
	place_close(&place);
}

TEST(loop_power__forgets_a_reboot_that_was_overruled)
{
	struct place place;

	place_open(&place, SMALL2);
	struct weft_switchd *sw = switch_open(&place, NULL);
	uint32_t node = weft_topo_node_find(sw->topo, "p1.t1-1");
	loop_power(sw, node, false, real_now_ns() + 1000000);
	loop_power(sw, node, false, 0); /* off for good */
	usleep(3000);
	turns(sw, 1);
	CHECK_EQ(sw->is_off[node], 1);
	CHECK_EQ(sw->next_on_ns, WEFT_NEVER);
	weft_switchd_close(sw);
	place_close(&place);
}
