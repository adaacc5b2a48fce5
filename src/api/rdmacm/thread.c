/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread - the one thread that waits for all connections of a process, and for all deadlines.
 *
 * It takes one event at a time and looks its id up by number under the lock: an id that has been
 * destroyed since is simply not found.  Deadlines lie in the ids; a timer in the same epoll set
 * rings for the next one, whoever has set it.
 *
 * fork(): nobody is in the middle of anything when the process is copied.  The child has the ids'
 * memory, so that it may destroy them, and not their connections: its copies of the descriptors
 * are closed at once, or a peer would not see that the parent ends, and a port would not be free
 * then.  What it makes itself begins anew, with a thread and devices of its own.
 */
#include "rdmacm_local.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <weft/net.h>

static int epoll_fd = -1, timer_fd = -1;
static uint64_t next_ns; /* for which the timer is set; 0: it is not */

static void set_timer(uint64_t at_ns)
{
	struct itimerspec at = { .it_value = { .tv_sec = (time_t)(at_ns / 1000000000),
					 .tv_nsec = (long)(at_ns % 1000000000) } };

	next_ns = at_ns;
	if (timer_fd >= 0)
		(void)timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

void thread_alarm(struct id *id, uint64_t ns)
{
	id->due_ns = ns ? weft_clock_now(NULL) + ns : 0;
	if (ns && (!next_ns || id->due_ns < next_ns))
		set_timer(id->due_ns);
}

/* What is due; ids may go meanwhile. */
static void ring(void)
{
	uint64_t now = weft_clock_now(NULL), next = 0;

	if (!next_ns || now < next_ns)
		return;
	for (struct id *id = id_next(NULL), *after; id; id = after) {
		after = id_next(id);
		if (!id->due_ns || id->due_ns > now)
			continue;
		id->due_ns = 0;
		wire_due(id);
	}
	for (const struct id *id = id_next(NULL); id; id = id_next(id))
		if (id->due_ns && (!next || id->due_ns < next))
			next = id->due_ns;
	set_timer(next);
}

static void *wait_for_all(void *unused)
{
	struct epoll_event event;

	(void)unused;
	for (;;) {
		int n = epoll_wait(epoll_fd, &event, 1, -1);

		weft_lock_take(&cm_lock);
		struct id *id = n == 1 ? id_find(event.data.u64) : NULL;
		if (id)
			wire_handle(id);
		ring();
		weft_lock_give(&cm_lock);
	}
	return NULL;
}

/* ---- fork ---- */

static void before_fork(void)
{
	weft_lock_take(&cm_lock);
	device_hold();
}

static void in_parent(void)
{
	device_let_go(false);
	weft_lock_give(&cm_lock);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

static void in_child(void)
{
	close_fd(&epoll_fd);
	close_fd(&timer_fd);
	next_ns = 0;
	for (struct id *id = id_next(NULL); id; id = id_next(id)) {
		close_fd(&id->fd);
		close_fd(&id->claim_fd);
		id->due_ns = 0;
		id->state = GONE;
	}
	cm_acked = (pthread_cond_t)PTHREAD_COND_INITIALIZER; /* its waiters are the parent's */
	device_let_go(true);
	weft_lock_give(&cm_lock);
}

/* Before there is anything to be locked. */
__attribute__((constructor)) static void watch_forks(void)
{
	(void)pthread_atfork(before_fork, in_parent, in_child);
}

/* ---- the thread ---- */

static bool run(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are the program's */
	int error = pthread_create(&thread, &attr, wait_for_all, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	errno = error;
	return !error;
}

static bool start(void)
{
	struct epoll_event timer = { .events = EPOLLIN }; /* number 0 is no id's */

	if (epoll_fd >= 0)
		return true;
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (epoll_fd >= 0 && timer_fd >= 0 &&
		!epoll_ctl(epoll_fd, EPOLL_CTL_ADD, timer_fd, &timer) && run()) {
		set_timer(next_ns);
		return true;
	}
	int error = errno;
	close_fd(&epoll_fd);
	close_fd(&timer_fd);
	errno = error;
	return false;
}

bool thread_watch(struct id *id, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.u64 = id->serial };

	return start() &&
	       (!epoll_ctl(epoll_fd, EPOLL_CTL_ADD, id->fd, &event) ||
		       (errno == EEXIST && !epoll_ctl(epoll_fd, EPOLL_CTL_MOD, id->fd, &event)));
}
