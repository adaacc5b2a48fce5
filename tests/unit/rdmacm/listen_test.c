/* SPDX-License-Identifier: BSD-2-Clause */
#include "stranger.h"

#include <sys/resource.h>

static double cpu_s(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

TEST(listen_accept__hangs_up_who_says_nothing)
{
	struct pair p = ask(RDMA_PS_TCP, "x", false);
	int fd = call(p.listener);

	(void)hear(fd, GREETING);
	CHECK(!is_hung_up(fd, 1000)); /* he has two seconds */
	CHECK(is_hung_up(fd, 10000));
	close(fd);
	end(&p);
}

/* Four may wait (fake_verbs.h): the rest of a crowd of strangers keeps nobody out. */
TEST(listen_accept__lets_the_honest_in_beside_a_silent_crowd)
{
	struct pair p = ask(RDMA_PS_TCP, "x", false);
	int crowd[24];

	for (size_t i = 0; i < WEFT_COUNT(crowd); i++)
		crowd[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct sockaddr_in to;
	socklen_t bytes = sizeof(to);
	REQUIRE(!getsockname(id_of(p.listener)->fd, (struct sockaddr *)&to, &bytes));
	for (size_t i = 0; i < WEFT_COUNT(crowd); i++)
		(void)connect(crowd[i], (struct sockaddr *)&to, sizeof(to));
	usleep(200000);
	CHECK(ids(AWAITS_REQUEST) <= 4);
	CHECK(!rdma_reject(p.passive, NULL, 0));
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_REJECTED));
	CHECK(!rdma_connect(p.active, NULL));
	struct rdma_cm_event *event = want(p.server, RDMA_CM_EVENT_CONNECT_REQUEST);
	CHECK(ids(AWAITS_REQUEST) <= 4);
	CHECK(!rdma_destroy_id(event->id) || true);
	rdma_ack_cm_event(event);
	for (size_t i = 0; i < WEFT_COUNT(crowd); i++)
		close(crowd[i]);
	end(&p);
}

/* Requests that the program does not look at: the fifth waits with TCP, and comes in its turn. */
TEST(listen_told__opens_the_door_again)
{
	struct pair p = ask(RDMA_PS_TCP, "x", false);
	int callers[7];

	for (size_t i = 0; i < WEFT_COUNT(callers); i++) {
		callers[i] = call(p.listener);
		say(callers[i], REQUEST);
	}
	usleep(300000);
	CHECK_EQ(ids(ASKED), 4 + 1); /* and the one of p */
	for (size_t i = 0; i < WEFT_COUNT(callers); i++) {
		struct rdma_cm_event *event = want(p.server, RDMA_CM_EVENT_CONNECT_REQUEST);
		struct rdma_cm_id *id = event->id;

		CHECK_EQ(rdma_get_dst_port(id), htons(4711));
		rdma_ack_cm_event(event);
		CHECK(!rdma_destroy_id(id));
	}
	for (size_t i = 0; i < WEFT_COUNT(callers); i++)
		close(callers[i]);
	end(&p);
}

TEST(listen_accept__sleeps_without_descriptors)
{
	struct pair p = ask(RDMA_PS_TCP, "x", false);
	struct rlimit before, few;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), spare[256];
	size_t n = 0;
	struct sockaddr_in to;
	socklen_t bytes = sizeof(to);

	REQUIRE(!getsockname(id_of(p.listener)->fd, (struct sockaddr *)&to, &bytes));
	REQUIRE(!getrlimit(RLIMIT_NOFILE, &before));
	few = (struct rlimit){ 128, before.rlim_max };
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &few));
	while (n < WEFT_COUNT(spare) && (spare[n] = dup(0)) >= 0)
		n++;
	REQUIRE(n > 32);
	(void)connect(fd, (struct sockaddr *)&to, sizeof(to));
	double began_s = cpu_s();
	usleep(500000);
	CHECK(cpu_s() - began_s < 0.1);
	CHECK_EQ(ids(AWAITS_REQUEST), 0);
	close(spare[--n]); /* one is the program's, as are all of the last */
	usleep(200000);
	CHECK_EQ(ids(AWAITS_REQUEST), 0);
	while (n)
		close(spare[--n]);
	(void)fcntl(fd, F_SETFL, 0);
	(void)hear(fd, GREETING);
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &before));
	close(fd);
	end(&p);
}

/* Neither who has asked nor who is about to waits for ever, and nothing is kept of them. */
TEST(listen_end__rejects_who_waits)
{
	struct pair p = ask(RDMA_PS_TCP, "x", false);
	int asked = call(p.listener), silent = call(p.listener);

	say(asked, REQUEST);
	(void)hear(asked, GREETING);
	(void)hear(silent, GREETING);
	while (ids(ASKED) < 2)
		usleep(1000);
	CHECK(!rdma_destroy_id(p.listener));
	p.listener = NULL;
	(void)hear(asked, REJECTION);
	(void)hear(silent, REJECTION);
	CHECK_EQ(ids(-1), 2); /* the pair's: the program knows of it */
	CHECK(!rdma_reject(p.passive, NULL, 0));
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_REJECTED));
	close(asked), close(silent);
	end(&p);
}
