/* SPDX-License-Identifier: BSD-2-Clause */
#include "progress/progress_local.h"
#include "unit/device/pair.h"

static int fake_fd;
static unsigned armed, muted;

static int fake_sleep(struct weft_port *port, bool will)
{
	(void)port;
	armed += will;
	muted += !will;
	return will ? fake_fd : WEFT_PORT_BUSY;
}

static uint32_t fake_carrier(struct weft_port *port)
{
	(void)port;
	return 3;
}

static const struct weft_port_ops fake_ops = {
	.name = "fake", .sleep = fake_sleep, .carrier = fake_carrier
};
static struct weft_port fake_port = { .ops = &fake_ops, .has_bell = true }, *real_port;

/* A device without queue pairs has no thread: whatever happens, the test does it. */
static struct weft_dev *quiet_device(void)
{
	struct weft_dev *dev = pair_device();

	real_port = dev->port;
	dev->port = &fake_port;
	fake_fd = dev->greetings.fd;
	armed = muted = 0;
	weft_lock_take(&dev->lock);
	return dev;
}

static void quiet_close(struct weft_dev *dev)
{
	weft_lock_give(&dev->lock);
	dev->port = real_port;
	CHECK_EQ(weft_dev_close(dev), 0);
}

static bool was_kicked(const struct weft_dev *dev)
{
	uint64_t n;

	return read(dev->progress.wake_fd, &n, sizeof(n)) == sizeof(n);
}

TEST(watch_leave__arms_the_port_once)
{
	struct weft_dev *dev = quiet_device();

	dev->progress.polled_ns = 5;
	watch_leave(dev, false);
	watch_leave(dev, false);
	CHECK_EQ(armed, 1);
	CHECK(dev->progress.armed);
	CHECK_EQ(dev->progress.polled_ns, 0);
	CHECK(!was_kicked(dev));
	quiet_close(dev);
}

/* Of a port that tells of every packet nothing is handed over but by the clock. */
TEST(watch_leave__leaves_a_port_without_bell_to_the_clock)
{
	struct weft_dev *dev = quiet_device();

	fake_port.has_bell = false;
	dev->progress.polled_ns = 5;
	dev->progress.stands = true;
	watch_leave(dev, false);
	CHECK_EQ(dev->progress.polled_ns, 5);
	CHECK(!was_kicked(dev));
	watch_leave(dev, true);
	CHECK_EQ(dev->progress.polled_ns, 0);
	CHECK(was_kicked(dev));
	CHECK_EQ(armed, 0);
	fake_port.has_bell = true;
	quiet_close(dev);
}

TEST(watch_leave__wakes_a_thread_that_stands_where_nothing_rings)
{
	struct weft_dev *dev = quiet_device();

	dev->progress.stands = true;
	dev->progress.waits_at = -1;
	watch_leave(dev, false);
	CHECK(was_kicked(dev));
	dev->progress.waits_at = fake_fd;
	watch_leave(dev, false);
	CHECK(!was_kicked(dev));
	fake_fd = WEFT_PORT_BUSY; /* always something to do: the thread does it */
	dev->progress.armed = false;
	watch_leave(dev, false);
	CHECK(!dev->progress.armed);
	CHECK(was_kicked(dev));
	quiet_close(dev);
}

/* A loop mutes the bell of a thread that sleeps; who leaves it must not leave it mute. */
TEST(watch_leave__arms_the_bell_of_a_thread_that_sleeps)
{
	struct weft_dev *dev = quiet_device();

	watch_leave(dev, false);
	dev->progress.asleep = true;
	dev->progress.waits_at = fake_fd;
	dev->progress.wake_at_ns = 1100000;
	(void)watch_come(dev, 1000000);
	(void)watch_come(dev, 1001000);
	CHECK(!dev->progress.armed);
	watch_leave(dev, false);
	CHECK(dev->progress.armed);
	CHECK_EQ(armed, 2);
	CHECK(!was_kicked(dev));
	dev->progress.waits_at = -1; /* it listens to another, or to none */
	watch_leave(dev, false);
	CHECK(was_kicked(dev));
	dev->progress.asleep = false;
	quiet_close(dev);
}

/* An answer waits for a thread that will look in time, never for the program. */
TEST(watch_leave__leaves_no_answer_to_chance)
{
	struct side *s[2];
	unsigned later = 0, at_once = 0;

	pair_open(s, WEFT_DEV_EXTENDED);
	for (unsigned i = 0; i < 2000 && (!later || !at_once); i++) {
		struct weft_dev *dev = s[1]->dev;
		bool soon = i & 1;

		CHECK_EQ(side_recv(s[1], i, 0, 64), 0);
		weft_lock_take(&dev->lock);
		CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_SEND, 0), 0, 8), 0);
		for (unsigned k = 0; k < 1000 && !weft_wants_output(dev->ep); k++)
			(void)run_once(dev);
		if (dev->progress.asleep && weft_wants_output(dev->ep)) {
			dev->progress.wake_at_ns = soon ? weft_clock_now(NULL) : WEFT_NEVER;
			watch_leave(dev, false);
			CHECK_EQ(weft_wants_output(dev->ep), soon);
			*(soon ? &later : &at_once) += 1;
		}
		weft_lock_give(&dev->lock);
		CHECK_EQ(side_wait(s[1]).status, WEFT_DEV_OK);
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	}
	CHECK(later && at_once);
	pair_close(s);
}

static bool is_urgent;

static void *enter(void *arg)
{
	struct weft_dev *dev = arg;

	watch_enter(dev, is_urgent);
	weft_lock_give(&dev->lock);
	return NULL;
}

/* However long somebody is inside: the thread gets in as soon as he goes. */
TEST(watch_enter__waits_for_the_lock)
{
	static const uint64_t held_ns[] = { 0, 60000, 3000000 };
	struct weft_dev *dev = quiet_device();
	pthread_t thread;

	for (unsigned i = 0; i < 2 * WEFT_COUNT(held_ns); i++) {
		is_urgent = i % 2;
		CHECK_EQ(pthread_create(&thread, NULL, enter, dev), 0);
		weft_clock_sleep(held_ns[i / 2]);
		weft_lock_give(&dev->lock);
		CHECK_EQ(pthread_join(thread, NULL), 0);
		weft_lock_take(&dev->lock);
	}
	quiet_close(dev);
}

TEST(watch_come__mutes_the_bell_for_a_loop_only)
{
	struct weft_dev *dev = quiet_device();

	watch_leave(dev, false);
	CHECK(!watch_come(dev, 1000000));
	CHECK(!watch_come(dev, 1100000)); /* it has other things to do */
	CHECK_EQ(muted, 0);
	CHECK(!watch_come(dev, 1101000));
	CHECK_EQ(muted, 1);
	CHECK(!dev->progress.armed);
	CHECK_EQ(dev->progress.polled_ns, 1101000);
	quiet_close(dev);
}

/* A thread that waits for a bell which is muted must not wait for long. */
TEST(watch_come__wakes_a_thread_that_relies_on_the_bell)
{
	struct weft_dev *dev = quiet_device();

	watch_leave(dev, false);
	dev->progress.asleep = true;
	dev->progress.wake_at_ns = 2000000000;
	(void)watch_come(dev, 1000000);
	(void)watch_come(dev, 1001000);
	CHECK_EQ(muted, 1);
	CHECK(was_kicked(dev));
	dev->progress.wake_at_ns = 1100000;
	dev->progress.armed = true;
	(void)watch_come(dev, 1002000);
	CHECK_EQ(muted, 2);
	CHECK(!was_kicked(dev));
	dev->progress.asleep = false;
	quiet_close(dev);
}

TEST(watch_come__is_patient_where_much_is_owed)
{
	struct weft_dev *dev = quiet_device();

	dev->progress.has_thread = true;
	dev->progress.owed_bytes = 1 << 20;
	CHECK(!watch_come(dev, 1000000));
	CHECK(!watch_come(dev, 1030000));
	CHECK(watch_come(dev, 1050000));
	dev->progress.owed_bytes = 0;
	CHECK(!watch_come(dev, 1060000));
	dev->progress.patient_until_ns = 2000000;
	CHECK(watch_come(dev, 1070000));
	CHECK(!watch_come(dev, 2000001));
	dev->progress.has_thread = false;
	quiet_close(dev);
}

/* Of silent sends nobody hears; they are owed no longer when the peer has acknowledged them. */
TEST(watch_come__asks_whether_silent_sends_are_still_under_way)
{
	struct side *s[2];
	struct weft_qp_info info = { .sq_used = 1 };
	uint64_t limit_ns = weft_clock_now(NULL) + LIMIT_S * UINT64_C(1000000000);

	pair_open(s, WEFT_DEV_EXTENDED);
	struct weft_dev *dev = s[0]->dev;
	struct weft_dev_send silent = to_memory(s[1], WEFT_DEV_WRITE, 0);

	silent.flags = 0;
	for (unsigned i = 0; i < 10; i++)
		CHECK_EQ(side_post(s[0], silent, 0, 60000), 0);
	while ((info.sq_used || s[0]->qp->sq_fed != 10) && weft_clock_now(NULL) < limit_ns) {
		weft_lock_take(&dev->lock);
		(void)run_once(dev);
		weft_qp_info(s[0]->qp->eq, &info);
		weft_lock_give(&dev->lock);
	}
	weft_lock_take(&dev->lock);
	uint64_t now = weft_clock_now(NULL);

	CHECK_EQ(dev->progress.owed_bytes, 600000);
	dev->progress.patient_until_ns = 0;
	dev->progress.vain = 1;
	dev->progress.vain_ns = dev->progress.vain_since_ns = now;
	CHECK(!watch_come(dev, now + 50000));
	dev->progress.owing = NULL; /* nobody to ask */
	CHECK(watch_come(dev, now + 60000));
	weft_lock_give(&dev->lock);
	pair_close(s);
}

/* Patient on both sides, all that is posted arrives. */
TEST(watch_pause__ends_when_something_completes)
{
	struct side *s[2];

	pair_open(s, WEFT_DEV_EXTENDED);
	for (unsigned i = 0; i < 2; i++) {
		weft_lock_take(&s[i]->dev->lock);
		s[i]->dev->progress.patient_until_ns = WEFT_NEVER;
		weft_lock_give(&s[i]->dev->lock);
	}
	for (unsigned i = 0; i < 50; i++) {
		struct side *from = s[i & 1];

		CHECK_EQ(side_post(from, to_memory(s[!(i & 1)], WEFT_DEV_WRITE, 0), 0, 8), 0);
		CHECK_EQ(side_wait(from).status, WEFT_DEV_OK);
	}
	pair_close(s);
}

/* One that spins would use all the time that it gets; on a busy machine that may be little. */
TEST(watch_pause__leaves_the_cpu_to_others)
{
	struct side *s[2];
	struct weft_dev_wc wc;

	pair_open(s, WEFT_DEV_STRICT);
	weft_lock_take(&s[0]->dev->lock);
	s[0]->dev->progress.patient_until_ns = WEFT_NEVER;
	weft_lock_give(&s[0]->dev->lock);
	uint64_t begun_ns = weft_clock_now(NULL), used_ns = weft_clock_thread_ns();

	while (weft_clock_now(NULL) < begun_ns + 100000000)
		CHECK_EQ(weft_dev_cq_poll(s[0]->cq, &wc, 1), 0);
	used_ns = weft_clock_thread_ns() - used_ns;
	CHECK(used_ns < 80000000);
	pair_close(s);
}
