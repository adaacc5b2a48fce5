/* SPDX-License-Identifier: BSD-2-Clause */
/* Two ports of one process at the two ends of two cables; what any such port must do is ether.h. */
#include "ether_planes.h"

TEST(weft_afpacket_open__carries_packets_with_native_usids)
{
	ether_case_carries(weft_afpacket_open, WEFT_ENCAP_USID);
}

TEST(weft_afpacket_open__carries_packets_with_an_outer_header)
{
	ether_case_carries(weft_afpacket_open, WEFT_ENCAP_SRV6);
}

TEST(weft_afpacket_open__carries_packets_from_address_to_address)
{
	ether_case_carries(weft_afpacket_open, WEFT_ENCAP_STEV);
}

TEST(wants_one_piece__frames_are_whole_where_the_interface_gathers_too)
{
	ether_build();
	ether_enter(0);
	if (!shell("ethtool -K p0 tx on sg on >/dev/null 2>&1"))
		SKIP("no offloads here");
	ether_case_carries(weft_afpacket_open, WEFT_ENCAP_STEV);
	ether_enter(0);
	shell("ethtool -K p0 tx off >/dev/null 2>&1");
}

TEST(weft_afpacket_open__leaves_the_kernel_its_own_and_nothing_else)
{
	ether_case_beside_the_kernel(weft_afpacket_open);
}

TEST(weft_afpacket_open__two_endpoints_of_a_host_do_not_hear_each_other)
{
	struct weft_port *a = ether_open(weft_afpacket_open, 0, WEFT_ENCAP_USID);
	struct weft_port *b = ether_open(weft_afpacket_open, 1, WEFT_ENCAP_USID);
	struct weft_port *c = ether_open(weft_afpacket_open, 1, WEFT_ENCAP_USID);
	struct weft_pkt out = ether_data(1, 0, 0), in[4];

	CHECK_EQ(ether_know(a, 0, 1, b, WEFT_ENCAP_USID), 0);
	CHECK_EQ(ether_know(c, 1, 1, a, WEFT_ENCAP_USID), 0); /* not b */
	a->ops->tx(a, &out, 1, WEFT_WAKE_NOW);
	b->ops->wait(b, 100000000);
	CHECK_EQ(b->ops->rx(b, in, 4), 0);
	CHECK_EQ(c->ops->rx(c, in, 4), 0);
	CHECK_EQ(b->stats.drops[WEFT_DROP_UNKNOWN_PEER], 1);
	for (unsigned i = 0; i < WEFT_DROP_COUNT; i++)
		CHECK_EQ(c->stats.drops[i], 0);
	a->ops->close(a);
	b->ops->close(b);
	c->ops->close(c);
}

TEST(read_plane__sees_what_switches_wrote_on_the_outer_header)
{
	ether_case_marks(weft_afpacket_open);
}

TEST(read_plane__survives_forged_frames)
{
	ether_case_hostile(weft_afpacket_open, WEFT_ENCAP_USID);
	ether_case_hostile(weft_afpacket_open, WEFT_ENCAP_SRV6);
}

TEST(flush__a_slow_link_fills_its_plane_and_wait_tells_when_it_has_room)
{
	ether_build();
	ether_enter(0);
	REQUIRE(shell("tc qdisc add dev p0 root tbf rate 200mbit burst 10k limit 16000000"));
	struct weft_port *a = ether_open(weft_afpacket_open, 0, WEFT_ENCAP_USID);
	struct weft_port *b = ether_open(weft_afpacket_open, 1, WEFT_ENCAP_USID);
	struct weft_pkt out[64], in[64];
	uint64_t end = weft_clock_now(NULL) + 10000000000;
	size_t max = 0, sent = 0, got = 0;

	CHECK_EQ(ether_know(a, 0, 1, b, WEFT_ENCAP_USID), 0);
	CHECK_EQ(ether_know(b, 1, 1, a, WEFT_ENCAP_USID), 0);
	while (a->ops->room(a, &max) == 3 && sent < 640) {
		for (uint32_t i = 0; i < 64; i++)
			out[i] = ether_data(1, 0, (uint32_t)sent++);
		a->ops->tx(a, out, 64, WEFT_WAKE_NOW);
	}
	CHECK_EQ(a->ops->room(a, &max), 2); /* the other plane is free */
	CHECK_EQ(a->stats.tx_waits, 1);
	CHECK_EQ(a->stats.tx_refused, 0);
	while (got < sent && weft_clock_now(NULL) < end) {
		a->ops->wait(a, 1000000);
		size_t n = b->ops->rx(b, in, 64);

		for (size_t i = 0; i < n; i++)
			CHECK_EQ(in[i].psn, got++); /* in order, none lost */
	}
	CHECK_EQ(got, sent);
	while (a->ops->room(a, &max) != 3 && weft_clock_now(NULL) < end)
		a->ops->wait(a, 1000000);
	CHECK_EQ(a->ops->room(a, &max), 3);
	a->ops->close(a);
	b->ops->close(b);
	ether_enter(0);
	shell("tc qdisc del dev p0 root");
}

TEST(take_back__a_link_that_is_down_refuses_and_later_sends_only_what_is_new)
{
	struct weft_port *a = ether_open(weft_afpacket_open, 0, WEFT_ENCAP_STEV);
	struct weft_port *b = ether_open(weft_afpacket_open, 1, WEFT_ENCAP_STEV);
	struct weft_pkt out[8], in[8];

	CHECK_EQ(ether_know(a, 0, 1, b, WEFT_ENCAP_STEV), 0);
	CHECK_EQ(ether_know(b, 1, 1, a, WEFT_ENCAP_STEV), 0);
	ether_enter(0);
	shell("ip link set p1 down");
	for (uint32_t i = 0; i < 8; i++)
		out[i] = ether_data(1, 1 << 16, i);
	a->ops->tx(a, out, 8, WEFT_WAKE_NOW);
	CHECK_EQ(a->stats.tx_refused, 8);
	CHECK_EQ(a->stats.tx_pkts, 0);
	shell("ip link set p1 up; ip addr add fd00:0:0:1::1/64 dev p1 nodad 2>/dev/null;"
	      "ip route add fc00:1:12::/48 via fd00:0:0:1::2 dev p1");
	out[0].psn = 100;
	uint64_t end = weft_clock_now(NULL) + 5000000000;
	size_t n = 0;

	while (!n && weft_clock_now(NULL) < end) { /* until both ends are up again */
		a->ops->tx(a, out, 1, WEFT_WAKE_NOW);
		b->ops->wait(b, 20000000);
		n = b->ops->rx(b, in, 8);
	}
	CHECK(n >= 1);
	CHECK_EQ(in[0].psn, 100);
	a->ops->close(a);
	b->ops->close(b);
}

TEST(wait_for__returns_when_a_link_changes)
{
	ether_case_link(weft_afpacket_open);
}

TEST(weft_afpacket_open__does_without_a_plane_until_it_is_there)
{
	ether_case_planes(weft_afpacket_open, WEFT_ENCAP_USID);
	ether_case_planes(weft_afpacket_open, WEFT_ENCAP_STEV);
}

TEST(weft_afpacket_open__leaves_nothing_behind_when_killed)
{
	ether_case_killed(weft_afpacket_open, "nft list tables");
}

TEST(weft_afpacket_open__says_what_is_wrong)
{
	ether_case_refusals(weft_afpacket_open, "CAP_NET_RAW");
}
