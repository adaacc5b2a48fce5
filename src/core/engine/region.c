/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * region - memory that peers may write to, found by key.
 *
 * A key's bits from the ninth on are a slot number, so that a look-up is one load; but the slot is
 * the one that the caller's secret salt names, or where that is taken the next free one of a walk
 * that the salt names, too.  So all 32 bits are the salt's (but for slots in use, of which there
 * are few), and who has seen one key knows nothing of another.  What is not open to remote writes
 * (an empty slot, a region without that access) has no bytes to reach, whatever key and domain a
 * packet names.
 */
#include "engine_local.h"

/* Odd steps come by every slot of a power of two. */
uint32_t region_free_slot(const struct weft_endpoint *ep, uint32_t salt)
{
	uint32_t slot = region_slot(ep, salt), step = (salt >> 15 ^ salt) | 1;

	for (uint32_t i = 0; i < ep->config.regions; i++) {
		if (!ep->regions[slot].in_use)
			return slot;
		slot = (slot + step) & ep->region_mask;
	}
	return ep->config.regions;
}

uint32_t region_key(const struct weft_endpoint *ep, uint32_t salt, uint32_t slot)
{
	return (salt & ~(ep->region_mask << 8)) | slot << 8;
}

int weft_region_add(struct weft_endpoint *ep, uint64_t va, void *base, uint64_t len_bytes,
		    uint32_t pd, uint32_t access, uint32_t salt, uint32_t *rkey)
{
	if (!base || weft_wraps(va, len_bytes) || pd & PD_SHUT ||
	    access & ~(uint32_t)ACCESS_ALL)
		return WEFT_EINVAL;
	uint32_t slot = region_free_slot(ep, salt);

	if (slot == ep->config.regions)
		return WEFT_EFULL;
	*rkey = region_key(ep, salt, slot);
	ep->regions[slot] = (struct region){
		.va = va,
		.open_bytes = access & WEFT_ACCESS_REMOTE_WRITE ? len_bytes : 0,
		.len_bytes = len_bytes,
		.base = base,
		.open_to = region_names(*rkey, pd),
		.access = (uint8_t)access,
		.in_use = true,
	};
	return 0;
}

int weft_region_drop(struct weft_endpoint *ep, uint32_t rkey)
{
	struct region *region = &ep->regions[region_slot(ep, rkey)];

	/* A window that has got the key of a region long gone is not that region. */
	if (!region->in_use || region->is_window || (uint32_t)region->open_to != rkey)
		return WEFT_ENOENT;
	reads_forget_region(ep, region);
	*region = (struct region){ 0 };
	return 0;
}

int weft_region_trim(struct weft_endpoint *ep, uint32_t rkey, uint64_t va)
{
	struct region *region = &ep->regions[region_slot(ep, rkey)];
	uint64_t by = va - region->va;

	if (!region->in_use || region->is_window || (uint32_t)region->open_to != rkey)
		return WEFT_ENOENT;
	if (by > region->len_bytes)
		return WEFT_EINVAL;
	region->va = va;
	region->base += by;
	region->len_bytes -= by;
	region->open_bytes -= WEFT_MIN(by, region->open_bytes);
	return 0;
}

uint8_t *region_reach(const struct weft_endpoint *ep, const struct reach *asked)
{
	const struct region *region = &ep->regions[region_slot(ep, asked->rkey)];
	uint64_t offset = asked->va - region->va;

	if (!region->in_use || region->open_to != region_names(asked->rkey, asked->pd) ||
	    (region->owner && region->owner != asked->qpn + 1) ||
	    !(region->access & asked->access) || offset > region->len_bytes ||
	    asked->len_bytes > region->len_bytes - offset)
		return NULL;
	return region->base + offset;
}

enum weft_drop region_fault(const struct weft_endpoint *ep, const struct reach *asked)
{
	const struct region *region = &ep->regions[region_slot(ep, asked->rkey)];

	if (!region->in_use || (uint32_t)region->open_to != asked->rkey ||
	    (region->is_window && !region->is_bound))
		return WEFT_DROP_BAD_RKEY;
	if (region->open_to >> 32 != asked->pd || !(region->access & asked->access) ||
	    (region->owner && region->owner != asked->qpn + 1))
		return WEFT_DROP_BAD_ACCESS;
	WEFT_ASSERT(!region_reach(ep, asked));
	return WEFT_DROP_OUT_OF_BOUNDS;
}
