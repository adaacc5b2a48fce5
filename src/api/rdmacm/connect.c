/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * connect - the verbs of a connection: listen, connect, accept, reject, part.
 *
 * They fill in what this end says and hand it to the wire; what comes of it comes as an event.
 * Defaults where a program gives no parameters are the kernel's: as much as the device has, seven
 * tries.
 */
#include "rdmacm_local.h"

#include <netinet/in.h>
#include <string.h>

#define QKEY 0x01234567 /* RDMA_UDP_QKEY */

/* What the kernel's messages have room for: CM's REQ (92 bytes), REP, REJ, and SIDR's for
 * datagrams, less the 36 of its own header in front of a request (ib_cm.h, cma.c). */
static uint8_t private_max(const struct id *id, enum message_type type)
{
	if (id->rdma.ps == RDMA_PS_UDP)
		return type == REQUEST ? 180 : 136;
	return type == REQUEST ? 56 : type == REPLY ? PRIVATE_BYTES : 148;
}

static int take_private(struct id *id, enum message_type type, const void *data, uint8_t bytes)
{
	if (data && bytes > private_max(id, type))
		return fail(EINVAL);
	id->local.private_bytes = data ? bytes : 0;
	if (id->local.private_bytes)
		memcpy(id->local.private_data, data, bytes);
	return 0;
}

/* As librdmacm: what the device has, or all that there is; it judges connections only. */
static bool is_depth(const struct id *id, uint8_t depth, uint8_t all)
{
	return id->rdma.ps != RDMA_PS_TCP || depth <= DEPTH || depth == all;
}

static uint8_t depth_of(uint8_t depth, uint8_t most)
{
	return WEFT_MIN(depth == RDMA_MAX_INIT_DEPTH ? most : depth, (uint8_t)DEPTH);
}

/*
 * What we say about ourselves; usual: where nothing is said.  Retries above 7 are 7, because the
 * kernel makes them so and programs count on it (cma.c).  With cm_lock.
 */
static int describe(struct id *id, const struct rdma_conn_param *param,
	const struct rdma_conn_param *usual, enum message_type type)
{
	const struct rdma_conn_param *p = param ? param : usual;
	struct message *m = &id->local;

	static_assert(RDMA_MAX_INIT_DEPTH == RDMA_MAX_RESP_RES, "depth_of() is for both");
	if (param && (!is_depth(id, p->responder_resources, RDMA_MAX_RESP_RES) ||
			     !is_depth(id, p->initiator_depth, RDMA_MAX_INIT_DEPTH)))
		return fail(EINVAL);
	if (take_private(id, type, p->private_data, p->private_data_len))
		return -1;
	m->responder = depth_of(p->responder_resources, usual->responder_resources);
	m->initiator = depth_of(p->initiator_depth, usual->initiator_depth);
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
	weft_lock_take(&cm_lock);
	if (id->state != BOUND) {
		errno = EINVAL;
	} else {
		result = listen_begin(id, backlog);
	}
	weft_lock_give(&cm_lock);
	return result;
}

int rdma_connect(struct rdma_cm_id *rdma, struct rdma_conn_param *param)
{
	static const struct rdma_conn_param usual = { .responder_resources = DEPTH,
		.initiator_depth = DEPTH,
		.retry_count = 7,
		.rnr_retry_count = 7 };
	struct id *id = id_of(rdma);

	if (!rdma->verbs || !rdma->route.path_rec)
		return fail(EINVAL);
	weft_lock_take(&cm_lock);
	bool is_free = id->state == IDLE || id->state == BOUND || id->state >= TIME_WAIT;
	int result = is_free ? describe(id, param, &usual, REQUEST) : fail(EINVAL);
	if (!result)
		result = event_reserve(id, 0) ? call_begin(id) : -1;
	int error = errno;
	weft_lock_give(&cm_lock);
	return result ? fail(error) : event_finish(id);
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
		return fail(id->state >= LEAVING ? ECONNRESET : EINVAL);
	weft_lock_take(&cm_lock);
	int result = describe(id, param, &offered, REPLY);
	weft_lock_give(&cm_lock);
	if (result)
		return -1;
	/* Who asks says it for both; libfabric leaves what it finds on the stack here. */
	id->local.retry = id->peer.retry;
	if (rdma->qp && rdma->qp_type == IBV_QPT_RC && qp_to_ready(id))
		return -1;
	weft_lock_take(&cm_lock);
	bool is_there = id->state == ASKED;
	if (is_there) {
		id->state = ANSWERED;
		wire_send(id, REPLY);
		thread_alarm(id, id->local.is_datagram ? 0 : ANSWER_NS);
	}
	weft_lock_give(&cm_lock);
	if (!is_there)
		return fail(ECONNRESET);
	/* A datagram service has nothing to wait for. */
	return rdma->qp_type == IBV_QPT_UD ? 0 : event_finish(id);
}

int rdma_establish(struct rdma_cm_id *rdma)
{
	struct id *id = id_of(rdma);

	weft_lock_take(&cm_lock);
	bool is_there = id->state == ANSWERED && !rdma->qp;
	if (is_there) {
		id->state = TOGETHER;
		wire_send(id, READY);
	}
	weft_lock_give(&cm_lock);
	return is_there ? 0 : fail(EINVAL);
}

int rdma_reject(struct rdma_cm_id *rdma, const void *private_data, uint8_t private_bytes)
{
	struct id *id = id_of(rdma);

	weft_lock_take(&cm_lock);
	int result = id->state == ASKED || id->state == ANSWERED
			     ? take_private(id, REJECTION, private_data, private_bytes)
			     : fail(EINVAL);
	if (!result) {
		wire_send(id, REJECTION);
		wire_hang_up(id);
	}
	weft_lock_give(&cm_lock);
	return result;
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
	weft_lock_take(&cm_lock);
	bool asks = id->state == TOGETHER || id->state == ANSWERED;
	bool was_left = id->state >= LEAVING;
	if (asks) {
		wire_send(id, PARTING);
		id->state = TOGETHER;
		thread_alarm(id, ANSWER_NS);
	}
	weft_lock_give(&cm_lock);
	if (asks)
		return event_finish(id);
	return was_left ? 0 : fail(EINVAL);
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
