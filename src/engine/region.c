/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * region - memory that peers may write to, found by key.
 *
 * A key is a slot number in its low bits and the caller's secret salt above them, so a look-up
 * is one load and a guess has one chance in 2^32 / regions.  Addresses are checked without
 * adding them up: va + len may wrap in a hostile packet.
 */
#include "local.h"

int weft_region_add(struct weft_endpoint *ep, uint64_t va, void *base, uint64_t len_bytes,
		    uint32_t pd, uint32_t access, uint32_t salt, uint32_t *rkey)
{
	if (!base || !len_bytes || va + (len_bytes - 1) < va ||
	    access & ~(uint32_t)WEFT_ACCESS_REMOTE_WRITE)
		return WEFT_EINVAL;
	for (uint32_t i = 0; i < ep->config.regions; i++) {
		struct region *region = &ep->regions[i];

		if (region->in_use)
			continue;
		*region = (struct region){
			.va = va,
			.len_bytes = len_bytes,
			.base = base,
			.rkey = (salt & ~ep->region_mask) | i,
			.pd = pd,
			.access = access,
			.in_use = true,
		};
		*rkey = region->rkey;
		return 0;
	}
	return WEFT_EFULL;
}

int weft_region_drop(struct weft_endpoint *ep, uint32_t rkey)
{
	struct region *region = &ep->regions[rkey & ep->region_mask];

	if (!region->in_use || region->rkey != rkey)
		return WEFT_ENOENT;
	region->in_use = false;
	return 0;
}

uint8_t *region_place(struct weft_endpoint *ep, uint32_t rkey, uint32_t pd, uint64_t va,
		      uint32_t len_bytes, enum weft_drop *why)
{
	const struct region *region = &ep->regions[rkey & ep->region_mask];
	uint64_t offset = va - region->va;

	if (WEFT_UNLIKELY(region->rkey != rkey || !region->in_use)) {
		*why = WEFT_DROP_BAD_RKEY;
		return NULL;
	}
	if (region->pd != pd || !(region->access & WEFT_ACCESS_REMOTE_WRITE)) {
		*why = WEFT_DROP_BAD_ACCESS;
		return NULL;
	}
	if (offset > region->len_bytes || len_bytes > region->len_bytes - offset) {
		*why = WEFT_DROP_OUT_OF_BOUNDS;
		return NULL;
	}
	return region->base + offset;
}
