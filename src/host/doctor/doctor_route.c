/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doctor_route - how the kernel would send: the route (RTM_GETROUTE) and the next hop's neighbour
 * entry (ARP, RFC 826; NDP, RFC 4861).
 *
 * The route is asked for without naming an interface.  With one, IPv4 takes any destination for a
 * neighbour on it where there is no route, and a plane that lacks its route would seem to have one.
 */
#include "doctor_local.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define BUFFER_BYTES 16384u

struct answer {
	uint32_t oif;
	bool has_gateway, has_route;
	uint8_t via[16];
	uint16_t state;
};

static void put_addr(struct nlmsghdr *message, uint16_t type, const uint8_t addr[16], bool is_v4)
{
	mnl_attr_put(message, type, is_v4 ? 4 : 16, is_v4 ? addr + 12 : addr);
}

static void take_addr(const struct nlattr *attr, uint8_t addr[16])
{
	size_t n = mnl_attr_get_payload_len(attr);

	memset(addr, 0, 16);
	if (n == 4)
		weft_inet_map(mnl_attr_get_payload(attr), addr);
	else if (n == 16)
		memcpy(addr, mnl_attr_get_payload(attr), n);
}

static int take_route_attr(const struct nlattr *attr, void *data)
{
	struct answer *answer = data;

	if (mnl_attr_get_type(attr) == RTA_OIF)
		answer->oif = mnl_attr_get_u32(attr);
	if (mnl_attr_get_type(attr) == RTA_GATEWAY) {
		answer->has_gateway = true;
		take_addr(attr, answer->via);
	}
	return MNL_CB_OK;
}

static int take_route(const struct nlmsghdr *message, void *data)
{
	struct answer *answer = data;
	const struct rtmsg *route = mnl_nlmsg_get_payload(message);

	if (message->nlmsg_type != RTM_NEWROUTE)
		return MNL_CB_OK;
	answer->has_route = route->rtm_type == RTN_UNICAST || route->rtm_type == RTN_LOCAL;
	(void)mnl_attr_parse(message, sizeof(*route), take_route_attr, answer);
	return MNL_CB_STOP;
}

static int take_neighbour_attr(const struct nlattr *attr, void *data)
{
	if (mnl_attr_get_type(attr) == NDA_DST)
		take_addr(attr, data);
	return MNL_CB_OK;
}

static int take_neighbour(const struct nlmsghdr *message, void *data)
{
	struct answer *answer = data;
	const struct ndmsg *neighbour = mnl_nlmsg_get_payload(message);
	uint8_t addr[16] = { 0 };

	if (message->nlmsg_type != RTM_NEWNEIGH)
		return MNL_CB_OK;
	(void)mnl_attr_parse(message, sizeof(*neighbour), take_neighbour_attr, addr);
	/* Another interface may know the address as well, by ARP flux. */
	if (!memcmp(addr, answer->via, 16) && (uint32_t)neighbour->ndm_ifindex == answer->oif)
		answer->state |= neighbour->ndm_state;
	return MNL_CB_OK;
}

/* The question lies in buffer, of BUFFER_BYTES, that takes the answers. */
static void ask(char *buffer, mnl_cb_t take, struct answer *answer)
{
	struct nlmsghdr *question = (struct nlmsghdr *)(void *)buffer;
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	int rc = MNL_CB_OK;

	if (!socket)
		return;
	question->nlmsg_seq = 1;
	if (!mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) &&
		mnl_socket_sendto(socket, question, question->nlmsg_len) > 0)
		while (rc > MNL_CB_STOP) {
			ssize_t n = mnl_socket_recvfrom(socket, buffer, BUFFER_BYTES);

			rc = n < 0 ? -1
				   : mnl_cb_run(buffer, (size_t)n, 1, mnl_socket_get_portid(socket),
					     take, answer);
		}
	mnl_socket_close(socket);
}

static struct answer ask_route(const uint8_t from[16], const uint8_t to[16])
{
	_Alignas(8) char buffer[BUFFER_BYTES];
	struct nlmsghdr *question = mnl_nlmsg_put_header(buffer);
	struct answer answer = { 0 };
	bool is_v4 = weft_inet_is_mapped(to);
	struct rtmsg *route = mnl_nlmsg_put_extra_header(question, sizeof(*route));

	question->nlmsg_type = RTM_GETROUTE;
	question->nlmsg_flags = NLM_F_REQUEST;
	route->rtm_family = is_v4 ? AF_INET : AF_INET6;
	route->rtm_dst_len = is_v4 ? 32 : 128;
	put_addr(question, RTA_DST, to, is_v4);
	if (from) {
		route->rtm_src_len = route->rtm_dst_len;
		put_addr(question, RTA_SRC, from, is_v4);
	}
	ask(buffer, take_route, &answer);
	return answer;
}

void route_ask(struct weft_doctor_path *path)
{
	struct answer answer = ask_route(path->from, path->to);
	char name[IF_NAMESIZE] = "";

	path->has_route = answer.has_route;
	path->has_gateway = answer.has_gateway;
	if (answer.oif && if_indextoname(answer.oif, name))
		snprintf(path->route_iface, sizeof(path->route_iface), "%s", name);
}

int neighbour_ask(const uint8_t to[16])
{
	_Alignas(8) char buffer[BUFFER_BYTES];
	struct answer answer = ask_route(NULL, to);

	if (!answer.has_route)
		return -1;
	if (!answer.has_gateway)
		memcpy(answer.via, to, 16);
	struct nlmsghdr *question = mnl_nlmsg_put_header(buffer);
	struct ndmsg *neighbour = mnl_nlmsg_put_extra_header(question, sizeof(*neighbour));

	question->nlmsg_type = RTM_GETNEIGH;
	question->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	neighbour->ndm_family = weft_inet_is_mapped(answer.via) ? AF_INET : AF_INET6;
	ask(buffer, take_neighbour, &answer);
	if (answer.state & (NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT))
		return 1;
	return answer.state & (NUD_FAILED | NUD_INCOMPLETE) ? 0 : -1;
}
