/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_verbs.h"

#include <arpa/inet.h>
#include <infiniband/ib.h>

static struct {
	int attached, detached, error;
	uint8_t gid[16];
} group;

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)qp, (void)lid;
	if (group.error)
		return group.error;
	memcpy(group.gid, gid->raw, 16);
	group.attached++;
	return 0;
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)qp, (void)gid, (void)lid;
	group.detached++;
	return 0;
}

TEST(multicast_gid__maps_addresses_as_the_kernel_does)
{
	struct sockaddr_in four = { .sin_family = AF_INET,
		.sin_addr.s_addr = inet_addr("239.1.2.3") };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr.s6_addr = { 0xff, 2 } };
	struct sockaddr_ib ib = { .sib_family = AF_IB };
	uint8_t gid[16];

	CHECK(multicast_gid((struct sockaddr *)&four, gid));
	CHECK(gid[0] == 0 && gid[11] == 0xff && gid[12] == 239 && gid[15] == 3);
	CHECK(multicast_gid((struct sockaddr *)&six, gid));
	CHECK(gid[0] == 0xff && gid[1] == 2);
	CHECK(!multicast_gid((struct sockaddr *)&ib, gid)); /* :: */
	four.sin_addr.s_addr = inet_addr("10.0.0.1");
	CHECK(!multicast_gid((struct sockaddr *)&four, gid));
	CHECK(!multicast_gid(&(struct sockaddr){ .sa_family = AF_UNIX }, gid));
}

TEST(rdma_join_multicast__attaches_and_says_where_to_send_to)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_addr.s_addr = inet_addr("239.1.2.3") };
	struct sockaddr *address = (struct sockaddr *)&to;
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD };
	struct rdma_cm_id *id;
	int word;

	REQUIRE(!rdma_create_id(channel, &id, NULL, RDMA_PS_UDP));
	CHECK_EQ(rdma_join_multicast(id, address, NULL), -1); /* no device yet */
	CHECK_EQ(errno, EINVAL);
	/* No route leads there, and none is needed. */
	REQUIRE(!rdma_resolve_addr(id, NULL, address, 100));
	rdma_ack_cm_event(want(channel, RDMA_CM_EVENT_ADDR_RESOLVED));
	REQUIRE(!rdma_create_qp(id, NULL, &init));

	REQUIRE(!rdma_join_multicast(id, address, &word));
	struct rdma_cm_event *event = want(channel, RDMA_CM_EVENT_MULTICAST_JOIN);

	CHECK(event->param.ud.private_data == &word);
	CHECK_EQ(event->param.ud.qp_num, 0xffffff);
	CHECK_EQ(event->param.ud.qkey, 0x01234567);
	CHECK(event->param.ud.ah_attr.is_global);
	CHECK_EQ(event->param.ud.ah_attr.grh.dgid.raw[12], 239);
	CHECK_EQ(group.gid[12], 239);
	CHECK_EQ(group.attached, 1);
	rdma_ack_cm_event(event);
	CHECK_EQ(rdma_leave_multicast(id, address), 0);
	CHECK_EQ(group.detached, 1);
	CHECK_EQ(rdma_leave_multicast(id, address), -1);
	CHECK_EQ(errno, EADDRNOTAVAIL);

	/* Who only sends is not attached. */
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
		.addr = address
	};

	REQUIRE(!rdma_join_multicast_ex(id, &attr, NULL));
	rdma_ack_cm_event(want(channel, RDMA_CM_EVENT_MULTICAST_JOIN));
	CHECK_EQ(group.attached, 1);
	CHECK_EQ(rdma_leave_multicast(id, address), 0);

	group.error = ENOMEM;
	CHECK_EQ(rdma_join_multicast(id, address, NULL), -1);
	CHECK_EQ(errno, ENOMEM);
	CHECK_EQ(rdma_leave_multicast(id, address), -1);
	group.error = 0;
	REQUIRE(!rdma_join_multicast(id, address, NULL)); /* left with the id */
	rdma_ack_cm_event(want(channel, RDMA_CM_EVENT_MULTICAST_JOIN));
	int before = group.detached;

	rdma_destroy_qp(id); /* and none in a group can be destroyed */
	CHECK_EQ(group.detached, before + 1);
	CHECK(!rdma_destroy_id(id));
	CHECK_EQ(group.detached, before + 1);
	rdma_destroy_event_channel(channel);
}
