/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * play_lab_world - what a live scenario takes place in: the fabric file, the hosts' processes, and
 * the lab's own faults in place of the simulator's.
 *
 * A moment of a script begins or ends something at one place.  What begins gets a number from the
 * lab, by which its end undoes it; a switch that loses power comes back by itself, because a lab
 * has it so (reboot).
 */
#include "play_lab.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/base.h>
#include <weft/net.h>

#define SETUP_NS UINT64_C(60000000000)
#define SLOW_END_NS UINT64_C(10000000000) /* after the stop */
#define FLOW_BYTES_MAX (64u << 20)
#define SLOW_BPS_MIN 1000000u

bool play_lab_fail(struct play_lab_run *r, const char *what)
{
	(void)snprintf(r->error, r->error_bytes, "%s: %s", weft_scenario_head(r->play)->file, what);
	return false;
}

bool play_lab_fail_at(struct play_lab_run *r, uint32_t line, const char *field, const char *what)
{
	(void)snprintf(r->error, r->error_bytes, "%s:%u: %s: %s", weft_scenario_head(r->play)->file,
		(unsigned)WEFT_MAX(line, 1u), field, what);
	return false;
}

/* ---- what a lab can do ---- */

static uint64_t slow_bps(const struct play_lab_run *r, const struct weft_sim_fault *f)
{
	return (uint64_t)((double)f->value / r->l.slower);
}

static bool judge_faults(struct play_lab_run *r)
{
	const struct weft_scenario_faults *faults = &r->script.faults;
	uint32_t moments = faults->n, planes = weft_topo_shape(r->topo)->planes;

	for (uint32_t i = 0; i < faults->n; i++) {
		const struct weft_sim_fault *f = &faults->list[i];

		moments += f->kind == WEFT_SIM_HOST_PAUSE ? planes : 0;
		if (f->kind == WEFT_SIM_LINK_RATE && slow_bps(r, f) < SLOW_BPS_MIN)
			return play_lab_fail_at(r, faults->lines[i], "faults",
				"slow: less than 1 Mb/s in a lab whose time runs so much slower;"
				" a higher --rate helps");
	}
	return moments <= WEFT_LAB_FAULTS_MAX ||
	       play_lab_fail_at(r, weft_scenario_head(r->play)->faults_line, "faults",
		       "more than 256 moments at which something breaks");
}

bool play_lab_judge(struct play_lab_run *r)
{
	const struct weft_scenario_head *head = weft_scenario_head(r->play);
	const struct weft_scenario_script *script = &r->script;

	if (script->config->baseline.kind != WEFT_BASELINE_NONE)
		return play_lab_fail_at(r, head->transport_line, "engine.transport",
			"other transports than mrc run in the simulator only");
	if (weft_topo_shape(r->topo)->hosts > PLAY_LAB_HOSTS_MAX)
		return play_lab_fail_at(r, head->fabric_line, "fabric",
			"more than 64 hosts: too many processes for a lab of one machine");
	for (uint32_t i = 0; i < script->n_groups; i++) {
		const struct weft_scenario_group *g = &script->groups[i];

		for (uint32_t k = g->first; k < g->first + g->n; k++) {
			if (script->flows[k].len_bytes > FLOW_BYTES_MAX)
				return play_lab_fail_at(
					r, g->line, g->name, "a message of more than 64 MiB");
		}
	}
	return judge_faults(r);
}

/* ---- the fabric file ---- */

static void put_link(FILE *out, const char *head, uint64_t bps, uint32_t delay_ns, double slower)
{
	fprintf(out, "%sspeed: %" PRIu64 "b/s, delay: %.0fns}\n", head,
		(uint64_t)((double)bps / slower), delay_ns * slower);
}

/* A cable that is not as the others are. */
static void put_override(const struct play_lab_run *r, FILE *out, uint32_t index, unsigned *n)
{
	const struct weft_topo_shape *s = weft_topo_shape(r->topo);
	struct weft_link link = weft_topo_link(r->topo, index);
	bool at_host = index < s->hosts * s->planes;
	char name[WEFT_TOPO_NAME_BYTES];

	if (link.cabled && link.bps == (at_host ? s->host_bps : s->core_bps) &&
		link.delay_ns == (at_host ? s->host_delay_ns : s->core_delay_ns))
		return;
	weft_topo_link_name(r->topo, index, name, sizeof(name));
	fprintf(out, "%s  - {link: \"%s\", ", (*n)++ ? "" : "overrides:\n", name);
	if (link.cabled)
		put_link(out, "", link.bps, link.delay_ns, r->l.slower);
	else
		fprintf(out, "cabled: false}\n");
}

static void put_depth(FILE *out, const char *name, const struct weft_topo_depth *depth)
{
	if (depth->bytes)
		fprintf(out, ", %s: %" PRIu32 "B", name, depth->bytes);
	else if (depth->bdp_permille)
		fprintf(out, ", %s: %.3fBDP", name, depth->bdp_permille / 1e3);
}

/* Slower links with longer round trips: a BDP is as many bytes as it was, and so are depths. */
static void put_switch(const struct play_lab_run *r, FILE *out)
{
	static const char *const full[] = { [WEFT_DISCIPLINE_TRIM] = "trim",
		[WEFT_DISCIPLINE_DROP_TAIL] = "drop",
		[WEFT_DISCIPLINE_LOSSLESS] = "pause" };
	const struct weft_topo_depths *d = &weft_topo_shape(r->topo)->depths;
	enum weft_discipline discipline = weft_sim_discipline(r->script.config);
	bool is_core = weft_sim_marks(r->script.config) == WEFT_MARKS_CORE;

	fprintf(out, "switch: {full: %s, marks: %s", full[discipline], is_core ? "core" : "all");
	put_depth(out, "ecn_min", &d->ecn_min);
	put_depth(out, "ecn_max", &d->ecn_max);
	if (discipline == WEFT_DISCIPLINE_TRIM) {
		put_depth(out, "trim", &d->trim);
		put_depth(out, "trim_last_hop", &d->trim_last_hop);
		if (d->trim_size_bytes)
			fprintf(out, ", trim_size: %" PRIu16 "B", d->trim_size_bytes);
	}
	if (d->queue_bytes)
		fprintf(out, ", queue: %" PRIu32 "B", d->queue_bytes);
	fprintf(out, "}\n");
}

bool play_lab_write_fabric(struct play_lab_run *r, const char *path)
{
	const struct weft_topo_shape *s = weft_topo_shape(r->topo);
	double slower = r->l.slower;
	FILE *out = fopen(path, "w");
	unsigned n = 0;

	if (!out)
		return play_lab_fail(r, strerror(errno));
	fprintf(out,
		"# Written by weft play: %s, %.0f times slower.\n"
		"name: play\nplanes: %" PRIu32 "\nt0s: %" PRIu32 "\nt1s: %" PRIu32
		"\nparallel_links: %" PRIu32 "\nhosts: %" PRIu32 "\nhosts_per_t0: %" PRIu32
		"\nmtu: %" PRIu32 "\nbase_rtt: %.0fns\n",
		weft_scenario_head(r->play)->file, slower, s->planes, s->t0s, s->t1s, s->parallel,
		s->hosts, s->hosts_per_t0, s->mtu_bytes, s->base_rtt_ns * slower);
	put_switch(r, out);
	put_link(out, "host_links: {", s->host_bps, s->host_delay_ns, slower);
	put_link(out, "core_links: {", s->core_bps, s->core_delay_ns, slower);
	for (uint32_t i = 0; i < s->links; i++)
		put_override(r, out, i, &n);
	return !fclose(out) || play_lab_fail(r, "the fabric file cannot be written");
}

/* ---- hosts ---- */

static bool plan_pairs(struct play_lab_run *r)
{
	struct play_lab *l = &r->l;
	const struct weft_scenario_script *s = &r->script;

	l->pair_of = calloc(s->n_flows, sizeof(*l->pair_of));
	l->told = calloc(s->n_flows, sizeof(*l->told));
	l->pairs = calloc(PLAY_LAB_PAIRS_MAX, sizeof(*l->pairs));
	if (!l->pair_of || !l->told || !l->pairs)
		return play_lab_fail(r, "out of memory");
	for (uint32_t i = 0; i < s->n_flows; i++)
		l->told[i] = s->flows[i].told;
	for (uint32_t i = 0; i < s->n_flows; i++) {
		for (uint32_t k = 0; k < s->flows[i].n_after; k++) {
			uint32_t other = s->edges[s->flows[i].after_first + k].flow;

			l->told[other] |= s->flows[other].src != s->flows[i].src;
		}
	}
	for (uint32_t i = 0; i < s->n_flows; i++) {
		const struct weft_sim_flow *f = &s->flows[i];
		uint32_t p = 0;

		l->pair_of[i] = UINT32_MAX;
		if (f->src == f->dst)
			continue;
		l->pattern_bytes = WEFT_MAX(l->pattern_bytes, f->len_bytes);
		while (p < l->n_pairs && (l->pairs[p].src != f->src || l->pairs[p].dst != f->dst))
			p++;
		if (p == PLAY_LAB_PAIRS_MAX)
			return play_lab_fail(
				r, "more than 1024 pairs of hosts: too many for a lab");
		if (p == l->n_pairs)
			l->pairs[l->n_pairs++] =
				(struct play_lab_pair){ .src = f->src, .dst = f->dst };
		l->pairs[p].told |= l->told[i];
		l->pair_of[i] = p;
	}
	return l->n_pairs || play_lab_fail(r, "nobody sends anything");
}

static void *map(size_t bytes, int how)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, how | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static bool share_memory(struct play_lab_run *r)
{
	struct play_lab *l = &r->l;

	r->shared_bytes = sizeof(*l->shared) + r->script.n_flows * sizeof(l->shared->flows[0]);
	l->shared = map(r->shared_bytes, MAP_SHARED);
	l->pattern = map(l->pattern_bytes, MAP_PRIVATE);
	if (!l->shared || !l->pattern)
		return play_lab_fail(r, "out of memory");
	for (uint32_t i = 0; i < l->pattern_bytes; i++)
		l->pattern[i] = (uint8_t)(i * 31 ^ i >> 8 ^ i >> 16);
	return true;
}

static void host_process(const struct play_lab_run *r, uint32_t host, pid_t parent)
{
	char error[PLAY_LAB_ERROR_BYTES];
	struct weft_lab *lab;

	(void)signal(SIGINT, SIG_IGN); /* the parent decides */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || weft_lab_open(&lab, r->name, error, sizeof(error)) ||
		weft_lab_enter(lab, host, error, sizeof(error)))
		_exit(126);
	weft_lab_close(lab);
	play_lab_host_run(&r->l, host);
	_exit(0);
}

bool play_lab_is_well(struct play_lab_run *r)
{
	for (uint32_t i = 0; i < r->l.hosts; i++) {
		if (atomic_load(&r->l.shared->hosts[i].has_failed))
			return play_lab_fail(r, r->l.shared->hosts[i].error);
		if (waitpid(r->pids[i], NULL, WNOHANG) > 0) {
			r->pids[i] = 0;
			return play_lab_fail(r, "a host's process has ended");
		}
	}
	return true;
}

bool play_lab_start(struct play_lab_run *r)
{
	uint64_t limit_ns = weft_clock_now(NULL) + SETUP_NS;
	pid_t parent = getpid();

	fflush(NULL);
	for (uint32_t i = 0; i < r->l.hosts; i++) {
		r->pids[i] = fork();
		if (!r->pids[i])
			host_process(r, i, parent);
		if (r->pids[i] < 0)
			return play_lab_fail(r, strerror(errno));
	}
	while (atomic_load(&r->l.shared->ready) < r->l.hosts) {
		if (!play_lab_is_well(r))
			return false;
		if (weft_clock_now(NULL) > limit_ns)
			return play_lab_fail(r, "the hosts did not meet within a minute");
		weft_clock_sleep(2000000);
	}
	return true;
}

static void end_hosts(struct play_lab_run *r)
{
	uint64_t limit_ns = weft_clock_now(NULL) + SLOW_END_NS;

	atomic_store(&r->l.shared->stop, true);
	for (uint32_t i = 0; i < r->l.hosts; i++) {
		while (r->pids[i] > 0 && !waitpid(r->pids[i], NULL, WNOHANG)) {
			if (weft_clock_now(NULL) > limit_ns)
				(void)kill(r->pids[i], SIGKILL);
			weft_clock_sleep(1000000);
		}
		r->pids[i] = 0;
	}
}

void play_lab_end(struct play_lab_run *r)
{
	struct play_lab *l = &r->l;

	if (l->shared) {
		end_hosts(r);
		(void)munmap(l->shared, r->shared_bytes);
	}
	if (l->pattern)
		(void)munmap(l->pattern, l->pattern_bytes);
	l->shared = NULL;
	free(l->pair_of);
	free(l->told);
	free(l->pairs);
	free(r->order);
	free(r->fault_ids);
	free(r->pause_ids);
}

/* ---- faults ---- */

/* The moment that ends what this one begins; NONE: it stays. */
static uint32_t end_of(const struct play_lab_run *r, uint32_t moment, enum weft_sim_fault_kind kind)
{
	const struct weft_sim_fault *list = r->script.faults.list, *f = &list[moment];
	uint32_t found = UINT32_MAX;

	for (uint32_t i = 0; i < r->script.faults.n; i++) {
		if (list[i].kind == kind && list[i].where == f->where && list[i].at_ps > f->at_ps &&
			(found == UINT32_MAX || list[i].at_ps < list[found].at_ps))
			found = i;
	}
	return found;
}

static bool begins(
	const struct play_lab_run *r, const struct weft_sim_fault *f, struct weft_lab_fault *lab)
{
	uint32_t ppm = (uint32_t)(f->value & UINT32_MAX);

	*lab = (struct weft_lab_fault){ .where = f->where, .way = WEFT_LAB_UP | WEFT_LAB_DOWN };
	switch ((enum weft_sim_fault_kind)f->kind) {
	case WEFT_SIM_LINK_DOWN:
		lab->kind = WEFT_LAB_LINK_DOWN;
		return true;
	case WEFT_SIM_NODE_FREEZE:
		lab->kind = WEFT_LAB_FREEZE;
		return true;
	case WEFT_SIM_NODE_DOWN:
		lab->kind = WEFT_LAB_REBOOT;
		return true;
	case WEFT_SIM_LINK_RATE:
		lab->kind = WEFT_LAB_SLOW;
		lab->rate_bps = slow_bps(r, f);
		return f->value != weft_topo_link(r->topo, f->where).bps;
	case WEFT_SIM_LINK_LOSS:
	case WEFT_SIM_LINK_CORRUPT:
		lab->kind = f->kind == WEFT_SIM_LINK_LOSS ? WEFT_LAB_LOSS : WEFT_LAB_CORRUPT;
		lab->loss_ppm = ppm;
		if (f->value & (WEFT_SIM_UP | WEFT_SIM_DOWN))
			lab->way = f->value & WEFT_SIM_UP ? WEFT_LAB_UP : WEFT_LAB_DOWN;
		return ppm;
	default:
		return false;
	}
}

/*
 * Its process does nothing, and nothing reaches it: what came would wait for it otherwise, and a
 * NIC that stands still has no room for it.
 */
static bool pause_host(struct play_lab_run *r, uint32_t host)
{
	uint32_t planes = weft_topo_shape(r->topo)->planes;

	atomic_store(&r->l.shared->hosts[host].is_paused, true);
	for (uint32_t link = host * planes; link < (host + 1) * planes; link++) {
		struct weft_lab_fault fault = { .kind = WEFT_LAB_LOSS,
			.where = link,
			.way = WEFT_LAB_DOWN,
			.loss_ppm = 1000000 };

		if (!r->pause_ids[link] && weft_lab_fault(r->lab, &fault, &r->pause_ids[link],
						   r->error, r->error_bytes))
			return false;
	}
	return true;
}

static bool resume_host(struct play_lab_run *r, uint32_t host)
{
	uint32_t planes = weft_topo_shape(r->topo)->planes;

	for (uint32_t link = host * planes; link < (host + 1) * planes; link++) {
		if (r->pause_ids[link] &&
			weft_lab_undo(r->lab, r->pause_ids[link], r->error, r->error_bytes))
			return false;
		r->pause_ids[link] = 0;
	}
	atomic_store(&r->l.shared->hosts[host].is_paused, false);
	return true;
}

bool play_lab_strike(struct play_lab_run *r, uint32_t moment)
{
	static const uint8_t ends[WEFT_SIM_FAULTS] = { [WEFT_SIM_LINK_UP] = WEFT_SIM_LINK_DOWN,
		[WEFT_SIM_NODE_THAW] = WEFT_SIM_NODE_FREEZE,
		[WEFT_SIM_LINK_RATE] = WEFT_SIM_LINK_RATE,
		[WEFT_SIM_LINK_LOSS] = WEFT_SIM_LINK_LOSS,
		[WEFT_SIM_LINK_CORRUPT] = WEFT_SIM_LINK_CORRUPT };
	const struct weft_sim_fault *list = r->script.faults.list, *f = &list[moment];
	struct weft_lab_fault fault;

	if (begins(r, f, &fault)) {
		uint32_t end = f->kind == WEFT_SIM_NODE_DOWN ? end_of(r, moment, WEFT_SIM_NODE_UP)
							     : UINT32_MAX;

		/* A switch without power: its tables are gone until it is back. */
		if (fault.kind == WEFT_LAB_REBOOT)
			fault.for_ns = end == UINT32_MAX
					       ? SETUP_NS * 60
					       : play_lab_ns(&r->l, list[end].at_ps - f->at_ps);
		return !weft_lab_fault(
			r->lab, &fault, &r->fault_ids[moment], r->error, r->error_bytes);
	}
	if (f->kind == WEFT_SIM_NODE_UP)
		return true; /* by itself */
	if (f->kind == WEFT_SIM_HOST_PAUSE)
		return pause_host(r, f->where);
	if (f->kind == WEFT_SIM_HOST_RESUME)
		return resume_host(r, f->where);
	for (uint32_t i = 0; i < r->script.faults.n; i++) {
		if (!r->fault_ids[i] || list[i].kind != ends[f->kind] || list[i].where != f->where)
			continue;
		if (weft_lab_undo(r->lab, r->fault_ids[i], r->error, r->error_bytes))
			return false;
		r->fault_ids[i] = 0;
	}
	return true;
}

static const struct weft_sim_fault *sort_list;

static int by_time(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	if (sort_list[a].at_ps != sort_list[b].at_ps)
		return sort_list[a].at_ps < sort_list[b].at_ps ? -1 : 1;
	return a < b ? -1 : a > b;
}

static bool sort_faults(struct play_lab_run *r)
{
	const struct weft_topo_shape *s = weft_topo_shape(r->topo);
	uint32_t n = r->script.faults.n;

	r->order = calloc(n + 1, sizeof(*r->order));
	r->fault_ids = calloc(n + 1, sizeof(*r->fault_ids));
	r->pause_ids = calloc((size_t)s->hosts * s->planes, sizeof(*r->pause_ids));
	if (!r->order || !r->fault_ids || !r->pause_ids)
		return play_lab_fail(r, "out of memory");
	for (uint32_t i = 0; i < n; i++)
		r->order[i] = i;
	sort_list = r->script.faults.list;
	qsort(r->order, n, sizeof(*r->order), by_time);
	return true;
}

bool play_lab_plan(struct play_lab_run *r)
{
	return plan_pairs(r) && share_memory(r) && sort_faults(r);
}
