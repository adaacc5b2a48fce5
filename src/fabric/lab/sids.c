/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sids - what the kernel has counted for each uSID of a switch.
 *
 * The counters are part of a seg6local route, so the whole table is read and what has no such
 * action is passed over: asking for one uSID would match any longer prefix that covers it.
 */
#include "lab_local.h"

#include <errno.h>
#include <linux/lwtunnel.h>
#include <linux/rtnetlink.h>
#include <linux/seg6_local.h>
#include <string.h>

struct found {
	struct weft_lab_sid sid;
	bool is_seg6local, is_usid;
};

struct reader {
	struct weft_lab_sid *sids;
	size_t n, found;
};

static int read_counter(const struct nlattr *attr, void *data)
{
	struct weft_lab_sid *sid = data;

	if (mnl_attr_get_payload_len(attr) < sizeof(uint64_t))
		return MNL_CB_OK;
	switch (mnl_attr_get_type(attr)) {
	case SEG6_LOCAL_CNT_PACKETS:
		sid->packets = mnl_attr_get_u64(attr);
		break;
	case SEG6_LOCAL_CNT_BYTES:
		sid->bytes = mnl_attr_get_u64(attr);
		break;
	case SEG6_LOCAL_CNT_ERRORS:
		sid->errors = mnl_attr_get_u64(attr);
		break;
	default:
		break;
	}
	return MNL_CB_OK;
}

static int read_action(const struct nlattr *attr, void *data)
{
	struct found *f = data;

	if (mnl_attr_get_type(attr) == SEG6_LOCAL_ACTION && mnl_attr_get_payload_len(attr) >= 4)
		f->sid.is_ua = mnl_attr_get_u32(attr) == SEG6_LOCAL_ACTION_END_X;
	if (mnl_attr_get_type(attr) == SEG6_LOCAL_COUNTERS)
		return mnl_attr_parse_nested(attr, read_counter, &f->sid);
	return MNL_CB_OK;
}

static int read_attribute(const struct nlattr *attr, void *data)
{
	struct found *f = data;
	const uint8_t *prefix;

	switch (mnl_attr_get_type(attr)) {
	case RTA_DST:
		f->is_usid = mnl_attr_get_payload_len(attr) == 16;
		prefix = mnl_attr_get_payload(attr);
		if (f->is_usid)
			f->sid.usid = (uint16_t)(prefix[4] << 8 | prefix[5]);
		break;
	case RTA_ENCAP_TYPE:
		f->is_seg6local = mnl_attr_get_payload_len(attr) >= 2 &&
				  mnl_attr_get_u16(attr) == LWTUNNEL_ENCAP_SEG6_LOCAL;
		break;
	case RTA_ENCAP:
		return mnl_attr_parse_nested(attr, read_action, f);
	default:
		break;
	}
	return MNL_CB_OK;
}

static int read_route(const struct nlmsghdr *h, void *data)
{
	const struct rtmsg *route = mnl_nlmsg_get_payload(h);
	struct reader *reader = data;
	struct found f = { 0 };

	if (h->nlmsg_type != RTM_NEWROUTE || mnl_nlmsg_get_payload_len(h) < sizeof(*route))
		return MNL_CB_OK;
	if (mnl_attr_parse(h, sizeof(*route), read_attribute, &f) < 0)
		return MNL_CB_ERROR;
	f.sid.packets += f.sid.errors; /* the kernel counts a packet as one or the other */
	if (f.is_usid && f.is_seg6local && route->rtm_dst_len == 48 && reader->found < reader->n)
		reader->sids[reader->found++] = f.sid;
	return MNL_CB_OK;
}

int sids_read(struct netlink *netlink, struct weft_lab_sid sids[], size_t n)
{
	_Alignas(8) char buf[32768]; /* the kernel fills no more of it than this */
	struct reader reader = { .sids = sids, .n = n };
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct rtmsg *route = mnl_nlmsg_put_extra_header(h, sizeof(*route));
	int more = 1;

	h->nlmsg_type = RTM_GETROUTE;
	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	h->nlmsg_seq = ++netlink->seq;
	route->rtm_family = AF_INET6;
	route->rtm_table = RT_TABLE_MAIN;
	if (mnl_socket_sendto(netlink->socket, h, h->nlmsg_len) < 0)
		return -1;
	while (more > 0) {
		ssize_t got = mnl_socket_recvfrom(netlink->socket, buf, sizeof(buf));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		more = mnl_cb_run(buf, (size_t)got, netlink->seq,
			mnl_socket_get_portid(netlink->socket), read_route, &reader);
	}
	return more < 0 ? -1 : (int)reader.found;
}
