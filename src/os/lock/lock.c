/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock - a mutex that a cancelled thread does not take with it.
 *
 * POSIX's own way, a cleanup handler around each call (pthread_cleanup_push), would give the lock
 * back with the work half done under it: a turn of a device that ends within sendmmsg() leaves an
 * engine that has been told what never happened.  System calls through syscall(), which are no
 * cancellation points, would cost nothing, and hold only as long as nobody forgets one, in this
 * library or in one that it calls.
 */
#include <weft/lock.h>

void weft_lock_open(struct weft_lock *lock)
{
	(void)pthread_mutex_init(&lock->mutex, NULL);
	lock->cancel = PTHREAD_CANCEL_ENABLE;
}

void weft_lock_close(struct weft_lock *lock)
{
	(void)pthread_mutex_destroy(&lock->mutex);
}

bool weft_lock_try(struct weft_lock *lock)
{
	int before = weft_cancel_off();

	if (pthread_mutex_trylock(&lock->mutex)) {
		weft_cancel_on(before);
		return false;
	}
	lock->cancel = before;
	return true;
}

int weft_lock_wait(struct weft_lock *lock, pthread_cond_t *cond, const struct timespec *until)
{
	int before = lock->cancel;
	int rc = until ? pthread_cond_timedwait(cond, &lock->mutex, until)
		       : pthread_cond_wait(cond, &lock->mutex);

	lock->cancel = before;
	return rc;
}
