/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * refuse - what librdmacm exports and is not served: enhanced connection options, and what there is
 * since rdma-core 44 (RDMACM_1.4): names looked up by InfiniBand's subnet, events of one's own.
 */
#include "local.h"

int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
	(void)id, (void)event;
	return 0;
}

int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	(void)id, (void)ece;
	return fail(EOPNOTSUPP);
}

int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	(void)id, (void)ece;
	return fail(EOPNOTSUPP);
}

int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node, const char *service,
	const struct rdma_addrinfo *hints);
int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node, const char *service,
	const struct rdma_addrinfo *hints)
{
	(void)id, (void)node, (void)service, (void)hints;
	return fail(EOPNOTSUPP);
}

int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info);
int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info)
{
	(void)id, (void)info;
	return fail(EOPNOTSUPP);
}

int rdma_write_cm_event(
	struct rdma_cm_id *id, enum rdma_cm_event_type event, int status, uint64_t arg);
int rdma_write_cm_event(
	struct rdma_cm_id *id, enum rdma_cm_event_type event, int status, uint64_t arg)
{
	(void)id, (void)event, (void)status, (void)arg;
	return fail(EOPNOTSUPP);
}
