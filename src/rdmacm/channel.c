/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * channel - events, and the descriptors on which programs wait for them.
 *
 * A channel is a pipe with one byte per event, because programs poll it, make it non-blocking, and
 * block in it.  An id without a channel is synchronous: it has one of its own, and each call waits
 * in it.  An event may be taken back (its id is gone) or move to another channel; the byte that
 * stays is one wake-up for nothing.
 */
#include "local.h"
#include "newer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SILENT 8

pthread_mutex_t cm_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cm_acked = PTHREAD_COND_INITIALIZER;

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct channel *channel = calloc(1, sizeof(*channel));
	int fds[2];

	if (!channel)
		return NULL;
	if (pipe2(fds, O_CLOEXEC)) {
		free(channel);
		return NULL;
	}
	channel->rdma.fd = fds[0];
	channel->write_fd = fds[1];
	(void)fcntl(fds[1], F_SETFL, O_NONBLOCK); /* full: there is enough to wake up for */
	return &channel->rdma;
}

static void free_channel(struct channel *channel)
{
	(void)close(channel->rdma.fd);
	(void)close(channel->write_fd);
	while (channel->first) {
		struct event *event = channel->first;

		channel->first = event->next;
		free(event);
	}
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

	pthread_mutex_lock(&cm_lock);
	bool is_foreign = channel->was_read && !pthread_equal(channel->reader, pthread_self());
	if (channel->readers || is_foreign) {
		old = silent[n % SILENT];
		silent[n++ % SILENT] = channel;
	}
	if (old && old->readers)
		old = NULL; /* for ever */
	pthread_mutex_unlock(&cm_lock);
	if (old)
		free_channel(old);
}

static void put(struct channel *channel, struct event *event)
{
	struct event **last = &channel->first;

	while (*last)
		last = &(*last)->next;
	event->next = NULL;
	*last = event;
	(void)!write(channel->write_fd, "", 1);
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

static struct event *new_event(
	struct id *id, struct id *listener, enum rdma_cm_event_type type, int status)
{
	struct event *event = calloc(1, sizeof(*event));

	if (!event)
		return NULL;
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
	struct event *event = new_event(id, listener, type, status);

	if (!event)
		return;
	if (from)
		fill_parameters(event, id, from);
	put((struct channel *)event->counted->rdma.channel, event);
}

int rdma_write_cm_event(
	struct rdma_cm_id *rdma, enum rdma_cm_event_type type, int status, uint64_t arg)
{
	if ((int)type != EVENT_USER)
		return fail(EINVAL);
	struct event *event = new_event(id_of(rdma), NULL, type, status);

	if (!event)
		return fail(ENOMEM);
	memcpy(&event->rdma.param, &arg, sizeof(arg));
	pthread_mutex_lock(&cm_lock);
	put((struct channel *)rdma->channel, event);
	pthread_mutex_unlock(&cm_lock);
	return 0;
}

void event_forget(struct id *id)
{
	struct event **at = &((struct channel *)id->rdma.channel)->first;

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

/* A reply finds its queue pair ready, if the id has one; then nothing is left to be done. */
static void complete(struct event *event)
{
	struct id *id = id_of(event->rdma.id);

	if (event->rdma.event != RDMA_CM_EVENT_CONNECT_RESPONSE || !id->rdma.qp)
		return;
	if (qp_to_ready(id)) {
		event->rdma.event = RDMA_CM_EVENT_CONNECT_ERROR;
		event->rdma.status = -errno;
		wire_send(id, REJECTION);
		return;
	}
	event->rdma.event = RDMA_CM_EVENT_ESTABLISHED;
	pthread_mutex_lock(&cm_lock);
	if (id->state == ANSWERED)
		id->state = TOGETHER;
	wire_send(id, READY);
	pthread_mutex_unlock(&cm_lock);
}

int rdma_get_cm_event(struct rdma_event_channel *rdma, struct rdma_cm_event **out)
{
	struct channel *channel = (struct channel *)rdma;
	struct event *event = NULL;
	ssize_t n = 1;
	char byte;

	pthread_mutex_lock(&cm_lock);
	channel->readers++;
	channel->was_read = true;
	channel->reader = pthread_self();
	while (!event && n == 1) {
		pthread_mutex_unlock(&cm_lock);
		n = read(channel->rdma.fd, &byte, 1);
		pthread_mutex_lock(&cm_lock);
		event = n == 1 ? channel->first : NULL;
	}
	channel->readers--;
	if (event) {
		channel->first = event->next;
		event->counted->given++;
	}
	pthread_mutex_unlock(&cm_lock);
	if (!event)
		return -1;
	complete(event);
	*out = &event->rdma;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *rdma)
{
	struct event *event = (struct event *)(void *)rdma;

	if (!event)
		return fail(EINVAL);
	pthread_mutex_lock(&cm_lock);
	event->counted->acknowledged++;
	pthread_cond_broadcast(&cm_acked);
	pthread_mutex_unlock(&cm_lock);
	free(event);
	return 0;
}

int event_finish(struct id *id)
{
	struct rdma_cm_event *event;

	if (!id->is_sync)
		return 0;
	if (id->rdma.event) {
		(void)rdma_ack_cm_event(id->rdma.event);
		id->rdma.event = NULL;
	}
	if (rdma_get_cm_event(id->rdma.channel, &event))
		return -1;
	id->rdma.event = event;
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
	pthread_mutex_lock(&cm_lock);
	id->is_sync = !to;
	rdma->channel = to ? to : own;
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
	pthread_mutex_unlock(&cm_lock);
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
