/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

TEST(weft_post__sends_land_in_receives_in_order_whatever_is_lost)
{
	struct world w = { .check = true, .fault = pair_lossy, .skew_ns = 900 };
	static const uint32_t lens[] = { 1, 4096, 0, 65536, 4097, 7, 30000, 8192 };

	pair_start(&w);
	for (uint64_t i = 0; i < 24; i++)
		pair_recv(&w, 1, i);
	for (uint32_t i = 0; i < 24; i++)
		pair_send(&w, 0, 100 + i, i << 16, lens[i % 8]);
	for (uint32_t i = 0; i < 24; i++) {
		struct weft_done done;

		REQUIRE(world_wait(&w, 1, 1, PAIR_SECOND, &done) == 1);
		CHECK_EQ(done.id, i);
		CHECK_EQ(done.kind, WEFT_DONE_RECV);
		CHECK_EQ(done.status, WEFT_OK);
		CHECK_EQ(done.flags, 0);
		CHECK_EQ(done.len_bytes, lens[i % 8]);
		CHECK(!memcmp(pair_recv_at(&w, 1, i), w.memory[0] + (i << 16), lens[i % 8]));
	}
	for (uint32_t i = 0; i < 24; i++)
		pair_expect(&w, 0, 100 + i, WEFT_DONE_SEND, WEFT_OK);
	CHECK(weft_stats(w.end[0])->tx_rtx_pkts > 0);
	pair_end(&w);
}

TEST(weft_post__immediate_and_solicited_reach_the_completion)
{
	struct world w = { .check = true };
	struct weft_done done;

	pair_start(&w);
	pair_recv(&w, 1, 1);
	pair_recv(&w, 1, 2);
	struct weft_work work = pair_work(&w, 0, WEFT_WORK_SEND, 1, 0, 9000);

	work.has_imm = work.solicited = true;
	work.imm = 0xdeadbeef;
	CHECK_EQ(weft_post(w.qp[0], &work), 0);
	work.kind = WEFT_WORK_WRITE;
	work.solicited = false;
	work.imm = 5;
	CHECK_EQ(weft_post(w.qp[0], &work), 0);
	CHECK_EQ(world_wait(&w, 1, 1, PAIR_SECOND, &done), 1);
	CHECK_EQ(done.kind, WEFT_DONE_RECV);
	CHECK_EQ(done.imm, 0xdeadbeef);
	CHECK_EQ(done.flags, WEFT_DONE_HAS_IMM | WEFT_DONE_SOLICITED);
	CHECK_EQ(world_wait(&w, 1, 1, PAIR_SECOND, &done), 1);
	CHECK_EQ(done.kind, WEFT_DONE_RECV_IMM);
	CHECK_EQ(done.imm, 5);
	CHECK_EQ(done.flags, WEFT_DONE_HAS_IMM);
	CHECK(!memcmp(w.memory[1], w.memory[0], 9000));
	pair_end(&w);
}

TEST(recvq_refuse__sender_waits_until_a_receive_is_posted)
{
	struct world w = { .check = true };

	pair_start(&w);
	pair_send(&w, 0, 1, 0, 20000);
	struct weft_work work = pair_work(&w, 0, WEFT_WORK_WRITE, 2, 40000, 8);

	work.has_imm = true;
	CHECK_EQ(weft_post(w.qp[0], &work), 0);
	world_run_until(&w, w.now + 5000000); /* 640 us are asked for: several tries */
	CHECK(weft_stats(w.end[0])->rx_rnr > 10);
	CHECK_EQ(w.qp[0]->state, WEFT_QP_RTS);
	CHECK_EQ(weft_stats(w.end[0])->timeouts, 0);
	CHECK_EQ(weft_stats(w.end[0])->paths_retired, 0);
	pair_recv(&w, 1, 5);
	pair_expect(&w, 1, 5, WEFT_DONE_RECV, WEFT_OK);
	CHECK(!memcmp(pair_recv_at(&w, 1, 5), w.memory[0], 20000));
	pair_recv(&w, 1, 6);
	pair_expect(&w, 1, 6, WEFT_DONE_RECV_IMM, WEFT_OK);
	pair_expect(&w, 0, 1, WEFT_DONE_SEND, WEFT_OK);
	pair_expect(&w, 0, 2, WEFT_DONE_WRITE, WEFT_OK);
	pair_end(&w);
}

static void start_with(struct world *w, uint8_t retries, uint64_t give_up_ns)
{
	struct weft_config config;

	pair_config(&config);
	world_open(w, &config);
	struct weft_qp_attr attr = pair_attr(w);

	attr.rnr_retry = retries;
	attr.rnr_give_up_ns = give_up_ns;
	pair_open(w, &attr);
	pair_join(w, &attr);
}

TEST(recvq_on_rnr__gives_up_after_the_agreed_tries)
{
	for (uint8_t retries = 0; retries < 4; retries++) {
		struct world w = { .check = true };

		start_with(&w, retries, 0);
		pair_send(&w, 0, 1, 0, 100000); /* a whole flight is refused each time */
		pair_send(&w, 0, 2, 0, 1);
		uint64_t start_ns = w.now;

		pair_expect(&w, 0, 1, WEFT_DONE_SEND, WEFT_RNR_RETRY_EXCEEDED);
		CHECK(w.now - start_ns >= retries * UINT64_C(640000));
		CHECK(w.now - start_ns < (retries + 1) * UINT64_C(700000));
		pair_expect(&w, 0, 2, WEFT_DONE_SEND, WEFT_FLUSHED);
		pair_end(&w);
	}
}

TEST(recvq_on_rnr__waits_the_agreed_time_whatever_the_tries)
{
	for (uint8_t retries = 0; retries < 3; retries++) {
		struct world w = { .check = true };

		start_with(&w, retries, 50000000);
		for (uint64_t i = 1; i < 4; i++) { /* each has all of the time */
			pair_send(&w, 0, i, 0, 20000);
			world_run_until(&w, w.now + 30000000);
			pair_recv(&w, 1, i);
			pair_expect(&w, 1, i, WEFT_DONE_RECV, WEFT_OK);
			pair_expect(&w, 0, i, WEFT_DONE_SEND, WEFT_OK);
		}
		uint64_t start_ns = w.now, refused = weft_stats(w.end[0])->rx_rnr;

		pair_send(&w, 0, 9, 0, 8);
		pair_expect(&w, 0, 9, WEFT_DONE_SEND, WEFT_RNR_RETRY_EXCEEDED);
		CHECK(w.now - start_ns >= 50000000);
		CHECK(w.now - start_ns < 51000000);
		CHECK(weft_stats(w.end[0])->rx_rnr - refused < 100);
		pair_end(&w);
	}
}

TEST(recvq_rnr_ns__has_the_32_times_of_the_code)
{
	CHECK_EQ(recvq_rnr_ns(0), 655360000);
	CHECK_EQ(recvq_rnr_ns(1), 10000);
	CHECK_EQ(recvq_rnr_ns(12), 640000);
	CHECK_EQ(recvq_rnr_ns(31), 491520000);
	for (uint8_t i = 2; i < 32; i++)
		CHECK(recvq_rnr_ns(i) > recvq_rnr_ns(i - 1));
}

TEST(respond_deliver__too_long_a_message_fails_in_its_turn)
{
	struct world w = { .check = true, .skew_ns = 2000 };
	struct weft_recv small = { .id = 2, .len_bytes = 100 };

	pair_start(&w);
	small.to = pair_recv_at(&w, 1, 2);
	memset(small.to, 0x55, 200);
	pair_recv(&w, 1, 1);
	CHECK_EQ(weft_post_receive(w.qp[1], &small), 0);
	pair_recv(&w, 1, 3);
	pair_send(&w, 0, 1, 0, 60000);
	pair_send(&w, 0, 2, 0, 101);
	pair_send(&w, 0, 3, 0, 10);
	pair_expect(&w, 1, 1, WEFT_DONE_RECV, WEFT_OK);
	pair_expect(&w, 1, 2, WEFT_DONE_RECV, WEFT_LOCAL_LENGTH);
	pair_expect(&w, 1, 3, WEFT_DONE_RECV, WEFT_FLUSHED);
	pair_expect(&w, 0, 1, WEFT_DONE_SEND, WEFT_OK);
	pair_expect(&w, 0, 2, WEFT_DONE_SEND, WEFT_REMOTE_INVALID);
	pair_expect(&w, 0, 3, WEFT_DONE_SEND, WEFT_FLUSHED);
	CHECK_EQ(*(uint8_t *)small.to, 0x55);
	pair_end(&w);
}

TEST(weft_recvq__serves_two_qps_and_tells_when_few_are_left)
{
	struct world w = { .check = true, .fault = pair_lossy };
	struct weft_config config;
	uint32_t q = 0, sums[2] = { 0 };
	struct weft_done done;

	pair_config(&config);
	world_open(&w, &config);
	CHECK_EQ(weft_recvq_open(w.end[1], &q), 0);
	CHECK_EQ(q, 1);
	struct weft_qp_attr attr = pair_attr(&w);
	struct weft_qp *first[2];

	pair_open(&w, &attr);
	weft_qp_close(w.qp[1]);
	weft_region_drop(w.end[1], w.rkey[0]);
	weft_region_drop(w.end[0], w.rkey[1]);
	attr.recvq = q;
	CHECK_EQ(weft_qp_open(w.end[1], &attr, &w.qp[1]), 0);
	pair_join(&w, &attr);
	memcpy(first, w.qp, sizeof(first));
	attr.recvq = 0;
	CHECK_EQ(weft_qp_open(w.end[0], &attr, &w.qp[0]), 0);
	attr.recvq = q;
	CHECK_EQ(weft_qp_open(w.end[1], &attr, &w.qp[1]), 0);
	pair_join(&w, &attr);
	CHECK_EQ(weft_recvq_close(w.end[1], q), WEFT_ESTATE);
	CHECK_EQ(weft_recvq_set_limit(w.end[1], q, 4), 0);
	for (uint64_t i = 0; i < 16; i++) {
		struct weft_recv recv = {
			.id = i, .to = pair_recv_at(&w, 1, i), .len_bytes = PAIR_RECV_BYTES
		};

		CHECK_EQ(weft_post_receive(w.qp[1], &recv), WEFT_ESTATE);
		CHECK_EQ(weft_recvq_post(w.end[1], q, &recv), 0);
	}
	CHECK_EQ(weft_recvq_count(w.end[1], q), 16);
	for (uint32_t i = 0; i < 6; i++) {
		struct weft_work work = pair_work(&w, 0, WEFT_WORK_SEND, i, i << 16, 20000);

		CHECK_EQ(weft_post(w.qp[0], &work), 0);
		CHECK_EQ(weft_post(first[0], &work), 0);
	}
	CHECK(!weft_recvq_limit_hit(w.end[1], q));
	for (uint32_t i = 0; i < 12; i++) {
		REQUIRE(world_wait(&w, 1, 1, PAIR_SECOND, &done) == 1);
		uint32_t which = done.qpn == first[1]->qpn;

		CHECK(!memcmp(
			pair_recv_at(&w, 1, done.id), w.memory[0] + (sums[which]++ << 16), 20000));
	}
	CHECK_EQ(sums[0], 6);
	CHECK_EQ(weft_recvq_count(w.end[1], q), 4);
	CHECK(!weft_recvq_limit_hit(w.end[1], q)); /* four are not fewer than four */
	struct weft_work one = pair_work(&w, 0, WEFT_WORK_SEND, 9, 0, 1);

	CHECK_EQ(weft_post(w.qp[0], &one), 0);
	CHECK_EQ(world_wait(&w, 1, 1, PAIR_SECOND, &done), 1);
	CHECK(weft_recvq_limit_hit(w.end[1], q));
	CHECK(!weft_recvq_limit_hit(w.end[1], q));
	weft_qp_close(w.qp[1]);
	weft_qp_close(first[1]);
	CHECK_EQ(weft_recvq_close(w.end[1], q), 0);
	CHECK_EQ(weft_recvq_post(w.end[1], q, &(struct weft_recv){ 0 }), WEFT_ENOENT);
	pair_end(&w);
}

TEST(weft_post_receive__scattered_ones_get_their_list_back)
{
	struct world w = { .check = true };
	struct weft_place place;
	struct weft_pkt pkt[8];
	int list;
	struct weft_recv recv = { .id = 1, .to = &list, .len_bytes = 10000, .scattered = true };

	pair_start(&w);
	CHECK_EQ(weft_post_receive(w.qp[1], &recv), 0);
	pair_send(&w, 0, 1, 0, 9000);
	REQUIRE(weft_output(w.end[0], pkt, 8, UINT32_MAX, w.now) == 3);
	for (uint32_t i = 3; i--;) {
		pkt[i].peer = 7;
		weft_input(w.end[1], &pkt[i], 1, w.now, &place);
		CHECK(place.to == &list);
		CHECK_EQ(place.list_at, i * 4096 + 1);
		CHECK_EQ(place.len_bytes, i < 2 ? 4096 : 9000 - 8192);
	}
	pair_end(&w);
}
