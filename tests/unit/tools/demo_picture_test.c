/* SPDX-License-Identifier: BSD-2-Clause */
#include "demos.h"

#define START UINT64_C(5000000000)
#define MS UINT64_C(1000000)

/* What picture_print prints, by line. */
static size_t print_lines(const struct demo *demo, const struct demo_run *run, char lines[][512])
{
	FILE *file = tmpfile();
	int saved = dup(1);
	size_t n = 0;

	REQUIRE(file);
	fflush(stdout);
	dup2(fileno(file), 1);
	picture_print(demo, run, 1);
	fflush(stdout);
	dup2(saved, 1);
	close(saved);
	rewind(file);
	while (n < 16 && fgets(lines[n], 512, file))
		n++;
	fclose(file);
	return n;
}

TEST(picture_print__shows_an_outage_as_a_hole_above_its_mark)
{
	static struct demo_run run;
	static uint64_t bins[1000];
	static char lines[16][512];
	struct term term = { .out = stdout, .columns = 108 };
	/* 8 Mb/s of data on planes that carry 8 Mb/s in all. */
	struct demo demo = { .term = &term, .rate_bps = 1000000 };

	plan_all(&demo.plan, false);
	demo.plan.n = 1;
	demo.plan.lead_ns = 500 * MS;
	demo.plan.hold_ns = 200 * MS;
	demo.plan.gap_ns = 300 * MS;
	run.zero_ns = START;
	run.end_ns = START + 1000 * MS;
	run.hits[0].judged = (struct demo_judged){
		.verdict = DEMO_MADE, .from_ns = START + 500 * MS, .to_ns = START + 700 * MS
	};
	fill_series(&run.series, bins, 1000, START, 500, 700);
	size_t n = print_lines(&demo, &run, lines);
	REQUIRE(n >= 8);
	/* Two lines of words, four rows, the axis, the numbers of faults; 8 columns of margin. */
	CHECK_EQ(lines[3][8 + 10], '#');
	CHECK_EQ(lines[6][8 + 10], '#');
	CHECK_EQ(lines[6][8 + 60], ' ');
	CHECK_EQ(lines[6][8 + 90], '#');
	CHECK_EQ(lines[7][8 + 10], '-');
	CHECK_EQ(lines[7][8 + 60], '=');
	CHECK_EQ(lines[8][8 + 50], '1');
}

TEST(picture_print__marks_what_was_made_when_it_was)
{
	static struct demo_run run;
	static uint64_t bins[1000];
	static char lines[16][512];
	struct term term = { .out = stdout, .columns = 108 };
	struct demo demo = { .term = &term, .rate_bps = 1000000 };

	plan_all(&demo.plan, false);
	demo.plan.n = 2;
	demo.plan.lead_ns = demo.plan.hold_ns = demo.plan.gap_ns = 200 * MS;
	run.zero_ns = START;
	run.end_ns = START + 1000 * MS;
	fill_series(&run.series, bins, 1000, START, 0, 0);
	/* The first ten columns later than planned, the second not at all. */
	run.hits[0].judged = (struct demo_judged){
		.verdict = DEMO_OTHERWISE, .from_ns = START + 300 * MS, .to_ns = START + 400 * MS
	};
	REQUIRE(print_lines(&demo, &run, lines) >= 9);
	CHECK(strstr(lines[1], "(n): not made"));
	CHECK_EQ(lines[7][8 + 25], '-');
	CHECK_EQ(lines[7][8 + 35], '=');
	CHECK_EQ(lines[8][8 + 30], '1');
	CHECK_EQ(lines[7][8 + 70], '-');
	CHECK(!strncmp(lines[8] + 8 + 60, "(2)", 3));
}
