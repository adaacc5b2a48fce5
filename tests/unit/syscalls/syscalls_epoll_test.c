/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

TEST(epoll_wait__is_the_kernel_s)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = 7 };
	int set = epoll_create1(EPOLL_CLOEXEC), fds[2];

	REQUIRE(set >= 0);
	REQUIRE(!pipe(fds));
	CHECK_EQ(epoll_ctl(set, EPOLL_CTL_ADD, fds[0], &event), 0);
	CHECK_EQ(epoll_wait(set, &event, 1, 0), 0);
	CHECK_EQ(write(fds[1], "x", 1), 1);
	CHECK_EQ(epoll_wait(set, &event, 1, -1), 1);
	CHECK_EQ(event.data.u64, 7);
	CHECK_EQ(epoll_ctl(set, EPOLL_CTL_ADD, fds[0], &event), -1);
	CHECK_EQ(errno, EEXIST);
	close(fds[0]);
	close(fds[1]);
	close(set);
}

/* What a preloaded library may take for its own is not asked for by name. */
TEST(epoll_wait__is_inside_of_the_libraries)
{
	static const char *const libraries[] = { "libibverbs.so.1", "librdmacm.so.1" };

	for (size_t i = 0; i < 2; i++) {
		char path[PATH_MAX + 32], command[PATH_MAX + 128];
		ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);

		REQUIRE(n > 0);
		path[n] = 0;
		char *end = strrchr(path, '/');
		snprintf(end, (size_t)(path + sizeof(path) - end), "/lib/%s", libraries[i]);
		if (access(path, R_OK))
			SKIP("not built here");
		snprintf(command, sizeof(command),
			"nm -D --undefined-only %s | grep -E ' "
			"(epoll_(create1?|ctl|wait)|socket)@'",
			path);
		if (!system(command))
			CHECK_FAIL("%s", libraries[i]);
	}
}
