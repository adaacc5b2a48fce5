/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_picture - the timeline as a terminal can draw it.
 *
 * Goodput over time, one strip per transport on one scale and one time axis, faults below in the
 * same columns.  A column in which nothing at all arrived is left empty down to the axis: that is
 * what an outage looks like, and the reason for drawing it in full height rather than as a line.
 * Red is what the lab has noted, in each run; the number of a fault that was not made stands in
 * brackets where the plan has it.
 */
#include "demo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/base.h>

#define ROWS 4
#define MARGIN 8
#define COLUMNS_MAX 200
#define EIGHTHS 8

static const char *const blocks[EIGHTHS + 1] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
static const enum term_style colours[DEMO_TRANSPORTS] = { TERM_CYAN, TERM_YELLOW, TERM_MAGENTA };

static unsigned columns_of(const struct demo *demo)
{
	unsigned columns = demo->term->columns > MARGIN + 40 ? demo->term->columns - MARGIN : 40;

	return WEFT_MIN(columns, COLUMNS_MAX);
}

/* The time of a column's left edge. */
static uint64_t edge(const struct demo *demo, const struct demo_run *run, unsigned column)
{
	return run->zero_ns + plan_total_ns(&demo->plan) * column / columns_of(demo);
}

static unsigned column_of(const struct demo *demo, uint64_t since_ns)
{
	uint64_t column = since_ns * columns_of(demo) / plan_total_ns(&demo->plan);

	return (unsigned)WEFT_MIN(column, (uint64_t)COLUMNS_MAX);
}

static void print_strip(const struct demo *demo, const struct demo_run *run, double max)
{
	const struct term *term = demo->term;
	unsigned columns = columns_of(demo);

	for (unsigned row = ROWS; row--;) {
		char label[HUMAN_MAX] = "";

		if (row == ROWS - 1)
			(void)snprintf(label, sizeof(label), "%s", demo_names[run->transport]);
		printf("%s%-*s%s", term_on(term, TERM_BOLD), MARGIN - 1, label, term_off(term));
		printf("%s%s", term->utf8 ? "│" : "|", term_on(term, colours[run->transport]));
		for (unsigned c = 0; c < columns; c++) {
			uint64_t from = edge(demo, run, c), to = edge(demo, run, c + 1);
			double rate = from < run->end_ns ? series_rate(&run->series, from, to) : 0;
			int eighths = (int)lround(rate / max * ROWS * EIGHTHS) - (int)row * EIGHTHS;

			eighths = WEFT_MAX(0, WEFT_MIN(EIGHTHS, eighths));
			fputs(term->utf8                ? blocks[eighths]
				: eighths > EIGHTHS / 2 ? "#"
							: " ",
				stdout);
		}
		printf("%s\n", term_off(term));
	}
}

/* '=' where something was broken, and the numbers below. */
static void mark_faults(const struct demo *demo, const struct demo_run *run, unsigned columns,
	char broken[COLUMNS_MAX + 1], char numbers[COLUMNS_MAX + 8])
{
	memset(broken, ' ', COLUMNS_MAX + 1);
	memset(numbers, ' ', COLUMNS_MAX + 8);
	for (unsigned i = 0; i < demo->plan.n; i++) {
		const struct demo_judged *j = &run->hits[i].judged;
		unsigned at = column_of(demo, plan_fault_ns(&demo->plan, i));
		char text[8];

		if (j->from_ns) {
			unsigned to = column_of(demo, j->to_ns - run->zero_ns);

			at = column_of(demo, j->from_ns - run->zero_ns);
			for (unsigned c = at; c < columns && (c <= at || c < to); c++)
				broken[c] = '=';
		}
		int n = snprintf(text, sizeof(text), j->verdict == DEMO_NOT_MADE ? "(%u)" : "%u",
			(uint8_t)(i + 1));
		if (at < columns)
			memcpy(numbers + at, text, (size_t)n);
	}
	numbers[columns] = 0;
}

static void print_axis(const struct demo *demo, const struct demo_run *run)
{
	const struct term *term = demo->term;
	unsigned columns = columns_of(demo);
	char broken[COLUMNS_MAX + 1], numbers[COLUMNS_MAX + 8];

	mark_faults(demo, run, columns, broken, numbers);
	printf("%*s%s", MARGIN - 1, "", term->utf8 ? "└" : "+");
	for (unsigned c = 0; c < columns; c++) {
		bool is_broken = broken[c] != ' ';

		fputs(is_broken ? term_on(term, TERM_RED) : term_off(term), stdout);
		fputs(!term->utf8 ? (is_broken ? "=" : "-") : is_broken ? "━" : "─", stdout);
	}
	printf("%s\n%*s%s%s%s\n", term_off(term), MARGIN, "", term_on(term, TERM_RED), numbers,
		term_off(term));
}

static void print_scale(const struct demo *demo)
{
	unsigned columns = columns_of(demo);
	uint64_t total_s = plan_total_ns(&demo->plan) / 1000000000;
	char line[COLUMNS_MAX + 16];

	memset(line, ' ', sizeof(line));
	for (uint64_t s = 0; s <= total_s; s++) {
		unsigned at = column_of(demo, s * 1000000000);
		char text[16];
		int n = snprintf(text, sizeof(text), "%u s", (unsigned)s);

		if (at + (unsigned)n < columns)
			memcpy(line + at, text, (size_t)n);
	}
	line[columns] = 0;
	printf("%*s%s%s%s\n", MARGIN, "", term_on(demo->term, TERM_DIM), line,
		term_off(demo->term));
}

void picture_print(const struct demo *demo, const struct demo_run runs[], unsigned n)
{
	double max = DEMO_PLANES * (double)demo->rate_bps;
	char text[HUMAN_MAX];

	printf("\n%sGoodput over time%s, as the receiving program had it; full height is %s, "
	       "what all planes carry.  Red: faults%s.\n\n",
		term_on(demo->term, TERM_BOLD), term_off(demo->term),
		human_rate(text, (uint64_t)max),
		runs_all_made(demo, runs, n) ? "" : "; (n): not made");
	for (unsigned r = 0; r < n; r++) {
		print_strip(demo, &runs[r], max);
		print_axis(demo, &runs[r]);
	}
	print_scale(demo);
	printf("\n");
}
