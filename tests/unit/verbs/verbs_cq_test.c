/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_device.h"

TEST(ibv_create_comp_channel__is_counted_by_its_queues)
{
	struct ibv_context *context = open_context();
	struct ibv_comp_channel *channel = ibv_create_comp_channel(context);

	REQUIRE(channel);
	CHECK_EQ(channel->fd, 78);
	struct ibv_cq *cq = ibv_create_cq(context, 4, &fake, channel, 0);
	REQUIRE(cq);
	CHECK_EQ(channel->refcnt, 1);
	fake.error = EBUSY;
	CHECK_EQ(ibv_destroy_comp_channel(channel), EBUSY);
	CHECK(!ibv_destroy_cq(cq));
	CHECK_EQ(channel->refcnt, 0);
	CHECK(!ibv_destroy_comp_channel(channel));
	close_context(context);
}

TEST(ibv_get_cq_event__gives_the_queue_and_its_context)
{
	struct ibv_context *context = open_context();
	struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
	struct ibv_cq *cq = ibv_create_cq(context, 4, &fake, channel, 0), *got = NULL;
	void *user = NULL;

	REQUIRE(cq);
	CHECK_EQ(ibv_get_cq_event(channel, &got, &user), -1);
	CHECK_EQ(errno, EAGAIN);
	fake.channel_user = cq;
	CHECK(!ibv_get_cq_event(channel, &got, &user));
	CHECK(!ibv_get_cq_event(channel, &got, &user));
	CHECK(got == cq && user == &fake);
	ibv_ack_cq_events(cq, 2);
	CHECK(!ibv_destroy_cq(cq)); /* would wait for ever without */
	CHECK(!ibv_destroy_comp_channel(channel));
	close_context(context);
}

TEST(ibv_create_cq__checks_size_and_vector)
{
	struct ibv_context *context = open_context();

	CHECK(!ibv_create_cq(context, 0, NULL, NULL, 0));
	CHECK(!ibv_create_cq(context, 4097, NULL, NULL, 0));
	CHECK(!ibv_create_cq(context, 4, NULL, NULL, 1));
	CHECK_EQ(errno, EINVAL);
	close_context(context);
}

TEST(cq_create_ex__refuses_fields_that_it_cannot_have)
{
	struct ibv_context *context = open_context();
	struct ibv_cq_init_attr_ex attr = { .cqe = 4, .wc_flags = IBV_WC_EX_WITH_TM_INFO };

	CHECK(!ibv_create_cq_ex(context, &attr));
	CHECK_EQ(errno, EOPNOTSUPP);
	attr.wc_flags = IBV_WC_STANDARD_FLAGS;
	struct ibv_cq_ex *cq = ibv_create_cq_ex(context, &attr);
	REQUIRE(cq);
	CHECK_EQ(cq->cqe, 4);
	CHECK(!ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	close_context(context);
}

TEST(ibv_resize_cq__tells_the_new_size)
{
	struct ibv_context *context = open_context();
	struct ibv_cq *cq = ibv_create_cq(context, 4, NULL, NULL, 0);

	CHECK(!ibv_resize_cq(cq, 9));
	CHECK_EQ(cq->cqe, 9);
	CHECK_EQ(ibv_resize_cq(cq, 0), EINVAL);
	CHECK(!ibv_destroy_cq(cq));
	close_context(context);
}

TEST(cq_poll__translates_completions)
{
	struct bench b = open_bench(IBV_QPT_RC, 0);
	struct weft_dev_cq *dev = cq_of(b.cq)->dev;
	struct ibv_wc wc[8];

	CHECK_EQ(ibv_poll_cq(b.cq, 8, wc), 0);
	dev->wcs[0] = (struct weft_dev_wc){ .id = 5,
		.op = WEFT_DEV_DONE_RECV_IMM,
		.imm = 0x01020304,
		.len_bytes = 77,
		.qpn = 0x4711,
		.flags = WEFT_DEV_WC_WITH_IMM };
	dev->wcs[1] =
		(struct weft_dev_wc){ .id = 6, .status = WEFT_DEV_RETRY_EXC_ERR, .vendor = 3 };
	dev->n = 2;
	CHECK_EQ(ibv_poll_cq(b.cq, 8, wc), 2);
	CHECK_EQ(wc[0].wr_id, 5);
	CHECK_EQ(wc[0].opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	CHECK_MEM(&wc[0].imm_data, "\x01\x02\x03\x04", 4);
	CHECK_EQ(wc[0].byte_len, 77);
	CHECK_EQ(wc[0].wc_flags, IBV_WC_WITH_IMM);
	CHECK_EQ(wc[1].status, IBV_WC_RETRY_EXC_ERR);
	CHECK_EQ(wc[1].vendor_err, 3);
	dev->n = -1; /* overrun */
	CHECK_EQ(ibv_poll_cq(b.cq, 8, wc), -1);
	close_bench(&b);
}

TEST(cq_arm__passes_on_whether_solicited)
{
	struct bench b = open_bench(IBV_QPT_RC, 0);

	CHECK(!ibv_req_notify_cq(b.cq, 0));
	CHECK_EQ(cq_of(b.cq)->dev->armed, 1);
	CHECK(!ibv_req_notify_cq(b.cq, 1));
	CHECK_EQ(cq_of(b.cq)->dev->armed, 2);
	close_bench(&b);
}
