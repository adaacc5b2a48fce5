/* SPDX-License-Identifier: BSD-2-Clause */
/* The room is linked in, so the calls below go through it. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weft/paths.h>

#define NODE "/dev/infiniband/uverbs57" /* no machine has so many */

TEST(weft_paths_map__leads_missing_nodes_to_null)
{
	CHECK_STR(weft_paths_map(NODE), "/dev/null");
	CHECK_STR(weft_paths_map("/dev/infiniband/rdma_cm"), "/dev/infiniband/rdma_cm");
	CHECK_STR(weft_paths_map("/etc/hosts"), "/etc/hosts");
	CHECK(!weft_paths_map(NULL));
}

TEST(stat__sees_a_character_device)
{
	struct stat st;
	struct statx stx;

	CHECK(!stat(NODE, &st) && S_ISCHR(st.st_mode));
	CHECK(!lstat(NODE, &st) && S_ISCHR(st.st_mode));
	CHECK(!fstatat(AT_FDCWD, NODE, &st, 0) && S_ISCHR(st.st_mode));
	CHECK(!statx(AT_FDCWD, NODE, 0, STATX_TYPE, &stx) && S_ISCHR(stx.stx_mode));
	CHECK(!access(NODE, R_OK | W_OK));
}

TEST(stat__leaves_everything_else_alone)
{
	struct stat st;

	CHECK(!stat("/proc", &st) && S_ISDIR(st.st_mode));
	CHECK_EQ(stat("/dev/infinitesimal", &st), -1);
	CHECK_EQ(errno, ENOENT);
	CHECK_EQ(access("/dev/infinitesimal", F_OK), -1);
	CHECK(!access("/proc", F_OK));
}
