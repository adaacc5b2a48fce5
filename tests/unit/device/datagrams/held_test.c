/* SPDX-License-Identifier: BSD-2-Clause */
#include "datagrams/datagrams_local.h"
#include "unit/device/virtual.h"

#define MANY 100u
#define BYTES 64u

/* Number `i`, and waits until it lies at the receiver. */
static void send_one(struct side *s[2], struct weft_dev_ah *ah, uint32_t i)
{
	struct weft_dev_send send = { .op = WEFT_DEV_SEND_IMM,
		.flags = WEFT_DEV_SIGNALED,
		.qkey = 77,
		.imm = i,
		.ah = ah,
		.peer_qpn = weft_dev_qp_number(s[1]->qp) };
	uint64_t limit_ns = ground_now() + LIMIT_S * UINT64_C(1000000000);
	struct weft_dev_wc wc;
	uint64_t came = 0;

	memset(s[0]->memory, (int)i, BYTES);
	CHECK_EQ(side_post(s[0], send, 0, BYTES), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	while (came <= i && ground_now() < limit_ns) {
		CHECK_EQ(weft_dev_cq_poll(s[1]->cq, &wc, 1), 0); /* there are no receives */
		weft_lock_take(&s[1]->dev->lock);
		came = weft_stats(s[1]->dev->ep)->rx_data_pkts;
		weft_lock_give(&s[1]->dev->lock);
		ground_wait(limit_ns);
	}
	CHECK_EQ(came, i + 1);
}

TEST(held_hand_over__gives_each_receive_the_next_datagram)
{
	struct side *s[2];
	struct weft_dev_ah *ah = pair_datagrams(s);

	for (uint32_t i = 0; i < MANY; i++)
		send_one(s, ah, i);
	for (uint32_t i = 0; i < MANY; i++) {
		CHECK_EQ(side_recv(s[1], 1000 + i, 0, WEFT_GRH_BYTES + BYTES), 0);
		struct weft_dev_wc wc = side_wait(s[1]);

		CHECK_EQ(wc.status, WEFT_DEV_OK);
		CHECK_EQ(wc.id, 1000 + i);
		CHECK_EQ(wc.imm, i);
		CHECK_EQ(wc.len_bytes, WEFT_GRH_BYTES + BYTES);
		CHECK_EQ(wc.src_qpn, weft_dev_qp_number(s[0]->qp));
		CHECK_EQ(s[1]->memory[WEFT_GRH_BYTES], i);
		CHECK_EQ(s[1]->memory[WEFT_GRH_BYTES + BYTES - 1], i);
	}
	CHECK_EQ(weft_dev_ah_close(ah), 0);
	pair_close(s);
}

TEST(held_hand_over__loses_what_is_longer_than_its_receive)
{
	struct side *s[2];
	struct weft_dev_ah *ah = pair_datagrams(s);
	struct weft_dev_wc wc;

	send_one(s, ah, 0);
	CHECK_EQ(side_recv(s[1], 5, 0, WEFT_GRH_BYTES + BYTES - 1), 0);
	CHECK_EQ(weft_dev_cq_poll(s[1]->cq, &wc, 1), 0);
	CHECK_EQ(s[1]->dev->datagrams.too_long, 1);
	CHECK_EQ(weft_dev_ah_close(ah), 0);
	pair_close(s);
}

TEST(held_release__leaves_nothing_to_the_next_life)
{
	struct weft_dev_qp_attr attr = { .state = WEFT_DEV_RESET };
	struct side *s[2];
	struct weft_dev_ah *ah = pair_datagrams(s);
	struct weft_dev_wc wc;

	send_one(s, ah, 0);
	CHECK_EQ(weft_dev_qp_modify(s[1]->qp, &attr, WEFT_DEV_SET_STATE), 0);
	side_init(s[1]);
	CHECK_EQ(side_recv(s[1], 5, 0, 512), 0);
	CHECK_EQ(weft_dev_cq_poll(s[1]->cq, &wc, 1), 0); /* of a former life */
	attr.state = WEFT_DEV_ERR;
	CHECK_EQ(weft_dev_qp_modify(s[1]->qp, &attr, WEFT_DEV_SET_STATE), 0);
	wc = side_wait(s[1]);
	CHECK_EQ(wc.id, 5);
	CHECK_EQ(wc.status, WEFT_DEV_WR_FLUSH_ERR);
	CHECK_EQ(weft_dev_ah_close(ah), 0);
	pair_close(s);
}

/* Receives of a shared queue come after the datagrams; the second is too short for any. */
TEST(held_hand_over__takes_from_a_shared_queue_too)
{
	struct weft_dev_qp_attr attr = { .state = WEFT_DEV_RTR };
	struct weft_dev_srq_attr srq_attr = { .depth = 4, .sges = 1 };
	struct weft_dev_srq *srq;
	struct side *s[2];
	struct weft_dev_ah *ah = pair_datagrams(s);
	const uint32_t bytes[] = { WEFT_GRH_BYTES + BYTES, WEFT_GRH_BYTES + BYTES - 1 };

	CHECK_EQ(weft_dev_srq_open(s[1]->pd, &srq_attr, NULL, &srq), 0);
	CHECK_EQ(weft_dev_qp_close(s[1]->qp), 0);
	side_open_qp(s[1], WEFT_DEV_DATAGRAM, srq);
	side_init(s[1]);
	CHECK_EQ(weft_dev_qp_modify(s[1]->qp, &attr, WEFT_DEV_SET_STATE), 0);
	for (uint32_t i = 0; i < 3; i++)
		send_one(s, ah, i);
	for (uint32_t i = 0; i < 2; i++) {
		struct weft_dev_sge sge = side_sge(s[1], 0, bytes[i]);
		struct weft_dev_recv recv = { .id = i, .sges = &sge, .n_sges = 1 };

		CHECK_EQ(weft_dev_srq_post(srq, &recv), 0);
	}
	struct weft_dev_wc wc = side_wait(s[1]);

	CHECK_EQ(wc.status, WEFT_DEV_OK);
	CHECK_EQ(wc.id, 0);
	CHECK_EQ(wc.imm, 0);
	CHECK_EQ(s[1]->dev->datagrams.too_long, 2);
	CHECK_EQ(srq->n_free, srq_attr.depth - 1); /* and is there still */
	CHECK_EQ(weft_dev_qp_close(s[1]->qp), 0);
	s[1]->qp = NULL;
	CHECK_EQ(weft_dev_srq_close(srq), 0);
	CHECK_EQ(weft_dev_ah_close(ah), 0);
	pair_close(s);
}
