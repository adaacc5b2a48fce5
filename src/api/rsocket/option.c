/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * option - names, options and flags.
 *
 * Sizes of buffers count until the socket is connected or listens.  What only makes sense for the
 * kernel's TCP (keepalive, no delay, the size of segments) is kept, told again, without effect: a
 * stream here sends at once in any case.  Anything unknown is refused, so that programs see it.
 */
#include "rsocket_local.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <string.h>

#define SEGMENT_BYTES 4096

static int give(void *to, socklen_t *bytes, const void *value, socklen_t has)
{
	if (!to || !bytes)
		return fail(EFAULT);
	memcpy(to, value, WEFT_MIN(*bytes, has));
	*bytes = WEFT_MIN(*bytes, has);
	return 0;
}

/* ---- names ---- */

static int name_of(struct rsock *rs, struct sockaddr_storage *name, bool of_peer)
{
	if (rs->dgram)
		return dgram_name(rs, name, of_peer);
	if (of_peer && !rs->flow.peer_bytes)
		return fail(ENOTCONN);
	memcpy(name, of_peer ? rdma_get_peer_addr(rs->id) : rdma_get_local_addr(rs->id),
		sizeof(*name));
	if (!name->ss_family)
		name->ss_family = (sa_family_t)rs->family;
	return 0;
}

static int tell_name(int socket, struct sockaddr *to, socklen_t *bytes, bool of_peer)
{
	struct rsock *rs = table_enter(socket);
	struct sockaddr_storage name = { 0 };

	if (!rs)
		return -1;
	if (rs->state == CONNECTING)
		wait_progress(rs);
	if (table_leave(rs, name_of(rs, &name, of_peer)))
		return -1;
	socklen_t has = weft_address_bytes(name.ss_family), room = bytes ? *bytes : 0;
	int rc = give(to, &room, &name, has);
	if (!rc)
		*bytes = has;
	return rc;
}

int rgetpeername(int socket, struct sockaddr *name, socklen_t *bytes)
{
	return tell_name(socket, name, bytes, true);
}

int rgetsockname(int socket, struct sockaddr *name, socklen_t *bytes)
{
	return tell_name(socket, name, bytes, false);
}

/* ---- options ---- */

static int set_ring(struct rsock *rs, uint32_t *ring, int bytes)
{
	/* Where there are rings already, they stay: as a hint it was too late. */
	if (rs->memory)
		return 0;
	uint32_t want = (uint32_t)WEFT_MAX(bytes, WEFT_RSOCK_RING_MIN);
	*ring = (WEFT_MIN(want, (uint32_t)WEFT_RSOCK_RING_MAX) + 63) & ~63u;
	return 0;
}

/* Where a plain number is kept, or NULL. */
static int *kept_at(struct rsock *rs, int level, int name)
{
	if (level == SOL_SOCKET && name == SO_REUSEADDR)
		return &rs->reuse;
	if (level == SOL_SOCKET && name == SO_KEEPALIVE)
		return &rs->keepalive;
	if (level == SOL_SOCKET && name == SO_OOBINLINE)
		return &rs->oobinline;
	if (level == IPPROTO_TCP && name == TCP_NODELAY)
		return &rs->nodelay;
	if (level == IPPROTO_IPV6 && name == IPV6_V6ONLY)
		return &rs->v6only;
	return NULL;
}

static bool is_hint(int level, int name)
{
	return level == IPPROTO_TCP && (name == TCP_MAXSEG || name == TCP_KEEPIDLE ||
					       name == TCP_KEEPINTVL || name == TCP_KEEPCNT);
}

static bool is_of_rdma(int level, int name)
{
	return level == SOL_RDMA && name >= RDMA_SQSIZE && name <= RDMA_ROUTE;
}

static int set(struct rsock *rs, int level, int name, const void *value, socklen_t bytes)
{
	int *kept = kept_at(rs, level, name), number;

	if (level == SOL_SOCKET && name == SO_LINGER) {
		if (bytes < sizeof(rs->linger))
			return fail(EINVAL);
		memcpy(&rs->linger, value, sizeof(rs->linger));
		return 0;
	}
	if (level == SOL_RDMA && name == RDMA_ROUTE)
		return 0; /* ways are found by the device */
	if (bytes < sizeof(number))
		return fail(EINVAL);
	memcpy(&number, value, sizeof(number));
	if (kept) {
		*kept = number != 0;
		return 0;
	}
	if (level == SOL_SOCKET && name == SO_SNDBUF)
		return set_ring(rs, &rs->out_bytes, number);
	if (level == SOL_SOCKET && name == SO_RCVBUF)
		return set_ring(rs, &rs->in_bytes, number);
	if (is_of_rdma(level, name))
		return name == RDMA_IOMAPSIZE && number > WEFT_RSOCK_MAPS ? fail(EINVAL) : 0;
	return is_hint(level, name) ? 0 : fail(ENOPROTOOPT);
}

int rsetsockopt(int socket, int level, int name, const void *value, socklen_t bytes)
{
	struct rsock *rs = table_enter(socket);

	if (!rs)
		return -1;
	return (int)table_leave(
		rs, value ? set(rs, level, name, value, bytes) : fail(EFAULT));
}

static int take_error(struct rsock *rs)
{
	int error = rs->error;

	if (rs->state == CONNECTING) {
		wait_progress(rs);
		error = rs->error;
	}
	rs->error = 0;
	return error;
}

/* A number that is told; -1: there is no such option. */
static int told(struct rsock *rs, int level, int name)
{
	static const int of_rdma[] = { SENDS_MAX, SENDS_MAX, 0, WEFT_RSOCK_MAPS };
	const int *kept = kept_at(rs, level, name);

	if (kept)
		return *kept;
	if (level == SOL_RDMA && name >= RDMA_SQSIZE && name <= RDMA_IOMAPSIZE)
		return of_rdma[name];
	if (level == IPPROTO_TCP && name == TCP_MAXSEG)
		return SEGMENT_BYTES;
	if (level != SOL_SOCKET)
		return -1;
	switch (name) {
	case SO_ERROR:
		return take_error(rs);
	case SO_TYPE:
		return rs->type;
	case SO_DOMAIN:
		return rs->family;
	case SO_PROTOCOL:
		return rs->type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
	case SO_ACCEPTCONN:
		return rs->state == LISTENING;
	case SO_SNDBUF:
		return (int)rs->out_bytes;
	case SO_RCVBUF:
		return (int)rs->in_bytes;
	default:
		return -1;
	}
}

int rgetsockopt(int socket, int level, int name, void *value, socklen_t *bytes)
{
	struct rsock *rs = table_enter(socket);
	struct linger linger;
	int number = 0;

	if (!rs)
		return -1;
	bool is_linger = level == SOL_SOCKET && name == SO_LINGER;
	linger = rs->linger;
	if (!is_linger)
		number = told(rs, level, name);
	(void)table_leave(rs, 0);
	if (is_linger)
		return give(value, bytes, &linger, sizeof(linger));
	return number < 0 ? fail(ENOPROTOOPT) : give(value, bytes, &number, sizeof(number));
}

int rfcntl(int socket, int command, ...)
{
	struct rsock *rs = table_enter(socket);
	int rc = 0;
	va_list list;

	if (!rs)
		return -1;
	va_start(list, command);
	switch (command) {
	case F_GETFL:
		rc = O_RDWR | (rs->nonblocking ? O_NONBLOCK : 0);
		break;
	case F_SETFL:
		rs->nonblocking = va_arg(list, int) & O_NONBLOCK;
		break;
	case F_GETFD:
		rc = fcntl(rs->fd, F_GETFD);
		break;
	case F_SETFD:
		rc = fcntl(rs->fd, F_SETFD, va_arg(list, int));
		break;
	default:
		rc = fail(EINVAL);
	}
	va_end(list);
	return (int)table_leave(rs, rc);
}
