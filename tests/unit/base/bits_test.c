/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

TEST(weft_ctz64__and_clz64_know_the_empty_word)
{
	CHECK_EQ(weft_ctz64(0), 64);
	CHECK_EQ(weft_clz64(0), 64);
	for (unsigned i = 0; i < 64; i++) {
		CHECK_EQ(weft_ctz64(UINT64_C(1) << i), i);
		CHECK_EQ(weft_clz64(UINT64_C(1) << i), 63 - i);
		CHECK_EQ(weft_popcount64(UINT64_MAX >> i), 64 - i);
	}
}

TEST(weft_is_pow2__knows_its_edges)
{
	CHECK(!weft_is_pow2(0));
	CHECK(weft_is_pow2(1));
	CHECK(!weft_is_pow2(3));
	CHECK(weft_is_pow2(UINT64_C(1) << 63));
	CHECK(!weft_is_pow2(UINT64_MAX));
}

TEST(weft_wraps__knows_the_last_address)
{
	CHECK(!weft_wraps(0, UINT64_MAX));
	CHECK(!weft_wraps(UINT64_MAX, 1));
	CHECK(weft_wraps(UINT64_MAX, 2));
	CHECK(!weft_wraps(1, UINT64_MAX));
	CHECK(weft_wraps(2, UINT64_MAX));
	CHECK(!weft_wraps(UINT64_MAX, 0));
	CHECK(!weft_wraps(0, 0));
}

TEST(weft_pow2_up__rounds_up)
{
	static const uint64_t rows[][2] = { { 0, 1 }, { 1, 1 }, { 2, 2 }, { 3, 4 }, { 4, 4 },
		{ 5, 8 }, { 1025, 2048 }, { UINT64_C(1) << 63, UINT64_C(1) << 63 } };

	for (size_t i = 0; i < WEFT_COUNT(rows); i++)
		CHECK_EQ(weft_pow2_up(rows[i][0]), rows[i][1]);
}

TEST(weft_align_up__and_div_up_round_up)
{
	CHECK_EQ(WEFT_ALIGN_UP(0, 64), 0);
	CHECK_EQ(WEFT_ALIGN_UP(1, 64), 64);
	CHECK_EQ(WEFT_ALIGN_UP(64, 64), 64);
	CHECK_EQ(WEFT_DIV_UP(9, 4), 3);
	CHECK_EQ(WEFT_DIV_UP(8, 4), 2);
}

TEST(weft_rank__is_the_nearest_and_does_not_overflow)
{
	CHECK_EQ(weft_rank(0, 1, 2), 0);
	CHECK_EQ(weft_rank(4, 0, 1), 1);
	CHECK_EQ(weft_rank(4, 1, 2), 2);
	CHECK_EQ(weft_rank(5, 1, 2), 3);
	CHECK_EQ(weft_rank(4, 99, 100), 4);
	CHECK_EQ(weft_rank(1000, 999, 1000), 999);
	CHECK_EQ(weft_rank(7, 1, 1), 7);
	CHECK_EQ(weft_rank(UINT64_MAX, 1, 1), UINT64_MAX);
	CHECK_EQ(weft_rank(UINT64_MAX, UINT32_MAX - 1, UINT32_MAX), UINT64_MAX - UINT32_MAX - 2);
}

TEST(weft_rank_value__is_the_smallest_that_so_many_do_not_exceed)
{
	static const uint64_t list[] = { 10, 20, 30, 40 };

	CHECK_EQ(weft_rank_value(list, 4, 0, 1), 10);
	CHECK_EQ(weft_rank_value(list, 4, 1, 2), 20);
	CHECK_EQ(weft_rank_value(list, 4, 99, 100), 40);
	CHECK_EQ(weft_rank_value(list, 0, 1, 1), 0);
}
