/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shm_link - rings with one end that puts and one that takes [M 3.4], between processes that do not
 * trust each other's arithmetic.
 *
 * A ring has no write index.  Each entry says itself whether it is valid, by a bit that flips with
 * every lap, in the word that is stored last; so what a taker polls is the line that it wants to
 * read anyway.  With an index there would be two lines to fetch from the other core before the
 * packet's own: 170 ns of a round trip each [M 4.3].  And there is nothing that could
 * jump: a foul writer can at most make entries valid that are not, and their numbers are checked.
 *
 * The one index that is shared says how many were taken, for the putter, who looks at it only when
 * the ring seems full.  One that makes no sense counts as "full".
 *
 * Ordering.  Put stores at_ns, then the word with release; take loads the word with acquire: what
 * a slot holds is visible with its number.  Take stores `taken` with release, after its last load
 * from those entries; put loads it with acquire before it overwrites them.  Sleeping is Dekker's
 * protocol, so both sides need a full fence between their store and their load: the sleeper between
 * "asleep" and his last look at the rings, the putter between the word and his look at "asleep".
 * One of them then sees the other (C11 29.3: the two fences have an order).
 */
#include "shm_local.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define LAP (UINT64_C(1) << 63)

size_t link_bytes(uint32_t planes, uint32_t entries)
{
	return sizeof(struct shared) +
	       (size_t)(WEFT_SHM_TX + planes) * entries * sizeof(struct entry);
}

static struct weft_shm_link *make_link(
	struct weft_shm_pool *pool, enum end end, uint32_t planes, uint32_t entries)
{
	struct weft_shm_link *link = calloc(1, sizeof(*link));

	if (!link)
		return NULL;
	link->pool = pool;
	link->end = end;
	link->id = ++pool->links;
	link->planes = planes;
	link->entries = entries;
	link->fd = link->line = -1;
	link->shared_bytes = link_bytes(planes, entries);
	return link;
}

static void find_rings(struct weft_shm_link *link)
{
	struct entry *entries = (struct entry *)(link->shared + 1);

	for (uint32_t i = 0; i < WEFT_SHM_TX + link->planes; i++)
		link->rings[i] = (struct ring){ .entries = entries + (size_t)i * link->entries,
			.taken = &link->shared->taken[i].n };
}

int weft_shm_link_open(struct weft_shm_link **out, struct weft_shm_pool *pool, uint32_t planes,
	uint32_t entries, char *error, size_t error_bytes)
{
	struct weft_shm_link *link;

	if (!link_is_sane(planes, entries)) {
		snprintf(error, error_bytes,
			"shared memory: %u planes, %u entries: 1 to %u planes, a power of two up "
			"to "
			"%u entries",
			planes, entries, WEFT_SHM_PLANES_MAX, WEFT_SHM_ENTRIES_MAX);
		return -1;
	}
	link = make_link(pool, FAR, planes, entries);
	if (link)
		link->shared = memory_make("weft-rings", link->shared_bytes, &link->fd);
	if (!link || !link->shared) {
		snprintf(error, error_bytes, "shared memory: rings: %s", strerror(errno));
		free(link);
		return -1;
	}
	link->is_mapped = true;
	find_rings(link);
	*out = link;
	return 0;
}

struct weft_shm_link *link_join(struct weft_shm_pool *pool, uint32_t planes, uint32_t entries,
	int fd, struct shared *shared)
{
	struct weft_shm_link *link = NULL;

	if (link_is_sane(planes, entries))
		link = make_link(pool, NEAR, planes, entries);
	if (link)
		link->shared = fd < 0 ? shared : memory_map(fd, link->shared_bytes);
	if (!link || !link->shared) {
		if (fd >= 0)
			close(fd);
		free(link);
		return NULL;
	}
	link->fd = fd;
	link->is_mapped = fd >= 0;
	find_rings(link);
	/* Until the other end lends them, all slots are its own. */
	for (uint32_t i = 0; i < pool->slots; i++)
		pool->owner[i] = link->id;
	return link;
}

void weft_shm_link_close(struct weft_shm_link *link)
{
	if (!link)
		return;
	if (link->end == FAR)
		weft_shm_carrier_set(link, 0);
	for (uint32_t i = 0; i < link->pool->slots; i++)
		if (link->pool->owner[i] == link->id)
			link->pool->owner[i] = 0;
	if (link->is_mapped)
		munmap(link->shared, link->shared_bytes);
	if (link->fd >= 0)
		close(link->fd);
	if (link->line >= 0)
		close(link->line);
	bells_close(link);
	free(link);
}

size_t weft_shm_reclaim(struct weft_shm_link *link, uint32_t slots[], size_t n)
{
	struct weft_shm_pool *pool = link->pool;
	size_t found = 0;

	for (; found < n && link->reclaim < pool->slots; link->reclaim++) {
		if (pool->owner[link->reclaim] != link->id)
			continue;
		pool->owner[link->reclaim] = 0;
		slots[found++] = link->reclaim;
	}
	return found;
}

uint32_t weft_shm_planes(const struct weft_shm_link *link)
{
	return link->planes;
}

uint32_t weft_shm_entries(const struct weft_shm_link *link)
{
	return link->entries;
}

uint64_t weft_shm_bad(const struct weft_shm_link *link)
{
	return link->bad;
}

/* ---- rings ---- */

static bool may_put(const struct weft_shm_link *link, uint32_t ring)
{
	return ring < WEFT_SHM_TX + link->planes &&
	       (link->end == NEAR ? ring >= WEFT_SHM_DONE : ring < WEFT_SHM_DONE);
}

static bool may_take(const struct weft_shm_link *link, uint32_t ring)
{
	return ring < WEFT_SHM_TX + link->planes && !may_put(link, ring);
}

/* The lap bit of the entry that is `at` puts from the beginning: 1 in the first lap. */
static uint64_t lap_of(const struct weft_shm_link *link, uint32_t at)
{
	return at & link->entries ? 0 : LAP;
}

size_t weft_shm_room(struct weft_shm_link *link, uint32_t index)
{
	struct ring *ring = &link->rings[index];

	WEFT_ASSERT(may_put(link, index));
	uint32_t taken = atomic_load_explicit(ring->taken, memory_order_acquire);

	/* Taken more than there was, or less than before: believed by nobody. */
	if (taken - ring->taken_seen > ring->at - ring->taken_seen)
		taken = ring->taken_seen;
	ring->taken_seen = taken;
	return link->entries - (ring->at - taken);
}

size_t weft_shm_put(
	struct weft_shm_link *link, uint32_t index, const struct weft_shm_desc descs[], size_t n)
{
	struct ring *ring = &link->rings[index];
	uint32_t mask = link->entries - 1;

	WEFT_ASSERT(may_put(link, index));
	if (n > link->entries - (ring->at - ring->taken_seen)) {
		size_t room = weft_shm_room(link, index);

		n = WEFT_MIN(n, room);
	}
	for (size_t i = 0; i < n; i++, ring->at++) {
		const struct weft_shm_desc *desc = &descs[i];
		struct entry *entry = &ring->entries[ring->at & mask];
		uint64_t word = desc->slot | (uint64_t)desc->bytes << 32 |
				(uint64_t)desc->plane << 48 | (uint64_t)(desc->flags & 0x7f) << 56;

		WEFT_ASSERT(desc->slot < link->pool->slots && !link->pool->owner[desc->slot]);
		link->pool->owner[desc->slot] = link->id;
		atomic_store_explicit(&entry->at_ns, desc->at_ns, memory_order_relaxed);
		atomic_store_explicit(
			&entry->word, word | lap_of(link, ring->at), memory_order_release);
	}
	return n;
}

static uint64_t look(const struct weft_shm_link *link, const struct ring *ring)
{
	return atomic_load_explicit(
		&ring->entries[ring->at & (link->entries - 1)].word, memory_order_acquire);
}

bool weft_shm_waiting(const struct weft_shm_link *link, uint32_t index)
{
	const struct ring *ring = &link->rings[index];

	WEFT_ASSERT(may_take(link, index));
	return (look(link, ring) & LAP) == lap_of(link, ring->at);
}

/* Whether it may have been put by an honest end. */
static bool is_right(const struct weft_shm_link *link, const struct weft_shm_desc *desc)
{
	return desc->slot < link->pool->slots && link->pool->owner[desc->slot] == link->id &&
	       desc->bytes <= weft_shm_packet_max(link->pool) && desc->plane < link->planes;
}

size_t weft_shm_take(
	struct weft_shm_link *link, uint32_t index, struct weft_shm_desc descs[], size_t n)
{
	struct ring *ring = &link->rings[index];
	uint32_t mask = link->entries - 1, before = ring->at;
	size_t taken = 0;

	WEFT_ASSERT(may_take(link, index));
	for (size_t i = 0; i < n; i++, ring->at++) {
		uint64_t word = look(link, ring);
		struct weft_shm_desc *desc = &descs[taken];

		if ((word & LAP) != lap_of(link, ring->at))
			break;
		desc->at_ns = atomic_load_explicit(
			&ring->entries[ring->at & mask].at_ns, memory_order_relaxed);
		desc->slot = (uint32_t)word;
		desc->bytes = (uint16_t)(word >> 32);
		desc->plane = index >= WEFT_SHM_TX ? (uint8_t)(index - WEFT_SHM_TX)
						   : (uint8_t)(word >> 48);
		desc->flags = word >> 56 & 0x7f;
		if (WEFT_UNLIKELY(!is_right(link, desc))) {
			link->bad++;
			continue;
		}
		link->pool->owner[desc->slot] = 0;
		taken++;
	}
	if (ring->at != before) /* whoever polls in vain leaves the line where it is */
		atomic_store_explicit(ring->taken, ring->at, memory_order_release);
	return taken;
}

/* ---- sleep and wake ---- */

void weft_shm_will_sleep(struct weft_shm_link *link, bool will)
{
	atomic_store_explicit(&link->shared->asleep[link->end].yes, will, memory_order_relaxed);
	if (will)
		atomic_thread_fence(memory_order_seq_cst);
}

void weft_shm_sleep_deep(struct weft_shm_link *link)
{
	atomic_store_explicit(&link->shared->asleep[link->end].yes, DEEP, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
}

int weft_shm_wait_fd(const struct weft_shm_link *link)
{
	return link->line;
}

void weft_shm_bell(struct weft_shm_link *link)
{
	_Atomic uint32_t *asleep = &link->shared->asleep[link->end == FAR ? NEAR : FAR].yes;

	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(asleep, memory_order_relaxed))
		return;
	/* Once per sleep. */
	uint32_t how = atomic_exchange_explicit(asleep, 0, memory_order_relaxed);

	if (how && link->line >= 0)
		bells_ring(link, how != DEEP);
}

bool weft_shm_bell_clear(struct weft_shm_link *link)
{
	char byte;

	for (unsigned i = 0; i < BELLS_MAX; i++) {
		ssize_t n = recv(link->line, &byte, 1, MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		if (!n)
			return false;
	}
	return true;
}

/* ---- carrier ---- */

void weft_shm_carrier_set(struct weft_shm_link *link, uint32_t mask)
{
	WEFT_ASSERT(link->end == FAR);
	atomic_store_explicit(&link->shared->carrier, mask, memory_order_relaxed);
	weft_shm_bell(link);
}

uint32_t weft_shm_carrier(const struct weft_shm_link *link)
{
	return atomic_load_explicit(&link->shared->carrier, memory_order_relaxed) &
	       ((1u << link->planes) - 1);
}

/* ---- what may be kept ---- */

void weft_shm_keep_set(struct weft_shm_link *link, uint32_t slots)
{
	WEFT_ASSERT(link->end == FAR);
	atomic_store_explicit(&link->shared->given, ~slots, memory_order_relaxed);
	if (slots != WEFT_SHM_KEEP_ALL)
		weft_shm_bell(link);
}

uint32_t weft_shm_keep(const struct weft_shm_link *link)
{
	return ~atomic_load_explicit(&link->shared->given, memory_order_relaxed);
}
