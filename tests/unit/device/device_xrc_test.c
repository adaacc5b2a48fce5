/* SPDX-License-Identifier: BSD-2-Clause */
#include "virtual.h"

/* Side 0 asks; side 1 has a domain with two queues of one completion queue each. */
struct ends {
	struct side *s[2];
	struct weft_dev_xrcd *xrcd;
	struct weft_dev_cq *cq[2];
	struct weft_dev_srq *srq[2];
};

static void open_ends(struct ends *e)
{
	for (unsigned i = 0; i < 2; i++)
		e->s[i] = side_open();
	struct side *to = e->s[1];

	REQUIRE(!weft_dev_xrcd_open(to->dev, &e->xrcd));
	for (unsigned i = 0; i < 2; i++) {
		REQUIRE(!weft_dev_cq_open(to->dev, 8, NULL, NULL, &e->cq[i]));
		struct weft_dev_srq_attr attr = { .depth = 4, .sges = 1, .xrcd = e->xrcd,
			.cq = e->cq[i] };

		REQUIRE(!weft_dev_srq_open(to->pd, &attr, NULL, &e->srq[i]));
	}
	const struct weft_dev_qp_init init = { .user = e };

	side_open_qp(e->s[0], WEFT_DEV_XRC_SEND, NULL);
	REQUIRE(!weft_dev_xrc_recv_open(e->xrcd, &init, &to->qp));
	for (unsigned i = 0; i < 2; i++)
		side_init(e->s[i]);
	side_ready(e->s[0], e->s[1]);
	side_ready(e->s[1], e->s[0]);
}

static void close_ends(struct ends *e)
{
	CHECK_EQ(weft_dev_xrcd_close(e->xrcd), EBUSY);
	CHECK_EQ(weft_dev_qp_close(e->s[1]->qp), 0);
	e->s[1]->qp = NULL;
	for (unsigned i = 0; i < 2; i++) {
		CHECK_EQ(weft_dev_cq_close(e->cq[i]), EBUSY);
		CHECK_EQ(weft_dev_srq_close(e->srq[i]), 0);
		CHECK_EQ(weft_dev_cq_close(e->cq[i]), 0);
	}
	CHECK_EQ(weft_dev_xrcd_close(e->xrcd), 0);
	pair_close(e->s);
}

static void post(struct ends *e, unsigned q, uint32_t id)
{
	struct weft_dev_sge sge = side_sge(e->s[1], 4096 + id * 64, 64);
	struct weft_dev_recv recv = { .id = id, .sges = &sge, .n_sges = 1 };

	CHECK_EQ(weft_dev_srq_post(e->srq[q], &recv), 0);
}

static struct weft_dev_wc wait_for(struct weft_dev_cq *cq)
{
	uint64_t end_ns = ground_now() + LIMIT_S * UINT64_C(1000000000);
	struct weft_dev_wc wc = { 0 };

	while (!weft_dev_cq_poll(cq, &wc, 1) && ground_now() < end_ns)
		ground_wait(end_ns);
	CHECK(ground_now() < end_ns);
	return wc;
}

TEST(weft_dev_xrc__sends_complete_where_the_queue_says)
{
	struct ends e;

	open_ends(&e);
	CHECK(weft_dev_srq_number(e.srq[0]) != weft_dev_srq_number(e.srq[1]));
	for (uint32_t i = 0; i < 6; i++) {
		unsigned q = i % 3 == 1;
		struct weft_dev_send send = { .op = WEFT_DEV_SEND, .flags = WEFT_DEV_SIGNALED,
			.srqn = weft_dev_srq_number(e.srq[q]) };

		post(&e, q, i);
		e.s[0]->memory[0] = (uint8_t)(i + 1);
		CHECK_EQ(side_post(e.s[0], send, 0, 64), 0);
		struct weft_dev_wc wc = wait_for(e.cq[q]);

		CHECK_EQ(wc.status, WEFT_DEV_OK);
		CHECK_EQ(wc.id, i);
		CHECK_EQ(wc.len_bytes, 64);
		CHECK_EQ(wc.qpn, weft_dev_qp_number(e.s[1]->qp));
		CHECK_EQ(e.s[1]->memory[4096 + i * 64], i + 1);
		CHECK_EQ(side_wait(e.s[0]).status, WEFT_DEV_OK);
	}
	close_ends(&e);
}

TEST(weft_dev_xrc__a_queue_that_is_not_there_fails_the_sender)
{
	struct weft_dev_send send = { .op = WEFT_DEV_SEND, .flags = WEFT_DEV_SIGNALED,
		.srqn = 0x123456 };
	struct weft_dev_event event;
	struct ends e;

	open_ends(&e);
	CHECK_EQ(side_post(e.s[0], send, 0, 64), 0);
	CHECK_EQ(side_wait(e.s[0]).status, WEFT_DEV_REM_INV_REQ_ERR);
	weft_dev_qp_set_user(e.s[1]->qp, &event);
	do
		REQUIRE(!weft_dev_event_get(e.s[1]->dev, &event));
	while (event.kind != WEFT_DEV_QP_REQUEST);
	CHECK(event.user == &event);
	send.srqn = 0x1000000;
	CHECK_EQ(side_post(e.s[0], send, 0, 64), EINVAL);
	close_ends(&e);
}

TEST(weft_dev_xrc__a_receiving_queue_pair_does_nothing_else)
{
	struct weft_dev_send send = { .op = WEFT_DEV_SEND };
	struct weft_dev_recv recv = { .id = 1 };
	struct weft_dev_qp_init init = { 0 };
	struct weft_dev_qp *qp;
	struct ends e;

	open_ends(&e);
	CHECK_EQ(side_post(e.s[1], send, 0, 64), EINVAL);
	CHECK_EQ(weft_dev_post_recv(e.s[1]->qp, &recv), EINVAL);
	CHECK_EQ(weft_dev_post_recv(e.s[0]->qp, &recv), EINVAL);
	init.profile = WEFT_DEV_EXTENDED;
	init.cq_tx = init.cq_rx = e.s[1]->cq;
	init.srq = e.srq[0]; /* is of XRC */
	CHECK_EQ(weft_dev_qp_open(e.s[1]->pd, &init, &qp), EINVAL);
	init.srq = NULL;
	init.profile = WEFT_DEV_XRC_RECV; /* of no domain */
	CHECK_EQ(weft_dev_qp_open(e.s[1]->pd, &init, &qp), EINVAL);
	close_ends(&e);
}
