/* SPDX-License-Identifier: BSD-2-Clause */
#include "twin.h"

#include <sys/epoll.h>

TEST(rpoll__mixes_sockets_and_descriptors)
{
	struct pair p = meet();
	int fds[2];

	REQUIRE(!pipe(fds));
	struct pollfd all[] = { { .fd = p.client, .events = POLLIN },
		{ .fd = fds[0], .events = POLLIN }, { .fd = -1 } };
	CHECK_EQ(rpoll(all, 3, 0), 0);
	CHECK_EQ(rpoll(all, 3, 5), 0);
	CHECK_EQ(write(fds[1], "x", 1), 1);
	CHECK_EQ(rpoll(all, 3, 30000), 1);
	CHECK_EQ(all[1].revents, POLLIN);
	CHECK_EQ(rsend(p.server, "x", 1, 0), 1);
	CHECK_EQ(rpoll(all, 3, 30000), 2);
	CHECK_EQ(all[0].revents, POLLIN);
	close(fds[0]);
	close(fds[1]);
	end(&p);
}

static void *read_one(void *fd)
{
	char byte = 0;

	CHECK_EQ(rrecv(*(int *)fd, &byte, 1, 0), 1);
	return NULL;
}

TEST(wait_until__wakes_all_threads_at_a_socket)
{
	struct pair p = meet();
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, read_one, &p.client);
	(void)usleep(20000);
	CHECK_EQ(rsend(p.server, "wxyz", 4, 0), 4);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	end(&p);
}

TEST(rselect__answers_in_sets)
{
	struct pair p = meet();
	struct timeval none = { 0 };
	fd_set in, out;

	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_SET(p.server, &in);
	FD_SET(p.server, &out);
	CHECK_EQ(rsend(p.client, "x", 1, 0), 1);
	CHECK_EQ(rselect(p.server + 1, &in, NULL, NULL, NULL), 1);
	CHECK(FD_ISSET(p.server, &in));
	CHECK_EQ(rselect(p.server + 1, NULL, &out, NULL, NULL),
		1); /* when the client has answered */
	CHECK_EQ(rselect(p.client + 1, NULL, NULL, NULL, &none), 0);
	end(&p);
}

/* ---- threads that are cancelled, as programs end those that wait ---- */

static int watched; /* a set with the client in it */

static void *wait_to_read(void *fd)
{
	char byte;

	(void)rrecv(*(int *)fd, &byte, 1, 0);
	return NULL;
}

static void *wait_to_accept(void *fd)
{
	(void)raccept(*(int *)fd, NULL, NULL);
	return NULL;
}

static void *wait_by_poll(void *fd)
{
	struct pollfd all[] = { { .fd = *(int *)fd, .events = POLLIN }, { .fd = 0 } };

	(void)rpoll(all, 2, -1);
	return NULL;
}

static void *wait_by_select(void *fd)
{
	fd_set in;

	FD_ZERO(&in);
	FD_SET(*(int *)fd, &in);
	(void)rselect(*(int *)fd + 1, &in, NULL, NULL, NULL);
	return NULL;
}

static void *wait_by_set(void *unused)
{
	struct epoll_event event;

	(void)unused;
	(void)repoll_wait(watched, &event, 1, -1);
	return NULL;
}

/* Others at the socket do not wait for a lock of the dead, and all of it is given back. */
TEST(sleep_on__is_where_a_thread_may_be_cancelled)
{
	static void *(*const waits[])(void *) = { wait_to_read, wait_to_accept, wait_by_poll,
		wait_by_select, wait_by_set };
	struct pair p = meet();
	struct epoll_event event = { .events = EPOLLIN };
	char byte;

	watched = repoll_create(0);
	REQUIRE(watched >= 0 && !repoll_ctl(watched, EPOLL_CTL_ADD, p.client, &event));
	for (int round = 0; round < 20; round++) {
		for (size_t i = 0; i < WEFT_COUNT(waits); i++) {
			pthread_t thread;

			REQUIRE(!pthread_create(&thread, NULL, waits[i],
				waits[i] == wait_to_accept ? &p.listener : &p.client));
			usleep(round % 4 * 700);
			REQUIRE(!pthread_cancel(thread));
			pthread_join(thread, NULL);
		}
		CHECK_EQ(rsend(p.server, "x", 1, 0), 1);
		CHECK_EQ(rrecv(p.client, &byte, 1, 0), 1);
		CHECK_EQ(repoll_wait(watched, &event, 1, 0), 0);
	}
	int ends[] = { p.client, p.listener };
	for (int i = 0; i < 2; i++) {
		struct rsock *rs = table_get(ends[i]);

		REQUIRE(rs);
		CHECK_EQ(rs->users, 2); /* this one, and the table */
		CHECK_EQ(rs->waiters, 0);
		table_put(rs);
	}
	CHECK_EQ(rclose(watched), 0);
	end(&p);
}
