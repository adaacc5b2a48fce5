/* SPDX-License-Identifier: BSD-2-Clause */
/* The room is linked in, so the calls below go through it. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

#define DEVICE "/sys/class/infiniband/mrc57"
#define PLACE "/sys/devices/virtual/infiniband/mrc57/device"

/* As NCCL's networks ask for the place of a device, and for what lies there. */
TEST(realpath__gives_a_device_a_place_on_no_bus)
{
	char text[PATH_MAX], *real = realpath(DEVICE "/device", NULL);
	struct stat st;

	CHECK_STR(real, PLACE);
	free(real);
	CHECK_STR(realpath(DEVICE "/device", text), PLACE);
	CHECK_STR(realpath(PLACE, text), PLACE);
	CHECK_EQ(readlink(DEVICE "/device", text, sizeof(text)), sizeof(PLACE) - 1);
	CHECK_MEM(text, PLACE, sizeof(PLACE) - 1);
	CHECK_EQ(readlink(DEVICE "/device", text, 4), 4);
	CHECK(!stat(PLACE, &st) && S_ISDIR(st.st_mode));
	CHECK(!stat(DEVICE, &st) && S_ISDIR(st.st_mode));
	CHECK(!realpath(PLACE "/subsystem", text));
	CHECK_EQ(errno, ENOENT);
	CHECK(!realpath("/sys/class/infiniband/mrc/device", text));
	CHECK(!realpath("/sys/class/infiniband/mlx5_57/device", text));
	CHECK_STR(realpath("/proc/../proc", text), "/proc");
}

static void holds(const char *path, const char *want)
{
	char text[64] = "";
	int fd = open(path, O_RDONLY);

	CHECK(fd >= 0 && read(fd, text, sizeof(text) - 1) == (ssize_t)strlen(want));
	CHECK_STR(text, want);
	close(fd);
	FILE *f = fopen(path, "r");

	CHECK(f && fgets(text, sizeof(text), f));
	CHECK_STR(text, want);
	if (f)
		fclose(f);
	CHECK(!access(path, R_OK));
	CHECK_EQ(open(path, O_RDWR), -1);
	CHECK_EQ(errno, EACCES);
	CHECK(!fopen(path, "w"));
}

TEST(open__reads_what_verbs_say_too)
{
	holds(DEVICE "/ports/1/gid_attrs/types/0", "RoCE v2\n");
	holds(DEVICE "/ports/1/gid_attrs/types/3", "RoCE v2\n");
	holds(DEVICE "/ports/1/link_layer", "Ethernet\n");
	holds(DEVICE "/device/numa_node", "-1\n");
	CHECK_EQ(open(DEVICE "/ports/1/gid_attrs/types/4", O_RDONLY), -1);
	CHECK_EQ(errno, ENOENT);
	CHECK_EQ(open(DEVICE "/ports/2/link_layer", O_RDONLY), -1);
}

TEST(open__makes_files_as_ever)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/tmp/weft-paths-%d", (int)getpid());
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0640);

	REQUIRE(fd >= 0 && write(fd, "x", 1) == 1);
	CHECK(!fstat(fd, &st) && (st.st_mode & 0777) == (0640 & ~umask(022)));
	close(fd);
	FILE *f = fopen(path, "a+");

	CHECK(f && fputc('y', f) == 'y' && !fclose(f));
	CHECK(!stat(path, &st) && st.st_size == 2);
	unlink(path);
}
