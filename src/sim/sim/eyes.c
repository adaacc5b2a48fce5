/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eyes - how things stand between two runs.
 *
 * Samples are taken by stopping, not by writing along: a run to the next moment and a look cost a
 * start of threads each, and nothing where nobody looks.  Depths are added up by tier and plane
 * because that is what a person can look at: a fabric of 131,072 hosts has four million ports.
 */
#include "ranks.h"

enum { TIER_UP, TIER_T1, TIER_DOWN };

static void look(
	const struct switch_node *node, uint32_t first, uint32_t end, struct weft_sim_tier *tier)
{
	for (uint32_t port = first; port < end && node->sw; port++) {
		uint32_t bytes = weft_switch_depth_bytes(node->sw, port, WEFT_QUEUE_DATA);

		tier->waiting_bytes += bytes;
		tier->waiting_max_bytes = WEFT_MAX(tier->waiting_max_bytes, bytes);
	}
}

/* What all ranks have seen of their own. */
static void share(const struct weft_sim *sim, struct weft_sim_tier tiers[WEFT_SIM_TIERS])
{
	struct weft_sim_letter in[WEFT_SIM_RANKS_MAX];
	struct weft_sim_tier own[WEFT_SIM_TIERS];

	memcpy(own, tiers, sizeof(own));
	ranks_tell(sim->config.ranks, own, sizeof(own), in);
	for (uint32_t rank = 0; rank < ranks_n(sim->config.ranks); rank++) {
		const struct weft_sim_tier *theirs = in[rank].at;

		if (rank == ranks_own(sim->config.ranks) || in[rank].bytes != sizeof(own))
			continue;
		for (unsigned i = 0; i < WEFT_SIM_TIERS; i++) {
			tiers[i].waiting_bytes += theirs[i].waiting_bytes;
			tiers[i].waiting_max_bytes =
				WEFT_MAX(tiers[i].waiting_max_bytes, theirs[i].waiting_max_bytes);
		}
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
	share(sim, tiers);
}

static void count(const struct weft_sim *sim, uint32_t node, struct weft_sim_plane *counts, int at)
{
	const struct weft_switch *sw = sim->switches[node - sim->shape.hosts].sw;

	if (!sw) /* another rank's */
		return;
	const struct weft_port_counters *c = weft_switch_port_counters(sw, 0);

	counts->trimmed[at] += c->trimmed;
	counts->marked[at] += c->ecn_marked;
	for (unsigned drop = 1; drop < WEFT_SWITCH_DROP_COUNT; drop++)
		counts->dropped[at] += weft_switch_drops(sw, (enum weft_switch_drop)drop);
}

void weft_sim_plane(const struct weft_sim *sim, uint32_t plane, struct weft_sim_plane *counts)
{
	WEFT_ASSERT(plane < sim->shape.planes);
	*counts = (struct weft_sim_plane){ 0 };
	for (uint32_t i = 0; i < sim->shape.t0s; i++)
		count(sim, weft_topo_t0(sim->config.topo, plane, i), counts, 0);
	for (uint32_t i = 0; i < sim->shape.t1s; i++)
		count(sim, weft_topo_t1(sim->config.topo, plane, i), counts, 1);
	weft_sim_sum(sim, (uint64_t *)counts, sizeof(*counts) / sizeof(uint64_t));
}

void weft_sim_host_counters(
	const struct weft_sim *sim, uint32_t host, struct weft_counters *counters)
{
	WEFT_ASSERT(host < sim->shape.hosts);
	*counters = (struct weft_counters){ 0 };
	if (owns_host(sim, host))
		sim->kind->counters(sim->hosts[host].state, counters);
}

static uint64_t received_bytes(const struct weft_sim *sim, uint32_t host)
{
	struct weft_counters c;

	weft_sim_host_counters(sim, host, &c);
	return c.rx_data_bytes;
}

static uint64_t came(const struct weft_sim *sim, uint32_t host, uint32_t end)
{
	return sim->kind->came(&sim->hosts[host], &sim->wiring.flow_ends[end]);
}

/* Shares out what a host has got. */
static void share_host(const struct weft_sim *sim, uint32_t host, uint64_t bytes[], uint32_t n_jobs)
{
	const struct wiring *w = &sim->wiring;
	uint64_t payload = received_bytes(sim, host);
	double all = 0;

	for (uint32_t i = w->ends_of[host]; i < w->ends_of[host + 1]; i++)
		all += w->ends[i] & 1 ? (double)came(sim, host, w->ends[i]) : 0;
	for (uint32_t i = w->ends_of[host]; i < w->ends_of[host + 1] && all > 0; i++) {
		uint32_t end = w->ends[i], job = w->conns[end >> 1].job;

		if (end & 1 && job < n_jobs)
			bytes[job] +=
				(uint64_t)((double)came(sim, host, end) * (double)payload / all);
	}
}

void weft_sim_jobs(const struct weft_sim *sim, uint64_t bytes[], uint32_t n_jobs)
{
	const struct wiring *w = &sim->wiring;

	memset(bytes, 0, n_jobs * sizeof(*bytes));
	for (uint32_t host = 0; host < sim->shape.hosts; host++) {
		uint32_t first = NONE;
		bool is_one = true;

		if (!owns_host(sim, host))
			continue;
		for (uint32_t i = w->ends_of[host]; i < w->ends_of[host + 1]; i++) {
			uint32_t job = w->conns[w->ends[i] >> 1].job;

			if (!(w->ends[i] & 1))
				continue;
			first = first == NONE ? job : first;
			is_one &= job == first;
		}
		if (first == NONE)
			continue;
		if (!is_one)
			share_host(sim, host, bytes, n_jobs);
		else if (first < n_jobs)
			bytes[first] += received_bytes(sim, host);
	}
	weft_sim_sum(sim, bytes, n_jobs);
}

struct sight {
	bool is_there;
	struct weft_path_info info;
};

static void look_at_path(
	const struct weft_sim *sim, uint32_t flow, uint32_t index, struct sight *sight)
{
	uint32_t conn = sim->wiring.conn_of[flow], src = sim->flows[flow].src;
	const struct flow_end *end = &sim->wiring.flow_ends[(uint64_t)conn << 1];

	sight->is_there = owns_host(sim, src) && end->qpn &&
			  !weft_path_info(sim->hosts[src].ep, end->set, index, &sight->info);
}

bool weft_sim_flow_path(
	const struct weft_sim *sim, uint32_t flow, uint32_t index, struct weft_path_info *info)
{
	struct weft_sim_letter in[WEFT_SIM_RANKS_MAX];
	struct sight own = { 0 };

	WEFT_ASSERT(flow < sim->n_flows);
	if (sim->wiring.conn_of[flow] == NONE) /* it computes */
		return false;
	look_at_path(sim, flow, index, &own);
	ranks_tell(sim->config.ranks, &own, sizeof(own), in);
	for (uint32_t rank = 0; rank < ranks_n(sim->config.ranks); rank++) {
		const struct sight *theirs = in[rank].at;

		if (in[rank].bytes != sizeof(own) || !theirs->is_there)
			continue;
		*info = theirs->info;
		return true;
	}
	return false;
}

/* Ends at one host that lead to the same peer share a set: it is looked at through one of them. */
static void count_set(const struct weft_sim *sim, uint32_t end, uint32_t host,
	uint64_t states[][WEFT_SIM_PATH_STATES])
{
	const struct flow_end *e = &sim->wiring.flow_ends[end];
	struct weft_path_info info;

	if (e->lead != end || !e->sends || !e->qpn || !owns_host(sim, host))
		return;
	for (uint32_t i = 0; !weft_path_info(sim->hosts[host].ep, e->set, i, &info); i++) {
		if (info.state != WEFT_PATH_EMPTY && info.port < sim->shape.planes)
			states[info.port][info.state - WEFT_PATH_GOOD]++;
	}
}

uint64_t weft_sim_paths(const struct weft_sim *sim, uint64_t states[][WEFT_SIM_PATH_STATES])
{
	uint32_t n = sim->shape.planes * WEFT_SIM_PATH_STATES;
	uint64_t *all = &states[0][0], sum = 0;

	memset(all, 0, n * sizeof(*all));
	for (uint32_t i = 0; i < sim->wiring.n_conns; i++) {
		count_set(sim, 2 * i, sim->wiring.conns[i].src, states);
		count_set(sim, 2 * i + 1, sim->wiring.conns[i].dst, states);
	}
	weft_sim_sum(sim, all, n);
	for (uint32_t i = 0; i < n; i++)
		sum += all[i];
	return sum;
}
