/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef STAGE_H
#define STAGE_H
/* stage - scenarios out of a few lines, opened and run. */
#include "check.h"
#include "scenario_local.h"

/* 16 hosts below 4 T0s, 4 T1s in each of 2 planes of 100 Gb/s. */
#define STAGE_FABRIC "fabric: {planes: 2, hosts: 16, radix: 8, port: 100Gb/s, hop: 500ns}\n"
#define STAGE_LOAD "load:\n  - permutation: {bytes: 400KB}\n"
#define STAGE_STOP "stop: 2ms\n"
#define STAGE_BASE STAGE_FABRIC STAGE_STOP

static inline struct weft_scenario *stage_try(const char *text, char error[512])
{
	struct weft_scenario *play = NULL;

	error[0] = 0;
	(void)weft_scenario_open_text(&play, text, strlen(text), "s.yaml", "", error, 512);
	return play;
}

static inline struct weft_scenario *stage_open(const char *text)
{
	char error[512];
	struct weft_scenario *play = stage_try(text, error);

	if (!play)
		fprintf(stderr, "%s\n", error);
	REQUIRE(play);
	return play;
}

static inline struct weft_scenario_result *stage_run(
	const struct weft_scenario *play, uint64_t seed)
{
	struct weft_scenario_options options = { .seed = seed };
	char error[512] = "";
	struct weft_scenario_result *r = weft_scenario_run(play, &options, error, sizeof(error));

	if (!r)
		fprintf(stderr, "%s\n", error);
	REQUIRE(r);
	return r;
}

/* Opening must fail, with this message from its first letter on. */
static inline void stage_refuse(const char *text, const char *wanted)
{
	char error[512], head[512];
	struct weft_scenario *play = stage_try(text, error);

	(void)snprintf(head, sizeof(head), "%.*s", (int)strlen(wanted), error);
	CHECK(!play);
	CHECK_STR(head, wanted);
	weft_scenario_close(play);
}

#endif
