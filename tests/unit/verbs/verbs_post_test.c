/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_device.h"

#include <endian.h>

TEST(post_send__passes_on_a_write_with_immediate)
{
	struct bench b = open_bench(IBV_QPT_RC, 0);
	struct ibv_sge sge = { 0x1000, 5, 7 };
	struct ibv_send_wr wr = { .wr_id = 1,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_IP_CSUM,
		.imm_data = htobe32(0xdead) }, *bad;

	wr.wr.rdma.remote_addr = 0x2000;
	wr.wr.rdma.rkey = 9;
	CHECK(!ibv_post_send(b.qp, &wr, &bad));
	CHECK_EQ(fake.sent[0].op, WEFT_DEV_WRITE_IMM);
	CHECK_EQ(fake.sent[0].imm, 0xdead);
	CHECK_EQ(fake.sent[0].flags, WEFT_DEV_SIGNALED);
	CHECK_EQ(fake.sent[0].remote_va, 0x2000);
	CHECK_EQ(fake.sent[0].rkey, 9);
	CHECK_EQ(fake.sges[0].addr, 0x1000);
	CHECK_EQ(fake.sges[0].len_bytes, 5);
	CHECK_EQ(fake.sges[0].lkey, 7);
	close_bench(&b);
}

TEST(post_send__passes_on_atomics)
{
	struct bench b = open_bench(IBV_QPT_RC, 0);
	struct ibv_send_wr wr = { .opcode = IBV_WR_ATOMIC_CMP_AND_SWP }, *bad;

	wr.wr.atomic.remote_addr = 0x2000;
	wr.wr.atomic.rkey = 9;
	wr.wr.atomic.compare_add = 1;
	wr.wr.atomic.swap = 2;
	CHECK(!ibv_post_send(b.qp, &wr, &bad));
	CHECK_EQ(fake.sent[0].op, WEFT_DEV_CMP_SWAP);
	CHECK_EQ(fake.sent[0].operand[0], 1);
	CHECK_EQ(fake.sent[0].operand[1], 2);
	CHECK_EQ(fake.sent[0].remote_va, 0x2000);
	CHECK_EQ(fake.sent[0].rkey, 9);
	close_bench(&b);
}

TEST(post_send__names_the_first_that_did_not_fit)
{
	struct bench b = open_bench(IBV_QPT_RC, 0);
	struct ibv_send_wr wr[3] = { { .wr_id = 1 }, { .wr_id = 2 }, { .wr_id = 3 } }, *bad = NULL;

	wr[0].next = &wr[1];
	wr[1].next = &wr[2];
	fake.room = 2;
	CHECK_EQ(ibv_post_send(b.qp, wr, &bad), ENOMEM);
	CHECK(bad == &wr[2]);
	CHECK(fake.more[0] && fake.more[1]);
	wr[0].next = NULL;
	fake.room = 1;
	fake.n_sent = 0;
	CHECK(!ibv_post_send(b.qp, wr, &bad));
	CHECK(!fake.more[0]);
	wr[0].opcode = IBV_WR_TSO;
	CHECK_EQ(ibv_post_send(b.qp, wr, &bad), EOPNOTSUPP);
	close_bench(&b);
}

TEST(post_send__addresses_datagrams)
{
	struct bench b = open_bench(IBV_QPT_UD, 0);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_ah_attr to = { .is_global = 1 };
	struct ibv_ah *ah = ibv_create_ah(b.pd, &to);

	CHECK_EQ(ibv_post_send(b.qp, &wr, &bad), EINVAL);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = 5;
	wr.wr.ud.remote_qkey = 6;
	CHECK(!ibv_post_send(b.qp, &wr, &bad));
	CHECK(fake.sent[0].ah == ((struct ah *)ah)->dev);
	CHECK_EQ(fake.sent[0].peer_qpn, 5);
	CHECK_EQ(fake.sent[0].qkey, 6);
	CHECK(!ibv_destroy_ah(ah));
	close_bench(&b);
}

TEST(post_send__refuses_what_mrc_does_not_have_where_strict)
{
	setenv("WEFT_PROFILE", "strict", 1);
	struct bench b = open_bench(IBV_QPT_RC, 0);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad = NULL;

	CHECK_EQ(ibv_post_send(b.qp, &wr, &bad), EOPNOTSUPP);
	CHECK(bad == &wr);
	wr.opcode = IBV_WR_RDMA_READ;
	CHECK_EQ(ibv_post_send(b.qp, &wr, &bad), EOPNOTSUPP);
	wr.opcode = IBV_WR_RDMA_WRITE;
	CHECK_EQ(ibv_post_send(b.qp, &wr, &bad), 0);
	close_bench(&b);
	unsetenv("WEFT_PROFILE");
}

TEST(post_recv__takes_none_and_negative_apart)
{
	struct bench b = open_bench(IBV_QPT_RC, 0);
	struct ibv_recv_wr wr = { .wr_id = 8 }, *bad = NULL;

	CHECK(!ibv_post_recv(b.qp, &wr, &bad));
	CHECK_EQ(fake.received.id, 8);
	CHECK_EQ(fake.received.n_sges, 0);
	wr.num_sge = -1;
	CHECK_EQ(ibv_post_recv(b.qp, &wr, &bad), EINVAL);
	CHECK(bad == &wr);
	close_bench(&b);
}
