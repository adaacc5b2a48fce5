/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NCCL_LOCAL_H
#define NCCL_LOCAL_H
/*
 * What the files of nccl share.
 *
 *   plugin.c  the tables that NCCL looks for, and what differs between versions
 *   nic.c     devices, opened once per process; memory
 *   meet.c    listen, connect, accept: who is at the other end (TCP, a few hundred bytes)
 *   comm.c    isend, irecv, test
 *
 * A connection is one QP, strict MRC: Write with immediate both ways. The receiver announces a
 * group of buffers by writing a "call" into the sender's memory; the sender writes the data right
 * there. Immediates say which call, and the completion says how many bytes, so nobody polls
 * memory and no byte is copied:
 *
 *      sender                                                     receiver
 *        |  <---- Write-with-immediate: call 17 {n, where, tags} ---- irecv(n buffers)
 *     isend ----- Write-with-immediate: data, "17, entry 2" ---->     test: so many bytes
 */
#include <pthread.h>
#include <stdbool.h>
#include <weft/base.h>
#include <weft/device.h>
#include <weft/nccl.h>

#define CALLS 64u /* slots for calls: more than can be in flight */
_Static_assert(CALLS > WEFT_NCCL_REQUESTS_MAX, "a slot is free before its number comes again");

/* ---- nic.c ---- */

struct nic {
	struct weft_dev_name name;
	struct weft_dev *dev; /* NULL: nobody uses it */
	struct weft_dev_pd *pd;
	struct weft_dev_attr attr;
	uint32_t users;
};

extern weft_nccl_log_fn *nccl_log; /* NULL: silent */
#define WARN(...)                                                                                  \
	do {                                                                                       \
		if (nccl_log)                                                                      \
			nccl_log(WEFT_NCCL_LOG_WARN, WEFT_NCCL_LOG_NET, __FILE__, __LINE__,        \
				__VA_ARGS__);                                                      \
	} while (0)

int nic_init(weft_nccl_log_fn *log);
int nic_count(void);
struct nic *nic_get(int dev); /* open; NULL: cannot be.  Give it back. */
struct nic *nic_again(struct nic *nic);
void nic_put(struct nic *nic);
int nic_properties(int dev, struct weft_nccl_properties_v12 *properties);

/* ---- comm.c ---- */

struct call { /* what lies in the sender's memory */
	uint32_t n, number;
	struct {
		uint64_t at, bytes;
		uint32_t rkey;
		int32_t tag;
	} entry[WEFT_NCCL_RECVS_MAX];
};

struct calls { /* one end's memory for them */
	struct call slot[CALLS];
};

struct comm;
struct request {
	struct comm *comm;
	bool used;
	uint32_t number, n; /* of the call; entries */
	uint32_t left;      /* completions still to come */
	int bytes[WEFT_NCCL_RECVS_MAX];
};

struct comm {
	struct nic *nic;
	struct weft_dev_cq *cq;
	struct weft_dev_qp *qp;
	struct weft_dev_mr *calls_mr;
	struct calls *calls; /* sender: where they come; receiver: where they are composed */
	bool is_sender;
	int error; /* enum weft_nccl_result; for good */

	uint64_t peer_calls; /* receiver: where they go */
	uint32_t peer_rkey;
	uint32_t next;            /* number of the next call to be sent, or to be answered */
	uint32_t came;            /* sender: calls before this number are there */
	struct call known[CALLS]; /* sender: as they came; the peer can write to the others */
	uint32_t taken; /* sender: bits of the entries of call `next` that have their data */
	struct request requests[WEFT_NCCL_REQUESTS_MAX * WEFT_NCCL_RECVS_MAX];
};

struct comm_end { /* what the ends tell each other */
	uint8_t gid[16];
	uint32_t qpn, psn, rkey;
	uint64_t calls;
};

int comm_open(struct nic *nic, bool is_sender, struct comm **comm, struct comm_end *own);
int comm_join(struct comm *comm, const struct comm_end *own, const struct comm_end *peer);
int comm_close(void *comm); /* NULL is fine */
int comm_isend(void *comm, void *data, size_t bytes, int tag, void *mr, void **request);
int comm_irecv(void *comm, int n, void **data, const size_t *bytes, const int *tags, void **mrs,
	void **request);
int comm_test(void *request, int *done, int *bytes);

/* ---- meet.c ---- */

int meet_listen(int dev, void *handle, void **listener);
int meet_connect(int dev, void *handle, void **sender);
int meet_accept(void *listener, void **receiver);
int meet_close(void *listener);

#endif
