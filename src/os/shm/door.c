/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * door - half-open connections at the far end: accepted, and yet to say hello.
 *
 * The far end is a switch or a pump, whose thread carries everybody's packets: it never waits for
 * one caller.  Each caller who has not said hello has a place and a deadline; the oldest goes when
 * a newcomer finds none free.  Listener and places are one epoll set, whose descriptor is readable
 * when there is something to do, so that the owner's loop waits for one and need not know how many
 * there are; a listener that cannot be accepted from (EMFILE) is out of the set for a while.
 */
#include "shm_local.h"

#include <weft/accept.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define PLACES 64u /* as many as the kernel keeps in the backlog */
/* Connecting wakes us, and may cost a caller his processor; as long as he waits for our answer. */
#define HELLO_NS UINT64_C(2000000000)
#define EVENTS 16

struct weft_shm_door {
	struct weft_listener listener;
	int epoll_fd;
	bool is_muted; /* the listener is out of the set */
	int fd[PLACES];
	uint64_t until_ns[PLACES]; /* 0: free */
	uint64_t turned_away;
};

static bool watch(struct weft_shm_door *door, int op, int fd, uint32_t events, uint32_t index)
{
	struct epoll_event event = { .events = events, .data.u32 = index };

	return !epoll_ctl(door->epoll_fd, op, fd, &event);
}

int weft_shm_door_open(
	struct weft_shm_door **out, const char *path, char *error, size_t error_bytes)
{
	struct weft_shm_door *door = calloc(1, sizeof(*door));

	if (!door) {
		snprintf(error, error_bytes, "%s: no memory", path);
		return -1;
	}
	door->epoll_fd = -1;
	door->listener.fd = weft_shm_listen(path, error, error_bytes);
	if (door->listener.fd >= 0) {
		door->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
		if (door->epoll_fd >= 0 &&
			watch(door, EPOLL_CTL_ADD, door->listener.fd, EPOLLIN, PLACES)) {
			*out = door;
			return 0;
		}
		snprintf(error, error_bytes, "%s: %s", path, strerror(errno));
		unlink(path);
	}
	weft_shm_door_close(door);
	return -1;
}

/* Whoever is let in, or hung up on, leaves the set. */
static int leave(struct weft_shm_door *door, uint32_t place)
{
	int fd = door->fd[place];

	(void)watch(door, EPOLL_CTL_DEL, fd, 0, place);
	door->until_ns[place] = 0;
	return fd;
}

static void hang_up(struct weft_shm_door *door, uint32_t place)
{
	door->turned_away++;
	close(leave(door, place));
}

void weft_shm_door_close(struct weft_shm_door *door)
{
	if (!door)
		return;
	for (uint32_t i = 0; i < PLACES; i++)
		if (door->until_ns[i])
			hang_up(door, i);
	if (door->listener.fd >= 0)
		close(door->listener.fd);
	if (door->epoll_fd >= 0)
		close(door->epoll_fd);
	free(door);
}

int weft_shm_door_fd(const struct weft_shm_door *door)
{
	return door->epoll_fd;
}

uint64_t weft_shm_door_next_ns(const struct weft_shm_door *door)
{
	uint64_t next_ns = weft_waiting_next_ns(door->until_ns, PLACES);

	return door->is_muted ? WEFT_MIN(next_ns, door->listener.again_ns) : next_ns;
}

uint64_t weft_shm_door_turned_away(const struct weft_shm_door *door)
{
	return door ? door->turned_away : 0;
}

/* ---- callers ---- */

static void mute(struct weft_shm_door *door, bool is_muted)
{
	if (door->is_muted == is_muted)
		return;
	(void)watch(door, EPOLL_CTL_MOD, door->listener.fd, is_muted ? 0 : EPOLLIN, PLACES);
	door->is_muted = is_muted;
}

static void let_wait(struct weft_shm_door *door, uint64_t now_ns)
{
	int fd = weft_accept(&door->listener, now_ns);
	uint32_t place;

	mute(door, !weft_listener_is_open(&door->listener, now_ns));
	if (fd < 0)
		return;
	place = weft_waiting_place(door->until_ns, PLACES);
	if (door->until_ns[place])
		hang_up(door, place);
	if (!watch(door, EPOLL_CTL_ADD, fd, EPOLLIN, place)) {
		door->turned_away++;
		close(fd);
		return;
	}
	door->fd[place] = fd;
	door->until_ns[place] = now_ns + HELLO_NS;
}

int weft_shm_knock(
	struct weft_shm_door *door, uint64_t now_ns, struct weft_shm_hello *hello, int *fd)
{
	struct epoll_event events[EVENTS];
	uint32_t place;

	while ((place = weft_waiting_late(door->until_ns, PLACES, now_ns)) < PLACES)
		hang_up(door, place);
	mute(door, !weft_listener_is_open(&door->listener, now_ns));
	int n = epoll_wait(door->epoll_fd, events, EVENTS, 0);

	for (int i = 0; i < n; i++) {
		place = events[i].data.u32;
		if (place == PLACES) {
			let_wait(door, now_ns);
			continue;
		}
		if (!door->until_ns[place]) /* taken by somebody who came in this very turn */
			continue;
		int said = meet_read_hello(door->fd[place], hello);

		if (said < 0)
			hang_up(door, place);
		if (said > 0)
			*fd = leave(door, place);
		if (said)
			return said;
	}
	return 0;
}
