/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_verbs.h"

TEST(rdma_create_id__knows_two_port_spaces)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;

	CHECK_EQ(rdma_create_id(channel, &id, NULL, RDMA_PS_IB), -1);
	CHECK_EQ(errno, EPROTONOSUPPORT);
	REQUIRE(!rdma_create_id(channel, &id, &id, RDMA_PS_UDP));
	CHECK_EQ(id->qp_type, IBV_QPT_UD);
	CHECK(id->context == &id);
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

TEST(rdma_bind_addr__gives_a_device_and_a_port)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in at = loopback(0), any = loopback(0);
	struct rdma_cm_id *one, *two;

	REQUIRE(!rdma_create_id(channel, &one, NULL, RDMA_PS_TCP));
	CHECK(!rdma_bind_addr(one, (struct sockaddr *)&at));
	CHECK(one->verbs == &one_context);
	CHECK_EQ(one->port_num, 1);
	CHECK(rdma_get_src_port(one));
	CHECK_EQ(rdma_bind_addr(one, (struct sockaddr *)&at), -1); /* bound already */
	REQUIRE(!rdma_create_id(channel, &two, NULL, RDMA_PS_TCP));
	any.sin_addr.s_addr = 0;
	CHECK(!rdma_bind_addr(two, (struct sockaddr *)&any));
	CHECK(!two->verbs); /* any device */
	CHECK(!rdma_destroy_id(one));
	CHECK(!rdma_destroy_id(two));
	rdma_destroy_event_channel(channel);
}

TEST(rdma_bind_addr__gives_a_port_once)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in at = loopback(0);
	struct rdma_cm_id *id[3];

	for (int i = 0; i < 3; i++)
		REQUIRE(!rdma_create_id(channel, &id[i], NULL, RDMA_PS_TCP));
	REQUIRE(!rdma_bind_addr(id[0], (struct sockaddr *)&at));
	at.sin_port = rdma_get_src_port(id[0]);
	CHECK_EQ(rdma_bind_addr(id[1], (struct sockaddr *)&at), -1);
	CHECK_EQ(errno, EADDRINUSE);
	at.sin_addr.s_addr = 0;
	CHECK_EQ(rdma_bind_addr(id[1], (struct sockaddr *)&at), -1);
	CHECK_EQ(errno, EADDRINUSE);
	at = loopback(ntohs(at.sin_port));
	CHECK(!rdma_listen(id[0], 1));
	CHECK_EQ(rdma_bind_addr(id[1], (struct sockaddr *)&at), -1);
	CHECK_EQ(errno, EADDRINUSE);
	CHECK(!rdma_destroy_id(id[0]));
	CHECK(!rdma_bind_addr(id[1], (struct sockaddr *)&at)); /* it is free again */
	CHECK_EQ(rdma_bind_addr(id[2], (struct sockaddr *)&at), -1);
	CHECK(!rdma_destroy_id(id[1]));
	CHECK(!rdma_destroy_id(id[2]));
	rdma_destroy_event_channel(channel);
}

/* A server that comes back: its last connection is in TIME_WAIT, or lives on. */
TEST(rdma_bind_addr__passes_by_connections)
{
	struct pair p = ask(RDMA_PS_TCP, "", false);
	struct sockaddr_in at = loopback(0);
	struct rdma_cm_id *id[2];

	at.sin_port = rdma_get_src_port(p.listener);
	for (int i = 0; i < 2; i++)
		REQUIRE(!rdma_create_id(p.server, &id[i], NULL, RDMA_PS_TCP));
	CHECK(!rdma_destroy_id(p.listener));
	CHECK(!rdma_bind_addr(id[0], (struct sockaddr *)&at));
	CHECK(!rdma_destroy_id(p.passive)); /* closes first, and so waits */
	CHECK(!rdma_destroy_id(p.active));
	CHECK_EQ(rdma_bind_addr(id[1], (struct sockaddr *)&at), -1);
	CHECK_EQ(errno, EADDRINUSE);
	CHECK(!rdma_destroy_id(id[0]));
	CHECK(!rdma_bind_addr(id[1], (struct sockaddr *)&at));
	CHECK(!rdma_listen(id[1], 1));
	CHECK(!rdma_destroy_id(id[1]));
	rdma_destroy_event_channel(p.server);
	rdma_destroy_event_channel(p.client);
}

TEST(rdma_set_option__shares_a_port_where_both_say_so)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in at = loopback(0);
	struct rdma_cm_id *id[2];
	int on = 1, off = 0;

	for (int i = 0; i < 2; i++)
		REQUIRE(!rdma_create_id(channel, &id[i], NULL, RDMA_PS_TCP));
	REQUIRE(!rdma_bind_addr(id[0], (struct sockaddr *)&at));
	at.sin_port = rdma_get_src_port(id[0]);
	CHECK(!rdma_set_option(id[1], RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)));
	CHECK_EQ(rdma_bind_addr(id[1], (struct sockaddr *)&at), -1);
	CHECK_EQ(errno, EADDRINUSE);
	CHECK(!rdma_set_option(id[0], RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)));
	CHECK_EQ(rdma_set_option(id[0], RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &off, 4), -1);
	CHECK_EQ(errno, EINVAL);
	CHECK(!rdma_bind_addr(id[1], (struct sockaddr *)&at));
	CHECK(!rdma_listen(id[0], 1));
	CHECK_EQ(rdma_listen(id[1], 1), -1);
	CHECK_EQ(errno, EADDRINUSE);
	CHECK(!rdma_destroy_id(id[0]));
	CHECK(!rdma_destroy_id(id[1]));
	rdma_destroy_event_channel(channel);
}

TEST(rdma_bind_addr__leaves_tcp_the_same_number)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in at = loopback(0);
	socklen_t bytes = sizeof(at);
	struct rdma_cm_id *id;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	/* A port that TCP listens on. */
	REQUIRE(!bind(fd, (struct sockaddr *)&at, sizeof(at)) && !listen(fd, 1));
	REQUIRE(!getsockname(fd, (struct sockaddr *)&at, &bytes));
	REQUIRE(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	CHECK(!rdma_bind_addr(id, (struct sockaddr *)&at));
	CHECK(!rdma_listen(id, 1));
	CHECK_EQ(close(fd), 0);
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

/* As of the wildcard: libfabric then offers peers the addresses that devices do have. */
TEST(rdma_bind_addr__has_no_device_for_a_loopback_address_of_none)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in at = loopback(0);
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct rdma_cm_id *id;

	REQUIRE(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	CHECK(!rdma_bind_addr(id, (struct sockaddr *)&at));
	CHECK(!id->verbs);
	CHECK(rdma_get_src_port(id));
	CHECK(!rdma_destroy_id(id));
	REQUIRE(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	if (!rdma_bind_addr(id, (struct sockaddr *)&six)) /* a machine may have no IPv6 */
		CHECK(!id->verbs);
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

TEST(rdma_set_option__takes_what_has_no_meaning_and_no_nonsense)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;
	uint8_t byte = 32;
	int on = 1;

	REQUIRE(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	CHECK_EQ(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, 4), 0);
	CHECK_EQ(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &byte, 1), 0);
	CHECK_EQ(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &byte, 1), -1);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &on, 4), -1);
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

/* tgtd listens to IPv4 and to IPv6, each by an id of its own. */
TEST(rdma_set_option__leaves_ipv4_the_port_of_an_ipv6_only_id)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in four = { .sin_family = AF_INET };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct rdma_cm_id *id[3];
	int only = 1;

	for (int i = 0; i < 3; i++)
		REQUIRE(!rdma_create_id(channel, &id[i], NULL, RDMA_PS_TCP));
	REQUIRE(!rdma_bind_addr(id[0], (struct sockaddr *)&four));
	REQUIRE(!rdma_listen(id[0], 1));
	six.sin6_port = rdma_get_src_port(id[0]);
	CHECK(!rdma_set_option(id[1], RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &only, sizeof(only)));
	if (!rdma_bind_addr(id[1], (struct sockaddr *)&six)) {
		CHECK(!rdma_listen(id[1], 1));
		CHECK_EQ(rdma_bind_addr(id[2], (struct sockaddr *)&six), -1); /* both kinds */
	} else {
		CHECK(errno != EADDRINUSE); /* a system without IPv6 */
	}
	CHECK_EQ(rdma_set_option(id[0], RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &only, 4), -1);
	for (int i = 0; i < 3; i++)
		CHECK(!rdma_destroy_id(id[i]));
	rdma_destroy_event_channel(channel);
}

TEST(rdma_resolve_addr__finds_the_own_address)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;

	REQUIRE(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	resolve(id, 7471);
	CHECK_EQ(((struct sockaddr_in *)rdma_get_local_addr(id))->sin_addr.s_addr,
		htonl(INADDR_LOOPBACK));
	CHECK_EQ(rdma_get_dst_port(id), htons(7471));
	CHECK_EQ(id->route.num_paths, 1);
	CHECK_EQ(id->route.path_rec->mtu, 5);
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

TEST(rdma_resolve_route__wants_resolved_addresses)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in at = loopback(0);
	struct rdma_cm_id *id;

	REQUIRE(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	CHECK_EQ(rdma_resolve_route(id, 1000), -1);
	CHECK_EQ(errno, EINVAL);
	CHECK(!rdma_bind_addr(id, (struct sockaddr *)&at));
	CHECK_EQ(rdma_resolve_route(id, 1000), -1); /* an own address leads nowhere */
	CHECK_EQ(errno, EINVAL);
	resolve(id, 7471);
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}
