/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>

static bool has_event(struct side *s, int wait_ms)
{
	struct pollfd fd = { .fd = weft_dev_channel_fd(s->channel), .events = POLLIN };

	return poll(&fd, 1, wait_ms) == 1;
}

TEST(weft_dev_cq_arm__wakes_who_sleeps)
{
	struct side *s[2];
	void *user = NULL;

	pair_open(s, WEFT_DEV_STRICT);
	CHECK_EQ(side_recv(s[1], 1, 0, 0), 0);
	CHECK_EQ(weft_dev_cq_arm(s[1]->cq, false), 0);
	CHECK(!has_event(s[1], 0));
	CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_WRITE_IMM, 0), 0, 8), 0);
	REQUIRE(has_event(s[1], LIMIT_S * 1000));
	CHECK_EQ(weft_dev_channel_get(s[1]->channel, &user), 0);
	CHECK(user == s[1]);
	/* Told of already: whoever arms and then looks is not told again. */
	CHECK_EQ(weft_dev_cq_arm(s[1]->cq, false), 0);
	CHECK(!has_event(s[1], 0));
	CHECK_EQ(side_wait(s[1]).status, WEFT_DEV_OK);
	CHECK(!has_event(s[1], 0));
	(void)fcntl(weft_dev_channel_fd(s[1]->channel), F_SETFL, O_NONBLOCK);
	CHECK_EQ(weft_dev_channel_get(s[1]->channel, &user), EAGAIN);
	CHECK_EQ(weft_dev_channel_close(s[1]->channel), EBUSY);
	CHECK_EQ(weft_dev_cq_close(s[1]->cq), EBUSY);
	pair_close(s);
}

/* What comes between a look and the arming is told of at once, and once. */
TEST(weft_dev_cq_arm__tells_of_what_came_unarmed)
{
	struct side *s[2];
	void *user;

	pair_open(s, WEFT_DEV_STRICT);
	for (uint64_t i = 0; i < 2; i++) {
		CHECK_EQ(side_recv(s[1], i, 0, 0), 0);
		CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_WRITE_IMM, 0), 0, 8), 0);
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK); /* it has arrived then */
		CHECK(!has_event(s[1], 0));
		CHECK_EQ(weft_dev_cq_arm(s[1]->cq, false), 0);
		REQUIRE(has_event(s[1], 0));
		CHECK_EQ(weft_dev_channel_get(s[1]->channel, &user), 0);
	}
	for (unsigned i = 0; i < 2; i++)
		CHECK_EQ(side_wait(s[1]).status, WEFT_DEV_OK);
	CHECK_EQ(weft_dev_cq_arm(s[1]->cq, false), 0);
	CHECK(!has_event(s[1], 0));
	pair_close(s);
}

TEST(weft_dev_cq_arm__waits_for_solicited_ones)
{
	struct side *s[2];
	struct weft_dev_send send = { .op = WEFT_DEV_SEND, .flags = WEFT_DEV_SIGNALED };

	pair_open(s, WEFT_DEV_EXTENDED);
	for (uint64_t i = 0; i < 2; i++)
		CHECK_EQ(side_recv(s[1], i, 0, 64), 0);
	CHECK_EQ(weft_dev_cq_arm(s[1]->cq, true), 0);
	CHECK_EQ(side_post(s[0], send, 0, 8), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK); /* it has arrived then */
	CHECK(!has_event(s[1], 0));
	send.flags |= WEFT_DEV_SOLICITED;
	CHECK_EQ(side_post(s[0], send, 0, 8), 0);
	CHECK(has_event(s[1], LIMIT_S * 1000));
	pair_close(s);
}

TEST(weft_dev_cq_poll__tells_of_an_overrun)
{
	struct side *s[2];
	struct weft_dev_cq *small, *big;
	struct weft_dev_event event;
	struct weft_dev_wc wc;
	bool cq_told = false, qp_told = false;

	for (unsigned i = 0; i < 2; i++)
		s[i] = side_open();
	big = s[0]->cq;
	CHECK_EQ(weft_dev_cq_open(s[0]->dev, 2, NULL, &small, &small), 0);
	s[0]->cq = small;
	for (unsigned i = 0; i < 2; i++) {
		side_open_qp(s[i], WEFT_DEV_STRICT, NULL);
		side_init(s[i]);
	}
	side_ready(s[0], s[1]);
	side_ready(s[1], s[0]);
	for (unsigned i = 0; i < 8; i++)
		CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_WRITE, 0), 0, 8), 0);
	while (!cq_told || !qp_told) { /* blocks: ctest ends it if nothing comes */
		REQUIRE(!weft_dev_event_get(s[0]->dev, &event));
		cq_told |= event.kind == WEFT_DEV_CQ_ERROR && event.user == &small;
		qp_told |= event.kind == WEFT_DEV_QP_FATAL && event.user == s[0];
	}
	CHECK_EQ(weft_dev_cq_poll(small, &wc, 1), 1);
	CHECK_EQ(weft_dev_cq_poll(small, &wc, 1), 1);
	CHECK_EQ(weft_dev_cq_poll(small, &wc, 1), -1);
	CHECK_EQ(weft_dev_qp_close(s[0]->qp), 0);
	s[0]->qp = NULL;
	CHECK_EQ(weft_dev_cq_close(small), 0);
	s[0]->cq = big;
	pair_close(s);
}

/* Those of this queue, one way or the other, and nobody is looked at who has others. */
TEST(cq_put__fails_the_queue_pairs_of_its_queue_only)
{
	enum { SENDS, RECEIVES, WRITES, NEITHER, ALL };
	struct side *s = side_open();
	struct weft_dev_qp_attr attr = { .state = WEFT_DEV_INIT };
	struct weft_dev_qp *qps[ALL];
	struct weft_dev_cq *small;
	struct weft_dev_recv recv = { 0 };
	struct weft_dev_event event;
	unsigned told = 0;

	(void)fcntl(weft_dev_event_fd(s->dev), F_SETFL, O_NONBLOCK);
	CHECK_EQ(weft_dev_cq_open(s->dev, 1, NULL, &small, &small), 0);
	for (unsigned i = 0; i < ALL; i++) {
		struct weft_dev_qp_init init = { .profile = WEFT_DEV_STRICT,
			.cq_tx = i == SENDS || i == WRITES ? small : s->cq,
			.cq_rx = i == RECEIVES || i == WRITES ? small : s->cq,
			.rq_depth = 2,
			.user = &qps[i] };

		CHECK_EQ(weft_dev_qp_open(s->pd, &init, &qps[i]), 0);
		CHECK_EQ(weft_dev_qp_modify(qps[i], &attr, WEFT_DEV_SET_STATE), 0);
	}
	for (unsigned i = 0; i < 2; i++)
		CHECK_EQ(weft_dev_post_recv(qps[RECEIVES], &recv), 0);
	struct trap *trap = trap_set(s->dev);

	attr.state =
		WEFT_DEV_ERR; /* it fails as asked; its two flushed receives are one too many */
	CHECK_EQ(weft_dev_qp_modify(qps[RECEIVES], &attr, WEFT_DEV_SET_STATE), 0);
	while (!weft_dev_event_get(s->dev, &event))
		for (unsigned i = 0; i < ALL; i++)
			if (event.kind == WEFT_DEV_QP_FATAL && event.user == &qps[i])
				told |= 1u << i;
	trap_end(s->dev, trap);
	CHECK_EQ(told, 1u << SENDS | 1u << WRITES);
	for (unsigned i = 0; i < ALL; i++)
		CHECK_EQ(weft_dev_qp_close(qps[i]), 0);
	CHECK_EQ(weft_dev_cq_close(small), 0);
	side_close(s);
}

TEST(weft_dev_cq_resize__keeps_what_is_in_it)
{
	struct side *s[2];

	pair_open(s, WEFT_DEV_STRICT);
	for (uint64_t i = 0; i < 3; i++) {
		struct weft_dev_send send = to_memory(s[1], WEFT_DEV_WRITE, 0);

		send.id = i;
		CHECK_EQ(side_post(s[0], send, 0, 8), 0);
	}
	CHECK_EQ(side_wait(s[0]).id, 0);
	CHECK_EQ(weft_dev_cq_resize(s[0]->cq, 5000), 0);
	CHECK_EQ(weft_dev_cq_entries(s[0]->cq), 5000);
	CHECK_EQ(side_wait(s[0]).id, 1);
	CHECK_EQ(side_wait(s[0]).id, 2);
	CHECK_EQ(weft_dev_cq_resize(s[0]->cq, 0), EINVAL);
	pair_close(s);
}

/* The peer is not there yet: all of them will complete, whenever that is. */
TEST(weft_dev_cq_resize__leaves_room_for_sends_under_way)
{
	struct weft_dev_qp_attr attr = { .state = WEFT_DEV_RESET };
	struct side *s[2] = { side_open(), side_open() };

	for (unsigned i = 0; i < 2; i++) {
		side_open_qp(s[i], WEFT_DEV_STRICT, NULL);
		side_init(s[i]);
	}
	side_ready(s[0], s[1]);
	for (uint64_t i = 0; i < 9; i++) { /* every second one is to be told of, and the last */
		struct weft_dev_send send = to_memory(s[1], WEFT_DEV_WRITE, 0);

		send.id = i;
		send.flags = i % 2 ? 0 : WEFT_DEV_SIGNALED;
		CHECK_EQ(side_post(s[0], send, 0, 8), 0);
	}
	CHECK_EQ(weft_dev_cq_resize(s[0]->cq, 4), EINVAL);
	CHECK_EQ(weft_dev_cq_entries(s[0]->cq), 256);
	CHECK_EQ(weft_dev_cq_resize(s[1]->cq, 1), 0); /* another's */
	CHECK_EQ(weft_dev_cq_resize(s[0]->cq, 5), 0);
	side_ready(s[1], s[0]);
	for (uint64_t i = 0; i < 9; i += 2) {
		struct weft_dev_wc wc = side_wait(s[0]);

		CHECK_EQ(wc.status, WEFT_DEV_OK);
		CHECK_EQ(wc.id, i);
	}
	CHECK_EQ(weft_dev_cq_resize(s[0]->cq, 1), 0);
	CHECK_EQ(weft_dev_cq_resize(s[0]->cq, 2), 0); /* it grows, whatever is under way */
	for (uint64_t i = 0; i < 2; i++)
		CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_WRITE, 0), 0, 8), 0);
	CHECK_EQ(weft_dev_qp_modify(s[0]->qp, &attr, WEFT_DEV_SET_STATE), 0);
	CHECK_EQ(weft_dev_cq_resize(s[0]->cq, 1), 0); /* nothing will be told of those */
	pair_close(s);
}

#define MANY 2000u
#define ABREAST 100u

struct poller {
	struct side *side;
	uint32_t seen, wrong; /* seen: atomic */
};

static void *poll_in_order(void *arg)
{
	struct poller *p = arg;

	for (uint32_t i = 0; i < MANY; i++) {
		struct weft_dev_wc wc = side_wait(p->side);

		p->wrong += wc.status != WEFT_DEV_OK || wc.id != i;
		__atomic_store_n(&p->seen, i + 1, __ATOMIC_RELEASE);
		if (wc.status == 255)
			break;
	}
	return NULL;
}

TEST(weft_dev_cq_resize__loses_nothing_to_who_polls_meanwhile)
{
	struct side *s[2];
	pthread_t thread;

	pair_open(s, WEFT_DEV_STRICT);
	struct poller p = { .side = s[0] };

	REQUIRE(!pthread_create(&thread, NULL, poll_in_order, &p));
	for (uint32_t i = 0; i < MANY; i++) {
		struct weft_dev_send send = to_memory(s[1], WEFT_DEV_WRITE, 0);
		uint64_t limit_ns = weft_clock_now(NULL) + LIMIT_S * UINT64_C(1000000000);

		send.id = i;
		while (i - __atomic_load_n(&p.seen, __ATOMIC_ACQUIRE) >= ABREAST &&
			weft_clock_now(NULL) < limit_ns)
			sched_yield();
		int rc = weft_dev_cq_resize(s[0]->cq, 1 + i % ABREAST);

		CHECK(rc == 0 || rc == EINVAL);
		CHECK_EQ(weft_dev_cq_resize(s[0]->cq, ABREAST + i % 500), 0);
		REQUIRE(!side_post(s[0], send, 0, 8));
	}
	pthread_join(thread, NULL);
	CHECK_EQ(p.seen, MANY);
	CHECK_EQ(p.wrong, 0);
	pair_close(s);
}

/* ---- threads that are cancelled ---- */

#define CANCELS 40u

static struct side *cancel_side[2];

static void *poll_on(void *arg)
{
	struct weft_dev_wc wc;

	for (;; pthread_testcancel())
		(void)weft_dev_cq_poll(((struct side *)arg)->cq, &wc, 1);
	return NULL;
}

static void *post_on(void *arg)
{
	struct weft_dev_wc wc;

	for (;; pthread_testcancel()) {
		(void)side_post(arg, to_memory(cancel_side[1], WEFT_DEV_WRITE, 0), 0, 4096);
		(void)weft_dev_cq_poll(((struct side *)arg)->cq, &wc, 1);
	}
	return NULL;
}

static void *arm_on(void *arg)
{
	for (;; pthread_testcancel())
		(void)weft_dev_cq_arm(((struct side *)arg)->cq, false);
	return NULL;
}

/* False: its lock is lost. */
static bool is_alive(struct side *s)
{
	for (unsigned i = 0; i < LIMIT_S * 10000u; i++) {
		if (weft_lock_try(&s->dev->lock)) {
			weft_lock_give(&s->dev->lock);
			return true;
		}
		weft_clock_sleep(100000);
	}
	return false;
}

/* Programs end their completion threads so; what these were doing is no matter of the others. */
TEST(weft_dev_cq_poll__and_posts_keep_no_lock_when_they_are_cancelled)
{
	void *(*const calls[])(void *) = { poll_on, post_on, arm_on };

	pair_open(cancel_side, WEFT_DEV_EXTENDED);
	for (unsigned i = 0; i < CANCELS * WEFT_COUNT(calls); i++) {
		pthread_t thread;
		void *result = NULL;

		WEFT_ASSERT(!pthread_create(
			&thread, NULL, calls[i % WEFT_COUNT(calls)], cancel_side[0]));
		weft_clock_sleep(500000 + 100000 * (i % 7));
		CHECK_EQ(pthread_cancel(thread), 0);
		pthread_join(thread, &result);
		CHECK(result == PTHREAD_CANCELED);
		REQUIRE(is_alive(cancel_side[0]));
	}
	while (cancel_side[0]->qp->sq_head != cancel_side[0]->qp->sq_tail ||
		cancel_side[0]->qp->untold)
		REQUIRE(side_wait(cancel_side[0]).status == WEFT_DEV_OK);
	CHECK_EQ(side_post(cancel_side[0], to_memory(cancel_side[1], WEFT_DEV_WRITE, 0), 0, 8), 0);
	CHECK_EQ(side_wait(cancel_side[0]).status, WEFT_DEV_OK);
	pair_close(cancel_side);
}

/* A pipe holds 8,192 numbers; queues that were armed and rang after that were never heard of. */
TEST(weft_dev_channel_get__tells_of_each_queue_as_often_as_it_rang)
{
	enum { QUEUES = 9000, TIMES = 2 };
	static struct weft_dev_cq *cqs[QUEUES];
	static unsigned rang[QUEUES];
	struct side *s = side_open();
	void *user;

	(void)fcntl(weft_dev_channel_fd(s->channel), F_SETFL, O_NONBLOCK);
	for (unsigned i = 0; i < QUEUES; i++)
		REQUIRE(!weft_dev_cq_open(s->dev, TIMES, s->channel, &rang[i], &cqs[i]));
	for (unsigned t = 0; t < TIMES; t++)
		for (unsigned i = 0; i < QUEUES; i++) {
			CHECK_EQ(weft_dev_cq_arm(cqs[i], false), 0);
			weft_lock_take(&s->dev->lock);
			cq_put(cqs[i], &(struct weft_dev_wc){ 0 }, false);
			weft_lock_give(&s->dev->lock);
		}
	while (!weft_dev_channel_get(s->channel, &user))
		++*(unsigned *)user;
	for (unsigned i = 0; i < QUEUES; i++) {
		CHECK_EQ(rang[i], TIMES);
		CHECK_EQ(weft_dev_cq_close(cqs[i]), 0);
	}
	side_close(s);
}

/* Oldest first, which is the end of any list: 32,000 took five seconds. */
TEST(weft_dev_cq_close__takes_the_same_time_among_many)
{
	enum { QUEUES = 24000 };
	static struct weft_dev_cq *cqs[QUEUES];
	struct weft_dev *dev = pair_device();
	struct rusage began, ended;

	for (unsigned i = 0; i < QUEUES; i++)
		REQUIRE(!weft_dev_cq_open(dev, 1, NULL, NULL, &cqs[i]));
	WEFT_ASSERT(!getrusage(RUSAGE_THREAD, &began));
	for (unsigned i = 0; i < QUEUES; i++)
		CHECK_EQ(weft_dev_cq_close(cqs[i]), 0);
	WEFT_ASSERT(!getrusage(RUSAGE_THREAD, &ended));
	long us = (ended.ru_utime.tv_sec - began.ru_utime.tv_sec) * 1000000 +
		  ended.ru_utime.tv_usec - began.ru_utime.tv_usec;

	CHECK(us < 600000);
	CHECK_EQ(weft_dev_close(dev), 0);
}
