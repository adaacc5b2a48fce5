/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xsk - AF_XDP by hand: four rings and a piece of memory (Documentation/networking/af_xdp.rst).
 *
 * The kernel takes buffers ("chunks") of at most a page, and a received frame has 256 bytes of room
 * in front of it, so a packet of 4 KiB comes in two buffers.  What is above us wants it in one
 * piece.  So a slot is as many chunks in a row as the largest frame needs, and the kernel is only
 * given the first of each: behind a first buffer, which is full whenever there is a second, lies
 * room that nobody else writes to, and the rest of the frame, some hundred bytes, is copied there.
 *
 * Copy mode on purpose: it works on every driver and in the lab.  Zero-copy drivers would be one
 * flag, but none was at hand to show that it works with frames of several buffers.
 *
 * Hot: all but open and close.
 */
#include "port/xsk.h"

#include <errno.h>
#include <linux/if_xdp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* Linux 6.6 and 6.17; Debian 12 has older headers. */
#ifndef XDP_USE_SG
#define XDP_USE_SG (1 << 4)
#define XDP_PKT_CONTD (1 << 0)
#endif
#define MAX_TX_SKB_BUDGET 9

#define HUGE_BYTES ((size_t)2 << 20) /* one entry of the TLB instead of 512 */
#define CHUNK_BYTES 4096u
#define HEADROOM_BYTES 256u /* XDP_PACKET_HEADROOM */
#define BIND_TRIES 100      /* a socket that was just closed holds its queue for a moment */
#define BIND_TRY_NS 10000000u
#define KICKS 16 /* one sends at least 32 buffers */
#define SNDBUF_BYTES (4 << 20)

static uint32_t load(const uint32_t *at)
{
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

static void store(uint32_t *at, uint32_t value)
{
	__atomic_store_n(at, value, __ATOMIC_RELEASE);
}

/* ---- opening ---- */

static int set(int fd, int name, uint32_t value)
{
	return setsockopt(fd, SOL_XDP, name, &value, sizeof(value));
}

static int map_ring(struct xsk *xsk, struct xsk_ring *ring, uint32_t entries, size_t entry_bytes,
	const struct xdp_ring_offset *offset, off_t page)
{
	ring->map_bytes = offset->desc + entries * entry_bytes;
	ring->map = mmap(NULL, ring->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		xsk->fd, page);
	if (ring->map == MAP_FAILED) {
		ring->map = NULL;
		return -1;
	}
	ring->producer = (uint32_t *)((uint8_t *)ring->map + offset->producer);
	ring->consumer = (uint32_t *)((uint8_t *)ring->map + offset->consumer);
	ring->flags = (uint32_t *)((uint8_t *)ring->map + offset->flags);
	ring->entries = (uint8_t *)ring->map + offset->desc;
	ring->mask = entries - 1;
	return 0;
}

static int open_memory(struct xsk *xsk)
{
	size_t bytes = (size_t)(xsk->rx_slots + xsk->tx_slots) * xsk->slot_bytes;

	xsk->memory_bytes = WEFT_ALIGN_UP(bytes, HUGE_BYTES);
	xsk->memory = aligned_alloc(HUGE_BYTES, xsk->memory_bytes);
	if (!xsk->memory)
		return -1;
	(void)madvise(xsk->memory, xsk->memory_bytes, MADV_HUGEPAGE);
	memset(xsk->memory, 0, xsk->memory_bytes);
	xsk->lent_slots = calloc(xsk->rx_slots, sizeof(*xsk->lent_slots));
	xsk->free_slots = calloc(xsk->tx_slots, sizeof(*xsk->free_slots));
	if (!xsk->lent_slots || !xsk->free_slots)
		return -1;
	struct xdp_umem_reg memory = {
		.addr = (uintptr_t)xsk->memory, .len = xsk->memory_bytes, .chunk_size = CHUNK_BYTES
	};

	return setsockopt(xsk->fd, SOL_XDP, XDP_UMEM_REG, &memory, sizeof(memory));
}

static int open_rings(struct xsk *xsk)
{
	uint32_t rx = (uint32_t)weft_pow2_up(xsk->rx_slots);
	uint32_t tx = (uint32_t)weft_pow2_up(xsk->tx_slots * (xsk->slot_bytes / CHUNK_BYTES));
	struct xdp_mmap_offsets at;
	socklen_t bytes = sizeof(at);

	if (set(xsk->fd, XDP_UMEM_FILL_RING, rx) || set(xsk->fd, XDP_RX_RING, rx) ||
		set(xsk->fd, XDP_TX_RING, tx) || set(xsk->fd, XDP_UMEM_COMPLETION_RING, tx) ||
		getsockopt(xsk->fd, SOL_XDP, XDP_MMAP_OFFSETS, &at, &bytes) ||
		map_ring(xsk, &xsk->fill, rx, sizeof(uint64_t), &at.fr,
			(off_t)XDP_UMEM_PGOFF_FILL_RING) ||
		map_ring(xsk, &xsk->rx, rx, sizeof(struct xdp_desc), &at.rx, XDP_PGOFF_RX_RING) ||
		map_ring(xsk, &xsk->tx, tx, sizeof(struct xdp_desc), &at.tx, XDP_PGOFF_TX_RING) ||
		map_ring(xsk, &xsk->done, tx, sizeof(uint64_t), &at.cr,
			(off_t)XDP_UMEM_PGOFF_COMPLETION_RING))
		return -1;
	return 0;
}

static void fill(struct xsk *xsk, uint32_t slot)
{
	((uint64_t *)xsk->fill.entries)[xsk->fill.at++ & xsk->fill.mask] =
		(uint64_t)slot * xsk->slot_bytes;
}

static int bind_to(const struct xsk *xsk, unsigned ifindex, uint32_t queue)
{
	struct sockaddr_xdp name = { .sxdp_family = AF_XDP,
		.sxdp_flags = XDP_COPY | XDP_USE_NEED_WAKEUP | XDP_USE_SG,
		.sxdp_ifindex = ifindex,
		.sxdp_queue_id = queue };

	for (unsigned i = 0; bind(xsk->fd, (struct sockaddr *)&name, sizeof(name)); i++) {
		if (errno != EBUSY || i == BIND_TRIES)
			return -1;
		weft_clock_sleep(BIND_TRY_NS);
	}
	return 0;
}

int xsk_open(struct xsk *xsk, unsigned ifindex, uint32_t queue, uint32_t frame_bytes,
	uint32_t rx_slots, uint32_t tx_slots, char *error, size_t error_bytes)
{
	int sndbuf = SNDBUF_BYTES;

	*xsk = (struct xsk){ .rx_slots = rx_slots, .tx_slots = tx_slots };
	xsk->slot_bytes = WEFT_ALIGN_UP(HEADROOM_BYTES + frame_bytes, CHUNK_BYTES);
	xsk->fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (xsk->fd < 0) {
		snprintf(error, error_bytes, "no AF_XDP socket: %s%s", strerror(errno),
			errno == EPERM ? " (needs CAP_NET_RAW)" : "");
		return -1;
	}
	if (open_memory(xsk) || open_rings(xsk)) {
		snprintf(error, error_bytes, "no memory for AF_XDP: %s%s", strerror(errno),
			errno == ENOBUFS ? " (needs CAP_IPC_LOCK, or more of ulimit -l)" : "");
		return -1;
	}
	(void)setsockopt(xsk->fd, SOL_SOCKET, SO_SNDBUFFORCE, &sndbuf, sizeof(sndbuf));
	(void)set(xsk->fd, MAX_TX_SKB_BUDGET, WEFT_NET_BURST); /* fewer system calls, if known */
	for (uint32_t i = 0; i < rx_slots; i++)
		fill(xsk, i);
	store(xsk->fill.producer, xsk->fill.at);
	for (uint32_t i = 0; i < tx_slots; i++)
		xsk->free_slots[xsk->n_free++] = rx_slots + i;
	if (!bind_to(xsk, ifindex, queue))
		return 0;
	if (errno == EBUSY)
		snprintf(error, error_bytes, "another AF_XDP socket has queue %u", queue);
	else
		snprintf(error, error_bytes, "no AF_XDP on queue %u: %s%s", queue, strerror(errno),
			errno == EINVAL ? " (frames of several buffers need Linux 6.6)" : "");
	return -1;
}

static void unmap(const struct xsk_ring *ring)
{
	if (ring->map)
		munmap(ring->map, ring->map_bytes);
}

void xsk_close(struct xsk *xsk)
{
	unmap(&xsk->fill);
	unmap(&xsk->rx);
	unmap(&xsk->tx);
	unmap(&xsk->done);
	if (xsk->fd > 0)
		close(xsk->fd);
	free(xsk->memory);
	free(xsk->lent_slots);
	free(xsk->free_slots);
	*xsk = (struct xsk){ 0 };
}

/* ---- receiving ---- */

/* Adds a buffer to the frame that is being put together; its slot is free again if it is not the
 * first.  What does not fit makes the frame one of zero bytes. */
static void join(struct xsk *xsk, const struct xdp_desc *desc)
{
	uint32_t slot = (uint32_t)(desc->addr / xsk->slot_bytes);
	uint8_t *data = xsk->memory + desc->addr;

	WEFT_ASSERT(slot < xsk->rx_slots);
	if (!xsk->part) {
		xsk->part = data;
		xsk->part_bytes = desc->len;
		xsk->part_room = xsk->slot_bytes - (uint32_t)(desc->addr % xsk->slot_bytes);
		xsk->lent_slots[xsk->lent++] = slot;
		return;
	}
	if (xsk->part_room && desc->len <= xsk->part_room - xsk->part_bytes) {
		memcpy(xsk->part + xsk->part_bytes, data, desc->len);
		xsk->part_bytes += desc->len;
	} else {
		xsk->part_room = 0; /* nothing fits any more */
	}
	fill(xsk, slot);
}

const uint8_t *xsk_next(struct xsk *xsk, uint32_t *bytes)
{
	uint32_t end = load(xsk->rx.producer);

	while (xsk->rx.at != end) {
		const struct xdp_desc *desc =
			&((const struct xdp_desc *)xsk->rx.entries)[xsk->rx.at++ & xsk->rx.mask];

		join(xsk, desc);
		if (desc->options & XDP_PKT_CONTD)
			continue;
		const uint8_t *frame = xsk->part;

		*bytes = xsk->part_room ? xsk->part_bytes : 0;
		xsk->part = NULL;
		return frame;
	}
	return NULL;
}

bool xsk_is_spent(const struct xsk *xsk)
{
	return xsk->lent > xsk->rx_slots / 2;
}

void xsk_give_back(struct xsk *xsk)
{
	bool is_open = xsk->part; /* its slot, the last one lent, stays */
	uint32_t last = is_open ? xsk->lent_slots[xsk->lent - 1] : 0;

	for (uint32_t i = 0; i + is_open < xsk->lent; i++)
		fill(xsk, xsk->lent_slots[i]);
	xsk->lent = is_open;
	if (is_open)
		xsk->lent_slots[0] = last;
	store(xsk->rx.consumer, xsk->rx.at);
	store(xsk->fill.producer, xsk->fill.at);
}

/* ---- sending ---- */

uint8_t *xsk_take(struct xsk *xsk)
{
	if (WEFT_UNLIKELY(!xsk->n_free))
		return NULL;
	/* The one that came back last: it may still be in the cache. */
	return xsk->memory + (size_t)xsk->free_slots[--xsk->n_free] * xsk->slot_bytes;
}

void xsk_untake(struct xsk *xsk, uint8_t *frame)
{
	xsk->free_slots[xsk->n_free++] =
		(uint32_t)((size_t)(frame - xsk->memory) / xsk->slot_bytes);
}

void xsk_send(struct xsk *xsk, const uint8_t *frame, uint32_t bytes)
{
	struct xdp_desc *descs = xsk->tx.entries;
	uint64_t addr = (uint64_t)(frame - xsk->memory);

	for (uint32_t at = 0; at < bytes; at += CHUNK_BYTES) {
		uint32_t n = WEFT_MIN(bytes - at, CHUNK_BYTES);

		descs[xsk->tx.at++ & xsk->tx.mask] = (struct xdp_desc){
			.addr = addr + at, .len = n, .options = at + n < bytes ? XDP_PKT_CONTD : 0
		};
	}
}

uint32_t xsk_reap(struct xsk *xsk)
{
	const uint64_t *addrs = xsk->done.entries;
	uint32_t end = load(xsk->done.producer);

	for (; xsk->done.at != end; xsk->done.at++) {
		uint64_t addr = addrs[xsk->done.at & xsk->done.mask];

		if (addr % xsk->slot_bytes == 0) /* once per frame */
			xsk->free_slots[xsk->n_free++] = (uint32_t)(addr / xsk->slot_bytes);
	}
	WEFT_ASSERT(xsk->n_free <= xsk->tx_slots);
	store(xsk->done.consumer, xsk->done.at);
	return xsk->n_free;
}

/* The kernel reads this ring only while we ask it to send, so what it has not read is ours. */
static uint32_t take_back(struct xsk *xsk)
{
	const struct xdp_desc *descs = xsk->tx.entries;
	uint32_t n = 0;

	for (uint32_t from = load(xsk->tx.consumer); xsk->tx.at != from;) {
		uint64_t addr = descs[--xsk->tx.at & xsk->tx.mask].addr;

		if (addr % xsk->slot_bytes)
			continue;
		xsk->free_slots[xsk->n_free++] = (uint32_t)(addr / xsk->slot_bytes);
		n++;
	}
	store(xsk->tx.producer, xsk->tx.at);
	return n;
}

bool xsk_flush(struct xsk *xsk, uint32_t *refused)
{
	*refused = 0;
	store(xsk->tx.producer, xsk->tx.at);
	for (unsigned i = 0; i < KICKS && load(xsk->tx.consumer) != xsk->tx.at; i++) {
		if (sendto(xsk->fd, NULL, 0, MSG_DONTWAIT, NULL, 0) >= 0 || errno == EAGAIN ||
			errno == EBUSY || errno == ENOBUFS || errno == EINTR)
			continue;
		*refused = take_back(xsk);
	}
	return load(xsk->tx.consumer) == xsk->tx.at;
}
