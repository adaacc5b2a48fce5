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
