/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_ideal - what no transport can beat, by arithmetic.
 *
 * Each host's packets, in or out, are dealt out over its planes and go back to back; one of them is
 * the last and has the other links of its path to itself, stored and forwarded at each; and an
 * acknowledgement, the shortest there is, comes back the same way.  Flows end in a short packet,
 * which may go last or first: the bound is the larger of what the full ones alone need and of what
 * all need if a shortest one goes last.
 */
#include "sim_local.h"

struct side {              /* what one host sends, or receives */
	uint64_t full;     /* packets */
	uint64_t sum_ps;   /* of all packets, one after the other */
	uint32_t shortest; /* bytes of a frame; 0: nothing */
	bool is_near;      /* at least one flow stays below one T0 */
};

/* Of one frame over the links of a path, less the first (or the last) one; delays of all. */
static uint64_t rest_ps(const struct weft_topo_shape *s, uint32_t frame_bytes, bool is_near)
{
	uint64_t ps = line_ps(s->host_bps, frame_bytes) + 2000 * (uint64_t)s->host_delay_ns;

	if (!is_near)
		ps += 2 * line_ps(s->core_bps, frame_bytes) + 2000 * (uint64_t)s->core_delay_ns;
	return ps;
}

static uint64_t side_ps(
	const struct weft_topo_shape *s, uint32_t full_bytes, const struct side *side)
{
	uint64_t full_ps = line_ps(s->host_bps, full_bytes), ps;

	if (!side->shortest)
		return 0;
	ps = WEFT_DIV_UP(side->sum_ps, (uint64_t)s->planes) +
	     rest_ps(s, side->shortest, side->is_near);
	if (side->full)
		ps = WEFT_MAX(ps, WEFT_DIV_UP(side->full, (uint64_t)s->planes) * full_ps +
					  rest_ps(s, full_bytes, side->is_near));
	return ps + line_ps(s->host_bps, ACK_BYTES) + rest_ps(s, ACK_BYTES, side->is_near);
}

static void add(struct side *side, const struct weft_topo_shape *s,
	const struct weft_sim_flow *flow, uint32_t payload)
{
	uint32_t full = flow->len_bytes / payload, rest = flow->len_bytes % payload;
	uint32_t last = DATA_HEADERS + WEFT_ALIGN_UP(rest ? rest : payload, 4u);

	uint64_t times = flow_repeats(flow);

	side->full += times * full;
	side->sum_ps += times * full * line_ps(s->host_bps, DATA_HEADERS + payload);
	side->sum_ps += rest ? times * line_ps(s->host_bps, last) : 0;
	side->shortest = side->shortest ? WEFT_MIN(side->shortest, last) : last;
	side->is_near |= flow->src / s->hosts_per_t0 == flow->dst / s->hosts_per_t0;
}

uint64_t weft_sim_ideal_ps(
	const struct weft_topo *topo, const struct weft_sim_flow flows[], uint32_t n)
{
	const struct weft_topo_shape *s = weft_topo_shape(topo);
	uint32_t payload = plan_payload(s), sides = 2 * s->hosts;
	struct side *side = memory_reserve((uint64_t)sides * sizeof(*side));
	uint64_t most_ps = 0;

	WEFT_ASSERT(side);
	for (uint32_t i = 0; i < n; i++) {
		if (flows[i].src == flows[i].dst)
			continue;
		add(&side[flows[i].src], s, &flows[i], payload);
		add(&side[s->hosts + flows[i].dst], s, &flows[i], payload);
	}
	for (uint32_t i = 0; i < sides; i++) {
		uint64_t ps = side_ps(s, DATA_HEADERS + payload, &side[i]);

		most_ps = WEFT_MAX(most_ps, ps);
	}
	memory_release(side, (uint64_t)sides * sizeof(*side));
	return most_ps;
}

uint64_t ideal_hops(const struct weft_topo_shape *s, const struct weft_sim_flow flows[], uint32_t n)
{
	uint32_t payload = plan_payload(s);
	uint64_t hops = 0;

	for (uint32_t i = 0; i < n; i++) {
		bool is_near = flows[i].src / s->hosts_per_t0 == flows[i].dst / s->hosts_per_t0;
		uint64_t packets = WEFT_DIV_UP((uint64_t)flows[i].len_bytes, payload);

		packets += WEFT_DIV_UP(packets, UINT64_C(4));
		if (flows[i].src != flows[i].dst)
			hops += flow_repeats(&flows[i]) * packets * (is_near ? 2 : 4);
	}
	return hops;
}

uint64_t weft_sim_alone_ps(
	const struct weft_topo *topo, const struct weft_sim_flow *flow, uint64_t *arrived_ps)
{
	const struct weft_topo_shape *s = weft_topo_shape(topo);
	struct weft_sim_flow once = *flow;
	uint32_t payload = plan_payload(s);
	struct side side = { 0 };

	once.repeats = 1;
	add(&side, s, &once, payload);
	uint64_t done_ps = side_ps(s, DATA_HEADERS + payload, &side);

	*arrived_ps =
		done_ps - line_ps(s->host_bps, ACK_BYTES) - rest_ps(s, ACK_BYTES, side.is_near);
	return done_ps;
}
