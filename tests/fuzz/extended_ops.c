/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * extended_ops - the input decides what two endpoints of the extended profile do and suffer.
 *
 * Two connections and one of datagrams; receives of end 1 come from one shared queue.  The
 * first connection is honest: packets are lost, doubled, cut and reordered, never changed, so all
 * that is posted ends well, in order, once, with the right bytes.  The second one and the
 * datagrams are lied to as well: for them bounds and an end in bounded time are what remains, and
 * that the first one does not notice.  A third one is of XRC, to two queues, and honest in every
 * other input.  The second one's peer may also come by a memory window, which is bound, shut, and
 * given back by messages.  weft_check() follows each call.
 */
#include "extended_ops.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

uint64_t ops_calls;

/* ---- the application ---- */

static void post_shared(struct ops *o)
{
	uint32_t n = o->shared_posted;
	struct weft_recv recv = { .id = SHARED_ID | n, .to = area[1][SHARED].recv[n % BUFFERS],
				  .len_bytes = MSG_MAX, .scattered = n & 1 };

	if (n - o->shared_done < BUFFERS / 2 && !weft_recvq_post(o->ep[1], o->recvq, &recv)) {
		o->shared_posted++;
		if (o->shared_users[n % BUFFERS]++)
			o->shared_mixed[n % BUFFERS] = true;
	}
	called(o, 1);
}

static void post_recv(struct ops *o, uint32_t c)
{
	struct half *h = &o->half[c][0];
	struct weft_recv recv = { .id = h->recvs, .to = area[0][c].recv[h->recvs % BUFFERS],
				  .len_bytes = MSG_MAX, .scattered = h->recvs & 1 };

	if (h->recvs - h->recvs_done < BUFFERS / 2 && !weft_post_receive(h->qp, &recv))
		h->recvs++;
	called(o, 0);
}

static void post_xrc(struct ops *o, uint32_t q)
{
	uint32_t n = o->xrc_posted[q];
	struct weft_recv recv = { .id = XRC_ID(q) | n % BUFFERS, .scattered = n & 1,
				  .to = area[1][XRC].recv[q * BUFFERS / 2 + n % (BUFFERS / 2)],
				  .len_bytes = MSG_MAX };

	if (n - o->xrc_done[q] < BUFFERS / 4 &&
	    !weft_recvq_post(o->ep[1], o->xrc_queue[q], &recv))
		o->xrc_posted[q]++;
	called(o, 1);
}

static void call_recv(struct ops *o)
{
	if (chance(o, 64))
		post_xrc(o, below(o, QUEUES));
	else if (chance(o, 128))
		post_shared(o);
	else
		post_recv(o, below(o, CONNS));
}

static struct job draw(struct ops *o, struct half *h)
{
	struct job job = {
		.kind = (uint8_t)below(o, WEFT_WORK_DATAGRAM),
		.silent = chance(o, 40), .has_imm = chance(o, 80),
		.len_bytes = chance(o, 32) ? 0 : below(o, MSG_MAX + 1),
		.from = below(o, SOURCE_BYTES - MSG_MAX),
		.to = h->posted % JOBS * MSG_MAX,
		.before = h->model,
		.queue = (uint8_t)below(o, QUEUES),
	};

	job.has_imm &= job.kind <= WEFT_WORK_SEND;
	return job;
}

static void call_post(struct ops *o)
{
	uint32_t c = below(o, CONNS + 1), slot;

	c = c == CONNS ? XRC : c;
	int e = c == XRC ? 0 : (int)below(o, 2);
	struct half *h = &o->half[c][e], *peer = &o->half[c][!e];
	struct job job = draw(o, h);
	uint64_t add = byte(o);
	bool read = job.kind == WEFT_WORK_READ, write = job.kind == WEFT_WORK_WRITE;

	if (h->posted - h->completed >= JOBS / 2)
		return;
	slot = h->posted % JOBS;
	struct weft_work work = {
		.id = h->posted, .kind = job.kind, .len_bytes = job.len_bytes,
		.data = source[e] + job.from, .imm = h->posted,
		.remote_va = read ? VA + job.from :
			     write ? VA + offsetof(struct area, target) + job.to : VA,
		.rkey = read ? peer->source_key : peer->key,
		.has_imm = job.has_imm, .silent = job.silent, .fence = chance(o, 32),
		.to = read ? area[e][c].dest[slot] : (uint8_t *)&area[e][c].results[slot],
		.scattered = read && chance(o, 64),
		.srqn = c == XRC ? o->srqn[job.queue] : 0,
	};
	if (c == 1 && !e && o->window && chance(o, 64)) {
		work.rkey = o->window;
		work.shuts = job.kind == WEFT_WORK_SEND && !job.has_imm ? o->window : 0;
	}
	if (job.kind == WEFT_WORK_FETCH_ADD)
		work.operand[0] = add;
	work.operand[1] = add;
	if (job.kind == WEFT_WORK_CMP_SWAP)
		work.operand[0] = h->model + (add & 1);
	if (read)
		memset(area[e][c].dest[slot], 0x77, MSG_MAX);
	if (write)
		memset(area[!e][c].target + job.to, 0x77, job.len_bytes);
	int error = weft_post(h->qp, &work);

	called(o, e);
	if (error)
		return;
	if (job.kind == WEFT_WORK_FETCH_ADD)
		h->model += add;
	else if (job.kind == WEFT_WORK_CMP_SWAP && !(add & 1))
		h->model = add;
	h->jobs[slot] = job;
	h->posted++;
}

/* End 1 lets the second connection in by a window: for that queue pair, or for its domain. */
static void call_window(struct ops *o)
{
	struct weft_memwin to = { .va = VA, .base = area[1][1].target, .len_bytes = TARGET_BYTES,
				  .access = below(o, 8), .rkey = o->window ^ byte(o),
				  .qpn = chance(o, 128) ? o->half[1][1].qp->qpn : WEFT_ANY_QP };

	if (!o->window) {
		if (weft_memwin_open(o->ep[1], 1, byte(o) << 24, &o->window))
			o->window = 0;
	} else if (chance(o, 128)) {
		if (!weft_memwin_bind(o->ep[1], o->window, &to))
			o->window = to.rkey;
	} else if (chance(o, 128)) {
		weft_memwin_shut(o->ep[1], o->window);
		WEFT_ASSERT(!weft_memwin_is_bound(o->ep[1], o->window));
	} else {
		WEFT_ASSERT(!weft_memwin_close(o->ep[1], o->window));
		o->window = 0;
	}
	called(o, 1);
}

static void call_datagram(struct ops *o)
{
	int e = (int)below(o, 2);
	struct weft_work work = {
		.kind = WEFT_WORK_DATAGRAM, .data = source[e], .qkey = 5, .group = byte(o),
		.len_bytes = below(o, o->config.mtu_bytes + 2), .has_imm = chance(o, 128),
		.solicited = true,
	};

	weft_post(o->dgram[e], &work);
	called(o, e);
}

/* ---- the oracle: of honest connections ---- */

static bool is_straight(const struct ops *o, uint32_t c)
{
	return !c || (c == XRC && o->xrc_is_honest);
}

static void verify_job(struct ops *o, uint32_t c, int e, uint32_t id)
{
	const struct job *job = &o->half[c][e].jobs[id % JOBS];

	if (job->kind == WEFT_WORK_WRITE)
		WEFT_ASSERT(!memcmp(area[!e][c].target + job->to, source[e] + job->from,
				    job->len_bytes));
	else if (job->kind == WEFT_WORK_READ)
		WEFT_ASSERT(!memcmp(area[e][c].dest[id % JOBS], source[!e] + job->from,
				    job->len_bytes));
	else if (job->kind != WEFT_WORK_SEND)
		WEFT_ASSERT(area[e][c].results[id % JOBS] == job->before);
}

static void work_done(struct ops *o, uint32_t c, int e, const struct weft_done *done)
{
	struct half *h = &o->half[c][e];

	WEFT_ASSERT(done->id < h->posted && done->id >= h->completed);
	for (; h->completed < done->id; h->completed++) {
		WEFT_ASSERT(h->jobs[h->completed % JOBS].silent);
		if (is_straight(o, c))
			verify_job(o, c, e, h->completed);
	}
	const struct job *job = &h->jobs[done->id % JOBS];

	h->completed++;
	WEFT_ASSERT(done->kind == job->kind + (job->kind > 0));
	if (!is_straight(o, c))
		return;
	WEFT_ASSERT(done->status == WEFT_OK);
	WEFT_ASSERT(done->len_bytes == (job->kind > WEFT_WORK_READ ? 8 : job->len_bytes));
	verify_job(o, c, e, (uint32_t)done->id);
}

static bool consumes(const struct job *job)
{
	return job->kind == WEFT_WORK_SEND || (job->kind == WEFT_WORK_WRITE && job->has_imm);
}

/* False: another message may have written there as well. */
static bool leave_shared(struct ops *o, uint64_t id)
{
	uint32_t buffer = (uint32_t)(id % BUFFERS);
	bool alone = !o->shared_mixed[buffer];

	o->shared_done++;
	if (!--o->shared_users[buffer])
		o->shared_mixed[buffer] = false;
	return alone;
}

static void recv_done(struct ops *o, uint32_t c, int e, const struct weft_done *done)
{
	struct half *h = &o->half[c][e];
	const struct half *peer = &o->half[c][!e];

	const uint8_t *buffer = area[e][done->id & SHARED_ID ? SHARED : c].recv[done->id % BUFFERS];
	uint32_t queue = (uint32_t)(done->id >> 16) & 1;
	bool alone = true;

	if (done->id & SHARED_ID) {
		alone = leave_shared(o, done->id);
	} else if (c == XRC) {
		uint32_t n = o->xrc_done[queue]++;

		WEFT_ASSERT(done->id == (XRC_ID(queue) | n % BUFFERS));
		buffer = area[1][XRC].recv[queue * BUFFERS / 2 + n % (BUFFERS / 2)];
	} else {
		WEFT_ASSERT(done->id == h->recvs_done++);
	}
	if (!is_straight(o, c))
		return;
	WEFT_ASSERT(done->status == WEFT_OK);
	while (h->heard < peer->posted && !consumes(&peer->jobs[h->heard % JOBS]))
		h->heard++;
	WEFT_ASSERT(h->heard < peer->posted);
	const struct job *job = &peer->jobs[h->heard % JOBS];

	WEFT_ASSERT(c != XRC || (job->queue == queue && done->recvq == o->xrc_queue[queue]));
	WEFT_ASSERT(done->len_bytes == job->len_bytes);
	WEFT_ASSERT(done->flags == (job->has_imm ? WEFT_DONE_HAS_IMM : 0));
	WEFT_ASSERT(!job->has_imm || done->imm == h->heard);
	WEFT_ASSERT((done->kind == WEFT_DONE_RECV) == (job->kind == WEFT_WORK_SEND));
	if (job->kind == WEFT_WORK_SEND)
		WEFT_ASSERT(!alone ||
			    !memcmp(buffer, source[!e] + job->from, job->len_bytes));
	else
		verify_job(o, c, !e, h->heard);
	h->heard++;
}

static void poll(struct ops *o, int e)
{
	struct weft_done done;

	for (uint32_t c = 0; c <= XRC; c++) {
		while (weft_poll(o->ep[e], c, &done, 1)) {
			bool recv = done.kind == WEFT_DONE_RECV || done.kind == WEFT_DONE_RECV_IMM;

			WEFT_ASSERT(done.status <= WEFT_LOCAL_MEMORY);
			if (c == SHARED) {
				if (recv && done.id & SHARED_ID)
					(void)leave_shared(o, done.id);
				continue;
			}
			WEFT_ASSERT(done.user == o->half[c][e].tenant);
			if (recv)
				recv_done(o, c, e, &done);
			else
				work_done(o, c, e, &done);
		}
	}
	called(o, e);
}

/* ---- the network ---- */

static bool is_honest(const struct ops *o, uint32_t to, uint32_t qpn)
{
	return (qpn | 1) == (o->half[0][to].qp->qpn | 1) ||
	       (o->xrc_is_honest && (qpn | 1) == (o->half[XRC][to].qp->qpn | 1));
}

static void change(struct ops *o, struct weft_pkt *pkt)
{
	uint64_t mask = UINT64_C(1) << below(o, 64);
	struct weft_pkt_write *w = &pkt->w;

	if (!weft_op_is_data(pkt->op)) { /* any field of any answer, but the widths of the wire */
		if (pkt->op == WEFT_OP_NACK)
			pkt->nack.psn ^= (uint32_t)mask & WEFT_PSN_MASK;
		else if (pkt->op == WEFT_OP_ACK)
			pkt->ack.msn ^= (uint32_t)mask & WEFT_PSN_MASK;
		else if (pkt->op == WEFT_OP_SACK)
			pkt->sack.bitmap ^= mask;
		if (pkt->op == WEFT_OP_NACK && chance(o, 128))
			pkt->nack.reason = chance(o, 128) ? WEFT_NACK_RNR : (uint8_t)byte(o);
		if (pkt->op == WEFT_OP_ACK && chance(o, 128))
			pkt->ack.syndrome = (uint8_t)byte(o);
		return;
	}
	switch (below(o, 10)) {
	case 0: w->va ^= mask; break;
	case 1: w->rkey ^= (uint32_t)mask; break;
	case 2: w->msg_bytes ^= (uint32_t)mask; break;
	case 3: w->rqmsn ^= (uint16_t)mask; break;
	case 4: w->rqmsn = (uint16_t)(w->rqmsn + below(o, 8) - 4); break;
	case 5: pkt->psn = weft_psn_add(pkt->psn, below(o, 16)); break;
	case 6: w->len_bytes = (uint16_t)below(o, 1100); break;
	case 7: pkt->dqpn ^= 1; break;
	case 8: w->srqn ^= (uint32_t)mask & WEFT_PSN_MASK; break;
	default: pkt->op = (uint8_t)(chance(o, 64) ? 0xC6 + below(o, 6) : 0xE0 + below(o, 32));
	}
	w->data = source[0];
}

static void fly(struct ops *o, uint32_t from, struct weft_pkt pkt)
{
	if (o->flights == FLIGHTS)
		return;
	o->flight[o->flights].to = (uint8_t)pkt.peer;
	pkt.peer = from;
	o->flight[o->flights++].pkt = pkt;
}

static void net(struct ops *o, uint32_t from, struct weft_pkt pkt)
{
	if (o->healed) {
		fly(o, from, pkt);
		return;
	}
	if (chance(o, o->drop))
		return;
	if (weft_op_is_data(pkt.op) && chance(o, o->trim)) {
		pkt.mark = WEFT_MARK_TRIMMED;
		pkt.w.len_bytes = 0;
		pkt.w.va = pkt.w.rkey = pkt.w.msg_bytes = 0;
		pkt.w.data = NULL;
	} else if (chance(o, o->change) && !is_honest(o, pkt.peer, pkt.dqpn)) {
		change(o, &pkt);
		if (is_honest(o, pkt.peer, pkt.dqpn))
			return;
	}
	if (chance(o, o->dup))
		fly(o, from, pkt);
	fly(o, from, pkt);
}

static uint32_t output(struct ops *o, int e, uint32_t max)
{
	struct weft_pkt pkts[8];
	uint32_t n = (uint32_t)weft_output(o->ep[e], pkts, WEFT_MIN(max, 8u),
					   o->healed ? UINT32_MAX : 1 + below(o, 3), o->now);

	called(o, e);
	for (uint32_t i = 0; i < n; i++)
		net(o, (uint32_t)e, pkts[i]);
	return n;
}

static bool inside(const void *block, size_t size, const uint8_t *to, uint32_t len_bytes)
{
	const uint8_t *start = block;

	return to >= start && len_bytes <= size && to <= start + (size - len_bytes);
}

static void place(struct ops *o, int e, const struct weft_pkt *pkt, const struct weft_place *p)
{
	uint8_t *to = p->list_at ? (uint8_t *)p->to + (p->list_at - 1) : p->to;
	bool mine = inside(&area[e][SHARED], sizeof(struct area), to, p->len_bytes);

	for (uint32_t c = 0; c <= XRC; c++)
		if (c != SHARED && (o->half[c][e].qp->qpn | 1) == (pkt->dqpn | 1))
			mine |= inside(&area[e][c], sizeof(struct area), to, p->len_bytes);
	WEFT_ASSERT(mine && p->from == pkt->w.data);
	WEFT_ASSERT(p->len_bytes <= pkt->w.len_bytes && p->len_bytes + 8u >= pkt->w.len_bytes);
	memcpy(to, p->from, p->len_bytes);
}

static void deliver(struct ops *o)
{
	uint32_t i = !o->healed && chance(o, o->disorder) && o->flights ? below(o, o->flights) : 0;

	if (!o->flights)
		return;
	struct flight f = o->flight[i];
	struct weft_place p;

	memmove(&o->flight[i], &o->flight[i + 1], (--o->flights - i) * sizeof(f));
	o->old[o->olds++ % WEFT_COUNT(o->old)] = f;
	weft_input(o->ep[f.to], &f.pkt, 1, o->now, &p);
	if (p.len_bytes)
		place(o, f.to, &f.pkt, &p);
	called(o, f.to);
}

static void call_old(struct ops *o)
{
	if (o->olds && o->flights < FLIGHTS)
		o->flight[o->flights++] =
			o->old[below(o, WEFT_MIN(o->olds, (uint32_t)WEFT_COUNT(o->old)))];
}

static void call_time(struct ops *o)
{
	uint64_t due = weft_next_timeout(o->ep[below(o, 2)]), before = o->now;

	if (chance(o, 64) && due != WEFT_NEVER)
		o->now = WEFT_MAX(o->now, due);
	else
		o->now += below(o, 20000);
	o->longest_ns = WEFT_MAX(o->longest_ns, o->now - before);
}

/* Cables are pulled and put in again. */
static void call_port(struct ops *o)
{
	int e = (int)below(o, 2);

	weft_port_mark(o->ep[e], below(o, PORTS), chance(o, 160), o->now);
	called(o, e);
}

/* The one that is lied to begins anew; or its memory goes away under it. */
static void call_life(struct ops *o)
{
	struct half *h = &o->half[1][below(o, 2)];

	if (chance(o, 128)) {
		weft_region_drop(h->qp->ep, chance(o, 128) ? h->key : h->source_key);
		return;
	}
	if (chance(o, 64))
		weft_qp_move(h->qp, WEFT_QP_ERROR, NULL, o->now);
	poll(o, 0);
	poll(o, 1);
	for (int e = 0; e < 2; e++) /* what a queue pair had taken and not told is lost with it */
		o->shared_done += e && o->half[1][e].qp->state != WEFT_QP_ERROR ?
					  (uint16_t)(o->half[1][e].qp->rq_tail -
						     o->half[1][e].qp->rq_head) :
					  0;
	close_conn(o, 1);
	open_conn(o, 1);
}

/* ---- the end ---- */

static bool all_done(struct ops *o)
{
	bool done = true;

	for (int e = 0; e < 2; e++) {
		struct half *h = &o->half[0][e], *peer = &o->half[0][!e];

		WEFT_ASSERT(h->qp->state == WEFT_QP_RTS);
		while (h->heard < peer->posted && !consumes(&peer->jobs[h->heard % JOBS]))
			h->heard++;
		done &= h->qp->sq_head == h->qp->sq_tail && h->heard == peer->posted;
	}
	struct half *from = &o->half[XRC][0], *to = &o->half[XRC][1];

	if (!o->xrc_is_honest)
		return done;
	WEFT_ASSERT(from->qp->state == WEFT_QP_RTS && to->qp->state == WEFT_QP_RTS);
	while (to->heard < from->posted && !consumes(&from->jobs[to->heard % JOBS]))
		to->heard++;
	return done && from->qp->sq_head == from->qp->sq_tail && to->heard == from->posted;
}

static void finish(struct ops *o)
{
	uint64_t limit_ns = o->now + UINT64_C(4000000000) + 8 * o->longest_ns;

	o->healed = true;
	for (uint32_t i = 0; i < 2 * PORTS; i++)
		weft_port_mark(o->ep[i & 1], i / 2, true, o->now);
	for (;;) {
		uint64_t at = WEFT_NEVER;

		post_shared(o);
		post_recv(o, 0);
		for (uint32_t q = 0; q < QUEUES; q++)
			post_xrc(o, q);
		for (int e = 0; e < 2; e++) {
			while (output(o, e, 8) == 8)
				;
			poll(o, e);
			at = WEFT_MIN(at, weft_next_timeout(o->ep[e]));
		}
		if (all_done(o))
			return;
		WEFT_ASSERT(o->now < limit_ns);
		if (o->flights) {
			o->now += 100;
			deliver(o);
			continue;
		}
		WEFT_ASSERT(at != WEFT_NEVER);
		o->now = WEFT_MAX(at, o->now + 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	static struct ops o;

	if (!source[0][1])
		for (uint32_t i = 0; i < SOURCE_BYTES; i++) {
			source[0][i] = (uint8_t)(i * 31 + 1 + (i >> 8));
			source[1][i] = (uint8_t)(i * 17 + 3 + (i >> 8));
		}
	memset(&o, 0, sizeof(o));
	o.at = data;
	o.end = data + len_bytes;
	o.now = 1000;
	start(&o);
	while (o.at < o.end) {
		uint32_t what = byte(&o);

		switch (what % 16) {
		case 0: case 1: case 2: case 3:
			output(&o, what >> 4 & 1, 1 + (what >> 5));
			break;
		case 4: case 5: case 6: case 7: case 8:
			for (uint32_t i = what >> 5; i < 8; i++)
				deliver(&o);
			break;
		case 9: case 10: call_post(&o); break;
		case 11: call_recv(&o); break;
		case 12: call_time(&o); break;
		case 13: poll(&o, what >> 4 & 1); break;
		case 14: call_old(&o); break;
		default:
			if (what >> 4 < 8)
				call_datagram(&o);
			else if (what >> 4 == 15)
				call_life(&o);
			else if (what >> 4 > 12)
				call_port(&o);
			else if (what >> 4 > 9)
				call_window(&o);
		}
	}
	finish(&o);
	return 0;
}
