/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * baseline_check - what must always be true, counted again.
 */
#include "baseline_local.h"

static uint32_t count(const struct weft_baseline *r, const uint64_t *bits, const struct sender *s)
{
	const uint64_t *of = bits + (uint64_t)sender_index(r, s) * (r->bits / 64);
	uint32_t n = 0, inside = 0;

	for (uint32_t i = 0; i < r->bits / 64; i++)
		n += weft_popcount64(of[i]);
	for (uint32_t psn = s->una; psn_diff(psn, s->next) < 0; psn++)
		inside += bit_get(r, of, psn);
	WEFT_ASSERT(n == inside); /* none outside of what is under way */
	return n;
}

static void check_sender(const struct weft_baseline *r, const struct sender *s)
{
	WEFT_ASSERT(psn_diff(s->una, s->next) <= 0 && psn_diff(s->next, s->end) <= 0);
	WEFT_ASSERT(psn_diff(s->next, s->sent) <= 0 && psn_diff(s->sent, s->end) <= 0);
	WEFT_ASSERT((s->heap_at == NONE) || r->heap[s->heap_at] == sender_index(r, s));
	WEFT_ASSERT(s->rate.rate_bps > 0 && s->rate.rate_bps <= r->config.port_bps);
	WEFT_ASSERT(s->rate.alpha <= ALPHA_ONE && s->window.alpha <= ALPHA_ONE);
	/* It must be able to find out that something was lost. */
	WEFT_ASSERT(s->rto_ps == WEFT_NEVER || s->heap_at != NONE);
	if (!r->kind->is_selective)
		return;
	WEFT_ASSERT(s->next - s->una <= r->bits && s->n_acked + s->n_rtx <= s->next - s->una);
	WEFT_ASSERT(count(r, r->acked, s) == s->n_acked && count(r, r->rtx, s) == s->n_rtx);
	WEFT_ASSERT(!in_flight(s) || s->rto_ps != WEFT_NEVER);
}

static void check_lists(const struct weft_baseline *r)
{
	uint32_t ready = 0, answers = 0;

	for (uint32_t list = 0; list < LISTS; list++) {
		for (uint32_t i = r->ready_first[list]; i != NONE; i = r->senders[i].list_next) {
			WEFT_ASSERT(r->senders[i].list == list);
			ready++;
		}
		answers += r->answers[list].end - r->answers[list].first;
	}
	WEFT_ASSERT(ready == r->n_ready && answers == r->n_answers);
	for (uint32_t i = 1; i < r->n_heap; i++)
		WEFT_ASSERT(
			r->senders[r->heap[i]].wake_ps >= r->senders[r->heap[(i - 1) / 2]].wake_ps);
}

void weft_baseline_check(const struct weft_baseline *r)
{
	for (uint32_t i = 0; i < r->n_senders; i++)
		check_sender(r, &r->senders[i]);
	for (uint32_t i = 0; i < r->config.sends; i++)
		WEFT_ASSERT(r->sends[i].posted - r->sends[i].oldest <= MESSAGES);
	check_lists(r);
}

uint64_t weft_baseline_received_bytes(const struct weft_baseline *r, uint32_t number)
{
	WEFT_ASSERT(number < r->config.receives);
	return r->receives[number].came_bytes;
}

void weft_baseline_look(const struct weft_baseline *r, uint32_t number, uint32_t qp,
	struct weft_baseline_sender *out)
{
	WEFT_ASSERT(number < r->config.sends && qp < r->qps);
	const struct sender *s = &r->senders[number * r->qps + qp];

	*out = (struct weft_baseline_sender){ .rate_bps = s->rate.rate_bps,
		.window_pkts = r->kind->has_window     ? s->window.window_q8 >> 8
			       : r->kind->is_selective ? r->window_pkts
						       : 0,
		.acked = s->una,
		.next = s->next,
		.end = s->end };
}
