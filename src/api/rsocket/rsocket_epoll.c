/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rsocket_epoll - sets of sockets that are waited for: repoll_create(), repoll_ctl(),
 * repoll_wait(), which librdmacm has from rdma-core 65 on, and with which its librspreload serves
 * programs' epoll.
 *
 * A set is a list of descriptors, and waiting is rpoll() on a copy of it.  Its number is that of an
 * eventfd, which is among those that are waited for: who changes the set wakes who waits on it.
 * Not taken: the sets of the sockets' own descriptors in one of the kernel's: those are readable
 * when something has happened, and not while a socket is ready.
 *
 * EPOLLET is taken as without it: a program that is told too often looks in vain, one that is told
 * too seldom sleeps for ever.
 */
#include "rsocket_local.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define ALWAYS ((uint32_t)(EPOLLERR | EPOLLHUP))
#define WORDS ((uint32_t)(EPOLLET | EPOLLONESHOT | EPOLLWAKEUP | EPOLLEXCLUSIVE))

struct interest {
	int fd;
	bool is_spent; /* EPOLLONESHOT, and told */
	struct epoll_event event;
};

struct set {
	struct set *next;
	int fd;
	uint32_t users, n, first; /* first: who is told first, so that all have their turn */
	bool closed;
	struct interest *list;
};

static struct weft_lock sets_lock = WEFT_LOCK_INIT; /* over all that is in sets, too */
static struct set *sets;

/* ---- with the lock ---- */

static struct set *find(int fd)
{
	struct set *set = sets;

	while (set && (set->fd != fd || set->closed))
		set = set->next;
	return set;
}

static void drop_user(struct set *set)
{
	struct set **at = &sets;

	if (--set->users || !set->closed)
		return;
	while (*at != set)
		at = &(*at)->next;
	*at = set->next;
	close(set->fd);
	free(set->list);
	free(set);
}

static struct interest *find_interest(struct set *set, int fd)
{
	for (uint32_t i = 0; i < set->n; i++)
		if (set->list[i].fd == fd)
			return &set->list[i];
	return NULL;
}

static void wake(const struct set *set)
{
	uint64_t one = 1;

	(void)!write(set->fd, &one, sizeof(one));
}

static int add(struct set *set, int fd, const struct epoll_event *event)
{
	struct interest *list = realloc(set->list, (set->n + 1) * sizeof(*list));

	if (!list)
		return ENOMEM;
	set->list = list;
	list[set->n++] = (struct interest){ .fd = fd, .event = *event };
	return 0;
}

static int change(struct set *set, int op, int fd, const struct epoll_event *event)
{
	struct interest *interest = find_interest(set, fd);

	if (op == EPOLL_CTL_ADD)
		return interest ? EEXIST : add(set, fd, event);
	if (!interest)
		return ENOENT;
	if (op == EPOLL_CTL_DEL)
		*interest = set->list[--set->n];
	else
		*interest = (struct interest){ .fd = fd, .event = *event };
	return 0;
}

/* ---- */

int repoll_create(int flags)
{
	struct set *set;

	if (flags & ~EPOLL_CLOEXEC)
		return fail(EINVAL);
	set = calloc(1, sizeof(*set));
	if (!set)
		return fail(ENOMEM);
	set->users = 1;
	set->fd = eventfd(0, EFD_NONBLOCK | (flags & EPOLL_CLOEXEC ? EFD_CLOEXEC : 0));
	if (set->fd < 0) {
		free(set);
		return -1;
	}
	weft_lock_take(&sets_lock);
	set->next = sets;
	sets = set;
	weft_lock_give(&sets_lock);
	return set->fd;
}

bool epoll_close(int fd)
{
	weft_lock_take(&sets_lock);
	struct set *set = find(fd);

	if (set) {
		set->closed = true;
		wake(set);
		drop_user(set);
	}
	weft_lock_give(&sets_lock);
	return set;
}

static bool is_open(int fd)
{
	struct rsock *rs = table_get(fd);

	if (rs)
		table_put(rs);
	return rs || fcntl(fd, F_GETFD) >= 0;
}

int repoll_ctl(int set_fd, int op, int fd, struct epoll_event *event)
{
	int error = EBADF;

	if (op != EPOLL_CTL_ADD && op != EPOLL_CTL_MOD && op != EPOLL_CTL_DEL)
		return fail(EINVAL);
	if (op != EPOLL_CTL_DEL && !event)
		return fail(EFAULT);
	if (!is_open(fd))
		return fail(EBADF);
	weft_lock_take(&sets_lock);
	struct set *set = find(set_fd);

	if (set)
		error = fd == set_fd ? EINVAL : change(set, op, fd, event);
	if (set && !error)
		wake(set);
	weft_lock_give(&sets_lock);
	return error ? fail(error) : 0;
}

/* What is to be waited for, the set's own descriptor first; NULL: no memory. */
static struct pollfd *copy(const struct set *set, nfds_t *n)
{
	struct pollfd *fds = calloc(set->n + 1, sizeof(*fds));

	if (!fds)
		return NULL;
	fds[0] = (struct pollfd){ .fd = set->fd, .events = POLLIN };
	*n = 1;
	for (uint32_t i = 0; i < set->n; i++) {
		const struct interest *interest = &set->list[(set->first + i) % set->n];

		if (!interest->is_spent)
			fds[(*n)++] = (struct pollfd){ .fd = interest->fd,
				.events = (short)(interest->event.events & ~WORDS) };
	}
	return fds;
}

/* How many are told of. */
static int tell(
	struct set *set, const struct pollfd *fds, nfds_t n, struct epoll_event *events, int max)
{
	int told = 0;

	for (nfds_t i = 1; i < n && told < max; i++) {
		struct interest *interest = fds[i].revents ? find_interest(set, fds[i].fd) : NULL;

		if (!interest || interest->is_spent)
			continue;
		if (fds[i].revents & POLLNVAL) { /* closed meanwhile */
			*interest = set->list[--set->n];
			continue;
		}
		uint32_t is = (uint16_t)fds[i].revents & (interest->event.events | ALWAYS);
		if (!is)
			continue;
		events[told++] = (struct epoll_event){ .events = is, .data = interest->event.data };
		interest->is_spent = interest->event.events & EPOLLONESHOT;
		set->first = (uint32_t)(interest - set->list) + 1;
	}
	return told;
}

/* Whoever is cancelled while he waits is gone from the set, too. */
struct waiter {
	struct set *set;
	struct pollfd *fds;
};

static void stop_waiting(void *arg)
{
	const struct waiter *waiter = arg;

	weft_lock_take(&sets_lock);
	drop_user(waiter->set);
	weft_lock_give(&sets_lock);
	free(waiter->fds);
}

static int wait_without_lock(struct set *set, struct pollfd *fds, nfds_t n, int timeout_ms)
{
	struct waiter waiter = { set, fds };
	int rc, error;

	weft_lock_give(&sets_lock);
	pthread_cleanup_push(stop_waiting, &waiter);
	rc = rpoll(fds, n, timeout_ms);
	error = errno;
	pthread_cleanup_pop(0);
	weft_lock_take(&sets_lock);
	errno = error;
	return rc;
}

/* Once.  -1 with errno: failed; 0: nothing within the time, or the set has changed. */
static int wait_once(struct set *set, struct epoll_event *events, int max, int timeout_ms)
{
	uint64_t changes;
	nfds_t n;
	struct pollfd *fds = copy(set, &n);

	if (!fds)
		return fail(ENOMEM);
	int rc = wait_without_lock(set, fds, n, timeout_ms), error = errno;

	if (rc > 0 && fds[0].revents && !set->closed)
		(void)!read(set->fd, &changes, sizeof(changes));
	if (rc > 0)
		rc = set->closed ? fail(EBADF) : tell(set, fds, n, events, max);
	else
		errno = error;
	free(fds);
	return rc;
}

int repoll_wait(int set_fd, struct epoll_event *events, int max, int timeout)
{
	int64_t until_ms = wait_now_ms() + timeout, left_ms = timeout;
	int rc;

	if (max <= 0)
		return fail(EINVAL);
	weft_lock_take(&sets_lock);
	struct set *set = find(set_fd);

	if (!set) {
		weft_lock_give(&sets_lock);
		return fail(EBADF);
	}
	set->users++;
	for (;;) {
		rc = wait_once(set, events, max, timeout < 0 ? -1 : (int)left_ms);
		if (rc || !left_ms)
			break;
		left_ms = timeout < 0 ? -1 : WEFT_MAX(until_ms - wait_now_ms(), (int64_t)0);
	}
	int error = errno;
	drop_user(set);
	weft_lock_give(&sets_lock);
	errno = error;
	return rc;
}
