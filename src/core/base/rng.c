/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rng - random numbers that are the same everywhere.
 *
 * xoshiro256** seeded through splitmix64 (Blackman and Vigna, "Scrambled linear pseudorandom number
 * generators", 2018): four words of state, a nanosecond a number, no weak low bits, so that callers
 * may mask.  PCG64 was the other candidate; it needs a 128-bit multiplication, slow where we have
 * none.  Not for secrets.
 */
#include <weft/base.h>

static uint64_t rotate_left(uint64_t x, unsigned by)
{
	return x << by | x >> (64 - by);
}

/* Spreads a poor seed (1, 2, 3, ...) over the state, which must not be all zero. */
static uint64_t splitmix(uint64_t *x)
{
	uint64_t z = *x += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

void weft_rng_seed(struct weft_rng *rng, uint64_t seed)
{
	for (size_t i = 0; i < WEFT_COUNT(rng->s); i++)
		rng->s[i] = splitmix(&seed);
}

uint64_t weft_rng_u64(struct weft_rng *rng)
{
	uint64_t *s = rng->s;
	uint64_t result = rotate_left(s[1] * 5, 7) * 9;
	uint64_t shifted = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= shifted;
	s[3] = rotate_left(s[3], 45);
	return result;
}

uint64_t weft_rng_below(struct weft_rng *rng, uint64_t n)
{
	WEFT_ASSERT(n > 0);
	/* 2^64 mod n numbers too many would make small results likelier: refuse them. */
	uint64_t refused = (0 - n) % n;
	uint64_t x = weft_rng_u64(rng);

	while (x < refused)
		x = weft_rng_u64(rng);
	return x % n;
}

uint64_t weft_rng_between(struct weft_rng *rng, uint64_t lo, uint64_t hi)
{
	WEFT_ASSERT(lo <= hi);
	if (hi - lo == UINT64_MAX)
		return weft_rng_u64(rng);
	return lo + weft_rng_below(rng, hi - lo + 1);
}

bool weft_rng_chance(struct weft_rng *rng, uint64_t num, uint64_t den)
{
	WEFT_ASSERT(num <= den);
	return weft_rng_below(rng, den) < num;
}
