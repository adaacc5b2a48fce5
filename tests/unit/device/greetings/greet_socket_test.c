/* SPDX-License-Identifier: BSD-2-Clause */
#include "greetings/greet_local.h"
#include "unit/device/pair.h"

#include <sys/socket.h>

static bool is_set(const uint8_t numbers[NUMBERS / 8], uint32_t number)
{
	return numbers[number / 8] >> number % 8 & 1;
}

TEST(greet_open__gives_each_process_a_number_that_others_find)
{
	struct weft_dev *dev[2] = { pair_device(), pair_device() };
	uint8_t numbers[NUMBERS / 8];

	REQUIRE(dev[0] && dev[1]);
	CHECK(dev[0]->number != dev[1]->number);
	greet_numbers(dev[0], numbers);
	CHECK(is_set(numbers, dev[0]->number) && is_set(numbers, dev[1]->number));
	CHECK_EQ(weft_dev_close(dev[1]), 0);
	greet_numbers(dev[0], numbers);
	CHECK(is_set(numbers, dev[0]->number) && !is_set(numbers, 1));
	CHECK_EQ(weft_dev_close(dev[0]), 0);
}

/* A datagram says who sent it, an empty one and one of a stranger, too. */
TEST(greet_open__hears_others_by_address_and_number)
{
	struct weft_dev *dev[2] = { pair_device(), pair_device() };
	uint8_t bytes[64], from[16];
	uint32_t number = 7;

	REQUIRE(dev[0] && dev[1]);
	const struct weft_dev_net *net = &dev[1]->net;

	CHECK_EQ(net->recv(net->arg, bytes, sizeof(bytes), from, &number), -1);
	dev[0]->net.send(dev[0], dev[0]->name.gid, dev[1]->name.gid, dev[1]->number, "abc", 4);
	CHECK_EQ(net->recv(net->arg, bytes, sizeof(bytes), from, &number), 4);
	CHECK_EQ(number, dev[0]->number);
	CHECK(!memcmp(from, dev[0]->name.gid, 16) && !memcmp(bytes, "abc", 4));
	dev[0]->net.send(dev[0], dev[0]->name.gid, dev[1]->name.gid, dev[1]->number, "", 0);
	CHECK_EQ(net->recv(net->arg, bytes, sizeof(bytes), from, &number), 0);
	int fd = weft_inet_socket(SOCK_DGRAM);

	CHECK_EQ(weft_inet_send(fd, dev[0]->name.gid, dev[1]->name.gid,
			 (uint16_t)(WEFT_DEV_PORT_BASE + dev[1]->number), "x", 1),
		1);
	CHECK_EQ(net->recv(net->arg, bytes, sizeof(bytes), from, &number), 1);
	CHECK(number >= NUMBERS);
	close(fd);
	for (unsigned i = 0; i < 2; i++)
		CHECK_EQ(weft_dev_close(dev[i]), 0);
}
