/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * term - output for people.
 *
 * A screen deserves colour and a line that moves; a log file deserves neither, so everything asks
 * first (isatty, NO_COLOR, CLICOLOR_FORCE: no-color.org and bixense.com/clicolors).  No curses: we
 * redraw one line, never a screen, and `weft ... | tee log` must stay readable.  Where no locale is
 * set UTF-8 is assumed, since containers set none and the terminals outside them have spoken UTF-8
 * for twenty years; a locale that names another charset gets ASCII.
 */
#include "term.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define REDRAW_NS UINT64_C(100000000)
#define PLAIN_LINE_NS UINT64_C(1000000000)
#define RATE_SAMPLE_NS 50000000.0
#define RATE_MEMORY_NS 1000000000.0

static const char *env(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static bool speaks_utf8(void)
{
	const char *locale = env("LC_ALL");

	if (!locale)
		locale = env("LC_CTYPE");
	if (!locale)
		locale = env("LANG");
	return !locale || strstr(locale, "UTF-8") || strstr(locale, "utf8") ||
	       strstr(locale, "UTF8") || strstr(locale, "utf-8");
}

static unsigned find_columns(int fd)
{
	struct winsize size;
	const char *columns = env("COLUMNS");

	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col;
	long n = columns ? strtol(columns, NULL, 10) : 0;

	return n >= 20 && n <= 1000 ? (unsigned)n : 80;
}

void term_open(struct term *term, FILE *out)
{
	const char *kind = env("TERM"), *force = env("CLICOLOR_FORCE");
	bool dumb = kind && !strcmp(kind, "dumb");

	term->out = out;
	term->tty = isatty(fileno(out)) && !dumb;
	term->colour = !env("NO_COLOR") && !dumb && (term->tty || (force && strcmp(force, "0")));
	term->utf8 = speaks_utf8();
	term->columns = find_columns(fileno(out));
}

const char *term_on(const struct term *term, enum term_style style)
{
	static const char *const codes[] = { "", "\33[1m", "\33[2m", "\33[31m", "\33[32m",
		"\33[33m", "\33[34m", "\33[35m", "\33[36m" };

	return term->colour ? codes[style] : "";
}

const char *term_off(const struct term *term)
{
	return term->colour ? "\33[0m" : "";
}

unsigned term_width(const char *text)
{
	unsigned width = 0;

	for (; *text; text++) {
		if (text[0] == '\33' && text[1] == '[') {
			text++;
			while (text[1] && !(text[1] >= '@' && text[1] <= '~'))
				text++;
			if (text[1])
				text++;
			continue;
		}
		width += ((unsigned char)*text & 0xc0) != 0x80; /* UTF-8 that goes on: no column */
	}
	return width;
}

char *term_bar(const struct term *term, char *buf, double share, unsigned width)
{
	static const char *const eighths[] = { " ", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	unsigned parts = term->utf8 ? 8 : 1;

	share = share > 0 ? (share < 1 ? share : 1) : 0; /* NaN: empty */
	/* Rounded down: a bar that looks full is full. */
	unsigned filled = (unsigned)(share * width * parts);
	size_t len = 0;

	for (unsigned i = 0; i < width; i++) {
		const char *cell = filled >= (i + 1) * parts ? (term->utf8 ? "█" : "#")
				   : filled > i * parts      ? eighths[filled - i * parts]
							     : " ";
		size_t n = strlen(cell);

		memcpy(buf + len, cell, n);
		len += n;
	}
	buf[len] = '\0';
	return buf;
}

char *term_spark(const struct term *term, char *buf, const double values[], unsigned n, double max)
{
	static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const letters[] = { ".", ":", "-", "=", "+", "*", "#", "@" };
	size_t len = 0;

	if (!(max > 0)) {
		max = 0;
		for (unsigned i = 0; i < n; i++)
			max = values[i] > max ? values[i] : max;
	}
	for (unsigned i = 0; i < n; i++) {
		const char *cell = " ";

		if (isnan(values[i])) {
			cell = term->utf8 ? "·" : "?";
		} else if (values[i] > 0) {
			double level = ceil(values[i] / max * 8);
			int step = level > 8 ? 7 : (int)level - 1;

			cell = (term->utf8 ? blocks : letters)[step];
		}
		size_t bytes = strlen(cell);

		memcpy(buf + len, cell, bytes);
		len += bytes;
	}
	buf[len] = '\0';
	return buf;
}

/* ---- progress ---- */

void progress_begin(
	struct progress *p, struct term *term, const char *what, uint64_t total_bytes, uint64_t now)
{
	*p = (struct progress){ .term = term, .what = what, .total_bytes = total_bytes };
	p->start_ns = p->drawn_ns = p->mark_ns = now;
}

/* An exponential mean over time: its memory is a second whatever the rhythm of the calls. */
static void rate_update(struct progress *p, uint64_t done_bytes, uint64_t now)
{
	double span = (double)(now - p->mark_ns);

	if (span < RATE_SAMPLE_NS || done_bytes < p->mark_bytes)
		return;
	double sample = (double)(done_bytes - p->mark_bytes) / span;
	double age = (double)(now - p->start_ns);
	double memory = age < RATE_MEMORY_NS ? age : RATE_MEMORY_NS; /* young: the plain mean */

	p->bytes_per_ns += (sample - p->bytes_per_ns) * (span < memory ? span / memory : 1);
	p->mark_ns = now;
	p->mark_bytes = done_bytes;
}

static void draw(struct progress *p, uint64_t done_bytes)
{
	char done[HUMAN_MAX], total[HUMAN_MAX], rate[HUMAN_MAX], eta[HUMAN_MAX],
		bar[TERM_PICTURE_BYTES(40)];
	char line[256];
	struct term *t = p->term;
	double bps = p->bytes_per_ns * 8e9;

	human_bytes(done, done_bytes);
	human_rate(rate, bps > 0 ? (uint64_t)bps : 0);
	if (!p->total_bytes) {
		snprintf(line, sizeof(line), "%10s  %10s", done, rate);
	} else {
		double share = (double)done_bytes / (double)p->total_bytes;
		double left =
			p->total_bytes > done_bytes ? (double)(p->total_bytes - done_bytes) : 0;

		snprintf(eta, sizeof(eta), "?");
		if (p->bytes_per_ns > 0 && left / p->bytes_per_ns < 1e15)
			human_ns(eta, (uint64_t)(left / p->bytes_per_ns));
		snprintf(line, sizeof(line), "%3.0f %%  %10s of %s  %10s  eta %s",
			floor(share * 100), done, human_bytes(total, p->total_bytes), rate, eta);
		unsigned taken = term_width(p->what) + term_width(line) + 6;
		unsigned width = t->columns > taken ? t->columns - taken : 0;

		if (t->tty && width >= 6) {
			term_bar(t, bar, share, width < 40 ? width : 40);
			fprintf(t->out, "\r%s %s%s%s %s\33[K", p->what, term_on(t, TERM_CYAN), bar,
				term_off(t), line);
			return;
		}
	}
	fprintf(t->out, t->tty ? "\r%s %s\33[K" : "%s %s\n", p->what, line);
}

void progress_update(struct progress *p, uint64_t done_bytes, uint64_t now)
{
	rate_update(p, done_bytes, now);
	if (now - p->drawn_ns < (p->term->tty ? REDRAW_NS : PLAIN_LINE_NS))
		return;
	p->drawn_ns = now;
	p->shown = p->term->tty;
	draw(p, done_bytes);
	fflush(p->term->out);
}

static void erase(struct progress *p)
{
	if (p->shown)
		fputs("\r\33[K", p->term->out);
	p->shown = false;
}

void progress_note(struct progress *p, const char *format, ...)
{
	va_list args;

	erase(p);
	va_start(args, format);
	vfprintf(p->term->out, format, args);
	va_end(args);
	fputc('\n', p->term->out);
	fflush(p->term->out);
}

void progress_end(struct progress *p, uint64_t done_bytes, uint64_t now)
{
	char done[HUMAN_MAX], rate[HUMAN_MAX], took[HUMAN_MAX];
	uint64_t span = now - p->start_ns;

	erase(p);
	fprintf(p->term->out, "%s %s in %s, %s\n", p->what, human_bytes(done, done_bytes),
		human_ns(took, span),
		human_rate(rate, span ? (uint64_t)((double)done_bytes * 8e9 / (double)span) : 0));
	fflush(p->term->out);
}

/* ---- tables ---- */

static void *must(void *p)
{
	if (!p) {
		fputs("out of memory\n", stderr);
		exit(EXIT_FAILURE);
	}
	return p;
}

void table_begin(struct table *table, const char *align)
{
	size_t columns = strlen(align);

	if (!columns || columns > TABLE_COLUMNS_MAX)
		abort();
	*table = (struct table){ .columns = (unsigned)columns };
	memcpy(table->align, align, columns);
}

void table_add(struct table *table, const char *format, ...)
{
	va_list args;

	if (table->n == table->room) {
		table->room = table->room ? 2 * table->room : 64;
		table->cells = must(realloc(table->cells, table->room * sizeof(*table->cells)));
	}
	va_start(args, format);
	int len = vsnprintf(NULL, 0, format, args);

	va_end(args);
	char *cell = must(malloc((size_t)len + 1));

	va_start(args, format);
	vsnprintf(cell, (size_t)len + 1, format, args);
	va_end(args);
	table->cells[table->n++] = cell;
}

static void print_cell(const struct table *table, const struct term *term, size_t i, unsigned width)
{
	const char *cell = table->cells[i];
	unsigned column = (unsigned)(i % table->columns);
	int pad = (int)(width - term_width(cell));
	bool last = column + 1 == table->columns || i + 1 == table->n;
	bool left = table->align[column] == 'l', heading = i < table->columns;

	fprintf(term->out, "%*s%s%s%s%*s%s", left ? 0 : pad, "",
		heading ? term_on(term, TERM_BOLD) : "", cell, heading ? term_off(term) : "",
		left && !last ? pad : 0, "", last ? "\n" : "  ");
}

void table_print(struct table *table, const struct term *term)
{
	unsigned widths[TABLE_COLUMNS_MAX] = { 0 };

	for (size_t i = 0; i < table->n; i++) {
		unsigned width = term_width(table->cells[i]),
			 column = (unsigned)(i % table->columns);

		widths[column] = width > widths[column] ? width : widths[column];
	}
	for (size_t i = 0; i < table->n; i++) {
		print_cell(table, term, i, widths[i % table->columns]);
		if (i + 1 != table->columns)
			continue;
		for (unsigned c = 0; c < table->columns; c++) {
			for (unsigned w = 0; w < widths[c]; w++)
				fputs(term->utf8 ? "─" : "-", term->out);
			fputs(c + 1 < table->columns ? "  " : "\n", term->out);
		}
	}
	for (size_t i = 0; i < table->n; i++)
		free(table->cells[i]);
	free(table->cells);
	*table = (struct table){ .columns = 0 };
}
