/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table - what each node must know, once and for ever.
 *
 * A switch knows its own uSIDs, its neighbours' and nothing else: no protocol, no alternative,
 * no change when something fails; avoiding what is broken is the sender's business.  The second
 * kind of entry, for host addresses, exists for traffic that is not source routed (TCP, the
 * set-up of a connection); it shares flows over the uplinks as conventional fabrics do.
 */
#include "local.h"

#include <string.h>

static void set_usid(const struct weft_topo *topo, struct weft_route *route,
	enum weft_route_kind kind, uint32_t plane, uint16_t usid)
{
	*route = (struct weft_route){ .kind = kind, .prefix_bits = 48 };
	addr_put32(route->prefix, topo->blocks[plane]);
	addr_put16(route->prefix + 4, usid);
}

/* Turns the entry into an empty place where no cable is in any of its ports. */
static void set_port(const struct weft_topo *topo, struct weft_route *route, uint32_t node,
	uint32_t port, uint32_t ports)
{
	route->port = port;
	route->ports = ports;
	for (uint32_t i = port; i < port + ports; i++) {
		if (link_is_cabled(topo, weft_topo_port_link(topo, node, i)))
			return;
	}
	*route = (struct weft_route){ .kind = WEFT_ROUTE_NONE };
}

static void set_host(struct weft_route *route, const uint8_t addr[16], uint32_t prefix_bits)
{
	*route = (struct weft_route){ .kind = WEFT_ROUTE_HOST, .prefix_bits = prefix_bits };
	memcpy(route->prefix, addr, prefix_bits / 8);
}

/* Four entries per plane. */
static bool host_route(
	const struct weft_topo *topo, uint32_t host, uint32_t i, struct weft_route *route)
{
	const struct weft_topo_shape *s = &topo->shape;
	uint32_t plane = i / 4;
	uint8_t addr[16];

	if (plane >= s->planes)
		return false;
	weft_topo_host_addr(topo, host, plane, addr);
	switch (i % 4) {
	case 0:
		*route = (struct weft_route){ .kind = WEFT_ROUTE_LOCAL, .prefix_bits = 48 };
		weft_topo_host_usid(topo, host, plane, route->prefix);
		break;
	case 1:
		set_host(route, addr, 128);
		route->kind = WEFT_ROUTE_LOCAL;
		break;
	case 2:
		set_usid(topo, route, WEFT_ROUTE_USID, plane,
			usid_t0(topo, plane, host / s->hosts_per_t0 * s->parallel));
		set_port(topo, route, host, plane, 1);
		break;
	default:
		set_host(route, addr, 48);
		set_port(topo, route, host, plane, 1);
		break;
	}
	return true;
}

static bool t0_route(
	const struct weft_topo *topo, uint32_t node, uint32_t i, struct weft_route *route)
{
	const struct weft_topo_shape *s = &topo->shape;
	struct weft_node n = weft_topo_node(topo, node);
	uint32_t hosts = downlinks(topo, n.index);
	uint8_t addr[16];

	if (i < s->parallel) {
		set_usid(topo, route, WEFT_ROUTE_END, n.plane,
			usid_t0(topo, n.plane, n.index * s->parallel + i));
		return true;
	}
	i -= s->parallel;
	if (i < s->uplinks) {
		set_usid(topo, route, WEFT_ROUTE_USID, n.plane, usid_t1(topo, n.plane, i));
		set_port(topo, route, node, s->hosts_per_t0 + i, 1);
		return true;
	}
	i -= s->uplinks;
	if (i < hosts) {
		set_usid(topo, route, WEFT_ROUTE_USID, n.plane, usid_host(topo, n.plane, i));
		set_port(topo, route, node, i, 1);
		return true;
	}
	i -= hosts;
	if (i < hosts) {
		weft_topo_host_addr(topo, n.index * s->hosts_per_t0 + i, n.plane, addr);
		set_host(route, addr, 128);
		set_port(topo, route, node, i, 1);
		return true;
	}
	if (i > hosts || !s->uplinks)
		return false;
	weft_topo_host_addr(topo, 0, n.plane, addr);
	set_host(route, addr, 48);
	set_port(topo, route, node, s->hosts_per_t0, s->uplinks);
	return true;
}

static bool t1_route(
	const struct weft_topo *topo, uint32_t node, uint32_t i, struct weft_route *route)
{
	const struct weft_topo_shape *s = &topo->shape;
	struct weft_node n = weft_topo_node(topo, node);
	uint32_t ports = s->t0s * s->parallel;
	uint8_t addr[16];

	if (i < s->parallel) {
		set_usid(topo, route, WEFT_ROUTE_END, n.plane,
			usid_t1(topo, n.plane, n.index * s->parallel + i));
		return true;
	}
	i -= s->parallel;
	if (i < ports) {
		set_usid(topo, route, WEFT_ROUTE_USID, n.plane, usid_t0(topo, n.plane, i));
		set_port(topo, route, node, i, 1);
		return true;
	}
	i -= ports;
	if (i >= s->t0s)
		return false;
	weft_topo_host_addr(topo, 0, n.plane, addr);
	addr_put16(addr + 6, i);
	set_host(route, addr, 64);
	set_port(topo, route, node, i * s->parallel, s->parallel);
	return true;
}

bool weft_topo_route(
	const struct weft_topo *topo, uint32_t node, uint32_t i, struct weft_route *route)
{
	switch (weft_topo_node(topo, node).kind) {
	case WEFT_NODE_HOST:
		return host_route(topo, node, i, route);
	case WEFT_NODE_T0:
		return t0_route(topo, node, i, route);
	case WEFT_NODE_T1:
		return t1_route(topo, node, i, route);
	case WEFT_NODE_NONE:
		break;
	}
	return false;
}
