/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_verbs.h"
#include "rdmacm_newer.h"

#include <fcntl.h>

TEST(rdma_get_cm_event__does_not_block_where_told)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;

	REQUIRE(channel);
	fcntl(channel->fd, F_SETFL, O_NONBLOCK);
	CHECK_EQ(rdma_get_cm_event(channel, &event), -1);
	CHECK_EQ(errno, EAGAIN);
	rdma_destroy_event_channel(channel);
}

TEST(rdma_write_cm_event__wakes_with_an_argument)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	uint64_t arg;

	REQUIRE(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	CHECK(rdma_write_cm_event(id, RDMA_CM_EVENT_ESTABLISHED, 0, 0) == -1 && errno == EINVAL);
	REQUIRE(!rdma_write_cm_event(id, (enum rdma_cm_event_type)EVENT_USER, 7, 1ull << 40));
	REQUIRE(!rdma_get_cm_event(channel, &event));
	CHECK_STR(rdma_event_str(event->event), "RDMA_CM_EVENT_USER");
	CHECK(event->id == id && event->status == 7);
	memcpy(&arg, &event->param, sizeof(arg));
	CHECK_EQ(arg, 1ull << 40);
	CHECK(!rdma_ack_cm_event(event));
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

TEST(rdma_ack_cm_event__refuses_none)
{
	CHECK_EQ(rdma_ack_cm_event(NULL), -1);
	CHECK_EQ(errno, EINVAL);
}

TEST(rdma_migrate_id__takes_waiting_events_along)
{
	struct rdma_event_channel *first = rdma_create_event_channel();
	struct rdma_event_channel *second = rdma_create_event_channel();
	struct sockaddr_in to = loopback(9);
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	REQUIRE(!rdma_create_id(first, &id, NULL, RDMA_PS_TCP));
	REQUIRE(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 0));
	CHECK(!rdma_migrate_id(id, second));
	rdma_ack_cm_event(want(second, RDMA_CM_EVENT_ADDR_RESOLVED));
	fcntl(first->fd, F_SETFL, O_NONBLOCK);
	CHECK_EQ(rdma_get_cm_event(first, &event), -1); /* a byte, and nothing behind it */
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(first);
	rdma_destroy_event_channel(second);
}

TEST(rdma_migrate_id__ends_waiting_in_calls)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in to = loopback(9);
	struct rdma_cm_id *id;

	REQUIRE(!rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	CHECK(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 0));
	CHECK_EQ(id->event->event, RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK(!rdma_migrate_id(id, channel));
	CHECK(!id->event);
	CHECK(!rdma_resolve_route(id, 0));
	rdma_ack_cm_event(want(channel, RDMA_CM_EVENT_ROUTE_RESOLVED));
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

static struct {
	struct rdma_event_channel *channel;
	int result;
} reading;

static void *read_one(void *unused)
{
	struct rdma_cm_event *event;

	(void)unused;
	reading.result = rdma_get_cm_event(reading.channel, &event);
	return NULL;
}

TEST(rdma_destroy_event_channel__leaves_its_readers_waiting)
{
	const struct channel *channel;
	uint32_t readers = 0;
	pthread_t thread;

	reading.channel = rdma_create_event_channel();
	reading.result = 1;
	REQUIRE(reading.channel);
	channel = (const struct channel *)reading.channel;
	REQUIRE(!pthread_create(&thread, NULL, read_one, NULL));
	while (!readers) {
		weft_lock_take(&cm_lock);
		readers = channel->readers;
		weft_lock_give(&cm_lock);
	}
	usleep(10000);
	rdma_destroy_event_channel(reading.channel);
	usleep(10000);
	CHECK_EQ(reading.result, 1);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
}

/* Whoever waits may be cancelled, again and again: no lock goes with him, and no event. */
TEST(rdma_get_cm_event__may_be_cancelled)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in to = loopback(9);
	struct rdma_cm_id *id;
	pthread_t thread;

	REQUIRE(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	reading.channel = channel;
	for (int i = 0; i < 200; i++) {
		reading.result = 1;
		REQUIRE(!pthread_create(&thread, NULL, read_one, NULL));
		usleep(i % 3 ? 0 : 2000);
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		CHECK(reading.result);
	}
	weft_lock_take(&cm_lock);
	CHECK_EQ(((struct channel *)channel)->readers, 0);
	weft_lock_give(&cm_lock);
	REQUIRE(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 0));
	rdma_ack_cm_event(want(channel, RDMA_CM_EVENT_ADDR_RESOLVED));
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

TEST(rdma_event_str__has_a_word_for_each)
{
	for (int i = 0; i <= RDMA_CM_EVENT_TIMEWAIT_EXIT; i++)
		CHECK(strstr(rdma_event_str((enum rdma_cm_event_type)i), "RDMA_CM_EVENT_"));
	CHECK_STR(rdma_event_str((enum rdma_cm_event_type)99), "unknown event");
}
