/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LO_H
#define LO_H
/* Sockets of datagrams over a device on the loopback interface: nothing here is replaced. */
#include "check.h"
#include "dgram.h"
#include "unit/net/netns.h"

#include <arpa/inet.h>

#define LIMIT_MS 30000

static inline struct sockaddr_in loopback(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

/* A network of the test's own, with a device. */
static inline void enter(void)
{
	static bool inside;

	if (inside)
		return;
	netns_enter();
	shell("ip link set lo up");
	setenv("WEFT_PLANES", "127.0.0.1,::1", 1);
	inside = true;
}

/* port 0: not bound. */
static inline int open_at(uint16_t port)
{
	struct sockaddr_in name = loopback(port);

	enter();
	int fd = rsocket(AF_INET, SOCK_DGRAM, 0);

	REQUIRE(fd >= 0);
	if (port)
		REQUIRE(!rbind(fd, (struct sockaddr *)&name, sizeof(name)));
	return fd;
}

static inline bool is_readable(int fd)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	return rpoll(&ready, 1, LIMIT_MS) == 1;
}

static inline ssize_t send_to(int fd, uint16_t port, const void *data, size_t bytes)
{
	struct sockaddr_in to = loopback(port);

	return rsendto(fd, data, bytes, 0, (struct sockaddr *)&to, sizeof(to));
}

#endif
