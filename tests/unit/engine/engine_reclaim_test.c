/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

TEST(weft_work_move__sends_what_is_left_from_elsewhere)
{
	struct world w = { .check = true };
	enum { BYTES = 1 << 22, PACKET = 4096 };
	uint32_t old = 0, new = 0;

	pair_start(&w);
	uint8_t *copy = malloc(BYTES);
	struct weft_work work = pair_work(&w, 0, WEFT_WORK_WRITE, 5, 0, BYTES);

	REQUIRE(copy);
	for (uint32_t i = 0; i < BYTES; i++)
		copy[i] = (uint8_t)~w.memory[0][i]; /* to tell one from the other */
	CHECK_EQ(weft_post(w.qp[0], &work), 0);
	while (w.delivered_bytes < BYTES / 16)
		world_step(&w);
	CHECK_EQ(weft_work_move(w.qp[0], 6, copy), WEFT_ENOENT);
	CHECK_EQ(weft_work_move(w.qp[0], 5, copy), 0);
	pair_expect(&w, 0, 5, WEFT_DONE_WRITE, WEFT_OK);
	for (uint32_t at = 0; at < BYTES; at += PACKET) {
		old += !memcmp(w.memory[1] + at, w.memory[0] + at, PACKET);
		new += !memcmp(w.memory[1] + at, copy + at, PACKET);
	}
	CHECK(old >= BYTES / 16 / PACKET && new > 0);
	CHECK_EQ(old + new, BYTES / PACKET);
	CHECK(!memcmp(w.memory[1] + BYTES - PACKET, copy + BYTES - PACKET, PACKET));
	CHECK_EQ(weft_work_move(w.qp[0], 5, copy), WEFT_ENOENT);
	free(copy);
	pair_end(&w);
}

/* Before anything has come for it, and after the first packets of its message. */
TEST(weft_recv_spoil__nothing_is_placed_there_any_more)
{
	for (unsigned midway = 0; midway < 2; midway++) {
		struct world w = { .check = true };

		pair_start(&w);
		pair_recv(&w, 1, 1);
		pair_recv(&w, 1, 2);
		CHECK_EQ(weft_recv_spoil(w.qp[1], 3), WEFT_ENOENT);
		if (!midway)
			CHECK_EQ(weft_recv_spoil(w.qp[1], 2), 0);
		pair_send(&w, 0, 1, 0, 1000);
		pair_send(&w, 0, 2, 0, PAIR_RECV_BYTES);
		while (midway && w.delivered_bytes < 20000)
			world_step(&w);
		if (midway)
			CHECK_EQ(weft_recv_spoil(w.qp[1], 2), 0);
		memset(pair_recv_at(&w, 1, 2), 0xee, PAIR_RECV_BYTES);
		pair_expect(&w, 1, 1, WEFT_DONE_RECV, WEFT_OK);
		pair_expect(&w, 1, 2, WEFT_DONE_RECV, WEFT_LOCAL_PROTOCOL);
		pair_expect(&w, 0, 1, WEFT_DONE_SEND, WEFT_OK);
		pair_expect(&w, 0, 2, WEFT_DONE_SEND, WEFT_REMOTE_OPERATION);
		for (uint32_t i = 0; i < PAIR_RECV_BYTES; i++)
			if (pair_recv_at(&w, 1, 2)[i] != 0xee)
				CHECK_FAIL("byte %u was written", i);
		pair_end(&w);
	}
}

/* Nothing is to be placed, so nothing is wrong. */
TEST(weft_recv_spoil__an_empty_message_needs_no_memory)
{
	struct world w = { .check = true };

	pair_start(&w);
	pair_recv(&w, 1, 1);
	CHECK_EQ(weft_recv_spoil(w.qp[1], 1), 0);
	pair_send(&w, 0, 1, 0, 0);
	pair_expect(&w, 1, 1, WEFT_DONE_RECV, WEFT_OK);
	pair_end(&w);
}

TEST(weft_recvq_spoil__finds_it_in_the_queue_and_where_it_is_bound)
{
	for (unsigned midway = 0; midway < 2; midway++) {
		struct world w = { .check = true };
		struct weft_config config;
		uint32_t recvq;

		pair_config(&config);
		world_open(&w, &config);
		struct weft_qp_attr attr = pair_attr(&w);

		CHECK_EQ(weft_recvq_open(w.end[0], &recvq), 0);
		CHECK_EQ(weft_recvq_open(w.end[1], &recvq), 0);
		attr.recvq = recvq;
		pair_open(&w, &attr);
		pair_join(&w, &attr);
		struct weft_recv recv = { .id = 4, .to = pair_recv_at(&w, 1, 4),
					  .len_bytes = PAIR_RECV_BYTES };

		CHECK_EQ(weft_recvq_post(w.end[1], recvq, &recv), 0);
		CHECK_EQ(weft_recvq_spoil(w.end[1], recvq, 5), WEFT_ENOENT);
		CHECK_EQ(weft_recvq_spoil(w.end[1], 77, 4), WEFT_ENOENT);
		pair_send(&w, 0, 1, 0, PAIR_RECV_BYTES);
		while (midway && w.delivered_bytes < 20000)
			world_step(&w);
		CHECK_EQ(weft_recvq_spoil(w.end[1], recvq, 4), 0);
		uint64_t placed = w.delivered_bytes;

		pair_expect(&w, 1, 4, WEFT_DONE_RECV, WEFT_LOCAL_PROTOCOL);
		CHECK_EQ(w.delivered_bytes, placed);
		pair_end(&w);
	}
}
