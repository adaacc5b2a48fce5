/* SPDX-License-Identifier: BSD-2-Clause */
#include "virtual.h"

static int post(struct weft_dev_srq *srq, struct side *s, uint64_t id)
{
	struct weft_dev_sge sge = side_sge(s, (uint32_t)id * 64, 64);
	struct weft_dev_recv recv = { .id = id, .sges = &sge, .n_sges = 1 };

	return weft_dev_srq_post(srq, &recv);
}

/* Two connections, of which the second side's ends share a queue of receives. */
static void open_shared(struct side *s[2], void *user, struct weft_dev_srq **srq,
	struct weft_dev_qp *qps[2][2])
{
	struct weft_dev_srq_attr attr = { .depth = 4, .sges = 1 };

	for (unsigned i = 0; i < 2; i++)
		s[i] = side_open();
	CHECK_EQ(weft_dev_srq_open(s[1]->pd, &attr, user, srq), 0);
	for (unsigned q = 0; q < 2; q++) {
		for (unsigned i = 0; i < 2; i++) {
			side_open_qp(s[i], WEFT_DEV_EXTENDED, i ? *srq : NULL);
			side_init(s[i]);
			qps[i][q] = s[i]->qp;
		}
		side_ready(s[0], s[1]);
		side_ready(s[1], s[0]);
	}
}

static void close_shared(struct side *s[2], struct weft_dev_srq *srq, struct weft_dev_qp *qps[2][2])
{
	for (unsigned q = 0; q < 2; q++)
		for (unsigned i = 0; i < 2; i++)
			CHECK_EQ(weft_dev_qp_close(qps[i][q]), 0);
	s[0]->qp = s[1]->qp = NULL;
	CHECK_EQ(weft_dev_srq_close(srq), 0);
	pair_close(s);
}

TEST(weft_dev_srq_post__feeds_several_queue_pairs)
{
	struct side *s[2];
	struct weft_dev_srq_attr attr;
	struct weft_dev_srq *srq;
	struct weft_dev_qp *qps[2][2];
	struct weft_dev_send send = { .op = WEFT_DEV_SEND, .flags = WEFT_DEV_SIGNALED };
	struct weft_dev_event event;

	open_shared(s, &srq, &srq, qps);
	for (uint64_t i = 0; i < 4; i++)
		CHECK_EQ(post(srq, s[1], i), 0);
	CHECK_EQ(post(srq, s[1], 4), ENOMEM);
	CHECK_EQ(weft_dev_srq_limit(srq, 3), 0);
	for (unsigned q = 0; q < 2; q++) {
		s[0]->qp = qps[0][q];
		s[0]->memory[0] = (uint8_t)(q + 1);
		CHECK_EQ(side_post(s[0], send, 0, 64), 0);
		struct weft_dev_wc wc = side_wait(s[1]);

		CHECK_EQ(wc.status, WEFT_DEV_OK);
		CHECK_EQ(wc.qpn, weft_dev_qp_number(qps[1][q]));
		CHECK_EQ(s[1]->memory[wc.id * 64], q + 1);
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	}
	do
		REQUIRE(!weft_dev_event_get(s[1]->dev, &event));
	while (event.kind != WEFT_DEV_SRQ_LIMIT);
	CHECK(event.user == &srq);
	weft_dev_srq_query(srq, &attr);
	CHECK_EQ(attr.limit, 0);
	CHECK_EQ(post(srq, s[1], 4), 0);
	CHECK_EQ(weft_dev_srq_close(srq), EBUSY);
	close_shared(s, srq, qps);
}

/* It waits like any other, and whose message gets it fails; the other queue pair goes on. */
TEST(weft_dev_srq_post__of_wrong_memory_fails_who_finds_it)
{
	struct side *s[2];
	struct weft_dev_send send = { .op = WEFT_DEV_SEND, .flags = WEFT_DEV_SIGNALED };
	struct weft_dev_srq *srq;
	struct weft_dev_qp *qps[2][2];

	open_shared(s, NULL, &srq, qps);
	struct weft_dev_sge sge = side_sge(s[1], 0, 64);
	struct weft_dev_recv wrong = { .id = 9, .sges = &sge, .n_sges = 1 };

	sge.lkey ^= 1u << 30;
	memset(s[1]->memory, 0, 512);
	memset(s[0]->memory, 1, 64);
	CHECK_EQ(weft_dev_srq_post(srq, &wrong), 0);
	CHECK_EQ(post(srq, s[1], 1), 0);
	for (unsigned q = 0; q < 2; q++) {
		s[0]->qp = qps[0][q];
		CHECK_EQ(side_post(s[0], send, 0, 64), 0);
		CHECK_EQ(side_wait(s[0]).status, q ? WEFT_DEV_OK : WEFT_DEV_REM_OP_ERR);
		struct weft_dev_wc wc = side_wait(s[1]);

		CHECK_EQ(wc.status, q ? WEFT_DEV_OK : WEFT_DEV_LOC_PROT_ERR);
		CHECK_EQ(wc.id, q ? 1 : 9);
		CHECK_EQ(wc.qpn, weft_dev_qp_number(qps[1][q]));
		CHECK_EQ(s[1]->memory[0], 0);
		CHECK_EQ(s[1]->memory[64], q);
	}
	for (uint64_t i = 0; i < 4; i++) /* its place is free again */
		CHECK_EQ(post(srq, s[1], i), 0);
	close_shared(s, srq, qps);
}
