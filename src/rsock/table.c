/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table - numbers to sockets.
 *
 * A call holds the socket that it found, so that another thread's rclose() takes the number away at
 * once and the memory when the last has left.  A child of fork() finds the parent's sockets under
 * their numbers only to give the numbers back: queue pairs and their memory are the parent's.
 */
#include "local.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct rsock **table;
static int table_size;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t fork_age;

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
	fork_age++;
	pthread_mutex_unlock(&lock);
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
	pthread_mutex_init(&rs->lock, NULL);
	rs->family = family;
	rs->type = type;
	rs->users = 1;
	rs->fork_age = fork_age;
	return rs;
}

void table_add(struct rsock *rs)
{
	pthread_mutex_lock(&lock);
	if (rs->fd >= table_size) {
		int size = WEFT_MAX(64, 2 * rs->fd);
		struct rsock **larger = realloc(table, (size_t)size * sizeof(*table));

		WEFT_ASSERT(larger);
		for (int i = table_size; i < size; i++)
			larger[i] = NULL;
		table = larger;
		table_size = size;
	}
	table[rs->fd] = rs;
	pthread_mutex_unlock(&lock);
}

struct rsock *table_get(int fd)
{
	pthread_mutex_lock(&lock);
	struct rsock *rs = fd >= 0 && fd < table_size ? table[fd] : NULL;

	if (rs && rs->fork_age != fork_age)
		rs = NULL;
	if (rs)
		rs->users++;
	pthread_mutex_unlock(&lock);
	if (!rs)
		errno = EBADF;
	return rs;
}

void table_put(struct rsock *rs)
{
	pthread_mutex_lock(&lock);
	bool is_last = !--rs->users;
	pthread_mutex_unlock(&lock);
	if (!is_last)
		return;
	meet_forget(rs);
	if (rs->fd >= 0)
		(void)close(rs->fd);
	(void)close(rs->kick_fd);
	pthread_mutex_destroy(&rs->lock);
	free(rs);
}

struct rsock *table_enter(int fd)
{
	struct rsock *rs = table_get(fd);

	if (rs)
		pthread_mutex_lock(&rs->lock);
	return rs;
}

long table_leave(struct rsock *rs, long rc)
{
	int error = errno;

	pthread_mutex_unlock(&rs->lock);
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
	pthread_mutex_lock(&lock);
	struct rsock *rs = fd >= 0 && fd < table_size ? table[fd] : NULL;

	if (rs)
		table[fd] = NULL;
	bool is_own = rs && rs->fork_age == fork_age;
	pthread_mutex_unlock(&lock);
	if (is_own)
		table_put(rs);
	else if (rs)
		drop(rs);
	return rs != NULL;
}

int table_next(int fd)
{
	pthread_mutex_lock(&lock);
	do {
		fd++;
	} while (fd < table_size && (!table[fd] || table[fd]->fork_age != fork_age));
	int next = fd < table_size ? fd : -1;
	pthread_mutex_unlock(&lock);
	return next;
}
