/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hex_text - hex dumps, forgiving in form and strict in content.
 *
 * Text comes from mails, terminals and other programs: blanks anywhere, "# comments", offsets in
 * front (xxd and tcpdump with a colon; Wireshark, hexdump and od without), ASCII columns behind,
 * bytes as languages write them (arrays and strings of C, colons between), lines of a vector file
 * that are not bytes ("=", "!").  An empty line ends a packet, and so do the end of an array and an
 * offset that begins anew.
 *
 * An offset without a colon looks like bytes, so it is believed when it says how many bytes there
 * are already and is longer than the groups behind it.  From then on every line of the packet
 * counts: one that is missing, or that a program has replaced by "*", is an error, since what is
 * decoded would not be what was captured.  Where offsets tell which lines are bytes, lines that
 * are not (tcpdump's and Wireshark's headings, our own) are passed over; without them they are
 * somebody's mistake.
 */
#include "hex_text.h"

#include <weft/base.h>

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	BARE_DIGITS_MIN = 4, /* of an offset without a colon: Wireshark's four, od's six or seven */
	OD_DIGITS = 7,       /* octal or decimal by od, hex by hexdump */
	END_DIGITS_MIN = 6,  /* of one that stands alone and says how many bytes there were */
	HALF_ROW = 8,        /* bytes in front of the wide gap of hexdump -C */
	ROW = 16,
	EXCERPT_MAX = 0x4000, /* an offset above it is the beginning of a packet (0x4500, 0x6000) */
};

static const char hex_digits[] = "0123456789abcdefABCDEF";

struct row {                      /* a line that begins with an offset */
	char *bytes;              /* what follows it */
	uint64_t value[3];        /* the offset as hex, and where it is od's as octal, as decimal */
	unsigned n_values, width; /* digits of the first group behind it; 0: nothing is */
	bool bare, od;
};

struct hex_text {
	FILE *file;
	const char *name;
	char *line; /* of getline() */
	size_t room;
	unsigned number; /* of the line */
	bool held;       /* it belongs to the next packet */
	bool has_rows;   /* offsets have been seen: other lines may be anything */
	char *doubt;     /* what is wrong with a line in front of the first row, if none follows */
	size_t n;
	uint64_t base; /* offset of the packet's first row */
	bool in_rows;
	uint8_t bytes[HEX_TEXT_BYTES_MAX];
};

static int fail(
	const struct hex_text *t, const char *at, const char *what, char *error, size_t error_bytes)
{
	if (at)
		(void)snprintf(error, error_bytes, "%s:%u: column %zu: %s", t->name, t->number,
			(size_t)(at - t->line) + 1, what);
	else
		(void)snprintf(error, error_bytes, "%s:%u: %s", t->name, t->number, what);
	return -1;
}

/* ---- rows ---- */

/* One group's worth of digits, up to a blank; 0: other characters are in it. */
static unsigned group_width(const char *at)
{
	size_t n = strspn(at, hex_digits);

	return !at[n] || isspace((unsigned char)at[n]) ? (unsigned)n : 0;
}

/* Whether the line begins as a row of a dump does. */
static bool find_row(char *line, struct row *row)
{
	char *at = line + strspn(line, " \t");
	bool is_hex = at[0] == '0' && (at[1] == 'x' || at[1] == 'X');

	*row = (struct row){ 0 };
	at += is_hex ? 2 : 0;
	size_t digits = strspn(at, hex_digits);
	char *end = at + digits;

	if (!digits || digits > 16 || (*end && *end != ':' && !isspace((unsigned char)*end)))
		return false;
	if (*end == ':' && end[1] && !isspace((unsigned char)end[1])) /* a time, an address */
		return false;
	row->value[row->n_values++] = strtoull(at, NULL, 16);
	row->bare = *end != ':';
	row->od = row->bare && digits == OD_DIGITS;
	if (row->od && strspn(at, "0123456789") == digits) {
		row->value[row->n_values++] = strtoull(at, NULL, 8);
		row->value[row->n_values++] = strtoull(at, NULL, 10);
	}
	row->bytes = end + !row->bare;
	row->width = group_width(row->bytes + strspn(row->bytes, " \t"));
	if (!row->bare)
		return true;
	if (!row->bytes[strspn(row->bytes, " \t")]) /* alone: where a dump ends */
		return digits >= END_DIGITS_MIN;
	return digits >= BARE_DIGITS_MIN && row->width >= 2 && row->width < digits;
}

static bool says(const struct row *row, uint64_t offset)
{
	for (unsigned i = 0; i < row->n_values; i++)
		if (row->value[i] == offset)
			return true;
	return false;
}

/* Cuts the ASCII column off, which stands behind at least two blanks. */
static void cut_column(char *at, const struct row *row)
{
	unsigned digits = 0;

	at += strspn(at, " \t");
	while (*at) {
		size_t blanks = strspn(at, " \t");
		bool middle = row->bare && blanks == 2 && digits == 2 * HALF_ROW &&
			      strchr(hex_digits, at[2]) && at[2];

		if (blanks > 1 && !middle)
			*at = 0;
		else if (!blanks)
			digits++;
		at += *at ? (blanks ? blanks : 1) : 0;
	}
}

/* ---- bytes ---- */

/* Between bytes, as languages write them: "0x60, 0x01", "\x60\x01", "60:01".  Its length. */
static size_t separator(const char *at, const char *line)
{
	if ((at[0] == '0' || at[0] == '\\') && (at[1] == 'x' || at[1] == 'X') && at[2] &&
		strchr(hex_digits, at[2]))
		return 2;
	return isspace((unsigned char)*at) || (at > line && (*at == ',' || *at == ':'));
}

/* Appends the line's bytes; NULL, or the character that is no hex digit. */
static const char *read_hex(struct hex_text *t, const char *line)
{
	int high = -1;
	const char *last = line;

	for (const char *at = line; *at; at++) {
		const char *digit = strchr(hex_digits, *at);
		size_t between = high < 0 ? separator(at, line) : isspace((unsigned char)*at) != 0;

		if (between) {
			at += between - 1;
			continue;
		}
		last = at;
		if (!digit)
			return at;
		int value = (int)(digit - hex_digits);

		value -= value > 15 ? 6 : 0;
		if (high < 0) {
			high = value;
			continue;
		}
		if (t->n == HEX_TEXT_BYTES_MAX)
			return at;
		t->bytes[t->n++] = (uint8_t)(high << 4 | value);
		high = -1;
	}
	return high < 0 ? NULL : last; /* a lone digit is no byte */
}

static int bad_hex(const struct hex_text *t, const char *at, char *error, size_t error_bytes)
{
	char what[80];

	if (t->n == HEX_TEXT_BYTES_MAX)
		(void)snprintf(
			what, sizeof(what), "a packet of more than %u bytes", HEX_TEXT_BYTES_MAX);
	else if (*at > ' ' && *at <= '~')
		(void)snprintf(what, sizeof(what), "'%c' where two hex digits should be", *at);
	else
		(void)snprintf(what, sizeof(what), "byte 0x%02x where two hex digits should be",
			(unsigned char)*at);
	return fail(t, at, what, error, error_bytes);
}

/* hexdump and od -x print words as this machine's processor has them. */
static void swap_words(struct hex_text *t, size_t from)
{
	for (size_t i = from; i + 1 < t->n; i += 2) {
		uint8_t first = t->bytes[i];

		t->bytes[i] = t->bytes[i + 1];
		t->bytes[i + 1] = first;
	}
}

/* ---- lines ---- */

enum next { NEXT_LINE, NEXT_PACKET, NEXT_ERROR };

static enum next take_row(
	struct hex_text *t, const struct row *row, char *error, size_t error_bytes)
{
	char *at = row->bytes;
	size_t from = t->n;
	bool is_first = !t->in_rows;

	if (!is_first && t->n && says(row, t->base) && row->width) {
		t->held = true;
		return NEXT_PACKET;
	}
	if (!row->width && row->bare) { /* how many there were: words may have one too many */
		if (says(row, t->n))
			return NEXT_LINE;
		if (!row->od || !says(row, t->n - 1))
			goto missing;
		t->n--;
		return NEXT_LINE;
	}
	t->base = is_first ? row->value[0] : t->base;
	if (!says(row, t->base + t->n) || (is_first && row->bare && t->base))
		goto missing;
	if (row->od && row->width == 6) {
		(void)fail(t, at + strspn(at, " \t"), "octal words: od -t x1 prints bytes", error,
			error_bytes);
		return NEXT_ERROR;
	}
	t->in_rows = t->has_rows = true;
	cut_column(at, row);
	const char *bad = read_hex(t, at);

	if (bad) {
		(void)bad_hex(t, bad, error, error_bytes);
		return NEXT_ERROR;
	}
	if (row->od && row->width == 4)
		swap_words(t, from);
	return NEXT_LINE;
missing:
	(void)snprintf(error, error_bytes,
		"%s:%u: offset 0x%llx where 0x%llx should be: lines are missing", t->name,
		t->number, (unsigned long long)row->value[0],
		(unsigned long long)(is_first ? 0 : t->base + t->n));
	return NEXT_ERROR;
}

/* A line that is neither a row nor hex: an error, unless rows show that it does not matter. */
static enum next take_other(
	struct hex_text *t, const char *bad, size_t before, char *error, size_t error_bytes)
{
	const char *at = t->line + strspn(t->line, " \t");
	unsigned width = group_width(at);
	bool full = t->n == HEX_TEXT_BYTES_MAX;

	if (!strcmp(at, "*") || !strcmp(at, "...")) {
		(void)fail(t, at,
			"lines are left out here: ask for all (od -v, hexdump -v, weft "
			"decode --fields)",
			error, error_bytes);
		return NEXT_ERROR;
	}
	(void)bad_hex(t, bad, error, error_bytes);
	t->n = before;
	if (full)
		return NEXT_ERROR;
	if (t->in_rows || (t->has_rows && width != 2 && width != 4))
		return NEXT_LINE;
	if (t->n || t->has_rows)
		return NEXT_ERROR;
	if (!t->doubt)
		t->doubt = strdup(error);
	return NEXT_LINE;
}

static void cut_comments(char *line)
{
	char *comment, *end;

	while ((comment = strstr(line, "/*")) && (end = strstr(comment + 2, "*/")))
		memmove(comment, end + 2, strlen(end + 2) + 1);
	line[strcspn(line, "#\r\n")] = 0;
}

/*
 * Cuts what a C array or string has around its bytes: its name, braces, quotes, a backslash at the
 * end.  False: the line is nothing but that; where an array ends, its packet does.
 */
static bool cut_source(char *line, bool *ends)
{
	size_t n = strlen(line), from = strspn(line, " \t");

	while (n && strchr(" \t;\\", line[n - 1]))
		line[--n] = 0;
	*ends = n && line[n - 1] == '}';
	if (*ends)
		line[--n] = 0;
	if (n > from + 1 && line[from] == '"' && line[n - 1] == '"')
		line[from] = line[n - 1] = ' ';
	return n > from && line[n - 1] != '{';
}

/* An offset without a colon may be bytes; see above. */
static bool is_believed(const struct hex_text *t, const struct row *row)
{
	uint64_t value = row->value[0];

	if (!row->bare || t->in_rows)
		return true;
	if (!row->width || t->n)
		return false;
	/* One row out of a dump's middle is better refused than taken for bytes. */
	return !value || t->has_rows ||
	       (row->width == 2 && value < EXCERPT_MAX && value % ROW == 0);
}

static enum next take_line(struct hex_text *t, char *error, size_t error_bytes)
{
	struct row row;
	char *line = t->line;

	if (t->number == 1 && !strncmp(line, "\xef\xbb\xbf", 3)) /* UTF-8's byte order mark */
		memmove(line, line + 3, strlen(line) - 2);
	if (!line[strspn(line, " \t\r\n")])
		return t->n ? NEXT_PACKET : NEXT_LINE;
	if (line[0] == '=' || line[0] == '!')
		return NEXT_LINE;
	cut_comments(line);
	if (find_row(line, &row) && is_believed(t, &row)) {
		free(t->doubt);
		t->doubt = NULL;
		return take_row(t, &row, error, error_bytes);
	}
	size_t before = t->n;
	bool ends;

	if (!cut_source(line, &ends))
		return ends && t->n ? NEXT_PACKET : NEXT_LINE;
	const char *bad = read_hex(t, line);

	if (bad)
		return take_other(t, bad, before, error, error_bytes);
	if (t->n == before)
		return NEXT_LINE;
	if (t->doubt)
		(void)snprintf(error, error_bytes, "%s", t->doubt);
	else if (t->in_rows)
		(void)fail(t, NULL, "a line without an offset among lines that have one", error,
			error_bytes);
	if (t->doubt || t->in_rows)
		return NEXT_ERROR;
	return ends ? NEXT_PACKET : NEXT_LINE;
}

/* 1: a line is there; 0: the end; -1: it is not text. */
static int get_line(struct hex_text *t, char *error, size_t error_bytes)
{
	ssize_t n = t->held ? 0 : getline(&t->line, &t->room, t->file);

	if (n < 0 && ferror(t->file)) {
		(void)snprintf(error, error_bytes, "%s: %s", t->name, strerror(errno));
		return -1;
	}
	if (n < 0)
		return 0;
	t->number += !t->held;
	if (!t->held && strlen(t->line) != (size_t)n)
		return fail(t, t->line + strlen(t->line), "byte 0x00: neither text nor a capture",
			error, error_bytes);
	t->held = false;
	return 1;
}

struct hex_text *hex_text_open(FILE *file, const char *name)
{
	struct hex_text *t = calloc(1, sizeof(*t));

	if (t) {
		t->file = file;
		t->name = name;
	}
	return t;
}

void hex_text_close(struct hex_text *t)
{
	if (!t)
		return;
	free(t->line);
	free(t->doubt);
	free(t);
}

int hex_text_next(
	struct hex_text *t, const uint8_t **bytes, size_t *n, char *error, size_t error_bytes)
{
	enum next next = NEXT_LINE;

	t->n = 0;
	t->in_rows = false;
	while (next == NEXT_LINE) {
		int got = get_line(t, error, error_bytes);

		if (got < 0)
			return -1;
		if (!got)
			break;
		next = take_line(t, error, error_bytes);
	}
	if (next == NEXT_LINE && !t->n && t->doubt) {
		(void)snprintf(error, error_bytes, "%s", t->doubt);
		next = NEXT_ERROR;
	}
	if (next == NEXT_ERROR)
		return -1;
	*bytes = t->bytes;
	*n = t->n;
	return t->n > 0;
}
