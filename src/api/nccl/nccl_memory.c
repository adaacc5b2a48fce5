/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nccl_memory - what NCCL registers.
 *
 * The host's is the device's business.  A GPU's can be written to by a CPU where its driver lends
 * it as a DMA-BUF that can be mapped: then it is as the host's.  Else it is reached by copies, and
 * what those need is opened now, for this connection: later the GPU may be busy with a kernel that
 * waits for our data, and pinning memory may wait for that kernel.  Memory is good for all
 * connections of the device (reg_is_global), so another one may have to open its own when it is
 * used there first.
 */
#include "nccl_local.h"

#include <stdlib.h>
#include <string.h>

#define ACCESS (WEFT_DEV_LOCAL_WRITE | WEFT_DEV_REMOTE_WRITE)

static int open_host(struct comm *comm, struct memory *m)
{
	int error = weft_dev_mr_open(
		comm->nic->pd, (void *)(uintptr_t)m->at, m->bytes, m->at, ACCESS, &m->mr);

	if (!error)
		return WEFT_NCCL_SUCCESS;
	WARN("NET/Weft: %zu bytes at %p: %s", (size_t)m->bytes, (void *)(uintptr_t)m->at,
		strerror(error));
	return WEFT_NCCL_SYSTEM_ERROR;
}

static int open_gpu(struct comm *comm, struct memory *m)
{
	struct weft_gpu_lane *lane;
	int error = weft_gpu_is_there() ? weft_gpu_find(m->at, &m->place) : -1;

	if (error < 0) {
		WARN("NET/Weft: memory of a GPU, and there is no driver of CUDA's");
		return WEFT_NCCL_INTERNAL_ERROR;
	}
	if (error) {
		WARN("NET/Weft: %p: %s", (void *)(uintptr_t)m->at, weft_gpu_error(error));
		return WEFT_NCCL_CUDA_ERROR;
	}
	error = bounce_lane(comm, m, &lane);
	if (error)
		weft_gpu_forget(&m->place);
	return error;
}

static int finish(struct memory *m, int error, struct memory **out)
{
	*out = error ? NULL : m;
	if (error)
		free(m);
	return error;
}

static struct memory *begin(const void *data, size_t bytes)
{
	struct memory *m = calloc(1, sizeof(*m));

	if (m)
		*m = (struct memory){
			.place = { .primary = -1 }, .at = (uint64_t)(uintptr_t)data, .bytes = bytes
		};
	return m;
}

int memory_open(struct comm *comm, void *data, size_t bytes, int type, struct memory **out)
{
	struct memory *m = begin(data, bytes);

	*out = NULL;
	if (!m)
		return WEFT_NCCL_SYSTEM_ERROR;
	switch (type) {
	case WEFT_NCCL_PTR_HOST:
		return finish(m, open_host(comm, m), out);
	case WEFT_NCCL_PTR_CUDA:
		return finish(m, open_gpu(comm, m), out);
	default:
		WARN("NET/Weft: memory of type %d: neither the host's nor a GPU's", type);
		return finish(m, WEFT_NCCL_INTERNAL_ERROR, out);
	}
}

int memory_open_dmabuf(
	struct comm *comm, void *data, size_t bytes, uint64_t offset, int fd, struct memory **out)
{
	struct memory *m = begin(data, bytes);
	int error;

	*out = NULL;
	if (!m)
		return WEFT_NCCL_SYSTEM_ERROR;
	/* By the address that it has for the program, and none here. */
	error = weft_dev_mr_open_dmabuf(comm->nic->pd, fd, offset, bytes, m->at, ACCESS, &m->mr);
	if (!error)
		return finish(m, WEFT_NCCL_SUCCESS, out);
	if (weft_gpu_is_there())
		return finish(m, open_gpu(comm, m), out);
	WARN("NET/Weft: DMA-BUF %d: %s", fd, strerror(error));
	return finish(m, WEFT_NCCL_SYSTEM_ERROR, out);
}

int memory_close(struct comm *comm, struct memory *m)
{
	if (!m)
		return WEFT_NCCL_SUCCESS;
	if (m->mr && weft_dev_mr_close(m->mr))
		return WEFT_NCCL_INTERNAL_ERROR;
	if (!m->mr && comm)
		bounce_settle(comm);
	if (!m->mr)
		weft_gpu_forget(&m->place);
	free(m);
	return WEFT_NCCL_SUCCESS;
}

bool memory_holds(const struct memory *m, const void *data, size_t bytes)
{
	uint64_t at = (uint64_t)(uintptr_t)data;

	return at >= m->at && at - m->at <= m->bytes && bytes <= m->bytes - (at - m->at);
}
