/* SPDX-License-Identifier: BSD-2-Clause */
#include "lo.h"

#include <fcntl.h>
#include <sys/epoll.h>

#define PORT 7501

static int watch(int set, int op, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	return repoll_ctl(set, op, fd, &event) ? errno : 0;
}

TEST(repoll_create__knows_one_flag)
{
	struct epoll_event event;
	int set = repoll_create(EPOLL_CLOEXEC);

	REQUIRE(set >= 0);
	CHECK(fcntl(set, F_GETFD) & FD_CLOEXEC);
	CHECK_EQ(repoll_wait(set, &event, 1, 0), 0);
	CHECK_EQ(rclose(set), 0);
	CHECK_EQ(repoll_wait(set, &event, 1, 0), -1);
	CHECK_EQ(errno, EBADF);
	CHECK_EQ(rclose(set), -1);
	CHECK_EQ(repoll_create(1), -1);
	CHECK_EQ(errno, EINVAL);
}

TEST(repoll_ctl__refuses)
{
	int set = repoll_create(0), fd = open_at(0);

	CHECK_EQ(watch(set, EPOLL_CTL_MOD, fd, EPOLLIN), ENOENT);
	CHECK_EQ(watch(set, EPOLL_CTL_DEL, fd, 0), ENOENT);
	CHECK_EQ(watch(set, EPOLL_CTL_ADD, fd, EPOLLIN), 0);
	CHECK_EQ(watch(set, EPOLL_CTL_ADD, fd, EPOLLIN), EEXIST);
	CHECK_EQ(watch(set, EPOLL_CTL_ADD, set, EPOLLIN), EINVAL);
	CHECK_EQ(watch(set, EPOLL_CTL_ADD, 999, EPOLLIN), EBADF);
	CHECK_EQ(watch(fd, EPOLL_CTL_ADD, fd, EPOLLIN), EBADF);
	CHECK_EQ(watch(set, 77, fd, EPOLLIN), EINVAL);
	CHECK_EQ(repoll_ctl(set, EPOLL_CTL_MOD, fd, NULL), -1);
	CHECK_EQ(errno, EFAULT);
	CHECK_EQ(watch(set, EPOLL_CTL_DEL, fd, 0), 0);
	CHECK_EQ(watch(set, EPOLL_CTL_DEL, fd, 0), ENOENT);
	CHECK_EQ(rclose(fd), 0);
	CHECK_EQ(rclose(set), 0);
}

TEST(repoll_wait__mixes_sockets_and_descriptors)
{
	struct epoll_event events[4];
	int set = repoll_create(0), to = open_at(PORT), from = open_at(0), fds[2];
	char byte;

	REQUIRE(!pipe(fds));
	CHECK_EQ(watch(set, EPOLL_CTL_ADD, to, EPOLLIN | EPOLLET), 0);
	CHECK_EQ(watch(set, EPOLL_CTL_ADD, fds[0], EPOLLIN | EPOLLONESHOT), 0);
	CHECK_EQ(repoll_wait(set, events, 4, 5), 0);
	CHECK_EQ(send_to(from, PORT, "x", 1), 1);
	REQUIRE(repoll_wait(set, events, 4, LIMIT_MS) == 1);
	CHECK_EQ(events[0].data.fd, to);
	CHECK_EQ(events[0].events, EPOLLIN);
	CHECK_EQ(write(fds[1], "x", 1), 1);
	CHECK_EQ(repoll_wait(set, events, 4, LIMIT_MS), 2);
	CHECK_EQ(rrecv(to, &byte, 1, 0), 1);
	CHECK_EQ(repoll_wait(set, events, 4, 5), 0); /* the pipe has been told of, once */
	CHECK_EQ(watch(set, EPOLL_CTL_MOD, fds[0], EPOLLIN), 0);
	for (int i = 0; i < 2; i++) {
		REQUIRE(repoll_wait(set, events, 4, LIMIT_MS) == 1);
		CHECK_EQ(events[0].data.fd, fds[0]);
	}
	close(fds[0]); /* and is forgotten */
	CHECK_EQ(repoll_wait(set, events, 4, 5), 0);
	close(fds[1]);
	CHECK_EQ(rclose(to), 0);
	CHECK_EQ(rclose(from), 0);
	CHECK_EQ(rclose(set), 0);
}

/* With room for one, all have their turn. */
TEST(repoll_wait__tells_of_all_in_turn)
{
	struct epoll_event event;
	int set = repoll_create(0), fds[3], seen = 0;

	for (int i = 0; i < 3; i++) {
		fds[i] = open_at(0);
		CHECK_EQ(watch(set, EPOLL_CTL_ADD, fds[i], EPOLLOUT), 0);
	}
	for (int i = 0; i < 3; i++) {
		REQUIRE(repoll_wait(set, &event, 1, LIMIT_MS) == 1);
		CHECK_EQ(event.events, EPOLLOUT);
		for (int k = 0; k < 3; k++)
			seen |= (event.data.fd == fds[k]) << k;
	}
	CHECK_EQ(seen, 7);
	CHECK_EQ(repoll_wait(set, &event, 0, 0), -1);
	CHECK_EQ(errno, EINVAL);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(rclose(fds[i]), 0);
	CHECK_EQ(rclose(set), 0);
}

struct waiter {
	int set, rc, error;
};

static void *wait_there(void *arg)
{
	struct waiter *w = arg;
	struct epoll_event event;

	w->rc = repoll_wait(w->set, &event, 1, LIMIT_MS);
	w->error = errno;
	return NULL;
}

TEST(repoll_wait__sees_changes)
{
	struct waiter w = { .set = repoll_create(0) };
	int fd = open_at(0);
	pthread_t thread;

	REQUIRE(!pthread_create(&thread, NULL, wait_there, &w));
	usleep(20000);
	CHECK_EQ(watch(w.set, EPOLL_CTL_ADD, fd, EPOLLOUT), 0);
	pthread_join(thread, NULL);
	CHECK_EQ(w.rc, 1);
	CHECK_EQ(watch(w.set, EPOLL_CTL_DEL, fd, 0), 0);
	REQUIRE(!pthread_create(&thread, NULL, wait_there, &w));
	usleep(20000);
	CHECK_EQ(rclose(w.set), 0);
	pthread_join(thread, NULL);
	CHECK_EQ(w.rc, -1);
	CHECK_EQ(w.error, EBADF);
	CHECK_EQ(rclose(fd), 0);
}
