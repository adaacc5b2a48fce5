/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * collective - what libraries like NCCL and MPI make of one call.
 *
 * ring      n - 1 steps of 1/n of the buffer to the next rank for each half (reduce-scatter,
 *           all-gather); a step begins when the neighbour's before it has arrived, and computing
 *           (the reduction) takes spec.compute_ps.  One flow per rank, repeated.
 * tree      a binary tree by rank numbers: sums go up and the result comes down, in pieces, so that
 *           all levels work at the same time.  One flow per rank and direction, repeated.
 * broadcast a chain from the first rank to the last, in pieces.
 * doubling  recursive halving and doubling (Rabenseifner): log n partners each way, with half of
 *           what is left; for powers of two.
 * exchange  everybody to everybody, each beginning with the rank after itself, so that nobody is
 *           overrun if all keep time; window: how many are under way at once per rank.
 *
 * What a rank sends in a step and is longer than a message goes in parts, and the next step's part
 * follows the same part of this one, as chunks do in NCCL.
 *
 * Volumes, per rank: ring and doubling 2 (n - 1) / n of the buffer, tree up to twice it at either
 * end of three edges, exchange (n - 1) / n.
 */
#include "workload_local.h"

static uint32_t host_of(const struct build *b, const struct group *g, uint32_t i)
{
	return b->hosts[g->first + i * g->stride];
}

static uint32_t rank_of(const struct group *g, uint32_t i)
{
	return g->first + i * g->stride;
}

static uint64_t share(uint64_t bytes, uint32_t n)
{
	return WEFT_MAX(WEFT_DIV_UP(bytes, (uint64_t)n), UINT64_C(1));
}

void collective_ring(struct build *b, const struct group *g, uint64_t bytes, enum ring_kind kind)
{
	uint32_t first = b->load->n, n = g->n, steps = (n - 1) * (kind == RING_ALLREDUCE ? 2 : 1);

	if (n < 2)
		return;
	for (uint32_t i = 0; i < n; i++) {
		build_send(b, host_of(b, g, i), host_of(b, g, (i + 1) % n), share(bytes, n));
		build_repeat(b, steps, b->spec->compute_ps);
		build_tail(b, rank_of(g, i));
		build_in_step(b, first + (i + n - 1) % n, 1);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t flow = build_compute(b, host_of(b, g, i), 0);

		build_after(b, first + (i + n - 1) % n, WEFT_SIM_WHOLE);
		build_after(b, first + i, WEFT_SIM_WHOLE);
		b->tails[rank_of(g, i)] = flow;
	}
}

/* Flow first + i - 1 goes up from rank i, flow first + n - 1 + i - 1 down to it; i from 1. */
void collective_tree(struct build *b, const struct group *g, uint64_t bytes, uint32_t pieces)
{
	uint32_t first = b->load->n, n = g->n, down = first + n - 1;

	if (n < 2)
		return;
	for (uint32_t i = 1; i < n; i++) {
		build_send(b, host_of(b, g, i), host_of(b, g, (i - 1) / 2), share(bytes, pieces));
		build_repeat(b, pieces, b->spec->compute_ps);
		build_tail(b, rank_of(g, i));
		for (uint32_t child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++)
			build_in_step(b, first + child - 1, 0);
	}
	for (uint32_t i = 1; i < n; i++) {
		uint32_t parent = (i - 1) / 2;

		build_send(b, host_of(b, g, parent), host_of(b, g, i), share(bytes, pieces));
		build_repeat(b, pieces, 0);
		build_tail(b, rank_of(g, parent));
		if (parent)
			build_in_step(b, down + parent - 1, 0);
		for (uint32_t child = 1; !parent && child <= 2 && child < n; child++)
			build_in_step(b, first + child - 1, 0);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t flow = build_compute(b, host_of(b, g, i), 0);

		if (i)
			build_after(b, down + i - 1, WEFT_SIM_WHOLE);
		for (uint32_t child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++)
			build_after(b, down + child - 1, WEFT_SIM_WHOLE);
		b->tails[rank_of(g, i)] = flow;
	}
}

void collective_broadcast(struct build *b, const struct group *g, uint64_t bytes, uint32_t pieces)
{
	uint32_t first = b->load->n, n = g->n;

	for (uint32_t i = 1; i < n; i++) {
		build_send(b, host_of(b, g, i - 1), host_of(b, g, i), share(bytes, pieces));
		build_repeat(b, pieces, 0);
		build_tail(b, rank_of(g, i - 1));
		if (i > 1)
			build_in_step(b, first + i - 2, 0);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t flow = build_compute(b, host_of(b, g, i), 0);

		build_tail(b, rank_of(g, i));
		if (i)
			build_after(b, first + i - 1, WEFT_SIM_WHOLE);
		if (i + 1 < n)
			build_after(b, first + i, WEFT_SIM_WHOLE);
		b->tails[rank_of(g, i)] = flow;
	}
}

/* One exchange with the rank whose number differs in one bit; then all wait for their partner. */
static void swap(struct build *b, const struct group *g, uint32_t bit, uint64_t bytes)
{
	uint32_t first = b->load->n;

	for (uint32_t i = 0; i < g->n; i++) {
		build_send(b, host_of(b, g, i), host_of(b, g, i ^ bit), bytes);
		build_repeat(b, 1, b->spec->compute_ps);
		build_tail(b, rank_of(g, i));
	}
	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t flow = build_compute(b, host_of(b, g, i), 0);

		build_after(b, first + i, WEFT_SIM_WHOLE);
		build_after(b, first + (i ^ bit), WEFT_SIM_WHOLE);
		b->tails[rank_of(g, i)] = flow;
	}
}

void collective_doubling(struct build *b, const struct group *g, uint64_t bytes)
{
	for (uint32_t bit = g->n / 2; bit; bit /= 2)
		swap(b, g, bit, share(bytes, g->n / bit));
	for (uint32_t bit = 1; bit < g->n; bit *= 2)
		swap(b, g, bit, share(bytes, g->n / bit));
}

void collective_exchange(struct build *b, const struct group *g, uint64_t bytes, uint32_t window)
{
	uint32_t first = b->load->n, n = g->n;

	if (n < 2)
		return;
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = 1; k < n; k++) {
			uint32_t flow = build_send(
				b, host_of(b, g, i), host_of(b, g, (i + k) % n), share(bytes, n));

			if (window && k > window)
				build_after(b, flow - window, WEFT_SIM_WHOLE);
			else
				build_tail(b, rank_of(g, i));
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t flow = build_compute(b, host_of(b, g, i), 0);

		for (uint32_t k = 1; k < n; k++) {
			build_after(b, first + i * (n - 1) + k - 1, WEFT_SIM_WHOLE);
			build_after(b, first + (i + n - k) % n * (n - 1) + k - 1, WEFT_SIM_WHOLE);
		}
		b->tails[rank_of(g, i)] = flow;
	}
}

static uint64_t flows_of(const struct build *b)
{
	uint64_t n = b->n;

	switch (b->spec->kind) {
	case WEFT_WORKLOAD_ALL_TO_ALL:
		return n * n;
	case WEFT_WORKLOAD_TREE_ALLREDUCE:
		return 3 * n;
	case WEFT_WORKLOAD_DOUBLING_ALLREDUCE:
		return n * 4 * 32;
	default:
		return 2 * n;
	}
}

static void once(struct build *b, const struct group *g)
{
	const struct weft_workload_spec *spec = b->spec;

	switch (spec->kind) {
	case WEFT_WORKLOAD_ALL_TO_ALL:
		collective_exchange(b, g, spec->bytes, spec->window);
		break;
	case WEFT_WORKLOAD_RING_ALLREDUCE:
		collective_ring(b, g, spec->bytes, RING_ALLREDUCE);
		break;
	case WEFT_WORKLOAD_TREE_ALLREDUCE:
		collective_tree(b, g, spec->bytes, spec->pieces);
		break;
	case WEFT_WORKLOAD_DOUBLING_ALLREDUCE:
		collective_doubling(b, g, spec->bytes);
		break;
	default:
		collective_ring(b, g, spec->bytes, RING_HALF);
	}
}

bool collective_add(struct build *b)
{
	const struct weft_workload_spec *spec = b->spec;
	struct group all = { .first = 0, .stride = 1, .n = b->n };

	if (spec->kind == WEFT_WORKLOAD_DOUBLING_ALLREDUCE && (b->n & (b->n - 1)))
		return build_fail(b, "%u hosts, doubling wants a power of two", (unsigned)b->n);
	if (!build_fits(b, flows_of(b) * spec->repeats))
		return false;
	for (b->step = 0; b->step < spec->repeats; b->step++)
		once(b, &all);
	return true;
}
