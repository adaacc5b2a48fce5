/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>

#define RINGS_MAX 100

static struct side *rung;
static volatile sig_atomic_t rings;

/* Who was interrupted and waits on all the same gets an event in the end, so that he is found. */
static void ring(int signal_number)
{
	uint64_t record[2] = { 3, WEFT_DEV_PLANE_DOWN };

	(void)signal_number;
	if (++rings == RINGS_MAX)
		(void)!write(rung->dev->event_fd[1], record, sizeof(record));
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
	weft_lock_take(&s->dev->lock);
	event_put(s->dev, WEFT_DEV_QP_FATAL, s->qp->event_number);
	event_put(s->dev, WEFT_DEV_QP_FATAL, 999999);
	event_put(s->dev, WEFT_DEV_PLANE_DOWN, 3);
	weft_lock_give(&s->dev->lock);
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
	CHECK_EQ(weft_dev_listener_open(s->dev, 8, &listener[1]), 0);
	CHECK_EQ(weft_dev_listener_get(listener[0], &event), EAGAIN);
	weft_lock_take(&s->dev->lock);
	event_put(s->dev, WEFT_DEV_QP_FATAL, s->qp->event_number);
	event_put(s->dev, WEFT_DEV_QP_ACCESS, owned->event_number);
	event_put(s->dev, WEFT_DEV_PLANE_DOWN, 1);
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
	event_put(s->dev, WEFT_DEV_CQ_ERROR, s->cq->number);
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
