/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * routes - which paths switches would choose by themselves: ECMP over what BGP has not withdrawn.
 *
 * Our switches are source routed.  In two tiers a switch chooses once for a packet that goes up:
 * which uplink of its T0; all else follows from the destination.  So a hash of the connection
 * taken by the sender picks the very path that a hash of the same fields taken by its T0 would
 * pick, and the packet can be sent along it as any other.  Between planes a host's bond chooses,
 * by a hash too.
 *
 * Routes are what has been announced.  A dead link is noticed after `detect` by the switch (or
 * bond) that it hangs on, which takes it out of its groups; all others hear of it `converge` later.
 * Until then flows that hash to it lose all they send.  The same delays pass before a link that is
 * mended carries anything; one that is mended before it was noticed was never gone (RFC 4271's hold
 * timer).  A host sees its own port go down at once.
 *
 * When all this happens is known before time begins, so it is a list; each lane walks it window by
 * window, and all hosts of a window see the same routes, whatever the number of threads.
 */
#include "sim_local.h"

#include <stdlib.h>

enum { TRIES = 8 };
#define GOLDEN32 UINT32_C(0x9e3779b1)

static bool is_dead(const struct lane *lane, bool is_far, uint32_t link)
{
	return lane->dead[is_far][link / 64] >> link % 64 & 1;
}

static uint32_t mix(uint32_t hash, uint32_t salt)
{
	hash ^= salt * GOLDEN32;
	hash = (hash ^ hash >> 16) * UINT32_C(0x85ebca6b);
	hash = (hash ^ hash >> 13) * UINT32_C(0xc2b2ae35);
	return hash ^ hash >> 16;
}

/* An even choice of n by a hash. */
static uint32_t choose(uint32_t hash, uint32_t salt, uint32_t n)
{
	return (uint32_t)((uint64_t)mix(hash, salt) * n >> 32);
}

struct pair {
	const struct lane *lane;
	const struct weft_topo_shape *s;
	const struct weft_topo *topo;
	uint32_t src, dst, from, to; /* hosts, and the numbers of their T0s */
	uint32_t hash;
};

static bool uplink_is_good(const struct pair *p, uint32_t plane, uint32_t uplink)
{
	uint32_t port = p->s->hosts_per_t0 + uplink;
	uint32_t up = weft_topo_port_link(p->topo, weft_topo_t0(p->topo, plane, p->from), port);
	uint32_t down = weft_topo_port_link(p->topo, weft_topo_t0(p->topo, plane, p->to), port);

	return !is_dead(p->lane, false, up) && !is_dead(p->lane, true, down);
}

/* The uplink of a plane that the hash falls on; NONE: none leads there. */
static uint32_t pick_uplink(const struct pair *p, uint32_t plane)
{
	uint32_t n = p->s->uplinks, first = (uint32_t)((uint64_t)p->hash * n >> 32);

	if (!p->lane->n_dead || uplink_is_good(p, plane, first))
		return first;
	for (uint32_t i = 1; i <= TRIES; i++) {
		uint32_t uplink = choose(p->hash, i, n);

		if (uplink_is_good(p, plane, uplink))
			return uplink;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (uplink_is_good(p, plane, (first + i) % n))
			return (first + i) % n;
	}
	return NONE;
}

/* The EV of a path in that plane; WEFT_BASELINE_NO_PATH: there is none. */
static uint32_t pick(const struct pair *p, uint32_t plane)
{
	if (p->lane->n_dead && (is_dead(p->lane, false, p->src * p->s->planes + plane) ||
				       is_dead(p->lane, true, p->dst * p->s->planes + plane)))
		return WEFT_BASELINE_NO_PATH;
	if (p->from == p->to)
		return weft_ev(plane, 0);
	uint32_t uplink = pick_uplink(p, plane);

	return uplink == NONE ? WEFT_BASELINE_NO_PATH : weft_ev(plane, uplink);
}

uint32_t routes_path(void *user, uint32_t peer, uint32_t plane, uint32_t hash, uint8_t *port)
{
	const struct route_asker *asker = user;
	const struct weft_sim *sim = asker->lane->sim;
	const struct weft_topo_shape *s = &sim->shape;
	struct pair p = { .lane = asker->lane,
		.s = s,
		.topo = sim->config.topo,
		.src = asker->host,
		.dst = peer,
		.from = sim->hosts[asker->host].t0,
		.to = sim->hosts[peer].t0,
		.hash = hash };
	uint32_t ev = WEFT_BASELINE_NO_PATH;

	if (plane != WEFT_BASELINE_ANY_PLANE) {
		*port = (uint8_t)plane;
		return pick(&p, plane);
	}
	uint32_t first = choose(hash, 100, s->planes);

	for (uint32_t i = 0; i < TRIES + s->planes && ev == WEFT_BASELINE_NO_PATH; i++) {
		plane = i < TRIES ? choose(hash, 100 + i, s->planes) : (first + i) % s->planes;
		ev = pick(&p, plane);
	}
	if (ev == WEFT_BASELINE_NO_PATH) { /* nothing leads there: the network will lose it */
		plane = first;
		ev = weft_ev(
			plane, p.from == p.to ? 0 : (uint32_t)((uint64_t)hash * s->uplinks >> 32));
	}
	*port = (uint8_t)plane;
	return ev;
}

/* ---- the list ---- */

static int by_time(const void *left, const void *right)
{
	const struct route_change *a = left, *b = right;

	if (a->at_ps != b->at_ps)
		return a->at_ps < b->at_ps ? -1 : 1;
	if (a->link != b->link)
		return a->link < b->link ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static void add(struct weft_sim *sim, uint32_t link, bool is_far, bool is_down,
	uint64_t happened_ps, uint64_t delay_ps)
{
	struct route_change *list = sim->route_changes;

	/* Mended before it was noticed: nobody has noticed. */
	for (uint32_t i = sim->n_route_changes; i-- && !is_down;) {
		if (list[i].link != link || list[i].is_far != is_far)
			continue;
		if (list[i].is_down && list[i].at_ps > happened_ps) {
			list[i] = list[--sim->n_route_changes];
			return;
		}
		break;
	}
	list[sim->n_route_changes] = (struct route_change){ .at_ps = happened_ps + delay_ps,
		.link = link,
		.order = sim->n_route_changes,
		.is_far = is_far,
		.is_down = is_down };
	sim->n_route_changes++;
}

static void add_link(
	struct weft_sim *sim, uint32_t link, bool is_down, bool is_silent, uint64_t at_ps)
{
	const struct weft_sim_config *c = &sim->config;
	bool is_host = link < sim->shape.hosts * sim->shape.planes;
	uint64_t near_ps = is_host && !is_silent ? 0 : c->bgp_detect_ps;

	add(sim, link, false, is_down, at_ps, near_ps);
	add(sim, link, true, is_down, at_ps, c->bgp_detect_ps + c->bgp_converge_ps);
}

static uint32_t ports_of(const struct weft_sim *sim, uint32_t node)
{
	return weft_topo_node(sim->config.topo, node).ports;
}

/* Two for each link that an action is about. */
static uint64_t count(const struct weft_sim *sim)
{
	uint64_t n = 2 * (uint64_t)sim->shape.links;

	for (uint32_t i = 0; i < sim->n_actions; i++) {
		bool is_switch = sim->actions[i].node >= sim->shape.hosts;
		bool is_all = is_switch &&
			      (sim->actions[i].kind == FREEZE || sim->actions[i].kind == THAW);

		n += 2 * (is_all ? ports_of(sim, sim->actions[i].node) : 1u);
	}
	return n;
}

static void add_action(struct weft_sim *sim, const struct action *a)
{
	const struct weft_topo *topo = sim->config.topo;

	if (a->kind == PORT_DOWN || a->kind == PORT_UP) {
		uint32_t link = weft_topo_port_link(topo, a->node, a->port);

		if (weft_topo_link(topo, link).node[0] == a->node) /* of the two ends, one */
			add_link(sim, link, a->kind == PORT_DOWN, false, a->at_ps);
	}
	if ((a->kind != FREEZE && a->kind != THAW) || a->node < sim->shape.hosts)
		return;
	for (uint32_t port = 0; port < ports_of(sim, a->node); port++) {
		uint32_t link = weft_topo_port_link(topo, a->node, port);

		if (link != WEFT_TOPO_NONE && weft_topo_link(topo, link).cabled)
			add_link(sim, link, a->kind == FREEZE, true, a->at_ps);
	}
}

bool routes_make(struct weft_sim *sim, char *error, size_t error_bytes)
{
	uint64_t words = WEFT_DIV_UP(sim->shape.links, 64u);

	sim->route_changes = take(sim, count(sim), sizeof(*sim->route_changes));
	if (!sim->route_changes)
		return plan_fail(error, error_bytes, "out of address space");
	for (uint32_t i = 0; i < sim->n_lanes; i++) {
		struct lane *lane = &sim->lanes[i];

		lane->dead[0] = take(sim, 2 * words, sizeof(uint64_t));
		if (!lane->dead[0])
			return plan_fail(error, error_bytes, "out of address space");
		lane->dead[1] = lane->dead[0] + words;
	}
	for (uint32_t link = 0; link < sim->shape.links; link++) {
		for (unsigned far = 0; far < 2 && !weft_topo_link(sim->config.topo, link).cabled;
			far++)
			add(sim, link, far, true, 0, 0);
	}
	for (uint32_t i = 0; i < sim->n_actions; i++)
		add_action(sim, &sim->actions[i]);
	qsort(sim->route_changes, sim->n_route_changes, sizeof(*sim->route_changes), by_time);
	return true;
}

void routes_advance(struct lane *lane)
{
	const struct weft_sim *sim = lane->sim;
	uint32_t i = lane->route_change;

	for (; i < sim->n_route_changes && sim->route_changes[i].at_ps <= lane->start_ps; i++) {
		const struct route_change *c = &sim->route_changes[i];
		uint64_t *word = &lane->dead[c->is_far][c->link / 64];
		uint64_t bit = UINT64_C(1) << c->link % 64;

		lane->n_dead += !(*word & bit) && c->is_down;
		lane->n_dead -= *word & bit && !c->is_down;
		*word = c->is_down ? *word | bit : *word & ~bit;
		lane->route_epoch++;
	}
	lane->route_change = i;
}
