/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * goal - the text of GOAL (Group Operation Assembly Language, Hoefler et al., ICPP 2009), as
 * schedgen, LogGOPSim and ATLAHS write it:
 *
 *   num_ranks 2
 *   rank 0 {
 *   l1: calc 1000                     nanoseconds
 *   l2: send 4096b to 1 tag 7
 *   l2 requires l1                    l2 begins when l1 is over; irequires: when it has begun
 *   }
 *
 * The n-th send with a tag from one rank to another meets the n-th such receive.  cpu and nic are
 * read and do not matter: what must not happen at once is said by requires.
 */
#include "local.h"

#include <stdlib.h>
#include <string.h>

struct label {
	char *name;
	uint32_t op;
};

struct parse {
	struct build *b;
	struct reader *r;
	struct goal goal;
	struct label *labels; /* of this rank: open addressing, 2^k */
	uint32_t n_labels, mask;
	uint32_t ranks, rank; /* NONE: outside */
};

static uint32_t hash(const char *text)
{
	uint32_t h = 2166136261u;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 16777619u;
	return h ^ h >> 15;
}

static struct label *find(struct parse *p, const char *name)
{
	uint32_t i = hash(name) & p->mask;

	while (p->labels[i].name && strcmp(p->labels[i].name, name))
		i = (i + 1) & p->mask;
	return &p->labels[i];
}

static bool add_label(struct parse *p, char *name, uint32_t op)
{
	if (!p->labels || 2 * p->n_labels >= p->mask) {
		uint32_t old = p->labels ? p->mask + 1 : 0;
		struct label *before = p->labels;

		p->mask = old ? 2 * old - 1 : 255;
		p->labels = calloc(p->mask + 1u, sizeof(*p->labels));
		for (uint32_t i = 0; p->labels && i < old; i++) {
			if (before[i].name)
				*find(p, before[i].name) = before[i];
		}
		free(before);
		if (!p->labels)
			return reader_fail(p->r, "out of memory");
	}
	struct label *label = find(p, name);

	if (label->name)
		return reader_fail(p->r, "label %.40s is there already", name);
	*label = (struct label){ name, op };
	p->n_labels++;
	return true;
}

static bool read_number(
	struct parse *p, const char *what, char *word, uint64_t max, uint64_t *value)
{
	size_t n = strlen(word);

	if (n && word[n - 1] == 'b') /* bytes, the only unit there is */
		word[n - 1] = 0;
	return reader_number(p->r, what, word, max, value);
}

/* "tag N", "cpu N", "nic N", in any order. */
static bool read_rest(struct parse *p, uint32_t at, struct goal_op *op)
{
	struct reader *r = p->r;
	uint64_t value;

	for (; at < r->n; at += 2) {
		const char *key = r->words[at];

		if (strcmp(key, "tag") && strcmp(key, "cpu") && strcmp(key, "nic"))
			return reader_fail(r, "\"%.40s\", wanted is tag, cpu or nic", key);
		if (at + 1 == r->n)
			return reader_fail(r, "%s: no number", key);
		if (!reader_number(r, key, r->words[at + 1], UINT32_MAX, &value))
			return false;
		if (!strcmp(key, "tag"))
			op->tag = (uint32_t)value;
	}
	return true;
}

/* "send 10b to 1 ...", "recv 10b from 1 ...", "calc 100 ...", from word `at` on. */
static bool read_op(struct parse *p, uint32_t at, char *label)
{
	struct reader *r = p->r;
	const char *verb = at < r->n ? r->words[at] : "";
	bool is_send = !strcmp(verb, "send"), is_recv = !strcmp(verb, "recv");
	struct goal_op op = { .rank = p->rank, .line = r->line, .begun = NONE };
	uint64_t peer;

	if (!is_send && !is_recv && strcmp(verb, "calc"))
		return reader_fail(r, "\"%.40s\", wanted is send, recv or calc", verb);
	if (p->rank == NONE)
		return reader_fail(r, "%s outside of a rank", verb);
	if (at + 1 == r->n)
		return reader_fail(r, "%s: no amount", verb);
	if (!read_number(p, verb, r->words[at + 1],
		    is_send || is_recv ? UINT32_MAX : UINT64_C(1) << 50, &op.amount))
		return false;
	op.kind = is_send ? GOAL_SEND : is_recv ? GOAL_RECV : GOAL_CALC;
	at += 2;
	if (is_send || is_recv) {
		if (at + 2 > r->n || strcmp(r->words[at], is_send ? "to" : "from"))
			return reader_fail(
				r, "%s: wanted is \"%s RANK\"", verb, is_send ? "to" : "from");
		if (!reader_number(r, verb, r->words[at + 1], p->ranks - 1, &peer))
			return false;
		op.peer = (uint32_t)peer;
		at += 2;
	}
	if (!read_rest(p, at, &op))
		return false;
	if (!array_grow(&p->goal.ops, p->goal.n, &p->goal.n_max, sizeof(op)))
		return reader_fail(r, "out of memory");
	p->goal.ops[p->goal.n] = op;
	return !label ? (p->goal.n++, true) : add_label(p, label, p->goal.n++);
}

/* "a requires b c". */
static bool read_need(struct parse *p, bool only_begun)
{
	struct reader *r = p->r;
	struct goal *g = &p->goal;
	struct label *label = p->labels ? find(p, r->words[0]) : NULL;

	if (!label || !label->name)
		return reader_fail(r, "no label %.40s in this rank", r->words[0]);
	if (r->n < 3)
		return reader_fail(r, "%s requires what?", r->words[0]);
	for (uint32_t i = 2; i < r->n; i++) {
		struct label *on = find(p, r->words[i]);

		if (!on->name)
			return reader_fail(r, "no label %.40s in this rank", r->words[i]);
		if (!array_grow(&g->needs, g->n_needs, &g->n_needs_max, sizeof(*g->needs)))
			return reader_fail(r, "out of memory");
		g->needs[g->n_needs++] = (struct goal_need){ label->op, on->op, only_begun };
		g->ops[on->op].is_watched |= only_begun;
	}
	return true;
}

static bool read_rank(struct parse *p)
{
	struct reader *r = p->r;
	uint64_t rank;

	if (!p->ranks)
		return reader_fail(r, "rank before num_ranks");
	if (p->rank != NONE)
		return reader_fail(r, "rank %u is not closed by }", (unsigned)p->rank);
	if (r->n != 3 || strcmp(r->words[2], "{"))
		return reader_fail(r, "wanted is \"rank N {\"");
	if (!reader_number(r, "rank", r->words[1], p->ranks - 1, &rank))
		return false;
	p->rank = (uint32_t)rank;
	return true;
}

static bool read_line(struct parse *p)
{
	struct reader *r = p->r;
	char *first = r->words[0];
	size_t n = strlen(first);
	uint64_t ranks;

	if (!strcmp(first, "num_ranks")) {
		if (r->n != 2)
			return reader_fail(r, "wanted is \"num_ranks N\"");
		if (!reader_number(r, first, r->words[1], NONE - 1, &ranks))
			return false;
		if (!ranks || ranks > p->b->n)
			return reader_fail(r, "%u ranks, and %u hosts to put them on",
				(unsigned)ranks, (unsigned)p->b->n);
		p->ranks = (uint32_t)ranks;
		return true;
	}
	if (!strcmp(first, "rank"))
		return read_rank(p);
	if (!strcmp(first, "}")) {
		if (p->rank == NONE)
			return reader_fail(r, "} without a rank");
		p->rank = NONE;
		free(p->labels);
		p->labels = NULL;
		p->n_labels = 0;
		return true;
	}
	if (r->n > 1 && !strcmp(r->words[1], "requires"))
		return read_need(p, false);
	if (r->n > 1 && !strcmp(r->words[1], "irequires"))
		return read_need(p, true);
	if (n > 1 && first[n - 1] == ':') {
		first[n - 1] = 0;
		return read_op(p, 1, first);
	}
	return read_op(p, 0, NULL);
}

bool goal_add(struct build *b, struct reader *reader)
{
	struct parse p = { .b = b, .r = reader, .rank = NONE };
	bool is_good = true;

	reader->error[0] = 0;
	while (is_good && reader_next(reader))
		is_good = read_line(&p);
	is_good = is_good && !reader->error[0];
	if (is_good && p.rank != NONE)
		is_good = reader_fail(reader, "rank %u is not closed by }", (unsigned)p.rank);
	is_good = is_good && goal_link(b, reader, &p.goal);
	free(p.labels);
	free(p.goal.ops);
	free(p.goal.needs);
	return is_good;
}
