/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * baseline_agenda - which queue pairs may send now, and when the others wake.
 *
 * Those that may send stand in a list per port (or in one for all ports, where each packet picks
 * its own) and take turns, as a NIC's scheduler serves its queue pairs.  All clocks of a queue pair
 * (its pace, its retransmission timer, DCQCN's two) are one entry of a binary heap.  Timers move
 * later with nearly every answer; an entry moves only to an earlier place, and one that comes up
 * too early is put back.
 */
#include "baseline_local.h"

/* ---- lists ---- */

static void unlink_sender(struct weft_baseline *r, struct sender *s)
{
	uint8_t list = s->list;

	if (s->list_prev != NONE)
		r->senders[s->list_prev].list_next = s->list_next;
	else
		r->ready_first[list] = s->list_next;
	if (s->list_next != NONE)
		r->senders[s->list_next].list_prev = s->list_prev;
	else
		r->ready_last[list] = s->list_prev;
	s->list = LISTS;
	r->n_ready--;
}

static void append_sender(struct weft_baseline *r, struct sender *s, uint8_t list)
{
	uint32_t index = sender_index(r, s);

	s->list = list;
	s->list_next = NONE;
	s->list_prev = r->ready_last[list];
	if (s->list_prev != NONE)
		r->senders[s->list_prev].list_next = index;
	else
		r->ready_first[list] = index;
	r->ready_last[list] = index;
	r->n_ready++;
}

void agenda_rotate(struct weft_baseline *r, struct sender *s)
{
	uint8_t list = s->list;

	if (list == LISTS || s->list_next == NONE)
		return;
	unlink_sender(r, s);
	append_sender(r, s, list);
}

/* ---- heap ---- */

static void heap_put(struct weft_baseline *r, uint32_t at, uint32_t index)
{
	r->heap[at] = index;
	r->senders[index].heap_at = at;
}

static void heap_up(struct weft_baseline *r, uint32_t at, uint32_t index)
{
	uint64_t wake_ps = r->senders[index].wake_ps;

	while (at && r->senders[r->heap[(at - 1) / 2]].wake_ps > wake_ps) {
		heap_put(r, at, r->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	heap_put(r, at, index);
}

static void heap_down(struct weft_baseline *r, uint32_t at, uint32_t index)
{
	uint64_t wake_ps = r->senders[index].wake_ps;

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= r->n_heap)
			break;
		if (child + 1 < r->n_heap &&
			r->senders[r->heap[child + 1]].wake_ps < r->senders[r->heap[child]].wake_ps)
			child++;
		if (r->senders[r->heap[child]].wake_ps >= wake_ps)
			break;
		heap_put(r, at, r->heap[child]);
		at = child;
	}
	heap_put(r, at, index);
}

static void heap_set(struct weft_baseline *r, struct sender *s, uint64_t wake_ps)
{
	uint32_t index = sender_index(r, s);

	if (s->heap_at != NONE) {
		if (wake_ps >= s->wake_ps)
			return;
		s->wake_ps = wake_ps;
		heap_up(r, s->heap_at, index);
	} else if (wake_ps != WEFT_NEVER) {
		s->wake_ps = wake_ps;
		heap_up(r, r->n_heap++, index);
	}
}

struct sender *agenda_due(struct weft_baseline *r)
{
	if (!r->n_heap || r->senders[r->heap[0]].wake_ps > r->now_ps)
		return NULL;
	struct sender *s = &r->senders[r->heap[0]];

	s->heap_at = NONE;
	r->n_heap--;
	if (r->n_heap)
		heap_down(r, 0, r->heap[r->n_heap]);
	return s;
}

/* ---- a queue pair ---- */

void agenda_path(struct weft_baseline *r, struct sender *s)
{
	uint32_t plane = r->kind->is_striped
				 ? (sender_index(r, s) - s->conn * r->qps) % r->config.planes
				 : WEFT_BASELINE_ANY_PLANE;
	uint32_t peer = r->sends[s->conn].peer;

	s->epoch = r->epoch;
	s->ev = r->config.path(r->config.user, peer, plane, s->hash, &s->port);
	if (s->ev == WEFT_BASELINE_NO_PATH) /* a stripe of a plane that is gone: it moves */
		s->ev = r->config.path(
			r->config.user, peer, WEFT_BASELINE_ANY_PLANE, s->hash, &s->port);
	WEFT_ASSERT(s->port < r->config.planes);
}

bool agenda_may_send(const struct weft_baseline *r, const struct sender *s)
{
	bool is_new = s->next != s->end;

	if (!is_new && !s->n_rtx)
		return false;
	if (r->kind->is_pulled && !s->credits)
		return false;
	if (r->kind->has_window && in_flight(s) >= s->window.window_q8 >> 8)
		return false;
	if (s->n_rtx)
		return true;
	if (r->kind->is_selective && s->next - s->una >= r->bits)
		return false;
	return r->kind->is_pulled || r->kind->has_window || s->next - s->una < r->window_pkts;
}

void agenda_settle(struct weft_baseline *r, struct sender *s)
{
	uint8_t list = LISTS;
	uint64_t wake_ps = WEFT_MIN(s->rto_ps, dcqcn_next_ps(&s->rate));

	if (agenda_may_send(r, s)) {
		if (!r->kind->is_spray && s->epoch != r->epoch)
			agenda_path(r, s);
		if (s->pace_ps <= r->now_ps)
			list = r->kind->is_spray ? ANY : s->port;
		else
			wake_ps = WEFT_MIN(wake_ps, s->pace_ps);
	}
	if (list != s->list) {
		if (s->list != LISTS)
			unlink_sender(r, s);
		if (list != LISTS)
			append_sender(r, s, list);
	}
	heap_set(r, s, wake_ps);
}
