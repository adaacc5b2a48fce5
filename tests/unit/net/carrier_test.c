/* SPDX-License-Identifier: BSD-2-Clause */
#include "net_local.h"
#include "netns.h"

#include <net/if.h>
#include <poll.h>

/* Notices come for other reasons too; what counts is that the state gets there, and how soon. */
static uint64_t until(struct carrier *carrier, uint32_t want)
{
	uint64_t from = weft_clock_now(NULL);

	while (carrier_read(carrier) != want && weft_clock_now(NULL) - from < 10000000000) {
		struct pollfd wait = { .fd = carrier_fd(carrier), .events = POLLIN };

		(void)poll(&wait, 1, 100);
	}
	CHECK_EQ(carrier_read(carrier), want);
	return weft_clock_now(NULL) - from;
}

/* Distinct interface indexes: equal ones make the kernel tell a second late [M 2.1]. */
static bool make_planes(void)
{
	netns_enter();
	return if_nametoindex("a0") ||
	       (shell("ip link add a0 index 101 type veth peer name b0 index 201") &&
		       shell("ip link add a1 index 102 type veth peer name b1 index 202") &&
		       shell("ip link set a0 up; ip link set b0 up; ip link set a1 up; ip link set "
			     "b1 up"));
}

TEST(carrier_open__knows_the_present)
{
	char error[200] = "";

	if (!make_planes())
		SKIP("no veth here");
	shell("ip link set b1 down");
	unsigned planes[] = { if_nametoindex("a0"), if_nametoindex("a1") };
	struct carrier *carrier = carrier_open(planes, 2, error, sizeof(error));

	REQUIRE(carrier);
	until(carrier, 1);
	shell("ip link set b1 up");
	until(carrier, 3);
	carrier_close(carrier);
}

TEST(carrier_read__hears_of_a_far_end_that_goes_and_comes_back)
{
	char error[200] = "";

	if (!make_planes())
		SKIP("no veth here");
	unsigned planes[] = { if_nametoindex("a0"), if_nametoindex("a1") };
	struct carrier *carrier = carrier_open(planes, 2, error, sizeof(error));

	REQUIRE(carrier);
	until(carrier, 3);
	for (unsigned i = 0; i < 5; i++) {
		shell("ip link set b0 down");
		until(carrier, 2);
		shell("ip link set b0 up");
		until(carrier, 3);
	}
	carrier_close(carrier);
}

TEST(carrier_read__an_interface_that_is_gone_is_down)
{
	char error[200] = "";

	if (!make_planes())
		SKIP("no veth here");
	unsigned planes[] = { if_nametoindex("a0"), if_nametoindex("a1") };
	struct carrier *carrier = carrier_open(planes, 2, error, sizeof(error));

	REQUIRE(carrier);
	shell("ip link del a1");
	until(carrier, 1);
	carrier_close(carrier);
}

/* An address may be good by now without a word about it. */
TEST(carrier_is_due__once_a_second_while_a_plane_is_missing_and_whenever_something_moved)
{
	char error[200] = "";

	if (!make_planes())
		SKIP("no veth here");
	unsigned planes[] = { if_nametoindex("a0"), if_nametoindex("a1") };
	struct carrier *carrier = carrier_open(planes, 2, error, sizeof(error));

	REQUIRE(carrier);
	(void)carrier_read(carrier);
	(void)carrier_is_due(carrier, true); /* what the making of planes has told */
	CHECK(!carrier_is_due(carrier, true));
	CHECK(carrier_is_due(carrier, false));
	uint64_t begin = weft_clock_now(NULL), end = begin + UINT64_C(10000000000);

	CHECK(!carrier_is_due(carrier, false) || weft_clock_now(NULL) - begin > 900000000);
	while (!carrier_is_due(carrier, false) && weft_clock_now(NULL) < end)
		weft_clock_sleep(10000000);
	CHECK(weft_clock_now(NULL) < end && weft_clock_now(NULL) - begin > 900000000);
	shell("ip addr add fd00:1234::1/64 dev a0 nodad");
	bool due = false;

	while (!due && weft_clock_now(NULL) < end) {
		(void)carrier_read(carrier);
		due = carrier_is_due(carrier, true);
	}
	CHECK(due);
	carrier_close(carrier);
}

TEST(carrier_find__knows_whose_address_it_is_and_who_sends_with_it)
{
	static const uint8_t v6[16] = { 0xfd, [15] = 1 }, v4[16] = { [10] = 255, 255, 10, 9, 8, 7 };
	static const uint8_t on_lo[16] = { 0xfd, [15] = 5 }, unused[16] = { 0xfd, [15] = 6 };
	static const uint8_t nobodys[16] = { 0xfd, [15] = 9 };

	netns_enter();
	if (!shell("ip link add f0 index 311 type veth peer name g0 index 412 &&"
		   "ip link set f0 up && ip link set g0 up && ip link set lo up"))
		SKIP("no veth here");
	shell("ip addr add fd00::1/64 dev f0 nodad; ip addr add 10.9.8.7/24 dev f0;"
	      "ip addr add fd00::5/128 dev lo nodad; ip addr add fd00::6/128 dev lo nodad;"
	      "ip -6 route add fc00::/48 via fd00::2 dev f0 src fd00::5");
	CHECK_EQ(carrier_find(v6), 311);
	CHECK_EQ(carrier_find(v4), 311);
	CHECK_EQ(carrier_find(on_lo), 311);
	CHECK_EQ(carrier_find(unused), 1);
	CHECK_EQ(carrier_find(nobodys), 0);
	shell("ip link del f0; ip addr del fd00::5/128 dev lo; ip addr del fd00::6/128 dev lo");
}

TEST(carrier_shaper__names_disciplines_that_do_more_than_queue)
{
	char name[16];

	netns_enter();
	if (!shell("ip link add s0 index 511 type veth peer name t0 index 612"))
		SKIP("no veth here");
	CHECK(!carrier_shaper(511, name));
	shell("tc qdisc add dev s0 root pfifo");
	CHECK(!carrier_shaper(511, name));
	CHECK_STR(name, "pfifo");
	shell("tc qdisc replace dev s0 root tbf rate 1mbit burst 10k limit 10000");
	CHECK(carrier_shaper(511, name));
	CHECK_STR(name, "tbf");
	CHECK(!carrier_shaper(612, name)); /* the other end */
	shell("ip link del s0");
}
