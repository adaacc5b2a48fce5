/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * endpoint - memory, dispatch, and nothing that could be called a policy.
 *
 * The block is carved twice by the same walk: once from address zero to learn its size, once
 * for real.  Input goes to the file that owns the opcode; output is timers first, then answers
 * (they are small and keep the peer's clock running), then data in turns of SEND_BURST.
 */
#include "engine_local.h"

struct carver {
	uintptr_t at;
	bool dry;
};

/* From the next cache line on. */
static void *carve(struct carver *c, size_t bytes)
{
	c->at = WEFT_ALIGN_UP(c->at, (uintptr_t)WEFT_CACHE_LINE_BYTES);
	void *here = c->dry ? NULL : (void *)c->at;

	c->at += bytes;
	return here;
}

/*
 * Right behind the one before: what is touched together and is often short (a queue of one work,
 * two timers) shares its lines.  A simulator has a hundred thousand endpoints out of its cache.
 */
static void *carve_on(struct carver *c, size_t bytes)
{
	c->at = WEFT_ALIGN_UP(c->at, (uintptr_t)sizeof(uint64_t));
	void *here = c->dry ? NULL : (void *)c->at;

	c->at += bytes;
	return here;
}

static uint32_t page_count(const struct weft_config *config)
{
	return config->inflight_pkts / PAGE_PSNS + 2 * config->qps;
}

static size_t path_count(const struct weft_config *config)
{
	return config->paths ? config->paths : (size_t)config->pathsets * config->paths_per_set;
}

/* Pages that a window can touch: one more than it fills, when it starts inside one. */
static uint32_t page_ring(const struct weft_config *config)
{
	return (uint32_t)weft_pow2_up(config->window_psns / PAGE_PSNS + 1);
}

static uint32_t rx_words(const struct weft_config *config)
{
	return (uint32_t)weft_pow2_up(config->window_psns) / 64;
}

static void carve_qp(struct carver *c, const struct weft_config *config, struct weft_qp *qp)
{
	struct sq_work *sq = carve(c, config->sq_depth * sizeof(*sq));
	uint16_t *pages = carve_on(c, page_ring(config) * sizeof(*pages));
	uint64_t *bits = carve_on(c, rx_words(config) * sizeof(*bits));
	uint64_t *last = carve_on(c, rx_words(config) * sizeof(*last));
	uint64_t *rq = carve_on(c, config->rq_depth * sizeof(*rq));
	struct parked_imm *parked = carve_on(c, config->wimm_max * sizeof(*parked));

	if (c->dry)
		return;
	qp->sq = sq;
	qp->pages = pages;
	qp->rx_bits = bits;
	qp->rx_last = last;
	qp->rq = rq;
	qp->parked = parked;
}

static void carve_ext(struct carver *c, const struct weft_config *config, struct ext *ext)
{
	struct ext parts = {
		.slot = carve(c, config->rq_depth * sizeof(struct recv_slot)),
		.extra = carve(c, config->sq_depth * sizeof(struct work_extra)),
		.out = carve(c, config->rd_atomic_max * sizeof(struct read_out)),
		.in = carve(c, config->rd_atomic_max * sizeof(struct read_in)),
		.tail = carve(c, TAILS * sizeof(struct tail)),
		.result = carve(c, config->rd_atomic_max * sizeof(uint64_t)),
	};

	if (!c->dry)
		*ext = parts;
}

static struct weft_endpoint *carve_all(struct carver *c, const struct weft_config *config)
{
	struct weft_endpoint *ep = carve(c, sizeof(*ep));
	uint32_t timers = config->qps + config->pathsets + 1, exts = config->extended_qps;
	struct weft_endpoint parts = {
		.qps = carve(c, config->qps * sizeof(struct weft_qp)),
		.sets = carve(c, config->pathsets * sizeof(struct pathset)),
		.peer_heads = carve_on(c, weft_pow2_up(config->pathsets) * sizeof(uint32_t)),
		.peer_mask = (uint32_t)weft_pow2_up(config->pathsets) - 1,
		.regions = carve(c, config->regions * sizeof(struct region)),
		.cqs = carve_on(c, config->cqs * sizeof(struct cq)),
		.due = carve_on(c, timers * sizeof(uint64_t)),
		.key = carve_on(c, timers * sizeof(uint64_t)),
		.heap = carve_on(c, timers * sizeof(uint32_t)),
		.heap_pos = carve_on(c, timers * sizeof(uint32_t)),
		.ready = carve_on(c, config->qps * sizeof(uint32_t)),
		.qps_used = carve_on(c, WEFT_DIV_UP(config->qps, 64u) * sizeof(uint64_t)),
		.orders = carve_on(c, path_count(config) * sizeof(uint16_t)),
		.paths = carve(c, path_count(config) * sizeof(struct path)),
		.pasts = carve(c, path_count(config) * sizeof(struct path_past)),
		.page = carve(c, page_count(config) * sizeof(struct sent_page)),
		.page_next = carve_on(c, page_count(config) * sizeof(uint16_t)),
		.answers = carve(c, config->answers * sizeof(struct answer)),
		.events = carve(c, config->events * sizeof(struct weft_event)),
		.exts = carve(c, exts * sizeof(struct ext)),
		.settle = carve(c, exts * sizeof(uint32_t)),
		.failed = carve(c, WEFT_DIV_UP(config->qps, 64u) * sizeof(uint64_t)),
		.recvqs = carve(c, config->recvqs * sizeof(struct recvq)),
		.timers = timers,
	};

	if (!c->dry)
		*ep = parts;
	for (uint32_t i = 0; i < config->qps; i++)
		carve_qp(c, config, c->dry ? NULL : &ep->qps[i]);
	for (uint32_t i = 0; i < exts; i++)
		carve_ext(c, config, c->dry ? NULL : &ep->exts[i]);
	for (uint32_t i = 0; i < config->recvqs; i++) {
		void *ring = carve(c, config->recvq_depth * sizeof(struct weft_recv));

		if (!c->dry)
			ep->recvqs[i].ring = ring;
	}
	for (uint32_t i = 0; i < config->cqs; i++) {
		void *ring = carve(c, config->cq_depth * sizeof(struct weft_done));

		if (!c->dry)
			ep->cqs[i].ring = ring;
	}
	for (uint32_t i = 0; i < config->pathsets; i++) {
		void *plane = carve(c, config->ports * sizeof(struct plane));

		if (c->dry)
			continue;
		ep->sets[i].plane = plane;
	}
	(void)carve(c, 0); /* whole lines */
	return ep;
}

size_t weft_endpoint_size(const struct weft_config *config)
{
	struct carver c = { .dry = true };

	if (weft_config_fault(config))
		return 0;
	carve_all(&c, config);
	return c.at;
}

static void init_masks(struct weft_endpoint *ep, const struct weft_config *config)
{
	ep->config = *config;
	ep->qp_mask = config->qps - 1;
	ep->region_mask = config->regions - 1;
	ep->sq_mask = config->sq_depth - 1;
	ep->rq_mask = config->rq_depth - 1;
	ep->cq_mask = config->cq_depth - 1;
	ep->answer_mask = config->answers - 1;
	ep->wimm_mask = config->wimm_max - 1;
	ep->rd_mask = config->rd_atomic_max - 1;
	ep->page_mask = page_ring(config) - 1;
	ep->rx_mask = rx_words(config) * 64 - 1;
	ep->pages = page_count(config);
	ep->ports_up = (uint32_t)((UINT64_C(1) << config->ports) - 1);
	ep->request_timeout_ns = WEFT_MAX(4 * (uint64_t)config->base_rtt_ns, config->probe_ns_min);
}

int weft_endpoint_init(struct weft_endpoint **out, void *block, const struct weft_config *config)
{
	size_t size = weft_endpoint_size(config);

	if (!size || !block || (uintptr_t)block % 64)
		return WEFT_EINVAL;
	if (!config->zeroed)
		memset(block, 0, size);
	struct carver c = { .at = (uintptr_t)block };
	struct weft_endpoint *ep = carve_all(&c, config);

	WEFT_ASSERT(c.at == (uintptr_t)block + size);
	init_masks(ep, config);
	weft_rng_seed(&ep->rng, config->seed);
	for (uint32_t i = 0; i < config->qps; i++) {
		ep->qps[i].ep = ep;
		ep->qps[i].index = i;
		ep->qps[i].qpn = (uint32_t)weft_rng_u64(&ep->rng) & WEFT_PSN_MASK;
	}
	for (uint32_t i = 0; i < ep->pages; i++)
		ep->page_next[i] = (uint16_t)(i + 1 < ep->pages ? i + 1 : PAGE_NONE);
	timer_init(ep);
	*out = ep;
	return 0;
}

void event_note(struct weft_endpoint *ep, uint16_t kind, uint32_t qpn, uint32_t set, uint64_t a,
	uint32_t b, uint32_t c)
{
	ep->events[ep->event_seq++ & (ep->config.events - 1)] = (struct weft_event){
		.at_ns = ep->now,
		.qpn = qpn,
		.kind = kind,
		.set = (uint16_t)set,
		.a = a,
		.b = b,
		.c = c,
	};
}

/*
 * Nobody sends what is not data in a class that switches cut.  Where one is cut all the same, a
 * probe most of all, its answer would be about a queue that it never stood in.
 */
static bool is_cut(const struct weft_pkt *pkt)
{
	return !weft_op_is_data(pkt->op) &&
	       pkt->mark & (WEFT_MARK_TRIMMED | WEFT_MARK_TRIMMED_LASTHOP);
}

static void input_control(struct weft_endpoint *ep, struct weft_qp *qp, const struct weft_pkt *pkt,
	uint64_t now, struct weft_place *place)
{
	if (pkt->op >= WEFT_OP_SEND_FIRST) {
		respond_extended(qp, pkt, now, place);
	} else if (is_cut(pkt)) {
		drop_count(ep, WEFT_DROP_BAD_FIELD);
	} else if (pkt->op == WEFT_OP_PROBE) {
		ack_out_on_probe(qp, pkt, now);
	} else if (qp->state != WEFT_QP_RTS) {
		drop_count(ep, WEFT_DROP_QP_STATE);
	} else if (pkt->op == WEFT_OP_SACK) {
		ack_in_sack(qp, pkt, now);
	} else if (pkt->op == WEFT_OP_ACK) {
		ack_in_ack(qp, pkt, now);
	} else if (pkt->op == WEFT_OP_NACK) {
		ack_in_nack(qp, pkt, now);
	} else {
		drop_count(ep, WEFT_DROP_NOT_MRC);
	}
}

static bool takes_packets(const struct weft_qp *qp)
{
	return qp->state == WEFT_QP_RTR || qp->state == WEFT_QP_RTS;
}

/* Its peer sends data, and does not know yet that it has ended. */
static bool is_answerable(const struct weft_qp *qp, const struct weft_pkt *pkt)
{
	const struct pathset *set = &qp->ep->sets[qp->set == SET_NONE ? 0 : qp->set];

	return qp->state == WEFT_QP_ERROR && weft_op_is_data(pkt->op) && qp->set != SET_NONE &&
	       qp->rx_mpr && qp->peer == pkt->peer && set->in_use && set->peer == qp->peer &&
	       !(pkt->mark & (WEFT_MARK_TRIMMED | WEFT_MARK_TRIMMED_LASTHOP));
}

/*
 * A QP in ERROR goes on to acknowledge what it had taken, until it is closed: an application may
 * end its QP as soon as it has heard the last message, and that one's sender must not take the
 * loss of an ACK for the loss of its message.
 */
static bool is_late(const struct weft_qp *qp, const struct weft_pkt *pkt)
{
	int32_t ahead = weft_psn_diff(pkt->psn, qp->rx_cack);

	return (ahead <= 0 && ahead >= -WEFT_MPR_MAX_PSNS) ||
	       (ahead > 0 && ahead < (int32_t)qp->rx_mpr && window_has(qp, pkt->psn));
}

/* And to refuse what it has refused: the peer must not take the loss of a NAK for our silence. */
static void answer_late(struct weft_qp *qp, const struct weft_pkt *pkt, uint64_t now)
{
	if (is_late(qp, pkt))
		ack_out_on_data(qp, pkt, false, now);
	else if (qp->nak && pkt->flags & WEFT_BTH_RTX)
		ack_out_ack(qp, qp->nak, pkt->port);
	else
		drop_count(qp->ep, WEFT_DROP_QP_STATE);
}

/* Not for a QP that talks to that peer: for the endpoint itself, or for nobody. */
static void input_other(struct weft_endpoint *ep, const struct weft_pkt *pkt, uint64_t now)
{
	struct weft_qp *qp = qp_by_qpn(ep, pkt->dqpn);

	if (qp && is_answerable(qp, pkt))
		answer_late(qp, pkt, now);
	else if (is_cut(pkt))
		drop_count(ep, WEFT_DROP_BAD_FIELD);
	else if (pkt->op == WEFT_OP_EP_REQUEST)
		probe_on_request(ep, pkt, now);
	else if (pkt->op == WEFT_OP_EP_RESPONSE)
		probe_on_response(ep, pkt, now);
	else if (!qp)
		drop_count(ep, WEFT_DROP_UNKNOWN_QPN);
	else
		drop_count(ep, takes_packets(qp) ? WEFT_DROP_WRONG_PEER : WEFT_DROP_QP_STATE);
}

void weft_input(struct weft_endpoint *ep, const struct weft_pkt pkts[], size_t n, uint64_t now,
	struct weft_place places[])
{
	WEFT_ASSERT(now >= ep->now && now > 0);
	ep->now = now;
	for (size_t i = 0; i < n; i++) {
		struct weft_qp *qp = &ep->qps[pkts[i].dqpn & ep->qp_mask];

		places[i].len_bytes = places[i].list_at = 0;
		if (WEFT_UNLIKELY(qp->qpn != pkts[i].dqpn || !takes_packets(qp) ||
				  qp->peer != pkts[i].peer))
			input_other(ep, &pkts[i], now);
		else if (WEFT_LIKELY(weft_op_is_write(pkts[i].op)))
			respond_write(qp, &pkts[i], now, &places[i]);
		else
			input_control(ep, qp, &pkts[i], now, &places[i]);
	}
}

static void fire_timers(struct weft_endpoint *ep, uint64_t now)
{
	uint32_t timer;

	while ((timer = timer_pop(ep, now)) != UINT32_MAX) {
		if (timer < ep->config.qps)
			loss_on_timer(&ep->qps[timer], now);
		else if (timer < ep->config.qps + ep->config.pathsets)
			probe_on_timer(ep, timer - ep->config.qps, now);
		else
			probe_requests_timer(ep, now);
	}
}

/* One turn for every QP that was ready when we came; those with more to say queue up again. */
static inline size_t send_data(
	struct weft_endpoint *ep, struct weft_pkt pkts[], size_t max, uint32_t ports, uint64_t now)
{
	uint32_t turns = ep->ready_tail - ep->ready_head;
	size_t n = 0;

	while (turns && n < max) {
		struct weft_qp *qp = &ep->qps[ep->ready[ep->ready_head++ & ep->qp_mask]];
		size_t room = WEFT_MIN(max - n, (size_t)SEND_BURST);
		uint32_t blocked = 0;

		qp->ready = false;
		size_t sent = request_send(qp, pkts + n, room, ports, now, &blocked);

		n += sent;
		turns--;
		if (sent)
			loss_arm(qp, now);
		if (sent == room || blocked)
			qp_make_ready(qp);
		if (sent == room)
			turns += room == SEND_BURST; /* it may go again after the others */
	}
	return n;
}

size_t weft_output(struct weft_endpoint *ep, struct weft_pkt pkts[], size_t max,
	uint32_t ports_free, uint64_t now)
{
	WEFT_ASSERT(now >= ep->now && now > 0);
	ep->now = now;
	fire_timers(ep, now);
	if (WEFT_UNLIKELY(ep->settle_n))
		reads_settle(ep);
	ports_free &= ep->ports_up;
	if (!ports_free || !max)
		return 0;
	size_t n = ack_out_keeps(ep, now) ? 0 : ack_out_send(ep, pkts, max, ports_free, now);

	return n + send_data(ep, pkts + n, max - n, ports_free, now);
}

uint64_t weft_next_timeout(const struct weft_endpoint *ep)
{
	return ep->heap_n ? ep->key[ep->heap[0]] : WEFT_NEVER;
}

bool weft_wants_data(const struct weft_endpoint *ep)
{
	return ep->ready_head != ep->ready_tail || ep->settle_n;
}

bool weft_wants_output(const struct weft_endpoint *ep)
{
	return weft_wants_data(ep) || ep->answer_head != ep->answer_tail;
}
