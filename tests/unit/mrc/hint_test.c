/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

TEST(mrc_qp_hint__is_kept_and_changed)
{
	struct mrc_context *context = fake_open(0);
	struct mrc_qp_hint_init_attr init = { .attr = { .num_qps_per_peer = 2,
						      .num_send_peers = 3 } };
	struct mrc_qp_hint_attr attr = { .num_remote_recv_peers = 9 };
	struct mrc_qp_hint *hint = mrc_create_qp_hint(context, &init);

	REQUIRE(hint);
	CHECK(!mrc_query_qp_hint(hint, &attr, MRC_QP_HINT_NUM_QPS_PER_PEER));
	CHECK_EQ(attr.num_qps_per_peer, 2);
	CHECK_EQ(attr.num_remote_recv_peers, 9); /* not asked for */
	attr.num_send_peers = 8;
	CHECK(!mrc_modify_qp_hint(hint, &attr, MRC_QP_HINT_NUM_SEND_PEERS));
	attr.num_send_peers = 0;
	CHECK(!mrc_query_qp_hint(hint, &attr, MRC_QP_HINT_NUM_SEND_PEERS));
	CHECK_EQ(attr.num_send_peers, 8);
	CHECK_EQ(ERRNO_OF(mrc_query_qp_hint(hint, &attr, 1 << 9)), EINVAL);
	attr.num_send_peers = -1;
	CHECK_EQ(ERRNO_OF(mrc_modify_qp_hint(hint, &attr, MRC_QP_HINT_NUM_SEND_PEERS)), EINVAL);
	CHECK(!mrc_destroy_qp_hint(hint));
	init.attr.num_send_peers = -1;
	CHECK(!mrc_create_qp_hint(context, &init));
	fake_close(context);
}

TEST(mrc_create_qp_hint__ends_at_the_limit)
{
	static struct mrc_qp_hint *hints[HINTS_MAX];
	struct mrc_context *context = fake_open(0);
	struct mrc_qp_hint_init_attr init = { .attr = { .num_send_peers = 1 } };

	for (uint32_t i = 0; i < HINTS_MAX; i++)
		hints[i] = mrc_create_qp_hint(context, &init);
	CHECK(hints[HINTS_MAX - 1] != NULL);
	CHECK(!mrc_create_qp_hint(context, &init));
	CHECK_EQ(errno, ENOMEM);
	for (uint32_t i = 0; i < HINTS_MAX; i++)
		CHECK(!mrc_destroy_qp_hint(hints[i]));
	fake_close(context);
}
