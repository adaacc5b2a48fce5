/* SPDX-License-Identifier: BSD-2-Clause */
#include "ends.h"

#include <sys/wait.h>

TEST(nic_properties__says_what_the_device_can)
{
	struct weft_nccl_properties_v12 p;

	ends_init();
	CHECK_EQ(nic_count(), 1);
	CHECK_EQ(nic_properties(0, &p), WEFT_NCCL_SUCCESS);
	CHECK_EQ(p.ptr_support,
		WEFT_NCCL_PTR_HOST | WEFT_NCCL_PTR_CUDA | WEFT_NCCL_PTR_DMABUF); /* a stand-in's */
	CHECK(!p.pci_path);
	CHECK(p.name && *p.name);
	CHECK(p.comms_max > 0);
	CHECK(p.p2p_bytes_max > 0);
	CHECK_EQ(p.merged.n, 1);
	CHECK_EQ(p.rail, -1);
}

TEST(nic_properties__says_the_rate_of_the_line)
{
	struct weft_nccl_properties_v12 p;

	ends_init();
	struct nic *nic = nic_get(0); /* open until the end, with these numbers */

	REQUIRE(nic);
	nic->attr.rate_bps = UINT64_C(20000000000); /* what the machine can carry */
	nic->attr.line_bps = UINT64_C(3200000000000);
	REQUIRE(nic_properties(0, &p) == WEFT_NCCL_SUCCESS);
	CHECK_EQ(p.speed_mbps, 3200000);
	nic->attr.line_bps = UINT64_MAX;
	REQUIRE(nic_properties(0, &p) == WEFT_NCCL_SUCCESS);
	CHECK(p.speed_mbps > 0);
	nic_put(nic);
}

TEST(nic_get__knows_its_numbers)
{
	ends_init();
	CHECK(!nic_get(-1));
	CHECK(!nic_get(1));
	CHECK(!nic_get(1000));
}

TEST(nic_get__opens_once_and_closes_at_the_last)
{
	ends_init();
	struct nic *a = nic_get(0), *b = nic_get(0);

	REQUIRE(a && a == b);
	struct weft_dev *dev = a->dev;

	nic_put(a);
	CHECK(b->dev == dev);
	nic_put(b);
	CHECK(!b->dev);
}

static _Atomic bool must_end;

static void *open_and_close(void *arg)
{
	while (!must_end) {
		struct nic *nic = nic_get(0);

		if (nic)
			nic_put(nic);
	}
	return arg;
}

/* While another thread is in the midst of opening a device: the child has no such thread. */
TEST(nic_get__answers_in_a_child)
{
	pthread_t thread;
	int status = 0;

	ends_init();
	must_end = false;
	REQUIRE(!pthread_create(&thread, NULL, open_and_close, NULL));
	for (int i = 0; i < 20 && !status; i++) {
		pid_t child = fork();

		REQUIRE(child >= 0);
		if (!child) {
			alarm(5);
			_exit(nic_init(NULL) == WEFT_NCCL_SUCCESS && !nic_get(1000) ? 0 : 1);
		}
		REQUIRE(waitpid(child, &status, 0) == child);
	}
	CHECK_EQ(status, 0);
	must_end = true;
	REQUIRE(!pthread_join(thread, NULL));
}

/* nic_init() has found one in this process, and looks only once: in another. */
TEST(nic_init__is_no_network_where_there_is_no_device)
{
	const char *run = getenv("NCCL_TEST_ALONE");

	if (run)
		return;
	unsetenv("WEFT_PLANES");
	unsetenv("WEFT_CONFIG");
	unsetenv("WEFT_FABRIC");
	if (!nic_count())
		CHECK_EQ(nic_init(ends_log), WEFT_NCCL_SYSTEM_ERROR);
}
