/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lane - copies that go on by themselves, one after the other, and how far they are.
 *
 * A stream of its own that does not wait for stream 0: the program's kernels may be waiting for
 * the very bytes that are copied here.  For the same reason nothing is made or pinned while data
 * flows, only when a lane is opened: such calls may wait for all that the GPU does.
 *
 * Not taken: a thread that copies by cuMemcpy() (a wake-up per piece, and nobody to tell of
 * errors); cuLaunchHostFunc() (runs in a thread of the driver, that must not call it).
 */
#include "gpu_local.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define WAITS_MAX 2000u /* of a millisecond */

struct weft_gpu_lane {
	struct weft_gpu_lane *next;  /* of those that are lost */
	struct weft_gpu_place place; /* a share of its own */
	void *stream;
	uint32_t copies;
	bool lost; /* something is under way that cannot be asked for */
	uint32_t begun[WEFT_GPU_COPIES_MAX],
		ended[WEFT_GPU_COPIES_MAX]; /* as often as it was used */
	void *events[WEFT_GPU_COPIES_MAX];
};

static struct weft_gpu_lane *lost; /* until the process ends */
static pthread_mutex_t lost_lock = PTHREAD_MUTEX_INITIALIZER;

static int make(struct weft_gpu_lane *lane)
{
	const struct driver *d = driver_get();
	int rc = d->stream_open(&lane->stream, CU_STREAM_OWN_ORDER);

	for (uint32_t i = 0; !rc && i < lane->copies; i++)
		rc = d->event_open(&lane->events[i], CU_EVENT_UNTIMED);
	return rc;
}

static void unmake(struct weft_gpu_lane *lane)
{
	const struct driver *d = driver_get();

	for (uint32_t i = 0; i < lane->copies; i++) {
		if (lane->events[i])
			(void)d->event_close(lane->events[i]);
	}
	if (lane->stream)
		(void)d->stream_close(lane->stream);
}

/* The context stays as long as there is a lane in it, where we have a say in that. */
static int hold(const struct weft_gpu_place *place)
{
	void *same;

	return place->primary < 0 ? 0 : driver_get()->primary_retain(&same, place->primary);
}

int weft_gpu_lane_open(
	const struct weft_gpu_place *place, uint32_t copies, struct weft_gpu_lane **out)
{
	struct weft_gpu_lane *lane;
	int rc;

	WEFT_ASSERT(copies <= WEFT_GPU_COPIES_MAX);
	rc = place_enter(place);
	if (rc)
		return rc;
	lane = calloc(1, sizeof(*lane));
	rc = lane ? hold(place) : CU_OUT_OF_MEMORY;
	if (!rc) {
		lane->place = *place;
		lane->copies = copies;
		rc = make(lane);
		if (rc) {
			unmake(lane);
			weft_gpu_forget(place);
		}
	}
	place_leave();
	if (rc)
		free(lane);
	else
		*out = lane;
	return rc;
}

static int ask(struct weft_gpu_lane *lane, uint32_t copy)
{
	int rc = place_enter(&lane->place);

	if (rc)
		return rc;
	rc = driver_get()->event_query(lane->events[copy]);
	place_leave();
	return rc;
}

/* Whether what that copy does is still going on, which had been begun so often.  If it has been
 * begun again, that is over.  An error that stays is an end, too: nothing goes on in a context
 * that has failed. */
static bool is_busy(struct weft_gpu_lane *lane, uint32_t copy, uint32_t begun)
{
	return __atomic_load_n(&lane->begun[copy], __ATOMIC_ACQUIRE) == begun &&
	       __atomic_load_n(&lane->ended[copy], __ATOMIC_ACQUIRE) != begun &&
	       ask(lane, copy) == CU_NOT_READY;
}

bool weft_gpu_lane_settle(struct weft_gpu_lane *lane)
{
	const struct timespec a_while = { .tv_nsec = 1000000 };
	uint32_t begun[WEFT_GPU_COPIES_MAX], waits = 0;

	for (uint32_t i = 0; i < lane->copies; i++)
		begun[i] = __atomic_load_n(&lane->begun[i], __ATOMIC_ACQUIRE);
	if (__atomic_load_n(&lane->lost, __ATOMIC_ACQUIRE))
		return false;
	for (uint32_t i = 0; i < lane->copies; i++) {
		while (is_busy(lane, i, begun[i])) {
			if (waits++ == WAITS_MAX)
				return false;
			(void)nanosleep(&a_while, NULL);
		}
	}
	return true;
}

bool weft_gpu_lane_close(struct weft_gpu_lane *lane)
{
	if (!weft_gpu_lane_settle(lane)) { /* to destroy what hangs may hang */
		pthread_mutex_lock(&lost_lock);
		lane->next = lost;
		lost = lane;
		pthread_mutex_unlock(&lost_lock);
		return false;
	}
	if (!place_enter(&lane->place)) {
		unmake(lane);
		place_leave();
	}
	weft_gpu_forget(&lane->place);
	free(lane);
	return true;
}

int weft_gpu_copy(struct weft_gpu_lane *lane, uint32_t copy, enum weft_gpu_way way, uint64_t at,
	void *host, size_t bytes)
{
	const struct driver *d = driver_get();
	int rc = place_enter(&lane->place);

	if (rc)
		return rc;
	if (way == WEFT_GPU_FROM_HOST)
		rc = d->to_gpu(at, host, bytes, lane->stream);
	else
		rc = d->to_host(host, at, bytes, lane->stream);
	if (!rc) {
		rc = d->event_record(lane->events[copy], lane->stream);
		__atomic_store_n(&lane->begun[copy], lane->begun[copy] + 1, __ATOMIC_RELEASE);
		if (rc)
			__atomic_store_n(&lane->lost, true, __ATOMIC_RELEASE);
	}
	place_leave();
	return rc;
}

int weft_gpu_copied(struct weft_gpu_lane *lane, uint32_t copy, bool *done)
{
	int rc = ask(lane, copy);

	*done = !rc;
	if (!rc)
		__atomic_store_n(&lane->ended[copy], lane->begun[copy], __ATOMIC_RELEASE);
	return rc == CU_NOT_READY ? CU_OK : rc;
}
