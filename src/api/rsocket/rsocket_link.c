/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rsocket_link - a connection: memory, queue pair, what is posted and what completes.
 *
 * One region holds everything: send ring, receive ring, the table of mappings that the peer writes
 * and the one that is written to it.  Data goes by RDMA writes with immediate, to where the
 * stream has got to in the peer's ring; all else is an immediate without data.  So no receive has a
 * buffer, none can be too small, and nothing but MRC's own operations is used.  Sends into receive
 * buffers were not taken: they would need the extended profile, and a buffer per small message.
 */
#include "rsocket_local.h"

#include <endian.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAGIC 0x57525331u /* WRS1 */
#define BATCH 16
#define ROWS_BYTES (WEFT_RSOCK_MAPS * sizeof(struct map_row))

struct map_row *link_rows(struct rsock *rs, bool own)
{
	return (struct map_row *)(void *)(rs->memory + rs->out_bytes + rs->in_bytes +
					  (own ? ROWS_BYTES : 0));
}

void link_hello(const struct rsock *rs, struct hello *hello)
{
	const uint8_t *ring = rs->memory + rs->out_bytes;

	*hello = (struct hello){ .magic = htobe32(MAGIC),
		.rkey = htobe32(rs->mr->rkey),
		.ring = htobe64((uintptr_t)ring),
		.maps = htobe64((uintptr_t)ring + rs->in_bytes),
		.ring_bytes = htobe32(rs->in_bytes) };
}

bool link_meet(struct rsock *rs, const struct hello *hello)
{
	uint32_t bytes = be32toh(hello->ring_bytes);

	if (be32toh(hello->magic) != MAGIC || bytes < WEFT_RSOCK_RING_MIN ||
		bytes > WEFT_RSOCK_RING_MAX)
		return false;
	rs->peer = (struct hello){ .rkey = be32toh(hello->rkey),
		.ring = be64toh(hello->ring),
		.maps = be64toh(hello->maps),
		.ring_bytes = bytes };
	flow_init(&rs->flow, rs->out_bytes, rs->in_bytes, bytes);
	return true;
}

static int watch(struct rsock *rs, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(rs->fd, EPOLL_CTL_ADD, fd, &event);
}

static int post_receives(struct rsock *rs, uint32_t n)
{
	struct ibv_recv_wr *bad, wr = { 0 };

	for (uint32_t i = 0; i < n; i++) {
		int error = ibv_post_recv(rs->id->qp, &wr, &bad);

		if (error)
			return fail(error);
	}
	return 0;
}

static int make_queues(struct rsock *rs)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = SENDS_MAX,
			.max_recv_wr = SENDS_MAX,
			.max_send_sge = 1,
			.max_recv_sge = 1 } };

	rs->completions = ibv_create_comp_channel(rs->id->verbs);
	if (!rs->completions || watch(rs, rs->completions->fd))
		return -1;
	int flags = fcntl(rs->completions->fd, F_GETFL);
	(void)fcntl(rs->completions->fd, F_SETFL, flags | O_NONBLOCK);
	rs->cq = ibv_create_cq(rs->id->verbs, 2 * SENDS_MAX, rs, rs->completions, 0);
	init.send_cq = init.recv_cq = rs->cq;
	if (!rs->cq || rdma_create_qp(rs->id, NULL, &init))
		return -1;
	return post_receives(rs, SENDS_MAX);
}

static int make_memory(struct rsock *rs)
{
	rs->memory_bytes = rs->out_bytes + rs->in_bytes + 2 * ROWS_BYTES;
	rs->memory = mmap(
		NULL, rs->memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (rs->memory == MAP_FAILED) {
		rs->memory = NULL;
		return -1;
	}
	rs->mr = ibv_reg_mr(rs->id->pd, rs->memory, rs->memory_bytes,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	return rs->mr ? 0 : -1;
}

int link_open(struct rsock *rs)
{
	if (!make_queues(rs) && !make_memory(rs))
		return 0;
	int error = errno ? errno : ENOMEM;
	link_close(rs);
	return fail(error);
}

void link_close(struct rsock *rs)
{
	if (rs->id && rs->id->qp)
		rdma_destroy_qp(rs->id);
	for (uint32_t i = 0; i < WEFT_RSOCK_MAPS; i++) {
		if (rs->maps[i].mr)
			(void)ibv_dereg_mr(rs->maps[i].mr);
		rs->maps[i] = (struct mapping){ 0 };
	}
	if (rs->mr)
		(void)ibv_dereg_mr(rs->mr);
	if (rs->cq)
		(void)ibv_destroy_cq(rs->cq);
	if (rs->completions)
		(void)ibv_destroy_comp_channel(rs->completions);
	if (rs->memory)
		(void)munmap(rs->memory, rs->memory_bytes);
	rs->mr = NULL;
	rs->cq = NULL;
	rs->completions = NULL;
	rs->memory = NULL;
}

void link_break(struct rsock *rs, int error)
{
	if (rs->state == BROKEN)
		return;
	rs->state = BROKEN;
	/* A peer that has said goodbye has not failed. */
	if (rs->peer_fin & FIN_READ)
		return;
	rs->broken_by = rs->error = error;
}

/* ---- what is sent ---- */

static bool post(struct rsock *rs, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	wr->send_flags = IBV_SEND_SIGNALED;
	int error = ibv_post_send(rs->id->qp, wr, &bad);
	if (error) {
		link_break(rs, error);
		return false;
	}
	rs->flow.posted++;
	return true;
}

static uint32_t imm_of(enum weft_rsocket_note type, uint32_t number)
{
	return htobe32((uint32_t)type << WEFT_RSOCK_NUMBER_BITS | (number & WEFT_RSOCK_NUMBER));
}

void link_note(struct rsock *rs, enum weft_rsocket_note type, uint32_t number)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.imm_data = imm_of(type, number),
		.wr.rdma = { rs->peer.ring, rs->peer.rkey } };

	(void)post(rs, &wr);
}

int link_send(struct rsock *rs, const void *data, uint32_t bytes)
{
	uint32_t out, at, n = flow_can_send(&rs->flow, bytes, &out, &at);
	struct ibv_sge sge = { (uintptr_t)rs->memory + out, n, n ? rs->mr->lkey : 0 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.wr_id = n,
		.imm_data = imm_of(WEFT_RSOCK_DATA, n),
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { rs->peer.ring + at, rs->peer.rkey } };

	if (!n)
		return 0;
	memcpy(rs->memory + out, data, n);
	if (!post(rs, &wr))
		return 0;
	flow_send(&rs->flow, n);
	return (int)n;
}

int link_write(struct rsock *rs, const void *data, uint32_t bytes, uint64_t address, uint32_t rkey)
{
	uint32_t out, n = flow_can_stage(&rs->flow, bytes, &out);
	struct ibv_sge sge = { (uintptr_t)rs->memory + out, n, n ? rs->mr->lkey : 0 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE,
		.wr_id = n,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { address, rkey } };

	if (!n)
		return 0;
	memcpy(rs->memory + out, data, n);
	if (!post(rs, &wr))
		return 0;
	rs->flow.staged += n;
	return (int)n;
}

bool link_tell_row(struct rsock *rs, uint32_t row)
{
	struct map_row *from = &link_rows(rs, true)[row];
	struct ibv_sge sge = { (uintptr_t)from, sizeof(*from), rs->mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.imm_data = imm_of(WEFT_RSOCK_MAP, row),
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { rs->peer.maps + row * sizeof(*from), rs->peer.rkey } };

	if (!flow_can_note(&rs->flow))
		return false;
	if (post(rs, &wr))
		rs->flow.notes++;
	return true;
}

void link_settle(struct rsock *rs)
{
	struct flow *flow = &rs->flow;

	if (rs->state != JOINED)
		return;
	if (flow->posted < SENDS_MAX && flow_owes_bytes(flow) && !(rs->peer_fin & FIN_WRITE)) {
		flow->told_bytes = flow->consumed;
		link_note(rs, WEFT_RSOCK_BYTES, (uint32_t)flow->told_bytes);
	}
	if (flow->posted < SENDS_MAX && flow_owes_notes(flow) && !(rs->peer_fin & FIN_READ)) {
		flow->told_notes = flow->taken;
		link_note(rs, WEFT_RSOCK_NOTES, (uint32_t)flow->told_notes);
	}
	if (flow->posted < SENDS_MAX && rs->owed_fin) {
		link_note(rs, WEFT_RSOCK_FIN, rs->own_fin);
		rs->owed_fin = 0;
	}
}

/* Who has accepted may read before he is joined, and owes the room that this made. */
void link_joined(struct rsock *rs)
{
	rs->state = JOINED;
	link_settle(rs);
}

/* ---- what comes ---- */

static void take_note(struct rsock *rs, uint32_t imm)
{
	enum weft_rsocket_note type = imm >> WEFT_RSOCK_NUMBER_BITS;
	uint32_t number = imm & WEFT_RSOCK_NUMBER;

	if (!flow_take(&rs->flow, type, number)) {
		link_break(rs, EPROTO);
		return;
	}
	if (type == WEFT_RSOCK_FIN)
		rs->peer_fin |= (uint8_t)number;
	if (post_receives(rs, 1))
		link_break(rs, errno);
}

static void take(struct rsock *rs, const struct ibv_wc *wc)
{
	if (wc->status != IBV_WC_SUCCESS) {
		link_break(rs, wc->status == IBV_WC_RETRY_EXC_ERR ? ETIMEDOUT : ECONNRESET);
		return;
	}
	if (wc->opcode & IBV_WC_RECV) {
		take_note(rs, be32toh(wc->imm_data));
		return;
	}
	rs->flow.posted--;
	rs->flow.completed += wc->wr_id;
}

void link_drain(struct rsock *rs)
{
	struct ibv_wc wc[BATCH];
	int n = BATCH;

	while (rs->cq && n == BATCH) {
		n = ibv_poll_cq(rs->cq, BATCH, wc);
		for (int i = 0; i < n; i++)
			take(rs, &wc[i]);
		if (n)
			rs->idle = 0;
	}
	link_settle(rs);
}

void link_take(struct rsock *rs, void *to, uint32_t bytes, uint32_t skip)
{
	uint32_t at = (uint32_t)((rs->flow.consumed + skip) % rs->in_bytes);

	memcpy(to, rs->memory + rs->out_bytes + at, bytes);
}
