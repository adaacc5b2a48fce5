/* SPDX-License-Identifier: BSD-2-Clause */
#include "stage.h"

TEST(engine_read__changes_what_is_said)
{
	struct weft_scenario *play =
		stage_open(STAGE_BASE STAGE_LOAD "engine: {transport: mrc, paths: 8, cc: fixed, "
						 "full: drop, last_hop_marks: false}\n");

	CHECK_EQ(play->config.paths, 8);
	CHECK_EQ(play->config.reply_paths, 8);
	CHECK_EQ(weft_sim_discipline(&play->config), WEFT_DISCIPLINE_DROP_TAIL);
	CHECK_EQ(weft_sim_marks(&play->config), WEFT_MARKS_CORE);
	CHECK_STR(play->config.cc->name, "fixed");
	CHECK_EQ(play->config.baseline.kind, WEFT_BASELINE_NONE);
	weft_scenario_close(play);
}

TEST(engine_read__leaves_the_rest)
{
	struct weft_scenario *play = stage_open(STAGE_BASE STAGE_LOAD);
	struct weft_sim_config usual;

	weft_sim_config_default(&usual);
	CHECK_EQ(play->config.paths, usual.paths);
	CHECK_EQ(play->config.reply_paths, usual.reply_paths);
	CHECK_EQ(play->config.marks, WEFT_MARKS_UNSAID);
	CHECK_EQ(play->config.discipline, WEFT_DISCIPLINE_UNSAID);
	weft_scenario_close(play);
}

TEST(engine_read__refuses_what_it_does_not_know)
{
	stage_refuse(STAGE_BASE STAGE_LOAD "engine: {transport: tcp}\n",
		"s.yaml:5: engine.transport: no transport 'tcp', allowed: mrc, roce");
	stage_refuse(STAGE_BASE STAGE_LOAD "engine: {cc: cubic}\n",
		"s.yaml:5: engine.cc: no congestion control 'cubic'");
	stage_refuse(
		STAGE_BASE STAGE_LOAD "engine: {full: pause}\n", "s.yaml:5: engine.full: 'pause'");
	stage_refuse(
		STAGE_BASE STAGE_LOAD "engine: {paths: 0}\n", "s.yaml:5: engine.paths: '0' is out");
	stage_refuse(STAGE_BASE STAGE_LOAD "engine: {paths: 1}\n",
		"s.yaml:5: engine.paths: 1, allowed are 2 (planes) to 512");
	stage_refuse(STAGE_BASE STAGE_LOAD "engine: {paths: 8, reply_paths: 9}\n",
		"s.yaml:5: engine.reply_paths: 9, allowed are 2 (planes) to 8 (paths)");
}

TEST(engine_read__brings_the_switches_of_a_transport)
{
	static const struct {
		const char *engine;
		enum weft_discipline discipline;
	} rows[] = { { "transport: roce", WEFT_DISCIPLINE_DROP_TAIL },
		{ "transport: ndp", WEFT_DISCIPLINE_TRIM },
		{ "transport: roce, pfc: true, dcqcn: true, qps: 4", WEFT_DISCIPLINE_LOSSLESS },
		{ "transport: spray, full: drop", WEFT_DISCIPLINE_DROP_TAIL } };
	char text[512];

	for (unsigned i = 0; i < WEFT_COUNT(rows); i++) {
		(void)snprintf(
			text, sizeof(text), STAGE_BASE STAGE_LOAD "engine: {%s}\n", rows[i].engine);
		struct weft_scenario *play = stage_open(text);
		struct weft_scenario_result *r = stage_run(play, 1);

		CHECK_EQ(weft_sim_discipline(&play->config), rows[i].discipline);
		CHECK_EQ(r->totals.flows_done, 16);
		CHECK(strstr(rows[i].engine, r->transport));
		weft_scenario_result_free(r);
		weft_scenario_close(play);
	}
	stage_refuse(STAGE_BASE STAGE_LOAD "engine: {qps: 4}\n", "s.yaml:5: engine: qps, dcqcn");
}
