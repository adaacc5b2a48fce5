/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scenario_place - the fabric of a scenario: a file's name, a fabric file's words, or a few
 * numbers.
 *
 * The words of a fabric file are handed to its reader as they stand, behind as many empty lines as
 * are in front of them, so that its messages name the line of the scenario.  The numbers are those
 * of a Clos network of equal switches, half of whose ports go down and half up; what they mean is
 * written out as a fabric file's text, so that there is one place that knows what a fabric is.
 */
#include "scenario_local.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct words {
	struct weft_yaml_value name, planes, hosts, radix, port, hop, core, behavior;
};

/* clang-format off */
#define AT(member) offsetof(struct words, member)
static const struct weft_yaml_field fields[] = {
	{ "name", WEFT_FIELD_TEXT, WEFT_UNIT_COUNT, 0, 0, AT(name), NULL },
	{ "planes", WEFT_FIELD_NUMBER, WEFT_UNIT_COUNT, 1, WEFT_TOPO_PLANES_MAX, AT(planes), NULL },
	{ "hosts", WEFT_FIELD_NUMBER, WEFT_UNIT_COUNT, 2, 1048576, AT(hosts), NULL },
	{ "radix", WEFT_FIELD_NUMBER, WEFT_UNIT_COUNT, 2, 2048, AT(radix), NULL },
	{ "port", WEFT_FIELD_NUMBER, WEFT_UNIT_SPEED, 1000000, UINT64_C(10000000000000), AT(port),
		NULL },
	{ "core", WEFT_FIELD_NUMBER, WEFT_UNIT_SPEED, 1000000, UINT64_C(10000000000000), AT(core),
		NULL },
	{ "hop", WEFT_FIELD_NUMBER, WEFT_UNIT_TIME, 1, 1000000000, AT(hop), NULL },
	{ 0 },
};
#undef AT
/* clang-format on */

static bool has_key(struct weft_yaml *doc, yaml_node_t *map, const char *key)
{
	for (yaml_node_pair_t *pair = map->data.mapping.pairs.start;
		pair < map->data.mapping.pairs.top; pair++) {
		yaml_node_t *node = yaml_document_get_node(&doc->yaml, pair->key);

		if (node->type == YAML_SCALAR_NODE &&
			!strcmp((const char *)node->data.scalar.value, key))
			return true;
	}
	return false;
}

static bool read_clos(struct weft_yaml *doc, yaml_node_t *map, struct weft_topo **topo)
{
	struct words w = { .planes = { .number = 1 },
		.port = { .number = UINT64_C(100000000000) },
		.hop = { .number = 1000 },
		.name = { .text = "clos" } };
	uint32_t line = weft_yaml_line(map);
	char text[768], why[256];

	if (!weft_yaml_fields(doc, map, "fabric", fields, &w))
		return false;
	if (!w.hosts.line)
		return weft_yaml_fail(doc, line, "fabric", "it needs hosts, a number");
	if (w.radix.number % 2)
		return weft_yaml_fail(doc, w.radix.line, "fabric.radix",
			"%" PRIu64 " is odd: half of the ports go up", w.radix.number);
	uint64_t half = w.radix.number / 2, t0s = (w.hosts.number + half - 1) / half;

	if (t0s > w.radix.number)
		return weft_yaml_fail(doc, w.hosts.line, "fabric.hosts",
			"%" PRIu64 " hosts need %" PRIu64 " T0s, and a T1 has %" PRIu64 " ports",
			w.hosts.number, t0s, w.radix.number);
	if (!w.core.line)
		w.core = w.port;
	(void)snprintf(text, sizeof(text),
		"name: %.31s\nplanes: %" PRIu64 "\nt0s: %" PRIu64 "\nt1s: %" PRIu64
		"\nhosts: %" PRIu64 "\nhosts_per_t0: %" PRIu64 "\n"
		"host_links: {speed: %" PRIu64 "b/s, delay: %" PRIu64 "ns}\n"
		"core_links: {speed: %" PRIu64 "b/s, delay: %" PRIu64 "ns}\n",
		w.name.text, w.planes.number, t0s, t0s > 1 ? half : 0, w.hosts.number, half,
		w.port.number, w.hop.number, w.core.number, w.hop.number);
	if (weft_topo_open_text(topo, text, strlen(text), "these numbers", why, sizeof(why)))
		return weft_yaml_fail(doc, line, "fabric", "%s", why);
	return true;
}

static bool read_inline(struct weft_yaml *doc, const yaml_node_t *map, const char *text,
	size_t text_bytes, struct weft_topo **topo)
{
	size_t first = map->start_mark.index, end = WEFT_MIN(map->end_mark.index, text_bytes);
	size_t lines = map->start_mark.line, column = map->start_mark.column;
	char *copy = first <= end ? malloc(lines + column + (end - first) + 1) : NULL;

	if (!copy)
		return weft_yaml_fail(doc, weft_yaml_line(map), "fabric", "out of memory");
	memset(copy, '\n', lines);
	memset(copy + lines, ' ', column);
	memcpy(copy + lines + column, text + first, end - first);
	int bad = weft_topo_open_text(topo, copy, lines + column + (end - first), doc->name,
		doc->error, doc->error_bytes);

	free(copy);
	return !bad;
}

bool place_read(struct weft_yaml *doc, yaml_node_t *node, const char *text, size_t text_bytes,
	const char *folder, struct weft_topo **topo)
{
	char path[4096], why[512];
	const char *name;

	if (node->type == YAML_MAPPING_NODE)
		return has_key(doc, node, "radix") ? read_clos(doc, node, topo)
						   : read_inline(doc, node, text, text_bytes, topo);
	if (!weft_yaml_scalar(doc, node, "fabric", &name))
		return false;
	(void)snprintf(path, sizeof(path), "%s%s%s", *name == '/' ? "" : folder,
		*name == '/' || !*folder ? "" : "/", name);
	if (!weft_topo_open(topo, path, why, sizeof(why)))
		return true;
	return weft_yaml_fail(doc, weft_yaml_line(node), "fabric", "%s", why);
}
