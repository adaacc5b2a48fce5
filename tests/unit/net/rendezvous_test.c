/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "local.h"

#include <errno.h>

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
