/* SPDX-License-Identifier: BSD-2-Clause */
#include "switches.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/*
 * Veth pairs in a network namespace of the test's own: h0.p0 and h1.p0 are the switch's ends, a0
 * and b0 the hosts'.  Hosts are packet sockets here; tests/live/switch.sh has kernels.
 */
static struct place place;
static struct weft_switchd *sw;
static int a, b;

static void sh(const char *command)
{
	if (system(command))
		CHECK_FAIL("failed: %s", command);
}

static void enter_namespace(void)
{
	static bool is_in;

	if (is_in)
		return;
	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		SKIP("no network namespaces here");
	is_in = true;
}

static int open_host(const char *name)
{
	struct sockaddr_ll address = { .sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_IPV6),
		.sll_ifindex = (int)if_nametoindex(name) };
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), one = 1;

	setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one));
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)))
		SKIP("no packet sockets here");
	return fd;
}

static void begin(void)
{
	enter_namespace();
	sh("ip link add h0.p0 address 02:57:00:00:00:01 mtu 9000 type veth peer name a0 "
	   "address 02:57:00:00:00:00 mtu 9000");
	sh("ip link add h1.p0 address 02:57:00:00:02:01 mtu 9000 type veth peer name b0 "
	   "address 02:57:00:00:02:00 mtu 9000");
	sh("for i in h0.p0 h1.p0 a0 b0; do echo 1 >/proc/sys/net/ipv6/conf/$i/disable_ipv6; "
	   "ip link set $i up; done");
	place_open(&place, SMALL2);
	sw = switch_open(&place, "h%u.p%u");
	a = open_host("a0");
	b = open_host("b0");
	turns(sw, 20);
}

static void end(void)
{
	weft_switchd_close(sw);
	place_close(&place);
	close(a);
	close(b);
	sh("ip link del a0; ip link del b0");
}

/* An Ethernet frame from alice's interface to bob; bytes of the IP packet. */
static void send_frame(int fd, uint32_t ev, uint16_t port, uint32_t bytes)
{
	static uint8_t frame[10000];

	memcpy(frame, "\x02\x57\0\0\0\x01\x02\x57\0\0\0\0\x86\xdd", 14);
	packet_make(sw->topo, ALICE, BOB, ev, port, frame + 14, bytes);
	CHECK_EQ(send(fd, frame, bytes + 14, 0), bytes + 14);
}

/* Bytes of the next frame that comes within 100 ms of turns; 0: none. */
static size_t receive_frame(int fd, uint8_t frame[10000])
{
	for (unsigned i = 0; i < 1000; i++) {
		weft_switchd_turn(sw);
		ssize_t n = recv(fd, frame, 10000, MSG_DONTWAIT);

		if (n > 0)
			return (size_t)n;
		usleep(100);
	}
	return 0;
}

TEST(ifaces_open__wants_a_format_that_it_can_trust)
{
	static const struct {
		const char *format, *words;
	} rows[] = {
		{ "h%u", "needs two %u" },
		{ "h%u.p%u.%u", "needs two %u" },
		{ "h%s.p%n", "needs two %u" },
		{ "%u%%u", "needs two %u" },
		{ "none%u.%u", "no interface here is named like none0.0" },
	};
	char error[256] = "";

	enter_namespace();
	place_open(&place, SMALL2);
	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct weft_switchd_config config = {
			.fabric = place.fabric, .dir = place.dir, .ifname_format = rows[i].format
		};

		CHECK_EQ(weft_switchd_open(&sw, &config, error, sizeof(error)), -1);
		if (!strstr(error, rows[i].words))
			CHECK_FAIL("%s: says %s", rows[i].format, error);
	}
	place_close(&place);
}

TEST(ifaces_take__carries_frames_and_puts_new_ethernet_on)
{
	uint8_t frame[10000];

	begin();
	CHECK_EQ(sw->ifaces.found, 2);
	for (unsigned i = 0; i < 100; i++) {
		send_frame(a, weft_ev(0, i % 2), 5000, 100 + i);
		if (i % 32 == 0)
			turns(sw, 1);
	}
	unsigned seen = 0;
	for (unsigned i = 0; i < 100; i++) {
		size_t n = receive_frame(b, frame);

		REQUIRE(n >= 114 && n < 214);
		CHECK_MEM(frame, "\x02\x57\0\0\x02\0\x02\x57\0\0\x02\x01\x86\xdd", 14);
		CHECK_EQ(frame[14 + 7], 61);
		CHECK_EQ(frame[n - 1], (uint8_t)(n - 15));
		seen++;
	}
	CHECK_EQ(seen, 100);
	end();
}

TEST(ifaces_take__starts_packets_when_they_came)
{
	struct weft_shm_desc d[4];
	struct program bob;

	begin();
	CHECK_EQ(program_open(&bob, sw, "bob", 5000), 0);
	for (unsigned i = 0; i < 4; i++) {
		send_frame(a, weft_ev(0, 0), 5000, 100);
		usleep(2000);
	}
	usleep(3000); /* looked at much later */
	REQUIRE(program_receive(&bob, sw, d, 4) == 4);
	for (unsigned i = 1; i < 4; i++)
		CHECK(d[i].at_ns - d[i - 1].at_ns >= 1500000);
	CHECK(real_now_ns() - d[3].at_ns >= 3000000);
	program_done(&bob, d, 4);
	program_close(&bob);
	end();
}

TEST(ifaces_deliver__comes_after_the_flow_table)
{
	uint8_t frame[10000];
	struct weft_shm_desc d[1];
	struct program bob;

	begin();
	CHECK_EQ(program_open(&bob, sw, "bob", 5000), 0);
	send_frame(a, weft_ev(0, 0), 5000, 100);
	send_frame(a, weft_ev(0, 0), 5001, 101);
	CHECK_EQ(receive_frame(b, frame), 115);
	CHECK_EQ(program_receive(&bob, sw, d, 1), 1);
	CHECK_EQ(d[0].bytes, 100);
	CHECK_EQ(d[0].flags, WEFT_SHM_DOUBTED);
	program_done(&bob, d, 1);
	CHECK_EQ(sw->drops[EDGE_NOBODY], 0);
	program_close(&bob);
	end();
}

TEST(ifaces_take__learns_the_hosts_address)
{
	uint8_t frame[10000],
		hello[60] = { 0x02, 0x57, 0, 0, 2, 1, 0x02, 9, 9, 9, 9, 9, 0x86, 0xdd, 0x60 };

	begin();
	CHECK_EQ(send(b, hello, sizeof(hello), 0), sizeof(hello));
	turns(sw, 3);
	send_frame(a, weft_ev(0, 0), 5000, 100);
	CHECK_EQ(receive_frame(b, frame), 114);
	CHECK_MEM(frame, "\x02\x09\x09\x09\x09\x09", 6);
	hello[6] = 0xff; /* nobody is called everybody */
	CHECK_EQ(send(b, hello, sizeof(hello), 0), sizeof(hello));
	turns(sw, 3);
	send_frame(a, weft_ev(0, 0), 5000, 100);
	CHECK_EQ(receive_frame(b, frame), 114);
	CHECK_MEM(frame, "\x02\x09\x09\x09\x09\x09", 6);
	end();
}

TEST(ifaces_take__survives_garbage_and_counts_it)
{
	struct weft_rng rng;
	uint8_t frame[9014] = { 0x02, 0x57, 0, 0, 0, 1, 0x02, 0x57, 0, 0, 0, 0, 0x86, 0xdd };
	const struct weft_network_stats *stats;
	unsigned sent = 0;

	begin();
	weft_rng_seed(&rng, 3);
	stats = weft_network_stats(sw->network);
	uint64_t before = stats->dropped;
	for (unsigned i = 0; i < 3000; i++) {
		size_t bytes = 14 + weft_rng_below(&rng, 200);

		for (size_t k = 14; k < bytes; k++)
			frame[k] = (uint8_t)weft_rng_u64(&rng);
		if (bytes > 40 && weft_rng_below(&rng, 2)) {
			frame[14] = 0x60; /* looks good at first */
			memcpy(frame + 38, "\xfc\xbb\xbb\0", 4);
		}
		sent += send(a, frame, bytes, 0) == (ssize_t)bytes;
		if (i % 32 == 0)
			turns(sw, 1);
	}
	turns(sw, 30);
	CHECK_EQ(stats->dropped - before, sent);
	CHECK_EQ(send(a, frame, sizeof(frame), 0), sizeof(frame));
	turns(sw, 3);
	CHECK_EQ(sw->drops[EDGE_GIANT], 1);
	weft_network_check(sw->network);
	end();
}

/* Whether the host sees that soon: its kernel takes notice in a worker, within a second. */
static bool becomes(const char *name, bool has_carrier)
{
	struct ifreq request = { 0 };

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	for (unsigned i = 0; i < 1500; i++) {
		CHECK_EQ(ioctl(sw->ifaces.ioctl_fd, SIOCGIFFLAGS, &request), 0);
		if (!!(request.ifr_flags & IFF_RUNNING) == has_carrier)
			return true;
		usleep(1000);
	}
	return false;
}

TEST(ifaces_carrier__is_seen_by_the_host)
{
	char up[] = "{\"op\":\"link\",\"link\":\"alice.p0\",\"up\":true}";
	char down[] = "{\"op\":\"link\",\"link\":\"alice.p0\",\"up\":false}";

	begin();
	CHECK(becomes("a0", true));
	free(request_answer(sw, down, strlen(down)));
	CHECK(becomes("a0", false));
	CHECK(becomes("b0", true));
	free(request_answer(sw, up, strlen(up)));
	CHECK(becomes("a0", true));
	loop_power(sw, weft_topo_node_find(sw->topo, "p0.t0-0"), false, 0);
	CHECK(becomes("a0", false));
	loop_power(sw, weft_topo_node_find(sw->topo, "p0.t0-0"), true, 0);
	CHECK(becomes("a0", true));
	end();
}

TEST(ifaces_notice__hears_that_the_host_is_down)
{
	begin();
	uint32_t link = find_link(sw, "bob.p0");
	CHECK(weft_network_link_is_up(sw->network, link));
	sh("ip link set b0 down");
	for (unsigned i = 0; i < 1000 && weft_network_link_is_up(sw->network, link); i++)
		turns(sw, 100);
	CHECK(!weft_network_link_is_up(sw->network, link));
	CHECK_EQ(sw->told[link].down, LINK_FAR_DOWN);
	sh("ip link set b0 up");
	for (unsigned i = 0; i < 1000 && !weft_network_link_is_up(sw->network, link); i++)
		turns(sw, 100);
	CHECK(weft_network_link_is_up(sw->network, link));
	end();
}
