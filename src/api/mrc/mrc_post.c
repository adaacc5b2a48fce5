/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_post - works of strict MRC, in the device's words.
 *
 * Gather lists are the device's own by layout, so that a post copies nothing but the work itself.
 */
#include "mrc_local.h"

#include <endian.h>
#include <stddef.h>

_Static_assert(
	sizeof(struct ibv_sge) == sizeof(struct weft_dev_sge) &&
		offsetof(struct ibv_sge, length) == offsetof(struct weft_dev_sge, len_bytes) &&
		offsetof(struct ibv_sge, lkey) == offsetof(struct weft_dev_sge, lkey),
	"lists of one are lists of the other");

static int post_one(struct mrc_qp *qp, const struct ibv_send_wr *wr)
{
	const unsigned known =
		IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;
	struct weft_dev_send send = { .id = wr->wr_id,
		.sges = (const struct weft_dev_sge *)(const void *)wr->sg_list,
		.n_sges = (uint32_t)wr->num_sge,
		.flags = wr->send_flags & known,
		.remote_va = wr->wr.rdma.remote_addr,
		.rkey = wr->wr.rdma.rkey };

	if (wr->num_sge < 0 || (wr->num_sge && !wr->sg_list))
		return EINVAL;
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE:
		send.op = WEFT_DEV_WRITE;
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		send.op = WEFT_DEV_WRITE_IMM;
		send.imm = be32toh(wr->imm_data);
		break;
	default:
		return EINVAL; /* nothing else is MRC */
	}
	return weft_dev_post_send(qp->inner, &send, wr->next != NULL);
}

int mrc_post_send(struct mrc_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	if (!qp || !wr)
		return EINVAL;
	for (; wr; wr = wr->next) {
		int rc = post_one(qp, wr);

		if (rc) {
			if (bad_wr)
				*bad_wr = wr;
			return rc;
		}
	}
	return 0;
}

int mrc_post_recv(struct mrc_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	if (!qp || !wr)
		return EINVAL;
	for (; wr; wr = wr->next) {
		/* An immediate writes to where its sender says: buffers are not used. */
		struct weft_dev_recv recv = { .id = wr->wr_id };
		int rc = wr->num_sge >= 0 ? weft_dev_post_recv(qp->inner, &recv) : EINVAL;

		if (rc) {
			if (bad_wr)
				*bad_wr = wr;
			return rc;
		}
	}
	return 0;
}
