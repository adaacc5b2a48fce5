/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cm - htsim's connection matrices, as uet-htsim and csg-htsim read them:
 *
 *   Nodes 4
 *   Connections 2
 *   Triggers 1
 *   0->1 id 1 start 0 size 2000000 recv_done_trigger 1      start: see below; bytes
 *   1->2 id 2 trigger 1 size 2000000
 *   trigger id 1 oneshot                                    or multishot, barrier count N
 *
 * uet-htsim takes "start" for microseconds, csg-htsim and the scripts that write such files for
 * picoseconds.  Files look the same, so the load's start_unit says which; where it does not, a
 * start that could be either is refused, since one reading makes an incast of what the other
 * spreads over milliseconds.
 *
 * A size of 0 is a flow without an end; here it is the longest there is.  "msg", with a number or
 * without one, is one more message of the connection with that id: here all between two hosts
 * share one.
 *
 * There a trigger is known everywhere at once.  Here a host knows only what it is told: where a
 * trigger crosses hosts, messages of NOTICE_BYTES carry it, by way of the first host that it
 * starts a flow at.
 */
#include "workload_local.h"

#include <stdlib.h>
#include <string.h>

enum { NOTICE_BYTES = 64 };
#define START_PS_MAX (UINT64_C(1) << 60)
#define SIZE_MAX_BYTES (UINT64_C(1) << 50)
#define START_PS_SURE UINT64_C(1000000) /* as microseconds that is a second: nobody simulates it */

struct connection {
	uint64_t start_ps, bytes;
	uint32_t src, dst, line;
	uint32_t trigger[3]; /* that starts it; that it fires when sent; when received; NONE */
	uint32_t after;      /* the flow that it waits for; NONE */
};

struct trigger {
	uint32_t id, line, count;
	bool is_barrier;
	uint32_t hub, fired, fires; /* host; by how many, and how many it starts */
	uint32_t flow;              /* of its hub */
};

struct matrix {
	struct build *b;
	struct reader *r;
	uint32_t nodes;
	struct connection *list;
	uint32_t n, n_max;
	struct trigger *triggers;
	uint32_t n_triggers, n_triggers_max;
	struct {
		uint64_t connections, triggers;
	} wanted;
};

static bool read_pair(struct matrix *m, struct connection *c)
{
	struct reader *r = m->r;
	char *arrow = strstr(r->words[0], "->");
	uint64_t src, dst;

	*arrow = 0;
	if (!m->nodes)
		return reader_fail(r, "a connection before Nodes");
	if (!reader_number(r, "source", r->words[0], m->nodes - 1, &src) ||
		!reader_number(r, "destination", arrow + 2, m->nodes - 1, &dst))
		return false;
	if (src == dst)
		return reader_fail(r, "from node %u to itself", (unsigned)src);
	c->src = m->b->hosts[src];
	c->dst = m->b->hosts[dst];
	return true;
}

/* Digits behind the point, as millionths: there is nothing shorter than a picosecond. */
static bool read_fraction(const char *digits, uint64_t *millionths)
{
	*millionths = 0;
	if (!*digits || digits[strspn(digits, "0123456789")])
		return false;
	for (uint64_t scale = 100000; *digits && scale; digits++, scale /= 10)
		*millionths += scale * (uint64_t)(*digits - '0');
	return true;
}

/* Older files have "0.000000"; a fraction of a picosecond is left out. */
static bool read_start(struct matrix *m, char *word, uint64_t *ps)
{
	enum weft_workload_start_unit unit = m->b->spec->start_unit;
	uint64_t scale = unit == WEFT_START_US ? 1000000 : 1, value, millionths = 0;
	char *dot = strchr(word, '.');

	if (dot && dot != word && read_fraction(dot + 1, &millionths))
		*dot = 0;
	if (!reader_number(m->r, "start", word, START_PS_MAX / scale, &value))
		return false;
	if (unit == WEFT_START_UNSAID && (value || millionths) && value < START_PS_SURE)
		return reader_fail(m->r,
			"start: %u is microseconds to uet-htsim and picoseconds to csg-htsim: say"
			" start_unit=us or start_unit=ps",
			(unsigned)value);
	*ps = value * scale + (unit == WEFT_START_US ? millionths : 0);
	return true;
}

static bool read_connection(struct matrix *m)
{
	static const char *const triggers[] = { "trigger", "send_done_trigger",
		"recv_done_trigger" };
	struct reader *r = m->r;
	struct connection c = {
		.line = r->line, .bytes = UINT64_MAX, .trigger = { NONE, NONE, NONE }, .after = NONE
	};

	if (!read_pair(m, &c))
		return false;
	for (uint32_t i = 1; i < r->n; i += 2) {
		const char *key = r->words[i];
		uint64_t value;

		if (!strcmp(key, "msg") &&
			(i + 1 == r->n || !strchr("0123456789", *r->words[i + 1]))) {
			i--;
			continue;
		}
		if (i + 1 == r->n)
			return reader_fail(r, "%.40s: no number", key);
		if (!strcmp(key, "start")) {
			if (!read_start(m, r->words[i + 1], &c.start_ps))
				return false;
			continue;
		}
		if (!reader_number(r, key, r->words[i + 1], UINT64_C(1) << 62, &value))
			return false;
		for (unsigned k = 0; k < 3; k++) {
			if (strcmp(key, triggers[k]))
				continue;
			if (value >= NONE)
				return reader_fail(r, "no trigger %llu", (unsigned long long)value);
			c.trigger[k] = (uint32_t)value;
		}
		if (!strcmp(key, "size"))
			c.bytes = value;
		else if (strcmp(key, "id") && strcmp(key, "prio") && strcmp(key, "msg") &&
			 !strstr(key, "trigger"))
			return reader_fail(r,
				"\"%.40s\", wanted is id, start, size, trigger, send_done_trigger,"
				" recv_done_trigger or prio",
				key);
	}
	if (!c.bytes && !m->b->spec->endless_bytes)
		return reader_fail(r, "size: 0 is a flow without an end, and here each has one: "
				      "say endless=4GB, or"
				      " what the run cannot come to");
	if (!c.bytes)
		c.bytes = m->b->spec->endless_bytes;
	if (c.bytes > SIZE_MAX_BYTES)
		return reader_fail(r, "size: wanted is 1 to %llu, or 0: no end",
			(unsigned long long)SIZE_MAX_BYTES);
	if (!array_grow(&m->list, m->n, &m->n_max, sizeof(c)))
		return reader_fail(r, "out of memory");
	m->list[m->n++] = c;
	return true;
}

static bool read_trigger(struct matrix *m)
{
	struct reader *r = m->r;
	struct trigger t = { .line = r->line, .hub = NONE };
	uint64_t id, count = 0;

	if (r->n < 4 || strcmp(r->words[1], "id"))
		return reader_fail(r, "wanted is \"trigger id N oneshot\", multishot or barrier");
	if (!reader_number(r, "id", r->words[2], NONE - 1, &id))
		return false;
	t.id = (uint32_t)id;
	t.is_barrier = !strcmp(r->words[3], "barrier");
	if (!t.is_barrier && strcmp(r->words[3], "oneshot") && strcmp(r->words[3], "multishot"))
		return reader_fail(
			r, "\"%.40s\", wanted is oneshot, multishot or barrier", r->words[3]);
	/* "barrier count N", and "barrier N" as older files have it. */
	if (r->n > 4 && !reader_number(r, "count", r->words[r->n - 1], NONE - 1, &count))
		return false;
	t.count = (uint32_t)count;
	if (!array_grow(&m->triggers, m->n_triggers, &m->n_triggers_max, sizeof(t)))
		return reader_fail(r, "out of memory");
	m->triggers[m->n_triggers++] = t;
	return true;
}

static bool read_line(struct matrix *m)
{
	struct reader *r = m->r;
	const char *first = r->words[0];
	uint64_t value = 0;

	if (strstr(first, "->"))
		return read_connection(m);
	if (!strcmp(first, "trigger"))
		return read_trigger(m);
	if (!strcmp(first, "failure"))
		return reader_fail(r, "failures belong to the fabric: see --fault");
	if (r->n != 2)
		return reader_fail(r,
			"\"%.40s\", wanted is Nodes N, Connections N, Triggers N, A->B or trigger",
			first);
	if (!reader_number(r, first, r->words[1], NONE - 1, &value))
		return false;
	if (!strcmp(first, "Nodes")) {
		if (!value || value > m->b->n)
			return reader_fail(r, "%u nodes, and %u hosts to put them on",
				(unsigned)value, (unsigned)m->b->n);
		m->nodes = (uint32_t)value;
	} else if (!strcmp(first, "Connections")) {
		m->wanted.connections = value;
	} else if (!strcmp(first, "Triggers")) {
		m->wanted.triggers = value;
	} else if (strcmp(first, "Failures")) {
		return reader_fail(r, "\"%.40s\" is not known here", first);
	} else if (value) {
		return reader_fail(r, "failures belong to the fabric: see --fault");
	}
	return true;
}

/* ---- triggers ---- */

static int by_id(const void *left, const void *right)
{
	const struct trigger *a = left, *b = right;

	return a->id < b->id ? -1 : a->id > b->id;
}

static struct trigger *find(const struct matrix *m, uint32_t id)
{
	struct trigger key = { .id = id };

	return m->n_triggers ? bsearch(&key, m->triggers, m->n_triggers, sizeof(key), by_id) : NULL;
}

/* Where a connection knows of its end: 1: sent, 2: received. */
static uint32_t place_of(const struct connection *c, unsigned k)
{
	return k == 1 ? c->src : c->dst;
}

static bool resolve(struct matrix *m)
{
	for (uint32_t i = 0; i < m->n; i++) {
		struct connection *c = &m->list[i];

		for (unsigned k = 0; k < 3; k++) {
			struct trigger *t = c->trigger[k] == NONE ? NULL : find(m, c->trigger[k]);

			m->r->line = c->line;
			if (c->trigger[k] != NONE && !t)
				return reader_fail(m->r, "no trigger %u", (unsigned)c->trigger[k]);
			if (!t)
				continue;
			t->fires += !k;
			t->fired += k > 0;
			if (!k && t->hub == NONE)
				t->hub = c->src;
		}
	}
	for (uint32_t i = 0; i < m->n_triggers; i++) {
		const struct trigger *t = &m->triggers[i];

		m->r->line = t->line;
		if (i && t[-1].id == t->id)
			return reader_fail(m->r, "trigger %u is there already", (unsigned)t->id);
		if (t->fires && !t->fired)
			return reader_fail(m->r, "trigger %u: nothing fires it", (unsigned)t->id);
		if (t->fired > 1 && !t->is_barrier)
			return reader_fail(m->r,
				"trigger %u: fired by %u connections, which only a barrier can be",
				(unsigned)t->id, (unsigned)t->fired);
		if (t->is_barrier && t->count && t->count != t->fired)
			return reader_fail(m->r,
				"trigger %u: counts to %u and is fired by %u connections",
				(unsigned)t->id, (unsigned)t->count, (unsigned)t->fired);
	}
	return true;
}

/* Sorted by trigger, so that those of one follow each other: connections that fire it, or that it
 * starts.
 */
struct use {
	uint32_t trigger, k, connection;
};

static int by_use(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	for (unsigned i = 0; i < 3; i++) {
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	}
	return 0;
}

/*
 * Flows are numbered: connections, then for each trigger the notices to its hub, the hub, and the
 * notices from it.  Called twice: first to number, then to add.
 */
static void fire(struct matrix *m, struct trigger *t, const struct use *uses, uint32_t n,
	uint32_t first, uint32_t *next, bool is_adding)
{
	struct build *b = m->b;
	uint32_t notices = *next;

	b->line = t->line;

	for (unsigned pass = 0; pass < 3; pass++) {
		if (pass == 1) {
			t->flow = (*next)++;
			if (is_adding)
				build_compute(b, t->hub, 0);
		}
		for (uint32_t i = 0; i < n; i++) {
			struct connection *c = &m->list[uses[i].connection];
			uint32_t k = uses[i].k, at = k ? place_of(c, k) : c->src;
			uint32_t flow = first + uses[i].connection;

			if (!k != (pass == 2))
				continue;
			if (pass == 1 && is_adding) {
				build_after(b, at == t->hub ? flow : notices, WEFT_SIM_WHOLE);
				notices += at != t->hub;
			} else if (pass == 0 && at != t->hub) {
				(*next)++;
				if (is_adding) {
					build_send(b, at, t->hub, NOTICE_BYTES);
					build_after(b, flow, WEFT_SIM_WHOLE);
				}
			} else if (pass == 2) {
				c->after = at == t->hub ? t->flow : (*next)++;
				if (at != t->hub && is_adding) {
					build_send(b, t->hub, at, NOTICE_BYTES);
					build_after(b, t->flow, WEFT_SIM_WHOLE);
				}
			}
		}
	}
}

static void fire_all(
	struct matrix *m, const struct use *uses, uint32_t n, uint32_t first, bool is_adding)
{
	uint32_t next = first + m->n;

	for (uint32_t i = 0, k; i < n; i = k) {
		struct trigger *t = &m->triggers[uses[i].trigger];

		for (k = i + 1; k < n && uses[k].trigger == uses[i].trigger; k++)
			;
		if (t->fires)
			fire(m, t, uses + i, k - i, first, &next, is_adding);
	}
}

static bool link_all(struct matrix *m)
{
	struct use *uses = malloc((3 * (uint64_t)m->n + 1) * sizeof(*uses));
	uint32_t n = 0, first = m->b->load->n;

	if (!uses)
		return reader_fail(m->r, "out of memory");
	for (uint32_t i = 0; i < m->n; i++) {
		for (unsigned k = 0; k < 3; k++) {
			const struct trigger *t = m->list[i].trigger[k] == NONE
							  ? NULL
							  : find(m, m->list[i].trigger[k]);

			if (t)
				uses[n++] = (struct use){ (uint32_t)(t - m->triggers), k, i };
		}
	}
	qsort(uses, n, sizeof(*uses), by_use);
	fire_all(m, uses, n, first, false);
	for (uint32_t i = 0; i < m->n; i++) {
		const struct connection *c = &m->list[i];

		m->b->line = c->line;
		build_send(m->b, c->src, c->dst, c->bytes);
		build_last(m->b)->start_ps += c->start_ps;
		if (c->after != NONE)
			build_after(m->b, c->after, WEFT_SIM_WHOLE);
	}
	fire_all(m, uses, n, first, true);
	free(uses);
	return true;
}

bool cm_add(struct build *b, struct reader *reader)
{
	struct matrix m = { .b = b, .r = reader };
	bool is_good = true;

	reader->error[0] = 0;
	m.wanted.connections = m.wanted.triggers = UINT64_MAX;
	while (is_good && reader_next(reader))
		is_good = read_line(&m);
	is_good = is_good && !reader->error[0];
	if (is_good && m.wanted.connections != UINT64_MAX && m.wanted.connections != m.n)
		is_good = reader_fail(reader, "%u connections, the file says %llu", (unsigned)m.n,
			(unsigned long long)m.wanted.connections);
	if (is_good && m.wanted.triggers != UINT64_MAX && m.wanted.triggers != m.n_triggers)
		is_good = reader_fail(reader, "%u triggers, the file says %llu",
			(unsigned)m.n_triggers, (unsigned long long)m.wanted.triggers);
	if (m.n_triggers)
		qsort(m.triggers, m.n_triggers, sizeof(*m.triggers), by_id);
	is_good = is_good && build_fits(b, 4 * (uint64_t)m.n) && resolve(&m) && link_all(&m);
	free(m.list);
	free(m.triggers);
	return is_good;
}
