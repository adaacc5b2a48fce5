/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * callers - who stands at the door of a server and has not said what he wants.
 *
 * One client is served at a time, but all who call are heard at once: else each who connects and
 * says nothing (a port scanner, a client that was stopped) costs the next honest one the time until
 * a deadline, and a dozen of them all of his patience.  The first whole line wins.  Who has not
 * said one in time is hung up on without a word: there may be many of him, and none is a client.
 *
 * Lines are kept here and not left to the kernel (MSG_PEEK): a socket that holds half a line stays
 * readable, so whoever waits for the other half would spin.
 */
#include "net_local.h"

#include <weft/accept.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define CALLERS_MAX 64u
#define LINE_NS UINT64_C(2000000000) /* after this long a client has given up, too */

struct callers {
	struct weft_listener listener;
	uint64_t until_ns[CALLERS_MAX]; /* 0: nobody */
	int fd[CALLERS_MAX];
	size_t got_bytes[CALLERS_MAX];
	bool is_whole[CALLERS_MAX];
	char line[CALLERS_MAX][OFFER_TEXT_MAX]; /* pages that nobody has written to are not there */
};

struct callers *callers_open(int listener)
{
	struct callers *callers = calloc(1, sizeof(*callers));

	if (callers)
		callers->listener.fd = listener;
	return callers;
}

static void forget(struct callers *callers, uint32_t i)
{
	callers->until_ns[i] = 0;
	callers->got_bytes[i] = 0;
	callers->is_whole[i] = false;
}

static void hang_up(struct callers *callers, uint32_t i)
{
	line_close(callers->fd[i]);
	forget(callers, i);
}

void callers_close(struct callers *callers)
{
	if (!callers)
		return;
	for (uint32_t i = 0; i < CALLERS_MAX; i++)
		if (callers->until_ns[i])
			hang_up(callers, i);
	line_close(callers->listener.fd);
	free(callers);
}

static void listen_to(struct callers *callers, uint32_t i)
{
	int rc;

	if (callers->is_whole[i])
		return;
	rc = line_read(callers->fd[i], callers->line[i], OFFER_TEXT_MAX, &callers->got_bytes[i]);
	callers->is_whole[i] = !rc;
	if (rc && errno != EAGAIN)
		hang_up(callers, i);
}

/* As many as find a place, so that nobody waits in the backlog for us to have served another. */
static void let_in(struct callers *callers, uint64_t now_ns)
{
	for (uint32_t n = 0; n < CALLERS_MAX; n++) {
		int fd = weft_accept(&callers->listener, now_ns);
		uint32_t i = weft_waiting_place(callers->until_ns, CALLERS_MAX);

		if (fd < 0)
			return;
		if (callers->until_ns[i])
			hang_up(callers, i);
		callers->fd[i] = fd;
		callers->until_ns[i] = now_ns + LINE_NS;
		listen_to(callers, i);
	}
}

/* Of those who have said it the one who has waited longest; CALLERS_MAX: none has. */
static uint32_t find_whole(const struct callers *callers)
{
	uint32_t first = CALLERS_MAX;

	for (uint32_t i = 0; i < CALLERS_MAX; i++)
		if (callers->is_whole[i] &&
			(first == CALLERS_MAX || callers->until_ns[i] < callers->until_ns[first]))
			first = i;
	return first;
}

int callers_hear(struct callers *callers, uint64_t now_ns, const char **line)
{
	uint32_t first, late;

	for (uint32_t i = 0; i < CALLERS_MAX; i++)
		if (callers->until_ns[i])
			listen_to(callers, i);
	/* Said while another was served: he is not late, and makes room for nobody. */
	first = find_whole(callers);
	if (first == CALLERS_MAX) {
		while ((late = weft_waiting_late(callers->until_ns, CALLERS_MAX, now_ns)) <
			CALLERS_MAX)
			hang_up(callers, late);
		let_in(callers, now_ns);
		first = find_whole(callers);
	}
	if (first == CALLERS_MAX)
		return -1;
	*line = callers->line[first];
	forget(callers, first);
	return callers->fd[first];
}

void callers_wait(struct callers *callers, uint64_t until_ns)
{
	struct pollfd polls[CALLERS_MAX + 1];
	uint64_t now_ns = weft_clock_now(NULL);
	bool is_open = weft_listener_is_open(&callers->listener, now_ns);
	nfds_t n = 0;

	until_ns = WEFT_MIN(until_ns, weft_waiting_next_ns(callers->until_ns, CALLERS_MAX));
	if (is_open)
		polls[n++] = (struct pollfd){ .fd = callers->listener.fd, .events = POLLIN };
	else
		until_ns = WEFT_MIN(until_ns, callers->listener.again_ns);
	for (uint32_t i = 0; i < CALLERS_MAX; i++)
		if (callers->until_ns[i])
			polls[n++] = (struct pollfd){ .fd = callers->fd[i], .events = POLLIN };
	(void)poll(polls, n, weft_clock_left_ms(until_ns));
}
