/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * engine_check - every invariant, recounted from scratch.
 *
 * Cached numbers (bytes in flight, active paths, pages in use, lost packets) are what makes
 * the engine fast and what would rot silently.  weft_check() derives each of them again and
 * aborts on a difference; tests call it after every step, a panic hook may, too.
 */
#include "engine_local.h"

static void check_page(const struct weft_qp *qp, uint32_t psn0, uint32_t *lost, uint64_t *inflight)
{
	const struct sent_page *page = sent_page_of(qp, psn0);

	WEFT_ASSERT(!(page->acked & page->lost));
	for (uint32_t i = 0; i < PAGE_PSNS; i++) {
		const struct sent_rec *rec = &page->rec[i];

		if (!sent_is_open(qp, psn0 + i))
			continue;
		WEFT_ASSERT(rec->path < qp->ep->sets[qp->set].paths);
		WEFT_ASSERT((uint16_t)(rec->work - qp->sq_head) <=
			    (uint16_t)(qp->sq_send - qp->sq_head));
		if (page->lost >> i & 1) {
			(*lost)++;
			WEFT_ASSERT(weft_psn_diff(psn0 + i, qp->lost_low) >= 0);
		} else if (!(page->acked >> i & 1)) {
			*inflight += rec->bytes;
		}
	}
}

static void check_extended(const struct weft_qp *qp)
{
	const struct weft_endpoint *ep = qp->ep;
	const struct ext *ext = qp->ext;
	uint32_t parked = 0, reads = 0;

	WEFT_ASSERT(ext->in_use && (ext->qp == qp || ext->replies == qp));
	if (qp->kind != QP_EXTENDED)
		return;
	/* Replies may outlive a refused request, and nothing else. */
	WEFT_ASSERT(ext->replies->state != WEFT_QP_ERROR || ext->qp->state == WEFT_QP_ERROR);
	WEFT_ASSERT((uint16_t)(ext->out_tail - ext->out_head) <= ep->rd_mask + 1);
	for (uint32_t i = 0; i <= ep->wimm_mask; i++)
		parked += qp->parked[i].valid;
	for (uint32_t i = 0; i <= ep->rd_mask; i++)
		parked += ext->in[i].valid;
	WEFT_ASSERT(ext->tails <= TAILS);
	WEFT_ASSERT(parked + ext->tails == qp->parked_imms);
	if (qp->state != WEFT_QP_RTS)
		return;
	for (uint16_t i = qp->sq_head; i != qp->sq_send; i++)
		reads += (qp->sq[i & ep->sq_mask].marks & WORK_READS) != 0;
	WEFT_ASSERT(reads == (uint16_t)(ext->out_tail - ext->out_head)); /* one packet each */
	WEFT_ASSERT((uint16_t)(ext->replies->sq_tail - ext->replies->sq_head) <= ep->rd_mask + 1);
}

static uint32_t check_sending(const struct weft_qp *qp)
{
	uint32_t lost = 0, pages = 0;
	uint64_t inflight = 0;

	for (uint32_t i = 0; i <= qp->ep->page_mask; i++)
		pages += qp->pages[i] != PAGE_NONE;
	if (qp->state != WEFT_QP_RTS) {
		WEFT_ASSERT(!qp->inflight && !qp->lost);
		return pages;
	}
	if (sent_outstanding(qp))
		for (uint32_t psn = qp->psn_unack & ~(uint32_t)(PAGE_PSNS - 1);
			weft_psn_diff(psn, qp->psn_next) < 0; psn = weft_psn_add(psn, PAGE_PSNS))
			check_page(qp, psn, &lost, &inflight);
	WEFT_ASSERT(lost == qp->lost);
	WEFT_ASSERT(inflight == qp->inflight);
	WEFT_ASSERT(sent_outstanding(qp) < qp->ep->config.window_psns);
	WEFT_ASSERT((uint16_t)(qp->sq_tail - qp->sq_head) <= qp->ep->config.sq_depth);
	WEFT_ASSERT((uint16_t)(qp->sq_send - qp->sq_head) <= (uint16_t)(qp->sq_tail - qp->sq_head));
	WEFT_ASSERT(qp->wimm_inflight <= qp->wimm_tx);
	WEFT_ASSERT(qp->cwnd > 0);
	return pages;
}

static void check_receiving(const struct weft_qp *qp)
{
	const struct weft_endpoint *ep = qp->ep;
	uint32_t arrived = 0;

	if (qp->state != WEFT_QP_RTR && qp->state != WEFT_QP_RTS)
		return;
	for (uint32_t i = 0; i < (ep->rx_mask + 1) / 64; i++) {
		arrived += weft_popcount64(qp->rx_bits[i]);
		WEFT_ASSERT(!(qp->rx_last[i] & ~qp->rx_bits[i]));
	}
	WEFT_ASSERT(arrived == qp->rx_ooo);
	WEFT_ASSERT(!window_has(qp, weft_psn_add(qp->rx_cack, 1)));
	WEFT_ASSERT(!qp->rx_ooo || weft_psn_diff(qp->rx_max, qp->rx_cack) > 0);
	WEFT_ASSERT(weft_psn_diff(qp->rx_max, qp->rx_cack) < (int32_t)ep->config.window_psns);
	WEFT_ASSERT((uint16_t)(qp->rq_tail - qp->rq_head) <= ep->config.rq_depth);
}

static void check_plane(const struct pathset *set, uint32_t p)
{
	const struct plane *plane = &set->plane[p];

	WEFT_ASSERT(plane->active <= plane->total && plane->active <= plane->target);
	WEFT_ASSERT(plane->left <= plane->active && !plane->left == !plane->active);
	WEFT_ASSERT((set->planes_mask >> p & 1) == (plane->total > 0));
	WEFT_ASSERT((set->own_empty >> p & 1) == (plane->active == 0));
	for (uint32_t i = 0; i < plane->total; i++) {
		const struct path *path = &set->path[set->order[plane->first + i]];
		bool up = path->state == WEFT_PATH_GOOD || path->state == WEFT_PATH_SKIP;

		WEFT_ASSERT(path->plane == p);
		WEFT_ASSERT(path->state != WEFT_PATH_EMPTY);
		WEFT_ASSERT(i >= plane->active || up);
		/* No good path waits while the rotation has room. */
		WEFT_ASSERT(i < plane->active || !up || plane->active == plane->target);
	}
}

static void check_set(const struct weft_endpoint *ep, uint32_t index)
{
	const struct pathset *set = &ep->sets[index];
	uint32_t active = 0, users = 0;

	for (uint32_t p = 0; p < ep->config.ports; p++) {
		check_plane(set, p);
		active += set->plane[p].active;
	}
	WEFT_ASSERT(active == set->active);
	for (uint32_t i = 0; i < ep->config.qps; i++) {
		const struct weft_qp *qp = &ep->qps[i];

		users += qp->set == index && (qp->state == WEFT_QP_RTR || qp->state == WEFT_QP_RTS);
	}
	WEFT_ASSERT(users == set->users);
}

static void check_timers(const struct weft_endpoint *ep)
{
	for (uint32_t i = 0; i < ep->heap_n; i++) {
		uint32_t timer = ep->heap[i];

		WEFT_ASSERT(ep->heap_pos[timer] == i);
		WEFT_ASSERT(ep->key[timer] <= ep->due[timer]);
		WEFT_ASSERT(!i || ep->key[ep->heap[(i - 1) / 4]] <= ep->key[timer]);
	}
	/* Whoever waits for an answer has a deadline: nothing can hang. */
	for (uint32_t i = 0; i < ep->config.qps; i++) {
		const struct weft_qp *qp = &ep->qps[i];

		if (qp->state == WEFT_QP_RTS &&
			(sent_outstanding(qp) || qp->sq_head != qp->sq_send))
			WEFT_ASSERT(ep->due[i] != WEFT_NEVER);
	}
}

void weft_check(const struct weft_endpoint *ep)
{
	uint32_t pages = 0, free_pages = 0;

	for (uint32_t i = 0; i < ep->config.qps; i++) {
		const struct weft_qp *qp = &ep->qps[i];

		WEFT_ASSERT(qp->in_use == (qp->state != WEFT_QP_RESET));
		WEFT_ASSERT(qp->in_use == (qp_next_used(ep, i) == i));
		if (!qp->in_use)
			continue;
		pages += check_sending(qp);
		check_receiving(qp);
		WEFT_ASSERT((qp->kind == QP_STRICT) == !qp->ext);
		if (qp->ext)
			check_extended(qp);
	}
	for (uint32_t page = ep->page_free; page != PAGE_NONE; page = ep->page_next[page])
		free_pages++;
	WEFT_ASSERT(pages == ep->pages_used && pages + free_pages == ep->pages);
	for (uint32_t i = 0; i < ep->config.pathsets; i++)
		if (ep->sets[i].in_use) {
			uint32_t at = SET_NONE;

			while ((at = pathset_of_peer(ep, ep->sets[i].peer, at)) != i)
				WEFT_ASSERT(at != SET_NONE);
			check_set(ep, i);
		}
	check_timers(ep);
	WEFT_ASSERT(ep->answer_tail - ep->answer_head <= ep->config.answers);
	WEFT_ASSERT(ep->settle_n <= ep->config.extended_qps);
	WEFT_ASSERT(ep->ready_tail - ep->ready_head <= ep->config.qps);
	for (uint32_t i = 0; i < ep->config.cqs; i++)
		WEFT_ASSERT(ep->cqs[i].tail - ep->cqs[i].head <= ep->config.cq_depth);
}
