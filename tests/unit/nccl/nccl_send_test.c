/* SPDX-License-Identifier: BSD-2-Clause */
#include "mix.h"

static uint8_t from[1 << 20], to[1 << 20];

TEST(send_begin__waits_for_a_receive)
{
	struct ends e;
	void *request = NULL;

	ends_open(&e);
	void *mr = ends_mr(e.sender, from, sizeof(from));

	for (unsigned i = 0; i < 20; i++) {
		CHECK_EQ(send_begin(e.sender, from, 100, 1, mr, &request), WEFT_NCCL_SUCCESS);
		CHECK(!request);
		usleep(1000);
	}
	CHECK_EQ(ncclNetPlugin_v12.dereg_mr(e.sender, mr), WEFT_NCCL_SUCCESS);
	ends_close(&e);
}

TEST(send_begin__cuts_what_there_is_no_room_for)
{
	struct ends e;
	void *data = to, *request = NULL;
	size_t room = 500;
	int tag = 1, bytes = 0;

	ends_fill(from, to, sizeof(from));
	ends_open(&e);
	void *out = ends_mr(e.sender, from, sizeof(from)),
	     *in = ends_mr(e.receiver, to, sizeof(to));

	CHECK_EQ(recv_begin(e.receiver, 1, &data, &room, &tag, &in, &request), 0);
	CHECK_EQ(ends_wait(&e, ends_send(&e, from, 900, tag, out), &bytes), 0);
	CHECK_EQ(bytes, 500);
	CHECK_EQ(ends_wait(&e, request, &bytes), 0);
	CHECK_EQ(bytes, 500);
	CHECK_EQ(to[500], 0);
	ncclNetPlugin_v12.dereg_mr(e.sender, out);
	ncclNetPlugin_v12.dereg_mr(e.receiver, in);
	ends_close(&e);
}

/* Messages of all sorts behind each other, as many as NCCL has, each into its own place. */
TEST(send_begin__keeps_the_order_of_messages_that_wait)
{
	enum { N = 12 };
	static const size_t sizes[N] = { 600000, 10, 0, 50000, 1, 70000, 4096, 600001, 5, 0, 99,
		8 };
	struct ends e;
	struct mix out[2], in[2];
	void *sent[N], *received[N];

	ends_fill(from, to, sizeof(from));
	ends_open(&e);
	for (unsigned i = 0; i < 2; i++) {
		out[i] = mix_open(e.sender, i, sizeof(from));
		in[i] = mix_open(e.receiver, i, N * sizeof(from));
		mix_put(&out[i], from, sizeof(from));
	}
	for (unsigned round = 0; round < 4; round++) {
		for (unsigned i = 0; i < N; i++) {
			const struct mix *m = &in[(i + round) / 2 % 2];
			void *data = mix_at(m, i * sizeof(from)), *mr = m->mr;
			size_t room = sizeof(from);
			int tag = 5;

			CHECK_EQ(recv_begin(e.receiver, 1, &data, &room, &tag, &mr, &received[i]),
				0);
			REQUIRE(received[i]);
		}
		for (unsigned i = 0; i < N; i++) {
			const struct mix *m = &out[i % 2];

			sent[i] = ends_send(&e, mix_at(m, i), sizes[i], 5, m->mr);
		}
		for (unsigned i = 0; i < N; i++) {
			int bytes = -1;

			CHECK_EQ(mixed_wait(sent[i], received[i], &bytes), 0);
			CHECK_EQ(bytes, sizes[i]);
			mix_get(&in[(i + round) / 2 % 2], i * sizeof(from), to, sizes[i]);
			CHECK(!memcmp(to, from + i, sizes[i]));
		}
		CHECK(!e.sender->outbox);
		CHECK_EQ(e.sender->peer_put, e.receiver->bounce.begun);
		CHECK_EQ(e.receiver->bounce.begun, e.receiver->bounce.freed);
		CHECK_EQ(e.sender->bounce.begun, e.sender->bounce.freed);
	}
	for (unsigned i = 0; i < 2; i++) {
		mix_close(&out[i]);
		mix_close(&in[i]);
	}
	ends_close(&e);
	gpus_are_clean();
}

TEST(send_begin__refuses_memory_that_is_not_in_the_region)
{
	for (unsigned mix = 0; mix < 2; mix++) {
		struct mixed x;
		void *request = NULL;
		int result = 0;

		mixed_open(&x, mix, 1000);
		(void)mixed_receive(&x, 0, 1000, 1);
		for (unsigned i = 0; i < TRIES_MAX && !result && !request; i++)
			result = send_begin(
				x.e.sender, mix_at(&x.from, 1), 1000, 1, x.from.mr, &request);
		CHECK_EQ(result, WEFT_NCCL_INTERNAL_ERROR);
		CHECK(!request);
		mixed_close(&x);
	}
}

static void make_call(struct comm *comm, const struct call *call)
{
	comm->calls->slot[comm->came % CALLS] = *call;
	comm->calls->slot[comm->came % CALLS].number = comm->came;
	send_take(comm, comm->came);
}

/* A peer may say what it likes: it hurts nobody but its own connection. */
TEST(send_take__believes_no_ring_that_moves_and_no_count_that_is_too_high)
{
	static const struct call good = { .n = 1,
		.by_pieces = 1,
		.pieces = 4,
		.ring = 4096,
		.ring_rkey = 7,
		.entry[0] = { .bytes = 100, .tag = 3 } };
	struct call bad[4] = { good, good, good, good };

	bad[0].pieces = 0;
	bad[1].pieces = 5;
	bad[2].ring++;
	bad[3].ring_rkey++;
	for (unsigned i = 0; i < WEFT_COUNT(bad) + 2; i++) {
		struct ends e;

		ends_open(&e);
		make_call(e.sender, &good);
		make_call(e.sender, &good);
		CHECK_EQ(e.sender->error, 0);
		send_take(e.sender, IMM_FREED | 0); /* nothing new */
		CHECK_EQ(e.sender->error, 0);
		e.sender->peer_put = 3;
		send_take(e.sender, IMM_FREED | 2);
		CHECK_EQ(e.sender->error, 0);
		CHECK_EQ(e.sender->peer_freed, 2);
		if (i < WEFT_COUNT(bad))
			make_call(e.sender, &bad[i]);
		else
			send_take(e.sender, IMM_FREED | (i % 2 ? 4 : 1));
		CHECK_EQ(e.sender->error, WEFT_NCCL_REMOTE_ERROR);
		ends_close(&e);
	}
	struct ends e;
	struct call odd = good;

	odd.pieces = 6;
	ends_open(&e);
	make_call(e.sender, &odd);
	CHECK_EQ(e.sender->error, WEFT_NCCL_REMOTE_ERROR);
	ends_close(&e);
}
