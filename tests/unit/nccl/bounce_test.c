/* SPDX-License-Identifier: BSD-2-Clause */
#include "mix.h"

#define BYTES ((size_t)9 << 20) /* more than a ring holds, at both ends */

static uint8_t from[BYTES], to[BYTES + 1];

static void fill(unsigned seed)
{
	for (size_t i = 0; i < BYTES; i++)
		from[i] = (uint8_t)(i * 31 + i / 4093 + seed);
}

TEST(bounce__carries_every_byte_between_any_memory)
{
	static const size_t sizes[] = { 0, 1, 4095, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1,
		2 * PIECE_BYTES, 3 * PIECE_BYTES + 7, BYTES };

	for (unsigned mix = 0; mix < 4; mix++) {
		struct mixed x;

		mixed_open(&x, mix, BYTES + 1);
		for (size_t i = 0; i < WEFT_COUNT(sizes); i++) {
			int bytes = -5;

			memset(to, 0, sizeof(to));
			mix_put(&x.to, to, sizeof(to));
			fill((unsigned)i);
			mix_put(&x.from, from, sizes[i]);
			void *received = mixed_receive(&x, 0, BYTES, 7);
			void *sent = ends_send(&x.e, mix_at(&x.from, 0), sizes[i], 7, x.from.mr);

			CHECK_EQ(mixed_wait(sent, received, &bytes), 0);
			CHECK_EQ(bytes, sizes[i]);
			mix_get(&x.to, 0, to, sizeof(to));
			CHECK(!memcmp(from, to, sizes[i]));
			for (size_t k = sizes[i]; k < sizeof(to); k++)
				REQUIRE(!to[k]);
		}
		CHECK(standin.pinned_bytes <= 2 * PIECES * PIECE_BYTES); /* bounded */
		mixed_close(&x);
	}
}

#define SEND_AND_RECEIVE(net, size, ...)                                                           \
	do {                                                                                       \
		void *mrs = x.to.mr, *at = mix_at(&x.to, 0), *in = NULL, *out = NULL;              \
		size room = 1000;                                                                  \
		int tag = 4, got = 0;                                                              \
                                                                                                   \
		CHECK_EQ(net.irecv(x.e.receiver, 1, &at, &room, &tag, &mrs __VA_ARGS__, &in), 0);  \
		for (unsigned k = 0; k < TRIES_MAX && !out; k++) {                                 \
			CHECK_EQ(net.isend(x.e.sender, mix_at(&x.from, 0), 700, tag,               \
					 x.from.mr __VA_ARGS__, &out),                             \
				0);                                                                \
			usleep(20);                                                                \
		}                                                                                  \
		REQUIRE(in &&out);                                                                 \
		CHECK_EQ(mixed_wait(out, in, &got), 0);                                            \
		CHECK_EQ(got, 700);                                                                \
		CHECK_EQ(net.iflush(x.e.receiver, 1, &at, &got, &mrs, &in), 0);                    \
		CHECK(!in);                                                                        \
		mix_get(&x.to, 0, to, 1000);                                                       \
		CHECK(!memcmp(to, from, 700) && !to[700]);                                         \
	} while (0)

TEST(bounce__is_behind_every_version)
{
	struct mixed x;

	mixed_open(&x, 3, 1000);
	for (unsigned i = 0; i < 5; i++) {
		fill(i);
		memset(to, 0, sizeof(to));
		mix_put(&x.from, from, 1000);
		mix_put(&x.to, to, 1000);
		if (i == 0)
			SEND_AND_RECEIVE(ncclNetPlugin_v8, int);
		else if (i == 1)
			SEND_AND_RECEIVE(ncclNetPlugin_v9, size_t);
		else if (i == 2)
			SEND_AND_RECEIVE(ncclNetPlugin_v10, size_t, , NULL);
		else if (i == 3)
			SEND_AND_RECEIVE(ncclNetPlugin_v11, size_t, , NULL);
		else
			SEND_AND_RECEIVE(ncclNetPlugin_v12, size_t, , NULL);
	}
	mixed_close(&x);
}

/* Of a connection whose program has memory of two GPUs, and one context that is its own. */
TEST(bounce_lane__is_one_per_context)
{
	struct mixed x;
	struct weft_gpu_lane *a, *b, *c;
	void *mr, *context;
	struct memory *more;

	mixed_open(&x, 1, 1000);
	uint64_t at = gpus_memory(1, 1000), own;

	CHECK_EQ(cuCtxCreate_v2(&context, 0, 0), 0);
	CHECK_EQ(cuMemAlloc_v2(&own, 1000), 0);
	CHECK_EQ(cuCtxPopCurrent_v2(&context), 0);
	CHECK_EQ(ncclNetPlugin_v12.reg_mr(x.e.sender, (void *)(uintptr_t)at, 1000, 2, &mr), 0);
	CHECK_EQ(bounce_lane(x.e.sender, x.from.mr, &a), 0);
	CHECK_EQ(bounce_lane(x.e.sender, mr, &b), 0);
	CHECK_EQ(bounce_lane(x.e.sender, x.from.mr, &c), 0);
	CHECK(a == c && a != b);
	CHECK_EQ(memory_open(x.e.sender, (void *)(uintptr_t)own, 1000, 2, &more), 0);
	CHECK_EQ(standin.streams, 3);
	CHECK_EQ(standin.pinned_bytes, PIECES * PIECE_BYTES);
	CHECK_EQ(memory_close(x.e.sender, more), 0);
	CHECK_EQ(memory_close(x.e.sender, mr), 0);
	CHECK_EQ(cuCtxPushCurrent_v2(context), 0);
	CHECK_EQ(cuMemFree_v2(own), 0);
	CHECK_EQ(cuCtxPopCurrent_v2(&context), 0);
	gpus_free(1, at);
	mixed_close(&x);
}

TEST(bounce_lane__leaves_nothing_where_it_fails)
{
	static const struct {
		const char *call;
		int nth;
	} cases[] = { { "cuPointerGetAttribute", 1 }, { "cuPointerGetAttribute", 3 },
		{ "cuCtxPushCurrent_v2", 1 }, { "cuMemHostRegister_v2", 1 },
		{ "cuStreamCreate", 1 }, { "cuEventCreate", 1 }, { "cuEventCreate", 8 } };
	struct ends e;
	uint64_t at = gpus_memory(0, 1000);

	for (size_t i = 0; i < WEFT_COUNT(cases); i++) {
		void *mr = &e;

		ends_open(&e);
		gpus_fail(cases[i].call, cases[i].nth);
		CHECK_EQ(ncclNetPlugin_v12.reg_mr(e.receiver, (void *)(uintptr_t)at, 1000, 2, &mr),
			WEFT_NCCL_CUDA_ERROR);
		CHECK(!mr);
		CHECK(strstr(ends_said, "stand-in error"));
		/* And once more, when it works. */
		CHECK_EQ(ncclNetPlugin_v12.reg_mr(e.receiver, (void *)(uintptr_t)at, 1000, 2, &mr),
			0);
		CHECK_EQ(ncclNetPlugin_v12.dereg_mr(e.receiver, mr), 0);
		ends_close(&e);
		CHECK_EQ(standin.pinned, 0);
		CHECK_EQ(standin.streams, 0);
		CHECK_EQ(standin.pushes, standin.pops);
	}
	gpus_free(0, at);
	gpus_are_clean();
}

/* One of them by itself, and the other one because it was told. */
static void both_know(struct mixed *x)
{
	int a = 0, b = 0;

	for (unsigned i = 0; i < TRIES_MAX && (!a || !b); i++) {
		a = comm_progress(x->e.sender);
		b = comm_progress(x->e.receiver);
		usleep(20);
	}
	CHECK((a == WEFT_NCCL_CUDA_ERROR) + (b == WEFT_NCCL_CUDA_ERROR) == 1);
	CHECK((a == WEFT_NCCL_REMOTE_ERROR) + (b == WEFT_NCCL_REMOTE_ERROR) == 1);
}

/* Whatever the driver says, and whenever: an error at one end or the other, and all is freed. */
TEST(bounce_copied__failing_is_an_error_of_the_connection)
{
	static const char *const calls[] = { "cuMemcpyDtoHAsync_v2", "cuMemcpyHtoDAsync_v2",
		"cuEventQuery", "cuCtxPushCurrent_v2" };

	for (size_t i = 0; i < WEFT_COUNT(calls); i++) {
		for (int nth = 1; nth < 40; nth += 7) {
			struct mixed x;
			int result;

			mixed_open(&x, 3, BYTES + 1);
			void *received = mixed_receive(&x, 0, BYTES, 7), *sent = NULL;

			gpus_fail(calls[i], nth);
			result = 0;
			while (!sent && !result) {
				result = send_begin(
					x.e.sender, mix_at(&x.from, 0), BYTES, 7, x.from.mr, &sent);
				usleep(100);
			}
			if (!result)
				result = mixed_wait(sent, received, NULL);
			CHECK(result == WEFT_NCCL_CUDA_ERROR || result == WEFT_NCCL_REMOTE_ERROR ||
				(!result && standin.nth > 0));
			gpus_fail("", 0);
			if (result)
				both_know(&x);
			mixed_close(&x);
		}
	}
}

/* A GPU that does not answer any more keeps what is its own, and nobody waits for it for long. */
TEST(bounce_close__leaves_the_ring_to_who_hangs)
{
	struct mixed x;

	mixed_open(&x, 2, BYTES);
	(void)mixed_receive(&x, 0, BYTES, 7);
	void *sent = ends_send(&x.e, mix_at(&x.from, 0), BYTES, 7, x.from.mr);

	standin.hangs = true;
	for (unsigned i = 0; i < 1000; i++) {
		int done = 0;

		CHECK_EQ(comm_test(sent, &done, NULL), 0);
		CHECK_EQ(comm_progress(x.e.receiver), 0);
		CHECK(!done);
		usleep(100);
	}
	/* Exactly what there is room for has come. */
	CHECK_EQ(x.e.receiver->bounce.begun, PIECES);
	CHECK_EQ(x.e.sender->peer_put, PIECES);
	CHECK_EQ(comm_close(x.e.receiver), 0);
	CHECK(strstr(ends_said, "does not answer"));
	CHECK_EQ(standin.pinned, 1);
	CHECK_EQ(standin.pushes, standin.pops);
	standin.hangs = false;
	usleep(50000);
	x.e.receiver = x.to.comm = NULL;
	CHECK_EQ(standin.torn, 0);
	standin.pinned = standin.streams = standin.events = 0;
	standin.pinned_bytes = 0;
	mixed_close(&x);
}
