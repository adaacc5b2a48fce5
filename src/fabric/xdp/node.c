/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * node - a switch of a fabric file: what src/fabric/network makes of it, in the kernel.
 *
 * Tables come from the file at the start and after each reboot, and from nowhere else.  Thresholds
 * are the network's.
 */
#include "xdp_local.h"

#include <weft/network.h>

#include <stdio.h>

static uint16_t sid_of(const struct weft_route *route)
{
	return (uint16_t)(route->prefix[4] << 8 | route->prefix[5]);
}

static bool is_sid(const struct weft_route *route)
{
	return route->kind == WEFT_ROUTE_END || route->kind == WEFT_ROUTE_UA ||
	       route->kind == WEFT_ROUTE_USID;
}

void weft_xdp_node_fill(struct weft_xdp *xdp, const struct weft_topo *topo, uint32_t node)
{
	struct weft_route route;

	for (uint32_t i = 0; weft_topo_route(topo, node, i, &route); i++) {
		struct weft_hop hop = { .kind = WEFT_HOP_PORT,
			.port = (uint16_t)route.port,
			.ports = (uint16_t)route.ports };

		if (route.kind == WEFT_ROUTE_END)
			hop.kind = WEFT_HOP_UN;
		else if (route.kind == WEFT_ROUTE_UA)
			hop.kind = WEFT_HOP_UA;
		else if (route.kind == WEFT_ROUTE_HOST && route.ports > 1)
			hop.kind = WEFT_HOP_HASH;
		/* topo names everything once, and there is room: we have counted. */
		if (is_sid(&route))
			WEFT_ASSERT(weft_xdp_sid_add(xdp, sid_of(&route), &hop));
		else if (route.kind == WEFT_ROUTE_HOST)
			WEFT_ASSERT(
				weft_xdp_prefix_add(xdp, route.prefix, route.prefix_bits, &hop));
	}
}

void weft_xdp_node_hole(struct weft_xdp *xdp, const struct weft_topo *topo, uint32_t node,
	uint32_t port, bool is_hole)
{
	struct weft_route route;

	for (uint32_t i = 0; weft_topo_route(topo, node, i, &route); i++) {
		if ((route.kind == WEFT_ROUTE_USID || route.kind == WEFT_ROUTE_UA) &&
			route.port == port)
			(void)weft_xdp_sid_hole(xdp, sid_of(&route), is_hole);
	}
}

static int set_ports(struct weft_xdp *xdp, const struct weft_topo *topo, uint32_t node,
	uint64_t rate_bps, const struct weft_xdp_cable cables[], char *error, size_t error_bytes)
{
	const struct weft_topo_shape *s = weft_topo_shape(topo);
	struct weft_network_manner manner = weft_network_manner(topo);

	manner.rate_bps = rate_bps;
	for (uint32_t p = 0; p < xdp->config.ports; p++) {
		const struct weft_xdp_cable *cable = &cables[p];
		struct weft_port_profile profile;
		struct weft_xdp_port setting = {
			.ifindex = cable->ifindex, .rate_bps = cable->rate_bps, .profile = &profile
		};

		if (!cable->ifindex)
			continue;
		struct weft_link link = weft_topo_link(topo, weft_topo_port_link(topo, node, p));
		bool is_last_hop = link.node[0] < s->hosts;

		if (!weft_network_profile(topo, &manner, is_last_hop, &profile)) {
			(void)snprintf(error, error_bytes, "%s: thresholds that no switch can have",
				s->name);
			return -1;
		}
		setting.is_peer = xdp->config.hook == WEFT_XDP_AT_TC && !is_last_hop;
		__builtin_memcpy(setting.mac, cable->mac, 6);
		__builtin_memcpy(setting.peer_mac, cable->peer_mac, 6);
		if (weft_xdp_port_set(xdp, p, &setting, error, error_bytes))
			return -1;
	}
	return 0;
}

int weft_xdp_node_open(struct weft_xdp **out, enum weft_xdp_hook hook, const struct weft_topo *topo,
	uint32_t node, uint64_t rate_bps, const struct weft_xdp_cable cables[], char *error,
	size_t error_bytes)
{
	const struct weft_topo_shape *s = weft_topo_shape(topo);
	struct weft_node info = weft_topo_node(topo, node);
	struct weft_xdp_config config = { .hook = hook,
		.ports = info.ports,
		.mtu_bytes = s->mtu_bytes,
		.seed = node * UINT64_C(0x9e3779b97f4a7c15),
		.dscp = WEFT_DSCP_DEFAULT };
	struct weft_route route;
	uint8_t addr[16];

	if (s->full == WEFT_FULL_PAUSE) {
		(void)snprintf(error, error_bytes,
			"%s: switch: full: pause: switches in the kernel cannot pause their "
			"neighbours, allowed: trim, drop",
			s->name);
		return -1;
	}
	weft_topo_host_usid(topo, 0, info.plane, addr);
	config.block = (uint32_t)addr[0] << 24 | (uint32_t)addr[1] << 16 | (uint32_t)addr[2] << 8 |
		       addr[3];
	for (uint32_t i = 0; weft_topo_route(topo, node, i, &route); i++) {
		config.sids += is_sid(&route);
		config.prefixes += route.kind == WEFT_ROUTE_HOST;
	}
	if (weft_xdp_open(out, &config, error, error_bytes))
		return -1;
	if (set_ports(*out, topo, node, rate_bps, cables, error, error_bytes)) {
		weft_xdp_close(*out);
		return -1;
	}
	weft_xdp_node_fill(*out, topo, node);
	return 0;
}
