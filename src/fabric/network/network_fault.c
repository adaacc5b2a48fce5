/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * network_fault - cables, switches and paths that fail, at a moment and not at a caller's
 * convenience.
 *
 * Each call first lets everything happen that comes before it.  What a fault strands is handed back
 * at once with its reason, so that a caller's buffers do not wait for a repair.
 *
 * A link is up if nobody has marked it down, the file has cabled it and both ends have power; that
 * is worked out anew after every change, because faults overlap: a cable that was cut before a
 * reboot is still cut after it.
 */
#include "network_local.h"

static void drain(struct weft_network *network, struct line *line)
{
	struct node *n = switch_node(network, line->from);
	struct weft_departure departure;

	while (weft_switch_take(n->sw, line->from_port, now_of(network), &departure)) {
		WEFT_ASSERT(departure.drop);
		give_back(network, &departure.frame, line->from, n->plane, departure.drop);
	}
}

static void lose_flights(
	struct weft_network *network, struct line *line, uint32_t index, uint32_t plane)
{
	while (index != NONE) {
		uint32_t next = network->flights[index].next;

		give_back(network, &network->flights[index].frame, line->from, plane,
			WEFT_SWITCH_DROP_PORT_DOWN);
		flight_free(network, index);
		index = next;
	}
}

static void line_down(struct weft_network *network, struct line *line, uint32_t plane)
{
	if (!is_host(network, line->from))
		line_settle(network, line);
	line->flags &= (uint8_t)~LINE_UP;
	if (line->flags & LINE_ARRIVES)
		agenda_remove(&network->agenda, what_of(network, line, WHAT_ARRIVAL));
	line->flags &= (uint8_t)~LINE_ARRIVES;
	lose_flights(network, line, line->head, plane);
	line->head = NONE;
	if (!is_host(network, line->from)) {
		struct weft_switch *sw = switch_node(network, line->from)->sw;

		weft_switch_port_mark(sw, line->from_port, false, now_of(network));
		drain(network, line);
		return;
	}
	struct nic *nic = &network->nics[(line - network->lines) / 2];

	lose_flights(network, line, nic->held_head, plane);
	nic->held_head = NONE;
	nic->free_ps = WEFT_MIN(nic->free_ps, now_of(network));
	line->flags &= (uint8_t)~LINE_PAUSED;
}

static void line_up(struct weft_network *network, struct line *line)
{
	line->flags |= LINE_UP;
	if (is_host(network, line->from))
		return;
	weft_switch_port_mark(
		switch_node(network, line->from)->sw, line->from_port, true, now_of(network));
	if (line->flags & LINE_ASKED)
		pause_again(network, line);
}

static bool has_power(const struct weft_network *network, uint32_t node)
{
	return is_host(network, node) || !switch_node(network, node)->is_off;
}

/* Makes a link what it should be by now. */
static void update_link(struct weft_network *network, uint32_t index)
{
	struct weft_link link = weft_topo_link(network->config.topo, index);
	struct line *line = &network->lines[2 * (size_t)index];
	bool is_up = link.cabled && !(line->flags & LINE_MARKED_DOWN) &&
		     has_power(network, link.node[0]) && has_power(network, link.node[1]);

	if (is_up == !!(line->flags & LINE_UP))
		return;
	for (unsigned way = 0; way < 2; way++) {
		if (is_up)
			line_up(network, &line[way]);
		else
			line_down(network, &line[way], link.plane);
	}
	for (unsigned end = 0; end < 2; end++)
		if (!is_host(network, link.node[end]))
			pauses_send(network, link.node[end]);
}

void weft_network_link_mark(
	struct weft_network *network, uint32_t index, bool is_up, uint64_t now_ps)
{
	WEFT_ASSERT(index < network->shape.links);
	struct line *line = &network->lines[2 * (size_t)index];

	weft_network_run(network, now_ps);
	line->flags &= (uint8_t)~LINE_MARKED_DOWN;
	line->flags |= is_up ? 0 : LINE_MARKED_DOWN;
	update_link(network, index);
}

bool weft_network_link_is_up(const struct weft_network *network, uint32_t index)
{
	WEFT_ASSERT(index < network->shape.links);
	return network->lines[2 * (size_t)index].flags & LINE_UP;
}

void weft_network_link_rate(struct weft_network *network, uint32_t index, uint64_t rate_bps)
{
	struct weft_link link = weft_topo_link(network->config.topo, index);

	if (!rate_bps)
		rate_bps = network->config.rate_bps ? network->config.rate_bps : link.bps;
	WEFT_ASSERT(rate_bps >= 1000000);
	for (unsigned way = 0; way < 2; way++) {
		struct line *line = &network->lines[2 * (size_t)index + way];

		line->rate_bps = rate_bps;
		if (is_host(network, line->from)) {
			network->nics[index].byte_ps_q16 = byte_ps_q16(rate_bps);
			continue;
		}
		line_settle(network, line);
		weft_switch_port_rate(
			switch_node(network, line->from)->sw, line->from_port, rate_bps);
	}
}

void weft_network_link_loss(
	struct weft_network *network, uint32_t index, unsigned way, uint32_t loss_ppm)
{
	WEFT_ASSERT(index < network->shape.links && loss_ppm <= 1000000);
	for (unsigned i = 0; i < 2; i++)
		if (way >> i & 1)
			network->lines[2 * (size_t)index + i].loss_ppm = loss_ppm;
}

void weft_network_link_spoil(
	struct weft_network *network, uint32_t index, unsigned way, uint32_t spoil_ppm)
{
	WEFT_ASSERT(index < network->shape.links && spoil_ppm <= 1000000);
	for (unsigned i = 0; i < 2; i++)
		if (way >> i & 1)
			network->lines[2 * (size_t)index + i].spoil_ppm = spoil_ppm;
}

static void hole(struct weft_network *network, const struct line *line, bool is_hole)
{
	struct weft_route route;

	if (is_host(network, line->from))
		return;
	for (uint32_t i = 0; weft_topo_route(network->config.topo, line->from, i, &route); i++) {
		uint16_t sid = (uint16_t)(route.prefix[4] << 8 | route.prefix[5]);

		if ((route.kind == WEFT_ROUTE_USID || route.kind == WEFT_ROUTE_UA) &&
			route.port == line->from_port)
			weft_switch_sid_hole(switch_node(network, line->from)->sw, sid, is_hole);
	}
}

void weft_network_link_hole(
	struct weft_network *network, uint32_t index, unsigned way, bool is_hole)
{
	WEFT_ASSERT(index < network->shape.links);
	for (unsigned i = 0; i < 2; i++)
		if (way >> i & 1)
			hole(network, &network->lines[2 * (size_t)index + i], is_hole);
}

/* ---- switches ---- */

void weft_network_freeze(
	struct weft_network *network, uint32_t node, bool is_frozen, uint64_t now_ps)
{
	struct node *n = switch_node(network, node);

	weft_network_run(network, now_ps);
	if (n->is_off)
		return;
	node_settle(network, node);
	weft_switch_freeze(n->sw, is_frozen, now_of(network));
	for (uint32_t port = 0; port < n->ports; port++)
		if (n->lines[port] != NONE)
			line_due(network, &network->lines[n->lines[port]]);
}

void weft_network_power(struct weft_network *network, uint32_t node, bool is_on, uint64_t now_ps)
{
	struct node *n = switch_node(network, node);

	weft_network_run(network, now_ps);
	if (is_on == !n->is_off)
		return;
	n->is_off = !is_on;
	n->n_paths = 0;
	if (is_on) {
		table_fill(network->config.topo, node, n->sw);
	} else {
		node_settle(network, node);
		weft_switch_reboot(n->sw, now_of(network));
		for (uint32_t port = 0; port < n->ports; port++)
			if (n->lines[port] != NONE)
				drain(network, &network->lines[n->lines[port]]);
	}
	for (uint32_t port = 0; port < n->ports; port++)
		if (n->lines[port] != NONE)
			update_link(network, n->lines[port] / 2);
}

/* ---- paths ---- */

/* What tells the path's packets apart where they enter: where they come from, and all its uSIDs. */
static bool describe_path(const struct weft_network *network, uint32_t src, uint32_t dst,
	uint32_t ev, struct weft_switch_fault *fault)
{
	const struct weft_topo *topo = network->config.topo;
	uint32_t links[4];
	size_t n = weft_topo_path_links(topo, src, dst, ev, links);
	uint8_t addr[16];

	if (!n || !weft_topo_usid(topo, src, dst, ev, addr))
		return false;
	*fault = (struct weft_switch_fault){
		.in_port = weft_topo_link(topo, links[0]).port[1],
		.out_port = WEFT_SWITCH_ANY,
		.route_mask = UINT64_MAX << (64 - 16 * n),
	};
	for (unsigned i = 4; i < 12; i++)
		fault->route = fault->route << 8 | addr[i];
	fault->route &= fault->route_mask;
	return true;
}

bool weft_network_path_loss(
	struct weft_network *network, uint32_t src, uint32_t dst, uint32_t ev, uint32_t loss_ppm)
{
	struct weft_switch_fault fault;

	WEFT_ASSERT(
		src < network->shape.hosts && dst < network->shape.hosts && loss_ppm <= 1000000);
	if (!describe_path(network, src, dst, ev, &fault))
		return false;
	uint32_t node = weft_topo_host_t0(network->config.topo, src, weft_ev_plane(ev));
	struct node *n = switch_node(network, node);
	struct weft_switch_fault *paths = network->paths[node - network->shape.hosts];
	uint32_t i = 0;

	fault.loss_ppm = loss_ppm;
	while (i < n->n_paths &&
		(paths[i].in_port != fault.in_port || paths[i].route != fault.route ||
			paths[i].route_mask != fault.route_mask))
		i++;
	if (i == WEFT_SWITCH_FAULTS_MAX)
		return !loss_ppm;
	if (loss_ppm) {
		paths[i] = fault;
		n->n_paths = WEFT_MAX(n->n_paths, i + 1);
	} else if (i < n->n_paths) {
		paths[i] = paths[--n->n_paths];
	}
	weft_switch_fault_clear(n->sw);
	for (i = 0; i < n->n_paths; i++) {
		bool has_added = weft_switch_fault_add(n->sw, &paths[i]);

		WEFT_ASSERT(has_added);
	}
	return true;
}
