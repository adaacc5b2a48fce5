/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

static struct weft_hist a, b;

TEST(weft_hist_quantile__is_zero_while_empty)
{
	weft_hist_init(&a);
	CHECK_EQ(weft_hist_quantile(&a, 1, 2), 0);
	CHECK_EQ(a.min, UINT64_MAX);
}

TEST(weft_hist_add__keeps_small_values_exact)
{
	weft_hist_init(&a);
	for (unsigned i = 0; i < 16; i++)
		weft_hist_add(&a, i);
	for (unsigned i = 1; i <= 16; i++)
		CHECK_EQ(weft_hist_quantile(&a, i, 16), i - 1);
	CHECK_EQ(a.sum, 120);
}

TEST(weft_hist_add__errs_by_at_most_a_sixteenth_anywhere)
{
	for (unsigned bit = 0; bit < 64; bit++) {
		for (int off = -1; off <= 1; off++) {
			uint64_t value = (UINT64_C(1) << bit) + (uint64_t)off;

			weft_hist_init(&a);
			weft_hist_add(&a, value);
			weft_hist_add(&a, UINT64_MAX); /* or the maximum clamps the answer */
			uint64_t got = weft_hist_quantile(&a, 1, 2);

			CHECK(got >= value && got - value <= value / 16);
		}
	}
}

TEST(weft_hist_quantile__finds_ranks)
{
	weft_hist_init(&a);
	for (unsigned i = 1; i <= 100000; i++)
		weft_hist_add(&a, i);
	static const struct {
		uint64_t num, den, want;
	} rows[] = { { 1, 100, 1000 }, { 1, 2, 50000 }, { 99, 100, 99000 }, { 999, 1000, 99900 } };

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		uint64_t got = weft_hist_quantile(&a, rows[i].num, rows[i].den);

		CHECK(got >= rows[i].want && got <= rows[i].want + rows[i].want / 16);
	}
	CHECK_EQ(weft_hist_quantile(&a, 0, 1), 1);
	CHECK_EQ(weft_hist_quantile(&a, 1, 1), 100000);
	CHECK_PANICS(weft_hist_quantile(&a, 2, 1));
	CHECK_PANICS(weft_hist_quantile(&a, 0, 0));
}

TEST(weft_hist_merge__equals_adding_all_to_one)
{
	static struct weft_hist both;
	struct weft_rng rng;

	weft_hist_init(&a);
	weft_hist_init(&b);
	weft_hist_init(&both);
	weft_rng_seed(&rng, 1);
	for (unsigned i = 0; i < 10000; i++) {
		uint64_t value = weft_rng_u64(&rng) >> weft_rng_below(&rng, 64);

		weft_hist_add(i % 3 ? &a : &b, value);
		weft_hist_add(&both, value);
	}
	weft_hist_merge(&a, &b);
	CHECK_MEM(&a, &both, sizeof(both));
}
