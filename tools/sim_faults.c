/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_faults - "link-down h3.p2 at 20us for 30us every 100us".
 *
 * The words are those of `weft lab fault`; what the lab does at once and until it is undone has a
 * time here.  A fault that comes again and again is written out, so that sim knows single moments
 * only.
 */
#include "sim.h"

#include <weft/base.h>

#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 10, REPEATS_MAX = 100000 };

/* ---- quantities ---- */

struct suffix {
	const char *text;
	double scale;
};

static bool read_quantity(const char *text, const struct suffix *suffixes, uint64_t *value)
{
	char *end;
	double number = strtod(text, &end);

	if (end == text || !(number >= 0) || strspn(text, "0123456789.") == 0)
		return false;
	for (const struct suffix *s = suffixes; s->text; s++) {
		double scaled = number * s->scale;

		if (strcmp(end, s->text))
			continue;
		if (scaled > 9e18)
			return false;
		*value = (uint64_t)(scaled + 0.5);
		return true;
	}
	return false;
}

bool sim_read_time(const char *text, uint64_t *ps)
{
	static const struct suffix suffixes[] = { { "ps", 1 }, { "ns", 1e3 }, { "us", 1e6 },
		{ "ms", 1e9 }, { "s", 1e12 }, { NULL, 0 } };

	return read_quantity(text, suffixes, ps);
}

bool sim_read_bytes(const char *text, uint64_t *bytes)
{
	static const struct suffix suffixes[] = { { "", 1 }, { "B", 1 }, { "KB", 1e3 },
		{ "MB", 1e6 }, { "GB", 1e9 }, { "KiB", 1024 }, { "MiB", 1048576 },
		{ "GiB", 1073741824 }, { NULL, 0 } };

	return read_quantity(text, suffixes, bytes);
}

bool sim_read_rate(const char *text, uint64_t *bps)
{
	static const struct suffix suffixes[] = { { "Mb/s", 1e6 }, { "Gb/s", 1e9 },
		{ "Tb/s", 1e12 }, { NULL, 0 } };

	return read_quantity(text, suffixes, bps);
}

/* ---- faults ---- */

static const struct kind {
	const char *word;
	enum { LINK, SWITCH, PLANE } where;
	enum weft_sim_fault_kind begin, end;
} kinds[] = {
	{ "link-down", LINK, WEFT_SIM_LINK_DOWN, WEFT_SIM_LINK_UP },
	{ "slow", LINK, WEFT_SIM_LINK_RATE, WEFT_SIM_LINK_RATE },
	{ "freeze", SWITCH, WEFT_SIM_NODE_FREEZE, WEFT_SIM_NODE_THAW },
	{ "switch-down", SWITCH, WEFT_SIM_NODE_DOWN, WEFT_SIM_NODE_UP },
	{ "plane-down", PLANE, WEFT_SIM_NODE_DOWN, WEFT_SIM_NODE_UP },
};

struct wish {
	const struct kind *kind;
	uint32_t where;
	uint64_t at_ps, for_ps, every_ps, bps; /* 0: not said */
};

static bool add(
	struct sim_faults *faults, uint64_t at_ps, uint8_t kind, uint32_t where, uint64_t value)
{
	if (faults->n == faults->room) {
		uint32_t room = faults->room ? 2 * faults->room : 64;
		struct weft_sim_fault *list = realloc(faults->list, room * sizeof(*faults->list));

		if (!list)
			return false;
		faults->list = list;
		faults->room = room;
	}
	faults->list[faults->n++] = (struct weft_sim_fault){
		.at_ps = at_ps, .kind = kind, .where = where, .value = value
	};
	return true;
}

/* Once: begin, and end if it ends. */
static bool add_once(struct sim_faults *faults, const struct weft_topo *topo,
	const struct wish *wish, uint64_t at_ps)
{
	const struct weft_topo_shape *s = weft_topo_shape(topo);
	uint32_t first = wish->where, n = 1;
	uint64_t usual = 0;

	if (wish->kind->where == PLANE) {
		first = weft_topo_t0(topo, wish->where, 0);
		n = s->t0s;
	}
	if (wish->kind->begin == WEFT_SIM_LINK_RATE)
		usual = weft_topo_link(topo, wish->where).bps;
	for (uint32_t i = 0; i < n; i++) {
		if (!add(faults, at_ps, (uint8_t)wish->kind->begin, first + i, wish->bps))
			return false;
		if (wish->for_ps && !add(faults, at_ps + wish->for_ps, (uint8_t)wish->kind->end,
					    first + i, usual))
			return false;
	}
	return true;
}

static bool fail(char *error, size_t error_bytes, const char *text, const char *what)
{
	snprintf(error, error_bytes, "fault \"%s\": %s", text, what);
	return false;
}

/* NULL: it is a good wish; otherwise what is wrong with it. */
static const char *find_where(const struct weft_topo *topo, const char *word, struct wish *wish)
{
	const struct weft_topo_shape *s = weft_topo_shape(topo);
	char *end;

	switch (wish->kind->where) {
	case LINK:
		wish->where = weft_topo_link_find(topo, word);
		return wish->where == WEFT_TOPO_NONE ? "no such link in this fabric" : NULL;
	case SWITCH:
		wish->where = weft_topo_node_find(topo, word);
		return wish->where == WEFT_TOPO_NONE || wish->where < s->hosts
			       ? "no such switch in this fabric"
			       : NULL;
	default:
		wish->where = (uint32_t)strtoul(word, &end, 10);
		return *end || end == word || wish->where >= s->planes ? "no such plane" : NULL;
	}
}

static const char *read_pair(const char *key, const char *value, struct wish *wish, bool *has_at)
{
	if (!strcmp(key, "at")) {
		*has_at = true;
		return sim_read_time(value, &wish->at_ps) ? NULL : "at: wanted is a time, 20us";
	}
	if (!strcmp(key, "for"))
		return sim_read_time(value, &wish->for_ps) && wish->for_ps
			       ? NULL
			       : "for: wanted is a time, 30us";
	if (!strcmp(key, "every"))
		return sim_read_time(value, &wish->every_ps) && wish->every_ps
			       ? NULL
			       : "every: wanted is a time, 1ms";
	if (!strcmp(key, "to"))
		return sim_read_rate(value, &wish->bps) && wish->bps >= 1000000
			       ? NULL
			       : "to: wanted is a speed from 1Mb/s on, 10Gb/s";
	return "wanted is at, for, every or to";
}

static const char *read_wish(
	const struct weft_topo *topo, char *words[], unsigned n, struct wish *wish)
{
	bool has_at = false;

	if (n < 4 || n % 2)
		return "wanted is KIND WHERE at TIME [for TIME] [every TIME] [to RATE]";
	for (unsigned i = 0; i < WEFT_COUNT(kinds); i++) {
		if (!strcmp(words[0], kinds[i].word))
			wish->kind = &kinds[i];
	}
	if (!wish->kind)
		return "wanted is link-down, slow, freeze, switch-down or plane-down";
	const char *wrong = find_where(topo, words[1], wish);

	for (unsigned i = 2; i < n && !wrong; i += 2)
		wrong = read_pair(words[i], words[i + 1], wish, &has_at);
	if (wrong)
		return wrong;
	if (!has_at)
		return "it needs \"at TIME\"";
	if (!wish->bps != (wish->kind->begin != WEFT_SIM_LINK_RATE))
		return "\"to RATE\" belongs to slow, and only there";
	if (wish->every_ps && (!wish->for_ps || wish->for_ps >= wish->every_ps))
		return "\"every\" needs a shorter \"for\"";
	return NULL;
}

bool sim_fault_read(struct sim_faults *faults, const struct weft_topo *topo, const char *text,
	uint64_t until_ps, char *error, size_t error_bytes)
{
	char *copy = strdup(text), *words[WORDS_MAX], *rest = NULL;
	struct wish wish = { 0 };
	unsigned n = 0;
	bool good = true;

	if (!copy)
		return fail(error, error_bytes, text, "out of memory");
	for (char *w = strtok_r(copy, " ", &rest); w && n < WORDS_MAX;
		w = strtok_r(NULL, " ", &rest))
		words[n++] = w;
	const char *wrong = read_wish(topo, words, n, &wish);
	uint64_t times = 1;

	if (!wrong && wish.every_ps && until_ps > wish.at_ps)
		times = (until_ps - wish.at_ps) / wish.every_ps + 1;
	if (!wrong && times > REPEATS_MAX)
		wrong = "it would come more than 100,000 times";
	for (uint64_t i = 0; i < times && !wrong && good; i++)
		good = add_once(faults, topo, &wish, wish.at_ps + i * wish.every_ps);
	free(copy);
	if (!good)
		wrong = "out of memory";
	return wrong ? fail(error, error_bytes, text, wrong) : true;
}
