/* SPDX-License-Identifier: BSD-2-Clause */
/* Two ports of one process on loopback: two planes, one IPv6, one IPv4. */
#include "net_local.h"
#include "../netns.h"

#include <arpa/inet.h>

static const uint8_t planes[2][16] = { { [15] = 1 }, { [10] = 0xff, 0xff, 127, 0, 0, 1 } };
static char error[256];
static uint8_t payload[4096];

static struct weft_udp_config plain(void)
{
	struct weft_udp_config config = {
		.format = WEFT_UDP_PLAIN, .planes = 2, .mtu_bytes = 4096
	};

	memcpy(config.addr, planes, sizeof(planes));
	return config;
}

static struct weft_port *open_plain(void)
{
	struct weft_udp_config config = plain();
	struct weft_port *port = NULL;

	netns_enter();
	shell("ip link set lo up");
	if (weft_udp_open(&port, &config, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	REQUIRE(port);
	return port;
}

static int know(struct weft_port *at, uint32_t number, const struct weft_port *peer)
{
	struct weft_udp_path paths[8];
	struct weft_udp_peer attr = { .addrs = 2, .paths = paths, .n_paths = 8 };

	attr.n_src_ports = weft_udp_numbers(peer, &attr.udp_port, attr.src_port);
	memcpy(attr.addr, planes, sizeof(planes));
	for (uint32_t i = 0; i < 8; i++) {
		paths[i].ev = (i & 1) << 16 | i >> 1;
		memcpy(paths[i].dst, planes[i & 1], 16);
		memcpy(paths[i].arrive, planes[i & 1], 16);
	}
	return weft_udp_peer_add(at, number, &attr);
}

static struct weft_pkt data(uint32_t peer, uint32_t ev, uint32_t psn)
{
	return (struct weft_pkt){ .peer = peer,
		.ev = ev,
		.port = (uint8_t)(ev >> 16),
		.op = WEFT_OP_WRITE_ONLY,
		.dqpn = 100,
		.psn = psn,
		.w = { .data = payload,
			.len_bytes = 4096,
			.msg_bytes = 4096,
			.rkey = 1,
			.va = 0x1000 } };
}

/* Until want packets have come or a second has passed. */
static size_t receive(struct weft_port *port, struct weft_pkt pkts[], size_t want)
{
	uint64_t end = weft_clock_now(NULL) + 1000000000;
	size_t n = 0;

	while (n < want && weft_clock_now(NULL) < end) {
		port->ops->wait(port, 10000000);
		n += port->ops->rx(port, pkts + n, want - n);
	}
	return n;
}

TEST(weft_udp_open__carries_packets_and_names_peer_plane_and_path)
{
	struct weft_port *a = open_plain(), *b = open_plain();
	struct weft_pkt out[32], in[33];
	unsigned evs = 0;

	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i >> 3);
	CHECK_EQ(know(a, 5, b), 0);
	CHECK_EQ(know(b, 9, a), 0);
	for (uint32_t i = 0; i < 32; i++)
		out[i] = data(5, (i & 1) << 16 | (i >> 1 & 3), i);
	a->ops->tx(a, out, 32, WEFT_WAKE_NOW);
	/* One burst, because payload lies in the port until the next. */
	CHECK_EQ(receive(b, in, 32), 32);
	for (uint32_t i = 0; i < 32; i++) {
		CHECK_EQ(in[i].peer, 9);
		CHECK_EQ(in[i].port, in[i].ev >> 16);
		CHECK_EQ(in[i].ev, (in[i].psn & 1) << 16 | (in[i].psn >> 1 & 3));
		CHECK_EQ(in[i].mark, 0);
		CHECK_EQ(in[i].w.len_bytes, 4096);
		CHECK_MEM(in[i].w.data, payload, 4096);
		evs |= 1u << ((in[i].ev >> 16) * 4 + (in[i].ev & 3));
	}
	CHECK_EQ(evs, 0xff);
	CHECK_EQ(a->stats.tx_pkts, 32);
	CHECK_EQ(a->stats.tx_calls, 8); /* one per socket */
	CHECK_EQ(b->stats.rx_pkts, 32);
	a->ops->close(a);
	b->ops->close(b);
}

TEST(weft_udp_open__two_endpoints_of_a_host_do_not_hear_each_other)
{
	struct weft_port *a = open_plain(), *b = open_plain(), *c = open_plain();
	struct weft_pkt out = data(1, 0, 0), in[4];

	CHECK_EQ(know(a, 1, b), 0);
	CHECK_EQ(know(b, 1, c), 0); /* b knows c, of the same addresses, but not a */
	a->ops->tx(a, &out, 1, WEFT_WAKE_NOW);
	b->ops->wait(b, 100000000);
	CHECK_EQ(b->ops->rx(b, in, 4), 0);
	CHECK_EQ(c->ops->rx(c, in, 4), 0);
	CHECK_EQ(b->stats.drops[WEFT_DROP_UNKNOWN_PEER], 1);
	a->ops->close(a);
	b->ops->close(b);
	c->ops->close(c);
}

TEST(wait_for__returns_when_time_is_up_or_something_came)
{
	struct weft_port *a = open_plain(), *b = open_plain();
	struct weft_pkt out = data(1, 0, 0), in[1];
	uint64_t from = weft_clock_now(NULL), took;

	a->ops->wait(a, 3000000);
	took = weft_clock_now(NULL) - from;
	CHECK(took >= 3000000);
	CHECK_EQ(know(a, 1, b), 0);
	CHECK_EQ(know(b, 1, a), 0);
	a->ops->tx(a, &out, 1, WEFT_WAKE_NOW);
	from = weft_clock_now(NULL);
	b->ops->wait(b, 20000000000);
	CHECK(weft_clock_now(NULL) - from < 10000000000);
	CHECK_EQ(b->ops->rx(b, in, 1), 1);
	a->ops->close(a);
	b->ops->close(b);
}

TEST(carrier__a_link_that_goes_is_told_and_ends_a_wait)
{
	struct weft_udp_config config = plain();
	struct weft_port *port;

	netns_enter();
	if (!shell("ip link add p0 index 111 type veth peer name q0 index 211 && ip link set p0 up "
		   "&& ip link set q0 up && ip addr add 10.9.0.1/24 dev p0"))
		SKIP("no veth here");
	usleep(100000);
	config.mtu_bytes = 1024; /* what veth carries as it is made */
	memcpy(config.addr[1], (uint8_t[16]){ [10] = 0xff, 0xff, 10, 9, 0, 1 }, 16);
	if (weft_udp_open(&port, &config, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	REQUIRE(port);
	CHECK_EQ(port->ops->carrier(port), 3);
	shell("ip link set q0 down");
	uint64_t from = weft_clock_now(NULL);

	/* The kernel tells other things about the link, too; each ends a wait. */
	while (port->ops->carrier(port) == 3 && weft_clock_now(NULL) - from < 10000000000)
		port->ops->wait(port, 20000000000);
	CHECK_EQ(port->ops->carrier(port), 1);
	CHECK(weft_clock_now(NULL) - from < 10000000000);
	port->ops->close(port);
	shell("ip link del p0");
}

TEST(weft_udp_open__says_what_is_wrong)
{
	struct weft_udp_config config = plain();
	struct weft_port *port;

	netns_enter();
	config.planes = 0;
	CHECK_EQ(weft_udp_open(&port, &config, error, sizeof(error)), -1);
	CHECK(strstr(error, "planes") != NULL);
	config = plain();
	config.format = WEFT_UDP_USID;
	config.src_ports = 2;
	CHECK_EQ(weft_udp_open(&port, &config, error, sizeof(error)), -1);
	CHECK(strstr(error, "src_ports") != NULL);
	config = plain();
	config.addr[0][0] = config.addr[1][0] = 0xfd; /* nobody's */
	CHECK_EQ(weft_udp_open(&port, &config, error, sizeof(error)), -1);
	CHECK_STR(error, "plane 0, address fd00::1: no interface of this host has it");
}
