/* SPDX-License-Identifier: BSD-2-Clause */
#include "greetings/greet_local.h"
#include "unit/device/virtual.h"

/* s[0] has something to write to s[1], which is not ready yet. */
static void greet_with_work(struct side *s[2])
{
	for (unsigned i = 0; i < 2; i++) {
		s[i] = side_open();
		side_open_qp(s[i], WEFT_DEV_STRICT, NULL);
		side_init(s[i]);
	}
	side_ready(s[0], s[1]);
	CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_WRITE, 0), 0, 8), 0);
}

TEST(greet_start__waits_for_a_peer_that_comes_later)
{
	struct side *s[2];

	greet_with_work(s);
	ground_sleep(30000000);
	side_ready(s[1], s[0]);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	pair_close(s);
}

/* "Wait" is read by the clock, timers go by when the turn began: a peer heard in between is not one
 * that has been silent for 500 years. */
TEST(greet_timers__waits_for_who_has_been_heard_in_the_same_turn)
{
	struct side *s[2];

	greet_with_work(s);
	weft_lock_take(&s[0]->dev->lock);
	uint64_t now = ground_now();

	s[0]->qp->greet_since_ns = now - 1000000;
	s[0]->qp->heard_ns = now + 1000;
	s[0]->qp->tries = 100;
	s[0]->dev->greetings.at_ns = 0;
	greet_timers(s[0]->dev, now);
	CHECK_EQ(s[0]->qp->attr.state, WEFT_DEV_RTS);
	weft_lock_give(&s[0]->dev->lock);
	side_ready(s[1], s[0]);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	pair_close(s);
}

TEST(greet_timers__gives_up_where_nobody_is)
{
	struct side *s = side_open();
	struct weft_dev_qp_attr attr = { .state = WEFT_DEV_RTR,
		.peer_qpn = 1000u << SLOT_BITS | 20,
		.timeout = 10,
		.retry = 1 };

	side_open_qp(s, WEFT_DEV_STRICT, NULL);
	side_init(s);
	weft_dev_gid(s->dev, attr.gid);
	CHECK_EQ(weft_dev_qp_modify(s->qp, &attr,
			 WEFT_DEV_SET_STATE | WEFT_DEV_SET_PEER | WEFT_DEV_SET_PEER_QPN |
				 WEFT_DEV_SET_TIMEOUT | WEFT_DEV_SET_RETRY),
		0);
	attr.state = WEFT_DEV_RTS;
	CHECK_EQ(weft_dev_qp_modify(s->qp, &attr, WEFT_DEV_SET_STATE), 0);
	CHECK_EQ(side_post(s, to_memory(s, WEFT_DEV_WRITE, 0), 0, 8), 0);
	CHECK_EQ(side_wait(s).status, WEFT_DEV_RETRY_EXC_ERR);
	side_close(s);
}

/* Thousands that wait for the same dead host: one walk of them, and not one for each. */
TEST(greet_timers__gives_all_up_in_one_turn)
{
	enum { MANY = 50 };
	struct side *s = side_open();
	struct weft_dev_qp *qps[MANY];
	struct weft_dev_qp_attr attr = { .peer_qpn = 1000u << SLOT_BITS | 20, .gid = { 0xfd, 1 } };
	unsigned failed = 0;

	for (unsigned i = 0; i < MANY; i++) {
		side_open_qp(s, WEFT_DEV_STRICT, NULL);
		qps[i] = s->qp;
		side_init(s);
		attr.state = WEFT_DEV_RTR;
		CHECK_EQ(weft_dev_qp_modify(s->qp, &attr,
				 WEFT_DEV_SET_STATE | WEFT_DEV_SET_PEER | WEFT_DEV_SET_PEER_QPN),
			0);
		attr.state = WEFT_DEV_RTS;
		CHECK_EQ(weft_dev_qp_modify(s->qp, &attr, WEFT_DEV_SET_STATE), 0);
		CHECK_EQ(side_post(s, to_memory(s, WEFT_DEV_WRITE, 0), 0, 8), 0);
	}
	ground_sleep(SECOND);
	weft_lock_take(&s->dev->lock);
	for (unsigned i = 0; i < MANY; i++) {
		qps[i]->greet_since_ns = 1; /* long ago */
		qps[i]->tries = 1000;
	}
	s->dev->greetings.at_ns = 0;
	greet_timers(s->dev, ground_now());
	for (unsigned i = 0; i < MANY; i++)
		failed += qps[i]->attr.state == WEFT_DEV_ERR;
	CHECK(!s->dev->greeting);
	weft_lock_give(&s->dev->lock);
	CHECK_EQ(failed, MANY);
	for (s->qp = NULL; failed--;)
		CHECK_EQ(weft_dev_qp_close(qps[failed]), 0);
	side_close(s);
}
