/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

TEST(socket__is_the_kernel_s)
{
	int kind = 0, fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	socklen_t bytes = sizeof(kind);

	CHECK(fd >= 0);
	CHECK_EQ(getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &bytes), 0);
	CHECK_EQ(kind, SOCK_DGRAM);
	CHECK_EQ(close(fd), 0);
	CHECK_EQ(socket(-1, SOCK_DGRAM, 0), -1);
	CHECK_EQ(errno, EAFNOSUPPORT);
}
