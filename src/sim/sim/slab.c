/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slab - packets and chunks of mail by number, and memory that comes when it is touched.
 *
 * A packet is written by its sender's lane and freed by its receiver's, so free slots wander.  Each
 * lane keeps up to two batches and trades whole ones under a lock, once in a thousand packets;
 * slots carry no meaning, so who gets which never shows in a result.  A free list per host was the
 * alternative: it needs no trading and costs each host its worst case.
 *
 * Memory is reserved for the worst case and committed by touching; huge pages, because at full
 * scale nearly every access would miss the TLB [M 4.4].
 */
#include "sim_local.h"

#include <stdio.h>
#include <sys/mman.h>

#define HUGE_BYTES (UINT64_C(2) << 20)

void *memory_reserve(uint64_t bytes)
{
	void *at = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	if (bytes >= 8 * HUGE_BYTES)
		(void)madvise(at, bytes, MADV_HUGEPAGE); /* slower without, not wrong */
	return at;
}

void memory_release(void *at, uint64_t bytes)
{
	if (at)
		(void)munmap(at, bytes ? bytes : 1);
}

uint64_t memory_available(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	unsigned long long kilobytes = 0;
	char line[128];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, "MemAvailable: %llu kB", &kilobytes) == 1;
	if (file)
		(void)fclose(file);
	return found ? kilobytes * 1024 : UINT64_MAX;
}

bool slab_open(struct slab *slab, uint32_t n, uint32_t item_bytes)
{
	n = WEFT_ALIGN_UP(n, (uint32_t)SLAB_BATCH);
	slab->n = n;
	slab->n_batches = 0;
	slab->fresh = 0;
	slab->item_bytes = item_bytes;
	slab->items = memory_reserve((uint64_t)n * item_bytes);
	slab->batches = memory_reserve(n / SLAB_BATCH * sizeof(uint32_t));
	return slab->items && slab->batches && !pthread_mutex_init(&slab->lock, NULL);
}

void slab_close(struct slab *slab)
{
	if (slab->items && slab->batches)
		(void)pthread_mutex_destroy(&slab->lock);
	memory_release(slab->items, (uint64_t)slab->n * slab->item_bytes);
	memory_release(slab->batches, slab->n / SLAB_BATCH * sizeof(uint32_t));
}

static uint32_t take_batch(struct slab *slab)
{
	uint32_t first = NONE;

	(void)pthread_mutex_lock(&slab->lock);
	if (slab->n_batches) {
		first = slab->batches[--slab->n_batches];
	} else {
		first = slab->fresh;
		/* plan.c has counted what cables and queues can hold. */
		WEFT_ASSERT(first < slab->n);
		slab->fresh = first + SLAB_BATCH;
		for (uint32_t i = 0; i < SLAB_BATCH; i++)
			*slab_link(slab, first + i) = i + 1 < SLAB_BATCH ? first + i + 1 : NONE;
	}
	(void)pthread_mutex_unlock(&slab->lock);
	return first;
}

uint32_t slab_refill(struct slab *slab, struct slab_cache *cache)
{
	uint32_t slot = cache->full;

	cache->full = NONE;
	if (slot == NONE)
		slot = take_batch(slab);
	cache->free = *slab_link(slab, slot);
	cache->n_free = SLAB_BATCH - 1;
	return slot;
}

void slab_spill(struct slab *slab, struct slab_cache *cache)
{
	if (cache->full != NONE) {
		(void)pthread_mutex_lock(&slab->lock);
		WEFT_ASSERT(slab->n_batches < slab->n / SLAB_BATCH);
		slab->batches[slab->n_batches++] = cache->full;
		(void)pthread_mutex_unlock(&slab->lock);
	}
	cache->full = cache->free;
	cache->free = NONE;
	cache->n_free = 0;
}

void slab_give_list(struct slab *slab, struct slab_cache *cache, uint32_t first, uint32_t last,
	uint32_t n)
{
	if (WEFT_LIKELY(cache->n_free + n <= SLAB_BATCH)) {
		*slab_link(slab, last) = cache->free;
		cache->free = first;
		cache->n_free += n;
		return;
	}
	for (uint32_t slot = first, next; n--; slot = next) {
		next = *slab_link(slab, slot);
		slab_give(slab, cache, slot);
	}
}
