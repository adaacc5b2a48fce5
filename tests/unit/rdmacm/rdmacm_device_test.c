/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_verbs.h"

#include <weft/net.h>

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

static int found_with(int lacks)
{
	int n = -1;

	device_hold();
	device_let_go(true);
	one_device_lacks = lacks;
	rdma_free_devices(rdma_get_devices(&n));
	return n;
}

/* A server short of descriptors for a moment has its device again after it. */
TEST(rdma_get_devices__tries_again_what_was_short_of_memory_or_descriptors)
{
	const int passes[] = { ENOMEM, EMFILE, ENFILE, EAGAIN };
	int n = 0;

	for (size_t i = 0; i < sizeof(passes) / sizeof(*passes); i++) {
		CHECK_EQ(found_with(passes[i]), 0);
		rdma_free_devices(rdma_get_devices(&n));
		CHECK_EQ(n, 1);
	}
	uint32_t opened = one_device_opened;

	rdma_free_devices(rdma_get_devices(&n));
	CHECK_EQ(one_device_opened, opened);
	CHECK_EQ(found_with(ENODEV), 0);
	rdma_free_devices(rdma_get_devices(&n));
	CHECK_EQ(n, 0);
	CHECK_EQ(one_device_opened, opened + 1);
	CHECK_EQ(found_with(0), 1);
}

/* They come late, by other hands; each try says that they are missing. */
TEST(rdma_get_devices__waits_a_second_before_it_looks_for_planes_again)
{
	int n = -1;

	CHECK_EQ(found_with(EADDRNOTAVAIL), 0);
	uint32_t opened = one_device_opened;

	rdma_free_devices(rdma_get_devices(&n));
	CHECK_EQ(one_device_opened, opened);
	uint64_t end = weft_clock_now(NULL) + UINT64_C(5000000000);

	while (!n && weft_clock_now(NULL) < end) {
		usleep(100000);
		rdma_free_devices(rdma_get_devices(&n));
	}
	CHECK_EQ(n, 1);
	CHECK_EQ(one_device_opened, opened + 1);
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
