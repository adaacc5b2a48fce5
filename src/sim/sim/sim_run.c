/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_run - steps of time, one after the other, by all lanes at once.
 *
 * A step is as long as a frame takes from a T0 to a T1 or back, and a whole number of windows, each
 * as long as a frame takes from any node to any other.  In a step a lane runs its T1s first, each
 * through all of it; then its T0s and hosts window by window, those of some pods through all
 * windows before the next pods.  What a node sends is for a later window, and for a later step
 * where it crosses between T0 and T1, so order among nodes does not matter and lanes need not
 * talk.  Then all meet once, with the next window in which each has something to do; the least of
 * these is in the step to be run next, so that time in which nothing happens costs nothing.  What
 * a lane tells the others it writes in two places by turns: nobody writes what somebody may still
 * be reading.
 *
 * No node is run twice in a window and none waits for another within it, which is all there is to
 * being the same for any number of threads (sim_mail.c keeps the order of what arrives).
 */
#include "ranks.h"

static bool is_over(const struct weft_sim *sim, uint32_t done)
{
	return sim->n_flows && done == sim->n_flows;
}

/* ---- one step ---- */

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
		if (i + 3 < n)
			mail_fetch(lane, visits[i + 3], false);
		if (i + 2 < n)
			mail_fetch(lane, visits[i + 2], true);
		mail_collect(lane, visits[i]); /* what was gathered while the last one ran */
		if (i + 1 < n)
			mail_ahead(lane, visits[i + 1]);
		run(lane, visits[i]);
		mail_done(lane);
	}
	mail_flush(lane);
}

/* A host that is due, but not yet: its time comes in a later window of the step. */
static bool is_early(const struct lane *lane, uint32_t node)
{
	const struct weft_sim *sim = lane->sim;
	const struct host *host = &sim->hosts[node];

	return node < sim->shape.hosts && sim->windows > 1 &&
	       WEFT_MIN(host->wake_ps, flow_next_ps(sim, host)) >= lane->end_ps &&
	       !(lane->acted[node / 64] >> node % 64 & 1);
}

/* Adds to the visits the nodes of [first, end) that have mail or are due. */
static uint32_t find_nodes(struct lane *lane, uint32_t first, uint32_t end, uint32_t n)
{
	enum clock clock = mail_clock(lane->sim, first);

	for (uint32_t word = first / 64; word <= (end - 1) / 64 && first < end; word++) {
		uint64_t mail = mail_bits(lane, clock, word), bits = mail | lane->due[word];

		if (word == first / 64)
			bits &= ~UINT64_C(0) << first % 64;
		if (word == (end - 1) / 64)
			bits &= ~UINT64_C(0) >> (63 - (end - 1) % 64);
		for (; bits; bits &= bits - 1) {
			uint64_t bit = bits & -bits;
			uint32_t node = word * 64 + weft_ctz64(bits);

			if (!(mail & bit) && is_early(lane, node))
				continue;
			lane->due[word] &= ~bit;
			lane->visits[n++] = node;
		}
	}
	return n;
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

/* The first action, from lane->action on, that is at or after that time. */
static uint32_t action_at(const struct lane *lane, uint64_t at_ps)
{
	const struct weft_sim *sim = lane->sim;
	uint32_t i = lane->action;

	while (i < sim->n_actions && sim->actions[i].at_ps < at_ps)
		i++;
	return i;
}

/* Actions from lane->action until then: their nodes are known, and own ones of [from, to) due. */
static void expect_actions(struct lane *lane, uint64_t until_ps, uint32_t from, uint32_t to)
{
	const struct weft_sim *sim = lane->sim;
	uint32_t end = action_at(lane, until_ps);

	for (uint32_t i = lane->action; i < end; i++) {
		uint32_t node = sim->actions[i].node;

		lane->acted[node / 64] |= UINT64_C(1) << node % 64;
		if (node >= from && node < to && owns(lane, node))
			node_due(lane, node);
	}
}

static void forget_actions(struct lane *lane, uint32_t first)
{
	const struct weft_sim *sim = lane->sim;

	for (uint32_t i = first; i < lane->action; i++)
		lane->acted[sim->actions[i].node / 64] = 0;
}

/* T1s: a whole step at a time. */
static void run_t1s(struct lane *lane)
{
	const struct weft_topo_shape *s = &lane->sim->shape;
	uint32_t n = 0;

	expect_actions(lane, lane->end_ps, lane->sim->first_t1, s->nodes);
	for (uint32_t plane = 0; plane < s->planes; plane++) {
		uint32_t first = lane->sim->first_t1 + plane * s->t1s;

		n = find_nodes(lane, first + lane->t1_first, first + lane->t1_end, n);
	}
	run_visits(lane, n, hop_run, hop_fetch);
}

/* Some T0s of all planes and the hosts below them, for one window. */
static void run_pods(struct lane *lane, uint32_t first, uint32_t end)
{
	const struct weft_topo_shape *s = &lane->sim->shape;
	uint32_t host_end = end == lane->t0_end ? lane->host_end : end * s->hosts_per_t0, n = 0;

	n = find_nodes(lane, WEFT_MIN(first * s->hosts_per_t0, lane->host_end),
		WEFT_MIN(host_end, lane->host_end), 0);
	run_visits(lane, n, lane->sim->kind->run, lane->sim->kind->fetch);
	n = 0;
	for (uint32_t plane = 0; plane < s->planes; plane++) {
		uint32_t t0s = s->hosts + plane * s->t0s;

		n = find_nodes(lane, t0s + first, t0s + end, n);
	}
	run_visits(lane, n, hop_run, hop_fetch);
}

/*
 * All windows of a step, a few pods at a time: what their hosts remember stays in the cache from
 * one window to the next.  Pods meet at T1s only, which is in another step.
 */
static void run_t0s_and_hosts(struct lane *lane, uint64_t window)
{
	struct weft_sim *sim = lane->sim;
	uint32_t pods = lane->t0_end - lane->t0_first, first_action = lane->action;
	uint64_t step_end_ps = lane->step_end_ps;

	if (sim->windows > 1)
		pods = WEFT_MIN(pods, WEFT_MAX(POD_HOSTS / sim->shape.hosts_per_t0, 1u));
	for (uint32_t pod = lane->t0_first; pod < lane->t0_end; pod += pods) {
		lane->action = first_action;
		for (uint32_t i = 0; i < sim->windows; i++) {
			mail_time(lane, window + i, false);
			if (lane->action < sim->n_actions)
				expect_actions(lane, lane->end_ps, 0, sim->first_t1);
			run_pods(lane, pod, WEFT_MIN(pod + pods, lane->t0_end));
			lane->action = action_at(lane, lane->end_ps);
		}
	}
	lane->action = first_action;
	lane->action = action_at(lane, step_end_ps);
	forget_actions(lane, first_action);
}

static void run_step(struct lane *lane, uint64_t window)
{
	struct weft_sim *sim = lane->sim;
	uint32_t host;

	mail_time(lane, window, true);
	routes_advance(lane);
	while ((host = wheel_pop(&lane->wheel, sim->hosts, window + sim->windows - 1)) != NONE)
		node_due(lane, host);
	run_t1s(lane);
	run_t0s_and_hosts(lane, window);
}

/* ---- all steps ---- */

static uint64_t next_window(const struct lane *lane)
{
	const struct weft_sim *sim = lane->sim;
	uint64_t next = WEFT_MIN(mail_next(lane), wheel_next(&lane->wheel));

	for (uint32_t word = 0; word < WEFT_DIV_UP(sim->shape.nodes, 64u); word++) {
		if (lane->due[word])
			return lane->window + 1; /* the last one of the step has been run */
	}
	if (lane->action < sim->n_actions)
		next = WEFT_MIN(next, sim->actions[lane->action].at_ps / sim->window_ps);
	return WEFT_MAX(next, lane->window + 1);
}

/* Nobody writes what lane 0 reads here before it has come to the next meeting. */
static void tell(struct weft_sim *sim, unsigned turn)
{
	struct weft_sim_totals so_far = { .now_ps = sim->lanes[0].end_ps - WEFT_SIM_START_PS,
		.hops_ideal = sim->hops_ideal,
		.windows = sim->turns };

	if (sim->links) {
		so_far.packet_hops = sim->links->others.hops;
		so_far.flows_done = sim->links->others.done;
		so_far.flows_failed = sim->links->others.failed;
	}
	for (uint32_t i = 0; i < sim->n_lanes; i++) {
		so_far.packet_hops += sim->lanes[i].hops[turn];
		so_far.flows_done += sim->lanes[i].done[turn];
		so_far.flows_failed += sim->lanes[i].failed[turn];
	}
	if (sim->watch && !sim->watch(sim->watch_arg, &so_far))
		sim->stop[!turn] = true;
}

/*
 * The step that such a window is in.  A lane may still be emptying this step's boxes while another
 * is in the next one already: that must not have the same places in the rings.
 */
static uint64_t settle_on(const struct weft_sim *sim, uint64_t window, uint64_t next)
{
	uint32_t ring = sim->rings[CLOCK_WINDOW], steps = sim->rings[CLOCK_STEP];

	if (next == WEFT_NEVER)
		return next;
	next = next / sim->windows * sim->windows;
	for (; next > window + sim->windows; next -= sim->windows) {
		uint64_t apart = (next - window) % ring;

		if (apart >= sim->windows && apart <= ring - sim->windows &&
			(next - window) / sim->windows % steps)
			break;
	}
	return next;
}

/* All lanes of all ranks have run the step, and know of each other. */
static void meet(struct lane *lane, unsigned turn)
{
	struct weft_sim *sim = lane->sim;

	if (sim->links)
		parcels_count(lane);
	(void)pthread_barrier_wait(&sim->barrier);
	if (!sim->links)
		return;
	parcels_write(lane);
	(void)pthread_barrier_wait(&sim->barrier);
	if (!lane->index)
		parcels_exchange(sim, turn);
	(void)pthread_barrier_wait(&sim->barrier);
	parcels_read(lane);
	(void)pthread_barrier_wait(&sim->barrier);
}

static void run_lane(struct lane *lane)
{
	struct weft_sim *sim = lane->sim;
	const struct tally none = { .next = WEFT_NEVER };
	const struct tally *others = sim->links ? &sim->links->others : &none;
	uint64_t turns = 0;

	for (uint64_t window = sim->window;;) {
		unsigned turn = turns++ & 1;

		run_step(lane, window);
		lane->next[turn] = next_window(lane);
		lane->done[turn] = lane->flows_done;
		lane->failed[turn] = lane->flows_failed;
		lane->hops[turn] = lane->packet_hops;
		meet(lane, turn);
		mail_clear(lane);
		uint64_t next = others->next;
		uint32_t done = others->done + others->failed;

		for (uint32_t i = 0; i < sim->n_lanes; i++) {
			next = WEFT_MIN(next, sim->lanes[i].next[turn]);
			done += sim->lanes[i].done[turn] + sim->lanes[i].failed[turn];
		}
		next = settle_on(sim, window, next);
		if (!lane->index) {
			sim->window = next;
			sim->turns++;
			tell(sim, turn);
		}
		if (sim->stop[turn] || others->stop || is_over(sim, done) || next == WEFT_NEVER ||
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
	uint64_t done = 0;

	for (uint32_t i = 0; i < sim->n_lanes; i++)
		done += sim->lanes[i].flows_done + sim->lanes[i].flows_failed;
	weft_sim_sum(sim, &done, 1);
	if (is_over(sim, (uint32_t)done) || sim->window == WEFT_NEVER ||
		sim->window * sim->window_ps >= sim->until_ps)
		return;
	WEFT_ASSERT(!pthread_barrier_init(&sim->barrier, NULL, sim->n_lanes));
	lanes_run(sim, run_lane);
	WEFT_ASSERT(!pthread_barrier_destroy(&sim->barrier));
}
