/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_RDMACM_H
#define WEFT_RDMACM_H
/*
 * rdmacm - librdmacm.so.1: connections by IP address and port, over devices of ours.
 *
 *   rdma_connect()  --> TCP to a place of the port's -------------------------- rdma_listen()
 *                   <-- GREETING {port that is served here} ------------------
 *                   --> REQUEST {GID, QPN, PSN, private data} ----------------> CONNECT_REQUEST
 *   RESPONSE event  <-- REPLY {GID, QPN, PSN, private data} ------------------- rdma_accept()
 *   QP to RTS       --> READY ------------------------------------------------> ESTABLISHED
 *
 * Its interface is rdma-core's <rdma/rdma_cma.h>.  One message is one struct of fixed size; the
 * stream also tells that a peer's process has ended.  Ports of RDMA are a space of their own, two
 * in fact (RDMA_PS_TCP, RDMA_PS_UDP): src/api/rdmacm/rdmacm_port.c.
 *
 * Threads  Any; one thread of ours waits for all connections of a process.
 */
#include <netinet/in.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of an address of that family: AF_INET6, else AF_INET. */
static inline socklen_t weft_address_bytes(int family)
{
	return family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

#ifdef __cplusplus
}
#endif
#endif /* WEFT_RDMACM_H */
