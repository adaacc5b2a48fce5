/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/resource.h>

static bool is_rung(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLIN);
}

static void clear(int eventfd)
{
	uint64_t count;

	CHECK_EQ(read(eventfd, &count, sizeof(count)), 8);
	CHECK_EQ(count, 1);
}

static int ears[WEFT_SHM_EARS_MAX]; /* of the far end */

/* As after a welcome. */
static void ears_open(struct pair *p, uint32_t n)
{
	int fds[WEFT_SHM_EARS_MAX], line = p->far->line;

	for (uint32_t i = 0; i < n; i++)
		ears[i] = eventfd(0, EFD_NONBLOCK);
	p->far->line = -1;
	REQUIRE(!weft_shm_ears_lend(p->far, ears, n));
	p->far->line = line;
	for (uint32_t i = 0; i < n; i++)
		fds[i] = dup(p->far->ears[i]);
	bells_join(p->near, fds, n);
}

static void ears_close(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		close(ears[i]);
}

static int open_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

TEST(weft_shm_sleep_deep__is_ended_by_the_line_where_there_are_ears)
{
	struct pair p;

	pair_open(&p, 1, 8);
	ears_open(&p, 2);
	weft_shm_sleep_deep(p.far);
	weft_shm_bell(p.near);
	weft_shm_bell(p.near); /* once per sleep */
	for (uint32_t i = 0; i < 2; i++)
		CHECK(!is_rung(ears[i]));
	char bells[4];

	CHECK_EQ(recv(weft_shm_wait_fd(p.far), bells, sizeof(bells), MSG_DONTWAIT), 1);
	ears_close(2);
	pair_close(&p);
}

TEST(weft_shm_bell__rings_the_ear_of_its_own_cpu)
{
	cpu_set_t before, one;
	struct pair p;
	uint32_t heard = 0;

	REQUIRE(!sched_getaffinity(0, sizeof(before), &before));
	pair_open(&p, 1, 8);
	ears_open(&p, WEFT_SHM_EARS_MAX);
	for (uint32_t cpu = 0; cpu < WEFT_SHM_EARS_MAX; cpu++) {
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (!CPU_ISSET(cpu, &before) || sched_setaffinity(0, sizeof(one), &one))
			continue;
		weft_shm_will_sleep(p.far, true);
		weft_shm_bell(p.near);
		weft_shm_bell(p.near); /* once per sleep */
		for (uint32_t i = 0; i < WEFT_SHM_EARS_MAX; i++)
			CHECK_EQ(is_rung(ears[i]), i == cpu);
		CHECK(!is_rung(weft_shm_wait_fd(p.far)));
		clear(ears[cpu]);
		heard++;
	}
	CHECK(heard > 0);
	CHECK(!sched_setaffinity(0, sizeof(before), &before));
	ears_close(WEFT_SHM_EARS_MAX);
	pair_close(&p);
}

TEST(weft_shm_bell__rings_by_the_line_where_there_is_no_ear)
{
	struct pair p;

	pair_open(&p, 1, 8);
	weft_shm_will_sleep(p.far, true);
	weft_shm_bell(p.near);
	CHECK(is_rung(weft_shm_wait_fd(p.far)));
	CHECK(weft_shm_bell_clear(p.far));
	ears_open(&p, 2);
	weft_shm_will_sleep(p.near, true); /* the near end has none */
	weft_shm_bell(p.far);
	CHECK(is_rung(weft_shm_wait_fd(p.near)));
	ears_close(2);
	pair_close(&p);
}

/* As a foul end can make it. */
TEST(weft_shm_bell__rings_by_the_line_where_the_ear_is_full)
{
	const uint64_t most = UINT64_MAX - 1;
	struct pair p;

	pair_open(&p, 1, 8);
	ears_open(&p, WEFT_SHM_EARS_MAX);
	for (uint32_t i = 0; i < WEFT_SHM_EARS_MAX; i++)
		CHECK_EQ(write(ears[i], &most, sizeof(most)), 8);
	weft_shm_will_sleep(p.far, true);
	weft_shm_bell(p.near);
	CHECK(is_rung(weft_shm_wait_fd(p.far)));
	ears_close(WEFT_SHM_EARS_MAX);
	pair_close(&p);
}

/* A thread on another CPU than ears are for. */
TEST(weft_shm_bell__rings_by_the_line_where_the_cpu_has_no_ear)
{
	cpu_set_t before, second;
	struct pair p;

	CPU_ZERO(&second);
	CPU_SET(1, &second);
	REQUIRE(!sched_getaffinity(0, sizeof(before), &before));
	if (sched_setaffinity(0, sizeof(second), &second))
		return; /* there is none */
	pair_open(&p, 1, 8);
	ears_open(&p, 1);
	weft_shm_will_sleep(p.far, true);
	weft_shm_bell(p.near);
	CHECK(is_rung(weft_shm_wait_fd(p.far)));
	CHECK(!is_rung(ears[0]));
	CHECK(!sched_setaffinity(0, sizeof(before), &before));
	ears_close(1);
	pair_close(&p);
}

TEST(weft_shm_ears_lend__lends_all_or_none)
{
	struct rlimit before, few;
	struct pair p;
	int fds;

	pair_open(&p, 1, 8);
	fds = open_fds();
	REQUIRE(!getrlimit(RLIMIT_NOFILE, &before));
	few = before;
	int lowest = dup(0);

	close(lowest);
	few.rlim_cur = (rlim_t)lowest + 1; /* one more */
	int line = p.far->line;

	p.far->line = -1;
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &few));
	CHECK_EQ(weft_shm_ears_lend(p.far, (const int[]){ 0, 0, 0, 0 }, 4), -1);
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &before));
	p.far->line = line;
	CHECK_EQ(open_fds(), fds);
	CHECK_EQ(p.far->n_ears, 0);
	pair_close(&p);
}
