/* SPDX-License-Identifier: BSD-2-Clause */
#include "stage.h"

#include <math.h>

/* Two loads of two flows, one of which computes as well, and four rows of 10 us each. */
static struct weft_scenario_result made(void)
{
	static uint64_t flow_ps[] = { 30, 10, 0, 40, 0 },
			at_ps[] = { 10000000, 20000000, 30000000, 40000000 };
	static double bytes[] = { 100e3, 200e3, 0, 100e3 }, lost[] = { 0, 5, 1, 0 },
		      queue[] = { 7, 900, 3, 0 };
	static struct weft_scenario_column columns[] = {
		{ "goodput", "bytes", WEFT_SCENARIO_SUM, bytes },
		{ "lost", "frames", WEFT_SCENARIO_SUM, lost },
		{ "queue down", "bytes", WEFT_SCENARIO_MAX, queue },
	};
	static uint64_t len_bytes[] = { 1, 1, 1, 1, 0 };
	static struct weft_scenario_group groups[] = {
		{ .name = "a", .n = 2, .ideal_ps = 5, .line_bps = 1e9, .n_flows = 2, .n_done = 2 },
		{ .name = "b", .first = 2, .n = 3, .ideal_ps = 8, .n_flows = 2, .n_done = 1 },
	};

	return (struct weft_scenario_result){ .n_flows = 5,
		.n_messages = 4,
		.n_done = 3,
		.flow_ps = flow_ps,
		.len_bytes = len_bytes,
		.groups = groups,
		.n_groups = 2,
		.at_ps = at_ps,
		.rows = 4,
		.columns = columns,
		.n_columns = 3,
		.totals = { .lost = 6 } };
}

static double measured(const char *claim_text)
{
	struct weft_scenario_result r = made();
	struct claim claim = { 0 };
	char hint[96];

	CHECK(!claim_parse(&claim, claim_text, hint));
	return measure_of(&r, &claim);
}

TEST(measure_of__finds_what_claims_speak_of)
{
	CHECK_NEAR(measured("completed == 0"), 3.0, 0.0);
	CHECK_NEAR(measured("a.completed == 0"), 2.0, 0.0);
	CHECK_NEAR(measured("b.completed == 0"), 1.0, 0.0);
	CHECK_NEAR(measured("b.flows == 0"), 2.0, 0.0);
	CHECK(isinf(measured("fct_max <= 0us"))); /* one has not ended */
	CHECK(isinf(measured("b.fct_mean <= 0us")));
	CHECK_NEAR(measured("b.fct_min <= 0us"), 40.0, 0.0);
	CHECK_NEAR(measured("a.fct_max <= 0us"), 30.0, 0.0);
	CHECK_NEAR(measured("fct_min <= 0us"), 10.0, 0.0);
	CHECK_NEAR(measured("fct_p50 <= 0us"), 30.0, 0.0);
	CHECK_NEAR(measured("a.fct_mean <= 0us"), 20.0, 0.0);
	CHECK_NEAR(measured("a.fct_spread <= 0"), 3.0, 1e-9);
	CHECK_NEAR(measured("lost == 0"), 6.0, 0.0);
	CHECK_NEAR(measured("lost_per_flow <= 0"), 1.5, 1e-9);
	CHECK_NEAR(measured("flows == 0"), 4.0, 0.0);
}

TEST(measure_of__folds_rows_in_the_window)
{
	CHECK_NEAR(measured("goodput >= 1Gb/s"), 400e3 * 8 / 40e-6, 1.0);
	CHECK_NEAR(measured("goodput from 10us to 20us >= 1Gb/s"), 200e3 * 8 / 10e-6, 1.0);
	CHECK_NEAR(measured("goodput_min >= 1Gb/s"), 0.0, 0.0);
	CHECK_NEAR(measured("goodput_min from 0us to 20us >= 1Gb/s"), 100e3 * 8 / 10e-6, 1.0);
	CHECK_NEAR(measured("lost from 20us to 40us == 0"), 1.0, 0.0);
	CHECK_NEAR(measured("queue_down <= 0B"), 900.0, 0.0);
	CHECK_NEAR(measured("queue_down from 20us to 40us <= 0B"), 3.0, 0.0);
	CHECK(isnan(measured("goodput from 50us to 60us >= 1Gb/s")));
	CHECK(isnan(measured("queue_up <= 0B")));
	CHECK(isnan(measured("recovery_max <= 0us")));
}

TEST(measure_text__has_units)
{
	static const struct {
		enum measure_unit unit;
		double value;
		const char *text;
	} rows[] = { { MEASURE_TIME, 1.5e6, "1.50 us" }, { MEASURE_TIME, 25e9, "25.000 ms" },
		{ MEASURE_RATE, 92.5e9, "92.50 Gb/s" }, { MEASURE_RATE, 1.5e12, "1.50 Tb/s" },
		{ MEASURE_BYTES, 2500, "2.5 KB" }, { MEASURE_COUNT, 7, "7" },
		{ MEASURE_RATIO, 0.25, "0.2500" }, { MEASURE_COUNT, NAN, "-" },
		{ MEASURE_TIME, INFINITY, "never" } };
	char text[48];

	for (unsigned i = 0; i < WEFT_COUNT(rows); i++) {
		measure_text(rows[i].unit, rows[i].value, text, sizeof(text));
		CHECK_STR(text, rows[i].text);
	}
}
