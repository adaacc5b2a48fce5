/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * play_tally - what became of the claims of all seeds together; a share of them ("3 of 4 seeds") is
 * judged by the binomial.
 *
 * Few seeds tell little: a claim that holds under three quarters of all fails under one of four by
 * chance, often.  So it has failed where chance would explain what was seen in less than 1 % of
 * cases, and is not judged by fewer seeds than could find out one that never holds.
 */
#include "play.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define BY_CHANCE_MAX                                                                              \
	0.01 /* a claim that chance alone would fail less often than this has failed */

bool play_tally_add(struct play_tally *t, uint32_t claim, const struct weft_scenario_judgement *j)
{
	struct play_share *share = &t->shares[claim];

	if (j->of && j->verdict != WEFT_SCENARIO_SKIPPED) {
		share->held += j->verdict == WEFT_SCENARIO_PASSED;
		share->judged++;
		share->wanted = j->held;
		share->of = j->of;
		share->claim = j->claim;
		share->line = j->line;
		return false;
	}
	t->failed += j->verdict == WEFT_SCENARIO_FAILED;
	t->passed += j->verdict == WEFT_SCENARIO_PASSED;
	t->skipped += j->verdict == WEFT_SCENARIO_SKIPPED;
	return j->verdict == WEFT_SCENARIO_FAILED;
}

/* Binomial: how likely it is that a claim that holds under a share p of all seeds holds under so
 * few of n, or fewer. */
static double chance_of_at_most(uint32_t held, uint32_t n, double p)
{
	double sum = 0;

	if (p >= 1)
		return held < n ? 0 : 1;
	for (uint32_t k = 0; k <= held; k++)
		sum += exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) + k * log(p) +
			   (n - k) * log1p(-p));
	return sum;
}

/* So many that a claim that never holds is found out. */
static uint32_t seeds_to_judge(const struct play_share *s, double p)
{
	uint32_t n = s->of;

	while (chance_of_at_most(0, n, p) >= BY_CHANCE_MAX)
		n++;
	return n;
}

void play_tally_shares(struct play_tally *t, const char *file)
{
	for (uint32_t i = 0; i < WEFT_SCENARIO_CLAIMS_MAX; i++) {
		const struct play_share *s = &t->shares[i];

		if (!s->judged)
			continue;
		double p = (double)s->wanted / s->of;
		uint32_t enough = seeds_to_judge(s, p);
		bool holds = chance_of_at_most(s->held, s->judged, p) >= BY_CHANCE_MAX;

		printf("%s:%" PRIu32 ": %s: held under %" PRIu32 " of %" PRIu32
		       " seeds, wanted is %" PRIu32 " of %" PRIu32 ": ",
			file, s->line, s->claim, s->held, s->judged, s->wanted, s->of);
		if (s->judged < enough) {
			t->skipped++;
			printf("skipped, %" PRIu32 " seeds at least would tell\n", enough);
			continue;
		}
		t->passed += holds;
		t->failed += !holds;
		printf("%s\n", holds ? "passed" : "FAILED");
	}
}
