/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * switchd_client - one request to a running switch, one answer.
 *
 * A connection per request: they are rare, and a connection that stays open would have to notice
 * by itself that the switch has been started anew.
 */
#include "switchd_local.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_MAX (256u << 20)
#define WAIT_MS 10000

static int tell(char *error, size_t error_bytes, const char *what, const char *why)
{
	(void)snprintf(error, error_bytes, "%s%s%s", what, *why ? ": " : "", why);
	return -1;
}

static int dial(const char *dir, char *error, size_t error_bytes)
{
	const struct timeval wait = { .tv_sec = WAIT_MS / 1000 };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int n = snprintf(address.sun_path, sizeof(address.sun_path), "%s/control", dir);

	if (n < 0 || (size_t)n >= sizeof(address.sun_path))
		return tell(error, error_bytes, dir, "too long for a socket's path");
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) &&
		!connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd;
	(void)tell(error, error_bytes, address.sun_path,
		errno == ECONNREFUSED || errno == ENOENT ? "no switch runs there"
		: errno == EAGAIN ? "the switch there does not answer: others wait for it, too"
				  : strerror(errno));
	if (fd >= 0)
		(void)close(fd);
	return -1;
}

static bool send_all(int fd, const char *text, size_t bytes)
{
	while (bytes) {
		ssize_t n = send(fd, text, bytes, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		text += n;
		bytes -= (size_t)n;
	}
	return true;
}

/* The answer up to its newline, for free(); NULL: errno, 0 where it ended early. */
static char *read_answer(int fd, size_t *bytes)
{
	size_t room = 65536, got = 0;
	char *text = malloc(room);

	while (text) {
		struct pollfd ready = { .fd = fd, .events = POLLIN };
		ssize_t n = poll(&ready, 1, WAIT_MS);

		errno = n ? 0 : ETIMEDOUT;
		if (n > 0)
			n = recv(fd, text + got, room - got, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (size_t)n;
		if (text[got - 1] == '\n') {
			*bytes = got;
			return text;
		}
		if (got < room)
			continue;
		char *more = room < ANSWER_MAX ? realloc(text, 2 * room) : NULL;

		if (!more)
			break;
		text = more;
		room *= 2;
	}
	free(text);
	return NULL;
}

/* Whoever answers: what it says may end on a terminal.  Keys are looked up, not shown. */
static void clean(json_t *answer)
{
	json_t *todo = json_array();

	(void)json_array_append(todo, answer);
	for (size_t i = 0; i < json_array_size(todo); i++) {
		json_t *at = json_array_get(todo, i), *child;
		const char *key;
		size_t k;

		if (json_is_object(at))
			json_object_foreach(at, key, child)(void) json_array_append(todo, child);
		if (json_is_array(at))
			json_array_foreach(at, k, child)(void) json_array_append(todo, child);
		if (!json_is_string(at) || weft_text_is_clean(json_string_value(at)))
			continue;
		char *text = strdup(json_string_value(at));

		if (text)
			(void)json_string_setn_nocheck(at, weft_text_clean(text), strlen(text));
		free(text);
	}
	json_decref(todo);
}

/*
 * One exchange.  Who refuses may say so and hang up before it has read all of the request: the
 * send fails with EPIPE then, and the reason lies ready to be read.
 */
static char *exchange(int fd, const char *request, size_t *bytes)
{
	int why = 0;

	if (!send_all(fd, request, strlen(request)) || !send_all(fd, "\n", 1))
		why = errno == EAGAIN ? ETIMEDOUT : errno;
	if (why == ETIMEDOUT) {
		errno = why;
		return NULL;
	}
	char *answer = read_answer(fd, bytes);

	if (!answer && why)
		errno = why;
	return answer;
}

int weft_switchd_ask(const char *dir, const struct json_t *request, struct json_t **answer,
	char *error, size_t error_bytes)
{
	char *line = json_dumps(request, JSON_COMPACT), *text = NULL;
	json_error_t where;
	size_t bytes = 0;
	int result = -1;

	*answer = NULL;
	int fd = line ? dial(dir, error, error_bytes)
		      : tell(error, error_bytes, "out of memory", "");
	if (fd >= 0)
		text = exchange(fd, line, &bytes);
	if (fd >= 0 && !text)
		(void)tell(error, error_bytes, "the switch does not answer",
			errno ? strerror(errno) : "it has ended");
	if (text)
		*answer = json_loadb(text, bytes, 0, &where);
	if (*answer)
		clean(*answer);
	if (text && !*answer)
		(void)tell(error, error_bytes, "the switch answers nonsense",
			weft_text_clean(where.text));
	const char *why = json_string_value(json_object_get(*answer, "error"));

	if (*answer && json_is_true(json_object_get(*answer, "ok")))
		result = 0;
	else if (*answer)
		(void)tell(error, error_bytes, why ? why : "refused", "");
	if (fd >= 0)
		(void)close(fd);
	free(line);
	free(text);
	return result;
}
