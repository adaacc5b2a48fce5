/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire - the messages of a connection.
 *
 * A message is one struct of fixed size, so a stream is an array of them; a peer that sends
 * anything else is hung up.  Nothing that is awaited is awaited for ever: the kernel's CM asks 16
 * times, 4.3 s each, and then tells that the peer is unreachable; so does this one.  What a peer
 * says changes nothing but the connection by which it says it.
 *
 * A parting is told a little later.  It comes by TCP and would overtake what the queue pairs have
 * said before: the last data, and the ACK of ours.  Programs throw away a queue pair that has been
 * left (libfabric's rxm does), and what it had not yet delivered with it.  When it has been told,
 * TIMEWAIT_EXIT follows at both ends: nothing of the queue pair is under way any more then.
 */
#include "rdmacm_local.h"

#include <endian.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAGIC 0x57434d32u /* WCM2 */
#define CONSUMER 28       /* IBTA's reason for a rejection: the program did it */
#define PARTING_NS UINT64_C(50000000)
/* As the kernel: twice a packet's life in RoCE (2^16 of 4.096 us, CMA_IBOE_PACKET_LIFETIME). */
#define TIME_WAIT_NS (UINT64_C(4096) << 17)

void wire_hang_up(struct id *id)
{
	if (id->fd >= 0)
		(void)close(id->fd); /* which takes it out of the epoll set */
	id->fd = -1;
	id->in_bytes = 0;
	thread_alarm(id, 0);
	if (id->state != IDLE)
		id->state = GONE;
}

void wire_fail(struct id *id, enum rdma_cm_event_type type, int status)
{
	wire_hang_up(id);
	event_raise(id, NULL, type, status, NULL);
}

void wire_send(struct id *id, enum message_type type)
{
	struct message m = id->local;

	m.type = (uint8_t)type;
	m.magic = htobe32(MAGIC);
	m.qpn = htobe32(m.qpn);
	m.psn = htobe32(m.psn);
	m.qkey = htobe32(m.qkey);
	m.port = htobe16(m.port);
	/* Half a dozen of these fit the emptiest socket buffer: it is whole or the peer is gone. */
	if (id->fd >= 0)
		(void)!send(id->fd, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* ---- what comes in ---- */

/* The peer has left, which is told now or a little later; there is TIME_WAIT behind it. */
static void part(struct id *id, uint64_t ns)
{
	wire_hang_up(id);
	id->state = LEAVING;
	thread_alarm(id, ns);
}

static void tell_parting(struct id *id, int status)
{
	wire_fail(id, RDMA_CM_EVENT_DISCONNECTED, status);
	if (id->peer.is_datagram)
		return;
	id->state = TIME_WAIT;
	thread_alarm(id, TIME_WAIT_NS);
}

/* What was awaited has not come, or its time has. */
void wire_due(struct id *id)
{
	switch (id->state) {
	case LISTENING:
		listen_due(id);
		break;
	case CONNECTING:
	case KNOCKING:
	case AWAITS_GREETING:
		call_due(id);
		break;
	case AWAITS_REQUEST:
		id_free(id);
		break;
	case AWAITS_REPLY:
	case ANSWERED:
		wire_fail(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
		break;
	case TOGETHER: /* PARTED; the kernel calls it so, too */
		tell_parting(id, -ETIMEDOUT);
		break;
	case LEAVING:
		tell_parting(id, 0);
		break;
	case TIME_WAIT:
		wire_fail(id, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
		break;
	default:
		break;
	}
}

static void lost(struct id *id)
{
	enum state was = id->state;

	if (was == AWAITS_GREETING) {
		call_next(id);
	} else if (was == AWAITS_REQUEST || (was == ASKED && !id->is_told)) {
		event_forget(id);
		id_free(id);
	} else if (was == TOGETHER) {
		part(id, PARTING_NS);
	} else if (was == AWAITS_REPLY || (was == ANSWERED && !id->peer.is_datagram)) {
		wire_fail(id, RDMA_CM_EVENT_CONNECT_ERROR, -ECONNRESET);
	} else {
		wire_hang_up(id);
	}
}

static void requested(struct id *id)
{
	struct id *listener = id->listener;

	if (id->in.space != (uint8_t)id->rdma.ps) {
		lost(id);
		return;
	}
	id->peer = id->in;
	thread_alarm(id, 0); /* the program takes the time that it takes */
	*port_at(&id->rdma.route.addr.dst_addr) = htons(id->peer.port);
	id->local.is_datagram = id->peer.is_datagram;
	/* Who brings his own queue pair may ask for its attributes before he accepts. */
	id->local.responder = WEFT_MIN(id->peer.initiator, (uint8_t)DEPTH);
	id->local.initiator = WEFT_MIN(id->peer.responder, (uint8_t)DEPTH);
	id->local.retry = id->peer.retry;
	id->rdma.verbs = listener->rdma.verbs ? listener->rdma.verbs
					      : device_for(&id->rdma.route.addr.src_addr);
	id->rdma.port_num = PORT;
	if (!id->rdma.verbs || !id_take_pd(id) || device_gid(id->rdma.verbs, id->local.gid)) {
		id_free(id);
		return;
	}
	memcpy(id->rdma.route.addr.addr.ibaddr.sgid.raw, id->local.gid, 16);
	memcpy(id->rdma.route.addr.addr.ibaddr.dgid.raw, id->peer.gid, 16);
	id->state = ASKED;
	event_raise(id, listener, RDMA_CM_EVENT_CONNECT_REQUEST, 0, &id->peer);
}

static void replied(struct id *id)
{
	id->peer = id->in;
	memcpy(id->rdma.route.addr.addr.ibaddr.dgid.raw, id->peer.gid, 16);
	id->state = ANSWERED;
	thread_alarm(id, 0);
	event_raise(id, NULL,
		id->peer.is_datagram ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_CONNECT_RESPONSE,
		0, &id->peer);
}

static void parted(struct id *id)
{
	bool is_news = id->state == TOGETHER || id->state == ANSWERED;

	if (id->in.type == PARTING)
		wire_send(id, PARTED);
	if (!is_news)
		lost(id);
	else if (id->in.type == PARTING)
		part(id, PARTING_NS);
	else
		tell_parting(id, 0);
}

/* One message, in the state in which it makes sense; else the peer is not one of ours. */
static void received(struct id *id)
{
	if (id->state == AWAITS_GREETING && call_greeted(id))
		return;
	if (id->in.type == REQUEST && id->state == AWAITS_REQUEST) {
		requested(id);
	} else if (id->in.type == REPLY && id->state == AWAITS_REPLY) {
		replied(id);
	} else if (id->in.type == READY && id->state == ANSWERED) {
		id->state = TOGETHER;
		thread_alarm(id, 0);
		event_raise(id, NULL, RDMA_CM_EVENT_ESTABLISHED, 0, NULL);
	} else if (id->in.type == REJECTION &&
		   (id->state == AWAITS_REPLY || id->state == ANSWERED)) {
		wire_hang_up(id);
		event_raise(id, NULL, RDMA_CM_EVENT_REJECTED, CONSUMER, &id->in);
	} else if (id->in.type == PARTING || id->in.type == PARTED) {
		parted(id);
	} else {
		lost(id);
	}
}

void wire_handle(struct id *id)
{
	if (id->state == LISTENING) {
		listen_accept(id);
		return;
	}
	if (id->state == CONNECTING) {
		call_connected(id);
		return;
	}
	if (id->fd < 0)
		return;
	ssize_t n = recv(id->fd, (char *)&id->in + id->in_bytes, sizeof(id->in) - id->in_bytes, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		lost(id);
		return;
	}
	id->in_bytes += (size_t)n;
	if (id->in_bytes < sizeof(id->in))
		return;
	id->in_bytes = 0;
	if (be32toh(id->in.magic) != MAGIC || id->in.private_bytes > PRIVATE_BYTES) {
		lost(id);
		return;
	}
	id->in.qpn = be32toh(id->in.qpn);
	id->in.psn = be32toh(id->in.psn);
	id->in.qkey = be32toh(id->in.qkey);
	id->in.port = be16toh(id->in.port);
	received(id);
}
