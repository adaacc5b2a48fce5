/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memwin - memory windows: keys to parts of regions, given and taken while peers write.
 *
 * A window is a slot among the regions, so whatever looks up a key serves it.  One for any QP of a
 * domain (verbs' type 1) costs a packet nothing.  One for a single QP (type 2B: QP and domain are
 * checked) is shut to the common path of writes, which knows no QPs, and found by those that have
 * been refused there.
 *
 * Whatever was accepted before a window is shut has been placed: the ends of writes that were kept
 * for later (tails.c) are stored now.  Replies that are still to leave are refused, as where a
 * region is dropped.
 */
#include "engine_local.h"

static struct region *find(const struct weft_endpoint *ep, uint32_t rkey)
{
	struct region *region = &ep->regions[region_slot(ep, rkey)];

	return region->in_use && region->is_window && (uint32_t)region->open_to == rkey ? region
											: NULL;
}

int weft_memwin_open(struct weft_endpoint *ep, uint32_t pd, uint32_t salt, uint32_t *rkey)
{
	uint32_t slot = region_free_slot(ep, salt);

	if (pd & PD_SHUT)
		return WEFT_EINVAL;
	if (slot == ep->config.regions)
		return WEFT_EFULL;
	*rkey = region_key(ep, salt, slot);
	if (!(*rkey >> 8))
		*rkey |= 1u << 31; /* 0 is none, in a message that shuts one */
	ep->regions[slot] = (struct region){ .open_to = region_names(*rkey, pd),
		.in_use = true, .is_window = true };
	return 0;
}

static bool fits(const struct weft_memwin *to, uint32_t rkey)
{
	return to->base && to->len_bytes && to->va + (to->len_bytes - 1) >= to->va &&
	       !(to->access & ~(uint32_t)ACCESS_ALL) && to->rkey >> 8 == rkey >> 8 &&
	       (to->qpn == WEFT_ANY_QP || to->qpn <= WEFT_PSN_MASK);
}

int weft_memwin_bind(struct weft_endpoint *ep, uint32_t rkey, const struct weft_memwin *to)
{
	struct region *region = find(ep, rkey);

	if (!region)
		return WEFT_ENOENT;
	if (!fits(to, rkey))
		return WEFT_EINVAL;
	if (region->is_bound)
		return WEFT_ESTATE;
	bool is_any = to->qpn == WEFT_ANY_QP;

	region->va = to->va;
	region->base = to->base;
	region->len_bytes = to->len_bytes;
	region->open_bytes = is_any && to->access & WEFT_ACCESS_REMOTE_WRITE ? to->len_bytes : 0;
	region->open_to = region_names(to->rkey, (uint32_t)(region->open_to >> 32));
	region->owner = is_any ? 0 : to->qpn + 1;
	region->access = (uint8_t)to->access;
	region->is_bound = true;
	return 0;
}

bool weft_memwin_is_bound(const struct weft_endpoint *ep, uint32_t rkey)
{
	const struct region *region = find(ep, rkey);

	return region && region->is_bound;
}

static void shut(struct weft_endpoint *ep, struct region *region)
{
	reads_forget_key(ep, (uint32_t)region->open_to);
	*region = (struct region){ .open_to = region->open_to, .in_use = true, .is_window = true };
}

int weft_memwin_shut(struct weft_endpoint *ep, uint32_t rkey)
{
	struct region *region = find(ep, rkey);

	if (!region)
		return WEFT_ENOENT;
	if (!region->is_bound)
		return WEFT_ESTATE;
	shut(ep, region);
	return 0;
}

int weft_memwin_close(struct weft_endpoint *ep, uint32_t rkey)
{
	struct region *region = find(ep, rkey);

	if (!region)
		return WEFT_ENOENT;
	shut(ep, region);
	*region = (struct region){ 0 };
	return 0;
}

bool memwin_shut_by(struct weft_qp *qp, uint32_t rkey)
{
	struct region *region = find(qp->ep, rkey);

	if (!region || !region->is_bound || region->owner != qp->qpn + 1)
		return false;
	shut(qp->ep, region);
	return true;
}
