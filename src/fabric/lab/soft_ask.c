/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_ask - what the keeper says to the soft switches, and what it reads there.
 *
 * Faults go the way they always go: the list says how everything should be, and what differs from
 * what the switches have been told is told.  A switch whose power comes back knows its table and no
 * faults, so what it had been told is forgotten here as well, and told again.
 *
 * Counters of all links are read at once and kept for a moment: who draws a picture asks for each
 * link in turn, and every answer costs the process that forwards some time.
 */
#include "lab_local.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <weft/switchd.h>

#define STATS_NS UINT64_C(2000000) /* how old what is told about links may be */

/* Takes over request.  NULL: world->error. */
static json_t *ask(struct world *world, json_t *request)
{
	json_t *answer = NULL;
	char error[ERROR_BYTES];

	if (!world->soft.pid)
		(void)world_fail(world, "the switches have ended: %s", world->soft.end);
	else if (!request)
		(void)world_fail(world, "out of memory");
	else if (weft_switchd_ask(world->soft.dir, request, &answer, error, sizeof(error))) {
		json_decref(answer);
		answer = NULL;
		(void)world_fail(world, "the switches: %s", error);
	}
	json_decref(request);
	return answer;
}

static bool tell(struct world *world, json_t *request)
{
	json_t *answer = ask(world, request);
	bool ok = answer != NULL;

	json_decref(answer);
	return ok;
}

/* ---- faults ---- */

static void want_link(const struct world *world, uint32_t link, struct soft_told *want)
{
	struct weft_link l = weft_topo_link(world->topo, link);
	const struct node *lower = &world->nodes[l.node[0]], *upper = &world->nodes[l.node[1]];
	bool is_core = l.node[0] >= weft_topo_shape(world->topo)->hosts;

	/* A host's own end is set down for real, and a switch without power needs no more words. */
	want->is_down = (upper->want[l.port[1]].down && !upper->want_bare) ||
			(is_core && lower->want[l.port[0]].down && !lower->want_bare);
	want->holes = (lower->want[l.port[0]].hole ? WEFT_LAB_UP : 0u) |
		      (upper->want[l.port[1]].hole ? WEFT_LAB_DOWN : 0u);
	want->loss_ppm[0] = upper->want[l.port[1]].loss_ppm;
	want->loss_ppm[1] = lower->want[l.port[0]].loss_ppm;
	want->spoil_ppm[0] = upper->want[l.port[1]].spoil_ppm;
	want->spoil_ppm[1] = lower->want[l.port[0]].spoil_ppm;
	want->rate_bps = upper->want[l.port[1]].rate_bps;
}

static bool tell_share(
	struct world *world, const char *op, const char *link, unsigned way, uint32_t ppm)
{
	return tell(world, json_pack("{s:s, s:s, s:i, s:i}", "op", op, "link", link, "way",
				   (int)way, "ppm", (int)ppm));
}

static bool settle_link(struct world *world, uint32_t link)
{
	struct soft_told *told = &world->soft.told[link], want;
	char name[WEFT_TOPO_NAME_BYTES];
	bool ok = true;

	want_link(world, link, &want);
	weft_topo_link_name(world->topo, link, name, sizeof(name));
	if (told->is_down != want.is_down)
		ok &= tell(world, json_pack("{s:s, s:s, s:b}", "op", "link", "link", name, "up",
					  !want.is_down));
	if (told->rate_bps != want.rate_bps)
		ok &= tell(world, json_pack("{s:s, s:s, s:I}", "op", "rate", "link", name, "bps",
					  (json_int_t)want.rate_bps));
	for (unsigned w = 0; w < 2; w++) {
		unsigned way = 1u << w;

		if (told->loss_ppm[w] != want.loss_ppm[w])
			ok &= tell_share(world, "loss", name, way, want.loss_ppm[w]);
		if (told->spoil_ppm[w] != want.spoil_ppm[w])
			ok &= tell_share(world, "spoil", name, way, want.spoil_ppm[w]);
		if ((told->holes ^ want.holes) & way)
			ok &= tell(world, json_pack("{s:s, s:s, s:i, s:b}", "op", "hole", "link",
						  name, "way", way, "on", (want.holes & way) != 0));
	}
	*told = want;
	return ok;
}

static bool settle_links(struct world *world)
{
	bool ok = true;

	for (uint32_t i = 0; i < weft_topo_shape(world->topo)->links; i++) {
		if (weft_topo_link(world->topo, i).cabled)
			ok &= settle_link(world, i);
	}
	return ok;
}

/* Its own faults are gone with its power. */
static void forget_node(struct world *world, uint32_t node)
{
	world->nodes[node].frozen = false;
	for (uint32_t p = 0; p < world->nodes[node].ports; p++) {
		uint32_t link = weft_topo_port_link(world->topo, node, p);

		if (link != WEFT_TOPO_NONE)
			world->soft.told[link].holes &=
				weft_topo_link(world->topo, link).node[0] == node ? WEFT_LAB_DOWN
										  : WEFT_LAB_UP;
	}
}

static bool settle_node(struct world *world, uint32_t node)
{
	struct node *n = &world->nodes[node];
	char name[WEFT_TOPO_NAME_BYTES];
	bool ok = true;

	weft_topo_node_name(world->topo, node, name, sizeof(name));
	if (n->bare != n->want_bare) {
		ok &= tell(world, json_pack("{s:s, s:s, s:b}", "op", "power", "node", name, "on",
					  !n->want_bare));
		forget_node(world, node);
	}
	if (n->frozen != n->want_frozen && !n->want_bare) {
		ok &= tell(world, json_pack("{s:s, s:s, s:b}", "op", "freeze", "node", name, "on",
					  n->want_frozen));
		n->frozen = n->want_frozen;
	}
	n->bare = n->want_bare;
	return ok;
}

bool soft_settle(struct world *world)
{
	const struct weft_topo_shape *s = weft_topo_shape(world->topo);
	bool ok = true;

	/* Links first: a switch that comes back must not for a moment see one that is down. */
	ok &= settle_links(world);
	for (uint32_t i = s->hosts; i < s->nodes; i++)
		ok &= settle_node(world, i);
	ok &= settle_links(world); /* what a switch forgot */
	/* Carriers of the hosts' own ends follow: they are to be seen when this returns. */
	for (uint32_t i = 0; i < s->hosts * s->planes; i++)
		link_sync(world, i);
	world->soft.stats_ns = 0;
	return ok;
}

/* ---- counters ---- */

static uint64_t number(const json_t *object, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(object, key));
}

static void read_port(const json_t *port, struct weft_lab_end_stats *stats)
{
	*stats = (struct weft_lab_end_stats){
		.tx_packets = number(port, "out_pkts"),
		.tx_bytes = number(port, "out_octets"),
		.rx_packets = number(port, "in_pkts"),
		.rx_bytes = number(port, "in_octets"),
		.rx_dropped = number(port, "in_discards"),
		.queue_dropped = number(port, "out_discards"),
		.queue_bytes = (uint32_t)number(port, "depth_bytes"),
	};
}

static void read_link(struct world *world, const json_t *one)
{
	const char *name = json_string_value(json_object_get(one, "link"));
	uint32_t link = name ? weft_topo_link_find(world->topo, name) : WEFT_TOPO_NONE;
	bool is_up = json_is_true(json_object_get(one, "up"));

	if (link == WEFT_TOPO_NONE)
		return;
	struct weft_lab_end_stats *ends = world->soft.stats[link];
	read_port(json_object_get(one, "lower"), &ends[0]);
	read_port(json_object_get(one, "upper"), &ends[1]);
	for (unsigned e = 0; e < 2; e++)
		ends[e].carrier = is_up;
	ends[0].up = ends[1].up = !world->soft.told[link].is_down;
}

static bool read_links(struct world *world)
{
	uint64_t now_ns = clock_now_ns();
	json_t *answer, *one;
	size_t i;

	if (world->soft.stats_ns && now_ns - world->soft.stats_ns < STATS_NS)
		return true;
	answer = ask(world, json_pack("{s:s}", "op", "links"));
	json_array_foreach(json_object_get(answer, "links"), i, one) read_link(world, one);
	world->soft.stats_ns = answer ? now_ns : 0;
	json_decref(answer);
	return world->soft.stats_ns;
}

bool soft_stats(struct world *world, uint32_t link, struct weft_lab_end_stats ends[2])
{
	struct end host = link_end(world, link, 0);
	struct weft_lab_end_stats kernel;

	if (world->soft.pid && !read_links(world))
		return false;
	memcpy(ends, world->soft.stats[link], 2 * sizeof(*ends));
	for (unsigned e = 0; e < 2 && !world->soft.pid; e++)
		ends[e].carrier = false;
	/* Programs reach the switches past the kernel: what a host sends is what its T0 gets. */
	if (!host.at || !request_stats(&host.at->netlink, host.ifindex, &kernel))
		return true;
	ends[0].up = kernel.up;
	ends[0].carrier = kernel.carrier;
	ends[0].tx_packets = ends[1].rx_packets;
	ends[0].tx_bytes = ends[1].rx_bytes;
	ends[0].rx_packets = ends[1].tx_packets;
	ends[0].rx_bytes = ends[1].tx_bytes;
	return true;
}

int soft_sids(struct world *world, uint32_t node, struct weft_lab_sid sids[], size_t n)
{
	char name[WEFT_TOPO_NAME_BYTES];
	json_t *answer, *one;
	size_t i, found = 0;

	weft_topo_node_name(world->topo, node, name, sizeof(name));
	answer = ask(world, json_pack("{s:s, s:s}", "op", "table", "node", name));
	if (!answer)
		return -1;
	json_array_foreach(json_object_get(answer, "entries"), i, one)
	{
		const char *kind = json_string_value(json_object_get(one, "kind"));
		const char *sid = json_string_value(json_object_get(one, "sid"));

		if (!kind || !sid || (strcmp(kind, "end") && strcmp(kind, "ua")) || found == n)
			continue;
		sids[found++] = (struct weft_lab_sid){ .packets = number(one, "packets"),
			.usid = (uint16_t)strtoul(sid, NULL, 16),
			.is_ua = !strcmp(kind, "ua") };
	}
	json_decref(answer);
	return (int)found;
}
