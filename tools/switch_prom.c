/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * switch_prom - a switch's counters as Prometheus scrapes them.
 *
 * Families are what have the same members: ports, queues, and the drops of a switch.  Names are
 * SAI's, which an exporter of a SONiC switch gives too, so one dashboard does for both.
 */
#include "switch_show.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <weft/base.h>
#include <weft/trace.h>

#define MEMBERS_MAX 64u
#define LABEL_BYTES 96

struct family {
	const char *prefix, *row_label;
	const char *names[MEMBERS_MAX]; /* of the first object; the others have the same */
	size_t n_names, n_rows, room;
	struct row {
		char label[LABEL_BYTES];
		uint64_t values[MEMBERS_MAX];
	} * rows;
};

static bool add_row(struct family *f, json_t *object, const char *a, const char *b, const char *c)
{
	const char *key;
	json_t *value;

	if (f->n_rows == f->room) {
		struct row *more = realloc(f->rows, (2 * f->room + 64) * sizeof(*more));

		if (!more)
			return false;
		f->rows = more;
		f->room = 2 * f->room + 64;
	}
	struct row *row = &f->rows[f->n_rows];
	size_t n = 0;

	(void)snprintf(row->label, sizeof(row->label), "%s%s%s%s%s", a, *b ? " " : "", b,
		*c ? " " : "", c);
	json_object_foreach(object, key, value)
	{
		if (!json_is_integer(value) || n == MEMBERS_MAX || !strcmp(key, "port") ||
			!strcmp(key, "depth_bytes"))
			continue;
		if (!f->n_rows)
			f->names[n] = key;
		row->values[n++] = (uint64_t)json_integer_value(value);
	}
	if (!f->n_rows)
		f->n_names = n;
	f->n_rows++;
	return n == f->n_names;
}

static int print_family(struct weft_sink *sink, const struct family *f)
{
	struct weft_metrics metrics = { .prefix = f->prefix,
		.names = f->names,
		.n_names = f->n_names,
		.row_label = f->row_label };
	struct weft_metrics_row *rows = calloc(f->n_rows + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < f->n_rows; i++)
		rows[i] = (struct weft_metrics_row){ f->rows[i].label, f->rows[i].values };
	int result = weft_prom_metrics(sink, &metrics, rows, f->n_rows);

	free(rows);
	return result;
}

static const char *text(const json_t *object, const char *key)
{
	const char *found = json_string_value(json_object_get(object, key));

	return found ? found : "";
}

int switch_prom(const json_t *counters, FILE *out)
{
	struct family families[] = { { .prefix = "weft_", .row_label = "port" },
		{ .prefix = "weft_", .row_label = "queue" },
		{ .prefix = "weft_switch_dropped_", .row_label = "switch" },
		{ .prefix = "weft_hosts_dropped_" } };
	const json_t *node, *port, *queue;
	struct weft_sink sink;
	bool ok = true;
	size_t i, k, q;

	json_array_foreach(json_object_get(counters, "switches"), i, node)
	{
		ok &= add_row(
			&families[2], json_object_get(node, "drops"), text(node, "node"), "", "");
		json_array_foreach(json_object_get(node, "ports"), k, port)
		{
			ok &= add_row(&families[0], (json_t *)(uintptr_t)port, text(node, "node"),
				text(port, "link"), "");
			json_array_foreach(json_object_get(port, "queues"), q, queue) ok &= add_row(
				&families[1], (json_t *)(uintptr_t)queue, text(node, "node"),
				text(port, "link"), text(queue, "queue"));
		}
	}
	ok &= add_row(&families[3], json_object_get(counters, "hosts"), "", "", "");
	weft_sink_file(&sink, out);
	for (i = 0; i < WEFT_COUNT(families); i++) {
		if (ok && print_family(&sink, &families[i]))
			ok = false;
		free(families[i].rows);
	}
	return ok ? 0 : sink.error ? sink.error : -ENOMEM;
}
