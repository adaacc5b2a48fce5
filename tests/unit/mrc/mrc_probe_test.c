/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

#define SECOND 1000000000u

TEST(mrc_ctl_ep_batch_send_wait__measures_each_path)
{
	struct mrc_context *context = fake_open(0);
	struct mrc_ctl_ep_req req[6];
	struct mrc_ctl_ep_rsp rsp[6];
	bool seen[6] = { false };
	int n = 7;

	memset(req, 0, sizeof(req));
	for (int i = 0; i < 6; i++) {
		req[i].req_id = (uint16_t)(100 + i);
		req[i].ev_fmt_mode = MRC_CTL_EV_FMT_MODE_STEV;
		req[i].req_ev = stage_ev((uint32_t)(i % 4) << 16, (uint8_t)(i % 4 + 1));
		if (i == 5)
			req[i].req_ev = stage_ev(2, 1);
		memcpy(req[i].dgid.raw, fake_peer, 16);
	}
	CHECK(!mrc_ctl_ep_batch_send_wait(
		context, 0, MRC_CTL_EP_OP_EV_PROBE, req, 6, 2 * SECOND, rsp, &n));
	CHECK_EQ(n, 5); /* EV 2 does not answer */
	for (int i = 0; i < n; i++) {
		int index = rsp[i].req_id - 100;

		REQUIRE(index >= 0 && index < 5);
		CHECK(!seen[index]);
		seen[index] = true;
		CHECK_EQ(rsp[i].rtt, 1000u + ((uint32_t)(index % 4) << 16));
		CHECK_EQ(rsp[i].port, index % 4 + 1);
	}
	CHECK_EQ(ERRNO_OF(mrc_ctl_ep_batch_send_wait(
			 context, 0, MRC_CTL_EP_OP_EV_PROBE, &req[5], 1, 2 * SECOND, rsp, &n)),
		ETIMEDOUT);
	req[0].dgid.raw[15]++; /* nobody */
	CHECK_EQ(ERRNO_OF(mrc_ctl_ep_batch_send_wait(
			 context, 0, MRC_CTL_EP_OP_EV_PROBE, req, 1, 2 * SECOND, rsp, &n)),
		EHOSTUNREACH);
	fake_close(context);
}

/* Neither a host that cannot be asked nor one that has not been met keeps the others' answers. */
TEST(mrc_ctl_ep_batch_send_wait__goes_on_behind_those_it_cannot_reach)
{
	struct mrc_context *context = fake_open(0);
	struct mrc_ctl_ep_req req[7];
	struct mrc_ctl_ep_rsp rsp[7];
	int n = 0;

	memset(req, 0, sizeof(req));
	for (int i = 0; i < 7; i++) {
		req[i].req_id = (uint16_t)i;
		req[i].ev_fmt_mode = MRC_CTL_EV_FMT_MODE_STEV;
		req[i].req_ev = stage_ev((uint32_t)(i % 4) << 16, (uint8_t)(i % 4 + 1));
		memcpy(req[i].dgid.raw, fake_peer, 16);
	}
	req[0].dgid.raw[15]++; /* nobody */
	req[4].dgid.raw[15]++;
	fake_dev.unmet_ev = 0x20000; /* requests 2 and 6 */
	CHECK(!mrc_ctl_ep_batch_send_wait(
		context, 0, MRC_CTL_EP_OP_EV_PROBE, req, 7, SECOND / 10, rsp, &n));
	CHECK_EQ(n, 3);
	for (int i = 0; i < n; i++)
		CHECK(rsp[i].req_id == 1 || rsp[i].req_id == 3 || rsp[i].req_id == 5);
	fake_close(context);
}

static void *ask_in_vain(void *context)
{
	struct mrc_ctl_ep_req req = { .ev_fmt_mode = MRC_CTL_EV_FMT_MODE_STEV,
		.req_ev = stage_ev(0x20000, 3) };
	struct mrc_ctl_ep_rsp rsp;
	int n = 0;

	memcpy(req.dgid.raw, fake_peer, 16);
	(void)mrc_ctl_ep_batch_send_wait(
		context, 0, MRC_CTL_EP_OP_EV_PROBE, &req, 1, SECOND / 4, &rsp, &n);
	pthread_testcancel();
	return context;
}

/* A thread that is cancelled while it waits for answers takes no lock with it. */
TEST(mrc_ctl_ep_batch_send_wait__survives_a_cancelled_thread)
{
	struct mrc_context *context = fake_open(0);
	pthread_t thread;
	void *end = NULL;

	fake_dev.unmet_ev = 0x20000;
	REQUIRE(!pthread_create(&thread, NULL, ask_in_vain, context));
	usleep(SECOND / 20 / 1000);
	REQUIRE(!pthread_cancel(thread) && !pthread_join(thread, &end));
	CHECK(end == PTHREAD_CANCELED);
	alarm(30);
	CHECK(ask_in_vain(context) == context);
	alarm(0);
	fake_close(context);
}

TEST(mrc_ctl_ep_batch_send_wait__tells_ports)
{
	struct mrc_context *context = fake_open(0);
	struct mrc_ctl_ep_req req = {
		.req_id = 9, .ev_fmt_mode = MRC_CTL_EV_FMT_MODE_STEV, .req_ev = stage_ev(0x20000, 3)
	};
	struct mrc_ctl_ep_rsp rsp;
	int n = 0;

	memcpy(req.dgid.raw, fake_peer, 16);
	req.op.port_status_update.port_status = 1 << 1 | 1 << 4; /* ports 1 and 4 */
	CHECK(!mrc_ctl_ep_batch_send_wait(context, WEFT_DSCP_DEFAULT.control,
		MRC_CTL_EP_OP_PORT_STATUS_UPDATE, &req, 1, 2 * SECOND, &rsp, &n));
	CHECK_EQ(n, 1);
	CHECK_EQ(rsp.req_id, 9);
	CHECK_EQ(rsp.port, 3);
	CHECK_EQ(rsp.rtt, 1000 + 0x20000);
	CHECK_EQ(fake_dev.told_planes, 9);
	req.op.port_status_update.port_status = 1 << 5; /* there are four */
	CHECK_EQ(ERRNO_OF(mrc_ctl_ep_batch_send_wait(context, 0, MRC_CTL_EP_OP_PORT_STATUS_UPDATE,
			 &req, 1, 2 * SECOND, &rsp, &n)),
		EINVAL);
	fake_close(context);
}

TEST(mrc_ctl_ep_batch_send_wait__refuses_what_it_cannot)
{
	struct mrc_context *context = fake_open(0);
	struct mrc_ctl_ep_req req = { .ev_fmt_mode = MRC_CTL_EV_FMT_MODE_STEV };
	struct mrc_ctl_ep_rsp rsp;
	int n;

	CHECK_EQ(ERRNO_OF(mrc_ctl_ep_batch_send_wait(
			 context, 0, (enum mrc_ctl_ep_op_type)2, &req, 1, 1, &rsp, &n)),
		ENOTSUP);
	CHECK_EQ(ERRNO_OF(mrc_ctl_ep_batch_send_wait(
			 context, 45, MRC_CTL_EP_OP_EV_PROBE, &req, 1, 1, &rsp, &n)),
		ENOTSUP); /* not the class that they travel in */
	CHECK_EQ(ERRNO_OF(mrc_ctl_ep_batch_send_wait(
			 context, 0, MRC_CTL_EP_OP_EV_PROBE, &req, 1, 1, &rsp, &n)),
		EINVAL); /* port 0 */
	CHECK_EQ(ERRNO_OF(mrc_ctl_ep_batch_send_wait(
			 context, 0, MRC_CTL_EP_OP_EV_PROBE, &req, 0, 1, &rsp, &n)),
		EINVAL);
	fake_close(context);
}
