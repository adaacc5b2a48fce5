/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bells - one by CPU, so that a switch can be woken where the one who wakes it runs.
 *
 * They are eventfds, which cost half of what a byte over a socket does; one per CPU for all who
 * meet this far end, since a thread that reads one is awake 0.4 us sooner than one that waits for
 * many.  Whoever has it can read it, too, and keep others' rings from being heard; but all of them
 * are processes of one user, who could stop the far end as well.
 */
#include "shm_local.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

int weft_shm_ears_lend(struct weft_shm_link *link, const int fds[], uint32_t n)
{
	WEFT_ASSERT(link->end == FAR && link->line < 0 && !link->n_ears);
	WEFT_ASSERT(n <= WEFT_SHM_EARS_MAX);
	for (; link->n_ears < n; link->n_ears++) {
		int fd = fcntl(fds[link->n_ears], F_DUPFD_CLOEXEC, 0);

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

void bells_ring(const struct weft_shm_link *link, bool by_ear)
{
	const uint64_t one = 1;
	unsigned cpu;

	if (by_ear && link->end == NEAR && link->n_ears && !getcpu(&cpu, NULL) &&
		cpu < link->n_ears && write(link->ears[cpu], &one, sizeof(one)) == sizeof(one))
		return;
	/* A full line is a bell that rings already. */
	(void)send(link->line, "!", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}
