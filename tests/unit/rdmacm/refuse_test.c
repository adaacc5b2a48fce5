/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_verbs.h"

/* Of a newer header than ours. */
int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node, const char *service,
	const struct rdma_addrinfo *hints);
int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info);
int rdma_write_cm_event(
	struct rdma_cm_id *id, enum rdma_cm_event_type event, int status, uint64_t arg);

TEST(refuse__says_that_it_is_not_supported)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;

	REQUIRE(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	CHECK_EQ(rdma_get_remote_ece(id, NULL), -1);
	CHECK_EQ(errno, EOPNOTSUPP);
	errno = 0;
	CHECK(rdma_resolve_addrinfo(id, "h1", "1", NULL) == -1 && errno == EOPNOTSUPP);
	CHECK_EQ(rdma_query_addrinfo(id, NULL), -1);
	CHECK_EQ(rdma_write_cm_event(id, RDMA_CM_EVENT_ESTABLISHED, 0, 0), -1);
	CHECK_EQ(rdma_notify(id, IBV_EVENT_COMM_EST), 0);
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}
