/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ears - the switch is woken where the one who wakes it runs.
 *
 *    program on CPU 0 --ear 0--> thread on CPU 0 --+
 *    program on CPU 1 --ear 1--> thread on CPU 1 --+-- baton: one of them at a time is the switch
 *    control, interfaces, time ----> main thread --+
 *
 * To wake a thread on another CPU costs a virtual machine 10 us at either end, on the same CPU 2.
 * Programs for RDMA poll, so all CPUs are taken and the thread that forwards has to take one from
 * somebody; if it is the sender's, whom it has just interrupted anyway, nobody waits for an
 * interrupt of another CPU.  That is how the kernel forwards, too: in the sender's system call.
 *
 * Ears serve messages that somebody waits for.  Whatever takes time goes to the main thread, which
 * may run anywhere: what its sender calls a stream, for which it gathers, and events that lie
 * ahead.  Where lines are slow every packet has such events, and there are no ears.
 *
 * An ear that finds the baton taken leaves its work to who has it.  The main thread waits for it:
 * an ear that has it sees that it is wanted after each turn, and lets it go.
 */
#include "switchd_local.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

void baton_take(struct weft_switchd *sw)
{
	atomic_fetch_add(&sw->ears.waiting, 1);
	(void)pthread_mutex_lock(&sw->ears.baton);
	atomic_fetch_sub(&sw->ears.waiting, 1);
}

void baton_give(struct weft_switchd *sw)
{
	(void)pthread_mutex_unlock(&sw->ears.baton);
}

bool ears_are_called(struct weft_switchd *sw)
{
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load_explicit(&sw->ears.called, memory_order_seq_cst);
}

bool baton_is_wanted(struct weft_switchd *sw)
{
	return atomic_load_explicit(&sw->ears.waiting, memory_order_relaxed) > 0;
}

static void ring(int fd)
{
	uint64_t one = 1;

	(void)!write(fd, &one, sizeof(one));
}

void ears_heard(struct weft_switchd *sw)
{
	uint64_t count;

	(void)!read(sw->ears.kick_fd, &count, sizeof(count));
}

/* Turns with the baton until there is nothing to do, or it is somebody else's to do. */
static void work(struct weft_switchd *sw)
{
	(void)nic_will_sleep(sw, false);
	while (!baton_is_wanted(sw)) {
		uint64_t now_ns = real_now_ns();
		size_t moved = loop_turn(sw, now_ns);

		loop_judge(sw, now_ns, moved);
		uint64_t wait_ns = loop_wait_ns(sw);

		if ((wait_ns >= LOOP_AWAKE_NS && wait_ns != WEFT_NEVER) ||
			loop_gathers(sw, moved)) {
			ring(sw->ears.kick_fd);
			return;
		}
		if (wait_ns != WEFT_NEVER)
			continue;
		/* Who sends cannot have more ready: we have his CPU. */
		if (nic_will_sleep(sw, true))
			return;
		(void)nic_will_sleep(sw, false);
	}
}

/*
 * Where another has the baton, he looks once more before he sleeps: to stand in line for it would
 * cost a wake-up from CPU to CPU.  The store and the fence come before the try, his unlock before
 * his look at `called`: one of us sees the other.
 */
static void answer_call(struct weft_switchd *sw)
{
	atomic_store_explicit(&sw->ears.called, true, memory_order_seq_cst);
	while (ears_are_called(sw) && !pthread_mutex_trylock(&sw->ears.baton)) {
		atomic_store_explicit(&sw->ears.called, false, memory_order_seq_cst);
		work(sw);
		baton_give(sw);
	}
}

/* Each hears the end for itself: another's call may be taken for its own, the end may not. */
static void *listen_here(void *arg)
{
	struct ear *ear = arg;
	struct weft_switchd *sw = ear->sw;
	uint64_t count;

	(void)loop_real_time(); /* a new thread does not inherit it */
	while (!atomic_load(&sw->ears.ends)) {
		answer_call(sw);
		/* Somebody has made it one that does not block? */
		if (read(ear->fd, &count, sizeof(count)) < 0 && errno == EAGAIN)
			(void)poll(&(struct pollfd){ .fd = ear->fd, .events = POLLIN }, 1, -1);
	}
	return NULL;
}

/* ---- beginning and end ---- */

/* How many: one per CPU, where these are few, and all of them ours. */
static uint32_t wanted(const struct weft_switchd *sw)
{
	const struct weft_topo_shape *s = sw->shape;
	uint64_t line_ns = sw->nic.frame_ps / 1000;
	cpu_set_t cpus;
	uint32_t n;

	if (line_ns >= LOOP_AWAKE_NS || s->host_delay_ns >= LOOP_AWAKE_NS ||
		s->core_delay_ns >= LOOP_AWAKE_NS || sched_getaffinity(0, sizeof(cpus), &cpus))
		return 0;
	n = (uint32_t)CPU_COUNT(&cpus);
	if (n < 2 || n > WEFT_SHM_EARS_MAX)
		return 0;
	for (uint32_t cpu = 0; cpu < n; cpu++) {
		if (!CPU_ISSET(cpu, &cpus))
			return 0;
	}
	return n;
}

static bool open_ear(struct weft_switchd *sw, struct ear *ear, uint32_t cpu)
{
	pthread_attr_t attr;
	cpu_set_t only;

	ear->sw = sw;
	ear->fd = eventfd(0, EFD_CLOEXEC);
	if (ear->fd < 0)
		return false;
	CPU_ZERO(&only);
	CPU_SET(cpu, &only);
	bool ok = !pthread_attr_init(&attr);

	if (ok) {
		ok = !pthread_attr_setaffinity_np(&attr, sizeof(only), &only) &&
		     !pthread_create(&ear->thread, &attr, listen_here, ear);
		(void)pthread_attr_destroy(&attr);
	}
	if (!ok)
		(void)close(ear->fd);
	return ok;
}

void ears_open(struct weft_switchd *sw, bool is_real_time)
{
	struct ears *ears = &sw->ears;
	sigset_t all, before;
	uint32_t n = is_real_time ? wanted(sw) : 0;

	baton_take(sw);
	if (!n)
		return;
	ears->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ears->kick_fd < 0 || !watch_add(sw, ears->kick_fd, WATCH_EARS, 0))
		return;
	/* Signals are the main thread's: they end its sleep. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	while (ears->n < n && open_ear(sw, &ears->ear[ears->n], ears->n))
		ears->n++;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void ears_close(struct weft_switchd *sw)
{
	struct ears *ears = &sw->ears;

	atomic_store(&ears->ends, true); /* before they are rung */
	baton_give(sw);
	for (uint32_t i = 0; i < ears->n; i++)
		ring(ears->ear[i].fd);
	for (uint32_t i = 0; i < ears->n; i++) {
		(void)pthread_join(ears->ear[i].thread, NULL);
		(void)close(ears->ear[i].fd);
	}
	if (ears->kick_fd >= 0)
		(void)close(ears->kick_fd);
	ears->kick_fd = -1;
	ears->n = 0;
	atomic_store(&ears->ends, false);
}

void ears_lend(const struct weft_switchd *sw, struct weft_shm_link *link)
{
	int fds[WEFT_SHM_EARS_MAX];

	for (uint32_t i = 0; i < sw->ears.n; i++)
		fds[i] = sw->ears.ear[i].fd;
	(void)weft_shm_ears_lend(link, fds, sw->ears.n); /* without, he rings by the line */
}
