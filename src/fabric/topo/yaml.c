/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * yaml - from a mapping to a table of fields, strictly.
 *
 * A key that nobody asked for is an error, and so is one given twice: a misspelt "uplink" that
 * silently means the default costs more than it saves.  Errors name file, line and the whole
 * path of the field, say what is wrong and what would be right; the first one ends the reading,
 * since later ones are often only its echo.
 */
#include "topo_local.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD_PATH_BYTES 96

uint32_t weft_yaml_line(const yaml_node_t *node)
{
	return node ? (uint32_t)node->start_mark.line + 1 : 1;
}

bool weft_yaml_fail(
	struct weft_yaml *doc, uint32_t line, const char *field, const char *format, ...)
{
	va_list args;
	int n = snprintf(doc->error, doc->error_bytes, "%s:%" PRIu32 ": %s%s", doc->name,
		line ? line : 1, field, *field ? ": " : "");

	if (n < 0 || (size_t)n >= doc->error_bytes)
		return false;
	va_start(args, format);
	(void)vsnprintf(doc->error + n, doc->error_bytes - (size_t)n, format, args);
	va_end(args);
	(void)weft_text_clean(doc->error);
	return false;
}

bool weft_yaml_scalar(
	struct weft_yaml *doc, yaml_node_t *node, const char *field, const char **text)
{
	if (node->type != YAML_SCALAR_NODE)
		return weft_yaml_fail(doc, weft_yaml_line(node), field, "a single value is wanted");
	*text = (const char *)node->data.scalar.value;
	if (strlen(*text) != node->data.scalar.length)
		return weft_yaml_fail(doc, weft_yaml_line(node), field, "contains a NUL character");
	/* Names and explanations go to terminals; the latter have lines. */
	if (!weft_text_is_clean_lines(*text))
		return weft_yaml_fail(doc, weft_yaml_line(node), field,
			"contains a control character: '%s'", *text);
	return true;
}

static bool read_number(struct weft_yaml *doc, yaml_node_t *node, const char *path,
	const struct weft_yaml_field *field, struct weft_yaml_value *value)
{
	const char *text;

	if (!weft_yaml_scalar(doc, node, path, &text))
		return false;
	if (!weft_unit_parse(field->unit, text, &value->number))
		return weft_yaml_fail(doc, weft_yaml_line(node), path, "'%s' is not %s", text,
			weft_unit_form(field->unit));
	if (value->number < field->min || value->number > field->max)
		return weft_yaml_fail(doc, weft_yaml_line(node), path,
			"'%s' is out of range, allowed: %" PRIu64 " to %" PRIu64 "%s", text,
			field->min, field->max,
			field->unit == WEFT_UNIT_SPEED   ? " b/s"
			: field->unit == WEFT_UNIT_TIME  ? " ns"
			: field->unit == WEFT_UNIT_BYTES ? " B"
							 : "");
	return true;
}

static bool read_bool(
	struct weft_yaml *doc, yaml_node_t *node, const char *path, struct weft_yaml_value *value)
{
	const char *text;

	if (!weft_yaml_scalar(doc, node, path, &text))
		return false;
	if (strcmp(text, "true") && strcmp(text, "false"))
		return weft_yaml_fail(doc, weft_yaml_line(node), path,
			"'%s' is not a truth value, allowed: true, false", text);
	value->number = text[0] == 't';
	return true;
}

static bool read_value(struct weft_yaml *doc, yaml_node_t *node, const char *path,
	const struct weft_yaml_field *field, struct weft_yaml_value *value)
{
	value->line = weft_yaml_line(node);
	value->node = node;
	switch (field->kind) {
	case WEFT_FIELD_NUMBER:
		return read_number(doc, node, path, field, value);
	case WEFT_FIELD_BOOL:
		return read_bool(doc, node, path, value);
	case WEFT_FIELD_TEXT:
		return weft_yaml_scalar(doc, node, path, &value->text);
	case WEFT_FIELD_NODE:
	case WEFT_FIELD_MAP:
		return true;
	}
	return true;
}

/* ---- words ---- */

/* How many letters are wrong, missing, too many or swapped; at most WORD_BYTES of each count. */
static unsigned distance(const char *left, const char *right)
{
	enum { WORD_BYTES = 31 };
	unsigned rows[3][WORD_BYTES + 1], *before = rows[0], *last = rows[1], *now = rows[2];
	size_t n = strlen(right);

	n = n < WORD_BYTES ? n : WORD_BYTES;
	for (unsigned k = 0; k <= n; k++)
		last[k] = before[k] = k;
	for (unsigned i = 1; i <= WORD_BYTES && left[i - 1]; i++) {
		now[0] = i;
		for (unsigned k = 1; k <= n; k++) {
			unsigned best = last[k - 1] + (left[i - 1] != right[k - 1]);

			best = WEFT_MIN(best, WEFT_MIN(last[k], now[k - 1]) + 1);
			if (i > 1 && k > 1 && left[i - 1] == right[k - 2] &&
				left[i - 2] == right[k - 1])
				best = WEFT_MIN(best, before[k - 2] + 1);
			now[k] = best;
		}
		unsigned *free = before;

		before = last;
		last = now;
		now = free;
	}
	return last[n];
}

const char *weft_word_near(const char *text, const void *words, size_t n, size_t stride)
{
	const char *best = NULL;
	size_t least = strlen(text) / 4 + 1; /* further away is another word */

	for (size_t i = 0; i < n; i++) {
		const char *word = *(const char *const *)((const char *)words + i * stride);
		size_t far = distance(text, word);

		if (far <= least && (far < least || !best)) {
			least = far;
			best = word;
		}
	}
	return best;
}

static bool fail_unknown(struct weft_yaml *doc, yaml_node_t *node, const char *path,
	const struct weft_yaml_field *fields)
{
	const char *text = (const char *)node->data.scalar.value;
	char allowed[512] = "";
	size_t n;

	for (const struct weft_yaml_field *f = fields; f->key; f++) {
		n = strlen(allowed);
		(void)snprintf(allowed + n, sizeof(allowed) - n, "%s%s", n ? ", " : "", f->key);
	}
	for (n = 0; fields[n].key;)
		n++;
	const char *meant = weft_word_near(text, fields, n, sizeof(*fields));

	return weft_yaml_fail(doc, weft_yaml_line(node), path, "no such field%s%s%s allowed: %s",
		meant ? ", did you mean '" : ",", meant ? meant : "", meant ? "'?" : "", allowed);
}

/* One level; nested maps are only noted. */
static bool read_level(struct weft_yaml *doc, yaml_node_t *map, const char *where,
	const struct weft_yaml_field *fields, void *values, yaml_node_t *nested[], size_t n_nested)
{
	uint64_t seen = 0;

	if (map->type != YAML_MAPPING_NODE)
		return weft_yaml_fail(
			doc, weft_yaml_line(map), where, "a mapping (key: value) is wanted");
	for (yaml_node_pair_t *pair = map->data.mapping.pairs.start;
		pair < map->data.mapping.pairs.top; pair++) {
		yaml_node_t *key = yaml_document_get_node(&doc->yaml, pair->key);
		yaml_node_t *node = yaml_document_get_node(&doc->yaml, pair->value);
		const struct weft_yaml_field *f = fields;
		char path[FIELD_PATH_BYTES];
		const char *text;

		if (!weft_yaml_scalar(doc, key, where, &text))
			return false;
		(void)snprintf(path, sizeof(path), "%s%s%.40s", where, *where ? "." : "", text);
		while (f->key && strcmp(f->key, text))
			f++;
		if (!f->key)
			return fail_unknown(doc, key, path, fields);
		size_t i = (size_t)(f - fields);

		WEFT_ASSERT(i < 64 && (f->kind != WEFT_FIELD_MAP || i < n_nested));
		if (seen >> i & 1)
			return weft_yaml_fail(doc, weft_yaml_line(key), path, "given twice");
		seen |= UINT64_C(1) << i;
		struct weft_yaml_value *value = (struct weft_yaml_value *)((char *)values + f->at);

		if (f->kind == WEFT_FIELD_MAP)
			nested[i] = node;
		else if (!read_value(doc, node, path, f, value))
			return false;
	}
	return true;
}

bool weft_yaml_is_last(struct weft_yaml *doc, yaml_parser_t *parser)
{
	yaml_document_t next;

	if (!yaml_parser_load(parser, &next))
		return weft_yaml_fail(doc, (uint32_t)parser->problem_mark.line + 1, "",
			"not YAML: %s", parser->problem ? parser->problem : "unreadable");
	yaml_node_t *root = yaml_document_get_root_node(&next);
	uint32_t line = root ? weft_yaml_line(root) : 0;

	yaml_document_delete(&next);
	return !root || weft_yaml_fail(doc, line, "",
				"a second document: one file has one, before this line");
}

bool weft_yaml_fields(struct weft_yaml *doc, yaml_node_t *map, const char *where,
	const struct weft_yaml_field *fields, void *values)
{
	yaml_node_t *nested[32] = { NULL }, *deeper[1];

	if (!read_level(doc, map, where, fields, values, nested, WEFT_COUNT(nested)))
		return false;
	for (size_t i = 0; i < WEFT_COUNT(nested) && fields[i].key; i++) {
		if (nested[i] && !read_level(doc, nested[i], fields[i].key, fields[i].fields,
					 values, deeper, 0))
			return false;
	}
	return true;
}
