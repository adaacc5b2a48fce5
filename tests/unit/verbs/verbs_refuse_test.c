/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_device.h"

int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);

TEST(refuse__answers_as_a_provider_without_it)
{
	struct bench b = open_bench(IBV_QPT_RC, 0);
	struct ibv_ece ece;

	CHECK_EQ(ibv_query_ece(b.qp, &ece), EOPNOTSUPP);
	CHECK_EQ(ibv_set_ece(b.qp, &ece), EOPNOTSUPP);
	errno = 0;
	CHECK(!ibv_import_device(-1));
	CHECK_EQ(errno, EOPNOTSUPP);
	CHECK(!ibv_import_pd(b.context, 0));
	CHECK(!ibv_import_mr(b.pd, 0));
	CHECK(!ibv_import_dm(b.context, 0));
	CHECK_EQ(ibv_query_qp_data_in_order(b.qp, IBV_WR_RDMA_WRITE, 0), 0);
	/* Operations that only the table has. */
	CHECK(!ibv_alloc_null_mr(b.pd) && errno == EOPNOTSUPP);
	close_bench(&b);
}

TEST(ibv_fork_init__has_nothing_to_do)
{
	CHECK_EQ(ibv_fork_init(), 0);
	CHECK_EQ(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
}

TEST(ibv_read_sysfs_file__reads_a_line)
{
	char text[64];

	CHECK_EQ(ibv_read_sysfs_file("/nowhere", "x", text, sizeof(text)), -1);
	CHECK(ibv_read_sysfs_file("/proc/sys/kernel", "ostype", text, sizeof(text)) > 0);
	CHECK_STR(text, "Linux");
}
