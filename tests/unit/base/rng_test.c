/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

/* Fixed for ever: a changed generator would give every stored seed another meaning. */
TEST(weft_rng_u64__gives_the_published_sequence)
{
	/* xoshiro256** from the state 1, 2, 3, 4; the first two are easily worked out by hand. */
	struct weft_rng rng = { { 1, 2, 3, 4 } };

	CHECK_EQ(weft_rng_u64(&rng), 11520);
	CHECK_EQ(weft_rng_u64(&rng), 0);
	CHECK_EQ(weft_rng_u64(&rng), 1509978240);
	CHECK_EQ(weft_rng_u64(&rng), 1215971899390074240);
}

TEST(weft_rng_seed__is_the_splitmix_sequence)
{
	struct weft_rng rng;

	weft_rng_seed(&rng, 1234567);
	CHECK_EQ(rng.s[0], UINT64_C(6457827717110365317));
	CHECK_EQ(rng.s[1], UINT64_C(3203168211198807973));
	weft_rng_seed(&rng, 0);
	CHECK(rng.s[0] | rng.s[1] | rng.s[2] | rng.s[3]);
}

TEST(weft_rng_below__is_even)
{
	static const uint64_t sizes[] = { 1, 2, 3, 7, 10, 100 };
	struct weft_rng rng;

	weft_rng_seed(&rng, 1);
	for (size_t s = 0; s < WEFT_COUNT(sizes); s++) {
		uint64_t n = sizes[s], counts[100] = { 0 };

		for (unsigned i = 0; i < 10000 * n; i++) {
			uint64_t x = weft_rng_below(&rng, n);

			REQUIRE(x < n);
			counts[x]++;
		}
		/* Each count is 10,000 with a deviation of 100: 5 of them is one in a million. */
		for (unsigned i = 0; i < n; i++)
			CHECK_NEAR((double)counts[i], 10000.0, n == 1 ? 0.0 : 500.0);
	}
	CHECK_PANICS(weft_rng_below(&rng, 0));
}

TEST(weft_rng_below__has_no_bias_where_modulo_would)
{
	/* With n = 3/4 of 2^64, x % n falls into the lowest third twice as often as it should. */
	uint64_t n = UINT64_C(3) << 62, low = 0;
	struct weft_rng rng;

	weft_rng_seed(&rng, 2);
	for (unsigned i = 0; i < 30000; i++)
		low += weft_rng_below(&rng, n) < n / 3;
	CHECK_NEAR((double)low, 10000.0, 500.0);
}

TEST(weft_rng_between__reaches_both_ends)
{
	struct weft_rng rng;
	bool lo = false, hi = false;

	weft_rng_seed(&rng, 3);
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t x = weft_rng_between(&rng, 5, 8);

		REQUIRE(x >= 5 && x <= 8);
		lo |= x == 5;
		hi |= x == 8;
	}
	CHECK(lo && hi);
	CHECK_EQ(weft_rng_between(&rng, 9, 9), 9);
	weft_rng_between(&rng, 0, UINT64_MAX);
	CHECK_PANICS(weft_rng_between(&rng, 2, 1));
}

TEST(weft_rng_chance__keeps_its_ratio)
{
	struct weft_rng rng;
	unsigned hits = 0;

	weft_rng_seed(&rng, 4);
	for (unsigned i = 0; i < 100000; i++) {
		hits += weft_rng_chance(&rng, 1, 5);
		REQUIRE(!weft_rng_chance(&rng, 0, 5));
		REQUIRE(weft_rng_chance(&rng, 5, 5));
	}
	CHECK_NEAR((double)hits, 20000.0, 700.0);
	CHECK_PANICS(weft_rng_chance(&rng, 6, 5));
}
