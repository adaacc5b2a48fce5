/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_device.h"
#include "verbs_newer.h"

TEST(ibv_alloc_parent_domain__is_its_protection_domain)
{
	struct bench b = open_bench(IBV_QPT_RC, 0);
	struct ibv_td_init_attr none = { 0 }, unknown = { .comp_mask = 1 };
	struct ibv_td *td = ibv_alloc_td(b.context, &none);
	struct ibv_parent_domain_init_attr attr = { .td = td };

	REQUIRE(td);
	CHECK(!ibv_alloc_td(b.context, &unknown) && errno == EINVAL);
	CHECK(!ibv_alloc_parent_domain(b.context, &attr) && errno == EINVAL); /* of what? */
	attr.pd = b.pd;
	attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
	CHECK(!ibv_alloc_parent_domain(b.context, &attr) && errno == EOPNOTSUPP);
	attr.comp_mask = 1u << 9;
	CHECK(!ibv_alloc_parent_domain(b.context, &attr) && errno == EINVAL);
	attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
	struct ibv_pd *pd = ibv_alloc_parent_domain(b.context, &attr);

	REQUIRE(pd);
	CHECK(((struct pd *)pd)->dev == ((struct pd *)b.pd)->dev);
	attr.pd = pd;
	CHECK(!ibv_alloc_parent_domain(b.context, &attr) && errno == EINVAL);
	CHECK_EQ(ibv_dealloc_td(td), EBUSY);
	CHECK_EQ(ibv_dealloc_pd(b.pd), EBUSY);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_dealloc_td(td), 0);
	close_bench(&b);
}

/* As a program of a confidential guest asks: rdma-core's test_buf. */
TEST(ibv_alloc_parent_domain__may_be_allowed_unprotected_memory)
{
	struct bench b = open_bench(IBV_QPT_RC, 0);
	struct ibv_parent_domain_init_attr attr = { .pd = b.pd,
		.comp_mask = PARENT_ALLOWS_UNPROTECTED };
	struct ibv_pd *pd = ibv_alloc_parent_domain(b.context, &attr);
	struct ibv_buf *buf;

	REQUIRE(pd);
	void *at = ibv_alloc_buf(pd, 100, &buf);

	REQUIRE(at);
	struct ibv_mr *mr = ibv_reg_buf_mr(pd, buf, at, 100, IBV_ACCESS_LOCAL_WRITE);

	REQUIRE(mr);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	ibv_free_buf(buf);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	close_bench(&b);
}

TEST(ibv_advise_mr__wants_memory_that_is_registered)
{
	struct bench b = open_bench(IBV_QPT_RC, 0);
	char memory[100];
	struct ibv_sge sges[] = { { (uintptr_t)memory, sizeof(memory), 1 },
		{ (uintptr_t)memory, sizeof(memory), 2 } };

	CHECK_EQ(ibv_advise_mr(b.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, sges, 1), 0);
	CHECK_EQ(fake.mr_access, 0);
	CHECK_EQ(ibv_advise_mr(b.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			 IBV_ADVISE_MR_FLAG_FLUSH, sges, 1),
		0);
	CHECK_EQ(fake.mr_access, WEFT_DEV_LOCAL_WRITE);
	CHECK_EQ(ibv_advise_mr(b.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, sges, 2), EFAULT);
	CHECK_EQ(ibv_advise_mr(b.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, sges, 0), EINVAL);
	CHECK_EQ(ibv_advise_mr(b.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 2, sges, 1), EINVAL);
	CHECK_EQ(ibv_advise_mr(b.pd, (enum ibv_advise_mr_advice)7, 0, sges, 1), EOPNOTSUPP);
	close_bench(&b);
}

TEST(ibv_alloc_dm__is_memory_that_is_reached_by_copies_and_keys)
{
	struct bench b = open_bench(IBV_QPT_RC, 0);
	struct ibv_alloc_dm_attr attr = { .length = 0 };
	unsigned access = IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE;
	char text[8] = "";

	CHECK(!ibv_alloc_dm(b.context, &attr) && errno == EINVAL);
	attr.length = DM_BYTES_MAX + 1;
	CHECK(!ibv_alloc_dm(b.context, &attr) && errno == ENOMEM);
	attr = (struct ibv_alloc_dm_attr){ .length = 100, .log_align_req = 13 };
	struct ibv_dm *dm = ibv_alloc_dm(b.context, &attr);

	REQUIRE(dm);
	CHECK_EQ((uintptr_t)((struct dm *)dm)->memory % 8192, 0);
	CHECK_EQ(ibv_memcpy_to_dm(dm, 92, "letters", 8), 0);
	CHECK_EQ(ibv_memcpy_to_dm(dm, 96, "letters", 8), EINVAL);
	CHECK_EQ(ibv_memcpy_to_dm(dm, UINT64_MAX - 3, "letters", 8), EINVAL);
	CHECK_EQ(ibv_memcpy_from_dm(text, dm, 92, 8), 0);
	CHECK_EQ(ibv_memcpy_from_dm(text, dm, 104, 0), EINVAL);
	CHECK_STR(text, "letters");
	CHECK(!ibv_reg_dm_mr(b.pd, dm, 0, 100, IBV_ACCESS_LOCAL_WRITE) && errno == EINVAL);
	CHECK(!ibv_reg_dm_mr(b.pd, dm, 1, 100, access) && errno == EINVAL);
	struct ibv_mr *mr = ibv_reg_dm_mr(b.pd, dm, 50, 50, access);

	REQUIRE(mr);
	CHECK_EQ(fake.mr_iova, 0);
	CHECK_EQ(fake.mr_access, WEFT_DEV_LOCAL_WRITE);
	CHECK_EQ(ibv_free_dm(dm), EBUSY);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_free_dm(dm), 0);
	close_bench(&b);
}

/* As cards do: rdma-core's test_dm_bad_access. */
TEST(ibv_memcpy_to_dm__copies_words)
{
	static const struct {
		uint64_t offset;
		size_t bytes;
		int answer;
	} rows[] = { { 0, 16, 0 }, { 4, 12, 0 }, { 16, 0, 0 }, { 1, 4, EINVAL }, { 2, 4, EINVAL },
		{ 3, 4, EINVAL }, { 4, 3, EINVAL }, { 0, 1, EINVAL }, { 2, 2, EINVAL } };
	struct bench b = open_bench(IBV_QPT_RC, 0);
	struct ibv_alloc_dm_attr attr = { .length = 16 };
	struct ibv_dm *dm = ibv_alloc_dm(b.context, &attr);

	REQUIRE(dm);
	uint8_t *memory = ((struct dm *)dm)->memory;

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		uint8_t ones[16], got[16] = { 0 };
		size_t n = rows[i].answer ? 0 : rows[i].bytes;

		memset(ones, 1, sizeof(ones));
		memset(memory, 0, sizeof(ones));
		CHECK_EQ(ibv_memcpy_to_dm(dm, rows[i].offset, ones, rows[i].bytes),
			rows[i].answer);
		for (size_t k = 0; k < sizeof(ones); k++)
			CHECK_EQ(memory[k], k >= rows[i].offset && k - rows[i].offset < n);
		memset(memory, 1, sizeof(ones));
		CHECK_EQ(ibv_memcpy_from_dm(got, dm, rows[i].offset, rows[i].bytes),
			rows[i].answer);
		CHECK(n == 0 ? !got[0] : !memcmp(got, ones, n));
	}
	CHECK_EQ(ibv_free_dm(dm), 0);
	close_bench(&b);
}
