/* SPDX-License-Identifier: BSD-2-Clause */
#include "mix.h"

static uint8_t from[1 << 20], to[1 << 20];

TEST(recv_begin__tells_entries_of_a_group_apart_by_tag)
{
	static int tags[8] = { 7, 3, 3, 9, 100, 1, 0, 2 };
	void *data[8], *mrs[8], *request = NULL, *sent[8];
	size_t room[8];
	int bytes[8];
	struct ends e;

	ends_fill(from, to, sizeof(from));
	ends_open(&e);
	void *out = ends_mr(e.sender, from, sizeof(from)),
	     *in = ends_mr(e.receiver, to, sizeof(to));

	for (unsigned i = 0; i < 8; i++) {
		data[i] = to + i * 10000;
		mrs[i] = in;
		room[i] = 5000;
	}
	CHECK_EQ(recv_begin(e.receiver, 8, data, room, tags, mrs, &request), 0);
	REQUIRE(request);
	/* In another order; of equal tags, in theirs. */
	static const unsigned order[8] = { 6, 1, 0, 7, 2, 3, 5, 4 };

	for (unsigned i = 0; i < 8; i++)
		sent[i] =
			ends_send(&e, from + order[i] * 5000, 100 + order[i], tags[order[i]], out);
	for (unsigned i = 0; i < 8; i++)
		CHECK_EQ(ends_wait(&e, sent[i], NULL), 0);
	CHECK_EQ(ends_wait(&e, request, bytes), 0);
	for (unsigned i = 0; i < 8; i++) {
		CHECK_EQ(bytes[i], 100 + i);
		CHECK(!memcmp(data[i], from + i * 5000, 100 + i));
	}
	ncclNetPlugin_v12.dereg_mr(e.sender, out);
	ncclNetPlugin_v12.dereg_mr(e.receiver, in);
	ends_close(&e);
}

TEST(recv_begin__has_as_many_in_flight_as_nccl_asks_for)
{
	void *requests[WEFT_NCCL_REQUESTS_MAX], *sent[WEFT_NCCL_REQUESTS_MAX], *more = NULL;
	struct ends e;
	size_t room = 1000;
	int tag = 4;

	ends_fill(from, to, sizeof(from));
	ends_open(&e);
	void *out = ends_mr(e.sender, from, sizeof(from)),
	     *in = ends_mr(e.receiver, to, sizeof(to));

	for (unsigned round = 0; round < 5; round++) {
		for (unsigned i = 0; i < WEFT_NCCL_REQUESTS_MAX; i++) {
			void *data = to + i * 1000;

			CHECK_EQ(recv_begin(e.receiver, 1, &data, &room, &tag, &in, &requests[i]),
				0);
			REQUIRE(requests[i]);
		}
		void *data = to;

		CHECK_EQ(recv_begin(e.receiver, 1, &data, &room, &tag, &in, &more), 0);
		CHECK(!more); /* later */
		for (unsigned i = 0; i < WEFT_NCCL_REQUESTS_MAX; i++)
			sent[i] = ends_send(&e, from + round + i * 1000, 1000, tag, out);
		for (unsigned i = 0; i < WEFT_NCCL_REQUESTS_MAX; i++) {
			CHECK_EQ(ends_wait(&e, sent[i], NULL), 0);
			CHECK_EQ(ends_wait(&e, requests[i], NULL), 0);
		}
		CHECK(!memcmp(to, from + round, 32000));
	}
	ncclNetPlugin_v12.dereg_mr(e.sender, out);
	ncclNetPlugin_v12.dereg_mr(e.receiver, in);
	ends_close(&e);
}

/* Every second entry is a GPU's, and those are of two contexts. */
TEST(recv_begin__takes_groups_of_all_memory)
{
	enum { N = 8, ROOM = 1100000 };
	struct ends e;
	struct mix in[2];
	void *data[N], *mrs[N], *request = NULL, *sent[N], *other_mr;
	size_t room[N];
	int tags[N], bytes[N];

	ends_fill(from, to, sizeof(from));
	ends_open(&e);
	for (unsigned i = 0; i < 2; i++)
		in[i] = mix_open(e.receiver, i, N * ROOM);
	uint64_t other = gpus_memory(1, ROOM);
	void *out = ends_mr(e.sender, from, sizeof(from));

	CHECK_EQ(ncclNetPlugin_v12.reg_mr(
			 e.receiver, (void *)(uintptr_t)other, ROOM, WEFT_NCCL_PTR_CUDA, &other_mr),
		0);
	for (unsigned i = 0; i < N; i++) {
		data[i] = mix_at(&in[i % 2], (size_t)i * ROOM);
		mrs[i] = in[i % 2].mr;
		room[i] = ROOM;
		tags[i] = (int)i;
	}
	data[5] = (void *)(uintptr_t)other;
	mrs[5] = other_mr;
	CHECK_EQ(recv_begin(e.receiver, N, data, room, tags, mrs, &request), 0);
	for (unsigned i = 0; i < N; i++)
		sent[i] = ends_send(&e, from + i, sizeof(from) - 1000 * i - 8, N - 1 - (int)i, out);
	CHECK_EQ(mixed_wait(sent[0], request, bytes), 0);
	for (unsigned i = 0; i < N; i++) {
		unsigned to_whom = N - 1 - i;

		CHECK_EQ(i ? ends_wait(&e, sent[i], NULL) : 0, 0);
		CHECK_EQ(bytes[to_whom], sizeof(from) - 1000 * i - 8);
		if (to_whom == 5)
			gpus_get(to, other, (size_t)bytes[5]);
		else
			mix_get(&in[to_whom % 2], (size_t)to_whom * ROOM, to,
				(size_t)bytes[to_whom]);
		CHECK(!memcmp(to, from + i, (size_t)bytes[to_whom]));
	}
	ncclNetPlugin_v12.dereg_mr(e.sender, out);
	ncclNetPlugin_v12.dereg_mr(e.receiver, other_mr);
	gpus_free(1, other);
	mix_close(&in[0]);
	mix_close(&in[1]);
	ends_close(&e);
	gpus_are_clean();
}

/* A request is done when its last byte is where it belongs, not when it has come. */
TEST(recv_progress__waits_for_the_copy)
{
	struct mixed x;
	int done = 0, bytes = 0;

	ends_fill(from, to, sizeof(from));
	mixed_open(&x, 2, sizeof(from));
	mix_put(&x.from, from, sizeof(from));
	void *received = mixed_receive(&x, 0, sizeof(from), 1);

	standin.hangs = true;
	void *sent = ends_send(&x.e, mix_at(&x.from, 0), 1000, 1, x.from.mr);

	CHECK_EQ(ends_wait(&x.e, sent, NULL), 0); /* the sender is through */
	for (unsigned i = 0; i < 200; i++) {
		CHECK_EQ(comm_test(received, &done, &bytes), 0);
		CHECK(!done);
		usleep(100);
	}
	standin.hangs = false;
	CHECK_EQ(ends_wait(&x.e, received, &bytes), 0);
	CHECK_EQ(bytes, 1000);
	mix_get(&x.to, 0, to, 1000);
	CHECK(!memcmp(to, from, 1000));
	mixed_close(&x);
}

/* Pieces that nobody asked for: more than the ring has, than the entry has room for, or none. */
TEST(recv_take__takes_no_piece_that_must_not_come)
{
	static const struct {
		uint32_t imm, bytes;
		bool is_gpu;
	} cases[] = { { 0, PIECE_BYTES + 1, true }, { IMM_MORE, PIECE_BYTES + 1, true },
		{ 1, 100, true }, { 1 << IMM_CALL_SHIFT, 100, true }, { IMM_MORE, 100, false },
		{ 2 << IMM_PIECES_SHIFT, 1, false }, { UINT32_MAX & ~IMM_MORE, 0, false } };

	for (size_t i = 0; i < WEFT_COUNT(cases); i++) {
		struct mixed x;

		mixed_open(&x, cases[i].is_gpu ? 2 : 0, sizeof(from));
		(void)mixed_receive(&x, 0, sizeof(from), 1);
		recv_take(x.e.receiver, cases[i].imm, cases[i].bytes);
		CHECK_EQ(x.e.receiver->error, WEFT_NCCL_REMOTE_ERROR);
		mixed_close(&x);
	}
	struct mixed x;

	standin.hangs = true;
	mixed_open(&x, 2, 16 * PIECE_BYTES);
	(void)mixed_receive(&x, 0, 16 * PIECE_BYTES, 1);
	for (unsigned i = 0; i < PIECES; i++)
		recv_take(x.e.receiver, IMM_MORE, PIECE_BYTES);
	CHECK_EQ(x.e.receiver->error, 0);
	recv_take(x.e.receiver, IMM_MORE, PIECE_BYTES);
	CHECK_EQ(x.e.receiver->error, WEFT_NCCL_REMOTE_ERROR);
	standin.hangs = false;
	mixed_close(&x);
	mixed_open(&x, 2, 1000);
	(void)mixed_receive(&x, 0, 1000, 1);
	recv_take(x.e.receiver, IMM_MORE, 600);
	CHECK_EQ(x.e.receiver->error, 0);
	recv_take(x.e.receiver, 0, 401);
	CHECK_EQ(x.e.receiver->error, WEFT_NCCL_REMOTE_ERROR);
	mixed_close(&x);
}
