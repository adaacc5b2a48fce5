/* SPDX-License-Identifier: BSD-2-Clause */
#include "labs.h"

static void check_every_path(const char *text)
{
	struct world world;

	build(&world, text, WEFT_LAB_RATE_NONE);
	uint32_t hosts = weft_topo_shape(world.topo)->hosts;
	for (uint32_t src = 0; src < hosts; src++) {
		for (uint32_t dst = 0; dst < hosts; dst++) {
			if (src != dst)
				CHECK_EQ(deliver_all(&world, src, dst),
					ev_bits(&world, src, dst, WEFT_TOPO_NONE, WEFT_TOPO_NONE));
		}
	}
	world_close(&world);
}

TEST(world_open__delivers_every_ev_of_every_pair)
{
	check_every_path(TWO_PLANES);
	check_every_path("name: lab8\nplanes: 8\nt0s: 2\nt1s: 2\nhosts: 4\n");
	check_every_path(PARALLEL);
	check_every_path(TWO_PLANES "overrides: [{link: p1.t0-0:t1-1, cabled: false}]\n");
	check_every_path("name: one\nplanes: 2\nt0s: 1\nhosts: [alpha, beta, gamma]\n"
			 "usid: {block: [fc00:a::/32, fc00:b::/32]}\n");
}

TEST(world_open__delivers_every_ev_of_every_pair_link_by_link)
{
	check_every_path("name: lab8\nplanes: 8\nt0s: 2\nt1s: 2\nhosts: 4\n"
			 "usid: {behavior: uA}\n");
	check_every_path(PARALLEL "usid: {behavior: uA}\n");
	check_every_path("name: one\nplanes: 2\nt0s: 1\nhosts: [alpha, beta, gamma]\n"
			 "usid: {behavior: uA, block: [fc00:a::/32, fc00:b::/32]}\n");
}

TEST(world_open__sends_each_path_over_its_own_links)
{
	struct weft_lab_end_stats before, after;
	struct world world;
	uint32_t links[4];

	build(&world, PARALLEL, WEFT_LAB_RATE_NONE);
	for (uint32_t uplink = 0; uplink < 2; uplink++) {
		uint32_t ev = weft_ev(0, uplink);

		CHECK_EQ(weft_topo_path_links(world.topo, 0, 1, ev, links), 4);
		for (int i = 0; i < 4; i++) {
			struct weft_link l = weft_topo_link(world.topo, links[i]);
			int end = i >= 2; /* the receiving end: upper going up, lower coming down */
			struct netlink *netlink = &world.nodes[l.node[!end]].netlink;
			int ifindex = port_ifindex(&world, l.node[!end], l.port[!end]);

			CHECK(request_stats(netlink, ifindex, &before));
			CHECK_EQ(deliver(&world, 0, 1, ev, 20), 20);
			CHECK(request_stats(netlink, ifindex, &after));
			CHECK(after.rx_packets - before.rx_packets >= 20);
			CHECK_EQ(deliver(&world, 0, 1, weft_ev(0, !uplink), 50), 50);
			CHECK(request_stats(netlink, ifindex, &before));
			/* The other path shares the host links only. */
			if (i == 1 || i == 2)
				CHECK(before.rx_packets - after.rx_packets < 20);
		}
	}
	world_close(&world);
}

TEST(world_open__gives_packets_the_port_s_own_source_address)
{
	uint8_t address[16], to[16], from[16];
	struct world world;
	uint32_t host, plane;
	char byte;

	build(&world, TWO_PLANES, WEFT_LAB_RATE_NONE);
	int tx = udp_open(&world, 1, 5000), rx = udp_open(&world, 2, 4791);
	for (uint32_t p = 0; p < 2; p++) {
		REQUIRE(weft_topo_usid(world.topo, 1, 2, weft_ev(p, 1), address));
		CHECK(udp_send(tx, address, "x", 1));
		CHECK_EQ(udp_take(rx, 200, to, from, &byte, 1), 1);
		REQUIRE(weft_topo_host_find(world.topo, from, &host, &plane));
		CHECK_EQ(host, 1);
		CHECK_EQ(plane, p);
	}
	close(tx);
	close(rx);
	world_close(&world);
}

TEST(world_open__carries_host_addresses_between_all_hosts)
{
	struct world world;
	uint8_t address[16], to[16], from[16];
	char byte;

	build(&world, TWO_PLANES, WEFT_LAB_RATE_NONE);
	for (uint32_t dst = 1; dst < 4; dst++) {
		int tx = udp_open(&world, 0, 5000), rx = udp_open(&world, dst, 4791);

		for (uint32_t p = 0; p < 2; p++) {
			weft_topo_host_addr(world.topo, dst, p, address);
			CHECK(udp_send(tx, address, "x", 1));
			CHECK_EQ(udp_take(rx, 200, to, from, &byte, 1), 1);
			CHECK_MEM(to, address, 16);
		}
		close(tx);
		close(rx);
	}
	world_close(&world);
}

TEST(world_open__takes_a_full_mtu_and_no_more)
{
	struct world world;
	uint8_t address[16], to[16], from[16];
	static char data[4252], got[4300];

	build(&world, TWO_PLANES, WEFT_LAB_RATE_NONE);
	int tx = udp_open(&world, 0, 5000), rx = udp_open(&world, 3, 4791),
	    never = IPV6_PMTUDISC_DO;
	CHECK(!setsockopt(tx, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &never, sizeof(never)));
	REQUIRE(weft_topo_usid(world.topo, 0, 3, 0, address));
	CHECK(udp_send(tx, address, data, 4252 - 48));
	CHECK_EQ(udp_take(rx, 200, to, from, got, sizeof(got)), 4252 - 48);
	CHECK(!udp_send(tx, address, data, 4252 - 47));
	close(tx);
	close(rx);
	world_close(&world);
}

/* The token bucket pushes back on the socket: nothing is lost, and it takes as long as it must. */
TEST(world_open__makes_senders_wait_at_the_rate)
{
	struct world world;
	uint8_t address[16], to[16], from[16];
	static char data[4096];
	unsigned got = 0;

	build(&world, TWO_PLANES, 200000000);
	int tx = udp_open(&world, 0, 5000), rx = udp_open(&world, 3, 4791), bytes = 4000000;
	setsockopt(rx, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	REQUIRE(weft_topo_usid(world.topo, 0, 3, 0, address));
	uint64_t start_ns = clock_now_ns();
	for (unsigned i = 0; i < 2000; i++) {
		CHECK(udp_send(tx, address, data, sizeof(data)));
		while (udp_take(rx, 0, to, from, data, sizeof(data)) > 0)
			got++;
	}
	while (got < 2000 && udp_take(rx, 300, to, from, data, sizeof(data)) > 0)
		got++;
	double mbps = 2000 * (4096 + 62) * 8 * 1e3 / (clock_now_ns() - start_ns);
	CHECK_EQ(got, 2000);
	CHECK(mbps < 205);
	CHECK(mbps > 50); /* a busy machine may be slower, never faster */
	close(tx);
	close(rx);
	world_close(&world);
}

TEST(world_open__refuses_what_one_machine_cannot_hold)
{
	const struct weft_lab_options options = { .switches = WEFT_LAB_SWITCHES_KERNEL };
	struct world world;

	CHECK(!world_open(&world,
		read_fabric("name: big\nplanes: 8\nt0s: 512\nt1s: 256\nhosts: 131072\n"),
		&options));
	CHECK_STR(world.error, "137216 hosts and switches are too many for one machine, "
			       "allowed: 1024");
	world_close(&world);
}

TEST(world_open__has_no_rate_but_what_was_said)
{
	static const uint64_t bad[] = { 1, 999999, WEFT_TOPO_FREE_BPS + 1, UINT64_MAX - 1 };
	struct world world;

	for (size_t i = 0; i < WEFT_COUNT(bad); i++) {
		const struct weft_lab_options options = { .rate_bps = bad[i] };

		CHECK(!world_open(&world, read_fabric(TWO_PLANES), &options));
		CHECK(strstr(world.error, "b/s, allowed: 1Mb/s to 400Gb/s, or none"));
		world_close(&world);
	}
}

TEST(port_ifindex__differs_at_the_two_ends_of_every_cable)
{
	struct world world = { .topo = read_fabric(TWO_PLANES) };

	for (uint32_t i = 0; i < weft_topo_shape(world.topo)->links; i++) {
		struct weft_link l = weft_topo_link(world.topo, i);

		CHECK(port_ifindex(&world, l.node[0], l.port[0]) !=
			port_ifindex(&world, l.node[1], l.port[1]));
	}
	weft_topo_close(world.topo);
}
