/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "play.h"

static const char scenario[] =
	"name: small\ntitle: a ring\nstop: 1ms\nfabric: {planes: 2, hosts: 8, radix: 4}\n"
	"load: [ring]\nfaults: [link-down h1.p0 at 20us for 10us]\n"
	"expect: [completed == 8, lost == 0]\n";

struct printed {
	struct weft_scenario *play;
	struct weft_scenario_result *result;
	char *text;
	size_t bytes;
	struct term term;
};

static void print(struct printed *p)
{
	*p = (struct printed){ 0 };
	struct weft_scenario_options options = { .seed = 1 };
	char error[256];

	REQUIRE(!weft_scenario_open_text(
		&p->play, scenario, strlen(scenario), "s.yaml", "", error, sizeof(error)));
	p->result = weft_scenario_run(p->play, &options, error, sizeof(error));
	REQUIRE(p->result);
	p->term.out = open_memstream(&p->text, &p->bytes);
	REQUIRE(p->term.out);
}

static void done(struct printed *p)
{
	free(p->text);
	weft_scenario_result_free(p->result);
	weft_scenario_close(p->play);
}

TEST(play_print_claims__counts_those_that_fail)
{
	struct printed p;

	print(&p);
	struct play_tally tally = { 0 };

	play_print_claims(p.play, p.result, "sim", &p.term, &tally);
	CHECK_EQ(tally.failed, 1);
	(void)fclose(p.term.out);
	CHECK(strstr(p.text, "completed == 8  8         passed"));
	CHECK(strstr(p.text, "FAILED"));
	done(&p);
}

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

TEST(play_print_result__has_times_and_what_broke)
{
	struct printed p;

	print(&p);
	play_print_head(p.play, &p.term);
	play_print_result(p.result, &p.term);
	(void)fclose(p.term.out);
	CHECK(strstr(p.text, "small: a ring\n"));
	CHECK(strstr(p.text, "clos: 8 hosts, 2 planes of 100 Gb/s, 4 T0s and 2 T1s in each"));
	CHECK(strstr(p.text, "ring"));
	CHECK(strstr(p.text, "link-down h1.p0"));
	CHECK(strstr(p.text, "digest "));
	done(&p);
}
