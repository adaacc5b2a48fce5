/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * listen - the door: who is let in, how many, and for how long without a word.
 *
 * Anybody can open TCP connections.  A caller who does not say REQUEST within 2 s is hung up, and
 * at most `backlog` of a listener wait that the program has not been told of, as the kernel's
 * ucma counts them; whoever has been silent longest goes when there are more.  The rest waits
 * with TCP.
 *
 * Descriptors are the program's: the last eighth of them is never taken for callers, and where
 * there are none the door is shut for a moment, instead of asking accept() for ever.
 */
#include "rdmacm_local.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <weft/accept.h>
#include <weft/net.h>

#define REQUEST_NS UINT64_C(2000000000) /* a round trip of an honest caller, and two lost packets */
#define SILENT_NS UINT64_C(100000000)   /* nobody is sent away for his silence before that */
#define NAP_NS WEFT_ACCEPT_NAP_NS
#define BACKLOG_MAX 1024u /* the kernel's, /proc/sys/net/rdma_ucm/max_backlog */
#define FDS_SHARE 8u
#define FDS_MIN 16u

static bool open_at_place(struct id *id, uint32_t place)
{
	struct sockaddr_storage at = { 0 };
	const struct sockaddr *own = &id->rdma.route.addr.src_addr;
	int on = 1;

	memcpy(&at, own, weft_address_bytes(own->sa_family));
	*port_at((struct sockaddr *)&at) = htons(port_place((uint8_t)id->rdma.ps, id->port, place));
	id->fd = socket(own->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (id->fd < 0)
		return false;
	if (id->ipv6_only) /* else as the system has it; IPv4's does not know it */
		(void)setsockopt(id->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	/* What an old connection has left behind (TIME_WAIT) does not keep a server away. */
	(void)setsockopt(id->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!bind(id->fd, (struct sockaddr *)&at, weft_address_bytes(at.ss_family)) &&
		!listen(id->fd, (int)id->backlog))
		return true;
	int error = errno;
	(void)close(id->fd);
	id->fd = -1;
	errno = error;
	return false;
}

int listen_begin(struct id *id, int backlog)
{
	uint32_t place = 0;

	id->backlog = backlog > 0 && backlog < (int)BACKLOG_MAX ? (uint32_t)backlog : BACKLOG_MAX;
	if (port_listen(id))
		return -1;
	while (!open_at_place(id, place)) {
		if (errno != EADDRINUSE)
			return -1;
		if (++place == PORT_PLACES)
			return fail(EADDRNOTAVAIL);
	}
	id->state = LISTENING;
	id->is_paused = false;
	if (thread_watch(id, EPOLLIN))
		return 0;
	int error = errno;
	(void)close(id->fd);
	id->fd = -1;
	id->state = BOUND;
	return fail(error);
}

static void pause_for(struct id *listener, uint64_t ns)
{
	listener->is_paused = true;
	(void)thread_watch(listener, 0);
	thread_alarm(listener, ns);
}

void listen_due(struct id *listener)
{
	listener->is_paused = false;
	(void)thread_watch(listener, EPOLLIN);
}

void listen_told(struct id *id)
{
	struct id *listener = id->listener;

	id->is_told = true;
	if (listener && listener->is_paused)
		listen_due(listener);
}

/* ---- room ---- */

/* Whoever has said nothing for longest, of this listener or (NULL) of any, is hung up. */
static bool send_one_away(const struct id *listener)
{
	uint64_t now = weft_clock_now(NULL);
	struct id *oldest = NULL;

	for (struct id *id = id_next(NULL); id; id = id_next(id)) {
		if (id->state == AWAITS_REQUEST && (!listener || id->listener == listener) &&
			weft_elapsed(now, id->called_ns) >= SILENT_NS &&
			(!oldest || id->called_ns < oldest->called_ns))
			oldest = id;
	}
	if (oldest)
		id_free(oldest);
	return oldest;
}

static bool has_room(const struct id *listener)
{
	uint32_t waiting = 0;

	for (const struct id *id = id_next(NULL); id; id = id_next(id))
		waiting += id->listener == listener && !id->is_told;
	return waiting < listener->backlog;
}

/* The lowest descriptor that is free tells how many are. */
static bool has_descriptors(const struct id *listener)
{
	struct rlimit limit;
	int fd = fcntl(listener->fd, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return false;
	(void)close(fd);
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return true;
	rlim_t kept = WEFT_MAX(limit.rlim_cur / FDS_SHARE, (rlim_t)FDS_MIN);

	return (rlim_t)fd + kept < limit.rlim_cur;
}

/* ---- who comes ---- */

static void greet(struct id *id)
{
	id->local.port = id->listener->port;
	id->local.space = (uint8_t)id->rdma.ps;
	wire_send(id, GREETING);
}

void listen_accept(struct id *listener)
{
	if ((!has_room(listener) && !send_one_away(listener)) ||
		(!has_descriptors(listener) && !send_one_away(NULL))) {
		pause_for(listener, NAP_NS);
		return;
	}
	struct weft_listener door = { .fd = listener->fd };
	int fd = weft_accept(&door, weft_clock_now(NULL));

	if (fd < 0) {
		if (door.again_ns)
			pause_for(listener, NAP_NS);
		return;
	}
	struct id *id = id_new(listener->rdma.channel, listener->rdma.context, listener->rdma.ps);

	if (!id) {
		(void)close(fd); /* no memory: the caller calls again */
		return;
	}
	id->fd = fd;
	id->state = AWAITS_REQUEST;
	id->listener = listener;
	id->called_ns = weft_clock_now(NULL);
	id_learn_addresses(id);
	*port_at(&id->rdma.route.addr.src_addr) = htons(listener->port);
	greet(id);
	thread_alarm(id, REQUEST_NS);
	if (!thread_watch(id, EPOLLIN))
		id_free(id);
}

/*
 * Nobody will tell the program of those who wait behind a listener that goes, so they are rejected,
 * as by the kernel: also one whose request is still on its way.
 */
void listen_end(struct id *listener)
{
	for (struct id *id = id_next(NULL), *next; id; id = next) {
		next = id_next(id);
		if (id->listener != listener)
			continue;
		id->listener = NULL;
		if (id->is_told)
			continue;
		id->local.private_bytes = 0;
		wire_send(id, REJECTION);
		id_free(id);
	}
}
