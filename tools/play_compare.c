/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * play_compare - two files of JSON lines beside each other: weft sim --compare A B.
 *
 * Runs are paired in their order, whatever their scenarios and seeds: people compare a transport
 * with another, a fabric with a broken one, yesterday with today.
 */
#include "play.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <weft/base.h>

static const char *const keys[] = { "completed", "failed", "fct_p50_us", "fct_p99_us",
	"fct_p999_us", "fct_max_us", "ideal_us", "end_us", "data_packets", "repeated", "marked",
	"trimmed", "lost", "retired", "timeouts" };

/* The next line of that kind; NULL: no more, or not JSON (error says so). */
static json_t *next_result(FILE *in, const char *path, char *error, size_t error_bytes)
{
	char *line = NULL;
	size_t room = 0;
	json_t *object = NULL;

	while (!object && !*error && getline(&line, &room, in) > 0) {
		const char *kind;

		object = json_loads(line, 0, NULL);
		kind = json_string_value(json_object_get(object, "kind"));
		if (!kind)
			(void)snprintf(error, error_bytes,
				"%s: not JSON lines as weft play --json writes them", path);
		if (!kind || strcmp(kind, "result")) {
			json_decref(object);
			object = NULL;
		}
	}
	free(line);
	return object;
}

static void name_run(const json_t *run, char *text, size_t bytes)
{
	const char *name = json_string_value(json_object_get(run, "name"));
	const char *transport = json_string_value(json_object_get(run, "transport"));

	(void)snprintf(text, bytes, "%.24s %.12s %lld", name ? name : "?",
		transport ? transport : "?",
		(long long)json_integer_value(json_object_get(run, "seed")));
}

static void print_pair(const json_t *left, const json_t *right, const struct term *term)
{
	struct table t;
	char names[2][64];

	name_run(left, names[0], sizeof(names[0]));
	name_run(right, names[1], sizeof(names[1]));
	table_begin(&t, "lrrr");
	table_add(&t, "measure");
	table_add(&t, "%s", names[0]);
	table_add(&t, "%s", names[1]);
	table_add(&t, "right / left");
	for (unsigned i = 0; i < WEFT_COUNT(keys); i++) {
		double a = json_number_value(json_object_get(left, keys[i]));
		double b = json_number_value(json_object_get(right, keys[i]));
		bool is_time = strstr(keys[i], "_us");

		table_add(&t, "%s", keys[i]);
		table_add(&t, is_time ? "%.2f" : "%.0f", a);
		table_add(&t, is_time ? "%.2f" : "%.0f", b);
		if (a > 0)
			table_add(&t, "%.3f", b / a);
		else
			table_add(&t, b > 0 ? "-" : "=");
	}
	table_print(&t, term);
}

bool play_compare(const char *left, const char *right, const struct term *term, char *error,
	size_t error_bytes)
{
	FILE *in[2] = { fopen(left, "r"), fopen(right, "r") };
	unsigned pairs = 0;

	*error = 0;
	for (unsigned i = 0; i < 2; i++) {
		if (!in[i] && !*error)
			(void)snprintf(
				error, error_bytes, "%s: %s", i ? right : left, strerror(errno));
	}
	while (!*error) {
		json_t *a = next_result(in[0], left, error, error_bytes);
		json_t *b = *error ? NULL : next_result(in[1], right, error, error_bytes);

		if (a && b) {
			fprintf(term->out, "%s", pairs++ ? "\n" : "");
			print_pair(a, b, term);
		}
		bool is_over = !a || !b;

		json_decref(a);
		json_decref(b);
		if (is_over)
			break;
	}
	for (unsigned i = 0; i < 2; i++) {
		if (in[i])
			(void)fclose(in[i]);
	}
	if (!*error && !pairs)
		(void)snprintf(error, error_bytes, "%s, %s: no run to compare", left, right);
	return !*error;
}
