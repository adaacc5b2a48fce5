/* SPDX-License-Identifier: BSD-2-Clause */
/* The process with the switches: what it carries, and what is seen of it when it dies. */
#include "labs.h"

#include <signal.h>
#include <weft/panic.h>

#define ALL(src, dst) ev_bits(&world, src, dst, WEFT_TOPO_NONE, WEFT_TOPO_NONE)

static struct world world;

static void check_every_path(const char *text)
{
	build_soft(&world, text);
	uint32_t hosts = weft_topo_shape(world.topo)->hosts;
	for (uint32_t src = 0; src < hosts; src++) {
		for (uint32_t dst = 0; dst < hosts; dst++) {
			if (src != dst)
				CHECK_EQ(deliver_all(&world, src, dst), ALL(src, dst));
		}
	}
	build_end(&world);
}

TEST(soft_start__delivers_every_ev_of_every_pair)
{
	check_every_path("name: lab8\nplanes: 8\nt0s: 2\nt1s: 2\nhosts: 4\n");
	check_every_path(PARALLEL "usid: {behavior: uA}\n");
	check_every_path(TWO_PLANES "overrides: [{link: p1.t0-0:t1-1, cabled: false}, "
				    "{link: h3.p0, cabled: false}]\n");
}

TEST(soft_start__carries_host_addresses)
{
	uint8_t address[16], to[16], from[16];
	char byte;

	build_soft(&world, TWO_PLANES);
	int tx = udp_open(&world, 0, 5000), rx = udp_open(&world, 3, 4791);
	for (uint32_t p = 0; p < 2; p++) {
		weft_topo_host_addr(world.topo, 3, p, address);
		CHECK(udp_send(tx, address, "x", 1));
		CHECK_EQ(udp_take(rx, 200, to, from, &byte, 1), 1);
		CHECK_MEM(to, address, 16);
	}
	close(tx);
	close(rx);
	build_end(&world);
}

/*
 * The host's bucket lets through what the line behind it takes, gaps included, so nothing piles up
 * before the line however long a sender sends.  Short packets, whose gaps are a fifth of the time.
 */
TEST(soft_start__makes_senders_wait_at_the_rate)
{
	enum { PACKETS = 30000, BYTES = 60, LINE_BYTES = BYTES + 48 + 14 + 24 };
	uint8_t address[16], to[16], from[16];
	int bytes = 16000000;
	unsigned got = 0, least = PACKETS; /* under way, in the second half */
	char data[BYTES] = "";

	build_soft_at(&world, TWO_PLANES, 20000000);
	int tx = udp_open(&world, 0, 5000), rx = udp_open(&world, 3, 4791);
	setsockopt(rx, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	REQUIRE(weft_topo_usid(world.topo, 0, 3, 0, address));
	uint64_t start_ns = clock_now_ns();
	for (unsigned i = 0; i < PACKETS; i++) {
		CHECK(udp_send(tx, address, data, sizeof(data)));
		while (udp_take(rx, 0, to, from, data, sizeof(data)) > 0)
			got++;
		if (i >= PACKETS / 2)
			least = WEFT_MIN(least, i + 1 - got);
	}
	while (got < PACKETS && udp_take(rx, 3000, to, from, data, sizeof(data)) > 0)
		got++;
	uint64_t end_ns = clock_now_ns();
	CHECK_EQ(got, PACKETS);
	CHECK((uint64_t)PACKETS * LINE_BYTES * 8 * 1000 / (end_ns - start_ns) <= 20);
	CHECK(least < 1000); /* the socket's buffer, nothing behind it */
	close(tx);
	close(rx);
	build_end(&world);
}

TEST(soft_start__says_what_is_missing)
{
	const struct weft_lab_options options = { .switches = WEFT_LAB_SWITCHES_SOFT };
	const struct weft_lab_options offloads = {
		.name = "soft", .switches = WEFT_LAB_SWITCHES_SOFT, .offloads = true
	};

	need_root_here();
	CHECK(!world_open(&world, read_fabric(TWO_PLANES), &options));
	CHECK_STR(world.error, "soft switches: no place for their sockets");
	world_close(&world);
	CHECK(!world_open(&world, read_fabric(TWO_PLANES), &offloads));
	CHECK(strstr(world.error, "offloads"));
	world_close(&world);
}

static void wait_end(void)
{
	struct pollfd end = { .fd = world.soft.pid_fd, .events = POLLIN };

	CHECK_EQ(poll(&end, 1, 5000), 1);
	soft_reap(&world);
	CHECK_EQ(world.soft.pid, 0);
	CHECK_EQ(world.soft.pid_fd, -1);
}

static void trip(int number)
{
	(void)number;
	weft_panic("src/fabric/network/made_up.c", 7, "n < n");
}

TEST(soft_reap__tells_which_assertion_broke)
{
	weft_panic_fn *before = weft_panic_hook(weft_panic_say);
	void (*was)(int) = signal(SIGUSR1, trip); /* which the switches' process inherits */

	build_soft(&world, TWO_PLANES);
	(void)weft_panic_hook(before);
	(void)signal(SIGUSR1, was);
	CHECK_EQ(kill(world.soft.pid, SIGUSR1), 0);
	wait_end();
	const char *said = strstr(world.soft.end, ": ");

	CHECK_STR(said, ": weft: src/fabric/network/made_up.c:7: broken assertion: n < n");
	build_end(&world);
}

TEST(soft_reap__tells_a_death_and_takes_the_carriers)
{
	struct weft_lab_fault fault = { .kind = WEFT_LAB_PLANE_DOWN };
	struct weft_lab_end_stats ends[2];
	uint32_t id;

	build_soft(&world, TWO_PLANES);
	soft_reap(&world); /* it lives: nothing happens */
	CHECK(world.soft.pid > 0);
	CHECK(link_stats(&world, 0, ends) && ends[0].carrier);
	kill(world.soft.pid, SIGKILL);
	wait_end();
	CHECK_STR(world.soft.end, "killed by SIGKILL");
	CHECK(link_stats(&world, 0, ends));
	CHECK(ends[0].up && !ends[0].carrier && !ends[1].carrier);
	CHECK(!fault_add(&world, &fault, 1, &id));
	CHECK_STR(world.error, "the switches have ended: killed by SIGKILL");
	build_end(&world);
}

TEST(soft_reap__repeats_what_it_said_last)
{
	build_soft(&world, TWO_PLANES);
	char path[160];

	snprintf(path, sizeof(path), "%s/log", world.soft.dir);
	FILE *log = fopen(path, "a");
	REQUIRE(log && fputs("first\nqueue.c:1: depth is 3\n", log) >= 0 && !fclose(log));
	kill(world.soft.pid, SIGTERM); /* orderly, but nobody asked for it */
	wait_end();
	CHECK_STR(world.soft.end, "ended with 0: queue.c:1: depth is 3");
	build_end(&world);
}

TEST(soft_close__leaves_no_process)
{
	build_soft(&world, TWO_PLANES);
	pid_t pid = world.soft.pid;
	build_end(&world);
	CHECK(kill(pid, 0) && errno == ESRCH);
}

TEST(soft_close__does_not_wait_for_a_process_that_hangs)
{
	build_soft(&world, TWO_PLANES);
	pid_t pid = world.soft.pid;
	kill(pid, SIGSTOP);
	build_end(&world);
	CHECK(kill(pid, 0) && errno == ESRCH);
}
