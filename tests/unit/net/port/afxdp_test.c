/* SPDX-License-Identifier: BSD-2-Clause */
/* Two ports of one process at the two ends of two cables; what any such port must do is ether.h. */
#include "ether_planes.h"

TEST(weft_afxdp_open__carries_packets_with_native_usids)
{
	ether_case_carries(weft_afxdp_open, WEFT_ENCAP_USID);
}

TEST(weft_afxdp_open__carries_packets_with_an_outer_header)
{
	ether_case_carries(weft_afxdp_open, WEFT_ENCAP_SRV6);
}

TEST(weft_afxdp_open__carries_packets_from_address_to_address)
{
	ether_case_carries(weft_afxdp_open, WEFT_ENCAP_STEV);
}

TEST(weft_afxdp_open__leaves_the_kernel_its_own_and_nothing_else)
{
	ether_case_beside_the_kernel(weft_afxdp_open);
}

TEST(weft_afxdp_open__one_endpoint_per_interface_beside_others_of_other_kinds)
{
	struct weft_port *a = ether_open(weft_afxdp_open, 0, WEFT_ENCAP_USID);
	struct weft_port *b = ether_open(weft_afpacket_open, 1, WEFT_ENCAP_USID);
	struct weft_port *c = ether_open(weft_afxdp_open, 1, WEFT_ENCAP_USID), *d;
	struct weft_eth_config config = ether_config(1, WEFT_ENCAP_USID);
	struct weft_pkt out[2] = { ether_data(1, 0, 10), ether_data(2, 0, 20) }, in[4];

	CHECK_EQ(weft_afxdp_open(&d, &config, ether_error, sizeof(ether_error)), -1);
	CHECK(strstr(ether_error, "plane 0: q0") && strstr(ether_error, "queue 0"));
	CHECK_EQ(ether_know(b, 1, 1, a, WEFT_ENCAP_USID), 0);
	CHECK_EQ(ether_know(c, 1, 1, a, WEFT_ENCAP_USID), 0);
	CHECK_EQ(ether_know(a, 0, 1, b, WEFT_ENCAP_USID), 0);
	a->ops->tx(a, out, 1, WEFT_WAKE_NOW);
	CHECK_EQ(ether_receive(b, in, 1), 1);
	CHECK_EQ(in[0].psn, 10);
	weft_eth_peer_drop(a, 1);
	CHECK_EQ(ether_know(a, 0, 2, c, WEFT_ENCAP_USID), 0);
	a->ops->tx(a, out + 1, 1, WEFT_WAKE_NOW);
	CHECK_EQ(ether_receive(c, in, 1), 1);
	CHECK_EQ(in[0].psn, 20);
	a->ops->close(a);
	b->ops->close(b);
	c->ops->close(c);
}

TEST(read_queue__sees_what_switches_wrote_on_the_outer_header)
{
	ether_case_marks(weft_afxdp_open);
}

TEST(read_queue__survives_forged_frames)
{
	ether_case_hostile(weft_afxdp_open, WEFT_ENCAP_USID);
	ether_case_hostile(weft_afxdp_open, WEFT_ENCAP_SRV6);
}

TEST(open_queues__refuses_an_interface_that_shapes)
{
	struct weft_eth_config config = ether_config(0, WEFT_ENCAP_USID);
	struct weft_port *port;

	ether_build();
	ether_enter(0);
	REQUIRE(shell("tc qdisc add dev p1 root tbf rate 200mbit burst 10k limit 16000000"));
	CHECK_EQ(weft_afxdp_open(&port, &config, ether_error, sizeof(ether_error)), -1);
	CHECK(strstr(ether_error, "p1 is shaped (tbf)") || strstr(ether_error, "CAP_BPF"));
	shell("tc qdisc del dev p1 root");
}

TEST(take_back__a_link_that_is_down_refuses_and_later_sends_only_what_is_new)
{
	struct weft_port *a = ether_open(weft_afxdp_open, 0, WEFT_ENCAP_STEV);
	struct weft_port *b = ether_open(weft_afxdp_open, 1, WEFT_ENCAP_STEV);
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

TEST(weft_afxdp_open__does_without_a_plane_until_it_is_there)
{
	ether_case_planes(weft_afxdp_open, WEFT_ENCAP_USID);
}

TEST(wait_for__returns_when_a_link_changes)
{
	ether_case_link(weft_afxdp_open);
}

TEST(weft_afxdp_open__leaves_nothing_behind_when_killed)
{
	ether_case_killed(weft_afxdp_open, "ip -details link show dev p0 | grep -o xdp");
}

TEST(weft_afxdp_open__says_what_is_wrong)
{
	ether_case_refusals(weft_afxdp_open, "CAP_BPF");
}
