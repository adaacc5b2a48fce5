/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * engine_fetch - asks for an endpoint's memory before it is needed.
 *
 * A simulator has a hundred thousand endpoints and visits each for some packets: what it touches
 * lies in no cache, and most of it behind pointers, so that the processor cannot run ahead.  Each
 * step follows only pointers that the step before has asked for.  Nothing is changed, and nothing
 * but time depends on it.
 *
 * Hot: all of it.
 */
#include "engine_local.h"

enum { FETCH_QPS = 4, FETCH_PATHS = 12, FETCH_PLANES = 4, LINE = WEFT_CACHE_LINE_BYTES,
	TIMERS = 3 * LINE };

/*
 * The asm is nothing, but something that is done: GCC takes a function that only prefetches for
 * one without effect, and with link-time optimization leaves out whoever calls it.
 */
static inline void fetch_line(const void *at)
{
	__builtin_prefetch(at, 1);
	__asm__ volatile("" : : "r"(at));
}

static inline void fetch(const void *at, size_t bytes)
{
	const uint8_t *line = at;

	for (size_t i = 0; i < bytes; i += LINE)
		fetch_line(line + i);
}

static void fetch_head(const struct weft_endpoint *ep)
{
	fetch(ep, offsetof(struct weft_endpoint, count.lost_fifo));
}

/*
 * Whoever sends next, and up to a few more: the lines that say what they are.  The short arrays lie
 * side by side.
 */
static void fetch_qps(const struct weft_endpoint *ep)
{
	uint32_t n = WEFT_MIN(ep->config.qps, (uint32_t)FETCH_QPS);
	uint32_t sets = WEFT_MIN(ep->config.pathsets, (uint32_t)FETCH_QPS);

	for (uint32_t i = 0; i < n; i++)
		fetch(&ep->qps[i], offsetof(struct weft_qp, lost_low));
	fetch(ep->sets, sets * sizeof(struct pathset));
	fetch(ep->regions, LINE);
	/* The timers' arrays lie in a row. */
	size_t timers = (size_t)((uint8_t *)ep->ready - (uint8_t *)ep->due);

	fetch(ep->due, WEFT_MIN(timers, (size_t)TIMERS));
	fetch(ep->ready, 1);
	fetch(&ep->answers[ep->answer_tail & ep->answer_mask], 2 * sizeof(struct answer));
}

/* What the next few packets are cut from, noted in, and acknowledged in. */
static void fetch_sending(const struct weft_endpoint *ep, const struct weft_qp *qp)
{
	uint32_t page = qp->pages[(qp->psn_next / PAGE_PSNS) & ep->page_mask];

	fetch(&qp->sq[qp->sq_send & ep->sq_mask], sizeof(struct sq_work));
	if (page != PAGE_NONE)
		fetch(&ep->page[page].rec[qp->psn_next % PAGE_PSNS], 2 * LINE);
	page = qp->pages[(qp->psn_unack / PAGE_PSNS) & ep->page_mask];
	if (page != PAGE_NONE) {
		fetch(&ep->page[page], 1);
		fetch(&ep->page[page].rec[qp->psn_unack % PAGE_PSNS], 4 * LINE);
	}
}

static bool is_sending(const struct weft_qp *qp)
{
	return qp->sq_head != qp->sq_tail;
}

static void fetch_rest(const struct weft_endpoint *ep)
{
	uint32_t n = WEFT_MIN(ep->config.qps, (uint32_t)FETCH_QPS);
	uint32_t sets = WEFT_MIN(ep->config.pathsets, (uint32_t)FETCH_QPS);

	for (uint32_t i = 0; i < sets; i++) {
		if (!ep->sets[i].in_use)
			continue;
		fetch(ep->sets[i].plane, ep->config.ports * sizeof(struct plane));
		fetch(ep->sets[i].order, ep->sets[i].paths * sizeof(uint16_t));
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct weft_qp *qp = &ep->qps[i];

		if (!qp->in_use)
			continue;
		if (is_sending(qp)) {
			fetch(&qp->lost_low, LINE);
			fetch(&qp->ask_psn, sizeof(*qp) - offsetof(struct weft_qp, ask_psn));
			fetch(&qp->pages[(qp->psn_unack / PAGE_PSNS) & ep->page_mask], 1);
			fetch(&qp->pages[(qp->psn_next / PAGE_PSNS) & ep->page_mask], 1);
		} else {
			fetch(&qp->rx_last, LINE);
			fetch(&qp->rx_bits[((qp->rx_cack + 1) & ep->rx_mask) / 64], LINE);
			fetch(&qp->rx_last[((qp->rx_cack + 1) & ep->rx_mask) / 64], 1);
		}
	}
}

/* Those that are sent by next, some of each plane whose turn it is soon. */
static void fetch_paths(const struct weft_endpoint *ep, const struct pathset *set)
{
	uint32_t planes = WEFT_MIN(ep->config.ports, (uint32_t)FETCH_PLANES);
	uint32_t turn = set->turn;

	for (uint32_t i = 0; i < planes; i++) {
		turn = turn + 1 < ep->config.ports ? turn + 1 : 0;
		const struct plane *plane = &set->plane[turn];
		uint32_t n = WEFT_MIN(FETCH_PATHS / planes, (uint32_t)plane->left);
		const uint16_t *next = &set->order[plane->first + plane->active - plane->left];

		for (uint32_t k = 0; k < n; k++)
			fetch(&set->path[next[k]], 1);
	}
}

static void fetch_ends(const struct weft_endpoint *ep)
{
	uint32_t n = WEFT_MIN(ep->config.qps, (uint32_t)FETCH_QPS);

	for (uint32_t i = 0; i < n; i++) {
		const struct weft_qp *qp = &ep->qps[i];

		if (!qp->in_use || qp->set == SET_NONE || !is_sending(qp))
			continue;
		fetch_paths(ep, &ep->sets[qp->set]);
		fetch_sending(ep, qp);
	}
}

void weft_endpoint_fetch(const struct weft_endpoint *ep, unsigned step)
{
	if (step == 0)
		fetch_head(ep);
	else if (step == 1)
		fetch_qps(ep);
	else if (step == 2)
		fetch_rest(ep);
	else
		fetch_ends(ep);
}

/* Data: it may be answered, by a path that is known by then (pathset_reply()). */
static void fetch_reply(const struct weft_endpoint *ep, const struct weft_qp *qp, uint32_t port)
{
	const struct pathset *set = &ep->sets[qp->set];
	const struct plane *plane = &set->plane[port];
	uint32_t turn = plane->reply_turn;
	uint32_t path = plane->reply[turn % REPLIES];

	if (turn & 2 && plane->active)
		path = set->order[plane->first + (turn / 4 * 2 + turn % 2) % plane->active];
	if (path != PATH_NONE)
		__builtin_prefetch(&set->path[path]);
}

/*
 * Of a packet that comes soon.  A SACK speaks of packets that left a round trip ago: their records
 * first (step 0), then the paths that they went by, of which the last ones lie side by side.
 */
void weft_packet_fetch(const struct weft_endpoint *ep, const struct weft_pkt *pkt, unsigned step)
{
	const struct weft_qp *qp = &ep->qps[pkt->dqpn & ep->qp_mask];

	if (qp->qpn != pkt->dqpn || qp->set == SET_NONE)
		return;
	if (WEFT_LIKELY(weft_op_is_write(pkt->op))) {
		if (step && pkt->port < ep->config.ports)
			fetch_reply(ep, qp, pkt->port);
		return;
	}
	if (pkt->op != WEFT_OP_SACK || pkt->sack.is_probe)
		return;
	uint32_t psn = weft_psn_add(pkt->sack.cack_psn, (uint32_t)(int32_t)pkt->sack.psn_offset);

	if (!sent_is_open(qp, psn))
		return;
	const struct sent_rec *rec = sent_find(qp, psn);

	if (!step) {
		__builtin_prefetch(rec);
		__builtin_prefetch(sent_page_of(qp, psn), 1);
		return;
	}
	const struct path *path = &ep->sets[qp->set].path[rec->path];

	__builtin_prefetch(path, 1);
	__builtin_prefetch(path - WEFT_MIN(rec->path, (uint16_t)2), 1);
	__builtin_prefetch(path - WEFT_MIN(rec->path, (uint16_t)4), 1);
}
