/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <errno.h>
#include <unistd.h>
#include <weft/lock.h>

static struct weft_lock outer = WEFT_LOCK_INIT, inner = WEFT_LOCK_INIT;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static int pipes[2];
static volatile bool left, is_inside;

/* Reads a byte under both locks: a cancellation point, where it stays until one is written. */
static void *reader(void *arg)
{
	char byte;

	(void)arg;
	weft_lock_take(&outer);
	weft_lock_take(&inner);
	is_inside = true;
	WEFT_ASSERT(read(pipes[0], &byte, 1) == 1);
	weft_lock_give(&inner);
	left = true; /* not cancelled yet: the outer lock is still held */
	weft_lock_give(&outer);
	pthread_testcancel();
	return NULL;
}

static void *waiter(void *arg)
{
	(void)arg;
	weft_lock_take(&outer);
	while (!left) {
		is_inside = true;
		(void)weft_lock_wait(&outer, &news, NULL);
	}
	weft_lock_give(&outer);
	pthread_testcancel();
	return NULL;
}

/* Ends it while it is inside; its result. */
static void *cancel(void *(*function)(void *))
{
	void *result;
	pthread_t thread;

	left = is_inside = false;
	WEFT_ASSERT(!pthread_create(&thread, NULL, function, NULL));
	while (!is_inside)
		usleep(1000);
	usleep(10000);
	CHECK_EQ(pthread_cancel(thread), 0);
	usleep(10000);
	if (function == waiter) {
		/* A wait gives the lock away, and is no place to end in either. */
		weft_lock_take(&outer);
		left = true;
		pthread_cond_broadcast(&news);
		weft_lock_give(&outer);
	} else {
		WEFT_ASSERT(write(pipes[1], "x", 1) == 1);
	}
	CHECK_EQ(pthread_join(thread, &result), 0);
	return result;
}

TEST(weft_lock_take__holds_off_a_cancellation_until_the_lock_is_given)
{
	WEFT_ASSERT(!pipe(pipes));
	CHECK(cancel(reader) == PTHREAD_CANCELED);
	CHECK(left);
	REQUIRE(weft_lock_try(&inner));
	REQUIRE(weft_lock_try(&outer));
	weft_lock_give(&outer);
	weft_lock_give(&inner);
	CHECK_EQ(weft_cancel_off(), PTHREAD_CANCEL_ENABLE);
	weft_cancel_on(PTHREAD_CANCEL_ENABLE);
}

TEST(weft_lock_wait__is_no_cancellation_point)
{
	CHECK(cancel(waiter) == PTHREAD_CANCELED);
	REQUIRE(weft_lock_try(&outer));
	weft_lock_give(&outer);
}

static void *try_it(void *arg)
{
	bool *result = arg;

	result[0] = weft_lock_try(&outer);
	result[1] = weft_cancel_off() == PTHREAD_CANCEL_ENABLE;
	return NULL;
}

TEST(weft_lock_try__leaves_who_fails_as_he_was)
{
	bool result[2];
	pthread_t thread;

	weft_lock_take(&outer);
	WEFT_ASSERT(!pthread_create(&thread, NULL, try_it, result));
	pthread_join(thread, NULL);
	CHECK(!result[0]);
	CHECK(result[1]);
	weft_lock_give(&outer);
}

TEST(weft_lock_wait__ends_with_its_time)
{
	struct timespec until = { .tv_sec = 1 };

	weft_lock_take(&outer);
	CHECK_EQ(weft_lock_wait(&outer, &news, &until), ETIMEDOUT);
	weft_lock_give(&outer);
	CHECK_EQ(weft_cancel_off(), PTHREAD_CANCEL_ENABLE);
	weft_cancel_on(PTHREAD_CANCEL_ENABLE);
}
