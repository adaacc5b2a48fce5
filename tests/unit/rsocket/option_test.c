/* SPDX-License-Identifier: BSD-2-Clause */
#include "twin.h"

#include <netinet/tcp.h>

TEST(rsetsockopt__keeps_what_it_knows)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0), value = 1;
	socklen_t bytes = sizeof(value);
	struct linger linger = { 1, 3 }, told = { 0 };

	CHECK_EQ(rsetsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, bytes), 0);
	value = 0;
	CHECK_EQ(rgetsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &bytes), 0);
	CHECK_EQ(value, 1);
	value = 100000;
	CHECK_EQ(rsetsockopt(fd, SOL_SOCKET, SO_RCVBUF, &value, bytes), 0);
	CHECK_EQ(rgetsockopt(fd, SOL_SOCKET, SO_RCVBUF, &value, &bytes), 0);
	CHECK(value >= 100000);
	CHECK_EQ(rsetsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	bytes = sizeof(told);
	CHECK_EQ(rgetsockopt(fd, SOL_SOCKET, SO_LINGER, &told, &bytes), 0);
	CHECK_EQ(told.l_linger, 3);
	CHECK_EQ(rsetsockopt(fd, 12345, 1, &value, sizeof(value)), -1);
	CHECK_EQ(errno, ENOPROTOOPT);
	value = WEFT_RSOCK_MAPS + 1;
	CHECK_EQ(rsetsockopt(fd, SOL_RDMA, RDMA_IOMAPSIZE, &value, sizeof(value)), -1);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(rclose(fd), 0);
}

TEST(rfcntl__turns_waiting_off)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	CHECK_EQ(rfcntl(fd, F_GETFL), O_RDWR);
	CHECK_EQ(rfcntl(fd, F_SETFL, O_NONBLOCK), 0);
	CHECK_EQ(rfcntl(fd, F_GETFL), O_RDWR | O_NONBLOCK);
	CHECK_EQ(rfcntl(fd, F_SETLK, NULL), -1);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(rclose(fd), 0);
}

TEST(rgetsockname__knows_the_port)
{
	struct pair p = meet();
	struct sockaddr_in name;
	socklen_t bytes = sizeof(name);

	CHECK_EQ(rgetsockname(p.server, (struct sockaddr *)&name, &bytes), 0);
	CHECK_EQ(bytes, sizeof(name));
	CHECK_EQ(name.sin_port, p.at.sin_port);
	CHECK_EQ(rgetpeername(p.listener, (struct sockaddr *)&name, &bytes), -1);
	CHECK_EQ(errno, ENOTCONN);
	end(&p);
}
