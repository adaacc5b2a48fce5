/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_LOCK_H
#define WEFT_LOCK_H
/*
 * lock - a mutex that a cancelled thread does not take with it.
 *
 * What a library does under its lock reaches cancellation points (sendmmsg, ppoll, write, a wait
 * for a condition), and programs end their completion threads by pthread_cancel().  So the thread
 * that has such a lock cannot be cancelled; it is when it gives the lock back.  The state that it
 * had before lies in the lock, guarded by it, so that locks nest.
 *
 * Time     None.
 * Memory   The caller's.
 * Threads  Any.  Whoever took a lock gives it back.
 * Errors   None: a lock that is not initialized is the caller's mistake.
 * Fork     A child has the memory of its parent and one of its threads: who keeps a lock in static
 *          memory opens it anew there (pthread_atfork).
 *
 * The price of the two calls, beside the mutex's: 44 instructions, of which two are atomic.
 */
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weft_lock {
	pthread_mutex_t mutex;
	int cancel; /* the holder's cancelability state outside of it */
};

#define WEFT_LOCK_INIT                                                                             \
	{                                                                                          \
		PTHREAD_MUTEX_INITIALIZER, PTHREAD_CANCEL_ENABLE                                   \
	}

void weft_lock_open(struct weft_lock *lock);
void weft_lock_close(struct weft_lock *lock);

/* The same for a stretch of code without a lock; returns what weft_cancel_on() is to be given. */
static inline int weft_cancel_off(void)
{
	int before;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static inline void weft_cancel_on(int before)
{
	(void)pthread_setcancelstate(before, &before);
}

static inline void weft_lock_take(struct weft_lock *lock)
{
	int before = weft_cancel_off();

	(void)pthread_mutex_lock(&lock->mutex);
	lock->cancel = before;
}

static inline void weft_lock_give(struct weft_lock *lock)
{
	int before = lock->cancel;

	(void)pthread_mutex_unlock(&lock->mutex);
	weft_cancel_on(before);
}

bool weft_lock_try(struct weft_lock *lock); /* false: somebody has it */
/* As pthread_cond_timedwait(), by the condition's clock; until: NULL for no limit.  0, or
 * ETIMEDOUT.  No cancellation point either. */
int weft_lock_wait(struct weft_lock *lock, pthread_cond_t *cond, const struct timespec *until);

#ifdef __cplusplus
}
#endif

#endif /* WEFT_LOCK_H */
