/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rsocket_table - numbers to sockets.
 *
 * A call holds the socket that it found, so that another thread's rclose() takes the number away at
 * once and the memory when the last has left.  A child of fork() finds the parent's sockets under
 * their numbers only to give the numbers back: queue pairs and their memory are the parent's.
 */
#include "rsocket_local.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct rsock **table;
static int table_size;
static struct weft_lock lock = WEFT_LOCK_INIT;
static uint32_t fork_age;

static void before_fork(void)
{
	weft_lock_take(&lock);
}

static void in_parent(void)
{
	weft_lock_give(&lock);
}

static void in_child(void)
{
	fork_age++;
	weft_lock_give(&lock);
}

static void watch_forks(void)
{
	(void)pthread_atfork(before_fork, in_parent, in_child);
}

struct rsock *table_new(int family, int type)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct rsock *rs = calloc(1, sizeof(*rs));
	struct epoll_event event = { .events = EPOLLIN };

	(void)pthread_once(&once, watch_forks);
	if (!rs)
		return NULL;
	rs->fd = epoll_create1(EPOLL_CLOEXEC);
	rs->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (rs->fd < 0 || rs->kick_fd < 0 ||
		epoll_ctl(rs->fd, EPOLL_CTL_ADD, rs->kick_fd, &event)) {
		if (rs->fd >= 0)
			(void)close(rs->fd);
		if (rs->kick_fd >= 0)
			(void)close(rs->kick_fd);
		free(rs);
		return NULL;
	}
	weft_lock_open(&rs->lock);
	rs->family = family;
	rs->type = type;
	rs->users = 1;
	rs->fork_age = fork_age;
	return rs;
}

/* With the lock.  Rows up to that of `fd`. */
static bool has_row(int fd)
{
	int size = WEFT_MAX(64, 2 * fd);

	if (fd < table_size)
		return true;
	struct rsock **larger = realloc(table, (size_t)size * sizeof(*table));

	if (!larger)
		return false;
	for (int i = table_size; i < size; i++)
		larger[i] = NULL;
	table = larger;
	table_size = size;
	return true;
}

bool table_add(struct rsock *rs)
{
	weft_lock_take(&lock);
	bool has = has_row(rs->fd);
	if (has)
		table[rs->fd] = rs;
	weft_lock_give(&lock);
	if (!has)
		errno = ENOMEM;
	return has;
}

struct rsock *table_get(int fd)
{
	weft_lock_take(&lock);
	struct rsock *rs = fd >= 0 && fd < table_size ? table[fd] : NULL;

	if (rs && rs->fork_age != fork_age)
		rs = NULL;
	if (rs)
		rs->users++;
	weft_lock_give(&lock);
	if (!rs)
		errno = EBADF;
	return rs;
}

static void destroy(struct rsock *rs)
{
	int cancel = weft_cancel_off();

	meet_forget(rs);
	if (rs->fd >= 0)
		(void)close(rs->fd);
	(void)close(rs->kick_fd);
	weft_lock_close(&rs->lock);
	free(rs);
	weft_cancel_on(cancel);
}

void table_put(struct rsock *rs)
{
	weft_lock_take(&lock);
	bool is_last = !--rs->users;
	weft_lock_give(&lock);
	if (is_last)
		destroy(rs);
}

struct rsock *table_enter(int fd)
{
	struct rsock *rs = table_get(fd);

	if (rs)
		weft_lock_take(&rs->lock);
	return rs;
}

long table_leave(struct rsock *rs, long rc)
{
	int error = errno;

	weft_lock_give(&rs->lock);
	table_put(rs);
	errno = error;
	return rc;
}

/* The parent's: what is only this process's copy is closed, the rest left alone. */
static void drop(struct rsock *rs)
{
	(void)close(rs->fd);
	(void)close(rs->kick_fd);
	free(rs);
}

bool table_take_out(int fd)
{
	weft_lock_take(&lock);
	struct rsock *rs = fd >= 0 && fd < table_size ? table[fd] : NULL;

	if (rs)
		table[fd] = NULL;
	bool is_own = rs && rs->fork_age == fork_age;
	weft_lock_give(&lock);
	if (is_own)
		table_put(rs);
	else if (rs)
		drop(rs);
	return rs != NULL;
}

int table_next(int fd)
{
	weft_lock_take(&lock);
	do {
		fd++;
	} while (fd < table_size && (!table[fd] || table[fd]->fork_age != fork_age));
	int next = fd < table_size ? fd : -1;
	weft_lock_give(&lock);
	return next;
}
