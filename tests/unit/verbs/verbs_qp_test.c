/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_device.h"

#define INIT_ALL (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define RTR_ALL                                                                                    \
	(IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |                           \
		IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS_ALL                                                                                    \
	(IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |                    \
		IBV_QP_MAX_QP_RD_ATOMIC)

TEST(ibv_create_qp__grants_inline_data_though_none_was_asked_for)
{
	struct bench b = open_bench(IBV_QPT_RC, 0);
	const struct weft_dev_qp *dev = qp_of(b.qp)->dev;

	CHECK_EQ(dev->init.profile, WEFT_DEV_EXTENDED);
	CHECK_EQ(dev->init.inline_bytes, INLINE_BYTES);
	CHECK_EQ(dev->init.sq_depth, 4);
	CHECK_EQ(dev->init.sq_sges, 2);
	CHECK(dev->init.user == b.qp);
	CHECK_EQ(b.qp->qp_num, 0x4711);
	CHECK_EQ(b.qp->state, IBV_QPS_RESET);
	CHECK(!ibv_qp_to_qp_ex(b.qp));
	close_bench(&b);
}

TEST(ibv_create_qp__refuses_more_than_there_is)
{
	struct bench b = open_bench(IBV_QPT_UD, 0);
	struct ibv_qp_init_attr init = { .send_cq = b.cq, .recv_cq = b.cq, .qp_type = IBV_QPT_RC };

	CHECK_EQ(qp_of(b.qp)->dev->init.profile, WEFT_DEV_DATAGRAM);
	init.cap.max_inline_data = 1025;
	CHECK(!ibv_create_qp(b.pd, &init));
	CHECK_EQ(errno, EINVAL);
	init.cap.max_inline_data = 1024;
	init.cap.max_send_wr = 1025;
	CHECK(!ibv_create_qp(b.pd, &init));
	init.cap.max_send_wr = 1024;
	init.qp_type = IBV_QPT_DRIVER;
	CHECK(!ibv_create_qp(b.pd, &init));
	CHECK_EQ(errno, EOPNOTSUPP);
	init.qp_type = IBV_QPT_UC;
	struct ibv_qp *qp = ibv_create_qp(b.pd, &init);
	REQUIRE(qp);
	CHECK_EQ(init.cap.max_send_sge, 1);
	CHECK(!ibv_destroy_qp(qp));
	close_bench(&b);
}

TEST(ibv_create_qp__is_strict_when_told)
{
	setenv("WEFT_PROFILE", "strict", 1);
	struct bench b = open_bench(IBV_QPT_RC, 0);
	struct ibv_qp_init_attr init = { .send_cq = b.cq, .recv_cq = b.cq, .qp_type = IBV_QPT_UD };

	CHECK_EQ(qp_of(b.qp)->dev->init.profile, WEFT_DEV_STRICT);
	CHECK(!ibv_create_qp(b.pd, &init));
	CHECK_EQ(errno, EOPNOTSUPP);
	close_bench(&b);
	unsetenv("WEFT_PROFILE");
}

TEST(ibv_modify_qp__passes_on_what_the_device_has)
{
	struct bench b = open_bench(IBV_QPT_RC, 0);
	const struct weft_dev_qp *dev = qp_of(b.qp)->dev;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .path_mtu = IBV_MTU_1024
	};

	CHECK(!ibv_modify_qp(
		b.qp, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS));
	CHECK_EQ(dev->mask, WEFT_DEV_SET_STATE | WEFT_DEV_SET_ACCESS);
	CHECK_EQ(b.qp->state, IBV_QPS_INIT);
	attr.qp_state = IBV_QPS_RTR;
	attr.dest_qp_num = 99;
	attr.rq_psn = 0x1ffffff;
	attr.max_dest_rd_atomic = 16;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.grh.dgid.raw[0] = 0xfd;
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MTU;
	CHECK(!ibv_modify_qp(b.qp, &attr, mask));
	CHECK_EQ(dev->attr.peer_qpn, 99);
	CHECK_EQ(dev->attr.psn_rx, 0xffffff);
	CHECK_EQ(dev->attr.rd_rx, 16);
	CHECK_EQ(dev->attr.gid[0], 0xfd);
	CHECK_EQ(b.qp->state, IBV_QPS_RTR);
	close_bench(&b);
}

TEST(ibv_modify_qp__refuses_addresses_without_a_gid)
{
	struct bench b = open_bench(IBV_QPT_RC, 0);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024 };

	qp_of(b.qp)->dev->attr.state = WEFT_DEV_INIT;
	CHECK_EQ(ibv_modify_qp(b.qp, &attr, IBV_QP_STATE | RTR_ALL), EINVAL);
	attr.ah_attr.is_global = 1;
	CHECK_EQ(ibv_modify_qp(b.qp, &attr, IBV_QP_STATE | RTR_ALL), 0);
	CHECK_EQ(b.qp->state, IBV_QPS_RTR);
	attr.port_num = 2;
	CHECK_EQ(ibv_modify_qp(b.qp, &attr, IBV_QP_PORT), EINVAL);
	fake.error = EINVAL;
	attr.qp_state = IBV_QPS_RTS;
	CHECK_EQ(ibv_modify_qp(b.qp, &attr, IBV_QP_STATE | RTS_ALL), EINVAL);
	CHECK_EQ(b.qp->state, IBV_QPS_RTR);
	close_bench(&b);
}

/* Each of the bits that the way from one state to the other needs, left out; then all of them. */
static void climb(struct ibv_qp *qp, uint8_t from, enum ibv_qp_state to, int needs)
{
	struct ibv_qp_attr attr = {
		.qp_state = to, .port_num = 1, .path_mtu = IBV_MTU_1024, .ah_attr.is_global = 1
	};
	struct weft_dev_qp *dev = qp_of(qp)->dev;

	dev->attr.state = from;
	for (int bit = 1; bit <= IBV_QP_DEST_QPN; bit <<= 1) {
		if (!(needs & bit))
			continue;
		CHECK_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE | (needs & ~bit)), EINVAL);
		CHECK_EQ(dev->attr.state, from);
	}
	CHECK_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE | needs), 0);
	CHECK_EQ(dev->attr.state, to);
}

TEST(ibv_modify_qp__refuses_a_transition_that_lacks_something)
{
	static const struct {
		enum ibv_qp_type type;
		int init, rtr, rts;
	} ways[] = {
		{ IBV_QPT_RC, INIT_ALL, RTR_ALL, RTS_ALL },
		{ IBV_QPT_UC, INIT_ALL,
			IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
			IBV_QP_SQ_PSN },
		{ IBV_QPT_UD, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0, IBV_QP_SQ_PSN },
		{ IBV_QPT_XRC_SEND, INIT_ALL,
			IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN, RTS_ALL },
		{ IBV_QPT_XRC_RECV, INIT_ALL, RTR_ALL, IBV_QP_TIMEOUT | IBV_QP_SQ_PSN },
	};
	struct bench b = open_bench(IBV_QPT_RC, 0);

	for (size_t i = 0; i < WEFT_COUNT(ways); i++) {
		b.qp->qp_type = ways[i].type;
		climb(b.qp, WEFT_DEV_RESET, IBV_QPS_INIT, ways[i].init);
		climb(b.qp, WEFT_DEV_INIT, IBV_QPS_RTR, ways[i].rtr);
		climb(b.qp, WEFT_DEV_RTR, IBV_QPS_RTS, ways[i].rts);
		climb(b.qp, WEFT_DEV_SQD, IBV_QPS_RTS, 0);
		climb(b.qp, WEFT_DEV_RTS, IBV_QPS_RESET, 0);
	}
	b.qp->qp_type = IBV_QPT_RC;
	climb(b.qp, WEFT_DEV_RESET, IBV_QPS_INIT, INIT_ALL);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.port_num = 1,
		.ah_attr.is_global = 1 };
	/* More than it needs. */
	CHECK_EQ(ibv_modify_qp(b.qp, &attr, IBV_QP_STATE | RTR_ALL | RTS_ALL), 0);
	close_bench(&b);
}

TEST(ibv_modify_qp__refuses_a_wrong_idea_of_the_state)
{
	struct bench b = open_bench(IBV_QPT_RC, 0);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_RTS };

	qp_of(b.qp)->dev->attr.state = WEFT_DEV_RTR;
	errno = 0;
	CHECK_EQ(ibv_modify_qp(b.qp, &attr, IBV_QP_CUR_STATE), EINVAL);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(ibv_modify_qp(b.qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE | RTS_ALL), EINVAL);
	attr.cur_qp_state = IBV_QPS_RTR;
	CHECK_EQ(ibv_modify_qp(b.qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE | RTS_ALL), 0);
	close_bench(&b);
}

TEST(ibv_query_qp__gives_back_what_was_set)
{
	struct bench b = open_bench(IBV_QPT_RC, 0);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .path_mtu = IBV_MTU_2048 }, got;
	struct ibv_qp_init_attr init;

	attr.ah_attr.is_global = 1;
	attr.ah_attr.sl = 3;
	attr.timeout = 14;
	attr.qp_access_flags = IBV_ACCESS_REMOTE_READ;
	attr.port_num = 1;
	CHECK(!ibv_modify_qp(b.qp, &attr,
		IBV_QP_STATE | INIT_ALL | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_TIMEOUT));
	CHECK_EQ(qp_of(b.qp)->dev->attr.access, WEFT_DEV_REMOTE_READ);
	CHECK(!ibv_query_qp(b.qp, &got, 0, &init));
	CHECK_EQ(got.qp_state, IBV_QPS_INIT);
	CHECK_EQ(got.ah_attr.sl, 3);
	CHECK_EQ(got.path_mtu, IBV_MTU_2048);
	CHECK_EQ(got.timeout, 14);
	CHECK_EQ(qp_of(b.qp)->dev->attr.timeout, 16); /* the device's unit is a quarter of verbs' */
	CHECK_EQ(got.cap.max_inline_data, INLINE_BYTES);
	CHECK_EQ(init.qp_type, IBV_QPT_RC);
	CHECK(init.send_cq == b.cq);
	/* The device fails it by itself. */
	qp_of(b.qp)->dev->attr.state = WEFT_DEV_ERR;
	CHECK(!ibv_query_qp(b.qp, &got, 0, &init));
	CHECK_EQ(got.qp_state, IBV_QPS_ERR);
	CHECK_EQ(b.qp->state, IBV_QPS_ERR);
	close_bench(&b);
}

/* What no card takes; nothing of it may reach the device. */
TEST(ibv_modify_qp__knows_the_range_of_each_attribute)
{
	static const struct ibv_qp_attr good = { .port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.timeout = 31,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 31,
		.dest_qp_num = 0xffffff,
		.qp_access_flags = IBV_ACCESS_RELAXED_ORDERING | 15,
		.rq_psn = UINT32_MAX,
		.max_rd_atomic = 16,
		.max_dest_rd_atomic = 16,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh.sgid_index = GIDS - 1 } };
	static const int all = IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS | IBV_QP_AV |
			       IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			       IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_TIMEOUT |
			       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_ALT_PATH |
			       IBV_QP_MAX_DEST_RD_ATOMIC;
	struct bench b = open_bench(IBV_QPT_RC, 0);
	struct ibv_qp_attr attr = good;

	CHECK_EQ(ibv_modify_qp(b.qp, &attr, all), 0);
#define REFUSED(field, value)                                                                      \
	do {                                                                                       \
		attr = good;                                                                       \
		attr.field = value;                                                                \
		CHECK_EQ(ibv_modify_qp(b.qp, &attr, all), EINVAL);                                 \
		CHECK_EQ(errno, EINVAL);                                                           \
	} while (0)
	REFUSED(port_num, 0);
	REFUSED(port_num, 2);
	REFUSED(pkey_index, 1);
	REFUSED(path_mtu, (enum ibv_mtu)0);
	REFUSED(path_mtu, (enum ibv_mtu)6);
	REFUSED(path_mtu, (enum ibv_mtu)(attr_mtu(context_of(b.context)) + 1));
	REFUSED(timeout, 32);
	REFUSED(retry_cnt, 8);
	REFUSED(rnr_retry, 8);
	REFUSED(min_rnr_timer, 32);
	REFUSED(alt_timeout, 32);
	REFUSED(dest_qp_num, 1 << 24);
	REFUSED(max_rd_atomic, 17); /* as rxe and cards, whose limit the program can ask for */
	REFUSED(max_dest_rd_atomic, 255);
	REFUSED(qp_access_flags, 0x10000);
	REFUSED(ah_attr.is_global, 0);
	REFUSED(ah_attr.port_num, 2);
	REFUSED(ah_attr.grh.sgid_index, GIDS);
#undef REFUSED
	struct ibv_ah_attr ah = good.ah_attr;

	ah.grh.sgid_index = GIDS;
	CHECK(!ibv_create_ah(b.pd, &ah));
	CHECK_EQ(errno, EINVAL);
	close_bench(&b);
}
