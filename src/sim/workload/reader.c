/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reader - lines of words.
 *
 * All the formats of others that are read here are lines of words, with comments from // or # on,
 * or as C has them.  Comments become blanks before anything is read, so that nobody below has to
 * know them.  Whatever comes, an error says which line of which file.
 */
#include "workload_local.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool text_fail(char *error, size_t error_bytes, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(error, error_bytes, format, args);
	va_end(args);
	(void)weft_text_clean(error); /* it may quote a file */
	return false;
}

/* '#': to the end of the line, '*': to its own end; 0: none begins here. */
static char comment_at(const char *text)
{
	if (text[0] == '/' && text[1] == '*')
		return '*';
	return text[0] == '#' || (text[0] == '/' && text[1] == '/') ? '#' : 0;
}

static bool blank_comments(struct reader *r)
{
	char *text = r->text, kind = 0;
	uint32_t line = 1, began = 0;

	for (size_t i = 0, width; i < r->bytes; i += width) {
		width = 1;
		if (text[i] == '\n') {
			line++;
			kind = kind == '#' ? 0 : kind;
			continue;
		}
		if (!kind) {
			kind = comment_at(&text[i]);
			began = line;
			if (!kind)
				continue;
			width = kind == '*' ? 2 : 1;
		} else if (kind == '*' && text[i] == '*' && text[i + 1] == '/') {
			kind = 0;
			width = 2;
		}
		memset(&text[i], ' ', width);
	}
	r->line = began;
	if (kind == '*')
		return reader_fail(r, "a comment without an end");
	r->line = 0;
	return true;
}

bool reader_open(struct reader *r, const char *name, const char *text, size_t bytes, char *error,
	size_t error_bytes)
{
	*r = (struct reader){
		.name = name, .bytes = bytes, .error = error, .error_bytes = error_bytes
	};
	r->text = malloc(bytes + 1);
	if (!r->text)
		return text_fail(error, error_bytes, "%s: out of memory", name);
	if (bytes)
		memcpy(r->text, text, bytes);
	r->text[bytes] = 0;
	if (blank_comments(r))
		return true;
	reader_close(r);
	return false;
}

void reader_close(struct reader *r)
{
	free(r->text);
	r->text = NULL;
}

bool reader_fail(struct reader *r, const char *format, ...)
{
	va_list args;
	int at = snprintf(
		r->error, r->error_bytes, "%s:%u: ", r->name, (unsigned)(r->line ? r->line : 1));

	if (at < 0 || (size_t)at >= r->error_bytes)
		return false;
	va_start(args, format);
	(void)vsnprintf(r->error + at, r->error_bytes - (size_t)at, format, args);
	va_end(args);
	(void)weft_text_clean(r->error + at);
	return false;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

bool reader_next(struct reader *r)
{
	r->n = 0;
	while (r->at < r->bytes && !r->n) {
		char *at = r->text + r->at, *end = memchr(at, '\n', r->bytes - r->at);

		if (!end)
			end = r->text + r->bytes;
		r->at = (size_t)(end - r->text) + 1;
		r->line++;
		if (memchr(at, 0, (size_t)(end - at)))
			return reader_fail(r, "a byte of 0: this is not text");
		*end = 0;
		while (at < end) {
			if (is_space(*at)) {
				*at++ = 0;
				continue;
			}
			if (r->n == WORDS_MAX)
				return reader_fail(r, "more than %d words", WORDS_MAX);
			r->words[r->n++] = at;
			while (at < end && !is_space(*at))
				at++;
		}
	}
	return r->n > 0;
}

bool reader_number(
	struct reader *r, const char *what, const char *word, uint64_t max, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(word, &end, 10);
	if (errno || end == word || *end || *word < '0' || *word > '9')
		return reader_fail(r, "%s: \"%.40s\", wanted is a whole number", what, word);
	if (*value > max)
		return reader_fail(
			r, "%s: %.40s, allowed is 0 to %llu", what, word, (unsigned long long)max);
	return true;
}

char *reader_load(const char *path, size_t *bytes, char *error, size_t error_bytes)
{
	FILE *file = fopen(path, "rb");
	size_t room = 1 << 16, n = 0;
	char *text = file ? malloc(room) : NULL;

	while (text) {
		n += fread(text + n, 1, room - n - 1, file);
		if (n + 1 < room || room > FILE_BYTES_MAX)
			break;
		char *more = realloc(text, room *= 2);

		if (!more)
			free(text);
		text = more;
	}
	if (!text || ferror(file)) {
		(void)text_fail(error, error_bytes, "%s: %s", path, strerror(errno));
		free(text);
		text = NULL;
	} else if (n + 1 >= room) {
		(void)text_fail(error, error_bytes, "%s: more than a gibibyte", path);
		free(text);
		text = NULL;
	} else {
		text[n] = 0;
		*bytes = n;
	}
	if (file)
		(void)fclose(file);
	return text;
}

bool array_grow(void *array, uint32_t n, uint32_t *n_max, size_t bytes)
{
	void **at = array;

	if (n < *n_max)
		return true;
	if (*n_max > UINT32_MAX / 4)
		return false;
	uint32_t more = *n_max ? 2 * *n_max : 64;
	void *memory = realloc(*at, more * bytes);

	if (!memory)
		return false;
	*at = memory;
	*n_max = more;
	return true;
}
