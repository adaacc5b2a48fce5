/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * play_json - a run as JSON lines: one object per line, so that a file of many runs is still one
 * file, and what is not wanted can be left out by `grep`.  Times are microseconds, speeds bits per
 * second; a line says what it is by "kind".
 */
#include "play.h"
#include "sim_text.h"

#include <inttypes.h>
#include <string.h>

static bool put(FILE *out, json_t *object)
{
	bool good = object && !json_dumpf(object, out, JSON_COMPACT | JSON_REAL_PRECISION(9)) &&
		    fputc('\n', out) != EOF;

	json_decref(object);
	return good;
}

static double us(uint64_t ps)
{
	return (double)ps / 1e6;
}

/* A time that there may not be: null where something is not done. */
static void put_us(json_t *line, const char *key, uint64_t ps)
{
	if (line)
		json_object_set_new(line, key, sim_us_json(ps));
}

static const struct {
	const char *key;
	uint64_t num, den;
} ranks[] = { { "min_us", 0, 1 }, { "p50_us", 1, 2 }, { "p99_us", 99, 100 },
	{ "p999_us", 999, 1000 }, { "max_us", 1, 1 } };

/* Of the flows of a load, or of all. */
static void put_times(json_t *line, const struct weft_scenario_result *r, const char *group)
{
	char key[24];

	for (unsigned i = 0; i < WEFT_COUNT(ranks); i++) {
		(void)snprintf(key, sizeof(key), "fct_%s", ranks[i].key);
		put_us(line, key, weft_scenario_quantile(r, group, ranks[i].num, ranks[i].den));
	}
}

static json_t *run_line(const struct weft_scenario_result *r)
{
	json_t *line = json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:I}", "kind",
		"run", "name", r->name, "title", r->title, "file", r->file, "fabric", r->fabric,
		"transport", r->transport, "seed", (json_int_t)r->seed, "hosts",
		(json_int_t)r->hosts, "planes", (json_int_t)r->planes, "host_bps",
		(json_int_t)r->host_bps, "paths", (json_int_t)r->paths, "stop_us", us(r->stop_ps),
		"line_bps", r->line_bps, "flows", (json_int_t)r->n_messages);

	if (line && r->slower > 0) {
		json_object_set_new(line, "slower", json_real(r->slower));
		json_object_set_new(line, "late_us", json_real(us(r->late_ps)));
	}
	return line;
}

static json_t *load_line(const struct weft_scenario_result *r, const struct weft_scenario_group *g)
{
	json_t *line = json_pack("{s:s, s:s, s:I, s:I, s:f, s:f}", "kind", "load", "name", g->name,
		"flows", (json_int_t)g->n_flows, "completed", (json_int_t)g->n_done, "ideal_us",
		us(g->ideal_ps), "line_bps", g->line_bps);
	char key[24];

	put_us(line, "jct_us", g->took_ps);
	put_times(line, r, g->name);
	if (!line || g->n_steps < 2)
		return line;
	json_object_set_new(line, "steps", json_integer(g->n_steps));
	for (unsigned i = 0; i < WEFT_COUNT(ranks); i++) {
		(void)snprintf(key, sizeof(key), "step_%s", ranks[i].key);
		put_us(line, key, weft_scenario_step_quantile(g, ranks[i].num, ranks[i].den));
	}
	return line;
}

static json_t *event_line(const struct weft_scenario_event *e)
{
	json_t *line = json_pack(
		"{s:s, s:s, s:f}", "kind", "event", "what", e->text, "begin_us", us(e->begin_ps));

	if (line && e->end_ps != WEFT_NEVER)
		json_object_set_new(line, "end_us", json_real(us(e->end_ps)));
	return line;
}

static json_t *recovery_line(
	const struct weft_scenario_result *r, const struct weft_scenario_recovery *v)
{
	const struct weft_scenario_event *e = &r->events[v->event];
	json_t *line = json_pack("{s:s, s:s, s:f}", "kind", "recovery", "what", e->text, "begin_us",
		us(e->begin_ps));

	if (!line)
		return NULL;
	if (v->why) {
		json_object_set_new(line, "why", json_string(v->why));
		return line;
	}
	json_object_set_new(line, "before_bps", json_real(v->before * 8));
	json_object_set_new(line, "lowest_bps", json_real(v->lowest * 8));
	put_us(line, "felt_us", v->felt_ps);
	put_us(line, "felt_of_us", v->felt_of_ps);
	if (v->whole_of_ps) {
		put_us(line, "whole_us", v->whole_ps);
		put_us(line, "whole_of_us", v->whole_of_ps);
	}
	return line;
}

static json_t *sample_line(const struct weft_scenario_result *r, uint32_t row)
{
	json_t *line = json_pack("{s:s, s:f}", "kind", "sample", "us", us(r->at_ps[row]));

	for (uint32_t i = 0; i < r->n_columns && line; i++)
		json_object_set_new(line, r->columns[i].name, json_real(r->columns[i].values[row]));
	return line;
}

json_t *play_json_result(const struct weft_scenario_result *r)
{
	const struct weft_counters *c = &r->counters;
	const struct weft_sim_totals *t = &r->totals;
	char digest[17];

	(void)snprintf(digest, sizeof(digest), "%016" PRIx64, t->digest);
	json_t *line = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:f, s:f, s:I, s:I, s:I, s:I,"
				 " s:I, s:I, s:I, s:I, s:I, s:I, s:s}",
		"kind", "result", "name", r->name, "transport", r->transport, "seed",
		(json_int_t)r->seed, "flows", (json_int_t)r->n_messages, "completed",
		(json_int_t)r->n_done, "failed", (json_int_t)t->flows_failed, "end_us",
		us(t->now_ps), "ideal_us", us(r->ideal_ps), "data_packets",
		(json_int_t)c->tx_data_pkts, "repeated", (json_int_t)c->tx_rtx_pkts, "marked",
		(json_int_t)t->marked, "trimmed", (json_int_t)t->trimmed, "lost",
		(json_int_t)t->lost, "corrupt", (json_int_t)t->corrupt, "pauses",
		(json_int_t)t->pauses, "retired", (json_int_t)c->paths_retired, "timeouts",
		(json_int_t)c->timeouts, "packet_hops", (json_int_t)t->packet_hops, "digest",
		digest);

	put_us(line, "jct_us", r->took_ps);
	put_times(line, r, NULL);
	if (line && r->n_missed)
		json_object_set_new(line, "faults_missed", json_integer(r->n_missed));
	return line;
}

bool play_json_write(FILE *out, const struct weft_scenario *play,
	const struct weft_scenario_result *r, const char *where)
{
	static const char *const verdicts[] = { "failed", "passed", "skipped" };
	bool good = put(out, run_line(r));

	for (uint32_t i = 0; i < r->n_groups && good; i++)
		good = put(out, load_line(r, &r->groups[i]));
	for (uint32_t i = 0; i < r->n_events && good; i++)
		good = put(out, event_line(&r->events[i]));
	for (uint32_t i = 0; i < r->n_recoveries && good; i++)
		good = put(out, recovery_line(r, &r->recoveries[i]));
	for (uint32_t i = 0; i < r->rows && good; i++)
		good = put(out, sample_line(r, i));
	for (uint32_t i = 0; i < weft_scenario_head(play)->n_claims && good; i++) {
		struct weft_scenario_judgement j;

		weft_scenario_judge(play, i, r, where, &j);
		good = put(out, json_pack("{s:s, s:s, s:s, s:s}", "kind", "claim", "claim", j.claim,
					"verdict", verdicts[j.verdict], "measured",
					*j.why ? j.why : j.measured));
	}
	return good && put(out, play_json_result(r));
}
