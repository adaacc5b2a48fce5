/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

enum { DOMAIN = 9 };

/* End 0 sends, end 1 has two shared queues, whose regions are the world's. */
static void start(struct world *w, uint32_t srqn[2])
{
	struct weft_config config;

	pair_config(&config);
	world_open(w, &config);
	struct weft_qp_attr attr = pair_attr(w);

	pair_open(w, &attr);
	for (int i = 0; i < 2; i++) {
		weft_qp_close(w->qp[i]);
		attr.kind = i ? WEFT_QP_XRC_RECV : WEFT_QP_XRC_SEND;
		attr.xrcd = DOMAIN;
		attr.pd = i ? 0 : 3;
		CHECK_EQ(weft_qp_open(w->end[i], &attr, &w->qp[i]), 0);
	}
	pair_join(w, &attr);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t number;

		CHECK_EQ(weft_recvq_open(w->end[1], &number), 0);
		CHECK_EQ(number, i + 1);
		CHECK_EQ(weft_recvq_share(w->end[1], number, DOMAIN, 3, &srqn[i]), 0);
	}
	CHECK(srqn[0] != srqn[1]);
}

static void post(struct world *w, uint32_t recvq, uint64_t id)
{
	struct weft_recv recv = { .id = id, .to = pair_recv_at(w, 1, id),
				  .len_bytes = PAIR_RECV_BYTES };

	CHECK_EQ(weft_recvq_post(w->end[1], recvq, &recv), 0);
}

static void give(struct world *w, uint8_t kind, uint64_t id, uint32_t len_bytes, uint32_t srqn,
		 bool has_imm)
{
	struct weft_work work = pair_work(w, 0, kind, id, (uint32_t)id << 16, len_bytes);

	work.srqn = srqn;
	work.has_imm = has_imm;
	work.imm = (uint32_t)id;
	CHECK_EQ(weft_post(w->qp[0], &work), 0);
}

TEST(xrc__messages_find_the_queue_that_they_name_whatever_is_lost)
{
	struct world w = { .check = true, .fault = pair_lossy, .skew_ns = 900 };
	uint32_t srqn[2];

	start(&w, srqn);
	for (uint64_t i = 0; i < 16; i++)
		post(&w, 1 + i % 2, i);
	for (uint32_t i = 0; i < 16; i++)
		give(&w, WEFT_WORK_SEND, i, 1 + i * 3000, srqn[i % 4 == 1 || i % 4 == 2], false);
	for (uint32_t i = 0, at[2] = { 0, 1 }; i < 16; i++) {
		struct weft_done done;
		uint32_t q = i % 4 == 1 || i % 4 == 2;

		REQUIRE(world_wait(&w, 1, 1, PAIR_SECOND, &done) == 1);
		CHECK_EQ(done.status, WEFT_OK);
		CHECK_EQ(done.kind, WEFT_DONE_RECV);
		CHECK_EQ(done.recvq, q + 1);
		CHECK_EQ(done.id, at[q]);
		CHECK_EQ(done.len_bytes, 1 + i * 3000);
		CHECK(!memcmp(pair_recv_at(&w, 1, done.id), w.memory[0] + (i << 16),
			      done.len_bytes));
		at[q] += 2;
	}
	for (uint32_t i = 0; i < 16; i++)
		pair_expect(&w, 0, i, WEFT_DONE_SEND, WEFT_OK);
	CHECK(weft_stats(w.end[0])->tx_rtx_pkts > 0);
	pair_end(&w);
}

TEST(xrc__writes_reads_and_atomics_reach_the_queues_domain)
{
	struct world w = { .check = true, .fault = pair_lossy, .skew_ns = 900 };
	struct weft_done done;
	uint32_t srqn[2];

	start(&w, srqn);
	post(&w, 2, 5);
	give(&w, WEFT_WORK_WRITE, 1, 30000, srqn[0], false);
	give(&w, WEFT_WORK_WRITE, 2, 30001, srqn[1], true);
	REQUIRE(world_wait(&w, 1, 1, PAIR_SECOND, &done) == 1);
	CHECK_EQ(done.kind, WEFT_DONE_RECV_IMM);
	CHECK_EQ(done.id, 5);
	CHECK_EQ(done.recvq, 2);
	CHECK_EQ(done.imm, 2);
	CHECK(!memcmp(w.memory[1] + 0x10000, w.memory[0] + 0x10000, 30000));
	CHECK(!memcmp(w.memory[1] + 0x20000, w.memory[0] + 0x20000, 30001));
	pair_expect(&w, 0, 1, WEFT_DONE_WRITE, WEFT_OK);
	pair_expect(&w, 0, 2, WEFT_DONE_WRITE, WEFT_OK);
	memset(w.memory[1] + 0x30000, 0x77, 9000);
	give(&w, WEFT_WORK_READ, 3, 9000, srqn[0], false);
	pair_expect(&w, 0, 3, WEFT_DONE_READ, WEFT_OK);
	CHECK(!memcmp(w.memory[1] + 0x30000, w.memory[0] + 0x30000, 9000));
	memset(w.memory[1] + 0x40000, 0, 8);
	struct weft_work add = pair_work(&w, 0, WEFT_WORK_FETCH_ADD, 4, 0x40000, 8);

	add.srqn = srqn[1];
	add.operand[0] = 7;
	CHECK_EQ(weft_post(w.qp[0], &add), 0);
	pair_expect(&w, 0, 4, WEFT_DONE_FETCH_ADD, WEFT_OK);
	CHECK_EQ(w.memory[1][0x40000], 7);
	pair_end(&w);
}

TEST(xrc__a_queue_without_receives_holds_its_sender)
{
	struct world w = { .check = true };
	uint32_t srqn[2];

	start(&w, srqn);
	post(&w, 2, 1);
	give(&w, WEFT_WORK_SEND, 1, 9000, srqn[0], false);
	give(&w, WEFT_WORK_SEND, 2, 8, srqn[1], false);
	world_run_until(&w, w.now + 5000000);
	CHECK(weft_stats(w.end[1])->tx_rnr > 0);
	CHECK_EQ(weft_recvq_count(w.end[1], 2), 1); /* the second has not begun */
	post(&w, 1, 0);
	pair_expect(&w, 1, 0, WEFT_DONE_RECV, WEFT_OK);
	pair_expect(&w, 1, 1, WEFT_DONE_RECV, WEFT_OK);
	pair_end(&w);
}

static struct weft_pkt request(const struct world *w, uint8_t op, uint32_t srqn)
{
	return (struct weft_pkt){
		.peer = 7, .op = op, .flags = WEFT_BTH_TS | WEFT_BTH_XRC, .dqpn = w->qp[1]->qpn,
		.psn = 0xffff00,
		.w = { .data = w->memory[0], .msg_bytes = 8, .len_bytes = 8, .srqn = srqn,
		       .va = op < WEFT_OP_XRC_WRITE_FIRST ? 0 : 0x10000, .rkey = w->rkey[0] },
	};
}

static void put(struct world *w, int end, const struct weft_pkt *pkt)
{
	struct weft_place place;

	weft_input(w->end[end], pkt, 1, w->now, &place);
	CHECK_EQ(place.len_bytes, 0);
	weft_check(w->end[end]);
}

TEST(xrc_enter__queues_of_nobody_and_of_other_domains_end_the_qp)
{
	static const uint8_t ops[] = { WEFT_OP_SEND_ONLY, WEFT_OP_XRC_WRITE_ONLY,
				       WEFT_OP_XRC_WRITE_ONLY_IMM };

	for (unsigned i = 0; i < 6 * WEFT_COUNT(ops); i++) {
		struct world w = { 0 };
		uint32_t srqn[2];

		start(&w, srqn);
		const uint32_t wrong[] = { 0, WEFT_PSN_MASK, srqn[0] ^ 1 << 16, 3, 0x010003,
					   srqn[0] };

		if (i % 6 == 5)
			w.qp[1]->ext->xrcd = DOMAIN + 1;
		struct weft_pkt pkt = request(&w, ops[i / 6], wrong[i % 6]);

		put(&w, 1, &pkt);
		CHECK_EQ(weft_stats(w.end[1])->drops[WEFT_DROP_BAD_SRQN], 1);
		CHECK_EQ(w.qp[1]->status, WEFT_LOCAL_PROTOCOL);
		pair_end(&w);
	}
}

TEST(xrc_belongs__either_end_takes_only_its_own)
{
	struct world w = { 0 };
	uint32_t srqn[2];

	start(&w, srqn);
	post(&w, 1, 1);
	struct weft_pkt pkt = request(&w, WEFT_OP_SEND_ONLY, srqn[0]);

	pkt.flags = WEFT_BTH_TS;
	put(&w, 1, &pkt); /* names no queue */
	pkt.flags |= WEFT_BTH_XRC;
	pkt.dqpn = w.qp[0]->qpn;
	pkt.psn = 0x80;
	put(&w, 0, &pkt); /* to one that asks */
	CHECK_EQ(weft_stats(w.end[0])->drops[WEFT_DROP_EXTENDED], 1);
	CHECK_EQ(weft_stats(w.end[1])->drops[WEFT_DROP_EXTENDED], 1);
	CHECK_EQ(w.qp[0]->state, WEFT_QP_RTS);
	CHECK_EQ(w.qp[1]->state, WEFT_QP_RTS);
	pkt = request(&w, WEFT_OP_WRITE_ONLY, srqn[0]); /* MRC's: no domain to reach */
	put(&w, 1, &pkt);
	CHECK_EQ(w.qp[1]->state, WEFT_QP_ERROR);
	pair_end(&w);
	struct world plain = { 0 };

	pair_start(&plain);
	pair_recv(&plain, 1, 1);
	pkt = request(&plain, WEFT_OP_SEND_ONLY, 1);
	put(&plain, 1, &pkt);
	pkt = request(&plain, WEFT_OP_XRC_WRITE_ONLY, 1);
	put(&plain, 1, &pkt);
	CHECK_EQ(weft_stats(plain.end[1])->drops[WEFT_DROP_EXTENDED], 2);
	CHECK_EQ(plain.qp[1]->state, WEFT_QP_RTS);
	pair_end(&plain);
}

TEST(xrc_forget__a_message_half_arrived_ends_with_its_queue)
{
	struct world w = { 0 };
	struct weft_place place;
	struct weft_done done;
	uint32_t srqn[2];

	start(&w, srqn);
	post(&w, 1, 6);
	struct weft_pkt pkt = request(&w, WEFT_OP_SEND_FIRST, srqn[0]);

	pkt.w.len_bytes = 4096;
	pkt.w.msg_bytes = 9000;
	weft_input(w.end[1], &pkt, 1, w.now, &place);
	CHECK_EQ(place.len_bytes, 4096);
	CHECK_EQ(weft_recvq_close(w.end[1], 2), 0); /* not this one */
	CHECK_EQ(w.qp[1]->state, WEFT_QP_RTS);
	CHECK_EQ(weft_recvq_close(w.end[1], 1), 0);
	CHECK_EQ(w.qp[1]->state, WEFT_QP_ERROR);
	REQUIRE(weft_poll(w.end[1], 0, &done, 1) == 1);
	CHECK_EQ(done.id, 6);
	CHECK_EQ(done.recvq, 1);
	CHECK_EQ(done.status, WEFT_FLUSHED);
	pair_end(&w);
}

TEST(weft_recvq_share__numbers_are_not_soon_anothers)
{
	struct world w = { 0 };
	uint32_t srqn[2], again, number;

	start(&w, srqn);
	CHECK_EQ(weft_recvq_share(w.end[1], 1, DOMAIN, 3, &again), WEFT_ESTATE);
	CHECK_EQ(weft_recvq_share(w.end[1], 3, DOMAIN, 3, &again), WEFT_ENOENT);
	CHECK_EQ(weft_recvq_close(w.end[1], 1), 0);
	CHECK_EQ(weft_recvq_open(w.end[1], &number), 0);
	CHECK_EQ(weft_recvq_share(w.end[1], number, 0, 3, &again), WEFT_EINVAL);
	CHECK_EQ(weft_recvq_share(w.end[1], number, DOMAIN, 3, &again), 0);
	CHECK_EQ(number, 1);
	CHECK(again != srqn[0]);
	pair_end(&w);
}
