/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * result - what came of it.
 *
 * Everything is kept where it happens and added up when somebody asks.  The digest goes host by
 * host, each with its deliveries in their order, so that neither lanes nor the order in which nodes
 * were run can show in it.
 */
#include "local.h"

uint64_t weft_sim_flow_ps(const struct weft_sim *sim, uint32_t flow)
{
	WEFT_ASSERT(flow < sim->n_flows);
	const struct flow_state *s = &sim->flow_states[flow];

	return s->done_ps ? s->done_ps - s->started_ps : 0;
}

void weft_sim_flow_times(const struct weft_sim *sim, uint32_t flow, struct weft_sim_times *times)
{
	WEFT_ASSERT(flow < sim->n_flows);
	const struct flow_state *s = &sim->flow_states[flow];

	*times = (struct weft_sim_times){
		.started_ps = s->started_ps, .done_ps = s->done_ps, .arrived_ps = s->arrived_ps
	};
}

void weft_sim_messages(const struct weft_sim *sim, struct weft_hist *hist)
{
	weft_hist_init(hist);
	for (uint32_t i = 0; i < sim->n_lanes; i++)
		weft_hist_merge(hist, &sim->lanes[i].messages);
}

uint64_t weft_sim_host_digest(const struct weft_sim *sim, uint32_t host)
{
	WEFT_ASSERT(host < sim->shape.hosts);
	return sim->hosts[host].digest;
}

void weft_sim_totals(const struct weft_sim *sim, struct weft_sim_totals *totals)
{
	*totals = (struct weft_sim_totals){ .windows = sim->turns };
	for (uint32_t i = 0; i < sim->n_lanes; i++) {
		const struct lane *lane = &sim->lanes[i];

		totals->packet_hops += lane->packet_hops;
		totals->lost += lane->lost;
		totals->corrupt += lane->corrupt;
		totals->flows_done += lane->flows_done;
		totals->flows_failed += lane->flows_failed;
	}
	totals->now_ps = sim->lanes[0].end_ps - WEFT_SIM_START_PS;
	totals->packets_max = sim->slab.fresh;
	for (uint32_t i = 0; i < sim->shape.nodes - sim->shape.hosts; i++) {
		const struct weft_port_counters *c =
			weft_switch_port_counters(sim->switches[i].sw, 0);

		totals->trimmed += c->trimmed;
		totals->marked += c->ecn_marked;
	}
	for (uint32_t host = 0; host < sim->shape.hosts; host++)
		totals->digest =
			(totals->digest ^ sim->hosts[host].digest) * UINT64_C(0xbf58476d1ce4e5b9);
}

void weft_sim_counters(const struct weft_sim *sim, struct weft_counters *sum)
{
	uint64_t *to = (uint64_t *)sum;

	*sum = (struct weft_counters){ 0 };
	for (uint32_t host = 0; host < sim->shape.hosts; host++) {
		const struct weft_counters *c = sim->guests ? guest_counters(sim, host)
							    : weft_stats(sim->hosts[host].ep);
		const uint64_t *from = (const uint64_t *)c;

		for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
			to[i] += from[i];
	}
}

void weft_sim_check(const struct weft_sim *sim)
{
	for (uint32_t host = 0; host < sim->shape.hosts; host++)
		sim->guests ? weft_rival_check(sim->guests[host].rival)
			    : weft_check(sim->hosts[host].ep);
	for (uint32_t i = 0; i < sim->shape.nodes - sim->shape.hosts; i++)
		weft_switch_check(sim->switches[i].sw);
}
