/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * engine - what runs at the hosts and in the switches, where it is not the usual.
 *
 * A transport of room baseline brings the switches that its paper assumes, unless the file says
 * otherwise: NDP and spraying trim, RoCE's drop, and with pfc they pause.
 */
#include "scenario_local.h"

#include <string.h>
#include <weft/cc.h>

struct words {
	struct weft_yaml_value transport, paths, reply_paths, cc, sw, last_hop_marks;
	struct weft_yaml_value qps, dcqcn, pfc, window, rto, bgp_detect, bgp_converge;
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
	{ "qps", WEFT_FIELD_NUMBER, WEFT_UNIT_COUNT, 1, WEFT_BASELINE_QPS_MAX, AT(qps), NULL },
	{ "dcqcn", WEFT_FIELD_BOOL, WEFT_UNIT_COUNT, 0, 0, AT(dcqcn), NULL },
	{ "pfc", WEFT_FIELD_BOOL, WEFT_UNIT_COUNT, 0, 0, AT(pfc), NULL },
	{ "window", WEFT_FIELD_NUMBER, WEFT_UNIT_COUNT, 1, 1000000, AT(window), NULL },
	{ "rto", WEFT_FIELD_NUMBER, WEFT_UNIT_TIME, 1, UINT32_MAX, AT(rto), NULL },
	{ "bgp_detect", WEFT_FIELD_NUMBER, WEFT_UNIT_TIME, 0, UINT64_C(100000000000),
		AT(bgp_detect), NULL },
	{ "bgp_converge", WEFT_FIELD_NUMBER, WEFT_UNIT_TIME, 0, UINT64_C(100000000000),
		AT(bgp_converge), NULL },
	{ 0 },
};
#undef AT
/* clang-format on */

/* The words that only baselines have; the first of those that are there. */
static const struct weft_yaml_value *baseline_word(const struct words *w)
{
	const struct weft_yaml_value *words[] = { &w->qps, &w->dcqcn, &w->pfc, &w->window, &w->rto,
		&w->bgp_detect, &w->bgp_converge };

	for (unsigned i = 0; i < WEFT_COUNT(words); i++) {
		if (words[i]->line)
			return words[i];
	}
	return NULL;
}

static bool read_transport(
	struct weft_yaml *doc, const struct words *w, struct weft_sim_config *config)
{
	struct weft_baseline_settings *r = &config->baseline;
	const struct weft_yaml_value *alien = baseline_word(w);

	if (w->transport.line && !weft_baseline_find(w->transport.text, &r->kind))
		return weft_yaml_fail(doc, w->transport.line, "engine.transport",
			"no transport '%.32s', allowed: mrc, roce, roce-sr, stripe, spray, ndp",
			w->transport.text);
	if (r->kind == WEFT_BASELINE_NONE && alien)
		return weft_yaml_fail(doc, alien->line, "engine",
			"qps, dcqcn, pfc, window, rto and bgp belong to other transports than mrc");
	if (w->dcqcn.number && !weft_baseline_is_roce(r->kind))
		return weft_yaml_fail(doc, w->dcqcn.line, "engine.dcqcn",
			"roce, roce-sr and stripe have it, %s does not",
			weft_baseline_name(r->kind));
	if (w->pfc.number)
		config->discipline = WEFT_DISCIPLINE_LOSSLESS;
	r->qps = (uint32_t)w->qps.number;
	r->dcqcn = w->dcqcn.number;
	r->window_pkts = (uint32_t)w->window.number;
	r->rto_ps = w->rto.number * 1000;
	if (w->bgp_detect.line)
		config->bgp_detect_ps = w->bgp_detect.number * 1000;
	if (w->bgp_converge.line)
		config->bgp_converge_ps = w->bgp_converge.number * 1000;
	return true;
}

bool engine_read(struct weft_yaml *doc, yaml_node_t *node, struct weft_sim_config *config,
	uint32_t *transport_line)
{
	struct words w = { .paths = { .number = config->paths },
		.reply_paths = { .number = config->reply_paths } };

	if (!weft_yaml_fields(doc, node, "engine", fields, &w))
		return false;
	if (!read_transport(doc, &w, config))
		return false;
	if (w.transport.line)
		*transport_line = w.transport.line;
	config->paths = (uint32_t)w.paths.number;
	config->reply_paths = (uint32_t)w.reply_paths.number;
	if (w.paths.line && !w.reply_paths.line)
		config->reply_paths = WEFT_MIN(config->reply_paths, config->paths);
	uint32_t planes = weft_topo_shape(config->topo)->planes;

	if (config->paths < planes)
		return weft_yaml_fail(doc, w.paths.line, "engine.paths",
			"%u, allowed are %u (planes) to 512", (unsigned)config->paths,
			(unsigned)planes);
	if (w.reply_paths.line &&
		(config->reply_paths < planes || config->reply_paths > config->paths))
		return weft_yaml_fail(doc, w.reply_paths.line, "engine.reply_paths",
			"%u, allowed are %u (planes) to %u (paths)", (unsigned)config->reply_paths,
			(unsigned)planes, (unsigned)config->paths);
	if (w.last_hop_marks.line)
		config->marks = w.last_hop_marks.number ? WEFT_MARKS_ALL : WEFT_MARKS_CORE;
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
