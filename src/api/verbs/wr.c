/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wr - works put together call by call: ibv_wr_start, ibv_wr_rdma_write, ibv_wr_set_sge, ...
 *
 * They are collected as the works of ibv_post_send and posted by ibv_wr_complete, all or none: no
 * work is executed before that has returned success (ibv_wr_post(3)).  Their gather lists and
 * inline bytes lie in arrays with room for a whole queue.
 */
#include "verbs_local.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct build {
	struct ibv_send_wr *wrs;
	struct weft_dev_send *sends; /* the same in the device's words */
	struct weft_dev_bind *binds;
	struct ibv_sge *sges; /* per work: max_send_sge of them */
	uint8_t *bytes;       /* per work: max_inline_data of them */
	uint32_t n;
	int error;
	pthread_mutex_t mutex; /* from start to complete or abort */
};

static struct qp *of(struct ibv_qp_ex *ibv)
{
	return (struct qp *)(void *)ibv;
}

static void fail(struct build *b, int error)
{
	if (!b->error)
		b->error = error;
}

/* The next work; a spare one behind the last where there is no room. */
static struct ibv_send_wr *add(struct ibv_qp_ex *ibv, enum ibv_wr_opcode opcode)
{
	struct qp *qp = of(ibv);
	struct build *b = qp->build;

	if (b->n == qp->cap.max_send_wr)
		fail(b, ENOMEM);
	else
		b->n++;
	struct ibv_send_wr *wr = &b->wrs[b->n - 1];
	memset(wr, 0, sizeof(*wr));
	wr->wr_id = ibv->wr_id;
	wr->send_flags = ibv->wr_flags;
	wr->opcode = opcode;
	wr->sg_list = &b->sges[(size_t)(b->n - 1) * qp->cap.max_send_sge];
	return wr;
}

static struct ibv_send_wr *last(struct build *b)
{
	if (!b->n) {
		fail(b, EINVAL);
		return &b->wrs[0];
	}
	return &b->wrs[b->n - 1];
}

static void wr_start(struct ibv_qp_ex *ibv)
{
	struct build *b = of(ibv)->build;

	pthread_mutex_lock(&b->mutex);
	b->n = 0;
	b->error = 0;
}

static int wr_complete(struct ibv_qp_ex *ibv)
{
	struct build *b = of(ibv)->build;

	for (uint32_t i = 0; i < b->n && !b->error; i++)
		b->error = post_words(of(ibv), &b->wrs[i], &b->sends[i], &b->binds[i]);
	if (!b->error && b->n)
		b->error = weft_dev_post_sends(of(ibv)->dev, b->sends, b->n, false);
	int error = b->error;
	pthread_mutex_unlock(&b->mutex);
	return error;
}

static void wr_abort(struct ibv_qp_ex *ibv)
{
	pthread_mutex_unlock(&of(ibv)->build->mutex);
}

/* ---- what to do ---- */

static void wr_rdma(struct ibv_qp_ex *ibv, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t va)
{
	struct ibv_send_wr *wr = add(ibv, opcode);

	wr->wr.rdma.rkey = rkey;
	wr->wr.rdma.remote_addr = va;
}

static void wr_rdma_write(struct ibv_qp_ex *ibv, uint32_t rkey, uint64_t va)
{
	wr_rdma(ibv, IBV_WR_RDMA_WRITE, rkey, va);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ibv, uint32_t rkey, uint64_t va, __be32 imm)
{
	wr_rdma(ibv, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, va);
	last(of(ibv)->build)->imm_data = imm;
}

static void wr_rdma_read(struct ibv_qp_ex *ibv, uint32_t rkey, uint64_t va)
{
	wr_rdma(ibv, IBV_WR_RDMA_READ, rkey, va);
}

static void wr_send(struct ibv_qp_ex *ibv)
{
	(void)add(ibv, IBV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ibv, __be32 imm)
{
	add(ibv, IBV_WR_SEND_WITH_IMM)->imm_data = imm;
}

static void wr_send_inv(struct ibv_qp_ex *ibv, uint32_t rkey)
{
	add(ibv, IBV_WR_SEND_WITH_INV)->invalidate_rkey = rkey;
}

static void wr_local_inv(struct ibv_qp_ex *ibv, uint32_t rkey)
{
	add(ibv, IBV_WR_LOCAL_INV)->invalidate_rkey = rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *ibv, struct ibv_mw *mw, uint32_t rkey,
	const struct ibv_mw_bind_info *info)
{
	struct ibv_send_wr *wr = add(ibv, IBV_WR_BIND_MW);

	wr->bind_mw.mw = mw;
	wr->bind_mw.rkey = rkey;
	wr->bind_mw.bind_info = *info;
}

static void wr_atomic_cmp_swp(
	struct ibv_qp_ex *ibv, uint32_t rkey, uint64_t va, uint64_t compare, uint64_t swap)
{
	struct ibv_send_wr *wr = add(ibv, IBV_WR_ATOMIC_CMP_AND_SWP);

	wr->wr.atomic.rkey = rkey;
	wr->wr.atomic.remote_addr = va;
	wr->wr.atomic.compare_add = compare;
	wr->wr.atomic.swap = swap;
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ibv, uint32_t rkey, uint64_t va, uint64_t value)
{
	struct ibv_send_wr *wr = add(ibv, IBV_WR_ATOMIC_FETCH_AND_ADD);

	wr->wr.atomic.rkey = rkey;
	wr->wr.atomic.remote_addr = va;
	wr->wr.atomic.compare_add = value;
}

/* ---- with what ---- */

static void wr_set_ud_addr(struct ibv_qp_ex *ibv, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct ibv_send_wr *wr = last(of(ibv)->build);

	wr->wr.ud.ah = ah;
	wr->wr.ud.remote_qpn = qpn;
	wr->wr.ud.remote_qkey = qkey;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ibv, uint32_t srqn)
{
	last(of(ibv)->build)->qp_type.xrc.remote_srqn = srqn;
}

static void wr_set_sge_list(struct ibv_qp_ex *ibv, size_t n, const struct ibv_sge *sges)
{
	struct qp *qp = of(ibv);
	struct ibv_send_wr *wr = last(qp->build);

	if (n > qp->cap.max_send_sge) {
		fail(qp->build, EINVAL);
		return;
	}
	if (n)
		memcpy(wr->sg_list, sges, n * sizeof(*sges));
	wr->num_sge = (int)n;
}

static void wr_set_sge(struct ibv_qp_ex *ibv, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct ibv_sge sge = { addr, length, lkey };

	/* An empty one is none, as providers have it: its key need not be valid. */
	wr_set_sge_list(ibv, length != 0, &sge);
}

static void wr_set_inline_data_list(
	struct ibv_qp_ex *ibv, size_t n, const struct ibv_data_buf *parts)
{
	struct qp *qp = of(ibv);
	struct build *b = qp->build;
	struct ibv_send_wr *wr = last(b);
	uint8_t *to = b->bytes + (size_t)(wr - b->wrs) * qp->cap.max_inline_data;
	size_t used = 0;

	for (size_t i = 0; i < n; i++) {
		if (parts[i].length > qp->cap.max_inline_data - used) {
			fail(b, EINVAL);
			return;
		}
		memcpy(to + used, parts[i].addr, parts[i].length);
		used += parts[i].length;
	}
	wr->sg_list[0] = (struct ibv_sge){ (uintptr_t)to, (uint32_t)used, 0 };
	wr->num_sge = used != 0;
	wr->send_flags |= IBV_SEND_INLINE;
}

static void wr_set_inline_data(struct ibv_qp_ex *ibv, void *addr, size_t length)
{
	struct ibv_data_buf part = { addr, length };

	wr_set_inline_data_list(ibv, 1, &part);
}

/* ---- life ---- */

bool build_open(struct qp *qp)
{
	struct build *b = calloc(1, sizeof(*b));
	size_t n = qp->cap.max_send_wr;

	qp->build = b;
	if (!b)
		return false;
	b->wrs = calloc(n, sizeof(*b->wrs));
	b->sends = calloc(n, sizeof(*b->sends));
	b->binds = calloc(n, sizeof(*b->binds));
	b->sges = calloc(n * qp->cap.max_send_sge, sizeof(*b->sges));
	b->bytes = malloc(n * WEFT_MAX(qp->cap.max_inline_data, 1u));
	if (!b->wrs || !b->sends || !b->binds || !b->sges || !b->bytes)
		return false;
	pthread_mutex_init(&b->mutex, NULL);
	qp->ibv.wr_start = wr_start;
	qp->ibv.wr_complete = wr_complete;
	qp->ibv.wr_abort = wr_abort;
	qp->ibv.wr_rdma_write = wr_rdma_write;
	qp->ibv.wr_rdma_write_imm = wr_rdma_write_imm;
	qp->ibv.wr_rdma_read = wr_rdma_read;
	qp->ibv.wr_send = wr_send;
	qp->ibv.wr_send_imm = wr_send_imm;
	qp->ibv.wr_send_inv = wr_send_inv;
	qp->ibv.wr_local_inv = wr_local_inv;
	qp->ibv.wr_bind_mw = wr_bind_mw;
	qp->ibv.wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	qp->ibv.wr_atomic_fetch_add = wr_atomic_fetch_add;
	qp->ibv.wr_set_ud_addr = wr_set_ud_addr;
	qp->ibv.wr_set_xrc_srqn = wr_set_xrc_srqn;
	qp->ibv.wr_set_sge = wr_set_sge;
	qp->ibv.wr_set_sge_list = wr_set_sge_list;
	qp->ibv.wr_set_inline_data = wr_set_inline_data;
	qp->ibv.wr_set_inline_data_list = wr_set_inline_data_list;
	return true;
}

/* Inline functions of verbs.h call what the structure points to, unasked. */
bool build_serves(const struct qp *qp, uint64_t operations)
{
#define OPERATION(flag, name) \
	{ IBV_QP_EX_WITH_##flag, offsetof(struct ibv_qp_ex, wr_##name) }
	static const struct {
		uint64_t flag;
		size_t at;
	} known[] = {
		OPERATION(RDMA_WRITE, rdma_write),
		OPERATION(RDMA_WRITE_WITH_IMM, rdma_write_imm),
		OPERATION(SEND, send),
		OPERATION(SEND_WITH_IMM, send_imm),
		OPERATION(RDMA_READ, rdma_read),
		OPERATION(ATOMIC_CMP_AND_SWP, atomic_cmp_swp),
		OPERATION(ATOMIC_FETCH_AND_ADD, atomic_fetch_add),
		OPERATION(LOCAL_INV, local_inv),
		OPERATION(BIND_MW, bind_mw),
		OPERATION(SEND_WITH_INV, send_inv),
	};
#undef OPERATION

	for (size_t i = 0; i < WEFT_COUNT(known); i++) {
		void (*function)(void);

		memcpy(&function, (const char *)&qp->ibv + known[i].at, sizeof(function));
		if (function)
			operations &= ~known[i].flag;
	}
	return !operations;
}

void build_close(struct qp *qp)
{
	if (!qp->build)
		return;
	free(qp->build->wrs);
	free(qp->build->sends);
	free(qp->build->binds);
	free(qp->build->sges);
	free(qp->build->bytes);
	free(qp->build);
	qp->build = NULL;
}
