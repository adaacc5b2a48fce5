/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait - until a socket is ready: rpoll(), rselect(), and every call that blocks.
 *
 * What can wake a socket (completions, connection events) is one epoll set, whose
 * descriptor is the socket's number; so sockets and other people's descriptors wait in one poll().
 * The completion queue is armed before, and looked at once more after.
 *
 * Threads at one socket share its events: who is woken takes them all, and the others might sleep
 * on with their condition fulfilled.  So it kicks: an eventfd in the set stays readable until all
 * that slept at that moment have looked.
 */
#include "rsocket_local.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/net.h>

#define LOOKS 32       /* at the queue, before sleeping */
#define EVENTS_EACH 64 /* looks without news, after which connection events are looked for */

int64_t wait_now_ms(void)
{
	return (int64_t)(weft_clock_now(NULL) / 1000000);
}

void wait_progress(struct rsock *rs)
{
	if (rs->dgram) {
		dgram_progress(rs);
		return;
	}
	if (is_connected(rs))
		link_drain(rs);
	if (rs->state == LISTENING || rs->state == CONNECTING || rs->state == JOINING ||
		rs->cm_is_due || ++rs->idle % EVENTS_EACH == 0) {
		rs->cm_is_due = false;
		meet_progress(rs);
	}
}

static short stream_ready(const struct rsock *rs)
{
	short ready = 0;

	switch (rs->state) {
	case LISTENING:
		return rs->requests ? POLLIN | POLLRDNORM : 0;
	case CONNECTING:
		return 0;
	case JOINING:
	case JOINED:
		if (flow_readable(&rs->flow) || rs->peer_fin & FIN_WRITE || rs->own_fin & FIN_READ)
			ready |= POLLIN | POLLRDNORM;
		if (rs->own_fin & FIN_WRITE || rs->peer_fin & FIN_READ ||
			(rs->state == JOINED && flow_is_roomy(&rs->flow)))
			ready |= POLLOUT | POLLWRNORM;
		if (rs->peer_fin & FIN_WRITE)
			ready |= POLLRDHUP;
		if (rs->peer_fin & FIN_WRITE && rs->own_fin & FIN_WRITE)
			ready |= POLLHUP;
		return ready;
	case BROKEN:
		return (short)(POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM | POLLHUP | POLLRDHUP |
			       (rs->error ? POLLERR : 0));
	default:
		return POLLOUT | POLLHUP;
	}
}

short wait_ready(struct rsock *rs, short events)
{
	if (rs->closed)
		return POLLNVAL;
	short ready = rs->dgram ? dgram_ready(rs) : stream_ready(rs);

	return (short)(ready & (events | POLLERR | POLLHUP));
}

/* ---- sleeping, and being woken ---- */

/* What has made the descriptor readable is taken; it costs calls, so only after sleeping. */
static void take_events(struct rsock *rs)
{
	struct ibv_cq *cq;
	void *user;

	rs->cm_is_due = true;
	while (rs->completions && !ibv_get_cq_event(rs->completions, &cq, &user)) {
		ibv_ack_cq_events(cq, 1);
		rs->armed = false;
	}
}

/* With the lock, before sleeping. */
static void arm(struct rsock *rs)
{
	if (!rs->cq || rs->armed)
		return;
	rs->armed = true;
	(void)ibv_req_notify_cq(rs->cq, 0);
	wait_progress(rs);
}

/* What a sleeper keeps of a socket meanwhile. */
struct sleeper {
	struct rsock *rs;
	uint32_t kick_age;
};

static struct sleeper fall_asleep(struct rsock *rs)
{
	rs->waiters++;
	return (struct sleeper){ rs, rs->kick_age };
}

static void wake_up(struct sleeper *sleeper)
{
	struct rsock *rs = sleeper->rs;
	uint64_t count;

	rs->waiters--;
	if (rs->kick_left && sleeper->kick_age != rs->kick_age && !--rs->kick_left)
		(void)!read(rs->kick_fd, &count, sizeof(count));
	take_events(rs);
	/* The others must look, too.  While a kick lasts, they will. */
	if (!rs->waiters || rs->kick_left)
		return;
	count = 1;
	rs->kick_left = rs->waiters;
	rs->kick_age++;
	(void)!write(rs->kick_fd, &count, sizeof(count));
}

static int left_ms(int timeout_ms, int64_t until_ms)
{
	if (timeout_ms < 0)
		return -1;
	int64_t left = until_ms - wait_now_ms();

	return left > 0 ? (int)left : 0;
}

/* A call that is cancelled ends as any other: it has the socket once, see table_enter(). */
static void end_call(void *arg)
{
	struct sleeper *sleeper = arg;

	weft_lock_take(&sleeper->rs->lock);
	wake_up(sleeper);
	weft_lock_give(&sleeper->rs->lock);
	table_put(sleeper->rs);
}

/* Sleeps once.  0, or EINTR.  The one cancellation point of calls at a single socket. */
static int sleep_on(struct rsock *rs, int timeout_ms)
{
	struct sleeper sleeper = fall_asleep(rs);
	struct pollfd fd = { .fd = rs->fd, .events = POLLIN };
	int error;

	weft_lock_give(&rs->lock);
	pthread_cleanup_push(end_call, &sleeper);
	error = poll(&fd, 1, timeout_ms) < 0 ? errno : 0;
	pthread_cleanup_pop(0);
	weft_lock_take(&rs->lock);
	wake_up(&sleeper);
	return error;
}

int wait_until(struct rsock *rs, bool (*f)(struct rsock *rs), int timeout_ms)
{
	int64_t until_ms = timeout_ms < 0 ? 0 : wait_now_ms() + timeout_ms;

	for (uint32_t looks = 0;; looks++) {
		wait_progress(rs);
		if (rs->closed)
			return EBADF;
		if (f(rs))
			return 0;
		if (looks < LOOKS && timeout_ms)
			continue;
		arm(rs);
		if (f(rs))
			return 0;
		int left = left_ms(timeout_ms, until_ms);
		if (!left)
			return EAGAIN;
		int error = sleep_on(rs, left);
		if (error)
			return error;
	}
}

static bool can_read(struct rsock *rs)
{
	return wait_ready(rs, POLLIN) != 0;
}

static bool can_write(struct rsock *rs)
{
	return wait_ready(rs, POLLOUT) != 0;
}

int wait_for(struct rsock *rs, short events, int timeout_ms)
{
	return wait_until(rs, events & POLLIN ? can_read : can_write, timeout_ms);
}

/* ---- many ---- */

struct crowd {
	struct pollfd *fds, *kernel;
	struct sleeper *sleepers;
	struct rsock **sockets; /* NULL: somebody else's descriptor */
	nfds_t n;
	int cancel; /* the thread's state outside of the call */
};

static void crowd_free(struct crowd *crowd)
{
	for (nfds_t i = 0; crowd->sockets && i < crowd->n; i++) {
		if (crowd->sockets[i])
			table_put(crowd->sockets[i]);
	}
	free(crowd->kernel);
	free(crowd->sleepers);
	free(crowd->sockets);
}

static bool crowd_make(struct crowd *crowd, struct pollfd *fds, nfds_t n)
{
	int error = errno;

	*crowd = (struct crowd){ .fds = fds, .n = n };
	crowd->kernel = calloc(n + 1, sizeof(*crowd->kernel));
	crowd->sleepers = calloc(n + 1, sizeof(*crowd->sleepers));
	crowd->sockets = calloc(n + 1, sizeof(*crowd->sockets));
	if (!crowd->kernel || !crowd->sleepers || !crowd->sockets) {
		crowd_free(crowd);
		return false;
	}
	for (nfds_t i = 0; i < n; i++)
		crowd->sockets[i] = fds[i].fd < 0 ? NULL : table_get(fds[i].fd);
	errno = error;
	return true;
}

/* How many sockets are ready.  to_sleep: the rest is armed, and those noted as sleepers. */
static int crowd_look(struct crowd *crowd, bool to_sleep)
{
	int n = 0;

	for (nfds_t i = 0; i < crowd->n; i++) {
		struct pollfd *fd = &crowd->fds[i];
		struct rsock *rs = crowd->sockets[i];

		crowd->kernel[i] = (struct pollfd){ .fd = fd->fd, .events = fd->events };
		fd->revents = 0;
		if (!rs)
			continue;
		weft_lock_take(&rs->lock);
		wait_progress(rs);
		if (to_sleep && !wait_ready(rs, fd->events))
			arm(rs);
		fd->revents = wait_ready(rs, fd->events);
		n += fd->revents != 0;
		crowd->kernel[i] =
			(struct pollfd){ .fd = to_sleep ? rs->fd : -1, .events = POLLIN };
		if (to_sleep)
			crowd->sleepers[i] = fall_asleep(rs);
		weft_lock_give(&rs->lock);
	}
	return n;
}

static void crowd_wake(struct crowd *crowd)
{
	for (nfds_t i = 0; i < crowd->n; i++) {
		struct rsock *rs = crowd->sockets[i];

		if (!rs)
			continue;
		weft_lock_take(&rs->lock);
		wake_up(&crowd->sleepers[i]);
		weft_lock_give(&rs->lock);
	}
}

/* The kernel's answers about its own. */
static int crowd_merge(struct crowd *crowd)
{
	int n = 0;

	for (nfds_t i = 0; i < crowd->n; i++) {
		if (crowd->sockets[i])
			continue;
		crowd->fds[i].revents = crowd->kernel[i].revents;
		n += crowd->fds[i].revents != 0;
	}
	return n;
}

static bool has_others(const struct crowd *crowd)
{
	for (nfds_t i = 0; i < crowd->n; i++) {
		if (!crowd->sockets[i] && crowd->fds[i].fd >= 0)
			return true;
	}
	return false;
}

/* Without sleeping; -1: failed. */
static int crowd_glance(struct crowd *crowd)
{
	int n = crowd_look(crowd, false);

	if (!has_others(crowd))
		return n;
	return poll(crowd->kernel, crowd->n, 0) < 0 ? -1 : n + crowd_merge(crowd);
}

static void end_crowd(void *arg)
{
	struct crowd *crowd = arg;

	(void)weft_cancel_off();
	crowd_wake(crowd);
	crowd_free(crowd);
}

/* The one cancellation point of calls at many sockets. */
static int crowd_sleep(struct crowd *crowd, int timeout_ms)
{
	int rc, error;

	pthread_cleanup_push(end_crowd, crowd);
	weft_cancel_on(crowd->cancel);
	rc = poll(crowd->kernel, crowd->n, timeout_ms);
	error = errno;
	(void)weft_cancel_off();
	pthread_cleanup_pop(0);
	errno = error;
	return rc;
}

static int crowd_wait(struct crowd *crowd, int timeout_ms)
{
	int64_t until_ms = timeout_ms < 0 ? 0 : wait_now_ms() + timeout_ms;
	uint32_t looks = 0;

	for (;;) {
		int n = crowd_glance(crowd);

		if (n || !timeout_ms)
			return n;
		if (looks++ < LOOKS)
			continue;
		int left = left_ms(timeout_ms, until_ms);
		n = crowd_look(crowd, true);
		int rc = crowd_sleep(crowd, n ? 0 : left);
		int error = errno;
		crowd_wake(crowd);
		if (rc < 0)
			return fail(error);
		n += crowd_merge(crowd);
		if (n)
			return n;
		if (!left)
			return crowd_glance(crowd);
	}
}

int rpoll(struct pollfd *fds, nfds_t n, int timeout)
{
	int cancel = weft_cancel_off();
	struct crowd crowd;
	int result = -1, error = ENOMEM;

	if (crowd_make(&crowd, fds, n)) {
		crowd.cancel = cancel;
		result = crowd_wait(&crowd, timeout);
		error = errno;
		crowd_free(&crowd);
	}
	weft_cancel_on(cancel);
	errno = error;
	return result;
}

static bool is_in(const fd_set *set, int fd)
{
	return set && FD_ISSET(fd, set);
}

/* Leaves the bit if the descriptor is so; counts it. */
static int answer(fd_set *set, int fd, bool is_so)
{
	if (!is_in(set, fd))
		return 0;
	if (!is_so)
		FD_CLR(fd, set);
	return is_so;
}

static int poll_or_free(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	int rc;

	pthread_cleanup_push(free, fds);
	rc = rpoll(fds, n, timeout_ms);
	pthread_cleanup_pop(0);
	return rc;
}

int rselect(int n, fd_set *readable, fd_set *writable, fd_set *odd, struct timeval *timeout)
{
	int64_t wait_ms = timeout ? timeout->tv_sec * 1000LL + (timeout->tv_usec + 999) / 1000 : -1;
	struct pollfd *fds = calloc((size_t)WEFT_MAX(n, 0) + 1, sizeof(*fds));
	nfds_t used = 0;
	int count = 0;

	if (!fds)
		return fail(ENOMEM);
	for (int i = 0; i < n; i++) {
		short events =
			(short)((is_in(readable, i) ? POLLIN : 0) |
				(is_in(writable, i) ? POLLOUT : 0) | (is_in(odd, i) ? POLLPRI : 0));
		if (events)
			fds[used++] = (struct pollfd){ .fd = i, .events = events };
	}
	int rc = poll_or_free(fds, used, (int)WEFT_MIN(wait_ms, (int64_t)INT32_MAX));
	int error = rc < 0 ? errno : 0;
	for (nfds_t i = 0; i < used && !error; i++) {
		short is = fds[i].revents;

		if (is & POLLNVAL)
			error = EBADF;
		count += answer(readable, fds[i].fd, is & (POLLIN | POLLHUP | POLLERR));
		count += answer(writable, fds[i].fd, is & (POLLOUT | POLLERR));
		count += answer(odd, fds[i].fd, is & POLLPRI);
	}
	free(fds);
	return error ? fail(error) : count;
}
