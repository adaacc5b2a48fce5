/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ranks - several processes that agree about one run.
 *
 * How letters travel is somebody else's business (weft_sim_ranks.exchange): sim knows one way to
 * speak, each rank to all others at once, and everything is said by it.  Sums and worst cases are
 * made by each rank from what all have told, in the order of ranks, so that all arrive at the same.
 *
 * What goes wrong on one rank alone would leave the others waiting for ever; so wherever one may
 * fail, all ask each other before anybody goes on.
 */
#include "ranks.h"

#include <stdio.h>

void ranks_tell(const struct weft_sim_ranks *ranks, const void *own, size_t bytes,
	struct weft_sim_letter in[WEFT_SIM_RANKS_MAX])
{
	struct weft_sim_letter out[WEFT_SIM_RANKS_MAX];
	uint32_t n = ranks_n(ranks), me = ranks_own(ranks);

	for (uint32_t i = 0; i < n; i++) {
		out[i] = (struct weft_sim_letter){ own, bytes };
		in[i] = (struct weft_sim_letter){ NULL, 0 };
	}
	if (n > 1 && !ranks->exchange(ranks->user, out, in))
		memset(in, 0, n * sizeof(*in));
	in[me] = out[me];
}

struct verdict {
	uint32_t is_good;
	char text[252];
};

bool ranks_agree(const struct weft_sim_ranks *ranks, bool is_good, char *error, size_t error_bytes)
{
	struct weft_sim_letter in[WEFT_SIM_RANKS_MAX];
	struct verdict own = { .is_good = is_good };

	if (ranks_n(ranks) > WEFT_SIM_RANKS_MAX)
		return plan_fail(error, error_bytes, "ranks: %u, allowed is 1 to %u",
			(unsigned)ranks->n, WEFT_SIM_RANKS_MAX);
	if (!is_good)
		(void)snprintf(own.text, sizeof(own.text), "%s", error);
	ranks_tell(ranks, &own, sizeof(own), in);
	for (uint32_t i = 0; i < ranks_n(ranks); i++) {
		const struct verdict *v = in[i].at;

		if (in[i].bytes != sizeof(*v))
			return plan_fail(error, error_bytes, "rank %u is gone", (unsigned)i);
		if (v->is_good)
			continue;
		/* What is wrong everywhere is wrong at rank 0, and needs no number. */
		return i ? plan_fail(error, error_bytes, "rank %u: %.251s", (unsigned)i, v->text)
			 : plan_fail(error, error_bytes, "%.251s", v->text);
	}
	return true;
}

void weft_sim_sum(const struct weft_sim *sim, uint64_t values[], uint32_t n)
{
	struct weft_sim_letter in[WEFT_SIM_RANKS_MAX];
	const struct weft_sim_ranks *ranks = sim->config.ranks;

	if (ranks_n(ranks) == 1)
		return;
	ranks_tell(ranks, values, n * sizeof(*values), in);
	for (uint32_t i = 0; i < ranks->n; i++) {
		const uint64_t *theirs = in[i].at;

		for (uint32_t k = 0; i != ranks->rank && k < n && in[i].bytes; k++)
			values[k] += theirs[k];
	}
}

/* ---- before time begins ---- */

static uint16_t rank_at(uint32_t index, uint32_t total, uint32_t n)
{
	uint32_t rank = (uint32_t)((uint64_t)index * n / total);

	/* Rounding down may be one short of it: see plan_share(). */
	while (rank + 1 < n && index >= (uint64_t)(rank + 1) * total / n)
		rank++;
	return (uint16_t)rank;
}

static void find_owners(const struct weft_sim *sim)
{
	const struct weft_topo_shape *s = &sim->shape;
	struct links *links = sim->links;

	for (uint32_t node = s->hosts; node < s->nodes; node++) {
		struct weft_node n = weft_topo_node(sim->config.topo, node);
		uint32_t total = n.kind == WEFT_NODE_T0 ? s->t0s : s->t1s;
		uint16_t rank = rank_at(n.index, total, links->to.n);

		links->rank_of[node - s->hosts] = rank;
		if (rank != links->to.rank)
			links->foreign[node / 64] |= UINT64_C(1) << node % 64;
	}
}

bool ranks_open(struct weft_sim *sim, uint64_t parcels_max)
{
	const struct weft_sim_ranks *ranks = sim->config.ranks;
	const struct weft_topo_shape *s = &sim->shape;

	if (ranks_n(ranks) == 1)
		return true;
	uint64_t n = ranks->n;
	struct links *links = take(sim, 1, sizeof(*links));

	if (!links)
		return false;
	sim->links = links;
	links->to = *ranks;
	links->rank_of = take(sim, s->nodes - s->hosts, sizeof(*links->rank_of));
	links->foreign = take(sim, WEFT_DIV_UP(s->nodes, 64u), sizeof(*links->foreign));
	links->counts = take(sim, sim->n_lanes * n, sizeof(*links->counts));
	struct parcel **parcels = take(sim, sim->n_lanes * n, sizeof(struct parcel *));

	for (uint32_t i = 0; i < sim->n_lanes && parcels; i++)
		sim->lanes[i].parcels = parcels + i * n;
	links->out = take(sim, n, sizeof(*links->out));
	links->in = take(sim, n, sizeof(*links->in));
	/* A pause is no packet, and each packet may raise one. */
	links->room_bytes = n * sizeof(struct tally) +
			    (sim->is_lossless ? 2 : 1) * parcels_max * sizeof(struct parcel);
	links->room = take(sim, 1, links->room_bytes);
	if (!links->rank_of || !links->foreign || !links->counts || !parcels || !links->out ||
		!links->in || !links->room)
		return false;
	find_owners(sim);
	return true;
}

/* ---- what connections need to know of their other ends ---- */

struct introduction {
	uint32_t end, qpn, set, rkey;
};

static uint32_t host_of(const struct wiring *w, uint32_t end)
{
	return end & 1 ? w->conns[end >> 1].dst : w->conns[end >> 1].src;
}

static uint32_t rank_of_host(const struct weft_sim *sim, uint32_t host)
{
	return sim->links->rank_of[sim->hosts[host].t0];
}

bool owns_host(const struct weft_sim *sim, uint32_t host)
{
	return !sim->links || rank_of_host(sim, host) == sim->links->to.rank;
}

/* Own ends whose other ends are at that rank; how many. */
static uint64_t introduce(const struct weft_sim *sim, uint32_t first, uint32_t end, uint32_t rank,
	struct introduction *to)
{
	const struct wiring *w = &sim->wiring;
	uint64_t n = 0;

	for (uint32_t i = first; i < end; i++) {
		uint32_t e = w->ends[i];

		if (rank_of_host(sim, host_of(w, e ^ 1)) != rank)
			continue;
		to[n++] = (struct introduction){ e, w->flow_ends[e].qpn, w->flow_ends[e].set,
			sim->rkeys[host_of(w, e)] };
	}
	return n;
}

static bool hear(struct weft_sim *sim, const struct weft_sim_letter *letter)
{
	const struct introduction *from = letter->at;
	struct wiring *w = &sim->wiring;

	for (uint64_t i = 0; i < letter->bytes / sizeof(*from); i++) {
		if (from[i].end >> 1 >= w->n_conns || owns_host(sim, host_of(w, from[i].end)))
			return false;
		w->flow_ends[from[i].end].qpn = from[i].qpn;
		w->flow_ends[from[i].end].set = from[i].set;
		sim->rkeys[host_of(w, from[i].end)] = from[i].rkey;
	}
	return true;
}

bool ranks_meet(struct weft_sim *sim, char *error, size_t error_bytes)
{
	struct links *links = sim->links;

	if (!links)
		return true;
	struct share own = plan_rank(&sim->config);
	uint32_t first = sim->wiring.ends_of[own.host_first];
	uint32_t end = sim->wiring.ends_of[own.host_end];
	uint64_t bytes = (uint64_t)(end - first) * sizeof(struct introduction), n = 0;
	struct introduction *list = memory_reserve(bytes);
	bool is_good = true;

	if (!list)
		return plan_fail(error, error_bytes, "out of address space");
	for (uint32_t i = 0; i < links->to.n; i++) {
		uint64_t more = introduce(sim, first, end, i, list + n);

		links->out[i] = (struct weft_sim_letter){ list + n, more * sizeof(*list) };
		n += more;
	}
	if (!links->to.exchange(links->to.user, links->out, links->in)) {
		memory_release(list, bytes);
		return plan_fail(error, error_bytes, "another rank is gone");
	}
	for (uint32_t i = 0; i < links->to.n; i++)
		is_good &= i == links->to.rank || hear(sim, &links->in[i]);
	memory_release(list, bytes);
	return is_good || plan_fail(error, error_bytes, "another rank has another load");
}
