/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * refuse - what librdmacm exports and is not served: enhanced connection options.
 *
 * Options of an id (type of service, reuse of addresses, the ack timeout) are hints about hardware;
 * they are taken and have no effect.
 */
#include "local.h"

int rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t bytes)
{
	(void)id, (void)level, (void)name, (void)value, (void)bytes;
	return 0;
}

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
