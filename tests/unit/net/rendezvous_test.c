/* SPDX-License-Identifier: BSD-2-Clause */
#include "lines.h"
#include "netns.h"

#include <errno.h>
#include <unistd.h>

#define PORT 29515
#define SECOND UINT64_C(1000000000)

static const uint8_t addrs[3][16] = {
	{ 0x01, 0x00, [15] = 1 }, /* 100::/64 goes nowhere */
	{ [15] = 2 },             /* ::2 has no route */
	{ [10] = 0xff, 0xff, 127, 0, 0, 1 },
};

static uint64_t in(uint64_t ns)
{
	return weft_clock_now(NULL) + ns;
}

static int listener = -1;

static int listen_once(void)
{
	char error[200] = "";

	netns_enter(); /* where the port is nobody else's */
	if (listener < 0)
		(void)shell("ip link set lo up");
	if (listener < 0)
		listener = line_listen(PORT, error, sizeof(error));
	return listener;
}

TEST(line_connect__finds_the_address_that_answers)
{
	char text[64];

	REQUIRE(listen_once() >= 0);
	int a = line_connect(addrs, 3, PORT, in(SECOND)), b = line_accept(listener, in(SECOND));

	REQUIRE(a >= 0 && b >= 0);
	CHECK_EQ(line_send(a, "hello\nagain\n", in(SECOND)), 0);
	CHECK_EQ(line_recv(b, text, sizeof(text), in(SECOND)), 0);
	CHECK_STR(text, "hello");
	CHECK_EQ(line_recv(b, text, sizeof(text), in(SECOND)), 0);
	CHECK_STR(text, "again");
	line_close(a);
	CHECK_EQ(line_recv(b, text, sizeof(text), in(SECOND)), -1);
	CHECK_EQ(errno, ECONNRESET);
	line_close(b);
}

TEST(line_connect__gives_up_in_time)
{
	uint64_t from = weft_clock_now(NULL);

	CHECK_EQ(line_connect(addrs, 1, PORT + 1, in(SECOND / 10)), -1);
	CHECK_EQ(line_connect(&addrs[2], 1, PORT + 1, in(SECOND / 10)), -1);
	CHECK(weft_clock_now(NULL) - from < 10 * SECOND); /* TCP itself tries for minutes */
}

TEST(line_recv__does_not_wait_for_ever_nor_read_for_ever)
{
	char text[8];

	REQUIRE(listen_once() >= 0);
	int a = line_connect(&addrs[2], 1, PORT, in(SECOND)), b = line_accept(listener, in(SECOND));

	REQUIRE(a >= 0 && b >= 0);
	CHECK_EQ(line_recv(b, text, sizeof(text), in(SECOND / 50)), -1);
	CHECK_EQ(errno, ETIMEDOUT);
	CHECK_EQ(line_send(a, "a line of more than seven bytes\n", in(SECOND)), 0);
	CHECK_EQ(line_recv(b, text, sizeof(text), in(SECOND)), -1);
	CHECK_EQ(errno, EMSGSIZE);
	line_close(a);
	line_close(b);
}

TEST(line_listen__says_which_port_is_taken)
{
	char error[200] = "";

	REQUIRE(listen_once() >= 0);
	CHECK_EQ(line_listen(PORT, error, sizeof(error)), -1);
	CHECK(strstr(error, "29515") != NULL);
	CHECK_EQ(line_accept(listener, in(SECOND / 100)), -1);
}

TEST(line_connect_to__reaches_a_unix_socket_and_no_dead_one)
{
	char path[] = "/tmp/weft-line-XXXXXX";
	int door, client, server;
	char text[8], error[200] = "";

	REQUIRE(mkdtemp(path));
	char name[64], long_name[200];

	snprintf(name, sizeof(name), "%s/h1.1", path);
	CHECK_EQ(line_connect_to(name, in(0)), -1);
	door = line_listen_at(name, error, sizeof(error));
	REQUIRE(door >= 0);
	CHECK_EQ(line_listen_at(name, error, sizeof(error)), -1); /* in use */
	CHECK(strstr(error, name) != NULL);
	int stale = line_accept(door, in(0)); /* who looked whether it is */

	client = line_connect_to(name, in(SECOND));
	server = line_accept(door, in(SECOND));
	REQUIRE(client >= 0 && server >= 0);
	CHECK_EQ(line_send(client, "hello\n", in(SECOND)), 0);
	CHECK_EQ(line_recv(server, text, sizeof(text), in(SECOND)), 0);
	CHECK_STR(text, "hello");
	line_close(client);
	CHECK_EQ(line_recv(server, text, sizeof(text), in(SECOND)), -1);
	line_close(server);
	line_close(stale);
	line_close(door); /* its name stays, and is taken over */
	door = line_listen_at(name, error, sizeof(error));
	CHECK(door >= 0);
	line_close(door);
	unlink(name);
	memset(long_name, 'x', sizeof(long_name));
	long_name[199] = 0;
	CHECK_EQ(line_listen_at(long_name, error, sizeof(error)), -1);
	CHECK_EQ(line_connect_to(long_name, in(0)), -1);
	CHECK_EQ(rmdir(path), 0);
}
