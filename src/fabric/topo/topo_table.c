/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topo_table - what each node must know, once and for ever.
 *
 * A switch knows its own uSIDs and its neighbours' (uN), or its links' (uA), and nothing else: no
 * protocol, no alternative, no change when something fails; avoiding what is broken is the sender's
 * business.  The other kind of entry, for host addresses, exists for traffic that is not source
 * routed (TCP, the set-up of a connection); it shares flows over the uplinks, as conventional
 * fabrics do.
 */
#include "topo_local.h"

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

/* Over one link to the next switch or host: by its uSID there, or by the link's own here. */
static void set_next(const struct weft_topo *topo, struct weft_route *route, uint32_t node,
	uint32_t port, uint16_t neighbour)
{
	bool is_ua = topo->shape.behavior == WEFT_USID_UA;
	uint32_t plane = weft_topo_node(topo, node).plane;

	set_usid(topo, route, is_ua ? WEFT_ROUTE_UA : WEFT_ROUTE_USID, plane,
		is_ua ? usid_link(topo, plane, port) : neighbour);
	set_port(topo, route, node, port, 1);
}

/* What leads to a host's T0: its uN, or whatever the uAs of this plane begin with. */
static void set_first(
	const struct weft_topo *topo, struct weft_route *route, uint32_t host, uint32_t plane)
{
	const struct weft_topo_shape *s = &topo->shape;

	if (s->behavior == WEFT_USID_UA) {
		set_usid(topo, route, WEFT_ROUTE_USID, plane, usid_link(topo, plane, 0));
		route->prefix_bits = 32u + USID_LINK_BITS + s->plane_bits;
	} else {
		set_usid(topo, route, WEFT_ROUTE_USID, plane,
			usid_t0(topo, plane, host / s->hosts_per_t0 * s->parallel));
	}
	set_port(topo, route, host, plane, 1);
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
		set_first(topo, route, host, plane);
		break;
	default:
		set_host(route, addr, 48);
		set_port(topo, route, host, plane, 1);
		break;
	}
	return true;
}

/* uNs that a switch has; where links have uSIDs (uA), switches need none. */
static uint32_t own_usids(const struct weft_topo_shape *s)
{
	return s->behavior == WEFT_USID_UA ? 0 : s->parallel;
}

static bool t0_route(
	const struct weft_topo *topo, uint32_t node, uint32_t i, struct weft_route *route)
{
	const struct weft_topo_shape *s = &topo->shape;
	struct weft_node n = weft_topo_node(topo, node);
	uint32_t hosts = downlinks(topo, n.index), own = own_usids(s);
	uint8_t addr[16];

	if (i < own) {
		set_usid(topo, route, WEFT_ROUTE_END, n.plane,
			usid_t0(topo, n.plane, n.index * s->parallel + i));
		return true;
	}
	i -= own;
	if (i < s->uplinks) {
		set_next(topo, route, node, s->hosts_per_t0 + i, usid_t1(topo, n.plane, i));
		return true;
	}
	i -= s->uplinks;
	if (i < hosts) {
		set_next(topo, route, node, i, usid_host(topo, n.plane, i));
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
	uint32_t ports = s->t0s * s->parallel, own = own_usids(s);
	uint8_t addr[16];

	if (i < own) {
		set_usid(topo, route, WEFT_ROUTE_END, n.plane,
			usid_t1(topo, n.plane, n.index * s->parallel + i));
		return true;
	}
	i -= own;
	if (i < ports) {
		set_next(topo, route, node, i, usid_t0(topo, n.plane, i));
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
