/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_fault - what breaks, cut into what happens to single nodes.
 *
 * A cable that is pulled is two ports that go down at the same instant; a frame on it is lost
 * because the port at its end is down when it arrives.  A switch that loses power is frozen, and
 * all its cables are pulled.  So nodes never need to know of each other, and a lane looks only
 * through the actions of its window.
 *
 * A gray cable loses or spoils a share of what it carries, one way or both.  Dice are thrown where
 * a frame arrives, by a generator per port, so that neither threads nor other cables show in it.
 * What is spoilt goes on as far as its receiver, whose ICRC refuses it; switches read headers only.
 */
#include "sim_local.h"

#include <stdio.h>
#include <stdlib.h>

static uint32_t ports_of(const struct weft_topo *topo, uint32_t node)
{
	return weft_topo_node(topo, node).ports;
}

uint32_t fault_count(const struct weft_topo *topo, const struct weft_sim_fault faults[], uint32_t n)
{
	uint32_t actions = 0, nodes = weft_topo_shape(topo)->nodes;

	for (uint32_t i = 0; i < n; i++) {
		actions += 2;
		if ((faults[i].kind == WEFT_SIM_NODE_DOWN || faults[i].kind == WEFT_SIM_NODE_UP) &&
			faults[i].where < nodes)
			actions += 2 * ports_of(topo, faults[i].where);
	}
	return actions;
}

static void add(struct weft_sim *sim, const struct weft_sim_fault *fault, uint32_t node,
	uint32_t port, enum action_kind kind)
{
	struct action *action = &sim->actions[sim->n_actions];

	*action = (struct action){ .at_ps = fault->at_ps + WEFT_SIM_START_PS,
		.value = fault->value,
		.node = node,
		.order = sim->n_actions++,
		.port = (uint16_t)port,
		.kind = (uint8_t)kind };
}

static void add_link(struct weft_sim *sim, const struct weft_sim_fault *fault, uint32_t link,
	enum action_kind kind)
{
	struct weft_link l = weft_topo_link(sim->config.topo, link);

	for (unsigned end = 0; end < 2 && l.cabled; end++) {
		add(sim, fault, l.node[end], l.port[end], kind);
		if (kind == PORT_RATE && l.node[end] < sim->shape.hosts)
			sim->actions[sim->n_actions - 1].value =
				line_of(sim, fault->value, l.delay_ns);
	}
}

static void add_links(struct weft_sim *sim, const struct weft_sim_fault *fault, uint32_t node,
	enum action_kind kind)
{
	for (uint32_t port = 0; port < ports_of(sim->config.topo, node); port++) {
		uint32_t link = weft_topo_port_link(sim->config.topo, node, port);

		if (link != WEFT_TOPO_NONE)
			add_link(sim, fault, link, kind);
	}
}

static void add_gray(struct weft_sim *sim, const struct weft_sim_fault *fault)
{
	struct weft_link l = weft_topo_link(sim->config.topo, fault->where);
	enum action_kind kind = fault->kind == WEFT_SIM_LINK_LOSS ? PORT_LOSS : PORT_CORRUPT;

	/* What goes up arrives at the upper end, [1]. */
	for (unsigned end = 0; end < 2 && l.cabled; end++) {
		if (fault->value & (end ? WEFT_SIM_DOWN : WEFT_SIM_UP))
			continue;
		add(sim, fault, l.node[end], l.port[end], kind);
		sim->grays[sim->n_grays++] =
			(struct gray){ .node = l.node[end], .port = (uint16_t)l.port[end] };
	}
}

static int by_place(const void *left, const void *right)
{
	const struct gray *a = left, *b = right;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->port < b->port ? -1 : a->port > b->port;
}

/* Sorted, each port once. */
static void sort_grays(struct weft_sim *sim)
{
	uint32_t n = 0;

	qsort(sim->grays, sim->n_grays, sizeof(*sim->grays), by_place);
	for (uint32_t i = 0; i < sim->n_grays; i++) {
		if (!n || by_place(&sim->grays[n - 1], &sim->grays[i]))
			sim->grays[n++] = sim->grays[i];
	}
	sim->n_grays = n;
	for (uint32_t i = 0; i < n; i++)
		weft_rng_seed(&sim->grays[i].rng, sim->config.seed * UINT64_C(0x9e3779b97f4a7c15) +
							  ((uint64_t)sim->grays[i].node << 16) +
							  sim->grays[i].port);
}

static struct gray *gray_find(const struct weft_sim *sim, uint32_t node, uint32_t port)
{
	struct gray key = { .node = node, .port = (uint16_t)port };

	return bsearch(&key, sim->grays, sim->n_grays, sizeof(key), by_place);
}

bool fault_gray(const struct lane *lane, uint32_t node, uint32_t port, struct weft_frame *frame)
{
	struct gray *gray = gray_find(lane->sim, node, port);

	if (!gray)
		return true;
	if (gray->loss_ppm && weft_rng_chance(&gray->rng, gray->loss_ppm, 1000000))
		return false;
	if (gray->corrupt_ppm && weft_rng_chance(&gray->rng, gray->corrupt_ppm, 1000000))
		frame->flags |= FRAME_CORRUPT;
	return true;
}

static void set_gray(const struct lane *lane, uint32_t node, const struct action *action)
{
	struct gray *gray = gray_find(lane->sim, node, action->port);

	WEFT_ASSERT(gray);
	if (action->kind == PORT_LOSS)
		gray->loss_ppm = (uint32_t)action->value;
	else
		gray->corrupt_ppm = (uint32_t)action->value;
}

static int by_time(const void *left, const void *right)
{
	const struct action *a = left, *b = right;

	if (a->at_ps != b->at_ps)
		return a->at_ps < b->at_ps ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* What is wrong with it; NULL: nothing. */
static const char *judge(const struct weft_sim *sim, const struct weft_sim_fault *fault)
{
	bool is_gray = fault->kind == WEFT_SIM_LINK_LOSS || fault->kind == WEFT_SIM_LINK_CORRUPT;
	bool is_link = fault->kind <= WEFT_SIM_LINK_RATE || is_gray;
	bool is_host = fault->kind == WEFT_SIM_HOST_PAUSE || fault->kind == WEFT_SIM_HOST_RESUME;

	if (fault->kind >= WEFT_SIM_FAULTS)
		return "no such kind of fault";
	if (fault->where >= (is_link ? sim->shape.links : sim->shape.nodes))
		return is_link ? "no such link" : "no such node";
	if (is_host && fault->where >= sim->shape.hosts)
		return "a switch; only hosts pause";
	if (is_gray && (fault->value & ~(WEFT_SIM_UP | WEFT_SIM_DOWN)) > 1000000)
		return "more than 1000000 ppm";
	if (!is_link && !is_host && fault->where < sim->shape.hosts)
		return "a host; only switches freeze and lose power";
	if (fault->kind == WEFT_SIM_LINK_RATE && fault->value < 1000000)
		return "a rate below 1 Mb/s";
	return NULL;
}

bool fault_expand(struct weft_sim *sim, const struct weft_sim_fault faults[], uint32_t n,
	char *error, size_t error_bytes)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct weft_sim_fault *f = &faults[i];
		const char *wrong = judge(sim, f);

		if (wrong) {
			(void)snprintf(error, error_bytes, "fault %u: %u: %s", (unsigned)i + 1,
				(unsigned)f->where, wrong);
			return false;
		}
		switch ((enum weft_sim_fault_kind)f->kind) {
		case WEFT_SIM_LINK_DOWN:
			add_link(sim, f, f->where, PORT_DOWN);
			break;
		case WEFT_SIM_LINK_UP:
			add_link(sim, f, f->where, PORT_UP);
			break;
		case WEFT_SIM_LINK_RATE:
			add_link(sim, f, f->where, PORT_RATE);
			break;
		case WEFT_SIM_NODE_DOWN:
			add_links(sim, f, f->where, PORT_DOWN);
			add(sim, f, f->where, 0, FREEZE);
			break;
		case WEFT_SIM_NODE_UP:
			add(sim, f, f->where, 0, THAW);
			add_links(sim, f, f->where, PORT_UP);
			break;
		case WEFT_SIM_NODE_FREEZE:
		case WEFT_SIM_HOST_PAUSE:
			add(sim, f, f->where, 0, FREEZE);
			break;
		case WEFT_SIM_NODE_THAW:
		case WEFT_SIM_HOST_RESUME:
			add(sim, f, f->where, 0, THAW);
			break;
		case WEFT_SIM_LINK_LOSS:
		case WEFT_SIM_LINK_CORRUPT:
			add_gray(sim, f);
			break;
		case WEFT_SIM_FAULTS:
			break;
		}
	}
	sort_grays(sim);
	qsort(sim->actions, sim->n_actions, sizeof(*sim->actions), by_time);
	return true;
}

const struct action *fault_next(const struct lane *lane, uint32_t node, uint32_t *at)
{
	const struct weft_sim *sim = lane->sim;

	if (!(lane->acted[node / 64] >> node % 64 & 1))
		return NULL;
	while (*at < sim->n_actions && sim->actions[*at].at_ps < lane->end_ps) {
		const struct action *action = &sim->actions[(*at)++];

		if (action->node == node)
			return action;
	}
	return NULL;
}

void fault_host(struct lane *lane, uint32_t index, const struct action *action)
{
	struct weft_sim *sim = lane->sim;
	struct host *host = &sim->hosts[index];
	uint64_t place = (uint64_t)index * sim->shape.planes + action->port;
	uint32_t bit = 1u << action->port;

	switch ((enum action_kind)action->kind) {
	case PORT_RATE:
		sim->host_lines[place] =
			(uint16_t)action->value; /* a line's number: see add_link() */
		return;
	case PORT_LOSS:
	case PORT_CORRUPT:
		host->ports_gray |= (uint16_t)bit;
		set_gray(lane, index, action);
		return;
	case FREEZE:
	case THAW:
		host->is_paused = action->kind == FREEZE;
		host->wake_ps = host->is_paused ? WEFT_NEVER : action->at_ps;
		return;
	case PORT_UP:
		host->ports_up |= (uint16_t)bit;
		break;
	case PORT_DOWN:
		host->ports_up &= (uint16_t)~bit;
		break;
	}
	host->paused &= (uint16_t)~bit; /* a line that comes up is not paused */
	sim->kind->port_mark(
		host->state, action->port, action->kind == PORT_UP, action->at_ps);
	if (!host->is_paused)
		host->wake_ps = action->at_ps; /* it has something to say about that */
}

void fault_switch(struct lane *lane, uint32_t index, const struct action *action)
{
	struct switch_node *node = &lane->sim->switches[index - lane->sim->shape.hosts];
	uint64_t *down = &node->down[action->port / 64], bit = UINT64_C(1) << action->port % 64;
	uint32_t port = 0;

	switch ((enum action_kind)action->kind) {
	case PORT_DOWN:
		weft_switch_port_mark(node->sw, action->port, false, action->at_ps);
		*down |= bit;
		node->any_down = true;
		break;
	case PORT_UP:
		weft_switch_port_mark(node->sw, action->port, true, action->at_ps);
		*down &= ~bit;
		break;
	case PORT_RATE:
		weft_switch_port_rate(node->sw, action->port, action->value);
		break;
	case PORT_LOSS:
	case PORT_CORRUPT:
		node->any_gray = true;
		set_gray(lane, index, action);
		break;
	case FREEZE:
		weft_switch_freeze(node->sw, true, action->at_ps);
		break;
	case THAW:
		weft_switch_freeze(node->sw, false, action->at_ps);
		break;
	}
	/* What waits may leave now, or be handed back. */
	while ((port = weft_switch_busy_port(node->sw, port)) < node->ports) {
		node->busy[port / 64] |= UINT64_C(1) << port % 64;
		node->next_ps[port] = 0;
		port++;
	}
}
