/* SPDX-License-Identifier: BSD-2-Clause */
#include "lines.h"
#include "netns.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

static const uint8_t one[16] = { [10] = 0xff, [11] = 0xff, 127, 0, 0, 1 };
static const uint8_t two[16] = { [10] = 0xff, [11] = 0xff, 127, 0, 0, 2 };

static void check_exchange(void)
{
	int a = weft_inet_socket(SOCK_DGRAM), b = weft_inet_socket(SOCK_DGRAM);
	struct sockaddr_in6 from = { 0 };
	char text[8] = "";

	REQUIRE(a >= 0 && b >= 0);
	CHECK_EQ(weft_inet_bind(a, NULL, 7001), 0);
	CHECK_EQ(weft_inet_bind(b, NULL, 7002), 0);
	CHECK_EQ(weft_inet_bind(weft_inet_socket(SOCK_DGRAM), NULL, 7002), -1);
	CHECK_EQ(weft_inet_send(a, two, one, 7002, "hello", 5), 5);
	CHECK_EQ(weft_inet_recv(b, text, sizeof(text), &from), 5);
	CHECK_EQ(memcmp(text, "hello", 5), 0);
	CHECK_EQ(from.sin6_family, AF_INET6);
	CHECK_EQ(ntohs(from.sin6_port), 7001);
	CHECK_EQ(memcmp(&from.sin6_addr, two, 16), 0);
	CHECK_EQ(weft_inet_recv(b, text, sizeof(text), &from), -1);
	CHECK_EQ(weft_inet_connect(a, one, 7002), 0);
	close(a);
	close(b);
}

TEST(weft_inet_send__speaks_ipv4_by_mapped_addresses)
{
	netns_enter();
	shell("ip link set lo up");
	check_exchange();
}

/* As a kernel with ipv6.disable=1. */
static bool deny_ipv6(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { WEFT_COUNT(code), code };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* Set-up lines. */
static void check_line(void)
{
	uint8_t addrs[1][16];
	char error[256];
	uint64_t deadline_ns = weft_clock_now(NULL) + UINT64_C(5000000000);
	int listener = line_listen(7010, error, sizeof(error));

	REQUIRE(listener >= 0);
	memcpy(addrs[0], one, 16);
	int fd = line_connect((const uint8_t(*)[16])addrs, 1, 7010, deadline_ns);

	CHECK(fd >= 0);
	int other = line_accept(listener, deadline_ns);

	CHECK(other >= 0);
	close(other);
	close(fd);
	close(listener);
}

static struct weft_port *open_port(uint16_t *udp_port, uint16_t src_port[])
{
	struct weft_udp_config config = {
		.format = WEFT_UDP_PLAIN, .planes = 2, .mtu_bytes = 1024, .src_ports = 1
	};
	struct weft_port *port = NULL;
	char error[256] = "";

	memcpy(config.addr[0], one, 16);
	config.addr[1][15] = 1; /* ::1, which is not there */
	if (weft_udp_open(&port, &config, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	REQUIRE(port);
	(void)weft_udp_numbers(port, udp_port, src_port);
	return port;
}

/* Packets, by the plane of IPv4. */
static void check_port(void)
{
	struct weft_udp_path path = { .ev = 0 };
	struct weft_udp_peer attr = { .n_src_ports = 1, .addrs = 1, .paths = &path, .n_paths = 1 };
	uint16_t number, src_port[WEFT_UDP_SRC_PORTS_MAX];
	struct weft_port *b = open_port(&attr.udp_port, attr.src_port);
	struct weft_port *a = open_port(&number, src_port);
	struct weft_pkt got, pkt = { .peer = 3,
		.op = WEFT_OP_WRITE_ONLY,
		.dqpn = 9,
		.psn = 5,
		.w = { .data = one, .len_bytes = 16, .msg_bytes = 16, .rkey = 1 } };
	size_t n = 0;

	CHECK_EQ(a->ops->carrier(a), 1);
	memcpy(attr.addr[0], one, 16);
	memcpy(path.dst, one, 16);
	memcpy(path.arrive, one, 16);
	CHECK_EQ(weft_udp_peer_add(a, 3, &attr), 0);
	attr.udp_port = number;
	memcpy(attr.src_port, src_port, sizeof(attr.src_port));
	CHECK_EQ(weft_udp_peer_add(b, 4, &attr), 0);
	a->ops->tx(a, &pkt, 1, WEFT_WAKE_NOW);
	for (unsigned i = 0; i < 100 && !n; i++) {
		b->ops->wait(b, 10000000);
		n = b->ops->rx(b, &got, 1);
	}
	CHECK_EQ(n, 1);
	CHECK_EQ(got.peer, 4);
	CHECK_EQ(memcmp(got.w.data, one, 16), 0);
	a->ops->close(a);
	b->ops->close(b);
}

/* The last test: there is no way back. */
TEST(weft_inet_socket__does_without_ipv6)
{
	int fd;

	netns_enter();
	shell("ip link set lo up");
	if (!deny_ipv6())
		SKIP("no filters of system calls here");
	fd = weft_inet_socket(SOCK_DGRAM);
	REQUIRE(fd >= 0);
	CHECK(weft_inet_is_v4(fd));
	CHECK_EQ(weft_inet_bind(fd, (const uint8_t[16]){ 0xfd, [15] = 1 }, 0), -1);
	CHECK_EQ(errno, EAFNOSUPPORT);
	close(fd);
	check_exchange();
	check_line();
	check_port();
}

TEST(weft_inet_of__reads_names_of_both_versions_and_no_others)
{
	const struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
		.sin6_port = htons(7),
		.sin6_addr.s6_addr = { 0xfd, [15] = 9 } };
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(8) };
	const struct sockaddr other = { .sa_family = AF_UNIX };
	uint8_t addr[16] = { 0 };
	uint16_t number = 0;

	memcpy(&v4.sin_addr, one + 12, 4);
	CHECK(weft_inet_of((const struct sockaddr *)&v4, addr, &number));
	CHECK_MEM(addr, one, 16);
	CHECK_EQ(number, 8);
	CHECK(weft_inet_of((const struct sockaddr *)&v6, addr, NULL));
	CHECK_MEM(addr, v6.sin6_addr.s6_addr, 16);
	CHECK(!weft_inet_of(&other, addr, &number));
	CHECK_EQ(number, 8);
}
