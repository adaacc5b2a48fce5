/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * play_compare - two files of JSON lines beside each other: weft sim --compare A B.
 *
 * Runs are paired in their order, whatever their scenarios and seeds: people compare a transport
 * with another, a fabric with a broken one, yesterday with today.  Those that have no partner are
 * named.  Lines of `weft sim --json` are runs as well; they have other words for the same figures.
 */
#include "play.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <weft/base.h>

enum { LOADS_MAX = 32 };

/* key: of weft play; path: of weft sim, a word or two. */
static const struct {
	const char *key, *path[2];
} figures[] = {
	{ "flows", { "flows", NULL } },
	{ "completed", { "done", NULL } },
	{ "failed", { "failed", NULL } },
	{ "fct_p50_us", { "fct_us", "p50" } },
	{ "fct_p99_us", { "fct_us", "p99" } },
	{ "fct_p999_us", { "fct_us", "p99.9" } },
	{ "fct_max_us", { "fct_us", "slowest" } },
	{ "jct_us", { NULL, NULL } },
	{ "ideal_us", { "fct_us", "ideal" } },
	{ "end_us", { "simulated_us", NULL } },
	{ "data_packets", { "packets", "data" } },
	{ "repeated", { "packets", "repeated" } },
	{ "marked", { "packets", "marked" } },
	{ "trimmed", { "packets", "trimmed" } },
	{ "lost", { "packets", "lost" } },
	{ "pauses", { "packets", "pauses" } },
	{ "retired", { "engine", "paths_retired" } },
	{ "timeouts", { "engine", "timeouts" } },
};
static const char *const load_keys[] = { "completed", "fct_p50_us", "fct_p99_us", "fct_max_us",
	"jct_us", "step_p50_us", "step_p99_us", "step_max_us" };

struct run {
	json_t *result;
	json_t *loads;            /* an array */
	double felt_us, whole_us; /* the longest recoveries; NaN: none, infinite: not within it */
};

static void run_drop(struct run *run)
{
	json_decref(run->result);
	json_decref(run->loads);
	*run = (struct run){ .felt_us = NAN, .whole_us = NAN };
}

/* What is null is not done: longer than anything.  NaN: there is no such figure. */
static double number(const json_t *value)
{
	return json_is_number(value) ? json_number_value(value)
	       : json_is_null(value) ? (double)INFINITY
				     : (double)NAN;
}

/* A result as weft play writes it, out of a line of weft sim. */
static json_t *from_sim(json_t *line)
{
	json_t *result = json_object();
	static const char *const same[] = { "transport", "seed" };

	json_object_set(result, "name", json_object_get(line, "load"));
	for (unsigned i = 0; i < WEFT_COUNT(same); i++)
		json_object_set(result, same[i], json_object_get(line, same[i]));
	for (unsigned i = 0; i < WEFT_COUNT(figures); i++) {
		const char *const *path = figures[i].path;
		json_t *value = path[0] ? json_object_get(line, path[0]) : NULL;

		value = path[1] ? json_object_get(value, path[1]) : value;
		if (value)
			json_object_set(result, figures[i].key, value);
	}
	json_decref(line);
	return result;
}

static void take_recovery(struct run *run, const json_t *line)
{
	double felt = number(json_object_get(line, "felt_us"));
	double whole = number(json_object_get(line, "whole_us"));

	if (isnan(run->felt_us) || felt > run->felt_us)
		run->felt_us = felt;
	if (isnan(run->whole_us) || whole > run->whole_us)
		run->whole_us = whole;
}

/* Takes the line into its run; true: that was its last one. */
static bool take(struct run *run, json_t *line)
{
	const char *kind = json_string_value(json_object_get(line, "kind"));

	if (!kind) { /* weft sim */
		run->result = from_sim(line);
		return true;
	}
	if (!strcmp(kind, "result")) {
		run->result = line;
		return true;
	}
	if (!strcmp(kind, "load"))
		(void)json_array_append(run->loads, line);
	if (!strcmp(kind, "recovery"))
		take_recovery(run, line);
	json_decref(line);
	return false;
}

/* The next run of a file.  False: no more, or not JSON (error says so). */
static bool next_run(FILE *in, const char *path, struct run *run, char *error, size_t error_bytes)
{
	char *text = NULL;
	size_t room = 0;
	bool is_whole = false;

	run_drop(run);
	run->loads = json_array();
	while (!is_whole && !*error && getline(&text, &room, in) > 0) {
		json_t *line = json_loads(text, 0, NULL);

		if (json_is_object(line) &&
			(json_object_get(line, "kind") || json_object_get(line, "fct_us"))) {
			is_whole = take(run, line);
			continue;
		}
		json_decref(line);
		(void)snprintf(error, error_bytes,
			"%s: not JSON lines as weft play --json and weft sim --json write them",
			path);
	}
	free(text);
	return is_whole;
}

static void name_run(const json_t *run, char *text, size_t bytes)
{
	const char *name = json_string_value(json_object_get(run, "name"));
	const char *transport = json_string_value(json_object_get(run, "transport"));

	(void)snprintf(text, bytes, "%.24s %.12s %lld", name ? name : "?",
		transport ? transport : "?",
		(long long)json_integer_value(json_object_get(run, "seed")));
	(void)weft_text_clean(text); /* it is a file's */
}

static void add_value(struct table *t, double value, bool is_time)
{
	if (isnan(value))
		table_add(t, "-");
	else if (isinf(value))
		table_add(t, "not done");
	else
		table_add(t, is_time ? "%.2f" : "%.0f", value);
}

/* A row, unless neither has it. */
static void add_row(struct table *t, const char *load, const char *key, double a, double b)
{
	bool is_time = strstr(key, "_us");

	if (isnan(a) && isnan(b))
		return;
	char name[200];

	(void)snprintf(name, sizeof(name), "%s%s%s", load, *load ? "." : "", key);
	table_add(t, "%s", weft_text_clean(name));
	add_value(t, a, is_time);
	add_value(t, b, is_time);
	if (isfinite(a) && isfinite(b) && a > 0)
		table_add(t, "%.3f", b / a);
	else
		table_add(t, a == b ? "=" : "-");
}

static const json_t *load_called(const struct run *run, const char *name)
{
	for (size_t i = 0; i < json_array_size(run->loads); i++) {
		const json_t *load = json_array_get(run->loads, i);
		const char *own = json_string_value(json_object_get(load, "name"));

		if (own && !strcmp(own, name))
			return load;
	}
	return NULL;
}

/* Loads that both have, where there are several, or where they go by steps. */
static void add_loads(struct table *t, const struct run *left, const struct run *right)
{
	size_t n = json_array_size(left->loads);

	for (size_t i = 0; i < n && i < LOADS_MAX; i++) {
		const json_t *a = json_array_get(left->loads, i), *b;
		const char *name = json_string_value(json_object_get(a, "name"));

		b = name ? load_called(right, name) : NULL;
		if (!b || (n < 2 && !json_object_get(a, "steps")))
			continue;
		for (unsigned k = 0; k < WEFT_COUNT(load_keys); k++)
			add_row(t, name, load_keys[k], number(json_object_get(a, load_keys[k])),
				number(json_object_get(b, load_keys[k])));
	}
}

static void print_pair(const struct run *left, const struct run *right, const struct term *term)
{
	struct table t;
	char names[2][64];

	name_run(left->result, names[0], sizeof(names[0]));
	name_run(right->result, names[1], sizeof(names[1]));
	table_begin(&t, "lrrr");
	table_add(&t, "measure");
	table_add(&t, "%s", names[0]);
	table_add(&t, "%s", names[1]);
	table_add(&t, "right / left");
	for (unsigned i = 0; i < WEFT_COUNT(figures); i++)
		add_row(&t, "", figures[i].key,
			number(json_object_get(left->result, figures[i].key)),
			number(json_object_get(right->result, figures[i].key)));
	add_row(&t, "", "longest felt_us", left->felt_us, right->felt_us);
	add_row(&t, "", "longest whole_us", left->whole_us, right->whole_us);
	add_loads(&t, left, right);
	table_print(&t, term);
}

bool play_compare(const char *left, const char *right, const struct term *term, char *error,
	size_t error_bytes)
{
	const char *const paths[] = { left, right };
	FILE *in[2] = { fopen(left, "r"), fopen(right, "r") };
	struct run runs[2] = { 0 };
	unsigned pairs = 0, alone[2] = { 0 };
	bool has[2] = { true, true };

	*error = 0;
	for (unsigned i = 0; i < 2; i++) {
		if (!in[i] && !*error)
			(void)snprintf(error, error_bytes, "%s: %s", paths[i], strerror(errno));
	}
	while (!*error && (has[0] || has[1])) {
		for (unsigned i = 0; i < 2; i++)
			has[i] = has[i] && next_run(in[i], paths[i], &runs[i], error, error_bytes);
		if (has[0] && has[1]) {
			fprintf(term->out, "%s", pairs++ ? "\n" : "");
			print_pair(&runs[0], &runs[1], term);
		}
		for (unsigned i = 0; i < 2; i++)
			alone[i] += has[i] && !has[1 - i];
	}
	for (unsigned i = 0; i < 2; i++) {
		if (pairs && alone[i])
			fprintf(term->out, "\n%s has %u run%s more\n", paths[i], alone[i],
				alone[i] == 1 ? "" : "s");
		json_decref(runs[i].result);
		json_decref(runs[i].loads);
		if (in[i])
			(void)fclose(in[i]);
	}
	if (!*error && !pairs)
		(void)snprintf(error, error_bytes, "%s, %s: no run to compare", left, right);
	return !*error;
}
