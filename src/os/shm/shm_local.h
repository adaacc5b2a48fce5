/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_LOCAL_H
#define SHM_LOCAL_H
/* shm_local - what pool.c, shm_link.c and shm_meet.c share: how it all lies in memory. */
#include <stdatomic.h>
#include <weft/base.h>
#include <weft/shm.h>

#define RINGS_MAX (WEFT_SHM_TX + WEFT_SHM_PLANES_MAX)
/* Two lines: processors fetch lines in pairs, and each index belongs to another core. */
#define APART __attribute__((aligned(128)))

enum end { FAR, NEAR };

struct entry { /* what a descriptor looks like in a ring */
	_Atomic uint64_t at_ns;
	/* slot 0..31, bytes 32..47, plane 48..55, flags 56..62, lap 63: valid when the lap is */
	_Atomic uint64_t word;
};

struct shared { /* begin of the memfd of a link; entries of all rings follow */
	APART _Atomic uint32_t carrier;
	_Atomic uint32_t given; /* ~keep: a new page's 0 is "all" */
	struct {
		APART _Atomic uint32_t yes;
	} asleep[2]; /* [enum end], written by both */
	struct {
		APART _Atomic uint32_t n; /* how many were ever taken */
	} taken[RINGS_MAX];
};

#define DEEP 2u      /* asleep, and not by an ear: which link has rung is to be known */
#define BELLS_MAX 64 /* read at once; whoever sends more of them rings again */

struct ring {
	struct entry *entries;
	_Atomic uint32_t *taken;
	uint32_t at;         /* how many this end ever put or took */
	uint32_t taken_seen; /* putting: `taken` when last looked at */
};

struct weft_shm_link {
	struct weft_shm_pool *pool;
	struct shared *shared;
	size_t shared_bytes;
	enum end end;
	uint32_t id; /* in the pool's table of owners */
	uint32_t planes, entries;
	uint64_t bad;
	int fd;         /* memory of the rings; -1: the other end has it, or there is none */
	bool is_mapped; /* shared is ours to unmap */
	int line;       /* connection to the other end; -1: not yet met */
	uint32_t n_ears;
	int ears[WEFT_SHM_EARS_MAX]; /* eventfds that both ends have */
	uint32_t reclaim;            /* next slot to look at */
	struct ring rings[RINGS_MAX];
};

static inline bool pool_is_sane(uint32_t slots, uint32_t slot_bytes)
{
	return slots && slots <= WEFT_SHM_SLOTS_MAX && slot_bytes >= 192 && slot_bytes <= 65536 &&
	       slot_bytes % 64 == 0;
}

static inline bool link_is_sane(uint32_t planes, uint32_t entries)
{
	return planes && planes <= WEFT_SHM_PLANES_MAX && weft_is_pow2(entries) && entries >= 2 &&
	       entries <= WEFT_SHM_ENTRIES_MAX;
}

/* ---- pool.c ---- */

/* Memory of a new memfd that cannot shrink; NULL: errno says why. */
void *memory_make(const char *name, size_t bytes, int *fd);
/* Memory that somebody else has made: refused unless it is that large and sealed. */
void *memory_map(int fd, size_t bytes);
/* The near end's view of a pool; fd is taken over.  -1: it is not what it should be. */
int pool_join(struct weft_shm_pool *pool, uint32_t slots, uint32_t slot_bytes, int fd);

/* ---- shm_link.c ---- */

size_t link_bytes(uint32_t planes, uint32_t entries);
/* The near end of rings that somebody else has made: mapped from fd, which is taken over, or (fd
 * -1) at `shared`, in the same process.  NULL: not what it should be. */
struct weft_shm_link *link_join(struct weft_shm_pool *pool, uint32_t planes, uint32_t entries,
	int fd, struct shared *shared);

/* ---- bells.c ---- */

/* Descriptors that are the link's from now on. */
void bells_join(struct weft_shm_link *link, const int fds[], uint32_t n);
void bells_close(struct weft_shm_link *link);
/* Wakes the other end, which sleeps: by the ear on this CPU if it may be, else by the line. */
void bells_ring(const struct weft_shm_link *link, bool by_ear);

/* ---- shm_meet.c ---- */

/* 1: he has said hello; 0: not yet; -1: that was none, or he is gone. */
int meet_read_hello(int fd, struct weft_shm_hello *hello);

#endif /* SHM_LOCAL_H */
