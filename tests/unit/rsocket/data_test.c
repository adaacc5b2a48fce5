/* SPDX-License-Identifier: BSD-2-Clause */
#include "twin.h"

#define BYTES 300000

static uint8_t sent[BYTES], got[BYTES];

static void *send_all(void *fd)
{
	CHECK_EQ(rsend(*(int *)fd, sent, BYTES, 0), BYTES);
	return NULL;
}

TEST(rsend__keeps_the_stream_through_small_rings)
{
	struct pair p = meet_with(5000);
	pthread_t thread;

	for (int i = 0; i < BYTES; i++)
		sent[i] = (uint8_t)(i * 7 + i / 251);
	pthread_create(&thread, NULL, send_all, &p.client);
	CHECK_EQ(rrecv(p.server, got, BYTES, MSG_WAITALL), BYTES);
	pthread_join(thread, NULL);
	CHECK_MEM(got, sent, BYTES);
	end(&p);
}

TEST(rsend__does_not_wait_when_told_so)
{
	struct pair p = meet_with(5000);
	char byte;

	CHECK_EQ(rrecv(p.server, &byte, 1, MSG_DONTWAIT), -1);
	CHECK_EQ(errno, EAGAIN);
	ssize_t n = rsend(p.client, sent, BYTES, MSG_DONTWAIT);
	CHECK(n > 0 && n < BYTES);
	CHECK_EQ(rsend(p.client, sent, BYTES, MSG_DONTWAIT), -1);
	CHECK_EQ(errno, EAGAIN);
	end(&p);
}

TEST(rrecv__peeks_and_gathers)
{
	struct pair p = meet();
	char one[3], two[5];
	struct iovec iov[] = { { one, 3 }, { two, 5 } };
	struct iovec out[] = { { (char[]){ "abc" }, 3 }, { (char[]){ "defg" }, 4 } };

	CHECK_EQ(rwritev(p.client, out, 2), 7);
	CHECK_EQ(rrecv(p.server, two, 5, MSG_PEEK), 5);
	CHECK_MEM(two, "abcde", 5);
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	/* Two pieces were sent; what is there is read, and no more is waited for. */
	struct pollfd ready = { .fd = p.server, .events = POLLIN };
	CHECK_EQ(rpoll(&ready, 1, 30000), 1);
	CHECK_EQ(rrecvmsg(p.server, &msg, 0), 7);
	CHECK_MEM(one, "abc", 3);
	CHECK_MEM(two, "defg", 4);
	CHECK_EQ(rsend(p.listener, "x", 1, 0), -1);
	CHECK_EQ(errno, ENOTCONN);
	end(&p);
}
