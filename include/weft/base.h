/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_BASE_H
#define WEFT_BASE_H
/*
 * base - what C forgot, and nothing about networks.
 *
 * Time     None.
 * Memory   Lent by the caller; nothing here allocates.
 * Threads  One at a time per object.  The panic hook is the one global: set it before they start.
 * Errors   A false WEFT_ASSERT ends the program, in every build.
 */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_CACHE_LINE_BYTES 64u
#define WEFT_COUNT(array) (sizeof(array) / sizeof((array)[0]))
/* Both arguments are evaluated twice: pass values, not calls. */
#define WEFT_MIN(a, b) ((a) < (b) ? (a) : (b))
#define WEFT_MAX(a, b) ((a) > (b) ? (a) : (b))
/* to: a power of two, of at least the width of n. */
#define WEFT_ALIGN_UP(n, to) (((n) + ((to)-1)) & ~((to)-1))
#define WEFT_DIV_UP(n, by) (((n) + ((by)-1)) / (by))
#define WEFT_CACHE_ALIGNED __attribute__((aligned(64)))
#define WEFT_LIKELY(x) __builtin_expect(!!(x), 1)
#define WEFT_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* ---- assertions ---- */

#define WEFT_ASSERT(expr) (WEFT_LIKELY(expr) ? (void)0 : weft_panic(__FILE__, __LINE__, #expr))

/* May dump state and print; if it returns, the program traps anyway.  Tests leave by longjmp. */
typedef void weft_panic_fn(const char *file, int line, const char *expr);

/* Returns the hook that was set before; NULL for none (the start: trap without a word). */
weft_panic_fn *weft_panic_hook(weft_panic_fn *hook);
/* What a false WEFT_ASSERT calls: the hook, then a trap. */
void weft_panic(const char *file, int line, const char *expr) __attribute__((noreturn, cold));

/* ---- bits ---- */

/* How many bits are set: 0 .. 64. */
static inline unsigned weft_popcount64(uint64_t bits)
{
	return (unsigned)__builtin_popcountll(bits);
}

/* Index of the lowest set bit; 64 where there is none. */
static inline unsigned weft_ctz64(uint64_t bits)
{
	return bits ? (unsigned)__builtin_ctzll(bits) : 64;
}

/* Zero bits above the highest set bit; 64 where there is none. */
static inline unsigned weft_clz64(uint64_t bits)
{
	return bits ? (unsigned)__builtin_clzll(bits) : 64;
}

/* Time from then to now; none where `then` was read from the clock after `now`. */
static inline uint64_t weft_elapsed(uint64_t now, uint64_t then)
{
	return now > then ? now - then : 0;
}

/* Exactly one bit is set. */
static inline bool weft_is_pow2(uint64_t n)
{
	return n && !(n & (n - 1));
}

/* The smallest power of two that is at least n; n <= 2^63, and 1 for 0. */
static inline uint64_t weft_pow2_up(uint64_t n)
{
	return n < 2 ? 1 : UINT64_C(1) << (64 - weft_clz64(n - 1));
}

/* Bytes from there on do not end within 64 bits of address; none never do that. */
static inline bool weft_wraps(uint64_t from, uint64_t bytes)
{
	return bytes && from + (bytes - 1) < from;
}

/* ---- quantiles by nearest rank ---- */

/*
 * How many of n values lie at or below the one that num/den of them do not exceed: 1 .. n, 0 where
 * n is 0.  num <= den; den in 1 .. 2^32 - 1.  In two parts: n * num could overflow, these cannot.
 */
static inline uint64_t weft_rank(uint64_t n, uint64_t num, uint64_t den)
{
	uint64_t rank = n / den * num + WEFT_DIV_UP(n % den * num, den);

	return n && !rank ? 1 : rank;
}

/* The value of that rank; 0 where there is none. */
static inline uint64_t weft_rank_value(
	const uint64_t ascending[], uint64_t n, uint64_t num, uint64_t den)
{
	return n ? ascending[weft_rank(n, num, den) - 1] : 0;
}

/* ---- random numbers: the same sequence for the same seed on every machine ---- */

/* A generator's state (xoshiro256**); the same state gives the same numbers. */
struct weft_rng {
	uint64_t s[4];
};

void weft_rng_seed(struct weft_rng *rng, uint64_t seed); /* any seed, zero too */
uint64_t weft_rng_u64(struct weft_rng *rng); /* even over all 64 bits */
uint64_t weft_rng_below(struct weft_rng *rng, uint64_t n); /* even over [0, n); n > 0 */
/* Even over [lo, hi]; lo <= hi. */
uint64_t weft_rng_between(struct weft_rng *rng, uint64_t lo, uint64_t hi);
/* True num times out of den; num <= den, den > 0.  Ratios and not floats: alike everywhere. */
bool weft_rng_chance(struct weft_rng *rng, uint64_t num, uint64_t den);

/* ---- text of others, before a terminal shows it ---- */

/* UTF-8 without control characters, C1 and those that turn the direction of writing included. */
bool weft_text_is_clean(const char *text);
bool weft_text_is_clean_lines(const char *text); /* ... and it may have more than one line */
/* Makes it so in place, a question mark for each byte that is not; returns text. */
char *weft_text_clean(char *text);

/* ---- histogram: buckets a sixteenth of their value wide; quantiles at most 6.25 % off ---- */

#define WEFT_HIST_SUB_BITS 4
#define WEFT_HIST_BUCKETS ((64 - WEFT_HIST_SUB_BITS + 1) << WEFT_HIST_SUB_BITS)

/* Values of any size, in fixed memory. */
struct weft_hist {
	uint64_t n;        /* values added */
	uint64_t min, max; /* exact; UINT64_MAX and 0 while empty */
	uint64_t sum;      /* wraps */
	uint64_t buckets[WEFT_HIST_BUCKETS];
};

void weft_hist_init(struct weft_hist *hist); /* empty */
void weft_hist_add(struct weft_hist *hist, uint64_t value); /* counts one more value */
/* The value that num/den of all values do not exceed, rounded up to its bucket's end but never past
 * the exact maximum; num/den 0 is the minimum, 1 the maximum.  0 while empty.
 */
uint64_t weft_hist_quantile(const struct weft_hist *hist, uint64_t num, uint64_t den);
/* Adds all that from has. */
void weft_hist_merge(struct weft_hist *into, const struct weft_hist *from);

#ifdef __cplusplus
}
#endif
#endif
