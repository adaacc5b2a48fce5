/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eyes - how things stand between two runs.
 *
 * Samples are taken by stopping, not by writing along: a run to the next moment and a look cost a
 * start of threads each, and nothing where nobody looks.  Depths are added up by tier and plane
 * because that is what a person can look at: a fabric of 131,072 hosts has four million ports.
 */
#include "local.h"

enum { TIER_UP, TIER_T1, TIER_DOWN };

static void look(
	const struct switch_node *node, uint32_t first, uint32_t end, struct weft_sim_tier *tier)
{
	for (uint32_t port = first; port < end; port++) {
		uint32_t bytes = weft_switch_depth_bytes(node->sw, port, WEFT_QUEUE_DATA);

		tier->waiting_bytes += bytes;
		tier->waiting_max_bytes = WEFT_MAX(tier->waiting_max_bytes, bytes);
	}
}

void weft_sim_queues(
	const struct weft_sim *sim, uint32_t plane, struct weft_sim_tier tiers[WEFT_SIM_TIERS])
{
	const struct weft_sim_config *c = &sim->config;

	WEFT_ASSERT(plane < sim->shape.planes);
	memset(tiers, 0, WEFT_SIM_TIERS * sizeof(*tiers));
	for (uint32_t i = 0; i < sim->shape.t0s; i++) {
		const struct switch_node *node =
			&sim->switches[weft_topo_t0(c->topo, plane, i) - sim->shape.hosts];
		uint32_t down = WEFT_MIN(sim->shape.hosts_per_t0, node->ports);

		look(node, 0, down, &tiers[TIER_DOWN]);
		look(node, down, node->ports, &tiers[TIER_UP]);
	}
	for (uint32_t i = 0; i < sim->shape.t1s; i++) {
		const struct switch_node *node =
			&sim->switches[weft_topo_t1(c->topo, plane, i) - sim->shape.hosts];

		look(node, 0, node->ports, &tiers[TIER_T1]);
	}
}

static void count(const struct weft_sim *sim, uint32_t node, struct weft_sim_plane *counts, int at)
{
	const struct weft_switch *sw = sim->switches[node - sim->shape.hosts].sw;
	const struct weft_port_counters *c = weft_switch_port_counters(sw, 0);

	counts->trimmed[at] += c->trimmed;
	counts->marked[at] += c->ecn_marked;
	for (unsigned drop = 1; drop < WEFT_FABRIC_DROP_COUNT; drop++)
		counts->dropped[at] += weft_switch_drops(sw, (enum weft_fabric_drop)drop);
}

void weft_sim_plane(const struct weft_sim *sim, uint32_t plane, struct weft_sim_plane *counts)
{
	WEFT_ASSERT(plane < sim->shape.planes);
	*counts = (struct weft_sim_plane){ 0 };
	for (uint32_t i = 0; i < sim->shape.t0s; i++)
		count(sim, weft_topo_t0(sim->config.topo, plane, i), counts, 0);
	for (uint32_t i = 0; i < sim->shape.t1s; i++)
		count(sim, weft_topo_t1(sim->config.topo, plane, i), counts, 1);
}

const struct weft_counters *weft_sim_host_counters(const struct weft_sim *sim, uint32_t host)
{
	WEFT_ASSERT(host < sim->shape.hosts);
	return sim->guests ? guest_counters(sim, host) : weft_stats(sim->hosts[host].ep);
}

bool weft_sim_flow_path(
	const struct weft_sim *sim, uint32_t flow, uint32_t index, struct weft_path_info *info)
{
	WEFT_ASSERT(flow < sim->n_flows);
	uint32_t conn = sim->wiring.conn_of[flow];

	if (conn == NONE) /* it computes */
		return false;
	const struct flow_end *end = &sim->wiring.flow_ends[(uint64_t)conn << 1];

	if (sim->config.rival.kind != WEFT_RIVAL_NONE)
		return false; /* rivals have no paths */
	return end->qpn &&
	       !weft_path_info(sim->hosts[sim->flows[flow].src].ep, end->set, index, info);
}
