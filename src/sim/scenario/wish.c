/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wish - "link-down h3.p2 at 20us for 30us every 100us", and the same as a mapping.
 *
 * The words are those of `weft lab fault`; what the lab does at once and until it is undone has a
 * time here.  Everything is written out as single moments before the run starts: what comes again
 * (every), what hits many places one after the other (step), and processes of chance (flap), whose
 * dice are thrown per place from the seed, so that one more place changes nothing for the others.
 * Two faults of one place do not add up: what was said last counts.
 */
#include "scenario_local.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 24, MOMENTS_MAX = 4000000 };

enum at_kind { AT_LINK, AT_HOST_LINK, AT_HOST, AT_SWITCH, AT_PLANE, AT_COUNT };
static const char *const places[AT_COUNT] = { "no such link in this fabric",
	"no such link of a host in this fabric", "no such host in this fabric",
	"no such switch in this fabric", "no such plane in this fabric" };

enum { NEEDS_TO = 1, NEEDS_PERCENT = 2, HAS_WAY = 4, IS_FLAP = 8, WHOLE_NODE = 16, NEEDS_FOR = 32 };

static const struct wish_kind {
	const char *word;
	enum at_kind at;
	enum weft_sim_fault_kind begin, end;
	unsigned flags;
} kinds[] = {
	{ "link-down", AT_LINK, WEFT_SIM_LINK_DOWN, WEFT_SIM_LINK_UP, 0 },
	{ "port-down", AT_HOST_LINK, WEFT_SIM_LINK_DOWN, WEFT_SIM_LINK_UP, 0 },
	{ "slow", AT_LINK, WEFT_SIM_LINK_RATE, WEFT_SIM_LINK_RATE, NEEDS_TO },
	{ "loss", AT_LINK, WEFT_SIM_LINK_LOSS, WEFT_SIM_LINK_LOSS, NEEDS_PERCENT | HAS_WAY },
	{ "corrupt", AT_LINK, WEFT_SIM_LINK_CORRUPT, WEFT_SIM_LINK_CORRUPT,
		NEEDS_PERCENT | HAS_WAY },
	{ "blackhole", AT_LINK, WEFT_SIM_LINK_LOSS, WEFT_SIM_LINK_LOSS, HAS_WAY },
	{ "flap", AT_LINK, WEFT_SIM_LINK_DOWN, WEFT_SIM_LINK_UP, IS_FLAP },
	{ "freeze", AT_SWITCH, WEFT_SIM_NODE_FREEZE, WEFT_SIM_NODE_THAW, 0 },
	{ "reboot", AT_SWITCH, WEFT_SIM_NODE_DOWN, WEFT_SIM_NODE_UP, NEEDS_FOR },
	{ "switch-down", AT_SWITCH, WEFT_SIM_NODE_DOWN, WEFT_SIM_NODE_UP, 0 },
	{ "plane-down", AT_PLANE, WEFT_SIM_NODE_DOWN, WEFT_SIM_NODE_UP, 0 },
	{ "plane-freeze", AT_PLANE, WEFT_SIM_NODE_FREEZE, WEFT_SIM_NODE_THAW, WHOLE_NODE },
	{ "nic-down", AT_HOST, WEFT_SIM_LINK_DOWN, WEFT_SIM_LINK_UP, 0 },
	{ "pause", AT_HOST, WEFT_SIM_HOST_PAUSE, WEFT_SIM_HOST_RESUME, WHOLE_NODE },
};

/* ---- reading ---- */

static bool read_time(const char *text, uint64_t *ps)
{
	uint64_t ns;

	if (!weft_unit_parse(WEFT_UNIT_TIME, text, &ns) || ns > UINT64_C(4000000000000))
		return false;
	*ps = ns * 1000;
	return true;
}

static bool read_percent(const char *text, uint32_t *ppm)
{
	uint64_t value;

	if (!weft_unit_parse(WEFT_UNIT_PERCENT, text, &value) || !value || value > 1000000)
		return false;
	*ppm = (uint32_t)value;
	return true;
}

const char *wish_set_kind(struct wish *fault, const char *word, char hint[64])
{
	const char *meant;

	for (unsigned i = 0; i < WEFT_COUNT(kinds); i++) {
		if (!strcmp(word, kinds[i].word)) {
			fault->kind = &kinds[i];
			return NULL;
		}
	}
	meant = weft_word_near(word, kinds, WEFT_COUNT(kinds), sizeof(kinds[0]));
	(void)snprintf(hint, 64, "did you mean %s?", meant);
	return meant ? hint
		     : "wanted is link-down, port-down, nic-down, switch-down, plane-down, "
		       "reboot, freeze, plane-freeze, blackhole, loss, corrupt, slow, flap or "
		       "pause";
}

/* The times of a fault, by name. */
static uint64_t *time_of(struct wish *fault, const char *key)
{
	const struct {
		const char *key;
		uint64_t *ps;
	} times[] = { { "at", &fault->at_ps }, { "for", &fault->for_ps },
		{ "every", &fault->every_ps }, { "step", &fault->step_ps }, { "up", &fault->up_ps },
		{ "down", &fault->down_ps } };

	for (unsigned i = 0; i < WEFT_COUNT(times); i++) {
		if (!strcmp(key, times[i].key))
			return times[i].ps;
	}
	return NULL;
}

const char *wish_set(struct wish *fault, const char *key, const char *value)
{
	uint64_t *ps = time_of(fault, key), number;

	if (ps) {
		bool is_at = ps == &fault->at_ps;

		fault->has_at |= is_at;
		return read_time(value, ps) && (*ps || is_at) ? NULL
							      : "wanted is a time, 20us, 1.5ms";
	}
	if (!strcmp(key, "where")) {
		fault->where = value;
		return NULL;
	}
	if (!strcmp(key, "to"))
		return weft_unit_parse(WEFT_UNIT_SPEED, value, &fault->bps) &&
				       fault->bps >= WEFT_TOPO_BPS_MIN &&
				       fault->bps <= WEFT_TOPO_BPS_MAX
			       ? NULL
			       : "to: wanted is a speed from 1Mb/s to 10Tb/s, 10Gb/s";
	if (!strcmp(key, "percent"))
		return read_percent(value, &fault->ppm)
			       ? NULL
			       : "percent: wanted is more than 0 and up to 100, in steps of 0.0001";
	if (!strcmp(key, "way"))
		return weft_way_parse(value, &fault->way) ? NULL : "wanted is up, down or both";
	if (!strcmp(key, "of")) {
		if (!weft_unit_parse(WEFT_UNIT_COUNT, value, &number) || !number ||
			number > 1000000)
			return "of: wanted is how many of the places, 1 or more";
		fault->of = (uint32_t)number;
		return NULL;
	}
	return "wanted is where, at, for, every, step, of, to, percent, way, up or down";
}

/* ---- places ---- */

static bool is_pattern(const char *where)
{
	return strpbrk(where, "*?[");
}

static uint32_t place_count(const struct weft_topo *topo, enum at_kind at)
{
	const struct weft_topo_shape *s = weft_topo_shape(topo);

	return at == AT_LINK        ? s->links
	       : at == AT_HOST_LINK ? s->hosts * s->planes
	       : at == AT_HOST      ? s->hosts
	       : at == AT_SWITCH    ? s->nodes
				    : s->planes;
}

static uint32_t place_find(const struct weft_topo *topo, enum at_kind at, const char *where)
{
	uint32_t place;

	if (at <= AT_HOST_LINK) {
		place = weft_topo_link_find(topo, where);
	} else if (at <= AT_SWITCH) {
		place = weft_topo_node_find(topo, where);
		if (at == AT_SWITCH && place < weft_topo_shape(topo)->hosts)
			return WEFT_TOPO_NONE;
	} else {
		place = weft_topo_plane_find(topo, where);
	}
	return place < place_count(topo, at) ? place : WEFT_TOPO_NONE;
}

/* The next place from `from` on that the pattern means; NONE: no more. */
static uint32_t place_next(const struct weft_topo *topo, const struct wish *fault, uint32_t from)
{
	enum at_kind at = fault->kind->at;
	uint32_t n = place_count(topo, at), hosts = weft_topo_shape(topo)->hosts;
	char name[WEFT_TOPO_NAME_BYTES];

	if (!is_pattern(fault->where)) {
		uint32_t place = place_find(topo, at, fault->where);

		return place != WEFT_TOPO_NONE && place >= from ? place : WEFT_TOPO_NONE;
	}
	for (uint32_t i = at == AT_SWITCH ? WEFT_MAX(from, hosts) : from; i < n; i++) {
		if (at <= AT_HOST_LINK)
			weft_topo_link_name(topo, i, name, sizeof(name));
		else if (at <= AT_SWITCH)
			weft_topo_node_name(topo, i, name, sizeof(name));
		else
			(void)snprintf(name, sizeof(name), "p%u", (unsigned)i);
		if (!fnmatch(fault->where, name, 0))
			return i;
	}
	return WEFT_TOPO_NONE;
}

static uint32_t count_places(const struct weft_topo *topo, const struct wish *fault)
{
	uint32_t n = 0;

	for (uint32_t p = place_next(topo, fault, 0); p != WEFT_TOPO_NONE;
		p = place_next(topo, fault, p + 1))
		n++;
	return n;
}

const char *wish_check(const struct weft_topo *topo, const struct wish *fault)
{
	unsigned flags = fault->kind->flags;

	if (!fault->where)
		return "it needs \"where\"";
	if (place_next(topo, fault, 0) == WEFT_TOPO_NONE)
		return places[fault->kind->at];
	if (fault->of > count_places(topo, fault))
		return "\"of\" asks for more places than it matches";
	if (!fault->has_at)
		return "it needs \"at TIME\"";
	if (flags & NEEDS_TO && !fault->bps)
		return "it needs \"to RATE\"";
	if (flags & NEEDS_PERCENT && !fault->ppm)
		return "it needs \"percent\"";
	if (fault->bps && !(flags & NEEDS_TO))
		return "\"to RATE\" belongs to slow, and only there";
	if (fault->ppm && !(flags & NEEDS_PERCENT))
		return "\"percent\" belongs to loss and corrupt, and only there";
	if (fault->way && !(flags & HAS_WAY))
		return "\"way\" belongs to loss, corrupt and blackhole, and only there";
	if (flags & IS_FLAP ? !fault->up_ps || !fault->down_ps : fault->up_ps || fault->down_ps)
		return "\"up\" and \"down\" belong to flap, and only there";
	if (flags & NEEDS_FOR && !fault->for_ps)
		return "it needs \"for TIME\"";
	if (fault->every_ps && (!fault->for_ps || fault->for_ps >= fault->every_ps))
		return "\"every\" needs a shorter \"for\"";
	return NULL;
}

/* ---- writing out ---- */

static bool add(struct weft_scenario_faults *faults, const struct wish *fault, uint64_t at_ps,
	enum weft_sim_fault_kind kind, uint32_t where, uint64_t value)
{
	if (faults->n == faults->room) {
		uint32_t room = faults->room ? 2 * faults->room : 64;
		struct weft_sim_fault *list =
			room <= MOMENTS_MAX ? realloc(faults->list, room * sizeof(*list)) : NULL;
		uint32_t *lines = list ? realloc(faults->lines, room * sizeof(*lines)) : NULL;

		faults->list = list ? list : faults->list;
		faults->lines = lines ? lines : faults->lines;
		if (!lines)
			return false;
		faults->room = room;
	}
	faults->lines[faults->n] = fault->line;
	faults->list[faults->n++] = (struct weft_sim_fault){
		.at_ps = at_ps, .kind = (uint8_t)kind, .where = where, .value = value
	};
	return true;
}

/* As sim has it: nothing is both ways. */
static uint64_t sim_way(uint32_t way)
{
	way = way ? way : WEFT_WAY_UNSAID;
	return way == WEFT_WAY_UP ? WEFT_SIM_UP : way == WEFT_WAY_DOWN ? WEFT_SIM_DOWN : 0;
}

/* One place begins or ends to be broken: one link, one switch, or all that it stands for. */
static bool add_place(struct weft_scenario_faults *faults, const struct weft_topo *topo,
	const struct wish *fault, uint32_t place, bool is_begin, uint64_t at_ps)
{
	const struct weft_topo_shape *s = weft_topo_shape(topo);
	const struct wish_kind *kind = fault->kind;
	enum weft_sim_fault_kind what = is_begin ? kind->begin : kind->end;
	uint64_t value = 0;
	bool good = true;

	if (what == WEFT_SIM_LINK_RATE)
		value = is_begin ? fault->bps : weft_topo_link(topo, place).bps;
	if (what == WEFT_SIM_LINK_LOSS || what == WEFT_SIM_LINK_CORRUPT)
		value = (!is_begin ? 0 : fault->ppm ? fault->ppm : 1000000) | sim_way(fault->way);
	if (kind->at == AT_HOST && !(kind->flags & WHOLE_NODE)) {
		for (uint32_t p = 0; p < s->planes && good; p++)
			good = add(faults, fault, at_ps, what, place * s->planes + p, 0);
		return good;
	}
	if (kind->at != AT_PLANE)
		return add(faults, fault, at_ps, what, place, value);
	for (uint32_t i = 0; i < s->t0s && good; i++)
		good = add(faults, fault, at_ps, what, weft_topo_t0(topo, place, i), 0);
	for (uint32_t i = 0; i < s->t1s && good && kind->flags & WHOLE_NODE; i++)
		good = add(faults, fault, at_ps, what, weft_topo_t1(topo, place, i), 0);
	return good;
}

static void note(struct weft_scenario_faults *faults, const struct wish *fault, uint64_t begin_ps,
	uint64_t end_ps)
{
	struct weft_scenario_event *events;

	if (faults->n_events == WEFT_SCENARIO_EVENTS_MAX)
		return;
	events = realloc(faults->events, (faults->n_events + 1) * sizeof(*events));
	if (!events)
		return;
	faults->events = events;
	struct weft_scenario_event *event = &events[faults->n_events++];

	*event = (struct weft_scenario_event){ .begin_ps = begin_ps, .end_ps = end_ps };
	if (fault->ppm)
		(void)snprintf(event->text, sizeof(event->text), "%s %s %g %%", fault->kind->word,
			fault->where, fault->ppm / 1e4);
	else
		(void)snprintf(
			event->text, sizeof(event->text), "%s %s", fault->kind->word, fault->where);
}

/*
 * An exponential time of that mean, at least a nanosecond.  John von Neumann's way (1951), which
 * compares and adds only: a logarithm may differ in its last bit from machine to machine.
 */
static uint64_t chance_ps(struct weft_rng *rng, uint64_t mean_ps)
{
	uint64_t ps = 0;

	for (unsigned whole = 0; whole < 64; whole++, ps += mean_ps) {
		uint64_t first = weft_rng_u64(rng), least = first, next = weft_rng_u64(rng);
		unsigned run = 1;

		for (; next < least; run++) {
			least = next;
			next = weft_rng_u64(rng);
		}
		if (run % 2) {
			ps += (uint64_t)((double)(first >> 11) * 0x1p-53 * (double)mean_ps);
			break;
		}
	}
	return WEFT_MAX(ps, UINT64_C(1000));
}

static bool add_flaps(struct weft_scenario_faults *faults, const struct weft_topo *topo,
	const struct wish *fault, uint32_t place, uint64_t stop_ps, uint64_t seed)
{
	uint64_t end_ps = fault->for_ps ? fault->at_ps + fault->for_ps : stop_ps;
	struct weft_rng rng;

	weft_rng_seed(&rng, (seed << 32 | place) + fault->index * UINT64_C(0x9e3779b97f4a7c15));
	for (uint64_t t = fault->at_ps + chance_ps(&rng, fault->up_ps); t < end_ps;
		t += chance_ps(&rng, fault->up_ps)) {
		uint64_t back_ps = t + chance_ps(&rng, fault->down_ps);

		if (!add_place(faults, topo, fault, place, true, t) ||
			!add_place(faults, topo, fault, place, false, back_ps))
			return false;
		t = back_ps;
	}
	return true;
}

/* Once, or again and again, the k-th of the places. */
static bool add_times(struct weft_scenario_faults *faults, const struct weft_topo *topo,
	const struct wish *fault, uint32_t place, uint32_t k, uint64_t stop_ps)
{
	uint64_t at_ps = fault->at_ps + k * fault->step_ps;

	do {
		if (!add_place(faults, topo, fault, place, true, at_ps))
			return false;
		if (fault->for_ps &&
			!add_place(faults, topo, fault, place, false, at_ps + fault->for_ps))
			return false;
		if (!k || fault->step_ps)
			note(faults, fault, at_ps,
				fault->for_ps ? at_ps + fault->for_ps : WEFT_NEVER);
		at_ps += fault->every_ps;
	} while (fault->every_ps && at_ps <= stop_ps);
	return true;
}

/* Puts `of` places at random in front. */
static void pick(uint32_t list[], uint32_t n, uint32_t of, uint64_t seed)
{
	struct weft_rng rng;

	weft_rng_seed(&rng, seed);
	for (uint32_t i = 0; i < of && i < n; i++) {
		uint32_t other = i + (uint32_t)weft_rng_below(&rng, n - i), kept = list[i];

		list[i] = list[other];
		list[other] = kept;
	}
}

bool wish_expand(struct weft_scenario_faults *faults, const struct weft_topo *topo,
	const struct wish *fault, uint64_t stop_ps, uint64_t seed)
{
	uint32_t *list = NULL, n = 0, room = 0;
	bool good = true;

	for (uint32_t p = place_next(topo, fault, 0); p != WEFT_TOPO_NONE && good;
		p = place_next(topo, fault, p + 1)) {
		if (n == room) {
			uint32_t *more =
				realloc(list, (room = room ? 2 * room : 16) * sizeof(*more));

			good = more;
			list = more ? more : list;
		}
		if (good)
			list[n++] = p;
	}
	if (fault->of && good && n)
		pick(list, n, fault->of, seed * 31 + fault->index);
	n = fault->of ? WEFT_MIN(n, fault->of) : n;
	if (good && fault->kind->flags & IS_FLAP)
		note(faults, fault, fault->at_ps,
			fault->for_ps ? fault->at_ps + fault->for_ps : WEFT_NEVER);
	for (uint32_t k = 0; k < n && good; k++)
		good = fault->kind->flags & IS_FLAP
			       ? add_flaps(faults, topo, fault, list[k], stop_ps, seed)
			       : add_times(faults, topo, fault, list[k], k, stop_ps);
	free(list);
	return good;
}

/* ---- one line of text ---- */

static const char *read_words(struct wish *fault, char *words[], unsigned n, char hint[64])
{
	const char *wrong;

	if (n < 4 || n % 2)
		return "wanted is KIND WHERE at TIME [for TIME] [every TIME] ...";
	wrong = wish_set_kind(fault, words[0], hint);
	fault->where = words[1];
	for (unsigned i = 2; i < n && !wrong; i += 2)
		wrong = wish_set(fault, words[i], words[i + 1]);
	return wrong;
}

bool weft_scenario_fault_add(struct weft_scenario_faults *faults, const struct weft_topo *topo,
	const char *text, uint64_t stop_ps, uint64_t seed, char *error, size_t error_bytes)
{
	char *copy = strdup(text), *words[WORDS_MAX], *rest = NULL, hint[64];
	struct wish fault = { .index = faults->n_events };
	const char *wrong = "out of memory";
	unsigned n = 0;

	if (copy) {
		for (char *w = strtok_r(copy, " ", &rest); w && n < WORDS_MAX;
			w = strtok_r(NULL, " ", &rest))
			words[n++] = w;
		wrong = read_words(&fault, words, n, hint);
	}
	if (!wrong)
		wrong = wish_check(topo, &fault);
	if (!wrong && !wish_expand(faults, topo, &fault, stop_ps, seed))
		wrong = "it would come more than a million times";
	if (wrong)
		(void)snprintf(error, error_bytes, "fault \"%s\": %s", text, wrong);
	free(copy);
	return !wrong;
}

void weft_scenario_faults_free(struct weft_scenario_faults *faults)
{
	free(faults->list);
	free(faults->lines);
	free(faults->events);
	*faults = (struct weft_scenario_faults){ 0 };
}
