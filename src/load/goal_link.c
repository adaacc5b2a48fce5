/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * goal_link - operations become flows.
 *
 * A send is a flow, a calculation computes.  A receive is a step of no time that waits for the
 * flow it meets, and for what it requires.  What somebody requires only to have begun is preceded
 * by a step of no time that waits in its place.
 */
#include "local.h"

#include <stdlib.h>

struct meeting { /* one send, or one receive */
	uint32_t src, dst, tag, op;
};

static int by_meeting(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	for (unsigned i = 0; i < 4; i++) {
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	}
	return 0;
}

static int by_op(const void *left, const void *right)
{
	const struct goal_need *a = left, *b = right;

	if (a->op != b->op)
		return a->op < b->op ? -1 : 1;
	return a->on < b->on ? -1 : a->on > b->on;
}

/* Sends [0, n), receives [n, n + k); both sorted.  partner[op of a receive] = op of its send. */
static bool meet(struct reader *r, const struct goal *g, struct meeting *m, uint32_t *partner)
{
	uint32_t n[2] = { 0, 0 }, sends = 0, i = 0, k = 0;

	for (uint32_t op = 0; op < g->n; op++)
		sends += g->ops[op].kind == GOAL_SEND;
	for (uint32_t op = 0; op < g->n; op++) {
		const struct goal_op *o = &g->ops[op];

		partner[op] = NONE;
		if (o->kind == GOAL_SEND)
			m[n[0]++] = (struct meeting){ o->rank, o->peer, o->tag, op };
		else if (o->kind == GOAL_RECV)
			m[sends + n[1]++] = (struct meeting){ o->peer, o->rank, o->tag, op };
	}
	qsort(m, n[0], sizeof(*m), by_meeting);
	qsort(m + sends, n[1], sizeof(*m), by_meeting);
	while (i < n[0] || k < n[1]) {
		const struct meeting *a = i < n[0] ? &m[i] : NULL;
		const struct meeting *b = k < n[1] ? &m[sends + k] : NULL;
		const struct meeting *alone = a ? a : b;

		if (a && b && a->src == b->src && a->dst == b->dst && a->tag == b->tag) {
			partner[b->op] = a->op;
			i++;
			k++;
			continue;
		}
		if (a && b && by_meeting(a, b) > 0)
			alone = b;
		r->line = g->ops[alone->op].line;
		return reader_fail(r, "this %s from rank %u to %u with tag %u has no %s",
			alone == b ? "receive" : "send", (unsigned)alone->src, (unsigned)alone->dst,
			(unsigned)alone->tag, alone == b ? "send" : "receive");
	}
	return true;
}

static void number(struct build *b, struct goal *g)
{
	uint32_t flow = b->load->n;

	for (uint32_t op = 0; op < g->n; op++) {
		if (g->ops[op].is_watched)
			g->ops[op].begun = flow++;
		g->ops[op].flow = flow++;
	}
}

static void need_all(struct build *b, const struct goal *g, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		const struct goal_op *on = &g->ops[g->needs[i].on];

		build_after(b, g->needs[i].only_begun ? on->begun : on->flow, 0);
	}
}

static void emit(struct build *b, const struct goal *g, uint32_t op, uint32_t partner,
	uint32_t from, uint32_t to)
{
	const struct goal_op *o = &g->ops[op];
	uint32_t host = b->hosts[o->rank];

	if (o->begun != NONE) {
		build_compute(b, host, 0);
		need_all(b, g, from, to);
	}
	if (o->kind == GOAL_SEND)
		build_send(b, host, b->hosts[o->peer], o->amount);
	else
		build_compute(b, host, o->kind == GOAL_CALC ? o->amount * 1000 : 0);
	if (partner != NONE)
		build_after(b, g->ops[partner].flow, 0);
	if (o->begun != NONE)
		build_after(b, o->begun, 0);
	else
		need_all(b, g, from, to);
}

bool goal_link(struct build *b, struct reader *reader, struct goal *g)
{
	struct meeting *meetings = malloc((g->n + 1u) * sizeof(*meetings));
	uint32_t *partner = malloc((g->n + 1u) * sizeof(*partner)), at = 0;
	bool is_good = true;

	if (!meetings || !partner)
		is_good = reader_fail(reader, "out of memory");
	is_good =
		is_good && build_fits(b, 2 * (uint64_t)g->n) && meet(reader, g, meetings, partner);
	if (is_good) {
		if (g->n_needs)
			qsort(g->needs, g->n_needs, sizeof(*g->needs), by_op);
		number(b, g);
		for (uint32_t op = 0; op < g->n; op++) {
			uint32_t from = at;

			while (at < g->n_needs && g->needs[at].op == op)
				at++;
			emit(b, g, op, partner[op], from, at);
		}
	}
	free(meetings);
	free(partner);
	return is_good;
}
