/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * traffic - who sends to whom, by words: a kind alone (ring, incast:32), or a kind and its fields.
 */
#include "local.h"

#include <stdlib.h>
#include <string.h>

enum { DATA_HEADERS = 14 + 80 + 8 + 12 + 4 + 4 + 4 + 16 };

static const struct {
	const char *word;
	enum traffic_kind kind;
} kinds[] = { { "permutation", LOAD_PERMUTATION }, { "ring", LOAD_RING }, { "incast", LOAD_INCAST },
	{ "flows", LOAD_FLOWS } };

struct words {
	struct weft_yaml_value name, bytes, at, fan_in, from, to, both;
};

/* clang-format off */
#define AT(member) offsetof(struct words, member)
static const struct weft_yaml_field fields[] = {
	{ "name", WEFT_FIELD_TEXT, WEFT_UNIT_COUNT, 0, 0, AT(name), NULL },
	{ "bytes", WEFT_FIELD_NUMBER, WEFT_UNIT_BYTES, 1, UINT32_MAX, AT(bytes), NULL },
	{ "at", WEFT_FIELD_NUMBER, WEFT_UNIT_TIME, 0, UINT64_C(1000000000000), AT(at), NULL },
	{ "fan_in", WEFT_FIELD_NUMBER, WEFT_UNIT_COUNT, 1, 1048576, AT(fan_in), NULL },
	{ "from", WEFT_FIELD_NODE, WEFT_UNIT_COUNT, 0, 0, AT(from), NULL },
	{ "to", WEFT_FIELD_NODE, WEFT_UNIT_COUNT, 0, 0, AT(to), NULL },
	{ "both", WEFT_FIELD_BOOL, WEFT_UNIT_COUNT, 0, 0, AT(both), NULL },
	{ 0 },
};
#undef AT
/* clang-format on */

static bool read_kind(struct weft_yaml *doc, uint32_t line, const char *word, struct traffic *load)
{
	const char *colon = strchr(word, ':'), *meant;
	size_t n = colon ? (size_t)(colon - word) : strlen(word);
	uint64_t fan_in;

	for (unsigned i = 0; i < WEFT_COUNT(kinds); i++) {
		if (strlen(kinds[i].word) != n || strncmp(word, kinds[i].word, n))
			continue;
		load->kind = kinds[i].kind;
		(void)snprintf(load->name, sizeof(load->name), "%s", kinds[i].word);
		if (!colon)
			return true;
		if (load->kind != LOAD_INCAST ||
			!weft_unit_parse(WEFT_UNIT_COUNT, colon + 1, &fan_in) || !fan_in ||
			fan_in > 1048576)
			return weft_yaml_fail(doc, line, "load",
				"'%s': only incast has a number, "
				"incast:32",
				word);
		load->fan_in = (uint32_t)fan_in;
		return true;
	}
	meant = weft_word_near(word, kinds, WEFT_COUNT(kinds), sizeof(kinds[0]));
	return weft_yaml_fail(doc, line, "load",
		"no load '%.40s'%s%s%s allowed: permutation, ring, "
		"incast, flows",
		word, meant ? ", did you mean '" : ",", meant ? meant : "", meant ? "'?" : "");
}

/* One host, or a list of them. */
static bool read_hosts(struct weft_yaml *doc, const struct weft_topo *topo, yaml_node_t *node,
	const char *field, uint32_t **hosts, uint32_t *n)
{
	bool is_list = node->type == YAML_SEQUENCE_NODE;
	yaml_node_item_t *first = is_list ? node->data.sequence.items.start : NULL;
	size_t count = is_list ? (size_t)(node->data.sequence.items.top - first) : 1;
	const char *text;

	*hosts = calloc(count ? count : 1, sizeof(**hosts));
	if (!*hosts || !count)
		return weft_yaml_fail(
			doc, weft_yaml_line(node), field, "a host or some are wanted");
	for (*n = 0; *n < count; (*n)++) {
		yaml_node_t *item = is_list ? yaml_document_get_node(&doc->yaml, first[*n]) : node;

		if (!weft_yaml_scalar(doc, item, field, &text))
			return false;
		(*hosts)[*n] = weft_topo_node_find(topo, text);
		if ((*hosts)[*n] >= weft_topo_shape(topo)->hosts)
			return weft_yaml_fail(doc, weft_yaml_line(item), field,
				"'%.40s' is no host of this fabric", text);
	}
	return true;
}

static bool read_pairs(struct weft_yaml *doc, const struct weft_topo *topo, const struct words *w,
	struct traffic *load)
{
	uint32_t n_to = 0;

	if (!w->from.line || !w->to.line)
		return weft_yaml_fail(
			doc, load->line, "flows", "it needs from and to: hosts, pair by pair");
	if (!read_hosts(doc, topo, w->from.node, "flows.from", &load->from, &load->n_pairs) ||
		!read_hosts(doc, topo, w->to.node, "flows.to", &load->to, &n_to))
		return false;
	if (n_to != load->n_pairs)
		return weft_yaml_fail(doc, w->to.line, "flows.to",
			"%u hosts, but %u send: as many are wanted", (unsigned)n_to,
			(unsigned)load->n_pairs);
	for (uint32_t i = 0; i < n_to; i++) {
		if (load->from[i] == load->to[i])
			return weft_yaml_fail(doc, w->to.line, "flows.to",
				"pair %u is a host and itself", (unsigned)i + 1);
	}
	return true;
}

static bool judge(struct weft_yaml *doc, const struct weft_topo *topo, const struct traffic *load)
{
	uint32_t hosts = weft_topo_shape(topo)->hosts,
		 near = WEFT_MIN(weft_topo_shape(topo)->hosts_per_t0, hosts);

	if (hosts < 2)
		return weft_yaml_fail(doc, load->line, "load", "this fabric has one host");
	if (load->kind == LOAD_INCAST && !load->fan_in)
		return weft_yaml_fail(doc, load->line, "incast", "it needs fan_in: how many send");
	if (load->kind == LOAD_INCAST && load->fan_in > hosts - near)
		return weft_yaml_fail(doc, load->line, "incast.fan_in",
			"%u hosts are to send to h0, and %u hang on other T0s",
			(unsigned)load->fan_in, (unsigned)(hosts - near));
	return true;
}

bool traffic_read(struct weft_yaml *doc, const struct weft_topo *topo, yaml_node_t *node,
	unsigned index, struct traffic *load)
{
	struct words w = { .bytes = { .number = 2000000 } };
	yaml_node_t *map = NULL;
	const char *word;

	(void)index;
	*load = (struct traffic){ .line = weft_yaml_line(node) };
	if (node->type == YAML_MAPPING_NODE) {
		yaml_node_pair_t *pair = node->data.mapping.pairs.start;

		if (node->data.mapping.pairs.top - pair != 1)
			return weft_yaml_fail(doc, load->line, "load",
				"one kind with its fields is wanted, - incast: {fan_in: 8}");
		node = yaml_document_get_node(&doc->yaml, pair->key);
		map = yaml_document_get_node(&doc->yaml, pair->value);
	}
	if (!weft_yaml_scalar(doc, node, "load", &word) || !read_kind(doc, load->line, word, load))
		return false;
	if (map && !weft_yaml_fields(doc, map, load->name, fields, &w))
		return false;
	load->bytes = w.bytes.number;
	load->at_ps = w.at.number * 1000;
	load->both = w.both.number;
	load->fan_in = w.fan_in.line ? (uint32_t)w.fan_in.number : load->fan_in;
	if (load->kind == LOAD_FLOWS && !read_pairs(doc, topo, &w, load))
		return false;
	if (w.name.line)
		(void)snprintf(load->name, sizeof(load->name), "%s", w.name.text);
	return judge(doc, topo, load);
}

void traffic_free(struct traffic *load)
{
	free(load->from);
	free(load->to);
	load->from = load->to = NULL;
}

uint32_t traffic_count(const struct weft_topo *topo, const struct traffic *load)
{
	return load->kind == LOAD_INCAST  ? load->fan_in
	       : load->kind == LOAD_FLOWS ? load->n_pairs * (load->both ? 2 : 1)
					  : weft_topo_shape(topo)->hosts;
}

bool traffic_fill(const struct weft_topo *topo, const struct traffic *load, uint64_t seed,
	struct weft_sim_flow flows[])
{
	uint32_t bytes = (uint32_t)load->bytes, n = traffic_count(topo, load);
	bool good = true;

	switch (load->kind) {
	case LOAD_PERMUTATION:
		weft_sim_permutation(topo, bytes, seed, flows);
		break;
	case LOAD_RING:
		weft_sim_ring(topo, bytes, flows);
		break;
	case LOAD_INCAST:
		good = weft_sim_incast(topo, load->fan_in, bytes, seed, flows);
		break;
	case LOAD_FLOWS:
		for (uint32_t i = 0; i < n; i++) {
			uint32_t k = i % load->n_pairs;
			bool back = i >= load->n_pairs;

			flows[i] =
				(struct weft_sim_flow){ .src = back ? load->to[k] : load->from[k],
					.dst = back ? load->from[k] : load->to[k],
					.len_bytes = bytes };
		}
		break;
	}
	for (uint32_t i = 0; i < n && good; i++)
		flows[i].start_ps = load->at_ps;
	return good;
}

/* A full packet's payload and what goes with it: headers, and the gap between frames. */
double traffic_line_bps(
	const struct weft_topo *topo, const struct weft_sim_flow flows[], uint32_t n)
{
	const struct weft_topo_shape *s = weft_topo_shape(topo);
	uint8_t *has = calloc(2, s->hosts);
	uint32_t ends[2] = { 0 };
	uint32_t payload = 4096;

	while (payload > 256 && payload + 156 > s->mtu_bytes) /* as sim does */
		payload /= 2;

	if (!has)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		has[flows[i].src] |= 1;
		has[flows[i].dst] |= 2;
	}
	for (uint32_t i = 0; i < s->hosts; i++) {
		ends[0] += has[i] & 1;
		ends[1] += has[i] >> 1;
	}
	free(has);
	return (double)WEFT_MIN(ends[0], ends[1]) * (double)s->planes * (double)s->host_bps *
	       (double)payload / (payload + DATA_HEADERS + WEFT_FRAME_GAP_BYTES);
}
