/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_series - rates and stalls out of arrival times.
 *
 * All transports are judged by the same thing: how many bytes the receiving program had, by time,
 * in bins of a quarter of a millisecond.  A stall is a run of bins in which nothing came; it is
 * taken from the middle of the last bin before to the middle of the first one after, so it is
 * right to a bin, neither flattering nor exaggerating.  Arrival is what the receiving program has
 * in its hands: for TCP what recv() gave, for Weft what was placed in memory.
 */
#include "demo.h"

#include <stdlib.h>
#include <string.h>
#include <weft/base.h>

void series_begin(struct demo_series *series, uint64_t *bins, size_t room)
{
	memset(series, 0, sizeof(*series));
	series->bin_ns = DEMO_BIN_NS;
	series->bins = bins;
	series->room = room;
}

void series_add(struct demo_series *series, uint64_t bytes, uint64_t now)
{
	if (!series->n)
		series->start_ns = now;
	size_t want = (size_t)((now - series->start_ns) / series->bin_ns) + 1;

	want = WEFT_MIN(want, series->room);
	while (series->n < want)
		series->bins[series->n++] = series->bytes;
	series->end_ns = now;
	series->bytes += bytes;
	series->bins[series->n - 1] = series->bytes;
}

void series_add_gap(struct demo_series *series, uint64_t at_ns, uint64_t ns)
{
	if (series->n_gaps < DEMO_GAPS_MAX)
		series->gaps[series->n_gaps++] = (struct demo_gap){ at_ns, ns };
}

static uint64_t number(const json_t *json, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(json, key));
}

int series_read(struct demo_series *series, const json_t *json)
{
	const json_t *bins = json_object_get(json, "cumulative_bytes");
	const json_t *gaps = json_object_get(json, "machine_gaps");
	size_t n = json_array_size(bins);
	uint64_t *values = calloc(n ? n : 1, sizeof(*values));

	if (!values)
		return -1;
	series_begin(series, values, n);
	series->n = n;
	series->bin_ns = number(json, "bin_ns");
	series->start_ns = number(json, "start_ns");
	series->end_ns = number(json, "end_ns");
	for (size_t i = 0; i < n; i++)
		values[i] = (uint64_t)json_integer_value(json_array_get(bins, i));
	series->bytes = n ? values[n - 1] : 0;
	for (size_t i = 0; i < json_array_size(gaps); i++)
		series_add_gap(series, number(json_array_get(gaps, i), "at_ns"),
			number(json_array_get(gaps, i), "ns"));
	return series->bin_ns && n ? 0 : -1;
}

double series_bytes_at(const struct demo_series *series, uint64_t at_ns)
{
	if (!series->n || at_ns <= series->start_ns)
		return 0;
	uint64_t since = at_ns - series->start_ns;
	size_t bin = (size_t)(since / series->bin_ns);

	if (bin >= series->n)
		return (double)series->bytes;
	double before = bin ? (double)series->bins[bin - 1] : 0;
	double share = (double)(since % series->bin_ns) / (double)series->bin_ns;

	return before + share * ((double)series->bins[bin] - before);
}

double series_rate(const struct demo_series *series, uint64_t from_ns, uint64_t to_ns)
{
	if (to_ns <= from_ns)
		return 0;
	return (series_bytes_at(series, to_ns) - series_bytes_at(series, from_ns)) * 8e9 /
	       (double)(to_ns - from_ns);
}

struct demo_gap series_stall(const struct demo_series *series, uint64_t from_ns, uint64_t to_ns)
{
	struct demo_gap longest = { from_ns, 0 };
	uint64_t last = series->start_ns, bytes = 0;

	for (size_t i = 0; i <= series->n && series->n; i++) {
		uint64_t middle = series->start_ns + i * series->bin_ns + series->bin_ns / 2;

		if (i < series->n && series->bins[i] == bytes)
			continue;
		if (i == series->n) /* nothing came any more: until the end of what is asked */
			middle = to_ns;
		/* A gap of one bin to the next is none. */
		uint64_t ns = middle > last + series->bin_ns ? middle - last : 0;
		if (last < to_ns && middle > from_ns && ns > longest.ns)
			longest = (struct demo_gap){ last, ns };
		last = middle;
		if (i < series->n)
			bytes = series->bins[i];
	}
	return longest;
}

uint64_t gaps_cover(const struct demo_gap gaps[], size_t n, struct demo_gap stall)
{
	uint64_t longest = 0, end = stall.at_ns + stall.ns;

	for (size_t i = 0; i < n; i++) {
		uint64_t from = WEFT_MAX(gaps[i].at_ns, stall.at_ns);
		uint64_t to = WEFT_MIN(gaps[i].at_ns + gaps[i].ns, end);

		if (to > from && to - from > longest)
			longest = to - from;
	}
	return longest;
}
