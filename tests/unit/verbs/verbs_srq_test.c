/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_device.h"

TEST(ibv_create_srq__grants_and_tells)
{
	struct ibv_context *context = open_context();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 100, .max_sge = 0 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct ibv_srq_attr attr = { .srq_limit = 7 };

	REQUIRE(srq);
	CHECK_EQ(init.attr.max_sge, 1);
	CHECK_EQ(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	CHECK_EQ(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EOPNOTSUPP);
	CHECK_EQ(ibv_modify_srq(srq, &attr, 64), EINVAL);
	CHECK_EQ(ibv_query_srq(srq, &attr), 0);
	CHECK_EQ(attr.max_wr, 100);
	CHECK_EQ(attr.srq_limit, 7);
	fake.error = EBUSY;
	errno = ENOENT; /* of something else, before */
	CHECK_EQ(ibv_destroy_srq(srq), EBUSY);
	CHECK_EQ(errno, EBUSY);
	CHECK_EQ(ibv_destroy_srq(srq), 0);
	CHECK(!ibv_dealloc_pd(pd));
	close_context(context);
}

TEST(srq_create_ex__has_the_basic_kind_only)
{
	struct ibv_context *context = open_context();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_srq_init_attr_ex attr = { .attr = { .max_wr = 4, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_TM,
		.pd = pd };

	CHECK(!ibv_create_srq_ex(context, &attr));
	CHECK_EQ(errno, EOPNOTSUPP);
	attr.srq_type = IBV_SRQT_BASIC;
	struct ibv_srq *srq = ibv_create_srq_ex(context, &attr);
	REQUIRE(srq);
	CHECK(!ibv_destroy_srq(srq));
	CHECK(!ibv_dealloc_pd(pd));
	close_context(context);
}

TEST(srq_post__names_the_first_that_did_not_fit)
{
	struct ibv_context *context = open_context();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 2, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct ibv_recv_wr wr[3] = { { .wr_id = 1 }, { .wr_id = 2 }, { .wr_id = 3 } }, *bad = NULL;

	wr[0].next = &wr[1];
	wr[1].next = &wr[2];
	fake.room = 2;
	CHECK_EQ(ibv_post_srq_recv(srq, wr, &bad), ENOMEM);
	CHECK(bad == &wr[2]);
	wr[0].next = NULL;
	wr[0].num_sge = -1;
	CHECK_EQ(ibv_post_srq_recv(srq, wr, &bad), EINVAL);
	CHECK(!ibv_destroy_srq(srq));
	CHECK(!ibv_dealloc_pd(pd));
	close_context(context);
}

TEST(ibv_create_srq__is_not_strict)
{
	setenv("WEFT_PROFILE", "strict", 1);
	struct ibv_context *context = open_context();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 2, .max_sge = 1 } };

	CHECK(!ibv_create_srq(pd, &init));
	CHECK_EQ(errno, EOPNOTSUPP);
	CHECK(!ibv_dealloc_pd(pd));
	close_context(context);
	unsetenv("WEFT_PROFILE");
}
