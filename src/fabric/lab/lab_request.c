/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lab_request - the netlink requests that a fabric is made of.
 *
 * All neighbours are permanent entries for one made-up gateway address, so that nothing is ever
 * resolved: no delay for the first packet, none after a link comes back.
 *
 * The own uSID's route hangs on a veth pair of its own inside the switch: a route on "lo" is
 * taken by the kernel but answers "no route", and one on a real port dies with that port.  A
 * link's uSID hangs on its port and may die with it.  End.X looks its next hop up like any address,
 * so each port has one of its own with a route, through the port, to the gateway: a link-local next
 * hop would need a routed link-local prefix, and a kernel that can be told the interface with it.
 */
#include "lab_local.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/gen_stats.h>
#include <linux/lwtunnel.h>
#include <linux/neighbour.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/seg6_local.h>
#include <linux/veth.h>
#include <net/if.h>
#include <string.h>

static const uint8_t gateway[16] = { 0xfe, 0x80, [15] = 1 };

/* What End.X calls the neighbour behind a port: an address that nothing outside the switch has. */
static void next_hop(int ifindex, uint8_t address[16])
{
	memset(address, 0, 16);
	address[0] = 0xfd;
	memset(address + 1, 0xff, 7);
	address[14] = (uint8_t)(ifindex >> 8);
	address[15] = (uint8_t)ifindex;
}

static void put_end(struct nlmsghdr *h, const struct veth_end *end, uint32_t mtu_bytes)
{
	mnl_attr_put_strz(h, IFLA_IFNAME, end->name);
	mnl_attr_put(h, IFLA_ADDRESS, 6, end->mac);
	mnl_attr_put_u32(h, IFLA_MTU, mtu_bytes);
	mnl_attr_put_u32(h, IFLA_NUM_TX_QUEUES, 1);
	mnl_attr_put_u32(h, IFLA_NUM_RX_QUEUES, 1);
	mnl_attr_put_u32(h, IFLA_NET_NS_FD, (uint32_t)end->ns_fd);
}

static struct ifinfomsg *put_ifinfo(struct nlmsghdr *h, int ifindex)
{
	struct ifinfomsg *info = mnl_nlmsg_put_extra_header(h, sizeof(*info));

	info->ifi_family = AF_UNSPEC;
	info->ifi_index = ifindex;
	info->ifi_flags = IFF_UP;
	info->ifi_change = IFF_UP;
	return info;
}

void request_veth(struct batch *batch, const struct veth_end ends[2], uint32_t mtu_bytes)
{
	struct nlmsghdr *h = batch_add(batch, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, "new veth");

	put_ifinfo(h, ends[0].ifindex);
	put_end(h, &ends[0], mtu_bytes);
	struct nlattr *linkinfo = mnl_attr_nest_start(h, IFLA_LINKINFO);
	mnl_attr_put_strz(h, IFLA_INFO_KIND, "veth");
	struct nlattr *data = mnl_attr_nest_start(h, IFLA_INFO_DATA);
	struct nlattr *peer = mnl_attr_nest_start(h, VETH_INFO_PEER);
	put_ifinfo(h, ends[1].ifindex)->ifi_flags = 0; /* cannot go up before it has its peer */
	put_end(h, &ends[1], mtu_bytes);
	mnl_attr_nest_end(h, peer);
	mnl_attr_nest_end(h, data);
	mnl_attr_nest_end(h, linkinfo);
}

void request_link_state(struct batch *batch, int ifindex, bool up)
{
	struct nlmsghdr *h = batch_add(batch, RTM_NEWLINK, 0, up ? "link up" : "link down");

	put_ifinfo(h, ifindex)->ifi_flags = up ? IFF_UP : 0;
}

void request_address(struct batch *batch, int ifindex, const uint8_t address[16])
{
	struct nlmsghdr *h =
		batch_add(batch, RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, "new address");
	struct ifaddrmsg *a = mnl_nlmsg_put_extra_header(h, sizeof(*a));

	a->ifa_family = AF_INET6;
	a->ifa_prefixlen = 128;
	a->ifa_flags = IFA_F_NODAD;
	a->ifa_index = (uint32_t)ifindex;
	mnl_attr_put(h, IFA_LOCAL, 16, address);
	mnl_attr_put(h, IFA_ADDRESS, 16, address);
}

void request_address4(
	struct batch *batch, int ifindex, const uint8_t address[4], uint8_t prefix_bits)
{
	struct nlmsghdr *h =
		batch_add(batch, RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, "new IPv4 address");
	struct ifaddrmsg *a = mnl_nlmsg_put_extra_header(h, sizeof(*a));

	a->ifa_family = AF_INET;
	a->ifa_prefixlen = prefix_bits;
	a->ifa_index = (uint32_t)ifindex;
	mnl_attr_put(h, IFA_LOCAL, 4, address);
	mnl_attr_put(h, IFA_ADDRESS, 4, address);
}

void request_bridge(struct batch *batch, int ifindex, const char *name)
{
	struct nlmsghdr *h = batch_add(batch, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, "new bridge");

	put_ifinfo(h, ifindex);
	mnl_attr_put_strz(h, IFLA_IFNAME, name);
	struct nlattr *linkinfo = mnl_attr_nest_start(h, IFLA_LINKINFO);
	mnl_attr_put_strz(h, IFLA_INFO_KIND, "bridge");
	mnl_attr_nest_end(h, linkinfo);
}

void request_master(struct batch *batch, int ifindex, int bridge_ifindex)
{
	struct nlmsghdr *h = batch_add(batch, RTM_NEWLINK, 0, "port of a bridge");
	struct ifinfomsg *info = mnl_nlmsg_put_extra_header(h, sizeof(*info));

	info->ifi_family = AF_UNSPEC;
	info->ifi_index = ifindex;
	mnl_attr_put_u32(h, IFLA_MASTER, (uint32_t)bridge_ifindex);
}

void request_neighbour(struct batch *batch, int ifindex, const uint8_t mac[6])
{
	struct nlmsghdr *h =
		batch_add(batch, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, "new neighbour");
	struct ndmsg *n = mnl_nlmsg_put_extra_header(h, sizeof(*n));

	n->ndm_family = AF_INET6;
	n->ndm_ifindex = ifindex;
	n->ndm_state = NUD_PERMANENT;
	mnl_attr_put(h, NDA_DST, 16, gateway);
	mnl_attr_put(h, NDA_LLADDR, 6, mac);
}

void request_shaper(struct batch *batch, int ifindex, const struct shaper *shaper)
{
	struct nlmsghdr *h =
		batch_add(batch, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, "new token bucket");
	struct tcmsg *tc = mnl_nlmsg_put_extra_header(h, sizeof(*tc));
	uint64_t rate = shaper->rate_bps / 8;
	/* Less than two frames would stall.  A quarter of a millisecond lets the bucket make up
	 * for a timer that fires late, as it does when the machine is busy.
	 */
	uint64_t burst = WEFT_MAX(rate / 4000, (uint64_t)shaper->frame_bytes * 2);
	struct tc_tbf_qopt options = {
		.rate = { .linklayer = TC_LINKLAYER_ETHERNET,
			.overhead = shaper->overhead_bytes,
			.rate = (uint32_t)WEFT_MIN(rate, (uint64_t)UINT32_MAX) },
		.limit = shaper->queue_bytes,
	};

	tc->tcm_family = AF_UNSPEC;
	tc->tcm_ifindex = ifindex;
	tc->tcm_handle = 0x10000;
	tc->tcm_parent = TC_H_ROOT;
	mnl_attr_put_strz(h, TCA_KIND, "tbf");
	struct nlattr *nest = mnl_attr_nest_start(h, TCA_OPTIONS);
	mnl_attr_put(h, TCA_TBF_PARMS, sizeof(options), &options);
	mnl_attr_put_u32(h, TCA_TBF_BURST, (uint32_t)burst);
	if (rate > UINT32_MAX)
		mnl_attr_put_u64(h, TCA_TBF_RATE64, rate);
	mnl_attr_nest_end(h, nest);
}

static struct rtmsg *put_route(struct nlmsghdr *h, const struct weft_route *route)
{
	struct rtmsg *r = mnl_nlmsg_put_extra_header(h, sizeof(*r));

	r->rtm_family = AF_INET6;
	r->rtm_dst_len = (uint8_t)route->prefix_bits;
	r->rtm_table = RT_TABLE_MAIN;
	r->rtm_protocol = RTPROT_STATIC;
	r->rtm_scope = RT_SCOPE_UNIVERSE;
	r->rtm_type = RTN_UNICAST;
	mnl_attr_put(h, RTA_DST, 16, route->prefix);
	return r;
}

/* The three that exist must all be asked for. */
static void put_counters(struct nlmsghdr *h)
{
	struct nlattr *counters = mnl_attr_nest_start(h, SEG6_LOCAL_COUNTERS);

	mnl_attr_put_u64(h, SEG6_LOCAL_CNT_PACKETS, 0);
	mnl_attr_put_u64(h, SEG6_LOCAL_CNT_BYTES, 0);
	mnl_attr_put_u64(h, SEG6_LOCAL_CNT_ERRORS, 0);
	mnl_attr_nest_end(h, counters);
}

/* oif 0: End, which looks up what comes next; else End.X, which leaves there. */
static void put_end_action(struct nlmsghdr *h, int oif)
{
	mnl_attr_put_u16(h, RTA_ENCAP_TYPE, LWTUNNEL_ENCAP_SEG6_LOCAL);
	struct nlattr *encap = mnl_attr_nest_start(h, RTA_ENCAP);
	mnl_attr_put_u32(
		h, SEG6_LOCAL_ACTION, oif ? SEG6_LOCAL_ACTION_END_X : SEG6_LOCAL_ACTION_END);
	if (oif) {
		uint8_t address[16];

		next_hop(oif, address);
		mnl_attr_put(h, SEG6_LOCAL_NH6, sizeof(address), address);
	}
	struct nlattr *flavors = mnl_attr_nest_start(h, SEG6_LOCAL_FLAVORS);
	mnl_attr_put_u32(h, SEG6_LOCAL_FLV_OPERATION, 1u << SEG6_LOCAL_FLV_OP_NEXT_CSID);
	mnl_attr_put_u8(h, SEG6_LOCAL_FLV_LCBLOCK_BITS, 32);
	mnl_attr_put_u8(h, SEG6_LOCAL_FLV_LCNODE_FN_BITS, 16);
	mnl_attr_nest_end(h, flavors);
	put_counters(h);
	mnl_attr_nest_end(h, encap);
}

static void put_gateways(struct nlmsghdr *h, const struct route_request *request)
{
	if (request->n == 1) {
		mnl_attr_put(h, RTA_GATEWAY, 16, gateway);
		mnl_attr_put_u32(h, RTA_OIF, (uint32_t)request->ifindexes[0]);
		return;
	}
	struct nlattr *nest = mnl_attr_nest_start(h, RTA_MULTIPATH);
	/* Each hop: struct rtnexthop and one attribute. */
	for (uint32_t i = 0; i < request->n; i++) {
		struct rtnexthop *hop = mnl_nlmsg_put_extra_header(h, sizeof(*hop));

		hop->rtnh_ifindex = request->ifindexes[i];
		hop->rtnh_len = sizeof(*hop) + sizeof(struct nlattr) + 16;
		mnl_attr_put(h, RTA_GATEWAY, 16, gateway);
	}
	mnl_attr_nest_end(h, nest);
}

void request_route(struct batch *batch, const struct route_request *request)
{
	static const char *const whats[] = { "new route", "new local route", "new seg6local End",
		"new seg6local End.X", "new blackhole route" };
	struct nlmsghdr *h =
		batch_add(batch, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, whats[request->form]);
	struct rtmsg *r = put_route(h, request->route);

	switch (request->form) {
	case ROUTE_LOCAL:
		r->rtm_table = RT_TABLE_LOCAL;
		r->rtm_type = RTN_LOCAL;
		mnl_attr_put_u32(h, RTA_OIF, (uint32_t)request->ifindexes[0]);
		break;
	case ROUTE_END:
	case ROUTE_END_X:
		put_end_action(h, request->form == ROUTE_END_X ? request->ifindexes[0] : 0);
		mnl_attr_put_u32(h, RTA_OIF, (uint32_t)request->ifindexes[0]);
		break;
	case ROUTE_BLACKHOLE:
		r->rtm_type = RTN_BLACKHOLE;
		break;
	case ROUTE_GATEWAY:
		put_gateways(h, request);
		break;
	}
	if (request->source)
		mnl_attr_put(h, RTA_PREFSRC, 16, request->source);
}

void request_next_hop(struct batch *batch, int ifindex)
{
	struct weft_route route = { .kind = WEFT_ROUTE_HOST, .prefix_bits = 128 };
	struct route_request request = {
		.form = ROUTE_GATEWAY, .route = &route, .ifindexes = &ifindex, .n = 1
	};

	next_hop(ifindex, route.prefix);
	request_route(batch, &request);
}

void request_route_gone(struct batch *batch, const struct weft_route *route)
{
	put_route(batch_add(batch, RTM_DELROUTE, 0, "route gone"), route)->rtm_scope =
		RT_SCOPE_NOWHERE;
}

static int read_attribute(const struct nlattr *attr, void *data)
{
	struct weft_lab_end_stats *stats = data;
	struct rtnl_link_stats64 s;

	if (mnl_attr_get_type(attr) != IFLA_STATS64 || mnl_attr_get_payload_len(attr) < 64)
		return MNL_CB_OK;
	memset(&s, 0, sizeof(s));
	memcpy(&s, mnl_attr_get_payload(attr),
		WEFT_MIN(sizeof(s), (size_t)mnl_attr_get_payload_len(attr)));
	stats->tx_packets = s.tx_packets;
	stats->tx_bytes = s.tx_bytes;
	stats->tx_dropped = s.tx_dropped;
	stats->rx_packets = s.rx_packets;
	stats->rx_bytes = s.rx_bytes;
	stats->rx_dropped = s.rx_dropped;
	return MNL_CB_OK;
}

static int read_queue_level(const struct nlattr *attr, void *data)
{
	struct weft_lab_end_stats *stats = data;
	struct gnet_stats_queue queue;

	if (mnl_attr_get_type(attr) != TCA_STATS_QUEUE ||
		mnl_attr_get_payload_len(attr) < sizeof(queue))
		return MNL_CB_OK;
	memcpy(&queue, mnl_attr_get_payload(attr), sizeof(queue));
	stats->queue_dropped = queue.drops;
	stats->queue_bytes = queue.backlog;
	return MNL_CB_OK;
}

static int read_queue(const struct nlattr *attr, void *data)
{
	if (mnl_attr_get_type(attr) != TCA_STATS2)
		return MNL_CB_OK;
	return mnl_attr_parse_nested(attr, read_queue_level, data);
}

/*
 * One request; its answer, a message of the same kind, takes its place.  The acknowledgement is
 * asked for because there may be no answer (an interface without a queue has none to show).
 */
static bool ask(struct netlink *netlink, struct nlmsghdr *h, size_t bytes, uint16_t answer)
{
	_Alignas(8) char buf[8192];
	bool answered = false;

	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_ECHO; /* some answer only then */
	h->nlmsg_seq = ++netlink->seq;
	if (mnl_socket_sendto(netlink->socket, h, h->nlmsg_len) < 0)
		return false;
	for (;;) {
		ssize_t got = mnl_socket_recvfrom(netlink->socket, buf, sizeof(buf));
		int left = (int)got;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return false;
		for (const struct nlmsghdr *m = (const struct nlmsghdr *)buf; mnl_nlmsg_ok(m, left);
			m = mnl_nlmsg_next(m, &left)) {
			if (m->nlmsg_type == NLMSG_ERROR) {
				errno = ENODEV;
				return answered;
			}
			if (m->nlmsg_type == answer && m->nlmsg_len <= bytes) {
				memcpy(h, m, m->nlmsg_len);
				answered = true;
			}
		}
	}
}

bool request_queue_stats(struct netlink *netlink, int ifindex, struct weft_lab_end_stats *stats)
{
	_Alignas(8) char buf[8192];
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct tcmsg *tc;

	h->nlmsg_type = RTM_GETQDISC;
	tc = mnl_nlmsg_put_extra_header(h, sizeof(*tc));
	tc->tcm_ifindex = ifindex;
	tc->tcm_parent = TC_H_ROOT;
	return ask(netlink, h, sizeof(buf), RTM_NEWQDISC) &&
	       mnl_attr_parse(h, sizeof(*tc), read_queue, stats) >= 0;
}

bool request_stats(struct netlink *netlink, int ifindex, struct weft_lab_end_stats *stats)
{
	_Alignas(8) char buf[8192];
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *info;

	memset(stats, 0, sizeof(*stats));
	h->nlmsg_type = RTM_GETLINK;
	info = mnl_nlmsg_put_extra_header(h, sizeof(*info));
	info->ifi_index = ifindex;
	if (!ask(netlink, h, sizeof(buf), RTM_NEWLINK))
		return false;
	info = mnl_nlmsg_get_payload(h);
	stats->up = info->ifi_flags & IFF_UP;
	stats->carrier = info->ifi_flags & IFF_RUNNING;
	return mnl_attr_parse(h, sizeof(*info), read_attribute, stats) >= 0;
}
