/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

#define SECOND UINT64_C(1000000000)

TEST(ext_open__takes_a_pair_of_slots_and_gives_both_back)
{
	struct world w = { .check = true };
	struct weft_qp *qps[4], *strict;
	struct weft_config config;

	pair_config(&config);
	world_open(&w, &config);
	struct weft_qp_attr attr = pair_attr(&w);

	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < 3; i++) {
			CHECK_EQ(weft_qp_open(w.end[0], &attr, &qps[i]), 0);
			CHECK_EQ(qps[i]->qpn & 1, 0);
			struct weft_qp *replies = weft_qp_find(w.end[0], qps[i]->qpn | 1);

			REQUIRE(replies != NULL);
			CHECK(replies != qps[i] && replies->kind == QP_REPLIES);
		}
		CHECK_EQ(weft_qp_open(w.end[0], &attr, &qps[3]), WEFT_EFULL); /* extended_qps */
		attr.kind = WEFT_QP_STRICT;
		CHECK_EQ(weft_qp_open(w.end[0], &attr, &strict), 0);
		attr.kind = WEFT_QP_EXTENDED;
		weft_check(w.end[0]);
		for (uint32_t i = 0; i < 3; i++)
			weft_qp_close(qps[i]);
		weft_qp_close(strict);
		weft_check(w.end[0]);
	}
	world_close(&w);
}

TEST(weft_config_fault__extended_qps_want_reads_that_fit)
{
	struct weft_config config;

	pair_config(&config);
	CHECK(weft_endpoint_size(&config) > 0);
	config.rd_atomic_max = 0;
	CHECK_EQ(weft_endpoint_size(&config), 0);
	config.rd_atomic_max = 256;
	CHECK_EQ(weft_endpoint_size(&config), 0);
	config.rd_atomic_max = 16;
	config.extended_qps = config.qps + 1;
	CHECK_EQ(weft_endpoint_size(&config), 0);
	config.extended_qps = config.rd_atomic_max = config.recvqs = config.recvq_depth = 0;
	CHECK(weft_endpoint_size(&config) > 0);
}

TEST(weft_post__a_strict_qp_refuses_all_but_writes)
{
	struct world w = { .check = true };
	struct weft_config config;
	struct weft_done done;

	world_config(&config);
	world_open(&w, &config);
	world_connect(&w, 8, 8, &weft_cc_fixed);
	for (uint8_t kind = WEFT_WORK_SEND; kind <= WEFT_WORK_DATAGRAM; kind++) {
		struct weft_work work = pair_work(&w, 0, kind, 1, 0, 8);

		CHECK_EQ(weft_post(w.qp[0], &work), WEFT_EINVAL);
	}
	struct weft_work work = pair_work(&w, 0, WEFT_WORK_WRITE, 1, 0, 8);
	struct weft_recv recv = { .id = 1, .to = w.memory[0], .len_bytes = 1 };

	CHECK_EQ(weft_post(w.qp[0], &work), 0);
	CHECK_EQ(weft_post_receive(w.qp[0], &recv), WEFT_EINVAL);
	CHECK_EQ(world_wait(&w, 0, 1, SECOND, &done), 1);
	pair_end(&w);
}

/* Everything at once, both ways, over a bad network: order and content stay right. */
TEST(ext_finish__completions_come_in_order_of_posting)
{
	struct world w = { .check = true, .fault = pair_lossy, .skew_ns = 1500 };
	static const uint8_t kinds[] = { WEFT_WORK_READ, WEFT_WORK_WRITE, WEFT_WORK_SEND,
					 WEFT_WORK_FETCH_ADD, WEFT_WORK_SEND };
	uint64_t seen[2] = { 0 }, heard[2] = { 0 };

	pair_start(&w);
	for (int end = 0; end < 2; end++) {
		for (uint64_t i = 0; i < 20; i++)
			pair_recv(&w, end, 1000 + i);
		for (uint32_t i = 0; i < 50; i++) {
			struct weft_work work = pair_work(&w, end, kinds[i % 5], i,
							  (1 << 20) + i * 8192, 8000);

			work.fence = i % 7 == 0;
			CHECK_EQ(weft_post(w.qp[end], &work), 0);
		}
	}
	while (seen[0] < 50 || seen[1] < 50 || heard[0] < 20 || heard[1] < 20) {
		for (int end = 0; end < 2; end++) {
			struct weft_done done;

			if (!weft_poll(w.end[end], 0, &done, 1))
				continue;
			REQUIRE(done.status == WEFT_OK);
			if (done.kind == WEFT_DONE_RECV) {
				CHECK_EQ(done.id, 1000 + heard[end]++);
				continue;
			}
			CHECK_EQ(done.id, seen[end]);
			CHECK_EQ(done.kind, kinds[seen[end] % 5] + (done.kind > 0));
			seen[end]++;
		}
		REQUIRE(w.now < SECOND);
		world_step(&w);
	}
	pair_end(&w);
}

TEST(qp_fail__takes_both_streams_and_flushes_everything)
{
	struct world w = { .check = true };
	struct weft_done done;

	pair_start(&w);
	struct weft_work read = pair_work(&w, 0, WEFT_WORK_READ, 1, 0, 1000000);

	for (uint32_t i = 0; i < 20; i++)
		CHECK_EQ(weft_post(w.qp[0], &read), 0);
	pair_recv(&w, 0, 2);
	world_run_until(&w, w.now + 20000);
	CHECK_EQ(weft_qp_move(w.qp[0], WEFT_QP_ERROR, NULL, w.now), 0);
	weft_check(w.end[0]);
	CHECK_EQ(w.qp[0]->ext->replies->state, WEFT_QP_ERROR);
	for (uint32_t i = 0; i < 21; i++) {
		REQUIRE(weft_poll(w.end[0], 0, &done, 1) == 1);
		CHECK_EQ(done.status, WEFT_FLUSHED);
		CHECK_EQ(done.kind, i < 20 ? WEFT_DONE_READ : WEFT_DONE_RECV);
	}
	CHECK_EQ(weft_poll(w.end[0], 0, &done, 1), 0);
	/* The other end has its own work to lose, and a budget. */
	world_run_until(&w, w.now + SECOND);
	CHECK_EQ(w.qp[1]->state, WEFT_QP_ERROR);
	weft_qp_close(w.qp[0]);
	weft_qp_close(w.qp[1]);
	pair_end(&w);
}

TEST(ext_become_rtr__wrong_numbers_are_refused_whole)
{
	struct world w = { .check = true };
	struct weft_config config;

	pair_config(&config);
	world_open(&w, &config);
	struct weft_qp_attr attr = pair_attr(&w);

	pair_open(&w, &attr);
	attr.pathset = w.set[0];
	attr.peer_qpn = 5; /* odd: a stream of replies */
	CHECK_EQ(weft_qp_move(w.qp[0], WEFT_QP_RTR, &attr, w.now), WEFT_EINVAL);
	attr.peer_qpn = w.qp[1]->qpn;
	attr.rd_atomic_rx = 17;
	CHECK_EQ(weft_qp_move(w.qp[0], WEFT_QP_RTR, &attr, w.now), WEFT_EINVAL);
	attr.rd_atomic_rx = 16;
	attr.rnr_timer = 32;
	CHECK_EQ(weft_qp_move(w.qp[0], WEFT_QP_RTR, &attr, w.now), WEFT_EINVAL);
	CHECK_EQ(w.qp[0]->ext->replies->state, WEFT_QP_INIT);
	attr.rnr_timer = 0;
	CHECK_EQ(weft_qp_move(w.qp[0], WEFT_QP_RTR, &attr, w.now), 0);
	attr.rnr_retry = 8;
	CHECK_EQ(weft_qp_move(w.qp[0], WEFT_QP_RTS, &attr, w.now), WEFT_EINVAL);
	attr.rnr_retry = 7;
	CHECK_EQ(weft_qp_move(w.qp[0], WEFT_QP_RTS, &attr, w.now), 0);
	pair_end(&w);
}

static bool no_acks(struct world *w, int from, struct weft_pkt *pkt)
{
	return from == 1 && !weft_op_is_data(pkt->op) && w->qp[1]->state != WEFT_QP_ERROR;
}

TEST(is_late__a_qp_in_error_still_acknowledges_what_it_had_taken)
{
	struct world w = { .check = true, .fault = no_acks };
	struct weft_done done;

	pair_start(&w);
	pair_recv(&w, 1, 1);
	struct weft_work work = pair_work(&w, 0, WEFT_WORK_SEND, 1, 0, 20000);

	CHECK_EQ(weft_post(w.qp[0], &work), 0);
	CHECK_EQ(world_wait(&w, 1, 1, SECOND, &done), 1);
	CHECK_EQ(weft_qp_move(w.qp[1], WEFT_QP_ERROR, NULL, w.now), 0);
	CHECK_EQ(world_wait(&w, 0, 1, SECOND, &done), 1);
	CHECK_EQ(done.status, WEFT_OK);
	/* But not what it had not. */
	CHECK_EQ(weft_post(w.qp[0], &work), 0);
	CHECK_EQ(world_wait(&w, 0, 1, SECOND, &done), 1);
	CHECK_EQ(done.status, WEFT_RETRY_EXCEEDED);
	pair_end(&w);
}
