/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * engine - what runs at the hosts and in the switches, where it is not the usual.
 *
 * Whoever brings another transport into sim adds a row to `transports`, and its words to `fields`.
 */
#include "local.h"

#include <string.h>
#include <weft/cc.h>

const struct transport transport_mrc = { "mrc", true };
static const struct transport *const transports[] = { &transport_mrc };

struct words {
	struct weft_yaml_value transport, paths, reply_paths, cc, sw, last_hop_marks;
};

/* clang-format off */
#define AT(member) offsetof(struct words, member)
static const struct weft_yaml_field fields[] = {
	{ "transport", WEFT_FIELD_TEXT, WEFT_UNIT_COUNT, 0, 0, AT(transport), NULL },
	{ "paths", WEFT_FIELD_NUMBER, WEFT_UNIT_COUNT, 1, 512, AT(paths), NULL },
	{ "reply_paths", WEFT_FIELD_NUMBER, WEFT_UNIT_COUNT, 1, 512, AT(reply_paths), NULL },
	{ "cc", WEFT_FIELD_TEXT, WEFT_UNIT_COUNT, 0, 0, AT(cc), NULL },
	{ "full", WEFT_FIELD_TEXT, WEFT_UNIT_COUNT, 0, 0, AT(sw), NULL },
	{ "last_hop_marks", WEFT_FIELD_BOOL, WEFT_UNIT_COUNT, 0, 0, AT(last_hop_marks), NULL },
	{ 0 },
};
#undef AT
/* clang-format on */

static bool read_transport(
	struct weft_yaml *doc, const struct weft_yaml_value *value, const struct transport **out)
{
	for (unsigned i = 0; i < WEFT_COUNT(transports); i++) {
		if (!strcmp(transports[i]->word, value->text)) {
			*out = transports[i];
			return true;
		}
	}
	return weft_yaml_fail(doc, value->line, "engine.transport",
		"no transport '%.32s', allowed: mrc", value->text);
}

bool engine_read(struct weft_yaml *doc, yaml_node_t *node, struct weft_sim_config *config,
	const struct transport **transport)
{
	struct words w = { .paths = { .number = config->paths },
		.reply_paths = { .number = config->reply_paths },
		.last_hop_marks = { .number = !config->unmarked_last_hop } };

	if (!weft_yaml_fields(doc, node, "engine", fields, &w))
		return false;
	if (w.transport.line && !read_transport(doc, &w.transport, transport))
		return false;
	config->paths = (uint32_t)w.paths.number;
	config->reply_paths = (uint32_t)w.reply_paths.number;
	if (w.paths.line && !w.reply_paths.line)
		config->reply_paths = WEFT_MIN(config->reply_paths, config->paths);
	config->unmarked_last_hop = !w.last_hop_marks.number;
	if (w.cc.line) {
		config->cc = weft_cc_find(w.cc.text);
		if (!config->cc)
			return weft_yaml_fail(doc, w.cc.line, "engine.cc",
				"no congestion control '%.32s', allowed: uet-1.0-nscc, fixed",
				w.cc.text);
	}
	if (w.sw.line && strcmp(w.sw.text, "trim") && strcmp(w.sw.text, "drop"))
		return weft_yaml_fail(doc, w.sw.line, "engine.full",
			"'%.32s': what a switch does with data that does not fit, allowed: trim, "
			"drop",
			w.sw.text);
	if (w.sw.line)
		config->discipline = strcmp(w.sw.text, "trim") ? WEFT_DISCIPLINE_DROP_TAIL
							       : WEFT_DISCIPLINE_TRIM;
	return true;
}
