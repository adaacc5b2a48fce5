/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * comm - one direction of a connection: calls go one way, data comes the other.
 *
 * Spraying never shows: an immediate comes up when all of its write and all writes before it are
 * there.  Nothing has a thread: whoever asks for a request makes all of the connection go on.
 */
#include "nccl_local.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { POLL_BATCH = 16 };
#define RECVS (2 * WEFT_NCCL_REQUESTS_MAX * WEFT_NCCL_RECVS_MAX) /* immediates that may come */
#define SENDS (2 * WEFT_NCCL_REQUESTS_MAX * WEFT_NCCL_RECVS_MAX)
#define TIMEOUT 18 /* 1.024 us * 2^..: 0.27 s per try */
#define TRIES 7

/* The other end may have nothing under way that would fail, and wait for us for good. */
static void give_up(struct comm *comm)
{
	struct weft_dev_send send = { .id = NO_REQUEST,
		.op = WEFT_DEV_WRITE_IMM,
		.flags = WEFT_DEV_SIGNALED,
		.imm = IMM_FAILED,
		.remote_va = comm->peer_calls,
		.rkey = comm->peer_rkey };

	(void)weft_dev_post_send(comm->qp, &send, false);
}

int comm_fail(struct comm *comm, int error)
{
	if (comm->error)
		return comm->error;
	comm->error = error;
	if (error != WEFT_NCCL_REMOTE_ERROR)
		give_up(comm);
	return error;
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
	weft_lock_open(&comm->bounce.lock);
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
	bounce_close(comm);
	if (comm->cq)
		(void)weft_dev_cq_close(comm->cq);
	if (comm->calls_mr)
		(void)weft_dev_mr_close(comm->calls_mr);
	free(comm->calls);
	nic_put(comm->nic);
	weft_lock_close(&comm->bounce.lock);
	free(comm);
	return WEFT_NCCL_SUCCESS;
}

/* ---- completions ---- */

static void take(struct comm *comm, const struct weft_dev_wc *wc)
{
	if (wc->status) {
		if (!comm->error && wc->status != WEFT_DEV_WR_FLUSH_ERR)
			WARN("NET/Weft: %s: the connection failed (status %u)",
				comm->nic->name.name, wc->status);
		(void)comm_fail(comm, WEFT_NCCL_REMOTE_ERROR);
		return;
	}
	if (wc->op != WEFT_DEV_DONE_RECV_IMM) {
		if (wc->id != NO_REQUEST)
			send_took(&comm->requests[wc->id]);
		return;
	}
	if (wc->imm == IMM_FAILED) {
		if (!comm->error)
			WARN("NET/Weft: the other end has failed");
		(void)comm_fail(comm, WEFT_NCCL_REMOTE_ERROR);
	} else if (comm->is_sender) {
		send_take(comm, wc->imm);
	} else {
		recv_take(comm, wc->imm, wc->len_bytes);
	}
	if (post_immediate_receive(comm))
		(void)comm_fail(comm, WEFT_NCCL_SYSTEM_ERROR);
}

int comm_progress(struct comm *comm)
{
	struct weft_dev_wc wc[POLL_BATCH];
	int n;

	do {
		n = weft_dev_cq_poll(comm->cq, wc, POLL_BATCH);
		for (int i = 0; i < n; i++)
			take(comm, &wc[i]);
		if (n < 0)
			return comm_fail(comm, WEFT_NCCL_SYSTEM_ERROR);
	} while (n == POLL_BATCH);
	if (comm->is_sender)
		send_progress(comm);
	else
		recv_progress(comm);
	return comm->error;
}

/* ---- requests ---- */

struct request *comm_request(struct comm *comm, size_t of)
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

int comm_test(void *request, int *done, int *bytes)
{
	struct request *r = request;

	*done = 0;
	if (r->left) {
		int error = comm_progress(r->comm);

		if (r->left)
			return error; /* what is done is done, whatever happened since */
	}
	for (uint32_t i = 0; bytes && i < r->n; i++)
		bytes[i] = r->bytes[i];
	r->used = false;
	*done = 1;
	return WEFT_NCCL_SUCCESS;
}
