/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fault - cables, switches and paths that fail, at a moment and not at a caller's convenience.
 *
 * Each call first lets everything happen that comes before it.  What a fault strands is handed back
 * at once with its reason, so that a caller's buffers do not wait for a repair.
 *
 * A link is up if nobody has marked it down, the file has cabled it and both ends have power; that
 * is worked out anew after every change, because faults overlap: a cable that was cut before a
 * reboot is still cut after it.
 */
#include "local.h"

static void drain(struct weft_rack *rack, struct line *line)
{
	struct node *n = switch_node(rack, line->from);
	struct weft_departure departure;

	while (weft_switch_take(n->sw, line->from_port, now_of(rack), &departure)) {
		WEFT_ASSERT(departure.drop);
		give_back(rack, &departure.frame, line->from, n->plane, departure.drop);
	}
}

static void lose_flights(struct weft_rack *rack, struct line *line, uint32_t index, uint32_t plane)
{
	while (index != NONE) {
		uint32_t next = rack->flights[index].next;

		give_back(rack, &rack->flights[index].frame, line->from, plane,
			WEFT_FABRIC_DROP_PORT_DOWN);
		flight_free(rack, index);
		index = next;
	}
}

static void line_down(struct weft_rack *rack, struct line *line, uint32_t plane)
{
	if (!is_host(rack, line->from))
		line_settle(rack, line);
	line->flags &= (uint8_t)~LINE_UP;
	if (line->flags & LINE_ARRIVES)
		agenda_remove(&rack->agenda, what_of(rack, line, WHAT_ARRIVAL));
	line->flags &= (uint8_t)~LINE_ARRIVES;
	lose_flights(rack, line, line->head, plane);
	line->head = NONE;
	if (!is_host(rack, line->from)) {
		struct weft_switch *sw = switch_node(rack, line->from)->sw;

		weft_switch_port_mark(sw, line->from_port, false, now_of(rack));
		drain(rack, line);
		return;
	}
	struct nic *nic = &rack->nics[(line - rack->lines) / 2];

	lose_flights(rack, line, nic->held_head, plane);
	nic->held_head = NONE;
	nic->free_ps = WEFT_MIN(nic->free_ps, now_of(rack));
	line->flags &= (uint8_t)~LINE_PAUSED;
}

static void line_up(struct weft_rack *rack, struct line *line)
{
	line->flags |= LINE_UP;
	if (is_host(rack, line->from))
		return;
	weft_switch_port_mark(
		switch_node(rack, line->from)->sw, line->from_port, true, now_of(rack));
	if (line->flags & LINE_ASKED)
		pause_again(rack, line);
}

static bool has_power(const struct weft_rack *rack, uint32_t node)
{
	return is_host(rack, node) || !switch_node(rack, node)->is_off;
}

/* Makes a link what it should be by now. */
static void update_link(struct weft_rack *rack, uint32_t index)
{
	struct weft_link link = weft_topo_link(rack->config.topo, index);
	struct line *line = &rack->lines[2 * (size_t)index];
	bool is_up = link.cabled && !(line->flags & LINE_MARKED_DOWN) &&
		     has_power(rack, link.node[0]) && has_power(rack, link.node[1]);

	if (is_up == !!(line->flags & LINE_UP))
		return;
	for (unsigned way = 0; way < 2; way++) {
		if (is_up)
			line_up(rack, &line[way]);
		else
			line_down(rack, &line[way], link.plane);
	}
	for (unsigned end = 0; end < 2; end++)
		if (!is_host(rack, link.node[end]))
			pauses_send(rack, link.node[end]);
}

void weft_rack_link_mark(struct weft_rack *rack, uint32_t index, bool is_up, uint64_t now_ps)
{
	WEFT_ASSERT(index < rack->shape.links);
	struct line *line = &rack->lines[2 * (size_t)index];

	weft_rack_run(rack, now_ps);
	line->flags &= (uint8_t)~LINE_MARKED_DOWN;
	line->flags |= is_up ? 0 : LINE_MARKED_DOWN;
	update_link(rack, index);
}

bool weft_rack_link_is_up(const struct weft_rack *rack, uint32_t index)
{
	WEFT_ASSERT(index < rack->shape.links);
	return rack->lines[2 * (size_t)index].flags & LINE_UP;
}

void weft_rack_link_rate(struct weft_rack *rack, uint32_t index, uint64_t rate_bps)
{
	struct weft_link link = weft_topo_link(rack->config.topo, index);

	if (!rate_bps)
		rate_bps = rack->config.rate_bps ? rack->config.rate_bps : link.bps;
	WEFT_ASSERT(rate_bps >= 1000000);
	for (unsigned way = 0; way < 2; way++) {
		struct line *line = &rack->lines[2 * (size_t)index + way];

		line->rate_bps = rate_bps;
		if (is_host(rack, line->from)) {
			rack->nics[index].byte_ps_q16 = byte_ps_q16(rate_bps);
			continue;
		}
		line_settle(rack, line);
		weft_switch_port_rate(switch_node(rack, line->from)->sw, line->from_port, rate_bps);
	}
}

void weft_rack_link_loss(struct weft_rack *rack, uint32_t index, unsigned way, uint32_t loss_ppm)
{
	WEFT_ASSERT(index < rack->shape.links && loss_ppm <= 1000000);
	for (unsigned i = 0; i < 2; i++)
		if (way >> i & 1)
			rack->lines[2 * (size_t)index + i].loss_ppm = loss_ppm;
}

void weft_rack_link_spoil(struct weft_rack *rack, uint32_t index, unsigned way, uint32_t spoil_ppm)
{
	WEFT_ASSERT(index < rack->shape.links && spoil_ppm <= 1000000);
	for (unsigned i = 0; i < 2; i++)
		if (way >> i & 1)
			rack->lines[2 * (size_t)index + i].spoil_ppm = spoil_ppm;
}

static void hole(struct weft_rack *rack, const struct line *line, bool is_hole)
{
	struct weft_route route;

	if (is_host(rack, line->from))
		return;
	for (uint32_t i = 0; weft_topo_route(rack->config.topo, line->from, i, &route); i++) {
		uint16_t sid = (uint16_t)(route.prefix[4] << 8 | route.prefix[5]);

		if ((route.kind == WEFT_ROUTE_USID || route.kind == WEFT_ROUTE_UA) &&
			route.port == line->from_port)
			weft_switch_sid_hole(switch_node(rack, line->from)->sw, sid, is_hole);
	}
}

void weft_rack_link_hole(struct weft_rack *rack, uint32_t index, unsigned way, bool is_hole)
{
	WEFT_ASSERT(index < rack->shape.links);
	for (unsigned i = 0; i < 2; i++)
		if (way >> i & 1)
			hole(rack, &rack->lines[2 * (size_t)index + i], is_hole);
}

/* ---- switches ---- */

void weft_rack_freeze(struct weft_rack *rack, uint32_t node, bool is_frozen, uint64_t now_ps)
{
	struct node *n = switch_node(rack, node);

	weft_rack_run(rack, now_ps);
	if (n->is_off)
		return;
	node_settle(rack, node);
	weft_switch_freeze(n->sw, is_frozen, now_of(rack));
	for (uint32_t port = 0; port < n->ports; port++)
		if (n->lines[port] != NONE)
			line_due(rack, &rack->lines[n->lines[port]]);
}

void weft_rack_power(struct weft_rack *rack, uint32_t node, bool is_on, uint64_t now_ps)
{
	struct node *n = switch_node(rack, node);

	weft_rack_run(rack, now_ps);
	if (is_on == !n->is_off)
		return;
	n->is_off = !is_on;
	n->n_paths = 0;
	if (is_on) {
		table_fill(rack->config.topo, node, n->sw);
	} else {
		node_settle(rack, node);
		weft_switch_reboot(n->sw, now_of(rack));
		for (uint32_t port = 0; port < n->ports; port++)
			if (n->lines[port] != NONE)
				drain(rack, &rack->lines[n->lines[port]]);
	}
	for (uint32_t port = 0; port < n->ports; port++)
		if (n->lines[port] != NONE)
			update_link(rack, n->lines[port] / 2);
}

/* ---- paths ---- */

/* What tells the path's packets apart where they enter: where they come from, and all its uSIDs. */
static bool describe_path(const struct weft_rack *rack, uint32_t src, uint32_t dst, uint32_t ev,
	struct weft_switch_fault *fault)
{
	const struct weft_topo *topo = rack->config.topo;
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

bool weft_rack_path_loss(
	struct weft_rack *rack, uint32_t src, uint32_t dst, uint32_t ev, uint32_t loss_ppm)
{
	struct weft_switch_fault fault;

	WEFT_ASSERT(src < rack->shape.hosts && dst < rack->shape.hosts && loss_ppm <= 1000000);
	if (!describe_path(rack, src, dst, ev, &fault))
		return false;
	uint32_t node = weft_topo_host_t0(rack->config.topo, src, weft_ev_plane(ev));
	struct node *n = switch_node(rack, node);
	struct weft_switch_fault *paths = rack->paths[node - rack->shape.hosts];
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
