/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections that carry datagrams: sends of one packet that bring a Q_Key and a group. */
#include "pair.h"

enum { MANY = 200 };

static void start(struct world *w)
{
	struct weft_config config;

	pair_config(&config);
	world_open(w, &config);
	struct weft_qp_attr attr = pair_attr(w);

	attr.kind = WEFT_QP_DATAGRAM;
	pair_open(w, &attr);
	pair_join(w, &attr);
}

static struct weft_work work_of(struct world *w, uint64_t id, uint32_t len_bytes)
{
	struct weft_work work = pair_work(w, 0, WEFT_WORK_DATAGRAM, id, 0, len_bytes);

	work.qkey = 0x80000000u + (uint32_t)id;
	work.group = 500 + (uint32_t)id;
	return work;
}

TEST(weft_post__a_datagram_arrives_with_its_numbers)
{
	struct world w = { .check = true };
	struct weft_done done;

	start(&w);
	for (uint64_t id = 1; id <= 2; id++) {
		struct weft_work work = work_of(&w, id, id == 1 ? 4096 : 0);

		work.has_imm = work.solicited = id == 1;
		work.imm = 77;
		pair_recv(&w, 1, id);
		CHECK_EQ(weft_post(w.qp[0], &work), 0);
		pair_expect(&w, 0, id, WEFT_DONE_DATAGRAM, WEFT_OK);
		CHECK_EQ(world_wait(&w, 1, 1, PAIR_SECOND, &done), 1);
		CHECK_EQ(done.kind, WEFT_DONE_RECV);
		CHECK_EQ(done.id, id);
		CHECK_EQ(done.len_bytes, work.len_bytes);
		CHECK_EQ(done.qkey, work.qkey);
		CHECK_EQ(done.group, work.group);
		CHECK_EQ(done.flags,
			 id == 1 ? WEFT_DONE_HAS_IMM | WEFT_DONE_SOLICITED : 0);
	}
	CHECK(!memcmp(pair_recv_at(&w, 1, 1), w.memory[0], 4096));
	pair_end(&w);
}

/* In order and once, whatever the network does, and each with what is its own. */
TEST(weft_post__datagrams_are_recovered)
{
	struct world w = { .check = true, .fault = pair_lossy };
	uint32_t posted = 0, done_here = 0, done_there = 0;
	struct weft_done done;

	start(&w);
	while (done_there < MANY) {
		for (; posted < MANY && posted < done_there + 8; posted++) {
			struct weft_work work = work_of(&w, posted, 64 + posted);

			work.data = w.memory[0] + posted;
			pair_recv(&w, 1, posted);
			CHECK_EQ(weft_post(w.qp[0], &work), 0);
		}
		REQUIRE(world_wait(&w, 1, 1, PAIR_SECOND, &done) == 1);
		CHECK_EQ(done.id, done_there);
		CHECK_EQ(done.len_bytes, 64 + done_there);
		CHECK_EQ(done.qkey, 0x80000000u + done_there);
		CHECK_EQ(done.group, 500 + done_there);
		CHECK(!memcmp(pair_recv_at(&w, 1, done.id), w.memory[0] + done.id,
			      done.len_bytes));
		done_there++;
		while (weft_poll(w.end[0], 0, &done, 1))
			CHECK_EQ(done.id, done_here++);
	}
	CHECK(weft_stats(w.end[0])->tx_rtx_pkts > 0);
	pair_end(&w);
}

TEST(weft_post__a_connection_of_datagrams_does_nothing_else)
{
	struct world w = { .check = true };

	start(&w);
	for (uint8_t kind = WEFT_WORK_WRITE; kind < WEFT_WORK_DATAGRAM; kind++) {
		struct weft_work work = pair_work(&w, 0, kind, 1, 0, 8);

		CHECK_EQ(weft_post(w.qp[0], &work), WEFT_EINVAL);
	}
	struct weft_work work = work_of(&w, 1, w.config.mtu_bytes + 1);

	CHECK_EQ(weft_post(w.qp[0], &work), WEFT_EINVAL);
	work.len_bytes--;
	CHECK_EQ(weft_post(w.qp[0], &work), 0);
	pair_end(&w);
}

/* By hand, to a connection of datagrams: what its peer must not. */
static uint64_t drops_of(uint8_t op, uint16_t len_bytes, uint32_t msg_bytes, enum weft_drop why)
{
	struct world w = { .check = true };
	struct weft_place place;

	start(&w);
	pair_recv(&w, 1, 1);
	struct weft_pkt pkt = {
		.peer = 7, .op = op, .flags = WEFT_BTH_TS, .dqpn = w.qp[1]->qpn, .psn = 0xffff00,
		.w = { .data = w.memory[0], .va = 0x10000, .rkey = w.rkey[0],
		       .msg_bytes = msg_bytes, .len_bytes = len_bytes },
	};

	weft_input(w.end[1], &pkt, 1, w.now, &place);
	CHECK_EQ(place.len_bytes, 0);
	uint64_t drops = weft_stats(w.end[1])->drops[why];

	pair_end(&w);
	return drops;
}

TEST(respond_extended__of_datagrams_takes_no_other_packets)
{
	for (uint8_t op = WEFT_OP_SEND_FIRST; op < WEFT_OP_DATAGRAM; op++)
		if (weft_op_is_extended(op))
			CHECK_EQ(drops_of(op, 16, 16, WEFT_DROP_EXTENDED), 1);
	CHECK_EQ(drops_of(WEFT_OP_WRITE_ONLY, 16, 16, WEFT_DROP_BAD_ACCESS), 1);
	CHECK_EQ(drops_of(WEFT_OP_DATAGRAM, 10, 11, WEFT_DROP_BAD_LENGTH), 1);
	CHECK_EQ(drops_of(WEFT_OP_DATAGRAM, 4097, 4097, WEFT_DROP_BAD_LENGTH), 1);
}

TEST(weft_recvq_take__takes_the_oldest)
{
	struct world w = { 0 };
	struct weft_recv recv = { .id = 31 };
	uint32_t q;

	start(&w);
	CHECK_EQ(weft_recvq_open(w.end[1], &q), 0);
	CHECK(!weft_recvq_take(w.end[1], q, &recv));
	CHECK_EQ(weft_recvq_post(w.end[1], q, &recv), 0);
	recv.id = 32;
	CHECK_EQ(weft_recvq_post(w.end[1], q, &recv), 0);
	CHECK(weft_recvq_take(w.end[1], q, &recv));
	CHECK_EQ(recv.id, 31);
	CHECK_EQ(weft_recvq_count(w.end[1], q), 1);
	CHECK(!weft_recvq_take(w.end[1], q + 1, &recv));
	pair_end(&w);
}
