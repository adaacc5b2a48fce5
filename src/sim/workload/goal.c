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
 * The n-th send with a tag from one rank to another meets the n-th such receive; a receive from -1
 * (MPI_ANY_SOURCE) is met by goal_link.c.  cpu and nic are read and do not matter: what must not
 * happen at once is said by requires.  LogGOPSim's lexer wants no blanks around ':' and braces, and
 * no line for each statement; so it is here.
 */
#include "workload_local.h"

#include <stdlib.h>
#include <string.h>

#define AMOUNT_MAX (UINT64_C(1) << 50) /* bytes, or ns, which become ps */

struct label {
	char *name;
	uint32_t op;
};

/* Of a line: its words, with ':', '{' and '}' as words of their own. */
enum { TOKENS_MAX = 4 * WORDS_MAX };

struct parse {
	struct build *b;
	struct reader *r;
	char *tokens[TOKENS_MAX];
	uint32_t n, at;
	bool wants_brace; /* "rank N" has been read */
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

static const char *token(const struct parse *p, uint32_t ahead)
{
	return p->at + ahead < p->n ? p->tokens[p->at + ahead] : "";
}

static bool is_next(const struct parse *p, uint32_t ahead, const char *word)
{
	return !strcmp(token(p, ahead), word);
}

static bool is_need(const struct parse *p, uint32_t ahead)
{
	return is_next(p, ahead, "requires") || is_next(p, ahead, "irequires");
}

static bool split(struct parse *p)
{
	static char colon[] = ":", open[] = "{", close[] = "}";

	p->n = p->at = 0;
	for (uint32_t i = 0; i < p->r->n; i++) {
		for (char *word = p->r->words[i]; *word;) {
			size_t n = strcspn(word, ":{}");
			char mark = word[n];

			if (p->n + 2 > TOKENS_MAX)
				return reader_fail(p->r, "more than %d words", TOKENS_MAX);
			if (n)
				p->tokens[p->n++] = word;
			if (mark)
				p->tokens[p->n++] = mark == ':'   ? colon
						    : mark == '{' ? open
								  : close;
			word[n] = 0;
			word += n + (mark != 0);
		}
	}
	return true;
}

/* "4096b", "4096 b": bytes, the only unit there is. */
static bool read_amount(struct parse *p, const char *what, uint64_t max, uint64_t *value)
{
	char *word = p->tokens[p->at++];
	size_t n = strlen(word);

	if (n > 1 && word[n - 1] == 'b')
		word[n - 1] = 0;
	else if (is_next(p, 0, "b"))
		p->at++;
	return reader_number(p->r, what, word, max, value);
}

/* "tag N", "cpu N", "nic N", in any order, until something else comes. */
static bool read_rest(struct parse *p, struct goal_op *op)
{
	uint64_t value;

	while (p->at < p->n &&
		(is_next(p, 0, "tag") || is_next(p, 0, "cpu") || is_next(p, 0, "nic"))) {
		bool is_tag = is_next(p, 0, "tag");
		const char *key = p->tokens[p->at++];

		if (p->at == p->n)
			return reader_fail(p->r, "%s: no number", key);
		if (!reader_number(p->r, key, p->tokens[p->at++], is_tag ? UINT64_MAX : UINT32_MAX,
			    &value))
			return false;
		if (is_tag)
			op->tag = value;
	}
	return true;
}

static bool read_peer(struct parse *p, const char *verb, bool is_send, struct goal_op *op)
{
	uint64_t peer;

	if (p->at + 2 > p->n || !is_next(p, 0, is_send ? "to" : "from"))
		return reader_fail(
			p->r, "%s: wanted is \"%s RANK\"", verb, is_send ? "to" : "from");
	p->at++;
	if (!is_send && is_next(p, 0, "-1")) {
		op->peer = GOAL_ANY;
		p->at++;
		return true;
	}
	if (!reader_number(p->r, verb, p->tokens[p->at++], p->ranks - 1, &peer))
		return false;
	op->peer = (uint32_t)peer;
	return true;
}

/* "send 10b to 1 ...", "recv 10b from 1 ...", "calc 100 ...". */
static bool read_op(struct parse *p, char *label)
{
	struct reader *r = p->r;
	const char *verb = token(p, 0);
	bool is_send = !strcmp(verb, "send"), is_recv = !strcmp(verb, "recv");
	struct goal_op op = { .rank = p->rank, .line = r->line, .begun = NONE };

	if (!is_send && !is_recv && strcmp(verb, "calc"))
		return reader_fail(r, "\"%.40s\", wanted is send, recv or calc", verb);
	if (p->rank == NONE)
		return reader_fail(r, "%s outside of a rank", verb);
	if (++p->at == p->n)
		return reader_fail(r, "%s: no amount", verb);
	if (!read_amount(p, verb, AMOUNT_MAX, &op.amount))
		return false;
	op.kind = is_send ? GOAL_SEND : is_recv ? GOAL_RECV : GOAL_CALC;
	if ((is_send || is_recv) && !read_peer(p, verb, is_send, &op))
		return false;
	if (!read_rest(p, &op))
		return false;
	if (!array_grow(&p->goal.ops, p->goal.n, &p->goal.n_max, sizeof(op)))
		return reader_fail(r, "out of memory");
	p->goal.ops[p->goal.n] = op;
	return !label ? (p->goal.n++, true) : add_label(p, label, p->goal.n++);
}

static struct label *known(struct parse *p, const char *name)
{
	struct label *label = p->labels ? find(p, name) : NULL;

	return label && label->name ? label : NULL;
}

/* "a requires b c": up to the end of the line, or to what begins another statement. */
static bool read_need(struct parse *p)
{
	struct reader *r = p->r;
	struct goal *g = &p->goal;
	const char *name = p->tokens[p->at];
	bool only_begun = is_next(p, 1, "irequires");
	uint32_t first = p->at += 2;

	if (p->rank == NONE)
		return reader_fail(r, "%.40s outside of a rank", name);
	struct label *label = known(p, name);

	if (!label && p->at < p->n && !known(p, token(p, 0)))
		return reader_fail(r, "no label %.40s, nor %.40s, in this rank", name, token(p, 0));
	if (!label)
		return reader_fail(r, "no label %.40s in this rank", name);
	while (p->at < p->n && !is_next(p, 0, "}") && !is_next(p, 1, ":") && !is_need(p, 1)) {
		struct label *on = known(p, p->tokens[p->at++]);

		if (!on)
			return reader_fail(r, "no label %.40s in this rank", p->tokens[p->at - 1]);
		if (!array_grow(&g->needs, g->n_needs, &g->n_needs_max, sizeof(*g->needs)))
			return reader_fail(r, "out of memory");
		g->needs[g->n_needs++] = (struct goal_need){ label->op, on->op, only_begun };
		g->ops[on->op].is_watched |= only_begun;
	}
	return p->at > first || reader_fail(r, "%s requires what?", name);
}

static bool read_rank(struct parse *p)
{
	struct reader *r = p->r;
	uint64_t rank;

	if (!p->ranks)
		return reader_fail(r, "rank before num_ranks");
	if (p->rank != NONE)
		return reader_fail(r, "rank %u is not closed by }", (unsigned)p->rank);
	if (++p->at == p->n)
		return reader_fail(r, "wanted is \"rank N {\"");
	if (!reader_number(r, "rank", p->tokens[p->at++], p->ranks - 1, &rank))
		return false;
	p->rank = (uint32_t)rank;
	p->wants_brace = true;
	return true;
}

static bool read_ranks(struct parse *p)
{
	struct reader *r = p->r;
	uint64_t ranks;

	if (++p->at == p->n)
		return reader_fail(r, "wanted is \"num_ranks N\"");
	if (!reader_number(r, "num_ranks", p->tokens[p->at++], NONE - 1, &ranks))
		return false;
	if (!ranks || ranks > p->b->n)
		return reader_fail(r, "%u ranks, and %u hosts to put them on", (unsigned)ranks,
			(unsigned)p->b->n);
	if (p->ranks)
		return reader_fail(r, "num_ranks has been said already");
	p->ranks = (uint32_t)ranks;
	return true;
}

static bool close_rank(struct parse *p)
{
	if (p->rank == NONE)
		return reader_fail(p->r, "} without a rank");
	p->at++;
	p->rank = NONE;
	free(p->labels);
	p->labels = NULL;
	p->n_labels = 0;
	return true;
}

static bool read_statement(struct parse *p)
{
	if (p->wants_brace && !is_next(p, 0, "{"))
		return reader_fail(p->r, "wanted is \"rank N {\"");
	if (p->wants_brace) {
		p->wants_brace = false;
		p->at++;
		return true;
	}
	if (is_next(p, 0, "num_ranks"))
		return read_ranks(p);
	if (is_next(p, 0, "rank"))
		return read_rank(p);
	if (is_next(p, 0, "}"))
		return close_rank(p);
	if (is_need(p, 1))
		return read_need(p);
	if (is_next(p, 1, ":")) {
		char *label = p->tokens[p->at];

		p->at += 2;
		return read_op(p, label);
	}
	return read_op(p, NULL);
}

static bool read_line(struct parse *p)
{
	bool is_good = split(p);

	while (is_good && p->at < p->n)
		is_good = read_statement(p);
	return is_good;
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
