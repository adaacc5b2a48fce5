/* SPDX-License-Identifier: BSD-2-Clause */
/* Both ends in one program, over lo: the ear in a thread. */
#include "patients.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

static const uint8_t lo[16] = { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 };
static char error[256];
static struct weft_doctor_ear *ear;
static atomic_bool ends;
static atomic_uint gone;
static pthread_t thread;
static uint16_t port;

static void *run(void *arg)
{
	(void)arg;
	while (!ends)
		gone = weft_doctor_hear(ear, 5);
	return NULL;
}

static void begin(const char *planes)
{
	int fd = plane_socket(lo, 0, 0);

	port = plane_socket_number(fd);
	close(fd);
	ends = false;
	REQUIRE(!weft_doctor_listen(&ear, planes, port, error, sizeof(error)));
	REQUIRE(!pthread_create(&thread, NULL, run, NULL));
}

static void end(void)
{
	ends = true;
	pthread_join(thread, NULL);
	weft_doctor_deafen(ear);
}

TEST(weft_doctor_hear__answers_a_doctor)
{
	const struct weft_doctor_path *path = facts.peer.path;

	begin("127.0.0.1,127.0.0.2");
	REQUIRE(!weft_doctor_gather(&facts, "127.0.0.3,127.0.0.4", error, sizeof(error)));
	weft_doctor_ask(&facts, "127.0.0.1", port);
	for (int i = 0; i < 400 && !gone; i++)
		usleep(5000);
	CHECK_EQ(gone, 1);
	end();
	CHECK_EQ(facts.peer.state, WEFT_DOCTOR_PEER_ANSWERED);
	REQUIRE(facts.peer.paths == 2);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(path[i].sent, 200);
		CHECK_EQ(path[i].arrived, 200);
		CHECK_EQ(path[i].echoed, 200);
		CHECK_EQ(path[i].tcp, WEFT_DOCTOR_TCP_OPEN);
		CHECK(path[i].rtt_ns > 0);
		CHECK_EQ(path[i].mtu_out_bytes, 65535);
		CHECK_EQ(path[i].mtu_back_bytes, 65535);
	}
}

TEST(weft_doctor_hear__sends_strangers_away)
{
	int fd;
	json_t *said = json_pack("{s:s}", "weft", "perf"), *heard;
	struct probe probe = { .nonce = 1, .bytes = PROBE_BYTES };
	uint8_t bytes[PROBE_BYTES];

	begin("127.0.0.1");
	fd = weft_inet_socket(SOCK_STREAM);
	(void)weft_inet_connect(fd, lo, port);
	usleep(50000);
	REQUIRE(!talk_send(fd, said, weft_clock_now(NULL) + 1000000000));
	heard = talk_recv(fd, weft_clock_now(NULL) + 1000000000);
	CHECK(json_object_get(heard, "error"));
	json_decref(heard);
	CHECK(!talk_recv(fd, weft_clock_now(NULL) + 1000000000)); /* and hangs up */
	close(fd);
	/* A datagram of nobody who greeted is not answered. */
	fd = plane_socket(lo, 0, 0);
	probe_encode(&probe, bytes);
	(void)weft_inet_send(fd, lo, lo, WEFT_DOCTOR_UDP_PORT, bytes, sizeof(bytes));
	usleep(50000);
	static struct heard answer;

	CHECK(!plane_hear(fd, &answer));
	close(fd);
	json_decref(said);
	CHECK_EQ(gone, 0);
	end();
}

TEST(weft_doctor_listen__says_why_not)
{
	begin("127.0.0.1");
	struct weft_doctor_ear *other = NULL;

	CHECK(weft_doctor_listen(&other, "127.0.0.1", port, error, sizeof(error)));
	CHECK(strstr(error, "cannot listen on TCP port"));
	CHECK(weft_doctor_listen(&other, "10.0.0.300", 0, error, sizeof(error)));
	end();
	weft_doctor_deafen(NULL);
}
