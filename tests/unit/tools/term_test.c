/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "term.h"

#include <math.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

static char text[4096];
static struct term plain = { .utf8 = true, .columns = 80 };

/* Everything the terminal has been sent so far; starts afresh. */
static FILE *paper(struct term *term)
{
	static FILE *file;

	if (file)
		fclose(file);
	memset(text, 0, sizeof(text));
	file = fmemopen(text, sizeof(text) - 1, "w");
	term->out = file;
	return file;
}

static const char *read_paper(struct term *term)
{
	fflush(term->out);
	return text;
}

static unsigned count(const char *in, const char *what)
{
	unsigned n = 0;

	for (const char *at = in; (at = strstr(at, what)); at++)
		n++;
	return n;
}

TEST(term_open__keeps_colour_out_of_pipes)
{
	struct term term;
	int fds[2];

	REQUIRE(pipe(fds) == 0);
	FILE *out = fdopen(fds[1], "w");

	unsetenv("NO_COLOR");
	unsetenv("CLICOLOR_FORCE");
	setenv("TERM", "xterm", 1);
	term_open(&term, out);
	CHECK(!term.tty && !term.colour);
	CHECK_STR(term_on(&term, TERM_RED), "");
	setenv("CLICOLOR_FORCE", "1", 1);
	term_open(&term, out);
	CHECK(!term.tty && term.colour);
	CHECK_STR(term_on(&term, TERM_RED), "\33[31m");
	CHECK_STR(term_on(&term, TERM_CYAN), "\33[36m");
	CHECK_STR(term_off(&term), "\33[0m");
	setenv("NO_COLOR", "1", 1);
	term_open(&term, out);
	CHECK(!term.colour);
	setenv("COLUMNS", "132", 1);
	setenv("LC_ALL", "de_DE.ISO-8859-1", 1);
	term_open(&term, out);
	CHECK(!term.utf8);
	CHECK_EQ(term.columns, 132);
	setenv("LC_ALL", "C.UTF-8", 1);
	setenv("COLUMNS", "nonsense", 1);
	term_open(&term, out);
	CHECK(term.utf8);
	CHECK_EQ(term.columns, 80);
	fclose(out);
	close(fds[0]);
}

TEST(term_width__counts_what_is_seen)
{
	CHECK_EQ(term_width(""), 0);
	CHECK_EQ(term_width("abc"), 3);
	CHECK_EQ(term_width("µs ▁█"), 5);
	CHECK_EQ(term_width("\33[1;31mred\33[0m"), 3);
	CHECK_EQ(term_width("\33["), 0);
}

TEST(term_bar__fills_by_eighths)
{
	struct term ascii = { .utf8 = false };
	char buf[TERM_PICTURE_BYTES(4)];

	CHECK_STR(term_bar(&plain, buf, 0, 4), "    ");
	CHECK_STR(term_bar(&plain, buf, 1.0 / 32, 4), "▏   ");
	CHECK_STR(term_bar(&plain, buf, 0.5, 4), "██  ");
	CHECK_STR(term_bar(&plain, buf, 0.999, 4), "███▉");
	CHECK_STR(term_bar(&plain, buf, 1, 4), "████");
	CHECK_STR(term_bar(&plain, buf, 7, 4), "████");
	CHECK_STR(term_bar(&plain, buf, NAN, 4), "    ");
	CHECK_STR(term_bar(&ascii, buf, 0.74, 4), "##  ");
}

TEST(term_spark__shows_gaps)
{
	static const double values[] = { 0, 0.01, 1, 4, 8, 9, NAN, -1 };
	struct term ascii = { .utf8 = false };
	char buf[TERM_PICTURE_BYTES(8)];

	CHECK_STR(term_spark(&plain, buf, values, 8, 8), " ▁▁▄██· ");
	CHECK_STR(term_spark(&ascii, buf, values, 8, 8), " ..=@@? ");
	CHECK_STR(term_spark(&plain, buf, values, 5, 0), " ▁▁▄█");
	CHECK_STR(term_spark(&plain, buf, values, 1, 0), " ");
	CHECK_STR(term_spark(&plain, buf, values, 0, 0), "");
}

TEST(progress_update__draws_ten_times_a_second_on_a_tty)
{
	struct term tty = { .tty = true, .utf8 = true, .columns = 100 };
	struct progress p;

	paper(&tty);
	progress_begin(&p, &tty, "file", 1000 << 20, 5);
	for (uint64_t ms = 1; ms <= 1000; ms++)
		progress_update(&p, ms << 19, 5 + ms * MS);
	CHECK_EQ(count(read_paper(&tty), "\r"), 10);
	CHECK_EQ(count(text, "\n"), 0);
	const char *last = strrchr(text, '\r');

	/* 512 KiB a millisecond is 4.19 Gb/s, and half is left. */
	CHECK(strstr(last, "50 %"));
	CHECK(strstr(last, "500 MiB of 1000 MiB"));
	CHECK(strstr(last, "4.19 Gb/s"));
	CHECK(strstr(last, "eta 1 s"));
	CHECK(strstr(last, "█"));
	CHECK(term_width(last + 1) < 100);
}

TEST(progress_update__prints_plain_lines_into_a_file)
{
	struct progress p;

	paper(&plain);
	progress_begin(&p, &plain, "file", 1000 << 20, 5);
	for (uint64_t ms = 1; ms <= 2500; ms++)
		progress_update(&p, ms << 18, 5 + ms * MS);
	CHECK_EQ(count(read_paper(&plain), "\n"), 2);
	CHECK_EQ(count(text, "\r") + count(text, "\33"), 0);
	CHECK_EQ(count(text, "of 1000 MiB"), 2);
}

TEST(progress_update__follows_a_rate_that_changes)
{
	struct progress p;
	uint64_t done = 0, ms = 0;

	paper(&plain);
	progress_begin(&p, &plain, "file", 0, 0);
	for (; ms < 3000; ms++)
		progress_update(&p, done += 100000, ms * MS);
	CHECK_NEAR(p.bytes_per_ns, 0.1, 0.001);
	for (; ms < 9000; ms++)
		progress_update(&p, done += 1000, ms * MS);
	CHECK_NEAR(p.bytes_per_ns, 0.001, 0.0005);
	CHECK(!strstr(read_paper(&plain), "eta"));
	progress_update(&p, 0, ms * MS); /* going back is odd, not fatal */
}

TEST(progress_note__erases_the_line_first)
{
	struct term tty = { .tty = true, .utf8 = true, .columns = 100 };
	struct progress p;

	paper(&tty);
	progress_begin(&p, &tty, "file", 1000, 0);
	progress_note(&p, "plane %d down", 3);
	progress_update(&p, 500, 200 * MS);
	progress_note(&p, "plane %d up", 3);
	CHECK(!strncmp(read_paper(&tty), "plane 3 down\n\rfile ", 19));
	CHECK(strstr(text, "\r\33[Kplane 3 up\n"));
}

TEST(progress_end__gives_the_mean)
{
	struct progress p;

	paper(&plain);
	progress_begin(&p, &plain, "file", 1 << 30, 7);
	progress_end(&p, 1 << 30, 7 + 2000 * MS);
	CHECK_STR(read_paper(&plain), "file 1 GiB in 2 s, 4.29 Gb/s\n");
	paper(&plain);
	progress_begin(&p, &plain, "nothing", 0, 7);
	progress_end(&p, 0, 7);
	CHECK_STR(read_paper(&plain), "nothing 0 B in 0 ns, 0 b/s\n");
}

TEST(table_print__aligns_what_is_seen)
{
	struct term colour = { .utf8 = true, .colour = true, .columns = 80 };
	struct table table;

	paper(&plain);
	table_begin(&table, "lrl");
	table_add(&table, "path");
	table_add(&table, "rtt");
	table_add(&table, "state");
	table_add(&table, "%u", 1234567);
	table_add(&table, "%u µs", 12);
	table_add(&table, "good");
	table_add(&table, "7");
	table_add(&table, "%s", "9 µs");
	table_print(&table, &plain);
	CHECK_STR(read_paper(&plain), "path       rtt  state\n"
				      "───────  ─────  ─────\n"
				      "1234567  12 µs  good\n"
				      "7         9 µs\n");

	paper(&colour);
	table_begin(&table, "rl");
	table_add(&table, "a");
	table_add(&table, "b");
	table_add(&table, "%slong%s", term_on(&colour, TERM_RED), term_off(&colour));
	table_add(&table, "x");
	table_print(&table, &colour);
	CHECK_STR(read_paper(&colour), "   \33[1ma\33[0m  \33[1mb\33[0m\n"
				       "────  ─\n"
				       "\33[31mlong\33[0m  x\n");
}
