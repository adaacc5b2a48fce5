/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * channel - events, and the descriptors on which programs wait for them.
 *
 * A channel is a semaphore of the kernel's (eventfd(2)) that counts events, because programs poll
 * it, make it non-blocking, and block in it.  An id without a channel is synchronous: it has one of
 * its own, and each call waits in it.  An event may be taken back (its id is gone) or move to
 * another channel; the count that stays is one wake-up for nothing.
 *
 * An event that somebody waits for must not fail for want of memory.  So each id has as many events
 * in reserve as may still be told of it, and calls that have one told add theirs, or fail.
 */
#include "rdmacm_local.h"
#include "rdmacm_newer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SILENT 8

/* What a connection can still come to: asked or answered, established or not, parted, out of
 * TIME_WAIT. */
#define RESERVE 4u

struct weft_lock cm_lock = WEFT_LOCK_INIT;
pthread_cond_t cm_acked = PTHREAD_COND_INITIALIZER;

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct channel *channel = calloc(1, sizeof(*channel));

	if (!channel)
		return NULL;
	channel->rdma.fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	if (channel->rdma.fd >= 0)
		return &channel->rdma;
	free(channel);
	return NULL;
}

void event_free(struct event *event)
{
	while (event) {
		struct event *next = event->next;

		free(event);
		event = next;
	}
}

static void free_channel(struct channel *channel)
{
	(void)close(channel->rdma.fd);
	event_free(channel->first);
	free(channel);
}

/*
 * Who waits in a channel that is destroyed waits for ever, as in the kernel; rping, whose thread is
 * on its way back into it, takes an end for an error.  So the last few channels that another thread
 * has read stay, silent.
 */
void rdma_destroy_event_channel(struct rdma_event_channel *rdma)
{
	static struct channel *silent[SILENT];
	static uint32_t n;
	struct channel *channel = (struct channel *)rdma, *old = channel;

	weft_lock_take(&cm_lock);
	bool is_foreign = channel->was_read && !pthread_equal(channel->reader, pthread_self());
	if (channel->readers || is_foreign) {
		old = silent[n % SILENT];
		silent[n++ % SILENT] = channel;
	}
	if (old && old->readers)
		old = NULL; /* for ever */
	weft_lock_give(&cm_lock);
	if (old)
		free_channel(old);
}

static void count_up(const struct channel *channel)
{
	uint64_t one = 1;

	(void)!write(channel->rdma.fd, &one, sizeof(one));
}

static void put(struct channel *channel, struct event *event)
{
	struct event **last = &channel->first;

	while (*last)
		last = &(*last)->next;
	event->next = NULL;
	*last = event;
	count_up(channel);
}

static void fill_parameters(struct event *event, const struct id *id, const struct message *m)
{
	struct rdma_cm_event *e = &event->rdma;

	memcpy(event->private_data, m->private_data, sizeof(event->private_data));
	if (!m->is_datagram) {
		e->param.conn = (struct rdma_conn_param){ .private_data = event->private_data,
			.private_data_len = m->private_bytes,
			/* What the peer offers to answer is what we may ask. */
			.responder_resources = m->initiator,
			.initiator_depth = m->responder,
			.retry_count = m->retry,
			.rnr_retry_count = m->rnr_retry,
			.srq = m->srq,
			.qp_num = m->qpn };
		return;
	}
	e->param.ud.private_data = event->private_data;
	e->param.ud.private_data_len = m->private_bytes;
	if (e->event == RDMA_CM_EVENT_MULTICAST_JOIN) /* what the program brought, itself */
		memcpy(&e->param.ud.private_data, m->private_data, sizeof(void *));
	e->param.ud.qp_num = m->qpn;
	e->param.ud.qkey = m->qkey;
	e->param.ud.ah_attr.is_global = 1;
	e->param.ud.ah_attr.port_num = id->rdma.port_num;
	e->param.ud.ah_attr.grh.hop_limit = 64;
	e->param.ud.ah_attr.grh.sgid_index = 3;
	memcpy(e->param.ud.ah_attr.grh.dgid.raw, m->gid, 16);
}

bool event_reserve(struct id *id, uint32_t more)
{
	uint32_t n = 0;

	for (const struct event *event = id->reserve; event; event = event->next)
		n++;
	for (; n < RESERVE + more; n++) {
		struct event *event = calloc(1, sizeof(*event));

		if (!event) {
			errno = ENOMEM;
			return false;
		}
		event->next = id->reserve;
		id->reserve = event;
	}
	return true;
}

static struct event *from_reserve(
	struct id *id, struct id *listener, enum rdma_cm_event_type type, int status)
{
	struct event *event = id->reserve;

	WEFT_ASSERT(event);
	id->reserve = event->next;
	event->counted = listener ? listener : id;
	event->rdma.id = &id->rdma;
	event->rdma.listen_id = listener ? &listener->rdma : NULL;
	event->rdma.event = type;
	event->rdma.status = status;
	return event;
}

void event_raise(struct id *id, struct id *listener, enum rdma_cm_event_type type, int status,
	const struct message *from)
{
	struct event *event = from_reserve(id, listener, type, status);

	if (from)
		fill_parameters(event, id, from);
	put((struct channel *)event->counted->rdma.channel, event);
}

int rdma_write_cm_event(
	struct rdma_cm_id *rdma, enum rdma_cm_event_type type, int status, uint64_t arg)
{
	struct id *id = id_of(rdma);

	if ((int)type != EVENT_USER)
		return fail(EINVAL);
	weft_lock_take(&cm_lock);
	bool has_room = event_reserve(id, 1);
	if (has_room) {
		struct event *event = from_reserve(id, NULL, type, status);

		memcpy(&event->rdma.param, &arg, sizeof(arg));
		put((struct channel *)rdma->channel, event);
	}
	weft_lock_give(&cm_lock);
	return has_room ? 0 : fail(ENOMEM);
}

static void forget_in(struct channel *channel, const struct id *id)
{
	struct event **at = &channel->first;

	while (*at) {
		struct event *event = *at;

		if (event->rdma.id != &id->rdma && event->counted != id) {
			at = &event->next;
			continue;
		}
		*at = event->next;
		free(event);
	}
}

void event_forget(struct id *id)
{
	forget_in((struct channel *)id->rdma.channel, id);
	if (id->listener) /* its request's waits there */
		forget_in((struct channel *)id->listener->rdma.channel, id);
}

/* A reply finds its queue pair ready, if the id has one; then nothing is left to be done. */
static void complete(struct event *event)
{
	struct id *id = id_of(event->rdma.id);

	if (event->rdma.event != RDMA_CM_EVENT_CONNECT_RESPONSE || !id->rdma.qp)
		return;
	bool is_ready = !qp_to_ready(id);
	int error = errno;

	weft_lock_take(&cm_lock);
	if (!is_ready) {
		event->rdma.event = RDMA_CM_EVENT_CONNECT_ERROR;
		event->rdma.status = -error;
		wire_send(id, REJECTION);
		wire_hang_up(id);
	} else {
		event->rdma.event = RDMA_CM_EVENT_ESTABLISHED;
		if (id->state == ANSWERED)
			id->state = TOGETHER;
		wire_send(id, READY);
	}
	weft_lock_give(&cm_lock);
}

/* A cancelled reader may have taken the count of an event, and not the event. */
static void stop_reading(void *arg)
{
	struct channel *channel = arg;

	weft_lock_take(&cm_lock);
	channel->readers--;
	if (channel->first)
		count_up(channel);
	weft_lock_give(&cm_lock);
}

/* The only place where a thread may be cancelled, without any lock. */
static bool wait_for_count(struct channel *channel)
{
	uint64_t count;
	ssize_t n;

	pthread_cleanup_push(stop_reading, channel);
	n = read(channel->rdma.fd, &count, sizeof(count));
	pthread_cleanup_pop(0);
	return n == sizeof(count);
}

int rdma_get_cm_event(struct rdma_event_channel *rdma, struct rdma_cm_event **out)
{
	struct channel *channel = (struct channel *)rdma;
	struct event *event = NULL;
	bool is_told = true;

	weft_lock_take(&cm_lock);
	channel->readers++;
	channel->was_read = true;
	channel->reader = pthread_self();
	while (!event && is_told) {
		weft_lock_give(&cm_lock);
		is_told = wait_for_count(channel);
		weft_lock_take(&cm_lock);
		event = is_told ? channel->first : NULL;
	}
	channel->readers--;
	if (event) {
		channel->first = event->next;
		event->counted->given++;
		if (event->rdma.event == RDMA_CM_EVENT_CONNECT_REQUEST)
			listen_told(id_of(event->rdma.id));
	}
	weft_lock_give(&cm_lock);
	if (!event)
		return -1;
	int cancel = weft_cancel_off();
	complete(event);
	weft_cancel_on(cancel);
	*out = &event->rdma;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *rdma)
{
	struct event *event = (struct event *)(void *)rdma;

	if (!event)
		return fail(EINVAL);
	weft_lock_take(&cm_lock);
	event->counted->acknowledged++;
	pthread_cond_broadcast(&cm_acked);
	weft_lock_give(&cm_lock);
	free(event);
	return 0;
}

int event_finish(struct id *id)
{
	struct rdma_cm_event *event;

	if (!id->is_sync)
		return 0;
	do { /* the end of a former connection answers no call */
		if (id->rdma.event)
			(void)rdma_ack_cm_event(id->rdma.event);
		id->rdma.event = NULL;
		if (rdma_get_cm_event(id->rdma.channel, &event))
			return -1;
		id->rdma.event = event;
	} while (event->event == RDMA_CM_EVENT_TIMEWAIT_EXIT);
	if (event->event == RDMA_CM_EVENT_REJECTED)
		return fail(ECONNREFUSED);
	return event->status ? fail(event->status < 0 ? -event->status : EIO) : 0;
}

int rdma_migrate_id(struct rdma_cm_id *rdma, struct rdma_event_channel *to)
{
	struct id *id = id_of(rdma);
	struct rdma_event_channel *own = to ? NULL : rdma_create_event_channel();
	struct rdma_event_channel *old = rdma->channel;
	bool was_sync = id->is_sync;

	if (!to && !own)
		return -1;
	if (was_sync && rdma->event) {
		(void)rdma_ack_cm_event(rdma->event);
		rdma->event = NULL;
	}
	weft_lock_take(&cm_lock);
	id->is_sync = !to;
	rdma->channel = to ? to : own;
	for (struct id *asks = id_next(NULL); asks; asks = id_next(asks))
		if (asks->listener == id && !asks->is_told) /* will be told of there */
			asks->rdma.channel = rdma->channel;
	struct event **at = &((struct channel *)old)->first;
	while (old != rdma->channel && *at) {
		struct event *event = *at;

		if (event->counted != id) {
			at = &event->next;
			continue;
		}
		*at = event->next;
		put((struct channel *)rdma->channel, event);
	}
	weft_lock_give(&cm_lock);
	if (was_sync)
		rdma_destroy_event_channel(old);
	return 0;
}

const char *rdma_event_str(enum rdma_cm_event_type type)
{
	static const char *const words[] = {
		[RDMA_CM_EVENT_ADDR_RESOLVED] = "RDMA_CM_EVENT_ADDR_RESOLVED",
		[RDMA_CM_EVENT_ADDR_ERROR] = "RDMA_CM_EVENT_ADDR_ERROR",
		[RDMA_CM_EVENT_ROUTE_RESOLVED] = "RDMA_CM_EVENT_ROUTE_RESOLVED",
		[RDMA_CM_EVENT_ROUTE_ERROR] = "RDMA_CM_EVENT_ROUTE_ERROR",
		[RDMA_CM_EVENT_CONNECT_REQUEST] = "RDMA_CM_EVENT_CONNECT_REQUEST",
		[RDMA_CM_EVENT_CONNECT_RESPONSE] = "RDMA_CM_EVENT_CONNECT_RESPONSE",
		[RDMA_CM_EVENT_CONNECT_ERROR] = "RDMA_CM_EVENT_CONNECT_ERROR",
		[RDMA_CM_EVENT_UNREACHABLE] = "RDMA_CM_EVENT_UNREACHABLE",
		[RDMA_CM_EVENT_REJECTED] = "RDMA_CM_EVENT_REJECTED",
		[RDMA_CM_EVENT_ESTABLISHED] = "RDMA_CM_EVENT_ESTABLISHED",
		[RDMA_CM_EVENT_DISCONNECTED] = "RDMA_CM_EVENT_DISCONNECTED",
		[RDMA_CM_EVENT_DEVICE_REMOVAL] = "RDMA_CM_EVENT_DEVICE_REMOVAL",
		[RDMA_CM_EVENT_MULTICAST_JOIN] = "RDMA_CM_EVENT_MULTICAST_JOIN",
		[RDMA_CM_EVENT_MULTICAST_ERROR] = "RDMA_CM_EVENT_MULTICAST_ERROR",
		[RDMA_CM_EVENT_ADDR_CHANGE] = "RDMA_CM_EVENT_ADDR_CHANGE",
		[RDMA_CM_EVENT_TIMEWAIT_EXIT] = "RDMA_CM_EVENT_TIMEWAIT_EXIT",
		[EVENT_ADDRINFO_RESOLVED] = "RDMA_CM_EVENT_ADDRINFO_RESOLVED",
		[EVENT_ADDRINFO_ERROR] = "RDMA_CM_EVENT_ADDRINFO_ERROR",
		[EVENT_USER] = "RDMA_CM_EVENT_USER",
	};

	return (unsigned)type < WEFT_COUNT(words) ? words[type] : "unknown event";
}
