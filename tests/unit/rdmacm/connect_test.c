/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_verbs.h"

TEST(rdma_listen__binds_who_did_not)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;

	REQUIRE(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	CHECK_EQ(rdma_listen(id, 1), 0);
	CHECK(rdma_get_src_port(id));
	CHECK_EQ(rdma_listen(id, 1), -1);
	CHECK_EQ(errno, EINVAL);
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

TEST(rdma_accept__brings_both_queue_pairs_together)
{
	struct pair p = ask(RDMA_PS_TCP, "hello", true);
	struct rdma_conn_param param = { .private_data = "there", .private_data_len = 5 };

	CHECK(!rdma_accept(p.passive, &param));
	struct rdma_cm_event *event = want(p.client, RDMA_CM_EVENT_ESTABLISHED);
	CHECK_EQ(event->param.conn.private_data_len, 5);
	CHECK_MEM(event->param.conn.private_data, "there", 5);
	rdma_ack_cm_event(event);
	rdma_ack_cm_event(want(p.server, RDMA_CM_EVENT_ESTABLISHED));
	const struct fake_qp *one = (struct fake_qp *)p.active->qp;
	const struct fake_qp *two = (struct fake_qp *)p.passive->qp;
	CHECK_EQ(one->ibv.state, IBV_QPS_RTS);
	CHECK_EQ(two->ibv.state, IBV_QPS_RTS);
	CHECK_EQ(one->attr.dest_qp_num, two->ibv.qp_num);
	CHECK_EQ(two->attr.dest_qp_num, one->ibv.qp_num);
	CHECK_EQ(one->attr.sq_psn, two->attr.rq_psn);
	CHECK_EQ(two->attr.sq_psn, one->attr.rq_psn);
	CHECK_EQ(one->attr.path_mtu, FAKE_MTU);
	CHECK_EQ(one->attr.ah_attr.grh.dgid.raw[15], 1);
	CHECK_EQ(one->attr.retry_cnt, 6);
	CHECK_EQ(two->attr.retry_cnt, 6); /* whatever param says */
	CHECK(!rdma_disconnect(p.active));
	CHECK_EQ(one->ibv.state, IBV_QPS_ERR);
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_DISCONNECTED));
	rdma_ack_cm_event(want(p.server, RDMA_CM_EVENT_DISCONNECTED));
	CHECK(!rdma_disconnect(p.passive)); /* as programs answer */
	end(&p);
}

TEST(rdma_establish__is_for_who_brings_his_own_queue_pair)
{
	struct pair p = ask(RDMA_PS_TCP, "x", false);
	struct rdma_conn_param param = { .qp_num = 88 };

	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	int mask = 0;

	CHECK_EQ(id_of(p.passive)->peer.qpn, 77);
	CHECK(p.active->pd && p.passive->pd);               /* where such a one is made */
	CHECK(!rdma_init_qp_attr(p.passive, &attr, &mask)); /* before the answer */
	CHECK_EQ(attr.retry_cnt, 6);
	CHECK_EQ(attr.max_rd_atomic, 5);
	CHECK(!rdma_accept(p.passive, &param));
	struct rdma_cm_event *event = want(p.client, RDMA_CM_EVENT_CONNECT_RESPONSE);
	CHECK_EQ(event->param.conn.qp_num, 88);
	rdma_ack_cm_event(event);
	CHECK(!rdma_establish(p.active));
	rdma_ack_cm_event(want(p.server, RDMA_CM_EVENT_ESTABLISHED));
	end(&p);
}

TEST(rdma_reject__carries_words)
{
	struct pair p = ask(RDMA_PS_TCP, "x", true);

	CHECK(!rdma_reject(p.passive, "no", 2));
	struct rdma_cm_event *event = want(p.client, RDMA_CM_EVENT_REJECTED);
	CHECK_EQ(event->status, 28);
	CHECK_MEM(event->param.conn.private_data, "no", 2);
	rdma_ack_cm_event(event);
	end(&p);
}

TEST(rdma_accept__tells_a_datagram_s_address)
{
	struct pair p = ask(RDMA_PS_UDP, "x", true);

	CHECK(!rdma_accept(p.passive, NULL));
	struct rdma_cm_event *event = want(p.client, RDMA_CM_EVENT_ESTABLISHED);
	CHECK_EQ(event->param.ud.qp_num, p.passive->qp->qp_num);
	CHECK_EQ(event->param.ud.qkey, 0x01234567);
	CHECK_EQ(event->param.ud.ah_attr.grh.dgid.raw[15], 1);
	rdma_ack_cm_event(event);
	end(&p);
}

TEST(rdma_connect__fails_when_the_queue_pair_cannot)
{
	struct pair p = ask(RDMA_PS_TCP, "x", true);

	fake.modify_error = ENOMEM;
	CHECK_EQ(rdma_accept(p.passive, NULL), -1);
	CHECK_EQ(errno, ENOMEM);
	fake.modify_error = 0;
	CHECK(!rdma_reject(p.passive, NULL, 0));
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_REJECTED));
	end(&p);
}

/* As much as the kernel's messages carry, and not a byte more. */
TEST(take_private__holds_to_the_limits_of_each_message)
{
	static const struct {
		enum rdma_port_space ps;
		uint8_t request, reply, rejection;
	} limits[] = { { RDMA_PS_TCP, 56, 196, 148 }, { RDMA_PS_UDP, 180, 136, 136 } };
	uint8_t data[256] = { 1, 2, 3 };

	for (size_t i = 0; i < WEFT_COUNT(limits); i++) {
		struct pair p = ask(limits[i].ps, "x", true), q = ask(limits[i].ps, "x", true);
		struct rdma_conn_param param = { .private_data = data,
			.private_data_len = limits[i].reply + 1 };

		CHECK(rdma_accept(p.passive, &param) == -1 && errno == EINVAL);
		param.private_data_len--;
		CHECK(!rdma_accept(p.passive, &param));
		struct rdma_cm_event *event = want(p.client, RDMA_CM_EVENT_ESTABLISHED);
		CHECK_EQ(event->param.conn.private_data_len, limits[i].reply);
		rdma_ack_cm_event(event);
		CHECK(rdma_reject(q.passive, data, limits[i].rejection + 1) == -1 &&
			errno == EINVAL);
		CHECK(!rdma_reject(q.passive, data, limits[i].rejection));
		event = want(q.client, RDMA_CM_EVENT_REJECTED);
		CHECK_EQ(event->param.conn.private_data_len, limits[i].rejection);
		CHECK_MEM(event->param.conn.private_data, data, 3);
		rdma_ack_cm_event(event);
		param.private_data_len = limits[i].request + 1;
		CHECK(rdma_connect(q.active, &param) == -1 && errno == EINVAL);
		param.private_data_len--;
		CHECK(!rdma_connect(q.active, &param));
		event = want(q.server, RDMA_CM_EVENT_CONNECT_REQUEST);
		CHECK_EQ(event->param.conn.private_data_len, limits[i].request);
		struct rdma_cm_id *second = event->id;
		rdma_ack_cm_event(event);
		CHECK(!rdma_destroy_id(second));
		end(&p);
		end(&q);
	}
}

/* As librdmacm: more reads than the device has are an error, but for the word for all of them. */
TEST(describe__takes_depths_as_librdmacm_does)
{
	static const uint8_t bad[] = { 17, 128, 254 };
	struct pair p = ask(RDMA_PS_TCP, "x", true), q = ask(RDMA_PS_TCP, "x", true);
	struct rdma_conn_param param = { .retry_count = 200, .rnr_retry_count = 200 };

	for (size_t i = 0; i < WEFT_COUNT(bad); i++) {
		param.responder_resources = bad[i];
		param.initiator_depth = 1;
		CHECK(rdma_accept(p.passive, &param) == -1 && errno == EINVAL);
		param.responder_resources = 1;
		param.initiator_depth = bad[i];
		CHECK(rdma_accept(p.passive, &param) == -1 && errno == EINVAL);
	}
	/* Whoever accepts with all has what was offered; retries are cut by the kernel, too. */
	param.responder_resources = RDMA_MAX_RESP_RES;
	param.initiator_depth = RDMA_MAX_INIT_DEPTH;
	CHECK(!rdma_accept(p.passive, &param));
	CHECK_EQ(id_of(p.passive)->local.responder, 3);
	CHECK_EQ(id_of(p.passive)->local.initiator, 5);
	CHECK_EQ(id_of(p.passive)->local.rnr_retry, 7);
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_ESTABLISHED));
	CHECK(!rdma_reject(q.passive, NULL, 0));
	rdma_ack_cm_event(want(q.client, RDMA_CM_EVENT_REJECTED));
	param.initiator_depth = 17;
	CHECK(rdma_connect(q.active, &param) == -1 && errno == EINVAL);
	param.initiator_depth = RDMA_MAX_INIT_DEPTH;
	CHECK(!rdma_connect(q.active, &param));
	CHECK_EQ(id_of(q.active)->local.responder, 16);
	CHECK_EQ(id_of(q.active)->local.initiator, 16);
	CHECK_EQ(id_of(q.active)->local.retry, 7);
	struct rdma_cm_event *event = want(q.server, RDMA_CM_EVENT_CONNECT_REQUEST);
	struct rdma_cm_id *second = event->id;
	rdma_ack_cm_event(event);
	CHECK(!rdma_destroy_id(second));
	end(&p);
	end(&q);
}

/* Calls in states that have no place for them: an error, and all is as it was. */
TEST(rdma_connect__is_refused_where_there_is_a_connection)
{
	struct pair p = ask(RDMA_PS_TCP, "x", true);
	struct sockaddr_in to = loopback(7);

	CHECK(rdma_connect(p.active, NULL) == -1 && errno == EINVAL);
	CHECK(rdma_listen(p.active, 1) == -1 && errno == EINVAL);
	CHECK(rdma_bind_addr(p.active, (struct sockaddr *)&to) == -1 && errno == EINVAL);
	CHECK(rdma_accept(p.active, NULL) == -1 && errno == EINVAL);
	CHECK(rdma_accept(p.listener, NULL) == -1 && errno == EINVAL);
	CHECK(rdma_disconnect(p.listener) == -1 && errno == EINVAL);
	CHECK(rdma_connect(p.listener, NULL) == -1 && errno == EINVAL);
	CHECK(rdma_resolve_addr(p.listener, NULL, (struct sockaddr *)&to, 9) == -1 &&
		errno == EINVAL);
	CHECK(rdma_resolve_addr(p.active, NULL, NULL, 9) == -1 && errno == EINVAL);
	CHECK(rdma_reject(p.active, NULL, 0) == -1 && errno == EINVAL);
	CHECK(!rdma_accept(p.passive, NULL));
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_ESTABLISHED));
	rdma_ack_cm_event(want(p.server, RDMA_CM_EVENT_ESTABLISHED));
	end(&p);
}
