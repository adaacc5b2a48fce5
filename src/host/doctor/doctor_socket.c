/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doctor_socket - datagrams of one plane, sent as a plane sends them, and what ICMP says of them.
 *
 * As the port has it (src/host/net/port/udp.c): the plane's own address, its own interface
 * (IP_UNICAST_IF), DF set and the kernel's path MTU ignored (IP_PMTUDISC_PROBE, RFC 4821's way).
 * Unlike the port, errors are wanted here (IP_RECVERR): they tell a filter from a small MTU.
 *
 * Cables are found by multicast to ff02::1, which needs neither address nor route and does not pass
 * a router: the interface that hears it is at the other end of the cable, or of the same switch.
 */
#include "doctor_local.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAGIC "WFTd"
#define RCVBUF_BYTES (1 << 20)

static void put16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static uint16_t get16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

void probe_encode(const struct probe *probe, uint8_t bytes[PROBE_BYTES])
{
	memset(bytes, 0, PROBE_BYTES);
	memcpy(bytes, MAGIC, 4);
	put16(bytes + 4, (uint16_t)(probe->nonce >> 16));
	put16(bytes + 6, (uint16_t)probe->nonce);
	bytes[8] = probe->kind;
	bytes[9] = probe->is_answer;
	bytes[10] = probe->from;
	bytes[11] = probe->to;
	put16(bytes + 12, probe->seq);
	put16(bytes + 14, probe->bytes);
}

bool probe_decode(struct probe *probe, const uint8_t *bytes, size_t n)
{
	if (n < PROBE_BYTES || memcmp(bytes, MAGIC, 4))
		return false;
	*probe = (struct probe){ .nonce = (uint32_t)get16(bytes + 4) << 16 | get16(bytes + 6),
		.kind = bytes[8],
		.is_answer = bytes[9],
		.from = bytes[10],
		.to = bytes[11],
		.seq = get16(bytes + 12),
		.bytes = get16(bytes + 14) };
	return probe->kind < PROBE_KINDS && probe->is_answer <= 2 &&
	       probe->from < WEFT_DOCTOR_PLANES_MAX && probe->to < WEFT_DOCTOR_PLANES_MAX;
}

uint32_t ip_overhead(const uint8_t addr[16])
{
	return weft_inet_is_mapped(addr) ? 28 : 48;
}

static int set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

int plane_socket(const uint8_t addr[16], uint16_t number, uint32_t ifindex)
{
	int fd = weft_inet_socket(SOCK_DGRAM), by = (int)htonl(ifindex);

	if (fd < 0)
		return -1;
	(void)set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
	(void)set(fd, IPPROTO_IP, IP_RECVERR, 1);
	(void)set(fd, IPPROTO_IP, IP_PKTINFO, 1);
	(void)set(fd, SOL_SOCKET, SO_RCVBUF, RCVBUF_BYTES);
	if (!weft_inet_is_v4(fd)) {
		(void)set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
		(void)set(fd, IPPROTO_IPV6, IPV6_RECVERR, 1);
		(void)set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
	}
	if (ifindex) {
		(void)set(fd, IPPROTO_IP, IP_UNICAST_IF, by);
		if (!weft_inet_is_v4(fd))
			(void)set(fd, IPPROTO_IPV6, IPV6_UNICAST_IF, by);
	}
	if (weft_inet_bind(fd, addr, number)) {
		int why = errno;

		close(fd);
		errno = why;
		return -1;
	}
	return fd;
}

uint16_t plane_socket_number(int fd)
{
	struct sockaddr_storage name;
	socklen_t bytes = sizeof(name);
	uint16_t number = 0;
	uint8_t addr[16];

	if (!getsockname(fd, (struct sockaddr *)&name, &bytes))
		(void)weft_inet_of((struct sockaddr *)&name, addr, &number);
	return number;
}

static uint32_t read_ifindex(struct msghdr *msg)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			struct in6_pktinfo info;

			memcpy(&info, CMSG_DATA(c), sizeof(info));
			return (uint32_t)info.ipi6_ifindex;
		}
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			struct in_pktinfo info;

			memcpy(&info, CMSG_DATA(c), sizeof(info));
			return (uint32_t)info.ipi_ifindex;
		}
	}
	return 0;
}

bool plane_hear(int fd, struct heard *heard)
{
	_Alignas(8) uint8_t control[512];
	struct sockaddr_storage name = { 0 };
	struct iovec data = { heard->bytes, sizeof(heard->bytes) };
	struct msghdr msg = { .msg_name = &name,
		.msg_namelen = sizeof(name),
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control) };
	ssize_t n = -1;

	/* A pending error of ICMP is told once, by the next call; then come the packets. */
	for (int i = 0; i < 3 && n < 0; i++) {
		n = recvmsg(fd, &msg, MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			return false;
	}
	if (n < 0)
		return false;
	heard->n = (size_t)n;
	heard->ifindex = read_ifindex(&msg);
	(void)weft_inet_of((struct sockaddr *)&name, heard->from, &heard->number);
	return true;
}

static enum weft_doctor_udp meaning(const struct sock_extended_err *e)
{
	bool is_v4 = e->ee_origin == SO_EE_ORIGIN_ICMP;

	if (e->ee_errno == ECONNREFUSED)
		return WEFT_DOCTOR_UDP_REFUSED;
	if ((is_v4 && e->ee_type == ICMP_DEST_UNREACH &&
		    (e->ee_code == ICMP_PKT_FILTERED || e->ee_code == ICMP_NET_ANO ||
			    e->ee_code == ICMP_HOST_ANO)) ||
		(!is_v4 && e->ee_type == ICMP6_DST_UNREACH &&
			e->ee_code == ICMP6_DST_UNREACH_ADMIN))
		return WEFT_DOCTOR_UDP_PROHIBITED;
	return WEFT_DOCTOR_UDP_UNREACHABLE;
}

bool plane_trouble(int fd, enum weft_doctor_udp *what, uint32_t *mtu_bytes)
{
	_Alignas(8) uint8_t control[512];
	uint8_t bytes[64];
	struct iovec data = { bytes, sizeof(bytes) };
	struct msghdr msg = { .msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control) };

	*what = WEFT_DOCTOR_UDP_SILENT;
	*mtu_bytes = 0;
	if (recvmsg(fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return false;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		struct sock_extended_err e;

		if (!(c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) &&
			!(c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR))
			continue;
		memcpy(&e, CMSG_DATA(c), sizeof(e));
		if (e.ee_errno != EMSGSIZE)
			*what = meaning(&e);
		else if (e.ee_origin != SO_EE_ORIGIN_LOCAL)
			*mtu_bytes = e.ee_info;
	}
	return true;
}

int ear_socket(uint16_t number)
{
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(number) };

	if (fd < 0)
		return -1;
	(void)set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
	(void)set(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0);
	if (bind(fd, (struct sockaddr *)&any, sizeof(any))) {
		int why = errno;

		close(fd);
		errno = why;
		return -1;
	}
	return fd;
}

int ear_send(int fd, uint32_t ifindex, uint16_t number, const void *bytes, size_t n)
{
	struct sockaddr_in6 to = {
		.sin6_family = AF_INET6, .sin6_port = htons(number), .sin6_scope_id = ifindex
	};

	to.sin6_addr.s6_addr[0] = 0xff;
	to.sin6_addr.s6_addr[1] = 0x02;
	to.sin6_addr.s6_addr[15] = 1;
	return sendto(fd, bytes, n, MSG_DONTWAIT, (struct sockaddr *)&to, sizeof(to)) < 0 ? -1 : 0;
}
