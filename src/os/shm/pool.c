/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool - memory that several processes see, and a private note of who may touch which part.
 *
 * A memfd has no name to clean up and dies with its last user.  It is sealed against shrinking
 * before anybody else gets it, because touching a page that another process has cut away is a
 * SIGBUS; whoever is handed one looks for the seal.  All pages are touched at the beginning, so
 * that a machine without memory says so then and not in the middle of a burst.
 */
#include "shm_local.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void *map(int fd, size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void *memory_make(const char *name, size_t bytes, int *fd)
{
	void *memory = NULL;

	*fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0)
		return NULL;
	/* fallocate, unlike ftruncate, fails where there is no memory. */
	int why = posix_fallocate(*fd, 0, (off_t)bytes);

	if (why)
		errno = why;
	else if (!fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		memory = map(*fd, bytes);
	if (!memory) {
		why = errno;
		close(*fd);
		*fd = -1;
		errno = why;
	}
	return memory;
}

void *memory_map(int fd, size_t bytes)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	errno = EBADF;
	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) || st.st_size < 0 ||
		(uint64_t)st.st_size < bytes)
		return NULL;
	return map(fd, bytes);
}

int weft_shm_pool_open(struct weft_shm_pool *pool, uint32_t slots, uint32_t slot_bytes, char *error,
	size_t error_bytes)
{
	*pool = (struct weft_shm_pool){ .slots = slots, .slot_bytes = slot_bytes, .fd = -1 };
	if (!pool_is_sane(slots, slot_bytes)) {
		snprintf(error, error_bytes,
			"shared memory: %u slots of %u bytes: 1 to %u slots, a multiple of 64 from "
			"192 to 65536 bytes",
			slots, slot_bytes, WEFT_SHM_SLOTS_MAX);
		return -1;
	}
	pool->owner = calloc(slots, sizeof(*pool->owner));
	if (pool->owner)
		pool->memory = memory_make("weft-slots", (size_t)slots * slot_bytes, &pool->fd);
	if (!pool->memory) {
		snprintf(error, error_bytes, "shared memory: %zu bytes: %s",
			(size_t)slots * slot_bytes, strerror(pool->owner ? errno : ENOMEM));
		weft_shm_pool_close(pool);
		return -1;
	}
	return 0;
}

int pool_join(struct weft_shm_pool *pool, uint32_t slots, uint32_t slot_bytes, int fd)
{
	if (!pool_is_sane(slots, slot_bytes)) {
		close(fd);
		return -1;
	}
	*pool = (struct weft_shm_pool){ .slots = slots, .slot_bytes = slot_bytes, .fd = fd };
	pool->owner = calloc(slots, sizeof(*pool->owner));
	pool->memory = memory_map(fd, (size_t)slots * slot_bytes);
	if (!pool->owner || !pool->memory) {
		weft_shm_pool_close(pool);
		return -1;
	}
	return 0;
}

void weft_shm_pool_close(struct weft_shm_pool *pool)
{
	if (pool->memory)
		munmap(pool->memory, (size_t)pool->slots * pool->slot_bytes);
	if (pool->slots && pool->fd >= 0)
		close(pool->fd);
	free(pool->owner);
	*pool = (struct weft_shm_pool){ .fd = -1 };
}
