/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPU_LOCAL_H
#define GPU_LOCAL_H
/*
 * What the files of gpu share: the part of CUDA's driver that they use.
 *
 * Names, arguments and numbers are facts of its published ABI (cuda.h of CUDA 13.0; the same since
 * 4.0, but for what its first version called otherwise).
 */
#include <weft/base.h>
#include <weft/gpu.h>

enum { /* CUresult */
	CU_OK = 0,
	CU_INVALID_VALUE = 1,
	CU_OUT_OF_MEMORY = 2,
	CU_NO_DEVICE = 100,
	CU_NOT_READY = 600,
};
enum { /* CUpointer_attribute */
	CU_POINTER_CONTEXT = 1,
	CU_POINTER_MEMORY_TYPE = 2,
	CU_POINTER_DEVICE = 9,
};
enum { CU_MEMORY_DEVICE = 2 };
enum { CU_STREAM_OWN_ORDER = 1 }; /* does not wait for stream 0: CU_STREAM_NON_BLOCKING */
enum { CU_EVENT_UNTIMED = 2 };
enum { CU_REGISTER_PORTABLE = 1 }; /* for all contexts */

/* FIELD(field, name in the library, arguments); all return a CUresult. */
#define DRIVER_CALLS                                                                               \
	FIELD(init, "cuInit", (unsigned flags))                                                    \
	FIELD(device_count, "cuDeviceGetCount", (int *n))                                          \
	FIELD(device_get, "cuDeviceGet", (int *device, int ordinal))                               \
	FIELD(error_string, "cuGetErrorString", (int error, const char **text))                    \
	FIELD(pointer_get, "cuPointerGetAttribute", (void *value, int attribute, uint64_t at))     \
	FIELD(primary_retain, "cuDevicePrimaryCtxRetain", (void **context, int device))            \
	FIELD(primary_release, "cuDevicePrimaryCtxRelease_v2", (int device))                       \
	FIELD(push, "cuCtxPushCurrent_v2", (void *context))                                        \
	FIELD(pop, "cuCtxPopCurrent_v2", (void **context))                                         \
	FIELD(stream_open, "cuStreamCreate", (void **stream, unsigned flags))                      \
	FIELD(stream_close, "cuStreamDestroy_v2", (void *stream))                                  \
	FIELD(event_open, "cuEventCreate", (void **event, unsigned flags))                         \
	FIELD(event_close, "cuEventDestroy_v2", (void *event))                                     \
	FIELD(event_record, "cuEventRecord", (void *event, void *stream))                          \
	FIELD(event_query, "cuEventQuery", (void *event))                                          \
	FIELD(host_register, "cuMemHostRegister_v2", (void *host, size_t bytes, unsigned flags))   \
	FIELD(host_unregister, "cuMemHostUnregister", (void *host))                                \
	FIELD(to_gpu, "cuMemcpyHtoDAsync_v2",                                                      \
		(uint64_t to, const void *from, size_t bytes, void *stream))                       \
	FIELD(to_host, "cuMemcpyDtoHAsync_v2",                                                     \
		(void *to, uint64_t from, size_t bytes, void *stream))

struct driver {
#define FIELD(field, name, arguments) int(*field) arguments;
	DRIVER_CALLS
#undef FIELD
};

/* ---- driver.c ---- */

const struct driver *driver_get(void); /* NULL: no GPU */

/* ---- gpu_place.c ---- */

/* Between these two the context is current, whatever was before. */
int place_enter(const struct weft_gpu_place *place);
void place_leave(void);

#endif
