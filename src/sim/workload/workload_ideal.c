/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workload_ideal - what no transport can beat.
 *
 * Two bounds, and the larger of them: what the busiest host must send or receive over its lines,
 * and the longest chain of flows and computing in a fabric in which every message is alone.  The
 * second is found by letting time run over begins and ends only, in the order of time: how far a
 * repeated flow has come when another one looks at it depends on when it looks.
 */
#include "workload_local.h"

#include <stdlib.h>
#include <string.h>

#define MESSAGES_MAX (UINT64_C(1) << 24)

enum event_kind { BEGIN, DONE, ARRIVED };
struct event {
	uint64_t ps;
	uint32_t flow;
	uint8_t kind;
};

struct state {
	uint32_t posted, done, arrived, waiting;
};

struct walk {
	const struct weft_workload *load;
	const struct weft_topo *topo;
	struct event *heap;
	uint32_t n, n_max;
	struct state *states;
	uint32_t *first, *who, *by; /* who waits for a flow, by which edge */
	uint64_t last_ps;
	/* the last message that was worked out */
	uint32_t len_bytes;
	bool is_near;
	uint64_t done_ps, arrived_ps;
};

static bool is_earlier(const struct event *a, const struct event *b)
{
	return a->ps < b->ps;
}

static bool push(struct walk *w, uint64_t ps, uint32_t flow, enum event_kind kind)
{
	if (!array_grow(&w->heap, w->n, &w->n_max, sizeof(*w->heap)))
		return false;
	struct event event = { .ps = ps, .flow = flow, .kind = (uint8_t)kind };
	uint32_t i = w->n++;

	for (; i && is_earlier(&event, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = event;
	return true;
}

static struct event pop(struct walk *w)
{
	struct event top = w->heap[0], last = w->heap[--w->n];
	uint32_t i = 0;

	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child + 1 < w->n && is_earlier(&w->heap[child + 1], &w->heap[child]))
			child++;
		if (child >= w->n || !is_earlier(&w->heap[child], &last))
			break;
		w->heap[i] = w->heap[child];
		i = child;
	}
	w->heap[i] = last;
	return top;
}

static uint32_t repeats_of(const struct weft_sim_flow *f)
{
	return f->repeats ? f->repeats : 1;
}

static uint32_t progress(const struct walk *w, uint32_t of, uint32_t host)
{
	return w->load->flows[of].src == host ? w->states[of].done : w->states[of].arrived;
}

static uint32_t needed(const struct walk *w, const struct weft_sim_edge *edge, uint32_t rep)
{
	if (edge->lag == WEFT_SIM_WHOLE)
		return repeats_of(&w->load->flows[edge->flow]);
	return rep < edge->lag ? 0 : rep - edge->lag + 1;
}

static bool begin(struct walk *w, uint32_t flow, uint64_t ps)
{
	const struct weft_sim_flow *f = &w->load->flows[flow];

	return push(w, WEFT_MAX(ps, f->start_ps) + f->delay_ps, flow, BEGIN);
}

static bool expect(struct walk *w, uint32_t flow, uint64_t ps)
{
	const struct weft_sim_flow *f = &w->load->flows[flow];
	struct state *s = &w->states[flow];

	s->waiting = 0;
	for (uint32_t i = 0; i < f->n_after; i++) {
		const struct weft_sim_edge *edge = &w->load->edges[f->after_first + i];

		s->waiting += progress(w, edge->flow, f->src) < needed(w, edge, s->posted);
	}
	return s->waiting || begin(w, flow, ps);
}

static bool wake(struct walk *w, uint32_t flow, uint32_t host, uint64_t ps)
{
	uint32_t count = progress(w, flow, host);

	for (uint32_t i = w->first[flow]; i < w->first[flow + 1]; i++) {
		uint32_t other = w->who[i];
		struct state *s = &w->states[other];

		if (w->load->flows[other].src != host || !s->waiting ||
			needed(w, &w->load->edges[w->by[i]], s->posted) != count)
			continue;
		if (!--s->waiting && !begin(w, other, ps))
			return false;
	}
	return true;
}

static bool on_begin(struct walk *w, uint32_t flow, uint64_t ps)
{
	const struct weft_sim_flow *f = &w->load->flows[flow];
	uint32_t per_t0 = weft_topo_shape(w->topo)->hosts_per_t0;
	bool is_near = f->src / per_t0 == f->dst / per_t0;

	if (f->src != f->dst && (f->len_bytes != w->len_bytes || is_near != w->is_near)) {
		w->done_ps = weft_sim_alone_ps(w->topo, f, &w->arrived_ps);
		w->len_bytes = f->len_bytes;
		w->is_near = is_near;
	}
	uint64_t takes = f->src == f->dst ? 0 : w->done_ps;

	if (!push(w, ps + takes, flow, DONE) ||
		(f->src != f->dst && !push(w, ps + w->arrived_ps, flow, ARRIVED)))
		return false;
	return ++w->states[flow].posted == repeats_of(f) || expect(w, flow, ps);
}

static bool run(struct walk *w)
{
	bool is_good = true;

	for (uint32_t i = 0; is_good && i < w->load->n; i++)
		is_good = expect(w, i, 0);
	while (is_good && w->n) {
		struct event e = pop(w);
		const struct weft_sim_flow *f = &w->load->flows[e.flow];

		if (e.kind == BEGIN) {
			is_good = on_begin(w, e.flow, e.ps);
		} else if (e.kind == DONE) {
			w->states[e.flow].done++;
			w->last_ps = WEFT_MAX(w->last_ps, e.ps);
			is_good = wake(w, e.flow, f->src, e.ps);
		} else {
			w->states[e.flow].arrived++;
			is_good = wake(w, e.flow, f->dst, e.ps);
		}
	}
	return is_good;
}

/* Who waits for whom, sorted by whom. */
static void sort(struct walk *w)
{
	const struct weft_workload *load = w->load;

	for (uint32_t i = 0; i < load->n_edges; i++)
		w->first[load->edges[i].flow]++;
	for (uint32_t i = 0, sum = 0; i <= load->n; i++) {
		sum += i < load->n ? w->first[i] : 0;
		w->first[i] = sum;
	}
	for (uint32_t i = load->n; i--;) {
		for (uint32_t k = load->flows[i].n_after; k--;) {
			uint32_t edge = load->flows[i].after_first + k;
			uint32_t at = --w->first[load->edges[edge].flow];

			w->who[at] = i;
			w->by[at] = edge;
		}
	}
}

static uint64_t chain_ps(const struct weft_workload *load, const struct weft_topo *topo)
{
	struct walk w = { .load = load, .topo = topo };
	uint64_t messages = 0;

	for (uint32_t i = 0; i < load->n; i++)
		messages += repeats_of(&load->flows[i]);
	if (messages > MESSAGES_MAX)
		return 0;
	w.states = calloc(load->n + 1u, sizeof(*w.states));
	w.first = calloc(load->n + 1u, sizeof(*w.first));
	w.who = malloc((load->n_edges + 1u) * sizeof(*w.who));
	w.by = malloc((load->n_edges + 1u) * sizeof(*w.by));
	if (w.states && w.first && w.who && w.by) {
		sort(&w);
		if (!run(&w))
			w.last_ps = 0;
	}
	free(w.states);
	free(w.first);
	free(w.who);
	free(w.by);
	free(w.heap);
	return w.last_ps;
}

uint64_t weft_workload_ideal_ps(const struct weft_workload *load, const struct weft_topo *topo)
{
	uint64_t volume_ps = weft_sim_ideal_ps(topo, load->flows, load->n);
	uint64_t start_ps = UINT64_MAX;

	for (uint32_t i = 0; i < load->n; i++)
		start_ps = WEFT_MIN(start_ps, load->flows[i].start_ps);
	return WEFT_MAX(volume_ps + (load->n ? start_ps : 0), chain_ps(load, topo));
}
