/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_verbs.h"

static struct rdma_cm_id *bound(struct rdma_event_channel *channel, enum rdma_port_space ps)
{
	struct sockaddr_in at = loopback(0);
	struct rdma_cm_id *id;

	REQUIRE(!rdma_create_id(channel, &id, NULL, ps));
	REQUIRE(!rdma_bind_addr(id, (struct sockaddr *)&at));
	return id;
}

TEST(rdma_create_qp__makes_what_the_program_does_not_bring)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id = bound(channel, RDMA_PS_TCP);
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC };

	CHECK(!rdma_create_qp(id, NULL, &init));
	CHECK(id->qp && id->send_cq && id->recv_cq && id->send_cq_channel && id->pd);
	CHECK_EQ(id->qp->state, IBV_QPS_INIT);
	CHECK_EQ(rdma_create_qp(id, NULL, &init), -1); /* it has one */
	rdma_destroy_qp(id);
	CHECK(!id->qp && !id->send_cq);
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

TEST(rdma_create_qp__has_datagrams_ready_at_once)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id = bound(channel, RDMA_PS_UDP);

	make_qp(id, IBV_QPT_UD);
	CHECK_EQ(id->qp->state, IBV_QPS_RTS);
	rdma_destroy_qp(id);
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

TEST(rdma_init_qp_attr__has_each_state_s_attributes)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id = bound(channel, RDMA_PS_TCP);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	int mask = 0;

	id_of(id)->peer.qpn = 5;
	id_of(id)->peer.psn = 6;
	CHECK(!rdma_init_qp_attr(id, &attr, &mask));
	CHECK_EQ(attr.dest_qp_num, 5);
	CHECK_EQ(attr.rq_psn, 6);
	CHECK(mask & IBV_QP_AV && mask & IBV_QP_PATH_MTU && mask & IBV_QP_MIN_RNR_TIMER);
	attr.qp_state = IBV_QPS_RTS;
	CHECK(!rdma_init_qp_attr(id, &attr, &mask));
	CHECK(mask & IBV_QP_SQ_PSN && mask & IBV_QP_TIMEOUT && !(mask & IBV_QP_AV));
	CHECK_EQ(attr.timeout, 17);
	uint8_t timeout = 21;

	CHECK(!rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, 1));
	CHECK(!rdma_init_qp_attr(id, &attr, &mask));
	CHECK_EQ(attr.timeout, 21);
	attr.qp_state = IBV_QPS_SQD;
	CHECK_EQ(rdma_init_qp_attr(id, &attr, &mask), -1);
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

TEST(rdma_create_srq__is_the_next_queue_pair_s)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id = bound(channel, RDMA_PS_TCP);
	struct ibv_srq_init_attr attr = { 0 };

	CHECK(!rdma_create_srq(id, NULL, &attr));
	CHECK(id->srq);
	rdma_destroy_srq(id);
	CHECK(!id->srq);
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}
