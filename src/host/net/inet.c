/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inet - sockets for both versions of IP, also where the kernel has only the old one.
 *
 * An IPv6 socket that is not V6ONLY speaks IPv4 as well, by mapped addresses (RFC 4291, 2.5.5.2),
 * so everything else here knows one form of address.  Kernels without IPv6 refuse that socket; then
 * one of IPv4 is taken, and its names are turned into mapped addresses and back in this file.
 */
#include "net_local.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int weft_inet_socket(int type)
{
	int fd = socket(AF_INET6, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	/* EAFNOSUPPORT from kernels; EPERM, EACCES from filters of system calls. */
	if (fd < 0 && (errno == EAFNOSUPPORT || errno == EPERM || errno == EACCES))
		return socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){ 0 }, sizeof(int))) {
		int why = errno;

		close(fd);
		errno = why;
		return -1;
	}
	return fd;
}

bool weft_inet_is_mapped(const uint8_t addr[16])
{
	static const uint8_t prefix[12] = { [10] = 0xff, 0xff };

	return !memcmp(addr, prefix, sizeof(prefix));
}

bool weft_inet_is_none(const uint8_t addr[16])
{
	static const uint8_t none[16];

	return !memcmp(addr, none, sizeof(none));
}

void weft_inet_map(const void *ipv4, uint8_t addr[16])
{
	memset(addr, 0, 10);
	memset(addr + 10, 0xff, 2);
	memcpy(addr + 12, ipv4, 4);
}

bool weft_inet_of(const struct sockaddr *name, uint8_t addr[16], uint16_t *number)
{
	const struct sockaddr_in *v4 = (const void *)name;
	const struct sockaddr_in6 *v6 = (const void *)name;

	if (name->sa_family == AF_INET)
		weft_inet_map(&v4->sin_addr, addr);
	else if (name->sa_family == AF_INET6)
		memcpy(addr, &v6->sin6_addr, 16);
	else
		return false;
	if (number)
		*number = ntohs(name->sa_family == AF_INET ? v4->sin_port : v6->sin6_port);
	return true;
}

bool weft_inet_is_v4(int fd)
{
	int domain = AF_INET6;
	socklen_t bytes = sizeof(domain);

	return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) && domain == AF_INET;
}

socklen_t inet_name(
	bool is_v4, const uint8_t addr[16], uint16_t number, struct sockaddr_storage *name)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)name;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)name;

	memset(name, 0, sizeof(*name));
	if (!is_v4) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(number);
		if (addr)
			memcpy(&v6->sin6_addr, addr, 16);
		return sizeof(*v6);
	}
	if (addr && !weft_inet_is_mapped(addr))
		return 0;
	v4->sin_family = AF_INET;
	v4->sin_port = htons(number);
	if (addr)
		memcpy(&v4->sin_addr, addr + 12, 4);
	return sizeof(*v4);
}

void inet_read(const struct sockaddr_storage *name, struct sockaddr_in6 *out)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)name;

	if (name->ss_family != AF_INET) {
		memcpy(out, name, sizeof(*out));
		return;
	}
	*out = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = v4->sin_port };
	weft_inet_map(&v4->sin_addr, out->sin6_addr.s6_addr);
}

bool inet_parse(const char *word, uint8_t addr[16])
{
	uint8_t ipv4[4];

	if (inet_pton(AF_INET, word, ipv4) != 1)
		return inet_pton(AF_INET6, word, addr) == 1;
	weft_inet_map(ipv4, addr);
	return true;
}

uint32_t inet_lookup(const char *host, uint8_t addrs[WEFT_PORTS_MAX][16])
{
	struct addrinfo hints = {
		.ai_family = AF_INET6, .ai_socktype = SOCK_STREAM, .ai_flags = AI_V4MAPPED | AI_ALL
	};
	struct addrinfo *list;
	size_t bytes = strlen(host);
	char bare[NI_MAXHOST];
	uint32_t n = 0;

	/* "[fd00::2]", as where a port or a path follows (RFC 3986). */
	if (*host == '[' && host[bytes - 1] == ']' && bytes - 2 < sizeof(bare)) {
		snprintf(bare, sizeof(bare), "%.*s", (int)bytes - 2, host + 1);
		host = bare;
	}
	if (getaddrinfo(host, NULL, &hints, &list))
		return 0;
	for (const struct addrinfo *i = list; i && n < WEFT_PORTS_MAX; i = i->ai_next)
		memcpy(addrs[n++], &((struct sockaddr_in6 *)i->ai_addr)->sin6_addr, 16);
	freeaddrinfo(list);
	return n;
}

typedef int name_fn(int fd, const struct sockaddr *name, socklen_t bytes);

static int by_name(int fd, const uint8_t addr[16], uint16_t number, name_fn *call)
{
	struct sockaddr_storage name;
	socklen_t bytes = inet_name(weft_inet_is_v4(fd), addr, number, &name);

	if (!bytes) {
		errno = EAFNOSUPPORT;
		return -1;
	}
	return call(fd, (const struct sockaddr *)&name, bytes);
}

int weft_inet_bind(int fd, const uint8_t addr[16], uint16_t number)
{
	return by_name(fd, addr, number, bind);
}

int weft_inet_connect(int fd, const uint8_t addr[16], uint16_t number)
{
	return by_name(fd, addr, number, connect);
}

ssize_t weft_inet_send(int fd, const uint8_t from[16], const uint8_t to[16], uint16_t number,
	const void *bytes, size_t n)
{
	bool is_v4 = weft_inet_is_v4(fd);
	uint8_t control[CMSG_SPACE(sizeof(struct in6_pktinfo))] = { 0 };
	struct sockaddr_storage name;
	struct iovec data = { (void *)(uintptr_t)bytes, n };
	struct msghdr msg = { .msg_name = &name,
		.msg_namelen = inet_name(is_v4, to, number, &name),
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = CMSG_SPACE(
			is_v4 ? sizeof(struct in_pktinfo) : sizeof(struct in6_pktinfo)) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	struct in6_pktinfo v6 = { 0 };
	struct in_pktinfo v4 = { 0 };

	if (!msg.msg_namelen) {
		errno = EAFNOSUPPORT;
		return -1;
	}
	memcpy(&v6.ipi6_addr, from, 16);
	memcpy(&v4.ipi_spec_dst, from + 12, 4);
	c->cmsg_level = is_v4 ? IPPROTO_IP : IPPROTO_IPV6;
	c->cmsg_type = is_v4 ? IP_PKTINFO : IPV6_PKTINFO;
	c->cmsg_len = CMSG_LEN(is_v4 ? sizeof(v4) : sizeof(v6));
	if (is_v4)
		memcpy(CMSG_DATA(c), &v4, sizeof(v4));
	else
		memcpy(CMSG_DATA(c), &v6, sizeof(v6));
	return sendmsg(fd, &msg, MSG_DONTWAIT);
}

ssize_t weft_inet_recv(int fd, void *bytes, size_t max, struct sockaddr_in6 *from)
{
	struct sockaddr_storage name = { 0 };
	socklen_t name_bytes = sizeof(name);
	ssize_t n = recvfrom(fd, bytes, max, MSG_DONTWAIT, (struct sockaddr *)&name, &name_bytes);

	if (n >= 0)
		inet_read(&name, from);
	return n;
}
