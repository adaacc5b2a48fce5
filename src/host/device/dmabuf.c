/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dmabuf - memory of another device (a GPU's, a camera's), lent by its driver as a DMA-BUF.
 *
 * Whoever exports it may let a CPU at it, by mmap(): then this device, which is software, puts
 * bytes there as into any memory.  Where he does not (NVIDIA's driver: ENOTSUPP), nothing can be
 * done from here.  Caches are the exporter's business, so each turn of the device is bracketed by
 * DMA_BUF_IOCTL_SYNC, as linux/dma-buf.h wants every access to be: two calls per buffer and turn,
 * which a device without such memory does not make.  A turn and not a packet, of which it has
 * dozens; and not a message, since writes of a peer have no beginning that a program sees.
 *
 * A DMA-BUF never shrinks, so the mapping holds what it promises.  A memfd that is sealed against
 * shrinking promises the same and is taken, too: it is what udmabuf makes DMA-BUFs of, and has no
 * caches to care for.  Any other file could be cut off under us, which is SIGBUS: refused.
 */
#include "device_local.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYNC_TRIES_MAX 100u /* EINTR, EAGAIN: may have to be asked again */

static int sync_once(const struct dmabuf *buf, uint64_t flags)
{
	struct dma_buf_sync sync = { .flags = flags | buf->access };

	return ioctl(buf->fd, DMA_BUF_IOCTL_SYNC, &sync) ? errno : 0;
}

/* What fails for good has nobody to be told: the bytes go where they belong all the same. */
static int sync_it(const struct dmabuf *buf, uint64_t flags)
{
	int rc = EAGAIN;

	for (uint32_t i = 0; i < SYNC_TRIES_MAX && (rc == EAGAIN || rc == EINTR); i++)
		rc = sync_once(buf, flags);
	return rc;
}

void dmabuf_begin(struct dmabuf *buf)
{
	if (!buf->is_coherent && !buf->begun) {
		buf->begun = true;
		(void)sync_it(buf, DMA_BUF_SYNC_START);
	}
}

void dmabuf_end(struct dmabuf *buf)
{
	if (buf->begun) {
		buf->begun = false;
		(void)sync_it(buf, DMA_BUF_SYNC_END);
	}
}

void dmabuf_begin_all(struct weft_dev *dev)
{
	for (struct dmabuf *buf = dev->dmabufs; buf; buf = buf->next) {
		dmabuf_end(buf); /* of a post, whose bytes may have changed since */
		dmabuf_begin(buf);
	}
}

void dmabuf_end_all(struct weft_dev *dev)
{
	for (struct dmabuf *buf = dev->dmabufs; buf; buf = buf->next)
		dmabuf_end(buf);
}

static bool cannot_shrink(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && seals & F_SEAL_SHRINK;
}

/* Whether it is what it should be, and how it wants to be asked. */
static int look_at(struct dmabuf *buf)
{
	int rc = sync_it(buf, DMA_BUF_SYNC_START);

	if (!rc)
		rc = sync_it(buf, DMA_BUF_SYNC_END);
	if (rc == ENOTTY && cannot_shrink(buf->fd)) {
		buf->is_coherent = true;
		rc = 0;
	}
	return rc == ENOTTY ? EINVAL : rc;
}

/* A DMA-BUF says it by seeking, which moves nothing; a memfd's position is the program's. */
static off_t length_of(const struct dmabuf *buf)
{
	struct stat is;

	if (!buf->is_coherent)
		return lseek(buf->fd, 0, SEEK_END);
	return fstat(buf->fd, &is) ? -1 : is.st_size;
}

/* All up to the end of it, and from the beginning: DRM's drivers with shared memory (drm_gem_shmem,
 * of Linux 6.1 at least) map their first page wherever a mapping begins. */
static int map(struct dmabuf *buf, uint64_t offset, uint64_t bytes)
{
	off_t all = length_of(buf);
	int prot = PROT_READ | (buf->access & DMA_BUF_SYNC_WRITE ? PROT_WRITE : 0);

	if (all < 0 || offset > (uint64_t)all || bytes > (uint64_t)all - offset)
		return EINVAL;
	buf->map_bytes = (size_t)(offset + bytes);
	buf->map = mmap(NULL, buf->map_bytes, prot, MAP_SHARED, buf->fd, 0);
	if (buf->map == MAP_FAILED) {
		buf->map = NULL;
		return errno == ENOMEM ? ENOMEM : EOPNOTSUPP;
	}
	buf->at = (uint8_t *)buf->map + offset;
	return 0;
}

void dmabuf_close(struct dmabuf *buf)
{
	if (!buf)
		return;
	if (buf->map)
		(void)munmap(buf->map, buf->map_bytes);
	if (buf->fd >= 0)
		(void)close(buf->fd);
	free(buf);
}

int dmabuf_open(int fd, uint64_t offset, uint64_t bytes, bool write, struct dmabuf **out)
{
	struct dmabuf *buf = calloc(1, sizeof(*buf));
	int rc;

	if (!buf)
		return ENOMEM;
	buf->access = DMA_BUF_SYNC_READ | (write ? DMA_BUF_SYNC_WRITE : 0);
	buf->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* the program may close its own */
	rc = buf->fd < 0 ? errno : look_at(buf);
	if (!rc)
		rc = map(buf, offset, bytes);
	if (rc) {
		dmabuf_close(buf);
		return rc;
	}
	*out = buf;
	return 0;
}
