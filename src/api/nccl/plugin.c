/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plugin - the tables that NCCL looks for by name, and the little in which its versions differ.
 */
#include "nccl_local.h"

#include <string.h>

#define NAME "Weft"

static int init_v8(weft_nccl_log_fn *log)
{
	return nic_init(log);
}

static int init_v10(weft_nccl_log_fn *log, weft_nccl_profile_fn *profile)
{
	(void)profile;
	return nic_init(log);
}

static int init_v11(void **ctx, uint64_t comm_id, struct weft_nccl_comm_config *config,
	weft_nccl_log_fn *log, weft_nccl_profile_fn *profile)
{
	static char one; /* NCCL wants something to hand back; there is nothing to keep in it */

	(void)comm_id;
	(void)config;
	(void)profile;
	*ctx = &one;
	return nic_init(log);
}

static int devices(int *n)
{
	*n = nic_count();
	return WEFT_NCCL_SUCCESS;
}

static int properties_v12(int dev, struct weft_nccl_properties_v12 *p)
{
	return nic_properties(dev, p);
}

static int properties_v11(int dev, struct weft_nccl_properties_v11 *p)
{
	struct weft_nccl_properties_v12 all;
	int result = nic_properties(dev, &all);

	if (result)
		return result;
	memset(p, 0, sizeof(*p));
	memcpy(p, &all, offsetof(struct weft_nccl_properties_v11, merged));
	p->merged.n = 1;
	p->merged.devs[0] = dev;
	p->p2p_bytes_max = all.p2p_bytes_max;
	p->coll_bytes_max = all.coll_bytes_max;
	p->multi_requests_max = all.multi_requests_max;
	return WEFT_NCCL_SUCCESS;
}

static int properties_v9(int dev, struct weft_nccl_properties_v9 *p)
{
	struct weft_nccl_properties_v11 all;
	int result = properties_v11(dev, &all);

	if (!result)
		memcpy(p, &all, sizeof(*p)); /* the same, less the end */
	return result;
}

static int properties_v8(int dev, struct weft_nccl_properties_v8 *p)
{
	struct weft_nccl_properties_v12 all;
	int result = nic_properties(dev, &all);

	if (result)
		return result;
	*p = (struct weft_nccl_properties_v8){ .name = all.name,
		.guid = all.guid,
		.ptr_support = all.ptr_support,
		.reg_is_global = all.reg_is_global,
		.speed_mbps = all.speed_mbps,
		.port = all.port,
		.latency_us = all.latency_us,
		.comms_max = all.comms_max,
		.recvs_max = all.recvs_max };
	return WEFT_NCCL_SUCCESS;
}

static int listen_v11(void *ctx, int dev, void *handle, void **listener)
{
	(void)ctx;
	return meet_listen(dev, handle, listener);
}

static int connect_v8(int dev, void *handle, void **sender, struct weft_nccl_device_handle **device)
{
	(void)device;
	return meet_connect(dev, handle, sender);
}

static int connect_v10(int dev, struct weft_nccl_comm_config *config, void *handle, void **sender,
	struct weft_nccl_device_handle **device)
{
	(void)config;
	(void)device;
	return meet_connect(dev, handle, sender);
}

static int connect_v11(
	void *ctx, int dev, void *handle, void **sender, struct weft_nccl_device_handle **device)
{
	(void)ctx;
	(void)device;
	return meet_connect(dev, handle, sender);
}

static int accept_any(void *listener, void **receiver, struct weft_nccl_device_handle **device)
{
	(void)device;
	return meet_accept(listener, receiver);
}

/* ---- memory ---- */

static int reg_mr(void *comm, void *data, size_t bytes, int type, void **mr)
{
	return memory_open(comm, data, bytes, type, (struct memory **)mr);
}

static int reg_mr_dmabuf(
	void *comm, void *data, size_t bytes, int type, uint64_t offset, int fd, void **mr)
{
	(void)type; /* a GPU's, whatever it says */
	return memory_open_dmabuf(comm, data, bytes, offset, fd, (struct memory **)mr);
}

static int dereg_mr(void *comm, void *mr)
{
	return memory_close(comm, mr);
}

/* ---- data ---- */

static int isend_v8(void *sender, void *data, int bytes, int tag, void *mr, void **request)
{
	return bytes < 0 ? WEFT_NCCL_INTERNAL_ERROR
			 : send_begin(sender, data, (size_t)bytes, tag, mr, request);
}

static int isend_v10(
	void *sender, void *data, size_t bytes, int tag, void *mr, void *profile, void **request)
{
	(void)profile;
	return send_begin(sender, data, bytes, tag, mr, request);
}

static int irecv_v8(
	void *receiver, int n, void **data, int *bytes, int *tags, void **mrs, void **request)
{
	size_t all[WEFT_NCCL_RECVS_MAX];

	for (int i = 0; i < n && i < WEFT_NCCL_RECVS_MAX; i++)
		all[i] = bytes[i] < 0 ? 0 : (size_t)bytes[i];
	return recv_begin(receiver, n, data, all, tags, mrs, request);
}

static int irecv_v9(
	void *receiver, int n, void **data, size_t *bytes, int *tags, void **mrs, void **request)
{
	return recv_begin(receiver, n, data, bytes, tags, mrs, request);
}

static int irecv_v10(void *receiver, int n, void **data, size_t *bytes, int *tags, void **mrs,
	void **profile, void **request)
{
	(void)profile;
	return recv_begin(receiver, n, data, bytes, tags, mrs, request);
}

/* Data is there when test() says so, and in a GPU when it is copied to there, or mapped and its
 * exporter told of each turn of the device; no request: nothing to wait for. */
static int iflush(void *receiver, int n, void **data, int *bytes, void **mrs, void **request)
{
	(void)receiver;
	(void)n;
	(void)data;
	(void)bytes;
	(void)mrs;
	*request = NULL;
	return WEFT_NCCL_SUCCESS;
}

/* ---- what needs a NIC that a GPU drives, or several that are one ---- */

static int get_device_mr(void *comm, void *mr, void **device_mr)
{
	(void)comm;
	(void)mr;
	*device_mr = NULL;
	return WEFT_NCCL_INTERNAL_ERROR;
}

static int irecv_consumed(void *receiver, int n, void *request)
{
	(void)receiver;
	(void)n;
	(void)request;
	return WEFT_NCCL_SUCCESS;
}

static int make_merged_v9(int *dev, struct weft_nccl_merged_v9 *merged)
{
	*dev = merged->devs[0];
	return merged->n == 1 ? WEFT_NCCL_SUCCESS : WEFT_NCCL_INVALID_USAGE;
}

static int make_merged_v12(int *dev, struct weft_nccl_merged_v12 *merged)
{
	*dev = merged->devs[0];
	return merged->n == 1 ? WEFT_NCCL_SUCCESS : WEFT_NCCL_INVALID_USAGE;
}

static int finalize(void *ctx)
{
	(void)ctx;
	return WEFT_NCCL_SUCCESS;
}

static int set_attr(void *ctx, struct weft_nccl_attr *attr)
{
	(void)ctx;
	(void)attr;
	return WEFT_NCCL_SUCCESS;
}

/* ---- the tables ---- */

#define COMMON                                                                                     \
	.name = NAME, .devices = devices, .accept = accept_any, .reg_mr = reg_mr,                  \
	.reg_mr_dmabuf = reg_mr_dmabuf, .dereg_mr = dereg_mr, .iflush = iflush, .test = comm_test, \
	.close_send = comm_close, .close_recv = comm_close, .close_listen = meet_close,            \
	.get_device_mr = get_device_mr, .irecv_consumed = irecv_consumed

const struct weft_nccl_net_v8 ncclNetPlugin_v8 = { COMMON, .init = init_v8,
	.properties = properties_v8, .listen = meet_listen, .connect = connect_v8,
	.isend = isend_v8, .irecv = irecv_v8 };
const struct weft_nccl_net_v9 ncclNetPlugin_v9 = { COMMON, .init = init_v8,
	.properties = properties_v9, .listen = meet_listen, .connect = connect_v8,
	.isend = send_begin, .irecv = irecv_v9, .make_merged = make_merged_v9 };
const struct weft_nccl_net_v10 ncclNetPlugin_v10 = { COMMON, .init = init_v10,
	.properties = properties_v9, .listen = meet_listen, .connect = connect_v10,
	.isend = isend_v10, .irecv = irecv_v10, .make_merged = make_merged_v9 };
const struct weft_nccl_net_v11 ncclNetPlugin_v11 = { COMMON, .init = init_v11,
	.properties = properties_v11, .listen = listen_v11, .connect = connect_v11,
	.isend = isend_v10, .irecv = irecv_v10, .make_merged = make_merged_v9, .finalize = finalize,
	.set_attr = set_attr };
const struct weft_nccl_net_v12 ncclNetPlugin_v12 = { COMMON, .init = init_v11,
	.properties = properties_v12, .listen = listen_v11, .connect = connect_v11,
	.isend = isend_v10, .irecv = irecv_v10, .make_merged = make_merged_v12,
	.finalize = finalize, .set_attr = set_attr };
