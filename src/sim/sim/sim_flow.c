/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_flow - when flows begin, and what waits for what.
 *
 * Everything about a flow that decides is known at the host where it begins: an edge may only name
 * flows that begin there (their completion counts) or end there (the arrival counts, as a receive
 * that a write with immediate consumes).  So nothing here is told by anybody but the protocol, and
 * all of it belongs to one lane, but for the count of arrivals, which belongs to the host where the
 * flow ends and is read there only.
 *
 * A flow stands in at most one place: nowhere while it waits for others, in its host's heap from
 * when it is known at what time it begins, in the queue of its connection while that is full.  The
 * heap of a host is the part of sim->starts that holds its flows; in time's order, it is one.
 *
 * A flow that is repeated is one record, not many: a ring over a thousand hosts is a thousand
 * flows, each repeated two thousand times, and not two million flows.
 */
#include "sim_local.h"

#include <stdlib.h>

static bool is_earlier(const struct weft_sim *sim, uint32_t a, uint32_t b)
{
	uint64_t at = sim->flow_states[a].begin_ps, bt = sim->flow_states[b].begin_ps;

	return at != bt ? at < bt : a < b;
}

static void heap_push(struct weft_sim *sim, struct host *host, uint32_t flow)
{
	uint32_t *heap = sim->starts + host->next_flow, i = host->end_flow++ - host->next_flow;

	while (i && is_earlier(sim, flow, heap[(i - 1) / 2])) {
		heap[i] = heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	heap[i] = flow;
}

static uint32_t heap_pop(struct weft_sim *sim, struct host *host)
{
	uint32_t *heap = sim->starts + host->next_flow, n = --host->end_flow - host->next_flow;
	uint32_t top = heap[0], last = heap[n], i = 0;

	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child + 1 < n && is_earlier(sim, heap[child + 1], heap[child]))
			child++;
		if (child >= n || !is_earlier(sim, heap[child], last))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	return top;
}

/* How often `of` has happened, as a flow that begins at `host` sees it. */
static uint32_t progress(const struct weft_sim *sim, uint32_t of, uint32_t host)
{
	const struct flow_state *s = &sim->flow_states[of];

	return sim->flows[of].src == host ? s->done : s->arrived;
}

/* How often it must have happened before this repetition of a flow may begin. */
static uint32_t needed(const struct weft_sim *sim, const struct weft_sim_edge *edge, uint32_t rep)
{
	if (edge->lag == WEFT_SIM_WHOLE)
		return flow_repeats(&sim->flows[edge->flow]);
	return rep < edge->lag ? 0 : rep - edge->lag + 1;
}

static void begin_after(struct weft_sim *sim, uint32_t flow, uint64_t now_ps)
{
	const struct weft_sim_flow *f = &sim->flows[flow];
	uint64_t from_ps = WEFT_MAX(now_ps, f->start_ps + WEFT_SIM_START_PS);

	sim->flow_states[flow].begin_ps = from_ps + f->delay_ps;
	heap_push(sim, &sim->hosts[f->src], flow);
}

/* The next repetition of a flow whose last one has begun; or its first. */
static void expect(struct weft_sim *sim, uint32_t flow, uint64_t now_ps)
{
	const struct weft_sim_flow *f = &sim->flows[flow];
	struct flow_state *s = &sim->flow_states[flow];

	s->waiting = 0;
	for (uint32_t i = 0; i < f->n_after; i++) {
		const struct weft_sim_edge *edge = &sim->edges[f->after_first + i];

		s->waiting += progress(sim, edge->flow, f->src) < needed(sim, edge, s->posted);
	}
	if (!s->waiting)
		begin_after(sim, flow, now_ps);
}

/* One more repetition of a flow has ended, or arrived, at this host. */
static void wake(struct weft_sim *sim, uint32_t flow, uint32_t host, uint64_t now_ps)
{
	uint32_t count = progress(sim, flow, host);

	for (uint32_t i = sim->waits_of[flow]; i < sim->waits_of[flow + 1]; i++) {
		const struct waits *w = &sim->waits[i];
		struct flow_state *s = &sim->flow_states[w->flow];

		if (sim->flows[w->flow].src != host || !s->waiting ||
			needed(sim, &sim->edges[w->edge], s->posted) != count)
			continue;
		if (!--s->waiting)
			begin_after(sim, w->flow, now_ps);
	}
}

/* A repetition has ended, at its sender. */
static void end_one(struct lane *lane, uint32_t flow, uint64_t now_ps)
{
	struct weft_sim *sim = lane->sim;
	struct flow_state *s = &sim->flow_states[flow];

	if (++s->done == flow_repeats(&sim->flows[flow]) && !s->failed) {
		s->done_ps = WEFT_MAX(now_ps - WEFT_SIM_START_PS, 1u); /* 0: not yet */
		lane->flows_done++;
	}
	wake(sim, flow, sim->flows[flow].src, now_ps);
}

static void fail(struct lane *lane, uint32_t flow)
{
	struct flow_state *s = &lane->sim->flow_states[flow];

	lane->flows_failed += !s->failed;
	s->failed = true;
}

/* Its repetition is under way, or was refused: what about the next one? */
static void turn(struct lane *lane, uint32_t flow, uint64_t now_ps)
{
	struct flow_state *s = &lane->sim->flow_states[flow];

	s->posted++;
	if (!s->failed && s->posted < flow_repeats(&lane->sim->flows[flow]))
		expect(lane->sim, flow, now_ps);
}

static void post(struct lane *lane, uint32_t flow, uint64_t now_ps)
{
	struct weft_sim *sim = lane->sim;
	const struct weft_sim_flow *f = &sim->flows[flow];
	uint32_t index = sim->wiring.conn_of[flow];
	struct conn *conn = &sim->wiring.conns[index];
	const struct flow_end *end = &sim->wiring.flow_ends[(uint64_t)index << 1];
	uint64_t posted_ns = sim->flow_states[flow].begin_ps / 1000;
	struct weft_work work = { .id = posted_ns << 32 | flow,
		.len_bytes = f->len_bytes,
		.rkey = sim->rkeys[f->dst],
		.imm = flow,
		.has_imm = sim->wiring.told[flow / 64] >> flow % 64 & 1 };

	if (sim->kind->post(lane, f->src, end, &work, now_ps))
		conn->posted++;
	else
		fail(lane, flow);
	turn(lane, flow, now_ps);
}

void flow_start(struct lane *lane, uint32_t index, uint64_t now_ps)
{
	struct weft_sim *sim = lane->sim;
	struct host *host = &sim->hosts[index];

	while (flow_next_ps(sim, host) <= now_ps) {
		uint32_t flow = heap_pop(sim, host), at = sim->wiring.conn_of[flow];
		struct flow_state *s = &sim->flow_states[flow];

		if (!s->posted)
			s->started_ps = s->begin_ps - WEFT_SIM_START_PS;
		if (at == NONE) { /* it has computed */
			end_one(lane, flow, now_ps);
			turn(lane, flow, now_ps);
			continue;
		}
		struct conn *conn = &sim->wiring.conns[at];

		if (conn->posted < conn->depth) {
			post(lane, flow, now_ps);
			continue;
		}
		s->next = NONE;
		if (conn->first == NONE)
			conn->first = flow;
		else
			sim->flow_states[conn->last].next = flow;
		conn->last = flow;
	}
}

static void on_sent(struct lane *lane, const struct weft_done *done, uint64_t now_ps)
{
	struct weft_sim *sim = lane->sim;
	uint32_t flow = (uint32_t)done->id;
	struct conn *conn = &sim->wiring.conns[sim->wiring.conn_of[flow]];

	conn->posted--;
	if (done->status == WEFT_OK) {
		uint32_t took_ns = (uint32_t)(now_ps / 1000) - (uint32_t)(done->id >> 32);

		weft_hist_add(&lane->messages, took_ns);
		end_one(lane, flow, now_ps);
	} else {
		fail(lane, flow);
	}
	while (conn->first != NONE && conn->posted < conn->depth) {
		uint32_t next = conn->first;

		conn->first = sim->flow_states[next].next;
		post(lane, next, now_ps);
	}
}

static void on_received(
	struct weft_sim *sim, uint32_t host, const struct weft_done *done, uint64_t now_ps)
{
	struct flow_state *s = &sim->flow_states[done->imm];

	WEFT_ASSERT(done->imm < sim->n_flows && sim->flows[done->imm].dst == host);
	sim->kind->on_received(&sim->hosts[host], done);
	if (++s->arrived == flow_repeats(&sim->flows[done->imm]))
		s->arrived_ps = now_ps - WEFT_SIM_START_PS;
	wake(sim, done->imm, host, now_ps);
}

void flow_on_done(struct lane *lane, uint32_t host, const struct weft_done *done, uint64_t now_ps)
{
	if (done->kind == WEFT_DONE_WRITE)
		on_sent(lane, done, now_ps);
	else if (done->status == WEFT_OK)
		on_received(lane->sim, host, done, now_ps);
}

/* ---- before time begins ---- */

static int by_source(const void *left, const void *right, void *arg)
{
	const struct weft_sim_flow *flows = arg;
	uint32_t i = *(const uint32_t *)left, k = *(const uint32_t *)right;

	if (flows[i].src != flows[k].src)
		return flows[i].src < flows[k].src ? -1 : 1;
	return i < k ? -1 : i > k;
}

void flow_sort(struct weft_sim *sim)
{
	uint32_t host = 0;

	for (uint32_t i = 0; i < sim->n_flows; i++) {
		const struct weft_sim_flow *f = &sim->flows[i];

		sim->starts[i] = i;
		for (uint32_t k = 0; k < f->n_after; k++)
			sim->waits_of[sim->edges[f->after_first + k].flow + 1]++;
	}
	for (uint32_t i = 0; i < sim->n_flows; i++)
		sim->waits_of[i + 1] += sim->waits_of[i]; /* the end of each, and one too far */
	for (uint32_t i = sim->n_flows; i--;) {
		const struct weft_sim_flow *f = &sim->flows[i];

		for (uint32_t k = f->n_after; k--;) {
			uint32_t edge = f->after_first + k, of = sim->edges[edge].flow;

			sim->waits[--sim->waits_of[of + 1]] = (struct waits){ i, edge };
		}
	}
	/* Now [of + 1] is the beginning of each: move all by one, and end with the sum. */
	for (uint32_t i = 0; i < sim->n_flows; i++)
		sim->waits_of[i] = sim->waits_of[i + 1];
	sim->waits_of[sim->n_flows] = sim->n_waits;
	qsort_r(sim->starts, sim->n_flows, sizeof(*sim->starts), by_source, sim->flows);
	for (uint32_t i = 0; i < sim->n_flows; host++) {
		struct host *h = &sim->hosts[host];

		h->next_flow = h->end_flow = i;
		while (i < sim->n_flows && sim->flows[sim->starts[i]].src == host)
			i++;
	}
	for (uint32_t i = 0; i < sim->n_flows; i++)
		expect(sim, i, WEFT_SIM_START_PS);
}
