/* SPDX-License-Identifier: BSD-2-Clause */
#include "twin.h"

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
