/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * graph - nodes, ports, links and their names, all by arithmetic.
 *
 * Numbers are dense, so that a user can index arrays with them; nothing here allocates or loops
 * over the fabric.  Tables of nodes and links were the alternative: 2 million links at full
 * size, a hundred megabytes to say what a division says.
 */
#include "topo_local.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct weft_topo_shape *weft_topo_shape(const struct weft_topo *topo)
{
	return &topo->shape;
}

static int compare_key(const void *key, const void *element)
{
	uint32_t link = *(const uint32_t *)key;
	uint32_t other = ((const struct link_override *)element)->link;

	return link < other ? -1 : link > other;
}

const struct link_override *override_find(const struct weft_topo *topo, uint32_t link)
{
	if (!topo->n_overrides)
		return NULL;
	return bsearch(
		&link, topo->overrides, topo->n_overrides, sizeof(*topo->overrides), compare_key);
}

bool link_is_cabled(const struct weft_topo *topo, uint32_t link)
{
	const struct link_override *o = override_find(topo, link);

	return !o || o->cabled;
}

uint32_t core_link(const struct weft_topo *topo, uint32_t plane, uint32_t t0, uint32_t uplink)
{
	const struct weft_topo_shape *s = &topo->shape;

	return s->hosts * s->planes + (plane * s->t0s + t0) * s->uplinks + uplink;
}

uint32_t downlinks(const struct weft_topo *topo, uint32_t t0)
{
	const struct weft_topo_shape *s = &topo->shape;
	uint32_t first = t0 * s->hosts_per_t0;

	return first >= s->hosts ? 0 : WEFT_MIN(s->hosts_per_t0, s->hosts - first);
}

struct weft_node weft_topo_node(const struct weft_topo *topo, uint32_t node)
{
	const struct weft_topo_shape *s = &topo->shape;

	WEFT_ASSERT(node < s->nodes);
	if (node < s->hosts)
		return (struct weft_node){ WEFT_NODE_HOST, 0, node, s->planes };
	node -= s->hosts;
	if (node < s->planes * s->t0s)
		return (struct weft_node){ WEFT_NODE_T0, node / s->t0s, node % s->t0s,
			s->hosts_per_t0 + s->uplinks };
	node -= s->planes * s->t0s;
	return (struct weft_node){ WEFT_NODE_T1, node / s->t1s, node % s->t1s,
		s->t0s * s->parallel };
}

uint32_t weft_topo_t0(const struct weft_topo *topo, uint32_t plane, uint32_t index)
{
	const struct weft_topo_shape *s = &topo->shape;

	WEFT_ASSERT(plane < s->planes && index < s->t0s);
	return s->hosts + plane * s->t0s + index;
}

uint32_t weft_topo_t1(const struct weft_topo *topo, uint32_t plane, uint32_t index)
{
	const struct weft_topo_shape *s = &topo->shape;

	WEFT_ASSERT(plane < s->planes && index < s->t1s);
	return s->hosts + s->planes * s->t0s + plane * s->t1s + index;
}

uint32_t weft_topo_host_t0(const struct weft_topo *topo, uint32_t host, uint32_t plane)
{
	WEFT_ASSERT(host < topo->shape.hosts);
	return weft_topo_t0(topo, plane, host / topo->shape.hosts_per_t0);
}

struct weft_link weft_topo_link(const struct weft_topo *topo, uint32_t link)
{
	const struct weft_topo_shape *s = &topo->shape;
	const struct link_override *o = override_find(topo, link);
	struct weft_link l;

	WEFT_ASSERT(link < s->links);
	if (link < s->hosts * s->planes) {
		uint32_t host = link / s->planes, plane = link % s->planes;

		l = (struct weft_link){
			.node = { host, weft_topo_host_t0(topo, host, plane) },
			.port = { plane, host % s->hosts_per_t0 },
			.plane = plane,
			.bps = s->host_bps,
			.delay_ns = s->host_delay_ns,
		};
	} else {
		uint32_t core = link - s->hosts * s->planes;
		uint32_t uplink = core % s->uplinks, t0 = core / s->uplinks % s->t0s;
		uint32_t plane = core / s->uplinks / s->t0s;

		l = (struct weft_link){
			.node = { weft_topo_t0(topo, plane, t0),
				weft_topo_t1(topo, plane, uplink / s->parallel) },
			.port = { s->hosts_per_t0 + uplink,
				t0 * s->parallel + uplink % s->parallel },
			.plane = plane,
			.bps = s->core_bps,
			.delay_ns = s->core_delay_ns,
		};
	}
	l.cabled = !o || o->cabled;
	if (o) {
		l.bps = o->bps;
		l.delay_ns = o->delay_ns;
	}
	return l;
}

uint32_t weft_topo_port_link(const struct weft_topo *topo, uint32_t node, uint32_t port)
{
	const struct weft_topo_shape *s = &topo->shape;
	struct weft_node n = weft_topo_node(topo, node);

	WEFT_ASSERT(port < n.ports);
	switch (n.kind) {
	case WEFT_NODE_HOST:
		return node * s->planes + port;
	case WEFT_NODE_T0:
		if (port >= s->hosts_per_t0)
			return core_link(topo, n.plane, n.index, port - s->hosts_per_t0);
		if (port >= downlinks(topo, n.index))
			return WEFT_TOPO_NONE;
		return (n.index * s->hosts_per_t0 + port) * s->planes + n.plane;
	case WEFT_NODE_T1:
		return core_link(topo, n.plane, port / s->parallel,
			n.index * s->parallel + port % s->parallel);
	case WEFT_NODE_NONE:
		break;
	}
	return WEFT_TOPO_NONE;
}

void weft_topo_node_name(const struct weft_topo *topo, uint32_t node, char *name, size_t bytes)
{
	struct weft_node n = weft_topo_node(topo, node);

	if (n.kind == WEFT_NODE_HOST && topo->host_names)
		(void)snprintf(name, bytes, "%s", topo->host_names[node]);
	else if (n.kind == WEFT_NODE_HOST)
		(void)snprintf(name, bytes, "h%" PRIu32, node);
	else
		(void)snprintf(name, bytes, "p%" PRIu32 ".t%u-%" PRIu32, n.plane,
			n.kind == WEFT_NODE_T1, n.index);
}

void weft_topo_link_name(const struct weft_topo *topo, uint32_t link, char *name, size_t bytes)
{
	const struct weft_topo_shape *s = &topo->shape;
	struct weft_link l = weft_topo_link(topo, link);
	char node[WEFT_TOPO_NAME_BYTES];

	weft_topo_node_name(topo, l.node[0], node, sizeof(node));
	if (link < s->hosts * s->planes) {
		(void)snprintf(name, bytes, "%s.p%" PRIu32, node, l.plane);
		return;
	}
	uint32_t which = l.port[1] % s->parallel;
	int n = snprintf(
		name, bytes, "%s:t1-%" PRIu32, node, weft_topo_node(topo, l.node[1]).index);
	if (which && n > 0 && (size_t)n < bytes)
		(void)snprintf(name + n, bytes - (size_t)n, "/%" PRIu32, which);
}

/* Digits after a given word; NULL: something else stands there, or the number is too big. */
static const char *read_word_number(const char *text, const char *word, uint32_t *number)
{
	size_t n = strlen(word);
	uint64_t value = 0;

	if (strncmp(text, word, n) || text[n] < '0' || text[n] > '9' ||
		(text[n] == '0' && text[n + 1] >= '0' && text[n + 1] <= '9'))
		return NULL;
	for (text += n; *text >= '0' && *text <= '9'; text++) {
		value = value * 10 + (uint64_t)(*text - '0');
		if (value >= UINT32_MAX)
			return NULL;
	}
	*number = (uint32_t)value;
	return text;
}

/* The host whose name are the first n bytes of text. */
static uint32_t host_find(const struct weft_topo *topo, const char *text, size_t n)
{
	const struct weft_topo_shape *s = &topo->shape;
	uint32_t host;

	if (topo->host_names) {
		for (host = 0; host < s->hosts; host++) {
			if (strlen(topo->host_names[host]) == n &&
				!memcmp(topo->host_names[host], text, n))
				return host;
		}
		return WEFT_TOPO_NONE;
	}
	const char *end = read_word_number(text, "h", &host);
	return end == text + n && host < s->hosts ? host : WEFT_TOPO_NONE;
}

uint32_t weft_topo_node_find(const struct weft_topo *topo, const char *name)
{
	const struct weft_topo_shape *s = &topo->shape;
	uint32_t plane, index;
	const char *at, *end;

	at = read_word_number(name, "p", &plane);
	if (!at || *at != '.')
		return host_find(topo, name, strlen(name));
	end = read_word_number(at, ".t0-", &index);
	if (end && !*end)
		return plane < s->planes && index < s->t0s ? weft_topo_t0(topo, plane, index)
							   : WEFT_TOPO_NONE;
	end = read_word_number(at, ".t1-", &index);
	if (end && !*end && plane < s->planes && index < s->t1s)
		return weft_topo_t1(topo, plane, index);
	return WEFT_TOPO_NONE;
}

uint32_t weft_topo_link_find(const struct weft_topo *topo, const char *name)
{
	const struct weft_topo_shape *s = &topo->shape;
	uint32_t plane, t0, t1, which = 0;
	const char *at = read_word_number(name, "p", &plane);

	if (at && *at == '.') {
		at = read_word_number(at, ".t0-", &t0);
		at = at ? read_word_number(at, ":t1-", &t1) : NULL;
		if (at && *at)
			at = read_word_number(at, "/", &which);
		if (!at || *at || plane >= s->planes || t0 >= s->t0s || t1 >= s->t1s ||
			which >= s->parallel)
			return WEFT_TOPO_NONE;
		return core_link(topo, plane, t0, t1 * s->parallel + which);
	}
	const char *dot = strrchr(name, '.');
	const char *end = dot ? read_word_number(dot, ".p", &plane) : NULL;
	if (!end || *end || plane >= s->planes)
		return WEFT_TOPO_NONE;
	uint32_t host = host_find(topo, name, (size_t)(dot - name));
	return host == WEFT_TOPO_NONE ? host : host * s->planes + plane;
}

uint32_t weft_topo_plane_find(const struct weft_topo *topo, const char *name)
{
	uint32_t plane;
	const char *end = read_word_number(name, *name == 'p' ? "p" : "", &plane);

	return end && !*end && plane < topo->shape.planes ? plane : WEFT_TOPO_NONE;
}
