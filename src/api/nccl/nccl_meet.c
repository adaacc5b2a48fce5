/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nccl_meet - how the two ends of a connection find each other.
 *
 * NCCL carries 128 bytes from the receiver to the sender, and nothing back. So the receiver
 * listens on a TCP port, the sender connects to it, and each tells the other its comm_end. A
 * secret in the handle keeps strangers out. Nothing here blocks; who is half-way is in the
 * listener, or hangs on the handle, which NCCL passes again at each try.
 *
 * Whoever can reach the port may connect and be silent, so the listener hears several connections
 * at once, each with a deadline, and when all its places are taken the one that has been silent
 * longest makes room.  That may have been the right one: a sender that is hung up on before it
 * has its answer connects again, until its own deadline.
 */
#include "nccl_local.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>
#include <weft/accept.h>
#include <weft/net.h>

#define MAGIC UINT32_C(0x57656674) /* "Weft" */
#define VERSION 2u                 /* of calls and immediates; both ends have the same */

struct hello {
	uint32_t magic, version;
	uint64_t secret;
	struct comm_end end;
};

/* Hello begins with it: whoever has it wrong is sent away before the rest is waited for. */
#define DOOR_BYTES offsetof(struct hello, end)

#define MEETINGS_MAX 16
/* A sender says hello once NCCL asks it again after it has connected: microseconds, or the while
 * that a rank is busy with something else. */
#define HELLO_WAIT_NS UINT64_C(5000000000)
/* A receiver answers once NCCL asks it: in a job of thousands of ranks that may take a while. */
#define ANSWER_WAIT_NS UINT64_C(120000000000)
#define AGAIN_NS UINT64_C(50000000) /* between two tries: the listener may be under a flood */

uint64_t meet_hello_wait_ns = HELLO_WAIT_NS, meet_answer_wait_ns = ANSWER_WAIT_NS;

struct meeting { /* one end, half-way; the receiver's is free while fd is -1 */
	int fd;
	struct comm *comm;
	struct hello own, peer;
	size_t sent, got;
	uint64_t until_ns, again_ns;
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
	struct weft_listener door;
	struct nic *nic;
	uint64_t secret;
	struct meeting meetings[MEETINGS_MAX];
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
	if (weft_inet_is_mapped(gid)) {
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
	if (!l) {
		WARN("NET/Weft: cannot listen: no memory");
		return WEFT_NCCL_SYSTEM_ERROR;
	}
	l->door.fd = -1;
	for (int i = 0; i < MEETINGS_MAX; i++)
		l->meetings[i].fd = -1;
	l->nic = nic_get(dev);
	if (!l->nic || getrandom(&l->secret, sizeof(l->secret), 0) != sizeof(l->secret))
		goto fail;
	bytes = own_address(l->nic, &a);
	l->door.fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (l->door.fd < 0 || bind(l->door.fd, &a.any, bytes) ||
		listen(l->door.fd, 8 * MEETINGS_MAX) || getsockname(l->door.fd, &a.any, &bytes))
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
	if (m->fd >= 0)
		(void)close(m->fd);
	(void)comm_close(m->comm);
	*m = (struct meeting){ .fd = -1 };
}

int meet_close(void *arg)
{
	struct listener *l = arg;

	if (!l)
		return WEFT_NCCL_SUCCESS;
	for (int i = 0; i < MEETINGS_MAX; i++)
		meeting_end(&l->meetings[i]);
	if (l->door.fd >= 0)
		(void)close(l->door.fd);
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

/* Up to so many bytes of it. */
static int get_hello(struct meeting *m, size_t bytes)
{
	ssize_t n = m->got >= bytes ? 0
				    : recv(m->fd, (uint8_t *)&m->peer + m->got, bytes - m->got,
					      MSG_DONTWAIT);

	if (m->got >= bytes)
		return 1;
	if (n == 0)
		errno = ECONNRESET;
	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
	m->got += (size_t)n;
	return m->got >= bytes;
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

/* From the beginning, with the QP that there is.  False with errno. */
static bool call(struct meeting *m, const struct handle *h)
{
	union address a;
	socklen_t bytes = handle_address(h, &a);

	m->sent = m->got = 0;
	m->again_ns = 0;
	m->is_connected = false;
	m->fd = socket(h->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	return m->fd >= 0 && (!connect(m->fd, &a.any, bytes) || errno == EINPROGRESS);
}

static struct meeting *connect_begin(int dev, const struct handle *h)
{
	struct meeting *m = calloc(1, sizeof(*m));
	struct nic *nic = nic_get(dev);

	if (!m || !nic) {
		if (nic)
			nic_put(nic);
		free(m);
		errno = m ? ENODEV : ENOMEM;
		return NULL;
	}
	*m = (struct meeting){ .fd = -1, .until_ns = weft_clock_now(NULL) + meet_answer_wait_ns };
	m->own.magic = MAGIC;
	m->own.version = VERSION;
	m->own.secret = h->secret;
	errno = ENOMEM; /* comm_open says what it was in words of its own */
	if (comm_open(nic, true, &m->comm, &m->own.end) || !call(m, h)) {
		int error = errno;

		meeting_end(m);
		free(m);
		m = NULL;
		errno = error;
	}
	nic_put(nic); /* the connection has its own share */
	return m;
}

/* The other end's first words: 1 is right, 0 not yet known, -1 wrong. */
static int is_ours(const struct meeting *m, uint64_t secret)
{
	const struct hello *hello = &m->peer;

	if (m->got < DOOR_BYTES)
		return 0;
	if (hello->magic != MAGIC || hello->secret != secret) {
		errno = EPROTO;
		return -1;
	}
	if (hello->version == VERSION)
		return 1;
	WARN("NET/Weft: the other end speaks version %u, and this one %u: the same plugin has to "
	     "be "
	     "on all hosts",
		hello->version, VERSION);
	errno = EPROTO;
	return -1;
}

/* As finish_connect, of all there is to do on the sender's side. */
static int connect_go(struct meeting *m)
{
	int step = finish_connect(m);

	if (step == 1 && m->sent < sizeof(m->own))
		step = send_hello(m);
	if (step == 1)
		step = get_hello(m, sizeof(m->peer));
	if (step < 0)
		return -1;
	if (is_ours(m, m->own.secret) < 0)
		return -1;
	if (step == 1 && comm_join(m->comm, &m->own.end, &m->peer.end)) {
		errno = ENETUNREACH;
		return -1;
	}
	return step;
}

/* Whether it was hung up on before it had its answer, and is to call again. */
static bool calls_again(struct meeting *m)
{
	if ((errno != ECONNRESET && errno != EPIPE) || m->got)
		return false;
	(void)close(m->fd);
	m->fd = -1;
	m->again_ns = weft_clock_now(NULL) + AGAIN_NS;
	return true;
}

static int connect_try(struct meeting *m, const struct handle *h)
{
	uint64_t now = weft_clock_now(NULL);

	if (now >= m->until_ns) {
		errno = ETIMEDOUT;
		return -1;
	}
	if (m->fd < 0 && now < m->again_ns)
		return 0;
	if (m->fd < 0 && !call(m, h))
		return -1;
	int step = connect_go(m);

	return step < 0 && calls_again(m) ? 0 : step;
}

static void complain(const struct handle *h, int error)
{
	char text[INET6_ADDRSTRLEN] = "?";

	(void)inet_ntop(h->family, h->address, text, sizeof(text));
	WARN("NET/Weft: cannot connect to %s port %u: %s", text, ntohs(h->port),
		error == ETIMEDOUT ? "no answer in time" : strerror(error));
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
	int step = h.meeting ? connect_try(h.meeting, &h) : -1;

	if (step == 1) {
		*sender = h.meeting->comm;
		h.meeting->comm = NULL;
	} else if (step < 0) {
		complain(&h, errno);
	}
	if (step && h.meeting) {
		meeting_end(h.meeting);
		free(h.meeting);
		h.meeting = NULL;
	}
	memcpy(handle, &h, sizeof(h));
	return step < 0 ? WEFT_NCCL_REMOTE_ERROR : WEFT_NCCL_SUCCESS;
}

/* 1: it has the secret; 0: not yet; -1: whoever came was not the one, or left. */
static int accept_hello(struct listener *l, struct meeting *m)
{
	int step = get_hello(m, DOOR_BYTES);

	return step == 1 ? is_ours(m, l->secret) : step;
}

/* The same of all there is to do on the receiver's side. */
static int accept_go(struct listener *l, struct meeting *m)
{
	int step = accept_hello(l, m);

	if (step == 1)
		step = get_hello(m, sizeof(m->peer));
	if (step == 1 && !m->comm) {
		m->own.magic = MAGIC;
		m->own.version = VERSION;
		m->own.secret = l->secret;
		if (comm_open(l->nic, false, &m->comm, &m->own.end) ||
			comm_join(m->comm, &m->own.end, &m->peer.end))
			return -1;
	}
	return step == 1 ? send_hello(m) : step;
}

/* A free place; else that of whoever has been silent longest; NULL: all have the secret. */
static struct meeting *place(struct listener *l, bool free_one)
{
	struct meeting *oldest = NULL;

	for (int i = 0; i < MEETINGS_MAX; i++) {
		struct meeting *m = &l->meetings[i];

		if (m->fd < 0 && free_one)
			return m;
		if (m->fd >= 0 && m->got < DOOR_BYTES &&
			(!oldest || m->until_ns < oldest->until_ns))
			oldest = m;
	}
	return oldest;
}

/* Nobody came, or nobody could for want of a descriptor: then one of the silent gives his back. */
static void make_room(struct listener *l, uint64_t naps)
{
	struct meeting *silent = place(l, false);

	if (l->door.naps == naps)
		return;
	if (naps == 0)
		WARN("NET/Weft: cannot accept: %s", strerror(errno));
	if (!silent)
		return;
	meeting_end(silent);
	l->door.again_ns = 0;
}

/* Whoever is at the door, at most as many as there are places. */
static void let_in(struct listener *l, uint64_t now)
{
	for (int i = 0; i < MEETINGS_MAX && weft_listener_is_open(&l->door, now); i++) {
		struct meeting *m = place(l, true);
		uint64_t naps = l->door.naps;
		int fd = m ? weft_accept(&l->door, now) : -1;

		if (fd < 0) {
			make_room(l, naps);
			return;
		}
		meeting_end(m);
		m->fd = fd;
		m->until_ns = now + meet_hello_wait_ns;
		/* The right one has spoken by now, mostly; later ones push out the silent. */
		if (accept_hello(l, m) < 0)
			meeting_end(m);
	}
}

int meet_accept(void *arg, void **receiver)
{
	struct listener *l = arg;
	uint64_t now = weft_clock_now(NULL);

	*receiver = NULL;
	let_in(l, now);
	for (int i = 0; i < MEETINGS_MAX && !*receiver; i++) {
		struct meeting *m = &l->meetings[i];
		int step = m->fd < 0 ? 0 : accept_go(l, m);

		if (step == 1) {
			*receiver = m->comm;
			m->comm = NULL;
		}
		/* A stranger is no error: the right one may come after him. */
		if (step || (m->fd >= 0 && now >= m->until_ns))
			meeting_end(m);
	}
	return WEFT_NCCL_SUCCESS;
}
