/* SPDX-License-Identifier: BSD-2-Clause */
#include "progress/progress_local.h"
#include "unit/device/pair.h"

#define ROUNDS 500u /* a timer may be quicker, or this machine too slow */

/* Sends from one side, so that the other has an acknowledgement to give, which the test finds. */
static void owe_an_ack(struct side *s[2], uint32_t id)
{
	struct weft_dev *dev = s[1]->dev;

	CHECK_EQ(side_recv(s[1], id, 0, 64), 0);
	weft_lock_take(&dev->lock);
	CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_SEND, 0), 0, 8), 0);
	for (unsigned k = 0; k < 100000 && !weft_acks_since(dev->ep); k++)
		(void)run_once(dev);
	CHECK(weft_acks_since(dev->ep) != 0);
}

static void take_both(struct side *s[2])
{
	weft_lock_give(&s[1]->dev->lock);
	CHECK_EQ(side_wait(s[1]).status, WEFT_DEV_OK);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
}

/* Polls until what is owed is said. */
static void poll_for_long(struct weft_dev *dev)
{
	for (unsigned k = 0; k < 100000 && weft_acks_since(dev->ep); k++) {
		acks_poll(dev);
		(void)run_once(dev);
		acks_polled(dev);
	}
	CHECK_EQ(weft_acks_since(dev->ep), 0);
}

/* Two that have got to know each other; the other one's device. */
static struct weft_dev *friends_open(struct side *s[2])
{
	pair_open(s, WEFT_DEV_EXTENDED);
	CHECK_EQ(side_recv(s[1], 0, 0, 64), 0);
	CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_SEND, 0), 0, 8), 0);
	CHECK_EQ(side_wait(s[1]).status, WEFT_DEV_OK);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	return s[1]->dev;
}

static void post(struct weft_dev *dev)
{
	acks_post(dev);
	(void)run_once(dev);
	if (weft_wants_output(dev->ep))
		(void)run_once(dev);
	acks_posted(dev);
}

/* Held where that paid; each time that it did not, twice as many are let go. */
TEST(acks_poll__holds_as_long_as_that_pays)
{
	struct side *s[2];
	struct weft_dev *dev = friends_open(s);
	struct acks *a = &dev->progress.acks;

	owe_an_ack(s, 1);
	a->hold.vain = 3;
	a->hold.skips = 0;
	a->keep.skips = 1;
	acks_poll(dev);
	CHECK(a->is_held);
	acks_polled(dev);
	post(dev); /* here are the words that carry it */
	CHECK(!a->is_held);
	CHECK_EQ(weft_acks_since(dev->ep), 0);
	CHECK_EQ(a->keep.skips, 0);
	take_both(s);
	a->hold.vain = 0;
	for (unsigned i = 2; i < ROUNDS && !a->hold.vain; i++) {
		owe_an_ack(s, i);
		a->hold.skips = 0;
		acks_poll(dev);
		CHECK(a->is_held);
		poll_for_long(dev);
		take_both(s);
	}
	CHECK_EQ(a->hold.vain, 1);
	weft_lock_take(&dev->lock);
	a->hold.skips = 1;
	weft_lock_give(&dev->lock);
	owe_an_ack(s, ROUNDS);
	acks_poll(dev);
	CHECK(!a->is_held);
	CHECK_EQ(a->hold.skips, 0);
	acks_polled(dev);
	take_both(s);
	pair_close(s);
}

/* An answer of the program's has left, and they have not. */
static bool is_kept(struct side *s[2], uint32_t id)
{
	struct weft_dev *dev = s[1]->dev;

	owe_an_ack(s, id);
	dev->progress.acks.hold.skips = dev->progress.acks.keep.skips = 0;
	post(dev);
	CHECK_EQ(dev->progress.acks.is_kept, weft_acks_since(dev->ep) != 0);
	return dev->progress.acks.is_kept;
}

/* A peer that has more to say has not waited for them; one that is silent may have. */
TEST(acks_post__keeps_them_as_long_as_the_peer_goes_on)
{
	struct side *s[2];
	struct weft_dev *dev = friends_open(s);
	struct acks *a = &dev->progress.acks;
	uint32_t i = 1, was = 0;

	for (a->keep.vain = 0; i < ROUNDS && !a->keep.vain; i++) {
		(void)is_kept(s, i);
		poll_for_long(dev); /* nothing else comes */
		take_both(s);
	}
	CHECK_EQ(a->keep.vain, 1);
	CHECK_EQ(a->keep.skips, 1);
	for (; i < 2 * ROUNDS && a->keep.vain >= was; i++) {
		bool kept = is_kept(s, i);

		was = a->keep.vain = 5;
		a->arrived_before -= kept; /* the next one is here already */
		poll_for_long(dev);
		take_both(s);
	}
	CHECK_EQ(a->keep.vain, 4);
	CHECK_EQ(a->keep.skips, 0);
	pair_close(s);
}

/* A program that looks at its memory only: the thread sends them, and it was in vain. */
TEST(acks_let_go__learns_for_those_that_do_not_poll)
{
	struct side *s[2];
	struct weft_dev *dev = friends_open(s);
	struct acks *a = &dev->progress.acks;
	uint32_t i = 1;

	for (a->keep.vain = 0; i < ROUNDS && !a->keep.vain; i++) {
		if (is_kept(s, i)) {
			acks_let_go(dev);
			CHECK_EQ(a->keep.vain, 1);
			(void)run_once(dev); /* takes in, */
			(void)run_once(dev); /* sends */
			CHECK_EQ(weft_acks_since(dev->ep), 0);
		}
		CHECK(!a->is_held);
		poll_for_long(dev);
		take_both(s);
	}
	CHECK_EQ(a->keep.vain, 1);
	pair_close(s);
}
