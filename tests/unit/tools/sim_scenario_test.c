/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "sim_text.h"

#include <stdlib.h>
#include <string.h>
#include <weft/scenario.h>

static struct sim_args usual(void)
{
	static char fabric[512];

	/* The build names sources by their whole path. */
	snprintf(fabric, sizeof(fabric), "%.*sexamples/fabrics/lab8.yaml",
		(int)(strstr(__FILE__, "tests/") - __FILE__), __FILE__);
	struct sim_args a = {
		.fabric = fabric,
		.loads = { "permutation" },
		.n_loads = 1,
		.until_ps = UINT64_C(100000000000),
	};

	weft_sim_config_default(&a.config);
	return a;
}

/* Its text, opened as a scenario: what it says is what is played. */
static struct weft_scenario *opened(const struct sim_args *a)
{
	char error[512];
	char *text = sim_scenario_text(a, error, sizeof(error));
	struct weft_scenario *play = NULL;

	REQUIRE(text);
	if (weft_scenario_open_text(&play, text, strlen(text), "test", "", error, sizeof(error)))
		fprintf(stderr, "%s\n%s", error, text);
	free(text);
	return play;
}

TEST(sim_scenario_text__says_the_same_in_a_scenarios_words)
{
	struct sim_args a = usual();
	struct weft_scenario_script script;
	char error[512];

	a.loads[0] = "incast:3";
	a.loads[a.n_loads++] = "ring,bytes=4096";
	a.bytes_text = "64KiB";
	a.faults[a.n_faults++] = "freeze p0.t1-1 at 20us for 1ms";
	a.config.paths = 24;
	a.config.reply_paths = 8;
	a.config.seed = 7;
	a.config.marks = WEFT_MARKS_CORE;
	struct weft_scenario *play = opened(&a);

	REQUIRE(play);
	const struct weft_scenario_head *head = weft_scenario_head(play);

	CHECK_EQ(head->seed_first, 7);
	CHECK_EQ(head->seed_last, 7);
	CHECK_EQ(head->stop_ps, a.until_ps);
	CHECK_EQ(head->n_loads, 2);
	CHECK_EQ(head->n_faults, 1);
	REQUIRE(weft_scenario_script_open(&script, play, 7, error, sizeof(error)));
	CHECK_EQ(script.config->paths, 24);
	CHECK_EQ(script.config->reply_paths, 8);
	CHECK_EQ(weft_sim_marks(script.config), WEFT_MARKS_CORE);
	CHECK_EQ(script.config->discipline, WEFT_DISCIPLINE_UNSAID);
	CHECK_EQ(script.n_flows, 3 + 4);
	CHECK_EQ(script.flows[0].len_bytes, 65536); /* --bytes, where the load does not say */
	CHECK_EQ(script.flows[3].len_bytes, 4096);
	weft_scenario_script_close(&script);
	weft_scenario_close(play);
}

TEST(sim_scenario_text__knows_the_settings_of_other_transports)
{
	struct sim_args a = usual();
	struct weft_scenario_script script;
	char error[512];

	a.config.baseline = (struct weft_baseline_settings){ .kind = WEFT_BASELINE_ROCE,
		.qps = 4,
		.dcqcn = true,
		.window_pkts = 99,
		.rto_ps = 5000000 };
	a.config.discipline = WEFT_DISCIPLINE_LOSSLESS;
	a.config.bgp_detect_ps = 3000000;
	struct weft_scenario *play = opened(&a);

	REQUIRE(play);
	REQUIRE(weft_scenario_script_open(&script, play, 1, error, sizeof(error)));
	CHECK_EQ(script.config->baseline.kind, WEFT_BASELINE_ROCE);
	CHECK_EQ(script.config->baseline.qps, 4);
	CHECK(script.config->baseline.dcqcn);
	CHECK_EQ(script.config->baseline.window_pkts, 99);
	CHECK_EQ(script.config->baseline.rto_ps, 5000000);
	CHECK_EQ(script.config->discipline, WEFT_DISCIPLINE_LOSSLESS);
	CHECK_EQ(script.config->bgp_detect_ps, 3000000);
	weft_scenario_script_close(&script);
	weft_scenario_close(play);
}

TEST(sim_scenario_text__cannot_be_broken_out_of)
{
	struct sim_args a = usual();
	char error[512];

	a.loads[0] = "incast:3\"\nstop: 1ns\n#\\";
	char *text = sim_scenario_text(&a, error, sizeof(error));
	struct weft_scenario *play = NULL;

	REQUIRE(text);
	CHECK(strstr(text, "incast:3\\\"") != NULL);
	CHECK(weft_scenario_open_text(&play, text, strlen(text), "test", "", error, sizeof(error)));
	free(text);
	a = usual();
	a.fabric = "/nowhere/x.topo";
	CHECK(!sim_scenario_text(&a, error, sizeof(error)));
	CHECK(strstr(error, "/nowhere/x.topo") != NULL);
}
