/* SPDX-License-Identifier: BSD-2-Clause */
/* A peer that is played by hand: what it loses and how large its door is, is this file's. */
#include "patients.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

static const uint8_t lo[16] = { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 };
static struct asking a;
static struct heard heard;
static int fd;
static atomic_bool ends;
static uint32_t lose_every, largest_out, largest_back;

static void answer(void)
{
	struct probe probe;

	if (!probe_decode(&probe, heard.bytes, heard.n))
		return;
	if (probe.kind == PROBE_SMALL && lose_every && probe.seq % lose_every == 0)
		return;
	if (probe.kind == PROBE_SIZED && probe.bytes + 28u > largest_out)
		return;
	uint8_t bytes[PROBE_BYTES];

	probe.is_answer = 1;
	probe_encode(&probe, bytes);
	(void)weft_inet_send(fd, lo, heard.from, heard.number, bytes, sizeof(bytes));
	if (probe.kind != PROBE_SIZED || probe.bytes + 28u > largest_back)
		return;
	probe.is_answer = 2;
	probe_encode(&probe, heard.bytes);
	(void)weft_inet_send(fd, lo, heard.from, heard.number, heard.bytes, heard.n);
}

static void *play(void *arg)
{
	(void)arg;
	while (!ends)
		if (plane_hear(fd, &heard))
			answer();
		else
			usleep(200);
	return NULL;
}

static const struct weft_doctor_path *measured(void)
{
	pthread_t thread;

	memset(&a, 0, sizeof(a));
	memset(a.fd, 0xff, sizeof(a.fd));
	memset(a.tcp_fd, 0xff, sizeof(a.tcp_fd));
	make_healthy();
	memset(&facts.peer, 0, sizeof(facts.peer));
	facts.planes = facts.peer.planes = 1;
	memcpy(facts.plane[0].addr, lo, 16);
	memcpy(facts.peer.plane_addr[0], lo, 16);
	facts.iface[0].is_loopback = true;
	facts.peer.path[0].peer_mtu_bytes = 9000;
	a.facts = &facts;
	a.ear_fd = a.line = -1;
	a.deadline_ns = weft_clock_now(NULL) + WEFT_DOCTOR_ASK_NS;
	fd = plane_socket(lo, 0, 0);
	REQUIRE(fd >= 0);
	a.udp[0] = plane_socket_number(fd);
	ends = false;
	REQUIRE(!pthread_create(&thread, NULL, play, NULL));
	measure(&a);
	ends = true;
	pthread_join(thread, NULL);
	close(fd);
	close(a.fd[0]);
	return &facts.peer.path[0];
}

TEST(measure__finds_nothing_lost_and_full_packets)
{
	lose_every = 0, largest_out = largest_back = 9000;
	const struct weft_doctor_path *path = measured();

	CHECK_EQ(path->sent, 200);
	CHECK_EQ(path->echoed, 200);
	CHECK_EQ(path->mtu_out_bytes, 9000);
	CHECK_EQ(path->mtu_back_bytes, 9000);
}

TEST(measure__counts_what_is_lost)
{
	lose_every = 4, largest_out = largest_back = 9000;
	CHECK_EQ(measured()->echoed, 150);
}

TEST(measure__finds_a_size_to_the_byte)
{
	lose_every = 0, largest_out = largest_back = 1437;
	CHECK_EQ(measured()->mtu_out_bytes, 1437);
	largest_out = 9000, largest_back = 1283;
	const struct weft_doctor_path *path = measured();

	CHECK_EQ(path->mtu_out_bytes, 9000);
	CHECK_EQ(path->mtu_back_bytes, 1283);
	largest_out = largest_back = 8888;
	path = measured();
	CHECK(path->mtu_back_bytes <= 8888 && path->mtu_back_bytes >= 8880);
}

TEST(learn__believes_within_bounds)
{
	int pair[2];
	static const char seen[] = "{\"seen\":[{\"small\":999,\"mrc\":-1,\"mtu\":1500,\"wrong\":2,"
				   "\"iface\":\"\\u001beth1\",\"cabled\":77}]}\n";

	make_healthy();
	memset(&a, 0, sizeof(a));
	a.facts = &facts;
	a.deadline_ns = weft_clock_now(NULL) + 500000000;
	REQUIRE(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair));
	REQUIRE(write(pair[1], seen, strlen(seen)) > 0);
	a.line = pair[0];
	facts.peer.path[0].cabled_to = -1;
	learn(&a);
	CHECK_EQ(facts.peer.path[0].arrived, 200);
	CHECK_EQ(facts.peer.path[0].mrc_arrived, 0);
	CHECK_EQ(facts.peer.path[0].cabled_to, -1);
	CHECK(*facts.peer.path[0].arrived_iface != '\x1b');
	close(pair[1]);
	learn(&a);
	CHECK_EQ(facts.peer.state, WEFT_DOCTOR_PEER_LOST);
	close(pair[0]);
}
