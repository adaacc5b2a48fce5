/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nccl_send - isend: data to where the receiver's calls say.
 *
 * Sends match the oldest call that still wants data, by tag; that is NCCL's rule: tags tell
 * entries of one group apart, groups are taken in order.  Mostly all of a message is one write.
 * Memory of a GPU, here or there, makes it pieces, which wait for their copy and for room in the
 * receiver's ring.  What waits is an outbox, first in, first out: the copies of the next messages
 * have begun meanwhile, and no message can starve another.
 */
#include "nccl_local.h"

#include <errno.h>

/* ---- what the receiver says ---- */

static void refuse(struct comm *comm, const char *what, uint32_t imm)
{
	WARN("NET/Weft: the peer's %s %u is none", what, imm);
	(void)comm_fail(comm, WEFT_NCCL_REMOTE_ERROR);
}

/* The ring is told in each call that has to do with it, and stays what it is.  Both ends count its
 * places for ever, in 32 bits: their number is a power of two. */
static bool knows_ring(struct comm *comm, const struct call *call)
{
	if (!call->by_pieces)
		return true;
	if (!comm->peer_pieces) {
		comm->peer_ring = call->ring;
		comm->peer_ring_rkey = call->ring_rkey;
		comm->peer_pieces = call->pieces;
	}
	return call->pieces && !(call->pieces & (call->pieces - 1)) &&
	       call->pieces == comm->peer_pieces && call->ring == comm->peer_ring &&
	       call->ring_rkey == comm->peer_ring_rkey;
}

/* Calls come in order, as immediates do. */
static void take_call(struct comm *comm, uint32_t imm)
{
	struct call *call = &comm->known[imm % CALLS];

	*call = comm->calls->slot[imm % CALLS];
	if (imm != (comm->came & ~IMM_FREED) || call->number != comm->came || !call->n ||
		call->n > WEFT_NCCL_RECVS_MAX ||
		comm->came - comm->next >= WEFT_NCCL_REQUESTS_MAX || !knows_ring(comm, call)) {
		refuse(comm, "call", imm);
		return;
	}
	comm->came++;
}

static void take_freed(struct comm *comm, uint32_t imm)
{
	uint32_t more = (imm - comm->peer_freed) & FREED_MASK;

	if (more > comm->peer_put - comm->peer_freed)
		refuse(comm, "count of pieces", imm);
	else
		comm->peer_freed += more;
}

void send_take(struct comm *comm, uint32_t imm)
{
	if (imm & IMM_FREED)
		take_freed(comm, imm);
	else
		take_call(comm, imm);
}

void send_took(struct request *r)
{
	r->left--;
	if (r->out.lane && r->out.bytes)
		r->comm->bounce.freed++; /* writes are done in order */
}

/* ---- the outbox ---- */

static uint64_t next_bytes(const struct outgoing *out, uint64_t done)
{
	uint64_t left = out->bytes - done;

	return out->lane || out->by_pieces ? WEFT_MIN(left, (uint64_t)PIECE_BYTES) : left;
}

static void begin_copies(struct comm *comm)
{
	struct bounce *b = &comm->bounce;

	for (struct request *r = comm->outbox; r; r = r->out.next) {
		struct outgoing *out = &r->out;

		while (out->lane && out->begun < out->bytes) {
			uint64_t bytes = next_bytes(out, out->begun);

			if (b->begun - b->freed == PIECES)
				return;
			int error = bounce_begin(comm, r, out->lane, WEFT_GPU_TO_HOST,
				out->from + out->begun, bytes);

			if (error) {
				(void)comm_fail(comm, error);
				return;
			}
			out->begun += bytes;
		}
	}
}

static bool is_ready(struct comm *comm, const struct request *r, uint64_t bytes)
{
	const struct outgoing *out = &r->out;
	bool done = true;

	if (out->by_pieces && bytes && comm->peer_put - comm->peer_freed >= comm->peer_pieces)
		return false;
	if (out->lane && bytes) {
		if (comm->bounce.posted == comm->bounce.begun)
			return false;
		WEFT_ASSERT(comm->bounce.piece[comm->bounce.posted % PIECES].request == r);
		int error = bounce_copied(comm, comm->bounce.posted, &done);

		if (error)
			(void)comm_fail(comm, error);
	}
	return done;
}

/* The next piece of the first one.  False: it has to wait. */
static bool post_piece(struct comm *comm, struct request *r)
{
	struct outgoing *out = &r->out;
	uint64_t bytes = next_bytes(out, out->posted);
	bool last = out->posted + bytes == out->bytes, to_ring = out->by_pieces && bytes;
	struct bounce *b = &comm->bounce;

	if (!is_ready(comm, r, bytes))
		return false;
	struct weft_dev_sge sge = {
		.addr = out->from + out->posted, .len_bytes = (uint32_t)bytes, .lkey = out->lkey
	};
	struct weft_dev_send send = { .id = (uint64_t)(r - comm->requests),
		.sges = &sge,
		.n_sges = bytes ? 1 : 0,
		.op = last || to_ring ? WEFT_DEV_WRITE_IMM : WEFT_DEV_WRITE,
		.flags = WEFT_DEV_SIGNALED,
		.imm = out->imm | (last ? 0 : IMM_MORE) |
		       (uint32_t)(out->posted / PIECE_BYTES) << IMM_PIECES_SHIFT,
		.remote_va = out->at + out->posted,
		.rkey = out->rkey };

	if (out->lane && bytes) {
		sge.addr = (uint64_t)(uintptr_t)b->at + bounce_at(b->posted);
		sge.lkey = weft_dev_mr_key(b->mr);
	}
	if (to_ring) {
		send.remote_va = comm->peer_ring +
				 (uint64_t)(comm->peer_put % comm->peer_pieces) * PIECE_BYTES;
		send.rkey = comm->peer_ring_rkey;
	}
	int error = weft_dev_post_send(comm->qp, &send, false);

	if (error) {
		if (error != ENOMEM)
			(void)comm_fail(comm, WEFT_NCCL_INTERNAL_ERROR);
		return false;
	}
	b->posted += out->lane && bytes;
	comm->peer_put += to_ring;
	out->posted += bytes;
	r->left += !last;
	if (last)
		comm->outbox = out->next;
	return true;
}

void send_progress(struct comm *comm)
{
	while (comm->outbox && !comm->error) {
		begin_copies(comm);
		if (comm->error || !post_piece(comm, comm->outbox))
			return;
	}
}

/* ---- isend ---- */

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

static void put_last(struct comm *comm, struct request *r)
{
	if (comm->outbox)
		comm->outbox_last->out.next = r;
	else
		comm->outbox = r;
	comm->outbox_last = r;
}

static void take_entry(struct comm *comm, uint32_t entry)
{
	comm->taken |= 1u << entry;
	if (comm->taken == (1u << comm->known[comm->next % CALLS].n) - 1) {
		comm->taken = 0;
		comm->next++;
	}
}

int send_begin(void *arg, void *data, size_t bytes, int tag, void *mr, void **request)
{
	struct comm *comm = arg;
	struct memory *memory = mr;
	int error = comm_progress(comm), entry = find_entry(comm, tag);
	struct weft_gpu_lane *lane = NULL;

	*request = NULL;
	if (error || entry < 0)
		return error;
	const struct call *call = &comm->known[comm->next % CALLS];

	/* More than the peer has room for is cut, as NCCL's own networks do. */
	bytes = WEFT_MIN(bytes, call->entry[entry].bytes);
	if (bytes > comm->nic->attr.max_msg_bytes ||
		(bytes && (!memory || !memory_holds(memory, data, bytes))))
		return comm_fail(comm, WEFT_NCCL_INTERNAL_ERROR);
	if (bytes && !memory->mr)
		error = bounce_lane(comm, memory, &lane);
	if (error)
		return comm_fail(comm, error);
	struct request *r = comm_request(comm, WEFT_COUNT(comm->requests));

	if (!r)
		return WEFT_NCCL_SUCCESS;
	r->n = r->left = 1;
	r->bytes[0] = (int)bytes;
	r->out = (struct outgoing){ .from = (uint64_t)(uintptr_t)data,
		.at = call->entry[entry].at,
		.bytes = bytes,
		.lane = lane,
		.lkey = bytes && memory->mr ? weft_dev_mr_key(memory->mr) : 0,
		.rkey = call->entry[entry].rkey,
		.imm = comm->next % CALLS << IMM_CALL_SHIFT | (uint32_t)entry,
		.by_pieces = call->by_pieces >> entry & 1 };
	take_entry(comm, (uint32_t)entry);
	put_last(comm, r);
	send_progress(comm);
	*request = r;
	return comm->error;
}
