/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * play_lab - a scenario live: lab up, hosts started, faults in their time, samples, a result.
 *
 * Why a scaled world and not the scenario's own speeds: no machine carries 64 lines of 100 Gb/s in
 * software, and slower lines alone would change every proportion.  With delays grown by the same
 * factor bandwidth times delay stays, and with it windows, queues and round trips per flow.  What
 * does not scale is the machine: where it stood still for a while, that while is told in the
 * scenario's time, too.  What was not taken: docs/decisions/096-play-on-lab.md.
 */
#include "play_lab.h"
#include "lab_guard.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/base.h>
#include <weft/net.h>
#include <weft/switchd.h>

#define ALL_BPS UINT64_C(400000000) /* what all hosts together send: two busy cores carry it */
#define LINE_BPS_MIN UINT64_C(2000000)
#define ROW_NS_MIN UINT64_C(5000000)
#define TIMEOUT_MS_MIN 8000u

enum {
	ROWS_MAX = 1000,
	FIXED = 5,
	GROUPS_MAX = 8,
	STATES_MAX = WEFT_TOPO_PLANES_MAX * WEFT_SIM_PATH_STATES,
	COLUMNS_MAX = FIXED + GROUPS_MAX + STATES_MAX,
};

static const struct weft_scenario_column fixed[FIXED] = {
	{ .name = "goodput", .unit = "bytes", .how = WEFT_SCENARIO_SUM },
	{ .name = "flows done", .unit = "flows", .how = WEFT_SCENARIO_LAST },
	{ .name = "repeated", .unit = "packets", .how = WEFT_SCENARIO_SUM },
	{ .name = "retired", .unit = "paths", .how = WEFT_SCENARIO_SUM },
	{ .name = "revived", .unit = "paths", .how = WEFT_SCENARIO_SUM },
};

struct sampling {
	double last[COLUMNS_MAX];
	uint64_t next_ns, row_ns;
	uint8_t has[GROUPS_MAX][PLAY_LAB_HOSTS_MAX]; /* receives of that load */
	uint32_t n_groups;
};

/* ---- samples ---- */

static bool open_result(struct play_lab_run *r, struct sampling *s, uint64_t seed)
{
	const struct weft_scenario_script *script = &r->script;
	static const char *const words[] = { "good", "skip", "bad", "denied" };
	struct weft_scenario_column columns[COLUMNS_MAX + 1] = { 0 };
	uint32_t n_states = weft_topo_shape(r->topo)->planes * WEFT_SIM_PATH_STATES;

	memcpy(columns, fixed, sizeof(fixed));
	s->n_groups = script->n_groups <= GROUPS_MAX ? script->n_groups : 0;
	for (uint32_t g = 0; g < s->n_groups; g++) {
		const struct weft_scenario_group *group = &script->groups[g];

		columns[FIXED + g] = fixed[0];
		(void)snprintf(columns[FIXED + g].name, sizeof(columns[0].name), "goodput.%.30s",
			group->name);
		for (uint32_t i = group->first; i < group->first + group->n; i++)
			s->has[g][script->flows[i].dst] |= script->flows[i].len_bytes != 0;
	}
	for (uint32_t i = 0; i < n_states; i++) {
		struct weft_scenario_column *c = &columns[FIXED + s->n_groups + i];

		*c = (struct weft_scenario_column){ .unit = "paths", .how = WEFT_SCENARIO_LAST };
		(void)snprintf(c->name, sizeof(c->name), "p%u ev %s",
			(unsigned)(i / WEFT_SIM_PATH_STATES), words[i % WEFT_SIM_PATH_STATES]);
	}
	r->result = weft_scenario_result_new(r->play, script, seed, columns, ROWS_MAX);
	return r->result || play_lab_fail(r, "out of memory");
}

/* Counters of all hosts added up, as they have told them last. */
static void add_counters(const struct play_lab_run *r, struct weft_counters *sum)
{
	*sum = (struct weft_counters){ 0 };
	for (uint32_t host = 0; host < r->l.hosts; host++) {
		const uint64_t *from = (const uint64_t *)&r->l.shared->hosts[host].counters;

		for (size_t i = 0; i < sizeof(*sum) / sizeof(*from); i++)
			((uint64_t *)sum)[i] += from[i];
	}
}

static uint32_t count_flows(const struct play_lab_run *r, uint32_t *failed)
{
	uint32_t done = 0;

	*failed = 0;
	for (uint32_t i = 0; i < r->script.n_flows; i++) {
		const struct play_lab_flow *flow = &r->l.shared->flows[i];
		bool has_failed = atomic_load(&flow->failed);

		*failed += has_failed;
		done += !has_failed && atomic_load(&flow->done_ns);
	}
	return done;
}

static void add_states(const struct play_lab_run *r, double sums[])
{
	uint32_t n = weft_topo_shape(r->topo)->planes * WEFT_SIM_PATH_STATES;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t plane = i / WEFT_SIM_PATH_STATES, state = i % WEFT_SIM_PATH_STATES;

		for (uint32_t host = 0; host < r->l.hosts; host++)
			sums[i] += atomic_load(&r->l.shared->hosts[host].states[plane][state]);
	}
}

static void sample(struct play_lab_run *r, struct sampling *s, uint64_t now_ns)
{
	struct weft_scenario_result *out = r->result;
	struct weft_counters sum;
	uint32_t failed;
	double now[COLUMNS_MAX] = { 0 };
	uint64_t at_ps = (uint64_t)((double)now_ns * 1000 / r->l.slower);

	s->next_ns = now_ns + s->row_ns;
	if (out->rows == ROWS_MAX || (out->rows && at_ps <= out->at_ps[out->rows - 1]))
		return;
	add_counters(r, &sum);
	now[0] = (double)sum.rx_data_bytes;
	now[1] = count_flows(r, &failed);
	now[2] = (double)sum.tx_rtx_pkts;
	now[3] = (double)sum.paths_retired;
	now[4] = (double)sum.paths_revived;
	for (uint32_t g = 0; g < s->n_groups; g++) {
		for (uint32_t host = 0; host < r->l.hosts; host++) {
			if (s->has[g][host])
				now[FIXED + g] +=
					(double)r->l.shared->hosts[host].counters.rx_data_bytes;
		}
	}
	add_states(r, now + FIXED + s->n_groups);
	for (uint32_t k = 0; k < out->n_columns; k++) {
		struct weft_scenario_column *c = &out->columns[k];

		c->values[out->rows] = c->how == WEFT_SCENARIO_SUM ? now[k] - s->last[k] : now[k];
		s->last[k] = now[k];
	}
	out->at_ps[out->rows++] = at_ps;
}

/* ---- what switches counted ---- */

struct counts {
	uint64_t lost, trimmed, marked;
};

static uint64_t number(const json_t *object, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(object, key));
}

static bool ask_switches(struct play_lab_run *r, struct counts *counts)
{
	json_t *request = json_pack("{s:s}", "op", "counters"), *answer = NULL, *one, *port;
	size_t i, k;
	bool good = !weft_switchd_ask(
		weft_lab_switch_dir(r->lab), request, &answer, r->error, r->error_bytes);

	json_decref(request);
	*counts = (struct counts){ 0 };
	if (!good)
		return false;
	counts->lost = number(json_object_get(answer, "fabric"), "dropped");
	json_array_foreach(json_object_get(answer, "switches"), i, one)
	{
		json_array_foreach(json_object_get(one, "ports"), k, port)
		{
			counts->trimmed += number(port, "SAI_PORT_STAT_TRIM_PACKETS");
			counts->marked += number(port, "SAI_PORT_STAT_ECN_MARKED_PACKETS");
		}
	}
	json_decref(answer);
	return true;
}

/* ---- the run ---- */

static bool go(struct play_lab_run *r, struct sampling *s)
{
	uint64_t start_ns = weft_clock_now(NULL) + 20000000, now = 0;
	uint64_t stop_ns = play_lab_ns(&r->l, weft_scenario_head(r->play)->stop_ps);
	const struct weft_sim_fault *list = r->script.faults.list;
	uint32_t next = 0, failed = 0, done = 0;

	s->row_ns = WEFT_MAX(ROW_NS_MIN,
		WEFT_MIN(stop_ns / (ROWS_MAX - 4), play_lab_ns(&r->l, r->result->ideal_ps) / 50));
	s->row_ns = WEFT_MAX(s->row_ns, stop_ns / (ROWS_MAX - 4));
	atomic_store(&r->l.shared->start_ns, start_ns);
	while (now < stop_ns && done + failed < r->script.n_flows) {
		uint64_t at_ns = next < r->script.faults.n
					 ? play_lab_ns(&r->l, list[r->order[next]].at_ps)
					 : WEFT_NEVER;
		uint64_t real_ns = weft_clock_now(NULL);

		now = real_ns > start_ns ? real_ns - start_ns : 0;
		if (now >= at_ns) {
			if (!play_lab_strike(r, r->order[next++]))
				return false;
			continue;
		}
		if (now >= s->next_ns && now) {
			sample(r, s, now);
			if (!play_lab_is_well(r))
				return false;
			done = count_flows(r, &failed);
		}
		weft_clock_sleep(WEFT_MIN(UINT64_C(1000000), at_ns - now));
	}
	/* What hosts have told last is some milliseconds old. */
	weft_clock_sleep(10000000);
	sample(r, s, now + 10000000);
	return true;
}

static bool read_out(struct play_lab_run *r, const struct counts *before)
{
	struct weft_scenario_result *out = r->result;
	struct weft_sim_totals *t = &out->totals;
	uint64_t wrong = 0, late_ns = 0;
	struct counts after;
	char text[96];

	if (!ask_switches(r, &after))
		return false;
	atomic_store(&r->l.shared->stop, true);
	for (unsigned i = 0; atomic_load(&r->l.shared->ended) < r->l.hosts && i < 10000; i++)
		weft_clock_sleep(1000000);
	add_counters(r, &out->counters);
	t->flows_done = count_flows(r, &t->flows_failed);
	t->lost = after.lost - before->lost;
	t->trimmed = after.trimmed - before->trimmed;
	t->marked = after.marked - before->marked;
	t->now_ps = out->rows ? out->at_ps[out->rows - 1] : 0;
	for (uint32_t i = 0; i < out->n_flows; i++) {
		const struct play_lab_flow *flow = &r->l.shared->flows[i];
		uint64_t done_ns = atomic_load(&flow->done_ns);

		if (!done_ns || atomic_load(&flow->failed))
			continue;
		out->end_ps[i] = (uint64_t)((double)done_ns * 1000 / r->l.slower);
		if (out->len_bytes[i])
			out->flow_ps[i] =
				(uint64_t)((double)(done_ns - atomic_load(&flow->started_ns)) *
					   1000 / r->l.slower);
	}
	for (uint32_t i = 0; i < r->l.hosts; i++) {
		wrong += atomic_load(&r->l.shared->hosts[i].wrong_bytes);
		late_ns = WEFT_MAX(late_ns, atomic_load(&r->l.shared->hosts[i].late_ns));
		t->corrupt += atomic_load(&r->l.shared->hosts[i].refused);
	}
	t->lost += t->corrupt;
	out->slower = r->l.slower;
	out->late_ps = (uint64_t)((double)late_ns * 1000 / r->l.slower);
	weft_scenario_conclude(out, &r->script);
	(void)snprintf(text, sizeof(text), "%" PRIu64 " bytes arrived wrong", wrong);
	return !wrong || play_lab_fail(r, text);
}

/* Bits per second of a host's line: what was asked for, or what this machine can carry. */
static void choose_rate(struct play_lab_run *r, uint64_t rate_bps)
{
	const struct weft_topo_shape *s = weft_topo_shape(r->topo);

	if (!rate_bps)
		rate_bps = WEFT_MAX(ALL_BPS / (s->hosts * s->planes), LINE_BPS_MIN);
	r->rate_bps = WEFT_MIN(rate_bps, s->host_bps);
	r->l.slower = (double)s->host_bps / (double)r->rate_bps;
	r->l.hosts = s->hosts;
	double stop_ms = (double)weft_scenario_head(r->play)->stop_ps / 1e9 * r->l.slower;

	/* Nobody gives up before the run does. */
	r->l.timeout_ms = stop_ms < 3e6 ? WEFT_MAX(TIMEOUT_MS_MIN, (uint32_t)stop_ms) : 3000000u;
}

static bool lab_up(struct play_lab_run *r)
{
	char path[sizeof(r->folder) + 16];
	const struct weft_lab_options up = { .fabric = path, .name = r->name };

	(void)snprintf(r->folder, sizeof(r->folder), "/tmp/weft-play-XXXXXX");
	(void)snprintf(r->name, sizeof(r->name), "play-%d", (int)getpid());
	if (!mkdtemp(r->folder))
		return play_lab_fail(r, "no folder in /tmp");
	(void)snprintf(path, sizeof(path), "%s/fabric.yaml", r->folder);
	bool good = play_lab_write_fabric(r, path) &&
		    (lab_guard_start(r->name) || play_lab_fail(r, "fork")) &&
		    !weft_lab_up(&up, r->error, r->error_bytes) &&
		    !weft_lab_open(&r->lab, r->name, r->error, r->error_bytes);

	/* The lab has a copy of its own. */
	(void)unlink(path);
	(void)rmdir(r->folder);
	return good;
}

static bool work(struct play_lab_run *r, uint64_t seed, const struct term *term)
{
	struct sampling *s = calloc(1, sizeof(*s));
	struct counts before;
	uint64_t began_ns = weft_clock_now(NULL);
	char rate[HUMAN_MAX];
	bool good = s && play_lab_plan(r) && open_result(r, s, seed) && lab_up(r) &&
		    play_lab_start(r) && ask_switches(r, &before);

	if (good && term)
		fprintf(term->out, "lab: lines of %s, time runs %.0f times slower\n",
			human_rate(rate, r->rate_bps), r->l.slower);
	uint64_t started_ns = weft_clock_now(NULL);

	good = good && go(r, s) && read_out(r, &before);
	if (r->result) {
		r->result->open_s = (double)(started_ns - began_ns) / 1e9;
		r->result->run_s = (double)(weft_clock_now(NULL) - started_ns) / 1e9;
	}
	free(s);
	return good;
}

struct weft_scenario_result *play_lab_run(const struct weft_scenario *play, uint64_t seed,
	uint64_t rate_bps, const struct term *term, char *error, size_t error_bytes)
{
	struct play_lab_run *r = calloc(1, sizeof(*r));
	struct weft_scenario_result *result = NULL;

	if (!r)
		return NULL;
	*r = (struct play_lab_run){ .play = play,
		.topo = weft_scenario_topo(play),
		.error = error,
		.error_bytes = error_bytes };
	r->l.script = &r->script;
	if (weft_scenario_script_open(&r->script, play, seed, error, error_bytes)) {
		choose_rate(r, rate_bps);
		if (play_lab_judge(r) && work(r, seed, term))
			result = r->result;
		if (!result)
			weft_scenario_result_free(r->result);
	}
	play_lab_end(r);
	weft_lab_close(r->lab);
	lab_guard_end();
	weft_scenario_script_close(&r->script);
	free(r);
	return result;
}
