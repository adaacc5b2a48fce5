/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_device.h"
#include "verbs_newer.h"

TEST(ibv_reg_mr_ex__registers_by_what_the_mask_names)
{
	struct bench b = open_bench(IBV_QPT_RC, 0);
	static uint8_t memory[4096];
	struct ibv_mr_init_attr attr = {
		.length = sizeof(memory), .access = IBV_ACCESS_LOCAL_WRITE, .addr = memory
	};

	CHECK(!ibv_reg_mr_ex(b.pd, &attr) && errno == EINVAL); /* neither memory nor a file */
	attr.comp_mask = MR_HAS_ADDR;
	struct ibv_mr *mr = ibv_reg_mr_ex(b.pd, &attr);

	REQUIRE(mr);
	CHECK(mr->addr == memory && mr->length == sizeof(memory));
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	attr.comp_mask |= MR_HAS_IOVA;
	attr.iova = 0x1000;
	mr = ibv_reg_mr_ex(b.pd, &attr);
	REQUIRE(mr);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	static const struct {
		uint64_t mask;
		int error;
	} others[] = { { MR_HAS_ADDR | MR_HAS_FD, EINVAL },
		{ MR_HAS_ADDR | MR_HAS_FD_OFFSET, EINVAL }, { MR_HAS_FD | MR_HAS_IOVA, EINVAL },
		{ MR_HAS_FD | MR_HAS_FD_OFFSET, EINVAL },
		{ MR_HAS_ADDR | MR_HAS_FD | MR_HAS_FD_OFFSET | MR_HAS_IOVA, EINVAL },
		{ MR_HAS_ADDR | MR_HAS_DMAH, EOPNOTSUPP }, { MR_HAS_ADDR | 1 << 6, EOPNOTSUPP } };

	for (size_t i = 0; i < WEFT_COUNT(others); i++) {
		attr.comp_mask = others[i].mask;
		errno = 0;
		CHECK(!ibv_reg_mr_ex(b.pd, &attr) && errno == others[i].error);
	}
	/* As perftest registers a GPU's. */
	attr.comp_mask = MR_HAS_FD | MR_HAS_FD_OFFSET | MR_HAS_IOVA;
	attr.fd = 5;
	attr.fd_offset = 4096;
	mr = ibv_reg_mr_ex(b.pd, &attr);
	REQUIRE(mr);
	CHECK(fake.mr_fd == 5 && fake.mr_offset == 4096 && fake.mr_iova == 0x1000);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	close_bench(&b);
}

TEST(ibv_alloc_buf__gives_pages_that_can_be_registered_in_parts)
{
	struct bench b = open_bench(IBV_QPT_RC, 0);
	struct ibv_buf *buf = NULL;
	struct ibv_mr_init_attr attr = { .comp_mask = MR_HAS_ADDR | MR_HAS_BUF };

	CHECK(!ibv_alloc_buf(b.pd, 0, &buf) && errno == EINVAL);
	CHECK(!ibv_alloc_buf(b.pd, SIZE_MAX, &buf) && errno == ENOMEM);
	uint8_t *at = ibv_alloc_buf(b.pd, 10000, &buf);

	REQUIRE(at);
	CHECK_EQ((uintptr_t)at % 4096, 0);
	memset(at, 1, 10000);
	struct ibv_mr *mr = ibv_reg_buf_mr(b.pd, buf, at + 100, 9900, IBV_ACCESS_LOCAL_WRITE);

	REQUIRE(mr);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK(!ibv_reg_buf_mr(b.pd, buf, at + 100, 9901, 0) && errno == EINVAL);
	CHECK(!ibv_reg_buf_mr(b.pd, buf, at - 1, 1, 0) && errno == EINVAL);
	CHECK(!ibv_reg_buf_mr(b.pd, NULL, at, 1, 0) && errno == EINVAL);
	attr.addr = at;
	attr.length = 10000;
	attr.buf = buf;
	mr = ibv_reg_mr_ex(b.pd, &attr);
	REQUIRE(mr);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	attr.length++;
	CHECK(!ibv_reg_mr_ex(b.pd, &attr) && errno == EINVAL);
	CHECK(ibv_export_buf_dmabuf_fd(buf) < 0 && errno == ENODATA);
	ibv_free_buf(buf);
	ibv_free_buf(NULL);
	close_bench(&b);
}

TEST(ibv_reg_buf_mr__wants_the_domain_that_allocated)
{
	struct bench b = open_bench(IBV_QPT_RC, 0);
	struct ibv_pd *other = ibv_alloc_pd(b.context);
	struct ibv_mr_init_attr attr = { .comp_mask = MR_HAS_ADDR | MR_HAS_BUF, .length = 100 };
	void *at = ibv_alloc_buf(b.pd, 100, &attr.buf);

	REQUIRE(other && at);
	attr.addr = at;
	errno = 0;
	CHECK(!ibv_reg_buf_mr(other, attr.buf, at, 100, 0) && errno == EINVAL);
	errno = 0;
	CHECK(!ibv_reg_mr_ex(other, &attr) && errno == EINVAL);
	ibv_free_buf(attr.buf);
	CHECK_EQ(ibv_dealloc_pd(other), 0);
	close_bench(&b);
}

TEST(ibv_query_port_speed__is_that_of_all_planes)
{
	struct bench b = open_bench(IBV_QPT_RC, 0);
	struct ibv_port_attr port;
	uint64_t speed = 0;

	CHECK_EQ(ibv_query_port(b.context, 1, &port), 0);
	CHECK_EQ(ibv_query_port_speed(b.context, 1, &speed), 0);
	CHECK(speed > 0);
	CHECK_EQ(ibv_query_port_speed(b.context, 2, &speed), EINVAL);
	close_bench(&b);
}

TEST(newer__refuses_what_only_cards_have)
{
	struct bench b = open_bench(IBV_QPT_RC, 0);
	uint64_t value;

	CHECK(!ibv_alloc_dmah(b.context, NULL) && errno == EOPNOTSUPP);
	CHECK_EQ(ibv_dealloc_dmah(NULL), EOPNOTSUPP);
	CHECK(ibv_dm_export_dmabuf_fd(NULL) < 0 && errno == EOPNOTSUPP);
	CHECK_EQ(_ibv_query_comp_cntr_caps(b.context, NULL, 0), EOPNOTSUPP);
	errno = 0;
	CHECK(!ibv_create_comp_cntr(b.context, NULL) && errno == EOPNOTSUPP);
	CHECK_EQ(ibv_destroy_comp_cntr(NULL), EOPNOTSUPP);
	CHECK_EQ(ibv_set_comp_cntr(NULL, 1), EOPNOTSUPP);
	CHECK_EQ(ibv_set_err_comp_cntr(NULL, 1), EOPNOTSUPP);
	CHECK_EQ(ibv_inc_comp_cntr(NULL, 1), EOPNOTSUPP);
	CHECK_EQ(ibv_inc_err_comp_cntr(NULL, 1), EOPNOTSUPP);
	CHECK_EQ(ibv_read_comp_cntr(NULL, &value), EOPNOTSUPP);
	CHECK_EQ(ibv_read_err_comp_cntr(NULL, &value), EOPNOTSUPP);
	CHECK_EQ(ibv_qp_attach_comp_cntr(b.qp, NULL, NULL), EOPNOTSUPP);
	close_bench(&b);
}
