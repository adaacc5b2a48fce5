/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * udp_lanes - the sending sockets: one per plane and source port, bound to the plane's address.
 *
 * An address may not be there when we are: its interface has no cable, and then IPv6 keeps it
 * tentative (RFC 4862, 5.4); or it comes up later, or is made anew.  Such a plane is missing, the
 * others are not, and it joins when its address can be bound.  A source port must be the same on
 * all planes, for peers are told one number; one that joins takes that of the others.
 *
 * An interface whose MTU is too small for full packets is as good as none.
 *
 * Where several interfaces are in one network, routes name one of them for all of it.  Then each
 * socket says by which it sends (IP_UNICAST_IF), and not otherwise: an address on lo or on a dummy
 * interface is one that routes may carry by any other.
 */
#include "port/udp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/in6.h>
#include <linux/ipv6.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef UDP_NO_CHECK6_TX
#define UDP_NO_CHECK6_TX 101
#define UDP_NO_CHECK6_RX 102
#endif

#define SNDBUF_BYTES (256 << 10)
#define BIND_TRIES 64 /* for a source port that is free on all planes */

int udp_set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

void udp_set_buffer(int fd, int force, int plain, uint32_t bytes)
{
	if (udp_set(fd, SOL_SOCKET, force, (int)bytes)) /* root may exceed the limits of the host */
		(void)udp_set(fd, SOL_SOCKET, plain, (int)bytes);
}

/* What only sockets of IPv6 have. */
static int set_v6(const struct udp *udp, int fd)
{
	bool usid = udp->config.format == WEFT_UDP_USID;

	return udp_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, usid) ||
	       udp_set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE) ||
	       udp_set(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1) ||
	       udp_set(fd, IPPROTO_UDP, UDP_NO_CHECK6_TX, usid || udp->config.no_checksum);
}

int udp_socket(struct udp *udp)
{
	int fd = weft_inet_socket(SOCK_DGRAM);

	if (fd < 0)
		return -1;
	udp->is_v4 = weft_inet_is_v4(fd);
	if (udp->is_v4 && udp->config.format == WEFT_UDP_USID) {
		close(fd);
		errno = EAFNOSUPPORT; /* uSIDs are addresses of IPv6 */
		return -1;
	}
	if (udp_set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE) ||
		(!udp->is_v4 && set_v6(udp, fd))) {
		close(fd);
		return -1;
	}
	return fd;
}

int udp_bind(const struct udp *udp, int fd, const uint8_t addr[16], uint16_t *number)
{
	struct sockaddr_storage name;
	struct sockaddr_in6 told;
	socklen_t bytes = inet_name(udp->is_v4, addr, *number, &name);

	if (!bytes) {
		errno = EADDRNOTAVAIL;
		return -1;
	}
	if (bind(fd, (struct sockaddr *)&name, bytes) ||
		getsockname(fd, (struct sockaddr *)&name, &bytes))
		return -1;
	inet_read(&name, &told);
	*number = ntohs(told.sin6_port);
	return 0;
}

static void close_lane(struct udp_lane *lane)
{
	if (lane->fd >= 0)
		close(lane->fd);
	lane->fd = -1;
	lane->armed = false;
}

static int open_lane(struct udp *udp, struct udp_lane *lane, uint16_t number)
{
	const struct weft_udp_config *c = &udp->config;
	uint8_t tclass = weft_tclass_encode(&udp->dscp, WEFT_CLASS_DATA);

	lane->fd = udp_socket(udp);
	lane->src_port = number;
	if (weft_inet_is_none(c->addr[lane->plane])) {
		close_lane(lane);
		errno = EADDRNOTAVAIL;
		return -1;
	}
	if (lane->fd < 0 || udp_bind(udp, lane->fd, c->addr[lane->plane], &lane->src_port) ||
		(!udp->is_v4 && udp_set(lane->fd, IPPROTO_IPV6, IPV6_TCLASS, tclass)) ||
		udp_set(lane->fd, IPPROTO_IP, IP_TOS, tclass) ||
		udp_watch(udp, lane->fd, 0, lane)) {
		int why = errno;

		close_lane(lane);
		errno = why;
		return -1;
	}
	/* Nothing is ever read here, so strangers' packets shall not take memory. */
	(void)udp_set(lane->fd, SOL_SOCKET, SO_RCVBUF, 0);
	udp_set_buffer(lane->fd, SO_SNDBUFFORCE, SO_SNDBUF,
		c->sndbuf_bytes ? c->sndbuf_bytes : SNDBUF_BYTES);
	return 0;
}

static struct udp_lane *lane_at(struct udp *udp, uint32_t plane, uint32_t row)
{
	return &udp->lanes[plane * udp->src_ports + row];
}

/* Lanes of one source port number, the same on all planes that are there; -1: it is taken
 * somewhere, or something is wrong on that plane. */
static int open_row(struct udp *udp, uint32_t row, uint32_t *plane)
{
	uint16_t number = 0;

	for (*plane = 0; *plane < udp->port.planes; (*plane)++) {
		struct udp_lane *lane = lane_at(udp, *plane, row);

		if (!open_lane(udp, lane, number)) {
			number = lane->src_port;
			continue;
		}
		if (errno == EADDRNOTAVAIL)
			continue;
		int why = errno;

		for (uint32_t i = 0; i < *plane; i++)
			close_lane(lane_at(udp, i, row));
		errno = why;
		return -1;
	}
	for (uint32_t i = 0; i < udp->port.planes; i++)
		lane_at(udp, i, row)->src_port = number;
	return 0;
}

static int open_rows(struct udp *udp, uint32_t *plane)
{
	for (uint32_t row = 0; row < udp->src_ports; row++) {
		int rc = -1;

		for (unsigned i = 0; i < BIND_TRIES && rc; i++) {
			rc = open_row(udp, row, plane);
			if (rc && errno != EADDRINUSE)
				return -1;
		}
		if (rc)
			return -1;
	}
	return 0;
}

/* Its interface would refuse full packets, and small ones that come through would hide it. */
static bool is_narrow(const struct udp *udp, uint32_t plane)
{
	uint32_t mtu = carrier_mtu(udp->ifindex[plane]);
	uint32_t need = udp->config.need_bytes ? udp->config.need_bytes : udp->config.mtu_bytes;

	return mtu && mtu < need + LINK_OVERHEAD_BYTES;
}

/* Opens what is missing of a plane; false: it is not there, not all of it. */
static bool open_plane(struct udp *udp, uint32_t plane)
{
	for (uint32_t row = 0; row < udp->src_ports; row++) {
		struct udp_lane *lane = lane_at(udp, plane, row);

		if (lane->fd < 0 && open_lane(udp, lane, lane->src_port)) {
			lane->src_port =
				lane_at(udp, plane ? 0 : udp->port.planes - 1, row)->src_port;
			return false;
		}
	}
	return true;
}

void udp_lanes_look(struct udp *udp)
{
	for (uint32_t plane = 0; plane < udp->port.planes; plane++) {
		uint8_t *addr = udp->config.addr[plane];

		(void)plane_find(udp->config.interface[plane], addr);
		unsigned by = carrier_shares_net(addr);

		udp->ifindex[plane] = carrier_find(addr);
		if (udp->carrier)
			carrier_follow(udp->carrier, plane, udp->ifindex[plane]);
		udp->planes_open &= ~(1u << plane);
		if (!is_narrow(udp, plane) && open_plane(udp, plane))
			udp->planes_open |= 1u << plane;
		for (uint32_t row = 0; row < udp->src_ports; row++) {
			int fd = lane_at(udp, plane, row)->fd;

			if (fd < 0)
				continue;
			(void)udp_set(fd, IPPROTO_IP, IP_UNICAST_IF, (int)htonl(by));
			if (!udp->is_v4)
				(void)udp_set(fd, IPPROTO_IPV6, IPV6_UNICAST_IF, (int)htonl(by));
		}
	}
}

static int complain(struct udp *udp, uint32_t plane, const char *what, char *error, size_t bytes)
{
	char text[INET6_ADDRSTRLEN], interface[IF_NAMESIZE] = "";
	const uint8_t *addr = udp->config.addr[plane];
	unsigned ifindex = carrier_find(addr);

	if (weft_inet_is_none(addr)) {
		snprintf(error, bytes, "plane %u, interface %s: it is not there, or has no address",
			plane, udp->config.interface[plane]);
		return -1;
	}
	inet_ntop(AF_INET6, addr, text, sizeof(text));
	if (ifindex)
		(void)if_indextoname(ifindex, interface);
	snprintf(error, bytes, "plane %u, address %s%s%s: %s", plane,
		strncmp(text, "::ffff:", 7) != 0 ? text : text + 7, ifindex ? " of " : "",
		interface, what);
	return -1;
}

int udp_lanes_open(struct udp *udp, char *error, size_t error_bytes)
{
	uint32_t plane = 0;

	udp->n_lanes = udp->port.planes * udp->src_ports;
	for (uint32_t i = 0; i < udp->n_lanes; i++) {
		udp->lanes[i].plane = i / udp->src_ports;
		udp->lanes[i].waiting = calloc(WEFT_NET_BURST, sizeof(struct udp_out));
		if (!udp->lanes[i].waiting) {
			snprintf(error, error_bytes, "no memory");
			return -1;
		}
	}
	if (open_rows(udp, &plane)) {
		char what[128];

		snprintf(what, sizeof(what), "cannot open a sending socket: %s", strerror(errno));
		return complain(udp, plane, what, error, error_bytes);
	}
	udp_lanes_look(udp);
	for (plane = 0; plane < udp->port.planes; plane++)
		if (udp->planes_open >> plane & 1 && udp->ifindex[plane])
			return 0;
	int why = carrier_blindness();

	(void)complain(udp, 0,
		why                 ? strerror(why)
		: is_narrow(udp, 0) ? "the MTU of its interface is too small for these packets"
		: udp->ifindex[0]   ? "cannot be used yet: it is tentative; is there a cable?"
				    : "no interface of this host has it",
		error, error_bytes);
	errno = why ? why : EADDRNOTAVAIL;
	return -1;
}

void udp_lanes_close(struct udp *udp)
{
	for (uint32_t i = 0; i < UDP_LANES_MAX; i++) {
		close_lane(&udp->lanes[i]);
		free(udp->lanes[i].waiting);
	}
}
