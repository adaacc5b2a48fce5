/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * switchd_request - a line of JSON, done.
 *
 * Whoever asks is told in his own words what was wrong: which member, and what would be right.
 * Nothing is half done: all members are read before anything is changed, and members that an
 * operation does not know are an error, because a misspelt one would otherwise be a fault injected
 * somewhere else than meant.
 */
#include "switchd_local.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REBOOT_NS_MAX UINT64_C(3600000000000)
#define PPM 1000000

struct request {
	struct weft_switchd *sw;
	json_t *json;
	char error[ERROR_BYTES];
};

static bool refuse(struct request *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static bool refuse(struct request *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(r->error, sizeof(r->error), format, args);
	va_end(args);
	return false;
}

/* ---- members ---- */

static bool read_text(struct request *r, const char *key, const char **text)
{
	*text = json_string_value(json_object_get(r->json, key));
	return *text || refuse(r, "'%s' is missing, or no string", key);
}

static bool read_number(
	struct request *r, const char *key, uint64_t min, uint64_t max, uint64_t *value)
{
	json_t *number = json_object_get(r->json, key);
	json_int_t n = json_integer_value(number);

	if (!json_is_integer(number) || n < 0 || (uint64_t)n < min || (uint64_t)n > max)
		return refuse(
			r, "'%s' wants a whole number from %" PRIu64 " to %" PRIu64, key, min, max);
	*value = (uint64_t)n;
	return true;
}

static bool read_bool(struct request *r, const char *key, bool *value)
{
	json_t *json = json_object_get(r->json, key);

	*value = json_is_true(json);
	return json_is_boolean(json) || refuse(r, "'%s' wants true or false", key);
}

static bool read_node(struct request *r, const char *key, bool is_switch, uint32_t *node)
{
	const struct weft_switchd *sw = r->sw;
	const char *name;

	if (!read_text(r, key, &name))
		return false;
	*node = weft_topo_node_find(sw->topo, name);
	if (*node == WEFT_TOPO_NONE || (*node >= sw->shape->hosts) != is_switch)
		return refuse(r, "fabric %s has no %s named '%.32s'%s", sw->shape->name,
			is_switch ? "switch" : "host", name,
			is_switch ? " (p0.t0-0 is one, or p0.t1-0)" : "");
	return true;
}

static bool read_link(struct request *r, uint32_t *link)
{
	const struct weft_switchd *sw = r->sw;
	const char *name;
	char first[WEFT_TOPO_NAME_BYTES];

	if (!read_text(r, "link", &name))
		return false;
	*link = weft_topo_link_find(sw->topo, name);
	weft_topo_link_name(sw->topo, 0, first, sizeof(first));
	if (*link == WEFT_TOPO_NONE)
		return refuse(r, "fabric %s has no link named '%.40s' (%s is one)", sw->shape->name,
			name, first);
	return weft_topo_link(sw->topo, *link).cabled || refuse(r, "%s is not cabled", name);
}

/* ---- operations ---- */

static json_t *done(void)
{
	return json_object();
}

static json_t *do_hello(struct request *r)
{
	return report_hello(r->sw);
}

static json_t *do_counters(struct request *r)
{
	uint32_t node = WEFT_TOPO_NONE;

	if (json_object_get(r->json, "node") && !read_node(r, "node", true, &node))
		return NULL;
	return report_counters(r->sw, node);
}

static json_t *do_table(struct request *r)
{
	uint32_t node;

	return read_node(r, "node", true, &node) ? report_table(r->sw, node) : NULL;
}

static json_t *do_links(struct request *r)
{
	return report_links(r->sw);
}

static json_t *do_link(struct request *r)
{
	struct weft_switchd *sw = r->sw;
	uint32_t link;
	bool is_up;

	if (!read_link(r, &link) || !read_bool(r, "up", &is_up))
		return NULL;
	uint8_t *down = &sw->told[link].down;

	*down = (uint8_t)((*down & LINK_FAR_DOWN) | (is_up ? 0 : LINK_TOLD_DOWN));
	weft_network_link_mark(sw->network, link, !*down, sw->ran_ps);
	loop_tell_carrier(sw);
	return done();
}

static json_t *do_rate(struct request *r)
{
	uint64_t bps;
	uint32_t link;

	if (!read_link(r, &link) || !read_number(r, "bps", 0, UINT64_C(1) << 42, &bps))
		return NULL;
	if (bps && bps < 1000000) {
		(void)refuse(r, "'bps' wants 1000000 or more, or 0: as built");
		return NULL;
	}
	r->sw->told[link].rate_bps = bps;
	weft_network_link_rate(r->sw->network, link, bps);
	return done();
}

/* A share of what crosses a link. */
static bool read_share(struct request *r, uint32_t *link, unsigned *way, uint32_t *ppm)
{
	uint64_t ways, share;

	if (!read_link(r, link) || !read_number(r, "way", 1, 3, &ways) ||
		!read_number(r, "ppm", 0, PPM, &share))
		return false;
	*way = (unsigned)ways;
	*ppm = (uint32_t)share;
	return true;
}

static void note_share(uint32_t told[2], unsigned way, uint32_t ppm)
{
	for (unsigned w = 0; w < 2; w++) {
		if (way >> w & 1)
			told[w] = ppm;
	}
}

static json_t *do_loss(struct request *r)
{
	uint32_t link, ppm;
	unsigned way;

	if (!read_share(r, &link, &way, &ppm))
		return NULL;
	note_share(r->sw->told[link].loss_ppm, way, ppm);
	weft_network_link_loss(r->sw->network, link, way, ppm);
	return done();
}

static json_t *do_spoil(struct request *r)
{
	uint32_t link, ppm;
	unsigned way;

	if (!read_share(r, &link, &way, &ppm))
		return NULL;
	r->sw->spoils |= ppm != 0;
	note_share(r->sw->told[link].spoil_ppm, way, ppm);
	weft_network_link_spoil(r->sw->network, link, way, ppm);
	return done();
}

static json_t *do_hole(struct request *r)
{
	uint64_t way;
	uint32_t link;
	bool on;

	if (!read_link(r, &link) || !read_number(r, "way", 1, 3, &way) || !read_bool(r, "on", &on))
		return NULL;
	if (on && way & WEFT_WAY_UP &&
		weft_topo_link(r->sw->topo, link).node[0] < weft_topo_shape(r->sw->topo)->hosts) {
		(void)refuse(r, "the way up from a host has no switch that could drop: wanted is"
				" 'way' 2 (--way down), or loss of all");
		return NULL;
	}
	uint8_t *hole = &r->sw->told[link].hole;

	*hole = (uint8_t)(on ? *hole | way : *hole & ~way);
	weft_network_link_hole(r->sw->network, link, (unsigned)way, on);
	return done();
}

static json_t *do_path(struct request *r)
{
	uint32_t src, dst;
	uint64_t ev, ppm;

	if (!read_node(r, "src", false, &src) || !read_node(r, "dst", false, &dst) ||
		!read_number(r, "ev", 0, UINT32_MAX, &ev) || !read_number(r, "ppm", 0, PPM, &ppm))
		return NULL;
	if (src != dst &&
		weft_network_path_loss(r->sw->network, src, dst, (uint32_t)ev, (uint32_t)ppm))
		return done();
	(void)refuse(r,
		"no path of these hosts has EV 0x%08" PRIx32 ", or there are %u faults at its "
		"first switch already",
		(uint32_t)ev, WEFT_SWITCH_FAULTS_MAX);
	return NULL;
}

static json_t *do_freeze(struct request *r)
{
	uint32_t node;
	bool on;

	if (!read_node(r, "node", true, &node) || !read_bool(r, "on", &on))
		return NULL;
	r->sw->is_frozen[node] = on;
	weft_network_freeze(r->sw->network, node, on, r->sw->ran_ps);
	return done();
}

static json_t *do_power(struct request *r)
{
	uint32_t node;
	bool on;

	if (!read_node(r, "node", true, &node) || !read_bool(r, "on", &on))
		return NULL;
	loop_power(r->sw, node, on, 0);
	return done();
}

static json_t *do_reboot(struct request *r)
{
	uint64_t for_ns;
	uint32_t node;

	if (!read_node(r, "node", true, &node) ||
		!read_number(r, "for_ns", 1, REBOOT_NS_MAX, &for_ns))
		return NULL;
	loop_power(r->sw, node, false, real_now_ns() + for_ns);
	return done();
}

static json_t *do_stop(struct request *r)
{
	r->sw->is_stopped = true;
	return done();
}

/* In alphabetical order; members: all that it may have, beside "op". */
static const struct {
	const char *name, *members;
	json_t *(*run)(struct request *r);
} ops[] = {
	{ "counters", " node ", do_counters },
	{ "freeze", " node on ", do_freeze },
	{ "hello", "", do_hello },
	{ "hole", " link way on ", do_hole },
	{ "link", " link up ", do_link },
	{ "links", "", do_links },
	{ "loss", " link way ppm ", do_loss },
	{ "path", " src dst ev ppm ", do_path },
	{ "power", " node on ", do_power },
	{ "rate", " link bps ", do_rate },
	{ "reboot", " node for_ns ", do_reboot },
	{ "spoil", " link way ppm ", do_spoil },
	{ "stop", "", do_stop },
	{ "table", " node ", do_table },
};

static bool check_members(struct request *r, size_t op)
{
	const char *key;
	json_t *value;

	json_object_foreach(r->json, key, value)
	{
		char word[64];

		(void)snprintf(word, sizeof(word), " %.60s ", key);
		if (strcmp(key, "op") && !strstr(ops[op].members, word))
			return refuse(r, "'%.40s' is no member of '%s', which may have:%s", key,
				ops[op].name, *ops[op].members ? ops[op].members : " none");
	}
	return true;
}

static json_t *run(struct request *r)
{
	const char *name;

	if (!json_is_object(r->json)) {
		(void)refuse(r, "a request is an object, like {\"op\": \"hello\"}");
		return NULL;
	}
	if (!read_text(r, "op", &name))
		return NULL;
	for (size_t i = 0; i < WEFT_COUNT(ops); i++) {
		if (strcmp(ops[i].name, name))
			continue;
		return check_members(r, i) ? ops[i].run(r) : NULL;
	}
	(void)refuse(r, "no operation '%.40s'; there are:", name);
	for (size_t i = 0; i < WEFT_COUNT(ops); i++) {
		size_t n = strlen(r->error);

		(void)snprintf(r->error + n, sizeof(r->error) - n, " %s", ops[i].name);
	}
	return NULL;
}

char *request_answer(struct weft_switchd *sw, const char *line, size_t bytes)
{
	struct request r = { .sw = sw };
	json_error_t where;

	r.json = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, &where);
	if (!r.json)
		(void)refuse(&r, "column %d: %s", where.column, where.text);
	json_t *answer = r.json ? run(&r) : NULL;
	bool ok = answer;

	if (!ok)
		answer = json_object();
	if (!ok && json_object_set_new(answer, "error", json_string(r.error)))
		(void)json_object_set_new(answer, "error", json_string("not UTF-8"));
	(void)json_object_set_new(answer, "ok", json_boolean(ok));
	char *text = json_dumps(answer, JSON_COMPACT);
	size_t n = text ? strlen(text) : 0;
	char *out = text ? malloc(n + 2) : NULL;

	if (out) {
		memcpy(out, text, n);
		memcpy(out + n, "\n", 2);
	}
	free(text);
	json_decref(answer);
	json_decref(r.json);
	return out;
}
