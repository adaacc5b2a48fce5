/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * udp - all planes of a NIC over ordinary sockets, without privilege.
 *
 * One socket receives for all planes; sending takes one per plane (and source port), bound to the
 * plane's own address, so that a full plane is felt alone and the source tells the receiver the
 * plane.  The path is the destination address (USID) or the source port (PLAIN).
 *
 * Rules that the kernel taught us (measured.md A1, A2), none of which shows on an idle veth:
 * - UDP checksums off both ways with uSIDs: the sender's kernel would sum the first destination,
 *   the receiver's checks the last.  The ICRC covers what they would.
 * - never connect(): errors and lookups go by the shifted destination.  No IPV6_RECVERR either: a
 *   pending error fails the next, unrelated send.
 * - no path-MTU discovery: it learns about the shifted destination.  The fabric file sets sizes.
 * - a send into a link without carrier succeeds; carrier.c knows better.
 *
 * GSO, zero copy and io_uring were measured and lose here (measured.md A3).
 */
#include "port/udp.h"

#include <errno.h>
#include <linux/ipv6.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef UDP_NO_CHECK6_TX
#define UDP_NO_CHECK6_TX 101
#define UDP_NO_CHECK6_RX 102
#endif

#define RCVBUF_BYTES (8 << 20)
#define SNDBUF_BYTES (256 << 10)
#define CARRIER_EVERY 4 /* turns between looks at the link socket while there is no time to wait */
#define BIND_TRIES 64   /* for a source port that is free on all planes */

static int set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

static void set_buffer(int fd, int force, int plain, uint32_t bytes)
{
	if (set(fd, SOL_SOCKET, force, (int)bytes)) /* root may exceed the limits of the host */
		(void)set(fd, SOL_SOCKET, plain, (int)bytes);
}

static int open_socket(const struct udp *udp)
{
	bool usid = udp->config.format == WEFT_UDP_USID;
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (set(fd, IPPROTO_IPV6, IPV6_V6ONLY, usid) ||
		set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE) ||
		set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE) ||
		set(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1) ||
		set(fd, IPPROTO_UDP, UDP_NO_CHECK6_TX, usid || udp->config.no_checksum)) {
		close(fd);
		return -1;
	}
	return fd;
}

static int bind_to(int fd, const uint8_t addr[16], uint16_t *number)
{
	struct sockaddr_in6 name = { .sin6_family = AF_INET6, .sin6_port = htons(*number) };
	socklen_t bytes = sizeof(name);

	if (addr)
		memcpy(&name.sin6_addr, addr, 16);
	if (bind(fd, (struct sockaddr *)&name, sizeof(name)) ||
		getsockname(fd, (struct sockaddr *)&name, &bytes))
		return -1;
	*number = ntohs(name.sin6_port);
	return 0;
}

static int watch(struct udp *udp, int fd, uint32_t events, void *data)
{
	struct epoll_event event = { .events = events, .data.ptr = data };

	return epoll_ctl(udp->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static int open_receiver(struct udp *udp)
{
	const struct weft_udp_config *c = &udp->config;

	udp->rx_fd = open_socket(udp);
	udp->udp_port = c->udp_port;
	if (udp->rx_fd < 0 || bind_to(udp->rx_fd, NULL, &udp->udp_port) ||
		set(udp->rx_fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) ||
		set(udp->rx_fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1) ||
		set(udp->rx_fd, IPPROTO_IP, IP_RECVTOS, 1) ||
		watch(udp, udp->rx_fd, EPOLLIN, &udp->rx_fd))
		return -1;
	set_buffer(udp->rx_fd, SO_RCVBUFFORCE, SO_RCVBUF,
		c->rcvbuf_bytes ? c->rcvbuf_bytes : RCVBUF_BYTES);
	return 0;
}

static void close_lane(struct udp_lane *lane)
{
	if (lane->fd >= 0)
		close(lane->fd);
	lane->fd = -1;
}

static int open_lane(struct udp *udp, struct udp_lane *lane, uint16_t number)
{
	const struct weft_udp_config *c = &udp->config;
	uint8_t tclass = weft_tclass_encode(&udp->dscp, WEFT_CLASS_DATA);

	lane->fd = open_socket(udp);
	lane->src_port = number;
	if (lane->fd < 0 || bind_to(lane->fd, c->addr[lane->plane], &lane->src_port) ||
		set(lane->fd, IPPROTO_IPV6, IPV6_TCLASS, tclass) ||
		set(lane->fd, IPPROTO_IP, IP_TOS, tclass)) {
		int why = errno;

		close_lane(lane);
		errno = why;
		return -1;
	}
	/* Nothing is ever read here, so strangers' packets shall not take memory. */
	(void)set(lane->fd, SOL_SOCKET, SO_RCVBUF, 0);
	set_buffer(lane->fd, SO_SNDBUFFORCE, SO_SNDBUF,
		c->sndbuf_bytes ? c->sndbuf_bytes : SNDBUF_BYTES);
	return 0;
}

/* Lanes of one source port number, the same on all planes; -1: it is taken somewhere. */
static int open_row(struct udp *udp, uint32_t row)
{
	uint16_t number = 0;

	for (uint32_t plane = 0; plane < udp->port.planes; plane++) {
		struct udp_lane *lane = &udp->lanes[plane * udp->src_ports + row];

		if (!open_lane(udp, lane, number)) {
			number = lane->src_port;
			continue;
		}
		int why = errno;

		for (uint32_t i = 0; i < plane; i++)
			close_lane(&udp->lanes[i * udp->src_ports + row]);
		errno = why;
		return -1;
	}
	return 0;
}

static int open_lanes(struct udp *udp)
{
	udp->n_lanes = udp->port.planes * udp->src_ports;
	for (uint32_t i = 0; i < udp->n_lanes; i++) {
		udp->lanes[i].plane = i / udp->src_ports;
		udp->lanes[i].waiting = calloc(WEFT_NET_BURST, sizeof(struct udp_out));
		if (!udp->lanes[i].waiting)
			return -1;
	}
	for (uint32_t row = 0; row < udp->src_ports; row++) {
		int rc = -1;

		for (unsigned i = 0; i < BIND_TRIES && rc; i++) {
			rc = open_row(udp, row);
			if (rc && errno != EADDRINUSE)
				return -1;
		}
		if (rc)
			return -1;
	}
	for (uint32_t i = 0; i < udp->n_lanes; i++)
		if (watch(udp, udp->lanes[i].fd, 0, &udp->lanes[i]))
			return -1;
	return 0;
}

static int open_carrier(struct udp *udp, char *error, size_t error_bytes)
{
	unsigned ifindex[WEFT_PORTS_MAX] = { 0 };

	for (uint32_t i = 0; i < udp->port.planes; i++) {
		ifindex[i] = carrier_find(udp->config.addr[i]);
		if (ifindex[i])
			continue;
		snprintf(error, error_bytes, "plane %u: no interface of this host has its address",
			i);
		return -1;
	}
	udp->carrier = carrier_open(ifindex, udp->port.planes, error, error_bytes);
	if (!udp->carrier)
		return -1;
	udp->carrier_up = carrier_read(udp->carrier);
	if (watch(udp, carrier_fd(udp->carrier), EPOLLIN, udp->carrier)) {
		snprintf(error, error_bytes, "epoll: %s", strerror(errno));
		return -1;
	}
	return 0;
}

/* ---- the port contract ---- */

static void close_port(struct weft_port *port)
{
	struct udp *udp = (struct udp *)port;

	for (uint32_t i = 0; i < UDP_LANES_MAX; i++) {
		close_lane(&udp->lanes[i]);
		free(udp->lanes[i].waiting);
	}
	if (udp->rx_fd >= 0)
		close(udp->rx_fd);
	carrier_close(udp->carrier);
	if (udp->epoll_fd >= 0)
		close(udp->epoll_fd);
	peers_close(udp->peers);
	udp_rx_close(udp->rx);
	free(udp);
}

static size_t rx(struct weft_port *port, struct weft_pkt pkts[], size_t max)
{
	struct udp *udp = (struct udp *)port;

	/* Once per turn: whoever never waits would otherwise never learn that there is room. */
	for (uint32_t i = 0; udp->full && i < udp->n_lanes; i++)
		if (udp->lanes[i].n_waiting)
			udp_tx_flush(udp, &udp->lanes[i]);
	return udp_rx_burst(udp, pkts, max);
}

static void tx(struct weft_port *port, const struct weft_pkt pkts[], size_t n)
{
	udp_tx_burst((struct udp *)port, pkts, n);
}

static uint32_t room(struct weft_port *port, size_t *max)
{
	const struct udp *udp = (const struct udp *)port;

	*max = WEFT_NET_BURST;
	return (port->planes == 32 ? UINT32_MAX : (1u << port->planes) - 1) & ~udp->full;
}

static uint32_t carrier(struct weft_port *port)
{
	struct udp *udp = (struct udp *)port;

	if (udp->carrier_age++ % CARRIER_EVERY == 0)
		udp->carrier_up = carrier_read(udp->carrier);
	return udp->carrier_up;
}

static void wait_for(struct weft_port *port, uint64_t max_ns)
{
	struct udp *udp = (struct udp *)port;
	uint64_t seconds = WEFT_MIN(max_ns / 1000000000, UINT64_C(3600));
	struct timespec limit = { .tv_sec = (time_t)seconds,
		.tv_nsec = (long)(max_ns % 1000000000) };
	struct epoll_event events[8];

	udp->drained = false;
	int n = epoll_pwait2(udp->epoll_fd, events, WEFT_COUNT(events), &limit, NULL);

	for (int i = 0; i < n; i++) {
		void *what = events[i].data.ptr;

		if (what == udp->carrier)
			udp->carrier_age = 0; /* look now */
		else if (what != &udp->rx_fd)
			udp_tx_flush(udp, what);
	}
}

static int go_to_sleep(struct weft_port *port, bool will)
{
	struct udp *udp = (struct udp *)port;

	if (!will) {
		wait_for(port, 0);
		return WEFT_PORT_BUSY;
	}
	udp->drained = false;
	return udp->epoll_fd;
}

static const struct weft_port_ops ops = {
	.name = "udp",
	.rx = rx,
	.tx = tx,
	.room = room,
	.carrier = carrier,
	.wait = wait_for,
	.sleep = go_to_sleep,
	.close = close_port,
};

/* ---- opening ---- */

static const char *refuse(const struct weft_udp_config *c)
{
	if (!c->planes || c->planes > WEFT_PORTS_MAX)
		return "planes must be 1 to 32";
	if (!c->mtu_bytes || c->mtu_bytes > WEFT_MTU_MAX)
		return "mtu_bytes must be 1 to 8192";
	if (c->src_ports > WEFT_UDP_SRC_PORTS_MAX)
		return "src_ports must be 16 at most";
	if (c->format == WEFT_UDP_USID && c->src_ports > 1)
		return "src_ports: the uSID format has one";
	return NULL;
}

static int open_all(struct udp *udp, char *error, size_t error_bytes)
{
	udp->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	udp->peers = peers_open();
	udp->rx = udp_rx_open(udp->config.mtu_bytes);
	if (udp->epoll_fd < 0 || !udp->peers || !udp->rx) {
		snprintf(error, error_bytes, "no memory");
		return -1;
	}
	if (open_receiver(udp)) {
		snprintf(error, error_bytes, "cannot receive on UDP port %u: %s",
			udp->config.udp_port, strerror(errno));
		return -1;
	}
	if (open_lanes(udp)) {
		snprintf(error, error_bytes, "cannot open sending sockets: %s", strerror(errno));
		return -1;
	}
	return open_carrier(udp, error, error_bytes);
}

int weft_udp_open(struct weft_port **port, const struct weft_udp_config *config, char *error,
	size_t error_bytes)
{
	const char *wrong = refuse(config);
	struct udp *udp = wrong ? NULL : aligned_alloc(64, WEFT_ALIGN_UP(sizeof(*udp), (size_t)64));

	if (!udp) {
		snprintf(error, error_bytes, "%s", wrong ? wrong : "no memory");
		return -1;
	}
	memset(udp, 0, sizeof(*udp));
	udp->port = (struct weft_port){ .ops = &ops, .planes = config->planes };
	udp->config = *config;
	udp->dscp = WEFT_DSCP_DEFAULT;
	udp->src_ports = config->format == WEFT_UDP_USID ? 1
			 : config->src_ports             ? config->src_ports
							 : 4;
	udp->rx_fd = udp->epoll_fd = -1;
	for (uint32_t i = 0; i < UDP_LANES_MAX; i++)
		udp->lanes[i].fd = -1;
	if (open_all(udp, error, error_bytes)) {
		close_port(&udp->port);
		return -1;
	}
	udp_tx_init(udp);
	/* A thread's timers may by default be 50 us late; ours decide about retransmissions. */
	(void)prctl(PR_SET_TIMERSLACK, 1);
	*port = &udp->port;
	return 0;
}

uint32_t weft_udp_numbers(const struct weft_port *port, uint16_t *udp_port, uint16_t src_port[])
{
	const struct udp *udp = (const struct udp *)port;

	*udp_port = udp->udp_port;
	for (uint32_t i = 0; i < udp->src_ports; i++)
		src_port[i] = udp->lanes[i].src_port;
	return udp->src_ports;
}

int weft_udp_peer_add(struct weft_port *port, uint32_t peer, const struct weft_udp_peer *attr)
{
	return peers_add(((struct udp *)port)->peers, peer, attr);
}

void weft_udp_peer_drop(struct weft_port *port, uint32_t peer)
{
	peers_drop(((struct udp *)port)->peers, peer);
}
