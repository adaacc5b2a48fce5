/* SPDX-License-Identifier: BSD-2-Clause */
#include "stage.h"

TEST(engine_read__changes_what_is_said)
{
	struct weft_play *play =
		stage_open(STAGE_BASE STAGE_LOAD "engine: {transport: mrc, paths: 8, cc: fixed, "
						 "full: drop, last_hop_marks: false}\n");

	CHECK_EQ(play->config.paths, 8);
	CHECK_EQ(play->config.reply_paths, 8);
	CHECK_EQ(play->config.discipline, WEFT_DISCIPLINE_DROP_TAIL);
	CHECK(play->config.unmarked_last_hop);
	CHECK_STR(play->config.cc->name, "fixed");
	CHECK_STR(play->transport->word, "mrc");
	weft_play_close(play);
}

TEST(engine_read__leaves_the_rest)
{
	struct weft_play *play = stage_open(STAGE_BASE STAGE_LOAD);
	struct weft_sim_config usual;

	weft_sim_config_default(&usual);
	CHECK_EQ(play->config.paths, usual.paths);
	CHECK_EQ(play->config.reply_paths, usual.reply_paths);
	CHECK_EQ(play->config.unmarked_last_hop, usual.unmarked_last_hop);
	weft_play_close(play);
}

TEST(engine_read__refuses_what_it_does_not_know)
{
	stage_refuse(STAGE_BASE STAGE_LOAD "engine: {transport: tcp}\n",
		"s.yaml:5: engine.transport: no transport 'tcp', allowed: mrc");
	stage_refuse(STAGE_BASE STAGE_LOAD "engine: {cc: cubic}\n",
		"s.yaml:5: engine.cc: no congestion control 'cubic'");
	stage_refuse(
		STAGE_BASE STAGE_LOAD "engine: {full: pause}\n", "s.yaml:5: engine.full: 'pause'");
	stage_refuse(
		STAGE_BASE STAGE_LOAD "engine: {paths: 0}\n", "s.yaml:5: engine.paths: '0' is out");
}
