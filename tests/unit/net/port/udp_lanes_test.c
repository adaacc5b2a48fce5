/* SPDX-License-Identifier: BSD-2-Clause */
/* Planes that are not there, come, go and come back; which interface each leaves by. */
#include "port/udp.h"
#include "../netns.h"

static char error[256];
static uint8_t payload[64];

static struct weft_udp_config plain(void)
{
	struct weft_udp_config config = {
		.format = WEFT_UDP_PLAIN, .planes = 2, .mtu_bytes = 1024
	};

	memcpy(config.addr[0], (uint8_t[16]){ [15] = 1 }, 16);
	return config;
}

/* For seconds: an address is looked at for a second or two before it may be used. */
static bool becomes(struct weft_port *port, uint32_t mask)
{
	uint64_t end = weft_clock_now(NULL) + UINT64_C(10000000000);

	while (port->ops->carrier(port) != mask && weft_clock_now(NULL) < end)
		port->ops->wait(port, 10000000);
	return port->ops->carrier(port) == mask;
}

/* Plane 0 is the loopback interface, plane 1 that with fd00:77::1. */
static struct weft_port *open_with_veth(uint32_t mtu_bytes)
{
	struct weft_udp_config config = plain();
	struct weft_port *port = NULL;

	config.mtu_bytes = mtu_bytes;
	memcpy(config.addr[1], (uint8_t[16]){ 0xfd, 0, 0, 0x77, [15] = 1 }, 16);
	if (weft_udp_open(&port, &config, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	REQUIRE(port);
	return port;
}

TEST(weft_udp_open__does_without_a_plane_whose_cable_is_missing)
{
	netns_enter();
	if (!shell("ip link add v0 type veth peer name w0 && ip link set lo up"))
		SKIP("no veth here");
	shell("ip link set v0 up; ip addr add fd00:77::1/64 dev v0"); /* tentative */
	struct weft_port *port = open_with_veth(1024);

	CHECK_EQ(port->ops->carrier(port), 1);
	shell("ip link set w0 up");
	CHECK(becomes(port, 3));
	struct udp *udp = (struct udp *)port;

	/* With the numbers that peers have been told. */
	for (uint32_t i = 0; i < udp->src_ports; i++)
		CHECK_EQ(udp->lanes[udp->src_ports + i].src_port, udp->lanes[i].src_port);
	port->ops->close(port);
	shell("ip link del v0");
}

TEST(weft_udp_open__does_without_a_plane_that_carries_no_full_packets)
{
	netns_enter();
	if (!shell("ip link add v0 mtu 1500 type veth peer name w0 && ip link set lo up"))
		SKIP("no veth here");
	shell("ip link set v0 up; ip link set w0 up; ip addr add fd00:77::1/64 dev v0 nodad");
	struct weft_port *port = open_with_veth(4096);

	CHECK_EQ(port->ops->carrier(port), 1);
	shell("ip link set v0 mtu 4252");
	CHECK(becomes(port, 3));
	shell("ip link set v0 mtu 4000");
	CHECK(becomes(port, 1));
	port->ops->close(port);
	shell("ip link del v0");
}

TEST(weft_udp_open__finds_an_interface_that_is_made_later_or_anew)
{
	netns_enter();
	shell("ip link set lo up");
	struct weft_port *port = open_with_veth(1024);

	CHECK_EQ(port->ops->carrier(port), 1);
	for (unsigned i = 0; i < 3; i++) {
		if (!shell("ip link add v0 type veth peer name w0"))
			SKIP("no veth here");
		shell("ip link set v0 up; ip link set w0 up;"
		      "ip addr add fd00:77::1/64 dev v0 nodad");
		CHECK(becomes(port, 3));
		shell("ip link set v0 down; ip link set v0 name v1; ip link set v1 up;"
		      "ip addr replace fd00:77::1/64 dev v1 nodad");
		CHECK(becomes(port, 3));
		shell("ip link del v1");
		CHECK(becomes(port, 1));
	}
	port->ops->close(port);
}

static unsigned long sent_by(const char *interface)
{
	FILE *file = fopen("/proc/self/net/dev", "re");
	char line[512], name[32];
	unsigned long n = 0, sent = 0;

	REQUIRE(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, " %31[^:]: %*u %*u %*u %*u %*u %*u %*u %*u %*u %lu", name, &n) ==
				2 &&
			!strcmp(name, interface))
			sent = n;
	fclose(file);
	return sent;
}

/* Routes name the first of them for both. */
TEST(udp_lanes_look__sends_by_the_planes_own_interface_in_a_network_of_several)
{
	static const uint8_t own[2][16] = { { [10] = 255, 255, 10, 9, 0, 1 },
		{ [10] = 255, 255, 10, 9, 0, 2 } };
	static const uint8_t far[2][16] = { { [10] = 255, 255, 10, 9, 0, 11 },
		{ [10] = 255, 255, 10, 9, 0, 12 } };
	struct weft_udp_config config = plain();
	struct weft_port *port = NULL;

	netns_enter();
	if (!shell("ip link add n0 type veth peer name m0 && ip link add n1 type veth peer name "
		   "m1"))
		SKIP("no veth here");
	shell("for i in 0 1; do ip link set n$i up; ip link set m$i up;"
	      "ip addr add 10.9.0.$((i + 1))/24 dev n$i; for k in 0 1; do ip neigh add "
	      "10.9.0.1$((k + 1)) lladdr 02:00:00:00:00:0$k dev n$i nud permanent; done; done");
	memcpy(config.addr, own, sizeof(own));
	REQUIRE(!weft_udp_open(&port, &config, error, sizeof(error)));
	struct weft_udp_path paths[2] = { { .ev = 0 }, { .ev = 1 << 16 } };
	struct weft_udp_peer attr = { .udp_port = 9,
		.src_port = { 9 },
		.n_src_ports = 1,
		.addrs = 2,
		.paths = paths,
		.n_paths = 2 };

	memcpy(attr.addr, far, sizeof(far));
	for (unsigned i = 0; i < 2; i++) {
		memcpy(paths[i].dst, far[i], 16);
		memcpy(paths[i].arrive, far[i], 16);
	}
	REQUIRE(!weft_udp_peer_add(port, 1, &attr));
	for (uint32_t plane = 0; plane < 2; plane++) {
		unsigned long before[2] = { sent_by("n0"), sent_by("n1") };

		for (uint32_t i = 0; i < 20; i++) {
			struct weft_pkt pkt = { .peer = 1,
				.ev = plane << 16,
				.port = (uint8_t)plane,
				.op = WEFT_OP_WRITE_ONLY,
				.psn = i,
				.w = { .data = payload, .len_bytes = 64, .msg_bytes = 64 } };

			port->ops->tx(port, &pkt, 1, WEFT_WAKE_NOW);
		}
		CHECK(sent_by(plane ? "n1" : "n0") - before[plane] >= 20);
		CHECK(sent_by(plane ? "n0" : "n1") - before[!plane] < 10); /* the kernel's own */
	}
	port->ops->close(port);
	shell("ip link del n0; ip link del n1");
}
