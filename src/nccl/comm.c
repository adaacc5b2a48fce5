/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * comm - one direction of a connection: calls go one way, data comes the other.
 *
 * Sends match the oldest call that still wants data, by tag; that is NCCL's rule: tags tell
 * entries of one group apart, groups are taken in order. Spraying never shows: an immediate comes
 * up when all of its write and all writes before it are there.
 */
#include "local.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { IMM_ENTRY_BITS = 3, POLL_BATCH = 16 };
#define RECVS (2 * WEFT_NCCL_REQUESTS_MAX * WEFT_NCCL_RECVS_MAX) /* immediates that may come */
#define SENDS (2 * WEFT_NCCL_REQUESTS_MAX * WEFT_NCCL_RECVS_MAX)
#define NO_REQUEST UINT64_MAX
#define TIMEOUT 18 /* 1.024 us * 2^..: 0.27 s per try */
#define TRIES 7

static int fail(struct comm *comm, int error)
{
	if (!comm->error)
		comm->error = error;
	return comm->error;
}

static int post_immediate_receive(struct comm *comm)
{
	struct weft_dev_recv recv = { .id = 0 };

	return weft_dev_post_recv(comm->qp, &recv);
}

static int open_qp(struct comm *comm)
{
	struct weft_dev_qp_init init = { .profile = WEFT_DEV_STRICT,
		.cq_tx = comm->cq,
		.cq_rx = comm->cq,
		.sq_depth = SENDS,
		.rq_depth = RECVS,
		.sq_sges = 1,
		.rq_sges = 1 };
	struct weft_dev_qp_attr attr = { .state = WEFT_DEV_INIT, .access = WEFT_DEV_REMOTE_WRITE };

	return weft_dev_qp_open(comm->nic->pd, &init, &comm->qp) ||
	       weft_dev_qp_modify(comm->qp, &attr, WEFT_DEV_SET_STATE | WEFT_DEV_SET_ACCESS);
}

int comm_open(struct nic *nic, bool is_sender, struct comm **out, struct comm_end *own)
{
	struct comm *comm = calloc(1, sizeof(*comm));

	if (!comm)
		return WEFT_NCCL_SYSTEM_ERROR;
	comm->nic = nic_again(nic);
	comm->is_sender = is_sender;
	/* Whole pages: nothing else of the program lies in what the peer may write to. */
	comm->calls = aligned_alloc(4096, (sizeof(*comm->calls) + 4095) / 4096 * 4096);
	if (!comm->calls)
		goto fail;
	memset(comm->calls, 0, sizeof(*comm->calls));
	if (weft_dev_cq_open(nic->dev, SENDS + RECVS, NULL, NULL, &comm->cq) || open_qp(comm) ||
		weft_dev_mr_open(nic->pd, comm->calls, sizeof(*comm->calls),
			(uint64_t)(uintptr_t)comm->calls,
			WEFT_DEV_LOCAL_WRITE | (is_sender ? (uint32_t)WEFT_DEV_REMOTE_WRITE : 0),
			&comm->calls_mr))
		goto fail;
	for (unsigned i = 0; i < RECVS; i++) {
		if (post_immediate_receive(comm))
			goto fail;
	}
	memset(own, 0, sizeof(*own));
	weft_dev_gid(nic->dev, own->gid);
	own->qpn = weft_dev_qp_number(comm->qp);
	own->calls = (uint64_t)(uintptr_t)comm->calls;
	own->rkey = weft_dev_mr_key(comm->calls_mr);
	if (getrandom(&own->psn, sizeof(own->psn), 0) != sizeof(own->psn))
		goto fail;
	own->psn &= 0xffffff;
	*out = comm;
	return WEFT_NCCL_SUCCESS;
fail:
	WARN("NET/Weft: %s: no room for a connection", nic->name.name);
	(void)comm_close(comm);
	return WEFT_NCCL_SYSTEM_ERROR;
}

int comm_join(struct comm *comm, const struct comm_end *own, const struct comm_end *peer)
{
	struct weft_dev_qp_attr attr = { .state = WEFT_DEV_RTR,
		.peer_qpn = peer->qpn,
		.psn_rx = peer->psn,
		.timeout = TIMEOUT,
		.retry = TRIES,
		.psn_tx = own->psn };

	memcpy(attr.gid, peer->gid, 16);
	comm->peer_calls = peer->calls;
	comm->peer_rkey = peer->rkey;
	if (weft_dev_qp_modify(comm->qp, &attr,
		    WEFT_DEV_SET_STATE | WEFT_DEV_SET_PEER | WEFT_DEV_SET_PEER_QPN |
			    WEFT_DEV_SET_PSN_RX))
		return WEFT_NCCL_SYSTEM_ERROR;
	attr.state = WEFT_DEV_RTS;
	if (weft_dev_qp_modify(comm->qp, &attr,
		    WEFT_DEV_SET_STATE | WEFT_DEV_SET_PSN_TX | WEFT_DEV_SET_TIMEOUT |
			    WEFT_DEV_SET_RETRY))
		return WEFT_NCCL_SYSTEM_ERROR;
	return WEFT_NCCL_SUCCESS;
}

int comm_close(void *arg)
{
	struct comm *comm = arg;

	if (!comm)
		return WEFT_NCCL_SUCCESS;
	if (comm->qp)
		(void)weft_dev_qp_close(comm->qp);
	if (comm->cq)
		(void)weft_dev_cq_close(comm->cq);
	if (comm->calls_mr)
		(void)weft_dev_mr_close(comm->calls_mr);
	free(comm->calls);
	nic_put(comm->nic);
	free(comm);
	return WEFT_NCCL_SUCCESS;
}

/* ---- completions ---- */

/* A call has come: they come in order, as immediates do. */
static void take_call(struct comm *comm, uint32_t imm)
{
	struct call *call = &comm->known[imm % CALLS];

	*call = comm->calls->slot[imm % CALLS];
	if (imm != comm->came || call->number != imm || !call->n || call->n > WEFT_NCCL_RECVS_MAX ||
		imm - comm->next >= WEFT_NCCL_REQUESTS_MAX) {
		WARN("NET/Weft: the peer's call %u is none", imm);
		(void)fail(comm, WEFT_NCCL_REMOTE_ERROR);
		return;
	}
	comm->came++;
}

static void take_data(struct comm *comm, uint32_t imm, uint32_t bytes)
{
	uint32_t number = imm >> IMM_ENTRY_BITS, entry = imm % WEFT_NCCL_RECVS_MAX;

	for (size_t i = 0; i < WEFT_NCCL_REQUESTS_MAX; i++) {
		struct request *r = &comm->requests[i];

		if (!r->used || (r->number ^ number) << IMM_ENTRY_BITS || entry >= r->n ||
			r->bytes[entry] >= 0)
			continue;
		r->bytes[entry] = (int)bytes;
		r->left--;
		return;
	}
	WARN("NET/Weft: data for call %u, entry %u, which waits for none", number, entry);
	(void)fail(comm, WEFT_NCCL_REMOTE_ERROR);
}

static void take(struct comm *comm, const struct weft_dev_wc *wc)
{
	if (wc->status) {
		if (!comm->error && wc->status != WEFT_DEV_WR_FLUSH_ERR)
			WARN("NET/Weft: %s: the connection failed (status %u)",
				comm->nic->name.name, wc->status);
		(void)fail(comm, WEFT_NCCL_REMOTE_ERROR);
		return;
	}
	if (wc->op != WEFT_DEV_DONE_RECV_IMM) {
		if (wc->id != NO_REQUEST)
			comm->requests[wc->id].left--;
		return;
	}
	if (comm->is_sender)
		take_call(comm, wc->imm);
	else
		take_data(comm, wc->imm, wc->len_bytes);
	if (post_immediate_receive(comm))
		(void)fail(comm, WEFT_NCCL_SYSTEM_ERROR);
}

static int progress(struct comm *comm)
{
	struct weft_dev_wc wc[POLL_BATCH];
	int n;

	do {
		n = weft_dev_cq_poll(comm->cq, wc, POLL_BATCH);
		for (int i = 0; i < n; i++)
			take(comm, &wc[i]);
		if (n < 0)
			return fail(comm, WEFT_NCCL_SYSTEM_ERROR);
	} while (n == POLL_BATCH);
	return comm->error;
}

/* ---- requests ---- */

static struct request *request_take(struct comm *comm, size_t of)
{
	for (size_t i = 0; i < of; i++) {
		struct request *r = &comm->requests[i];

		if (r->used)
			continue;
		memset(r, 0, sizeof(*r));
		r->comm = comm;
		r->used = true;
		return r;
	}
	return NULL;
}

/* The entry of the oldest call that wants data that this tag belongs to; -1: none. */
static int find_entry(const struct comm *comm, int tag)
{
	const struct call *call = &comm->known[comm->next % CALLS];

	for (uint32_t i = 0; comm->next != comm->came && i < call->n; i++) {
		if (call->entry[i].tag == tag && !(comm->taken & 1u << i))
			return (int)i;
	}
	return -1;
}

int comm_isend(void *arg, void *data, size_t bytes, int tag, void *mr, void **out)
{
	struct comm *comm = arg;
	int error = progress(comm), entry = find_entry(comm, tag);

	*out = NULL;
	if (error || entry < 0)
		return error;
	const struct call *call = &comm->known[comm->next % CALLS];
	struct request *r = request_take(comm, WEFT_COUNT(comm->requests));

	if (!r)
		return WEFT_NCCL_SUCCESS;
	/* More than the peer has room for is cut, as NCCL's own networks do. */
	bytes = WEFT_MIN(bytes, call->entry[entry].bytes);
	struct weft_dev_sge sge = { .addr = (uint64_t)(uintptr_t)data,
		.len_bytes = (uint32_t)bytes,
		.lkey = bytes ? weft_dev_mr_key(mr) : 0 };
	struct weft_dev_send send = { .id = (uint64_t)(r - comm->requests),
		.sges = &sge,
		.n_sges = bytes ? 1 : 0,
		.op = WEFT_DEV_WRITE_IMM,
		.flags = WEFT_DEV_SIGNALED,
		.imm = comm->next << IMM_ENTRY_BITS | (uint32_t)entry,
		.remote_va = call->entry[entry].at,
		.rkey = call->entry[entry].rkey };
	int result = bytes > comm->nic->attr.max_msg_bytes
			     ? EMSGSIZE
			     : weft_dev_post_send(comm->qp, &send, false);

	if (result) {
		r->used = false;
		return result == ENOMEM ? WEFT_NCCL_SUCCESS : fail(comm, WEFT_NCCL_INTERNAL_ERROR);
	}
	r->n = r->left = 1;
	r->bytes[0] = (int)bytes;
	comm->taken |= 1u << entry;
	if (comm->taken == (1u << call->n) - 1) {
		comm->taken = 0;
		comm->next++;
	}
	*out = r;
	return WEFT_NCCL_SUCCESS;
}

static int send_call(struct comm *comm, const struct call *call)
{
	struct weft_dev_sge sge = { .addr = (uint64_t)(uintptr_t)call,
		.len_bytes =
			(uint32_t)(offsetof(struct call, entry) + call->n * sizeof(call->entry[0])),
		.lkey = weft_dev_mr_key(comm->calls_mr) };
	struct weft_dev_send send = { .id = NO_REQUEST,
		.sges = &sge,
		.n_sges = 1,
		.op = WEFT_DEV_WRITE_IMM,
		.flags = WEFT_DEV_SIGNALED,
		.imm = call->number,
		.remote_va = comm->peer_calls + call->number % CALLS * sizeof(*call),
		.rkey = comm->peer_rkey };

	return weft_dev_post_send(comm->qp, &send, false);
}

int comm_irecv(
	void *arg, int n, void **data, const size_t *bytes, const int *tags, void **mrs, void **out)
{
	struct comm *comm = arg;
	struct call *call = &comm->calls->slot[comm->next % CALLS];
	int error = progress(comm);

	*out = NULL;
	if (n < 1 || n > WEFT_NCCL_RECVS_MAX)
		return WEFT_NCCL_INTERNAL_ERROR;
	struct request *r = error ? NULL : request_take(comm, WEFT_NCCL_REQUESTS_MAX);

	if (!r)
		return error;
	call->n = (uint32_t)n;
	call->number = comm->next;
	for (int i = 0; i < n; i++) {
		call->entry[i].at = (uint64_t)(uintptr_t)data[i];
		call->entry[i].bytes = bytes[i];
		call->entry[i].rkey = mrs && mrs[i] ? weft_dev_mr_key(mrs[i]) : 0;
		call->entry[i].tag = tags[i];
		r->bytes[i] = -1;
	}
	r->number = comm->next;
	r->n = r->left = (uint32_t)n;
	int result = send_call(comm, call);

	if (result) {
		r->used = false;
		return result == ENOMEM ? WEFT_NCCL_SUCCESS : fail(comm, WEFT_NCCL_INTERNAL_ERROR);
	}
	comm->next++;
	*out = r;
	return WEFT_NCCL_SUCCESS;
}

int comm_test(void *request, int *done, int *bytes)
{
	struct request *r = request;

	*done = 0;
	if (r->left) {
		int error = progress(r->comm);

		if (r->left)
			return error; /* what is done is done, whatever happened since */
	}
	for (uint32_t i = 0; bytes && i < r->n; i++)
		bytes[i] = r->bytes[i];
	r->used = false;
	*done = 1;
	return WEFT_NCCL_SUCCESS;
}
