/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * engine_request - works become packets: segmentation, PSNs, the send gates, retransmission.
 *
 * The path is chosen here, at the moment a port can take the packet, and the same cut serves
 * first transmissions and repeats: a record remembers only its work, the offset follows from
 * the PSN.  What is lost goes before what is new, oldest first, on another path [P 4.4], under the
 * same window [P 4.2].
 *
 * Three gates hold a packet back: the congestion window, the peer's receive window (its last
 * acceptable PSN is cack + mpr - 1, [P 8.11]), and max_wimm for immediates.
 *
 * Hot: request_send() runs per packet.
 */
#include "engine_local.h"

#define ASKS 8u /* in a window */

int weft_post_write(struct weft_qp *qp, const struct weft_work *work)
{
	struct weft_endpoint *ep = qp->ep;

	if (qp->state != WEFT_QP_RTS)
		return WEFT_ESTATE;
	if ((uint16_t)(qp->sq_tail - qp->sq_head) > ep->sq_mask)
		return WEFT_EFULL;
	if (work->has_imm && !qp->wimm_tx)
		return WEFT_EINVAL;
	qp->sq[qp->sq_tail++ & ep->sq_mask] = (struct sq_work){
		.data = work->data,
		.va = work->remote_va,
		.id = work->id,
		.len_bytes = work->len_bytes,
		.rkey = work->rkey,
		.imm = work->imm,
		.marks = work->has_imm ? WORK_CONSUMES : 0,
		.has_imm = work->has_imm,
		.silent = work->silent,
	};
	qp_make_ready(qp);
	loss_on_post(qp);
	return 0;
}

enum { FIRST, MIDDLE, LAST, ONLY, PLACES };

static const uint8_t ops[WORK_KINDS][PLACES] = {
	[WEFT_WORK_WRITE] = { WEFT_OP_WRITE_FIRST, WEFT_OP_WRITE_MIDDLE, WEFT_OP_WRITE_LAST,
			      WEFT_OP_WRITE_ONLY },
	[WEFT_WORK_SEND] = { WEFT_OP_SEND_FIRST, WEFT_OP_SEND_MIDDLE, WEFT_OP_SEND_LAST,
			     WEFT_OP_SEND_ONLY },
	[WEFT_WORK_READ] = { [ONLY] = WEFT_OP_READ_REQUEST },
	[WEFT_WORK_FETCH_ADD] = { [ONLY] = WEFT_OP_FETCH_ADD },
	[WEFT_WORK_CMP_SWAP] = { [ONLY] = WEFT_OP_CMP_SWAP },
	[WEFT_WORK_DATAGRAM] = { [ONLY] = WEFT_OP_DATAGRAM },
	[WORK_REPLY] = { WEFT_OP_REPLY_FIRST, WEFT_OP_REPLY_MIDDLE, WEFT_OP_REPLY_LAST,
			 WEFT_OP_REPLY_ONLY },
	[WORK_REFUSED] = { WEFT_OP_REPLY_REFUSED, WEFT_OP_REPLY_REFUSED, WEFT_OP_REPLY_REFUSED,
			   WEFT_OP_REPLY_REFUSED },
	[WORK_XRC_WRITE] = { WEFT_OP_XRC_WRITE_FIRST, WEFT_OP_XRC_WRITE_MIDDLE,
			     WEFT_OP_XRC_WRITE_LAST, WEFT_OP_XRC_WRITE_ONLY },
};

/* The opcode with an immediate follows the one without. */
static uint8_t op_of(const struct sq_work *work, uint32_t index)
{
	if (WEFT_LIKELY(index + 1 != work->pkts))
		return ops[work->kind][index ? MIDDLE : FIRST];
	return (uint8_t)(ops[work->kind][index ? LAST : ONLY] + work->has_imm);
}

/*
 * What all packets of a work have in common, written where the first of a burst leaves; the others
 * are copies of it.  A template beside them would be read by whole vectors right after it was
 * written by fields, and a processor waits for that: each packet, where packets leave one by one.
 */
static inline void stamp(const struct weft_qp *qp, const struct sq_work *work, struct weft_pkt *pkt,
			 uint64_t now)
{
	uint32_t mtu = qp->mtu_bytes;

	*pkt = (struct weft_pkt){
		.peer = qp->peer,
		.tclass = WEFT_CLASS_DATA,
		.op = ops[work->kind][MIDDLE],
		.flags = WEFT_BTH_TS,
		.sqpn_low = (uint16_t)qp->qpn,
		.dqpn = qp->peer_qpn,
		.w = { .rkey = work->rkey,
		       .msg_bytes = work->len_bytes + work->asked_bytes,
		       .imm = work->imm,
		       .msn = work->msn,
		       .rqmsn = work->rqmsn,
		       .len_bytes = (uint16_t)(work->kind == WORK_REFUSED ? 0 : mtu),
		       .ts = (uint16_t)(now / WEFT_TS_UNIT_NS) },
	};
	if (WEFT_UNLIKELY(work->marks & WORK_XRC))
		xrc_stamp(qp, work, pkt);
}

/* What makes it packet `index` of the work; returns its payload length. */
static uint32_t cut(const struct sq_work *work, uint32_t index, uint32_t mtu,
		    struct weft_pkt *pkt)
{
	uint64_t offset = (uint64_t)index * mtu;
	uint32_t len = WEFT_MIN(mtu, work->len_bytes - (uint32_t)offset);

	if (WEFT_UNLIKELY(work->kind == WORK_REFUSED))
		len = 0; /* as many packets as the reply would have had, and nothing in them */
	pkt->op = op_of(work, index);
	if (WEFT_UNLIKELY(work->marks & WORK_SOLICITED) && index + 1 == work->pkts)
		pkt->flags |= WEFT_BTH_SOLICITED;
	pkt->psn = weft_psn_add(work->psn_first, index);
	pkt->w.data = work->data ? work->data + offset : NULL;
	pkt->w.va = work->va + offset;
	pkt->w.len_bytes = (uint16_t)len;
	return len;
}

static inline void put_on_path(struct path *path, uint32_t index, struct weft_pkt *pkt,
			       struct sent_rec *rec)
{
	pkt->ev = path->ev;
	pkt->port = path->plane;
	rec->path = (uint16_t)index;
	rec->path_seq = ++path->sent;
}

static bool is_held(const struct weft_qp *qp, const struct sq_work *work)
{
	if (WEFT_LIKELY(!(work->marks & WORK_GATES)))
		return false;
	if (work->marks & WORK_CONSUMES && qp->wimm_inflight >= qp->wimm_tx)
		return true;
	return work->marks & (WORK_READS | WORK_FENCED | WORK_XRC) && !ext_may_begin(qp, work);
}

/* The next work to cut from, begun if need be; NULL: none, or immediates are at their limit. */
static struct sq_work *current_work(struct weft_qp *qp)
{
	if (qp->sq_send == qp->sq_tail)
		return NULL;
	struct sq_work *work = &qp->sq[qp->sq_send & qp->ep->sq_mask];

	if (qp->send_pkt)
		return work;
	return is_held(qp, work) ? NULL : work;
}

static void begin_work(struct weft_qp *qp, struct sq_work *work)
{
	uint32_t mtu = qp->mtu_bytes;

	work->psn_first = qp->psn_next;
	work->pkts = work->len_bytes ? (work->len_bytes - 1) / mtu + 1 : 1;
	work->msn = qp->msn_next;
	if (WEFT_UNLIKELY(work->marks & WORK_XRC))
		xrc_begin(qp, work);
	if (work->marks & WORK_CONSUMES)
		work->rqmsn = qp->rqmsn_next;
	else if (work->marks & WORK_READS)
		reads_begin(qp->ext, work);
}

/* Its numbers are used up only now: where no path was to be had, it has not begun after all. */
static void count_begun(struct weft_qp *qp, const struct sq_work *work)
{
	qp->msn_next++;
	if (work->marks & WORK_CONSUMES) {
		qp->rqmsn_next++;
		qp->wimm_inflight++;
	} else if (work->marks & WORK_READS) {
		qp->ext->out_tail++;
	}
}

static bool window_open(const struct weft_qp *qp, uint32_t bytes)
{
	return qp->inflight + bytes <= qp->cwnd || !qp->inflight || qp->rescue;
}

static bool peer_has_room(const struct weft_qp *qp)
{
	return sent_outstanding(qp) + 1 < qp->mpr_tx;
}

bool request_has_work(const struct weft_qp *qp)
{
	return qp->lost || qp->sq_send != qp->sq_tail;
}

/*
 * When to ask for a SACK at once: nothing more to send, or the window is too small for the
 * receiver's own threshold to keep our clock running (8.4): below eight of those an eighth of the
 * window asks, or short pipes stand still until the last packet of a window has been answered.
 */
static bool should_ask(const struct weft_qp *qp)
{
	uint32_t threshold = qp->ep->config.sack_bytes;
	bool is_small = qp->cwnd / ASKS < threshold;

	if (qp->sq_send == qp->sq_tail)
		return !qp->lost;
	if (is_small && qp->since_ask >= qp->cwnd / ASKS)
		return true;
	if (qp->inflight + weft_nominal_bytes(qp->mtu_bytes) > qp->cwnd)
		return is_small && !sent_awaits_answer(qp);
	if (!peer_has_room(qp))
		return (uint64_t)qp->mpr_tx * qp->mtu_bytes < 4 * (uint64_t)threshold;
	const struct sq_work *next = &qp->sq[qp->sq_send & qp->ep->sq_mask];

	return !qp->lost && !qp->send_pkt && is_held(qp, next);
}

static void count_sent(struct weft_qp *qp, uint32_t pkts, uint32_t nominal, uint32_t payload)
{
	qp->inflight += nominal;
	qp->since_ask += nominal;
	qp->ep->count.tx_data_pkts += pkts;
	qp->ep->count.tx_data_bytes += payload;
	qp->ep->sets[qp->set].asked = true;
}

/* The last packet of a burst may ask for an answer at once. */
static void ask(struct weft_qp *qp, struct weft_pkt *pkt)
{
	if (!should_ask(qp))
		return;
	pkt->flags |= WEFT_BTH_ACK_REQ;
	qp->since_ask = 0;
	qp->ask_psn = pkt->psn;
}

static uint32_t next_lost(struct weft_qp *qp)
{
	uint32_t psn = qp->lost_low;

	for (;;) {
		uint64_t lost = sent_page_of(qp, psn)->lost >> (psn % PAGE_PSNS);

		if (lost)
			break;
		psn = weft_psn_add(psn & ~(uint32_t)(PAGE_PSNS - 1), PAGE_PSNS);
		WEFT_ASSERT(sent_is_open(qp, psn));
	}
	psn = weft_psn_add(psn, lowest_bit(sent_page_of(qp, psn)->lost >> (psn % PAGE_PSNS)));
	qp->lost_low = psn;
	return psn;
}

enum sent_how { SENT, CLOSED, NO_PORT };

static enum sent_how send_lost(struct weft_qp *qp, struct weft_pkt *pkt, uint32_t ports,
			       uint64_t now)
{
	struct weft_endpoint *ep = qp->ep;
	struct pathset *set = &ep->sets[qp->set];
	uint32_t psn = next_lost(qp);
	struct sent_page *page = sent_page_of(qp, psn);
	struct sent_rec *rec = &page->rec[psn % PAGE_PSNS];
	const struct sq_work *work = &qp->sq[rec->work & ep->sq_mask];

	if (now < qp->hold_ns || !window_open(qp, rec->bytes) ||
	    ((psn - qp->psn_unack) & WEFT_PSN_MASK) + 1 >= qp->mpr_tx)
		return CLOSED;
	/* Where later ones arrive it was chance, or a queue: planes keep their shares then. */
	uint32_t path = set->plane[set->path[rec->path].plane].losses ?
				pathset_pick_away(ep, set, ports, rec->path) :
				pathset_pick(ep, set, ports, rec->path);

	if (path == PATH_NONE)
		return NO_PORT;
	stamp(qp, work, pkt, now);
	uint32_t index = (psn - work->psn_first) & WEFT_PSN_MASK;
	uint32_t len = cut(work, index, qp->mtu_bytes, pkt);

	pkt->flags |= WEFT_BTH_RTX;
	pkt->tclass = WEFT_CLASS_RETX;
	rec->sent16 = time16(now);
	put_on_path(&set->path[path], path, pkt, rec);
	count8(&rec->sends);
	page->lost &= ~(UINT64_C(1) << (psn % PAGE_PSNS));
	qp->lost--;
	qp->rescue = false;
	count_sent(qp, 1, rec->bytes, len);
	ask(qp, pkt);
	ep->count.tx_rtx_pkts++;
	return SENT;
}

/* How many more packets of this size the gates let through; an idle QP may always send one. */
static uint32_t gates(const struct weft_qp *qp, uint32_t nominal)
{
	uint32_t window = qp->cwnd > qp->inflight ? (qp->cwnd - qp->inflight) / nominal : 0;
	uint32_t used = sent_outstanding(qp) + 1;

	window += !window && !qp->inflight;
	return used < qp->mpr_tx ? WEFT_MIN(window, qp->mpr_tx - used) : 0;
}

/*
 * Cuts up to max packets from one work.  Gates, template and counters are paid once per burst,
 * a packet costs its path, its record and its line.
 */
static uint32_t cut_burst(struct weft_qp *qp, const struct sq_work *work, struct weft_pkt pkts[],
			  uint32_t max, uint32_t ports, enum sent_how *how)
{
	struct weft_endpoint *ep = qp->ep;
	struct pathset *set = &ep->sets[qp->set];
	uint32_t mtu = qp->mtu_bytes, index = qp->send_pkt, n = 0;
	const uint8_t *data = work->data ? work->data + (uint64_t)index * mtu : NULL;
	uint64_t va = work->va + (uint64_t)index * mtu, now = ep->now;
	uint32_t end = WEFT_MIN(work->pkts, index + WEFT_MIN(max, (uint32_t)SEND_BURST));
	uint32_t sent16 = time16(now);
	uint16_t nominal = (uint16_t)weft_nominal_bytes(mtu);
	struct sent_page *page = NULL;
	uint16_t picks[SEND_BURST];
	uint32_t picked = pathset_pick_many(ep, set, ports, picks, end - index);

	*how = picked < end - index ? NO_PORT : SENT;
	for (; n < picked; n++) {
		uint32_t psn = weft_psn_add(work->psn_first, index + n);

		if (!page || psn % PAGE_PSNS == 0)
			page = sent_reserve(qp, psn);
		if (!page) {
			ep->count.no_records++;
			*how = NO_PORT; /* again when somebody has given pages back */
			break;
		}
		struct sent_rec *rec = &page->rec[psn % PAGE_PSNS];

		rec->sent16 = sent16;
		rec->work = qp->sq_send;
		rec->bytes = nominal;
		rec->sends = 1;
		rec->cause = 0;
		if (n)
			pkts[n] = pkts[0];
		else
			stamp(qp, work, &pkts[0], now);
		pkts[n].psn = psn;
		pkts[n].w.data = data;
		pkts[n].w.va = va;
		data = data ? data + mtu : NULL;
		va += mtu;
		put_on_path(&set->path[picks[n]], picks[n], &pkts[n], rec);
	}
	return n;
}

/* The ends of a message differ from its middle: another opcode, another length. */
static uint32_t trim_ends(struct weft_qp *qp, const struct sq_work *work, struct weft_pkt pkts[],
			  uint32_t n)
{
	uint32_t mtu = qp->mtu_bytes, index = qp->send_pkt, payload = n * mtu;

	if (index == 0)
		cut(work, 0, mtu, &pkts[0]);
	if (index + n < work->pkts)
		return payload;
	uint32_t len = cut(work, work->pkts - 1, mtu, &pkts[n - 1]);

	sent_find(qp, pkts[n - 1].psn)->bytes = (uint16_t)weft_nominal_bytes(len);
	return payload - mtu + len;
}

static size_t send_new(struct weft_qp *qp, struct weft_pkt pkts[], size_t max, uint32_t ports,
		       uint64_t now, enum sent_how *how)
{
	struct sq_work *work = current_work(qp);

	*how = CLOSED;
	if (!work)
		return 0;
	uint32_t payload = WEFT_MIN(work->len_bytes, qp->mtu_bytes);
	uint32_t open = gates(qp, weft_nominal_bytes(payload));

	if (!open)
		return 0;
	if (!sent_reserve(qp, qp->psn_next)) {
		qp->ep->count.no_records++;
		*how = NO_PORT; /* again when somebody has given pages back */
		return 0;
	}
	if (!pathset_has_port(qp->ep, &qp->ep->sets[qp->set], ports)) {
		*how = NO_PORT;
		return 0;
	}
	if (!qp->send_pkt)
		begin_work(qp, work);
	uint32_t n = cut_burst(qp, work, pkts, (uint32_t)WEFT_MIN(max, (size_t)open), ports, how);

	if (!n)
		return 0;
	if (!qp->send_pkt)
		count_begun(qp, work);
	if (!sent_outstanding(qp))
		qp->progress_ns = now; /* the clock of silence starts with the first packet out */
	qp->psn_next = weft_psn_add(qp->psn_next, n);
	payload = trim_ends(qp, work, pkts, n);
	count_sent(qp, n, n * weft_nominal_bytes(0) + payload, payload);
	qp->send_pkt += n;
	if (qp->send_pkt == work->pkts) {
		qp->send_pkt = 0;
		qp->sq_send++;
	}
	ask(qp, &pkts[n - 1]);
	return n;
}

size_t request_send(struct weft_qp *qp, struct weft_pkt pkts[], size_t max, uint32_t ports,
		    uint64_t now, uint32_t *blocked)
{
	enum sent_how how = SENT;
	size_t n = 0;

	if (qp->state != WEFT_QP_RTS)
		return 0;
	while (n < max && how == SENT) {
		if (WEFT_UNLIKELY(qp->lost)) {
			how = send_lost(qp, &pkts[n], ports, now);
			n += how == SENT;
		} else {
			n += send_new(qp, &pkts[n], max - n, ports, now, &how);
		}
	}
	*blocked = how == NO_PORT;
	return n;
}
