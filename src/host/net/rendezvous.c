/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rendezvous - where two ends meet: a connection that carries a few lines.
 *
 * The peer has an address on every plane and some planes may be dead, silently too.  So the client
 * knocks at all of them at once and takes the first that opens (RFC 8305's idea without its
 * head starts: on a fabric no address is better than another).  Every call has a deadline, and
 * no line may be longer than its buffer.  MPTCP would survive a plane that dies within these
 * three lines, but needs a path manager on both hosts; trying again costs a millisecond.
 *
 * Hosts that exist in shared memory only have no addresses that a kernel would know.  They meet at
 * a unix socket, in the directory where their switch lives; lines and hang-up are the same.
 */
#include "net_local.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 64
#define PEEK_BYTES 4096u

static bool ready(int fd, short events, uint64_t deadline_ns)
{
	struct pollfd wait = { .fd = fd, .events = events };
	int n;

	do
		n = poll(&wait, 1, weft_clock_left_ms(deadline_ns));
	while (n < 0 && errno == EINTR);
	if (!n)
		errno = ETIMEDOUT;
	return n > 0;
}

int line_listen(uint16_t tcp_port, char *error, size_t error_bytes)
{
	int fd = weft_inet_socket(SOCK_STREAM);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)) ||
		weft_inet_bind(fd, NULL, tcp_port) || listen(fd, BACKLOG)) {
		snprintf(error, error_bytes, "cannot listen on TCP port %u: %s", tcp_port,
			strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

static int name_of(const char *path, struct sockaddr_un *name)
{
	*name = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(name->sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(name->sun_path, path, strlen(path));
	return 0;
}

int line_connect_to(const char *path, uint64_t deadline_ns)
{
	struct sockaddr_un name;
	int fd = -1;

	if (!name_of(path, &name))
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	while (fd >= 0 && connect(fd, (struct sockaddr *)&name, sizeof(name))) {
		/* EAGAIN: too many stand at the door, and nothing tells when there are fewer. */
		if ((errno == EAGAIN && weft_clock_left_ms(deadline_ns)) || errno == EINTR) {
			(void)poll(NULL, 0, 1);
			continue;
		}
		close(fd);
		fd = -1;
	}
	return fd;
}

int line_listen_at(const char *path, char *error, size_t error_bytes)
{
	struct sockaddr_un name;
	struct stat st;
	int fd = -1;

	if (!name_of(path, &name))
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0 && !lstat(path, &st) && S_ISSOCK(st.st_mode)) {
		int other = line_connect_to(path, 0);

		if (other >= 0)
			close(other); /* alive: bind will say so */
		else if (errno == ECONNREFUSED)
			unlink(path);
	}
	/* The mode of the socket becomes that of its file: one user's, as the memory is. */
	if (fd < 0 || fchmod(fd, 0600) || bind(fd, (struct sockaddr *)&name, sizeof(name)) ||
		listen(fd, BACKLOG)) {
		snprintf(error, error_bytes, "cannot listen at %s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

static int knock(const uint8_t addr[16], uint16_t tcp_port)
{
	int fd = weft_inet_socket(SOCK_STREAM);

	if (fd < 0)
		return -1;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	if (weft_inet_connect(fd, addr, tcp_port) && errno != EINPROGRESS) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool is_open(int fd)
{
	int why = 0;
	socklen_t bytes = sizeof(why);

	return !getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &bytes) && !why;
}

int line_connect(const uint8_t addrs[][16], uint32_t n, uint16_t tcp_port, uint64_t deadline_ns)
{
	struct pollfd doors[WEFT_PORTS_MAX];
	uint32_t hopes = 0;
	int winner = -1, why = 0;

	WEFT_ASSERT(n <= WEFT_PORTS_MAX);
	for (uint32_t i = 0; i < n; i++) {
		doors[i] = (struct pollfd){ .fd = knock(addrs[i], tcp_port), .events = POLLOUT };
		hopes += doors[i].fd >= 0;
		why = doors[i].fd < 0 ? errno : why;
	}
	while (hopes && winner < 0 && weft_clock_left_ms(deadline_ns)) {
		if (poll(doors, n, weft_clock_left_ms(deadline_ns)) <= 0)
			continue;
		for (uint32_t i = 0; i < n && winner < 0; i++) {
			if (doors[i].fd < 0 || !doors[i].revents)
				continue;
			if (is_open(doors[i].fd)) {
				winner = doors[i].fd;
			} else {
				close(doors[i].fd);
				hopes--;
			}
			doors[i].fd = -1;
		}
	}
	for (uint32_t i = 0; i < n; i++)
		if (doors[i].fd >= 0)
			close(doors[i].fd);
	errno = why;
	return winner;
}

void line_close(int fd)
{
	close(fd);
}

int line_send(int fd, const char *text, uint64_t deadline_ns)
{
	size_t bytes = strlen(text);

	while (bytes) {
		ssize_t n = send(fd, text, bytes, MSG_NOSIGNAL);

		if (n > 0) {
			text += n;
			bytes -= (size_t)n;
		} else if (errno == EAGAIN) {
			if (!ready(fd, POLLOUT, deadline_ns))
				return -1;
		} else if (errno != EINTR) {
			return -1;
		}
	}
	return 0;
}

/* What follows the newline is not ours to take, so what is there is looked at first. */
int line_read(int fd, char *text, size_t bytes, size_t *at)
{
	while (*at + 1 < bytes) {
		size_t max = WEFT_MIN(bytes - 1 - *at, (size_t)PEEK_BYTES);
		ssize_t n = recv(fd, text + *at, max, MSG_PEEK);
		const char *end = n > 0 ? memchr(text + *at, '\n', (size_t)n) : NULL;

		if (end)
			n = end - (text + *at) + 1;
		if (n > 0)
			n = recv(fd, text + *at, (size_t)n, 0);
		if (n == 0)
			errno = ECONNRESET;
		if (n == 0 || (n < 0 && errno != EINTR))
			return -1;
		if (n < 0)
			continue;
		*at += (size_t)n;
		if (text[*at - 1] == '\n') {
			text[*at - 1] = 0;
			return 0;
		}
	}
	errno = EMSGSIZE;
	return -1;
}

int line_recv(int fd, char *text, size_t bytes, uint64_t deadline_ns)
{
	size_t at = 0;
	int rc;

	while ((rc = line_read(fd, text, bytes, &at)) && errno == EAGAIN)
		if (!ready(fd, POLLIN, deadline_ns))
			return -1;
	return rc;
}
