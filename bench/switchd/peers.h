/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PEERS_H
#define PEERS_H
/*
 * peers - what soft_bench compares with: TCP on one veth, bare UDP on it, and bare UDP over three
 * hops of kernel seg6local (weft lab --fabric kernel).
 */
#include <weft/base.h>
#include <weft/lab.h>
#include <weft/session.h>
#include <weft/shm.h>
#include <weft/switchd.h>
#include <weft/topo.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/udp.h>
#include <jansson.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PKT 4096u
#define HEADERS 48u
#define BATCH 32u
#define WINDOW 256u
#define BUFFER (16u << 20)
#define MESSAGE (1u << 20)
#define PORT 29700
#define ROUNDS_MAX 21

static const char *const addr_text[2] = { "fd00::1", "fd00::2" };
static uint64_t total_bytes = UINT64_C(512) << 20;
static uint8_t *buffer;
static char dir[64], fabric[80];
static struct weft_topo *topo;

static void die(const char *what)
{
	fprintf(stderr, "soft_bench: %s: %s\n", what, strerror(errno));
	_exit(1);
}

/* ---- TCP ---- */

static struct sockaddr_in6 server_name(void)
{
	struct sockaddr_in6 name = { .sin6_family = AF_INET6, .sin6_port = htons(PORT) };

	inet_pton(AF_INET6, addr_text[1], &name.sin6_addr);
	return name;
}

static void tcp_send(void)
{
	struct sockaddr_in6 to = server_name();
	uint64_t sent = 0;
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
		die("connect");
	while (sent < total_bytes) {
		uint64_t bytes = WEFT_MIN(total_bytes - sent, (uint64_t)256 << 10);
		ssize_t n = send(fd, buffer + sent % BUFFER, bytes, 0);

		if (n <= 0)
			die("send");
		sent += (uint64_t)n;
	}
	shutdown(fd, SHUT_WR);
	while (recv(fd, buffer, 1, 0) > 0)
		;
}

static void tcp_receive(void)
{
	struct sockaddr_in6 name = server_name();
	int listener = socket(AF_INET6, SOCK_STREAM, 0), one = 1;
	uint64_t got = 0;

	(void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (struct sockaddr *)&name, sizeof(name)) || listen(listener, 1))
		die("listen");
	int fd = accept(listener, NULL, NULL);
	while (got < total_bytes) {
		uint64_t at = got % BUFFER;
		ssize_t n = recv(fd, buffer + at, WEFT_MIN(BUFFER - at, (uint64_t)256 << 10), 0);

		if (n <= 0)
			die("recv");
		got += (uint64_t)n;
	}
}

/* ---- bare UDP: over the veth, and over three hops of the kernel's ---- */

/* usid: to the other host of the lab by one path; otherwise over the veth. */
static struct sockaddr_in6 udp_name(int end, bool usid)
{
	struct sockaddr_in6 name = { .sin6_family = AF_INET6, .sin6_port = htons(PORT) };

	inet_pton(AF_INET6, addr_text[end], &name.sin6_addr);
	if (usid)
		(void)weft_topo_usid(
			topo, (uint32_t)!end, (uint32_t)end, weft_ev(0, 0), name.sin6_addr.s6_addr);
	return name;
}

static int udp_socket(void)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(PORT) };
	int fd = socket(AF_INET6, SOCK_DGRAM, 0), one = 1, bytes = 8 << 20;

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
	(void)setsockopt(fd, IPPROTO_UDP, UDP_NO_CHECK6_TX, &one, sizeof(one));
	(void)setsockopt(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&any, sizeof(any)))
		die("bind");
	return fd;
}

static void udp_send(bool usid)
{
	struct sockaddr_in6 to = udp_name(1, usid);
	uint64_t sent = 0, credited = 0, n = total_bytes / PKT;
	struct mmsghdr msgs[BATCH];
	struct iovec iov[BATCH];
	int fd = udp_socket();

	while (credited < n) {
		unsigned batch = (unsigned)WEFT_MIN(n - sent, (uint64_t)BATCH);

		if (sent == n || sent - credited > WINDOW - BATCH) {
			if (recv(fd, &credited, sizeof(credited), 0) < 0)
				die("recv");
			continue;
		}
		for (unsigned i = 0; i < batch; i++) {
			iov[i] = (struct iovec){ buffer + (sent + i) * PKT % BUFFER, PKT };
			msgs[i].msg_hdr = (struct msghdr){ .msg_name = &to,
				.msg_namelen = sizeof(to),
				.msg_iov = &iov[i],
				.msg_iovlen = 1 };
		}
		int done = sendmmsg(fd, msgs, batch, 0);

		if (done <= 0)
			die("sendmmsg");
		sent += (unsigned)done;
	}
}

static void udp_receive(bool usid)
{
	struct sockaddr_in6 to = udp_name(0, usid);
	uint64_t got = 0, told = 0, n = total_bytes / PKT;
	struct mmsghdr msgs[BATCH];
	struct iovec iov[BATCH];
	int fd = udp_socket();

	while (got < n) {
		for (unsigned i = 0; i < BATCH; i++) {
			iov[i] = (struct iovec){ buffer + (got + i) * PKT % BUFFER, PKT };
			msgs[i].msg_hdr = (struct msghdr){ .msg_iov = &iov[i], .msg_iovlen = 1 };
		}
		int done = recvmmsg(fd, msgs, BATCH, MSG_WAITFORONE, NULL);

		if (done <= 0)
			die("recvmmsg");
		got += (unsigned)done;
		if (got - told < BATCH && got < n)
			continue;
		told = got;
		if (sendto(fd, &got, sizeof(got), 0, (struct sockaddr *)&to, sizeof(to)) < 0)
			die("sendto");
	}
}

static void udp_veth_send(void)
{
	udp_send(false);
}

static void udp_veth_receive(void)
{
	udp_receive(false);
}

static void enter_lab(uint32_t host)
{
	struct weft_lab *lab;
	char error[256];

	if (weft_lab_open(&lab, "soft-bench", error, sizeof(error)) ||
		weft_lab_enter(lab, host, error, sizeof(error)))
		die(error);
}

static void udp_kernel_send(void)
{
	enter_lab(0);
	udp_send(true);
}

static void udp_kernel_receive(void)
{
	enter_lab(1);
	udp_receive(true);
}

#endif
