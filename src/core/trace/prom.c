/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prom - numbers as Prometheus scrapes them.
 *
 * The format wants all lines of one metric together, so a family is a table that is printed column
 * by column; a list of (name, labels, value) would have to be sorted first.  Counters get the
 * suffix _total that OpenMetrics demands.  No HELP lines: the names are those of <weft/engine.h>,
 * and a second description would drift.  Values are integers and printed exactly; Prometheus
 * itself keeps doubles and will round above 2^53.
 */
#include "trace_local.h"

#define LABEL_SPECIAL "\\\"\n"

/* The prefix and the name together, whatever their origin, as a legal metric name. */
static void print_name(struct weft_sink *sink, const struct weft_metrics *metrics, const char *name)
{
	const char *parts[] = { metrics->prefix ? metrics->prefix : "", name };
	bool first = true;

	for (size_t i = 0; i < WEFT_COUNT(parts); i++)
		for (const char *at = parts[i]; *at; at++) {
			char c = *at;
			bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
			bool digit = c >= '0' && c <= '9';

			if (!letter && !(digit && !first))
				c = '_';
			sink_bytes(sink, &c, 1);
			first = false;
		}
	if (!metrics->gauges)
		sink_text(sink, "_total");
}

static void print_label(struct weft_sink *sink, const char *name, const char *value, bool first)
{
	sink_text(sink, first ? "{" : ",");
	sink_text(sink, name);
	sink_text(sink, "=\"");
	sink_escaped(sink, value, LABEL_SPECIAL);
	sink_text(sink, "\"");
}

static void print_row(struct weft_sink *sink, const struct weft_metrics *metrics, size_t column,
	const struct weft_metrics_row *row)
{
	print_name(sink, metrics, metrics->names[column]);
	for (size_t i = 0; i < metrics->n_labels; i++)
		print_label(sink, metrics->labels[i].name, metrics->labels[i].value, i == 0);
	if (metrics->row_label)
		print_label(sink, metrics->row_label, row->label, metrics->n_labels == 0);
	if (metrics->n_labels || metrics->row_label)
		sink_text(sink, "}");
	sink_text(sink, " ");
	sink_u64(sink, row->values[column]);
	sink_text(sink, "\n");
}

int weft_prom_metrics(struct weft_sink *sink, const struct weft_metrics *metrics,
	const struct weft_metrics_row rows[], size_t n_rows)
{
	for (size_t column = 0; column < metrics->n_names && n_rows && !sink->error; column++) {
		sink_text(sink, "# TYPE ");
		print_name(sink, metrics, metrics->names[column]);
		sink_text(sink, metrics->gauges ? " gauge\n" : " counter\n");
		for (size_t i = 0; i < n_rows; i++)
			print_row(sink, metrics, column, &rows[i]);
	}
	return sink->error;
}
