/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fault - what breaks, cut into what happens to single nodes.
 *
 * A cable that is pulled is two ports that go down at the same instant; a frame on it is lost
 * because the port at its end is down when it arrives.  A switch that loses power is frozen, and
 * all its cables are pulled.  So nodes never need to know of each other, and a lane looks only
 * through the actions of its window.
 */
#include "local.h"

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
	bool is_link = fault->kind <= WEFT_SIM_LINK_RATE;

	if (fault->kind > WEFT_SIM_NODE_UP)
		return "no such kind of fault";
	if (fault->where >= (is_link ? sim->shape.links : sim->shape.nodes))
		return is_link ? "no such link" : "no such node";
	if (!is_link && fault->where < sim->shape.hosts)
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
			add(sim, f, f->where, 0, FREEZE);
			break;
		case WEFT_SIM_NODE_THAW:
			add(sim, f, f->where, 0, THAW);
			break;
		}
	}
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

	if (action->kind == PORT_RATE) {
		sim->host_lines[place] =
			(uint16_t)action->value; /* a line's number: see add_link() */
		return;
	}
	host->ports_up = action->kind == PORT_UP ? host->ports_up | bit : host->ports_up & ~bit;
	WEFT_ASSERT(!weft_port_mark(
		host->ep, action->port, action->kind == PORT_UP, action->at_ps / 1000));
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
		port++;
	}
}
