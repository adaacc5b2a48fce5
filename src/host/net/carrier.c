/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * carrier - which of our links are up, as the kernel knows it.
 *
 * A send into a link without carrier succeeds [M 2.2] and the packet is gone, so nothing on the
 * data path ever tells; rtnetlink does, about 0.1 ms after the fact.  One socket listens to the
 * link group for all planes.  When the kernel says that it had to drop notices (ENOBUFS),
 * everything is asked
 * again.  A link counts as up while it is both switched on and running.
 *
 * A plane is an address, and the interface that has it may be made anew with another number, or
 * come late: so addresses are listened for as well, and who opened this looks for them again.
 *
 * The socket that asks is not the one that listens: a dump and a notice on one socket would have
 * to be told apart by sequence numbers, and the listener must never wait.
 */
#include "net_local.h"

#include <errno.h>
#include <ifaddrs.h>
#include <libmnl/libmnl.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES 16384u
#define QUESTION_BYTES 128u
#define ASK_TRIES 10
#define LOOK_NS UINT64_C(1000000000) /* between tries to open planes that are not there */

struct carrier {
	struct mnl_socket *listener;
	uint32_t planes, up, gone; /* gone: since last asked */
	bool has_moved;
	uint64_t look_at_ns;
	unsigned ifindex[WEFT_PORTS_MAX]; /* 0: no interface has its address */
	uint32_t mtu[WEFT_PORTS_MAX];     /* as last told; 0: not yet */
	char buffer[READ_BYTES];
};

static int take_mtu(const struct nlattr *attr, void *data)
{
	uint32_t *mtu = data;

	if (mnl_attr_get_type(attr) == IFLA_MTU && mnl_attr_validate(attr, MNL_TYPE_U32) >= 0)
		*mtu = mnl_attr_get_u32(attr);
	return MNL_CB_OK;
}

static int take_link(const struct nlmsghdr *message, void *data)
{
	struct carrier *carrier = data;
	const struct ifinfomsg *link = mnl_nlmsg_get_payload(message);

	if (message->nlmsg_type == RTM_NEWADDR || message->nlmsg_type == RTM_DELADDR)
		carrier->has_moved = true;
	if (message->nlmsg_type != RTM_NEWLINK && message->nlmsg_type != RTM_DELLINK)
		return MNL_CB_OK;
	uint32_t mtu = 0;

	(void)mnl_attr_parse(message, sizeof(*link), take_mtu, &mtu);
	for (uint32_t i = 0; i < carrier->planes; i++) {
		bool is_up = message->nlmsg_type == RTM_NEWLINK && link->ifi_flags & IFF_UP &&
			     link->ifi_flags & IFF_RUNNING;

		if (carrier->ifindex[i] != (unsigned)link->ifi_index)
			continue;
		if (message->nlmsg_type == RTM_DELLINK)
			carrier->gone |= 1u << i;
		carrier->has_moved |= message->nlmsg_type == RTM_DELLINK || mtu != carrier->mtu[i];
		carrier->mtu[i] = mtu;
		carrier->up = is_up ? carrier->up | 1u << i : carrier->up & ~(1u << i);
	}
	return MNL_CB_OK;
}

/* All that the kernel has to say to a question; false: errno; EINTR: not consistently. */
static bool dump_once(const char *question, char *buffer, mnl_cb_t take, void *data)
{
	const struct nlmsghdr *message = (const struct nlmsghdr *)(const void *)question;
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	int rc = -1;

	if (!socket)
		return false;
	if (!mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) &&
		mnl_socket_sendto(socket, message, message->nlmsg_len) > 0) {
		unsigned portid = mnl_socket_get_portid(socket);

		do {
			ssize_t n = mnl_socket_recvfrom(socket, buffer, READ_BYTES);

			rc = n < 0 ? -1 : mnl_cb_run(buffer, (size_t)n, 1, portid, take, data);
		} while (rc > MNL_CB_STOP);
	}
	int why = errno;

	mnl_socket_close(socket);
	errno = why;
	return rc >= 0;
}

/* What comes and goes during a dump spoils it, and that is when we want to know.  The question lies
 * in the buffer, of READ_BYTES, that takes the answers. */
static bool dump(struct nlmsghdr *message, char *buffer, mnl_cb_t take, void *data)
{
	char question[QUESTION_BYTES] __attribute__((aligned(8)));

	message->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	message->nlmsg_seq = 1;
	WEFT_ASSERT(message->nlmsg_len <= sizeof(question));
	memcpy(question, message, message->nlmsg_len);
	for (unsigned i = 0; i < ASK_TRIES; i++)
		if (dump_once(question, buffer, take, data))
			return true;
		else if (errno != EINTR)
			return false;
	return false;
}

/* Asks for the state of all links; false: the kernel would not say. */
static bool ask(struct carrier *carrier)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(carrier->buffer);

	message->nlmsg_type = RTM_GETLINK;
	mnl_nlmsg_put_extra_header(message, sizeof(struct ifinfomsg));
	return dump(message, carrier->buffer, take_link, carrier);
}

/* Among the interfaces that are loopback ones, or among the others. */
static unsigned find_address(const uint8_t addr[16], bool is_loopback)
{
	bool is_v4 = weft_inet_is_mapped(addr);
	struct ifaddrs *list;
	unsigned ifindex = 0;

	if (getifaddrs(&list))
		return 0;
	for (const struct ifaddrs *i = list; i && !ifindex; i = i->ifa_next) {
		const struct sockaddr_in *v4 = (const struct sockaddr_in *)i->ifa_addr;
		const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)i->ifa_addr;

		if (!i->ifa_addr || !(i->ifa_flags & IFF_LOOPBACK) == is_loopback)
			continue;
		if ((is_v4 && v4->sin_family == AF_INET && !memcmp(&v4->sin_addr, addr + 12, 4)) ||
			(!is_v4 && v6->sin6_family == AF_INET6 &&
				!memcmp(&v6->sin6_addr, addr, 16)))
			ifindex = if_nametoindex(i->ifa_name);
	}
	freeifaddrs(list);
	return ifindex;
}

struct search {
	const uint8_t *addr;
	unsigned ifindex, oif; /* found; of the route that is being looked at */
	bool is_ours;
};

static int take_attribute(const struct nlattr *attr, void *data)
{
	struct search *search = data;
	uint16_t type = mnl_attr_get_type(attr), bytes = mnl_attr_get_payload_len(attr);

	if (type == RTA_OIF && bytes == sizeof(search->oif))
		search->oif = mnl_attr_get_u32(attr);
	if (type == RTA_PREFSRC && bytes == 16)
		search->is_ours = !memcmp(mnl_attr_get_payload(attr), search->addr, 16);
	return MNL_CB_OK;
}

static int take_route(const struct nlmsghdr *message, void *data)
{
	struct search *search = data;

	search->oif = 0;
	search->is_ours = false;
	if (message->nlmsg_type != RTM_NEWROUTE || search->ifindex)
		return MNL_CB_OK;
	(void)mnl_attr_parse(message, sizeof(struct rtmsg), take_attribute, search);
	if (search->is_ours)
		search->ifindex = search->oif;
	return MNL_CB_OK;
}

unsigned carrier_find(const uint8_t addr[16])
{
	struct search search = { .addr = addr, .ifindex = find_address(addr, false) };
	char buffer[READ_BYTES];

	if (search.ifindex || weft_inet_is_none(addr))
		return search.ifindex;
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	struct rtmsg *r;

	message->nlmsg_type = RTM_GETROUTE;
	r = mnl_nlmsg_put_extra_header(message, sizeof(*r));
	r->rtm_family = AF_INET6;
	(void)dump(message, buffer, take_route, &search);
	return search.ifindex ? search.ifindex : find_address(addr, true);
}

int carrier_blindness(void)
{
	struct ifaddrs *list;

	if (getifaddrs(&list))
		return errno;
	freeifaddrs(list);
	return 0;
}

struct discipline {
	unsigned ifindex;
	char *name; /* of 16 */
};

static int take_kind(const struct nlattr *attr, void *data)
{
	const struct discipline *find = data;

	if (mnl_attr_get_type(attr) == TCA_KIND &&
		mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
		snprintf(find->name, 16, "%s", mnl_attr_get_str(attr));
	return MNL_CB_OK;
}

static int take_discipline(const struct nlmsghdr *message, void *data)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(message);
	const struct discipline *find = data;

	if (message->nlmsg_type == RTM_NEWQDISC && (unsigned)tc->tcm_ifindex == find->ifindex &&
		tc->tcm_parent == TC_H_ROOT)
		(void)mnl_attr_parse(message, sizeof(*tc), take_kind, data);
	return MNL_CB_OK;
}

bool carrier_shaper(unsigned ifindex, char name[16])
{
	static const char *const plain[] = { "", "noqueue", "mq", "fq", "fq_codel", "pfifo",
		"bfifo", "pfifo_fast" };
	struct discipline find = { .ifindex = ifindex, .name = name };
	char buffer[READ_BYTES];
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	struct tcmsg *tc = mnl_nlmsg_put_extra_header(message, sizeof(*tc));

	name[0] = 0;
	message->nlmsg_type = RTM_GETQDISC;
	tc->tcm_family = AF_UNSPEC;
	tc->tcm_ifindex = (int)ifindex;
	(void)dump(message, buffer, take_discipline, &find);
	for (size_t i = 0; i < WEFT_COUNT(plain); i++)
		if (!strcmp(name, plain[i]))
			return false;
	return true;
}

struct carrier *carrier_open(const unsigned ifindex[], uint32_t planes, char *error, size_t bytes)
{
	struct carrier *carrier = calloc(1, sizeof(*carrier));

	WEFT_ASSERT(planes <= WEFT_PORTS_MAX);
	if (!carrier) {
		snprintf(error, bytes, "no memory to watch links");
		return NULL;
	}
	carrier->planes = planes;
	memcpy(carrier->ifindex, ifindex, planes * sizeof(ifindex[0]));
	carrier->listener = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
	/* Listen first, ask afterwards: what changes in between is told twice, not never. */
	if (!carrier->listener ||
		mnl_socket_bind(carrier->listener,
			RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
			MNL_SOCKET_AUTOPID) ||
		!ask(carrier)) {
		snprintf(error, bytes, "cannot watch links by rtnetlink: %s", strerror(errno));
		carrier_close(carrier);
		return NULL;
	}
	return carrier;
}

void carrier_close(struct carrier *carrier)
{
	if (!carrier)
		return;
	if (carrier->listener)
		mnl_socket_close(carrier->listener);
	free(carrier);
}

int carrier_fd(const struct carrier *carrier)
{
	return mnl_socket_get_fd(carrier->listener);
}

uint32_t carrier_read(struct carrier *carrier)
{
	for (;;) {
		ssize_t n = mnl_socket_recvfrom(carrier->listener, carrier->buffer, READ_BYTES);

		if (n < 0 && (errno == ENOBUFS || errno == ENOSPC)) { /* lost, or cut short */
			(void)ask(carrier);
			carrier->has_moved = true;
			continue;
		}
		if (n <= 0)
			return carrier->up;
		(void)mnl_cb_run(carrier->buffer, (size_t)n, 0, 0, take_link, carrier);
	}
}

uint32_t carrier_gone(struct carrier *carrier)
{
	uint32_t gone = carrier->gone;

	carrier->gone = 0;
	return gone;
}

bool carrier_is_due(struct carrier *carrier, bool is_whole)
{
	uint64_t now = is_whole ? 0 : weft_clock_now(NULL);

	if (!carrier->has_moved && now <= carrier->look_at_ns)
		return false;
	carrier->has_moved = false;
	carrier->look_at_ns = now + LOOK_NS;
	return true;
}

void carrier_follow(struct carrier *carrier, uint32_t plane, unsigned ifindex)
{
	if (carrier->ifindex[plane] == ifindex)
		return;
	carrier->ifindex[plane] = ifindex;
	carrier->up &= ~(1u << plane);
	if (ifindex)
		(void)ask(carrier);
}

/* Whether that interface has an address of the same network as this one, which is another's. */
static bool is_neighbour(const struct ifaddrs *a, const struct ifaddrs *b)
{
	size_t at = a->ifa_addr->sa_family == AF_INET ? offsetof(struct sockaddr_in, sin_addr)
						      : offsetof(struct sockaddr_in6, sin6_addr);
	size_t bytes = a->ifa_addr->sa_family == AF_INET ? 4 : 16;
	const uint8_t *one = (const uint8_t *)a->ifa_addr + at;
	const uint8_t *two = (const uint8_t *)b->ifa_addr + at;
	const uint8_t *mask = (const uint8_t *)a->ifa_netmask + at;

	if (a->ifa_addr->sa_family != b->ifa_addr->sa_family || !strcmp(a->ifa_name, b->ifa_name))
		return false;
	for (size_t i = 0; i < bytes; i++)
		if ((one[i] ^ two[i]) & mask[i])
			return false;
	return true;
}

bool carrier_is_ip(const struct ifaddrs *i)
{
	return i->ifa_addr && i->ifa_netmask && !(i->ifa_flags & IFF_LOOPBACK) &&
	       (i->ifa_addr->sa_family == AF_INET ||
		       (i->ifa_addr->sa_family == AF_INET6 &&
			       !IN6_IS_ADDR_LINKLOCAL(
				       &((struct sockaddr_in6 *)i->ifa_addr)->sin6_addr)));
}

unsigned carrier_shares_net(const uint8_t addr[16])
{
	unsigned ifindex = find_address(addr, false), found = 0;
	char name[IF_NAMESIZE];
	struct ifaddrs *list;

	if (!ifindex || !if_indextoname(ifindex, name) || getifaddrs(&list))
		return 0;
	for (const struct ifaddrs *i = list; i && !found; i = i->ifa_next)
		for (const struct ifaddrs *k = carrier_is_ip(i) ? list : NULL; k && !found;
			k = k->ifa_next)
			if (!strcmp(i->ifa_name, name) && carrier_is_ip(k) && is_neighbour(i, k))
				found = ifindex;
	freeifaddrs(list);
	return found;
}

bool carrier_has_net(const uint8_t own[16], const uint8_t other[16])
{
	char none[] = "";
	struct ifaddrs *list, peer = { .ifa_name = none };
	struct sockaddr_storage name;
	bool has = false;

	if (getifaddrs(&list))
		return false;
	(void)inet_name(weft_inet_is_mapped(other), other, 0, &name);
	peer.ifa_addr = (struct sockaddr *)&name;
	for (const struct ifaddrs *i = list; i && !has; i = i->ifa_next) {
		uint8_t at[16];

		has = carrier_is_ip(i) && weft_inet_of(i->ifa_addr, at, NULL) &&
		      !memcmp(at, own, 16) && is_neighbour(i, &peer);
	}
	freeifaddrs(list);
	return has;
}

uint32_t carrier_mtu(unsigned ifindex)
{
	struct ifreq request = { 0 };
	int fd = ifindex && if_indextoname(ifindex, request.ifr_name)
			 ? socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)
			 : -1;
	uint32_t bytes = 0;

	if (fd < 0)
		return 0;
	if (!ioctl(fd, SIOCGIFMTU, &request) && request.ifr_mtu > 0)
		bytes = (uint32_t)request.ifr_mtu;
	close(fd);
	return bytes;
}
