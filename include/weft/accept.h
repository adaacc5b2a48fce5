/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_ACCEPT_H
#define WEFT_ACCEPT_H
/*
 * accept - connections from strangers, for loops that must not stand still for any of them.
 *
 * A listener whose process has no descriptor left stays readable, so a loop that polls it spins
 * until somebody else leaves.  weft_accept() says until when not to ask, and the loop leaves the
 * listener out of its set (or waits no longer than that).
 *
 * Whoever has been accepted and has not said what he wants waits in a table of the caller's: so
 * many at most, each until a deadline.  The caller keeps the deadlines in an array beside his own
 * table; 0 stands for a free place.
 *
 * Time     Monotonic nanoseconds, the caller's.
 * Memory   None but the caller's.
 * Threads  One at a time per listener.
 */
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What frees descriptors is somebody's leaving, which nothing tells: how often to look for it. */
#define WEFT_ACCEPT_NAP_NS UINT64_C(50000000)

struct weft_listener {
	int fd;            /* does not block, or is known to be readable; -1: none */
	uint64_t again_ns; /* not to be waited for until then; 0: it is */
	uint64_t naps;     /* how often there was no descriptor or no memory */
};

/* This process may have as many descriptors as its hard limit says; how many that are.  The soft
 * limit is what select() can bear: not for processes that call it. */
uint64_t weft_files_raise(void);

/* A connection that does not block and is closed by exec; -1: nobody, or not now (again_ns). */
int weft_accept(struct weft_listener *listener, uint64_t now_ns);
/* False: leave it out of what is waited for, and wake up at again_ns. */
bool weft_listener_is_open(struct weft_listener *listener, uint64_t now_ns);

/* Where among n the next one goes: a free place, else that of the one whose time is up first, who
 * is to be hung up on. */
uint32_t weft_waiting_place(const uint64_t until_ns[], uint32_t n);
/* Some place whose deadline has passed; n: none. */
uint32_t weft_waiting_late(const uint64_t until_ns[], uint32_t n, uint64_t now_ns);
/* The first deadline; UINT64_MAX: nobody waits. */
uint64_t weft_waiting_next_ns(const uint64_t until_ns[], uint32_t n);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_ACCEPT_H */
