/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file - a scenario file is read, completely, before anything runs.
 *
 * The document stays open as long as the scenario: what is told to people is told in the words of
 * the file.
 */
#include "scenario_local.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 1 << 20 };

struct words {
	struct weft_yaml_value name, title, tell, picture, fabric, engine, load, faults, stop;
	struct weft_yaml_value sample, seed, seeds, expect;
};

/* clang-format off */
#define AT(member) offsetof(struct words, member)
static const struct weft_yaml_field root_fields[] = {
	{ "name", WEFT_FIELD_TEXT, WEFT_UNIT_COUNT, 0, 0, AT(name), NULL },
	{ "title", WEFT_FIELD_TEXT, WEFT_UNIT_COUNT, 0, 0, AT(title), NULL },
	{ "tell", WEFT_FIELD_TEXT, WEFT_UNIT_COUNT, 0, 0, AT(tell), NULL },
	{ "picture", WEFT_FIELD_TEXT, WEFT_UNIT_COUNT, 0, 0, AT(picture), NULL },
	{ "fabric", WEFT_FIELD_NODE, WEFT_UNIT_COUNT, 0, 0, AT(fabric), NULL },
	{ "engine", WEFT_FIELD_NODE, WEFT_UNIT_COUNT, 0, 0, AT(engine), NULL },
	{ "load", WEFT_FIELD_NODE, WEFT_UNIT_COUNT, 0, 0, AT(load), NULL },
	{ "faults", WEFT_FIELD_NODE, WEFT_UNIT_COUNT, 0, 0, AT(faults), NULL },
	{ "stop", WEFT_FIELD_NUMBER, WEFT_UNIT_TIME, 1, UINT64_C(1000000000000), AT(stop), NULL },
	{ "sample", WEFT_FIELD_NUMBER, WEFT_UNIT_TIME, 1, UINT64_C(1000000000000), AT(sample),
		NULL },
	{ "seed", WEFT_FIELD_NUMBER, WEFT_UNIT_COUNT, 0, UINT32_MAX, AT(seed), NULL },
	{ "seeds", WEFT_FIELD_TEXT, WEFT_UNIT_COUNT, 0, 0, AT(seeds), NULL },
	{ "expect", WEFT_FIELD_NODE, WEFT_UNIT_COUNT, 0, 0, AT(expect), NULL },
	{ 0 },
};
#undef AT
/* clang-format on */

/* The items of a list; a single thing is a list of one. */
static bool items_of(struct weft_yaml *doc, const struct weft_yaml_value *value, const char *field,
	size_t max, yaml_node_item_t **first, size_t *n)
{
	static yaml_node_item_t none;

	*first = &none;
	*n = 0;
	if (!value->line)
		return true;
	if (value->node->type != YAML_SEQUENCE_NODE)
		return weft_yaml_fail(
			doc, value->line, field, "a list is wanted, - one item per line");
	*first = value->node->data.sequence.items.start;
	*n = (size_t)(value->node->data.sequence.items.top - *first);
	return *n <= max ||
	       weft_yaml_fail(doc, value->line, field, "%zu items, at most %zu", *n, max);
}

/* ---- faults ---- */

static bool read_fault_map(struct weft_yaml *doc, yaml_node_t *node, struct wish *fault)
{
	yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	yaml_node_t *key, *map;
	const char *word, *value, *wrong;
	char hint[64];

	if (node->data.mapping.pairs.top - pair != 1)
		return weft_yaml_fail(doc, fault->line, "faults",
			"one kind with its fields is wanted, - link-down: {where: h0.p0, at: "
			"20us}");
	key = yaml_document_get_node(&doc->yaml, pair->key);
	map = yaml_document_get_node(&doc->yaml, pair->value);
	if (!weft_yaml_scalar(doc, key, "faults", &word))
		return false;
	wrong = wish_set_kind(fault, word, hint);
	if (wrong)
		return weft_yaml_fail(
			doc, fault->line, "faults", "no fault '%.40s': %s", word, wrong);
	if (map->type != YAML_MAPPING_NODE)
		return weft_yaml_fail(doc, fault->line, word, "a mapping (where: ..., at: ...)");
	for (pair = map->data.mapping.pairs.start; pair < map->data.mapping.pairs.top; pair++) {
		yaml_node_t *field = yaml_document_get_node(&doc->yaml, pair->key);
		const char *name;

		if (!weft_yaml_scalar(doc, field, word, &name) ||
			!weft_yaml_scalar(
				doc, yaml_document_get_node(&doc->yaml, pair->value), name, &value))
			return false;
		wrong = wish_set(fault, name, value);
		if (wrong)
			return weft_yaml_fail(doc, weft_yaml_line(field), word,
				"%.40s: '%.40s': %s", name, value, wrong);
	}
	return true;
}

static bool read_fault_text(struct weft_yaml *doc, yaml_node_t *node, struct wish *fault)
{
	const char *wrong = "wanted is KIND WHERE at TIME ...", *text;
	char hint[64], *words[32], *rest = NULL;
	unsigned n = 0;

	if (!weft_yaml_scalar(doc, node, "faults", &text))
		return false;
	/* The document's own text, cut where it stands: it is not read again. */
	for (char *w = strtok_r((char *)node->data.scalar.value, " ", &rest); w && n < 32;
		w = strtok_r(NULL, " ", &rest))
		words[n++] = w;
	if (n >= 2 && !(n % 2)) {
		wrong = wish_set_kind(fault, words[0], hint);
		fault->where = words[1];
	}
	for (unsigned i = 2; i < n && !wrong; i += 2)
		wrong = wish_set(fault, words[i], words[i + 1]);
	return !wrong ||
	       weft_yaml_fail(doc, fault->line, "faults", "%.40s: %s", n ? words[0] : "", wrong);
}

static bool read_faults(struct weft_scenario *play, const struct weft_yaml_value *value)
{
	struct weft_yaml *doc = &play->doc;
	yaml_node_item_t *first;
	size_t n;

	if (!items_of(doc, value, "faults", FAULTS_MAX, &first, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		yaml_node_t *node = yaml_document_get_node(&doc->yaml, first[i]);
		struct wish *fault = &play->faults[play->head.n_faults];

		*fault = (struct wish){ .line = weft_yaml_line(node), .index = (uint32_t)i };
		if (!(node->type == YAML_MAPPING_NODE ? read_fault_map(doc, node, fault)
						      : read_fault_text(doc, node, fault)))
			return false;
		const char *wrong = wish_check(play->topo, fault);

		if (wrong)
			return weft_yaml_fail(doc, fault->line, "faults", "%s: %s",
				fault->where ? fault->where : "?", wrong);
		if (fault->at_ps >= play->head.stop_ps)
			return weft_yaml_fail(doc, fault->line, "faults",
				"%s: it comes at %" PRIu64 " ns, and the run ends at %" PRIu64
				" ns (stop)",
				fault->where, fault->at_ps / 1000, play->head.stop_ps / 1000);
		play->head.n_faults++;
	}
	return true;
}

/* ---- claims ---- */

struct claim_words {
	struct weft_yaml_value claim, digest, in, seed, seeds;
};

/* "9 of 10". */
static bool read_share(const char *text, struct claim *claim)
{
	const char *of = strstr(text, " of ");
	char head[8];
	uint64_t held, all;

	if (!of || (size_t)(of - text) >= sizeof(head))
		return false;
	memcpy(head, text, (size_t)(of - text));
	head[of - text] = 0;
	if (!weft_unit_parse(WEFT_UNIT_COUNT, head, &held) ||
		!weft_unit_parse(WEFT_UNIT_COUNT, of + 4, &all) || !held || held > all ||
		all > WEFT_SCENARIO_SEEDS_MAX)
		return false;
	claim->held = (uint32_t)held;
	claim->of = (uint32_t)all;
	return true;
}

static bool read_claim_map(struct weft_yaml *doc, yaml_node_t *node, uint64_t seed_first,
	struct claim *claim, const char **text)
{
	/* clang-format off */
	static const struct weft_yaml_field fields[] = {
		{ "claim", WEFT_FIELD_TEXT, WEFT_UNIT_COUNT, 0, 0,
			offsetof(struct claim_words, claim), NULL },
		{ "digest", WEFT_FIELD_TEXT, WEFT_UNIT_COUNT, 0, 0,
			offsetof(struct claim_words, digest), NULL },
		{ "in", WEFT_FIELD_TEXT, WEFT_UNIT_COUNT, 0, 0, offsetof(struct claim_words, in),
			NULL },
		{ "seed", WEFT_FIELD_NUMBER, WEFT_UNIT_COUNT, 0, UINT32_MAX,
			offsetof(struct claim_words, seed), NULL },
		{ "seeds", WEFT_FIELD_TEXT, WEFT_UNIT_COUNT, 0, 0,
			offsetof(struct claim_words, seeds), NULL },
		{ 0 },
	};
	/* clang-format on */
	struct claim_words w = { 0 };
	char *end;

	if (!weft_yaml_fields(doc, node, "expect", fields, &w))
		return false;
	if (w.in.line && strcmp(w.in.text, "sim") && strcmp(w.in.text, "lab"))
		return weft_yaml_fail(
			doc, w.in.line, "expect.in", "'%.20s', allowed: sim, lab", w.in.text);
	claim->in = w.in.text;
	claim->seed = w.seed.line ? w.seed.number : UINT64_MAX;
	if (!w.digest.line == !w.claim.line)
		return weft_yaml_fail(
			doc, claim->line, "expect", "either a claim or a digest is wanted");
	if (w.seeds.line && (w.digest.line || !read_share(w.seeds.text, claim)))
		return weft_yaml_fail(doc, w.seeds.line, "expect.seeds",
			"'%.20s', wanted is K of N, of a claim that holds under most seeds: 9 of "
			"10",
			w.seeds.text);
	*text = w.claim.text;
	if (!w.digest.line)
		return true;
	errno = 0;
	claim->digest = strtoull(w.digest.text, &end, 16);
	claim->is_digest = true;
	claim->text = w.digest.text;
	claim->in = "sim";
	if (!w.seed.line)
		claim->seed = seed_first;
	return (!errno && !*end && end - w.digest.text == 16) ||
	       weft_yaml_fail(doc, w.digest.line, "expect.digest",
		       "'%.20s' is not of 16 digits 0-9a-f", w.digest.text);
}

static bool read_claims(struct weft_scenario *play, const struct weft_yaml_value *value)
{
	struct weft_yaml *doc = &play->doc;
	yaml_node_item_t *first;
	size_t n;

	if (!items_of(doc, value, "expect", CLAIMS_MAX, &first, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		yaml_node_t *node = yaml_document_get_node(&doc->yaml, first[i]);
		struct claim *claim = &play->claims[play->head.n_claims++];
		const char *text = NULL, *wrong;
		char hint[96];

		*claim = (struct claim){ .line = weft_yaml_line(node), .seed = UINT64_MAX };
		if (!(node->type == YAML_MAPPING_NODE
				    ? read_claim_map(doc, node, play->head.seed_first, claim, &text)
				    : weft_yaml_scalar(doc, node, "expect", &text)))
			return false;
		wrong = claim->is_digest ? NULL : claim_parse(claim, text, hint);
		if (wrong)
			return weft_yaml_fail(
				doc, claim->line, "expect", "'%.60s': %s", text, wrong);
		if (claim->is_windowed && claim->to_ps > play->head.stop_ps)
			return weft_yaml_fail(doc, claim->line, "expect",
				"'%.60s': the run ends before, at stop", text);
		if (!claim->is_digest && !claim_fits(claim, play->loads, play->head.n_loads, hint))
			return weft_yaml_fail(
				doc, claim->line, "expect", "'%.60s': %s", text, hint);
	}
	return true;
}

/* ---- the rest ---- */

static bool read_loads(
	struct weft_scenario *play, const struct weft_yaml_value *value, const char *folder)
{
	struct weft_yaml *doc = &play->doc;
	yaml_node_item_t *first;
	size_t n;

	if (!items_of(doc, value, "load", LOADS_MAX, &first, &n))
		return false;
	if (!n)
		return weft_yaml_fail(doc, value->line, "load", "missing: what is sent");
	for (size_t i = 0; i < n; i++) {
		struct traffic *load = &play->loads[play->head.n_loads++];

		if (!traffic_read(doc, play->topo, yaml_document_get_node(&doc->yaml, first[i]),
			    folder, load))
			return false;
		if (load->first_ps >= play->head.stop_ps)
			return weft_yaml_fail(doc, load->line, load->name,
				"it begins at %" PRIu64 " ns, and the run ends at %" PRIu64
				" ns (stop)",
				load->first_ps / 1000, play->head.stop_ps / 1000);
	}
	return true;
}

bool weft_scenario_seeds(const char *text, uint64_t *first, uint64_t *last)
{
	char copy[32];
	const char *dash = strchr(text, '-');
	size_t n = dash ? (size_t)(dash - text) : strlen(text);

	if (n >= sizeof(copy))
		return false;
	memcpy(copy, text, n);
	copy[n] = 0;
	if (!weft_unit_parse(WEFT_UNIT_COUNT, copy, first))
		return false;
	*last = *first;
	if (dash && !weft_unit_parse(WEFT_UNIT_COUNT, dash + 1, last))
		return false;
	return *last <= UINT32_MAX && *last >= *first && *last - *first < WEFT_SCENARIO_SEEDS_MAX;
}

static bool read_seeds(struct weft_scenario *play, const struct words *w)
{
	play->head.seed_first = play->head.seed_last = w->seed.line ? w->seed.number : 1;
	return !w->seeds.line ||
	       weft_scenario_seeds(w->seeds.text, &play->head.seed_first, &play->head.seed_last) ||
	       weft_yaml_fail(&play->doc, w->seeds.line, "seeds",
		       "'%.30s', wanted is one, or first-last, 1-3, below 4294967296",
		       w->seeds.text);
}

static bool read_root(struct weft_scenario *play, size_t text_bytes, const char *folder)
{
	struct words w = { .name = { .text = "" },
		.title = { .text = "" },
		.tell = { .text = "" },
		.picture = { .text = "" } };
	yaml_node_t *root = yaml_document_get_root_node(&play->doc.yaml);
	struct weft_yaml *doc = &play->doc;

	if (!root)
		return weft_yaml_fail(doc, 1, "", "the file is empty");
	if (!weft_yaml_fields(doc, root, "", root_fields, &w))
		return false;
	if (!w.fabric.line)
		return weft_yaml_fail(doc, 1, "fabric",
			"missing: a file, or {planes: 4, hosts: 64, "
			"radix: 16, port: 100Gb/s, hop: 600ns}");
	if (!w.stop.line)
		return weft_yaml_fail(doc, 1, "stop", "missing: a time, 3ms");
	play->head.name = w.name.text;
	play->head.title = w.title.text;
	play->head.tell = w.tell.text;
	play->head.picture = w.picture.text;
	play->head.is_picture_set = w.picture.line;
	play->head.fabric_line = w.fabric.line;
	play->head.faults_line = w.faults.line;
	play->head.stop_ps = w.stop.number * 1000;
	play->sample_ps = w.sample.number * 1000;
	if (!place_read(doc, w.fabric.node, play->text, text_bytes, folder, &play->topo))
		return false;
	play->config.topo = play->topo;
	return (!w.engine.line || engine_read(doc, w.engine.node, &play->config,
					  &play->head.transport_line)) &&
	       read_seeds(play, &w) && read_loads(play, &w.load, folder) &&
	       read_faults(play, &w.faults) && read_claims(play, &w.expect);
}

static struct weft_scenario *make(const char *text, size_t bytes, const char *name)
{
	struct weft_scenario *play = calloc(1, sizeof(*play));

	if (!play)
		return NULL;
	play->text = malloc(bytes + 1);
	play->name = strdup(name);
	play->faults = calloc(FAULTS_MAX, sizeof(*play->faults));
	play->claims = calloc(CLAIMS_MAX, sizeof(*play->claims));
	if (!play->text || !play->name || !play->faults || !play->claims) {
		weft_scenario_close(play);
		return NULL;
	}
	memcpy(play->text, text, bytes);
	play->text[bytes] = 0;
	play->head.file = play->name;
	play->head.text = play->text;
	weft_sim_config_default(&play->config);
	return play;
}

int weft_scenario_open_text(struct weft_scenario **out, const char *text, size_t text_bytes,
	const char *name, const char *folder, char *error, size_t error_bytes)
{
	struct weft_scenario *play = text_bytes <= TEXT_MAX ? make(text, text_bytes, name) : NULL;
	yaml_parser_t parser;
	bool good = false;

	if (!play || !yaml_parser_initialize(&parser)) {
		(void)snprintf(error, error_bytes, "%s:1: %s", name,
			text_bytes > TEXT_MAX ? "longer than 1 MiB" : "out of memory");
		weft_scenario_close(play);
		return -1;
	}
	play->doc = (struct weft_yaml){
		.name = play->name, .error = error, .error_bytes = error_bytes
	};
	yaml_parser_set_input_string(&parser, (const unsigned char *)play->text, text_bytes);
	play->has_doc = yaml_parser_load(&parser, &play->doc.yaml);
	if (!play->has_doc)
		(void)weft_yaml_fail(&play->doc, (uint32_t)parser.problem_mark.line + 1, "",
			"not YAML: %s", parser.problem ? parser.problem : "unreadable");
	else
		good = weft_yaml_is_last(&play->doc, &parser) &&
		       read_root(play, text_bytes, folder);
	yaml_parser_delete(&parser);
	if (!good) {
		weft_scenario_close(play);
		return -1;
	}
	*out = play;
	return 0;
}

static char *slurp(const char *path, size_t *bytes)
{
	FILE *file = fopen(path, "rb");
	char *text = malloc(TEXT_MAX + 1);

	*bytes = 0;
	if (file && text) {
		*bytes = fread(text, 1, TEXT_MAX + 1, file);
		if (ferror(file)) {
			free(text);
			text = NULL;
		}
	} else {
		free(text);
		text = NULL;
	}
	if (file)
		(void)fclose(file);
	return text;
}

int weft_scenario_open(
	struct weft_scenario **play, const char *path, char *error, size_t error_bytes)
{
	const char *slash = strrchr(path, '/');
	size_t bytes, n = slash ? (size_t)(slash - path) : 0;
	char *text = slurp(path, &bytes), folder[4096] = "";

	if (!text || n >= sizeof(folder)) {
		(void)snprintf(error, error_bytes, "%s: %s", path, strerror(errno));
		free(text);
		return -1;
	}
	memcpy(folder, path, n);
	int result = weft_scenario_open_text(play, text, bytes, path, folder, error, error_bytes);

	free(text);
	return result;
}

void weft_scenario_close(struct weft_scenario *play)
{
	if (!play)
		return;
	for (uint32_t i = 0; i < play->head.n_loads; i++)
		traffic_free(&play->loads[i]);
	if (play->has_doc)
		yaml_document_delete(&play->doc.yaml);
	weft_topo_close(play->topo);
	free(play->text);
	free(play->name);
	free(play->faults);
	free(play->claims);
	free(play);
}

const struct weft_scenario_head *weft_scenario_head(const struct weft_scenario *play)
{
	return &play->head;
}

const struct weft_topo *weft_scenario_topo(const struct weft_scenario *play)
{
	return play->topo;
}

bool weft_scenario_is_scenario(const char *path)
{
	static const char *const words[] = { "load:", "expect:", "stop:", "faults:", "fabric:" };
	size_t bytes;
	char *text = slurp(path, &bytes);
	bool found = false;

	if (!text)
		return false;
	text[bytes < TEXT_MAX ? bytes : TEXT_MAX] = 0;
	for (unsigned i = 0; i < WEFT_COUNT(words); i++) {
		const char *at = strstr(text, words[i]);

		for (; at && !found; at = strstr(at + 1, words[i]))
			found = at == text || at[-1] == '\n';
	}
	free(text);
	return found;
}
