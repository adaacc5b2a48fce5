/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

TEST(mrc_create_qp__asks_for_a_strict_one)
{
	struct mrc_context *context = fake_open(0);
	struct mrc_cq *cq = mrc_create_cq(context, 8, NULL, NULL, 0);
	struct mrc_qp_init_attr init = { .send_cq = cq,
		.recv_cq = cq,
		.pd = &fake_ibv_pd,
		.sq_sig_all = 1,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE,
		.cap = { .max_send_wr = 16 } };
	uint32_t qpn = 0;
	struct mrc_qp *qp = mrc_create_qp(context, &init);

	REQUIRE(qp);
	CHECK_EQ(qp->inner->init.profile, WEFT_DEV_STRICT);
	CHECK(qp->inner->init.signal_all);
	CHECK_EQ(init.cap.max_send_wr, 16);
	CHECK_EQ(init.cap.max_recv_wr, 1);
	CHECK_EQ(init.cap.max_inline_data, 256);
	CHECK(!mrc_get_qpn(qp, &qpn));
	CHECK_EQ(qpn, 0x123456);
	CHECK_EQ(mrc_destroy_cq(cq), EBUSY);
	CHECK(!mrc_destroy_qp(qp));
	init.send_ops_flags = IBV_QP_EX_WITH_SEND;
	CHECK(!mrc_create_qp(context, &init));
	CHECK_EQ(errno, ENOTSUP);
	init.send_ops_flags = 0;
	init.cap.max_inline_data = 2000;
	CHECK(!mrc_create_qp(context, &init));
	CHECK_EQ(errno, EINVAL);
	init.pd = NULL;
	CHECK(!mrc_create_qp(context, &init));
	CHECK(!mrc_destroy_cq(cq));
	fake_close(context);
}

TEST(mrc_query_qp__gives_back_defaults_and_words)
{
	struct mrc_context *context = fake_open(0);
	struct mrc_cq *cq = mrc_create_cq(context, 8, NULL, NULL, 0);
	struct mrc_qp *qp = fake_qp(context, cq);
	struct mrc_qp_init_attr init;
	struct mrc_qp_attr attr;
	struct ibv_qp_attr vattr;

	CHECK_EQ(fake_rtr(qp), 0);
	CHECK_EQ(mrc_query_qp(qp, &vattr, IBV_QP_STATE, &attr, MRC_QP_MPR, &init), 0);
	CHECK_EQ(vattr.qp_state, IBV_QPS_RTR);
	CHECK_EQ(vattr.dest_qp_num, 7);
	CHECK_EQ(vattr.rq_psn, 100);
	CHECK_EQ(attr.mpr.mpr, 8);
	CHECK_EQ(attr.mpr.mpr_dest, 8);
	CHECK_EQ(attr.wimm.max_wimm, 128);
	CHECK_EQ(attr.retry.linear_cnt, 7);
	CHECK(init.send_cq == cq);
	CHECK_EQ(mrc_query_qp(qp, NULL, IBV_QP_STATE, NULL, 0, NULL), EINVAL);
	CHECK(!mrc_destroy_qp(qp));
	CHECK(!mrc_destroy_cq(cq));
	fake_close(context);
}
