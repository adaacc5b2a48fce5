/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPUS_H
#define GPUS_H
/* What tests do with the GPUs of the stand-in, as a program would beside us. */
#include "check.h"
#include "standin/cuda.h"

#include <string.h>
#include <weft/gpu.h>

static inline void gpus_enter(int device)
{
	void *context = NULL;

	WEFT_ASSERT(!cuDevicePrimaryCtxRetain(&context, device) && !cuCtxPushCurrent_v2(context));
}

static inline void gpus_leave(int device)
{
	void *context;

	WEFT_ASSERT(!cuCtxPopCurrent_v2(&context) && !cuDevicePrimaryCtxRelease_v2(device));
}

/* Holds the context, as programs do. */
static inline uint64_t gpus_memory(int device, size_t bytes)
{
	void *context;
	uint64_t at;

	gpus_enter(device);
	WEFT_ASSERT(!cuMemAlloc_v2(&at, bytes) && !cuCtxPopCurrent_v2(&context));
	return at;
}

static inline void gpus_free(int device, uint64_t at)
{
	gpus_enter(device);
	WEFT_ASSERT(!cuMemFree_v2(at));
	gpus_leave(device);
	WEFT_ASSERT(!cuDevicePrimaryCtxRelease_v2(device));
}

static inline void gpus_put(uint64_t at, const void *bytes, size_t n)
{
	gpus_enter(0);
	WEFT_ASSERT(!cuMemcpyHtoD_v2(at, bytes, n));
	gpus_leave(0);
}

static inline void gpus_get(void *bytes, uint64_t at, size_t n)
{
	gpus_enter(0);
	WEFT_ASSERT(!cuMemcpyDtoH_v2(bytes, at, n));
	gpus_leave(0);
}

/* The nth call of that name from now on says 77; -1: each; 0: none. */
static inline void gpus_fail(const char *call, int nth)
{
	snprintf(standin.fail, sizeof(standin.fail), "%s", call);
	standin.nth = nth;
	standin.error = 77;
}

/* Nobody owns anything any more, and all contexts are as they were. */
static inline void gpus_are_clean(void)
{
	standin.pooled = false;
	CHECK_EQ(standin.pushes, standin.pops);
	CHECK_EQ(standin.memories, 0);
	CHECK_EQ(standin.pinned, 0);
	CHECK_EQ(standin.pinned_bytes, 0);
	CHECK_EQ(standin.streams, 0);
	CHECK_EQ(standin.events, 0);
	CHECK_EQ(standin.retained, 0);
	CHECK_EQ(standin.torn, 0);
}

#endif
