/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bells - one by CPU, so that a switch can be woken where the one who wakes it runs.
 *
 * Each is a connection of its own, as the line is: a near end that is foul can stop or flood only
 * what is his.
 */
#include "local.h"

#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

static void close_all(int fds[], uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (fds[i] >= 0)
			(void)close(fds[i]);
		fds[i] = -1;
	}
}

int weft_shm_ears_open(struct weft_shm_link *link, uint32_t n)
{
	WEFT_ASSERT(link->end == FAR && link->line < 0 && !link->n_ears);
	WEFT_ASSERT(n <= WEFT_SHM_EARS_MAX);
	for (uint32_t i = 0; i < n; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair)) {
			close_all(link->ears, i);
			close_all(link->to_give, i);
			return -1;
		}
		link->ears[i] = pair[0];
		link->to_give[i] = pair[1];
	}
	link->n_ears = n;
	return 0;
}

void bells_join(struct weft_shm_link *link, const int fds[], uint32_t n)
{
	link->n_ears = n;
	for (uint32_t i = 0; i < n; i++) {
		link->ears[i] = fds[i];
		link->to_give[i] = -1;
	}
}

void bells_given(struct weft_shm_link *link)
{
	close_all(link->to_give, link->n_ears);
}

void bells_close(struct weft_shm_link *link)
{
	close_all(link->ears, link->n_ears);
	close_all(link->to_give, link->n_ears);
}

int bells_fd(const struct weft_shm_link *link)
{
	unsigned cpu;

	if (link->end == FAR || !link->n_ears || getcpu(&cpu, NULL) || cpu >= link->n_ears)
		return link->line;
	return link->ears[cpu];
}

int weft_shm_ear_fd(const struct weft_shm_link *link, uint32_t cpu)
{
	return cpu < link->n_ears ? link->ears[cpu] : -1;
}

void weft_shm_ear_clear(struct weft_shm_link *link, uint32_t cpu)
{
	char byte;

	if (cpu >= link->n_ears)
		return;
	for (unsigned i = 0; i < BELLS_MAX; i++) {
		if (recv(link->ears[cpu], &byte, 1, MSG_DONTWAIT) <= 0)
			return;
	}
}
