/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * meet - how the two ends of a connection find each other.
 *
 * NCCL carries 128 bytes from the receiver to the sender, and nothing back. So the receiver
 * listens on a TCP port, the sender connects to it, and each tells the other its comm_end. A
 * secret in the handle keeps strangers out. Nothing here blocks; who is half-way is in the
 * listener, or hangs on the handle, which NCCL passes again at each try.
 */
#include "local.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAGIC UINT32_C(0x57656674) /* "Weft" */
#define VERSION 2u                 /* of calls and immediates; both ends have the same */

struct hello {
	uint32_t magic, version;
	uint64_t secret;
	struct comm_end end;
};

struct meeting { /* one end, half-way */
	int fd;
	struct comm *comm;
	struct hello own, peer;
	size_t sent, got;
	bool is_connected;
};

struct handle {
	uint32_t magic;
	uint16_t family, port; /* network order */
	uint8_t address[16];
	uint64_t secret;
	struct meeting *meeting; /* the sender's; NULL in what the receiver makes */
};
_Static_assert(sizeof(struct handle) <= WEFT_NCCL_HANDLE_BYTES, "NCCL carries no more");

struct listener {
	int fd;
	struct nic *nic;
	uint64_t secret;
	struct meeting *meeting;
};

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Where this host can be reached by TCP: its front-end network, else the device's own address. */
static socklen_t own_address(const struct nic *nic, union address *a)
{
	const char *front = getenv("WEFT_IPV4");
	uint8_t gid[16];

	memset(a, 0, sizeof(*a));
	weft_dev_gid(nic->dev, gid);
	if (front && inet_pton(AF_INET, front, &a->v4.sin_addr) == 1) {
		a->v4.sin_family = AF_INET;
		return sizeof(a->v4);
	}
	if (IN6_IS_ADDR_V4MAPPED((struct in6_addr *)(void *)gid)) {
		a->v4.sin_family = AF_INET;
		memcpy(&a->v4.sin_addr, gid + 12, 4);
		return sizeof(a->v4);
	}
	a->v6.sin6_family = AF_INET6;
	memcpy(&a->v6.sin6_addr, gid, 16);
	return sizeof(a->v6);
}

static socklen_t handle_address(const struct handle *h, union address *a)
{
	memset(a, 0, sizeof(*a));
	if (h->family == AF_INET) {
		a->v4.sin_family = AF_INET;
		a->v4.sin_port = h->port;
		memcpy(&a->v4.sin_addr, h->address, 4);
		return sizeof(a->v4);
	}
	a->v6.sin6_family = AF_INET6;
	a->v6.sin6_port = h->port;
	memcpy(&a->v6.sin6_addr, h->address, 16);
	return sizeof(a->v6);
}

int meet_listen(int dev, void *handle, void **out)
{
	struct listener *l = calloc(1, sizeof(*l));
	struct handle h = { .magic = MAGIC };
	union address a;
	socklen_t bytes;

	*out = NULL;
	if (!l)
		return WEFT_NCCL_SYSTEM_ERROR;
	l->fd = -1;
	l->nic = nic_get(dev);
	if (!l->nic || getrandom(&l->secret, sizeof(l->secret), 0) != sizeof(l->secret))
		goto fail;
	bytes = own_address(l->nic, &a);
	l->fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (l->fd < 0 || bind(l->fd, &a.any, bytes) || listen(l->fd, 8) ||
		getsockname(l->fd, &a.any, &bytes))
		goto fail;
	h.family = a.any.sa_family;
	h.secret = l->secret;
	h.port = h.family == AF_INET ? a.v4.sin_port : a.v6.sin6_port;
	if (h.family == AF_INET)
		memcpy(h.address, &a.v4.sin_addr, 4);
	else
		memcpy(h.address, &a.v6.sin6_addr, 16);
	memset(handle, 0, WEFT_NCCL_HANDLE_BYTES);
	memcpy(handle, &h, sizeof(h));
	*out = l;
	return WEFT_NCCL_SUCCESS;
fail:
	WARN("NET/Weft: cannot listen: %s", strerror(errno));
	(void)meet_close(l);
	return WEFT_NCCL_SYSTEM_ERROR;
}

static void meeting_end(struct meeting *m)
{
	if (!m)
		return;
	if (m->fd >= 0)
		(void)close(m->fd);
	(void)comm_close(m->comm);
	free(m);
}

int meet_close(void *arg)
{
	struct listener *l = arg;

	if (!l)
		return WEFT_NCCL_SUCCESS;
	meeting_end(l->meeting);
	if (l->fd >= 0)
		(void)close(l->fd);
	if (l->nic)
		nic_put(l->nic);
	free(l);
	return WEFT_NCCL_SUCCESS;
}

/* 1: all of it went; 0: not yet; -1: the other end is gone. */
static int send_hello(struct meeting *m)
{
	ssize_t n = send(m->fd, (const uint8_t *)&m->own + m->sent, sizeof(m->own) - m->sent,
		MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	m->sent += (size_t)n;
	return m->sent == sizeof(m->own);
}

static int get_hello(struct meeting *m)
{
	ssize_t n =
		recv(m->fd, (uint8_t *)&m->peer + m->got, sizeof(m->peer) - m->got, MSG_DONTWAIT);

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
	m->got += (size_t)n;
	return m->got == sizeof(m->peer);
}

/* 1: connected; 0: not yet; -1: refused. */
static int finish_connect(struct meeting *m)
{
	struct pollfd p = { .fd = m->fd, .events = POLLOUT };
	int error = 0;
	socklen_t bytes = sizeof(error);

	if (m->is_connected)
		return 1;
	if (poll(&p, 1, 0) <= 0)
		return 0;
	if (getsockopt(m->fd, SOL_SOCKET, SO_ERROR, &error, &bytes) || error) {
		errno = error;
		return -1;
	}
	m->is_connected = true;
	return 1;
}

static struct meeting *connect_begin(int dev, const struct handle *h)
{
	struct meeting *m = calloc(1, sizeof(*m));
	struct nic *nic = nic_get(dev);
	union address a;
	socklen_t bytes = handle_address(h, &a);

	if (!m || !nic) {
		if (nic)
			nic_put(nic);
		free(m);
		return NULL;
	}
	m->own.magic = MAGIC;
	m->own.version = VERSION;
	m->own.secret = h->secret;
	m->fd = socket(h->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (m->fd < 0 || (connect(m->fd, &a.any, bytes) && errno != EINPROGRESS) ||
		comm_open(nic, true, &m->comm, &m->own.end)) {
		meeting_end(m);
		m = NULL;
	}
	nic_put(nic); /* the connection has its own share */
	return m;
}

static bool is_ours(const struct hello *hello)
{
	return hello->magic == MAGIC && hello->version == VERSION;
}

/* As finish_connect, of all there is to do on the sender's side. */
static int connect_go(struct meeting *m)
{
	int step = finish_connect(m);

	if (step == 1 && m->sent < sizeof(m->own))
		step = send_hello(m);
	if (step == 1)
		step = get_hello(m);
	if (step == 1 && (!is_ours(&m->peer) || m->peer.secret != m->own.secret ||
				 comm_join(m->comm, &m->own.end, &m->peer.end)))
		step = -1;
	return step;
}

int meet_connect(int dev, void *handle, void **sender)
{
	struct handle h;

	*sender = NULL;
	memcpy(&h, handle, sizeof(h));
	if (h.magic != MAGIC || (h.family != AF_INET && h.family != AF_INET6))
		return WEFT_NCCL_INTERNAL_ERROR;
	if (!h.meeting)
		h.meeting = connect_begin(dev, &h);
	int step = h.meeting ? connect_go(h.meeting) : -1;

	if (step == 1) {
		*sender = h.meeting->comm;
		h.meeting->comm = NULL;
	} else if (step < 0) {
		WARN("NET/Weft: cannot connect: %s", strerror(errno));
	}
	if (step) {
		meeting_end(h.meeting);
		h.meeting = NULL;
	}
	memcpy(handle, &h, sizeof(h));
	return step < 0 ? WEFT_NCCL_REMOTE_ERROR : WEFT_NCCL_SUCCESS;
}

/* 1: there; 0: not yet; -1: whoever came was not the one, or left. */
static int accept_go(struct listener *l, struct meeting *m)
{
	int step = m->comm ? 1 : get_hello(m);

	if (step == 1 && !m->comm) {
		if (!is_ours(&m->peer) || m->peer.secret != l->secret)
			return -1;
		m->own.magic = MAGIC;
		m->own.version = VERSION;
		m->own.secret = l->secret;
		if (comm_open(l->nic, false, &m->comm, &m->own.end) ||
			comm_join(m->comm, &m->own.end, &m->peer.end))
			return -1;
	}
	return step == 1 ? send_hello(m) : step;
}

int meet_accept(void *arg, void **receiver)
{
	struct listener *l = arg;

	*receiver = NULL;
	if (!l->meeting) {
		int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			return WEFT_NCCL_SUCCESS; /* nobody yet */
		l->meeting = calloc(1, sizeof(*l->meeting));
		if (!l->meeting) {
			(void)close(fd);
			return WEFT_NCCL_SYSTEM_ERROR;
		}
		l->meeting->fd = fd;
	}
	int step = accept_go(l, l->meeting);

	if (step == 1) {
		*receiver = l->meeting->comm;
		l->meeting->comm = NULL;
	}
	if (step) { /* a stranger is no error: the right one may come after him */
		meeting_end(l->meeting);
		l->meeting = NULL;
	}
	return WEFT_NCCL_SUCCESS;
}
