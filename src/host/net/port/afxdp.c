/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * afxdp - whole frames through AF_XDP: past the kernel's stack on both sides [M 3.3].
 *
 * Per plane a socket on every receive queue of the interface (a NIC spreads packets over them by
 * hashing), all read in turn; sending takes the first.  The program that picks our frames is
 * afxdp.bpf.c, one copy per plane with the plane's address and our UDP port built in.
 *
 * It is attached by a BPF link: the kernel detaches it when our descriptor goes, also after
 * kill -9.  The driver's own hook is tried first, the generic one (any driver, one copy more)
 * second.  An interface has one XDP program and a queue one AF_XDP socket, so there is one such
 * endpoint per interface; afpacket and udp endpoints live beside it.
 *
 * AF_XDP hands frames to the driver, around the queueing discipline.  On an interface whose
 * discipline shapes (weft lab with a rate) that would be cheating, so it is refused.
 *
 * Hot: rx and tx, once per burst, and per packet inside.
 */
#include "port/afxdp_rule.h"
#include "port/eth.h"
#include "port/xsk.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define QUEUES_MAX 8u     /* per plane; more cost more memory than they are worth here */
#define RX_SLOTS 512u     /* all planes together, */
#define RX_SLOTS_MIN 256u /* but at least per queue */
#define TX_SLOTS 256u     /* per plane: one burst to write, and what is under way */
#define FULL_NS 50000u    /* nobody tells when there is room again */

extern const unsigned char afxdp_bpf_o[];
extern const unsigned afxdp_bpf_o_bytes;

struct plane {
	struct bpf_object *program;
	int link_fd;
	uint32_t queues;
	struct xsk xsk[QUEUES_MAX];
};

struct afxdp {
	struct eth eth; /* first */
	uint32_t turn;  /* whose plane is read first */
	struct plane planes[WEFT_PORTS_MAX];
};

/* ---- opening ---- */

static uint32_t count_queues(const struct eth *eth, uint32_t index)
{
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };
	struct ifreq request = { .ifr_data = (char *)&channels };

	memcpy(request.ifr_name, eth->ifname[index], IF_NAMESIZE);
	if (ioctl(eth->hold_fd, SIOCETHTOOL, &request))
		return 1;
	return WEFT_MAX(channels.combined_count + channels.rx_count, 1u);
}

static int load_program(struct afxdp *af, uint32_t index)
{
	struct plane *plane = &af->planes[index];
	struct afxdp_rule *rule;
	size_t bytes = 0;

	plane->program = bpf_object__open_mem(afxdp_bpf_o, afxdp_bpf_o_bytes, NULL);
	if (!plane->program)
		return -1;
	rule = (struct afxdp_rule *)bpf_map__initial_value(
		bpf_object__find_map_by_name(plane->program, ".rodata"), &bytes);
	WEFT_ASSERT(rule && bytes == sizeof(*rule));
	memcpy(rule->addr, af->eth.config.addr[index], 16);
	if (af->eth.config.kind != WEFT_ENCAP_STEV)
		memcpy(rule->usid, af->eth.config.usid[index], sizeof(rule->usid));
	rule->udp_port = htons(af->eth.udp_port);
	return bpf_object__load(plane->program);
}

static int attach(struct afxdp *af, uint32_t index)
{
	static const uint32_t modes[] = { XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE };
	struct plane *plane = &af->planes[index];
	struct bpf_map *sockets = bpf_object__find_map_by_name(plane->program, "sockets");
	int program = bpf_program__fd(bpf_object__next_program(plane->program, NULL));

	for (uint32_t i = 0; i < plane->queues; i++)
		if (bpf_map__update_elem(
			    sockets, &i, sizeof(i), &plane->xsk[i].fd, sizeof(plane->xsk[i].fd), 0))
			return -1;
	for (size_t i = 0; i < WEFT_COUNT(modes) && plane->link_fd < 0; i++) {
		LIBBPF_OPTS(bpf_link_create_opts, options, .flags = modes[i]);

		plane->link_fd =
			bpf_link_create(program, (int)af->eth.ifindex[index], BPF_XDP, &options);
	}
	return plane->link_fd < 0 ? -1 : 0;
}

static int fail(
	const struct afxdp *af, uint32_t index, const char *what, char *error, size_t error_bytes)
{
	const char *why = errno == EPERM || errno == EACCES ? " (needs CAP_BPF and CAP_NET_ADMIN)"
			  : errno == EBUSY ? " (the interface has an XDP program already)"
					   : "";

	snprintf(error, error_bytes, "plane %u: %s: cannot %s: %s%s", index, af->eth.ifname[index],
		what, strerror(errno), why);
	return -1;
}

static int open_queues(struct afxdp *af, uint32_t index, char *error, size_t error_bytes)
{
	struct plane *plane = &af->planes[index];
	uint32_t slots = WEFT_MAX(RX_SLOTS / af->eth.port.planes, RX_SLOTS_MIN);
	uint32_t queues = count_queues(&af->eth, index);
	char why[160], shaper[16];

	if (carrier_shaper(af->eth.ifindex[index], shaper)) {
		snprintf(error, error_bytes,
			"plane %u: %s is shaped (%s), and AF_XDP would go around that: "
			"use afpacket",
			index, af->eth.ifname[index], shaper);
		return -1;
	}
	if (queues > QUEUES_MAX) {
		snprintf(error, error_bytes,
			"plane %u: %s has %u queues, at most %u: ethtool -L %s combined %u", index,
			af->eth.ifname[index], queues, QUEUES_MAX, af->eth.ifname[index],
			QUEUES_MAX);
		return -1;
	}
	for (; plane->queues < queues; plane->queues++) {
		struct xsk *xsk = &plane->xsk[plane->queues];

		if (!xsk_open(xsk, af->eth.ifindex[index], plane->queues, af->eth.frame_bytes,
			    slots, plane->queues ? 1 : TX_SLOTS, why, sizeof(why)) &&
			!eth_watch(&af->eth, xsk->fd, EPOLLIN, plane))
			continue;
		xsk_close(xsk);
		snprintf(error, error_bytes, "plane %u: %s: %s", index, af->eth.ifname[index], why);
		return -1;
	}
	return 0;
}

static int open_plane(struct eth *eth, uint32_t index, char *error, size_t error_bytes)
{
	struct afxdp *af = (struct afxdp *)eth;

	if (load_program(af, index))
		return fail(af, index, "load a BPF program", error, error_bytes);
	if (open_queues(af, index, error, error_bytes))
		return -1;
	if (attach(af, index))
		return fail(af, index, "attach a BPF program", error, error_bytes);
	return 0;
}

static void close_plane(struct eth *eth, uint32_t index)
{
	struct plane *plane = &((struct afxdp *)eth)->planes[index];

	if (plane->link_fd >= 0)
		close(plane->link_fd);
	for (uint32_t q = 0; q < plane->queues; q++)
		xsk_close(&plane->xsk[q]);
	bpf_object__close(plane->program);
	*plane = (struct plane){ .link_fd = -1 };
}

static void close_port(struct weft_port *port)
{
	struct afxdp *af = (struct afxdp *)port;

	eth_close(&af->eth);
	free(af);
}

/* ---- receiving ---- */

/* The next frame was written by another core: it is under way while this one is worked on. */
static void fetch(const uint8_t *at, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i += 64)
		__builtin_prefetch(at + i, 0, 2);
}

static size_t read_queue(
	struct afxdp *af, uint32_t index, struct xsk *xsk, struct weft_pkt pkts[], size_t max)
{
	uint32_t bytes, next_bytes = 0;
	const uint8_t *frame = max ? xsk_next(xsk, &bytes) : NULL;
	size_t n = 0;

	while (frame) {
		bool is_last = n + 1 == max || xsk_is_spent(xsk);
		const uint8_t *next = is_last ? NULL : xsk_next(xsk, &next_bytes);

		if (next)
			fetch(next, next_bytes);
		n += eth_get(&af->eth, index, frame, bytes, &pkts[n]);
		frame = next;
		bytes = next_bytes;
	}
	return n;
}

static void flush(struct afxdp *af, uint32_t index);

static size_t rx(struct weft_port *port, struct weft_pkt pkts[], size_t max)
{
	struct afxdp *af = (struct afxdp *)port;
	size_t n = 0;

	for (uint32_t i = 0; af->eth.full && i < port->planes; i++)
		if (af->eth.full >> i & 1)
			flush(af, i);
	for (uint32_t i = 0; i < port->planes; i++) {
		uint32_t index = (af->turn + i) % port->planes;
		struct plane *plane = &af->planes[index];

		for (uint32_t q = 0; q < plane->queues; q++) {
			xsk_give_back(&plane->xsk[q]);
			n += read_queue(af, index, &plane->xsk[q], pkts + n, max - n);
		}
	}
	af->turn = (af->turn + 1) % port->planes;
	port->stats.rx_calls++;
	return n;
}

/* ---- sending ---- */

static void flush(struct afxdp *af, uint32_t index)
{
	struct xsk *xsk = &af->planes[index].xsk[0];
	uint32_t refused;
	bool is_sent = xsk_flush(xsk, &refused);
	bool is_full = xsk_reap(xsk) < WEFT_NET_BURST || !is_sent;

	af->eth.port.stats.tx_calls++;
	af->eth.port.stats.tx_pkts -= refused;
	af->eth.port.stats.tx_refused += refused;
	if (is_full && !(af->eth.full >> index & 1))
		af->eth.port.stats.tx_waits++;
	af->eth.full = is_full ? af->eth.full | 1u << index : af->eth.full & ~(1u << index);
}

static void tx(
	struct weft_port *port, const struct weft_pkt pkts[], size_t n, struct weft_wake wake)
{
	struct afxdp *af = (struct afxdp *)port;
	uint32_t touched = 0;

	(void)wake; /* the kernel looks at once */
	WEFT_ASSERT(n <= WEFT_NET_BURST);
	for (size_t i = 0; i < n; i++) {
		struct plane *plane = &af->planes[pkts[i].port];
		struct xsk *xsk = &plane->xsk[0];

		WEFT_ASSERT(pkts[i].port < port->planes);
		uint8_t *frame = plane->queues ? xsk_take(xsk) : NULL; /* none: it is missing */

		if (!frame) {
			port->stats.tx_refused++;
			continue;
		}
		if (i + 1 < n)
			fetch(pkts[i + 1].w.data, weft_wire_payload_bytes(&pkts[i + 1]));
		size_t bytes = eth_put(&af->eth, &pkts[i], frame);

		if (!bytes) {
			xsk_untake(xsk, frame);
			continue;
		}
		xsk_send(xsk, frame, (uint32_t)bytes);
		port->stats.tx_pkts++;
		touched |= 1u << pkts[i].port;
	}
	for (uint32_t i = 0; touched; i++, touched >>= 1)
		if (touched & 1)
			flush(af, i);
}

static void wait_for(struct weft_port *port, uint64_t max_ns)
{
	struct afxdp *af = (struct afxdp *)port;
	void *data[8];

	(void)eth_wait(&af->eth, af->eth.full ? WEFT_MIN(max_ns, (uint64_t)FULL_NS) : max_ns, data,
		WEFT_COUNT(data));
}

static int go_to_sleep(struct weft_port *port, bool will)
{
	struct afxdp *af = (struct afxdp *)port;

	if (!will) {
		wait_for(port, 0);
		return WEFT_PORT_BUSY;
	}
	if (af->eth.full)
		return WEFT_PORT_BLIND;
	return af->eth.epoll_fd;
}

static const struct weft_port_ops ops = {
	.name = "afxdp",
	.rx = rx,
	.tx = tx,
	.room = eth_room,
	.carrier = eth_carrier,
	.wait = wait_for,
	.sleep = go_to_sleep,
	.close = close_port,
};

static const struct eth_lanes lanes = { open_plane, close_plane };

int weft_afxdp_open(struct weft_port **port, const struct weft_eth_config *config, char *error,
	size_t error_bytes)
{
	struct afxdp *af = calloc(1, sizeof(*af));

	if (!af) {
		snprintf(error, error_bytes, "no memory");
		return -1;
	}
	for (uint32_t i = 0; i < WEFT_PORTS_MAX; i++)
		af->planes[i].link_fd = -1;
	(void)libbpf_set_print(NULL); /* it would talk to stderr */
	if (eth_open(&af->eth, &ops, &lanes, config, error, error_bytes)) {
		close_port(&af->eth.port);
		return -1;
	}
	*port = &af->eth.port;
	return 0;
}
