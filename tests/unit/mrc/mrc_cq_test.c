/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

#include <endian.h>
#include <poll.h>

TEST(mrc_poll_cq__speaks_verbs)
{
	struct mrc_context *context = fake_open(0);
	struct mrc_cq *cq = mrc_create_cq(context, 8, NULL, NULL, 0);
	struct ibv_wc wc[40];

	REQUIRE(cq);
	CHECK_EQ(mrc_poll_cq(cq, 4, wc), 0);
	for (int i = 0; i < 37; i++)
		fake_dev.done[i] = (struct weft_dev_wc){ .id = (uint64_t)i,
			.op = WEFT_DEV_DONE_RECV_IMM,
			.imm = 0x11223344,
			.len_bytes = 9,
			.qpn = 5,
			.flags = WEFT_DEV_WC_WITH_IMM };
	fake_dev.done[36].status = WEFT_DEV_RETRY_EXC_ERR;
	fake_dev.n_done = 37;
	CHECK_EQ(mrc_poll_cq(cq, 40, wc), 37); /* more than one batch */
	CHECK_EQ(wc[3].wr_id, 3);
	CHECK_EQ(wc[3].opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	CHECK_EQ(wc[3].imm_data, htobe32(0x11223344));
	CHECK_EQ(wc[3].wc_flags, IBV_WC_WITH_IMM);
	CHECK_EQ(wc[3].byte_len, 9);
	CHECK_EQ(wc[36].status, IBV_WC_RETRY_EXC_ERR);
	fake_dev.overrun = true;
	CHECK_EQ(mrc_poll_cq(cq, 1, wc), -1);
	CHECK(!mrc_destroy_cq(cq));
	CHECK(!mrc_create_cq(context, 0, NULL, NULL, 0));
	CHECK(!mrc_create_cq(context, 8, NULL, NULL, 1));
	CHECK(!mrc_create_cq(context, 100000, NULL, NULL, 0));
	CHECK_EQ(errno, EINVAL);
	fake_close(context);
}

TEST(mrc_get_cq_event__wakes_for_both_kinds_of_queues)
{
	struct mrc_context *context = fake_open(0);
	struct mrc_comp_channel *channel = NULL;
	int fd = -1, mine = 0;
	void *user = NULL;
	struct mrc_cq *got = NULL;

	REQUIRE(!mrc_create_comp_channel(context, &channel));
	CHECK(!mrc_get_comp_channel_fd(channel, &fd));
	struct mrc_cq *cq = mrc_create_cq(context, 8, &mine, channel, 0);
	struct mrc_cq *evs = mrc_ctl_create_ev_event_cq(context, 8, &fd, channel, 0);

	REQUIRE(cq && evs);
	CHECK_EQ(mrc_destroy_comp_channel(channel), EBUSY);
	CHECK(!fcntl(fd, F_SETFL, O_NONBLOCK));
	CHECK_EQ(ERRNO_OF(mrc_get_cq_event(channel, &got, &user)), EAGAIN);
	struct pollfd door = { .fd = fd, .events = POLLIN };

	CHECK_EQ(poll(&door, 1, 0), 0);
	CHECK_EQ(mrc_req_notify_cq(cq, 0), 0);
	CHECK_EQ(poll(&door, 1, 20000), 1);
	CHECK(!mrc_get_cq_event(channel, &got, &user));
	CHECK(got == cq && user == &mine);
	mrc_ack_cq_events(cq, 1);
	CHECK_EQ(mrc_req_notify_cq(evs, 0), 0);
	CHECK_EQ(ERRNO_OF(mrc_get_cq_event(channel, &got, &user)), EAGAIN);
	struct mrc_ctl_ev ev = stage_ev(1, 1);

	plant_lock(context->station->plant);
	plant_tell(context->station->plant, 1, &ev, MRC_CTL_EV_GOOD);
	plant_unlock(context->station->plant);
	CHECK(!fcntl(fd, F_SETFL, 0));
	CHECK(!mrc_get_cq_event(channel, &got, &user)); /* the watcher rings */
	CHECK(got == evs && user == &fd);
	mrc_ack_cq_events(evs, 1);
	CHECK(!mrc_destroy_cq(evs));
	CHECK(!mrc_destroy_cq(cq));
	CHECK(!mrc_destroy_comp_channel(channel));
	fake_close(context);
}

TEST(mrc_get_cq_event__forgets_a_destroyed_queue)
{
	struct mrc_context *context = fake_open(0);
	struct mrc_comp_channel *channel = NULL;
	struct mrc_cq *got;
	void *user;
	int fd = -1;

	REQUIRE(!mrc_create_comp_channel(context, &channel));
	CHECK(!mrc_get_comp_channel_fd(channel, &fd));
	CHECK(!fcntl(fd, F_SETFL, O_NONBLOCK));
	struct mrc_cq *evs = mrc_ctl_create_ev_event_cq(context, 8, NULL, channel, 0);

	REQUIRE(evs);
	CHECK(channel_ring(evs));
	CHECK(!mrc_destroy_cq(evs));
	CHECK_EQ(ERRNO_OF(mrc_get_cq_event(channel, &got, &user)), EAGAIN);
	CHECK(!mrc_destroy_comp_channel(channel));
	fake_close(context);
}

/* Who destroys the queue then waits for the acknowledgement, and frees nothing under our hands. */
TEST(mrc_get_cq_event__takes_and_counts_in_one_go)
{
	struct mrc_context *context = fake_open(0);
	struct mrc_comp_channel *channel = NULL;
	struct mrc_cq *got = NULL;
	void *user;

	REQUIRE(!mrc_create_comp_channel(context, &channel));
	struct mrc_cq *cq = mrc_create_cq(context, 8, NULL, channel, 0);

	REQUIRE(cq);
	fake_dev.must_be_held = &context->station->lock;
	CHECK_EQ(mrc_req_notify_cq(cq, 0), 0);
	CHECK(!mrc_get_cq_event(channel, &got, &user));
	fake_dev.must_be_held = NULL;
	CHECK_EQ(atomic_load(&cq->unacked), 1);
	mrc_ack_cq_events(cq, 1);
	CHECK(!mrc_destroy_cq(cq));
	CHECK(!mrc_destroy_comp_channel(channel));
	fake_close(context);
}
