/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doctor_talk - lines of JSON between two doctors, each way with a deadline.
 *
 *   asker   {"doctor":1,"planes":[{"addr":"10.0.0.1","name":"eth1","mtu":9000},...]}
 *   ear     {"doctor":1,"nonce":N,"udp":PORT,"mrc":4791,"ear":PORT,"planes":[...],"findings":[...]}
 *   asker   {"ask":"seen"}             after its datagrams
 *   ear     {"seen":[...],"heard":[...]}
 *
 * Weft perf waits at the same port for a line with other fields: each end tells the other from
 * itself by the first line.  A line has a bound, and what the other says is read with distrust.
 */
#include "doctor_local.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static int wait_for(int fd, short events, uint64_t deadline_ns)
{
	struct pollfd door = { .fd = fd, .events = events };
	int n;

	do
		n = poll(&door, 1, weft_clock_left_ms(deadline_ns));
	while (n < 0 && errno == EINTR);
	if (!n)
		errno = ETIMEDOUT;
	return n > 0 ? 0 : -1;
}

int talk_send(int fd, const json_t *message, uint64_t deadline_ns)
{
	char *text = json_dumps(message, JSON_COMPACT);
	size_t n = text ? strlen(text) : 0, at = 0;
	int rc = text ? 0 : -1;

	if (text)
		text[n] = '\n'; /* in the place of its end */
	while (!rc && at <= n) {
		ssize_t sent = send(fd, text + at, n + 1 - at, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent > 0)
			at += (size_t)sent;
		else if (errno == EAGAIN)
			rc = wait_for(fd, POLLOUT, deadline_ns);
		else if (errno != EINTR)
			rc = -1;
	}
	free(text);
	return rc;
}

static json_t *decode(const char *text)
{
	json_t *message = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

	if (json_is_object(message))
		return message;
	json_decref(message);
	errno = EBADMSG;
	return NULL;
}

/* One line at a time is on its way, so what follows its end is nobody's. */
json_t *talk_recv(int fd, uint64_t deadline_ns)
{
	char *text = malloc(LINE_BYTES);
	json_t *message = NULL;
	size_t at = 0;

	while (text && at + 1 < LINE_BYTES) {
		ssize_t n = recv(fd, text + at, LINE_BYTES - 1 - at, MSG_DONTWAIT);

		if (n > 0) {
			text[at + (size_t)n] = 0;
			char *end = strchr(text + at, '\n');

			at += (size_t)n;
			if (!end)
				continue;
			*end = 0;
			message = decode(text);
			break;
		}
		if (!n)
			errno = ECONNRESET;
		if (!n || (errno != EAGAIN && errno != EINTR) ||
			(errno == EAGAIN && wait_for(fd, POLLIN, deadline_ns)))
			break;
	}
	if (at + 1 == LINE_BYTES)
		errno = EMSGSIZE;
	int why = errno;

	free(text);
	errno = why;
	return message;
}

json_t *plane_json(const struct weft_doctor_facts *facts)
{
	json_t *planes = json_array();

	for (uint32_t i = 0; i < facts->planes; i++) {
		const struct weft_doctor_plane *plane = &facts->plane[i];
		const struct weft_doctor_iface *iface =
			plane->iface < 0 ? NULL : &facts->iface[plane->iface];
		char text[WEFT_PLANE_TEXT_BYTES];

		weft_plane_text(plane->addr, text);
		json_array_append_new(planes, json_pack("{s:s, s:s, s:i}", "addr", text, "name",
						      iface ? iface->name : plane->word, "mtu",
						      iface ? (int)iface->mtu_bytes : 0));
	}
	return planes;
}
