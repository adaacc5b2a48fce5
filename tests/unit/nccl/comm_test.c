/* SPDX-License-Identifier: BSD-2-Clause */
#include "ends.h"

static uint8_t from[1 << 20], to[1 << 20];

TEST(comm_test__tells_real_sizes)
{
	static const size_t sizes[] = { 0, 1, 4095, 4096, 70000, sizeof(from) };
	struct ends e;

	ends_fill(from, to, sizeof(from));
	ends_open(&e);
	void *out = ends_mr(e.sender, from, sizeof(from)),
	     *in = ends_mr(e.receiver, to, sizeof(to));

	for (size_t i = 0; i < WEFT_COUNT(sizes); i++) {
		void *data = to, *request = NULL;
		size_t room = sizeof(to);
		int tag = (int)i, bytes = -5;

		memset(to, 0, sizeof(to));
		CHECK_EQ(recv_begin(e.receiver, 1, &data, &room, &tag, &in, &request), 0);
		REQUIRE(request);
		void *sent = ends_send(&e, from, sizes[i], tag, out);

		CHECK_EQ(ends_wait(&e, sent, NULL), 0);
		CHECK_EQ(ends_wait(&e, request, &bytes), 0);
		CHECK_EQ(bytes, sizes[i]);
		CHECK(!memcmp(from, to, sizes[i]));
		CHECK(sizes[i] == sizeof(to) || !to[sizes[i]]);
	}
	ncclNetPlugin_v12.dereg_mr(e.sender, out);
	ncclNetPlugin_v12.dereg_mr(e.receiver, in);
	ends_close(&e);
}

TEST(comm_test__fails_where_the_peer_has_no_such_memory)
{
	struct ends e;
	void *data = to, *request = NULL;
	size_t room = 500;
	int tag = 1, result = 0, done = 0;

	ends_open(&e);
	void *out = ends_mr(e.sender, from, sizeof(from)), *in = ends_mr(e.receiver, to, 100);

	CHECK_EQ(recv_begin(e.receiver, 1, &data, &room, &tag, &in, &request), 0);
	void *sent = ends_send(&e, from, 400, tag, out);

	for (unsigned i = 0; i < TRIES_MAX && !result && !done; i++) {
		result = comm_test(sent, &done, NULL);
		usleep(100);
	}
	CHECK_EQ(done, 0);
	CHECK_EQ(result, WEFT_NCCL_REMOTE_ERROR);
	CHECK_EQ(send_begin(e.sender, from, 1, tag, out, &request), WEFT_NCCL_REMOTE_ERROR);
	ncclNetPlugin_v12.dereg_mr(e.sender, out);
	ncclNetPlugin_v12.dereg_mr(e.receiver, in);
	ends_close(&e);
}
