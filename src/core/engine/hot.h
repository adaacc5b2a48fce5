/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_ENGINE_HOT_H
#define WEFT_ENGINE_HOT_H
/*
 * The short part of engine_local.h, which includes it at its end, that runs per packet: in a
 * header, so that it is inlined whatever the build does.
 */

static inline bool window_has(const struct weft_qp *qp, uint32_t psn)
{
	uint32_t at = psn & qp->ep->rx_mask;

	return qp->rx_bits[at / 64] >> (at % 64) & 1;
}

static inline void window_set(struct weft_qp *qp, uint32_t psn, bool last)
{
	uint32_t at = psn & qp->ep->rx_mask;

	qp->rx_bits[at / 64] |= UINT64_C(1) << (at % 64);
	qp->rx_last[at / 64] |= (uint64_t)last << (at % 64);
}

/* A window's owner changes the low eight bits. */
static inline uint32_t region_slot(const struct weft_endpoint *ep, uint32_t rkey)
{
	return rkey >> 8 & ep->region_mask;
}

static inline uint64_t region_names(uint32_t rkey, uint32_t pd)
{
	return (uint64_t)pd << 32 | rkey;
}

/* Where these bytes belong; NULL: key, domain, access or bounds forbid it. */
static inline uint8_t *region_place(const struct weft_endpoint *ep, uint32_t rkey, uint32_t pd,
				    uint64_t va, uint32_t len_bytes)
{
	const struct region *region = &ep->regions[region_slot(ep, rkey)];
	uint64_t offset = va - region->va; /* va + len may wrap in a hostile packet, this not */

	if (region->open_to != region_names(rkey, pd) || offset > region->open_bytes ||
	    len_bytes > region->open_bytes - offset)
		return NULL;
	return (uint8_t *)((uintptr_t)region->base + offset); /* NULL + 0: nothing is bound */
}

static inline uint32_t time16(uint64_t now)
{
	return (uint32_t)(now >> 4);
}

static inline uint64_t age16_ns(uint64_t now, uint32_t sent16)
{
	return (uint64_t)(uint32_t)(time16(now) - sent16) << 4;
}

/*
 * a is later than b: judged by their ages, so that a stamp that has lain for longer than half the
 * circle of 68 s (an idle QP, a backup path) does not pass for one of the future.
 */
static inline bool later16(uint64_t now, uint32_t a, uint32_t b)
{
	return time16(now) - a < time16(now) - b;
}

/* A counter that stays at its end instead of starting over. */
static inline void count8(uint8_t *n)
{
	if (*n < UINT8_MAX)
		(*n)++;
}

static inline uint32_t lowest_bit(uint64_t word)
{
	return (uint32_t)__builtin_ctzll(word);
}

#endif /* WEFT_ENGINE_HOT_H */
