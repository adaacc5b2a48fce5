/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "play.h"

/* Of a claim that is to hold under a share of all seeds. */
TEST(play_tally_shares__fails_what_chance_does_not_explain)
{
	static const struct {
		uint32_t held, judged, wanted, of;
		char verdict; /* passed, failed, skipped */
	} cases[] = { { 0, 1, 3, 4, 's' }, { 3, 3, 3, 4, 's' }, { 0, 4, 3, 4, 'f' },
		{ 1, 4, 3, 4, 'p' }, { 4, 6, 3, 4, 'p' }, { 9, 20, 3, 4, 'f' },
		{ 11, 20, 3, 4, 'p' }, { 60, 100, 3, 4, 'f' }, { 0, 5, 3, 5, 's' },
		{ 0, 6, 3, 5, 'f' }, { 6, 20, 3, 5, 'f' }, { 7, 20, 3, 5, 'p' },
		{ 10, 10, 10, 10, 'p' }, { 9, 10, 10, 10, 'f' }, { 749000, 1000000, 3, 4, 'p' },
		{ 740000, 1000000, 3, 4, 'f' } };

	for (size_t i = 0; i < WEFT_COUNT(cases); i++) {
		struct play_tally tally = { .shares[0] = { .claim = "c",
						    .held = cases[i].held,
						    .judged = cases[i].judged,
						    .wanted = cases[i].wanted,
						    .of = cases[i].of } };

		play_tally_shares(&tally, "f");
		if (tally.passed != (cases[i].verdict == 'p') ||
			tally.failed != (cases[i].verdict == 'f') ||
			tally.skipped != (cases[i].verdict == 's'))
			CHECK_FAIL("%u of %u where %u of %u are wanted: want %c", cases[i].held,
				cases[i].judged, cases[i].wanted, cases[i].of, cases[i].verdict);
	}
}
