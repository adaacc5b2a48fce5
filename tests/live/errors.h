/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ERRORS_H
#define ERRORS_H
/*
 * errors - verbs' public interface, and a peer that does on request what peers should not.
 *
 *   client                         TCP over front0                     server, a thread per caller
 *     struct ask {QPN, wishes} --------------------------------------> a QP, a region
 *     QP, connected            <--------------------- struct told {QPN, address, key}
 *     one letter (enum order)  --------------------------------------> does it
 *                              <----------------------------- int32_t: how it went
 *
 * Both run on one machine, in two hosts of a lab: structures travel as they are.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#define MEMORY_BYTES (1u << 20)
#define ACCESS_ALL                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
		IBV_ACCESS_REMOTE_ATOMIC)

struct end {
	union ibv_gid gid;
	uint32_t qpn, psn;
};

struct ask { /* what a test wishes; zeros are made harmless by link_open() */
	struct end end;
	uint32_t mr_access, qp_access; /* of the server's region and queue pair */
	uint32_t recvs, recv_bytes;    /* that the server posts at first */
	uint32_t depth, cq_depth;      /* of the client's queues */
	uint8_t timeout, retry, rnr_retry, rnr_timer;
};

struct told {
	struct end end;
	uint64_t addr;
	uint32_t rkey;
};

enum order {
	ORDER_DESTROY = 'd', /* the queue pair */
	ORDER_DEREGISTER = 'm',
	ORDER_FAIL = 'f',    /* moves it to ERR */
	ORDER_RENEW = 'r',   /* RESET and on; a struct end follows, one comes back */
	ORDER_RECEIVE = 'p', /* posts one */
	ORDER_RECEIVE_NOWHERE = 'n', /* with a key of nobody */
	ORDER_STATE = 's',   /* answers enum ibv_qp_state */
	ORDER_WAIT = 'w',    /* answers the status of the next completion */
	ORDER_EVENT = 'e',   /* answers the next asynchronous event's type */
	ORDER_INTRUDE = 'i', /* a struct told of another's follows: a queue pair of its own to that
	                      * one; answers the status of a write and of a read */
	ORDER_SUM = 'b',     /* answers the sum of all bytes of the memory */
};

struct rig { /* one device, opened */
	struct ibv_context *context;
	struct ibv_pd *pd;
	union ibv_gid gid;
};

struct link { /* one queue pair and what it needs; the client's with its server */
	const struct rig *rig;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *memory;
	struct ask ask;
	struct told told;
	uint32_t psn;
	int fd;
};

void rig_open(struct rig *rig);
void rig_close(struct rig *rig);

/* All of these leave the program with a word on stderr where something is wrong that no test is
 * about. */
void link_make(struct link *link, const struct rig *rig, const struct ask *ask);
void link_connect(struct link *link, const struct end *peer);
void link_free(struct link *link);
int link_receive(struct link *link, uint64_t id, uint32_t len_bytes);
int link_state(struct link *link);
/* Within 30 s; -1: nothing came. */
int link_wait(struct link *link, struct ibv_wc *wc);
extern void (*link_idle)(void); /* called while waiting, if set */
int rig_event(const struct rig *rig, struct ibv_async_event *event, int limit_ms);

int serve(const char *port); /* errors_serve.c; never comes back */
void must(bool is, const char *what);
double seconds(void);

#endif
