/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spec - one job in words.
 *
 * All keys are in one table, so that a command line, YAML and the documentation cannot differ.
 */
#include "workload_local.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[WEFT_WORKLOAD_KINDS] = {
	[WEFT_WORKLOAD_PERMUTATION] = "permutation",
	[WEFT_WORKLOAD_RING] = "ring",
	[WEFT_WORKLOAD_INCAST] = "incast",
	[WEFT_WORKLOAD_PAIRS] = "pairs",
	[WEFT_WORKLOAD_CHAIN] = "chain",
	[WEFT_WORKLOAD_ALL_TO_ALL] = "all-to-all",
	[WEFT_WORKLOAD_RING_ALLREDUCE] = "ring-allreduce",
	[WEFT_WORKLOAD_TREE_ALLREDUCE] = "tree-allreduce",
	[WEFT_WORKLOAD_DOUBLING_ALLREDUCE] = "doubling-allreduce",
	[WEFT_WORKLOAD_ALL_GATHER] = "all-gather",
	[WEFT_WORKLOAD_REDUCE_SCATTER] = "reduce-scatter",
	[WEFT_WORKLOAD_POISSON] = "poisson",
	[WEFT_WORKLOAD_TRAINING] = "training",
	[WEFT_WORKLOAD_FILE] = "file",
};
static const char *const placements[] = { "packed", "spread", "random" };
static const char *const sizes[] = { "fixed", "websearch", "hadoop" };
static const char *const booleans[] = { "false", "true" };
static const char *const start_units[] = { "unsaid", "ps", "us" };
static const char *const recv_bytes[] = { "equal", "any" };

enum value_type { NUMBER, BYTES, TIME, SHARE, WORD, TEXT };
struct key {
	const char *name;
	enum value_type type;
	size_t at, bytes; /* in the spec */
	uint64_t min, max;
	const char *const *words;
};

#define AT(field)                                                                                  \
	offsetof(struct weft_workload_spec, field), sizeof(((struct weft_workload_spec *)0)->field)
#define WORDS(list) 0, WEFT_COUNT(list) - 1, list
#define BYTES_MAX (UINT64_C(1) << 50)
#define TIME_MAX (UINT64_C(1) << 60)

static const struct key keys[] = {
	{ "kind", WORD, AT(kind), WORDS(kinds) },
	{ "name", TEXT, AT(name), 0, 0, NULL },
	{ "hosts", TEXT, AT(hosts), 0, 0, NULL },
	{ "file", TEXT, AT(file), 0, 0, NULL },
	{ "placement", WORD, AT(placement), WORDS(placements) },
	{ "sizes", WORD, AT(sizes), WORDS(sizes) },
	{ "victim", WORD, AT(victim), WORDS(booleans) },
	{ "start_unit", WORD, AT(start_unit), WORDS(start_units) },
	{ "recv_bytes", WORD, AT(recv_bytes), WORDS(recv_bytes) },
	{ "bytes", BYTES, AT(bytes), 1, BYTES_MAX, NULL },
	{ "endless", BYTES, AT(endless_bytes), 1, BYTES_MAX, NULL },
	{ "start", TIME, AT(start_ps), 0, TIME_MAX, NULL },
	{ "compute", TIME, AT(compute_ps), 0, TIME_MAX, NULL },
	{ "for", TIME, AT(for_ps), 1, TIME_MAX, NULL },
	{ "seed", NUMBER, AT(seed), 0, UINT64_MAX, NULL },
	{ "fan_in", NUMBER, AT(fan_in), 1, UINT32_MAX, NULL },
	{ "window", NUMBER, AT(window), 0, 1u << 20, NULL },
	{ "repeats", NUMBER, AT(repeats), 1, 65535, NULL },
	{ "pieces", NUMBER, AT(pieces), 1, 65535, NULL },
	{ "from", NUMBER, AT(from), 0, UINT32_MAX - 1, NULL },
	{ "to", NUMBER, AT(to), 0, UINT32_MAX - 1, NULL },
	{ "load", SHARE, AT(load_permille), 1, 1000, NULL },
	{ "tp", NUMBER, AT(tp), 1, 1u << 20, NULL },
	{ "cp", NUMBER, AT(cp), 1, 1u << 20, NULL },
	{ "pp", NUMBER, AT(pp), 1, 1u << 20, NULL },
	{ "dp", NUMBER, AT(dp), 1, 1u << 20, NULL },
	{ "ep", NUMBER, AT(ep), 1, 1u << 20, NULL },
	{ "layers", NUMBER, AT(layers), 1, 1u << 20, NULL },
	{ "microbatches", NUMBER, AT(microbatches), 1, 1u << 16, NULL },
	{ "steps", NUMBER, AT(steps), 1, 65535, NULL },
	{ "straggle", NUMBER, AT(straggle_percent), 0, 1000, NULL },
	{ "tp_bytes", BYTES, AT(tp_bytes), 0, BYTES_MAX, NULL },
	{ "cp_bytes", BYTES, AT(cp_bytes), 0, BYTES_MAX, NULL },
	{ "pp_bytes", BYTES, AT(pp_bytes), 0, BYTES_MAX, NULL },
	{ "dp_bytes", BYTES, AT(dp_bytes), 0, BYTES_MAX, NULL },
	{ "ep_bytes", BYTES, AT(ep_bytes), 0, BYTES_MAX, NULL },
	{ "forward", TIME, AT(forward_ps), 0, TIME_MAX, NULL },
	{ "backward", TIME, AT(backward_ps), 0, TIME_MAX, NULL },
};

void weft_workload_spec_default(struct weft_workload_spec *spec)
{
	*spec = (struct weft_workload_spec){ .bytes = 2000000,
		.seed = 1,
		.fan_in = 8,
		.repeats = 1,
		.pieces = 16,
		.to = 1,
		.load_permille = 500,
		.for_ps = UINT64_C(1000000000),
		.tp = 1,
		.cp = 1,
		.pp = 1,
		.dp = 1,
		.ep = 1,
		.layers = 1,
		.microbatches = 1,
		.steps = 1,
		.pp_bytes = 1000000,
		.forward_ps = UINT64_C(100000000),
		.backward_ps = UINT64_C(200000000) };
}

const char *weft_workload_kind_name(enum weft_workload_kind kind)
{
	return kind < WEFT_WORKLOAD_KINDS ? kinds[kind] : "?";
}

struct suffix {
	const char *text;
	double scale;
};

static bool read_quantity(const char *text, const struct suffix *suffixes, uint64_t *value)
{
	char *end;
	size_t digits = strspn(text, "0123456789.");
	double number = digits ? strtod(text, &end) : -1;

	if (number < 0 || end != text + digits)
		return false;
	for (const struct suffix *s = suffixes; s->text; s++) {
		double scaled = number * s->scale;

		if (strcmp(end, s->text) || scaled > 9e18)
			continue;
		*value = (uint64_t)(scaled + 0.5);
		/* 0.3KB is a whole number of bytes, 1.5B is none. */
		return fabs(scaled - (double)*value) <= scaled * 1e-12;
	}
	return false;
}

/* Whole, and not by way of a double: a seed has 64 bits. */
static bool read_whole(const char *text, uint64_t *value)
{
	if (!*text || text[strspn(text, "0123456789")])
		return false;
	errno = 0;
	*value = strtoull(text, NULL, 10);
	return !errno;
}

static bool read_value(const struct key *key, const char *text, uint64_t *value)
{
	static const struct suffix times[] = { { "ps", 1 }, { "ns", 1e3 }, { "us", 1e6 },
		{ "ms", 1e9 }, { "s", 1e12 }, { NULL, 0 } };
	static const struct suffix bytes[] = { { "", 1 }, { "B", 1 }, { "KB", 1e3 }, { "MB", 1e6 },
		{ "GB", 1e9 }, { "TB", 1e12 }, { "KiB", 1024 }, { "MiB", 1048576 },
		{ "GiB", 1073741824 }, { "TiB", 0x1p40 }, { NULL, 0 } };
	static const struct suffix share[] = { { "", 1000 }, { "%", 10 }, { NULL, 0 } };

	switch (key->type) {
	case WORD:
		for (*value = 0; *value <= key->max; ++*value) {
			if (!strcmp(text, key->words[*value]))
				return true;
		}
		return false;
	case TIME:
		return read_quantity(text, times, value);
	case BYTES:
		return read_quantity(text, bytes, value);
	case SHARE:
		return read_quantity(text, share, value);
	default:
		return read_whole(text, value);
	}
}

static const char *form_of(const struct key *key)
{
	static const char *const forms[] = { "a whole number", "bytes, 2MB, 64KiB",
		"a time, 20us, 1.5ms", "a share, 0.6 or 60%" };

	return forms[key->type];
}

static bool refuse(const struct key *key, const char *value, char *error, size_t error_bytes)
{
	char list[512] = "";
	size_t at = 0;

	if (key->type != WORD)
		return text_fail(error, error_bytes,
			"%s: \"%.60s\", wanted is %s from %llu to %llu%s", key->name, value,
			form_of(key), (unsigned long long)key->min, (unsigned long long)key->max,
			key->type == TIME    ? " ps"
			: key->type == SHARE ? " thousandths"
					     : "");
	for (uint64_t i = 0; i <= key->max && at < sizeof(list); i++)
		at += (size_t)snprintf(
			list + at, sizeof(list) - at, "%s%s", i ? ", " : "", key->words[i]);
	return text_fail(
		error, error_bytes, "%s: \"%.60s\", wanted is one of %s", key->name, value, list);
}

static bool set(struct weft_workload_spec *spec, const struct key *key, const char *value,
	char *error, size_t error_bytes)
{
	uint8_t *to = (uint8_t *)spec + key->at;
	uint64_t number = 0;

	if (key->type == TEXT) {
		if (strlen(value) >= key->bytes)
			return text_fail(error, error_bytes, "%s: longer than %u characters",
				key->name, (unsigned)key->bytes - 1);
		memcpy(to, value, strlen(value) + 1);
		return true;
	}
	if (!read_value(key, value, &number) || number < key->min || number > key->max)
		return refuse(key, value, error, error_bytes);
	if (key->bytes == sizeof(uint64_t)) {
		memcpy(to, &number, sizeof(number));
	} else if (key->bytes == sizeof(uint32_t)) {
		uint32_t less = (uint32_t)number;

		memcpy(to, &less, sizeof(less));
	} else {
		*(bool *)to = number != 0;
	}
	return true;
}

bool weft_workload_set(struct weft_workload_spec *spec, const char *key, const char *value,
	char *error, size_t error_bytes)
{
	char list[512] = "";
	size_t at = 0;

	for (unsigned i = 0; i < WEFT_COUNT(keys); i++) {
		if (!strcmp(key, keys[i].name))
			return set(spec, &keys[i], value, error, error_bytes);
	}
	for (unsigned i = 0; i < WEFT_COUNT(keys) && at < sizeof(list); i++)
		at += (size_t)snprintf(
			list + at, sizeof(list) - at, "%s%s", i ? ", " : "", keys[i].name);
	return text_fail(
		error, error_bytes, "%.40s: no such property of a load, allowed: %s", key, list);
}

/* The first word: a kind, incast:N, or a file. */
static bool set_first(struct weft_workload_spec *spec, char *word, char *error, size_t error_bytes)
{
	char *number = strchr(word, ':');

	if (strchr(word, '.')) {
		spec->kind = WEFT_WORKLOAD_FILE;
		return weft_workload_set(spec, "file", word, error, error_bytes);
	}
	if (!strncmp(word, "incast:", 7)) {
		*number++ = 0;
		if (!weft_workload_set(spec, "fan_in", number, error, error_bytes))
			return false;
	}
	return weft_workload_set(spec, "kind", word, error, error_bytes);
}

/* Commas separate; those that are followed by no KEY= belong to a list of hosts. */
bool weft_workload_parse(
	struct weft_workload_spec *spec, const char *text, char *error, size_t error_bytes)
{
	char copy[2 * WEFT_WORKLOAD_TEXT_BYTES];
	char *at = copy;
	bool is_first = true;

	if (strlen(text) >= sizeof(copy))
		return text_fail(error, error_bytes, "load: longer than %u characters",
			(unsigned)sizeof(copy) - 1);
	memcpy(copy, text, strlen(text) + 1);
	while (at) {
		char *comma = strchr(at, ','), *equals = strchr(at, '=');

		while (comma && comma[1] >= '0' && comma[1] <= '9' && equals && equals < comma)
			comma = strchr(comma + 1, ',');
		if (comma)
			*comma = 0;
		equals = strchr(at, '=');
		if (is_first && !equals) {
			if (!set_first(spec, at, error, error_bytes))
				return false;
		} else {
			if (!equals)
				return text_fail(error, error_bytes,
					"load: \"%.60s\", wanted is KEY=VALUE", at);
			*equals = 0;
			if (!weft_workload_set(spec, at, equals + 1, error, error_bytes))
				return false;
		}
		is_first = false;
		at = comma ? comma + 1 : NULL;
	}
	return true;
}
