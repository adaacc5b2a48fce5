/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doctor_links - interfaces and addresses as rtnetlink tells them, settings from /proc/sys and
 * /sys, offloads by ethtool's ioctls.
 *
 * One dump of links and one of addresses; getifaddrs() would not tell which addresses have failed
 * duplicate address detection (DAD, RFC 4862).  The netlink API of ethtool knows more than its
 * ioctls, but they are on every kernel and need no privilege.
 */
#include "doctor_local.h"

#include <dirent.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/ethtool.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ANSWER_BYTES 32768u
#define CPUS_MAX 4096u

/* ---- rtnetlink ---- */

struct link_attrs {
	const char *name;
	uint32_t mtu;
	const struct nlattr *address, *local;
	uint32_t flags;
	bool has_flags;
};

static int take_link_attr(const struct nlattr *attr, void *data)
{
	struct link_attrs *attrs = data;

	if (mnl_attr_get_type(attr) == IFLA_IFNAME)
		attrs->name = mnl_attr_get_str(attr);
	else if (mnl_attr_get_type(attr) == IFLA_MTU)
		attrs->mtu = mnl_attr_get_u32(attr);
	else if (mnl_attr_get_type(attr) == IFLA_ADDRESS)
		attrs->address = attr;
	return MNL_CB_OK;
}

static int take_link(const struct nlmsghdr *message, void *data)
{
	struct weft_doctor_facts *facts = data;
	const struct ifinfomsg *link = mnl_nlmsg_get_payload(message);
	struct link_attrs attrs = { .name = "" };

	if (message->nlmsg_type != RTM_NEWLINK || facts->ifaces == WEFT_DOCTOR_IFACES_MAX)
		return MNL_CB_OK;
	(void)mnl_attr_parse(message, sizeof(*link), take_link_attr, &attrs);
	struct weft_doctor_iface *iface = &facts->iface[facts->ifaces++];

	snprintf(iface->name, sizeof(iface->name), "%s", attrs.name);
	iface->ifindex = (uint32_t)link->ifi_index;
	iface->mtu_bytes = attrs.mtu;
	iface->has_mac = link->ifi_type == ARPHRD_ETHER && attrs.address &&
			 mnl_attr_get_payload_len(attrs.address) == sizeof(iface->mac);
	if (iface->has_mac)
		memcpy(iface->mac, mnl_attr_get_payload(attrs.address), sizeof(iface->mac));
	iface->is_up = link->ifi_flags & IFF_UP;
	iface->has_carrier = link->ifi_flags & IFF_RUNNING;
	iface->is_loopback = link->ifi_flags & IFF_LOOPBACK;
	return MNL_CB_OK;
}

static int take_addr_attr(const struct nlattr *attr, void *data)
{
	struct link_attrs *attrs = data;

	if (mnl_attr_get_type(attr) == IFA_ADDRESS)
		attrs->address = attr;
	else if (mnl_attr_get_type(attr) == IFA_LOCAL)
		attrs->local = attr;
	else if (mnl_attr_get_type(attr) == IFA_FLAGS)
		attrs->flags = mnl_attr_get_u32(attr), attrs->has_flags = true;
	return MNL_CB_OK;
}

static int take_addr(const struct nlmsghdr *message, void *data)
{
	struct weft_doctor_facts *facts = data;
	const struct ifaddrmsg *told = mnl_nlmsg_get_payload(message);
	struct link_attrs attrs = { 0 };
	uint32_t iface = 0;

	if (message->nlmsg_type != RTM_NEWADDR || facts->addrs == WEFT_DOCTOR_ADDRS_MAX)
		return MNL_CB_OK;
	(void)mnl_attr_parse(message, sizeof(*told), take_addr_attr, &attrs);
	const struct nlattr *attr = attrs.local ? attrs.local : attrs.address;
	bool is_v4 = told->ifa_family == AF_INET;

	while (iface < facts->ifaces && facts->iface[iface].ifindex != told->ifa_index)
		iface++;
	if (!attr || iface == facts->ifaces || mnl_attr_get_payload_len(attr) != (is_v4 ? 4u : 16u))
		return MNL_CB_OK;
	struct weft_doctor_addr *addr = &facts->addr[facts->addrs++];
	uint32_t flags = attrs.has_flags ? attrs.flags : told->ifa_flags;

	if (is_v4)
		weft_inet_map(mnl_attr_get_payload(attr), addr->addr);
	else
		memcpy(addr->addr, mnl_attr_get_payload(attr), 16);
	addr->iface = iface;
	addr->prefix_bits = told->ifa_prefixlen + (is_v4 ? 96u : 0);
	addr->is_link_local = told->ifa_scope == RT_SCOPE_LINK;
	addr->is_duplicate = flags & IFA_F_DADFAILED;
	addr->is_tentative = flags & IFA_F_TENTATIVE && !addr->is_duplicate;
	return MNL_CB_OK;
}

static void dump(uint16_t type, size_t header_bytes, mnl_cb_t take, void *data)
{
	_Alignas(8) static _Thread_local char buffer[ANSWER_BYTES];
	struct nlmsghdr *question = mnl_nlmsg_put_header(buffer);
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	int rc = MNL_CB_OK;

	if (!socket)
		return;
	question->nlmsg_type = type;
	question->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	question->nlmsg_seq = 1;
	mnl_nlmsg_put_extra_header(question, header_bytes);
	if (!mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) &&
		mnl_socket_sendto(socket, question, question->nlmsg_len) > 0)
		while (rc > MNL_CB_STOP) {
			ssize_t n = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));

			rc = n < 0 ? -1
				   : mnl_cb_run(buffer, (size_t)n, 1, mnl_socket_get_portid(socket),
					     take, data);
		}
	mnl_socket_close(socket);
}

void links_read(struct weft_doctor_facts *facts)
{
	facts->ifaces = facts->addrs = 0;
	dump(RTM_GETLINK, sizeof(struct ifinfomsg), take_link, facts);
	dump(RTM_GETADDR, sizeof(struct ifaddrmsg), take_addr, facts);
}

/* ---- settings: /proc/sys and /sys ---- */

/* As the kernel combines them: the larger one holds. */
static int ipv4_setting(const char *root, const char *name, const char *setting)
{
	int64_t all = read_number(-1, root, "/proc/sys/net/ipv4/conf/all/%s", setting);
	int64_t own = read_number(-1, root, "/proc/sys/net/ipv4/conf/%s/%s", name, setting);

	return (int)WEFT_MAX(all, own);
}

/* Adds the CPUs of "0-3,8" to a set; the number that were new. */
static uint32_t add_cpus(uint8_t set[CPUS_MAX / 8], const char *list)
{
	uint32_t n = 0;

	while (*list >= '0' && *list <= '9') {
		char *end;
		unsigned long first = strtoul(list, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (unsigned long cpu = first; cpu <= last && cpu < CPUS_MAX; cpu++) {
			n += !(set[cpu / 8] >> cpu % 8 & 1);
			set[cpu / 8] |= (uint8_t)(1u << cpu % 8);
		}
		list = *end == ',' ? end + 1 : "";
	}
	return n;
}

static DIR *open_folder(const char *root, const char *name, const char *inner)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/sys/class/net/%s/%s", root, name, inner);
	return opendir(path);
}

static void read_irqs(struct weft_doctor_iface *iface, const char *root)
{
	uint8_t set[CPUS_MAX / 8] = { 0 };
	DIR *folder = open_folder(root, iface->name, "device/msi_irqs");
	const struct dirent *entry;
	char list[256];

	while (folder && (entry = readdir(folder))) {
		if (*entry->d_name == '.' ||
			!read_line(list, sizeof(list), root,
				"/proc/irq/%.16s/effective_affinity_list", entry->d_name))
			continue;
		iface->irqs++;
		iface->irq_cpus += add_cpus(set, list);
	}
	if (folder)
		closedir(folder);
}

/* Receive queues (RSS), and whether RPS spreads what one of them takes. */
static void read_queues(struct weft_doctor_iface *iface, const char *root)
{
	DIR *folder = open_folder(root, iface->name, "queues");
	const struct dirent *entry;
	char mask[256];

	while (folder && (entry = readdir(folder))) {
		if (strncmp(entry->d_name, "rx-", 3))
			continue;
		iface->rx_queues++;
		if (read_line(mask, sizeof(mask), root, "/sys/class/net/%s/queues/%.16s/rps_cpus",
			    iface->name, entry->d_name) &&
			mask[strspn(mask, "0,")])
			iface->has_rps = true;
	}
	if (folder)
		closedir(folder);
}

static uint64_t counter(const char *root, const char *name, const char *which)
{
	int64_t n = read_number(0, root, "/sys/class/net/%s/statistics/%s", name, which);

	return n < 0 ? 0 : (uint64_t)n;
}

static void read_sys(struct weft_doctor_iface *iface, const char *root)
{
	char duplex[16];
	int64_t speed = read_number(-1, root, "/sys/class/net/%s/speed", iface->name);
	DIR *device = open_folder(root, iface->name, "device");

	/* /sys shows the network namespace of who mounted it: maybe another one's eth0. */
	if (read_number(-1, root, "/sys/class/net/%s/ifindex", iface->name) != iface->ifindex) {
		if (device)
			closedir(device);
		return;
	}
	iface->is_device = device != NULL;
	if (device)
		closedir(device);
	iface->speed_mbps = speed > 0 && speed < UINT32_MAX ? (uint32_t)speed : 0;
	iface->is_half_duplex =
		read_line(duplex, sizeof(duplex), root, "/sys/class/net/%s/duplex", iface->name) &&
		!strcmp(duplex, "half");
	iface->crc_errors = counter(root, iface->name, "rx_crc_errors");
	iface->missed = counter(root, iface->name, "rx_missed_errors");
	read_queues(iface, root);
	read_irqs(iface, root);
}

void link_settings(struct weft_doctor_iface *iface, const char *root)
{
	read_sys(iface, root);
	iface->has_no_ipv6 =
		read_number(1, root, "/proc/sys/net/ipv6/conf/%s/disable_ipv6", iface->name) != 0;
	iface->rp_filter = ipv4_setting(root, iface->name, "rp_filter");
	iface->arp_ignore = ipv4_setting(root, iface->name, "arp_ignore");
	iface->arp_announce = ipv4_setting(root, iface->name, "arp_announce");
}

static int ask_ethtool(int fd, const char *name, uint32_t command)
{
	struct ethtool_value value = { .cmd = command };
	struct ifreq request = { .ifr_data = (void *)&value };

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	return ioctl(fd, SIOCETHTOOL, &request) ? -1 : value.data != 0;
}

void link_offloads(struct weft_doctor_iface *iface)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	iface->tx_checksum = ask_ethtool(fd, iface->name, ETHTOOL_GTXCSUM);
	iface->rx_checksum = ask_ethtool(fd, iface->name, ETHTOOL_GRXCSUM);
	iface->gso = ask_ethtool(fd, iface->name, ETHTOOL_GGSO);
	iface->gro = ask_ethtool(fd, iface->name, ETHTOOL_GGRO);
	if (fd >= 0)
		close(fd);
}
