/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * play_lab_host - one host of a scenario, live: its endpoint, its connections, what it sends when.
 *
 * Everybody goes through the pairs in the same order, so that nobody waits for somebody who waits
 * for him; who is called before his turn answers.  What has arrived is known by immediates, which
 * carry the flow's number; what is done, by completions: as in sim, nobody is told anything else.
 */
#include "play_lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <weft/base.h>
#include <weft/session.h>

#define SETUP_NS UINT64_C(30000000000)
#define NAP_NS UINT64_C(1000000)
#define PUBLISH_NS UINT64_C(4000000)
#define TCP_PORT 18700u

enum { DEPTH = 16, RECVS = 32, TRIES = 40 };

struct mine { /* a flow that this host sends, or a step that it computes */
	uint64_t
		ready_ns; /* since when nothing holds the next repetition back; NEVER: it is held */
	uint32_t flow, posted, done;
	bool in_line;
};

struct connection {
	struct weft_session session;
	uint32_t under_way, rkey;
	bool is_open;
};

struct node {
	const struct play_lab *l;
	struct play_lab_host *told;
	struct weft_live *live;
	struct connection *conns; /* [pair] */
	struct mine *mine;
	uint32_t *mine_of; /* [flow]: its place in mine */
	uint32_t n_mine, *arrived;
	uint8_t *memory; /* where everything that comes is written to */
	uint32_t rkey, host, longest;
	uint64_t start_ns;
};

static bool fail(struct node *n, const char *what)
{
	if (!*n->told->error)
		(void)snprintf(n->told->error, sizeof(n->told->error), "h%u: %.200s",
			(unsigned)n->host, what);
	atomic_store(&n->told->has_failed, true);
	return false;
}

/* ---- set-up ---- */

static bool open_live(struct node *n)
{
	const struct play_lab *l = n->l;
	const struct weft_sim_config *c = l->script->config;
	struct weft_live_config config;
	char error[PLAY_LAB_ERROR_BYTES] = "";
	uint32_t ends = 1;

	for (uint32_t i = 0; i < l->n_pairs; i++)
		ends += l->pairs[i].src == n->host || l->pairs[i].dst == n->host;
	weft_live_defaults(&config);
	config.paths = WEFT_MIN(c->paths, 256u);
	config.cc = c->cc ? c->cc->name : NULL;
	config.timeout_ms = l->timeout_ms;
	config.engine.qps = WEFT_MAX(config.engine.qps, (uint32_t)weft_pow2_up(ends));
	config.engine.pathsets = WEFT_MAX(config.engine.pathsets, ends);
	config.engine.rq_depth = config.engine.wimm_max = RECVS;
	config.engine.sq_depth = DEPTH;
	double probe_ns = config.engine.probe_ns_max * l->slower;

	config.engine.probe_ns_max = probe_ns < 4e9 ? (uint32_t)probe_ns : 4000000000u;
	/* A switch waits for a caller's first words for a moment only. */
	for (unsigned i = 0; weft_live_open(&n->live, &config, error, sizeof(error)); i++) {
		if (i == TRIES)
			return fail(n, error);
		weft_clock_sleep(50 * NAP_NS);
	}
	if (weft_region_add(weft_live_endpoint(n->live), 0, n->memory, l->pattern_bytes, 0,
		    WEFT_ACCESS_REMOTE_WRITE, weft_live_random(n->live), &n->rkey))
		return fail(n, "no room for a memory region");
	if (weft_live_listen(n->live, (uint16_t)(TCP_PORT + n->host), error, sizeof(error)))
		return fail(n, error);
	return true;
}

/* Answers whoever comes; pairs are told by their numbers. */
static bool await(struct node *n, uint32_t pair)
{
	char error[PLAY_LAB_ERROR_BYTES] = "nobody came";

	while (!n->conns[pair].is_open) {
		struct weft_meeting *meeting;

		if (weft_live_accept(n->live, SETUP_NS, &meeting, error, sizeof(error)) != 1)
			return fail(n, error);
		uint32_t which = (uint32_t)json_integer_value(
			json_object_get(weft_meeting_app(meeting), "pair"));

		if (which >= n->l->n_pairs || n->l->pairs[which].dst != n->host ||
			n->conns[which].is_open) {
			weft_live_refuse(meeting, "no such pair");
			continue;
		}
		struct connection *conn = &n->conns[which];
		json_t *app = json_pack("{s:I}", "rkey", (json_int_t)n->rkey);
		int bad = weft_live_answer(meeting, app, &conn->session, error, sizeof(error));

		json_decref(app);
		if (bad)
			return fail(n, error);
		for (unsigned i = 0; i < RECVS && n->l->pairs[which].told; i++)
			(void)weft_post_recv(conn->session.qp[0], which);
		conn->is_open = true;
	}
	return true;
}

static bool call(struct node *n, uint32_t pair)
{
	const struct play_lab_pair *p = &n->l->pairs[pair];
	struct connection *conn = &n->conns[pair];
	char error[PLAY_LAB_ERROR_BYTES] = "", host[16];
	json_t *app = json_pack("{s:I}", "pair", (json_int_t)pair);

	(void)snprintf(host, sizeof(host), "h%u", (unsigned)p->dst);
	int bad = weft_live_connect(n->live, host, (uint16_t)(TCP_PORT + p->dst), 1, app, SETUP_NS,
		&conn->session, error, sizeof(error));

	json_decref(app);
	if (bad)
		return fail(n, error);
	conn->rkey = (uint32_t)json_integer_value(json_object_get(conn->session.app, "rkey"));
	conn->is_open = true;
	return true;
}

static bool wait_for(struct node *n, _Atomic uint32_t *count)
{
	uint64_t limit_ns = weft_clock_now(NULL) + SETUP_NS;

	(*count)++;
	while (atomic_load(count) < n->l->hosts) {
		if (weft_clock_now(NULL) > limit_ns || atomic_load(&n->l->shared->stop))
			return fail(n, "the other hosts did not come");
		weft_clock_sleep(NAP_NS);
	}
	return true;
}

static bool meet(struct node *n)
{
	if (!open_live(n) || !wait_for(n, &n->l->shared->listening))
		return false;
	for (uint32_t i = 0; i < n->l->n_pairs; i++) {
		if (n->l->pairs[i].src == n->host && !call(n, i))
			return false;
		if (n->l->pairs[i].dst == n->host && !await(n, i))
			return false;
	}
	return wait_for(n, &n->l->shared->ready);
}

/* ---- what begins when ---- */

/* As struct weft_sim_edge has it: how often the flow has come to its end, as far as we know. */
static bool may_begin(const struct node *n, const struct mine *m)
{
	const struct weft_scenario_script *s = n->l->script;
	const struct weft_sim_flow *flow = &s->flows[m->flow];

	for (uint32_t i = 0; i < flow->n_after; i++) {
		const struct weft_sim_edge *edge = &s->edges[flow->after_first + i];
		const struct weft_sim_flow *other = &s->flows[edge->flow];
		uint32_t repeats = WEFT_MAX(other->repeats, 1u), wanted = repeats;
		uint32_t ends = other->src == n->host ? n->mine[n->mine_of[edge->flow]].done
						      : n->arrived[edge->flow];

		if (edge->lag != WEFT_SIM_WHOLE)
			wanted = m->posted >= edge->lag ? m->posted - edge->lag + 1 : 0;
		if (ends < WEFT_MIN(wanted, repeats))
			return false;
	}
	return true;
}

static void end_one(struct node *n, struct mine *m, uint64_t now_ns, bool good)
{
	struct play_lab_flow *told = &n->l->shared->flows[m->flow];

	m->done++;
	if (!good)
		atomic_store(&told->failed, true);
	if (m->done == WEFT_MAX(n->l->script->flows[m->flow].repeats, 1u))
		atomic_store(&told->done_ns, now_ns);
}

/* False: it is in line behind others. */
static bool post(struct node *n, struct mine *m)
{
	const struct weft_sim_flow *flow = &n->l->script->flows[m->flow];
	struct connection *conn = &n->conns[n->l->pair_of[m->flow]];
	struct weft_work work = { .id = m->flow,
		.data = n->l->pattern,
		.len_bytes = flow->len_bytes,
		.rkey = conn->rkey,
		.imm = m->flow,
		.has_imm = n->l->told[m->flow] };

	if (conn->under_way == DEPTH || weft_post_write(conn->session.qp[0], &work))
		return false;
	conn->under_way++;
	return true;
}

/* Begins one repetition if it is time; returns when to look again. */
static uint64_t begin(struct node *n, struct mine *m, uint64_t now_ns, bool *moved)
{
	const struct weft_sim_flow *flow = &n->l->script->flows[m->flow];
	uint64_t start_ns = play_lab_ns(n->l, flow->start_ps);
	struct play_lab_flow *told = &n->l->shared->flows[m->flow];

	if (m->ready_ns == WEFT_NEVER) {
		if (!may_begin(n, m))
			return WEFT_NEVER;
		m->ready_ns = m->posted || flow->n_after ? WEFT_MAX(now_ns, start_ns) : start_ns;
	}
	uint64_t at_ns = m->ready_ns + play_lab_ns(n->l, flow->delay_ps);

	if (now_ns < at_ns)
		return at_ns;
	if (!atomic_load(&told->started_ns))
		atomic_store(&told->started_ns, WEFT_MAX(now_ns, UINT64_C(1)));
	if (flow->src != flow->dst && !post(n, m))
		return WEFT_NEVER; /* a completion makes room */
	m->posted++;
	m->ready_ns = WEFT_NEVER;
	if (flow->src == flow->dst)
		end_one(n, m, now_ns, true);
	*moved = true;
	return now_ns;
}

static uint64_t begin_all(struct node *n, uint64_t now_ns, bool *moved)
{
	uint64_t next_ns = WEFT_NEVER;

	for (uint32_t i = 0; i < n->n_mine; i++) {
		struct mine *m = &n->mine[i];
		uint64_t at_ns = WEFT_NEVER;

		if (m->posted < WEFT_MAX(n->l->script->flows[m->flow].repeats, 1u))
			at_ns = begin(n, m, now_ns, moved);
		next_ns = WEFT_MIN(next_ns, at_ns);
	}
	return next_ns;
}

/* ---- the run ---- */

static bool take_done(struct node *n, uint64_t now_ns)
{
	struct weft_done done[32];
	size_t k = weft_poll(weft_live_endpoint(n->live), 0, done, WEFT_COUNT(done));

	for (size_t i = 0; i < k; i++) {
		if (done[i].kind == WEFT_DONE_RECV_IMM) {
			if (done[i].status != WEFT_OK || done[i].imm >= n->l->script->n_flows ||
				done[i].id >= n->l->n_pairs)
				continue; /* flushed */
			n->arrived[done[i].imm]++;
			(void)weft_post_recv(n->conns[done[i].id].session.qp[0], done[i].id);
			continue;
		}
		struct mine *m = &n->mine[n->mine_of[done[i].id]];

		n->conns[n->l->pair_of[m->flow]].under_way--;
		end_one(n, m, now_ns, done[i].status == WEFT_OK);
	}
	return k;
}

/* As weft_sim_paths() counts them: those that data goes over. */
static void count_states(
	const struct node *n, uint32_t states[WEFT_TOPO_PLANES_MAX][WEFT_SIM_PATH_STATES])
{
	struct weft_path_info info;

	for (uint32_t i = 0; i < n->l->n_pairs; i++) {
		const struct weft_session *session = &n->conns[i].session;

		for (uint32_t k = 0;
			n->l->pairs[i].src == n->host &&
			!weft_path_info(weft_live_endpoint(n->live), session->pathset, k, &info);
			k++) {
			if (info.state != WEFT_PATH_EMPTY && info.port < WEFT_TOPO_PLANES_MAX)
				states[info.port][info.state - WEFT_PATH_GOOD]++;
		}
	}
}

static void publish(struct node *n)
{
	uint32_t states[WEFT_TOPO_PLANES_MAX][WEFT_SIM_PATH_STATES] = { 0 };

	n->told->counters = *weft_stats(weft_live_endpoint(n->live));
	atomic_store(&n->told->refused, weft_live_port(n->live)->stats.drops[WEFT_DROP_BAD_ICRC]);
	count_states(n, states);
	for (uint32_t i = 0; i < WEFT_TOPO_PLANES_MAX * WEFT_SIM_PATH_STATES; i++)
		atomic_store_explicit(
			&n->told->states[i / WEFT_SIM_PATH_STATES][i % WEFT_SIM_PATH_STATES],
			states[i / WEFT_SIM_PATH_STATES][i % WEFT_SIM_PATH_STATES],
			memory_order_relaxed);
}

static void run(struct node *n)
{
	struct play_lab_shared *shared = n->l->shared;
	uint64_t last_ns = 0, published_ns = 0, next_ns = WEFT_NEVER;

	publish(n);
	while (!atomic_load(&shared->stop)) {
		if (atomic_load(&n->told->is_paused)) {
			weft_clock_sleep(NAP_NS);
			last_ns = 0;
			continue;
		}
		uint64_t now = weft_clock_now(NULL), start_ns = atomic_load(&shared->start_ns);
		bool moved = false;

		if (!start_ns || now < start_ns) {
			(void)weft_pump_step(weft_live_pump(n->live), NAP_NS);
			continue;
		}
		now -= start_ns;
		next_ns = begin_all(n, now, &moved);
		uint64_t wait_ns = moved ? 0 : next_ns > now ? WEFT_MIN(next_ns - now, NAP_NS) : 0;

		(void)weft_pump_step(weft_live_pump(n->live), wait_ns);
		uint64_t then = weft_clock_now(NULL) - start_ns;

		/* A turn that took longer than it was to wait for: we were not run. */
		if (last_ns && then - now > wait_ns + atomic_load(&n->told->late_ns))
			atomic_store(&n->told->late_ns, then - now - wait_ns);
		last_ns = then;
		while (take_done(n, then))
			;
		if (then - published_ns >= PUBLISH_NS) {
			publish(n);
			published_ns = then;
		}
	}
	publish(n);
}

/* What came, came to the same place from everybody, and everybody sends the same. */
static void compare(struct node *n)
{
	const struct weft_scenario_script *s = n->l->script;
	uint64_t wrong = 0;

	for (uint32_t i = 0; i < s->n_flows; i++) {
		const struct play_lab_flow *told = &n->l->shared->flows[i];

		if (s->flows[i].dst == n->host && s->flows[i].src != n->host &&
			atomic_load(&told->done_ns) && !atomic_load(&told->failed))
			n->longest = WEFT_MAX(n->longest, s->flows[i].len_bytes);
	}
	for (uint32_t i = 0; i < n->longest; i++)
		wrong += n->memory[i] != n->l->pattern[i];
	atomic_store(&n->told->wrong_bytes, wrong);
}

static bool take_flows(struct node *n)
{
	const struct weft_scenario_script *s = n->l->script;

	n->conns = calloc(n->l->n_pairs, sizeof(*n->conns));
	n->mine = calloc(s->n_flows, sizeof(*n->mine));
	n->mine_of = calloc(s->n_flows, sizeof(*n->mine_of));
	n->arrived = calloc(s->n_flows, sizeof(*n->arrived));
	n->memory = mmap(NULL, n->l->pattern_bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!n->conns || !n->mine || !n->mine_of || !n->arrived || n->memory == MAP_FAILED)
		return fail(n, "out of memory");
	for (uint32_t i = 0; i < s->n_flows; i++) {
		if (s->flows[i].src != n->host)
			continue;
		n->mine_of[i] = n->n_mine;
		n->mine[n->n_mine++] = (struct mine){ .ready_ns = WEFT_NEVER, .flow = i };
	}
	return true;
}

void play_lab_host_run(const struct play_lab *l, uint32_t host)
{
	struct node *n = calloc(1, sizeof(*n));

	if (!n) {
		struct node none = { .l = l, .told = &l->shared->hosts[host], .host = host };

		(void)fail(&none, "out of memory");
		l->shared->ended++;
		return;
	}
	*n = (struct node){ .l = l, .told = &l->shared->hosts[host], .host = host };
	if (take_flows(n) && meet(n)) {
		run(n);
		compare(n);
	}
	l->shared->ended++;
	/* Connections end with the process: nobody is to wait for partings. */
	if (n->memory && n->memory != MAP_FAILED)
		(void)munmap(n->memory, l->pattern_bytes);
	free(n->conns);
	free(n->mine);
	free(n->mine_of);
	free(n->arrived);
	free(n);
}
