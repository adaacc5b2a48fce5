/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What mrc.h promises of threads: calls on different objects run in parallel, calls on one object
 * queue.  Four threads do both, over the real device; under ThreadSanitizer this says more.
 */
#include "mrc_local.h"
#include "unit/net/netns.h"

#include <fcntl.h>
#include <mrc_ctl.h>

#define THREADS 4
#define TURNS 25

static struct {
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct mrc_context *context;
	struct mrc_cq *cq, *events;
	struct mrc_qp *qp;
	_Atomic int faults;
} shared;

static void want(bool is)
{
	if (!is)
		atomic_fetch_add(&shared.faults, 1);
}

static int move(struct mrc_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state, .dest_qp_num = 17 };
	struct mrc_qp_attr mrc = { .timeout = 14 };

	attr.ah_attr.is_global = 1;
	attr.ah_attr.grh.dgid.raw[10] = attr.ah_attr.grh.dgid.raw[11] = 0xff;
	attr.ah_attr.grh.dgid.raw[12] = 127;
	attr.ah_attr.grh.dgid.raw[15] = 1;
	return mrc_modify_qp(qp, &attr,
		state == IBV_QPS_RTR ? IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN : IBV_QP_STATE,
		&mrc, MRC_QP_TIMEOUT);
}

static struct mrc_qp *make(struct mrc_context *context, struct mrc_cq *cq)
{
	struct mrc_qp_init_attr init = { .send_cq = cq,
		.recv_cq = cq,
		.pd = shared.pd,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1 } };
	struct mrc_qp *qp = mrc_create_qp(context, &init);

	want(qp && !move(qp, IBV_QPS_INIT) && !move(qp, IBV_QPS_RTR) && !move(qp, IBV_QPS_RTS));
	return qp;
}

/* A profile of its own, through all its states, and the same port for all. */
static void control(uint64_t id)
{
	struct mrc_ctl_cc_profile_attr cc = { .profile_state = MRC_CTL_PROFILE_OFFLINE };
	struct mrc_ctl_port_attr port = { .port_admin_state = MRC_CTL_PORT_ADMIN_DISABLED };

	want(!mrc_ctl_modify_cc_profile(
		shared.context, id, &cc, MRC_CTL_CC_PROFILE_STATE | MRC_CTL_CC_PROFILE_ALGORITHM));
	cc.profile_state = MRC_CTL_PROFILE_ONLINE;
	want(!mrc_ctl_modify_cc_profile(shared.context, id, &cc, MRC_CTL_CC_PROFILE_STATE));
	want(!mrc_ctl_modify_port(shared.context, 2, &port, MRC_CTL_PORT_ADMIN_STATE));
	port.port_admin_state = MRC_CTL_PORT_ADMIN_ENABLED;
	want(!mrc_ctl_modify_port(shared.context, 2, &port, MRC_CTL_PORT_ADMIN_STATE));
	cc.profile_state = MRC_CTL_PROFILE_OFFLINE;
	want(!mrc_ctl_modify_cc_profile(shared.context, id, &cc, MRC_CTL_CC_PROFILE_STATE));
	cc.profile_state = MRC_CTL_PROFILE_INIT;
	want(!mrc_ctl_modify_cc_profile(shared.context, id, &cc, MRC_CTL_CC_PROFILE_STATE));
}

static void use_shared(void)
{
	struct ibv_recv_wr *bad_recv, recv = { .wr_id = 1 };
	struct ibv_send_wr *bad_send, send = { .opcode = IBV_WR_RDMA_WRITE };
	struct mrc_ctl_ev_event event;
	struct mrc_async_event async;
	struct ibv_qp_attr attr;
	struct ibv_wc wc;
	int rc = mrc_post_recv(shared.qp, &recv, &bad_recv);

	want(!rc || rc == ENOMEM);
	rc = mrc_post_send(shared.qp, &send, &bad_send);
	want(!rc || rc == ENOMEM);
	want(mrc_poll_cq(shared.cq, 1, &wc) >= 0);
	want(mrc_ctl_poll_ev_event(shared.events, 1, &event) >= 0);
	want(!mrc_query_qp(shared.qp, &attr, IBV_QP_STATE, NULL, 0, NULL));
	if (!mrc_get_async_event(shared.context, &async))
		mrc_ack_async_event(&async);
}

static void *run(void *arg)
{
	for (int i = 0; i < TURNS; i++) {
		struct mrc_context *context = mrc_create_context(shared.verbs, NULL);
		struct mrc_cq *cq = context ? mrc_create_cq(context, 16, NULL, NULL, 0) : NULL;
		struct mrc_qp *qp = cq ? make(context, cq) : NULL;

		use_shared();
		control((uint64_t)(uintptr_t)arg);
		want(qp && !mrc_destroy_qp(qp) && !mrc_destroy_cq(cq) &&
			!mrc_destroy_context(context));
	}
	return NULL;
}

static void set_up(char path[64])
{
	struct ibv_device **list;

	netns_enter();
	REQUIRE(shell("ip link set lo up"));
	setenv("WEFT_PLANES", "127.0.0.1,::1", 1);
	snprintf(path, 64, "/tmp/weft-threads-%d", (int)getpid());
	setenv("WEFT_MRC_PROFILES", path, 1);
	list = ibv_get_device_list(NULL);
	REQUIRE(list && list[0]);
	shared.verbs = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	REQUIRE(shared.verbs);
	fcntl(shared.verbs->async_fd, F_SETFL, O_NONBLOCK);
	shared.pd = ibv_alloc_pd(shared.verbs);
	shared.context = mrc_create_context(shared.verbs, NULL);
	REQUIRE(shared.pd && shared.context);
	shared.cq = mrc_create_cq(shared.context, 256, NULL, NULL, 0);
	shared.events = mrc_ctl_create_ev_event_cq(shared.context, 16, NULL, NULL, 0);
	REQUIRE(shared.cq && shared.events);
	shared.qp = make(shared.context, shared.cq);
}

static void tear_down(const char *path)
{
	CHECK_EQ(shared.faults, 0);
	CHECK_EQ(mrc_destroy_qp(shared.qp), 0);
	CHECK_EQ(mrc_destroy_cq(shared.events), 0);
	CHECK_EQ(mrc_destroy_cq(shared.cq), 0);
	CHECK_EQ(mrc_destroy_context(shared.context), 0);
	CHECK_EQ(ibv_dealloc_pd(shared.pd), 0);
	CHECK_EQ(ibv_close_device(shared.verbs), 0);
	unlink(path);
}

static void all_run(void *(*what)(void *))
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, what, (void *)(i + 1)));
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

TEST(threads__share_and_do_not_share)
{
	char path[64];

	set_up(path);
	all_run(run);
	tear_down(path);
}

/* Each may be refused, as the others have moved it on. */
static void *move_shared(void *arg)
{
	struct mrc_qp_attr attr;

	for (int i = 0; i < 40 * TURNS; i++) {
		(void)move(shared.qp, IBV_QPS_RESET);
		(void)move(shared.qp, IBV_QPS_INIT);
		(void)move(shared.qp, IBV_QPS_RTR);
		want(!mrc_query_qp(shared.qp, NULL, 0, &attr, MRC_QP_TIMEOUT, NULL));
	}
	return arg;
}

TEST(threads__move_one_qp)
{
	char path[64];

	set_up(path);
	all_run(move_shared);
	want(!move(shared.qp, IBV_QPS_RESET));
	want(!shared.context->station->qps); /* it was in the list once, and is not any more */
	tear_down(path);
}
