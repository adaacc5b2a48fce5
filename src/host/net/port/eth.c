/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eth - the part of a port that knows Ethernet: one interface per plane, whole frames.
 *
 * The interface of a plane is the one that has its address, or sends with it (addresses on lo).
 * A plane without one, or whose interface is too narrow for full packets, is missing, and joins
 * when it is good; one whose interface has gone, or is another by now, is missing in between.
 *
 * The UDP port is held by an ordinary socket that throws everything away: no other program can
 * get the same number, and the kernel does not answer "port unreachable" for us.
 */
#include "port/eth.h"

#include <errno.h>
#include <net/if_arp.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define CARRIER_EVERY 4 /* turns between looks at the link socket while there is no time to wait */
#define ETHERTYPE_HIGH 0x86 /* IPv6 */
#define ETHERTYPE_LOW 0xdd

/* ---- opening ---- */

static const char *refuse(const struct weft_eth_config *c)
{
	if (!c->planes || c->planes > WEFT_PORTS_MAX)
		return "planes must be 1 to 32";
	if (!c->mtu_bytes || c->mtu_bytes > WEFT_MTU_MAX)
		return "mtu_bytes must be 1 to 8192";
	if (c->kind != WEFT_ENCAP_USID && c->kind != WEFT_ENCAP_SRV6 && c->kind != WEFT_ENCAP_STEV)
		return "kind must be usid, srv6 or stev";
	for (uint32_t i = 0; i < c->planes; i++)
		if (weft_inet_is_mapped(c->addr[i]))
			return "addresses must be IPv6";
	return NULL;
}

static int hold_port(struct eth *eth)
{
	struct sockaddr_in6 name = { .sin6_family = AF_INET6 };
	struct sock_filter none = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog filter = { .len = 1, .filter = &none };
	socklen_t bytes = sizeof(name);

	name.sin6_port = htons(eth->config.udp_port);
	eth->hold_fd = socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (eth->hold_fd < 0 ||
		setsockopt(eth->hold_fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) ||
		bind(eth->hold_fd, (struct sockaddr *)&name, sizeof(name)) ||
		getsockname(eth->hold_fd, (struct sockaddr *)&name, &bytes))
		return -1;
	eth->udp_port = ntohs(name.sin6_port);
	return 0;
}

static int open_raw(struct eth *eth)
{
	struct raw_config config = { .kind = (enum weft_encap_kind)eth->config.kind,
		.planes = eth->config.planes,
		.mtu_bytes = eth->config.mtu_bytes,
		.udp_port = eth->udp_port,
		.src_port = eth->udp_port };

	memcpy(config.addr, eth->config.addr, sizeof(config.addr));
	eth->raw = raw_open(&config);
	if (!eth->raw)
		return -1;
	eth->encap_bytes = config.kind == WEFT_ENCAP_SRV6 ? 40 + 40 + 8 : 40 + 8;
	eth->frame_bytes = ETH_HEADER_BYTES + raw_bytes_max(eth->raw);
	return 0;
}

static uint32_t mtu_needed(const struct eth *eth)
{
	return eth->frame_bytes - ETH_HEADER_BYTES;
}

/* Whether the plane's interface is there and wide enough; if not, why. */
static bool is_there(const struct eth *eth, uint32_t plane, char *error, size_t error_bytes)
{
	char addr[WEFT_PLANE_TEXT_BYTES], name[IF_NAMESIZE];

	weft_plane_text(eth->config.addr[plane], addr);
	if (weft_inet_is_none(eth->config.addr[plane])) {
		snprintf(error, error_bytes,
			"plane %u, interface %s: it is not there, or has no address of IPv6", plane,
			eth->config.interface[plane]);
		return false;
	}
	if (!eth->ifindex[plane] || !if_indextoname(eth->ifindex[plane], name)) {
		snprintf(error, error_bytes,
			"plane %u, address %s: no interface of this host has it", plane, addr);
		return false;
	}
	uint32_t mtu = carrier_mtu(eth->ifindex[plane]);

	if (mtu >= mtu_needed(eth))
		return true;
	snprintf(error, error_bytes,
		"plane %u, address %s: %s has an MTU of %u bytes, packets of %u payload need %u",
		plane, addr, name, mtu, eth->config.mtu_bytes, mtu_needed(eth));
	return false;
}

static int open_lane(struct eth *eth, uint32_t plane, char *error, size_t error_bytes)
{
	struct ifreq request = { 0 };

	if (!if_indextoname(eth->ifindex[plane], eth->ifname[plane]))
		eth->ifname[plane][0] = 0;
	memcpy(request.ifr_name, eth->ifname[plane], IF_NAMESIZE);
	if (ioctl(eth->hold_fd, SIOCGIFHWADDR, &request) ||
		request.ifr_hwaddr.sa_family != ARPHRD_ETHER) {
		snprintf(error, error_bytes, "plane %u: %s is not an Ethernet interface", plane,
			eth->ifname[plane]);
		return -1;
	}
	memcpy(eth->mac[plane], request.ifr_hwaddr.sa_data, 6);
	frames_describe(&eth->frames[plane], (enum weft_encap_kind)eth->config.kind,
		eth->config.addr[plane], eth->config.usid[plane], eth->udp_port);
	hops_follow(eth->hops, plane, eth->ifindex[plane]);
	if (eth->lanes->open(eth, plane, error, error_bytes)) {
		eth->lanes->close(eth, plane);
		return -1;
	}
	eth->open |= 1u << plane;
	return 0;
}

static void close_lane(struct eth *eth, uint32_t plane)
{
	eth->open &= ~(1u << plane);
	eth->full &= ~(1u << plane);
	eth->lanes->close(eth, plane);
}

/* That it has an address by now; one of IPv4 is as good as none. */
static void find_plane(struct eth *eth, uint32_t plane)
{
	uint8_t *addr = eth->config.addr[plane];

	if (!plane_find(eth->config.interface[plane], addr))
		return;
	if (weft_inet_is_mapped(addr))
		memset(addr, 0, 16);
	raw_move(eth->raw, plane, addr);
}

/* Looks where the planes are by now. */
static void look(struct eth *eth)
{
	uint32_t gone = carrier_gone(eth->carrier);
	char why[256];

	for (uint32_t i = 0; i < eth->port.planes; i++) {
		unsigned before = eth->ifindex[i];

		find_plane(eth, i);
		eth->ifindex[i] = carrier_find(eth->config.addr[i]);
		carrier_follow(eth->carrier, i, eth->ifindex[i]);
		bool there = is_there(eth, i, why, sizeof(why));

		if (eth->open >> i & 1 && (!there || eth->ifindex[i] != before || gone >> i & 1))
			close_lane(eth, i);
		if (there && !(eth->open >> i & 1))
			(void)open_lane(eth, i, why, sizeof(why)); /* it stays missing */
	}
}

/* What is missing may come; what is there and cannot be used is an error now. */
static int open_lanes(struct eth *eth, char *error, size_t error_bytes)
{
	char why[256];

	for (uint32_t i = 0; i < eth->port.planes; i++) {
		if (!is_there(eth, i, why, sizeof(why))) {
			if (!*error)
				snprintf(error, error_bytes, "%s", why);
		} else if (open_lane(eth, i, error, error_bytes)) {
			return -1;
		}
	}
	if (eth->open)
		return 0;
	int blind = carrier_blindness();

	if (blind)
		snprintf(error, error_bytes, "cannot look for interfaces: %s", strerror(blind));
	errno = blind ? blind : EADDRNOTAVAIL;
	return -1;
}

static int open_eyes(struct eth *eth, char *error, size_t error_bytes)
{
	eth->hops = hops_open(eth->ifindex, eth->port.planes);
	if (!eth->hops) {
		snprintf(error, error_bytes, "cannot watch neighbours: %s", strerror(errno));
		return -1;
	}
	eth->carrier = carrier_open(eth->ifindex, eth->port.planes, error, error_bytes);
	if (!eth->carrier)
		return -1;
	eth->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (eth->epoll_fd < 0 || eth_watch(eth, carrier_fd(eth->carrier), EPOLLIN, eth->carrier) ||
		eth_watch(eth, hops_fd(eth->hops), EPOLLIN, eth->hops)) {
		snprintf(error, error_bytes, "epoll: %s", strerror(errno));
		return -1;
	}
	return 0;
}

int eth_open(struct eth *eth, const struct weft_port_ops *ops, const struct eth_lanes *lanes,
	const struct weft_eth_config *config, char *error, size_t error_bytes)
{
	const char *wrong = refuse(config);

	*error = 0;
	eth->lanes = lanes;
	eth->hold_fd = eth->epoll_fd = -1;
	if (wrong) {
		snprintf(error, error_bytes, "%s", wrong);
		return -1;
	}
	eth->port = (struct weft_port){ .ops = ops, .planes = config->planes };
	eth->config = *config;
	if (hold_port(eth)) {
		snprintf(error, error_bytes, "cannot hold UDP port %u: %s", config->udp_port,
			strerror(errno));
		return -1;
	}
	if (open_raw(eth)) {
		snprintf(error, error_bytes, "no memory");
		return -1;
	}
	for (uint32_t i = 0; i < config->planes; i++)
		eth->ifindex[i] = carrier_find(config->addr[i]);
	/* A thread's timers may by default be 50 us late; ours decide about retransmissions. */
	(void)prctl(PR_SET_TIMERSLACK, 1);
	if (open_eyes(eth, error, error_bytes) || open_lanes(eth, error, error_bytes))
		return -1;
	eth->carrier_up = carrier_read(eth->carrier) & eth->open;
	return 0;
}

void eth_close(struct eth *eth)
{
	for (uint32_t i = 0; i < WEFT_PORTS_MAX; i++)
		eth->lanes->close(eth, i);
	carrier_close(eth->carrier);
	hops_close(eth->hops);
	raw_close(eth->raw);
	if (eth->epoll_fd >= 0)
		close(eth->epoll_fd);
	if (eth->hold_fd >= 0)
		close(eth->hold_fd);
}

/* ---- waiting ---- */

int eth_watch(struct eth *eth, int fd, uint32_t events, void *data)
{
	struct epoll_event event = { .events = events, .data.ptr = data };

	return epoll_ctl(eth->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

void eth_rewatch(struct eth *eth, int fd, uint32_t events, void *data)
{
	struct epoll_event event = { .events = events, .data.ptr = data };

	WEFT_ASSERT(!epoll_ctl(eth->epoll_fd, EPOLL_CTL_MOD, fd, &event));
}

size_t eth_wait(struct eth *eth, uint64_t max_ns, void *data[], size_t n)
{
	uint64_t seconds = WEFT_MIN(max_ns / 1000000000, UINT64_C(3600));
	struct timespec limit = { .tv_sec = (time_t)seconds,
		.tv_nsec = (long)(max_ns % 1000000000) };
	struct epoll_event events[8];
	size_t told = 0;

	int got = epoll_pwait2(
		eth->epoll_fd, events, (int)WEFT_MIN(n, WEFT_COUNT(events)), &limit, NULL);

	for (int i = 0; i < got; i++) {
		void *what = events[i].data.ptr;

		if (what == eth->carrier)
			eth->carrier_age = 0; /* look now */
		else if (what == eth->hops)
			hops_read(eth->hops);
		else
			data[told++] = what;
	}
	return told;
}

/* Addresses come and go. */
static void look_at_links(struct eth *eth)
{
	uint32_t up = carrier_read(eth->carrier);

	if (carrier_is_due(eth->carrier, eth->open == port_all_planes(&eth->port))) {
		look(eth);
		up = carrier_read(eth->carrier);
	}
	eth->carrier_up = up & eth->open;
}

uint32_t eth_carrier(struct weft_port *port)
{
	struct eth *eth = (struct eth *)port;

	if (eth->carrier_age++ % CARRIER_EVERY == 0)
		look_at_links(eth);
	return eth->carrier_up;
}

uint32_t eth_room(struct weft_port *port, size_t *max)
{
	const struct eth *eth = (const struct eth *)port;

	*max = WEFT_NET_BURST;
	return port_all_planes(port) & ~eth->full;
}

/* ---- frames ---- */

size_t eth_put(struct eth *eth, const struct weft_pkt *pkt, uint8_t *frame)
{
	const uint8_t *to = hops_mac(eth->hops, pkt->peer, pkt->port);
	size_t bytes = raw_put(eth->raw, pkt, frame + ETH_HEADER_BYTES);

	if (WEFT_UNLIKELY(!bytes)) {
		eth->port.stats.tx_no_path++;
		return 0;
	}
	if (WEFT_UNLIKELY(!to)) { /* nobody there has told his Ethernet address */
		eth->port.stats.tx_refused++;
		return 0;
	}
	memcpy(frame, to, 6);
	memcpy(frame + 6, eth->mac[pkt->port], 6);
	frame[12] = ETHERTYPE_HIGH;
	frame[13] = ETHERTYPE_LOW;
	eth->port.stats.tx_bytes += bytes - eth->encap_bytes;
	return ETH_HEADER_BYTES + bytes;
}

bool eth_get(
	struct eth *eth, uint32_t plane, const uint8_t *frame, size_t bytes, struct weft_pkt *pkt)
{
	enum weft_drop drop = WEFT_DROP_TRUNCATED;

	if (WEFT_LIKELY(bytes > ETH_HEADER_BYTES))
		drop = raw_get(
			eth->raw, plane, frame + ETH_HEADER_BYTES, bytes - ETH_HEADER_BYTES, pkt);
	if (WEFT_UNLIKELY(drop != WEFT_DROP_COUNT)) {
		eth->port.stats.drops[drop]++;
		return false;
	}
	eth->port.stats.rx_pkts++;
	eth->port.stats.rx_bytes += bytes - ETH_HEADER_BYTES - eth->encap_bytes;
	return true;
}

/* ---- peers ---- */

uint16_t weft_eth_number(const struct weft_port *port)
{
	return ((const struct eth *)port)->udp_port;
}

int weft_eth_peer_add(struct weft_port *port, uint32_t peer, const struct weft_udp_peer *attr)
{
	struct eth *eth = (struct eth *)port;
	uint32_t asked = 0;

	if (raw_peer_add(eth->raw, peer, attr))
		return -1;
	for (uint32_t i = 0; i < attr->n_paths; i++) {
		uint32_t plane = attr->paths[i].ev >> 16;

		if (plane >= port->planes || (asked | attr->absent) >> plane & 1)
			continue;
		asked |= 1u << plane;
		/* A plane without a route refuses packets; the others carry on. */
		(void)hops_add(eth->hops, peer, plane, attr->paths[i].dst);
	}
	return 0;
}

void weft_eth_peer_drop(struct weft_port *port, uint32_t peer)
{
	struct eth *eth = (struct eth *)port;

	raw_peer_drop(eth->raw, peer);
	hops_drop(eth->hops, peer);
}
