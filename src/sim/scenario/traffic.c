/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * traffic - the list `load`: jobs of room workload, in its words, and flows pair by pair.
 *
 * A kind alone (ring, incast:32, x.goal) or a kind with its fields; every field is handed to
 * weft_workload_set() as text, so that a scenario and a command line say the same thing.
 */
#include "scenario_local.h"

#include <stdlib.h>
#include <string.h>

enum { DATA_HEADERS = 14 + 80 + 8 + 12 + 4 + 4 + 4 + 16 };

/* One host, or a list of them. */
static bool read_hosts(struct weft_yaml *doc, const struct weft_topo *topo, yaml_node_t *node,
	const char *field, uint32_t **hosts, uint32_t *n)
{
	bool is_list = node->type == YAML_SEQUENCE_NODE;
	yaml_node_item_t *first = is_list ? node->data.sequence.items.start : NULL;
	size_t count = is_list ? (size_t)(node->data.sequence.items.top - first) : 1;
	const char *text;

	free(*hosts);
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

static bool judge_pairs(struct weft_yaml *doc, const struct traffic *t, uint32_t n_to)
{
	if (!t->from || !t->to)
		return weft_yaml_fail(
			doc, t->line, "flows", "it needs from and to: hosts, pair by pair");
	if (n_to != t->n_pairs)
		return weft_yaml_fail(doc, t->line, "flows.to",
			"%u hosts, but %u send: as many are wanted", (unsigned)n_to,
			(unsigned)t->n_pairs);
	for (uint32_t i = 0; i < n_to; i++) {
		if (t->from[i] == t->to[i])
			return weft_yaml_fail(doc, t->line, "flows.to",
				"pair %u is a host and itself", (unsigned)i + 1);
	}
	return true;
}

/* A file beside the scenario. */
static const char *beside(const char *folder, const char *file, char path[WEFT_WORKLOAD_TEXT_BYTES])
{
	if (*file == '/' || !*folder)
		return file;
	(void)snprintf(path, WEFT_WORKLOAD_TEXT_BYTES, "%s/%s", folder, file);
	return path;
}

static bool read_field(struct weft_yaml *doc, const char *folder, struct traffic *t,
	const char *key, yaml_node_t *node)
{
	char why[256], path[WEFT_WORKLOAD_TEXT_BYTES], field[64];
	const char *value;

	(void)snprintf(field, sizeof(field), "%s.%.24s", t->name, key);
	if (!weft_yaml_scalar(doc, node, field, &value))
		return false;
	if (!strcmp(key, "both") && t->is_flows) {
		t->both = !strcmp(value, "true");
		return t->both || !strcmp(value, "false") ||
		       weft_yaml_fail(doc, weft_yaml_line(node), field,
			       "'%.20s' is not a truth value, allowed: true, false", value);
	}
	t->has_seed |= !strcmp(key, "seed");
	if (!strcmp(key, "file"))
		value = beside(folder, value, path);
	const char *name = strcmp(key, "at") ? key : "start";

	if (weft_workload_set(&t->spec, name, value, why, sizeof(why)))
		return true;
	/* It begins with the name, and so does field. */
	size_t n = strncmp(why, name, strlen(name)) ? 0 : strlen(name);

	n += strncmp(why + n, ": ", 2) ? 0 : 2;
	return weft_yaml_fail(doc, weft_yaml_line(node), field, "%s", why + n);
}

static bool read_fields(struct weft_yaml *doc, const struct weft_topo *topo, yaml_node_t *map,
	const char *folder, struct traffic *t)
{
	uint32_t n_to = 0;

	if (map->type != YAML_MAPPING_NODE)
		return weft_yaml_fail(
			doc, t->line, t->name, "a mapping (bytes: 2MB, ...) is wanted");
	for (yaml_node_pair_t *pair = map->data.mapping.pairs.start;
		pair < map->data.mapping.pairs.top; pair++) {
		yaml_node_t *node = yaml_document_get_node(&doc->yaml, pair->value);
		const char *key;
		bool good;

		if (!weft_yaml_scalar(
			    doc, yaml_document_get_node(&doc->yaml, pair->key), t->name, &key))
			return false;
		if (t->is_flows && !strcmp(key, "from"))
			good = read_hosts(doc, topo, node, "flows.from", &t->from, &t->n_pairs);
		else if (t->is_flows && !strcmp(key, "to"))
			good = read_hosts(doc, topo, node, "flows.to", &t->to, &n_to);
		else
			good = read_field(doc, folder, t, key, node);
		if (!good)
			return false;
	}
	return !t->is_flows || judge_pairs(doc, t, n_to);
}

/* All begin at the same time, and none waits for another one. */
static bool is_together(const struct weft_workload *load)
{
	for (uint32_t i = 0; i < load->n; i++) {
		const struct weft_sim_flow *f = &load->flows[i];

		if (f->start_ps != load->flows[0].start_ps || f->delay_ps || !f->len_bytes)
			return false;
		for (uint32_t k = 0; k < f->n_after; k++) {
			if (load->edges[f->after_first + k].flow != i)
				return false;
		}
	}
	return true;
}

uint64_t first_start_ps(const struct weft_sim_flow flows[], uint32_t n)
{
	uint64_t first_ps = WEFT_NEVER;

	for (uint32_t i = 0; i < n; i++)
		first_ps = WEFT_MIN(first_ps, flows[i].start_ps);
	return n ? first_ps : 0;
}

bool traffic_read(struct weft_yaml *doc, const struct weft_topo *topo, yaml_node_t *node,
	const char *folder, struct traffic *t)
{
	yaml_node_t *map = NULL;
	char why[256];
	const char *word;

	*t = (struct traffic){ .line = weft_yaml_line(node) };
	weft_workload_spec_default(&t->spec);
	if (node->type == YAML_MAPPING_NODE) {
		yaml_node_pair_t *pair = node->data.mapping.pairs.start;

		if (node->data.mapping.pairs.top - pair != 1)
			return weft_yaml_fail(doc, t->line, "load",
				"one kind with its fields is wanted, - incast: {fan_in: 8}");
		node = yaml_document_get_node(&doc->yaml, pair->key);
		map = yaml_document_get_node(&doc->yaml, pair->value);
	}
	if (!weft_yaml_scalar(doc, node, "load", &word))
		return false;
	t->is_flows = !strcmp(word, "flows");
	size_t n = strcspn(word, ":,"), folders = 0; /* of a file's name */

	for (size_t i = 0; i < n; i++)
		folders = word[i] == '/' ? i + 1 : folders;
	(void)snprintf(t->name, sizeof(t->name), "%.*s", (int)(n - folders), word + folders);
	if (!t->is_flows && !weft_workload_parse(&t->spec, word, why, sizeof(why)))
		return weft_yaml_fail(doc, t->line, "load", "%s", why);
	if ((map || t->is_flows) && !read_fields(doc, topo, map ? map : node, folder, t))
		return false;
	if (*t->spec.name)
		(void)snprintf(t->name, sizeof(t->name), "%s", t->spec.name);
	/* What cannot be made is told with its line, before anything runs. */
	struct weft_workload trial = { 0 };
	uint64_t ideal_ps;
	bool good = traffic_add(topo, t, 1, &trial, &ideal_ps, why, sizeof(why));

	t->is_together = good && is_together(&trial);
	t->first_ps = first_start_ps(trial.flows, trial.n);
	weft_workload_close(&trial);
	return good || weft_yaml_fail(doc, t->line, t->name, "%s", why);
}

void traffic_free(struct traffic *t)
{
	free(t->from);
	free(t->to);
	t->from = t->to = NULL;
}

/* ---- flows ---- */

static bool make_pairs(const struct traffic *t, struct weft_workload *one)
{
	uint32_t n = t->n_pairs * (t->both ? 2 : 1);

	one->flows = calloc(n, sizeof(*one->flows));
	one->n = one->n_max = one->flows ? n : 0;
	for (uint32_t i = 0; i < one->n; i++) {
		uint32_t k = i % t->n_pairs;
		bool back = i >= t->n_pairs;

		one->flows[i] = (struct weft_sim_flow){ .src = back ? t->to[k] : t->from[k],
			.dst = back ? t->from[k] : t->to[k],
			.len_bytes = (uint32_t)t->spec.bytes,
			.start_ps = t->spec.start_ps,
			.repeats = t->spec.repeats };
	}
	one->n_jobs = 1;
	return one->flows;
}

/* Puts one behind all: its flows, and what they wait for, get other numbers. */
static bool append(struct weft_workload *all, const struct weft_workload *one)
{
	uint64_t n = (uint64_t)all->n + one->n, n_edges = (uint64_t)all->n_edges + one->n_edges;
	struct weft_sim_flow *flows =
		n < WEFT_WORKLOAD_FLOWS_MAX ? realloc(all->flows, (n + 1) * sizeof(*flows)) : NULL;

	if (!flows)
		return false;
	all->flows = flows;
	struct weft_sim_edge *edges = realloc(all->edges, (n_edges + 1) * sizeof(*edges));

	if (!edges)
		return false;
	all->edges = edges;
	for (uint32_t i = 0; i < one->n; i++) {
		flows[all->n + i] = one->flows[i];
		flows[all->n + i].after_first += all->n_edges;
		flows[all->n + i].job = (uint16_t)(flows[all->n + i].job + all->n_jobs);
	}
	for (uint32_t i = 0; i < one->n_edges; i++) {
		edges[all->n_edges + i] = one->edges[i];
		edges[all->n_edges + i].flow += all->n;
	}
	all->n = all->n_max = (uint32_t)n;
	all->n_edges = all->n_edges_max = (uint32_t)n_edges;
	all->n_jobs += one->n_jobs;
	return true;
}

bool traffic_add(const struct weft_topo *topo, const struct traffic *t, uint64_t seed,
	struct weft_workload *all, uint64_t *ideal_ps, char *error, size_t error_bytes)
{
	struct weft_workload_spec spec = t->spec;
	struct weft_workload one = { 0 };
	bool good;

	if (t->is_flows && (spec.bytes < 1 || spec.bytes > UINT32_MAX)) {
		(void)snprintf(error, error_bytes, "bytes: allowed are 1B to 4294967295B");
		return false;
	}
	if (!t->has_seed)
		spec.seed = seed;
	(void)snprintf(error, error_bytes, "out of memory");
	good = t->is_flows ? make_pairs(t, &one)
			   : weft_workload_add(&one, topo, &spec, error, error_bytes);
	if (good) {
		*ideal_ps = weft_workload_ideal_ps(&one, topo) - first_start_ps(one.flows, one.n);
		good = append(all, &one);
	}
	weft_workload_close(&one);
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
		if (!flows[i].len_bytes)
			continue;
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
