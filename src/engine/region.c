/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * region - memory that peers may write to, found by key.
 *
 * A key's low bits are a slot number, so that a look-up is one load; but the slot is the one that
 * the caller's secret salt names, or where that is taken the next free one of a walk that the salt
 * names, too.  So all 32 bits are the salt's (but for slots in use, of which there are few), and
 * who has seen one key knows nothing of another.  What is not open to remote writes (an empty
 * slot, a region without that access) has no bytes to reach, whatever key and domain a packet
 * names.
 */
#include "local.h"

/* config.regions: none is free.  Odd steps come by every slot of a power of two. */
static uint32_t free_slot(const struct weft_endpoint *ep, uint32_t salt)
{
	uint32_t slot = salt & ep->region_mask, step = salt >> 15 | 1;

	for (uint32_t i = 0; i < ep->config.regions; i++) {
		if (!ep->regions[slot].in_use)
			return slot;
		slot = (slot + step) & ep->region_mask;
	}
	return ep->config.regions;
}

int weft_region_add(struct weft_endpoint *ep, uint64_t va, void *base, uint64_t len_bytes,
		    uint32_t pd, uint32_t access, uint32_t salt, uint32_t *rkey)
{
	if (!base || !len_bytes || va + (len_bytes - 1) < va || pd & PD_SHUT ||
	    access & ~(uint32_t)ACCESS_ALL)
		return WEFT_EINVAL;
	uint32_t slot = free_slot(ep, salt);

	if (slot == ep->config.regions)
		return WEFT_EFULL;
	*rkey = (salt & ~ep->region_mask) | slot;
	ep->regions[slot] = (struct region){
		.va = va,
		.open_bytes = access & WEFT_ACCESS_REMOTE_WRITE ? len_bytes : 0,
		.len_bytes = len_bytes,
		.base = base,
		.open_to = region_names(*rkey, pd),
		.access = access,
		.in_use = true,
	};
	return 0;
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
			    uint32_t len_bytes, uint32_t access)
{
	const struct region *region = &ep->regions[rkey & ep->region_mask];

	if (!region->in_use || (uint32_t)region->open_to != rkey)
		return WEFT_DROP_BAD_RKEY;
	if (region->open_to >> 32 != pd || !(region->access & access))
		return WEFT_DROP_BAD_ACCESS;
	WEFT_ASSERT(!region_reach(ep, rkey, pd, va, len_bytes, access));
	return WEFT_DROP_OUT_OF_BOUNDS;
}
