/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_verbs.h"

TEST(refuse__says_that_it_is_not_supported)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;

	REQUIRE(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	CHECK_EQ(rdma_get_remote_ece(id, NULL), -1);
	CHECK_EQ(errno, EOPNOTSUPP);
	CHECK_EQ(rdma_notify(id, IBV_EVENT_COMM_EST), 0);
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}
