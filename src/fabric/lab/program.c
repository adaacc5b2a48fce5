/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * program - switches that are a program of ours in the kernel, at the ports of their namespace.
 *
 * Namespaces and cables are those of the kernel's switches, so faults of cables are too; tables,
 * queues and all other faults are the program's (weft/xdp.h), which is told how things should be
 * and not what has happened.  It sits at tc: between veths XDP costs twice as much.
 *
 * A cable that is down at either end is down for the program at both: it would hand frames to the
 * kernel, which drops them, uncounted.
 */
#include "lab_local.h"

#include <weft/xdp.h>

#include <stdlib.h>

bool program_open(struct world *world, uint32_t node)
{
	struct node *n = &world->nodes[node];
	uint64_t rate_bps = world->rate_bps == WEFT_LAB_RATE_NONE ? 0 : world->rate_bps;
	struct weft_xdp_cable *cables = calloc(n->ports, sizeof(*cables));

	if (!cables)
		return world_fail(world, "out of memory");
	for (uint32_t p = 0; p < n->ports; p++) {
		uint32_t link = weft_topo_port_link(world->topo, node, p);

		if (link == WEFT_TOPO_NONE || !weft_topo_link(world->topo, link).cabled)
			continue;
		struct weft_link l = weft_topo_link(world->topo, link);
		unsigned end = l.node[0] != node;

		cables[p].ifindex = (uint32_t)port_ifindex(world, node, p);
		cables[p].rate_bps = link_bps(world, &l);
		link_mac(link, end, cables[p].mac);
		link_mac(link, !end, cables[p].peer_mac);
	}
	bool ok = world_enter(world, node) &&
		  !weft_xdp_node_open(&n->xdp, WEFT_XDP_AT_TC, world->topo, node, rate_bps, cables,
			  world->error, sizeof(world->error));

	free(cables);
	return ok;
}

void program_close(struct node *node)
{
	weft_xdp_close(node->xdp);
	node->xdp = NULL;
}

static bool is_down(const struct world *world, uint32_t link)
{
	struct weft_link l = weft_topo_link(world->topo, link);

	return world->nodes[l.node[0]].want[l.port[0]].down ||
	       world->nodes[l.node[1]].want[l.port[1]].down;
}

/* False: more losses than the program has room for. */
static bool set_losses(struct world *world, uint32_t node)
{
	struct node *n = &world->nodes[node];

	weft_xdp_fault_clear(n->xdp);
	for (uint32_t p = 0; p < n->ports; p++) {
		struct weft_switch_fault fault = {
			.in_port = p, .out_port = WEFT_SWITCH_ANY, .loss_ppm = n->want[p].loss_ppm
		};

		if (fault.loss_ppm && !weft_xdp_fault_add(n->xdp, &fault))
			return world_fail(world, "losses at more than %u ports of one switch",
				WEFT_XDP_FAULTS_MAX);
		n->now[p].loss_ppm = n->want[p].loss_ppm;
	}
	return true;
}

void program_freeze(struct node *node)
{
	weft_xdp_freeze(node->xdp, node->want_frozen);
	node->frozen = node->want_frozen;
}

bool program_settle(struct world *world, uint32_t node)
{
	struct node *n = &world->nodes[node];
	bool lost = n->bare != n->want_bare, booted = n->bare && !n->want_bare;

	if (n->bare != n->want_bare)
		weft_xdp_reboot(n->xdp);
	if (booted)
		weft_xdp_node_fill(n->xdp, world->topo, node);
	n->bare = n->want_bare;
	for (uint32_t p = 0; p < n->ports; p++) {
		uint32_t link = weft_topo_port_link(world->topo, node, p);
		bool hole = n->want[p].hole;

		if (link == WEFT_TOPO_NONE || !weft_topo_link(world->topo, link).cabled)
			continue;
		weft_xdp_port_mark(n->xdp, p, !is_down(world, link));
		if (hole != n->now[p].hole || (booted && hole))
			weft_xdp_node_hole(n->xdp, world->topo, node, p, hole);
		n->now[p].hole = hole;
		lost |= n->now[p].loss_ppm != n->want[p].loss_ppm;
	}
	program_freeze(n); /* a reboot has thawed it */
	return !lost || set_losses(world, node);
}

void program_stats(const struct node *node, uint32_t port, struct weft_lab_end_stats *stats)
{
	struct weft_port_counters c;

	weft_xdp_port_counters(node->xdp, port, &c);
	stats->tx_packets = c.out_pkts;
	stats->tx_bytes = c.out_octets;
	stats->tx_dropped = c.out_discards;
	stats->rx_packets = c.in_pkts;
	stats->rx_bytes = c.in_octets;
	stats->rx_dropped = c.in_discards;
	stats->queue_dropped = stats->queue_bytes = 0;
	for (unsigned q = 0; q < WEFT_QUEUES; q++) {
		stats->queue_dropped += c.queue[q].drops;
		stats->queue_bytes += weft_xdp_depth_bytes(node->xdp, port, (enum weft_queue)q);
	}
}

int program_sids(struct world *world, uint32_t node, struct weft_lab_sid sids[], size_t n)
{
	struct weft_route route;
	size_t found = 0;

	for (uint32_t i = 0; weft_topo_route(world->topo, node, i, &route) && found < n; i++) {
		uint16_t usid = (uint16_t)(route.prefix[4] << 8 | route.prefix[5]);

		if (route.kind != WEFT_ROUTE_END && route.kind != WEFT_ROUTE_UA)
			continue;
		sids[found++] = (struct weft_lab_sid){ .packets = weft_xdp_sid_pkts(
							       world->nodes[node].xdp, usid),
			.usid = usid,
			.is_ua = route.kind == WEFT_ROUTE_UA };
	}
	return (int)found;
}
