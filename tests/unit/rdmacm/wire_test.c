/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_verbs.h"

#include <signal.h>
#include <weft/net.h>

/* A TCP connection to where a listener listens. */
static int call(struct rdma_cm_id *listener)
{
	uint16_t port = ntohs(rdma_get_src_port(listener)) ^ WEFT_RDMACM_PORT_FLIP;
	struct sockaddr_in to = loopback(port);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	REQUIRE(!connect(fd, (struct sockaddr *)&to, sizeof(to)));
	return fd;
}

TEST(wire_handle__hangs_up_who_speaks_something_else)
{
	struct pair p = ask(RDMA_PS_TCP, "x", false);
	char noise[sizeof(struct message)];

	memset(noise, 'x', sizeof(noise));
	int fd = call(p.listener);
	CHECK_EQ(send(fd, noise, sizeof(noise), 0), (ssize_t)sizeof(noise));
	CHECK(recv(fd, noise, sizeof(noise), 0) <= 0); /* it is over */
	close(fd);
	fd = call(p.listener); /* and one that says nothing */
	close(fd);
	CHECK(!rdma_reject(p.passive, NULL, 0)); /* the honest one is still there */
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_REJECTED));
	end(&p);
}

TEST(wire_handle__tells_that_nobody_listens)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in at = loopback(0);
	struct rdma_cm_id *id, *other;

	/* A port that nobody else can take meanwhile, and where nobody listens. */
	REQUIRE(!rdma_create_id(channel, &other, NULL, RDMA_PS_TCP));
	REQUIRE(!rdma_bind_addr(other, (struct sockaddr *)&at));
	uint16_t port = ntohs(rdma_get_src_port(other));
	REQUIRE(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	resolve(id, port);
	CHECK(!rdma_connect(id, NULL));
	struct rdma_cm_event *event = want(channel, RDMA_CM_EVENT_REJECTED);
	CHECK_EQ(event->status, 8);
	rdma_ack_cm_event(event);
	CHECK(!rdma_destroy_id(other));
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

TEST(wire_handle__does_not_meet_itself)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in at = loopback(0);
	struct rdma_cm_id *id;

	REQUIRE(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	REQUIRE(!rdma_bind_addr(id, (struct sockaddr *)&at));
	resolve(id, ntohs(rdma_get_src_port(id)));
	CHECK(!rdma_connect(id, NULL));
	struct rdma_cm_event *event = want(channel, RDMA_CM_EVENT_REJECTED);

	CHECK_EQ(event->status, 8);
	rdma_ack_cm_event(event);
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

static void *listen_late(void *arg)
{
	usleep(30000);
	CHECK(!rdma_listen(arg, 1));
	return NULL;
}

TEST(wire_handle__calls_again_where_nobody_listens_yet)
{
	struct rdma_event_channel *server = rdma_create_event_channel();
	struct rdma_event_channel *client = rdma_create_event_channel();
	struct rdma_cm_id *listener, *id;
	struct sockaddr_in at = loopback(0);
	pthread_t thread;

	REQUIRE(!rdma_create_id(server, &listener, NULL, RDMA_PS_TCP));
	REQUIRE(!rdma_bind_addr(listener, (struct sockaddr *)&at));
	REQUIRE(!rdma_create_id(client, &id, NULL, RDMA_PS_TCP));
	resolve(id, ntohs(rdma_get_src_port(listener)));
	CHECK(!rdma_connect(id, NULL));
	REQUIRE(!pthread_create(&thread, NULL, listen_late, listener));
	/* On a machine so slow that patience was over: refused, and the next one is not. */
	struct pollfd ready[] = { { server->fd, POLLIN, 0 }, { client->fd, POLLIN, 0 } };
	CHECK(poll(ready, 2, 30000) > 0);
	pthread_join(thread, NULL);
	if (ready[1].revents) {
		rdma_ack_cm_event(want(client, RDMA_CM_EVENT_REJECTED));
		CHECK(!rdma_connect(id, NULL));
	}
	struct rdma_cm_event *event = want(server, RDMA_CM_EVENT_CONNECT_REQUEST);
	struct rdma_cm_id *passive = event->id;
	rdma_ack_cm_event(event);
	CHECK(!rdma_reject(passive, NULL, 0));
	rdma_ack_cm_event(want(client, RDMA_CM_EVENT_REJECTED));
	CHECK(!rdma_destroy_id(passive));
	CHECK(!rdma_destroy_id(id));
	CHECK(!rdma_destroy_id(listener));
	rdma_destroy_event_channel(server);
	rdma_destroy_event_channel(client);
}

TEST(wire_hang_up__is_seen_by_the_peer)
{
	struct pair p = ask(RDMA_PS_TCP, "x", true);

	CHECK(!rdma_accept(p.passive, NULL));
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_ESTABLISHED));
	rdma_ack_cm_event(want(p.server, RDMA_CM_EVENT_ESTABLISHED));
	pthread_mutex_lock(&cm_lock);
	wire_hang_up(id_of(p.active)); /* as when its process dies */
	pthread_mutex_unlock(&cm_lock);
	rdma_ack_cm_event(want(p.server, RDMA_CM_EVENT_DISCONNECTED));
	end(&p);
}

/* Later than what the queue pairs may still have under way. */
TEST(wire_handle__tells_of_a_parting_a_little_later)
{
	struct pair p = ask(RDMA_PS_TCP, "x", true);

	CHECK(!rdma_accept(p.passive, NULL));
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_ESTABLISHED));
	rdma_ack_cm_event(want(p.server, RDMA_CM_EVENT_ESTABLISHED));
	uint64_t began_ns = weft_clock_now(NULL);
	CHECK(!rdma_disconnect(p.active));
	rdma_ack_cm_event(want(p.server, RDMA_CM_EVENT_DISCONNECTED));
	CHECK(weft_clock_now(NULL) - began_ns >= 50000000);
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_DISCONNECTED));
	end(&p);
}

TEST(wire_forget__of_an_id_that_goes_before_it_is_told)
{
	struct pair p = ask(RDMA_PS_TCP, "x", true), q = ask(RDMA_PS_TCP, "x", true);

	CHECK(!rdma_accept(p.passive, NULL));
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_ESTABLISHED));
	rdma_ack_cm_event(want(p.server, RDMA_CM_EVENT_ESTABLISHED));
	CHECK(!rdma_accept(q.passive, NULL));
	rdma_ack_cm_event(want(q.client, RDMA_CM_EVENT_ESTABLISHED));
	rdma_ack_cm_event(want(q.server, RDMA_CM_EVENT_ESTABLISHED));
	CHECK(!rdma_disconnect(p.active));
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_DISCONNECTED));
	end(&p);
	CHECK(!rdma_disconnect(q.active)); /* the others' are told all the same */
	rdma_ack_cm_event(want(q.server, RDMA_CM_EVENT_DISCONNECTED));
	rdma_ack_cm_event(want(q.client, RDMA_CM_EVENT_DISCONNECTED));
	end(&q);
}

/* Programs block a signal and read it from a descriptor: tgtd does. */
TEST(wire_watch__leaves_signals_to_the_program)
{
	struct pair p = ask(RDMA_PS_TCP, "x", true); /* the thread runs */
	sigset_t usr2;

	sigemptyset(&usr2);
	sigaddset(&usr2, SIGUSR2);
	REQUIRE(!pthread_sigmask(SIG_BLOCK, &usr2, NULL));
	REQUIRE(!kill(getpid(), SIGUSR2)); /* ends us where another thread takes it */
	CHECK_EQ(sigtimedwait(&usr2, NULL, &(struct timespec){ .tv_sec = 20 }), SIGUSR2);
	REQUIRE(!pthread_sigmask(SIG_UNBLOCK, &usr2, NULL));
	CHECK(!rdma_reject(p.passive, NULL, 0));
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_REJECTED));
	end(&p);
}
