/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef STANDIN_CUDA_H
#define STANDIN_CUDA_H
/* What a test may turn at the stand-in for CUDA's driver, and read; and the calls that it has. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct standin {
	int devices;
	_Atomic unsigned delay_us; /* of a copy, at most */
	_Atomic bool hangs;        /* no copy ends */
	bool pooled;               /* new memory belongs to a device, and to no context */
	char fail[64];             /* name of a call: */
	int nth, error;            /* this one from now on fails, with this; -1: all */
	/* what there is */
	int pushes, pops, memories, pinned, streams, events, retained;
	_Atomic int under_way; /* copies */
	int torn;              /* streams that were closed under a copy */
	size_t pinned_bytes;
	unsigned long copies, bytes;
};
extern struct standin standin;

int cuInit(unsigned flags);
int cuDeviceGetCount(int *n);
int cuDeviceGet(int *device, int ordinal);
int cuDeviceGetName(char *name, int bytes, int device);
int cuGetErrorString(int error, const char **text);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxCreate_v2(void **context, unsigned flags, int device);
int cuCtxPushCurrent_v2(void *context);
int cuCtxPopCurrent_v2(void **context);
int cuMemAlloc_v2(uint64_t *at, size_t bytes);
int cuMemFree_v2(uint64_t at);
int cuMemGetHandleForAddressRange(
	void *handle, uint64_t at, size_t bytes, int type, unsigned long long flags);
int cuPointerGetAttribute(void *value, int attribute, uint64_t at);
int cuMemHostRegister_v2(void *host, size_t bytes, unsigned flags);
int cuMemHostUnregister(void *host);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamDestroy_v2(void *stream);
int cuEventCreate(void **event, unsigned flags);
int cuEventDestroy_v2(void *event);
int cuEventRecord(void *event, void *stream);
int cuEventQuery(void *event);
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream);
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream);
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes);

#endif
