/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shm_slots - slots to send with, and back.
 *
 * They are the far end's: a switch lends some ahead of need, takes back what has been read, and
 * asks for what is not used when others need it.
 *
 * Hot: all but what is asked back, per burst.
 */
#include "port/port_shm.h"

#include <string.h>

#define CREDIT_LOW (WEFT_NET_BURST / 4) /* fewer: ask the ring how much has been taken */

void shm_refill(struct shm *shm)
{
	struct weft_shm_desc back[WEFT_NET_BURST];
	size_t n = weft_shm_take(shm->link, shm->rings.written, back, WEFT_COUNT(back));

	for (size_t i = 0; i < n; i++)
		shm->free[shm->n_free++] = back[i].slot;
}

bool shm_give_back(struct shm *shm)
{
	size_t n = weft_shm_put(shm->link, shm->rings.read, shm->held, shm->n_held);

	shm->n_held -= (uint32_t)n;
	memmove(shm->held, shm->held + n, shm->n_held * sizeof(shm->held[0]));
	if (shm->direct) /* a host may sleep for want of slots; a switch takes them when it wakes */
		weft_shm_bell(shm->link);
	return !shm->n_held;
}

bool shm_is_asked_back(const struct shm *shm)
{
	return WEFT_UNLIKELY(weft_shm_keep(shm->link) != WEFT_SHM_KEEP_ALL) &&
	       shm->n_free > weft_shm_keep(shm->link);
}

/* What the last burst has used stays: it is in the cache. */
void shm_give_unused(struct shm *shm)
{
	uint32_t keep = weft_shm_keep(shm->link), n = WEFT_MIN(shm->n_free - keep, RX_BATCH);
	struct weft_shm_desc back[RX_BATCH];

	for (uint32_t i = 0; i < n; i++)
		back[i] = (struct weft_shm_desc){ .slot = shm->free[i], .flags = WEFT_SHM_UNUSED };
	n = (uint32_t)weft_shm_put(shm->link, WEFT_SHM_DONE, back, n);
	shm->n_free -= n;
	memmove(shm->free, shm->free + n, shm->n_free * sizeof(shm->free[0]));
	weft_shm_bell(shm->link);
}

/* The ring is asked only when that runs low, because the answer lies in a line that the other end
 * writes. */
uint32_t shm_credit(struct shm *shm, uint32_t plane)
{
	if (shm->credit[plane] >= CREDIT_LOW)
		return shm->credit[plane];
	uint32_t room = (uint32_t)weft_shm_room(shm->link, shm_tx_ring(shm, plane));
	uint32_t queue = shm->config.queue_pkts, used;

	if (queue && shm->rings.tx_per_plane) {
		used = weft_shm_entries(shm->link) - room;
		room = WEFT_MIN(room, queue > used ? queue - used : 0);
	}
	shm->credit[plane] = room;
	return room;
}
