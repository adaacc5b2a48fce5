/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_watch - what else went on: where the bytes came in, and whether the machine stood still.
 *
 * Bytes per plane are the kernel's own counters of the receiver's ports, so they hold for every
 * transport alike and nobody counts for himself.  The machine's gaps are measured by threads that
 * do nothing but ask to be woken a millisecond later: what keeps them from it (another process, a
 * hypervisor that gave the CPU away) keeps a transport from its CPU just so.  They have the pumps'
 * own priority: what those need not wait for is no excuse.
 */
#include "demo.h"
#include "live_args.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/base.h>
#include <weft/net.h>

#define NAP_US 1000

struct watcher {
	pthread_t thread;
	struct demo_watch *watch;
	size_t n;
	struct demo_gap gaps[DEMO_GAPS_MAX];
};

struct demo_watch {
	atomic_bool stop;
	unsigned n;
	struct watcher cpus[DEMO_WATCH_CPUS_MAX];
};

static void *look(void *arg)
{
	struct watcher *w = arg;
	live_hurry();
	uint64_t before = weft_clock_now(NULL);

	while (!atomic_load_explicit(&w->watch->stop, memory_order_relaxed)) {
		usleep(NAP_US);
		uint64_t now = weft_clock_now(NULL), due = before + NAP_US * 1000;

		if (now >= due + DEMO_GAP_NS && w->n < DEMO_GAPS_MAX)
			w->gaps[w->n++] = (struct demo_gap){ due, now - due };
		before = now;
	}
	return NULL;
}

struct demo_watch *watch_start(void)
{
	struct demo_watch *watch = calloc(1, sizeof(*watch));
	cpu_set_t usable, one;

	if (!watch || sched_getaffinity(0, sizeof(usable), &usable))
		return watch;
	for (size_t cpu = 0; cpu < CPU_SETSIZE && watch->n < DEMO_WATCH_CPUS_MAX; cpu++) {
		struct watcher *w = &watch->cpus[watch->n];
		pthread_attr_t attr;

		if (!CPU_ISSET(cpu, &usable))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		w->watch = watch;
		(void)pthread_attr_init(&attr);
		(void)pthread_attr_setaffinity_np(&attr, sizeof(one), &one);
		watch->n += !pthread_create(&w->thread, &attr, look, w);
		(void)pthread_attr_destroy(&attr);
	}
	return watch;
}

static int by_time(const void *a, const void *b)
{
	const struct demo_gap *one = a, *two = b;

	return one->at_ns < two->at_ns ? -1 : one->at_ns > two->at_ns;
}

size_t watch_stop(struct demo_watch *watch, struct demo_gap gaps[], size_t n)
{
	size_t taken = 0;

	if (!watch)
		return 0;
	atomic_store(&watch->stop, true);
	for (unsigned i = 0; i < watch->n; i++) {
		struct watcher *w = &watch->cpus[i];

		(void)pthread_join(w->thread, NULL);
		size_t take = WEFT_MIN(w->n, n - taken);
		memcpy(gaps + taken, w->gaps, take * sizeof(*gaps));
		taken += take;
	}
	free(watch);
	qsort(gaps, taken, sizeof(*gaps), by_time);
	return taken;
}

/* ---- bytes per plane ---- */

static bool make_room(struct demo_samples *s, uint32_t planes)
{
	if (s->n < s->room)
		return true;
	size_t room = s->room ? 2 * s->room : 1024;
	uint64_t *at_ns = realloc(s->at_ns, room * sizeof(*at_ns));

	if (at_ns)
		s->at_ns = at_ns;
	uint64_t *bytes = realloc(s->bytes, room * planes * sizeof(*bytes));
	if (bytes)
		s->bytes = bytes;
	if (!at_ns || !bytes)
		return false;
	s->room = room;
	s->planes = planes;
	return true;
}

static void sample_t1s(struct demo_samples *s, struct weft_lab *lab)
{
	const struct weft_topo *topo = weft_lab_topo(lab);
	struct weft_lab_end_stats ends[2];

	memcpy(s->t1_bytes[1], s->t1_bytes[0], sizeof(s->t1_bytes[1]));
	for (uint32_t t1 = 0; t1 < 2 && t1 < weft_topo_shape(topo)->t1s; t1++) {
		uint32_t link = weft_topo_port_link(topo, weft_topo_t1(topo, 0, t1), 0);

		if (link != WEFT_TOPO_NONE && !weft_lab_link_stats(lab, link, ends))
			s->t1_bytes[0][t1] = ends[1].rx_bytes;
	}
}

int samples_take(struct demo_samples *s, struct weft_lab *lab, uint32_t host, uint64_t now)
{
	const struct weft_topo_shape *shape = weft_topo_shape(weft_lab_topo(lab));

	if (!make_room(s, shape->planes))
		return -1;
	s->at_ns[s->n] = now;
	for (uint32_t plane = 0; plane < shape->planes; plane++) {
		struct weft_lab_end_stats ends[2];

		if (weft_lab_link_stats(lab, host * shape->planes + plane, ends))
			return -1;
		s->bytes[s->n * s->planes + plane] = ends[0].rx_bytes;
	}
	s->n++;
	sample_t1s(s, lab);
	return 0;
}

uint64_t samples_total(const struct demo_samples *s)
{
	uint64_t total = 0;

	for (uint32_t plane = 0; s->n && plane < s->planes; plane++)
		total += s->bytes[(s->n - 1) * s->planes + plane] - s->bytes[plane];
	return total;
}

uint32_t samples_busy_t1(const struct demo_samples *s)
{
	return s->t1_bytes[0][1] - s->t1_bytes[1][1] > s->t1_bytes[0][0] - s->t1_bytes[1][0];
}

void samples_end(struct demo_samples *s)
{
	free(s->at_ns);
	free(s->bytes);
	memset(s, 0, sizeof(*s));
}
