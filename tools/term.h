/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TERM_H
#define TERM_H
/*
 * term - output for people: colour, one progress line, bars, sparklines, aligned tables.
 *
 *   struct term term;                   struct table table;
 *   term_open(&term, stdout);           table_begin(&table, "lrr");
 *   progress_begin(&p, &term, ...);     table_add(&table, "%s", "QP");  ... headings first
 *   progress_update(&p, done, now);     table_print(&table, &term);     prints and frees
 *   progress_end(&p, done, now);
 *
 * Time     now is ns, monotonic, an argument: nothing here reads a clock.
 * Memory   Tables allocate; everything else draws into buffers of the caller.
 * Threads  One per struct term.
 */
#include "human.h"

#include <stdbool.h>
#include <stdio.h>

struct term {
	FILE *out;
	bool tty;    /* lines may be redrawn */
	bool colour; /* a tty, or CLICOLOR_FORCE; never under NO_COLOR or TERM=dumb */
	bool utf8;
	unsigned columns;
};
/* Looks at out and at the environment once.  The fields may be overruled after (--color, tests). */
void term_open(struct term *term, FILE *out);

enum term_style {
	TERM_PLAIN,
	TERM_BOLD,
	TERM_DIM,
	TERM_RED,
	TERM_GREEN,
	TERM_YELLOW,
	TERM_BLUE,
	TERM_MAGENTA,
	TERM_CYAN,
};
/* What switches a style on, and all of them off; "" where there is no colour. */
const char *term_on(const struct term *term, enum term_style style);
const char *term_off(const struct term *term);
/* Columns that text takes: code points, escape sequences not counted. */
unsigned term_width(const char *text);

/* ---- pictures: one line of at most width columns; buf of TERM_PICTURE_BYTES(width) ---- */

#define TERM_PICTURE_BYTES(width) (3 * (width) + 1)

/* A bar, share (0..1, clamped) of it filled, padded to width; eighths of a column in UTF-8. */
char *term_bar(const struct term *term, char *buf, double share, unsigned width);
/* One column per value, 0..max (0: the largest).  Zero or less is blank, NaN (not known) a dot. */
char *term_spark(const struct term *term, char *buf, const double values[], unsigned n, double max);

/* ---- progress ---- */

struct progress {
	struct term *term;
	const char *what;     /* not copied */
	uint64_t total_bytes; /* 0: unknown, no bar and no eta */
	uint64_t start_ns, drawn_ns;
	uint64_t mark_ns, mark_bytes; /* where the present rate sample began */
	double bytes_per_ns;          /* smoothed over about a second */
	bool shown;                   /* a line without its newline stands on the tty */
};
void progress_begin(struct progress *p, struct term *term, const char *what, uint64_t total_bytes,
	uint64_t now);
/* Call as often as you like: draws at most 10 times a second on a tty, else one line a second. */
void progress_update(struct progress *p, uint64_t done_bytes, uint64_t now);
/* Prints a line of its own above the progress line. */
void progress_note(struct progress *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The last line: what was done, how long it took, the mean rate. */
void progress_end(struct progress *p, uint64_t done_bytes, uint64_t now);

/* ---- tables ---- */

#define TABLE_COLUMNS_MAX 24

struct table {
	char **cells; /* row by row */
	size_t n, room;
	unsigned columns;
	char align[TABLE_COLUMNS_MAX]; /* 'l' or 'r' */
};
/* align: one 'l' or 'r' per column.  The first row of cells is the headings. */
void table_begin(struct table *table, const char *align);
/* The next cell, left to right, row by row.  May hold colour. */
void table_add(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A last row may be short.  Frees the cells. */
void table_print(struct table *table, const struct term *term);

#endif
