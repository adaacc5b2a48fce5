/* SPDX-License-Identifier: BSD-2-Clause */
#include "cp.h"

#include "check.h"

#define MS UINT64_C(1000000)

static struct cp_series series;

static json_int_t bin(const json_t *root, size_t i)
{
	return json_integer_value(json_array_get(json_object_get(root, "cumulative_bytes"), i));
}

TEST(cp_series_add__keeps_bytes_over_time_and_the_longest_stall)
{
	cp_series_begin(&series, MS);
	cp_series_add(&series, 0, 90 * MS, 0); /* before anything came */
	cp_series_add(&series, 100, 100 * MS, 0);
	cp_series_add(&series, 200, 100 * MS + 10, 0);
	cp_series_add(&series, 200, 103 * MS, 0); /* nothing new: no arrival */
	cp_series_add(&series, 300, 105 * MS, 0);
	cp_series_add(&series, 400, 106 * MS, 0);
	json_t *root = cp_series_json(&series);

	CHECK_EQ(series.stall.at_ns, 100 * MS + 10);
	CHECK_EQ(series.stall.ns, 5 * MS - 10);
	CHECK_EQ(json_array_size(json_object_get(root, "cumulative_bytes")), 7);
	CHECK_EQ(bin(root, 0), 200);
	CHECK_EQ(bin(root, 4), 200);
	CHECK_EQ(bin(root, 5), 300);
	CHECK_EQ(bin(root, 6), 400);
	CHECK_EQ(json_integer_value(json_object_get(root, "start_ns")), 100 * MS);
	CHECK_EQ(json_integer_value(json_object_get(root, "end_ns")), 106 * MS);
	json_decref(root);
	cp_series_end(&series);
}

TEST(cp_series_add__notes_the_machines_gaps_up_to_a_limit)
{
	cp_series_begin(&series, MS);
	cp_series_add(&series, 1, 10 * MS, CP_GAP_NS - 1);
	CHECK_EQ(series.n_gaps, 0);
	cp_series_add(&series, 1, 20 * MS, 7 * MS);
	CHECK_EQ(series.n_gaps, 1);
	CHECK_EQ(series.gaps[0].at_ns, 13 * MS);
	CHECK_EQ(series.gaps[0].ns, 7 * MS);
	for (unsigned i = 0; i < CP_GAPS_MAX + 5; i++)
		cp_series_add(&series, 1, 30 * MS, CP_GAP_NS);
	CHECK_EQ(series.n_gaps, CP_GAPS_MAX);
	CHECK_EQ(series.lost_gaps, 6);
	cp_series_end(&series);
}
