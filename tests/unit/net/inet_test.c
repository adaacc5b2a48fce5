/* SPDX-License-Identifier: BSD-2-Clause */
#include "local.h"
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
}
