/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wiring - which connections a load needs.
 *
 * All flows of one job from one host to another share one queue pair, and all queue pairs of two
 * hosts share one set of paths at each end, as a program with communicators has it.  A queue pair
 * per message is what fills memory in other simulators.  How deep its queues are follows from how
 * many messages it will carry, up to DEPTH_MAX: what is ready beyond that waits at its host.
 *
 * Connections are numbered in the order of their first flows, so that a load of single messages is
 * wired as it is listed.
 */
#include "sim_local.h"

#include <stdlib.h>

struct sorting { /* what the comparisons look at */
	const struct weft_sim_flow *flows;
	const struct conn *conns;
};

static int by_pair(const void *left, const void *right, void *arg)
{
	const struct weft_sim_flow *flows = ((const struct sorting *)arg)->flows;
	uint32_t i = *(const uint32_t *)left, k = *(const uint32_t *)right;
	const struct weft_sim_flow *a = &flows[i], *b = &flows[k];

	if (a->src != b->src)
		return a->src < b->src ? -1 : 1;
	if (a->dst != b->dst)
		return a->dst < b->dst ? -1 : 1;
	if (a->job != b->job)
		return a->job < b->job ? -1 : 1;
	return i < k ? -1 : i > k;
}

static uint32_t end_host(const struct conn *conns, uint32_t end, bool other)
{
	return (end & 1) != other ? conns[end >> 1].dst : conns[end >> 1].src;
}

/* By host, then by peer. */
static int by_peer(const void *left, const void *right, void *arg)
{
	const struct conn *conns = ((const struct sorting *)arg)->conns;
	uint32_t i = *(const uint32_t *)left, k = *(const uint32_t *)right;

	for (unsigned other = 0; other < 2; other++) {
		uint32_t a = end_host(conns, i, other), b = end_host(conns, k, other);

		if (a != b)
			return a < b ? -1 : 1;
	}
	return i < k ? -1 : i > k;
}

/* Flows whose arrival somebody waits for, or that want it to be told. */
static void mark_told(struct wiring *w, const struct weft_sim_flow flows[], uint32_t n,
	const struct weft_sim_edge edges[])
{
	for (uint32_t i = 0; i < n; i++) {
		const struct weft_sim_flow *f = &flows[i];

		if (f->told && f->src != f->dst)
			w->told[i / 64] |= UINT64_C(1) << i % 64;
		for (uint32_t k = 0; k < f->n_after; k++) {
			uint32_t g = edges[f->after_first + k].flow;

			if (flows[g].dst == f->src && flows[g].src != f->src)
				w->told[g / 64] |= UINT64_C(1) << g % 64;
		}
	}
}

/* Groups flows: conn_of becomes the first flow of the group, then the number of the connection. */
static void group(struct wiring *w, const struct weft_sim_flow flows[], uint32_t n)
{
	struct sorting sorting = { .flows = flows };
	uint32_t first = 0;

	for (uint32_t i = 0; i < n; i++)
		w->order[i] = i;
	qsort_r(w->order, n, sizeof(*w->order), by_pair, &sorting);
	for (uint32_t i = 0; i < n; i++) {
		const struct weft_sim_flow *f = &flows[w->order[i]], *g = &flows[w->order[first]];

		if (f->src != g->src || f->dst != g->dst || f->job != g->job)
			first = i;
		w->conn_of[w->order[i]] = w->order[first];
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct weft_sim_flow *f = &flows[i];
		bool told = w->told[i / 64] >> i % 64 & 1;

		if (f->src == f->dst) {
			w->conn_of[i] = NONE;
			continue;
		}
		if (w->conn_of[i] == i) {
			w->conns[w->n_conns] = (struct conn){ .src = f->src,
				.dst = f->dst,
				.first = NONE,
				.last = NONE,
				.job = f->job };
			w->conn_of[i] = w->n_conns++;
		} else {
			w->conn_of[i] = w->conn_of[w->conn_of[i]];
		}
		struct conn *conn = &w->conns[w->conn_of[i]];
		uint64_t depth = (uint64_t)conn->depth + flow_repeats(f);

		conn->depth = (uint8_t)WEFT_MIN(depth, (uint64_t)DEPTH_MAX);
		conn->told |= told;
	}
}

static void share_paths(struct wiring *w)
{
	struct sorting sorting = { .conns = w->conns };
	uint32_t ends = 2 * w->n_conns, first = 0;

	for (uint32_t i = 0; i < ends; i++)
		w->ends[i] = i;
	qsort_r(w->ends, ends, sizeof(*w->ends), by_peer, &sorting);
	for (uint32_t i = 0; i < ends; i++) {
		uint32_t end = w->ends[i], host = end_host(w->conns, end, false);

		if (!i || end_host(w->conns, w->ends[first], false) != host ||
			end_host(w->conns, w->ends[first], true) != end_host(w->conns, end, true)) {
			first = i;
			w->of_host[host].sets++;
		}
		uint32_t lead = w->ends[first];

		w->flow_ends[end].lead = lead;
		if (!(end & 1) && !w->flow_ends[lead].sends) {
			w->flow_ends[lead].sends = true;
			w->of_host[host].send_sets++;
		}
	}
}

/* Which ends each host has, in the order of connections. */
static void sort_ends(struct wiring *w, uint32_t hosts)
{
	for (uint32_t i = 0; i < w->n_conns; i++) {
		const struct conn *conn = &w->conns[i];
		uint8_t depth = (uint8_t)weft_pow2_up(conn->depth);

		for (unsigned end = 0; end < 2; end++) {
			struct host_ends *h = &w->of_host[end ? conn->dst : conn->src];

			h->sends += !end;
			h->receives += end;
			h->depth = WEFT_MAX(h->depth, depth);
			h->told |= conn->told;
			h->listens |= conn->told && end;
		}
	}
	for (uint32_t i = 0, sum = 0; i <= hosts; i++) {
		sum += i < hosts ? w->of_host[i].sends + w->of_host[i].receives : 0;
		w->ends_of[i] = sum; /* the end; turns into the beginning below */
	}
	for (uint32_t i = w->n_conns; i--;) {
		w->ends[--w->ends_of[w->conns[i].dst]] = i << 1 | 1;
		w->ends[--w->ends_of[w->conns[i].src]] = i << 1;
	}
}

bool wiring_make(struct wiring *w, const struct weft_sim_flow flows[], uint32_t n,
	const struct weft_sim_edge edges[], uint32_t hosts)
{
	*w = (struct wiring){ 0 };
	w->bytes = WEFT_ALIGN_UP((uint64_t)n * (2 * sizeof(uint32_t) + sizeof(struct conn) +
						       2 * (sizeof(struct flow_end) + 4)) +
					 WEFT_DIV_UP(n, 64u) * sizeof(uint64_t) +
					 (hosts + 1) * (sizeof(struct host_ends) + 4),
		UINT64_C(4096));
	w->memory = memory_reserve(w->bytes);
	if (!w->memory)
		return false;
	w->told = (uint64_t *)w->memory;
	w->conns = (struct conn *)(void *)(w->told + WEFT_DIV_UP(n, 64u));
	w->flow_ends = (struct flow_end *)(void *)(w->conns + n);
	w->of_host = (struct host_ends *)(void *)(w->flow_ends + 2 * (uint64_t)n);
	w->conn_of = (uint32_t *)(void *)(w->of_host + hosts + 1);
	w->order = w->conn_of + n;
	w->ends = w->order + n;
	w->ends_of = w->ends + 2 * (uint64_t)n;
	mark_told(w, flows, n, edges);
	group(w, flows, n);
	share_paths(w);
	sort_ends(w, hosts);
	return true;
}

void wiring_drop(struct wiring *w)
{
	if (w->memory)
		memory_release(w->memory, w->bytes);
	*w = (struct wiring){ 0 };
}
