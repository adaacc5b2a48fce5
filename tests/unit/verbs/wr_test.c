/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_device.h"

TEST(build_open__posts_nothing_before_complete)
{
	struct bench b = open_bench(IBV_QPT_RC, IBV_QP_EX_WITH_RDMA_WRITE);
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(b.qp);

	REQUIRE(qp);
	ibv_wr_start(qp);
	qp->wr_id = 1;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(qp, 9, 0x2000);
	ibv_wr_set_sge(qp, 7, 0x1000, 5);
	qp->wr_id = 2;
	ibv_wr_send_imm(qp, htobe32(3));
	ibv_wr_set_sge(qp, 7, 0x3000, 0);
	CHECK_EQ(fake.n_sent, 0);
	CHECK_EQ(ibv_wr_complete(qp), 0);
	CHECK_EQ(fake.n_sent, 2);
	CHECK_EQ(fake.sent[0].id, 1);
	CHECK_EQ(fake.sent[0].rkey, 9);
	CHECK_EQ(fake.sges[0].addr, 0x1000);
	CHECK(fake.more[0] && !fake.more[1]);
	CHECK_EQ(fake.sent[1].op, WEFT_DEV_SEND_IMM);
	CHECK_EQ(fake.sent[1].imm, 3);
	CHECK_EQ(fake.sent[1].n_sges, 0);
	ibv_wr_start(qp);
	ibv_wr_rdma_read(qp, 9, 0x2000);
	ibv_wr_abort(qp);
	CHECK_EQ(fake.n_sent, 2);
	close_bench(&b);
}

TEST(build_open__keeps_inline_data_of_several_pieces)
{
	struct bench b = open_bench(IBV_QPT_RC, IBV_QP_EX_WITH_SEND);
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(b.qp);
	char one[] = "abc", two[] = "defg";
	struct ibv_data_buf parts[] = { { one, 3 }, { two, 4 } };

	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_set_inline_data_list(qp, 2, parts);
	memset(one, 0, 3); /* it may go at once */
	CHECK_EQ(ibv_wr_complete(qp), 0);
	CHECK_EQ(fake.sges[0].len_bytes, 7);
	CHECK(fake.sent[0].flags & WEFT_DEV_INLINE);
	CHECK_MEM((void *)(uintptr_t)fake.sges[0].addr, "abcdefg", 7);
	close_bench(&b);
}

TEST(build_open__fails_as_a_whole)
{
	struct bench b = open_bench(IBV_QPT_RC, IBV_QP_EX_WITH_SEND);
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(b.qp);
	struct ibv_sge sges[3] = { { 0 } };
	static char big[2000];

	ibv_wr_start(qp);
	for (int i = 0; i < 5; i++) /* the queue has four */
		ibv_wr_send(qp);
	CHECK_EQ(ibv_wr_complete(qp), ENOMEM);
	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_set_sge_list(qp, 3, sges);
	CHECK_EQ(ibv_wr_complete(qp), EINVAL);
	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_set_inline_data(qp, big, sizeof(big));
	CHECK_EQ(ibv_wr_complete(qp), EINVAL);
	CHECK_EQ(fake.n_sent, 0);
	close_bench(&b);
}

TEST(build_open__builds_atomics_and_datagrams)
{
	struct bench b = open_bench(IBV_QPT_UD, IBV_QP_EX_WITH_SEND);
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(b.qp);
	struct ibv_ah_attr to = { .is_global = 1 };
	struct ibv_ah *ah = ibv_create_ah(b.pd, &to);

	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_set_ud_addr(qp, ah, 5, 6);
	CHECK_EQ(ibv_wr_complete(qp), 0);
	CHECK_EQ(fake.sent[0].peer_qpn, 5);
	CHECK(!ibv_destroy_ah(ah));
	close_bench(&b);
	b = open_bench(IBV_QPT_RC, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD);
	qp = ibv_qp_to_qp_ex(b.qp);
	ibv_wr_start(qp);
	ibv_wr_atomic_fetch_add(qp, 1, 0x10, 5);
	ibv_wr_atomic_cmp_swp(qp, 1, 0x18, 6, 7);
	CHECK_EQ(ibv_wr_complete(qp), 0);
	CHECK_EQ(fake.sent[0].operand[0], 5);
	CHECK_EQ(fake.sent[1].operand[0], 6);
	CHECK_EQ(fake.sent[1].operand[1], 7);
	close_bench(&b);
}

TEST(build_close__leaves_other_queue_pairs_alone)
{
	struct bench b = open_bench(IBV_QPT_RC, 0);

	build_close(qp_of(b.qp));
	CHECK(!ibv_qp_to_qp_ex(b.qp));
	close_bench(&b);
}

TEST(build_serves__no_operation_that_there_is_no_function_for)
{
	static const uint64_t unserved[] = { IBV_QP_EX_WITH_TSO, IBV_QP_EX_WITH_TSO << 1,
		IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_TSO << 2, UINT64_MAX };
	struct bench b = open_bench(IBV_QPT_RC, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_READ);

	for (size_t i = 0; i < WEFT_COUNT(unserved); i++) {
		struct ibv_qp_init_attr_ex attr = { .send_cq = b.cq, .recv_cq = b.cq, .pd = b.pd,
			.qp_type = IBV_QPT_RC, .send_ops_flags = unserved[i],
			.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS };

		CHECK(!ibv_create_qp_ex(b.context, &attr) && errno == EOPNOTSUPP);
	}
	close_bench(&b);
}

/* No work is executed before ibv_wr_complete() has returned success (ibv_wr_post(3)). */
TEST(wr_complete__posts_all_or_none)
{
	struct bench b = open_bench(IBV_QPT_RC, IBV_QP_EX_WITH_SEND);
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(b.qp);

	fake.room = 2;
	ibv_wr_start(qp);
	for (int i = 0; i < 4; i++)
		ibv_wr_send(qp);
	CHECK_EQ(ibv_wr_complete(qp), ENOMEM);
	CHECK_EQ(fake.n_sent, 0);
	ibv_wr_start(qp);
	CHECK_EQ(ibv_wr_complete(qp), 0); /* of nothing */
	CHECK_EQ(fake.n_sent, 0);
	close_bench(&b);
}
