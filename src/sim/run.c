/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run - windows of time, one after the other, by all lanes at once.
 *
 * In a window a lane runs those of its nodes that have mail or want to be run; what they send is
 * for later windows, so order among nodes does not matter and lanes need not talk.  Then all meet
 * once, with the next window in which each has something to do; the least of these is run next, so
 * that time in which nothing happens costs nothing.  What a lane tells the others it writes in two
 * places by turns: nobody writes what somebody may still be reading.
 *
 * No node is run twice in a window and none waits for another within it, which is all there is to
 * being the same for any number of threads (mail.c keeps the order of what arrives).
 */
#include "local.h"

static bool is_over(const struct weft_sim *sim, uint32_t done)
{
	return sim->n_flows && done == sim->n_flows;
}

/* ---- one window ---- */

typedef void run_fn(struct lane *lane, uint32_t node);
typedef void fetch_fn(const struct lane *lane, uint32_t node, unsigned visits);

/* With what they will touch asked for some visits before: most of it lies in no cache. */
static void run_visits(struct lane *lane, uint32_t n, run_fn *run, fetch_fn *fetch)
{
	const uint32_t *visits = lane->visits;

	for (uint32_t i = 0; i < n; i++) {
		for (unsigned ahead = FETCH_VISITS; ahead; ahead--)
			if (i + ahead < n)
				fetch(lane, visits[i + ahead], ahead);
		if (i + 2 < n)
			mail_fetch(lane, visits[i + 2]);
		if (i + 1 < n)
			mail_ahead(lane, visits[i + 1]);
		run(lane, visits[i]);
	}
}

/* Runs the nodes of [first, end) that have mail or are due. */
static void run_nodes(struct lane *lane, uint32_t first, uint32_t end, run_fn *run, fetch_fn *fetch)
{
	uint32_t n = 0;

	for (uint32_t word = first / 64; word <= (end - 1) / 64 && first < end; word++) {
		uint64_t bits = mail_bits(lane, word) | lane->due[word];

		if (word == first / 64)
			bits &= ~UINT64_C(0) << first % 64;
		if (word == (end - 1) / 64)
			bits &= ~UINT64_C(0) >> (63 - (end - 1) % 64);
		lane->due[word] &= ~bits;
		for (; bits; bits &= bits - 1)
			lane->visits[n++] = word * 64 + weft_ctz64(bits);
	}
	run_visits(lane, n, run, fetch);
}

static bool owns(const struct lane *lane, uint32_t node)
{
	const struct weft_topo_shape *s = &lane->sim->shape;

	if (node < s->hosts)
		return node >= lane->host_first && node < lane->host_end;
	struct weft_node n = weft_topo_node(lane->sim->config.topo, node);

	if (n.kind == WEFT_NODE_T0)
		return n.index >= lane->t0_first && n.index < lane->t0_end;
	return n.index >= lane->t1_first && n.index < lane->t1_end;
}

/* Marks own nodes to which something happens in this window, or unmarks them after it. */
static uint32_t mark_actions(struct lane *lane, bool is_begin)
{
	const struct weft_sim *sim = lane->sim;
	uint32_t i = lane->action;

	for (; i < sim->n_actions && sim->actions[i].at_ps < lane->end_ps; i++) {
		uint32_t node = sim->actions[i].node;

		lane->acted[node / 64] = 0;
		if (is_begin && owns(lane, node))
			node_due(lane, node);
	}
	for (uint32_t k = lane->action; is_begin && k < i; k++) {
		uint32_t node = sim->actions[k].node;

		lane->acted[node / 64] |= UINT64_C(1) << node % 64;
	}
	return i;
}

static void run_window(struct lane *lane)
{
	struct weft_sim *sim = lane->sim;
	const struct weft_topo_shape *s = &sim->shape;
	uint32_t host;

	lane->slot = (uint32_t)(lane->window % sim->ring);
	lane->start_ps = lane->window * sim->window_ps;
	lane->end_ps = lane->start_ps + sim->window_ps;
	(void)mark_actions(lane, true);
	while ((host = wheel_pop(&lane->wheel, sim->hosts, lane->window)) != NONE)
		node_due(lane, host);
	run_nodes(lane, lane->host_first, lane->host_end, host_run, host_fetch);
	for (uint32_t plane = 0; plane < s->planes; plane++) {
		uint32_t first = s->hosts + plane * s->t0s;

		run_nodes(lane, first + lane->t0_first, first + lane->t0_end, hop_run, hop_fetch);
	}
	for (uint32_t plane = 0; plane < s->planes; plane++) {
		uint32_t first = s->hosts + s->planes * s->t0s + plane * s->t1s;

		run_nodes(lane, first + lane->t1_first, first + lane->t1_end, hop_run, hop_fetch);
	}
	lane->action = mark_actions(lane, false);
}

/* ---- all windows ---- */

static uint64_t next_window(const struct lane *lane)
{
	const struct weft_sim *sim = lane->sim;
	uint64_t next = WEFT_MIN(mail_next(lane), wheel_next(&lane->wheel));

	for (uint32_t word = 0; word < WEFT_DIV_UP(sim->shape.nodes, 64u); word++) {
		if (lane->due[word])
			return lane->window + 1;
	}
	if (lane->action < sim->n_actions)
		next = WEFT_MIN(next, sim->actions[lane->action].at_ps / sim->window_ps);
	return WEFT_MAX(next, lane->window + 1);
}

/* Nobody writes what lane 0 reads here before it has come to the next meeting. */
static void tell(struct weft_sim *sim, unsigned turn)
{
	struct weft_sim_totals so_far = { .now_ps = sim->lanes[0].end_ps - WEFT_SIM_START_PS,
		.windows = sim->turns };

	for (uint32_t i = 0; i < sim->n_lanes; i++) {
		so_far.packet_hops += sim->lanes[i].hops[turn];
		so_far.flows_done += sim->lanes[i].done[turn];
		so_far.flows_failed += sim->lanes[i].failed[turn];
	}
	if (sim->watch && !sim->watch(sim->watch_arg, &so_far))
		sim->stop[!turn] = true;
}

static void run_lane(struct lane *lane)
{
	struct weft_sim *sim = lane->sim;
	uint64_t turns = 0;

	for (uint64_t window = sim->window;;) {
		uint64_t next = WEFT_NEVER;
		uint32_t done = 0;
		unsigned turn = turns++ & 1;

		lane->window = window;
		run_window(lane);
		lane->next[turn] = next_window(lane);
		lane->done[turn] = lane->flows_done;
		lane->failed[turn] = lane->flows_failed;
		lane->hops[turn] = lane->packet_hops;
		(void)pthread_barrier_wait(&sim->barrier);
		mail_clear(lane);
		for (uint32_t i = 0; i < sim->n_lanes; i++) {
			next = WEFT_MIN(next, sim->lanes[i].next[turn]);
			done += sim->lanes[i].done[turn] + sim->lanes[i].failed[turn];
		}
		/*
		 * A lane may still be emptying this window's box while another is in the next
		 * window already: that must not have the same place in the ring.
		 */
		if (next != WEFT_NEVER && next > window + 1 && !((next - window) % sim->ring))
			next--;
		if (!lane->index) {
			sim->window = next;
			sim->turns++;
			tell(sim, turn);
		}
		if (sim->stop[turn] || is_over(sim, done) || next == WEFT_NEVER ||
			next * sim->window_ps >= sim->until_ps)
			break;
		window = next;
	}
}

struct thread {
	pthread_t id;
	struct lane *lane;
	void (*work)(struct lane *lane);
};

static void *run_thread(void *arg)
{
	struct thread *thread = arg;

	thread->work(thread->lane);
	return NULL;
}

void lanes_run(struct weft_sim *sim, void (*work)(struct lane *lane))
{
	struct thread threads[WEFT_SIM_THREADS_MAX];

	for (uint32_t i = 1; i < sim->n_lanes; i++) {
		threads[i] = (struct thread){ .lane = &sim->lanes[i], .work = work };
		WEFT_ASSERT(!pthread_create(&threads[i].id, NULL, run_thread, &threads[i]));
	}
	work(&sim->lanes[0]);
	for (uint32_t i = 1; i < sim->n_lanes; i++)
		WEFT_ASSERT(!pthread_join(threads[i].id, NULL));
}

void weft_sim_run(
	struct weft_sim *sim, uint64_t until_ps, weft_sim_watch_fn *watch, void *watch_arg)
{
	uint64_t limit = WEFT_NEVER - WEFT_SIM_START_PS;

	sim->until_ps = WEFT_MIN(until_ps, limit) + WEFT_SIM_START_PS;
	sim->watch = watch;
	sim->watch_arg = watch_arg;
	sim->stop[0] = sim->stop[1] = false;
	struct weft_sim_totals totals;

	weft_sim_totals(sim, &totals);
	if (is_over(sim, totals.flows_done + totals.flows_failed) || sim->window == WEFT_NEVER ||
		sim->window * sim->window_ps >= sim->until_ps)
		return;
	WEFT_ASSERT(!pthread_barrier_init(&sim->barrier, NULL, sim->n_lanes));
	lanes_run(sim, run_lane);
	WEFT_ASSERT(!pthread_barrier_destroy(&sim->barrier));
}
