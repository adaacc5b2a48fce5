/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire - the messages of a connection, and the thread that waits for them.
 *
 * A message is one struct of fixed size, so a stream is an array of them; a peer that sends
 * anything else is hung up.  The thread takes one event at a time and looks its id up by number
 * under the lock: an id that has been destroyed since is simply not found.
 *
 * A parting is told a little later.  It comes by TCP and would overtake what the queue pairs have
 * said before: the last data, and the ACK of ours.  Programs throw away a queue pair that has been
 * left (libfabric's rxm does), and what it had not yet delivered with it.
 */
#include "local.h"

#include <endian.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <weft/net.h>

#define MAGIC 0x57434d31u /* WCM1 */
#define NO_LISTENER 8     /* IBTA's reason for a rejection: no such service */
#define CONSUMER 28       /* the program did it */
#define PARTING_NS UINT64_C(50000000)
#define KNOCK_NS UINT64_C(5000000)
#define KNOCKS_MAX 100 /* half a second */

static int epoll_fd = -1;
static size_t n_parting, n_knocking;

/* With cm_lock. */
static void part_later(struct id *id)
{
	id->parts_at_ns = weft_clock_now(NULL) + PARTING_NS;
	n_parting++;
}

void wire_forget(struct id *id)
{
	n_parting -= id->parts_at_ns != 0;
	id->parts_at_ns = 0;
}

/* Tells what is due; milliseconds until the next, or -1.  With cm_lock. */
static int tell_partings(void)
{
	uint64_t now = weft_clock_now(NULL), next = UINT64_MAX;

	if (!n_parting)
		return -1;
	for (struct id *id = id_next(NULL); id; id = id_next(id)) {
		if (id->parts_at_ns > now)
			next = WEFT_MIN(next, id->parts_at_ns);
		if (!id->parts_at_ns || id->parts_at_ns > now)
			continue;
		wire_forget(id);
		event_raise(id, NULL, RDMA_CM_EVENT_DISCONNECTED, 0, NULL);
	}
	return next == UINT64_MAX ? -1 : (int)((next - now) / 1000000 + 1);
}

static void fail_to_connect(struct id *id, int error)
{
	bool refused = error == ECONNREFUSED;

	wire_hang_up(id);
	event_raise(id, NULL, refused ? RDMA_CM_EVENT_REJECTED : RDMA_CM_EVENT_UNREACHABLE,
		refused ? NO_LISTENER : -error, NULL);
}

/* Calls again where nobody listened; milliseconds until the next, or -1.  With cm_lock. */
static int knock(void)
{
	uint64_t now = weft_clock_now(NULL), next = UINT64_MAX;

	if (!n_knocking)
		return -1;
	for (struct id *id = id_next(NULL); id; id = id_next(id)) {
		if (id->state != KNOCKING)
			continue;
		if (id->knock_at_ns > now) {
			next = WEFT_MIN(next, id->knock_at_ns);
			continue;
		}
		n_knocking--;
		id->state = CONNECTING;
		if (connect_start(id))
			fail_to_connect(id, errno);
	}
	return next == UINT64_MAX ? -1 : (int)((next - now) / 1000000 + 1);
}

static void *wait_for_all(void *unused)
{
	struct epoll_event event;
	int wait_ms = -1;

	(void)unused;
	for (;;) {
		int n = epoll_wait(epoll_fd, &event, 1, wait_ms);

		pthread_mutex_lock(&cm_lock);
		struct id *id = n == 1 ? id_find(event.data.u64) : NULL;
		if (id)
			wire_handle(id, event.events);
		int parting_ms = tell_partings(), knock_ms = knock();
		/* -1 is the greatest. */
		wait_ms = (int)WEFT_MIN((unsigned)parting_ms, (unsigned)knock_ms);
		pthread_mutex_unlock(&cm_lock);
	}
	return NULL;
}

static void forget_in_child(void)
{
	epoll_fd = -1; /* the thread is the parent's; the child begins anew */
}

static bool start(void)
{
	static bool is_known;
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;

	if (epoll_fd >= 0)
		return true;
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_fd < 0)
		return false;
	if (!is_known)
		(void)pthread_atfork(NULL, NULL, forget_in_child);
	is_known = true;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are the program's */
	bool ok = !pthread_create(&thread, &attr, wait_for_all, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (ok)
		return true;
	(void)close(epoll_fd);
	epoll_fd = -1;
	return false;
}

bool wire_watch(struct id *id, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.u64 = id->serial };

	return start() && (!epoll_ctl(epoll_fd, EPOLL_CTL_ADD, id->fd, &event) ||
				  (errno == EEXIST &&
					  !epoll_ctl(epoll_fd, EPOLL_CTL_MOD, id->fd, &event)));
}

void wire_hang_up(struct id *id)
{
	if (id->fd >= 0)
		(void)close(id->fd); /* which takes it out of the epoll set */
	id->fd = -1;
	n_knocking -= id->state == KNOCKING;
	if (id->state != IDLE)
		id->state = GONE;
}

void wire_send(struct id *id, enum message_type type)
{
	struct message m = id->local;

	m.type = (uint8_t)type;
	m.magic = htobe32(MAGIC);
	m.qpn = htobe32(m.qpn);
	m.psn = htobe32(m.psn);
	m.qkey = htobe32(m.qkey);
	/* Half a dozen of these fit the emptiest socket buffer: it is whole or the peer is gone. */
	if (id->fd >= 0)
		(void)!send(id->fd, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* ---- what comes in ---- */

static void accept_one(struct id *listener)
{
	int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct id *id =
		fd < 0 ? NULL
		       : id_new(listener->rdma.channel, listener->rdma.context, listener->rdma.ps);

	if (!id) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	id->fd = fd;
	id->state = AWAITS_REQUEST;
	id->listener = listener;
	id_learn_ports(id);
	if (!wire_watch(id, EPOLLIN))
		id_free(id);
}

/*
 * A server that listens anew for each connection (perftest's does) may be a moment behind a client,
 * which resolves its address quicker here than by a network.
 */
static bool knock_later(struct id *id)
{
	if (id->knocks == KNOCKS_MAX)
		return false;
	id->knocks++;
	id->knock_at_ns = weft_clock_now(NULL) + KNOCK_NS;
	n_knocking++;
	(void)close(id->fd);
	id->fd = -1;
	id->state = KNOCKING;
	return true;
}

/* TCP lets a caller answer himself where nobody listens, if his own port is the one that he calls:
 * one in some ten thousand calls of ports that are given to callers. */
static bool meets_itself(int fd)
{
	struct sockaddr_storage own = { 0 }, peer = { 0 };
	socklen_t own_bytes = sizeof(own), peer_bytes = sizeof(peer);

	return !getsockname(fd, (struct sockaddr *)&own, &own_bytes) &&
	       !getpeername(fd, (struct sockaddr *)&peer, &peer_bytes) &&
	       !memcmp(&own, &peer, sizeof(own));
}

static void connected(struct id *id)
{
	int error = 0;
	socklen_t bytes = sizeof(error);

	(void)getsockopt(id->fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
	if (!error && meets_itself(id->fd))
		error = ECONNREFUSED;
	if (error == ECONNREFUSED && knock_later(id))
		return;
	if (error) {
		fail_to_connect(id, error);
		return;
	}
	id_learn_ports(id);
	id->state = AWAITS_REPLY;
	(void)wire_watch(id, EPOLLIN);
	wire_send(id, REQUEST);
}

static void lost(struct id *id)
{
	enum state was = id->state;

	if (was == AWAITS_REQUEST) {
		id_free(id);
		return;
	}
	wire_hang_up(id);
	if (was == TOGETHER)
		part_later(id);
	else if (was == AWAITS_REPLY || (was == ANSWERED && !id->peer.is_datagram))
		event_raise(id, NULL, RDMA_CM_EVENT_CONNECT_ERROR, -ECONNRESET, NULL);
}

static void requested(struct id *id)
{
	struct id *listener = id->listener;

	id->peer = id->in;
	id->local.is_datagram = id->peer.is_datagram;
	/* Who brings his own queue pair may ask for its attributes before he accepts. */
	id->local.responder = id->peer.initiator;
	id->local.initiator = id->peer.responder;
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
	event_raise(id, NULL,
		id->peer.is_datagram ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_CONNECT_RESPONSE,
		0, &id->peer);
}

/* One message, in the state in which it makes sense; else the peer is not one of ours. */
static void received(struct id *id)
{
	if (id->in.type == REQUEST && id->state == AWAITS_REQUEST) {
		requested(id);
	} else if (id->in.type == REPLY && id->state == AWAITS_REPLY) {
		replied(id);
	} else if (id->in.type == READY && id->state == ANSWERED) {
		id->state = TOGETHER;
		event_raise(id, NULL, RDMA_CM_EVENT_ESTABLISHED, 0, NULL);
	} else if (id->in.type == REJECTION &&
		   (id->state == AWAITS_REPLY || id->state == ANSWERED)) {
		wire_hang_up(id);
		event_raise(id, NULL, RDMA_CM_EVENT_REJECTED, CONSUMER, &id->in);
	} else if (id->in.type == PARTING || id->in.type == PARTED) {
		if (id->in.type == PARTING)
			wire_send(id, PARTED);
		bool is_news = id->state == TOGETHER || id->state == ANSWERED;

		if (is_news && id->in.type == PARTING)
			part_later(id);
		else if (is_news)
			event_raise(id, NULL, RDMA_CM_EVENT_DISCONNECTED, 0, NULL);
		wire_hang_up(id);
	} else {
		lost(id);
	}
}

void wire_handle(struct id *id, uint32_t events)
{
	if (id->state == LISTENING) {
		accept_one(id);
		return;
	}
	if (id->state == CONNECTING) {
		connected(id);
		return;
	}
	(void)events;
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
	received(id);
}
