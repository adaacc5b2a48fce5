/* SPDX-License-Identifier: BSD-2-Clause */
/* Planes that nobody names: of interfaces, and as a server tells them, rightly or not. */
#include "plain.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#define SECOND UINT64_C(1000000000)
#define PORT 28517

static char planes[WEFT_PLANES_TEXT_BYTES];

TEST(weft_planes_here__are_interfaces_that_are_up_with_an_address)
{
	netns_enter();
	CHECK_EQ(weft_planes_here(planes, error, sizeof(error)), -1);
	CHECK(strstr(error, "--planes") != NULL);
	if (!shell("ip link add u1 type veth peer name x1; ip link add u2 type veth peer name x2"))
		SKIP("no veth here");
	shell("ip link set lo up; ip link set u1 up"); /* the other end is not: it may come */
	shell("ip addr add 10.66.1.1/24 dev u1; ip addr add 10.66.9.1/24 dev u1");
	shell("ip addr add 10.66.2.1/24 dev u2");
	CHECK_EQ(weft_planes_here(planes, error, sizeof(error)), 0);
	CHECK_STR(planes, "10.66.1.1");
	shell("ip link set u2 up");
	CHECK_EQ(weft_planes_here(planes, error, sizeof(error)), 0);
	CHECK_STR(planes, "10.66.1.1,10.66.2.1");
}

struct server {
	struct weft_live *live;
	atomic_bool stop;
	pthread_t thread;
};

static void *serve(void *arg)
{
	struct server *s = arg;
	struct weft_meeting *meeting;
	char why[256];

	while (!atomic_load(&s->stop))
		CHECK_EQ(weft_live_accept(s->live, SECOND / 100, &meeting, why, sizeof(why)), 0);
	return NULL;
}

TEST(weft_planes_towards__a_server_of_this_host_are_its_own)
{
	struct server s = { .live = open_plain() };

	REQUIRE(!weft_live_listen(s.live, PORT, error, sizeof(error)));
	REQUIRE(!pthread_create(&s.thread, NULL, serve, &s));
	for (unsigned i = 0; i < 3; i++)
		if (weft_planes_towards(
			    "127.0.0.1", PORT, SECOND, planes, error, sizeof(error)))
			CHECK_FAIL("%s", error);
	CHECK_STR(planes, "::1,127.0.0.1");
	atomic_store(&s.stop, true);
	pthread_join(s.thread, NULL);
	weft_live_close(s.live);
}

struct liar {
	int fd;
	const char *answer;
	pthread_t thread;
};

static void *lie(void *arg)
{
	struct liar *liar = arg;
	char line[64];
	int fd = accept(liar->fd, NULL, NULL);

	CHECK(recv(fd, line, sizeof(line), 0) > 0);
	CHECK(send(fd, liar->answer, strlen(liar->answer), MSG_NOSIGNAL) >= 0);
	close(fd);
	return NULL;
}

TEST(weft_planes_towards__tells_what_a_server_said_wrong)
{
	static const struct {
		const char *answer, *error;
	} cases[] = {
		{ "", "does not tell its planes" },
		{ "nonsense\n", "peer's answer: addrs" },
		{ "{\"addrs\":[]}\n", "peer's answer: addrs" },
		{ "{\"addrs\":[\"eth0\"]}\n", "peer's answer: addrs" },
		{ "{\"addrs\":[7]}\n", "peer's answer: addrs" },
		{ "{\"addrs\":[\"10.99.0.1\"]}\n", "can be reached" },
		{ "{\"error\":\"no\"}\n", "peer: no" },
	};

	netns_enter();
	shell("ip link set lo up");
	for (size_t i = 0; i < WEFT_COUNT(cases); i++) {
		struct liar liar = { .answer = cases[i].answer };

		liar.fd = line_listen(PORT, error, sizeof(error));
		REQUIRE(liar.fd >= 0);
		REQUIRE(!fcntl(liar.fd, F_SETFL, 0));
		REQUIRE(!pthread_create(&liar.thread, NULL, lie, &liar));
		CHECK_EQ(weft_planes_towards(
				 "127.0.0.1", PORT, SECOND, planes, error, sizeof(error)),
			-1);
		if (!strstr(error, cases[i].error))
			CHECK_FAIL("%s: %s", cases[i].answer, error);
		pthread_join(liar.thread, NULL);
		line_close(liar.fd);
	}
	CHECK_EQ(weft_planes_towards("no.such.host.", PORT, SECOND, planes, error, sizeof(error)),
		-1);
	CHECK_EQ(weft_planes_towards("127.0.0.1", 1, SECOND, planes, error, sizeof(error)), -1);
	CHECK(strstr(error, "nobody answers on TCP port 1") != NULL);
}
