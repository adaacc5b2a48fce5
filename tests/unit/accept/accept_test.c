/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <weft/accept.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in address;

static struct weft_listener make_listener(void)
{
	socklen_t bytes = sizeof(address);
	struct weft_listener l = { .fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0) };

	address = (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	REQUIRE(l.fd >= 0);
	REQUIRE(!bind(l.fd, (struct sockaddr *)&address, bytes));
	REQUIRE(!listen(l.fd, 8));
	REQUIRE(!getsockname(l.fd, (struct sockaddr *)&address, &bytes));
	return l;
}

static int call(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	REQUIRE(fd >= 0 && !connect(fd, (struct sockaddr *)&address, sizeof(address)));
	return fd;
}

TEST(weft_accept__gives_what_neither_blocks_nor_survives_exec)
{
	struct weft_listener l = make_listener();
	int caller = call();
	int fd = weft_accept(&l, 1);

	REQUIRE(fd >= 0);
	CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK);
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	CHECK_EQ(weft_accept(&l, 1), -1); /* nobody else: no reason to nap */
	CHECK_EQ(l.again_ns, 0);
	close(fd);
	close(caller);
	close(l.fd);
}

TEST(weft_accept__naps_where_no_descriptor_is_left)
{
	struct weft_listener l = make_listener();
	int caller = call();
	struct rlimit old, none;

	REQUIRE(!getrlimit(RLIMIT_NOFILE, &old));
	none = old;
	none.rlim_cur = (rlim_t)caller + 1;
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &none));
	CHECK_EQ(weft_accept(&l, 1000), -1);
	CHECK_EQ(l.again_ns, 1000 + WEFT_ACCEPT_NAP_NS);
	CHECK_EQ(l.naps, 1);
	CHECK(!weft_listener_is_open(&l, l.again_ns - 1));
	CHECK_EQ(weft_accept(&l, l.again_ns - 1), -1);
	CHECK_EQ(l.naps, 1); /* it was not even tried */
	uint64_t again_ns = l.again_ns;

	CHECK(weft_listener_is_open(&l, again_ns));
	CHECK_EQ(weft_accept(&l, again_ns), -1);
	CHECK_EQ(l.naps, 2);
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &old));
	int fd = weft_accept(&l, l.again_ns); /* he has waited in the backlog */

	CHECK(fd >= 0);
	CHECK_EQ(l.again_ns, 0);
	close(fd);
	close(caller);
	close(l.fd);
}

TEST(weft_accept__of_no_listener_is_nobody)
{
	struct weft_listener l = { .fd = -1 };

	CHECK_EQ(weft_accept(&l, 1), -1);
	CHECK_EQ(l.naps, 0);
	CHECK(!weft_listener_is_open(&l, 1));
}

TEST(weft_files_raise__goes_up_to_the_hard_limit)
{
	struct rlimit old, low, now;

	REQUIRE(!getrlimit(RLIMIT_NOFILE, &old));
	low = old;
	low.rlim_cur = 64;
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &low));
	CHECK_EQ(weft_files_raise(), old.rlim_max);
	REQUIRE(!getrlimit(RLIMIT_NOFILE, &now));
	CHECK_EQ(now.rlim_cur, old.rlim_max);
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &old));
}
