/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recv - irecv: calls for data, and what becomes of it.
 *
 * Data for the host's memory lies where it belongs when its immediate comes.  Data for a GPU lies
 * in the ring then, piece by piece in the order of immediates, so that no piece need say which it
 * is; and a request is done when the last copy is: a kernel that is told then may read, and there
 * is nothing to flush.  Pieces are given back in order, and the sender is told of several at once.
 */
#include "nccl_local.h"

#include <errno.h>

/* ---- pieces ---- */

static int post_freed(struct comm *comm, uint32_t freed)
{
	struct weft_dev_send send = { .id = NO_REQUEST,
		.op = WEFT_DEV_WRITE_IMM,
		.flags = WEFT_DEV_SIGNALED,
		.imm = IMM_FREED | (freed & FREED_MASK),
		.remote_va = comm->peer_calls,
		.rkey = comm->peer_rkey };

	return weft_dev_post_send(comm->qp, &send, false);
}

static void tell_freed(struct comm *comm)
{
	struct bounce *b = &comm->bounce;
	uint32_t news = b->freed - comm->told;

	if (!news || (news < PIECES / 2 && b->freed != b->begun))
		return;
	int error = post_freed(comm, b->freed);

	if (!error)
		comm->told = b->freed;
	else if (error != ENOMEM)
		(void)comm_fail(comm, WEFT_NCCL_INTERNAL_ERROR);
}

void recv_progress(struct comm *comm)
{
	struct bounce *b = &comm->bounce;
	bool done = true;

	while (b->freed != b->begun && done && !comm->error) {
		int error = bounce_copied(comm, b->freed, &done);

		if (error)
			(void)comm_fail(comm, error);
		if (!done)
			break;
		b->piece[b->freed++ % PIECES].request->left--;
	}
	if (!comm->error)
		tell_freed(comm);
}

/* A piece has come for this entry.  WEFT_NCCL_REMOTE_ERROR: it must not have. */
static int take_piece(struct comm *comm, struct request *r, struct entry *e, uint32_t bytes)
{
	struct bounce *b = &comm->bounce;
	int error;

	if (bytes > PIECE_BYTES || bytes > e->room - e->got || b->begun - b->freed == PIECES)
		return WEFT_NCCL_REMOTE_ERROR;
	if (!bytes)
		return WEFT_NCCL_SUCCESS;
	error = bounce_begin(comm, r, e->lane, WEFT_GPU_FROM_HOST, e->at + e->got, bytes);
	if (!error) {
		r->left++;
		e->got += bytes;
	}
	return error;
}

static struct request *find_request(struct comm *comm, uint32_t imm)
{
	uint32_t entry = imm % WEFT_NCCL_RECVS_MAX, slot = imm >> IMM_CALL_SHIFT & (CALLS - 1);

	for (size_t i = 0; i < WEFT_NCCL_REQUESTS_MAX; i++) {
		struct request *r = &comm->requests[i];

		if (r->used && r->number % CALLS == slot && entry < r->n && r->bytes[entry] < 0)
			return r;
	}
	return NULL;
}

void recv_take(struct comm *comm, uint32_t imm, uint32_t bytes)
{
	struct request *r = find_request(comm, imm);
	uint32_t which = imm % WEFT_NCCL_RECVS_MAX;
	int error = WEFT_NCCL_REMOTE_ERROR;

	if (r && r->entry[which].lane) {
		error = take_piece(comm, r, &r->entry[which], bytes);
	} else if (r && !(imm & IMM_MORE)) {
		r->entry[which].got = (uint64_t)(imm >> IMM_PIECES_SHIFT) * PIECE_BYTES + bytes;
		error = r->entry[which].got > r->entry[which].room ? WEFT_NCCL_REMOTE_ERROR
								   : WEFT_NCCL_SUCCESS;
	}
	if (error == WEFT_NCCL_REMOTE_ERROR)
		WARN("NET/Weft: data for call %u, entry %u, which waits for none",
			imm >> IMM_CALL_SHIFT & (CALLS - 1), which);
	if (error)
		(void)comm_fail(comm, error);
	if (error || imm & IMM_MORE)
		return;
	r->bytes[which] = (int)r->entry[which].got;
	r->left--;
}

/* ---- irecv ---- */

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
		.imm = call->number & ~IMM_FREED,
		.remote_va = comm->peer_calls + call->number % CALLS * sizeof(*call),
		.rkey = comm->peer_rkey };

	return weft_dev_post_send(comm->qp, &send, false);
}

static int add_entry(
	struct comm *comm, struct call *call, uint32_t i, struct entry *e, const struct memory *m)
{
	call->entry[i].at = e->at;
	call->entry[i].bytes = e->room;
	call->entry[i].rkey = m && m->mr ? weft_dev_mr_key(m->mr) : 0;
	if (!m || m->mr || !e->room)
		return WEFT_NCCL_SUCCESS;
	if (!memory_holds(m, (const void *)(uintptr_t)e->at, e->room))
		return WEFT_NCCL_INTERNAL_ERROR;
	int error = bounce_lane(comm, m, &e->lane);

	if (error)
		return error;
	call->by_pieces |= 1u << i;
	call->pieces = PIECES;
	call->ring = (uint64_t)(uintptr_t)comm->bounce.at;
	call->ring_rkey = weft_dev_mr_key(comm->bounce.mr);
	return WEFT_NCCL_SUCCESS;
}

int recv_begin(
	void *arg, int n, void **data, const size_t *bytes, const int *tags, void **mrs, void **out)
{
	struct comm *comm = arg;
	struct call *call = &comm->calls->slot[comm->next % CALLS];
	int error = comm_progress(comm);

	*out = NULL;
	if (n < 1 || n > WEFT_NCCL_RECVS_MAX)
		return WEFT_NCCL_INTERNAL_ERROR;
	struct request *r = error ? NULL : comm_request(comm, WEFT_NCCL_REQUESTS_MAX);

	if (!r)
		return error;
	*call = (struct call){ .n = (uint32_t)n, .number = comm->next };
	for (int i = 0; i < n && !error; i++) {
		r->entry[i] =
			(struct entry){ .at = (uint64_t)(uintptr_t)data[i], .room = bytes[i] };
		error = add_entry(comm, call, (uint32_t)i, &r->entry[i], mrs ? mrs[i] : NULL);
		call->entry[i].tag = tags[i];
		r->bytes[i] = -1;
	}
	r->number = comm->next;
	r->n = r->left = (uint32_t)n;
	int result = error ? 0 : send_call(comm, call);

	if (error || result) {
		r->used = false;
		if (result == ENOMEM)
			return WEFT_NCCL_SUCCESS;
		return comm_fail(comm, error ? error : WEFT_NCCL_INTERNAL_ERROR);
	}
	comm->next++;
	*out = r;
	return WEFT_NCCL_SUCCESS;
}
