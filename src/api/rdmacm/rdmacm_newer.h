/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RDMACM_NEWER_H
#define RDMACM_NEWER_H
/*
 * rdmacm_newer - what librdmacm has exported since rdma-core 44, whose headers we are built with:
 * names and numbers as programs that were built against version 65 know them (RDMACM_1.4; its
 * rdma_cma.h and manuals of 2026-08).
 */
#include <rdma/rdma_cma.h>

#define RAI_SA 0x10u  /* a name that InfiniBand's subnet knows */
#define RAI_DNS 0x20u /* one that the system knows, as without either */

enum newer_event {
	EVENT_ADDRINFO_RESOLVED = RDMA_CM_EVENT_TIMEWAIT_EXIT + 1,
	EVENT_ADDRINFO_ERROR,
	EVENT_USER, /* its argument stands where the parameters do */
};

int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node, const char *service,
	const struct rdma_addrinfo *hints);
int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info);
int rdma_write_cm_event(
	struct rdma_cm_id *id, enum rdma_cm_event_type event, int status, uint64_t arg);

#endif
