/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * result - what came of it.
 *
 * Everything is kept where it happens, on its rank too, and added up when somebody asks.  The
 * digest goes host by host, each with its deliveries in their order, so that neither lanes nor
 * ranks nor the order in which nodes were run can show in it.
 */
#include "ranks.h"

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
	struct weft_sim_letter in[WEFT_SIM_RANKS_MAX];
	struct weft_hist own;

	weft_hist_init(&own);
	for (uint32_t i = 0; i < sim->n_lanes; i++)
		weft_hist_merge(&own, &sim->lanes[i].messages);
	ranks_tell(sim->config.ranks, &own, sizeof(own), in);
	weft_hist_init(hist);
	for (uint32_t i = 0; i < ranks_n(sim->config.ranks); i++) {
		if (in[i].bytes == sizeof(own))
			weft_hist_merge(hist, in[i].at);
	}
}

uint64_t weft_sim_host_digest(const struct weft_sim *sim, uint32_t host)
{
	WEFT_ASSERT(host < sim->shape.hosts);
	return sim->hosts[host].digest;
}

/* Each rank goes on from where the one before it has ended, as if all hosts were here. */
static uint64_t digest_of(const struct weft_sim *sim)
{
	struct weft_sim_letter in[WEFT_SIM_RANKS_MAX];
	const struct weft_sim_ranks *ranks = sim->config.ranks;
	struct share own = plan_rank(&sim->config);
	uint64_t digest = 0;

	for (uint32_t rank = 0; rank < ranks_n(ranks); rank++) {
		for (uint32_t host = own.host_first; host < own.host_end; host++) {
			if (rank == ranks_own(ranks))
				digest = (digest ^ sim->hosts[host].digest) *
					 UINT64_C(0xbf58476d1ce4e5b9);
		}
		ranks_tell(ranks, &digest, sizeof(digest), in);
		if (in[rank].bytes == sizeof(digest))
			digest = *(const uint64_t *)in[rank].at;
	}
	return digest;
}

void weft_sim_totals(const struct weft_sim *sim, struct weft_sim_totals *totals)
{
	enum { HOPS, LOST, CORRUPT, PAUSES, DONE, FAILED, PACKETS, TRIMMED, MARKED, SUMS };
	uint64_t sums[SUMS] = { [PACKETS] = sim->slab.fresh };

	for (uint32_t i = 0; i < sim->n_lanes; i++) {
		const struct lane *lane = &sim->lanes[i];

		sums[HOPS] += lane->packet_hops;
		sums[LOST] += lane->lost;
		sums[CORRUPT] += lane->corrupt;
		sums[PAUSES] += lane->pauses;
		sums[DONE] += lane->flows_done;
		sums[FAILED] += lane->flows_failed;
	}
	for (uint32_t i = 0; i < sim->shape.nodes - sim->shape.hosts; i++) {
		const struct weft_switch *sw = sim->switches[i].sw;

		if (!sw)
			continue;
		sums[TRIMMED] += weft_switch_port_counters(sw, 0)->trimmed;
		sums[MARKED] += weft_switch_port_counters(sw, 0)->ecn_marked;
	}
	weft_sim_sum(sim, sums, SUMS);
	*totals = (struct weft_sim_totals){ .windows = sim->turns,
		.now_ps = sim->lanes[0].end_ps - WEFT_SIM_START_PS,
		.packet_hops = sums[HOPS],
		.hops_ideal = sim->hops_ideal,
		.lost = sums[LOST],
		.trimmed = sums[TRIMMED],
		.marked = sums[MARKED],
		.corrupt = sums[CORRUPT],
		.pauses = sums[PAUSES],
		.flows_done = (uint32_t)sums[DONE],
		.flows_failed = (uint32_t)sums[FAILED],
		.digest = digest_of(sim),
		.packets_max = sums[PACKETS],
		.is_cut = sim->links && sim->links->is_cut };
}

void weft_sim_counters(const struct weft_sim *sim, struct weft_counters *sum)
{
	struct share own = plan_rank(&sim->config);
	uint64_t *to = (uint64_t *)sum;

	*sum = (struct weft_counters){ 0 };
	for (uint32_t host = own.host_first; host < own.host_end; host++) {
		struct weft_counters counters;
		const uint64_t *from = (const uint64_t *)&counters;

		weft_sim_host_counters(sim, host, &counters);
		for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
			to[i] += from[i];
	}
	weft_sim_sum(sim, to, sizeof(*sum) / sizeof(*to));
}

void weft_sim_check(const struct weft_sim *sim)
{
	struct share own = plan_rank(&sim->config);

	for (uint32_t host = own.host_first; host < own.host_end; host++)
		sim->kind->check(sim->hosts[host].state);
	for (uint32_t i = 0; i < sim->shape.nodes - sim->shape.hosts; i++) {
		if (sim->switches[i].sw)
			weft_switch_check(sim->switches[i].sw);
	}
}

/* ---- what each rank knows of its own ---- */

enum { SENT, ARRIVED };
struct news { /* of a flow, by the rank of its source or of its destination */
	uint32_t flow, what;
	uint64_t times_ps[2];
};

static uint64_t own_news(const struct weft_sim *sim, struct news *to)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < sim->n_flows; i++) {
		const struct flow_state *s = &sim->flow_states[i];

		if ((s->started_ps || s->done_ps) && owns_host(sim, sim->flows[i].src))
			to[n++] = (struct news){ i, SENT, { s->started_ps, s->done_ps } };
		if (s->arrived_ps && owns_host(sim, sim->flows[i].dst))
			to[n++] = (struct news){ i, ARRIVED, { s->arrived_ps } };
	}
	return n;
}

static void take_news(struct weft_sim *sim, const struct weft_sim_letter *letter)
{
	const struct news *news = letter->at;

	for (uint64_t i = 0; i < letter->bytes / sizeof(*news); i++) {
		WEFT_ASSERT(news[i].flow < sim->n_flows);
		struct flow_state *s = &sim->flow_states[news[i].flow];

		if (news[i].what == ARRIVED) {
			s->arrived_ps = news[i].times_ps[0];
			continue;
		}
		s->started_ps = news[i].times_ps[0];
		s->done_ps = news[i].times_ps[1];
	}
}

static void gather_digests(struct weft_sim *sim)
{
	struct weft_sim_letter in[WEFT_SIM_RANKS_MAX];
	const struct weft_sim_ranks *ranks = sim->config.ranks;
	struct share own = plan_rank(&sim->config);
	uint64_t bytes = (uint64_t)sim->shape.hosts * sizeof(uint64_t);
	uint64_t *list = memory_reserve(bytes);

	WEFT_ASSERT(list);
	for (uint32_t host = own.host_first; host < own.host_end; host++)
		list[host - own.host_first] = sim->hosts[host].digest;
	ranks_tell(ranks, list, (own.host_end - own.host_first) * sizeof(*list), in);
	for (uint32_t rank = 0; rank < ranks->n; rank++) {
		struct share theirs = plan_share(&sim->shape, rank, ranks->n);
		const uint64_t *digests = in[rank].at;

		for (uint32_t i = 0; i < in[rank].bytes / sizeof(*digests); i++)
			sim->hosts[theirs.host_first + i].digest = digests[i];
	}
	memory_release(list, bytes);
}

void weft_sim_gather(struct weft_sim *sim)
{
	struct weft_sim_letter in[WEFT_SIM_RANKS_MAX];
	const struct weft_sim_ranks *ranks = sim->config.ranks;

	if (!sim->links)
		return;
	uint64_t bytes = 2 * (uint64_t)sim->n_flows * sizeof(struct news);
	struct news *list = memory_reserve(bytes);

	WEFT_ASSERT(list);
	ranks_tell(ranks, list, own_news(sim, list) * sizeof(*list), in);
	for (uint32_t rank = 0; rank < ranks->n; rank++) {
		if (rank != ranks->rank)
			take_news(sim, &in[rank]);
	}
	memory_release(list, bytes);
	gather_digests(sim);
}
