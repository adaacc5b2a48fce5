/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * world - the fabric file, built: a namespace per node, a veth pair per cable.
 *
 * Interface numbers are given, never left to the kernel: two ends of a veth that happen to have
 * the same number make the kernel treat a lost carrier as not urgent, and the news takes up to a
 * second.  So lower ends are even and upper ends are odd.
 *
 * Forwarding is switched on in switches only; hosts own their uSID's whole /48, so that the EV
 * behind it is theirs to read.  No address is configured on any port: none is needed to forward,
 * link-local ones would only start neighbour discovery, and a host's own addresses stay usable
 * on "lo" whatever happens to its ports; which one a packet leaves with is said by the route.
 */
#include "lab_local.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define LO_IFINDEX 1
#define SID_IFINDEX 10
#define PORT_IFINDEX 100
#define ETHERNET_BYTES 14
#define ETHERNET_GAP_BYTES 24     /* FCS, preamble, gap: soft switches' lines count them */
#define HOST_QUEUE_BYTES 16000000 /* more than any socket may hold: senders wait, nothing drops */
#define ECMP_MAX 32

bool world_fail(struct world *world, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(world->error, sizeof(world->error), format, args);
	va_end(args);
	return false;
}

int port_ifindex(const struct world *world, uint32_t node, uint32_t port)
{
	struct weft_node n = weft_topo_node(world->topo, node);
	bool is_lower =
		n.kind == WEFT_NODE_HOST ||
		(n.kind == WEFT_NODE_T0 && port >= weft_topo_shape(world->topo)->hosts_per_t0);

	return PORT_IFINDEX + (int)(2 * port) + !is_lower;
}

void port_name(const struct world *world, uint32_t node, uint32_t port, char name[16])
{
	struct weft_node n = weft_topo_node(world->topo, node);
	uint32_t down = weft_topo_shape(world->topo)->hosts_per_t0;

	if (n.kind == WEFT_NODE_HOST)
		(void)snprintf(name, 16, "p%u", port);
	else if (n.kind == WEFT_NODE_T0 && port >= down)
		(void)snprintf(name, 16, "u%u", port - down);
	else
		(void)snprintf(name, 16, "d%u", port);
}

struct end link_end(struct world *world, uint32_t link, unsigned end)
{
	struct weft_link l = weft_topo_link(world->topo, link);
	struct end e = { 0 };

	if (!l.cabled)
		return e;
	if (world->switches == WEFT_LAB_SWITCHES_SOFT &&
		l.node[end] >= weft_topo_shape(world->topo)->hosts)
		return soft_end(world, link);
	e.at = &world->nodes[l.node[end]];
	e.ifindex = port_ifindex(world, l.node[end], l.port[end]);
	port_name(world, l.node[end], l.port[end], e.name);
	return e;
}

bool world_enter(struct world *world, uint32_t node)
{
	if (!setns(world->nodes[node].ns_fd, CLONE_NEWNET))
		return true;
	return world_fail(world, "cannot enter a namespace: %s", strerror(errno));
}

bool world_sysctl(const char *path, const char *value)
{
	char whole[128];

	(void)snprintf(whole, sizeof(whole), "/proc/sys/net/%s", path);
	int fd = open(whole, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = write(fd, value, strlen(value));
	(void)close(fd);
	return n == (ssize_t)strlen(value);
}

void link_mac(uint32_t link, unsigned end, uint8_t mac[6])
{
	mac[0] = 0x02; /* locally administered */
	mac[1] = 0x57;
	mac[2] = (uint8_t)(link >> 16);
	mac[3] = (uint8_t)(link >> 8);
	mac[4] = (uint8_t)link;
	mac[5] = (uint8_t)end;
}

void neighbour_write(struct world *world, uint32_t node, uint32_t port, struct batch *batch)
{
	uint32_t link = weft_topo_port_link(world->topo, node, port);
	uint8_t mac[6];

	if (link == WEFT_TOPO_NONE)
		return;
	struct weft_link l = weft_topo_link(world->topo, link);
	if (!l.cabled)
		return;
	link_mac(link, l.node[0] == node ? 1 : 0, mac);
	request_neighbour(batch, port_ifindex(world, node, port), mac);
}

/* Which of an entry's ports can carry packets now. */
static uint32_t usable_ports(const struct world *world, uint32_t node,
	const struct weft_route *route, int ifindexes[ECMP_MAX])
{
	uint32_t n = 0;

	for (uint32_t p = route->port; p < route->port + route->ports && n < ECMP_MAX; p++) {
		uint32_t link = weft_topo_port_link(world->topo, node, p);

		if (link != WEFT_TOPO_NONE && weft_topo_link(world->topo, link).cabled &&
			!world->nodes[node].now[p].down)
			ifindexes[n++] = port_ifindex(world, node, p);
	}
	return n;
}

void table_write(struct world *world, uint32_t node, struct batch *batch)
{
	bool is_host = node < weft_topo_shape(world->topo)->hosts;
	struct weft_route route;

	for (uint32_t i = 0; weft_topo_route(world->topo, node, i, &route); i++) {
		int ifindexes[ECMP_MAX] = { LO_IFINDEX };
		uint8_t source[16];
		struct route_request request = { .route = &route, .ifindexes = ifindexes, .n = 1 };

		switch (route.kind) {
		case WEFT_ROUTE_NONE:
			continue;
		case WEFT_ROUTE_LOCAL:
			/* The kernel routes to a new address only later, in a worker. */
			if (route.prefix_bits == 128)
				request_address(batch, LO_IFINDEX, route.prefix);
			request.form = ROUTE_LOCAL;
			break;
		case WEFT_ROUTE_END:
			request.form = ROUTE_END;
			ifindexes[0] = SID_IFINDEX;
			break;
		case WEFT_ROUTE_UA:
		case WEFT_ROUTE_USID:
		case WEFT_ROUTE_HOST:
			request.n = usable_ports(world, node, &route, ifindexes);
			request.form = route.kind == WEFT_ROUTE_UA ? ROUTE_END_X : ROUTE_GATEWAY;
			if (route.kind != WEFT_ROUTE_HOST &&
				world->nodes[node].now[route.port].hole)
				request.form = ROUTE_BLACKHOLE;
			else if (!request.n)
				continue;
			if (request.form == ROUTE_END_X)
				request_next_hop(batch, ifindexes[0]);
			if (is_host) {
				weft_topo_host_addr(world->topo, node, route.port, source);
				request.source = source;
			}
			break;
		}
		request_route(batch, &request);
	}
}

void table_remove(struct world *world, uint32_t node, struct batch *batch)
{
	struct weft_route route;

	for (uint32_t i = 0; weft_topo_route(world->topo, node, i, &route); i++) {
		if (route.kind != WEFT_ROUTE_NONE)
			request_route_gone(batch, &route);
	}
}

static bool ethtool(const struct node *node, const char *name, uint32_t command)
{
	struct ethtool_value value = { .cmd = command };
	struct ifreq request = { .ifr_data = (char *)&value };

	(void)snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	return !ioctl(node->control_fd, SIOCETHTOOL, &request);
}

/* Real NICs compute checksums at once; veth with offload on never does, and hides wrong ones. */
bool offloads_off(struct world *world, const struct node *node, const char *name)
{
	if (world->offloads)
		return true;
	if (!ethtool(node, name, ETHTOOL_STXCSUM))
		return world_fail(world, "cannot turn offload off: %s", strerror(errno));
	/* TSO goes with checksums, so there may be nothing left to switch. */
	(void)ethtool(node, name, ETHTOOL_STSO);
	(void)ethtool(node, name, ETHTOOL_SGSO);
	(void)ethtool(node, name, ETHTOOL_SGRO);
	return true;
}

/*
 * A carrier that comes or goes is dealt with by a kernel worker in its own time; until then an
 * interface that is up drops what it is given.  Asking for the link state does that work first.
 */
void link_sync(struct world *world, uint32_t link)
{
	for (unsigned e = 0; e < 2; e++) {
		struct end end = link_end(world, link, e);

		if (end.at)
			(void)ethtool(end.at, end.name, ETHTOOL_GLINK);
	}
}

bool link_stats(struct world *world, uint32_t link, struct weft_lab_end_stats ends[2])
{
	if (link >= weft_topo_shape(world->topo)->links)
		return world_fail(world, "no link number %u", link);
	if (world->switches == WEFT_LAB_SWITCHES_SOFT)
		return soft_stats(world, link, ends);
	for (unsigned e = 0; e < 2; e++) {
		struct end end = link_end(world, link, e);

		if (!end.at)
			continue;
		if (!request_stats(&end.at->netlink, end.ifindex, &ends[e]) ||
			!request_queue_stats(&end.at->netlink, end.ifindex, &ends[e]))
			return world_fail(world, "counters: %s", strerror(errno));
		if (end.at->xdp)
			program_stats(end.at, weft_topo_link(world->topo, link).port[e], &ends[e]);
	}
	return true;
}

static bool set_sysctls(struct world *world, bool is_switch)
{
	static const struct {
		const char *path, *value;
		bool optional, switches_only;
	} all[] = {
		{ "ipv6/conf/default/addr_gen_mode", "1", false, false }, /* none */
		{ "ipv6/conf/default/accept_dad", "0", false, false },
		{ "ipv6/conf/default/accept_ra", "0", true, false },
		{ "ipv6/conf/all/accept_dad", "0", true, false },
		/* A T0 stops sharing host-address flows onto an uplink that has no carrier. */
		{ "ipv6/conf/default/ignore_routes_with_linkdown", "1", true, true },
		{ "ipv6/conf/all/ignore_routes_with_linkdown", "1", true, true },
		{ "ipv6/conf/all/forwarding", "1", false, true },
	};

	for (size_t i = 0; i < WEFT_COUNT(all); i++) {
		if ((all[i].switches_only && !is_switch) ||
			world_sysctl(all[i].path, all[i].value) || all[i].optional)
			continue;
		return world_fail(
			world, "cannot write /proc/sys/net/%s: %s", all[i].path, strerror(errno));
	}
	return true;
}

bool node_open(struct world *world, struct node *node)
{
	node->ns_fd = node->control_fd = -1;
	if (unshare(CLONE_NEWNET))
		return world_fail(world, "cannot make a network namespace: %s", strerror(errno));
	node->ns_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	node->control_fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (node->ns_fd < 0 || node->control_fd < 0 || !netlink_open(&node->netlink))
		return world_fail(world, "cannot use a network namespace: %s", strerror(errno));
	return true;
}

void node_close(struct node *node)
{
	program_close(node);
	netlink_close(&node->netlink);
	if (node->control_fd >= 0)
		(void)close(node->control_fd);
	if (node->ns_fd >= 0)
		(void)close(node->ns_fd);
	free(node->now);
	free(node->want);
	*node = (struct node){ .ns_fd = -1, .control_fd = -1 };
}

static bool make_ports(struct world *world, uint32_t node)
{
	struct node *n = &world->nodes[node];

	n->ports = weft_topo_node(world->topo, node).ports;
	n->now = calloc(n->ports, sizeof(*n->now));
	n->want = calloc(n->ports, sizeof(*n->want));
	return (n->now && n->want) || world_fail(world, "out of memory");
}

static bool make_node(struct world *world, uint32_t node)
{
	struct node *n = &world->nodes[node];
	/* Where a program switches, the kernel is to get nothing and to forward nothing. */
	bool is_switch = node >= weft_topo_shape(world->topo)->hosts &&
			 world->switches == WEFT_LAB_SWITCHES_KERNEL;
	struct batch batch;

	if (!node_open(world, n) || !set_sysctls(world, is_switch))
		return false;
	batch_begin(&batch, &n->netlink);
	request_link_state(&batch, LO_IFINDEX, true);
	if (is_switch) {
		const struct veth_end ends[2] = {
			{ n->ns_fd, SID_IFINDEX, "sid0", { 0x02, 0x51, 0, 0, 0, 0 } },
			{ n->ns_fd, SID_IFINDEX + 1, "sid1", { 0x02, 0x51, 0, 0, 0, 1 } },
		};

		request_veth(&batch, ends, weft_topo_shape(world->topo)->mtu_bytes);
		request_link_state(&batch, SID_IFINDEX + 1, true);
	}
	if (!batch_end(&batch))
		return world_fail(world, "%s", batch.text);
	if (is_switch)
		(void)ethtool(n, "sid0", ETHTOOL_GLINK);
	return true;
}

static bool make_links(struct world *world)
{
	const struct weft_topo_shape *s = weft_topo_shape(world->topo);
	struct batch batch;

	batch_begin(&batch, &world->nodes[0].netlink);
	for (uint32_t i = 0; i < s->links; i++) {
		struct end from[2] = { link_end(world, i, 0), link_end(world, i, 1) };
		struct veth_end ends[2];

		if (!from[0].at || !from[1].at)
			continue;
		for (unsigned e = 0; e < 2; e++) {
			ends[e].ns_fd = from[e].at->ns_fd;
			ends[e].ifindex = from[e].ifindex;
			ends[e].name = from[e].name;
			link_mac(i, e, ends[e].mac);
		}
		request_veth(&batch, ends, s->mtu_bytes);
	}
	return batch_end(&batch) || world_fail(world, "%s", batch.text);
}

uint64_t link_bps(const struct world *world, const struct weft_link *link)
{
	uint64_t bps = world->rate_bps ? world->rate_bps : link->bps;

	return bps <= WEFT_LAB_SHAPED_BPS_MAX ? bps : 0;
}

/* Neighbours, shapers, offloads and the table of one node. */
static bool finish_node(struct world *world, uint32_t node)
{
	const struct weft_topo_shape *s = weft_topo_shape(world->topo);
	struct node *n = &world->nodes[node];
	bool is_host = node < s->hosts, is_soft = world->switches == WEFT_LAB_SWITCHES_SOFT;
	bool is_program = !is_host && world->switches == WEFT_LAB_SWITCHES_XDP;
	struct batch batch;

	batch_begin(&batch, &n->netlink);
	for (uint32_t p = 0; p < n->ports; p++) {
		uint32_t link = weft_topo_port_link(world->topo, node, p);
		char name[16];

		if (link == WEFT_TOPO_NONE || !weft_topo_link(world->topo, link).cabled)
			continue;
		struct weft_link l = weft_topo_link(world->topo, link);
		uint64_t bps = link_bps(world, &l);

		port_name(world, node, p, name);
		if (!offloads_off(world, n, name))
			return false;
		request_link_state(&batch, port_ifindex(world, node, p), true);
		if (is_program) /* what it sends passes by neighbours and queues */
			continue;
		neighbour_write(world, node, p, &batch);
		if (!bps)
			continue;
		const struct shaper shaper = { bps, s->mtu_bytes + ETHERNET_BYTES,
			is_host ? HOST_QUEUE_BYTES : s->switch_queue_bytes,
			is_soft ? ETHERNET_GAP_BYTES : 0 };

		request_shaper(&batch, port_ifindex(world, node, p), &shaper);
	}
	if (!is_program)
		table_write(world, node, &batch);
	if (!batch_end(&batch))
		return world_fail(world, "%s", batch.text);
	return !is_program || program_open(world, node);
}

static void raise_fd_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static bool is_possible(struct world *world)
{
	const struct weft_topo_shape *s = weft_topo_shape(world->topo);
	bool is_soft = world->switches == WEFT_LAB_SWITCHES_SOFT;
	uint32_t spaces = is_soft ? s->hosts : s->nodes;

	if (world->switches != WEFT_LAB_SWITCHES_KERNEL && world->offloads)
		return world_fail(world,
			"%s switches read what is on the wire, and with offloads "
			"there are no checksums on it",
			weft_lab_switches_name(world->switches));
	if (world->rate_bps && world->rate_bps != WEFT_LAB_RATE_NONE &&
		(world->rate_bps < WEFT_TOPO_BPS_MIN || world->rate_bps > WEFT_TOPO_FREE_BPS))
		return world_fail(world,
			"a rate of %" PRIu64 " b/s, allowed: 1Mb/s to 400Gb/s, or none",
			world->rate_bps);
	return spaces <= WEFT_LAB_NODES_MAX ||
	       world_fail(world, "%u %s are too many for one machine, allowed: %u", spaces,
		       is_soft ? "hosts" : "hosts and switches", WEFT_LAB_NODES_MAX);
}

/* All namespaces, then all cables between them, then what needs cables. */
static bool build(struct world *world)
{
	const struct weft_topo_shape *s = weft_topo_shape(world->topo);
	bool is_soft = world->switches == WEFT_LAB_SWITCHES_SOFT;
	uint32_t spaces = is_soft ? s->hosts : s->nodes;

	for (uint32_t i = 0; i < s->nodes; i++) {
		if (!make_ports(world, i) || (i < spaces && !make_node(world, i)))
			return false;
	}
	if ((is_soft && !soft_make(world)) || !make_links(world))
		return false;
	for (uint32_t i = 0; i < spaces; i++) {
		if (!finish_node(world, i))
			return false;
	}
	if ((is_soft && !soft_finish(world)) || !front_open(world))
		return false;
	for (uint32_t i = 0; i < s->links; i++)
		link_sync(world, i);
	return true;
}

bool world_open(struct world *world, struct weft_topo *topo, const struct weft_lab_options *options)
{
	uint32_t nodes = weft_topo_shape(topo)->nodes;

	*world = (struct world){ .topo = topo,
		.rate_bps = options->rate_bps,
		.offloads = options->offloads,
		.switches = switches_choose(options),
		.soft = { .at = { .ns_fd = -1, .control_fd = -1 }, .pid_fd = -1 },
		.front = { .ns_fd = -1, .control_fd = -1 } };
	if (!is_possible(world))
		return false;
	raise_fd_limit();
	world->nodes = calloc(nodes, sizeof(*world->nodes));
	if (!world->nodes)
		return world_fail(world, "out of memory");
	for (; world->n_nodes < nodes; world->n_nodes++)
		world->nodes[world->n_nodes] = (struct node){ .ns_fd = -1, .control_fd = -1 };
	if (!build(world))
		return false;
	return world->switches != WEFT_LAB_SWITCHES_SOFT || soft_start(world, options->name);
}

void world_close(struct world *world)
{
	soft_close(world);
	node_close(&world->front);
	for (uint32_t i = 0; i < world->n_nodes; i++)
		node_close(&world->nodes[i]);
	free(world->nodes);
	weft_topo_close(world->topo);
	*world = (struct world){ 0 };
}
