/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_post - works handed to the device.
 *
 * Code words and the gather list are the device's own, by its header's promise, so posting is a
 * struct on the stack and no copy.  A strict queue pair refuses what MRC does not have, once with a
 * sentence: the errno alone would send people looking for a full queue.
 */
#include "verbs_local.h"

#include <endian.h>
#include <stdio.h>

static_assert(sizeof(struct ibv_sge) == sizeof(struct weft_dev_sge), "one is cast to the other");
static_assert(offsetof(struct ibv_sge, length) == offsetof(struct weft_dev_sge, len_bytes) &&
		      offsetof(struct ibv_sge, lkey) == offsetof(struct weft_dev_sge, lkey),
	"one is cast to the other");

/* Each thing once, since a program may go on without it and ask for the next. */
int strict_refuses(uint32_t bit, const char *what)
{
	static uint32_t told;

	if (!(__atomic_fetch_or(&told, UINT32_C(1) << bit, __ATOMIC_RELAXED) >> bit & 1))
		weft_dev_say("%s refused: the strict profile has only RDMA write, as MRC", what);
	return EOPNOTSUPP;
}

static int refuse_strict(const struct ibv_send_wr *wr)
{
	static const char *const names[] = { [IBV_WR_SEND] = "send",
		[IBV_WR_SEND_WITH_IMM] = "send with immediate",
		[IBV_WR_RDMA_READ] = "read",
		[IBV_WR_ATOMIC_CMP_AND_SWP] = "compare and swap",
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = "fetch and add",
		[IBV_WR_LOCAL_INV] = "local invalidate",
		[IBV_WR_BIND_MW] = "bind",
		[IBV_WR_SEND_WITH_INV] = "send with invalidate" };

	return strict_refuses((uint32_t)wr->opcode, names[wr->opcode]);
}

int post_words(const struct qp *qp, const struct ibv_send_wr *wr, struct weft_dev_send *out,
	struct weft_dev_bind *bind)
{
	struct weft_dev_send send = { .id = wr->wr_id,
		.sges = (const struct weft_dev_sge *)(void *)wr->sg_list,
		.n_sges = (uint32_t)wr->num_sge,
		.op = (uint32_t)wr->opcode,
		.flags = wr->send_flags & (WEFT_DEV_FENCE | WEFT_DEV_SIGNALED | WEFT_DEV_SOLICITED |
						  WEFT_DEV_INLINE),
		.imm = be32toh(wr->imm_data) };

	if (wr->num_sge < 0)
		return EINVAL;
	if (wr->opcode > IBV_WR_SEND_WITH_INV)
		return EOPNOTSUPP;
	if (qp->ibv.qp_base.qp_type == IBV_QPT_XRC_SEND)
		send.srqn = wr->qp_type.xrc.remote_srqn;
	if (qp->ibv.qp_base.qp_type == IBV_QPT_UD) {
		if (!wr->wr.ud.ah)
			return EINVAL;
		send.ah = ((struct ah *)wr->wr.ud.ah)->dev;
		send.peer_qpn = wr->wr.ud.remote_qpn;
		send.qkey = wr->wr.ud.remote_qkey;
	} else if (wr->opcode >= IBV_WR_SEND && context_of(qp->ibv.qp_base.context)->strict) {
		return refuse_strict(wr);
	} else if (wr->opcode == IBV_WR_BIND_MW) {
		if (!mw_words(wr, bind))
			return EINVAL;
		send.bind = bind;
		send.rkey = wr->bind_mw.rkey;
	} else if (wr->opcode == IBV_WR_LOCAL_INV || wr->opcode == IBV_WR_SEND_WITH_INV) {
		send.rkey = wr->invalidate_rkey;
	} else if (wr->opcode >= IBV_WR_ATOMIC_CMP_AND_SWP) {
		send.remote_va = wr->wr.atomic.remote_addr;
		send.rkey = wr->wr.atomic.rkey;
		send.operand[0] = wr->wr.atomic.compare_add;
		send.operand[1] = wr->wr.atomic.swap;
	} else {
		send.remote_va = wr->wr.rdma.remote_addr;
		send.rkey = wr->wr.rdma.rkey;
	}
	*out = send;
	return 0;
}

static int post_one(struct qp *qp, const struct ibv_send_wr *wr, bool more)
{
	struct weft_dev_send send;
	struct weft_dev_bind bind;
	int error = post_words(qp, wr, &send, &bind);

	return error ? error : weft_dev_post_send(qp->dev, &send, more);
}

int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	for (; wr; wr = wr->next) {
		int error = post_one(qp_of(qp), wr, wr->next);

		if (error) {
			*bad = wr;
			return error;
		}
	}
	return 0;
}

int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	for (; wr; wr = wr->next) {
		struct weft_dev_recv recv = { .id = wr->wr_id,
			.sges = (const struct weft_dev_sge *)(void *)wr->sg_list,
			.n_sges = (uint32_t)wr->num_sge };
		int error = wr->num_sge < 0 ? EINVAL : weft_dev_post_recv(qp_of(qp)->dev, &recv);

		if (error) {
			*bad = wr;
			return error;
		}
	}
	return 0;
}
