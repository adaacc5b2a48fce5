/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "rsocket_local.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static bool has_no_memory;

void *__real_realloc(void *at, size_t bytes);
void *__wrap_realloc(void *at, size_t bytes)
{
	return has_no_memory ? NULL : __real_realloc(at, bytes);
}

TEST(table_add__says_that_there_is_no_memory)
{
	struct rsock *rs = table_new(AF_INET, SOCK_STREAM);

	REQUIRE(rs);
	has_no_memory = true;
	CHECK(!table_add(rs));
	CHECK_EQ(errno, ENOMEM);
	CHECK(!table_get(rs->fd));
	CHECK_EQ(rsocket(AF_INET, SOCK_STREAM, 0), -1);
	CHECK(errno == ENOMEM || errno == ENODEV);
	has_no_memory = false;
	CHECK(table_add(rs));
	CHECK(table_take_out(rs->fd));
}

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
