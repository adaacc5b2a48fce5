/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report - what can be seen of the switches, as JSON.
 *
 * Counters have the names that SAI and so SONiC give them, because whoever asks for the counters of
 * a switch has tools that know those; reasons of drops have ours, because SAI has none as fine.
 * All numbers only grow, but for depth, watermarks and states.
 */
#include "switchd_local.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <string.h>

static void put(json_t *object, const char *key, uint64_t value)
{
	(void)json_object_set_new(object, key, json_integer((json_int_t)value));
}

static json_t *node_name(const struct weft_switchd *sw, uint32_t node)
{
	char name[WEFT_TOPO_NAME_BYTES];

	weft_topo_node_name(sw->topo, node, name, sizeof(name));
	return json_string(name);
}

static json_t *link_name(const struct weft_switchd *sw, uint32_t link)
{
	char name[WEFT_TOPO_NAME_BYTES];

	weft_topo_link_name(sw->topo, link, name, sizeof(name));
	return json_string(name);
}

/* ---- hello ---- */

static json_t *processes(const struct weft_switchd *sw)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < sw->nic.n; i++) {
		const struct process *p = sw->nic.list[i];
		json_t *one = json_object();

		(void)json_object_set_new(one, "host", node_name(sw, p->host));
		put(one, "udp_port", p->udp_port);
		put(one, "planes", p->planes);
		put(one, "sent", p->sent);
		put(one, "received", p->received);
		put(one, "slots", (uint64_t)p->lent + p->held);
		(void)json_array_append_new(list, one);
	}
	return list;
}

static json_t *interfaces(const struct weft_switchd *sw)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < sw->ifaces.n; i++) {
		const struct iface *f = &sw->ifaces.all[i];
		json_t *one;

		if (f->fd < 0)
			continue;
		one = json_object();
		(void)json_object_set_new(one, "interface", json_string(f->name));
		(void)json_object_set_new(one, "link", link_name(sw, f->link));
		put(one, "sent", f->sent);
		put(one, "received", f->received);
		(void)json_array_append_new(list, one);
	}
	return list;
}

json_t *report_hello(struct weft_switchd *sw)
{
	const struct weft_topo_shape *s = sw->shape;
	json_t *answer = json_object();

	(void)json_object_set_new(answer, "name", json_string(s->name));
	(void)json_object_set_new(answer, "fabric", json_string(sw->fabric));
	put(answer, "protocol", 1);
	put(answer, "hosts", s->hosts);
	put(answer, "switches", s->nodes - s->hosts);
	put(answer, "links", s->links);
	put(answer, "planes", s->planes);
	put(answer, "rate_bps", sw->rate_bps ? sw->rate_bps : s->host_bps);
	put(answer, "up_ns", real_now_ns() - sw->epoch_ns);
	put(answer, "slots", sw->slots.n);
	put(answer, "slots_free", sw->slots.n_free);
	put(answer, "processes_max", sw->nic.max);
	(void)json_object_set_new(answer, "processes", processes(sw));
	(void)json_object_set_new(answer, "interfaces", interfaces(sw));
	return answer;
}

/* ---- counters ---- */

static json_t *queue(const struct weft_switch *sw, const struct weft_port_counters *counters,
	uint32_t port, enum weft_queue q)
{
	json_t *object = json_object();
	const char *name;

	(void)json_object_set_new(
		object, "queue", json_string(q == WEFT_QUEUE_DATA ? "data" : "control"));
	put(object, "depth_bytes", weft_switch_depth_bytes(sw, port, q));
	for (unsigned i = 0; (name = weft_queue_counter_name(i)) != NULL; i++)
		put(object, name, weft_queue_counter_value(&counters->queue[q], i));
	return object;
}

static json_t *port(struct weft_switchd *sw, uint32_t node, uint32_t index, uint32_t link)
{
	const struct weft_switch *network_switch = weft_network_switch(sw->network, node);
	const struct weft_port_counters *counters =
		weft_switch_port_counters(network_switch, index);
	json_t *object = json_object(), *queues = json_array();
	const char *name;

	put(object, "port", index);
	(void)json_object_set_new(object, "link", link_name(sw, link));
	(void)json_object_set_new(
		object, "up", json_boolean(weft_network_link_is_up(sw->network, link)));
	for (unsigned i = 0; (name = weft_port_counter_name(i)) != NULL; i++)
		put(object, name, weft_port_counter_value(counters, i));
	for (unsigned q = 0; q < WEFT_QUEUES; q++)
		(void)json_array_append_new(
			queues, queue(network_switch, counters, index, (enum weft_queue)q));
	(void)json_object_set_new(object, "queues", queues);
	return object;
}

static json_t *one_switch(struct weft_switchd *sw, uint32_t node)
{
	const struct weft_switch *network_switch = weft_network_switch(sw->network, node);
	json_t *object = json_object(), *drops = json_object(), *ports = json_array();

	(void)json_object_set_new(object, "node", node_name(sw, node));
	(void)json_object_set_new(object, "power", json_boolean(!sw->is_off[node]));
	(void)json_object_set_new(object, "frozen", json_boolean(sw->is_frozen[node]));
	for (unsigned d = 1; d < WEFT_SWITCH_DROP_COUNT; d++)
		put(drops, weft_switch_drop_name((enum weft_switch_drop)d),
			weft_switch_drops(network_switch, (enum weft_switch_drop)d));
	(void)json_object_set_new(object, "drops", drops);
	for (uint32_t i = 0; i < weft_topo_node(sw->topo, node).ports; i++) {
		uint32_t link = weft_topo_port_link(sw->topo, node, i);

		if (link != WEFT_TOPO_NONE && weft_topo_link(sw->topo, link).cabled)
			(void)json_array_append_new(ports, port(sw, node, i, link));
	}
	(void)json_object_set_new(object, "ports", ports);
	return object;
}

/* What happens outside of any switch: on cables, and between cables and hosts. */
static json_t *edge(struct weft_switchd *sw)
{
	static const char *const keys[] = {
#define DROP(NAME, key, text) key,
		EDGE_DROPS(DROP)
#undef DROP
	};
	json_t *drops = json_object();

	sw->drops[EDGE_BAD_DESCRIPTOR] = nic_bad(sw);
	sw->drops[EDGE_CALLER] = weft_shm_door_turned_away(sw->nic.door);
	for (unsigned d = 0; d < EDGE_DROP_COUNT; d++)
		put(drops, keys[d], sw->drops[d]);
	return drops;
}

json_t *report_counters(struct weft_switchd *sw, uint32_t node)
{
	const struct weft_network_stats *stats = weft_network_stats(sw->network);
	json_t *answer = json_object(), *fabric = json_object(), *drops = json_object();
	json_t *switches = json_array();

	put(answer, "at_ns", real_now_ns());
	put(fabric, "sent", stats->sent);
	put(fabric, "arrived", stats->arrived);
	put(fabric, "dropped", stats->dropped);
	put(fabric, "hops", stats->hops);
	for (unsigned d = 1; d < WEFT_SWITCH_DROP_COUNT; d++)
		put(drops, weft_switch_drop_name((enum weft_switch_drop)d), stats->drops[d]);
	(void)json_object_set_new(fabric, "drops", drops);
	(void)json_object_set_new(answer, "fabric", fabric);
	(void)json_object_set_new(answer, "hosts", edge(sw));
	for (uint32_t i = sw->shape->hosts; i < sw->shape->nodes; i++) {
		if (node == WEFT_TOPO_NONE || node == i)
			(void)json_array_append_new(switches, one_switch(sw, i));
	}
	(void)json_object_set_new(answer, "switches", switches);
	return answer;
}

/* ---- tables ---- */

static json_t *entry(struct weft_switchd *sw, uint32_t node, const struct weft_route *route)
{
	static const char *const kinds[] = {
		[WEFT_ROUTE_END] = "end",
		[WEFT_ROUTE_UA] = "ua",
		[WEFT_ROUTE_USID] = "usid",
		[WEFT_ROUTE_HOST] = "host",
		[WEFT_ROUTE_LOCAL] = "local",
	};
	char text[INET6_ADDRSTRLEN] = "";
	json_t *object = json_object();
	bool is_usid = route->kind == WEFT_ROUTE_END || route->kind == WEFT_ROUTE_UA ||
		       route->kind == WEFT_ROUTE_USID;

	(void)inet_ntop(AF_INET6, route->prefix, text, sizeof(text));
	(void)json_object_set_new(
		object, "prefix", json_sprintf("%s/%u", text, route->prefix_bits));
	(void)json_object_set_new(object, "kind", json_string(kinds[route->kind]));
	if (route->ports) {
		(void)json_object_set_new(object, "link",
			link_name(sw, weft_topo_port_link(sw->topo, node, route->port)));
		put(object, "links", route->ports);
	}
	if (is_usid) {
		uint16_t sid = (uint16_t)(route->prefix[4] << 8 | route->prefix[5]);

		(void)json_object_set_new(object, "sid", json_sprintf("0x%04x", sid));
		put(object, "packets",
			weft_switch_sid_pkts(weft_network_switch(sw->network, node), sid));
	}
	return object;
}

json_t *report_table(struct weft_switchd *sw, uint32_t node)
{
	json_t *answer = json_object(), *entries = json_array();
	struct weft_route route;

	(void)json_object_set_new(answer, "node", node_name(sw, node));
	(void)json_object_set_new(answer, "power", json_boolean(!sw->is_off[node]));
	for (uint32_t i = 0; weft_topo_route(sw->topo, node, i, &route); i++) {
		if (route.kind != WEFT_ROUTE_NONE && !sw->is_off[node])
			(void)json_array_append_new(entries, entry(sw, node, &route));
	}
	(void)json_object_set_new(answer, "entries", entries);
	return answer;
}

/* ---- links ---- */

/* What a switch counts at its end of a cable; a host's end has nobody who counts. */
static json_t *end_counters(struct weft_switchd *sw, uint32_t node, uint32_t index)
{
	json_t *object = json_object();

	if (node < sw->shape->hosts)
		return object;
	const struct weft_switch *network_switch = weft_network_switch(sw->network, node);
	const struct weft_port_counters *c = weft_switch_port_counters(network_switch, index);

	put(object, "in_pkts", c->in_pkts);
	put(object, "in_octets", c->in_octets);
	put(object, "in_discards", c->in_discards);
	put(object, "out_pkts", c->out_pkts);
	put(object, "out_octets", c->out_octets);
	put(object, "out_discards", c->out_discards);
	put(object, "depth_bytes",
		(uint64_t)weft_switch_depth_bytes(network_switch, index, WEFT_QUEUE_DATA) +
			weft_switch_depth_bytes(network_switch, index, WEFT_QUEUE_CONTROL));
	return object;
}

/* Short, for who asks often: a picture of a transfer, fifty times a second. */
json_t *report_links(struct weft_switchd *sw)
{
	json_t *answer = json_object(), *links = json_array();

	for (uint32_t i = 0; i < sw->shape->links; i++) {
		struct weft_link l = weft_topo_link(sw->topo, i);
		const struct told *told = &sw->told[i];
		uint64_t built = sw->rate_bps ? sw->rate_bps : l.bps;
		json_t *one;

		if (!l.cabled)
			continue;
		one = json_object();
		(void)json_object_set_new(one, "link", link_name(sw, i));
		(void)json_object_set_new(
			one, "up", json_boolean(weft_network_link_is_up(sw->network, i)));
		put(one, "bps", told->rate_bps ? told->rate_bps : built);
		put(one, "built_bps", built);
		put(one, "loss_up_ppm", told->loss_ppm[0]);
		put(one, "loss_down_ppm", told->loss_ppm[1]);
		put(one, "spoil_up_ppm", told->spoil_ppm[0]);
		put(one, "spoil_down_ppm", told->spoil_ppm[1]);
		put(one, "hole", told->hole);
		(void)json_object_set_new(one, "lower", end_counters(sw, l.node[0], l.port[0]));
		(void)json_object_set_new(one, "upper", end_counters(sw, l.node[1], l.port[1]));
		(void)json_array_append_new(links, one);
	}
	(void)json_object_set_new(answer, "links", links);
	return answer;
}
