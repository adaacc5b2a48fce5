/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_YAML_H
#define WEFT_YAML_H
/*
 * yaml - a mapping of a YAML file into a struct, strictly; and quantities with their units.
 *
 *   speed: 100Gb/s     fields[]: { "speed", NUMBER, SPEED, 1, 9, offset }  -->  values.speed
 *   spede: 100Gb/s     FILE:LINE: spede: no such field, did you mean 'speed'? allowed: speed
 *
 * What the fabric file and the scenario file are read with.
 *
 * Memory   values point into the document, which its owner deletes.
 * Errors   false, and one line in error that begins with FILE:LINE: FIELD.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yaml.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Text to number: b/s, ns, bytes; exact, and never what is only near.  False: not of that form, or
 * above INT64_MAX, so that a sum of two and a signed number hold it.
 */
enum weft_unit {
	WEFT_UNIT_COUNT,
	WEFT_UNIT_SPEED,
	WEFT_UNIT_TIME,
	WEFT_UNIT_BYTES,
	WEFT_UNIT_BDP,     /* thousandths */
	WEFT_UNIT_PERCENT, /* parts per million */
	WEFT_UNIT_PS,      /* picoseconds */
	WEFT_UNIT_SIZE     /* as BYTES, and without a unit */
};
bool weft_unit_parse(enum weft_unit unit, const char *text, uint64_t *value);
const char *weft_unit_form(enum weft_unit unit); /* how it is written: "a speed in bits, ..." */

/* One open document, and the errors found in it. */
struct weft_yaml {
	const char *name;
	yaml_document_t yaml;
	char *error;
	size_t error_bytes;
};

enum weft_yaml_kind {
	WEFT_FIELD_NUMBER,
	WEFT_FIELD_BOOL,
	WEFT_FIELD_TEXT,
	WEFT_FIELD_NODE,
	WEFT_FIELD_MAP
};

/* What the file said about one field; line 0: nothing. */
struct weft_yaml_value {
	uint64_t number;
	const char *text; /* as long as the document */
	yaml_node_t *node;
	uint32_t line;
};

struct weft_yaml_field {
	const char *key;
	enum weft_yaml_kind kind;
	enum weft_unit unit;
	uint64_t min, max;
	size_t at; /* offset of its struct weft_yaml_value in what is filled */
	const struct weft_yaml_field *fields; /* of MAP, ended by a NULL key */
};

/* The line of a NULL node is 1.  Always returns false, so that callers can return it. */
bool weft_yaml_fail(struct weft_yaml *doc, uint32_t line, const char *field, const char *format,
	...) __attribute__((format(printf, 4, 5)));
uint32_t weft_yaml_line(const yaml_node_t *node);
/* False, with its line: after the document that has been loaded comes another one. */
bool weft_yaml_is_last(struct weft_yaml *doc, yaml_parser_t *parser);
/* Fills a struct of values from a mapping; where names it in errors ("" for the root). */
bool weft_yaml_fields(struct weft_yaml *doc, yaml_node_t *map, const char *where,
	const struct weft_yaml_field *fields, void *values);
bool weft_yaml_scalar(
	struct weft_yaml *doc, yaml_node_t *node, const char *field, const char **text);
/*
 * Which of n words, each `stride` bytes after the one before (an array of struct whose first
 * member is its name), a misspelt one was meant to be; NULL: none is near enough.
 */
const char *weft_word_near(const char *text, const void *words, size_t n, size_t stride);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_YAML_H */
