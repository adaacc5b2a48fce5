/* SPDX-License-Identifier: BSD-2-Clause */
/* Path MTU per queue pair: what both ends agreed on, below what their endpoints can do. */
#include "pair.h"

static uint32_t longest_bytes;

/* Loses some, and remembers the largest payload that anybody sent. */
static bool measure(struct world *w, int from, struct weft_pkt *pkt)
{
	if (weft_op_is_data(pkt->op))
		longest_bytes = WEFT_MAX(longest_bytes, (uint32_t)pkt->w.len_bytes);
	return pair_lossy(w, from, pkt);
}

static void start(struct world *w, uint32_t mtu0, uint32_t mtu1)
{
	const uint32_t mtu[2] = { mtu0, mtu1 };
	struct weft_config config;

	pair_config(&config);
	world_open(w, &config);
	struct weft_qp_attr attr = pair_attr(w);

	pair_open(w, &attr);
	for (int i = 0; i < 2; i++) {
		attr.mtu_bytes = mtu[i];
		attr.peer_qpn = w->qp[!i]->qpn;
		attr.pathset = w->set[i];
		CHECK_EQ(weft_qp_move(w->qp[i], WEFT_QP_RTR, &attr, w->now), 0);
		CHECK_EQ(weft_qp_move(w->qp[i], WEFT_QP_RTS, &attr, w->now), 0);
	}
}

static void move_all_kinds(struct world *w, uint32_t mtu)
{
	enum { BYTES = 50001, THERE = 1 << 20 };
	struct weft_work work = pair_work(w, 0, WEFT_WORK_WRITE, 1, 64, BYTES);

	longest_bytes = 0;
	CHECK_EQ(weft_post(w->qp[0], &work), 0);
	pair_expect(w, 0, 1, WEFT_DONE_WRITE, WEFT_OK);
	CHECK(!memcmp(w->memory[1] + 64, w->memory[0] + 64, BYTES));
	CHECK_EQ(longest_bytes, mtu);
	pair_recv(w, 1, 2);
	pair_send(w, 0, 3, 128, BYTES);
	pair_expect(w, 0, 3, WEFT_DONE_SEND, WEFT_OK);
	pair_expect(w, 1, 2, WEFT_DONE_RECV, WEFT_OK);
	CHECK(!memcmp(pair_recv_at(w, 1, 2), w->memory[0] + 128, BYTES));
	work = pair_work(w, 1, WEFT_WORK_READ, 4, THERE, BYTES);
	longest_bytes = 0;
	CHECK_EQ(weft_post(w->qp[1], &work), 0);
	pair_expect(w, 1, 4, WEFT_DONE_READ, WEFT_OK);
	CHECK(!memcmp(w->memory[1] + THERE, w->memory[0] + THERE, BYTES));
	CHECK_EQ(longest_bytes, mtu);
}

TEST(path_mtu__cuts_writes_sends_and_replies_as_agreed)
{
	static const uint32_t mtus[] = { 64, 256, 1024, 1408, 4096, 0 };

	for (size_t i = 0; i < WEFT_COUNT(mtus); i++) {
		struct world w = { .check = true, .fault = measure };
		struct weft_qp_info info;
		uint32_t mtu = mtus[i] ? mtus[i] : 4096;

		start(&w, mtus[i], mtus[i]);
		weft_qp_info(w.qp[0], &info);
		CHECK_EQ(info.mtu_bytes, mtu);
		move_all_kinds(&w, mtu);
		pair_end(&w);
	}
}

TEST(path_mtu__of_two_ends_that_differ_is_an_invalid_request)
{
	struct world w = { .check = true };

	start(&w, 4096, 1024);
	struct weft_work work = pair_work(&w, 0, WEFT_WORK_WRITE, 1, 0, 20000);

	CHECK_EQ(weft_post(w.qp[0], &work), 0);
	pair_expect(&w, 0, 1, WEFT_DONE_WRITE, WEFT_REMOTE_INVALID);
	pair_end(&w);
}

TEST(weft_qp_attr_fault__path_mtu_fits_the_endpoint)
{
	struct world w = { .check = true };
	struct weft_config config;

	pair_config(&config);
	world_open(&w, &config);
	struct weft_qp_attr attr = pair_attr(&w);

	pair_open(&w, &attr);
	attr.peer_qpn = w.qp[1]->qpn;
	attr.pathset = w.set[0];
	for (attr.mtu_bytes = 1; attr.mtu_bytes < 9000; attr.mtu_bytes++) {
		bool is_good = attr.mtu_bytes >= 64 && attr.mtu_bytes <= 4096 &&
			       attr.mtu_bytes % 4 == 0;

		CHECK_EQ(!weft_qp_attr_fault(w.end[0], WEFT_QP_RTR, &attr), is_good);
	}
	CHECK_EQ(weft_qp_move(w.qp[0], WEFT_QP_RTR, &attr, w.now), WEFT_EINVAL);
	pair_end(&w);
}
