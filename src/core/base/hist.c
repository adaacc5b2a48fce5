/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hist - how long things took, in constant memory.
 *
 * Log-linear buckets, as in HdrHistogram: below 16 every value has its own, above that each power
 * of two is cut into 16.  The relative error is bounded for any unit and any range, two histograms
 * merge by addition, and adding costs a count-leading-zeros and an increment, so it can sit beside
 * a packet.  A sketch (t-digest) would be smaller, but its answer depends on the order of arrival,
 * and ours must not.
 */
#include <weft/base.h>

#define SUB (UINT64_C(1) << WEFT_HIST_SUB_BITS)

static size_t bucket_of(uint64_t value)
{
	if (value < SUB)
		return (size_t)value;
	unsigned shift = 63 - weft_clz64(value) - WEFT_HIST_SUB_BITS;

	return (size_t)((shift + 1) * SUB + (value >> shift) - SUB);
}

/* The largest value that falls into the bucket. */
static uint64_t bucket_end(size_t bucket)
{
	if (bucket < SUB)
		return bucket;
	unsigned shift = (unsigned)(bucket / SUB - 1);
	uint64_t start = (SUB + bucket % SUB) << shift;

	return start + ((UINT64_C(1) << shift) - 1);
}

void weft_hist_init(struct weft_hist *hist)
{
	*hist = (struct weft_hist){ .min = UINT64_MAX };
}

void weft_hist_add(struct weft_hist *hist, uint64_t value)
{
	size_t bucket = bucket_of(value);

	WEFT_ASSERT(bucket < WEFT_HIST_BUCKETS);
	hist->buckets[bucket]++;
	hist->n++;
	hist->sum += value;
	hist->min = WEFT_MIN(hist->min, value);
	hist->max = WEFT_MAX(hist->max, value);
}

uint64_t weft_hist_quantile(const struct weft_hist *hist, uint64_t num, uint64_t den)
{
	WEFT_ASSERT(den > 0 && num <= den);
	if (!hist->n)
		return 0;
	if (!num)
		return hist->min;
	WEFT_ASSERT(den <= UINT32_MAX);
	uint64_t rank = weft_rank(hist->n, num, den), seen = 0;

	for (size_t i = 0; i < WEFT_HIST_BUCKETS; i++) {
		seen += hist->buckets[i];
		if (seen >= rank)
			return WEFT_MIN(WEFT_MAX(bucket_end(i), hist->min), hist->max);
	}
	return hist->max;
}

void weft_hist_merge(struct weft_hist *into, const struct weft_hist *from)
{
	for (size_t i = 0; i < WEFT_HIST_BUCKETS; i++)
		into->buckets[i] += from->buckets[i];
	into->n += from->n;
	into->sum += from->sum;
	into->min = WEFT_MIN(into->min, from->min);
	into->max = WEFT_MAX(into->max, from->max);
}
