/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * network_table - a switch's table out of the fabric file, at the start and after each reboot.
 *
 * Nothing else ever writes one: that a switch comes back with what it had is then no feature but
 * the lack of another source.  A host address behind several ports is shared by a hash of the
 * flow, as conventional fabrics do; that is how TCP crosses.
 */
#include "network_local.h"

static uint16_t sid_of(const struct weft_route *route)
{
	return (uint16_t)(route->prefix[4] << 8 | route->prefix[5]);
}

void table_count(const struct weft_topo *topo, uint32_t node, uint32_t *sids, uint32_t *prefixes)
{
	struct weft_route route;

	*sids = *prefixes = 0;
	for (uint32_t i = 0; weft_topo_route(topo, node, i, &route); i++) {
		*sids += route.kind == WEFT_ROUTE_END || route.kind == WEFT_ROUTE_UA ||
			 route.kind == WEFT_ROUTE_USID;
		*prefixes += route.kind == WEFT_ROUTE_HOST;
	}
}

void table_fill(const struct weft_topo *topo, uint32_t node, struct weft_switch *sw)
{
	struct weft_route route;

	for (uint32_t i = 0; weft_topo_route(topo, node, i, &route); i++) {
		struct weft_hop hop = {
			.kind = WEFT_HOP_PORT,
			.port = (uint16_t)route.port,
			.ports = (uint16_t)route.ports,
		};
		bool has_added = true;

		switch (route.kind) {
		case WEFT_ROUTE_END:
			hop = (struct weft_hop){ .kind = WEFT_HOP_UN };
			has_added = weft_switch_sid_add(sw, sid_of(&route), &hop);
			break;
		case WEFT_ROUTE_UA:
			hop.kind = WEFT_HOP_UA;
			has_added = weft_switch_sid_add(sw, sid_of(&route), &hop);
			break;
		case WEFT_ROUTE_USID:
			has_added = weft_switch_sid_add(sw, sid_of(&route), &hop);
			break;
		case WEFT_ROUTE_HOST:
			hop.kind = route.ports > 1 ? WEFT_HOP_HASH : WEFT_HOP_PORT;
			has_added =
				weft_switch_prefix_add(sw, route.prefix, route.prefix_bits, &hop);
			break;
		case WEFT_ROUTE_NONE:
		case WEFT_ROUTE_LOCAL: /* hosts have these */
			break;
		}
		WEFT_ASSERT(has_added); /* topo names everything once, and we have counted */
	}
}
