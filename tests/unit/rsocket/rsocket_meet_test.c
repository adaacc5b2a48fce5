/* SPDX-License-Identifier: BSD-2-Clause */
#include "twin.h"

TEST(rsocket__refuses_what_it_is_not)
{
	CHECK_EQ(rsocket(AF_UNIX, SOCK_STREAM, 0), -1);
	CHECK_EQ(errno, EAFNOSUPPORT);
	CHECK_EQ(rsocket(AF_INET, SOCK_STREAM, IPPROTO_UDP), -1);
	CHECK_EQ(errno, EPROTONOSUPPORT);
	CHECK_EQ(rlisten(-1, 1), -1);
	CHECK_EQ(errno, EBADF);
}

TEST(rconnect__is_refused_where_nobody_listens)
{
	struct sockaddr_in at = loopback(1);
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	CHECK_EQ(rconnect(fd, (struct sockaddr *)&at, sizeof(at)), -1);
	CHECK_EQ(errno, ECONNREFUSED);
	CHECK_EQ(rconnect(fd, (struct sockaddr *)&at, 3), -1);
	CHECK_EQ(rclose(fd), 0);
}

TEST(raccept__says_who_came)
{
	struct pair p = meet();
	struct sockaddr_in name;
	socklen_t bytes = sizeof(name);

	CHECK_EQ(rgetpeername(p.client, (struct sockaddr *)&name, &bytes), 0);
	CHECK_EQ(name.sin_port, p.at.sin_port);
	CHECK_EQ(rfcntl(p.listener, F_SETFL, O_NONBLOCK), 0);
	CHECK_EQ(raccept(p.listener, NULL, NULL), -1);
	CHECK_EQ(errno, EAGAIN);
	CHECK_EQ(raccept(p.client, NULL, NULL), -1);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(rconnect(p.client, (struct sockaddr *)&p.at, sizeof(p.at)), -1);
	CHECK_EQ(errno, EISCONN);
	end(&p);
}

TEST(rbind__shares_a_port_where_both_ask_for_it)
{
	struct sockaddr_in at = loopback(0);
	socklen_t bytes = sizeof(at);
	int fd[3], on = 1;

	for (int i = 0; i < 3; i++)
		fd[i] = rsocket(AF_INET, SOCK_STREAM, 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(rsetsockopt(fd[i], SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
	REQUIRE(!rbind(fd[2], (struct sockaddr *)&at, bytes));
	REQUIRE(!rgetsockname(fd[2], (struct sockaddr *)&at, &bytes));
	CHECK_EQ(rbind(fd[0], (struct sockaddr *)&at, bytes), -1);
	CHECK_EQ(errno, EADDRINUSE);
	CHECK_EQ(rclose(fd[2]), 0);
	CHECK_EQ(rbind(fd[0], (struct sockaddr *)&at, bytes), 0);
	CHECK_EQ(rbind(fd[1], (struct sockaddr *)&at, bytes), 0);
	CHECK_EQ(rclose(fd[0]), 0);
	CHECK_EQ(rclose(fd[1]), 0);
}
