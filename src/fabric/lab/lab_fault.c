/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lab_fault - from a list of faults to the state of every port, and back.
 *
 * Nothing is "done" or "undone" step by step.  The list of active faults says how every port
 * and switch should be; what differs from how they are is changed.  So faults may overlap in
 * any order: a port stays down until the last fault that wants it down is gone, and what comes
 * back is made from the fabric file, as a switch that boots would, never from notes taken
 * before.  (Setting a link down makes the kernel forget its routes and neighbours; that is why
 * there is something to make.)
 */
#include "lab_local.h"

#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

enum where { WHERE_LINK, WHERE_HOST_LINK, WHERE_HOST, WHERE_SWITCH, WHERE_PLANE };

static const struct {
	const char *name, *help;
	enum where where;
} kinds[] = {
	[WEFT_LAB_LINK_DOWN] = { "link-down", "LINK: the switch's end goes down, carrier is lost",
		WHERE_LINK },
	[WEFT_LAB_LOSS] = { "loss", "LINK: drop --percent of the packets that go --way",
		WHERE_LINK },
	[WEFT_LAB_BLACKHOLE] = { "blackhole",
		"LINK: its switch silently drops what it should send --way", WHERE_LINK },
	[WEFT_LAB_FREEZE] = { "freeze", "SWITCH: links stay up, nothing is forwarded",
		WHERE_SWITCH },
	[WEFT_LAB_REBOOT] = { "reboot", "SWITCH: carrier and tables lost, back after --for",
		WHERE_SWITCH },
	[WEFT_LAB_PLANE_DOWN] = { "plane-down", "PLANE: all its links lose carrier", WHERE_PLANE },
	[WEFT_LAB_PLANE_FREEZE] = { "plane-freeze", "PLANE: all its switches freeze", WHERE_PLANE },
	[WEFT_LAB_PORT_DOWN] = { "port-down", "HOST.pN: the host's end goes down",
		WHERE_HOST_LINK },
	[WEFT_LAB_NIC_DOWN] = { "nic-down", "HOST: all its ports go down", WHERE_HOST },
	[WEFT_LAB_SLOW] = { "slow", "LINK: carries --to RATE, both ways", WHERE_LINK },
	[WEFT_LAB_CORRUPT] = { "corrupt",
		"LINK: turn a bit in --percent of the packets that go --way", WHERE_LINK },
};
static_assert(WEFT_COUNT(kinds) == WEFT_LAB_FAULT_COUNT, "a new kind of fault needs a row");

static const char *const wheres[] = { "a link, like h0.p0 or p0.t0-0:t1-0",
	"a host's link, like h0.p0", "a host", "a switch", "a plane's number" };

const char *weft_lab_fault_name(enum weft_lab_fault_kind kind)
{
	return kind < WEFT_LAB_FAULT_COUNT ? kinds[kind].name : "?";
}

const char *weft_lab_fault_help(enum weft_lab_fault_kind kind)
{
	return kind < WEFT_LAB_FAULT_COUNT ? kinds[kind].help : "?";
}

static bool is_place(const struct weft_topo *topo, enum where where, uint32_t number)
{
	const struct weft_topo_shape *s = weft_topo_shape(topo);

	switch (where) {
	case WHERE_LINK:
		return number < s->links && weft_topo_link(topo, number).cabled;
	case WHERE_HOST_LINK:
		return number < s->hosts * s->planes && weft_topo_link(topo, number).cabled;
	case WHERE_HOST:
		return number < s->hosts;
	case WHERE_SWITCH:
		return number >= s->hosts && number < s->nodes;
	case WHERE_PLANE:
		return number < s->planes;
	}
	return false;
}

static uint32_t place_find(const struct weft_topo *topo, enum where where, const char *word)
{
	switch (where) {
	case WHERE_LINK:
	case WHERE_HOST_LINK:
		return weft_topo_link_find(topo, word);
	case WHERE_HOST:
	case WHERE_SWITCH:
		return weft_topo_node_find(topo, word);
	case WHERE_PLANE:
		return weft_topo_plane_find(topo, word);
	}
	return WEFT_TOPO_NONE;
}

int weft_lab_fault_parse(const struct weft_topo *topo, const char *kind, const char *where,
	struct weft_lab_fault *fault, char *error, size_t error_bytes)
{
	unsigned k = 0;

	while (k < WEFT_LAB_FAULT_COUNT && strcmp(kinds[k].name, kind))
		k++;
	if (k == WEFT_LAB_FAULT_COUNT) {
		(void)snprintf(error, error_bytes,
			"no fault '%s', `weft lab fault --help` lists them", kind);
		return -1;
	}
	*fault = (struct weft_lab_fault){ .kind = (enum weft_lab_fault_kind)k,
		.way = WEFT_WAY_UNSAID };
	fault->where = place_find(topo, kinds[k].where, where);
	if (k == WEFT_LAB_REBOOT)
		fault->for_ns = 200000000;
	if (is_place(topo, kinds[k].where, fault->where))
		return 0;
	(void)snprintf(error, error_bytes, "%s: '%s' is not %s of fabric %s", kind, where,
		wheres[kinds[k].where], weft_topo_shape(topo)->name);
	return -1;
}

void weft_lab_fault_text(
	const struct weft_topo *topo, const struct weft_lab_fault *fault, char *text, size_t bytes)
{
	enum where where = kinds[fault->kind].where;
	bool is_share = fault->kind == WEFT_LAB_LOSS || fault->kind == WEFT_LAB_CORRUPT;
	char place[WEFT_TOPO_NAME_BYTES], how[48] = "";
	const char *way = "";

	if (where == WHERE_PLANE)
		(void)snprintf(place, sizeof(place), "%u", fault->where);
	else if (where == WHERE_HOST || where == WHERE_SWITCH)
		weft_topo_node_name(topo, fault->where, place, sizeof(place));
	else
		weft_topo_link_name(topo, fault->where, place, sizeof(place));
	if (is_share)
		(void)snprintf(how, sizeof(how), " %g %% of", fault->loss_ppm / 1e4);
	if (fault->kind == WEFT_LAB_SLOW)
		(void)snprintf(how, sizeof(how), " to %g Mb/s:", (double)fault->rate_bps / 1e6);
	if (is_share || fault->kind == WEFT_LAB_BLACKHOLE)
		way = fault->way == WEFT_LAB_UP     ? " up"
		      : fault->way == WEFT_LAB_DOWN ? " down"
						    : " both ways";
	(void)snprintf(text, bytes, "%s%s %s%s", kinds[fault->kind].name, how, place, way);
}

bool fault_check(struct world *world, const struct weft_lab_fault *fault)
{
	if (fault->kind >= WEFT_LAB_FAULT_COUNT)
		return world_fail(world, "no such kind of fault");
	if (!is_place(world->topo, kinds[fault->kind].where, fault->where))
		return world_fail(world, "%s: where must be %s", kinds[fault->kind].name,
			wheres[kinds[fault->kind].where]);
	if ((fault->kind == WEFT_LAB_LOSS || fault->kind == WEFT_LAB_CORRUPT) &&
		(!fault->loss_ppm || fault->loss_ppm > 1000000 || !fault->way || fault->way > 3))
		return world_fail(world, "%s: wants more than 0 and up to 100 percent, and a way",
			kinds[fault->kind].name);
	if (fault->kind == WEFT_LAB_SLOW &&
		(fault->rate_bps < WEFT_TOPO_BPS_MIN || fault->rate_bps > WEFT_TOPO_FREE_BPS))
		return world_fail(world, "slow: wants a rate from 1Mb/s to 400Gb/s");
	if ((fault->kind == WEFT_LAB_SLOW || fault->kind == WEFT_LAB_CORRUPT) &&
		world->switches != WEFT_LAB_SWITCHES_SOFT)
		return world_fail(world, "%s: the switches of this lab cannot; soft ones can",
			kinds[fault->kind].name);
	if (fault->kind == WEFT_LAB_BLACKHOLE && (!fault->way || fault->way > 3))
		return world_fail(world, "blackhole: wants a way");
	if (fault->kind == WEFT_LAB_REBOOT && !fault->for_ns)
		return world_fail(world, "reboot: wants a time after which it is back");
	return true;
}

/* ---- what the faults want ---- */

static void want_ports_down(struct world *world, uint32_t node)
{
	for (uint32_t p = 0; p < world->nodes[node].ports; p++)
		world->nodes[node].want[p].down = true;
}

static void want_plane(struct world *world, const struct weft_lab_fault *fault)
{
	const struct weft_topo_shape *s = weft_topo_shape(world->topo);

	for (uint32_t i = 0; i < s->t0s; i++) {
		uint32_t t0 = weft_topo_t0(world->topo, fault->where, i);

		/* Every link of a plane has one end at a T0. */
		if (fault->kind == WEFT_LAB_PLANE_DOWN)
			want_ports_down(world, t0);
		else
			world->nodes[t0].want_frozen = true;
	}
	for (uint32_t i = 0; i < s->t1s && fault->kind == WEFT_LAB_PLANE_FREEZE; i++)
		world->nodes[weft_topo_t1(world->topo, fault->where, i)].want_frozen = true;
}

static void want_link(struct world *world, const struct weft_lab_fault *fault)
{
	struct weft_link l = weft_topo_link(world->topo, fault->where);
	struct port *lower = &world->nodes[l.node[0]].want[l.port[0]];
	struct port *upper = &world->nodes[l.node[1]].want[l.port[1]];

	switch (fault->kind) {
	case WEFT_LAB_LINK_DOWN:
		upper->down = true;
		break;
	case WEFT_LAB_PORT_DOWN:
		lower->down = true;
		break;
	case WEFT_LAB_BLACKHOLE:
		/* Before the way up from a host is no switch that could: the next one does. */
		if (fault->way & WEFT_LAB_UP && l.node[0] < weft_topo_shape(world->topo)->hosts)
			upper->loss_ppm = 1000000;
		else if (fault->way & WEFT_LAB_UP)
			lower->hole = true;
		upper->hole |= (fault->way & WEFT_LAB_DOWN) != 0;
		break;
	case WEFT_LAB_SLOW:
		if (!upper->rate_bps || fault->rate_bps < upper->rate_bps)
			upper->rate_bps = fault->rate_bps;
		break;
	case WEFT_LAB_CORRUPT:
		if (fault->way & WEFT_LAB_UP)
			upper->spoil_ppm = WEFT_MAX(upper->spoil_ppm, fault->loss_ppm);
		if (fault->way & WEFT_LAB_DOWN)
			lower->spoil_ppm = WEFT_MAX(lower->spoil_ppm, fault->loss_ppm);
		break;
	default: /* loss happens where packets come in */
		if (fault->way & WEFT_LAB_UP)
			upper->loss_ppm = WEFT_MAX(upper->loss_ppm, fault->loss_ppm);
		if (fault->way & WEFT_LAB_DOWN)
			lower->loss_ppm = WEFT_MAX(lower->loss_ppm, fault->loss_ppm);
		break;
	}
}

static void want_fault(struct world *world, const struct weft_lab_fault *fault)
{
	switch (fault->kind) {
	case WEFT_LAB_PLANE_DOWN:
	case WEFT_LAB_PLANE_FREEZE:
		want_plane(world, fault);
		break;
	case WEFT_LAB_FREEZE:
		world->nodes[fault->where].want_frozen = true;
		break;
	case WEFT_LAB_REBOOT:
		world->nodes[fault->where].want_bare = true;
		want_ports_down(world, fault->where);
		break;
	case WEFT_LAB_NIC_DOWN:
		want_ports_down(world, fault->where);
		break;
	default:
		want_link(world, fault);
		break;
	}
}

/* ---- making it so ---- */

static bool is_cabled_port(const struct world *world, uint32_t node, uint32_t port)
{
	uint32_t link = weft_topo_port_link(world->topo, node, port);

	return link != WEFT_TOPO_NONE && weft_topo_link(world->topo, link).cabled;
}

/* Forwarding first: a switch that dies does not first finish its work. */
static bool settle_forwarding(struct world *world, uint32_t node)
{
	struct node *n = &world->nodes[node];

	if (n->frozen == n->want_frozen)
		return true;
	if (n->xdp) {
		program_freeze(n);
		return true;
	}
	if (!world_enter(world, node))
		return false;
	if (!world_sysctl("ipv6/conf/all/forwarding", n->want_frozen ? "0" : "1"))
		return world_fail(world, "cannot switch forwarding");
	n->frozen = n->want_frozen;
	return true;
}

/* Interfaces.  moved: some went up or down; back: some came up, and have forgotten their routes. */
static bool settle_links(struct world *world, uint32_t node, bool *moved, bool *back)
{
	struct node *n = &world->nodes[node];
	struct batch batch;

	batch_begin(&batch, &n->netlink);
	for (uint32_t p = 0; p < n->ports; p++) {
		bool down = n->want[p].down;

		if (!is_cabled_port(world, node, p) || n->now[p].down == down)
			continue;
		request_link_state(&batch, port_ifindex(world, node, p), !down);
		if (!down && !n->xdp)
			neighbour_write(world, node, p, &batch);
		*moved = true;
		*back |= !down;
		n->now[p].down = down;
	}
	return batch_end(&batch) || world_fail(world, "%s", batch.text);
}

/* The kernel's table, and what it loses. */
static bool settle_table(struct world *world, uint32_t node, bool back)
{
	struct node *n = &world->nodes[node];
	bool lost = false, table = back, ok = true;
	struct batch batch;

	for (uint32_t p = 0; p < n->ports; p++) {
		if (!is_cabled_port(world, node, p))
			continue;
		table |= n->now[p].hole != n->want[p].hole;
		/* Soft switches lose what is lost on cables. */
		lost |= n->now[p].loss_ppm != n->want[p].loss_ppm &&
			world->switches != WEFT_LAB_SWITCHES_SOFT;
		n->now[p].hole = n->want[p].hole;
	}
	if (n->want_bare && !n->bare) {
		/* Ports that are down have lost theirs already: those are not there to remove. */
		batch_begin(&batch, &n->netlink);
		table_remove(world, node, &batch);
		(void)batch_end(&batch);
	} else if (!n->want_bare && (table || n->bare)) {
		batch_begin(&batch, &n->netlink);
		table_write(world, node, &batch);
		if (!batch_end(&batch))
			ok = world_fail(world, "%s", batch.text);
	}
	n->bare = n->want_bare;
	return (!lost || loss_set(world, node)) && ok;
}

static bool settle_ports(struct world *world, uint32_t node)
{
	struct node *n = &world->nodes[node];
	bool moved = false, back = false;
	bool ok = settle_links(world, node, &moved, &back);

	ok &= n->xdp ? program_settle(world, node) : settle_table(world, node, back);
	for (uint32_t p = 0; p < n->ports && moved; p++) {
		if (is_cabled_port(world, node, p))
			link_sync(world, weft_topo_port_link(world->topo, node, p));
	}
	return ok;
}

static bool settle(struct world *world)
{
	bool is_soft = world->switches == WEFT_LAB_SWITCHES_SOFT;
	uint32_t spaces = is_soft ? weft_topo_shape(world->topo)->hosts : world->n_nodes;
	bool ok = true;

	for (uint32_t i = 0; i < world->n_nodes; i++) {
		struct node *n = &world->nodes[i];

		n->want_frozen = n->want_bare = false;
		memset(n->want, 0, n->ports * sizeof(*n->want));
	}
	for (uint32_t i = 0; i < world->n_faults; i++)
		want_fault(world, &world->faults[i]);
	for (uint32_t i = 0; i < spaces; i++)
		ok &= settle_forwarding(world, i);
	for (uint32_t i = 0; i < spaces; i++)
		ok &= settle_ports(world, i);
	return (!is_soft || soft_settle(world)) && ok;
}

/* ---- when it was so ---- */

static struct weft_lab_record *record_of(struct world *world, uint32_t id)
{
	return &world->records[id % WEFT_LAB_RECORDS_MAX];
}

/* These are about to be lifted; or, settled, they have been. */
static void note_end(struct world *world, const uint32_t ids[], uint32_t n, bool is_over)
{
	for (uint32_t i = 0; i < n; i++) {
		struct weft_lab_record *r = record_of(world, ids[i]);

		if (r->id == ids[i])
			*(is_over ? &r->off_ns : &r->lift_ns) = clock_now_ns();
	}
}

/* What is left of the list is to be so. */
static bool lift(struct world *world, uint32_t kept, const uint32_t ids[], uint32_t n)
{
	world->n_faults = kept;
	note_end(world, ids, n, false);
	bool ok = settle(world);

	if (ok)
		note_end(world, ids, n, true);
	return ok;
}

bool fault_record(struct world *world, uint32_t id, struct weft_lab_record *record)
{
	*record = *record_of(world, id);
	return (id && record->id == id) ||
	       world_fail(world, "fault number %u: not noted, or too long ago", id);
}

bool fault_add(
	struct world *world, const struct weft_lab_fault *fault, uint64_t now_ns, uint32_t *id)
{
	if (!fault_check(world, fault))
		return false;
	if (world->n_faults == WEFT_LAB_FAULTS_MAX)
		return world_fail(world, "%u faults at once, allowed: %u", world->n_faults,
			WEFT_LAB_FAULTS_MAX);
	struct weft_lab_fault *f = &world->faults[world->n_faults++];
	*f = *fault;
	f->id = *id = ++world->next_id;
	f->age_ns = now_ns;
	*record_of(world, f->id) = (struct weft_lab_record){ .id = f->id };
	if (!settle(world))
		return false;
	record_of(world, f->id)->on_ns = clock_now_ns();
	return true;
}

void fault_since(struct world *world, uint32_t id, uint64_t now_ns)
{
	for (uint32_t i = 0; i < world->n_faults; i++) {
		if (world->faults[i].id == id)
			world->faults[i].age_ns = now_ns;
	}
}

bool fault_undo(struct world *world, uint32_t id)
{
	uint32_t kept = 0, gone[WEFT_LAB_FAULTS_MAX], n = 0;

	for (uint32_t i = 0; i < world->n_faults; i++) {
		if (id && world->faults[i].id != id)
			world->faults[kept++] = world->faults[i];
		else
			gone[n++] = world->faults[i].id;
	}
	if (id && !n)
		return world_fail(world, "no fault number %u", id);
	return lift(world, kept, gone, n);
}

uint64_t fault_next_ns(const struct world *world)
{
	uint64_t next_ns = UINT64_MAX;

	for (uint32_t i = 0; i < world->n_faults; i++) {
		const struct weft_lab_fault *f = &world->faults[i];

		if (f->for_ns)
			next_ns = WEFT_MIN(next_ns, f->age_ns + f->for_ns);
	}
	return next_ns;
}

bool fault_expire(struct world *world, uint64_t now_ns)
{
	uint32_t kept = 0, gone[WEFT_LAB_FAULTS_MAX], n = 0;

	for (uint32_t i = 0; i < world->n_faults; i++) {
		const struct weft_lab_fault *f = &world->faults[i];

		if (!f->for_ns || f->age_ns + f->for_ns > now_ns)
			world->faults[kept++] = *f;
		else
			gone[n++] = f->id;
	}
	return !n || lift(world, kept, gone, n);
}
