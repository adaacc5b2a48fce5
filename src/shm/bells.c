/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bells - one by CPU, so that a switch can be woken where the one who wakes it runs.
 *
 * They are eventfds, which cost half of what a byte over a socket does.  Both ends have the same
 * file, so a foul one can change how it behaves for the other: fill it, or make writes to it block.
 * The far end therefore never reads or writes it, but watches for edges.  The near end writes; it
 * depends on this far end in any case.
 */
#include "local.h"

#include <sched.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

int weft_shm_ears_open(struct weft_shm_link *link, uint32_t n)
{
	WEFT_ASSERT(link->end == FAR && link->line < 0 && !link->n_ears);
	WEFT_ASSERT(n <= WEFT_SHM_EARS_MAX);
	for (; link->n_ears < n; link->n_ears++) {
		int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

		if (fd < 0) {
			bells_close(link);
			return -1;
		}
		link->ears[link->n_ears] = fd;
	}
	return 0;
}

void bells_join(struct weft_shm_link *link, const int fds[], uint32_t n)
{
	for (link->n_ears = 0; link->n_ears < n; link->n_ears++)
		link->ears[link->n_ears] = fds[link->n_ears];
}

void bells_close(struct weft_shm_link *link)
{
	while (link->n_ears)
		(void)close(link->ears[--link->n_ears]);
}

void bells_ring(const struct weft_shm_link *link)
{
	const uint64_t one = 1;
	unsigned cpu;

	if (link->end == NEAR && link->n_ears && !getcpu(&cpu, NULL) && cpu < link->n_ears &&
		write(link->ears[cpu], &one, sizeof(one)) == sizeof(one))
		return;
	/* A full line is a bell that rings already. */
	(void)send(link->line, "!", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

int weft_shm_ear_fd(const struct weft_shm_link *link, uint32_t cpu)
{
	return cpu < link->n_ears ? link->ears[cpu] : -1;
}
