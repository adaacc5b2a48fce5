/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shm_take - a foul process at the other end of the rings.
 *
 * The input is a list of commands of ten bytes: what we do (put, take, bell, room), or what the
 * foul end writes into the shared memory, anywhere in it.  What must hold: what is taken is in
 * range and was lent; nothing is ours and theirs at once; no count exceeds what was asked for;
 * memory around the shared pages stays untouched (asan).
 */
#include "shm_local.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS 16u
#define PLANES 2u
#define ENTRIES 8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static struct weft_shm_pool pool;
static struct weft_shm_link *far, *near;
static uint32_t ours; /* bit i: slot i is this process's, as far as we have been told */

static void check_taken(const struct weft_shm_desc *desc)
{
	WEFT_ASSERT(desc->slot < SLOTS && desc->plane < PLANES);
	WEFT_ASSERT(desc->bytes <= weft_shm_packet_max(&pool));
	WEFT_ASSERT(desc->flags < 128);
	WEFT_ASSERT(!(ours >> desc->slot & 1));
	ours |= 1u << desc->slot;
}

static void act(const uint8_t c[10], struct weft_shm_link *link, uint32_t put, uint32_t take)
{
	struct weft_shm_desc descs[20] = { 0 };
	size_t n = 0, want = c[1] % 20;

	switch (c[0] & 3) {
	case 0:
		n = weft_shm_take(link, take, descs, want);
		WEFT_ASSERT(n <= want);
		for (size_t i = 0; i < n; i++)
			check_taken(&descs[i]);
		break;
	case 1:
		for (uint32_t slot = 0; slot < SLOTS && n < want; slot++)
			if (ours >> slot & 1)
				descs[n++].slot = slot;
		want = weft_shm_put(link, put, descs, n);
		WEFT_ASSERT(want <= n && want <= ENTRIES);
		for (size_t i = 0; i < want; i++)
			ours &= ~(1u << descs[i].slot);
		break;
	case 2:
		WEFT_ASSERT(weft_shm_room(link, put) <= ENTRIES);
		(void)weft_shm_waiting(link, take);
		break;
	default:
		weft_shm_will_sleep(link, c[1] & 1);
		weft_shm_bell(link);
		WEFT_ASSERT(weft_shm_carrier(link) < 1u << PLANES);
	}
}

static void open_all(bool as_near)
{
	char error[200];

	WEFT_ASSERT(!weft_shm_pool_open(&pool, SLOTS, 192, error, sizeof(error)));
	WEFT_ASSERT(!weft_shm_link_open(&far, &pool, PLANES, ENTRIES, error, sizeof(error)));
	/* Memory with edges that asan knows. */
	struct shared *shared = aligned_alloc(128, WEFT_ALIGN_UP(far->shared_bytes, (size_t)128));

	WEFT_ASSERT(shared);
	memset(shared, 0, far->shared_bytes);
	if (as_near) {
		near = link_join(&pool, PLANES, ENTRIES, -1, shared);
		WEFT_ASSERT(near);
		ours = 0;
		return;
	}
	for (uint32_t i = 0; i < WEFT_SHM_TX + PLANES; i++) {
		far->rings[i].entries = (struct entry *)(shared + 1) + i * ENTRIES;
		far->rings[i].taken = &shared->taken[i].n;
	}
	near = NULL;
	ours = (1u << SLOTS) - 1;
	shared->carrier = 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	bool as_near = len_bytes && data[0] & 1;

	open_all(as_near);
	struct weft_shm_link *link = as_near ? near : far;
	uint8_t *memory =
		(uint8_t *)((struct entry *)link->rings[0].entries) - sizeof(struct shared);

	for (size_t at = 1; at + 10 <= len_bytes; at += 10) {
		const uint8_t *c = data + at;
		uint32_t which = c[1] >> 5;
		uint32_t mine = as_near ? WEFT_SHM_DONE + which % 3 : which % 2;
		uint32_t theirs = as_near ? which % 2 : WEFT_SHM_DONE + which % 3;

		if (c[0] & 4) {
			act(c, link, mine, theirs);
			continue;
		}
		size_t offset = ((size_t)c[0] >> 3 << 8 | c[1]) * 8 % far->shared_bytes;

		memcpy(memory + offset, c + 2, 8);
	}
	weft_shm_link_close(near);
	weft_shm_link_close(far);
	weft_shm_pool_close(&pool);
	free(memory);
	return 0;
}
