/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bounce - a ring of pieces of host memory between the network and GPUs, per connection.
 *
 * As large as keeps both going: while one piece is written, others are copied.  4 MiB, opened when
 * the first memory of a GPU is registered for the connection, closed with it.  The memory is ours,
 * and pinned by the driver, not the driver's own: that would be gone when the driver shuts down in
 * the end of a program, under a device that still writes to it.
 *
 * Not taken: one ring for all connections (a lock, and one that stalls holds up all others); as
 * much as a message has (they come in hundreds of megabytes); pinning the peer's buffers anew for
 * each message (milliseconds).
 */
#include "nccl_local.h"

#include <string.h>
#include <sys/mman.h>

#define RING_BYTES ((size_t)PIECES * PIECE_BYTES)

static int complain(const char *what, int error)
{
	WARN("NET/Weft: %s: %s", what, weft_gpu_error(error));
	return WEFT_NCCL_CUDA_ERROR;
}

static int ring_open(struct comm *comm, uint64_t gpu)
{
	struct bounce *b = &comm->bounce;
	uint32_t access = comm->is_sender ? 0 : WEFT_DEV_LOCAL_WRITE | WEFT_DEV_REMOTE_WRITE;
	int error = weft_gpu_find(gpu, &b->place);
	void *at;

	if (error)
		return complain("a GPU's memory", error);
	at = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		goto no_memory;
	error = weft_gpu_pin(&b->place, at, RING_BYTES);
	if (error) {
		(void)munmap(at, RING_BYTES);
		weft_gpu_forget(&b->place);
		return complain("pinning memory", error);
	}
	if (weft_dev_mr_open(
		    comm->nic->pd, at, RING_BYTES, (uint64_t)(uintptr_t)at, access, &b->mr)) {
		weft_gpu_unpin(&b->place, at);
		(void)munmap(at, RING_BYTES);
		goto no_memory;
	}
	b->at = at;
	return WEFT_NCCL_SUCCESS;
no_memory:
	weft_gpu_forget(&b->place);
	WARN("NET/Weft: no memory between network and GPU");
	return WEFT_NCCL_SYSTEM_ERROR;
}

static int lane_get(struct comm *comm, const struct memory *memory, struct weft_gpu_lane **out)
{
	struct bounce *b = &comm->bounce;
	int error = b->at ? 0 : ring_open(comm, memory->at);
	uint32_t i = 0;

	if (error)
		return error;
	while (i < LANES_MAX && b->lanes[i].lane && b->lanes[i].context != memory->place.context)
		i++;
	if (i == LANES_MAX) {
		WARN("NET/Weft: one connection has memory of more than %u GPUs", LANES_MAX);
		return WEFT_NCCL_INTERNAL_ERROR;
	}
	if (!b->lanes[i].lane) {
		error = weft_gpu_lane_open(&memory->place, PIECES, &b->lanes[i].lane);
		if (error) {
			b->lanes[i].lane = NULL;
			return complain("opening a stream", error);
		}
		b->lanes[i].context = memory->place.context;
	}
	*out = b->lanes[i].lane;
	return WEFT_NCCL_SUCCESS;
}

int bounce_lane(struct comm *comm, const struct memory *memory, struct weft_gpu_lane **lane)
{
	weft_lock_take(&comm->bounce.lock);
	int error = lane_get(comm, memory, lane);

	weft_lock_give(&comm->bounce.lock);
	return error;
}

int bounce_begin(struct comm *comm, struct request *request, struct weft_gpu_lane *lane,
	enum weft_gpu_way way, uint64_t at, size_t bytes)
{
	struct bounce *b = &comm->bounce;
	int error;

	WEFT_ASSERT(b->begun - b->freed < PIECES && bytes <= PIECE_BYTES);
	b->piece[b->begun % PIECES] = (struct piece){ .request = request, .lane = lane };
	error = weft_gpu_copy(lane, b->begun % PIECES, way, at, b->at + bounce_at(b->begun), bytes);
	if (error)
		return complain("a copy", error);
	b->begun++;
	return WEFT_NCCL_SUCCESS;
}

int bounce_copied(struct comm *comm, uint32_t number, bool *done)
{
	int error =
		weft_gpu_copied(comm->bounce.piece[number % PIECES].lane, number % PIECES, done);

	return error ? complain("a copy", error) : WEFT_NCCL_SUCCESS;
}

/* Without the lock while it waits: whoever sends wants it, too. */
void bounce_settle(struct comm *comm)
{
	struct weft_gpu_lane *lanes[LANES_MAX];

	weft_lock_take(&comm->bounce.lock);
	for (uint32_t i = 0; i < LANES_MAX; i++)
		lanes[i] = comm->bounce.lanes[i].lane;
	weft_lock_give(&comm->bounce.lock);
	for (uint32_t i = 0; i < LANES_MAX && lanes[i]; i++)
		(void)weft_gpu_lane_settle(lanes[i]);
}

void bounce_close(struct comm *comm)
{
	struct bounce *b = &comm->bounce;
	bool over = true;

	for (uint32_t i = 0; i < LANES_MAX && b->lanes[i].lane; i++)
		over &= weft_gpu_lane_close(b->lanes[i].lane);
	if (!b->at)
		return;
	(void)weft_dev_mr_close(b->mr);
	if (over) {
		weft_gpu_unpin(&b->place, b->at);
		(void)munmap(b->at, RING_BYTES);
	} else {
		WARN("NET/Weft: a GPU does not answer: %zu bytes of host memory are left to it",
			RING_BYTES);
	}
	weft_gpu_forget(&b->place);
}
