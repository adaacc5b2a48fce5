/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's routes and neighbours of a namespace with two cables in it. */
#include "net_local.h"
#include "netns.h"

#include <poll.h>

static const uint8_t direct[16] = { 0xfd, [15] = 2 }, far[16] = { 0xfc, [5] = 0x12 };
static const uint8_t far1[16] = { 0xfc, [3] = 1, [5] = 0x12 };
static const uint8_t nowhere[16] = { 0xfe, 1 }, silent[16] = { 0xfd, [15] = 9 };
static const uint8_t mac2[6] = { 2, 0, 0, 0, 0, 2 }, mac3[6] = { 2, 0, 0, 0, 0, 3 };
static const uint8_t mac4[6] = { 2, 0, 0, 0, 1, 2 };

static struct hops *open_hops(void)
{
	static bool built;
	unsigned ifindex[2] = { 111, 113 };

	netns_enter();
	if (!built &&
		!shell("for i in all default; do sysctl -qw net.ipv6.conf.$i.accept_dad=0; done;"
		       "ip link add p0 index 111 type veth peer name q0 index 212 &&"
		       "ip link set p0 up && ip link set q0 up &&"
		       "ip addr add fd00::1/64 dev p0 nodad &&"
		       "ip neigh add fd00::2 lladdr 02:00:00:00:00:02 dev p0 nud permanent &&"
		       "ip neigh add fe80::77 lladdr 02:00:00:00:00:03 dev p0 nud permanent &&"
		       "ip route add fc00:0:12::/48 via fe80::77 dev p0 &&"
		       "ip link add p1 index 113 type veth peer name q1 index 214 &&"
		       "ip link set p1 up && ip link set q1 up &&"
		       "ip neigh add fe80::77 lladdr 02:00:00:00:01:02 dev p1 nud permanent &&"
		       "ip route add fc00:1:12::/48 via fe80::77 dev p1"))
		SKIP("no veth here");
	built = true;
	struct hops *hops = hops_open(ifindex, 2);

	REQUIRE(hops);
	return hops;
}

static void expect(struct hops *hops, uint32_t peer, uint32_t plane, const uint8_t mac[6])
{
	const uint8_t *got = hops_mac(hops, peer, plane);

	CHECK(got != NULL);
	if (got)
		CHECK_MEM(got, mac, 6);
}

TEST(hops_add__finds_neighbours_and_gateways)
{
	struct hops *hops = open_hops();

	CHECK_EQ(hops_add(hops, 0, 0, direct), 0);
	expect(hops, 0, 0, mac2);
	CHECK_EQ(hops_add(hops, 7, 0, far), 0);
	expect(hops, 7, 0, mac3);
	CHECK_EQ(hops_add(hops, 7, 1, far1), 0);
	expect(hops, 7, 1, mac4); /* of the same name, on another cable */
	expect(hops, 7, 0, mac3);
	CHECK_EQ(hops_add(hops, 8, 0, nowhere), -1);
	CHECK(!hops_mac(hops, 8, 0));
	hops_drop(hops, 7);
	CHECK(!hops_mac(hops, 7, 0));
	expect(hops, 0, 0, mac2);
	hops_close(hops);
}

/* What was known of a plane was so of its interface. */
TEST(hops_follow__forgets_what_another_interface_knew)
{
	struct hops *hops = open_hops();

	CHECK_EQ(hops_add(hops, 7, 0, far), 0);
	CHECK_EQ(hops_add(hops, 7, 1, far1), 0);
	hops_follow(hops, 0, 113); /* no route leads there by this one */
	CHECK(!hops_mac(hops, 7, 0));
	expect(hops, 7, 1, mac4);
	hops_follow(hops, 0, 111);
	expect(hops, 7, 0, mac3);
	hops_close(hops);
}

TEST(hops_read__learns_of_neighbours_that_move_or_speak_up)
{
	struct hops *hops = open_hops();
	struct pollfd notice = { .fd = hops_fd(hops), .events = POLLIN };

	CHECK_EQ(hops_add(hops, 0, 0, direct), 0);
	CHECK_EQ(hops_add(hops, 1, 0, silent), 0);
	CHECK(!hops_mac(hops, 1, 0));
	hops_read(hops);
	shell("ip neigh replace fd00::2 lladdr 02:00:00:00:00:03 dev p0 nud permanent;"
	      "ip neigh replace fd00::9 lladdr 02:00:00:00:00:02 dev p0 nud reachable");
	CHECK_EQ(poll(&notice, 1, 5000), 1);
	hops_read(hops);
	expect(hops, 0, 0, mac3);
	expect(hops, 1, 0, mac2);
	shell("ip neigh del fd00::9 dev p0");
	hops_read(hops);
	expect(hops, 1, 0, mac2); /* the kernel forgets what it does not see used */
	shell("ip neigh replace fd00::2 lladdr 02:00:00:00:00:02 dev p0 nud permanent");
	hops_close(hops);
}
