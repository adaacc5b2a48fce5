/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sent - what has left and is not known to have arrived.
 *
 * A record per PSN, 16 bytes, lent in pages of 64 from one pool per endpoint: the pool is
 * sized by bandwidth x delay, which all QPs of a NIC share, while a ring per QP would be sized
 * by the receive window times the number of QPs.  Two bit words per page turn a SACK into word
 * operations: what is new is `bits & ~acked`.
 *
 * Bytes in flight are counted from these records.  The specification derives them from the
 * receiver's byte counter (8.4); that drifts for good after a spurious retransmission, ours
 * cannot.  The counter still drives the window itself (docs/decisions/010).
 *
 * Hot: all but sent_drop_all().
 */
#include "engine_local.h"

static uint16_t *page_slot(const struct weft_qp *qp, uint32_t psn)
{
	return &qp->pages[(psn / PAGE_PSNS) & qp->ep->page_mask];
}

struct sent_page *sent_page_of(const struct weft_qp *qp, uint32_t psn)
{
	uint16_t page = *page_slot(qp, psn);

	WEFT_ASSERT(page != PAGE_NONE);
	return &qp->ep->page[page];
}

struct sent_rec *sent_find(const struct weft_qp *qp, uint32_t psn)
{
	return &sent_page_of(qp, psn)->rec[psn % PAGE_PSNS];
}

struct sent_page *sent_reserve(struct weft_qp *qp, uint32_t psn)
{
	struct weft_endpoint *ep = qp->ep;
	uint16_t *slot = page_slot(qp, psn);

	if (*slot != PAGE_NONE)
		return &ep->page[*slot];
	uint32_t page = ep->page_free;

	if (page == PAGE_NONE)
		return NULL;
	ep->page_free = ep->page_next[page];
	ep->pages_used++;
	ep->page[page].acked = 0;
	ep->page[page].lost = 0;
	*slot = (uint16_t)page;
	return &ep->page[page];
}

static void give_back(struct weft_qp *qp, uint32_t psn)
{
	struct weft_endpoint *ep = qp->ep;
	uint16_t *slot = page_slot(qp, psn);

	WEFT_ASSERT(*slot != PAGE_NONE);
	ep->page_next[*slot] = (uint16_t)ep->page_free;
	ep->page_free = *slot;
	ep->pages_used--;
	*slot = PAGE_NONE;
}

/*
 * A repeated packet that is acknowledged sooner than light allows: its first copy was alive.
 * Unless that was NACKed, for then the shortest round trip was just one through a queue.  It is a
 * lesson in caution, but not where it was given up with its plane, which says nothing of order.
 */
static void note_repeat(struct weft_qp *qp, const struct sent_rec *rec, uint32_t psn)
{
	struct weft_endpoint *ep = qp->ep;
	uint64_t age_ns = age16_ns(ep->now, rec->sent16);

	if (rec->cause != LOSS_NACK &&
	    age_ns + 16 < (qp->rtt_min_ns ? qp->rtt_min_ns : ep->config.base_rtt_ns)) {
		ep->count.spurious++;
		if (rec->cause == LOSS_PORT)
			return;
		if (qp->spurious_shift < 4)
			qp->spurious_shift++;
		qp->spurious_ns = ep->now;
		loss_learn_reorder(qp);
		event_note(ep, WEFT_EV_SPURIOUS, qp->qpn, qp->set, psn,
			   ep->sets[qp->set].path[rec->path].ev, qp->reorder_ns);
		path_forgive(qp, psn, ep->now);
	} else if (!qp->rack_valid || later16(ep->now, rec->sent16, qp->rack_sent16)) {
		qp->rack_sent16 = rec->sent16;
		qp->rack_valid = true;
	}
}

/*
 * Only a packet that was sent once says something about its path: of a repeated one nobody
 * knows which copy it was.
 */
static void ack_page_bits(struct weft_qp *qp, struct sent_page *page, uint32_t psn0, uint64_t bits)
{
	struct path *paths = qp->ep->sets[qp->set].path;
	uint64_t fresh = bits & ~page->acked;
	uint32_t rack16 = qp->rack_sent16, acked = 0;
	uint64_t now = qp->ep->now;
	bool any = qp->rack_valid;

	if (!fresh)
		return;
	uint64_t was_lost = fresh & page->lost;

	page->acked |= fresh;
	page->lost &= ~fresh;
	for (uint64_t rest = fresh; rest; rest &= rest - 1) {
		uint32_t i = lowest_bit(rest);
		const struct sent_rec *rec = &page->rec[i];
		struct path *path = &paths[rec->path];

		acked += rec->bytes;
		path->acked++;
		if (WEFT_UNLIKELY(rec->sends > 1)) {
			note_repeat(qp, rec, psn0 + i);
			continue;
		}
		if ((int32_t)(rec->path_seq - path->acked_seq) > 0) {
			path->acked_seq = rec->path_seq;
			path->acked16 = rec->sent16;
			path->losses = 0;
		}
		if (!any || later16(now, rec->sent16, rack16))
			rack16 = rec->sent16;
		any = true;
	}
	qp->inflight -= acked;
	qp->progressed = true;
	if (any && (!qp->rack_valid || later16(now, rack16, qp->rack_sent16)))
		qp->rack_sent16 = rack16;
	qp->rack_valid |= any;
	if (WEFT_UNLIKELY(was_lost)) {
		for (uint64_t rest = was_lost; rest; rest &= rest - 1) {
			qp->inflight += page->rec[lowest_bit(rest)].bytes; /* was out already */
			path_forgive(qp, psn0 + lowest_bit(rest), now);
		}
		qp->lost -= weft_popcount64(was_lost);
		qp->ep->count.spurious += weft_popcount64(was_lost);
	}
}

/* Bits of a page that lie in [from, to), both PSNs, the page starting at psn0. */
static uint64_t range_bits(uint32_t psn0, uint32_t from, uint32_t to)
{
	int32_t low = weft_psn_diff(from, psn0);
	int32_t high = weft_psn_diff(to, psn0);
	uint64_t bits = ~UINT64_C(0);

	if (low >= PAGE_PSNS || high <= 0)
		return 0;
	if (low > 0)
		bits &= ~UINT64_C(0) << low;
	if (high < PAGE_PSNS)
		bits &= ~(~UINT64_C(0) << high);
	return bits;
}

void sent_release(struct weft_qp *qp, uint32_t psn)
{
	WEFT_ASSERT(weft_psn_diff(psn, qp->psn_unack) >= 0);
	WEFT_ASSERT(weft_psn_diff(psn, qp->psn_next) <= 0);
	while (qp->psn_unack != psn) {
		uint32_t psn0 = qp->psn_unack & ~(uint32_t)(PAGE_PSNS - 1);
		uint32_t end = weft_psn_add(psn0, PAGE_PSNS);
		bool whole = weft_psn_diff(psn, end) >= 0;

		ack_page_bits(qp, sent_page_of(qp, psn0), psn0,
			      range_bits(psn0, qp->psn_unack, psn));
		qp->psn_unack = whole ? end : psn;
		if (whole)
			give_back(qp, psn0);
	}
	if (weft_psn_diff(qp->lost_low, psn) < 0)
		qp->lost_low = psn;
}

void sent_ack_bits(struct weft_qp *qp, uint32_t base, uint64_t bits)
{
	uint32_t psn0 = base & ~(uint32_t)(PAGE_PSNS - 1);
	uint32_t shift = base % PAGE_PSNS;

	for (uint32_t half = 0; half < 2; half++) {
		uint64_t part = half ? (shift ? bits >> (PAGE_PSNS - shift) : 0) : bits << shift;

		part &= range_bits(psn0, qp->psn_unack, qp->psn_next);
		if (part)
			ack_page_bits(qp, sent_page_of(qp, psn0), psn0, part);
		psn0 = weft_psn_add(psn0, PAGE_PSNS);
	}
}

void sent_drop_all(struct weft_qp *qp)
{
	for (uint32_t i = 0; i <= qp->ep->page_mask; i++)
		if (qp->pages[i] != PAGE_NONE)
			give_back(qp, i * PAGE_PSNS);
	qp->psn_unack = qp->lost_low = qp->psn_next;
	qp->inflight = 0;
	qp->lost = 0;
}
