/* SPDX-License-Identifier: BSD-2-Clause */
#include "lo.h"

/* The first come by the kernel, and from some moment on by the queue pair. */
TEST(dgram_send__goes_by_the_queue_pair_as_soon_as_it_is_known)
{
	int a = open_at(0), b = open_at(7001);
	struct rsock *rs = table_get(a);
	struct sockaddr_in from, own;
	socklen_t bytes = sizeof(own);
	char data[900], got[4096]; /* a packet of this device has 1,024 */
	bool by_queue_pair = false;

	REQUIRE(rs);
	for (uint32_t i = 0; i < 100000 && !by_queue_pair; i++) {
		memset(data, (int)i, sizeof(data));
		REQUIRE(send_to(a, 7001, data, sizeof(data)) == sizeof(data));
		weft_lock_take(&rs->lock);
		by_queue_pair = !dgram_is_flushed(rs);
		weft_lock_give(&rs->lock);
		REQUIRE(is_readable(b));
		bytes = sizeof(from);
		REQUIRE(rrecvfrom(b, got, sizeof(got), 0, (struct sockaddr *)&from, &bytes) ==
			sizeof(data));
		CHECK(!memcmp(got, data, sizeof(data)));
		(void)rpoll(&(struct pollfd){ .fd = a, .events = POLLIN }, 1, 1);
	}
	CHECK(by_queue_pair);
	CHECK_EQ(bytes, sizeof(from));
	bytes = sizeof(own);
	CHECK(!rgetsockname(a, (struct sockaddr *)&own, &bytes));
	CHECK_EQ(from.sin_port, own.sin_port); /* it can be answered */
	CHECK_EQ(from.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	CHECK_EQ(rsendto(b, "back", 4, 0, (struct sockaddr *)&from, sizeof(from)), 4);
	REQUIRE(is_readable(a));
	CHECK_EQ(rrecv(a, got, sizeof(got), 0), 4);
	CHECK(!memcmp(got, "back", 4));
	table_put(rs);
	CHECK_EQ(rclose(a), 0);
	CHECK_EQ(rclose(b), 0);
}

TEST(dgram_receive__keeps_one_from_the_next)
{
	int a = open_at(0), b = open_at(7002);
	char got[8] = { 0 };
	struct sockaddr_in to = loopback(7002), name;
	struct iovec iov[2] = { { got, 2 }, { got + 4, 4 } };
	struct msghdr msg = {
		.msg_iov = iov, .msg_iovlen = 2, .msg_name = &name, .msg_namelen = sizeof(name)
	};

	CHECK_EQ(rconnect(a, (struct sockaddr *)&to, sizeof(to)), 0);
	CHECK_EQ(rsend(a, "first", 5, 0), 5);
	REQUIRE(is_readable(b));
	CHECK_EQ(rrecv(b, got, 3, MSG_PEEK), 3);
	CHECK_EQ(rrecv(b, got, 3, 0), 3); /* the rest of it is gone */
	CHECK_EQ(rrecv(b, got, 8, MSG_DONTWAIT), -1);
	CHECK_EQ(errno, EAGAIN);
	CHECK_EQ(rsend(a, NULL, 0, 0), 0); /* one of nothing is one */
	REQUIRE(is_readable(b));
	CHECK_EQ(rrecv(b, got, 8, 0), 0);
	CHECK_EQ(rsend(a, "second", 6, 0), 6);
	REQUIRE(is_readable(b));
	CHECK_EQ(rrecvmsg(b, &msg, 0), 6);
	CHECK(!memcmp(got, "se", 2) && !memcmp(got + 4, "cond", 4));
	CHECK_EQ(msg.msg_namelen, sizeof(name));
	CHECK_EQ(name.sin_family, AF_INET);
	CHECK_EQ(rclose(a), 0);
	CHECK_EQ(rclose(b), 0);
}

/* There are more peers than ways: one is given up, when nothing that is under way names it. */
TEST(dgram_send__waits_for_a_way_that_is_in_use)
{
	int a = open_at(0), b = open_at(7012);
	struct rsock *rs = table_get(a);
	char got[8];

	REQUIRE(rs);
	for (uint16_t round = 0, n = 0; round < 20; round++) {
		bool is_under_way = false;

		for (uint32_t i = 0; i < 100000 && !is_under_way; i++) {
			REQUIRE(send_to(a, 7012, "x", 1) == 1);
			weft_lock_take(&rs->lock);
			is_under_way = !dgram_is_flushed(rs);
			for (unsigned k = 0; k < WAYS && is_under_way; k++) {
				struct way *way = &rs->dgram->ways[k];

				if (!way->to.ss_family) {
					way->to = rs->dgram->ways[0].to;
					*name_port(&way->to) = htons((uint16_t)(40000 + k));
				}
				way->used_ms = way->ah ? 1 : wait_now_ms();
			}
			weft_lock_give(&rs->lock);
			if (!is_under_way) {
				REQUIRE(is_readable(b));
				(void)rrecv(b, got, sizeof(got), 0);
				(void)rpoll(&(struct pollfd){ .fd = a, .events = POLLIN }, 1, 1);
			}
		}
		REQUIRE(is_under_way);
		CHECK_EQ(send_to(a, (uint16_t)(20000 + n++), "y", 1), 1);
		while (rrecv(b, got, sizeof(got), MSG_DONTWAIT) > 0)
			;
	}
	table_put(rs);
	CHECK_EQ(rclose(a), 0);
	CHECK_EQ(rclose(b), 0);
}

/* recv(2): MSG_TRUNC asks how long it was, with MSG_PEEK too; recvmsg() says that some is gone. */
TEST(dgram_receive__says_what_does_not_fit)
{
	int a = open_at(0), b = open_at(7010);
	char got[8] = { 0 };
	struct iovec iov = { got, 3 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	CHECK_EQ(send_to(a, 7010, "first", 5), 5);
	REQUIRE(is_readable(b));
	CHECK_EQ(rrecv(b, NULL, 0, MSG_PEEK | MSG_TRUNC), 5);
	CHECK_EQ(rrecv(b, got, 3, MSG_PEEK), 3);
	CHECK_EQ(rrecv(b, got, 3, MSG_TRUNC), 5);
	CHECK(!memcmp(got, "fir\0", 4));
	CHECK_EQ(send_to(a, 7010, "second", 6), 6);
	REQUIRE(is_readable(b));
	CHECK_EQ(rrecvmsg(b, &msg, 0), 3);
	CHECK_EQ(msg.msg_flags, MSG_TRUNC);
	CHECK_EQ(send_to(a, 7010, "3rd", 3), 3);
	REQUIRE(is_readable(b));
	CHECK_EQ(rrecvmsg(b, &msg, 0), 3);
	CHECK_EQ(msg.msg_flags, 0);
	CHECK_EQ(rclose(a), 0);
	CHECK_EQ(rclose(b), 0);
}

/* Servers bind to all addresses of both families, one socket each. */
TEST(dgram_bind__leaves_the_other_family_its_port)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(7011) };
	struct sockaddr_in any4 = { .sin_family = AF_INET, .sin_port = htons(7011) };
	int a = open_at(0), b = rsocket(AF_INET6, SOCK_DGRAM, 0);

	REQUIRE(b >= 0);
	CHECK_EQ(rsetsockopt(b, IPPROTO_IPV6, IPV6_V6ONLY, &(int){ 1 }, sizeof(int)), 0);
	CHECK_EQ(rbind(b, (struct sockaddr *)&any, sizeof(any)), 0);
	CHECK_EQ(rbind(a, (struct sockaddr *)&any4, sizeof(any4)), 0);
	CHECK_EQ(rclose(a), 0);
	CHECK_EQ(rclose(b), 0);
}

/* A connected socket hears its peer only. */
TEST(dgram_connect__shuts_others_out)
{
	int a = open_at(7003), b = open_at(7004), stranger = open_at(7005);
	struct sockaddr_in to = loopback(7003), none = { .sin_family = AF_UNSPEC };
	char got[8];

	CHECK_EQ(rsend(b, "x", 1, 0), -1);
	CHECK_EQ(errno, EDESTADDRREQ);
	CHECK_EQ(rgetpeername(b, (struct sockaddr *)&to, &(socklen_t){ sizeof(to) }), -1);
	CHECK_EQ(rconnect(b, (struct sockaddr *)&to, sizeof(to)), 0);
	CHECK_EQ(send_to(stranger, 7004, "stranger", 8), 8);
	CHECK_EQ(send_to(a, 7004, "peer", 4), 4);
	REQUIRE(is_readable(b));
	CHECK_EQ(rrecv(b, got, 8, 0), 4);
	CHECK(!memcmp(got, "peer", 4));
	CHECK_EQ(rconnect(b, (struct sockaddr *)&none, sizeof(none)), 0);
	CHECK_EQ(send_to(stranger, 7004, "again", 5), 5);
	REQUIRE(is_readable(b));
	CHECK_EQ(rrecv(b, got, 8, 0), 5);
	CHECK_EQ(rclose(a), 0);
	CHECK_EQ(rclose(b), 0);
	CHECK_EQ(rclose(stranger), 0);
}

TEST(rsocket__of_datagrams_refuses_what_cannot_be)
{
	int a = open_at(7006);
	struct sockaddr_in to = loopback(7007);
	static char much[65536];

	CHECK_EQ(rlisten(a, 1), -1);
	CHECK_EQ(errno, EOPNOTSUPP);
	CHECK_EQ(rsocket(AF_INET, SOCK_DGRAM, IPPROTO_TCP), -1);
	CHECK_EQ(errno, EPROTONOSUPPORT);
	CHECK_EQ(rsocket(AF_INET, SOCK_SEQPACKET, 0), -1);
	CHECK_EQ(send_to(a, 7007, much, sizeof(much)), -1);
	CHECK_EQ(errno, EMSGSIZE);
	CHECK_EQ(rsendto(a, much, 1, 0, (struct sockaddr *)&to, 4), -1);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(rbind(a, (struct sockaddr *)&to, sizeof(to)), -1); /* it is, already */
	to = loopback(7006);
	int b = rsocket(AF_INET, SOCK_DGRAM, 0);

	CHECK_EQ(rbind(b, (struct sockaddr *)&to, sizeof(to)), -1);
	CHECK_EQ(errno, EADDRINUSE);
	CHECK_EQ(send_to(a, 7007, much, 8), 8); /* to nobody: as with UDP */
	CHECK_EQ(rclose(b), 0);
	CHECK_EQ(rclose(a), 0);
}
