/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_device.h"

static char bytes[64];

TEST(ibv_alloc_pd__is_refused_with_the_device_s_errno)
{
	struct ibv_context *context = open_context();

	fake.error = ENOMEM;
	CHECK(!ibv_alloc_pd(context));
	CHECK_EQ(errno, ENOMEM);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	REQUIRE(pd);
	CHECK(weft_verbs_pd(pd));
	CHECK(pd->context == context);
	fake.error = EBUSY;
	CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	close_context(context);
}

TEST(ibv_reg_mr__masks_hints_and_refuses_what_needs_hardware)
{
	struct ibv_context *context = open_context();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_mr *mr = ibv_reg_mr(pd, bytes, 64, IBV_ACCESS_LOCAL_WRITE |
							      IBV_ACCESS_RELAXED_ORDERING);

	REQUIRE(mr);
	CHECK_EQ(fake.mr_access, WEFT_DEV_LOCAL_WRITE);
	CHECK_EQ(fake.mr_iova, (uintptr_t)bytes);
	CHECK_EQ(mr->lkey, 0xabcdef);
	CHECK_EQ(mr->rkey, 0xabcdef);
	CHECK_EQ(mr->length, 64);
	CHECK(mr->addr == bytes && mr->pd == pd);
	CHECK(!ibv_dereg_mr(mr));
	CHECK(!ibv_reg_mr(pd, bytes, 64, IBV_ACCESS_ON_DEMAND));
	CHECK_EQ(errno, EOPNOTSUPP);
	fake.error = EFAULT;
	CHECK(!ibv_reg_mr(pd, bytes, 64, 0));
	CHECK_EQ(errno, EFAULT);
	CHECK(!ibv_dealloc_pd(pd));
	close_context(context);
}

TEST(ibv_reg_mr_iova__names_the_first_byte_as_asked)
{
	struct ibv_context *context = open_context();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_mr *mr = ibv_reg_mr_iova(pd, bytes, 64, 0x1000, 0);

	REQUIRE(mr);
	CHECK_EQ(fake.mr_iova, 0x1000);
	CHECK(!ibv_dereg_mr(mr));
	mr = ibv_reg_mr(pd, bytes, 64, IBV_ACCESS_ZERO_BASED);
	REQUIRE(mr);
	CHECK_EQ(fake.mr_iova, 0);
	CHECK(!ibv_dereg_mr(mr));
	CHECK(!ibv_dealloc_pd(pd));
	close_context(context);
}

TEST(ibv_rereg_mr__changes_what_the_flags_name)
{
	struct ibv_context *context = open_context();
	struct ibv_pd *pd = ibv_alloc_pd(context), *other = ibv_alloc_pd(context);
	struct ibv_mr *mr = ibv_reg_mr_iova(pd, bytes, 64, 0x1000, IBV_ACCESS_LOCAL_WRITE);

	REQUIRE(mr);
	CHECK_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0), 0);
	CHECK_EQ(fake.mr_access, 0);
	CHECK_EQ(fake.mr_iova, 0x1000);
	CHECK(mr->addr == bytes && mr->length == 64 && mr->pd == pd);
	CHECK_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD, other,
			 bytes + 8, 16, 0),
		0);
	CHECK_EQ(fake.mr_iova, (uintptr_t)(bytes + 8));
	CHECK(mr->addr == bytes + 8 && mr->length == 16 && mr->pd == other);
	/* The old one stands. */
	CHECK_EQ(ibv_rereg_mr(mr, 0, pd, bytes, 64, 0), IBV_REREG_MR_ERR_INPUT);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(ibv_rereg_mr(mr, 8, pd, bytes, 64, 0), IBV_REREG_MR_ERR_INPUT);
	CHECK_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, NULL, 64, 0),
		IBV_REREG_MR_ERR_INPUT);
	fake.error = EFAULT;
	CHECK_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, bytes, 64, 0),
		IBV_REREG_MR_ERR_INPUT);
	CHECK_EQ(errno, EFAULT);
	CHECK(mr->addr == bytes + 8 && mr->length == 16 && mr->pd == other);
	CHECK(!ibv_dereg_mr(mr));
	CHECK(!ibv_dealloc_pd(pd) && !ibv_dealloc_pd(other));
	close_context(context);
}

TEST(ibv_reg_dmabuf_mr__hands_the_file_to_the_device)
{
	struct ibv_context *context = open_context();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_mr *mr = ibv_reg_dmabuf_mr(
		pd, 4096, 64, 0x7000, 9, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING);

	REQUIRE(mr);
	CHECK(fake.mr_fd == 9 && fake.mr_offset == 4096 && fake.mr_iova == 0x7000);
	CHECK_EQ(fake.mr_access, WEFT_DEV_LOCAL_WRITE);
	CHECK(mr->pd == pd && mr->length == 64 && mr->lkey == 0xabcdef && mr->rkey == 0xabcdef);
	CHECK_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0),
		IBV_REREG_MR_ERR_INPUT);
	CHECK_EQ(errno, EINVAL);
	CHECK(!ibv_dereg_mr(mr));
	/* The device says what it makes of a file. */
	static const int errors[] = { EOPNOTSUPP, EINVAL, EBADF, ENOMEM };

	for (size_t i = 0; i < WEFT_COUNT(errors); i++) {
		fake.error = errors[i];
		CHECK(!ibv_reg_dmabuf_mr(pd, 0, 64, 0, 9, 0));
		CHECK_EQ(errno, errors[i]);
	}
	/* A question, and no file: as of a device that cannot. */
	CHECK(!ibv_reg_dmabuf_mr(pd, 0, 4096, 0, -1, 0));
	CHECK_EQ(errno, EOPNOTSUPP);
	CHECK(!ibv_dealloc_pd(pd));
	close_context(context);
}

TEST(ibv_create_ah__wants_a_gid)
{
	struct ibv_context *context = open_context();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_ah_attr attr = { .port_num = 1 };

	CHECK(!ibv_create_ah(pd, &attr));
	CHECK_EQ(errno, EINVAL);
	attr.is_global = 1;
	attr.grh.dgid.raw[0] = 0xfd;
	struct ibv_ah *ah = ibv_create_ah(pd, &attr);
	REQUIRE(ah);
	CHECK_EQ(fake.ah_gid[0], 0xfd);
	CHECK(!ibv_destroy_ah(ah));
	CHECK(!ibv_dealloc_pd(pd));
	close_context(context);
}

TEST(ibv_create_ah_from_wc__answers_the_sender)
{
	struct ibv_context *context = open_context();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_grh grh = { 0 };
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH };

	grh.sgid.raw[15] = 9;
	struct ibv_ah *ah = ibv_create_ah_from_wc(pd, &wc, &grh, 1);
	REQUIRE(ah);
	CHECK_EQ(fake.ah_gid[15], 9);
	CHECK(!ibv_destroy_ah(ah));
	wc.wc_flags = 0;
	CHECK(!ibv_create_ah_from_wc(pd, &wc, &grh, 1));
	CHECK(!ibv_dealloc_pd(pd));
	close_context(context);
}
