/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_verbs.h"

TEST(device_for__finds_one_for_any_address)
{
	struct sockaddr_in own = loopback(0), other = loopback(0);

	inet_pton(AF_INET, "10.0.0.1", &other.sin_addr);
	CHECK(device_at((struct sockaddr *)&own) == &one_context);
	CHECK(!device_at((struct sockaddr *)&other));
	CHECK(device_for((struct sockaddr *)&own) == &one_context);
	CHECK(device_for((struct sockaddr *)&other) == &one_context);
	CHECK(device_pd(&one_context) && device_pd(&one_context)->context == &one_context);
	CHECK(!device_pd(NULL));
}

TEST(rdma_get_devices__lists_what_is_open)
{
	int n = 0;
	struct ibv_context **list = rdma_get_devices(&n);

	REQUIRE(list);
	CHECK_EQ(n, 1);
	CHECK(list[0] == &one_context && !list[1]);
	rdma_free_devices(list);
}
