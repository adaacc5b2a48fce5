/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_device.h"

TEST(ibv_attach_mcast__hands_the_group_to_the_device)
{
	struct bench b = open_bench(IBV_QPT_UD, 0);
	union ibv_gid gid = { .raw = { 0xff, 0x0e, [15] = 3 } };

	CHECK_EQ(ibv_attach_mcast(b.qp, &gid, 0xc000), 0);
	CHECK(!memcmp(fake.group, gid.raw, 16));
	fake.error = EBUSY;
	CHECK_EQ(ibv_destroy_qp(b.qp), EBUSY);
	CHECK_EQ(ibv_detach_mcast(b.qp, &gid, 0xc000), 0);
	CHECK_EQ(ibv_detach_mcast(b.qp, &gid, 0xc000), EINVAL);
	CHECK_EQ(ibv_attach_mcast(b.qp, NULL, 0), EINVAL);
	close_bench(&b);
}
