/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PORT_SHM_H
#define PORT_SHM_H
/* port_shm - what shm.c and shm_slots.c share. */
#include "port/raw.h"

#include <weft/shm.h>

#define RX_BATCH 64u /* slots in use at once: a quarter of a MiB */

struct rings {                 /* which is which at our end */
	uint32_t rx, n_rx, tx; /* tx: of plane 0 */
	bool tx_per_plane;
	uint32_t read;    /* slots that we have read go back by this one */
	uint32_t written; /* slots that we may send with come by this one */
};

struct shm {
	struct weft_port port; /* first */
	struct weft_shm_port_config config;
	char *path, host[32];
	struct raw *raw;
	struct rings rings;
	struct weft_shm_pool pool;
	struct weft_shm_link *link; /* NULL: nobody is there */
	struct weft_shm_door *door; /* far end; NULL */
	bool direct;                /* no switch is between */
	bool gone;                  /* he hung up; said so to nobody but carrier() yet */
	uint8_t tx_flags;           /* of what is sent now */
	uint32_t look_age, rx_turn, n_held;
	uint32_t carrier_told; /* by the last carrier(): a wait ends where it has changed */
	uint32_t blocked;      /* planes that the last room() found full */
	bool starved;          /* it found no slot */
	bool asleep;           /* somebody waits for our bell: between the two calls of sleep() */
	uint64_t dial_at_ns;
	uint32_t *free; /* slots that we may send with, a stack */
	uint32_t n_free;
	uint32_t credit[WEFT_SHM_PLANES_MAX]; /* packets that surely fit into this plane's ring */
	struct weft_shm_desc held[RX_BATCH];  /* handed out by the last rx */
};

static inline uint32_t shm_tx_ring(const struct shm *shm, uint32_t plane)
{
	return shm->rings.tx + (shm->rings.tx_per_plane ? plane : 0);
}

/* ---- shm_slots.c ---- */

/* Takes slots that the other end has returned, as many as there are. */
void shm_refill(struct shm *shm);
/* What has been read.  False: not all of it, because the other end does not take it. */
bool shm_give_back(struct shm *shm);
/* Whether it has more than a switch leaves it of what it does not use; and gives that back. */
bool shm_is_asked_back(const struct shm *shm);
void shm_give_unused(struct shm *shm);
/* How many packets this plane surely takes. */
uint32_t shm_credit(struct shm *shm, uint32_t plane);

#endif /* PORT_SHM_H */
