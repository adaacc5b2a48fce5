/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_PAIR_H
#define SHM_PAIR_H
/* pair - both ends of a link in one process, at the same addresses, so that tsan sees all. */
#include "check.h"
#include "shm_local.h"

#include <sys/socket.h>
#include <unistd.h>

#define SLOTS 64u
#define SLOT_BYTES 256u

struct pair {
	struct weft_shm_pool far_pool, near_pool;
	struct weft_shm_link *far, *near;
};

static inline void pair_open(struct pair *p, uint32_t planes, uint32_t entries)
{
	char error[256] = "";
	int line[2];

	*p = (struct pair){ 0 };
	if (weft_shm_pool_open(&p->far_pool, SLOTS, SLOT_BYTES, error, sizeof(error)) ||
		weft_shm_link_open(&p->far, &p->far_pool, planes, entries, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	REQUIRE(p->far);
	p->near_pool = p->far_pool;
	p->near_pool.owner = calloc(SLOTS, sizeof(uint32_t));
	p->near_pool.links = 40; /* numbers are each process's own */
	p->near = link_join(&p->near_pool, planes, entries, -1, p->far->shared);
	REQUIRE(p->near);
	REQUIRE(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, line));
	p->far->line = line[0];
	p->near->line = line[1];
}

static inline void pair_close(struct pair *p)
{
	weft_shm_link_close(p->near);
	free(p->near_pool.owner);
	weft_shm_link_close(p->far);
	weft_shm_pool_close(&p->far_pool);
}

static inline size_t put_one(struct weft_shm_link *link, uint32_t ring, uint32_t slot)
{
	struct weft_shm_desc desc = { .slot = slot, .bytes = 100 };

	return weft_shm_put(link, ring, &desc, 1);
}

/* The slot that was taken, or -1. */
static inline int64_t take_one(struct weft_shm_link *link, uint32_t ring)
{
	struct weft_shm_desc desc;

	return weft_shm_take(link, ring, &desc, 1) ? (int64_t)desc.slot : -1;
}

#endif
