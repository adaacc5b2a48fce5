/* SPDX-License-Identifier: BSD-2-Clause */
#include "demos.h"

#define START UINT64_C(5000000000)
#define MS UINT64_C(1000000)

static struct demo_series series;
static uint64_t bins[100];

TEST(series_add__keeps_what_came_by_time)
{
	fill_series(&series, bins, 100, START, 40, 60);
	CHECK_EQ(series.bytes, 80000);
	CHECK_EQ(series.start_ns, START + MS / 2);
	CHECK_EQ(series.bins[39], 40000);
	CHECK_EQ(series.bins[59], 40000);
	CHECK_EQ(series.bins[60], 41000);
}

TEST(series_add__counts_what_is_too_late_in_the_last_bin)
{
	series_begin(&series, bins, 10);
	series_add(&series, 5, START);
	series_add(&series, 7, START + 50 * MS);
	CHECK_EQ(series.n, 10);
	CHECK_EQ(series.bins[9], 12);
}

TEST(series_rate__is_bits_per_second)
{
	fill_series(&series, bins, 100, START, 40, 60);
	CHECK_NEAR(series_rate(&series, START + 10 * MS, START + 30 * MS), 8e6, 1.0);
	CHECK_NEAR(series_rate(&series, START + 45 * MS, START + 55 * MS), 0.0, 1.0);
	CHECK_NEAR(series_rate(&series, START + 30 * MS, START + 30 * MS), 0.0, 0.0);
}

TEST(series_stall__finds_the_longest_in_the_window_only)
{
	fill_series(&series, bins, 100, START, 40, 60);
	CHECK_NEAR(series_stall(&series, START, START + 100 * MS).ns / 1e6, 21.0, 1.0);
	CHECK_EQ(series_stall(&series, START, START + 30 * MS).ns, 0);
	CHECK_NEAR(series_stall(&series, START + 50 * MS, START + 52 * MS).ns / 1e6, 21.0, 1.0);
}

TEST(series_stall__lasts_to_the_end_when_nothing_comes_any_more)
{
	fill_series(&series, bins, 100, START, 70, 100);
	CHECK_NEAR(series_stall(&series, START + 50 * MS, START + 500 * MS).ns / 1e6, 430.0, 2.0);
}

TEST(series_stall__is_the_whole_window_when_it_began_before)
{
	fill_series(&series, bins, 100, START, 70, 100);
	CHECK(series_stall(&series, START + 300 * MS, START + 500 * MS).ns >= 200 * MS);
}

TEST(gaps_cover__is_the_longest_overlap)
{
	const struct demo_gap gaps[] = { { 100, 50 }, { 190, 5 }, { 195, 100 } };

	CHECK_EQ(gaps_cover(gaps, 3, (struct demo_gap){ 120, 80 }), 30);
	CHECK_EQ(gaps_cover(gaps, 3, (struct demo_gap){ 150, 40 }), 0);
	CHECK_EQ(gaps_cover(gaps, 3, (struct demo_gap){ 0, 1000 }), 100);
}

TEST(series_read__takes_the_report_of_cp)
{
	json_t *json = json_loads("{\"start_ns\": 7, \"end_ns\": 3000007, \"bin_ns\": 1000000,"
				  "\"machine_gaps\": [{\"at_ns\": 5, \"ns\": 9}],"
				  "\"cumulative_bytes\": [10, 10, 30]}",
		0, NULL);

	REQUIRE(json);
	CHECK_EQ(series_read(&series, json), 0);
	CHECK_EQ(series.bytes, 30);
	CHECK_EQ(series.n_gaps, 1);
	CHECK_EQ(series.gaps[0].ns, 9);
	CHECK_NEAR(series_bytes_at(&series, 2500007), 20.0, 0.1);
	free(series.bins);
	json_decref(json);
	CHECK_EQ(series_read(&series, NULL), -1);
	free(series.bins);
}
