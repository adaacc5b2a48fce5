/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rsocket_meet - sockets are made, bound, and brought together by rdma_cm.
 *
 * An identifier with an event channel of its own stands behind each, so that a connection's events
 * wake this socket and no other.  What is needed to write into each other's memory is private
 * data.  Who accepts may read at once, but writes not before the other end has answered: its queue
 * pair is not ready earlier, and a client that does not block may take its time.
 */
#include "rsocket_local.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define RING_BYTES (512u << 10)
#define RESOLVE_MS 2000

static int watch_channel(struct rsock *rs)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = rs->channel->fd;

	(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	return epoll_ctl(rs->fd, EPOLL_CTL_ADD, fd, &event);
}

static int give_channel(struct rsock *rs)
{
	rs->channel = rdma_create_event_channel();
	return rs->channel ? watch_channel(rs) : -1;
}

void meet_forget(struct rsock *rs)
{
	while (rs->requests) {
		struct request *request = rs->requests;

		rs->requests = request->next;
		(void)rdma_reject(request->id, NULL, 0);
		(void)rdma_destroy_id(request->id);
		free(request);
	}
	dgram_close(rs);
	link_close(rs);
	if (rs->id)
		(void)rdma_destroy_id(rs->id);
	if (rs->channel)
		rdma_destroy_event_channel(rs->channel);
	rs->id = NULL;
	rs->channel = NULL;
}

static struct rsock *make(int family, int type)
{
	struct rsock *rs = table_new(family, type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC));

	if (!rs)
		return NULL;
	rs->nonblocking = type & SOCK_NONBLOCK;
	rs->out_bytes = rs->in_bytes = RING_BYTES;
	return rs;
}

static int open_new(int domain, int type, int kind)
{
	struct rsock *rs = make(domain, type);

	if (!rs)
		return fail(ENOMEM);
	int rc = kind == SOCK_DGRAM ? dgram_open(rs) : give_channel(rs);
	if (!rc && kind == SOCK_STREAM)
		rc = rdma_create_id(rs->channel, &rs->id, rs, RDMA_PS_TCP);
	if (rc || !table_add(rs)) {
		int error = errno;

		table_put(rs);
		return fail(error);
	}
	return rs->fd;
}

int rsocket(int domain, int type, int protocol)
{
	int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (domain != AF_INET && domain != AF_INET6)
		return fail(EAFNOSUPPORT);
	if (kind != SOCK_STREAM && kind != SOCK_DGRAM)
		return fail(ESOCKTNOSUPPORT);
	if (protocol && protocol != (kind == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP))
		return fail(EPROTONOSUPPORT);
	int cancel = weft_cancel_off(), fd = open_new(domain, type, kind);

	weft_cancel_on(cancel);
	return fd;
}

static int bind_stream(struct rsock *rs, const struct sockaddr *address)
{
	if (rs->state != OPEN)
		return fail(EINVAL);
	if (rs->v6only && rdma_set_option(rs->id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY,
				  &rs->v6only, sizeof(rs->v6only)))
		return -1;
	if (rs->reuse && rdma_set_option(rs->id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR,
				 &rs->reuse, sizeof(rs->reuse)))
		return -1;
	if (rdma_bind_addr(rs->id, (struct sockaddr *)(uintptr_t)address))
		return -1;
	rs->state = BOUND;
	return 0;
}

static bool is_address(const struct rsock *rs, const struct sockaddr *address, socklen_t bytes)
{
	return address && bytes >= weft_address_bytes(rs->family) &&
	       address->sa_family == rs->family;
}

int rbind(int socket, const struct sockaddr *address, socklen_t bytes)
{
	struct rsock *rs = table_enter(socket);
	int rc;

	if (!rs)
		return -1;
	if (!is_address(rs, address, bytes))
		rc = fail(EINVAL);
	else
		rc = rs->dgram ? dgram_bind(rs, address) : bind_stream(rs, address);
	return (int)table_leave(rs, rc);
}

int rlisten(int socket, int backlog)
{
	struct rsock *rs = table_enter(socket);
	int rc = 0;

	if (!rs)
		return -1;
	if (rs->dgram)
		return (int)table_leave(rs, fail(EOPNOTSUPP));
	if (rs->state == OPEN) {
		struct sockaddr_storage any = { .ss_family = (sa_family_t)rs->family };

		rc = bind_stream(rs, (struct sockaddr *)&any);
	}
	if (!rc && rs->state != LISTENING) {
		rc = rs->state == BOUND ? rdma_listen(rs->id, backlog) : fail(EINVAL);
		if (!rc)
			rs->state = LISTENING;
	}
	return (int)table_leave(rs, rc);
}

/* ---- what is told ---- */

static void asked(struct rsock *rs, const struct rdma_cm_event *event)
{
	struct request *request = calloc(1, sizeof(*request)), **last = &rs->requests;

	if (!request || event->param.conn.private_data_len < sizeof(request->hello)) {
		free(request);
		(void)rdma_reject(event->id, NULL, 0);
		/* Its event still counts at the listener alone. */
		(void)rdma_destroy_id(event->id);
		return;
	}
	request->id = event->id;
	memcpy(&request->hello, event->param.conn.private_data, sizeof(request->hello));
	while (*last)
		last = &(*last)->next;
	*last = request;
}

static void answered(struct rsock *rs, const struct rdma_cm_event *event)
{
	struct hello hello = { 0 };

	if (rs->state == JOINING) {
		link_joined(rs);
		return;
	}
	if (rs->state != CONNECTING)
		return;
	if (event->param.conn.private_data_len >= sizeof(hello))
		memcpy(&hello, event->param.conn.private_data, sizeof(hello));
	if (link_meet(rs, &hello))
		link_joined(rs);
	else
		link_break(rs, EPROTO);
}

static void parted(struct rsock *rs)
{
	/* What was written before has come before. */
	link_drain(rs);
	if (rs->peer_fin & FIN_WRITE)
		rs->peer_fin |= FIN_READ;
	link_break(rs, ECONNRESET);
}

static int error_of(const struct rdma_cm_event *event, int otherwise)
{
	return event->status < 0 ? -event->status : otherwise;
}

static void told(struct rsock *rs, const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		asked(rs, event);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		answered(rs, event);
		break;
	case RDMA_CM_EVENT_REJECTED:
		link_break(rs, ECONNREFUSED);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		link_break(rs, error_of(event, EHOSTUNREACH));
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
		link_break(rs, error_of(event, ECONNRESET));
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		parted(rs);
		break;
	default:
		break;
	}
}

void meet_progress(struct rsock *rs)
{
	struct rdma_cm_event *event;

	while (rs->channel && !rdma_get_cm_event(rs->channel, &event)) {
		told(rs, event);
		(void)rdma_ack_cm_event(event);
	}
}

/* ---- connecting ---- */

static struct rdma_conn_param parameters(const struct hello *hello)
{
	return (struct rdma_conn_param){ .private_data = hello,
		.private_data_len = sizeof(*hello),
		.retry_count = 7,
		.rnr_retry_count = 7 };
}

/* Both resolutions are done at once, and told; the channel does not block. */
static int resolve(struct rsock *rs, const struct sockaddr *address)
{
	if (rdma_resolve_addr(rs->id, NULL, (struct sockaddr *)(uintptr_t)address, RESOLVE_MS))
		return -1;
	rs->state = CONNECTING;
	meet_progress(rs);
	if (rs->state == BROKEN)
		return fail(rs->broken_by);
	return rdma_resolve_route(rs->id, RESOLVE_MS);
}

static int connect_start(struct rsock *rs, const struct sockaddr *address)
{
	struct hello hello;

	if (resolve(rs, address) || link_open(rs))
		return -1;
	link_hello(rs, &hello);
	struct rdma_conn_param param = parameters(&hello);
	return rdma_connect(rs->id, &param);
}

static bool is_decided(struct rsock *rs)
{
	return rs->state != CONNECTING;
}

static int connect_stream(struct rsock *rs, const struct sockaddr *address)
{
	if (rs->state == CONNECTING)
		return fail(EALREADY);
	if (rs->state != OPEN && rs->state != BOUND)
		return fail(is_connected(rs) ? EISCONN : EINVAL);
	if (connect_start(rs, address)) {
		int error = errno;

		link_break(rs, error);
		rs->error = 0;
		return fail(error);
	}
	if (rs->nonblocking)
		return fail(EINPROGRESS);
	int error = wait_until(rs, is_decided, -1);
	if (error)
		return fail(error);
	rs->error = 0;
	return rs->state == BROKEN ? fail(rs->broken_by) : 0;
}

int rconnect(int socket, const struct sockaddr *address, socklen_t bytes)
{
	struct rsock *rs = table_enter(socket);
	int rc;

	if (!rs)
		return -1;
	if (rs->dgram && address && bytes >= sizeof(address->sa_family) &&
		address->sa_family == AF_UNSPEC)
		rc = dgram_connect(rs, NULL);
	else if (!is_address(rs, address, bytes))
		rc = fail(address && bytes >= sizeof(address->sa_family) ? EAFNOSUPPORT : EINVAL);
	else
		rc = rs->dgram ? dgram_connect(rs, address) : connect_stream(rs, address);
	return (int)table_leave(rs, rc);
}

/* ---- accepting ---- */

/* The other end of a request; NULL: it is gone, or we cannot. */
static struct rsock *join(const struct rsock *listener, struct request *request)
{
	struct rsock *rs = make(listener->family, SOCK_STREAM);
	struct hello hello;
	int error;

	if (!rs)
		errno = ENOMEM;
	if (!rs || give_channel(rs)) {
		(void)rdma_reject(request->id, NULL, 0);
		(void)rdma_destroy_id(request->id);
		goto failed;
	}
	rs->id = request->id;
	rs->id->context = rs;
	rs->out_bytes = listener->out_bytes;
	rs->in_bytes = listener->in_bytes;
	rs->nodelay = listener->nodelay;
	rs->keepalive = listener->keepalive;
	rs->linger = listener->linger;
	if (rdma_migrate_id(rs->id, rs->channel) || link_open(rs))
		goto refused;
	if (!link_meet(rs, &request->hello))
		goto refused;
	rs->state = JOINING;
	link_hello(rs, &hello);
	struct rdma_conn_param param = parameters(&hello);
	if (rdma_accept(rs->id, &param))
		goto refused;
	if (!table_add(rs))
		goto failed; /* accepted: the peer finds that it is over */
	free(request);
	return rs;
refused:
	error = errno;
	(void)rdma_reject(rs->id, NULL, 0);
	errno = error;
failed:
	error = errno;
	free(request);
	if (rs)
		table_put(rs);
	errno = error;
	return NULL;
}

static bool is_asked(struct rsock *rs)
{
	return rs->requests || rs->state != LISTENING;
}

int raccept(int socket, struct sockaddr *address, socklen_t *bytes)
{
	struct rsock *rs = table_enter(socket), *joined = NULL;
	int error = 0;

	if (!rs)
		return -1;
	if (rs->state != LISTENING)
		error = EINVAL;
	while (!error && !joined) {
		error = wait_until(rs, is_asked, rs->nonblocking ? 0 : -1);
		if (error)
			break;
		struct request *request = rs->requests;
		rs->requests = request->next;
		joined = join(rs, request);
		if (!joined && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
			error = errno;
	}
	int fd = error ? fail(error) : joined->fd;

	(void)table_leave(rs, 0);
	if (fd >= 0 && address && bytes)
		(void)rgetpeername(fd, address, bytes);
	return fd;
}
