/* SPDX-License-Identifier: BSD-2-Clause */
#include "stranger.h"

enum { SERVED = 21471 };

static struct rdma_cm_id *serve(struct rdma_event_channel *channel, uint16_t port)
{
	struct sockaddr_in at = loopback(port);
	struct rdma_cm_id *id;

	REQUIRE(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	REQUIRE(!rdma_bind_addr(id, (struct sockaddr *)&at));
	REQUIRE(!rdma_listen(id, 4));
	return id;
}

static struct rdma_cm_id *dial(struct rdma_event_channel *channel, uint16_t port)
{
	struct rdma_cm_id *id;

	REQUIRE(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	resolve(id, port);
	REQUIRE(!rdma_connect(id, NULL));
	return id;
}

/* Both strangers are there first: one says nothing, one talks. */
TEST(call_next__passes_by_strangers_at_a_port_s_places)
{
	struct rdma_event_channel *server = rdma_create_event_channel();
	struct rdma_event_channel *client = rdma_create_event_channel();
	int mute = squat(RDMA_PS_TCP, SERVED, 0), loud = squat(RDMA_PS_TCP, SERVED, 1);
	char words[sizeof(struct message)] = "220 mail.example ESMTP\r\n";

	REQUIRE(mute >= 0 && loud >= 0);
	struct rdma_cm_id *listener = serve(server, SERVED), *id = dial(client, SERVED);
	int called = accept(mute, NULL, NULL), fd = accept(loud, NULL, NULL);

	CHECK_EQ(send(fd, words, sizeof(words), 0), (ssize_t)sizeof(words));
	struct rdma_cm_event *event = want(server, RDMA_CM_EVENT_CONNECT_REQUEST);
	struct rdma_cm_id *passive = event->id;
	rdma_ack_cm_event(event);
	/* Neither has been told a word. */
	CHECK(recv(called, words, 1, 0) <= 0);
	CHECK(recv(fd, words, 1, 0) <= 0);
	CHECK(!rdma_reject(passive, NULL, 0));
	rdma_ack_cm_event(want(client, RDMA_CM_EVENT_REJECTED));
	CHECK(!rdma_destroy_id(passive));
	CHECK(!rdma_destroy_id(id));
	CHECK(!rdma_destroy_id(listener));
	close(called), close(fd), close(mute), close(loud);
	rdma_destroy_event_channel(server);
	rdma_destroy_event_channel(client);
}

/* The places of two ports meet: who is called says which he is. */
TEST(call_greeted__is_not_by_another_port)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	int fd = squat(RDMA_PS_TCP, SERVED, 0);
	struct rdma_cm_id *id = dial(channel, SERVED);
	int called = accept(fd, NULL, NULL);
	struct message m = { .magic = htobe32(0x57434d32),
		.type = GREETING,
		.space = (uint8_t)RDMA_PS_TCP,
		.port = htobe16(SERVED + 1) };

	CHECK_EQ(send(called, &m, sizeof(m), 0), (ssize_t)sizeof(m));
	CHECK(is_hung_up(called, 10000));
	close(fd), close(called);
	struct rdma_cm_event *event = want(channel, RDMA_CM_EVENT_REJECTED);
	CHECK_EQ(event->status, 8);
	rdma_ack_cm_event(event);
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

/* A server that is stopped, or has no CPU, for longer than a stranger is given. */
TEST(call_due__comes_back_to_one_who_said_nothing)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	int fd = squat(RDMA_PS_TCP, SERVED, 0);
	struct rdma_cm_id *id = dial(channel, SERVED);
	int called[3];
	struct message m = { .magic = htobe32(0x57434d32),
		.type = GREETING,
		.space = (uint8_t)RDMA_PS_TCP,
		.port = htobe16(SERVED) };

	for (int i = 0; i < 3; i++) { /* the third is later than a port is knocked at */
		struct pollfd ready = { .fd = fd, .events = POLLIN };

		REQUIRE(poll(&ready, 1, 20000) == 1);
		called[i] = accept(fd, NULL, NULL);
	}
	CHECK(is_hung_up(called[0], 0) && is_hung_up(called[1], 0));
	CHECK_EQ(send(called[2], &m, sizeof(m), 0), (ssize_t)sizeof(m));
	(void)hear(called[2], REQUEST);
	close(fd), close(called[0]), close(called[1]), close(called[2]);
	rdma_ack_cm_event(want(channel, RDMA_CM_EVENT_CONNECT_ERROR));
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

/* As long as the kernel's CM, whether the server is stopped, or its program busy. */
TEST(call_due__tells_after_a_minute_that_nobody_answers)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	int fd = squat(RDMA_PS_TCP, SERVED, 0);
	struct rdma_cm_id *id = dial(channel, SERVED);
	int called = accept(fd, NULL, NULL);

	while (!ids(AWAITS_GREETING))
		usleep(1000);
	(void)hurry(id);
	struct rdma_cm_event *event = want(channel, RDMA_CM_EVENT_UNREACHABLE);
	CHECK_EQ(event->status, -ETIMEDOUT);
	rdma_ack_cm_event(event);
	close(fd), close(called);
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

TEST(call_next__tells_that_nobody_listens)
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

TEST(call_next__does_not_meet_itself)
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

TEST(call_next__calls_again_where_nobody_listens_yet)
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
