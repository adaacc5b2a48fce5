/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_device.h"

TEST(ibv_bind_mw__posts_a_work_and_knows_the_new_key)
{
	struct bench b = open_bench(IBV_QPT_RC, 0);
	struct ibv_mw *mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_1);
	struct ibv_mr mr = { .pd = b.pd, .lkey = 0x77 };
	struct ibv_mw_bind how = { .wr_id = 9, .send_flags = IBV_SEND_SIGNALED,
		.bind_info = { &mr, 0x1000, 64, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED } };

	REQUIRE(mw);
	CHECK_EQ(mw->rkey, 0x10000100);
	CHECK(mw->pd == b.pd && mw->context == b.context);
	CHECK_EQ(ibv_bind_mw(b.qp, mw, &how), 0);
	CHECK_EQ(mw->rkey, 0x10000101);
	CHECK_EQ(fake.sent[0].op, WEFT_DEV_BIND_MW);
	CHECK_EQ(fake.sent[0].id, 9);
	CHECK_EQ(fake.sent[0].flags, WEFT_DEV_SIGNALED);
	CHECK_EQ(fake.bind.addr, 0x1000);
	CHECK_EQ(fake.bind.len_bytes, 64);
	CHECK_EQ(fake.bind.mr_key, 0x77);
	CHECK_EQ(fake.bind.access, WEFT_DEV_REMOTE_READ);
	CHECK(fake.bind.zero_based);
	how.bind_info.mw_access_flags = IBV_ACCESS_MW_BIND;
	CHECK_EQ(ibv_bind_mw(b.qp, mw, &how), EINVAL);
	how.bind_info = (struct ibv_mw_bind_info){ .length = 64 }; /* of what? */
	CHECK_EQ(ibv_bind_mw(b.qp, mw, &how), EINVAL);
	how.bind_info = (struct ibv_mw_bind_info){ 0 }; /* takes it back */
	CHECK_EQ(ibv_bind_mw(b.qp, mw, &how), 0);
	fake.room = 0;
	uint32_t before = mw->rkey;

	CHECK_EQ(ibv_bind_mw(b.qp, mw, &how), ENOMEM);
	CHECK_EQ(mw->rkey, before);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	close_bench(&b);
}

TEST(ibv_post_send__binds_and_takes_back_windows_of_type_2)
{
	struct bench b = open_bench(IBV_QPT_RC, 0);
	struct ibv_mw *mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
	struct ibv_mw *one = ibv_alloc_mw(b.pd, IBV_MW_TYPE_1);
	struct ibv_mr mr = { .pd = b.pd, .lkey = 0x77 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW, .bind_mw = { mw, 0x1234,
		{ &mr, 0x1000, 64, IBV_ACCESS_REMOTE_WRITE } } }, *bad;

	REQUIRE(mw && one);
	CHECK_EQ(ibv_post_send(b.qp, &wr, &bad), 0);
	CHECK_EQ(fake.sent[0].op, WEFT_DEV_BIND_MW);
	CHECK_EQ(fake.sent[0].rkey, 0x1234);
	CHECK_EQ(fake.bind.access, WEFT_DEV_REMOTE_WRITE);
	wr.bind_mw.bind_info.mw_access_flags |= IBV_ACCESS_LOCAL_WRITE; /* rdma-core's tests */
	CHECK_EQ(ibv_post_send(b.qp, &wr, &bad), 0);
	CHECK_EQ(fake.bind.access, WEFT_DEV_REMOTE_WRITE);
	wr.bind_mw.mw = one; /* that is bound by ibv_bind_mw() */
	CHECK_EQ(ibv_post_send(b.qp, &wr, &bad), EINVAL);
	wr.bind_mw.mw = mw;
	wr.bind_mw.bind_info.mr = NULL;
	CHECK_EQ(ibv_post_send(b.qp, &wr, &bad), EINVAL);
	wr = (struct ibv_send_wr){ .opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = 0x01020304 };
	CHECK_EQ(ibv_post_send(b.qp, &wr, &bad), 0);
	CHECK_EQ(fake.sent[2].op, WEFT_DEV_LOCAL_INV);
	CHECK_EQ(fake.sent[2].rkey, 0x01020304);
	wr.opcode = IBV_WR_SEND_WITH_INV;
	CHECK_EQ(ibv_post_send(b.qp, &wr, &bad), 0);
	CHECK_EQ(fake.sent[3].op, WEFT_DEV_SEND_INV);
	CHECK_EQ(fake.sent[3].rkey, 0x01020304);
	wr.opcode = IBV_WR_TSO;
	CHECK_EQ(ibv_post_send(b.qp, &wr, &bad), EOPNOTSUPP);
	CHECK_EQ(ibv_dealloc_mw(one), 0);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	close_bench(&b);
}

TEST(ibv_wr__binds_and_takes_back)
{
	struct bench b = open_bench(IBV_QPT_RC, IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV |
							IBV_QP_EX_WITH_SEND_WITH_INV);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(b.qp);
	struct ibv_mw *mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
	struct ibv_mr mr = { .pd = b.pd, .lkey = 0x77 };
	const struct ibv_mw_bind_info info = { &mr, 0x2000, 16, IBV_ACCESS_REMOTE_ATOMIC };

	REQUIRE(mw && ex);
	ibv_wr_start(ex);
	ibv_wr_bind_mw(ex, mw, 0x4321, &info);
	ibv_wr_local_inv(ex, 0x4321);
	ibv_wr_send_inv(ex, 0x9999);
	CHECK_EQ(ibv_wr_complete(ex), 0);
	CHECK_EQ(fake.sent[0].op, WEFT_DEV_BIND_MW);
	CHECK_EQ(fake.sent[0].rkey, 0x4321);
	CHECK_EQ(fake.bind.addr, 0x2000);
	CHECK_EQ(fake.bind.access, WEFT_DEV_REMOTE_ATOMIC);
	CHECK_EQ(fake.sent[1].op, WEFT_DEV_LOCAL_INV);
	CHECK_EQ(fake.sent[1].rkey, 0x4321);
	CHECK_EQ(fake.sent[2].op, WEFT_DEV_SEND_INV);
	CHECK_EQ(fake.sent[2].rkey, 0x9999);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	close_bench(&b);
}

TEST(ibv_poll_cq__gives_the_key_that_a_peer_has_taken_back_as_a_number)
{
	struct bench b = open_bench(IBV_QPT_RC, 0);
	struct ibv_wc wc;

	cq_of(b.cq)->dev->wcs[0] = (struct weft_dev_wc){ .op = WEFT_DEV_DONE_RECV,
		.flags = WEFT_DEV_WC_WITH_INV, .imm = 0x01020304 };
	cq_of(b.cq)->dev->n = 1;
	CHECK_EQ(ibv_poll_cq(b.cq, 1, &wc), 1);
	CHECK(wc.wc_flags & IBV_WC_WITH_INV);
	CHECK_EQ(wc.invalidated_rkey, 0x01020304);
	close_bench(&b);
}

TEST(ibv_alloc_mw__is_refused_where_it_cannot_be)
{
	setenv("WEFT_PROFILE", "strict", 1);
	struct bench b = open_bench(IBV_QPT_RC, 0);
	struct ibv_device_attr attr;

	unsetenv("WEFT_PROFILE");
	CHECK(!ibv_alloc_mw(b.pd, IBV_MW_TYPE_1));
	CHECK_EQ(errno, EOPNOTSUPP);
	CHECK_EQ(ibv_query_device(b.context, &attr), 0);
	CHECK(!(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW));
	CHECK_EQ(attr.max_mw, 0);
	close_bench(&b);
	b = open_bench(IBV_QPT_RC, 0);
	fake.attr.max_mw = 5;
	context_of(b.context)->attr.max_mw = 5;
	CHECK(!ibv_alloc_mw(b.pd, (enum ibv_mw_type)3));
	CHECK_EQ(errno, EINVAL);
	fake.error = ENOMEM;
	CHECK(!ibv_alloc_mw(b.pd, IBV_MW_TYPE_2));
	CHECK_EQ(errno, ENOMEM);
	CHECK_EQ(ibv_query_device(b.context, &attr), 0);
	CHECK(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW);
	CHECK(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	CHECK_EQ(attr.max_mw, 5);
	close_bench(&b);
}
