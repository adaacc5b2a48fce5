/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending into links that are slow, and into ones that refuse. */
#include "../netns.h"
#include "port/udp.h"

static char error[256];
static uint8_t payload[4096];

/* Two planes: lo, and a veth of 80 Mb/s whose far end swallows everything. */
static struct weft_port *open_slow(void)
{
	struct weft_udp_config config = { .format = WEFT_UDP_PLAIN,
		.planes = 2,
		.src_ports = 1,
		.mtu_bytes = 4096,
		.sndbuf_bytes = 65536 };
	struct weft_udp_path paths[2] = { { .ev = 0 }, { .ev = 1u << 16 } };
	struct weft_udp_peer attr = { .udp_port = 9,
		.src_port = { 9 },
		.n_src_ports = 1,
		.addrs = 2,
		.paths = paths,
		.n_paths = 2 };
	struct weft_port *port;

	netns_enter();
	shell("ip link set lo up; ip link del s0 2>/dev/null");
	if (!shell("ip link add s0 index 121 mtu 4300 type veth peer name t0 index 221 && "
		   "ip link set s0 up && ip link set t0 mtu 4300 && ip link set t0 up && "
		   "ip addr add 10.8.0.1/24 dev s0 && "
		   "ip neigh add 10.8.0.2 lladdr 02:00:00:00:00:01 dev s0 && "
		   "tc qdisc add dev s0 root tbf rate 80mbit burst 9000 limit 1000000"))
		SKIP("no veth or no tbf here");
	usleep(50000);
	memcpy(config.addr[0], (uint8_t[16]){ [15] = 1 }, 16);
	memcpy(config.addr[1], (uint8_t[16]){ [10] = 0xff, 0xff, 10, 8, 0, 1 }, 16);
	if (weft_udp_open(&port, &config, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	REQUIRE(port);
	memcpy(attr.addr, config.addr, sizeof(attr.addr));
	memcpy(paths[0].dst, config.addr[0], 16);
	memcpy(paths[1].dst, (uint8_t[16]){ [10] = 0xff, 0xff, 10, 8, 0, 2 }, 16);
	REQUIRE(!weft_udp_peer_add(port, 0, &attr));
	return port;
}

static struct weft_pkt data(uint32_t plane)
{
	return (struct weft_pkt){ .ev = plane << 16,
		.port = (uint8_t)plane,
		.op = WEFT_OP_WRITE_MIDDLE,
		.w = { .data = payload, .len_bytes = 4096, .msg_bytes = 1u << 20 } };
}

TEST(udp_tx_burst__a_full_plane_is_felt_alone_and_drains)
{
	struct weft_port *port = open_slow();
	struct weft_pkt burst[64];
	size_t max;

	for (unsigned i = 0; i < 64; i++)
		burst[i] = data(1);
	CHECK_EQ(port->ops->room(port, &max), 3);
	port->ops->tx(port, burst, 64, WEFT_WAKE_NOW);
	CHECK_EQ(port->ops->room(port, &max), 1);
	CHECK(port->stats.tx_pkts < 64 && port->stats.tx_waits == 1);
	for (unsigned i = 0; i < 64; i++)
		burst[i] = data(0);
	port->ops->tx(port, burst, 64, WEFT_WAKE_NOW);
	CHECK_EQ(port->ops->room(port, &max), 1);
	uint64_t from = weft_clock_now(NULL);

	while (port->ops->room(port, &max) != 3 && weft_clock_now(NULL) - from < 10000000000)
		port->ops->wait(port, 100000000);
	CHECK_EQ(port->ops->room(port, &max), 3);
	CHECK_EQ(port->stats.tx_pkts, 128);
	/* What is left after the socket's own buffer takes its time: 0.43 ms per packet. */
	CHECK(weft_clock_now(NULL) - from > 1000000);
	port->ops->close(port);
}

TEST(udp_tx_burst__counts_what_the_network_refuses_and_goes_on)
{
	struct weft_port *port = open_slow();
	struct weft_pkt burst[4];
	size_t max;

	shell("ip route del 10.8.0.0/24");
	for (unsigned i = 0; i < 4; i++)
		burst[i] = data(i & 1);
	port->ops->tx(port, burst, 4, WEFT_WAKE_NOW);
	CHECK_EQ(port->stats.tx_pkts, 2);
	CHECK_EQ(port->stats.tx_refused, 2);
	CHECK_EQ(port->ops->room(port, &max), 3);
	port->ops->close(port);
}

TEST(udp_tx_burst__counts_paths_without_an_address)
{
	struct weft_port *port = open_slow();
	struct weft_pkt pkt = data(0);

	pkt.ev = 7;
	port->ops->tx(port, &pkt, 1, WEFT_WAKE_NOW);
	CHECK_EQ(port->stats.tx_no_path, 1);
	pkt.ev = 0;
	pkt.peer = 1;
	port->ops->tx(port, &pkt, 1, WEFT_WAKE_NOW);
	CHECK_EQ(port->stats.tx_no_path, 2);
	CHECK_EQ(port->stats.tx_pkts, 0);
	port->ops->close(port);
}
