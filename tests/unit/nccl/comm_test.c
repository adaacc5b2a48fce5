/* SPDX-License-Identifier: BSD-2-Clause */
#include "ends.h"

static uint8_t from[1 << 20], to[1 << 20];

static void fill(void)
{
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 31 + i / 4093);
	memset(to, 0, sizeof(to));
}

TEST(comm_isend__waits_for_a_receive)
{
	struct ends e;
	void *request = NULL;

	ends_open(&e);
	void *mr = ends_mr(e.sender, from, sizeof(from));

	for (unsigned i = 0; i < 20; i++) {
		CHECK_EQ(comm_isend(e.sender, from, 100, 1, mr, &request), WEFT_NCCL_SUCCESS);
		CHECK(!request);
		usleep(1000);
	}
	CHECK_EQ(ncclNetPlugin_v12.dereg_mr(e.sender, mr), WEFT_NCCL_SUCCESS);
	ends_close(&e);
}

TEST(comm_test__tells_real_sizes)
{
	static const size_t sizes[] = { 0, 1, 4095, 4096, 70000, sizeof(from) };
	struct ends e;

	fill();
	ends_open(&e);
	void *out = ends_mr(e.sender, from, sizeof(from)),
	     *in = ends_mr(e.receiver, to, sizeof(to));

	for (size_t i = 0; i < WEFT_COUNT(sizes); i++) {
		void *data = to, *request = NULL;
		size_t room = sizeof(to);
		int tag = (int)i, bytes = -5;

		memset(to, 0, sizeof(to));
		CHECK_EQ(comm_irecv(e.receiver, 1, &data, &room, &tag, &in, &request), 0);
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

TEST(comm_irecv__tells_entries_of_a_group_apart_by_tag)
{
	static int tags[8] = { 7, 3, 3, 9, 100, 1, 0, 2 };
	void *data[8], *mrs[8], *request = NULL, *sent[8];
	size_t room[8];
	int bytes[8];
	struct ends e;

	fill();
	ends_open(&e);
	void *out = ends_mr(e.sender, from, sizeof(from)),
	     *in = ends_mr(e.receiver, to, sizeof(to));

	for (unsigned i = 0; i < 8; i++) {
		data[i] = to + i * 10000;
		mrs[i] = in;
		room[i] = 5000;
	}
	CHECK_EQ(comm_irecv(e.receiver, 8, data, room, tags, mrs, &request), 0);
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

TEST(comm_irecv__has_as_many_in_flight_as_nccl_asks_for)
{
	void *requests[WEFT_NCCL_REQUESTS_MAX], *sent[WEFT_NCCL_REQUESTS_MAX], *more = NULL;
	struct ends e;
	size_t room = 1000;
	int tag = 4;

	fill();
	ends_open(&e);
	void *out = ends_mr(e.sender, from, sizeof(from)),
	     *in = ends_mr(e.receiver, to, sizeof(to));

	for (unsigned round = 0; round < 5; round++) {
		for (unsigned i = 0; i < WEFT_NCCL_REQUESTS_MAX; i++) {
			void *data = to + i * 1000;

			CHECK_EQ(comm_irecv(e.receiver, 1, &data, &room, &tag, &in, &requests[i]),
				0);
			REQUIRE(requests[i]);
		}
		void *data = to;

		CHECK_EQ(comm_irecv(e.receiver, 1, &data, &room, &tag, &in, &more), 0);
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

TEST(comm_isend__cuts_what_there_is_no_room_for)
{
	struct ends e;
	void *data = to, *request = NULL;
	size_t room = 500;
	int tag = 1, bytes = 0;

	fill();
	ends_open(&e);
	void *out = ends_mr(e.sender, from, sizeof(from)),
	     *in = ends_mr(e.receiver, to, sizeof(to));

	CHECK_EQ(comm_irecv(e.receiver, 1, &data, &room, &tag, &in, &request), 0);
	CHECK_EQ(ends_wait(&e, ends_send(&e, from, 900, tag, out), &bytes), 0);
	CHECK_EQ(bytes, 500);
	CHECK_EQ(ends_wait(&e, request, &bytes), 0);
	CHECK_EQ(bytes, 500);
	CHECK_EQ(to[500], 0);
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

	CHECK_EQ(comm_irecv(e.receiver, 1, &data, &room, &tag, &in, &request), 0);
	void *sent = ends_send(&e, from, 400, tag, out);

	for (unsigned i = 0; i < TRIES_MAX && !result && !done; i++) {
		result = comm_test(sent, &done, NULL);
		usleep(100);
	}
	CHECK_EQ(done, 0);
	CHECK_EQ(result, WEFT_NCCL_REMOTE_ERROR);
	CHECK_EQ(comm_isend(e.sender, from, 1, tag, out, &request), WEFT_NCCL_REMOTE_ERROR);
	ncclNetPlugin_v12.dereg_mr(e.sender, out);
	ncclNetPlugin_v12.dereg_mr(e.receiver, in);
	ends_close(&e);
}
