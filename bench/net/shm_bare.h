/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_BARE_H
#define SHM_BARE_H
/*
 * shm_bare - the rings of the room shm with a copy in and a copy out, and nothing else: the peer
 * that weft is measured against.  One side of a ring is a struct bare; each end calls its own half.
 */
#include <weft/base.h>
#include <weft/shm.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PKT 4096u
#define BATCH 32u
#define RING_SLOTS 64u

static char bare_error[256];

static inline void bare_die(const char *what)
{
	fprintf(stderr, "bare ring: %s: %s\n", what, bare_error);
	exit(1);
}

struct bare { /* one end */
	struct weft_shm_pool pool;
	struct weft_shm_link *link;
	uint8_t *buffer; /* copied from, or into */
	size_t at, bytes;
	uint32_t slots[RING_SLOTS], n_slots;
	char path[80];
};

static inline void bare_listen(const struct bare *near, struct weft_shm_door **door)
{
	if (weft_shm_door_open(door, near->path, bare_error, sizeof(bare_error)))
		bare_die("listen");
}

static inline void bare_meet(struct bare *far, struct weft_shm_door *door)
{
	struct weft_shm_hello hello;
	int fd;

	if (weft_shm_pool_open(&far->pool, RING_SLOTS, 4416, bare_error, sizeof(bare_error)) ||
		weft_shm_link_open(
			&far->link, &far->pool, 1, RING_SLOTS, bare_error, sizeof(bare_error)))
		bare_die("ring");
	while (weft_shm_knock(door, 1, &hello, &fd) != 1)
		usleep(100);
	if (weft_shm_welcome(fd, &hello, far->link))
		bare_die("welcome");
	for (uint32_t i = 0; i < RING_SLOTS; i++) {
		struct weft_shm_desc desc = { .slot = i };

		weft_shm_put(far->link, WEFT_SHM_FILL, &desc, 1);
	}
	weft_shm_door_close(door);
}

/* Where the payload of a write lies: at a cache line, as weft's. */
static inline uint8_t *payload_of(const struct weft_shm_pool *pool, uint32_t slot)
{
	return weft_shm_packet(pool, slot) + 84;
}

/* Copies out what there is; the far end. */
static inline size_t bare_drain(struct bare *far)
{
	struct weft_shm_desc descs[BATCH];
	size_t n = weft_shm_take(far->link, WEFT_SHM_TX, descs, BATCH);

	for (size_t i = 0; i < n; i++, far->at = (far->at + PKT) % far->bytes)
		memcpy(far->buffer + far->at, payload_of(&far->pool, descs[i].slot), PKT);
	if (n)
		weft_shm_put(far->link, WEFT_SHM_FILL, descs, n);
	return n;
}

static inline void bare_refill(struct bare *near)
{
	struct weft_shm_desc descs[RING_SLOTS];
	size_t n = weft_shm_take(near->link, WEFT_SHM_FILL, descs, RING_SLOTS);

	for (size_t i = 0; i < n; i++)
		near->slots[near->n_slots++] = descs[i].slot;
}

static inline size_t bare_fill(struct bare *near, size_t most)
{
	struct weft_shm_desc descs[BATCH];
	size_t n;

	bare_refill(near);
	n = WEFT_MIN(WEFT_MIN(most, (size_t)BATCH), (size_t)near->n_slots);
	for (size_t i = 0; i < n; i++, near->at = (near->at + PKT) % near->bytes) {
		descs[i] = (struct weft_shm_desc){ .slot = near->slots[--near->n_slots],
			.bytes = PKT };
		memcpy(payload_of(&near->pool, descs[i].slot), near->buffer + near->at, PKT);
	}
	if (n)
		weft_shm_put(near->link, WEFT_SHM_TX, descs, n);
	return n;
}

#endif
