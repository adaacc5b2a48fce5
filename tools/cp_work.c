/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cp_work - the second thread: it meets the disk and the hash so that the pump never does.
 *
 * Sending, it reads the file in order, hashing; the pump sends only what it has passed, so a page
 * that must come from the disk stalls this thread and not acknowledgements.  Receiving, it has
 * pages made ready ahead of the arriving bytes (a first touch of a page costs more than its copy)
 * and hashes behind the last chunk that is complete in order.
 *
 * What a disk may take long for is done here, too: to reserve the file's space before the first
 * byte, and after the last one to wait until all is written (fsync() tells of a write-back that
 * failed, and nothing else does), the name included.  Meanwhile the pump runs and the sender is
 * told to wait.
 *
 * Its priority is right below the pump's.  As an ordinary thread it would, on a busy machine,
 * become the speed of the copy, since nothing is sent that it has not passed.
 */
#include "cp.h"
#include "live_args.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PIECE_BYTES UINT64_C(262144)       /* between two looks at what the other thread did */
#define AHEAD_BYTES (UINT64_C(32) << 20)   /* pages made ready beyond what has arrived */
#define RESERVE_BYTES (UINT64_C(64) << 20) /* at a time: some 20 ms in a tmpfs */
#define NAP_US 500

static void hash_piece(struct cp_work *work, uint64_t from, uint64_t to)
{
	WEFT_ASSERT(EVP_DigestUpdate(work->hash, work->file->data + from, to - from) == 1);
	atomic_store_explicit(&work->hashed, to, memory_order_release);
}

/* True: there was something to do. */
static bool prepare(struct cp_work *work, uint64_t ready)
{
	uint64_t to = WEFT_MIN(work->file->bytes, ready + AHEAD_BYTES);
	uint64_t bytes = WEFT_MIN(to - WEFT_MIN(work->prepared, to), PIECE_BYTES);

	if (!work->receiving || !bytes)
		return false;
	/* Where the kernel is too old for it, pages are made when they are touched. */
	(void)madvise(work->file->data + work->prepared, bytes, MADV_POPULATE_WRITE);
	work->prepared += PIECE_BYTES;
	return true;
}

static void enter(struct cp_work *work, enum cp_phase phase)
{
	atomic_store_explicit(&work->phase, (int)phase, memory_order_release);
}

static bool reserve(struct cp_work *work)
{
	while (work->reserved < work->file->bytes && !atomic_load(&work->stop)) {
		uint64_t to = WEFT_MIN(work->file->bytes, work->reserved + RESERVE_BYTES);
		int why = cp_file_reserve(work->file, work->reserved, to);

		if (why) {
			snprintf(work->error, sizeof(work->error), "%s%s", strerror(why),
				why == EOPNOTSUPP ? ": this file system cannot reserve space "
						    "(fallocate), and could fill up under a file"
						  : "");
			return false;
		}
		work->reserved = to;
	}
	return true;
}

static void hash(struct cp_work *work)
{
	uint64_t hashed = 0;

	while (hashed < work->file->bytes && !atomic_load(&work->stop)) {
		uint64_t ready = work->receiving
					 ? atomic_load_explicit(&work->ready, memory_order_acquire)
					 : work->file->bytes;

		if (prepare(work, ready))
			continue;
		if (ready == hashed) {
			usleep(NAP_US);
			continue;
		}
		uint64_t to = WEFT_MIN(ready, hashed + PIECE_BYTES);

		if (!work->receiving)
			(void)readahead(work->file->fd, (off64_t)to, PIECE_BYTES);
		hash_piece(work, hashed, to);
		hashed = to;
	}
}

static void keep(struct cp_work *work)
{
	while (!atomic_load(&work->keep) && !atomic_load(&work->stop))
		usleep(NAP_US);
	if (atomic_load(&work->stop))
		return;
	enter(work, CP_KEEPING);
	int why = cp_file_sync(work->file);

	if (why)
		snprintf(work->error, sizeof(work->error), "cannot be written to disk: %s",
			strerror(why));
	else
		(void)cp_file_keep(work->file, work->error, sizeof(work->error));
}

static void *run(void *arg)
{
	struct cp_work *work = arg;
	bool on_disk = work->receiving && work->file->fd >= 0;

	live_hurry_second();
	if (!on_disk || reserve(work)) {
		enter(work, CP_HASHING);
		hash(work);
		WEFT_ASSERT(EVP_DigestFinal_ex(work->hash, work->digest, NULL) == 1);
		enter(work, CP_HASHED);
		if (on_disk)
			keep(work);
	}
	enter(work, CP_FINISHED);
	return NULL;
}

int cp_work_start(struct cp_work *work, struct cp_file *file, bool receiving)
{
	memset(work, 0, sizeof(*work));
	work->file = file;
	work->receiving = receiving;
	work->hash = EVP_MD_CTX_new();
	if (!work->hash || EVP_DigestInit_ex(work->hash, EVP_sha256(), NULL) != 1 ||
		pthread_create(&work->thread, NULL, run, work)) {
		EVP_MD_CTX_free(work->hash);
		return -1;
	}
	work->running = true;
	return 0;
}

void cp_work_keep(struct cp_work *work)
{
	atomic_store(&work->keep, true);
}

void cp_work_end(struct cp_work *work, bool abandon)
{
	if (!work->running)
		return;
	if (abandon)
		atomic_store(&work->stop, true);
	pthread_join(work->thread, NULL);
	EVP_MD_CTX_free(work->hash);
	work->running = false;
}

void cp_hex(const uint8_t digest[CP_HASH_BYTES], char text[2 * CP_HASH_BYTES + 1])
{
	for (size_t i = 0; i < CP_HASH_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i]);
}
