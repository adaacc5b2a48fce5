/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * yaml - from a mapping to a table of fields, strictly.
 *
 * A key that nobody asked for is an error, and so is one given twice: a misspelt "uplink" that
 * silently means the default costs more than it saves.  Errors name file, line and the whole
 * path of the field, say what is wrong and what would be right; the first one ends the reading,
 * since later ones are often only its echo.
 */
#include "local.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FIELD_PATH_BYTES 96

uint32_t node_line(const yaml_node_t *node)
{
	return node ? (uint32_t)node->start_mark.line + 1 : 1;
}

bool document_fail(struct document *doc, uint32_t line, const char *field, const char *format, ...)
{
	va_list args;
	int n = snprintf(doc->error, doc->error_bytes, "%s:%" PRIu32 ": %s%s", doc->name,
		line ? line : 1, field, *field ? ": " : "");

	if (n < 0 || (size_t)n >= doc->error_bytes)
		return false;
	va_start(args, format);
	(void)vsnprintf(doc->error + n, doc->error_bytes - (size_t)n, format, args);
	va_end(args);
	return false;
}

bool document_scalar(struct document *doc, yaml_node_t *node, const char *field, const char **text)
{
	if (node->type != YAML_SCALAR_NODE)
		return document_fail(doc, node_line(node), field, "a single value is wanted");
	*text = (const char *)node->data.scalar.value;
	if (strlen(*text) != node->data.scalar.length)
		return document_fail(doc, node_line(node), field, "contains a NUL character");
	return true;
}

static bool read_number(struct document *doc, yaml_node_t *node, const char *path,
	const struct field *field, struct field_value *value)
{
	const char *text;

	if (!document_scalar(doc, node, path, &text))
		return false;
	if (!unit_parse(field->unit, text, &value->number))
		return document_fail(
			doc, node_line(node), path, "'%s' is not %s", text, unit_form(field->unit));
	if (value->number < field->min || value->number > field->max)
		return document_fail(doc, node_line(node), path,
			"'%s' is out of range, allowed: %" PRIu64 " to %" PRIu64 "%s", text,
			field->min, field->max,
			field->unit == UNIT_SPEED   ? " b/s"
			: field->unit == UNIT_TIME  ? " ns"
			: field->unit == UNIT_BYTES ? " B"
						    : "");
	return true;
}

static bool read_bool(
	struct document *doc, yaml_node_t *node, const char *path, struct field_value *value)
{
	const char *text;

	if (!document_scalar(doc, node, path, &text))
		return false;
	if (strcmp(text, "true") && strcmp(text, "false"))
		return document_fail(doc, node_line(node), path,
			"'%s' is not a truth value, allowed: true, false", text);
	value->number = text[0] == 't';
	return true;
}

static bool read_value(struct document *doc, yaml_node_t *node, const char *path,
	const struct field *field, struct field_value *value)
{
	value->line = node_line(node);
	value->node = node;
	switch (field->kind) {
	case FIELD_NUMBER:
		return read_number(doc, node, path, field, value);
	case FIELD_BOOL:
		return read_bool(doc, node, path, value);
	case FIELD_TEXT:
		return document_scalar(doc, node, path, &value->text);
	case FIELD_NODE:
	case FIELD_MAP:
		return true;
	}
	return true;
}

static bool fail_unknown(
	struct document *doc, yaml_node_t *node, const char *path, const struct field *fields)
{
	char allowed[512] = "";

	for (const struct field *f = fields; f->key; f++) {
		size_t n = strlen(allowed);

		(void)snprintf(allowed + n, sizeof(allowed) - n, "%s%s", n ? ", " : "", f->key);
	}
	return document_fail(doc, node_line(node), path, "no such field, allowed: %s", allowed);
}

/* One level; nested maps are only noted. */
static bool read_level(struct document *doc, yaml_node_t *map, const char *where,
	const struct field *fields, void *values, yaml_node_t *nested[], size_t n_nested)
{
	uint64_t seen = 0;

	if (map->type != YAML_MAPPING_NODE)
		return document_fail(
			doc, node_line(map), where, "a mapping (key: value) is wanted");
	for (yaml_node_pair_t *pair = map->data.mapping.pairs.start;
		pair < map->data.mapping.pairs.top; pair++) {
		yaml_node_t *key = yaml_document_get_node(&doc->yaml, pair->key);
		yaml_node_t *node = yaml_document_get_node(&doc->yaml, pair->value);
		const struct field *f = fields;
		char path[FIELD_PATH_BYTES];
		const char *text;

		if (!document_scalar(doc, key, where, &text))
			return false;
		(void)snprintf(path, sizeof(path), "%s%s%.40s", where, *where ? "." : "", text);
		while (f->key && strcmp(f->key, text))
			f++;
		if (!f->key)
			return fail_unknown(doc, key, path, fields);
		size_t i = (size_t)(f - fields);

		WEFT_ASSERT(i < 64 && (f->kind != FIELD_MAP || i < n_nested));
		if (seen >> i & 1)
			return document_fail(doc, node_line(key), path, "given twice");
		seen |= UINT64_C(1) << i;
		struct field_value *value = (struct field_value *)((char *)values + f->at);

		if (f->kind == FIELD_MAP)
			nested[i] = node;
		else if (!read_value(doc, node, path, f, value))
			return false;
	}
	return true;
}

bool document_fields(struct document *doc, yaml_node_t *map, const char *where,
	const struct field *fields, void *values)
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
