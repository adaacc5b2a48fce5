/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>

static struct pair pair;

TEST(weft_xdp_port_set__turns_bytes_into_time)
{
	memset(&pair, 0, sizeof(pair));
	pair.rate_bps = 1000000000; /* 8 ns a byte */
	pair.mtu_bytes = 4186;      /* frames of 4200 */
	weft_port_profile_fill(&pair.profile, WEFT_DISCIPLINE_TRIM, true, 100000, 0);
	pair_open(&pair);
	const struct xdp_port *port = &pair.xdp->state->ports[0];

	CHECK_EQ(port->byte_ns_q16 >> 16, 8);
	/* 150,000 bytes are 857 gaps more, and half a frame is on the line. */
	CHECK_EQ(port->trim_q16 >> 16, (150000 + 857 + 2112) * 8);
	CHECK_EQ(port->ecn_min_q16 >> 16, (20000 + 114 + 2112) * 8);
	CHECK_EQ((port->ecn_min_q16 + port->ecn_range_q16) >> 16, (80000 + 457 + 2112) * 8);
	CHECK_EQ(port->drop_q16[1] >> 16, (300000 + 56250 + 76) * 8); /* in frames of 128 */
	CHECK_EQ(port->control_share_q8, 128);
	CHECK_EQ(port->trim_to_bytes, 128);
	CHECK_EQ(port->trim_tclass, 18 << 2);
	CHECK_EQ(port->flags, XDP_PORT_UP);
	weft_xdp_port_rate(pair.xdp, 0, 2000000000);
	CHECK_EQ(port->byte_ns_q16 >> 16, 4);
	CHECK_EQ(port->trim_q16 >> 16, (150000 + 857 + 2112) * 4);
	weft_xdp_port_rate(pair.xdp, 0, 0);
	CHECK_EQ(port->byte_ns_q16, 0);
	pair_close(&pair);
}

TEST(weft_xdp_port_set__refuses)
{
	struct weft_xdp_port bad[4];
	char error[200];

	memset(&pair, 0, sizeof(pair));
	pair_open(&pair);
	for (unsigned i = 0; i < 4; i++)
		bad[i] = pair_port(&pair, 7);
	bad[0].ifindex = 0;
	bad[1].ifindex = WEFT_XDP_IFINDEX_MAX + 1;
	bad[2].rate_bps = 999999;
	for (unsigned i = 0; i < 3; i++)
		CHECK_EQ(weft_xdp_port_set(pair.xdp, 7, &bad[i], error, sizeof(error)), -1);
	CHECK_EQ(weft_xdp_port_set(pair.xdp, 8, &bad[3], error, sizeof(error)), -1);
	CHECK_EQ(weft_xdp_port_set(pair.xdp, 0, &bad[3], error, sizeof(error)), -1); /* twice */
	CHECK(strstr(error, "port 0"));
	CHECK_EQ(weft_xdp_port_set(pair.xdp, 7, &bad[3], error, sizeof(error)), 0);
	pair_close(&pair);
}

static int packet_socket(const char *name)
{
	struct sockaddr_ll address = { .sll_family = AF_PACKET,
		.sll_protocol = __builtin_bswap16(ETH_P_ALL),
		.sll_ifindex = (int)if_nametoindex(name) };
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, __builtin_bswap16(ETH_P_ALL));

	REQUIRE(fd >= 0 && !bind(fd, (struct sockaddr *)&address, sizeof(address)));
	return fd;
}

/* Waits for a frame with this first byte; its length, or 0. */
static size_t receive(int fd, uint8_t first, uint8_t *frame)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	while (poll(&wait, 1, 2000) == 1) {
		ssize_t n = recv(fd, frame, FRAME_MAX, 0);

		if (n > 0 && frame[0] == first)
			return (size_t)n;
	}
	return 0;
}

/* in0 = in1 [switch] out0 = out1, all in this namespace. */
static void forward_live(enum weft_xdp_hook hook)
{
	const uint16_t usids[6] = { PAIR_OWN, 2, 5 };
	struct weft_xdp_config config = { .hook = hook,
		.ports = 2,
		.sids = 4,
		.block = 0xfcbbbb00,
		.mtu_bytes = 4200,
		.dscp = WEFT_DSCP_DEFAULT };
	struct weft_hop own = { .kind = WEFT_HOP_UN }, next = { .kind = WEFT_HOP_PORT, .port = 1 };
	struct weft_port_profile profile;
	uint8_t frame[FRAME_MAX], got[FRAME_MAX];
	struct weft_xdp *xdp;
	char error[200] = "";

	netns_enter();
	REQUIRE(shell("ip link add in0 mtu 4200 type veth peer name in1 mtu 4200 && "
		      "ip link add out0 mtu 4200 type veth peer name out1 mtu 4200 && "
		      "for i in in0 in1 out0 out1; do ip link set $i up; done; "
		      "ethtool -K out1 gro on >/dev/null"));
	if (weft_xdp_open(&xdp, &config, error, sizeof(error)))
		SKIP(error);
	weft_port_profile_fill(&profile, WEFT_DISCIPLINE_TRIM, false, 1000000, 0);
	for (uint32_t i = 0; i < 2; i++) {
		struct weft_xdp_port port = { .ifindex = if_nametoindex(i ? "out0" : "in1"),
			.mac = { 2, 0x51 },
			.peer_mac = { 2, 0x57 },
			.rate_bps = 1000000000,
			.profile = &profile };

		if (weft_xdp_port_set(xdp, i, &port, error, sizeof(error)))
			CHECK_FAIL("%s", error);
	}
	CHECK(weft_xdp_sid_add(xdp, PAIR_OWN, &own) && weft_xdp_sid_add(xdp, 2, &next));
	int tx = packet_socket("in0"), rx = packet_socket("out1");

	pair_frame(frame, 4200, usids, TCLASS_DATA, 17);
	CHECK_EQ(send(tx, frame, 4200, 0), 4200);
	CHECK_EQ(receive(rx, 2, got), 4200);
	CHECK_EQ(got[1], 0x57);
	CHECK_EQ(got[ETHER + 7], 63);
	CHECK_EQ(got[ETHER + 28] << 8 | got[ETHER + 29], 2);
	CHECK_MEM(got + ETHER + 40, frame + ETHER + 40, 4200 - ETHER - 40);
	weft_xdp_close(xdp); /* and the interfaces are as they were */
	memset(frame, 0x33, 6);
	CHECK_EQ(send(tx, frame, 4200, 0), 4200);
	struct pollfd wait = { .fd = rx, .events = POLLIN };

	while (poll(&wait, 1, 50) == 1) {
		CHECK(recv(rx, got, sizeof(got), 0) > 0);
		CHECK(got[0] != 2);
	}
	(void)close(tx);
	(void)close(rx);
	REQUIRE(shell("ip link del in0; ip link del out0"));
}

TEST(weft_xdp_port_set__forwards_real_frames_at_tc)
{
	forward_live(WEFT_XDP_AT_TC);
}

TEST(weft_xdp_port_set__forwards_real_frames_at_the_driver)
{
	forward_live(WEFT_XDP_AT_DRIVER);
}

TEST(weft_xdp_port_set__says_who_is_in_front_already)
{
	struct weft_xdp_config config = {
		.hook = WEFT_XDP_AT_DRIVER, .ports = 1, .sids = 1, .mtu_bytes = 1500
	};
	struct weft_port_profile profile;
	struct weft_xdp *one, *two;
	char error[200] = "";

	netns_enter();
	REQUIRE(shell("ip link add in0 type veth peer name in1"));
	weft_port_profile_fill(&profile, WEFT_DISCIPLINE_TRIM, false, 1000000, 0);
	struct weft_xdp_port port = { .ifindex = if_nametoindex("in1"), .profile = &profile };

	if (weft_xdp_open(&one, &config, error, sizeof(error)) ||
		weft_xdp_open(&two, &config, error, sizeof(error)))
		SKIP(error);
	CHECK_EQ(weft_xdp_port_set(one, 0, &port, error, sizeof(error)), 0);
	CHECK_EQ(weft_xdp_port_set(two, 0, &port, error, sizeof(error)), -1);
	CHECK(strstr(error, "another XDP program has it"));
	weft_xdp_close(two);
	weft_xdp_close(one);
	REQUIRE(shell("ip link del in0"));
}
