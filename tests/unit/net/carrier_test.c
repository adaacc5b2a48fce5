/* SPDX-License-Identifier: BSD-2-Clause */
#include "local.h"
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

/* Distinct interface indexes: equal ones make the kernel tell a second late (measured.md A2). */
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
