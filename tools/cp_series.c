/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cp_series - when bytes arrived, and whose fault it was when they did not.
 *
 * A stall is the time between two turns of the pump that placed something.  Beside it stand the
 * process's own gaps: turns that began more than a millisecond later than asked for, because the
 * machine ran something else.  Times are CLOCK_MONOTONIC, so the series of two processes and a
 * log of faults can be laid on one axis.  A series that finds no more memory is cut, and says so;
 * the file goes on.
 */
#include "cp.h"

#include <stdlib.h>

void cp_series_begin(struct cp_series *series, uint64_t bin_ns)
{
	*series = (struct cp_series){ .bin_ns = bin_ns };
}

void cp_series_end(struct cp_series *series)
{
	free(series->bins);
	series->bins = NULL;
}

/* Bins up to the one that now falls into exist; those in between repeat the last value. */
static void extend(struct cp_series *series, uint64_t now)
{
	size_t want = (size_t)((now - series->start_ns) / series->bin_ns) + 1;

	if (want > series->room && !series->is_cut) {
		size_t room = WEFT_MAX(2 * series->room, want + 4096);
		uint64_t *bins = realloc(series->bins, room * sizeof(*bins));

		series->is_cut = !bins;
		series->bins = bins ? bins : series->bins;
		series->room = bins ? room : series->room;
	}
	while (series->n < want && !series->is_cut)
		series->bins[series->n++] = series->bytes;
}

static void add_gap(struct cp_series *series, uint64_t now, uint64_t late_ns)
{
	if (series->n_gaps == CP_GAPS_MAX) {
		series->lost_gaps++;
		return;
	}
	series->gaps[series->n_gaps++] = (struct cp_gap){ now - late_ns, late_ns };
}

void cp_series_add(struct cp_series *series, uint64_t bytes, uint64_t now, uint64_t late_ns)
{
	if (late_ns >= CP_GAP_NS)
		add_gap(series, now, late_ns);
	if (bytes == series->bytes)
		return;
	if (!series->bytes)
		series->start_ns = series->last_ns = now;
	if (now - series->last_ns > series->stall.ns)
		series->stall = (struct cp_gap){ series->last_ns, now - series->last_ns };
	series->last_ns = now;
	extend(series, now);
	series->bytes = bytes;
	if (!series->is_cut)
		series->bins[series->n - 1] = bytes;
}

json_t *cp_series_json(const struct cp_series *series)
{
	json_t *bins = json_array(), *gaps = json_array();

	for (size_t i = 0; i < series->n; i++)
		json_array_append_new(bins, json_integer((json_int_t)series->bins[i]));
	for (uint32_t i = 0; i < series->n_gaps; i++)
		json_array_append_new(
			gaps, json_pack("{s:I, s:I}", "at_ns", (json_int_t)series->gaps[i].at_ns,
				      "ns", (json_int_t)series->gaps[i].ns));
	return json_pack("{s:I, s:I, s:I, s:I, s:{s:I, s:I}, s:o, s:i, s:o, s:b}", "start_ns",
		(json_int_t)series->start_ns, "end_ns", (json_int_t)series->last_ns, "bytes",
		(json_int_t)series->bytes, "bin_ns", (json_int_t)series->bin_ns, "longest_stall",
		"at_ns", (json_int_t)series->stall.at_ns, "ns", (json_int_t)series->stall.ns,
		"machine_gaps", gaps, "machine_gaps_lost", (int)series->lost_gaps,
		"cumulative_bytes", bins, "cumulative_bytes_cut", series->is_cut);
}
