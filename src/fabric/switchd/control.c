/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * control - a socket that takes lines of JSON and answers each with one.
 *
 * A stream and text, so that anything that can open a unix socket can ask.  The socket belongs to
 * one user (its mode is 0600), who may also kill this process; so there is no further right to
 * check, only nonsense to survive: a line has a limit, a client that does not read its answer is
 * not read from, and only so many may be there at a time.  Each has a deadline that moves when it
 * has asked a whole line or read some of its answer, not with each byte; when more come than there
 * are places, the one whose deadline is nearest goes.  An answer is made whole before the next
 * packet is moved; the largest fabric that fits a machine takes a few milliseconds, during which
 * packets lie in rings, with their time stamps.
 */
#include "switchd_local.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/stat.h>
#include <unistd.h>

#define CLIENT_NS UINT64_C(10000000000) /* of silence: a person who types may think */

static void mute(struct weft_switchd *sw, bool is_muted)
{
	struct epoll_event event = { .events = is_muted ? 0 : EPOLLIN,
		.data.u64 = (uint64_t)WATCH_CONTROL << 32 };

	if (sw->control_is_muted == is_muted)
		return;
	(void)epoll_ctl(sw->epoll_fd, EPOLL_CTL_MOD, sw->control.fd, &event);
	sw->control_is_muted = is_muted;
}

bool control_open(struct weft_switchd *sw, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	for (uint32_t i = 0; i < CLIENTS_MAX; i++)
		sw->clients[i].fd = -1;
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	(void)unlink(path);
	sw->control.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	/* The mode of the socket itself becomes that of its file, whatever the umask is. */
	if (sw->control.fd < 0 || fchmod(sw->control.fd, 0600) ||
		bind(sw->control.fd, (struct sockaddr *)&address, sizeof(address)) ||
		listen(sw->control.fd, CLIENTS_MAX))
		return fail(sw, "%s: %s", path, strerror(errno));
	return watch_add(sw, sw->control.fd, WATCH_CONTROL, 0);
}

static void drop(struct weft_switchd *sw, uint32_t index)
{
	struct client *c = &sw->clients[index];

	(void)close(c->fd);
	free(c->answer);
	*c = (struct client){ .fd = -1 };
	sw->client_until_ns[index] = 0;
}

void control_close(struct weft_switchd *sw)
{
	for (uint32_t i = 0; i < CLIENTS_MAX; i++) {
		if (sw->clients[i].fd >= 0)
			drop(sw, i);
	}
	if (sw->control.fd >= 0)
		(void)close(sw->control.fd);
	sw->control.fd = -1;
}

void control_accept(struct weft_switchd *sw, uint64_t now_ns)
{
	int fd = weft_accept(&sw->control, now_ns);
	uint32_t i = weft_waiting_place(sw->client_until_ns, CLIENTS_MAX);

	mute(sw, !weft_listener_is_open(&sw->control, now_ns));
	if (fd < 0)
		return;
	if (sw->clients[i].fd >= 0)
		drop(sw, i);
	if (!watch_add(sw, fd, WATCH_CLIENT, i)) {
		(void)close(fd);
		return;
	}
	sw->clients[i] = (struct client){ .fd = fd };
	sw->client_until_ns[i] = now_ns + CLIENT_NS;
}

void control_tidy(struct weft_switchd *sw, uint64_t now_ns)
{
	uint32_t i;

	while ((i = weft_waiting_late(sw->client_until_ns, CLIENTS_MAX, now_ns)) < CLIENTS_MAX)
		drop(sw, i);
	mute(sw, !weft_listener_is_open(&sw->control, now_ns));
}

uint64_t control_next_ns(const struct weft_switchd *sw)
{
	uint64_t next_ns = weft_waiting_next_ns(sw->client_until_ns, CLIENTS_MAX);

	return sw->control_is_muted ? WEFT_MIN(next_ns, sw->control.again_ns) : next_ns;
}

static void watch_for(struct weft_switchd *sw, uint32_t index, uint32_t events)
{
	struct epoll_event event = { .events = events,
		.data.u64 = (uint64_t)WATCH_CLIENT << 32 | index };

	(void)epoll_ctl(sw->epoll_fd, EPOLL_CTL_MOD, sw->clients[index].fd, &event);
}

/* False: gone.  True with an answer left: he does not read yet. */
static bool send_answer(struct client *c)
{
	while (c->answer) {
		ssize_t n = send(c->fd, c->answer + c->sent, c->answer_bytes - c->sent,
			MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		c->sent += (size_t)n;
		c->moved += (uint64_t)n;
		if (c->sent < c->answer_bytes)
			continue;
		free(c->answer);
		c->answer = NULL;
		c->sent = 0;
	}
	return true;
}

/* Answers the lines that are whole, one at a time; false: he is to go. */
static bool answer_lines(struct weft_switchd *sw, struct client *c)
{
	char *end;

	while (!c->answer && (end = memchr(c->line, '\n', c->got)) != NULL) {
		size_t bytes = (size_t)(end - c->line);

		c->answer = request_answer(sw, c->line, bytes);
		if (!c->answer)
			return false;
		c->answer_bytes = strlen(c->answer);
		c->got -= bytes + 1;
		memmove(c->line, end + 1, c->got);
		if (!send_answer(c))
			return false;
	}
	return c->answer || c->got < sizeof(c->line);
}

/* True: still there. */
static bool serve(struct weft_switchd *sw, struct client *c)
{
	if (!send_answer(c) || !answer_lines(sw, c))
		return false;
	if (c->answer)
		return true;
	ssize_t n = recv(c->fd, c->line + c->got, sizeof(c->line) - c->got, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (!n)
		return false;
	c->got += (size_t)n;
	if (answer_lines(sw, c))
		return true;
	static const char too_long[] = "{\"ok\": false, \"error\": \"a request is one line of at "
				       "most 4095 bytes\"}\n";

	(void)send(c->fd, too_long, sizeof(too_long) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	return false;
}

void control_serve(struct weft_switchd *sw, uint32_t index)
{
	struct client *c = &sw->clients[index];

	if (c->fd < 0)
		return;
	bool was_full = c->answer;
	uint64_t moved = c->moved;

	if (!serve(sw, c)) {
		drop(sw, index);
		return;
	}
	if (was_full != !!c->answer)
		watch_for(sw, index, c->answer ? EPOLLOUT : EPOLLIN);
	if (moved != c->moved)
		sw->client_until_ns[index] = real_now_ns() + CLIENT_NS;
}
