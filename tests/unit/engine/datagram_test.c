/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

#define SECOND UINT64_C(1000000000)
#define QKEY 0x11111111u

static void start(struct world *w)
{
	struct weft_config config;

	pair_config(&config);
	world_open(w, &config);
	struct weft_qp_attr attr = pair_attr(w);

	attr.kind = WEFT_QP_DATAGRAM;
	attr.qkey = QKEY;
	pair_open(w, &attr);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(weft_qp_move(w->qp[i], WEFT_QP_RTR, &attr, w->now), 0);
		CHECK_EQ(weft_qp_move(w->qp[i], WEFT_QP_RTS, &attr, w->now), 0);
	}
}

static struct weft_work work_of(struct world *w, uint64_t id, uint32_t len_bytes)
{
	struct weft_work work = pair_work(w, 0, WEFT_WORK_DATAGRAM, id, 0, len_bytes);

	work.pathset = w->set[0];
	work.peer_qpn = w->qp[1]->qpn;
	work.qkey = QKEY;
	return work;
}

TEST(datagram_take__fills_a_receive_behind_forty_bytes)
{
	struct world w = { .check = true };
	struct weft_done done;

	start(&w);
	pair_recv(&w, 1, 1);
	pair_recv(&w, 1, 2);
	struct weft_work work = work_of(&w, 9, 4096);

	work.has_imm = work.solicited = true;
	work.imm = 77;
	CHECK_EQ(weft_post(w.qp[0], &work), 0);
	CHECK_EQ(world_wait(&w, 0, 1, SECOND, &done), 1);
	CHECK_EQ(done.kind, WEFT_DONE_DATAGRAM);
	CHECK_EQ(done.id, 9);
	CHECK_EQ(world_wait(&w, 1, 1, SECOND, &done), 1);
	CHECK_EQ(done.kind, WEFT_DONE_RECV);
	CHECK_EQ(done.id, 1);
	CHECK_EQ(done.len_bytes, 4096 + 40);
	CHECK_EQ(done.imm, 77);
	CHECK_EQ(done.flags, WEFT_DONE_HAS_IMM | WEFT_DONE_SOLICITED);
	CHECK_EQ(done.peer, 7);
	CHECK_EQ(done.src_qpn, w.qp[0]->qpn);
	CHECK(!memcmp(pair_recv_at(&w, 1, 1) + 40, w.memory[0], 4096));
	CHECK_EQ(pair_recv_at(&w, 1, 1)[39], 0);
	work = work_of(&w, 10, 0);
	CHECK_EQ(weft_post(w.qp[0], &work), 0);
	CHECK_EQ(world_wait(&w, 1, 1, SECOND, &done), 1);
	CHECK_EQ(done.len_bytes, 40);
	CHECK_EQ(done.flags, 0);
	pair_end(&w);
}

TEST(datagram_take__drops_and_counts_what_nobody_waits_for)
{
	struct world w = { .check = true };
	struct weft_done done;
	struct weft_recv tiny = { .id = 1, .to = &w, .len_bytes = 49 };

	start(&w);
	struct weft_work work = work_of(&w, 1, 10), foreign = work;

	foreign.qkey++;
	CHECK_EQ(weft_post(w.qp[0], &work), 0);
	CHECK_EQ(weft_post(w.qp[0], &foreign), 0);
	world_run_until(&w, w.now + 100000);
	CHECK_EQ(weft_stats(w.end[1])->drops[WEFT_DROP_NO_RECV], 1);
	CHECK_EQ(weft_stats(w.end[1])->drops[WEFT_DROP_BAD_QKEY], 1);
	CHECK_EQ(weft_post_receive(w.qp[1], &tiny), 0);
	CHECK_EQ(weft_post(w.qp[0], &work), 0);
	world_run_until(&w, w.now + 100000);
	CHECK_EQ(weft_stats(w.end[1])->drops[WEFT_DROP_TOO_LONG], 1);
	CHECK_EQ(weft_poll(w.end[1], 0, &done, 1), 0);
	CHECK_EQ(world_wait(&w, 0, 3, SECOND, &done), 3); /* all have left well */
	CHECK_EQ(done.status, WEFT_OK);
	work.len_bytes = w.config.mtu_bytes + 1;
	CHECK_EQ(weft_post(w.qp[0], &work), WEFT_EINVAL);
	work.kind = WEFT_WORK_SEND;
	CHECK_EQ(weft_post(w.qp[0], &work), WEFT_EINVAL);
	weft_qp_move(w.qp[1], WEFT_QP_ERROR, NULL, w.now);
	CHECK_EQ(weft_poll(w.end[1], 0, &done, 1), 1);
	CHECK_EQ(done.status, WEFT_FLUSHED);
	pair_end(&w);
}

TEST(datagram_send__sprays_over_ports_and_waits_for_a_free_one)
{
	struct world w = { .check = true };
	struct weft_pkt pkts[32];
	uint32_t ports = 0;

	start(&w);
	struct weft_work work = work_of(&w, 1, 10);

	for (int i = 0; i < 16; i++)
		CHECK_EQ(weft_post(w.qp[0], &work), 0);
	CHECK_EQ(weft_output(w.end[0], pkts, 32, 1, w.now), 16); /* all by port 0 */
	for (int i = 0; i < 16; i++)
		CHECK_EQ(weft_post(w.qp[0], &work), 0);
	weft_port_mark(w.end[0], 3, false, w.now);
	size_t n = weft_output(w.end[0], pkts, 32, UINT32_MAX, w.now), seen = 0;

	for (size_t i = 0; i < n; i++) {
		seen += pkts[i].op == WEFT_OP_DATAGRAM;
		ports |= 1u << pkts[i].port;
	}
	CHECK_EQ(seen, 16);
	CHECK_EQ(ports, 0xf7);
	for (uint32_t p = 0; p < 8; p++)
		weft_port_mark(w.end[0], p, false, w.now);
	CHECK_EQ(weft_post(w.qp[0], &work), 0);
	CHECK_EQ(weft_stats(w.end[0])->tx_datagram, 32);
	pair_end(&w);
}

TEST(datagram_take__takes_from_a_shared_queue)
{
	struct world w = { .check = true };
	struct weft_qp_attr attr;
	struct weft_done done;
	uint32_t q;

	start(&w);
	CHECK_EQ(weft_recvq_open(w.end[1], &q), 0);
	attr = pair_attr(&w);
	attr.kind = WEFT_QP_DATAGRAM;
	attr.qkey = QKEY;
	attr.recvq = q + 1;
	CHECK_EQ(weft_qp_open(w.end[1], &attr, &w.qp[1]), WEFT_EINVAL);
	attr.recvq = q;
	CHECK_EQ(weft_qp_open(w.end[1], &attr, &w.qp[1]), 0);
	weft_qp_move(w.qp[1], WEFT_QP_RTR, &attr, w.now);
	struct weft_recv recv = { .id = 31, .to = pair_recv_at(&w, 1, 1), .len_bytes = 100 };

	CHECK_EQ(weft_recvq_post(w.end[1], q, &recv), 0);
	struct weft_work work = work_of(&w, 1, 60);

	CHECK_EQ(weft_post(w.qp[0], &work), 0);
	CHECK_EQ(world_wait(&w, 1, 1, SECOND, &done), 1);
	CHECK_EQ(done.id, 31);
	CHECK_EQ(done.len_bytes, 100);
	pair_end(&w);
}

TEST(datagram_take__ends_a_queue_pair_whose_receive_was_taken_back)
{
	struct world w = { .check = true };
	struct weft_done done[2];
	struct weft_recv gone = { .id = 1, .spoilt = true };

	start(&w);
	CHECK_EQ(weft_post_receive(w.qp[1], &gone), 0);
	pair_recv(&w, 1, 2);
	struct weft_work work = work_of(&w, 1, 0), foreign = work;

	foreign.qkey++;
	CHECK_EQ(weft_post(w.qp[0], &foreign), 0); /* it would not have got it */
	world_run_until(&w, w.now + 100000);
	CHECK_EQ(weft_poll(w.end[1], 0, done, 1), 0);
	CHECK_EQ(weft_post(w.qp[0], &work), 0);
	CHECK_EQ(weft_post(w.qp[0], &work), 0);
	world_run_until(&w, w.now + 100000);
	REQUIRE(weft_poll(w.end[1], 0, done, 2) == 2);
	CHECK_EQ(done[0].id, 1);
	CHECK_EQ(done[0].status, WEFT_LOCAL_PROTOCOL);
	CHECK_EQ(done[1].id, 2);
	CHECK_EQ(done[1].status, WEFT_FLUSHED);
	CHECK_EQ(w.qp[1]->state, WEFT_QP_ERROR);
	CHECK_EQ(w.delivered_bytes, 0);
	pair_end(&w);
}
