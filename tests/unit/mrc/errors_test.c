/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every function of the API with arguments that it must refuse, over the real device: NULLs, masks
 * and states that do not exist, objects of others, objects that are busy or gone.  What is wanted
 * is what mrc.h and mrc_ctl.h say of each.
 */
#include "mrc_local.h"
#include "unit/net/netns.h"

#include <fcntl.h>
#include <mrc_ctl.h>

#define ERRNO_OF(call) (errno = 0, (call) == -1 ? errno : 0)
#define NULL_OF(call) (errno = 0, (call) ? 0 : errno)

struct rig {
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct mrc_context *context, *other;
	struct mrc_comp_channel *channel;
	struct mrc_cq *cq, *events;
	struct mrc_qp *qp;
	struct mrc_qp_init_attr init;
};

static struct ibv_context *device(void)
{
	struct ibv_device **list;
	struct ibv_context *verbs;
	char path[64];

	netns_enter();
	REQUIRE(shell("ip link set lo up"));
	setenv("WEFT_PLANES", "127.0.0.1,::1", 1);
	snprintf(path, sizeof(path), "/tmp/weft-errors-%d", (int)getpid());
	setenv("WEFT_MRC_PROFILES", path, 1);
	list = ibv_get_device_list(NULL);
	REQUIRE(list && list[0]);
	verbs = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	REQUIRE(verbs);
	return verbs;
}

static void rig_open(struct rig *r)
{
	memset(r, 0, sizeof(*r));
	r->verbs = device();
	r->pd = ibv_alloc_pd(r->verbs);
	r->context = mrc_create_context(r->verbs, NULL);
	r->other = mrc_create_context(r->verbs, NULL);
	REQUIRE(r->pd && r->context && r->other);
	REQUIRE(!mrc_create_comp_channel(r->context, &r->channel));
	r->cq = mrc_create_cq(r->context, 16, NULL, r->channel, 0);
	r->events = mrc_ctl_create_ev_event_cq(r->context, 16, NULL, r->channel, 0);
	REQUIRE(r->cq && r->events);
	r->init = (struct mrc_qp_init_attr){ .send_cq = r->cq,
		.recv_cq = r->cq,
		.pd = r->pd,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1 } };
	r->qp = mrc_create_qp(r->context, &r->init);
	REQUIRE(r->qp);
}

static void rig_close(struct rig *r)
{
	CHECK_EQ(mrc_destroy_qp(r->qp), 0);
	CHECK_EQ(mrc_destroy_cq(r->events), 0);
	CHECK_EQ(mrc_destroy_cq(r->cq), 0);
	CHECK_EQ(mrc_destroy_comp_channel(r->channel), 0);
	CHECK_EQ(mrc_destroy_context(r->other), 0);
	CHECK_EQ(mrc_destroy_context(r->context), 0);
	CHECK_EQ(ibv_dealloc_pd(r->pd), 0);
	CHECK_EQ(ibv_close_device(r->verbs), 0);
	unlink(getenv("WEFT_MRC_PROFILES"));
}

TEST(device_and_context)
{
	struct mrc_device_attr attr;
	struct mrc_ctl_device_attr ctl;
	struct mrc_context_attr version = { .mrc_api_version_used = MRC_API_VER(1, 0, 2) };
	struct ibv_context foreign = { 0 };
	struct rig r;
	int yes;

	rig_open(&r);
	CHECK_EQ(ERRNO_OF(mrc_query_device(NULL, &attr, &yes)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_query_device(r.verbs, NULL, &yes)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_query_device(r.verbs, &attr, NULL)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_query_device_ex(&foreign, r.context, &attr, &yes)), EINVAL);
	CHECK_EQ(mrc_query_device_ex(&foreign, NULL, &attr, &yes), 0);
	CHECK_EQ(yes, 0);
	CHECK_EQ(ERRNO_OF(mrc_ctl_query_device(NULL, &ctl)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_ctl_query_device(r.verbs, NULL)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_ctl_query_device(&foreign, &ctl)), ENODEV);
	CHECK_EQ(ERRNO_OF(mrc_ctl_query_device_ex(r.verbs, NULL, &ctl, NULL)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_ctl_query_device_ex(&foreign, r.context, &ctl, &yes)), EINVAL);
	mrc_query_version(NULL, NULL, NULL, NULL);
	mrc_ctl_query_version(NULL, NULL, NULL, NULL);
	CHECK_EQ(NULL_OF(mrc_create_context(NULL, NULL)), EINVAL);
	CHECK_EQ(NULL_OF(mrc_create_context(&foreign, NULL)), ENODEV);
	CHECK_EQ(NULL_OF(mrc_create_context(r.verbs, &version)), ENOTSUP);
	version.mrc_api_version_used = 0;
	version.mrc_vendor_api_version_used = MRC_API_VER(2, 0, 0);
	CHECK_EQ(NULL_OF(mrc_create_context(r.verbs, &version)), ENOTSUP);
	CHECK_EQ(ERRNO_OF(mrc_destroy_context(NULL)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_destroy_context(r.context)), EBUSY);
	/* Twice. */
	struct mrc_context *gone = mrc_create_context(r.verbs, NULL);

	CHECK_EQ(mrc_destroy_context(gone), 0);
	CHECK_EQ(ERRNO_OF(mrc_destroy_context(gone)), EINVAL);
	rig_close(&r);
}

TEST(channels_and_queues)
{
	struct mrc_comp_channel *channel;
	struct mrc_ctl_ev_event event;
	struct mrc_async_event async;
	struct mrc_cq *cq;
	struct ibv_wc wc;
	struct rig r;
	void *user;
	int fd;

	rig_open(&r);
	CHECK_EQ(mrc_create_comp_channel(NULL, &channel), EINVAL);
	CHECK_EQ(mrc_create_comp_channel(r.context, NULL), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_get_comp_channel_fd(NULL, &fd)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_get_comp_channel_fd(r.channel, NULL)), EINVAL);
	CHECK_EQ(mrc_destroy_comp_channel(NULL), EINVAL);
	CHECK_EQ(mrc_destroy_comp_channel(r.channel), EBUSY);
	CHECK_EQ(NULL_OF(mrc_create_cq(NULL, 4, NULL, NULL, 0)), EINVAL);
	CHECK_EQ(NULL_OF(mrc_create_cq(r.context, 0, NULL, NULL, 0)), EINVAL);
	CHECK_EQ(NULL_OF(mrc_create_cq(r.context, 1 << 30, NULL, NULL, 0)), EINVAL);
	CHECK_EQ(NULL_OF(mrc_create_cq(r.context, 4, NULL, NULL, 1)), EINVAL);
	CHECK_EQ(NULL_OF(mrc_create_cq(r.other, 4, NULL, r.channel, 0)), EINVAL);
	CHECK_EQ(NULL_OF(mrc_ctl_create_ev_event_cq(NULL, 4, NULL, NULL, 0)), EINVAL);
	CHECK_EQ(NULL_OF(mrc_ctl_create_ev_event_cq(r.context, 0, NULL, NULL, 0)), EINVAL);
	CHECK_EQ(NULL_OF(mrc_ctl_create_ev_event_cq(r.other, 4, NULL, r.channel, 0)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_poll_cq(NULL, 1, &wc)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_poll_cq(r.cq, 1, NULL)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_poll_cq(r.cq, -1, &wc)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_poll_cq(r.events, 1, &wc)), EINVAL);
	CHECK_EQ(mrc_poll_cq(r.cq, 0, NULL), 0);
	CHECK_EQ(mrc_ctl_poll_ev_event(NULL, 1, &event), -EINVAL);
	CHECK_EQ(mrc_ctl_poll_ev_event(r.cq, 1, &event), -EINVAL);
	CHECK_EQ(mrc_ctl_poll_ev_event(r.events, 1, NULL), -EINVAL);
	CHECK_EQ(mrc_ctl_poll_ev_event(r.events, -1, &event), -EINVAL);
	CHECK_EQ(mrc_req_notify_cq(NULL, 0), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_get_cq_event(NULL, &cq, &user)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_get_cq_event(r.channel, NULL, &user)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_get_cq_event(r.channel, &cq, NULL)), EINVAL);
	CHECK(!mrc_get_comp_channel_fd(r.channel, &fd) && !fcntl(fd, F_SETFL, O_NONBLOCK));
	CHECK_EQ(ERRNO_OF(mrc_get_cq_event(r.channel, &cq, &user)), EAGAIN);
	mrc_ack_cq_events(NULL, 1);
	CHECK_EQ(ERRNO_OF(mrc_get_async_event(NULL, &async)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_get_async_event(r.context, NULL)), EINVAL);
	CHECK(!fcntl(r.verbs->async_fd, F_SETFL, O_NONBLOCK));
	CHECK_EQ(ERRNO_OF(mrc_get_async_event(r.context, &async)), EAGAIN);
	mrc_ack_async_event(NULL);
	CHECK_EQ(mrc_destroy_cq(NULL), EINVAL);
	CHECK_EQ(mrc_destroy_cq(r.cq), EBUSY);
	cq = mrc_create_cq(r.context, 4, NULL, NULL, 0);
	CHECK_EQ(mrc_destroy_cq(cq), 0);
	CHECK_EQ(mrc_destroy_cq(cq), EINVAL);
	rig_close(&r);
}

TEST(hints)
{
	struct mrc_qp_hint_init_attr init = { .attr = { 1, 2, 3 } };
	struct mrc_qp_attr attr = { 0 };
	struct mrc_qp_hint *hint, *foreign;
	struct rig r;

	rig_open(&r);
	hint = mrc_create_qp_hint(r.context, &init);
	foreign = mrc_create_qp_hint(r.other, &init);
	REQUIRE(hint && foreign);
	CHECK_EQ(NULL_OF(mrc_create_qp_hint(NULL, &init)), EINVAL);
	CHECK_EQ(NULL_OF(mrc_create_qp_hint(r.context, NULL)), EINVAL);
	init.attr.num_send_peers = -1;
	CHECK_EQ(NULL_OF(mrc_create_qp_hint(r.context, &init)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_query_qp_hint(NULL, &init.attr, 0)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_query_qp_hint(hint, NULL, 0)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_query_qp_hint(hint, &init.attr, 8)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_modify_qp_hint(NULL, &init.attr, 0)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_modify_qp_hint(hint, NULL, 0)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_modify_qp_hint(hint, &init.attr, 16)), EINVAL);
	CHECK_EQ(
		ERRNO_OF(mrc_modify_qp_hint(hint, &init.attr, MRC_QP_HINT_NUM_SEND_PEERS)), EINVAL);
	attr.qp_hint = foreign;
	CHECK_EQ(mrc_modify_qp(r.qp, NULL, 0, &attr, MRC_QP_HINT), EINVAL);
	attr.qp_hint = hint;
	CHECK_EQ(mrc_modify_qp(r.qp, NULL, 0, &attr, MRC_QP_HINT), 0);
	CHECK_EQ(ERRNO_OF(mrc_destroy_qp_hint(NULL)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_destroy_qp_hint(hint)), EBUSY);
	attr.qp_hint = NULL;
	CHECK_EQ(mrc_modify_qp(r.qp, NULL, 0, &attr, MRC_QP_HINT), 0);
	CHECK_EQ(mrc_destroy_qp_hint(hint), 0);
	CHECK_EQ(ERRNO_OF(mrc_destroy_qp_hint(hint)), EINVAL);
	attr.qp_hint = hint; /* which is gone */
	CHECK_EQ(mrc_modify_qp(r.qp, NULL, 0, &attr, MRC_QP_HINT), EINVAL);
	CHECK_EQ(mrc_destroy_qp_hint(foreign), 0);
	rig_close(&r);
}

TEST(making_a_qp)
{
	struct mrc_qp_init_attr init;
	struct rig r;
	uint32_t qpn;

	rig_open(&r);
	CHECK_EQ(NULL_OF(mrc_create_qp(NULL, &r.init)), EINVAL);
	CHECK_EQ(NULL_OF(mrc_create_qp(r.context, NULL)), EINVAL);
#define REFUSED(field, value, error)                                                               \
	do {                                                                                       \
		init = r.init;                                                                     \
		init.field = value;                                                                \
		CHECK_EQ(NULL_OF(mrc_create_qp(r.context, &init)), error);                         \
	} while (0)
	REFUSED(pd, NULL, EINVAL);
	REFUSED(send_cq, NULL, EINVAL);
	REFUSED(recv_cq, NULL, EINVAL);
	REFUSED(recv_cq, r.events, EINVAL);
	struct mrc_cq *others = mrc_create_cq(r.other, 4, NULL, NULL, 0);

	REFUSED(send_cq, others, EINVAL);
	REFUSED(recv_cq, others, EINVAL);
	CHECK_EQ(mrc_destroy_cq(others), 0);
	REFUSED(cap.max_send_wr, 1u << 30, EINVAL);
	REFUSED(cap.max_send_sge, 1000, EINVAL);
	REFUSED(cap.max_inline_data, 1u << 20, EINVAL);
	REFUSED(send_ops_flags, IBV_QP_EX_WITH_SEND, ENOTSUP);
	REFUSED(protocol_version, (enum mrc_protocol_version)2, EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_get_qpn(NULL, &qpn)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_get_qpn(r.qp, NULL)), EINVAL);
	CHECK_EQ(mrc_destroy_qp(NULL), EINVAL);
	struct mrc_qp *qp = mrc_create_qp(r.context, &r.init);

	CHECK_EQ(mrc_destroy_qp(qp), 0);
	CHECK_EQ(mrc_destroy_qp(qp), EINVAL);
	rig_close(&r);
}

static int go(struct mrc_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state, .dest_qp_num = 17 };

	attr.ah_attr.is_global = 1;
	attr.ah_attr.grh.dgid.raw[15] = 1;
	return mrc_modify_qp(qp, &attr,
		state == IBV_QPS_RTR ? IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN : IBV_QP_STATE,
		NULL, 0);
}

TEST(moving_a_qp)
{
	struct ibv_qp_attr v = { .qp_state = IBV_QPS_RTR, .dest_qp_num = 17 };
	struct mrc_qp_init_attr init;
	struct mrc_qp_attr m;
	struct rig r;

	rig_open(&r);
	CHECK_EQ(mrc_modify_qp(NULL, &v, IBV_QP_STATE, NULL, 0), EINVAL);
	CHECK_EQ(mrc_modify_qp(r.qp, NULL, IBV_QP_STATE, NULL, 0), EINVAL);
	CHECK_EQ(mrc_modify_qp(r.qp, NULL, 0, NULL, MRC_QP_MPR), EINVAL);
	CHECK_EQ(go(r.qp, IBV_QPS_RTR), EINVAL); /* not from RESET */
	CHECK_EQ(go(r.qp, IBV_QPS_RTS), EINVAL);
#define WRONG(field, value, mask)                                                                  \
	do {                                                                                       \
		memset(&m, 0, sizeof(m));                                                          \
		m.field = value;                                                                   \
		CHECK_EQ(mrc_modify_qp(r.qp, NULL, 0, &m, mask), EINVAL);                          \
	} while (0)
	WRONG(timeout, 0, MRC_QP_TIMEOUT);
	WRONG(timeout, 25, MRC_QP_TIMEOUT);
	WRONG(retry.linear_cnt, 8, MRC_QP_RETRY_CNT);
	WRONG(retry.exp_cnt, 26, MRC_QP_RETRY_CNT);
	WRONG(mpr.mpr, 0, MRC_QP_MPR);
	WRONG(mpr.mpr_dest, 0, MRC_QP_MPR_DEST);
	WRONG(cap, 8, MRC_QP_CAP);
	WRONG(cap, 0, 1 << 20);
	memset(&m, 0, sizeof(m));
	m.profile.ev_profile_id = m.profile.cc_profile_id = 77;
	CHECK_EQ(mrc_modify_qp(r.qp, NULL, 0, &m, MRC_QP_EV_PROFILE_ID), ENOENT);
	CHECK_EQ(mrc_modify_qp(r.qp, NULL, 0, &m, MRC_QP_CC_PROFILE_ID), ENOENT);
	CHECK_EQ(go(r.qp, IBV_QPS_INIT), 0);
	CHECK_EQ(mrc_modify_qp(r.qp, &v, IBV_QP_STATE, NULL, 0), EINVAL); /* no peer */
	CHECK_EQ(mrc_modify_qp(r.qp, &v, IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN, NULL, 0),
		EINVAL); /* no GID */
	v.qp_state = IBV_QPS_ERR;
	v.cur_qp_state = IBV_QPS_RTS;
	CHECK_EQ(mrc_modify_qp(r.qp, &v, IBV_QP_STATE | IBV_QP_CUR_STATE, NULL, 0), EINVAL);
	CHECK_EQ(mrc_query_qp(NULL, &v, 0, &m, 0, &init), EINVAL);
	CHECK_EQ(mrc_query_qp(r.qp, NULL, IBV_QP_STATE, &m, 0, &init), EINVAL);
	CHECK_EQ(mrc_query_qp(r.qp, &v, 0, NULL, MRC_QP_MPR, &init), EINVAL);
	CHECK_EQ(mrc_query_qp(r.qp, &v, 0, &m, 1 << 20, &init), EINVAL);
	CHECK_EQ(mrc_query_qp(r.qp, &v, IBV_QP_STATE, &m, MRC_QP_MPR, &init), 0);
	CHECK_EQ(v.qp_state, IBV_QPS_INIT); /* nothing has changed it */
	CHECK_EQ(go(r.qp, IBV_QPS_ERR), 0);
	CHECK_EQ(go(r.qp, IBV_QPS_RTS), EINVAL);
	CHECK_EQ(go(r.qp, IBV_QPS_RESET), 0);
	CHECK_EQ(go(r.qp, IBV_QPS_INIT), 0);
	rig_close(&r);
}

TEST(posting)
{
	struct ibv_send_wr *bad_send, send = { .opcode = IBV_WR_RDMA_WRITE };
	struct ibv_recv_wr *bad_recv, recv = { .wr_id = 1 };
	struct rig r;

	rig_open(&r);
	CHECK_EQ(mrc_post_send(NULL, &send, &bad_send), EINVAL);
	CHECK_EQ(mrc_post_send(r.qp, NULL, &bad_send), EINVAL);
	CHECK_EQ(mrc_post_recv(NULL, &recv, &bad_recv), EINVAL);
	CHECK_EQ(mrc_post_recv(r.qp, NULL, &bad_recv), EINVAL);
	CHECK_EQ(mrc_post_send(r.qp, &send, NULL), EINVAL); /* RESET, and nowhere to tell */
	CHECK_EQ(mrc_post_recv(r.qp, &recv, NULL), EINVAL);
	CHECK_EQ(go(r.qp, IBV_QPS_INIT), 0);
	CHECK_EQ(mrc_post_send(r.qp, &send, &bad_send), EINVAL); /* before RTS */
	CHECK(bad_send == &send);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(mrc_post_recv(r.qp, &recv, &bad_recv), 0);
	CHECK_EQ(mrc_post_recv(r.qp, &recv, &bad_recv), ENOMEM);
	CHECK(bad_recv == &recv);
	recv.num_sge = -1;
	CHECK_EQ(mrc_post_recv(r.qp, &recv, &bad_recv), EINVAL);
	CHECK_EQ(go(r.qp, IBV_QPS_RTR), 0);
	CHECK_EQ(go(r.qp, IBV_QPS_RTS), 0);
	send.num_sge = 1; /* of no list */
	CHECK_EQ(mrc_post_send(r.qp, &send, &bad_send), EINVAL);
	send.num_sge = 0;
	for (int op = IBV_WR_SEND; op <= IBV_WR_ATOMIC_FETCH_AND_ADD; op++) {
		send.opcode = (enum ibv_wr_opcode)op;
		CHECK_EQ(mrc_post_send(r.qp, &send, &bad_send), EINVAL);
	}
	rig_close(&r);
}

TEST(ports_and_probes)
{
	struct mrc_ctl_port_attr port = { .port_admin_state = MRC_CTL_PORT_ADMIN_ENABLED };
	struct mrc_ctl_ep_req req = { .ev_fmt_mode = MRC_CTL_EV_FMT_MODE_STEV,
		.req_ev = { .port = 1 } };
	const enum mrc_ctl_ep_op_type probe = MRC_CTL_EP_OP_EV_PROBE;
	struct mrc_ctl_ep_rsp rsp;
	struct rig r;
	int n;

	rig_open(&r);
	for (int number = 0; number < 256; number += number < 4 ? 1 : 84) {
		int want = number == 1 || number == 2 ? 0 : EINVAL;

		CHECK_EQ(ERRNO_OF(mrc_ctl_query_port(
				 r.context, (uint8_t)number, &port, MRC_CTL_PORT_ADMIN_STATE)),
			want);
		CHECK_EQ(ERRNO_OF(mrc_ctl_modify_port(
				 r.context, (uint8_t)number, &port, MRC_CTL_PORT_ADMIN_STATE)),
			want);
	}
	CHECK_EQ(ERRNO_OF(mrc_ctl_query_port(NULL, 1, &port, 1)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_ctl_query_port(r.context, 1, NULL, 1)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_ctl_query_port(r.context, 1, &port, 2)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_ctl_modify_port(NULL, 1, &port, 1)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_ctl_modify_port(r.context, 1, NULL, 1)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_ctl_modify_port(r.context, 1, &port, 2)), EINVAL);
#define BATCH(c, tc, op, q, m, s, p) ERRNO_OF(mrc_ctl_ep_batch_send_wait(c, tc, op, q, m, 1, s, p))
	CHECK_EQ(BATCH(NULL, 0, probe, &req, 1, &rsp, &n), EINVAL);
	CHECK_EQ(BATCH(r.context, 0, probe, NULL, 1, &rsp, &n), EINVAL);
	CHECK_EQ(BATCH(r.context, 0, probe, &req, 1, NULL, &n), EINVAL);
	CHECK_EQ(BATCH(r.context, 0, probe, &req, 1, &rsp, NULL), EINVAL);
	CHECK_EQ(BATCH(r.context, 0, probe, &req, 0, &rsp, &n), EINVAL);
	CHECK_EQ(BATCH(r.context, 0, probe, &req, 1025, &rsp, &n), EINVAL);
	CHECK_EQ(BATCH(r.context, 7, probe, &req, 1, &rsp, &n), ENOTSUP);
	CHECK_EQ(BATCH(r.context, 0, (enum mrc_ctl_ep_op_type)9, &req, 1, &rsp, &n), ENOTSUP);
	req.req_ev.port = 3;
	CHECK_EQ(BATCH(r.context, 0, probe, &req, 1, &rsp, &n), EINVAL);
	req.req_ev.port = 1;
	req.ev_fmt_mode = (enum mrc_ctl_ev_fmt_mode)3;
	CHECK_EQ(BATCH(r.context, 0, probe, &req, 1, &rsp, &n), EINVAL);
	req.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_STEV;
	req.op.port_status_update.port_status = 1; /* ports begin with 1: bit 0 is none */
	CHECK_EQ(BATCH(r.context, 0, MRC_CTL_EP_OP_PORT_STATUS_UPDATE, &req, 1, &rsp, &n), EINVAL);
	CHECK_EQ(n, 0);
	rig_close(&r);
}

/* Each profile: no arguments, no such bit, no such state, and states in the wrong order. */
TEST(profiles)
{
	struct mrc_ctl_ev_fmt_profile_attr fmt = { .profile_state = MRC_CTL_PROFILE_ONLINE };
	struct mrc_ctl_ev_profile_attr evs = { .profile_state = MRC_CTL_PROFILE_ONLINE };
	struct mrc_ctl_cc_profile_attr cc = { .profile_state = MRC_CTL_PROFILE_ONLINE };
	struct rig r;

	rig_open(&r);
	for (int modify = 0; modify < 2; modify++) {
#define EACH(c, f, e, k, mask, want)                                                               \
	do {                                                                                       \
		CHECK_EQ(ERRNO_OF((modify ? mrc_ctl_modify_ev_fmt_profile                          \
					  : mrc_ctl_query_ev_fmt_profile)(c, 5, f, mask)),         \
			want);                                                                     \
		CHECK_EQ(ERRNO_OF((modify ? mrc_ctl_modify_ev_profile : mrc_ctl_query_ev_profile)( \
				 c, 5, e, mask)),                                                  \
			want);                                                                     \
		CHECK_EQ(ERRNO_OF((modify ? mrc_ctl_modify_cc_profile : mrc_ctl_query_cc_profile)( \
				 c, 5, k, mask)),                                                  \
			want);                                                                     \
	} while (0)
		EACH(NULL, &fmt, &evs, &cc, 1, EINVAL);
		EACH(r.context, NULL, NULL, NULL, 1, EINVAL);
		EACH(r.context, &fmt, &evs, &cc, 1 << 20, EINVAL);
	}
	/* What was never set up is INIT. */
	CHECK_EQ(mrc_ctl_query_cc_profile(r.context, 5, &cc, MRC_CTL_CC_PROFILE_STATE), 0);
	CHECK_EQ(cc.profile_state, MRC_CTL_PROFILE_INIT);
	int modify = 1;

	fmt.profile_state = evs.profile_state = cc.profile_state = MRC_CTL_PROFILE_ONLINE;
	EACH(r.context, &fmt, &evs, &cc, 1, EINVAL); /* from INIT */
	fmt.profile_state = evs.profile_state = cc.profile_state = MRC_CTL_PROFILE_OFFLINE;
	EACH(r.context, &fmt, &evs, &cc, 1, EINVAL); /* without what it needs */
	fmt.profile_state = evs.profile_state = cc.profile_state = (enum mrc_ctl_profile_state)3;
	EACH(r.context, &fmt, &evs, &cc, 1, EINVAL);
	fmt.cur_profile_state = evs.cur_profile_state = cc.cur_profile_state =
		MRC_CTL_PROFILE_ONLINE;
	EACH(r.context, &fmt, &evs, &cc, 2, EINVAL); /* it is not */
	rig_close(&r);
}

/* Objects that were destroyed, in calls that are not about work: an answer, and not a crash. */
TEST(what_is_gone)
{
	struct mrc_qp_hint_init_attr hint_init = { .attr = { 1, 2, 3 } };
	struct mrc_ctl_ev_fmt_profile_attr fmt = { 0 };
	struct mrc_ctl_ev_profile_attr evs = { 0 };
	struct mrc_ctl_cc_profile_attr cc = { 0 };
	struct mrc_comp_channel *channel, *other;
	struct mrc_ctl_port_attr port = { 0 };
	struct mrc_device_attr device;
	struct ibv_qp_attr v;
	struct mrc_qp_attr m = { 0 };
	struct rig r;
	uint32_t qpn;
	int n;

	rig_open(&r);
	struct mrc_context *gone = mrc_create_context(r.verbs, NULL);
	struct mrc_cq *cq = mrc_create_cq(r.context, 4, NULL, NULL, 0);
	struct mrc_qp_hint *hint = mrc_create_qp_hint(r.context, &hint_init);
	struct mrc_qp *qp = mrc_create_qp(r.context, &r.init);

	REQUIRE(gone && cq && hint && qp && !mrc_create_comp_channel(r.context, &channel));
	CHECK_EQ(mrc_destroy_context(gone) | mrc_destroy_cq(cq) | mrc_destroy_qp_hint(hint), 0);
	CHECK_EQ(mrc_destroy_qp(qp) | mrc_destroy_comp_channel(channel), 0);
	CHECK_EQ(ERRNO_OF(mrc_query_qp_hint(hint, &hint_init.attr, 0)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_modify_qp_hint(hint, &hint_init.attr, 0)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_get_comp_channel_fd(channel, &n)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_get_qpn(qp, &qpn)), EINVAL);
	CHECK_EQ(mrc_query_qp(qp, &v, 0, &m, 0, NULL), EINVAL);
	CHECK_EQ(mrc_modify_qp(qp, &v, 0, &m, 0), EINVAL);
	r.init.send_cq = cq;
	CHECK_EQ(NULL_OF(mrc_create_qp(r.context, &r.init)), EINVAL);
	CHECK_EQ(NULL_OF(mrc_create_cq(r.context, 4, NULL, channel, 0)), EINVAL);
	CHECK_EQ(mrc_create_comp_channel(gone, &other), EINVAL);
	CHECK_EQ(NULL_OF(mrc_create_cq(gone, 4, NULL, NULL, 0)), EINVAL);
	CHECK_EQ(NULL_OF(mrc_ctl_create_ev_event_cq(gone, 4, NULL, NULL, 0)), EINVAL);
	CHECK_EQ(NULL_OF(mrc_create_qp_hint(gone, &hint_init)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_query_device_ex(r.verbs, gone, &device, &n)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_ctl_query_port(gone, 1, &port, 1)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_ctl_modify_port(gone, 1, &port, 1)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_ctl_query_ev_profile(gone, 1, &evs, 1)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_ctl_modify_ev_fmt_profile(gone, 1, &fmt, 1)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_ctl_modify_cc_profile(gone, 1, &cc, 1)), EINVAL);
	rig_close(&r);
}
