/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TEST_LINES_H
#define TEST_LINES_H
/* lines - the plainest of servers, for the other end of a line. */
#include "net_local.h"

#include <poll.h>
#include <sys/socket.h>

/* -1: nobody has called in time. */
static inline int line_accept(int listener, uint64_t deadline_ns)
{
	struct pollfd wait = { .fd = listener, .events = POLLIN };

	if (poll(&wait, 1, weft_clock_left_ms(deadline_ns)) <= 0)
		return -1;
	return accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

#endif
