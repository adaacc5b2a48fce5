/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shm_meet - how two processes come to share a pool and rings: one message each way.
 *
 *   near: hello { host, UDP port, planes }
 *   far:  welcome { as decided, sizes } with descriptors: pool, rings, ears;  or  { why not }
 *
 * SEQPACKET keeps messages whole, so neither side has to reassemble what a foul one sends byte by
 * byte.  The numbers that describe the memory come in the message and are kept in private; what
 * lies in the shared memory itself is read for entries and indices only.  After that, each byte on
 * the connection is a bell, and its end is the other's end.
 */
#include "shm_local.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define VERSION 2
#define BACKLOG 64
#define PAUSE_MS 10
#define DIAL_MS 2000
#define CALLS_MAX 20u
#define WHY_BYTES 128
#define GIFTS_MAX (2 + WEFT_SHM_EARS_MAX) /* descriptors: pool, rings, ears */

static const char magic[8] = "weftshm";

struct message { /* of one machine to itself: no byte order */
	char magic[8];
	uint32_t version;
	uint32_t is_refusal;
	struct weft_shm_hello hello;
	uint32_t slots, slot_bytes, entries;
	char why[WHY_BYTES];
};

union control { /* room for all descriptors, aligned */
	struct cmsghdr header;
	char bytes[CMSG_SPACE(GIFTS_MAX * sizeof(int))];
};

static int fill_name(const char *path, struct sockaddr_un *name, char *error, size_t error_bytes)
{
	*name = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(name->sun_path)) {
		snprintf(error, error_bytes, "%s: longer than the %zu bytes of a socket's name",
			path, sizeof(name->sun_path) - 1);
		return -1;
	}
	memcpy(name->sun_path, path, strlen(path));
	return 0;
}

static bool is_readable(int fd, int limit_ms)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	int n;

	do
		n = poll(&wait, 1, limit_ms);
	while (n < 0 && errno == EINTR);
	return n > 0;
}

/* Texts end, and have nothing in them that a terminal would obey. */
static bool is_text(const char *text, size_t bytes)
{
	size_t n = strnlen(text, bytes);

	for (size_t i = 0; i < n; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	return n < bytes;
}

static bool is_message(const struct message *m, ssize_t bytes)
{
	return bytes == sizeof(*m) && !memcmp(m->magic, magic, sizeof(magic)) &&
	       m->version == VERSION && is_text(m->hello.host, sizeof(m->hello.host)) &&
	       is_text(m->why, sizeof(m->why)) && m->hello.planes <= WEFT_SHM_PLANES_MAX;
}

static struct message make_message(const struct weft_shm_hello *hello)
{
	struct message m = { .version = VERSION, .hello = *hello };

	memcpy(m.magic, magic, sizeof(magic));
	return m;
}

/* ---- far end ---- */

/* A socket file whose process is dead may be replaced; one that is alive may not. */
static bool is_stale(const struct sockaddr_un *name)
{
	struct stat st;

	if (lstat(name->sun_path, &st) || !S_ISSOCK(st.st_mode))
		return false;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool stale = fd >= 0 && connect(fd, (const struct sockaddr *)name, sizeof(*name)) &&
		     errno == ECONNREFUSED;

	if (fd >= 0)
		close(fd);
	return stale;
}

int weft_shm_listen(const char *path, char *error, size_t error_bytes)
{
	struct sockaddr_un name;
	int fd;

	if (fill_name(path, &name, error, error_bytes))
		return -1;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && is_stale(&name))
		unlink(path);
	/* The mode of the socket itself becomes that of its file, whatever the umask is. */
	if (fd < 0 || fchmod(fd, 0600) || bind(fd, (struct sockaddr *)&name, sizeof(name)) ||
		listen(fd, BACKLOG)) {
		snprintf(error, error_bytes, "%s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

int meet_read_hello(int fd, struct weft_shm_hello *hello)
{
	struct message m;
	ssize_t n = recv(fd, &m, sizeof(m), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (!is_message(&m, n))
		return -1;
	*hello = m.hello;
	return 1;
}

int weft_shm_welcome(int fd, const struct weft_shm_hello *hello, struct weft_shm_link *link)
{
	struct message m = make_message(hello);
	int fds[GIFTS_MAX] = { link->pool->fd, link->fd };
	size_t fds_bytes = (2 + link->n_ears) * sizeof(fds[0]);
	union control control = { 0 };
	struct iovec iov = { &m, sizeof(m) };
	struct msghdr msg = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = CMSG_SPACE(fds_bytes) };

	WEFT_ASSERT(link->end == FAR && link->line < 0);
	m.hello.planes = link->planes;
	m.slots = link->pool->slots;
	m.slot_bytes = link->pool->slot_bytes;
	m.entries = link->entries;
	memcpy(fds + 2, link->ears, link->n_ears * sizeof(fds[0]));
	control.header = (struct cmsghdr){
		.cmsg_len = CMSG_LEN(fds_bytes), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS
	};
	memcpy(CMSG_DATA(&control.header), fds, fds_bytes);
	if (sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(m)) {
		close(fd);
		return -1;
	}
	link->line = fd;
	/* He has these now, and hundreds of programs would cost us hundreds each. */
	bells_close(link);
	(void)close(link->fd);
	link->fd = -1;
	return 0;
}

void weft_shm_refuse(int fd, const char *why)
{
	struct message m = make_message(&(struct weft_shm_hello){ 0 });

	m.is_refusal = 1;
	snprintf(m.why, sizeof(m.why), "%s", why);
	(void)send(fd, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
}

/* ---- near end ---- */

static void close_gifts(const int fds[GIFTS_MAX])
{
	for (unsigned i = 0; i < GIFTS_MAX; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void no_gifts(int fds[GIFTS_MAX])
{
	for (unsigned i = 0; i < GIFTS_MAX; i++)
		fds[i] = -1;
}

/* fds: what came with it, -1 where nothing did.  What there is no room for the kernel closes, and
 * errno is EMFILE then. */
static ssize_t receive(int fd, struct message *m, int fds[GIFTS_MAX])
{
	union control control;
	struct iovec iov = { m, sizeof(*m) };
	struct msghdr msg = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes) };
	ssize_t n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	no_gifts(fds);
	if (n < 0)
		return n;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			memcpy(fds, CMSG_DATA(c),
				WEFT_MIN(c->cmsg_len - CMSG_LEN(0), GIFTS_MAX * sizeof(int)));
	errno = msg.msg_flags & MSG_CTRUNC ? EMFILE : 0;
	return n;
}

static int join(int fd, struct weft_shm_hello *hello, struct weft_shm_pool *pool,
	struct weft_shm_link **link, const struct message *m, int fds[GIFTS_MAX])
{
	uint32_t n_ears = 0;

	while (n_ears < WEFT_SHM_EARS_MAX && fds[2 + n_ears] >= 0)
		n_ears++;
	if (pool_join(pool, m->slots, m->slot_bytes, fds[0])) {
		fds[0] = -1;
		close_gifts(fds);
		return -1;
	}
	*link = link_join(pool, m->hello.planes, m->entries, fds[1], NULL);
	if (!*link) {
		weft_shm_pool_close(pool);
		fds[0] = fds[1] = -1;
		close_gifts(fds);
		return -1;
	}
	(*link)->line = fd;
	bells_join(*link, fds + 2, n_ears);
	*hello = m->hello;
	return 0;
}

static const char hung_up[] = "hung up without a word";

/* Hears the answer; NULL, or what is wrong with it. */
static const char *hear(int fd, struct message *m, int fds[GIFTS_MAX])
{
	no_gifts(fds);
	if (!is_readable(fd, DIAL_MS))
		return "no answer";
	ssize_t n = receive(fd, m, fds);

	if (n <= 0)
		return hung_up;
	if (!is_message(m, n))
		return "the answer is not that of a switch";
	if (m->is_refusal)
		return m->why;
	if (fds[0] >= 0 && fds[1] >= 0)
		return NULL;
	return errno == EMFILE ? "no descriptor is left here for its memory (ulimit -n)"
			       : "the answer came without memory";
}

/* Connects and says hello; -1: errno. */
static int call(const struct sockaddr_un *name, const struct message *m)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	/* Either this is done at once or the backlog is full: nothing local is "in progress". */
	if (fd < 0 || (!connect(fd, (const struct sockaddr *)name, sizeof(*name)) &&
			      send(fd, m, sizeof(*m), MSG_NOSIGNAL) == sizeof(*m)))
		return fd;
	int error = errno;
	close(fd);
	errno = error;
	return -1;
}

/*
 * On a busy machine we may lose the processor between connecting and saying hello, for longer than
 * the other end waits for it, or others may have come meanwhile who took our place; then it has
 * hung up, and we call again.
 */
static const char *talk(const struct sockaddr_un *name, const struct message *hello, int *fd,
	struct message *m, int fds[GIFTS_MAX])
{
	const char *why = NULL;

	no_gifts(fds);
	for (unsigned i = 0; i < CALLS_MAX; i++) {
		if (i)
			(void)poll(NULL, 0, PAUSE_MS);
		*fd = call(name, hello);
		if (*fd < 0) {
			why = strerror(errno);
			if (errno != EPIPE && errno != ECONNRESET && errno != EAGAIN)
				return why;
			continue;
		}
		why = hear(*fd, m, fds);
		if (why != hung_up)
			return why;
		close(*fd);
		*fd = -1;
	}
	return why;
}

int weft_shm_dial(const char *path, struct weft_shm_hello *hello, struct weft_shm_pool *pool,
	struct weft_shm_link **link, char *error, size_t error_bytes)
{
	struct message mine = make_message(hello), m;
	struct sockaddr_un name;
	int fd, fds[GIFTS_MAX];

	if (fill_name(path, &name, error, error_bytes))
		return -1;
	const char *why = talk(&name, &mine, &fd, &m, fds);

	if (why)
		close_gifts(fds);
	else if (join(fd, hello, pool, link, &m, fds))
		why = errno == ENOMEM ? "no room for the switch's memory here (ulimit -v)"
				      : "the memory is not what the answer says";
	if (!why)
		return 0;
	snprintf(error, error_bytes, "%s: %s", path, why);
	if (fd >= 0)
		close(fd);
	return -1;
}
