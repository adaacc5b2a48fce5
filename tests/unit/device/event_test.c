/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#define RINGS_MAX 100

static struct side *rung;
static volatile sig_atomic_t rings;

/* Who was interrupted and waits on all the same gets an event in the end, so that he is found. */
static void ring(int signal_number)
{
	(void)signal_number;
	if (++rings == RINGS_MAX)
		event_put_plane(rung->dev, WEFT_DEV_PLANE_DOWN, 1); /* its lock is free: it reads */
}

TEST(weft_dev_event_get__ends_when_an_alarm_rings)
{
	struct sigaction action = { .sa_handler = ring }, old;
	struct itimerval often = { { 0, 10000 }, { 0, 10000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct weft_dev_event event;

	rung = side_open();
	CHECK_EQ(sigaction(SIGALRM, &action, &old), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
	CHECK_EQ(weft_dev_event_get(rung->dev, &event), EINTR);
	CHECK_EQ(setitimer(ITIMER_REAL, &never, NULL), 0);
	CHECK_EQ(sigaction(SIGALRM, &old, NULL), 0);
	side_close(rung);
}

TEST(weft_dev_event_get__skips_what_is_gone)
{
	struct side *s = side_open();
	struct weft_dev_event event;

	(void)fcntl(weft_dev_event_fd(s->dev), F_SETFL, O_NONBLOCK);
	CHECK_EQ(weft_dev_event_get(s->dev, &event), EAGAIN);
	side_open_qp(s, WEFT_DEV_STRICT, NULL);
	struct weft_dev_qp *gone = s->qp;

	side_open_qp(s, WEFT_DEV_STRICT, NULL);
	weft_lock_take(&s->dev->lock);
	event_put(s->dev, &s->qp->events, WEFT_DEV_QP_FATAL);
	event_put(s->dev, &gone->events, WEFT_DEV_QP_FATAL);
	event_put_plane(s->dev, WEFT_DEV_PLANE_DOWN, 3);
	weft_lock_give(&s->dev->lock);
	CHECK_EQ(weft_dev_qp_close(gone), 0);
	CHECK_EQ(weft_dev_event_get(s->dev, &event), 0);
	CHECK(event.kind == WEFT_DEV_QP_FATAL && event.user == s);
	CHECK_EQ(weft_dev_event_get(s->dev, &event), 0);
	CHECK(event.kind == WEFT_DEV_PLANE_DOWN && event.number == 3);
	CHECK_EQ(weft_dev_event_get(s->dev, &event), EAGAIN);
	side_close(s);
}

TEST(weft_dev_listener_get__has_its_owners_events_and_ports)
{
	struct side *s = side_open();
	struct weft_dev_listener *listener[2];
	struct weft_dev_qp_init init = { .profile = WEFT_DEV_STRICT,
		.cq_tx = s->cq,
		.cq_rx = s->cq,
		.owner = 7,
		.user = listener };
	struct weft_dev_qp *owned;
	struct weft_dev_event event;

	(void)fcntl(weft_dev_event_fd(s->dev), F_SETFL, O_NONBLOCK);
	side_open_qp(s, WEFT_DEV_STRICT, NULL);
	CHECK_EQ(weft_dev_qp_open(s->pd, &init, &owned), 0);
	CHECK_EQ(weft_dev_listener_open(s->dev, 0, &listener[0]), EINVAL);
	CHECK_EQ(weft_dev_listener_open(s->dev, 7, &listener[0]), 0);
	CHECK_EQ(weft_dev_listener_open(s->dev, 7, &listener[1]), EBUSY);
	CHECK_EQ(weft_dev_listener_open(s->dev, 8, &listener[1]), 0);
	CHECK_EQ(weft_dev_listener_get(listener[0], &event), EAGAIN);
	weft_lock_take(&s->dev->lock);
	event_put(s->dev, &s->qp->events, WEFT_DEV_QP_FATAL);
	event_put(s->dev, &owned->events, WEFT_DEV_QP_ACCESS);
	event_put_plane(s->dev, WEFT_DEV_PLANE_DOWN, 1);
	weft_lock_give(&s->dev->lock);
	CHECK_EQ(weft_dev_event_get(s->dev, &event), 0);
	CHECK(event.kind == WEFT_DEV_QP_FATAL && event.user == s && !event.owner);
	CHECK_EQ(weft_dev_event_get(s->dev, &event), 0);
	CHECK_EQ(event.kind, WEFT_DEV_PLANE_DOWN);
	CHECK_EQ(weft_dev_event_get(s->dev, &event), EAGAIN);
	CHECK_EQ(weft_dev_listener_get(listener[0], &event), 0);
	CHECK(event.kind == WEFT_DEV_QP_ACCESS && event.user == listener && event.owner == 7);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(weft_dev_listener_get(listener[i], &event), 0);
		CHECK_EQ(event.kind, WEFT_DEV_PLANE_DOWN);
		CHECK_EQ(weft_dev_listener_get(listener[i], &event), EAGAIN);
	}
	weft_dev_cq_set_owner(s->cq, 8);
	weft_lock_take(&s->dev->lock);
	event_put(s->dev, &s->cq->events, WEFT_DEV_CQ_ERROR);
	weft_lock_give(&s->dev->lock);
	CHECK_EQ(weft_dev_listener_get(listener[0], &event), EAGAIN);
	CHECK_EQ(weft_dev_listener_get(listener[1], &event), 0);
	CHECK(event.kind == WEFT_DEV_CQ_ERROR && event.user == s);
	weft_dev_listener_close(listener[0]);
	weft_dev_listener_close(listener[1]);
	CHECK_EQ(weft_dev_qp_close(owned), 0);
	side_close(s);
}

/* As ibv_asyncwatch does: the device opened, and nothing else. */
TEST(weft_dev_event_get__hears_of_planes_without_a_queue_pair)
{
	struct weft_dev *dev = pair_device();
	struct weft_dev_event event = { 0 };
	uint64_t limit_ns = weft_clock_now(NULL) + LIMIT_S * UINT64_C(1000000000);

	REQUIRE(dev && !fcntl(weft_dev_event_fd(dev), F_SETFL, O_NONBLOCK));
	CHECK_EQ(weft_dev_event_get(dev, &event), EAGAIN);
	weft_clock_sleep(10000000); /* all planes have been seen up */
	shell("ip link set lo down");
	while (event.kind != WEFT_DEV_PORT_DOWN && weft_clock_now(NULL) < limit_ns)
		if (weft_dev_event_get(dev, &event))
			weft_clock_sleep(100000);
	CHECK_EQ(event.kind, WEFT_DEV_PORT_DOWN);
	shell("ip link set lo up");
	CHECK_EQ(weft_dev_close(dev), 0);
}

/* As many as a device has, on one shared queue. */
static void open_many(struct side *s, struct weft_dev_srq *srq, struct weft_dev_qp *qps[],
	bool heard[], unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct weft_dev_qp_attr attr = { .state = WEFT_DEV_INIT };
		struct weft_dev_qp_init init = { .profile = WEFT_DEV_EXTENDED,
			.cq_tx = s->cq,
			.cq_rx = s->cq,
			.srq = srq,
			.sq_depth = 1,
			.user = &heard[i] };

		REQUIRE(!weft_dev_qp_open(s->pd, &init, &qps[i]));
		CHECK_EQ(weft_dev_qp_modify(qps[i], &attr, WEFT_DEV_SET_STATE), 0);
	}
}

/* A pipe holds 4,096 records; who failed after that was never heard of. */
TEST(event_put__loses_none_of_thousands_and_searches_for_none)
{
	enum { MANY = 7000 };
	static struct weft_dev_qp *qps[MANY];
	static bool heard[MANY];
	struct side *s = side_open();
	struct weft_dev_qp_attr attr = { .state = WEFT_DEV_ERR };
	struct weft_dev_srq_attr shared = { .depth = 4, .sges = 1 };
	struct pollfd fd = { .fd = weft_dev_event_fd(s->dev), .events = POLLIN };
	struct weft_dev_event event;
	struct weft_dev_srq *srq;

	(void)fcntl(fd.fd, F_SETFL, O_NONBLOCK);
	CHECK_EQ(weft_dev_srq_open(s->pd, &shared, s, &srq), 0);
	open_many(s, srq, qps, heard, MANY);
	CHECK_EQ(poll(&fd, 1, 0), 0);
	struct trap *trap = trap_set(s->dev);

	for (unsigned i = 0; i < MANY; i++)
		CHECK_EQ(weft_dev_qp_modify(qps[i], &attr, WEFT_DEV_SET_STATE), 0);
	for (unsigned i = 0; i < MANY; i++) {
		REQUIRE(poll(&fd, 1, 0) == 1);
		REQUIRE(!weft_dev_event_get(s->dev, &event));
		CHECK_EQ(event.kind, WEFT_DEV_QP_LAST_WQE);
		CHECK(!*(bool *)event.user);
		*(bool *)event.user = true;
	}
	CHECK_EQ(poll(&fd, 1, 0), 0);
	CHECK_EQ(weft_dev_event_get(s->dev, &event), EAGAIN);
	trap_end(s->dev, trap);
	for (unsigned i = 0; i < MANY; i++)
		CHECK_EQ(weft_dev_qp_close(qps[i]), 0);
	CHECK_EQ(weft_dev_srq_close(srq), 0);
	side_close(s);
}

/* One object's in the order in which they came, each kind once, the newest last. */
TEST(event_take__keeps_the_order)
{
	static const uint32_t kinds[] = { WEFT_DEV_QP_FATAL, WEFT_DEV_QP_LAST_WQE,
		WEFT_DEV_SQ_DRAINED, WEFT_DEV_QP_REQUEST, WEFT_DEV_QP_ACCESS, WEFT_DEV_QP_FATAL };
	struct side *s = side_open();
	struct weft_dev_event event;

	(void)fcntl(weft_dev_event_fd(s->dev), F_SETFL, O_NONBLOCK);
	side_open_qp(s, WEFT_DEV_STRICT, NULL);
	weft_lock_take(&s->dev->lock);
	for (unsigned i = 0; i < WEFT_COUNT(kinds); i++)
		event_put(s->dev, &s->qp->events, kinds[i]);
	weft_lock_give(&s->dev->lock);
	for (unsigned i = 1; i < WEFT_COUNT(kinds); i++) {
		CHECK_EQ(weft_dev_event_get(s->dev, &event), 0);
		CHECK(event.kind == kinds[i] && event.user == s);
	}
	CHECK_EQ(weft_dev_event_get(s->dev, &event), EAGAIN);
	side_close(s);
}

struct waiter {
	pthread_t thread;
	struct side *s;
	struct weft_dev_event event;
	int rc;
};

static void *wait_for_one(void *arg)
{
	struct waiter *w = arg;

	w->rc = weft_dev_event_get(w->s->dev, &w->event);
	return NULL;
}

/* Each event wakes one, however many sleep; one byte in the pipe stands for all that waits. */
TEST(weft_dev_event_get__wakes_as_many_as_there_are_events)
{
	struct waiter waiters[6];
	struct side *s = side_open();
	uint32_t planes = 0;

	for (unsigned i = 0; i < WEFT_COUNT(waiters); i++) {
		waiters[i] = (struct waiter){ .s = s };
		REQUIRE(!pthread_create(&waiters[i].thread, NULL, wait_for_one, &waiters[i]));
	}
	weft_clock_sleep(5000000);
	weft_lock_take(&s->dev->lock);
	for (uint32_t i = 0; i < WEFT_COUNT(waiters); i++)
		event_put_plane(s->dev, WEFT_DEV_PLANE_DOWN, i);
	weft_lock_give(&s->dev->lock);
	for (unsigned i = 0; i < WEFT_COUNT(waiters); i++) {
		CHECK_EQ(pthread_join(waiters[i].thread, NULL), 0); /* or ctest ends it */
		CHECK_EQ(waiters[i].rc, 0);
		planes |= 1u << waiters[i].event.number;
	}
	CHECK_EQ(planes, 63);
	side_close(s);
}

static struct side *taken;
static bool is_closed;

static void *close_it(void *arg)
{
	(void)arg;
	CHECK_EQ(weft_dev_qp_close(taken->qp), 0);
	__atomic_store_n(&is_closed, true, __ATOMIC_RELEASE);
	return NULL;
}

static pthread_t closer;

static void close_meanwhile(const struct weft_dev_event *event)
{
	CHECK(event->user == taken);
	REQUIRE(!pthread_create(&closer, NULL, close_it, NULL));
	weft_clock_sleep(20000000);
	CHECK(!__atomic_load_n(&is_closed, __ATOMIC_ACQUIRE));
}

TEST(weft_dev_event_take__shows_it_before_its_object_can_be_closed)
{
	struct weft_dev_event event;

	taken = side_open();
	side_open_qp(taken, WEFT_DEV_STRICT, NULL);
	weft_lock_take(&taken->dev->lock);
	event_put(taken->dev, &taken->qp->events, WEFT_DEV_QP_FATAL);
	weft_lock_give(&taken->dev->lock);
	CHECK_EQ(weft_dev_event_take(taken->dev, &event, close_meanwhile), 0);
	CHECK_EQ(pthread_join(closer, NULL), 0);
	CHECK(is_closed);
	taken->qp = NULL;
	side_close(taken);
}
