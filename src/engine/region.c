/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * region - memory that peers may write to, found by key.
 *
 * A key is a slot number in its low bits and the caller's secret salt above them, so a look-up
 * is one load and a guess has one chance in 2^32 / regions.  What is not open to remote writes
 * (an empty slot, a region without that access) has no bytes to reach, whatever key and domain
 * a packet names.
 */
#include "local.h"

enum {
	ACCESS_ALL = WEFT_ACCESS_REMOTE_WRITE | WEFT_ACCESS_REMOTE_READ | WEFT_ACCESS_REMOTE_ATOMIC
};

int weft_region_add(struct weft_endpoint *ep, uint64_t va, void *base, uint64_t len_bytes,
		    uint32_t pd, uint32_t access, uint32_t salt, uint32_t *rkey)
{
	if (!base || !len_bytes || va + (len_bytes - 1) < va ||
	    access & ~(uint32_t)ACCESS_ALL)
		return WEFT_EINVAL;
	for (uint32_t i = 0; i < ep->config.regions; i++) {
		struct region *region = &ep->regions[i];
		uint32_t key = (salt & ~ep->region_mask) | i;

		if (region->in_use)
			continue;
		*region = (struct region){
			.va = va,
			.open_bytes = access & WEFT_ACCESS_REMOTE_WRITE ? len_bytes : 0,
			.len_bytes = len_bytes,
			.base = base,
			.open_to = region_names(key, pd),
			.access = access,
			.in_use = true,
		};
		*rkey = key;
		return 0;
	}
	return WEFT_EFULL;
}

int weft_region_drop(struct weft_endpoint *ep, uint32_t rkey)
{
	struct region *region = &ep->regions[rkey & ep->region_mask];

	if (!region->in_use || (uint32_t)region->open_to != rkey)
		return WEFT_ENOENT;
	reads_forget_region(ep, region);
	*region = (struct region){ 0 };
	return 0;
}

uint8_t *region_reach(const struct weft_endpoint *ep, uint32_t rkey, uint32_t pd, uint64_t va,
		      uint32_t len_bytes, uint32_t access)
{
	const struct region *region = &ep->regions[rkey & ep->region_mask];
	uint64_t offset = va - region->va;

	if (!region->in_use || region->open_to != region_names(rkey, pd) ||
	    !(region->access & access) || offset > region->len_bytes ||
	    len_bytes > region->len_bytes - offset)
		return NULL;
	return region->base + offset;
}

enum weft_drop region_fault(const struct weft_endpoint *ep, uint32_t rkey, uint32_t pd, uint64_t va,
			    uint32_t len_bytes)
{
	const struct region *region = &ep->regions[rkey & ep->region_mask];

	if (!region->in_use || (uint32_t)region->open_to != rkey)
		return WEFT_DROP_BAD_RKEY;
	if (region->open_to >> 32 != pd || !(region->access & WEFT_ACCESS_REMOTE_WRITE))
		return WEFT_DROP_BAD_ACCESS;
	WEFT_ASSERT(!region_place(ep, rkey, pd, va, len_bytes));
	return WEFT_DROP_OUT_OF_BOUNDS;
}
