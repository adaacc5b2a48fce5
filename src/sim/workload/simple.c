/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * simple - flows that wait for nobody, or only for the one before.
 *
 * A permutation is one cycle through all ranks in random order, as uet-htsim's generator has it,
 * so that figures compare.  An incast's senders are random ranks that do not hang on the victim's
 * T0s as far as there are enough of them; the untouched neighbour of Fig. 18 of the MRC paper is
 * one more flow, to the host beside the one that is overrun.
 */
#include "workload_local.h"

#include <stdlib.h>
#include <string.h>

static void repeat(struct build *b)
{
	build_repeat(b, b->spec->repeats, 0);
}

static uint32_t *shuffled(struct build *b)
{
	uint32_t *order = malloc(b->n * sizeof(*order));

	for (uint32_t i = 0; order && i < b->n; i++)
		order[i] = b->hosts[i];
	for (uint32_t i = b->n; order && i > 1; i--) {
		uint32_t other = (uint32_t)weft_rng_below(&b->rng, i), kept = order[i - 1];

		order[i - 1] = order[other];
		order[other] = kept;
	}
	return order;
}

static bool permutation(struct build *b)
{
	uint32_t hosts = weft_topo_shape(b->topo)->hosts;
	uint32_t *order = shuffled(b), *next = malloc(hosts * sizeof(*next));

	for (uint32_t i = 0; order && next && i < b->n; i++)
		next[order[i]] = order[i + 1 < b->n ? i + 1 : 0];
	for (uint32_t i = 0; order && next && i < b->n; i++) {
		build_send(b, b->hosts[i], next[b->hosts[i]], b->spec->bytes);
		repeat(b);
	}
	bool is_good = order && next;

	free(order);
	free(next);
	return is_good || build_fail(b, "out of memory");
}

static bool ring(struct build *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		build_send(b, b->hosts[i], b->hosts[i + 1 < b->n ? i + 1 : 0], b->spec->bytes);
		repeat(b);
	}
	return true;
}

static bool incast(struct build *b)
{
	const struct weft_topo_shape *s = weft_topo_shape(b->topo);
	uint32_t sink = b->hosts[0], near = sink / s->hosts_per_t0, beside = NONE, n = 0;
	uint32_t others = b->n - (b->spec->victim ? 3 : 1), *order;

	if (b->n < 4 && b->spec->victim)
		return build_fail(b, "victim: wanted are 4 hosts or more");
	if (b->spec->fan_in > others)
		return build_fail(b, "fan_in: %u, allowed is 1 to %u on these hosts",
			(unsigned)b->spec->fan_in, (unsigned)others);
	order = shuffled(b);
	if (!order)
		return build_fail(b, "out of memory");
	for (uint32_t i = 0; i < b->n && b->spec->victim; i++) {
		if (b->hosts[i] != sink &&
			(beside == NONE || (b->hosts[i] / s->hosts_per_t0 == near &&
						   beside / s->hosts_per_t0 != near)))
			beside = b->hosts[i];
	}
	for (unsigned turn = 0; turn < 2; turn++) {
		for (uint32_t i = 0; i < b->n; i++) {
			bool is_near = order[i] / s->hosts_per_t0 == near;

			if (order[i] == sink || order[i] == beside || is_near != (turn == 1))
				continue;
			if (n < b->spec->fan_in) {
				build_send(b, order[i], sink, b->spec->bytes);
				repeat(b);
			} else if (n == b->spec->fan_in && b->spec->victim) {
				build_send(b, order[i], beside, b->spec->bytes);
				repeat(b);
			}
			n++;
		}
	}
	free(order);
	return true;
}

static bool pairs(struct build *b)
{
	uint32_t hosts = weft_topo_shape(b->topo)->hosts;

	if (b->spec->from >= hosts || b->spec->to >= hosts || b->spec->from == b->spec->to)
		return build_fail(b, "from %u to %u: wanted are two different hosts below %u",
			(unsigned)b->spec->from, (unsigned)b->spec->to, (unsigned)hosts);
	build_send(b, b->spec->from, b->spec->to, b->spec->bytes);
	repeat(b);
	return true;
}

/* Each waits for the arrival of the one before, and computes. */
static bool chain(struct build *b)
{
	if (b->spec->bytes > UINT32_MAX)
		return build_fail(b,
			"bytes: %llu, allowed is 1 to 4294967295: a chain hands on"
			" messages as a whole",
			(unsigned long long)b->spec->bytes);
	for (uint32_t i = 0; i + 1 < b->n; i++) {
		uint32_t flow = build_send(b, b->hosts[i], b->hosts[i + 1], b->spec->bytes);

		build_repeat(b, b->spec->repeats, i ? b->spec->compute_ps : 0);
		build_last(b)->told = i + 2 == b->n;
		if (i)
			build_in_step(b, flow - 1, 0);
	}
	return true;
}

bool simple_add(struct build *b)
{
	if (!build_fits(b, b->n))
		return false;
	switch (b->spec->kind) {
	case WEFT_WORKLOAD_PERMUTATION:
		return permutation(b);
	case WEFT_WORKLOAD_RING:
		return ring(b);
	case WEFT_WORKLOAD_INCAST:
		return incast(b);
	case WEFT_WORKLOAD_PAIRS:
		return pairs(b);
	default:
		return chain(b);
	}
}
