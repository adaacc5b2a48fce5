/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * judge - whether flows can be at all, before memory is taken for them.
 *
 * A circle of flows that wait for each other would end a run without a word, so circles are looked
 * for: flows whose edges are all met are taken out until none is left (Kahn).  Only edges that hold
 * back a first repetition count; circles through later ones are a program's, like deadlocks.
 */
#include "sim_local.h"

static bool judge_flow(const struct weft_sim_flow flows[], uint32_t i, uint32_t hosts, char *error,
	size_t error_bytes)
{
	const struct weft_sim_flow *f = &flows[i];

	if (f->src >= hosts || f->dst >= hosts || (f->src == f->dst && f->len_bytes))
		return plan_fail(error, error_bytes,
			"flow %u: from %u to %u, wanted are two different hosts below %u",
			(unsigned)i, (unsigned)f->src, (unsigned)f->dst, (unsigned)hosts);
	if (!f->len_bytes && f->src != f->dst)
		return plan_fail(error, error_bytes, "flow %u: 0 bytes", (unsigned)i);
	return true;
}

static bool judge_edges(const struct weft_sim_config *config, const struct weft_sim_flow flows[],
	uint32_t n, uint32_t i, char *error, size_t error_bytes)
{
	const struct weft_sim_flow *f = &flows[i];

	if (f->after_first > config->n_edges || f->n_after > config->n_edges - f->after_first)
		return plan_fail(error, error_bytes, "flow %u: edges %u to %u, there are %u",
			(unsigned)i, (unsigned)f->after_first,
			(unsigned)(f->after_first + f->n_after), (unsigned)config->n_edges);
	for (uint32_t k = 0; k < f->n_after; k++) {
		const struct weft_sim_edge *e = &config->edges[f->after_first + k];

		if (e->flow >= n)
			return plan_fail(error, error_bytes, "flow %u: waits for flow %u of %u",
				(unsigned)i, (unsigned)e->flow, (unsigned)n);
		const struct weft_sim_flow *g = &flows[e->flow];

		if (g->src != f->src && g->dst != f->src)
			return plan_fail(error, error_bytes,
				"flow %u: begins at host %u and waits for flow %u, which neither"
				" begins nor ends there",
				(unsigned)i, (unsigned)f->src, (unsigned)e->flow);
		if (e->lag != WEFT_SIM_WHOLE && flow_repeats(f) > e->lag &&
			flow_repeats(f) - e->lag > flow_repeats(g))
			return plan_fail(error, error_bytes,
				"flow %u: repeated %u times, and flow %u that it waits for, %u"
				" times",
				(unsigned)i, (unsigned)flow_repeats(f), (unsigned)e->flow,
				(unsigned)flow_repeats(g));
	}
	return true;
}

static bool holds_first(const struct weft_sim_edge *edge)
{
	return !edge->lag || edge->lag == WEFT_SIM_WHOLE;
}

struct kahn {
	uint32_t *waiting, *first, *list, *order; /* [n], [n + 1], [edges], [n] */
};

/* How many flows can begin; less than n: a circle. */
static uint32_t begin_all(const struct weft_sim_edge edges[], const struct weft_sim_flow flows[],
	uint32_t n, const struct kahn *k)
{
	uint32_t begun = 0;

	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t e = 0; e < flows[i].n_after; e++) {
			const struct weft_sim_edge *edge = &edges[flows[i].after_first + e];

			k->waiting[i] += holds_first(edge);
			k->first[edge->flow] += holds_first(edge);
		}
	}
	for (uint32_t i = 0, sum = 0; i <= n; i++) {
		sum += i < n ? k->first[i] : 0;
		k->first[i] = sum;
	}
	for (uint32_t i = n; i--;) {
		for (uint32_t e = 0; e < flows[i].n_after; e++) {
			const struct weft_sim_edge *edge = &edges[flows[i].after_first + e];

			if (holds_first(edge))
				k->list[--k->first[edge->flow]] = i;
		}
		if (!k->waiting[i])
			k->order[begun++] = i;
	}
	for (uint32_t at = 0; at < begun; at++) {
		uint32_t flow = k->order[at];

		for (uint32_t e = k->first[flow]; e < k->first[flow + 1]; e++) {
			if (!--k->waiting[k->list[e]])
				k->order[begun++] = k->list[e];
		}
	}
	return begun;
}

/* What this one waits for and is held back by; there is something: it waits. */
static uint32_t holder(const struct weft_sim_edge edges[], const struct weft_sim_flow flows[],
	uint32_t flow, const struct kahn *k)
{
	const struct weft_sim_edge *edge = &edges[flows[flow].after_first];

	while (!holds_first(edge) || !k->waiting[edge->flow])
		edge++;
	return edge->flow;
}

/* n steps from what waits to what holds it lead into a circle; its first flow. */
static uint32_t find_circle(const struct weft_sim_edge edges[], const struct weft_sim_flow flows[],
	uint32_t n, const struct kahn *k)
{
	uint32_t at = 0;

	while (at + 1 < n && !k->waiting[at])
		at++;
	for (uint32_t step = 0; step < n; step++)
		at = holder(edges, flows, at, k);
	uint32_t first = at;

	for (uint32_t i = holder(edges, flows, at, k); i != at; i = holder(edges, flows, i, k))
		first = WEFT_MIN(first, i);
	return first;
}

uint32_t weft_sim_circle(const struct weft_sim_flow flows[], uint32_t n,
	const struct weft_sim_edge edges[], uint32_t n_edges)
{
	uint64_t bytes = (3 * (uint64_t)n + 1 + n_edges) * sizeof(uint32_t);
	uint32_t *memory = n_edges ? memory_reserve(bytes) : NULL, circle = NONE;

	if (!memory)
		return NONE;
	struct kahn k = { .waiting = memory,
		.first = memory + n,
		.order = memory + 2 * (uint64_t)n + 1,
		.list = memory + 3 * (uint64_t)n + 1 };

	if (begin_all(edges, flows, n, &k) != n)
		circle = find_circle(edges, flows, n, &k);
	memory_release(memory, bytes);
	return circle;
}

bool judge_flows(const struct weft_sim_config *config, const struct weft_sim_flow flows[],
	uint32_t n, char *error, size_t error_bytes)
{
	uint32_t hosts = weft_topo_shape(config->topo)->hosts;
	uint64_t n_after = 0;

	if (n > UINT32_MAX / 4)
		return plan_fail(error, error_bytes, "flows: %u are too many", (unsigned)n);
	for (uint32_t i = 0; i < n; i++) {
		if (!judge_flow(flows, i, hosts, error, error_bytes) ||
			!judge_edges(config, flows, n, i, error, error_bytes))
			return false;
		n_after += flows[i].n_after;
	}
	if (n_after > UINT32_MAX)
		return plan_fail(error, error_bytes, "flows: they wait for too many others");
	uint32_t circle = weft_sim_circle(flows, n, config->edges, config->n_edges);

	return circle == NONE ||
	       plan_fail(error, error_bytes, "flow %u: it waits for flows that wait for it",
		       (unsigned)circle);
}
