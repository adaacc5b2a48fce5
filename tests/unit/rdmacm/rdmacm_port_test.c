/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_verbs.h"

#include <signal.h>
#include <sys/wait.h>

static struct rdma_cm_id *new_id(struct rdma_event_channel *channel, enum rdma_port_space ps)
{
	struct rdma_cm_id *id;

	REQUIRE(!rdma_create_id(channel, &id, NULL, ps));
	return id;
}

/* Bound to the IPv4 address; errno, or 0. */
static int bind_to(struct rdma_cm_id *id, uint32_t address, uint16_t port)
{
	struct sockaddr_in at = loopback(port);

	at.sin_addr.s_addr = htonl(address);
	return rdma_bind_addr(id, (struct sockaddr *)&at) ? errno : 0;
}

TEST(port_place__gives_each_port_sixteen_that_differ)
{
	for (uint32_t port = 1; port <= UINT16_MAX; port += 97) {
		uint16_t at[PORT_PLACES];

		for (uint32_t i = 0; i < PORT_PLACES; i++) {
			at[i] = port_place((uint8_t)RDMA_PS_TCP, (uint16_t)port, i);
			CHECK(at[i] >= 49152 && at[i] <= 60999);
			for (uint32_t j = 0; j < i; j++)
				CHECK(at[i] != at[j]);
		}
	}
	/* They are part of the protocol: another host reckons the same. */
	CHECK_EQ(port_place((uint8_t)RDMA_PS_TCP, 7471, 0), 55686);
	CHECK_EQ(port_place((uint8_t)RDMA_PS_TCP, 7471, 1), 49884);
	CHECK_EQ(port_place((uint8_t)RDMA_PS_UDP, 7471, 0), 50065);
}

/* TCP knows some that only root may have, and gives half of them to whoever calls. */
static int listen_at_all_kinds(void)
{
	static const uint16_t ports[] = { 1, 80, 1023, 4420, 32767, 32768, 32769, 33000, 33791,
		49152, 60999, 65535 };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	int result = 0;

	for (size_t i = 0; i < WEFT_COUNT(ports) && !result; i++) {
		struct rdma_cm_id *id = new_id(channel, RDMA_PS_TCP);

		result = bind_to(id, INADDR_LOOPBACK, ports[i]);
		if (!result && (rdma_listen(id, 1) || rdma_get_src_port(id) != htons(ports[i])))
			result = errno ? errno : EPROTO;
		(void)rdma_destroy_id(id);
	}
	return result;
}

TEST(port_claim__gives_every_port_to_everybody)
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		if (!geteuid() && setuid(65534))
			_exit(1);
		_exit(listen_at_all_kinds());
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

TEST(port_claim__compares_addresses_as_tcp_does)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *one = new_id(channel, RDMA_PS_TCP), *two = new_id(channel, RDMA_PS_TCP);
	struct rdma_cm_id *any = new_id(channel, RDMA_PS_TCP), *udp = new_id(channel, RDMA_PS_UDP);

	REQUIRE(!bind_to(one, INADDR_LOOPBACK, 0));
	uint16_t port = ntohs(rdma_get_src_port(one));
	CHECK(port >= 32768);
	CHECK_EQ(bind_to(two, INADDR_LOOPBACK, port), EADDRINUSE);
	CHECK_EQ(bind_to(any, INADDR_ANY, port), EADDRINUSE);
	CHECK_EQ(bind_to(two, INADDR_LOOPBACK + 1, port), 0);
	CHECK_EQ(bind_to(udp, INADDR_ANY, port), 0); /* another space */
	CHECK(!rdma_listen(one, 1) && !rdma_listen(two, 1) && !rdma_listen(udp, 1));
	CHECK(!rdma_destroy_id(one));
	CHECK_EQ(bind_to(any, INADDR_ANY, port), EADDRINUSE);
	CHECK(!rdma_destroy_id(two));
	CHECK_EQ(bind_to(any, INADDR_ANY, port), 0);
	one = new_id(channel, RDMA_PS_TCP);
	CHECK_EQ(bind_to(one, INADDR_LOOPBACK, port), EADDRINUSE);
	CHECK_EQ(bind_to(one, 0x01020304, port), EADDRNOTAVAIL); /* none of ours */
	CHECK(!rdma_destroy_id(one));
	CHECK(!rdma_destroy_id(any));
	CHECK(!rdma_destroy_id(udp));
	rdma_destroy_event_channel(channel);
}

TEST(port_claim__sees_other_processes_while_they_live)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(channel, RDMA_PS_TCP);
	int ready[2], status;
	uint16_t port = 0;

	REQUIRE(!pipe(ready));
	pid_t child = fork();
	if (!child) {
		struct rdma_cm_id *own = new_id(rdma_create_event_channel(), RDMA_PS_TCP);

		(void)bind_to(own, INADDR_ANY, 0);
		port = ntohs(rdma_get_src_port(own));
		(void)!write(ready[1], &port, sizeof(port));
		pause();
	}
	REQUIRE(read(ready[0], &port, sizeof(port)) == sizeof(port));
	CHECK_EQ(bind_to(id, INADDR_LOOPBACK, port), EADDRINUSE);
	kill(child, SIGKILL);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(bind_to(id, INADDR_LOOPBACK, port), 0);
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
	close(ready[0]);
	close(ready[1]);
}

enum { RACERS = 6, RACES = 20 };

/* Each binds the same ports at the same moment: one of them gets each. */
TEST(port_claim__gives_a_port_to_one_of_many_who_want_it_at_once)
{
	int start[2], won[2], status;
	uint8_t winners[RACES] = { 0 }, race;

	REQUIRE(!pipe(start) && !pipe(won));
	for (int i = 0; i < RACERS; i++) {
		if (fork())
			continue;
		struct rdma_event_channel *channel = rdma_create_event_channel();
		char go;

		close(start[1]);
		(void)!read(start[0], &go, 1);
		for (race = 0; race < RACES; race++) {
			struct rdma_cm_id *id = new_id(channel, RDMA_PS_TCP);

			if (!bind_to(id, i % 2 ? INADDR_LOOPBACK : INADDR_ANY,
				    (uint16_t)(20000 + race)))
				(void)!write(won[1], &race, 1);
		}
		close(won[1]);
		usleep(300000); /* so that nothing is free while others still try */
		_exit(0);
	}
	close(won[1]);
	close(start[0]);
	close(start[1]);
	while (read(won[0], &race, 1) == 1)
		winners[race]++;
	for (race = 0; race < RACES; race++)
		CHECK_EQ(winners[race], 1);
	while (wait(&status) > 0)
		CHECK_EQ(status, 0);
	close(won[0]);
}

TEST(port_claim__keeps_ipv4_from_a_wildcard_of_ipv6)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *six = new_id(channel, RDMA_PS_TCP), *four = new_id(channel, RDMA_PS_TCP);
	struct sockaddr_in6 any = { .sin6_family = AF_INET6 };

	if (!rdma_bind_addr(six, (struct sockaddr *)&any)) { /* a machine may have no IPv6 */
		uint16_t port = ntohs(rdma_get_src_port(six));

		CHECK_EQ(bind_to(four, INADDR_LOOPBACK, port), EADDRINUSE);
		CHECK_EQ(bind_to(four, INADDR_ANY, port), EADDRINUSE);
	}
	CHECK(!rdma_destroy_id(six));
	CHECK(!rdma_destroy_id(four));
	rdma_destroy_event_channel(channel);
}

/* A program that calls somebody keeps the port that it was bound to. */
TEST(port_claim__tells_the_peer_the_own_port)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_event_channel *callers = rdma_create_event_channel();
	struct rdma_cm_id *listener = new_id(channel, RDMA_PS_TCP);
	struct rdma_cm_id *caller = new_id(callers, RDMA_PS_TCP);

	REQUIRE(!bind_to(listener, INADDR_ANY, 0) && !rdma_listen(listener, 1));
	REQUIRE(!bind_to(caller, INADDR_ANY, 0));
	in_port_t port = rdma_get_src_port(caller);

	resolve(caller, ntohs(rdma_get_src_port(listener)));
	CHECK_EQ(rdma_get_src_port(caller), port);
	CHECK(!rdma_connect(caller, NULL));
	struct rdma_cm_event *event = want(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	struct rdma_cm_id *passive = event->id;
	rdma_ack_cm_event(event);
	CHECK_EQ(rdma_get_dst_port(passive), port);
	CHECK_EQ(rdma_get_src_port(passive), rdma_get_src_port(listener));
	CHECK_EQ(rdma_get_src_port(caller), port);
	CHECK(!rdma_reject(passive, NULL, 0));
	CHECK(!rdma_destroy_id(passive));
	CHECK(!rdma_destroy_id(listener));
	CHECK(!rdma_destroy_id(caller));
	rdma_destroy_event_channel(callers);
	rdma_destroy_event_channel(channel);
}
