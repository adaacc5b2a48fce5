/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PLAY_H
#define PLAY_H
/* play - what `weft play` is made of: what it says while it runs and after, as text and JSON. */
#include "term.h"

#include <jansson.h>
#include <weft/scenario.h>

void play_print_head(const struct weft_scenario *play, const struct term *term);
void play_print_result(const struct weft_scenario_result *result, const struct term *term);
/* What became of the claims, all runs together. */
struct play_tally {
	uint32_t passed, failed, skipped;
	struct play_share { /* of a claim that is to hold under some seeds */
		const char *claim;
		uint32_t line, held, judged, wanted, of;
	} shares[WEFT_SCENARIO_CLAIMS_MAX];
};
/* True: it has failed, and counts for itself. */
bool play_tally_add(
	struct play_tally *tally, uint32_t claim, const struct weft_scenario_judgement *judgement);
/* After the last run: claims that are to hold under a share of all seeds, a line each: failed
 * where chance alone would explain what was seen in less than 1 % of cases, skipped where it
 * always may. */
void play_tally_shares(struct play_tally *tally, const char *file);
/* The claims of one run. */
void play_print_claims(const struct weft_scenario *play, const struct weft_scenario_result *result,
	const char *where, const struct term *term, struct play_tally *tally);
/* "all passed", or what is the case: nothing that was not judged has passed. */
void play_print_tally(const struct play_tally *tally);

/*
 * JSON lines of one run: {"kind":"run"}, "load" and "event" lines, one "sample" per row, "claim"
 * lines, and last {"kind":"result"}.  docs/scenarios.md has the keys.
 */
json_t *play_json_result(const struct weft_scenario_result *result);
bool play_json_write(FILE *out, const struct weft_scenario *play,
	const struct weft_scenario_result *result, const char *where);

/* Two files of JSON lines beside each other: weft sim --compare A B.  False: error. */
bool play_compare(const char *left, const char *right, const struct term *term, char *error,
	size_t error_bytes);

#endif
