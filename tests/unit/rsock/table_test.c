/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "local.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(table_get__finds_what_was_added_until_it_is_removed)
{
	struct rsock *rs = table_new(AF_INET, SOCK_STREAM);

	REQUIRE(rs);
	int fd = rs->fd;
	CHECK(!table_get(fd));
	CHECK_EQ(errno, EBADF);
	table_add(rs);
	CHECK(table_get(fd) == rs);
	CHECK_EQ(table_next(-1), fd);
	CHECK_EQ(table_next(fd), -1);
	CHECK(table_take_out(fd));
	CHECK(!table_get(fd));
	CHECK(!table_take_out(fd));
	CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC); /* while a call has it */
	table_put(rs);
	CHECK_EQ(fcntl(fd, F_GETFD), -1);
	CHECK(!table_get(-1));
}

TEST(table_get__leaves_a_parent_s_to_the_parent)
{
	struct rsock *rs = table_new(AF_INET, SOCK_STREAM);
	int status = 0;

	REQUIRE(rs);
	table_add(rs);
	pid_t child = fork();
	if (!child) {
		bool right = !table_get(rs->fd) && table_next(-1) < 0 && table_take_out(rs->fd);

		_exit(right ? 0 : 1);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK(table_take_out(rs->fd));
}
