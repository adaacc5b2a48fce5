/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_load - who sends to whom.
 *
 * A permutation is one cycle through all hosts in random order: nobody sends to itself, and
 * everybody has one peer on each side.  That is the load of the NDP paper and of uet-htsim's
 * generator, so that figures compare.
 */
#include "sim_local.h"

static void shuffle(uint32_t order[], uint32_t n, uint64_t seed)
{
	struct weft_rng rng;

	weft_rng_seed(&rng, seed);
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (uint32_t i = n; i > 1; i--) {
		uint32_t other = (uint32_t)weft_rng_below(&rng, i), kept = order[i - 1];

		order[i - 1] = order[other];
		order[other] = kept;
	}
}

void weft_sim_permutation(const struct weft_topo *topo, uint32_t len_bytes, uint64_t seed,
	struct weft_sim_flow flows[])
{
	uint32_t hosts = weft_topo_shape(topo)->hosts;
	uint32_t *order = memory_reserve(hosts * sizeof(*order));

	WEFT_ASSERT(order && hosts > 1);
	shuffle(order, hosts, seed);
	for (uint32_t i = 0; i < hosts; i++)
		flows[order[i]] = (struct weft_sim_flow){ .src = order[i],
			.dst = order[i + 1 < hosts ? i + 1 : 0],
			.len_bytes = len_bytes };
	memory_release(order, hosts * sizeof(*order));
}

void weft_sim_ring(const struct weft_topo *topo, uint32_t len_bytes, struct weft_sim_flow flows[])
{
	uint32_t hosts = weft_topo_shape(topo)->hosts;

	WEFT_ASSERT(hosts > 1);
	for (uint32_t i = 0; i < hosts; i++)
		flows[i] = (struct weft_sim_flow){
			.src = i, .dst = i + 1 < hosts ? i + 1 : 0, .len_bytes = len_bytes
		};
}

bool weft_sim_incast(const struct weft_topo *topo, uint32_t fan_in, uint32_t len_bytes,
	uint64_t seed, struct weft_sim_flow flows[])
{
	const struct weft_topo_shape *s = weft_topo_shape(topo);
	uint32_t near = WEFT_MIN(s->hosts_per_t0, s->hosts), n = 0;

	if (!fan_in || fan_in > s->hosts - near)
		return false;
	uint32_t *order = memory_reserve(s->hosts * sizeof(*order));

	WEFT_ASSERT(order);
	shuffle(order, s->hosts, seed);
	for (uint32_t i = 0; n < fan_in; i++) {
		if (order[i] >= near)
			flows[n++] = (struct weft_sim_flow){
				.src = order[i], .dst = 0, .len_bytes = len_bytes
			};
	}
	memory_release(order, s->hosts * sizeof(*order));
	return true;
}
