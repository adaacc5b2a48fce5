/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * goal_link - operations become flows.
 *
 * A send is a flow, a calculation computes.  A receive is a step of no time that waits for the
 * flow it meets, and for what it requires.  What somebody requires only to have begun is preceded
 * by a step of no time that waits in its place.
 */
#include "workload_local.h"

#include <stdio.h>
#include <stdlib.h>

struct meeting { /* one send, or one receive */
	uint64_t tag;
	uint32_t src, dst, op; /* src of a receive from any: GOAL_ANY */
};

static int by_place(const struct meeting *a, const struct meeting *b)
{
	if (a->dst != b->dst)
		return a->dst < b->dst ? -1 : 1;
	if (a->tag != b->tag)
		return a->tag < b->tag ? -1 : 1;
	if (a->src != b->src)
		return a->src < b->src ? -1 : 1;
	return 0;
}

static int by_meeting(const void *left, const void *right)
{
	const struct meeting *a = left, *b = right;
	int order = by_place(a, b);

	return order ? order : a->op < b->op ? -1 : a->op > b->op;
}

/* Without where they come from: what a receive from any may meet, in the file's order. */
static int by_receiver(const void *left, const void *right)
{
	const struct meeting *a = left, *b = right;

	if (a->dst != b->dst)
		return a->dst < b->dst ? -1 : 1;
	if (a->tag != b->tag)
		return a->tag < b->tag ? -1 : 1;
	return a->op < b->op ? -1 : a->op > b->op;
}

static int by_op(const void *left, const void *right)
{
	const struct goal_need *a = left, *b = right;

	if (a->op != b->op)
		return a->op < b->op ? -1 : 1;
	return a->on < b->on ? -1 : a->on > b->on;
}

/* Of one pair: what is received must be what is sent, unless receives only say what fits. */
static bool pair_up(struct build *b, struct reader *r, const struct goal *g, uint32_t send,
	uint32_t receive, uint32_t *partner)
{
	const struct goal_op *s = &g->ops[send], *o = &g->ops[receive];

	partner[receive] = send;
	if (s->amount == o->amount ||
		(b->spec->recv_bytes == WEFT_RECV_ANY && o->amount > s->amount))
		return true;
	r->line = o->line;
	return reader_fail(r, "this receive of %llu bytes meets the send of line %u, of %llu%s",
		(unsigned long long)o->amount, (unsigned)s->line, (unsigned long long)s->amount,
		o->amount > s->amount ? ": if receives say what fits, recv_bytes=any" : "");
}

static bool is_alone(struct reader *r, const struct goal *g, const struct meeting *m, bool is_recv)
{
	char from[24] = "any";

	r->line = g->ops[m->op].line;
	if (m->src != GOAL_ANY)
		(void)snprintf(from, sizeof(from), "%u", (unsigned)m->src);
	return reader_fail(r, "this %s from rank %s to %u with tag %llu has no %s",
		is_recv ? "receive" : "send", from, (unsigned)m->dst, (unsigned long long)m->tag,
		is_recv ? "send" : "receive");
}

/*
 * Receives that name their sender come first, then those from any, which take what is left in the
 * order in which it stands in the file: in a run it might come in another one, but a load is known
 * before it runs.
 */
struct sides {
	struct meeting *sends, *receives, *left[2]; /* left: of sends; receives from any */
	uint32_t n_sends, n_receives, n_left[2];
};

static bool meet_named(
	struct build *b, struct reader *r, const struct goal *g, struct sides *s, uint32_t *partner)
{
	uint32_t i = 0, k = 0;

	while (i < s->n_sends || k < s->n_receives) {
		const struct meeting *send = i < s->n_sends ? &s->sends[i] : NULL;
		const struct meeting *receive = k < s->n_receives ? &s->receives[k] : NULL;

		if (receive && receive->src == GOAL_ANY) {
			s->left[1][s->n_left[1]++] = *receive;
			k++;
			continue;
		}
		int order = !send ? 1 : !receive ? -1 : by_place(send, receive);

		if (order > 0)
			return is_alone(r, g, receive, true);
		if (order < 0)
			s->left[0][s->n_left[0]++] = *send;
		else if (!pair_up(b, r, g, send->op, receive->op, partner))
			return false;
		i++;
		k += !order;
	}
	return true;
}

static bool meet_any(
	struct build *b, struct reader *r, const struct goal *g, struct sides *s, uint32_t *partner)
{
	uint32_t n = WEFT_MAX(s->n_left[0], s->n_left[1]);

	qsort(s->left[0], s->n_left[0], sizeof(*s->sends), by_receiver);
	qsort(s->left[1], s->n_left[1], sizeof(*s->sends), by_receiver);
	for (uint32_t i = 0; i < n; i++) {
		const struct meeting *send = i < s->n_left[0] ? &s->left[0][i] : NULL;
		const struct meeting *receive = i < s->n_left[1] ? &s->left[1][i] : NULL;
		bool is_met =
			send && receive && send->dst == receive->dst && send->tag == receive->tag;

		if (is_met && !pair_up(b, r, g, send->op, receive->op, partner))
			return false;
		if (is_met)
			continue;
		/* The earlier one of the two in this order has nobody. */
		bool is_recv = !send || (receive && by_receiver(receive, send) < 0);

		return is_alone(r, g, is_recv ? receive : send, is_recv);
	}
	return true;
}

/* partner[op of a receive] = op of its send; meetings: 4 of each op. */
static bool meet(struct build *b, struct reader *r, const struct goal *g, struct meeting *meetings,
	uint32_t *partner)
{
	struct sides s = { .sends = meetings,
		.receives = meetings + g->n,
		.left = { meetings + 2 * (uint64_t)g->n, meetings + 3 * (uint64_t)g->n } };

	for (uint32_t op = 0; op < g->n; op++) {
		const struct goal_op *o = &g->ops[op];

		partner[op] = NONE;
		if (o->kind == GOAL_SEND)
			s.sends[s.n_sends++] = (struct meeting){ o->tag, o->rank, o->peer, op };
		else if (o->kind == GOAL_RECV)
			s.receives[s.n_receives++] =
				(struct meeting){ o->tag, o->peer, o->rank, op };
	}
	qsort(s.sends, s.n_sends, sizeof(*s.sends), by_meeting);
	qsort(s.receives, s.n_receives, sizeof(*s.receives), by_meeting);
	return meet_named(b, r, g, &s, partner) && meet_any(b, r, g, &s, partner);
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

		build_after(b, g->needs[i].only_begun ? on->begun : on->flow, WEFT_SIM_WHOLE);
	}
}

static void emit(struct build *b, const struct goal *g, uint32_t op, uint32_t partner,
	uint32_t from, uint32_t to)
{
	const struct goal_op *o = &g->ops[op];
	uint32_t host = b->hosts[o->rank];

	b->line = o->line;

	if (o->begun != NONE) {
		build_compute(b, host, 0);
		need_all(b, g, from, to);
	}
	if (o->kind == GOAL_SEND)
		build_send(b, host, b->hosts[o->peer], o->amount);
	else
		build_compute(b, host, o->kind == GOAL_CALC ? o->amount * 1000 : 0);
	if (partner != NONE)
		build_after(b, g->ops[partner].flow, WEFT_SIM_WHOLE);
	if (o->begun != NONE)
		build_after(b, o->begun, WEFT_SIM_WHOLE);
	else
		need_all(b, g, from, to);
}

bool goal_link(struct build *b, struct reader *reader, struct goal *g)
{
	struct meeting *meetings = malloc((4 * (uint64_t)g->n + 1u) * sizeof(*meetings));
	uint32_t *partner = malloc((g->n + 1u) * sizeof(*partner)), at = 0;
	bool is_good = true;

	if (!meetings || !partner)
		is_good = reader_fail(reader, "out of memory");
	is_good = is_good && build_fits(b, 2 * (uint64_t)g->n) &&
		  meet(b, reader, g, meetings, partner);
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
