/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TEST_NETNS_H
#define TEST_NETNS_H
/* netns - a network of one's own for a test program; skips where the kernel does not allow it. */
#include "check.h"

#include <sched.h>
#include <unistd.h>

/* To be called first thing, while there is one thread.  Ends in a namespace with a dead lo. */
static inline void netns_enter(void)
{
	static bool entered;

	if (entered)
		return;
	if (unshare(getuid() ? CLONE_NEWUSER | CLONE_NEWNET : CLONE_NEWNET))
		SKIP("no network namespaces here");
	entered = true;
}

static inline bool shell(const char *command)
{
	return !system(command); /* NOLINT: a test's own constant */
}

#endif
