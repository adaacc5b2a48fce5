/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iface - hosts behind interfaces: ordinary programs, kernels, real NICs.
 *
 * One packet socket per interface to receive, so that a host that floods fills its own buffer; one
 * for all to send with, so that a burst to many hosts is one system call.  Packets are received
 * into slots and sent out of them, with the Ethernet header in the slot's headroom.  The kernel
 * stamps what it receives, so that a packet enters the fabric when it came, not when we looked.
 *
 * Sockets and not mapped rings: the kernel copies either way, a ring of its own would have to be
 * copied into a slot once more, and it was measured to gain 0.1 us of 1.6 (TPACKET), which buys no
 * program anything that has the shared-memory edge to go to.
 *
 * The host's address on the cable is learnt from what it sends.  Until then it is ours with the
 * last bit turned over, which is how the lab numbers the two ends of a cable.
 *
 * A link that is down must look so to the host's kernel: our end is switched off, and the other
 * loses its carrier.  The other way round, we are told when it does.
 */
#include "switchd_local.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define RECEIVE_BUFFER_BYTES (4 << 20) /* a slow turn at 10 Gb/s; what a host may send ahead */
#define SEND_BUFFER_BYTES (8 << 20)
#define BURSTS_MAX 8u /* of one interface per turn */

struct iface_batch {
	struct mmsghdr message[BURST];
	struct iovec part[BURST];
	struct sockaddr_ll to[BURST];
	union {
		char buf[CMSG_SPACE(sizeof(struct timespec))];
		struct cmsghdr align;
	} control[BURST];
	uint32_t slot[BURST]; /* to receive into next: the edge's own */
	uint32_t n_slots;
};

static bool set_option(int fd, int level, int name, int value)
{
	return !setsockopt(fd, level, name, &value, sizeof(value));
}

/* ---- opening ---- */

static bool read_flags(struct weft_switchd *sw, const struct iface *f, short *flags)
{
	struct ifreq request = { 0 };

	(void)snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", f->name);
	if (ioctl(sw->ifaces.ioctl_fd, SIOCGIFFLAGS, &request))
		return false;
	*flags = request.ifr_flags;
	return true;
}

static bool read_address(struct weft_switchd *sw, struct iface *f)
{
	struct ifreq request = { 0 };

	(void)snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", f->name);
	if (ioctl(sw->ifaces.ioctl_fd, SIOCGIFHWADDR, &request))
		return fail(sw, "%s: %s", f->name, strerror(errno));
	memcpy(f->ether, request.ifr_hwaddr.sa_data, 6);
	memcpy(f->ether + 6, request.ifr_hwaddr.sa_data, 6);
	f->ether[5] ^= 1;
	f->ether[12] = ETH_P_IPV6 >> 8;
	f->ether[13] = ETH_P_IPV6 & 0xff;
	return true;
}

static bool open_iface(struct weft_switchd *sw, struct iface *f, uint32_t index)
{
	struct sockaddr_ll address = { .sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_IPV6),
		.sll_ifindex = f->ifindex };
	short flags = 0;

	if (!read_address(sw, f))
		return false;
	f->fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (f->fd < 0)
		return fail(sw, "%s: no packet socket: %s (it takes CAP_NET_RAW)", f->name,
			strerror(errno));
	/* Forcing the size takes CAP_NET_ADMIN; without, the kernel's limit is what there is. */
	if (!set_option(f->fd, SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES))
		(void)set_option(f->fd, SOL_SOCKET, SO_RCVBUF, RECEIVE_BUFFER_BYTES);
	if (!set_option(f->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1) ||
		!set_option(f->fd, SOL_SOCKET, SO_TIMESTAMPNS, 1) ||
		bind(f->fd, (struct sockaddr *)&address, sizeof(address)))
		return fail(sw, "%s: %s", f->name, strerror(errno));
	f->is_up = read_flags(sw, f, &flags) && flags & IFF_UP;
	f->is_ready = true;
	sw->ifaces.found++;
	return watch_add(sw, f->fd, WATCH_IFACE, index);
}

static bool open_shared(struct weft_switchd *sw)
{
	struct ifaces *all = &sw->ifaces;
	struct sockaddr_nl group = { .nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK };

	all->ioctl_fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	all->tx_fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0); /* 0: receives nothing */
	all->netlink_fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (all->ioctl_fd < 0 || all->tx_fd < 0 || all->netlink_fd < 0 ||
		bind(all->netlink_fd, (struct sockaddr *)&group, sizeof(group)))
		return fail(sw, "interfaces: %s (it takes CAP_NET_RAW)", strerror(errno));
	(void)set_option(all->tx_fd, SOL_PACKET, PACKET_QDISC_BYPASS, 1);
	if (!set_option(all->tx_fd, SOL_SOCKET, SO_SNDBUFFORCE, SEND_BUFFER_BYTES))
		(void)set_option(all->tx_fd, SOL_SOCKET, SO_SNDBUF, SEND_BUFFER_BYTES);
	return watch_add(sw, all->netlink_fd, WATCH_NETLINK, 0);
}

/* Two numbers and nothing else may be asked for by a name that we print into. */
static bool is_good_format(const char *format)
{
	unsigned numbers = 0;

	for (const char *at = strchr(format, '%'); at; at = strchr(at + 1, '%')) {
		if (at[1] != 'u')
			return false;
		numbers++;
	}
	return numbers == 2;
}

static void put_name(char name[16], const char *format, uint32_t host, uint32_t plane)
{
	uint32_t numbers[2] = { host, plane }, n = 0;
	size_t used = 0;

	for (const char *at = format; *at && used < 15; at++) {
		if (*at != '%') {
			name[used++] = *at;
			continue;
		}
		used += (size_t)snprintf(name + used, 16 - used, "%u", numbers[n++]);
		used = WEFT_MIN(used, (size_t)15);
		at++;
	}
	name[used] = 0;
}

bool ifaces_open(struct weft_switchd *sw, const char *format)
{
	struct ifaces *all = &sw->ifaces;
	uint32_t planes = sw->shape->planes;

	all->tx_fd = all->netlink_fd = all->ioctl_fd = -1;
	if (!format)
		return true;
	if (!is_good_format(format))
		return fail(sw, "'%s': a name of interfaces needs two %%u, host and plane", format);
	all->n = sw->shape->hosts * planes;
	all->all = calloc(all->n, sizeof(*all->all));
	all->batch = calloc(1, sizeof(*all->batch));
	if (!all->all || !all->batch) {
		all->n = 0;
		return fail(sw, "out of memory");
	}
	for (uint32_t i = 0; i < all->n; i++)
		all->all[i].fd = -1;
	if (!open_shared(sw))
		return false;
	for (uint32_t i = 0; i < all->n; i++) {
		struct iface *f = &all->all[i];

		*f = (struct iface){ .fd = -1, .host = i / planes, .plane = i % planes, .link = i };
		put_name(f->name, format, f->host, f->plane);
		f->ifindex = (int)if_nametoindex(f->name);
		if (f->ifindex && !open_iface(sw, f, i))
			return false;
	}
	if (!all->found)
		return fail(sw, "no interface here is named like %s", all->all[0].name);
	ifaces_notice(sw);
	return true;
}

void ifaces_close(struct weft_switchd *sw)
{
	struct ifaces *all = &sw->ifaces;
	int fds[] = { all->tx_fd, all->netlink_fd, all->ioctl_fd };

	for (uint32_t i = 0; i < all->n; i++) {
		if (all->all[i].fd >= 0)
			(void)close(all->all[i].fd);
	}
	for (size_t i = 0; i < WEFT_COUNT(fds); i++) {
		if (fds[i] >= 0)
			(void)close(fds[i]);
	}
	free(all->all);
	free(all->batch);
	*all = (struct ifaces){ .tx_fd = -1, .netlink_fd = -1, .ioctl_fd = -1 };
}

/* ---- from hosts ---- */

/* Slots ready to receive into; how many. */
static uint32_t prepare(struct weft_switchd *sw)
{
	struct iface_batch *b = sw->ifaces.batch;

	while (b->n_slots < BURST) {
		uint32_t slot = slots_take(&sw->slots);

		if (slot == SLOT_NONE)
			break;
		b->slot[b->n_slots++] = slot;
	}
	for (uint32_t i = 0; i < b->n_slots; i++) {
		b->part[i] = (struct iovec){ weft_shm_packet(&sw->pool, b->slot[i]) -
						     WEFT_FRAME_ETHER_BYTES,
			sw->shape->mtu_bytes + WEFT_FRAME_ETHER_BYTES };
		b->message[i].msg_hdr = (struct msghdr){ .msg_iov = &b->part[i],
			.msg_iovlen = 1,
			.msg_control = &b->control[i],
			.msg_controllen = sizeof(b->control[i]) };
	}
	return b->n_slots;
}

/* When the kernel got it, on the monotonic clock; 0: it does not say. */
static uint64_t stamp_ns(struct msghdr *message, uint64_t unix_less_now_ns)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		struct timespec t;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS)
			continue;
		memcpy(&t, CMSG_DATA(c), sizeof(t));
		return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec - unix_less_now_ns;
	}
	return 0;
}

static void enter(
	struct weft_switchd *sw, struct iface *f, uint32_t i, uint64_t offset_ns, uint64_t now_ps)
{
	struct iface_batch *b = sw->ifaces.batch;
	struct weft_frame frame = { .handle = b->slot[i] };
	size_t bytes = b->message[i].msg_len;
	uint64_t at_ps = to_ps(sw, stamp_ns(&b->message[i].msg_hdr, offset_ns));
	bool is_giant = b->message[i].msg_hdr.msg_flags & MSG_TRUNC;

	f->received++;
	if (!is_giant && bytes >= WEFT_FRAME_ETHER_BYTES) {
		const uint8_t *ether = b->part[i].iov_base;

		/* Whoever sends here hears us there, unless he sends as nobody or everybody. */
		if (!(ether[6] & 1))
			memcpy(f->ether, ether + 6, 6);
		at_ps = WEFT_MIN(WEFT_MAX(at_ps, sw->ifaces.looked_ps), now_ps);
		sw->newest_ps = WEFT_MAX(sw->newest_ps, at_ps);
		sw->slots.is_from_wire[b->slot[i]] = true;
		if (weft_network_send(sw->network, f->host, f->plane, &frame,
			    (uint32_t)bytes - WEFT_FRAME_ETHER_BYTES, at_ps))
			return;
		is_giant = false;
	}
	sw->drops[is_giant ? EDGE_GIANT : EDGE_NO_SLOT]++;
	slots_give(&sw->slots, b->slot[i]);
}

/* A burst of what one host has sent. */
static size_t take_burst(
	struct weft_switchd *sw, struct iface *f, uint64_t offset_ns, uint64_t now_ps)
{
	struct iface_batch *b = sw->ifaces.batch;
	uint32_t n = prepare(sw);
	int got = n ? recvmmsg(f->fd, b->message, n, MSG_DONTWAIT, NULL) : 0;

	if (got <= 0)
		return 0;
	for (uint32_t i = 0; i < (uint32_t)got; i++)
		enter(sw, f, i, offset_ns, now_ps);
	b->n_slots -= (uint32_t)got;
	memmove(b->slot, b->slot + got, b->n_slots * sizeof(b->slot[0]));
	return (size_t)got;
}

size_t ifaces_take(struct weft_switchd *sw, uint64_t now_ps)
{
	uint64_t offset_ns = sw->ifaces.found ? real_unix_ns() - real_now_ns() : 0;
	size_t n = 0;

	for (uint32_t i = 0; i < sw->ifaces.n; i++) {
		struct iface *f = &sw->ifaces.all[i];
		size_t burst = BURST;

		for (unsigned k = 0; f->is_ready && k < BURSTS_MAX; k++) {
			if (weft_network_line_free_ps(sw->network, f->host, f->plane) > now_ps)
				break; /* stays ready */
			burst = take_burst(sw, f, offset_ns, now_ps);
			n += burst;
			f->is_ready = burst > 0;
		}
	}
	sw->ifaces.looked_ps = now_ps;
	return n;
}

/* ---- to hosts ---- */

bool ifaces_deliver(struct weft_switchd *sw, const struct weft_network_out *out)
{
	struct ifaces *all = &sw->ifaces;
	uint32_t index = out->node * sw->shape->planes + out->plane;

	if (index >= all->n || all->all[index].fd < 0)
		return false;
	all->out[all->n_out++] = *out;
	if (all->n_out == BURST)
		ifaces_flush(sw);
	return true;
}

void ifaces_flush(struct weft_switchd *sw)
{
	struct ifaces *all = &sw->ifaces;
	struct iface_batch *b = all->batch;
	uint32_t sent = 0;

	for (uint32_t i = 0; i < all->n_out; i++) {
		const struct weft_network_out *out = &all->out[i];
		const struct iface *f = &all->all[out->node * sw->shape->planes + out->plane];
		uint8_t *ether = weft_shm_packet(&sw->pool, (uint32_t)out->frame.handle) -
				 WEFT_FRAME_ETHER_BYTES;

		memcpy(ether, f->ether, sizeof(f->ether));
		b->to[i] = (struct sockaddr_ll){ .sll_family = AF_PACKET,
			.sll_protocol = htons(ETH_P_IPV6),
			.sll_ifindex = f->ifindex };
		b->part[i] = (struct iovec){ ether, out->frame.bytes };
		b->message[i].msg_hdr = (struct msghdr){ .msg_name = &b->to[i],
			.msg_namelen = sizeof(b->to[i]),
			.msg_iov = &b->part[i],
			.msg_iovlen = 1 };
	}
	while (sent < all->n_out) {
		int n = sendmmsg(all->tx_fd, b->message + sent, all->n_out - sent, MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		for (int k = 0; k < n; k++)
			all->all[all->out[sent + (uint32_t)k].node * sw->shape->planes +
				   all->out[sent + (uint32_t)k].plane]
				.sent++;
		if (n <= 0) { /* this one will not go */
			sw->drops[EDGE_REFUSED]++;
			n = 1;
		}
		sent += (uint32_t)n;
	}
	for (uint32_t i = 0; i < all->n_out; i++)
		slots_give(&sw->slots, (uint32_t)all->out[i].frame.handle);
	all->n_out = 0;
}

/* ---- carrier ---- */

/* Asking makes the kernel act on the change now, not when its worker gets to it. */
static void settle(struct weft_switchd *sw, const struct iface *f)
{
	struct ethtool_value value = { .cmd = ETHTOOL_GLINK };
	struct ifreq request = { .ifr_data = (char *)&value };

	(void)snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", f->name);
	(void)ioctl(sw->ifaces.ioctl_fd, SIOCETHTOOL, &request);
}

static void set_up(struct weft_switchd *sw, struct iface *f, bool is_up)
{
	struct ifreq request = { 0 };
	short flags;

	if (!read_flags(sw, f, &flags))
		return;
	(void)snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", f->name);
	request.ifr_flags = (short)(is_up ? flags | IFF_UP : flags & ~IFF_UP);
	if (ioctl(sw->ifaces.ioctl_fd, SIOCSIFFLAGS, &request))
		return;
	f->is_up = is_up;
	f->is_ready = true;
	settle(sw, f);
}

/* Our end is down where a request or its switch's power says so, not where the host's is. */
void ifaces_carrier(struct weft_switchd *sw)
{
	for (uint32_t i = 0; i < sw->ifaces.n; i++) {
		struct iface *f = &sw->ifaces.all[i];
		uint32_t t0 = weft_topo_host_t0(sw->topo, f->host, f->plane);
		bool is_up = !(sw->told[f->link].down & LINK_TOLD_DOWN) && !sw->is_off[t0];

		if (f->fd >= 0 && f->is_up != is_up)
			set_up(sw, f, is_up);
	}
}

void ifaces_notice(struct weft_switchd *sw)
{
	char text[8192];
	bool changed = false;

	/* What it says is not read, because some of it may have been lost: the state is. */
	do
		errno = 0;
	while (recv(sw->ifaces.netlink_fd, text, sizeof(text), MSG_DONTWAIT) > 0 ||
		errno == ENOBUFS);
	for (uint32_t i = 0; i < sw->ifaces.n; i++) {
		struct iface *f = &sw->ifaces.all[i];
		struct told *told = &sw->told[f->link];
		short flags;

		if (f->fd < 0 || !f->is_up || !read_flags(sw, f, &flags) || !(flags & IFF_UP))
			continue;
		uint8_t far = flags & IFF_RUNNING ? 0 : LINK_FAR_DOWN;

		if ((told->down & LINK_FAR_DOWN) == far)
			continue;
		told->down = (uint8_t)((told->down & LINK_TOLD_DOWN) | far);
		weft_network_link_mark(sw->network, f->link, !told->down, sw->ran_ps);
		changed = true;
	}
	if (changed)
		nic_carrier(sw);
}
