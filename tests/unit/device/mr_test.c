/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

#include <sys/mman.h>

TEST(weft_dev_mr_open__refuses_memory_that_cannot_be_used)
{
	struct side *s = side_open();
	struct weft_dev_mr *mr;
	uint8_t *pages = mmap(NULL, 3 * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(pages != MAP_FAILED);
	CHECK_EQ(weft_dev_mr_open(s->pd, pages, 12288, 0, WEFT_DEV_LOCAL_WRITE, &mr), EFAULT);
	CHECK_EQ(weft_dev_mr_open(s->pd, pages, 12288, 0, WEFT_DEV_REMOTE_READ, &mr), 0);
	CHECK_EQ(weft_dev_mr_close(mr), 0);
	munmap(pages + 4096, 4096); /* a hole in the middle */
	CHECK_EQ(weft_dev_mr_open(s->pd, pages, 12288, 0, 0, &mr), EFAULT);
	CHECK_EQ(weft_dev_mr_open(s->pd, (void *)16, 64, 0, 0, &mr), EFAULT);
	CHECK_EQ(weft_dev_mr_open(s->pd, s->memory, 0, 0, 0, &mr), EINVAL);
	CHECK_EQ(weft_dev_mr_open(s->pd, s->memory, 8, 0, WEFT_DEV_REMOTE_WRITE, &mr), EINVAL);
	CHECK_EQ(weft_dev_mr_open(s->pd, s->memory, UINT64_MAX, 0, 0, &mr), EINVAL);
	CHECK_EQ(weft_dev_pd_close(s->pd), EBUSY);
	side_close(s);
}

TEST(weft_dev_mr_open__draws_other_keys_each_time)
{
	struct side *s = side_open();
	struct weft_dev_mr *mr;
	uint32_t first, same = 0;

	CHECK_EQ(weft_dev_mr_open(s->pd, s->memory, 64, 0, 0, &mr), 0);
	first = weft_dev_mr_key(mr);
	for (unsigned i = 0; i < 16; i++) {
		CHECK_EQ(weft_dev_mr_close(mr), 0);
		CHECK_EQ(weft_dev_mr_open(s->pd, s->memory, 64, 0, 0, &mr), 0);
		same += weft_dev_mr_key(mr) == first;
	}
	CHECK(same < 4);
	CHECK_EQ(weft_dev_mr_close(mr), 0);
	side_close(s);
}

TEST(mr_memory__keeps_bounds_domains_and_access)
{
	struct side *s = side_open();
	struct weft_dev_pd *other;
	struct weft_dev_mr *mr;

	CHECK_EQ(weft_dev_mr_open(s->pd, s->memory, 100, 5000, WEFT_DEV_REMOTE_READ, &mr), 0);
	struct weft_dev_sge sge = { 5000, 100, weft_dev_mr_key(mr) };

	CHECK(mr_memory(s->pd, &sge, 0) == s->memory);
	CHECK(mr_memory(s->pd, &sge, WEFT_DEV_LOCAL_WRITE) == NULL);
	sge.addr = 5001;
	CHECK(mr_memory(s->pd, &sge, 0) == NULL);
	sge.len_bytes = 99;
	CHECK(mr_memory(s->pd, &sge, 0) == s->memory + 1);
	sge.addr = 4999;
	CHECK(mr_memory(s->pd, &sge, 0) == NULL);
	CHECK_EQ(weft_dev_pd_open(s->dev, &other), 0);
	sge.addr = 5000;
	CHECK(mr_memory(other, &sge, 0) == NULL);
	CHECK_EQ(weft_dev_pd_close(other), 0);
	CHECK_EQ(weft_dev_mr_close(mr), 0);
	side_close(s);
}

/* Whoever knows the address but not the key, or the key but not the bounds. */
TEST(weft_dev_mr_open__keeps_strangers_out)
{
	static const struct {
		int64_t va;
		uint32_t key_xor;
	} rows[] = { { 0, 1u << 20 }, { -1, 0 }, { SIDE_BYTES - 63, 0 } };

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct side *s[2];
		struct weft_dev_send send;
		static uint8_t before[SIDE_BYTES];

		pair_open(s, WEFT_DEV_STRICT);
		memcpy(before, s[1]->memory, SIDE_BYTES);
		memset(s[0]->memory, 0xee, 64);
		send = to_memory(s[1], WEFT_DEV_WRITE, 0);
		send.remote_va += (uint64_t)rows[i].va;
		send.rkey ^= rows[i].key_xor;
		CHECK_EQ(side_post(s[0], send, 0, 64), 0);
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_REM_ACCESS_ERR);
		CHECK(!memcmp(before, s[1]->memory, SIDE_BYTES));
		pair_close(s);
	}
}
