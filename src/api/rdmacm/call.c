/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call - who connects, on his way to the port that he calls.
 *
 * The places of the port (rdmacm_port.c) are tried one after the other, nearly always the first
 * alone. Who listens speaks first and names the port that he serves, so that a stranger who has the
 * place is sent nothing.  One that says nothing at all may be a stranger or a server that is
 * stopped or busy; so he is given a quarter of a second, and twice that in the next round, until as
 * long has been called as the kernel's CM would: 16 times 4.3 s.
 *
 * Where nobody serves the port it is called again for half a second: a server that listens anew
 * for each connection (perftest's does) may be a moment behind a client, which resolves its address
 * quicker here than by a network.
 */
#include "rdmacm_local.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <weft/net.h>

#define NO_LISTENER 8 /* IBTA's reason for a rejection: no such service */
#define GREETING_NS UINT64_C(250000000)
#define PATIENCE_MAX 6u /* doublings: 16 s */
#define KNOCK_NS UINT64_C(5000000)
#define KNOCKS_NS UINT64_C(500000000)

static void hang_up_call(struct id *id)
{
	if (id->fd >= 0)
		(void)close(id->fd); /* which takes it out of the epoll set */
	id->fd = -1;
	id->in_bytes = 0;
}

/* From the address that the id has, by whatever port TCP gives. */
static int open_socket(struct id *id)
{
	struct sockaddr_storage from = { 0 };
	const struct sockaddr *own = &id->rdma.route.addr.src_addr;
	int on = 1;

	memcpy(&from, own, weft_address_bytes(own->sa_family));
	*port_at((struct sockaddr *)&from) = 0;
	id->fd = socket(own->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (id->fd < 0)
		return -1;
	/* The port is chosen by connect(), which knows who else is called from it. */
	(void)setsockopt(id->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
	return bind(id->fd, (struct sockaddr *)&from, weft_address_bytes(own->sa_family));
}

static uint64_t left_ns(const struct id *id)
{
	uint64_t called_ns = weft_clock_now(NULL) - id->called_ns;

	return called_ns < ANSWER_NS ? ANSWER_NS - called_ns : 1;
}

/* -1, errno: nothing is on its way to the present place. */
static int call_place(struct id *id)
{
	struct rdma_addr *addr = &id->rdma.route.addr;
	struct sockaddr_storage to = { 0 };

	hang_up_call(id);
	memcpy(&to, &addr->dst_storage, weft_address_bytes(addr->dst_addr.sa_family));
	in_port_t *port = port_at((struct sockaddr *)&to);
	*port = htons(port_place((uint8_t)id->rdma.ps, ntohs(*port), id->place));
	if (open_socket(id))
		return -1;
	if (connect(id->fd, (struct sockaddr *)&to, weft_address_bytes(to.ss_family)) &&
		errno != EINPROGRESS)
		return -1;
	if (!thread_watch(id, EPOLLOUT))
		return -1;
	id->state = CONNECTING;
	thread_alarm(id, left_ns(id));
	return 0;
}

static bool is_nobody(int error)
{
	return error == ECONNREFUSED || error == ECONNRESET;
}

/* All places have been tried.  Whether they are tried again at once; else it is decided. */
static bool goes_round_again(struct id *id)
{
	uint64_t called_ns = weft_clock_now(NULL) - id->called_ns;

	id->place = 0;
	if (id->was_silent) {
		id->was_silent = false;
		id->patience++;
		return true;
	}
	hang_up_call(id);
	if (called_ns < KNOCKS_NS) {
		id->state = KNOCKING;
		thread_alarm(id, KNOCK_NS);
	} else {
		wire_fail(id, RDMA_CM_EVENT_REJECTED, NO_LISTENER);
	}
	return false;
}

/* The present place, or the first behind it that takes the call.  False: errno, or decided (0). */
static bool call_on(struct id *id)
{
	while (call_place(id)) {
		if (!is_nobody(errno))
			return false;
		if (++id->place == PORT_PLACES && !goes_round_again(id)) {
			errno = 0;
			return false;
		}
	}
	return true;
}

int call_begin(struct id *id)
{
	id->place = id->patience = 0;
	id->was_silent = false;
	id->called_ns = weft_clock_now(NULL);
	if (call_on(id) || !errno)
		return 0;
	int error = errno;

	wire_hang_up(id);
	return fail(error);
}

static void call_again(struct id *id)
{
	if (!call_on(id) && errno)
		wire_fail(id, RDMA_CM_EVENT_UNREACHABLE, -errno);
}

void call_next(struct id *id)
{
	if (++id->place < PORT_PLACES || goes_round_again(id))
		call_again(id);
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

void call_connected(struct id *id)
{
	int error = 0;
	socklen_t bytes = sizeof(error);

	(void)getsockopt(id->fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
	if (!error && meets_itself(id->fd))
		error = ECONNREFUSED;
	if (is_nobody(error)) {
		call_next(id);
	} else if (error || !thread_watch(id, EPOLLIN)) {
		wire_fail(id, RDMA_CM_EVENT_UNREACHABLE, error ? -error : -errno);
	} else {
		id->state = AWAITS_GREETING;
		thread_alarm(id, GREETING_NS << WEFT_MIN(id->patience, PATIENCE_MAX));
	}
}

bool call_greeted(struct id *id)
{
	struct rdma_addr *addr = &id->rdma.route.addr;
	in_port_t port = *port_at(&addr->dst_addr);

	if (id->in.type != GREETING || id->in.port != ntohs(port) ||
		id->in.space != (uint8_t)id->rdma.ps)
		return false;
	id_learn_addresses(id);
	*port_at(&addr->dst_addr) = port;
	if (id->port)
		*port_at(&addr->src_addr) = htons(id->port);
	id->local.port = ntohs(*port_at(&addr->src_addr));
	id->local.space = (uint8_t)id->rdma.ps;
	id->state = AWAITS_REPLY;
	thread_alarm(id, ANSWER_NS);
	wire_send(id, REQUEST);
	return true;
}

void call_due(struct id *id)
{
	if (id->state != KNOCKING && left_ns(id) == 1) {
		wire_fail(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	} else if (id->state == AWAITS_GREETING) {
		id->was_silent = true;
		call_next(id);
	} else {
		call_again(id);
	}
}
