/* SPDX-License-Identifier: BSD-2-Clause */
#include "progress/progress_local.h"
#include "unit/device/virtual.h"

static unsigned woken;

static void fake_tx(
	struct weft_port *port, const struct weft_pkt pkts[], size_t n, struct weft_wake wake)
{
	(void)pkts;
	CHECK_EQ(n, 0);
	CHECK_EQ(wake.hush_bytes, 0);
	port->unwoken_bytes = 0;
	woken++;
}

static const struct weft_port_ops fake_ops = { .name = "fake", .tx = fake_tx };
static struct weft_port fake_port = { .ops = &fake_ops }, *real_port;

/* Nobody but the test does anything on it; its thread would look in time. */
static struct weft_dev *idle_device(void)
{
	struct weft_dev *dev = pair_device();

	real_port = dev->port;
	fake_port.unwoken_bytes = 0;
	dev->port = &fake_port;
	dev->progress.has_thread = dev->progress.stands = true;
	woken = 0;
	weft_lock_take(&dev->lock);
	return dev;
}

static void idle_close(struct weft_dev *dev)
{
	dev->progress.has_thread = dev->progress.stands = false;
	dev->port = real_port;
	weft_lock_give(&dev->lock);
	CHECK_EQ(weft_dev_close(dev), 0);
}

/* What a post may leave unwoken. */
static uint64_t post(struct weft_dev *dev)
{
	uint64_t bytes;

	quiet_post(dev);
	bytes = dev->progress.quiet.wake.hush_bytes;
	quiet_posted(dev);
	CHECK_EQ(dev->progress.quiet.wake.hush_bytes, 0);
	return bytes;
}

static void poll_after(struct weft_dev *dev, uint64_t ns)
{
	dev->progress.quiet.posted_ns = ground_now() - ns;
	quiet_poll(dev);
	quiet_polled(dev);
}

/* Who polls right after he posts has the switch woken then. */
TEST(quiet_post__wakes_nobody_where_a_poll_will)
{
	struct weft_dev *dev = idle_device();

	for (unsigned i = 0; i < 15; i++) {
		CHECK_EQ(post(dev), 0);
		dev->progress.quiet.posted_ns = UINT64_MAX / 4; /* just now */
		quiet_poll(dev);
		quiet_polled(dev);
	}
	CHECK_EQ(woken, 0); /* for nothing */
	dev->progress.quiet.credit_ns = 100000;
	CHECK(post(dev) > 0);
	dev->port->unwoken_bytes = 300;
	quiet_poll(dev);
	CHECK(dev->progress.quiet.wake.hush_bytes >= 300); /* what it sends goes with the rest */
	quiet_polled(dev);
	CHECK_EQ(woken, 1);
	dev->progress.stands = false; /* the thread would not see it */
	dev->progress.quiet.credit_ns = 100000;
	CHECK_EQ(post(dev), 0);
	dev->progress.stands = true;
	idle_close(dev);
}

/* On average no post is later than a microsecond, whatever the program does. */
TEST(quiet_post__is_late_no_more_often_than_it_has_earned)
{
	struct weft_dev *dev = idle_device();
	int64_t before;

	dev->progress.quiet.credit_ns = 100000;
	(void)post(dev);
	before = dev->progress.quiet.credit_ns;
	poll_after(dev, 50 * US);
	CHECK(dev->progress.quiet.credit_ns <= before - 50000);
	(void)post(dev);
	before = dev->progress.quiet.credit_ns;
	poll_after(dev, 5000 * US); /* the thread has looked long before */
	CHECK(dev->progress.quiet.credit_ns == before - 400000);
	CHECK_EQ(post(dev), 0);
	for (unsigned i = 0; i < 100; i++)
		poll_after(dev, 400 * US);
	CHECK_EQ(dev->progress.quiet.credit_ns, -4000000); /* forgiven within 4,000 posts */
	idle_close(dev);
}

/* Two posts in a row count as well: the first was late by as much. */
TEST(quiet_post__counts_what_came_between_posts)
{
	struct weft_dev *dev = idle_device();

	dev->progress.quiet.credit_ns = 90000;
	(void)post(dev);
	dev->progress.quiet.posted_ns = ground_now() - 60 * US;
	(void)post(dev);
	CHECK(dev->progress.quiet.credit_ns <= 30000);
	idle_close(dev);
}

/* Whatever was left unwoken: who stops to poll has it woken, and so has the thread. */
TEST(quiet_wake__leaves_nothing_behind)
{
	struct weft_dev *dev = idle_device();

	quiet_wake(dev);
	CHECK_EQ(woken, 0);
	dev->port->unwoken_bytes = 1;
	quiet_wake(dev);
	CHECK_EQ(woken, 1);
	dev->port->unwoken_bytes = 1;
	watch_leave(dev, true);
	CHECK_EQ(woken, 2);
	idle_close(dev);
}
