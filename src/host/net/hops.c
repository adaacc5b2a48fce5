/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hops - to which Ethernet address a packet goes next, for ports that write whole frames.
 *
 * The kernel's own tables are asked, so that what an administrator has configured holds: the route
 * of the first path of each (peer, plane) names a gateway or none, and the neighbour table names
 * its Ethernet address.  An entry that is not there yet is asked for with NTF_USE, which starts
 * the kernel's neighbour discovery (RFC 4861).  All paths of a pair on one plane share a first
 * hop: a plane is one NIC port, which hangs on one switch (or the peer itself).
 *
 * A dead plane must not keep two hosts from meeting, so a hop that nobody answers for, or to which
 * no route leads (its interface is not there yet), stays unknown, and is filled in when the kernel
 * knows more.  What the kernel forgets we keep: it sees none of our packets and thinks its entry
 * unused.
 */
#include "net_local.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#define READ_BYTES 8192u
#define HOPS_MAX 4096u
#define TRIES 20
#define TRY_NS 10000000u
#define ASK_EVERY 16u /* packets that had nowhere to go */

struct hop {
	uint8_t dst[16]; /* the first destination that led here */
	uint8_t gateway[16], mac[6];
	bool is_routed, is_known;
	uint32_t plane, misses;
};

struct hops {
	struct mnl_socket *listener, *asker;
	uint32_t planes, n, seq;
	unsigned ifindex[WEFT_PORTS_MAX];
	char buffer[READ_BYTES];
	struct hop hops[HOPS_MAX];
	uint16_t of[]; /* [peer][plane], 1 + index; 0: none */
};

static bool is_usable(const struct ndmsg *n)
{
	return n->ndm_family == AF_INET6 && !(n->ndm_state & (NUD_INCOMPLETE | NUD_FAILED));
}

struct answer {
	const uint8_t *gateway, *mac;
	bool is_unicast;
};

static int take_attribute(const struct nlattr *attr, void *data)
{
	const struct nlattr **table = data;

	if (mnl_attr_get_type(attr) <= RTA_MAX)
		table[mnl_attr_get_type(attr)] = attr;
	return MNL_CB_OK;
}

static const uint8_t *bytes_of(const struct nlattr *attr, size_t bytes)
{
	return attr && mnl_attr_get_payload_len(attr) == bytes ? mnl_attr_get_payload(attr) : NULL;
}

static void take_neighbour(struct hops *hops, const struct nlmsghdr *message)
{
	const struct ndmsg *n = mnl_nlmsg_get_payload(message);
	const struct nlattr *attrs[RTA_MAX + 1] = { NULL };

	if (message->nlmsg_type != RTM_NEWNEIGH || !is_usable(n))
		return;
	(void)mnl_attr_parse(message, sizeof(*n), take_attribute, attrs);
	const uint8_t *dst = bytes_of(attrs[NDA_DST], 16), *mac = bytes_of(attrs[NDA_LLADDR], 6);

	for (uint32_t i = 0; dst && mac && i < hops->n; i++) {
		struct hop *hop = &hops->hops[i];

		if ((int)hops->ifindex[hop->plane] != n->ndm_ifindex || !hop->is_routed ||
			memcmp(hop->gateway, dst, 16) != 0)
			continue;
		memcpy(hop->mac, mac, 6);
		hop->is_known = true;
	}
}

static int take_notice(const struct nlmsghdr *message, void *data)
{
	take_neighbour(data, message);
	return MNL_CB_OK;
}

static struct nlmsghdr *begin(struct hops *hops, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(hops->buffer);

	message->nlmsg_type = type;
	message->nlmsg_flags = NLM_F_REQUEST | flags;
	message->nlmsg_seq = ++hops->seq;
	return message;
}

/* One question, one answer; false: the kernel has none. */
static bool ask(struct hops *hops, struct nlmsghdr *message, mnl_cb_t take, void *data)
{
	if (mnl_socket_sendto(hops->asker, message, message->nlmsg_len) < 0)
		return false;
	ssize_t n = mnl_socket_recvfrom(hops->asker, hops->buffer, READ_BYTES);

	return n > 0 && mnl_cb_run(hops->buffer, (size_t)n, hops->seq,
				mnl_socket_get_portid(hops->asker), take, data) >= 0;
}

static int take_route(const struct nlmsghdr *message, void *data)
{
	const struct rtmsg *r = mnl_nlmsg_get_payload(message);
	const struct nlattr *attrs[RTA_MAX + 1] = { NULL };
	struct answer *answer = data;

	if (message->nlmsg_type != RTM_NEWROUTE)
		return MNL_CB_OK;
	(void)mnl_attr_parse(message, sizeof(*r), take_attribute, attrs);
	answer->is_unicast = r->rtm_type == RTN_UNICAST;
	answer->gateway = bytes_of(attrs[RTA_GATEWAY], 16);
	return MNL_CB_OK;
}

/* Whom packets to dst are handed to by this plane's interface. */
static bool find_gateway(
	struct hops *hops, uint32_t plane, const uint8_t dst[16], uint8_t gateway[16])
{
	struct answer answer = { .is_unicast = false };
	struct nlmsghdr *message = begin(hops, RTM_GETROUTE, 0);
	struct rtmsg *r = mnl_nlmsg_put_extra_header(message, sizeof(*r));

	r->rtm_family = AF_INET6;
	r->rtm_dst_len = 128;
	mnl_attr_put(message, RTA_DST, 16, dst);
	mnl_attr_put_u32(message, RTA_OIF, hops->ifindex[plane]);
	if (!ask(hops, message, take_route, &answer) || !answer.is_unicast)
		return false;
	memcpy(gateway, answer.gateway ? answer.gateway : dst, 16);
	return true;
}

static void look_up(struct hops *hops, const struct hop *hop)
{
	struct nlmsghdr *message = begin(hops, RTM_GETNEIGH, 0);
	struct ndmsg *n = mnl_nlmsg_put_extra_header(message, sizeof(*n));

	n->ndm_family = AF_INET6;
	n->ndm_ifindex = (int)hops->ifindex[hop->plane];
	mnl_attr_put(message, NDA_DST, 16, hop->gateway);
	(void)ask(hops, message, take_notice, hops);
}

static void discover(struct hops *hops, const struct hop *hop)
{
	struct nlmsghdr *message = begin(hops, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_ACK);
	struct ndmsg *n = mnl_nlmsg_put_extra_header(message, sizeof(*n));

	n->ndm_family = AF_INET6;
	n->ndm_ifindex = (int)hops->ifindex[hop->plane];
	n->ndm_flags = NTF_USE;
	mnl_attr_put(message, NDA_DST, 16, hop->gateway);
	(void)ask(hops, message, take_notice, hops);
}

/* ---- open, close ---- */

static struct mnl_socket *open_socket(int flags, unsigned groups)
{
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | flags);

	if (socket && mnl_socket_bind(socket, groups, MNL_SOCKET_AUTOPID)) {
		mnl_socket_close(socket);
		return NULL;
	}
	return socket;
}

struct hops *hops_open(const unsigned ifindex[], uint32_t planes)
{
	size_t cells = (size_t)WEFT_NET_PEERS_MAX * planes;
	struct hops *hops = calloc(1, sizeof(*hops) + cells * sizeof(hops->of[0]));

	WEFT_ASSERT(planes <= WEFT_PORTS_MAX);
	if (!hops)
		return NULL;
	hops->planes = planes;
	memcpy(hops->ifindex, ifindex, planes * sizeof(ifindex[0]));
	hops->listener = open_socket(SOCK_NONBLOCK, RTMGRP_NEIGH);
	hops->asker = open_socket(0, 0);
	if (!hops->listener || !hops->asker) {
		hops_close(hops);
		return NULL;
	}
	return hops;
}

void hops_close(struct hops *hops)
{
	if (!hops)
		return;
	if (hops->listener)
		mnl_socket_close(hops->listener);
	if (hops->asker)
		mnl_socket_close(hops->asker);
	free(hops);
}

/* ---- who hangs where ---- */

/* Where no route leads, the destination stands for its own gateway until one does. */
static struct hop *find_or_add(struct hops *hops, uint32_t plane, const uint8_t dst[16])
{
	uint8_t gateway[16];
	bool is_routed = find_gateway(hops, plane, dst, gateway);

	if (!is_routed)
		memcpy(gateway, dst, 16);
	for (uint32_t i = 0; i < hops->n; i++)
		if (hops->hops[i].plane == plane && hops->hops[i].is_routed == is_routed &&
			!memcmp(hops->hops[i].gateway, gateway, 16))
			return &hops->hops[i];
	if (hops->n == HOPS_MAX)
		return NULL;
	struct hop *hop = &hops->hops[hops->n++];

	*hop = (struct hop){ .plane = plane, .is_routed = is_routed };
	memcpy(hop->dst, dst, 16);
	memcpy(hop->gateway, gateway, 16);
	return hop;
}

/* Without waiting; the answer may come as a notice. */
static void seek(struct hops *hops, struct hop *hop)
{
	if (!hop->is_routed)
		hop->is_routed = find_gateway(hops, hop->plane, hop->dst, hop->gateway);
	if (!hop->is_routed)
		return;
	look_up(hops, hop);
	if (!hop->is_known)
		discover(hops, hop);
}

static void resolve(struct hops *hops, struct hop *hop)
{
	seek(hops, hop);
	for (unsigned i = 0; i < TRIES && !hop->is_known; i++) {
		weft_clock_sleep(TRY_NS);
		look_up(hops, hop);
	}
}

int hops_add(struct hops *hops, uint32_t peer, uint32_t plane, const uint8_t dst[16])
{
	WEFT_ASSERT(peer < WEFT_NET_PEERS_MAX && plane < hops->planes);
	uint16_t *of = &hops->of[peer * hops->planes + plane];
	struct hop *hop = find_or_add(hops, plane, dst);

	*of = hop ? (uint16_t)(1 + (hop - hops->hops)) : 0;
	if (!hop || !hop->is_routed)
		return -1;
	if (!hop->is_known)
		resolve(hops, hop);
	return 0;
}

void hops_follow(struct hops *hops, uint32_t plane, unsigned ifindex)
{
	WEFT_ASSERT(plane < hops->planes);
	hops->ifindex[plane] = ifindex;
	for (uint32_t i = 0; i < hops->n; i++) {
		struct hop *hop = &hops->hops[i];

		if (hop->plane != plane)
			continue;
		hop->is_routed = hop->is_known = false;
		hop->misses = 0; /* the next packet asks */
	}
}

void hops_drop(struct hops *hops, uint32_t peer)
{
	WEFT_ASSERT(peer < WEFT_NET_PEERS_MAX);
	memset(&hops->of[peer * hops->planes], 0, hops->planes * sizeof(hops->of[0]));
}

const uint8_t *hops_mac(struct hops *hops, uint32_t peer, uint32_t plane)
{
	WEFT_ASSERT(peer < WEFT_NET_PEERS_MAX && plane < hops->planes);
	uint16_t of = hops->of[peer * hops->planes + plane];

	if (WEFT_UNLIKELY(!of))
		return NULL;
	struct hop *hop = &hops->hops[of - 1];

	if (WEFT_LIKELY(hop->is_known))
		return hop->mac;
	if (hop->misses++ % ASK_EVERY == 0)
		seek(hops, hop);
	return hop->is_known ? hop->mac : NULL;
}

int hops_fd(const struct hops *hops)
{
	return mnl_socket_get_fd(hops->listener);
}

void hops_read(struct hops *hops)
{
	for (;;) {
		ssize_t n = mnl_socket_recvfrom(hops->listener, hops->buffer, READ_BYTES);

		if (n < 0 && (errno == ENOBUFS || errno == ENOSPC)) { /* lost, or cut short */
			for (uint32_t i = 0; i < hops->n; i++)
				look_up(hops, &hops->hops[i]);
			continue;
		}
		if (n <= 0)
			return;
		(void)mnl_cb_run(hops->buffer, (size_t)n, 0, 0, take_notice, hops);
	}
}
