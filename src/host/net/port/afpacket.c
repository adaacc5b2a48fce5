/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * afpacket - whole frames through packet sockets, with rings that the kernel and we both see.
 *
 * One socket per plane has both rings, so that a burst is one system call out and none in.  A frame
 * is made in its place in the sending ring; the ICRC is taken there, over bytes that are in the
 * cache, and the kernel sends the ring's pages themselves where the interface can gather.
 * Measured against sendmmsg with the payload by iovec (one copy less in user space): decisions/053.
 *
 * A received frame's slot goes back to the kernel at the next receive, after its payload has been
 * placed.  The ring is kept small against the last-level cache: a frame that was just copied in
 * should still be there when it is copied out.
 *
 * Frames leave through the interface's queueing discipline.  Going around it (PACKET_QDISC_BYPASS)
 * saved nothing on interfaces that have none and would break those that shape (weft lab).
 *
 * Hot: rx and tx, once per burst, and per packet inside.
 */
#include "port/eth.h"
#include "port/mute.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <linux/virtio_net.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define BLOCK_BYTES 65536u
#define RX_FRAMES 1024u    /* all planes together, */
#define RX_FRAMES_MIN 256u /* but at least per plane: two bursts while we are not running */
#define TX_FRAMES 256u     /* per plane: one burst to write, and what is under way */
#define SNDBUF_BYTES (256u << 10)
#define RING_FULL_NS 50000u /* nobody tells when a frame of the ring is free again */
/* Where the kernel looks for what it is to send: TPACKET2_HDRLEN without the address; there a
 * virtio header, and then the frame. */
#define TX_OFFSET 32u
#define TX_FRAME_OFFSET (TX_OFFSET + sizeof(struct virtio_net_hdr))
#define RX_OFFSET_MAX 112u /* the most that it puts before one that arrived */

static_assert(sizeof(struct tpacket2_hdr) == TX_OFFSET, "aligned to 16");

struct ring {
	uint8_t *base;
	uint32_t frames, frame_bytes, per_block;
};

struct plane {
	int fd; /* -1: the plane is missing */
	struct mute *mute;
	bool armed;     /* epoll tells when there is room again */
	bool is_linear; /* the interface wants a frame in one piece */
	uint8_t *map;
	size_t map_bytes;
	struct ring rx, tx;
	uint32_t rx_at, rx_lent;  /* the next to be read; before it those that the caller has */
	uint32_t tx_at, tx_under; /* the next to be written; before it those under way */
};

struct afpacket {
	struct eth eth; /* first */
	uint32_t turn;  /* whose plane is read first */
	struct plane planes[WEFT_PORTS_MAX];
};

static struct tpacket2_hdr *slot(const struct ring *ring, uint32_t i)
{
	size_t block = i / ring->per_block, at = i % ring->per_block;

	return (struct tpacket2_hdr *)(ring->base + block * BLOCK_BYTES + at * ring->frame_bytes);
}

static uint32_t status(const struct tpacket2_hdr *header)
{
	return __atomic_load_n(&header->tp_status, __ATOMIC_ACQUIRE);
}

static void set_status(struct tpacket2_hdr *header, uint32_t value)
{
	__atomic_store_n(&header->tp_status, value, __ATOMIC_RELEASE);
}

/* ---- opening ---- */

static int set(int fd, int name, int value)
{
	return setsockopt(fd, SOL_PACKET, name, &value, sizeof(value));
}

static int set_ring(int fd, int name, const struct eth *eth, uint32_t frames, struct ring *ring)
{
	ring->frame_bytes = WEFT_ALIGN_UP(RX_OFFSET_MAX + eth->frame_bytes, 64u);
	ring->per_block = BLOCK_BYTES / ring->frame_bytes;
	uint32_t blocks = (frames + ring->per_block - 1) / ring->per_block;

	ring->frames = blocks * ring->per_block;
	struct tpacket_req request = { .tp_block_size = BLOCK_BYTES,
		.tp_block_nr = blocks,
		.tp_frame_size = ring->frame_bytes,
		.tp_frame_nr = ring->frames };

	return setsockopt(fd, SOL_PACKET, name, &request, sizeof(request));
}

static size_t ring_bytes(const struct ring *ring)
{
	return (size_t)ring->frames / ring->per_block * BLOCK_BYTES;
}

static int set_filter(int fd, const struct frames *frames)
{
	struct sock_filter code[FRAMES_FILTER_MAX];
	struct sock_fprog filter = { .filter = code };

	filter.len = (unsigned short)frames_filter(frames, code);
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
}

static void set_sndbuf(int fd, uint32_t bytes)
{
	int value = (int)(bytes ? bytes : SNDBUF_BYTES);

	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &value, sizeof(value)))
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &value, sizeof(value));
}

/* Interfaces without checksum offload cannot gather, on Linux: a frame given to them as pages is
 * copied together, into a buffer that is allocated for it.  The virtio header's length tells the
 * kernel to make one piece of it at once, which saves 5 to 10 % of all CPU time there. */
static bool wants_one_piece(const struct eth *eth, uint32_t index)
{
	struct ethtool_value gather = { .cmd = ETHTOOL_GSG };
	struct ifreq request = { .ifr_data = (char *)&gather };

	memcpy(request.ifr_name, eth->ifname[index], IF_NAMESIZE);
	return ioctl(eth->hold_fd, SIOCETHTOOL, &request) || !gather.data;
}

/* Protocol 0 until the filter is in place: nothing that is not ours ever comes in. */
static int open_socket(struct eth *eth, uint32_t index, struct plane *plane)
{
	struct sockaddr_ll name = { .sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)eth->ifindex[index] };
	uint32_t frames = WEFT_MAX(RX_FRAMES / eth->port.planes, RX_FRAMES_MIN);

	plane->fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (plane->fd < 0)
		return -1;
	set_sndbuf(plane->fd, eth->config.sndbuf_bytes);
	plane->is_linear = wants_one_piece(eth, index);
	if (set(plane->fd, PACKET_VNET_HDR, 1) || set(plane->fd, PACKET_VERSION, TPACKET_V2) ||
		set(plane->fd, PACKET_LOSS, 1) || set(plane->fd, PACKET_IGNORE_OUTGOING, 1) ||
		set_filter(plane->fd, &eth->frames[index]) ||
		set_ring(plane->fd, PACKET_RX_RING, eth, frames, &plane->rx) ||
		set_ring(plane->fd, PACKET_TX_RING, eth, TX_FRAMES, &plane->tx))
		return -1;
	plane->map_bytes = ring_bytes(&plane->rx) + ring_bytes(&plane->tx);
	plane->map = mmap(NULL, plane->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		plane->fd, 0);
	if (plane->map == MAP_FAILED) {
		plane->map = NULL;
		return -1;
	}
	plane->rx.base = plane->map;
	plane->tx.base = plane->map + ring_bytes(&plane->rx);
	if (bind(plane->fd, (struct sockaddr *)&name, sizeof(name)))
		return -1;
	return eth_watch(eth, plane->fd, EPOLLIN, plane);
}

static int open_plane(struct eth *eth, uint32_t index, char *error, size_t error_bytes)
{
	struct plane *plane = &((struct afpacket *)eth)->planes[index];

	if (open_socket(eth, index, plane)) {
		snprintf(error, error_bytes, "plane %u: no packet socket on %s: %s%s", index,
			eth->ifname[index], strerror(errno),
			errno == EPERM ? " (needs CAP_NET_RAW)" : "");
		return -1;
	}
	plane->mute = mute_open(
		eth->udp_port, index, &eth->frames[index], eth->ifname[index], error, error_bytes);
	return plane->mute ? 0 : -1;
}

static void close_plane(struct eth *eth, uint32_t index)
{
	struct plane *plane = &((struct afpacket *)eth)->planes[index];

	if (plane->map)
		munmap(plane->map, plane->map_bytes);
	if (plane->fd >= 0)
		close(plane->fd);
	mute_close(plane->mute);
	*plane = (struct plane){ .fd = -1 };
}

static void close_port(struct weft_port *port)
{
	struct afpacket *af = (struct afpacket *)port;

	eth_close(&af->eth);
	free(af);
}

/* ---- receiving ---- */

static void give_back(struct plane *plane)
{
	uint32_t at = plane->rx_at + plane->rx.frames - plane->rx_lent;

	for (; plane->rx_lent; plane->rx_lent--, at++)
		set_status(slot(&plane->rx, at % plane->rx.frames), TP_STATUS_KERNEL);
}

/* A frame was written by the sender's core or the one that took the interrupt: the next one is
 * under way while this one is worked on.  A twentieth of all CPU time, measured. */
static void fetch(const uint8_t *at, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i += 64)
		__builtin_prefetch(at + i, 0, 2);
}

static size_t read_plane(struct afpacket *af, uint32_t index, struct weft_pkt pkts[], size_t max)
{
	struct plane *plane = &af->planes[index];
	size_t n = 0;

	while (n < max && plane->rx_lent < plane->rx.frames) {
		const struct tpacket2_hdr *header = slot(&plane->rx, plane->rx_at);

		if (!(status(header) & TP_STATUS_USER))
			break;
		plane->rx_at = plane->rx_at + 1 == plane->rx.frames ? 0 : plane->rx_at + 1;
		plane->rx_lent++;
		const struct tpacket2_hdr *next = slot(&plane->rx, plane->rx_at);

		if (status(next) & TP_STATUS_USER)
			fetch((const uint8_t *)next + next->tp_mac, next->tp_snaplen);
		n += eth_get(&af->eth, index, (const uint8_t *)header + header->tp_mac,
			header->tp_snaplen, &pkts[n]);
	}
	return n;
}

static void flush(struct afpacket *af, uint32_t index);

static size_t rx(struct weft_port *port, struct weft_pkt pkts[], size_t max)
{
	struct afpacket *af = (struct afpacket *)port;
	size_t n = 0;

	/* Once per turn: whoever never waits would otherwise never learn that there is room. */
	for (uint32_t i = 0; af->eth.full && i < port->planes; i++)
		if (af->eth.full >> i & 1)
			flush(af, i);
	for (uint32_t i = 0; i < port->planes; i++)
		give_back(&af->planes[i]);
	for (uint32_t i = 0; i < port->planes && n < max; i++)
		n += read_plane(af, (af->turn + i) % port->planes, pkts + n, max - n);
	af->turn = (af->turn + 1) % port->planes;
	port->stats.rx_calls++;
	return n;
}

/* ---- sending ---- */

/* Frames that the kernel is done with. */
static void reap(struct plane *plane)
{
	while (plane->tx_under) {
		uint32_t at =
			(plane->tx_at + plane->tx.frames - plane->tx_under) % plane->tx.frames;

		if (status(slot(&plane->tx, at)) != TP_STATUS_AVAILABLE)
			break;
		plane->tx_under--;
	}
}

/* The link refused what it was asked to send: takes back all that has not gone. */
static void take_back(struct afpacket *af, struct plane *plane)
{
	while (plane->tx_under) {
		uint32_t at = (plane->tx_at + plane->tx.frames - 1) % plane->tx.frames;
		struct tpacket2_hdr *header = slot(&plane->tx, at);

		if (status(header) != TP_STATUS_SEND_REQUEST)
			break;
		set_status(header, TP_STATUS_AVAILABLE);
		plane->tx_at = at;
		plane->tx_under--;
		af->eth.port.stats.tx_pkts--;
		af->eth.port.stats.tx_refused++;
	}
}

static void flush(struct afpacket *af, uint32_t index)
{
	struct plane *plane = &af->planes[index];

	af->eth.port.stats.tx_calls++;
	if (send(plane->fd, NULL, 0, MSG_DONTWAIT) < 0 && errno != EAGAIN && errno != EINTR)
		take_back(af, plane);
	reap(plane);
	/* By the socket's limit, which the return value does not tell once anything has gone. */
	uint32_t last = (plane->tx_at + plane->tx.frames - 1) % plane->tx.frames;
	bool is_blocked =
		plane->tx_under && status(slot(&plane->tx, last)) == TP_STATUS_SEND_REQUEST;
	bool is_full = is_blocked || plane->tx.frames - plane->tx_under < WEFT_NET_BURST;

	if (is_full && !(af->eth.full >> index & 1))
		af->eth.port.stats.tx_waits++;
	af->eth.full = is_full ? af->eth.full | 1u << index : af->eth.full & ~(1u << index);
	if (plane->armed == is_blocked)
		return;
	plane->armed = is_blocked;
	eth_rewatch(&af->eth, plane->fd, is_blocked ? EPOLLIN | EPOLLOUT : EPOLLIN, plane);
}

static void tx(
	struct weft_port *port, const struct weft_pkt pkts[], size_t n, struct weft_wake wake)
{
	struct afpacket *af = (struct afpacket *)port;
	uint32_t touched = 0;

	(void)wake; /* the kernel looks at once */
	WEFT_ASSERT(n <= WEFT_NET_BURST);
	for (size_t i = 0; i < n; i++) {
		struct plane *plane = &af->planes[pkts[i].port];

		WEFT_ASSERT(pkts[i].port < port->planes);
		if (plane->tx_under == plane->tx.frames) { /* full, or missing */
			port->stats.tx_refused++;
			continue;
		}
		struct tpacket2_hdr *header = slot(&plane->tx, plane->tx_at);

		if (i + 1 < n)
			fetch(pkts[i + 1].w.data, weft_wire_payload_bytes(&pkts[i + 1]));
		uint8_t *at = (uint8_t *)header + TX_OFFSET;
		size_t bytes = eth_put(&af->eth, &pkts[i], (uint8_t *)header + TX_FRAME_OFFSET);
		struct virtio_net_hdr virtio = { .hdr_len = 0 };

		if (!bytes)
			continue;
		if (plane->is_linear)
			virtio.hdr_len = (uint16_t)bytes;
		memcpy(at, &virtio, sizeof(virtio));
		header->tp_len = (uint32_t)(sizeof(virtio) + bytes);
		set_status(header, TP_STATUS_SEND_REQUEST);
		plane->tx_at = plane->tx_at + 1 == plane->tx.frames ? 0 : plane->tx_at + 1;
		plane->tx_under++;
		port->stats.tx_pkts++;
		touched |= 1u << pkts[i].port;
	}
	for (uint32_t i = 0; touched; i++, touched >>= 1)
		if (touched & 1)
			flush(af, i);
}

static void wait_for(struct weft_port *port, uint64_t max_ns)
{
	struct afpacket *af = (struct afpacket *)port;
	void *data[8];

	for (uint32_t i = 0; af->eth.full && i < port->planes; i++)
		if (af->eth.full >> i & 1 && !af->planes[i].armed)
			max_ns = WEFT_MIN(max_ns, (uint64_t)RING_FULL_NS);
	size_t n = eth_wait(&af->eth, max_ns, data, WEFT_COUNT(data));

	for (size_t i = 0; i < n; i++) {
		uint32_t index = (uint32_t)((struct plane *)data[i] - af->planes);

		if (af->eth.full >> index & 1)
			flush(af, index);
	}
}

static int go_to_sleep(struct weft_port *port, bool will)
{
	struct afpacket *af = (struct afpacket *)port;

	if (!will) {
		wait_for(port, 0);
		return WEFT_PORT_BUSY;
	}
	if (af->eth.full)
		return WEFT_PORT_BLIND; /* not every full ring tells */
	return af->eth.epoll_fd;
}

static const struct weft_port_ops ops = {
	.name = "afpacket",
	.rx = rx,
	.tx = tx,
	.room = eth_room,
	.carrier = eth_carrier,
	.wait = wait_for,
	.sleep = go_to_sleep,
	.close = close_port,
};

static const struct eth_lanes lanes = { open_plane, close_plane };

int weft_afpacket_open(struct weft_port **port, const struct weft_eth_config *config, char *error,
	size_t error_bytes)
{
	struct afpacket *af = calloc(1, sizeof(*af));

	if (!af) {
		snprintf(error, error_bytes, "no memory");
		return -1;
	}
	for (uint32_t i = 0; i < WEFT_PORTS_MAX; i++)
		af->planes[i].fd = -1;
	if (eth_open(&af->eth, &ops, &lanes, config, error, error_bytes)) {
		close_port(&af->eth.port);
		return -1;
	}
	*port = &af->eth.port;
	return 0;
}
