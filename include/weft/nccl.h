/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_NCCL_H
#define WEFT_NCCL_H
/*
 * nccl - NCCL's interface for networks, as far as a plugin sees it: libnccl-net-weft.so.
 *
 *   NCCL (or a harness) --dlopen--> ncclNetPlugin_v8 .. _v12 --> struct weft_nccl_net_v8 .. _v12
 *
 * Layouts and meanings are facts of NVIDIA/nccl, ext-net/ and src/include/plugin/net/, written
 * down here in our own words; tests/unit/nccl/plugin_test.c holds their sizes and offsets. v8
 * came with NCCL 2.20, v9 with 2.24, v10 with 2.26, v11 with 2.28, v12 with 2.30; NCCL takes the
 * newest that it knows and finds.
 *
 * Threads  One at a time per listen, send or receive object, and beside it one that registers and
 *          deregisters memory for it; any number of objects.
 * Errors   enum weft_nccl_result.  connect, accept, isend and irecv never block: they hand out NULL
 *          where there is nothing yet, and want to be called again.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum weft_nccl_result {
	WEFT_NCCL_SUCCESS = 0,
	WEFT_NCCL_CUDA_ERROR = 1,     /* CUDA's driver said so */
	WEFT_NCCL_SYSTEM_ERROR = 2,   /* the system or the network */
	WEFT_NCCL_INTERNAL_ERROR = 3, /* called as it must not be */
	WEFT_NCCL_INVALID_USAGE = 5,  /* the person's mistake */
	WEFT_NCCL_REMOTE_ERROR = 6,   /* the peer is gone */
};

enum { WEFT_NCCL_PTR_HOST = 1, WEFT_NCCL_PTR_CUDA = 2, WEFT_NCCL_PTR_DMABUF = 4 };

#define WEFT_NCCL_HANDLE_BYTES 128
#define WEFT_NCCL_REQUESTS_MAX 32 /* in flight per object, times the receives of a group */
#define WEFT_NCCL_RECVS_MAX 8     /* of a group */

enum { WEFT_NCCL_LOG_WARN = 2, WEFT_NCCL_LOG_INFO = 3 };
enum { WEFT_NCCL_LOG_NET = 16 };
typedef void weft_nccl_log_fn(
	int level, unsigned long flags, const char *file, int line, const char *format, ...);
typedef int weft_nccl_profile_fn(void **event, int type, void *handle, int64_t plugin, void *more);

struct weft_nccl_properties_v8 {
	char *name, *pci_path; /* NULL: a virtual NIC */
	uint64_t guid;
	int ptr_support;
	int reg_is_global; /* memory is registered for all objects of the device */
	int speed_mbps, port;
	float latency_us;
	int comms_max, recvs_max, device_type, device_version; /* 0, 0: all by the host */
};

#define WEFT_NCCL_PROPERTIES_HEAD                                                                  \
	char *name, *pci_path;                                                                     \
	uint64_t guid;                                                                             \
	int ptr_support, reg_is_global, force_flush, speed_mbps, port;                             \
	float latency_us;                                                                          \
	int comms_max, recvs_max, device_type, device_version

struct weft_nccl_merged_v9 { /* devices that are one; v9 to v11 */
	int n, devs[4];
};
struct weft_nccl_properties_v9 { /* and v10 */
	WEFT_NCCL_PROPERTIES_HEAD;
	struct weft_nccl_merged_v9 merged;
	size_t p2p_bytes_max, coll_bytes_max;
};
struct weft_nccl_properties_v11 {
	WEFT_NCCL_PROPERTIES_HEAD;
	struct weft_nccl_merged_v9 merged;
	size_t p2p_bytes_max, coll_bytes_max;
	int multi_requests_max;
};
struct weft_nccl_merged_v12 {
	int n, devs[8];
};
struct weft_nccl_properties_v12 {
	WEFT_NCCL_PROPERTIES_HEAD;
	struct weft_nccl_merged_v12 merged;
	size_t p2p_bytes_max, coll_bytes_max;
	int multi_requests_max;
	int16_t rail, plane; /* -1: not one */
};

struct weft_nccl_comm_config { /* v10 and later */
	int traffic_class;
};

/* Offload to a GPU, which we do not do: what is handed out stays NULL. */
struct weft_nccl_device_handle;

/* What did not change from v8 to v12. */
#define WEFT_NCCL_ACCEPT                                                                           \
	int (*accept)(void *listener, void **receiver, struct weft_nccl_device_handle **device);   \
	int (*reg_mr)(void *comm, void *data, size_t bytes, int type, void **mr);                  \
	int (*reg_mr_dmabuf)(void *comm, void *data, size_t bytes, int type, uint64_t offset,      \
		int fd, void **mr);                                                                \
	int (*dereg_mr)(void *comm, void *mr)
#define WEFT_NCCL_TEST                                                                             \
	int (*iflush)(void *receiver, int n, void **data, int *bytes, void **mrs, void **request); \
	int (*test)(void *request, int *done, int *bytes);                                         \
	int (*close_send)(void *sender);                                                           \
	int (*close_recv)(void *receiver);                                                         \
	int (*close_listen)(void *listener);                                                       \
	int (*get_device_mr)(void *comm, void *mr, void **device_mr);                              \
	int (*irecv_consumed)(void *receiver, int n, void *request)

struct weft_nccl_net_v8 {
	const char *name;
	int (*init)(weft_nccl_log_fn *log);
	int (*devices)(int *n);
	int (*properties)(int dev, struct weft_nccl_properties_v8 *properties);
	int (*listen)(int dev, void *handle, void **listener);
	int (*connect)(
		int dev, void *handle, void **sender, struct weft_nccl_device_handle **device);
	WEFT_NCCL_ACCEPT;
	int (*isend)(void *sender, void *data, int bytes, int tag, void *mr, void **request);
	int (*irecv)(void *receiver, int n, void **data, int *bytes, int *tags, void **mrs,
		void **request);
	WEFT_NCCL_TEST;
};
struct weft_nccl_net_v9 {
	const char *name;
	int (*init)(weft_nccl_log_fn *log);
	int (*devices)(int *n);
	int (*properties)(int dev, struct weft_nccl_properties_v9 *properties);
	int (*listen)(int dev, void *handle, void **listener);
	int (*connect)(
		int dev, void *handle, void **sender, struct weft_nccl_device_handle **device);
	WEFT_NCCL_ACCEPT;
	int (*isend)(void *sender, void *data, size_t bytes, int tag, void *mr, void **request);
	int (*irecv)(void *receiver, int n, void **data, size_t *bytes, int *tags, void **mrs,
		void **request);
	WEFT_NCCL_TEST;
	int (*make_merged)(int *dev, struct weft_nccl_merged_v9 *merged);
};
struct weft_nccl_net_v10 {
	const char *name;
	int (*init)(weft_nccl_log_fn *log, weft_nccl_profile_fn *profile);
	int (*devices)(int *n);
	int (*properties)(int dev, struct weft_nccl_properties_v9 *properties);
	int (*listen)(int dev, void *handle, void **listener);
	int (*connect)(int dev, struct weft_nccl_comm_config *config, void *handle, void **sender,
		struct weft_nccl_device_handle **device);
	WEFT_NCCL_ACCEPT;
	int (*isend)(void *sender, void *data, size_t bytes, int tag, void *mr, void *profile,
		void **request);
	int (*irecv)(void *receiver, int n, void **data, size_t *bytes, int *tags, void **mrs,
		void **profile, void **request);
	WEFT_NCCL_TEST;
	int (*make_merged)(int *dev, struct weft_nccl_merged_v9 *merged);
};

/* Four numbers each for sending and receiving, then operation, algorithm, protocol: advice. */
struct weft_nccl_attr {
	int32_t peers[8];
	uint32_t op, algorithm, protocol;
};

#define WEFT_NCCL_NET_V11(PROPERTIES, MERGED)                                                      \
	const char *name;                                                                          \
	int (*init)(void **ctx, uint64_t comm_id, struct weft_nccl_comm_config *config,            \
		weft_nccl_log_fn *log, weft_nccl_profile_fn *profile);                             \
	int (*devices)(int *n);                                                                    \
	int (*properties)(int dev, struct PROPERTIES *properties);                                 \
	int (*listen)(void *ctx, int dev, void *handle, void **listener);                          \
	int (*connect)(void *ctx, int dev, void *handle, void **sender,                            \
		struct weft_nccl_device_handle **device);                                          \
	WEFT_NCCL_ACCEPT;                                                                          \
	int (*isend)(void *sender, void *data, size_t bytes, int tag, void *mr, void *profile,     \
		void **request);                                                                   \
	int (*irecv)(void *receiver, int n, void **data, size_t *bytes, int *tags, void **mrs,     \
		void **profile, void **request);                                                   \
	WEFT_NCCL_TEST;                                                                            \
	int (*make_merged)(int *dev, struct MERGED *merged);                                       \
	int (*finalize)(void *ctx);                                                                \
	int (*set_attr)(void *ctx, struct weft_nccl_attr *attr)
struct weft_nccl_net_v11 {
	WEFT_NCCL_NET_V11(weft_nccl_properties_v11, weft_nccl_merged_v9);
};
struct weft_nccl_net_v12 {
	WEFT_NCCL_NET_V11(weft_nccl_properties_v12, weft_nccl_merged_v12);
};

extern const struct weft_nccl_net_v8 ncclNetPlugin_v8;
extern const struct weft_nccl_net_v9 ncclNetPlugin_v9;
extern const struct weft_nccl_net_v10 ncclNetPlugin_v10;
extern const struct weft_nccl_net_v11 ncclNetPlugin_v11;
extern const struct weft_nccl_net_v12 ncclNetPlugin_v12;

#ifdef __cplusplus
}
#endif
#endif /* WEFT_NCCL_H */
