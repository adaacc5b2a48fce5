/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * alloc - each allocation of a connection fails once: a call says so, or an event is told, and
 * nobody waits for ever.  Linked with --wrap=calloc,--wrap=malloc.
 */
#include <stdatomic.h>
#include <stdlib.h>

void *__real_calloc(size_t n, size_t bytes);
void *__real_malloc(size_t bytes);
#define calloc __real_calloc /* the false verbs have all the memory there is */
#include "fake_verbs.h"
#undef calloc

static atomic_int left = -1; /* until the one that fails */

static bool fails(void)
{
	return atomic_load(&left) >= 0 && atomic_fetch_sub(&left, 1) == 0;
}

void *__wrap_calloc(size_t n, size_t bytes)
{
	return fails() ? NULL : __real_calloc(n, bytes);
}

void *__wrap_malloc(size_t bytes)
{
	return fails() ? NULL : __real_malloc(bytes);
}

/* Whatever is told next, within ten seconds; EVENTS_NONE: nothing. */
enum { EVENTS_NONE = -1 };
static int next(struct rdma_event_channel *channel, struct rdma_cm_id **id)
{
	struct pollfd ready = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *event = NULL;

	if (poll(&ready, 1, 10000) != 1 || rdma_get_cm_event(channel, &event))
		return EVENTS_NONE;
	int type = (int)event->event;
	if (id && type == RDMA_CM_EVENT_CONNECT_REQUEST)
		*id = event->id;
	rdma_ack_cm_event(event);
	return type;
}

struct world {
	struct rdma_event_channel *server, *client;
	struct rdma_cm_id *listener, *active, *passive;
};

/* Up to where both are together; true.  Or to the first thing that says that it has failed. */
static bool go(struct world *w)
{
	struct sockaddr_in at = loopback(0), to = loopback(0);

	w->server = rdma_create_event_channel();
	w->client = rdma_create_event_channel();
	if (!w->server || !w->client ||
		rdma_create_id(w->server, &w->listener, NULL, RDMA_PS_TCP) ||
		rdma_bind_addr(w->listener, (struct sockaddr *)&at) ||
		rdma_listen(w->listener, 2) ||
		rdma_create_id(w->client, &w->active, NULL, RDMA_PS_TCP))
		return false;
	to.sin_port = rdma_get_src_port(w->listener);
	if (rdma_resolve_addr(w->active, NULL, (struct sockaddr *)&to, 0) ||
		next(w->client, NULL) != RDMA_CM_EVENT_ADDR_RESOLVED ||
		rdma_resolve_route(w->active, 0) ||
		next(w->client, NULL) != RDMA_CM_EVENT_ROUTE_RESOLVED ||
		rdma_connect(w->active, NULL))
		return false;
	int type = next(w->server, &w->passive);
	if (type != RDMA_CM_EVENT_CONNECT_REQUEST || rdma_accept(w->passive, NULL))
		return false;
	type = next(w->client, NULL);
	CHECK(type != EVENTS_NONE);
	if (type != RDMA_CM_EVENT_CONNECT_RESPONSE || rdma_establish(w->active))
		return false;
	CHECK_EQ(next(w->server, NULL), RDMA_CM_EVENT_ESTABLISHED);
	CHECK(!rdma_disconnect(w->active));
	CHECK_EQ(next(w->client, NULL), RDMA_CM_EVENT_DISCONNECTED);
	CHECK_EQ(next(w->server, NULL), RDMA_CM_EVENT_DISCONNECTED);
	return true;
}

static void leave(struct world *w)
{
	struct rdma_cm_id *all[] = { w->active, w->passive, w->listener };

	for (int i = 0; i < 3; i++)
		if (all[i])
			CHECK(!rdma_destroy_id(all[i]));
	if (w->server)
		rdma_destroy_event_channel(w->server);
	if (w->client)
		rdma_destroy_event_channel(w->client);
}

TEST(event_reserve__leaves_no_event_to_luck)
{
	int k = 0, failed = 0;

	for (bool all = false; !all && k < 200; k++) {
		struct world w = { 0 };

		atomic_store(&left, k);
		bool together = go(&w);
		all = atomic_exchange(&left, -1) >= 0; /* there were not so many */
		failed += !together;
		CHECK(together || !all);
		leave(&w);
	}
	CHECK(failed > 10 && k < 200);
}
