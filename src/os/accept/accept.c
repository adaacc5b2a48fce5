/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * accept - accept(2) of a loop that must not spin where no descriptor is left.
 *
 * EMFILE and its kin are levels, not edges: the caller still stands at the listener, which stays
 * readable.  The other way, to keep one descriptor in reserve with which to accept and hang up
 * (libev's), loses a race with the program's other threads and tells the caller nothing either; so
 * he is left in the backlog, whose length is the listener's, and finds us when there is room again.
 */
#include <weft/accept.h>

#include <errno.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define TRIES_MAX 16u /* callers in a row who left before they were let in, or signals */

int weft_accept(struct weft_listener *listener, uint64_t now_ns)
{
	if (!weft_listener_is_open(listener, now_ns))
		return -1;
	for (unsigned i = 0; i < TRIES_MAX; i++) {
		int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0)
			return fd;
		if (errno == EINTR || errno == ECONNABORTED)
			continue;
		/* EMFILE, ENFILE, ENOBUFS, ENOMEM; or what a firewall makes up: it may last. */
		if (errno != EAGAIN) {
			listener->again_ns = now_ns + WEFT_ACCEPT_NAP_NS;
			listener->naps++;
		}
		return -1;
	}
	return -1;
}

bool weft_listener_is_open(struct weft_listener *listener, uint64_t now_ns)
{
	if (listener->fd < 0 || now_ns < listener->again_ns)
		return false;
	listener->again_ns = 0;
	return true;
}

uint64_t weft_files_raise(void)
{
	struct rlimit limit = { 0 };

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	rlim_t before = limit.rlim_cur;

	limit.rlim_cur = limit.rlim_max;
	return before == limit.rlim_max || !setrlimit(RLIMIT_NOFILE, &limit) ? limit.rlim_max
									     : before;
}
