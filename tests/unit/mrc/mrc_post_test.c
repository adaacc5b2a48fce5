/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

#include <endian.h>

TEST(mrc_post_send__writes_and_nothing_else)
{
	struct mrc_context *context = fake_open(0);
	struct mrc_cq *cq = mrc_create_cq(context, 8, NULL, NULL, 0);
	struct mrc_qp *qp = fake_qp(context, cq);
	struct ibv_sge sge = { .addr = 0x1000, .length = 10, .lkey = 3 };
	struct ibv_send_wr third = { .wr_id = 3, .opcode = IBV_WR_SEND };
	struct ibv_send_wr second = { .wr_id = 2,
		.next = &third,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_IP_CSUM,
		.imm_data = htobe32(77) };
	struct ibv_send_wr first = { .wr_id = 1,
		.next = &second,
		.opcode = IBV_WR_RDMA_WRITE,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { 0x2000, 9 } };
	struct ibv_send_wr *bad = NULL;

	CHECK_EQ(mrc_post_send(qp, &first, &bad), EINVAL);
	CHECK(bad == &third);
	CHECK_EQ(qp->inner->n_sent, 2);
	CHECK_EQ(qp->inner->sent[0].op, WEFT_DEV_WRITE);
	CHECK_EQ(qp->inner->sent[0].remote_va, 0x2000);
	CHECK_EQ(qp->inner->sent[0].rkey, 9);
	CHECK_EQ(qp->inner->sent[0].sges[0].lkey, 3);
	CHECK(qp->inner->more[0]);
	CHECK_EQ(qp->inner->sent[1].imm, 77);
	CHECK_EQ(qp->inner->sent[1].flags, WEFT_DEV_SIGNALED);
	second.next = NULL;
	second.num_sge = -1;
	CHECK_EQ(mrc_post_send(qp, &second, &bad), EINVAL);
	second.num_sge = 1; /* without a list */
	CHECK_EQ(mrc_post_send(qp, &second, &bad), EINVAL);
	second.num_sge = 0;
	CHECK_EQ(mrc_post_send(qp, &second, &bad), 0);
	CHECK(!qp->inner->more[2]);
	CHECK_EQ(mrc_post_send(qp, &second, &bad), 0);
	CHECK_EQ(mrc_post_send(qp, &second, &bad), ENOMEM);
	CHECK(!mrc_destroy_qp(qp));
	CHECK(!mrc_destroy_cq(cq));
	fake_close(context);
}

TEST(mrc_post_recv__does_not_need_buffers)
{
	struct mrc_context *context = fake_open(0);
	struct mrc_cq *cq = mrc_create_cq(context, 8, NULL, NULL, 0);
	struct mrc_qp *qp = fake_qp(context, cq);
	struct ibv_sge sge = { .addr = 0x1000, .length = 10 };
	struct ibv_recv_wr wr[5] = { { .sg_list = &sge, .num_sge = 1 } };
	struct ibv_recv_wr *bad = NULL;

	for (int i = 0; i < 4; i++)
		wr[i].next = &wr[i + 1];
	CHECK_EQ(mrc_post_recv(qp, wr, &bad), ENOMEM);
	CHECK(bad == &wr[4]);
	CHECK_EQ(qp->inner->n_recv, 4);
	CHECK(!mrc_destroy_qp(qp));
	CHECK(!mrc_destroy_cq(cq));
	fake_close(context);
}
