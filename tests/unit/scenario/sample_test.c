/* SPDX-License-Identifier: BSD-2-Clause */
#include "stage.h"

static double total(const struct weft_scenario_result *r, const char *name)
{
	const struct weft_scenario_column *c = weft_scenario_column(r, name);
	double sum = 0;

	REQUIRE(c);
	for (uint32_t i = 0; i < r->rows; i++)
		sum += c->values[i];
	return sum;
}

/* However often rows are joined, nothing gets lost between them. */
TEST(sample_take__adds_up_to_the_totals)
{
	struct weft_scenario *play =
		stage_open(STAGE_BASE "load:\n  - incast: {fan_in: 9, bytes: 300KB}\n"
				      "  - ring: {bytes: 100KB}\n");
	struct weft_scenario_options options = { .seed = 1 };
	char error[256];

	for (options.rows_max = 8; options.rows_max <= 512; options.rows_max *= 8) {
		struct weft_scenario_result *r =
			weft_scenario_run(play, &options, error, sizeof(error));

		REQUIRE(r);
		CHECK(r->rows > 2 && r->rows <= options.rows_max);
		CHECK_NEAR(total(r, "goodput"), (double)r->counters.rx_data_bytes, 0.5);
		CHECK_NEAR(total(r, "trimmed"), (double)r->totals.trimmed, 0.5);
		CHECK_NEAR(total(r, "p0 trimmed") + total(r, "p1 trimmed"),
			(double)r->totals.trimmed, 0.5);
		CHECK_NEAR(total(r, "p1 trimmed t0") + total(r, "p1 trimmed t1"),
			total(r, "p1 trimmed"), 0.5);
		CHECK_NEAR(total(r, "repeated"), (double)r->counters.tx_rtx_pkts, 0.5);
		/* By load, though the incast's receiver is one of the ring as well. */
		CHECK_NEAR(total(r, "goodput.ring") / (16 * 100e3), 1.0, 0.02);
		CHECK_NEAR(total(r, "goodput.incast") / (9 * 300e3), 1.0, 0.02);
		CHECK_NEAR(total(r, "goodput.ring") + total(r, "goodput.incast"),
			(double)r->counters.rx_data_bytes, 20);
		CHECK(weft_scenario_column(r, "queue down") && weft_scenario_column(r, "ev p0.0"));
		for (uint32_t i = 1; i < r->rows; i++)
			CHECK(r->at_ps[i] > r->at_ps[i - 1]);
		weft_scenario_result_free(r);
	}
	weft_scenario_close(play);
}

/* A port that is out takes its plane's paths with it; in each row all paths are in some state. */
TEST(sample_take__tells_states_of_paths_by_plane)
{
	struct weft_scenario *play = stage_open(
		STAGE_FABRIC "stop: 200us\nload:\n  - flows: {from: h0, to: h9, bytes: 50MB}\n"
			     "engine: {paths: 8}\nfaults:\n  - port-down h0.p1 at 100us\n");
	struct weft_scenario_result *r = stage_run(play, 1);
	static const char *const states[] = { "good", "skip", "bad", "denied" };
	char name[32];

	for (uint32_t row = 0; row < r->rows; row++) {
		double all = 0, usable[2] = { 0 };

		for (unsigned i = 0; i < 8; i++) {
			snprintf(name, sizeof(name), "p%u ev %s", i / 4, states[i % 4]);
			const struct weft_scenario_column *c = weft_scenario_column(r, name);

			REQUIRE(c);
			all += c->values[row];
			usable[i / 4] += i % 4 < 2 ? c->values[row] : 0;
		}
		CHECK_NEAR(all, 8.0, 0.1);
		CHECK_NEAR(usable[0], 4.0, 0.1);
		CHECK_NEAR(usable[1], r->at_ps[row] < 100000000 ? 4.0 : 0.0, 0.1);
	}
	weft_scenario_result_free(r);
	weft_scenario_close(play);
}
