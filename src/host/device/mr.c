/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mr - protection domains and registered memory.
 *
 * Registration is when bad memory is to be found out: later it costs a queue pair.  So the range
 * is held against what the kernel says is mapped, with the rights that it will need, and its first
 * and last byte are read, since a mapping may promise what a CPU cannot do (device memory).  A
 * program may take it away all the same, where a card has it pinned: who reaches for it fails
 * (decisions/128).  Once deregistered, it is not touched again, whatever is still under way
 * (device_reclaim.c).
 *
 * A key is the engine's: 32 bits from the operating system, of which a part is a slot that is free.
 */
#include "device_local.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

int weft_dev_pd_open(struct weft_dev *dev, struct weft_dev_pd **out)
{
	struct weft_dev_pd *pd;

	if (device_is_dead(dev))
		return ENODEV;
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return ENOMEM;
	weft_lock_take(&dev->lock);
	bool has_room = dev->n_pds < PDS_MAX;

	if (has_room) {
		*pd = (struct weft_dev_pd){ .dev = dev, .number = ++dev->next_pd };
		dev->n_pds++;
	}
	weft_lock_give(&dev->lock);
	if (!has_room) {
		free(pd);
		return ENOMEM;
	}
	*out = pd;
	return 0;
}

int weft_dev_pd_close(struct weft_dev_pd *pd)
{
	struct weft_dev *dev = pd->dev;
	bool busy = false;

	if (!device_is_dead(dev)) {
		weft_lock_take(&dev->lock);
		busy = pd->users != 0;
		if (!busy)
			dev->n_pds--;
		weft_lock_give(&dev->lock);
	}
	if (busy)
		return EBUSY;
	free(pd);
	return 0;
}

/* PROCMAP_QUERY of <linux/fs.h>, since Linux 6.11: the mapping at an address. */
struct map_query {
	uint64_t size, flags, at, start, end, rights, page_bytes, offset, inode;
	uint32_t major, minor, name_bytes, id_bytes;
	uint64_t name_at, id_at;
};
#define MAP_QUERY _IOWR('f', 17, struct map_query)
enum { MAP_READABLE = 1, MAP_WRITABLE = 2 };

/* Whether all of it is mapped with these rights; -1: this kernel does not say. */
static int ask_kernel(int fd, uint64_t from, uint64_t bytes, bool write)
{
	uint64_t end = from + bytes, needed = write ? MAP_READABLE | MAP_WRITABLE : MAP_READABLE;

	for (uint64_t at = from; at < end;) {
		struct map_query query = { .size = sizeof(query), .at = at };

		if (ioctl(fd, MAP_QUERY, &query))
			return errno == ENOENT ? 0 : -1;
		if ((query.rights & needed) != needed || query.end <= at)
			return 0;
		at = query.end;
	}
	return 1;
}

/* As ask_kernel(): the range alone counts, and not how many mappings the process has. */
static int ask(uint64_t from, uint64_t bytes, bool write)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), is = -1;

	if (fd >= 0) {
		is = ask_kernel(fd, from, bytes, write);
		close(fd);
	}
	return is;
}

/* An older kernel: all of it is mapped (msync() says so, and does nothing else here), and its ends
 * may be used.  A hole in the rights between them is found by who comes there (nofault). */
bool mr_is_mapped_by_touch(const void *addr, uint64_t bytes, bool write)
{
	uintptr_t first = (uintptr_t)addr & ~(uintptr_t)(sysconf(_SC_PAGESIZE) - 1);
	uint8_t *at = (uint8_t *)(uintptr_t)addr;
	bool is = !msync((void *)first, (uintptr_t)addr + bytes - first, MS_ASYNC) &&
		  weft_nofault_reach(at, 1, write) && weft_nofault_reach(at + bytes - 1, 1, write);

	(void)weft_nofault_take();
	return is;
}

/* A mapping may promise what a CPU cannot do (device memory): its ends are read in any case. */
static bool is_mapped(const void *addr, uint64_t bytes, bool write)
{
	int is = ask((uintptr_t)addr, bytes, write);

	return is && mr_is_mapped_by_touch(addr, bytes, is < 0 && write);
}

/* A region of no bytes is never touched, so none of it need be mapped.  Cards take one of device
 * memory (rdma-core's tests want it), and not all of them one of other memory, which MPI's windows
 * ask for (ofiwg/libfabric, issue 6245). */
static int check(const void *addr, uint64_t bytes, uint32_t access)
{
	if (!addr || access & ~31u || weft_wraps((uintptr_t)addr, bytes))
		return EINVAL;
	if (access & (WEFT_DEV_REMOTE_WRITE | WEFT_DEV_REMOTE_ATOMIC) &&
		!(access & WEFT_DEV_LOCAL_WRITE))
		return EINVAL;
	weft_nofault_watch();
	if (bytes && !is_mapped(addr, bytes, access & WEFT_DEV_LOCAL_WRITE))
		return EFAULT;
	return 0;
}

uint32_t mr_rights(uint32_t access)
{
	return (access & WEFT_DEV_REMOTE_WRITE ? WEFT_ACCESS_REMOTE_WRITE : 0u) |
	       (access & WEFT_DEV_REMOTE_READ ? WEFT_ACCESS_REMOTE_READ : 0u) |
	       (access & WEFT_DEV_REMOTE_ATOMIC ? WEFT_ACCESS_REMOTE_ATOMIC : 0u);
}

uint32_t mr_denied(uint32_t access)
{
	return mr_rights(~access);
}

/* Gives it a key.  An errno value; then it is as it was. */
static int enter(struct weft_dev_mr *mr)
{
	struct weft_dev *dev = mr->pd->dev;
	int error = WEFT_EFULL;

	weft_lock_take(&dev->lock);
	if (dev->n_mrs < MRS_MAX)
		error = weft_region_add(dev->ep, mr->iova, mr->base, mr->len_bytes, mr->pd->number,
			mr_rights(mr->access), (uint32_t)device_random(dev), &mr->key);
	if (!error) {
		dev->mrs[mr_slot(mr->key)] = mr;
		dev->n_mrs++;
		mr->pd->users++;
	}
	if (!error && mr->dmabuf) {
		mr->dmabuf->next = dev->dmabufs;
		dev->dmabufs = mr->dmabuf;
	}
	weft_lock_give(&dev->lock);
	if (error)
		return error == WEFT_EFULL ? ENOMEM : EINVAL;
	return 0;
}

static int open_checked(const struct weft_dev_mr *like, struct weft_dev_mr **out)
{
	int rc = check(like->base, like->len_bytes, like->access);
	struct weft_dev_mr *mr;

	if (rc)
		return rc;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return ENOMEM;
	*mr = *like;
	rc = enter(mr);
	if (rc)
		free(mr);
	else
		*out = mr;
	return rc;
}

int weft_dev_mr_open(struct weft_dev_pd *pd, void *addr, uint64_t len_bytes, uint64_t iova,
	uint32_t access, struct weft_dev_mr **out)
{
	struct weft_dev_mr mr = {
		.pd = pd, .base = addr, .iova = iova, .len_bytes = len_bytes, .access = access
	};

	return device_is_dead(pd->dev) ? ENODEV : open_checked(&mr, out);
}

int weft_dev_mr_open_dmabuf(struct weft_dev_pd *pd, int fd, uint64_t offset, uint64_t len_bytes,
	uint64_t iova, uint32_t access, struct weft_dev_mr **out)
{
	struct weft_dev_mr mr = {
		.pd = pd, .iova = iova, .len_bytes = len_bytes, .access = access
	};
	int rc;

	if (device_is_dead(pd->dev))
		return ENODEV;
	if (!len_bytes)
		return EINVAL;
	rc = dmabuf_open(fd, offset, len_bytes, access & WEFT_DEV_LOCAL_WRITE, &mr.dmabuf);
	if (rc)
		return rc;
	mr.base = mr.dmabuf->at;
	rc = open_checked(&mr, out);
	if (rc)
		dmabuf_close(mr.dmabuf);
	return rc == EFAULT ? EOPNOTSUPP : rc; /* mapped, and yet no CPU can read it */
}

static void unlink_dmabuf(struct weft_dev *dev, const struct dmabuf *buf)
{
	struct dmabuf **at = &dev->dmabufs;

	while (*at && *at != buf)
		at = &(*at)->next;
	if (*at)
		*at = buf->next;
}

/* No work names it any more; what works want of it they get now. */
static void reclaim(struct weft_dev_mr *mr)
{
	if (mr->dmabuf)
		dmabuf_begin(mr->dmabuf);
	reclaim_memory(mr);
	if (mr->dmabuf)
		dmabuf_end(mr->dmabuf);
}

int weft_dev_mr_close(struct weft_dev_mr *mr)
{
	struct weft_dev *dev = mr->pd->dev;

	if (!device_is_dead(dev)) {
		weft_lock_take(&dev->lock);
		if (mw_uses(mr)) {
			weft_lock_give(&dev->lock);
			return EBUSY;
		}
		reclaim(mr);
		(void)weft_region_drop(dev->ep, mr->key);
		dev->mrs[mr_slot(mr->key)] = NULL;
		dev->n_mrs--;
		mr->pd->users--;
		if (mr->dmabuf)
			unlink_dmabuf(dev, mr->dmabuf);
		weft_lock_give(&dev->lock);
	}
	dmabuf_close(mr->dmabuf);
	free(mr);
	return 0;
}

uint32_t weft_dev_mr_key(const struct weft_dev_mr *mr)
{
	return mr->key;
}

int weft_dev_mr_move(struct weft_dev_mr *mr, struct weft_dev_pd *pd, void *addr, uint64_t len_bytes,
	uint64_t iova, uint32_t access)
{
	struct weft_dev *dev = mr->pd->dev;
	uint32_t key = mr->key;
	int rc = device_is_dead(dev) ? ENODEV : check(addr, len_bytes, access);

	if (!rc && (pd->dev != dev || mr->dmabuf || weft_wraps(iova, len_bytes)))
		rc = EINVAL;
	if (rc)
		return rc;
	weft_lock_take(&dev->lock);
	rc = mw_uses(mr) ? EBUSY : 0;
	if (!rc) {
		reclaim_memory(mr);
		mr->pd->users--;
		*mr = (struct weft_dev_mr){ .pd = pd,
			.base = addr,
			.iova = iova,
			.len_bytes = len_bytes,
			.access = access,
			.key = key };
		pd->users++;
		/* The slot that a key names is tried first, and is free now: the same key. */
		(void)weft_region_drop(dev->ep, key);
		WEFT_ASSERT(!weft_region_add(dev->ep, iova, addr, len_bytes, pd->number,
			mr_rights(access), key, &mr->key));
		WEFT_ASSERT(mr->key == key);
	}
	weft_lock_give(&dev->lock);
	return rc;
}

uint8_t *mr_memory(const struct weft_dev_pd *pd, const struct weft_dev_sge *sge, uint32_t access)
{
	const struct weft_dev_mr *mr = pd->dev->mrs[mr_slot(sge->lkey)];

	if (!mr || mr->key != sge->lkey || mr->pd != pd || (mr->access & access) != access ||
		sge->len_bytes > mr->len_bytes ||
		sge->addr - mr->iova > mr->len_bytes - sge->len_bytes)
		return NULL;
	if (mr->dmabuf)
		dmabuf_begin(mr->dmabuf); /* until the next turn ends */
	return mr->base + (sge->addr - mr->iova);
}

void *weft_dev_mr_find(struct weft_dev_pd *pd, const struct weft_dev_sge *sge, uint32_t access)
{
	if (device_is_dead(pd->dev))
		return NULL;
	weft_lock_take(&pd->dev->lock);
	void *at = mr_memory(pd, sge, access);

	weft_lock_give(&pd->dev->lock);
	return at;
}
