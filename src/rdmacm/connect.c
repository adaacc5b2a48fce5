/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * connect - the verbs of a connection: listen, connect, accept, reject, part.
 *
 * They fill in what this end says and hand it to the wire; what comes of it comes as an event.
 * Defaults where a program gives no parameters are the kernel's: as much as the device has, seven
 * tries.
 */
#include "local.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define QKEY 0x01234567 /* RDMA_UDP_QKEY */
#define DEPTH 16

/* What we say about ourselves. */
static int describe(struct id *id, const struct rdma_conn_param *param)
{
	static const struct rdma_conn_param usual = { .responder_resources = DEPTH,
		.initiator_depth = DEPTH,
		.retry_count = 7,
		.rnr_retry_count = 7 };
	const struct rdma_conn_param *p = param ? param : &usual;
	struct message *m = &id->local;

	if (p->private_data && p->private_data_len > PRIVATE_BYTES)
		return fail(EINVAL);
	m->private_bytes = p->private_data ? p->private_data_len : 0;
	if (m->private_bytes)
		memcpy(m->private_data, p->private_data, m->private_bytes);
	m->responder = (uint8_t)WEFT_MIN(p->responder_resources, DEPTH);
	m->initiator = (uint8_t)WEFT_MIN(p->initiator_depth, DEPTH);
	m->retry = WEFT_MIN(p->retry_count, (uint8_t)7);
	m->rnr_retry = WEFT_MIN(p->rnr_retry_count, (uint8_t)7);
	m->srq = id->rdma.qp ? id->rdma.qp->srq != NULL : p->srq;
	m->qpn = id->rdma.qp ? id->rdma.qp->qp_num : p->qp_num;
	m->qkey = QKEY;
	m->is_datagram = id->rdma.qp_type == IBV_QPT_UD;
	return device_gid(id->rdma.verbs, m->gid);
}

int rdma_listen(struct rdma_cm_id *rdma, int backlog)
{
	struct id *id = id_of(rdma);
	struct sockaddr_in any = { .sin_family = AF_INET };
	int result = -1;

	/* Who names no address takes connections at all of them, and asks for the port. */
	if (id->state == IDLE && rdma_bind_addr(rdma, (struct sockaddr *)&any))
		return -1;
	pthread_mutex_lock(&cm_lock);
	if (id->state != BOUND) {
		errno = EINVAL;
	} else {
		id_share_port(id, true); /* for the connections; who listens has it alone */
		result = listen(id->fd, backlog > 0 ? backlog : SOMAXCONN);
	}
	if (!result) {
		id->state = LISTENING;
		result = wire_watch(id, EPOLLIN) ? 0 : -1;
	}
	pthread_mutex_unlock(&cm_lock);
	return result;
}

int connect_start(struct id *id)
{
	struct rdma_addr *addr = &id->rdma.route.addr;
	struct sockaddr_storage to = { 0 };

	if (id->fd < 0 && id_open_socket(id, &addr->src_addr))
		return -1;
	memcpy(&to, &addr->dst_storage, sizeof(to));
	in_port_t *port = to.ss_family == AF_INET6 ? &((struct sockaddr_in6 *)&to)->sin6_port
						   : &((struct sockaddr_in *)&to)->sin_port;
	id_share_port(id, true); /* when it is over, others may have it at once */
	*port = (in_port_t)(*port ^ htons(WEFT_RDMACM_PORT_FLIP));
	if (connect(id->fd, (struct sockaddr *)&to, weft_address_bytes(to.ss_family)) &&
		errno != EINPROGRESS)
		return -1;
	id->state = CONNECTING;
	return wire_watch(id, EPOLLOUT) ? 0 : -1;
}

int rdma_connect(struct rdma_cm_id *rdma, struct rdma_conn_param *param)
{
	struct id *id = id_of(rdma);

	if (!rdma->verbs || !rdma->route.path_rec ||
		(id->state != IDLE && id->state != BOUND && id->state != GONE))
		return fail(EINVAL);
	if (describe(id, param))
		return -1;
	pthread_mutex_lock(&cm_lock);
	id->knocks = 0;
	int result = connect_start(id);
	pthread_mutex_unlock(&cm_lock);
	return result ? -1 : event_finish(id);
}

int rdma_accept(struct rdma_cm_id *rdma, struct rdma_conn_param *param)
{
	struct id *id = id_of(rdma);
	struct rdma_conn_param offered = { .responder_resources = id->peer.initiator,
		.initiator_depth = id->peer.responder,
		.retry_count = id->peer.retry,
		.rnr_retry_count = 7 };

	if (id->state == ANSWERED) /* the old way to say rdma_establish() */
		return rdma_establish(rdma);
	if (id->state != ASKED)
		return fail(id->state == GONE ? ECONNRESET : EINVAL);
	if (describe(id, param ? param : &offered))
		return -1;
	/* Who asks says it for both; libfabric leaves what it finds on the stack here. */
	id->local.retry = id->peer.retry;
	if (rdma->qp && rdma->qp_type == IBV_QPT_RC && qp_to_ready(id))
		return -1;
	pthread_mutex_lock(&cm_lock);
	bool is_there = id->state == ASKED;
	if (is_there) {
		id->state = ANSWERED;
		wire_send(id, REPLY);
	}
	pthread_mutex_unlock(&cm_lock);
	if (!is_there)
		return fail(ECONNRESET);
	/* A datagram service has nothing to wait for. */
	return rdma->qp_type == IBV_QPT_UD ? 0 : event_finish(id);
}

int rdma_establish(struct rdma_cm_id *rdma)
{
	struct id *id = id_of(rdma);

	pthread_mutex_lock(&cm_lock);
	bool is_there = id->state == ANSWERED && !rdma->qp;
	if (is_there) {
		id->state = TOGETHER;
		wire_send(id, READY);
	}
	pthread_mutex_unlock(&cm_lock);
	return is_there ? 0 : fail(EINVAL);
}

int rdma_reject(struct rdma_cm_id *rdma, const void *private_data, uint8_t private_bytes)
{
	struct id *id = id_of(rdma);

	if (id->state != ASKED && id->state != ANSWERED)
		return fail(EINVAL);
	pthread_mutex_lock(&cm_lock);
	id->local.private_bytes = (uint8_t)WEFT_MIN(private_bytes, PRIVATE_BYTES);
	if (private_data)
		memcpy(id->local.private_data, private_data, id->local.private_bytes);
	wire_send(id, REJECTION);
	wire_hang_up(id);
	pthread_mutex_unlock(&cm_lock);
	return 0;
}

int rdma_reject_ece(struct rdma_cm_id *rdma, const void *private_data, uint8_t private_bytes)
{
	return rdma_reject(rdma, private_data, private_bytes);
}

int rdma_disconnect(struct rdma_cm_id *rdma)
{
	struct id *id = id_of(rdma);

	if (rdma->qp && rdma->qp_type == IBV_QPT_RC && qp_to_error(id))
		return -1;
	pthread_mutex_lock(&cm_lock);
	bool asks = id->state == TOGETHER || id->state == ANSWERED;
	if (asks)
		wire_send(id, PARTING);
	pthread_mutex_unlock(&cm_lock);
	if (asks)
		return event_finish(id);
	return id->state == GONE ? 0 : fail(EINVAL);
}

int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **out)
{
	struct id *listener = id_of(listen);
	struct rdma_cm_event *event;

	if (!listener->is_sync)
		return fail(EINVAL);
	if (rdma_get_cm_event(listen->channel, &event))
		return -1;
	struct rdma_cm_id *id = event->id;
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		(void)rdma_ack_cm_event(event);
		return fail(EINVAL);
	}
	(void)rdma_ack_cm_event(event);
	if (rdma_migrate_id(id, NULL))
		return -1;
	if (listener->qp_init) {
		struct ibv_qp_init_attr init = *listener->qp_init;

		if (rdma_create_qp(id, listen->pd, &init)) {
			int error = errno;

			(void)rdma_reject(id, NULL, 0);
			(void)rdma_destroy_id(id);
			return fail(error);
		}
	}
	*out = id;
	return 0;
}
