/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NET_XSK_H
#define NET_XSK_H
/*
 * xsk - one AF_XDP socket: memory shared with the kernel, cut into slots of one frame each.
 *
 *   rx: fill ring ("write here") -> kernel -> rx ring ("written")  -> lent to the caller
 *   tx: taken by the caller -> tx ring ("send this") -> kernel -> completion ring ("sent")
 *
 * Some slots are for one way, the others for the other; no slot is ever in two places.
 */
#include "net_local.h"

struct xsk_ring {
	uint32_t *producer, *consumer, *flags;
	void *entries;
	uint32_t mask, at; /* at: our own side's position */
	void *map;
	size_t map_bytes;
};

struct xsk {
	int fd;
	uint8_t *memory;
	size_t memory_bytes;
	uint32_t slot_bytes, rx_slots, tx_slots;
	struct xsk_ring fill, rx, tx, done;
	/* a frame of several buffers, of which the last has not come yet */
	uint8_t *part;
	uint32_t part_bytes, part_room;
	uint32_t lent; /* received, not given back */
	uint32_t *lent_slots, *free_slots;
	uint32_t n_free; /* of the sending ones */
};

/* frame_bytes: of the largest frame.  -1: error says why in one line; xsk_close() cleans up. */
int xsk_open(struct xsk *xsk, unsigned ifindex, uint32_t queue, uint32_t frame_bytes,
	uint32_t rx_slots, uint32_t tx_slots, char *error, size_t error_bytes);
void xsk_close(struct xsk *xsk); /* also of one that is all zero */

/* The next frame in one piece, valid until xsk_give_back(); NULL: none.  *bytes 0: it was longer
 * than any of ours. */
const uint8_t *xsk_next(struct xsk *xsk, uint32_t *bytes);
void xsk_give_back(struct xsk *xsk);      /* all frames got from xsk_next() */
bool xsk_is_spent(const struct xsk *xsk); /* as many are out as a caller may have */

/* A place for a frame; NULL: all are under way. */
uint8_t *xsk_take(struct xsk *xsk);
void xsk_untake(struct xsk *xsk, uint8_t *frame);
void xsk_send(struct xsk *xsk, const uint8_t *frame, uint32_t bytes);
/* Has the kernel send.  False: some still wait, ask again later.  *refused: frames that were thrown
 * away because the link is down. */
bool xsk_flush(struct xsk *xsk, uint32_t *refused);
uint32_t xsk_reap(struct xsk *xsk); /* places that are free now */

#endif /* NET_XSK_H */
