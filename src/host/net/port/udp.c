/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * udp - all planes of a NIC over ordinary sockets, without privilege.
 *
 * One socket receives for all planes; sending takes one per plane (and source port), bound to the
 * plane's own address, so that a full plane is felt alone and the source tells the receiver the
 * plane.  The path is the destination address (USID) or the source port (PLAIN).
 *
 * Rules that the kernel taught us ([M 1.3] to [M 2.4]), none of which shows on an idle veth:
 * - UDP checksums off both ways with uSIDs: the sender's kernel would sum the first destination,
 *   the receiver's checks the last.  The ICRC covers what they would.
 * - never connect(): errors and lookups go by the shifted destination.  No IPV6_RECVERR either: a
 *   pending error fails the next, unrelated send.
 * - no path-MTU discovery: it learns about the shifted destination.  The fabric file sets sizes.
 * - a send into a link without carrier succeeds; carrier.c knows better.
 *
 * GSO, zero copy and io_uring were measured and lose here [M 1.6], [M 3.2].
 */
#include "port/udp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#define RCVBUF_BYTES (8 << 20)
#define CARRIER_EVERY 4 /* turns between looks at the link socket while there is no time to wait */

int udp_watch(struct udp *udp, int fd, uint32_t events, void *data)
{
	struct epoll_event event = { .events = events, .data.ptr = data };

	return epoll_ctl(udp->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static int open_receiver(struct udp *udp)
{
	const struct weft_udp_config *c = &udp->config;

	udp->rx_fd = udp_socket(udp);
	udp->udp_port = c->udp_port;
	if (udp->rx_fd < 0 || udp_bind(udp, udp->rx_fd, NULL, &udp->udp_port) ||
		udp_set(udp->rx_fd, IPPROTO_IP, IP_RECVTOS, 1) ||
		udp_watch(udp, udp->rx_fd, EPOLLIN, &udp->rx_fd))
		return -1;
	if (udp->is_v4 ? udp_set(udp->rx_fd, IPPROTO_IP, IP_PKTINFO, 1)
		       : udp_set(udp->rx_fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) ||
				 udp_set(udp->rx_fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1))
		return -1;
	udp_set_buffer(udp->rx_fd, SO_RCVBUFFORCE, SO_RCVBUF,
		c->rcvbuf_bytes ? c->rcvbuf_bytes : RCVBUF_BYTES);
	return 0;
}

static int open_carrier(struct udp *udp, char *error, size_t error_bytes)
{
	udp->carrier = carrier_open(udp->ifindex, udp->port.planes, error, error_bytes);
	if (!udp->carrier)
		return -1;
	udp->carrier_up = carrier_read(udp->carrier) & udp->planes_open;
	if (udp_watch(udp, carrier_fd(udp->carrier), EPOLLIN, udp->carrier)) {
		snprintf(error, error_bytes, "epoll: %s", strerror(errno));
		return -1;
	}
	return 0;
}

/* ---- the port contract ---- */

static void close_port(struct weft_port *port)
{
	struct udp *udp = (struct udp *)port;

	udp_lanes_close(udp);
	if (udp->rx_fd >= 0)
		close(udp->rx_fd);
	carrier_close(udp->carrier);
	if (udp->epoll_fd >= 0)
		close(udp->epoll_fd);
	peers_close(udp->peers);
	udp_rx_close(udp->rx);
	free(udp->mtu_proved);
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

static void tx(
	struct weft_port *port, const struct weft_pkt pkts[], size_t n, struct weft_wake wake)
{
	(void)wake; /* the kernel looks at once */
	udp_tx_burst((struct udp *)port, pkts, n);
}

static uint32_t room(struct weft_port *port, size_t *max)
{
	const struct udp *udp = (const struct udp *)port;

	*max = WEFT_NET_BURST;
	return port_all_planes(port) & ~udp->full;
}

/* Addresses come and go. */
static void look_at_links(struct udp *udp)
{
	uint32_t up = carrier_read(udp->carrier);

	if (carrier_is_due(udp->carrier, udp->planes_open == port_all_planes(&udp->port))) {
		udp_lanes_look(udp);
		up = carrier_read(udp->carrier);
	}
	udp->carrier_up = up & udp->planes_open;
}

static uint32_t carrier(struct weft_port *port)
{
	struct udp *udp = (struct udp *)port;

	if (udp->carrier_age++ % CARRIER_EVERY == 0)
		look_at_links(udp);
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
	udp->mtu_proved = calloc(WEFT_NET_PEERS_MAX, sizeof(*udp->mtu_proved));
	if (udp->epoll_fd < 0 || !udp->peers || !udp->rx || !udp->mtu_proved) {
		snprintf(error, error_bytes, "no memory");
		return -1;
	}
	if (open_receiver(udp)) {
		snprintf(error, error_bytes, "cannot receive on UDP port %u: %s",
			udp->config.udp_port, strerror(errno));
		return -1;
	}
	if (udp_lanes_open(udp, error, error_bytes))
		return -1;
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
	struct udp *udp = (struct udp *)port;

	if (peers_add(udp->peers, peer, attr))
		return -1;
	udp_mtu_forget(udp, peer);
	return 0;
}

void weft_udp_peer_drop(struct weft_port *port, uint32_t peer)
{
	peers_drop(((struct udp *)port)->peers, peer);
}
