/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tails - the last bytes of a write become visible last.
 *
 * Programs that spin on the end of a buffer (perftest's write latency, rings of credits, flags
 * behind data) rely on what RC gives them without saying so: when the last bytes of a write are
 * there, all bytes of it and of earlier writes are.  With packets placed as they come that is not
 * so.  On EXTENDED QPs, then, the last eight bytes of a write that has overtaken others are kept
 * here and stored when everything before them has been placed; that is at the beginning of
 * weft_output() or weft_poll(), since the caller moves what input has placed after weft_input().
 *
 * Strict QPs do as MRC does: there, completions are what orders.  Two writes in flight to the same
 * bytes stay unordered in both.  Where more ends wait than there is room for, the rest is placed
 * at once.
 */
#include "engine_local.h"

void tails_keep(struct weft_qp *qp, const struct weft_pkt *pkt, struct weft_place *place)
{
	struct ext *ext = qp->ext;
	uint32_t n = WEFT_MIN((uint32_t)sizeof(ext->tail->bytes), place->len_bytes);

	if (!n || !pkt->w.data || ext->tails == TAILS)
		return;
	struct tail *tail = &ext->tail[ext->tails++];

	place->len_bytes -= n;
	tail->to = (uint8_t *)place->to + place->len_bytes;
	tail->n = (uint8_t)n;
	tail->psn = pkt->psn;
	tail->rkey = pkt->w.rkey;
	tail->msn = pkt->w.msn;
	memcpy(tail->bytes, (const uint8_t *)pkt->w.data + place->len_bytes, n);
	qp->parked_imms++;
}

/* False: the memory is not there any more. */
static bool store(const struct ext *ext, const struct tail *tail)
{
	uint64_t word;

	if (!absent_reach(ext->qp->ep, tail->to, tail->n))
		return false;
	memcpy(&word, tail->bytes, sizeof(word));
	__atomic_thread_fence(__ATOMIC_RELEASE);
	if (tail->n == sizeof(word) && !((uintptr_t)tail->to % sizeof(word)))
		__atomic_store_n((uint64_t *)(void *)tail->to, word, __ATOMIC_RELEASE);
	else
		memcpy(tail->to, tail->bytes, tail->n);
	return true;
}

static void drop(struct ext *ext, uint32_t i)
{
	ext->tail[i] = ext->tail[--ext->tails];
	ext->qp->parked_imms--;
}

/* The oldest whose turn has come; TAILS: none. */
static uint32_t next_due(const struct ext *ext)
{
	uint32_t best = TAILS;

	for (uint32_t i = 0; i < ext->tails; i++) {
		if (weft_psn_diff(ext->tail[i].psn, ext->qp->rx_cack) > 0)
			continue;
		if (best == TAILS || weft_psn_diff(ext->tail[i].psn, ext->tail[best].psn) < 0)
			best = i;
	}
	return best;
}

bool tails_are_due(const struct ext *ext)
{
	return next_due(ext) != TAILS;
}

void tails_settle(struct ext *ext)
{
	for (uint32_t i; (i = next_due(ext)) != TAILS; drop(ext, i)) {
		const struct weft_pkt pkt = {
			.dqpn = ext->qp->qpn, .op = WEFT_OP_WRITE_LAST, .w.msn = ext->tail[i].msn
		};

		if (!store(ext, &ext->tail[i]))
			weft_place_lost(ext->qp->ep, &pkt);
	}
}

void tails_cut(struct ext *ext, uint32_t psn)
{
	for (uint32_t i = ext->tails; i--;)
		if (weft_psn_diff(ext->tail[i].psn, psn) > 0)
			drop(ext, i);
}

void tails_store(struct ext *ext, uint32_t rkey)
{
	for (uint32_t i = ext->tails; i--;) {
		if (ext->tail[i].rkey != rkey)
			continue;
		(void)store(ext, &ext->tail[i]); /* its window is gone: nobody is left to tell */
		drop(ext, i);
	}
}

void tails_forget(struct ext *ext, const uint8_t *base, uint64_t len_bytes)
{
	for (uint32_t i = ext->tails; i--;)
		if (ext->tail[i].to >= base && ext->tail[i].to < base + len_bytes)
			drop(ext, i);
}
