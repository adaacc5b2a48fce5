/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPU_MEMORY_H
#define GPU_MEMORY_H
/*
 * gpu_memory - a GPU's memory for a program that stands in for NCCL, by CUDA's driver as it is
 * found.  A context is current inside these functions only: NCCL's proxy need not have one either.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define GPU_DMABUF_FD 1 /* CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD */

static struct {
	int (*init)(unsigned flags);
	int (*device_get)(int *device, int ordinal);
	int (*device_name)(char *name, int bytes, int device);
	int (*retain)(void **context, int device);
	int (*push)(void *context);
	int (*pop)(void **context);
	int (*alloc)(uint64_t *at, size_t bytes);
	int (*free)(uint64_t at);
	int (*put)(uint64_t to, const void *from, size_t bytes);
	int (*get)(void *to, uint64_t from, size_t bytes);
	int (*dmabuf)(void *fd, uint64_t at, size_t bytes, int type, unsigned long long flags);
	void *context;
} gpu;

static inline void gpu_must(int result, const char *what)
{
	if (result) {
		fprintf(stderr, "net_bench: %s: CUDA says %d\n", what, result);
		exit(1);
	}
}

static inline void gpu_find(void *library, const char *name, void *call)
{
	*(void **)call = dlsym(library, name);
	gpu_must(!*(void **)call, name);
}

/* False: there is no driver. */
static inline bool gpu_open(int ordinal)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	char name[128] = "";
	int device;

	if (!library)
		return false;
	gpu_find(library, "cuInit", &gpu.init);
	gpu_find(library, "cuDeviceGet", &gpu.device_get);
	gpu_find(library, "cuDeviceGetName", &gpu.device_name);
	gpu_find(library, "cuDevicePrimaryCtxRetain", &gpu.retain);
	gpu_find(library, "cuCtxPushCurrent_v2", &gpu.push);
	gpu_find(library, "cuCtxPopCurrent_v2", &gpu.pop);
	gpu_find(library, "cuMemAlloc_v2", &gpu.alloc);
	gpu_find(library, "cuMemFree_v2", &gpu.free);
	gpu_find(library, "cuMemcpyHtoD_v2", &gpu.put);
	gpu_find(library, "cuMemcpyDtoH_v2", &gpu.get);
	*(void **)&gpu.dmabuf = dlsym(library, "cuMemGetHandleForAddressRange");
	gpu_must(gpu.init(0), "cuInit");
	gpu_must(gpu.device_get(&device, ordinal), "cuDeviceGet");
	gpu_must(gpu.device_name(name, sizeof(name), device), "cuDeviceGetName");
	gpu_must(gpu.retain(&gpu.context, device), "cuDevicePrimaryCtxRetain");
	printf("GPU %d: %s\n", ordinal, name);
	return true;
}

static inline void gpu_enter(void)
{
	gpu_must(gpu.push(gpu.context), "cuCtxPushCurrent");
}

static inline void gpu_leave(int result, const char *what)
{
	void *was;

	gpu_must(result, what);
	gpu_must(gpu.pop(&was), "cuCtxPopCurrent");
}

static inline uint8_t *gpu_alloc(size_t bytes)
{
	uint64_t at = 0;

	gpu_enter();
	gpu_leave(gpu.alloc(&at, bytes), "cuMemAlloc");
	return (uint8_t *)(uintptr_t)at;
}

static inline void gpu_free(uint8_t *at)
{
	gpu_enter();
	gpu_leave(gpu.free((uintptr_t)at), "cuMemFree");
}

static inline void gpu_put(uint8_t *to, const void *from, size_t bytes)
{
	if (!bytes)
		return;
	gpu_enter();
	gpu_leave(gpu.put((uintptr_t)to, from, bytes), "cuMemcpyHtoD");
}

static inline void gpu_get(void *to, const uint8_t *from, size_t bytes)
{
	if (!bytes)
		return;
	gpu_enter();
	gpu_leave(gpu.get(to, (uintptr_t)from, bytes), "cuMemcpyDtoH");
}

/* -1: this driver, or this GPU, has none. */
static inline int gpu_dmabuf(uint8_t *at, size_t bytes)
{
	int fd = -1;

	gpu_enter();
	if (gpu.dmabuf && gpu.dmabuf(&fd, (uintptr_t)at, bytes, GPU_DMABUF_FD, 0))
		fd = -1;
	gpu_leave(0, "");
	return fd;
}

#endif
