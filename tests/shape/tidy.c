/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tidy - the style rules that a machine can check, so that no review has to.
 *
 * Reads the tree below a root folder line by line, with comments and strings blanked where code is
 * judged.  It knows C no deeper than that on purpose: a parser would be larger than what it guards,
 * and kernel style makes functions visible by their braces in column one.  rooms.txt, written by
 * CMake from the table of rooms, tells which sources and tests are built, so that a forgotten file
 * is an error too.  Usage: tidy ROOMS.TXT ROOT; prints "file:line: what", ends with 1 if anything.
 */
#include <weft/base.h>

#include <ctype.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COLUMNS_MAX        100
#define FUNCTION_LINES_MAX 70
#define FILE_LINES_MAX     600
#define FILES_MAX          4096

struct file {
	const char *path; /* relative to the root */
	char *code;       /* the line with comments and strings blanked */
	size_t code_bytes;
	int line;
	int function_start; /* 0 outside */
	bool in_comment;
	bool is_c, is_header;
	bool ended_comment; /* the line before was the end of one, or all of one */
};

static const struct {
	const char *name, *instead, *allowed_in;
} banned[] = {
	{ "strcpy", "snprintf or memcpy with a length", NULL },
	{ "strcat", "snprintf", NULL },
	{ "strncpy", "snprintf: strncpy may leave no terminator", NULL },
	{ "sprintf", "snprintf", NULL },
	{ "vsprintf", "vsnprintf", NULL },
	{ "gets", "getline", NULL },
	{ "strtok", "strsep or strspn", NULL },
	{ "atoi", "strtoul, checked", NULL },
	{ "atol", "strtoul, checked", NULL },
	{ "alloca", "memory with a bound", NULL },
	{ "rand", "weft_rng", NULL },
	{ "srand", "weft_rng_seed", NULL },
	{ "random", "weft_rng", NULL },
	{ "drand48", "weft_rng", NULL },
	{ "time", "the clock of net", "clock.c" },
	{ "clock", "the clock of net", "clock.c" },
	{ "gettimeofday", "the clock of net", "clock.c" },
	{ "clock_gettime", "the clock of net", "clock.c" },
};

static char *paths[FILES_MAX];
static size_t n_paths;
static char *rooms; /* rooms.txt, blanks and line ends turned into single blanks */
static unsigned n_faults;

static void fault(const char *path, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void fault(const char *path, int line, const char *format, ...)
{
	va_list args;

	n_faults++;
	printf("%s:%d: ", path, line);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static bool ends_with(const char *s, const char *end)
{
	size_t s_bytes = strlen(s), end_bytes = strlen(end);

	return s_bytes >= end_bytes && !strcmp(s + s_bytes - end_bytes, end);
}

static bool starts_with(const char *s, const char *start)
{
	return !strncmp(s, start, strlen(start));
}

static bool exists(const char *path)
{
	struct stat st;

	return !stat(path, &st);
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Whether rooms.txt holds the word, between blanks. */
static bool is_listed(const char *word)
{
	for (const char *at = rooms; (at = strstr(at, word)); at++) {
		char before = at == rooms ? ' ' : at[-1], after = at[strlen(word)];

		if (strchr(" |\n", before) && (!after || strchr(" |\n", after)))
			return true;
	}
	return false;
}

/* ---- one line ---- */

static void check_layout(const struct file *f, const char *line, size_t len)
{
	unsigned columns = 0;

	for (size_t i = 0; i < len; i++) {
		if (line[i] == '\t')
			columns = (columns / 8 + 1) * 8;
		else
			columns += ((unsigned char)line[i] & 0xc0) != 0x80; /* UTF-8 goes on */
	}
	if (columns > COLUMNS_MAX)
		fault(f->path, f->line, "%u columns, at most %u", columns, COLUMNS_MAX);
	if (len && isspace((unsigned char)line[len - 1]))
		fault(f->path, f->line, "trailing blank");
}

static void check_marks(const struct file *f, const char *line)
{
	static const char *const marks[] = { "TO" "DO", "FIX" "ME", "XX" "X" };

	for (size_t i = 0; i < WEFT_COUNT(marks); i++) {
		const char *at = strstr(line, marks[i]);

		if (!at || (at > line && is_word(at[-1])) || is_word(at[strlen(marks[i])]))
			continue;
		if (!strchr(at, '#') || !isdigit((unsigned char)strchr(at, '#')[1]))
			fault(f->path, f->line, "%s without an issue number", marks[i]);
	}
}

/* Copies the line into f->code with comments and the insides of literals as blanks. */
static void blank(struct file *f, const char *line, size_t len)
{
	char quote = 0;

	if (len + 1 > f->code_bytes) {
		f->code_bytes = 2 * len + 1;
		f->code = realloc(f->code, f->code_bytes);
		WEFT_ASSERT(f->code);
	}
	memset(f->code, ' ', len);
	f->code[len] = 0;
	for (size_t i = 0; i < len; i++) {
		bool pair = i + 1 < len;

		if (f->in_comment) {
			f->in_comment = !(pair && line[i] == '*' && line[i + 1] == '/');
			i += !f->in_comment;
		} else if (quote) {
			if (line[i] == '\\')
				i++;
			else if (line[i] == quote)
				quote = 0;
		} else if (pair && line[i] == '/' && line[i + 1] == '/') {
			return;
		} else if (pair && line[i] == '/' && line[i + 1] == '*') {
			f->in_comment = true;
			i++;
		} else if (line[i] == '"' || line[i] == '\'') {
			quote = line[i];
		} else {
			f->code[i] = line[i];
		}
	}
}

/* Comments of declarations: of two in a row, the first has lost its declaration. */
static void check_comments(struct file *f, const char *line)
{
	const char *text = line + strspn(line, " \t");
	bool begins = starts_with(text, "/*");

	if (f->is_header && begins && f->ended_comment && f->line > 2)
		fault(f->path, f->line, "two comments in a row: whose is the first?");
	f->ended_comment = (begins || *text == '*') && ends_with(text, "*/");
}

static void check_calls(const struct file *f)
{
	for (size_t i = 0; i < WEFT_COUNT(banned); i++) {
		size_t len = strlen(banned[i].name);

		if (banned[i].allowed_in && ends_with(f->path, banned[i].allowed_in))
			continue;
		for (const char *at = f->code; (at = strstr(at, banned[i].name)); at += len) {
			char before = at == f->code ? ' ' : at[-1];

			if (is_word(before) || before == '.' || before == '>' || at[len] != '(')
				continue;
			fault(f->path, f->line, "%s() is banned: use %s", banned[i].name,
				banned[i].instead);
		}
	}
	if (strstr(f->code, "typedef struct") || strstr(f->code, "typedef enum"))
		fault(f->path, f->line, "a struct or enum behind a typedef");
	/* 16,384 of them, with the device's lock held. */
	if (strstr(f->code, "< QP_SLOTS; ") && !strncmp(f->path, "src/", 4))
		fault(f->path, f->line, "a walk of all slots: link those that matter (link.h)");
}

/* Kernel style: only functions have their braces alone in column one. */
static void check_function(struct file *f)
{
	if (!strcmp(f->code, "{"))
		f->function_start = f->line;
	if (strcmp(f->code, "}") || !f->function_start)
		return;
	int lines = f->line - f->function_start - 1;

	if (lines > FUNCTION_LINES_MAX)
		fault(f->path, f->function_start, "a function of %d lines, at most %d", lines,
			FUNCTION_LINES_MAX);
	f->function_start = 0;
}

/* ---- one file ---- */

/* Of "src/wing/room/dir/file.c" what begins at the room; tools/ is a room in this. */
static const char *inside(const char *path)
{
	char wing[64];

	if (!starts_with(path, "src/"))
		return path;
	path += strlen("src/");
	snprintf(wing, sizeof(wing), "wing/%.*s", (int)strcspn(path, "/"), path);
	return is_listed(wing) ? path + strcspn(path, "/") + 1 : path;
}

/* "src/wing/room/dir/file.c" wants "tests/unit/room/dir/file_test.c". */
static void check_test(const char *path)
{
	char test[512];
	const char *inner = inside(path);

	if (!is_listed(path))
		fault(path, 1, "no room lists this file");
	/* Verbs are tested from outside: by the manual's examples and by scripts. */
	if (starts_with(path, "tools/cmd_") || !strcmp(path, "tools/main.c"))
		return;
	snprintf(test, sizeof(test), "tests/unit/%.*s_test.c", (int)strlen(inner) - 2, inner);
	if (!exists(test))
		fault(path, 1, "no test: %s", test);
}

static void check_listed_test(const char *path)
{
	char unit[512];
	const char *inner = path + strlen("tests/unit/");

	snprintf(unit, sizeof(unit), "unit/%.*s", (int)(strlen(inner) - strlen("_test.c")), inner);
	if (!is_listed(unit))
		fault(path, 1, "no weft_unit() runs this test");
}

static const char *name_of(const char *path)
{
	return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

static bool is_product(const char *path)
{
	return starts_with(path, "src/") || starts_with(path, "tools/") ||
	       starts_with(path, "include/");
}

/* A name in a stack trace or a question says which file: no two of the product share one. */
static void check_name(const char *path)
{
	for (size_t i = 0; is_product(path) && i < n_paths; i++)
		if (is_product(paths[i]) && !strcmp(name_of(paths[i]), name_of(path)) &&
			strcmp(paths[i], path) < 0)
			fault(path, 1, "%s has this name as well", paths[i]);
}

/* The first three lines carry the licence, and those of a source its name and purpose. */
static void check_opening(const struct file *f, char first[3][256])
{
	char want[256];
	const char *name = name_of(f->path);

	if (!strstr(first[0], "SPDX-License-Identifier: BSD-2-Clause") &&
		!strstr(first[1], "SPDX-License-Identifier: BSD-2-Clause"))
		fault(f->path, 1, "no SPDX line");
	if (!starts_with(f->path, "src/") || !ends_with(name, ".c"))
		return;
	snprintf(want, sizeof(want), " * %.*s - ", (int)strlen(name) - 2, name);
	if (!starts_with(first[2], want))
		fault(f->path, 3, "wants its policy here: \"%s...\"", want);
}

static void check_file(const char *path)
{
	struct file f = { .path = path };
	char first[3][256] = { "", "", "" };
	char *line = NULL;
	size_t line_bytes = 0;
	ssize_t len;
	bool ended = true;
	FILE *in = fopen(path, "r");

	if (!in) {
		fault(path, 0, "cannot be read");
		return;
	}
	f.is_header = ends_with(path, ".h");
	f.is_c = f.is_header || ends_with(path, ".c") || ends_with(path, ".def");
	while ((len = getline(&line, &line_bytes, in)) > 0) {
		f.line++;
		ended = line[len - 1] == '\n';
		if (ended)
			line[--len] = 0;
		if (f.line <= 3)
			snprintf(first[f.line - 1], sizeof(first[0]), "%s", line);
		check_layout(&f, line, (size_t)len);
		check_marks(&f, line);
		if (!f.is_c)
			continue;
		blank(&f, line, (size_t)len);
		check_function(&f);
		check_comments(&f, line);
		check_calls(&f);
	}
	if (!ended)
		fault(path, f.line, "no newline at the end");
	if (f.is_c && f.line > FILE_LINES_MAX)
		fault(path, f.line, "%d lines, at most %d", f.line, FILE_LINES_MAX);
	check_opening(&f, first);
	check_name(path);
	if ((starts_with(path, "src/") || starts_with(path, "tools/")) && ends_with(path, ".c"))
		check_test(path);
	if (starts_with(path, "tests/unit/") && ends_with(path, "_test.c"))
		check_listed_test(path);
	fclose(in);
	free(line);
	free(f.code);
}

/* ---- the tree ---- */

static bool is_ours(const char *name)
{
	static const char *const ends[] = { ".c", ".h", ".def", ".sh", ".cmake" };

	for (size_t i = 0; i < WEFT_COUNT(ends); i++)
		if (ends_with(name, ends[i]))
			return true;
	return false;
}

/* Appends what lies in one folder; folders go on the same list, so there is no recursion. */
static void list_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		char path[1024];
		struct stat st;

		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (entry->d_name[0] == '.' || !strcmp(path, "tests/shape/fixtures"))
			continue;
		if (stat(path, &st) || !(S_ISDIR(st.st_mode) || is_ours(path)))
			continue;
		WEFT_ASSERT(n_paths < FILES_MAX);
		paths[n_paths] = strdup(path);
		WEFT_ASSERT(paths[n_paths]);
		n_paths++;
	}
	closedir(dir);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void read_rooms(const char *path)
{
	FILE *in = fopen(path, "r");

	if (!in || getdelim(&rooms, &(size_t){ 0 }, 0, in) < 0) {
		perror(path);
		exit(2);
	}
	fclose(in);
}

int main(int argc, char **argv)
{
	static const char *const tops[] = { "include", "src", "tools", "tests", "bench", "cmake" };
	struct stat st;

	if (argc != 3) {
		fprintf(stderr, "usage: tidy ROOMS.TXT ROOT\n");
		return 2;
	}
	read_rooms(argv[1]);
	if (chdir(argv[2])) {
		perror(argv[2]);
		return 2;
	}
	for (size_t i = 0; i < WEFT_COUNT(tops); i++)
		list_folder(tops[i]);
	for (size_t i = 0; i < n_paths; i++)
		if (!stat(paths[i], &st) && S_ISDIR(st.st_mode))
			list_folder(paths[i]);
	qsort(paths, n_paths, sizeof(paths[0]), by_name);
	for (size_t i = 0; i < n_paths; i++) {
		if (!stat(paths[i], &st) && S_ISREG(st.st_mode))
			check_file(paths[i]);
	}
	for (size_t i = 0; i < n_paths; i++)
		free(paths[i]);
	free(rooms);
	printf("%zu files and folders, %u faults\n", n_paths, n_faults);
	return n_faults > 0;
}
