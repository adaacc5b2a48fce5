/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * poisson - flows that come by themselves, as in a data centre.
 *
 * Times between them are exponential, sources and destinations uniform, sizes from a distribution.
 * `load` is the share of all hosts' lines, headers not counted.  Distributions are points of what
 * was published: web search is DCTCP's (SIGCOMM 2010, Fig. 4), Hadoop Facebook's (Roy et al.,
 * SIGCOMM 2015), both in the coarse form in which simulators use them; between points it is linear.
 */
#include "workload_local.h"

#include <stdlib.h>

struct point {
	double bytes, share;
};
static const struct point websearch[] = { { 1, 0 }, { 10e3, .15 }, { 20e3, .2 }, { 30e3, .3 },
	{ 50e3, .4 }, { 80e3, .53 }, { 200e3, .6 }, { 1e6, .7 }, { 2e6, .8 }, { 5e6, .9 },
	{ 10e6, .97 }, { 30e6, 1 } };
static const struct point hadoop[] = { { 1, 0 }, { 250, .2 }, { 400, .4 }, { 700, .5 }, { 1e3, .6 },
	{ 7e3, .7 }, { 50e3, .8 }, { 120e3, .9 }, { 300e3, .95 }, { 1e6, .975 }, { 2e6, .99 },
	{ 10e6, 1 } };

static const struct point *points_of(const struct weft_workload_spec *spec, unsigned *n)
{
	*n = spec->sizes == WEFT_SIZES_WEBSEARCH ? WEFT_COUNT(websearch) : WEFT_COUNT(hadoop);
	return spec->sizes == WEFT_SIZES_WEBSEARCH ? websearch : hadoop;
}

static double mean_bytes(const struct weft_workload_spec *spec)
{
	unsigned n;
	const struct point *p = points_of(spec, &n);
	double sum = 0;

	if (spec->sizes == WEFT_SIZES_FIXED)
		return (double)spec->bytes;
	for (unsigned i = 1; i < n; i++)
		sum += (p[i].share - p[i - 1].share) * (p[i].bytes + p[i - 1].bytes) / 2;
	return sum;
}

static double uniform(struct build *b)
{
	return (double)(weft_rng_u64(&b->rng) >> 11) * 0x1p-53;
}

/* Exponential, of mean 1, by comparing uniform numbers (von Neumann, 1951): the C library's log may
 * differ from machine to machine.
 */
static double exponential(struct build *b)
{
	for (double whole = 0;; whole++) {
		double first = uniform(b), last = first;
		unsigned n = 1;

		for (double next = uniform(b); next < last; next = uniform(b)) {
			last = next;
			n++;
		}
		if (n % 2)
			return whole + first;
	}
}

static uint64_t draw_bytes(struct build *b)
{
	unsigned n, i = 1;
	const struct point *p = points_of(b->spec, &n);

	if (b->spec->sizes == WEFT_SIZES_FIXED)
		return b->spec->bytes;
	double u = uniform(b);

	while (i + 1 < n && u > p[i].share)
		i++;
	double way = (u - p[i - 1].share) / (p[i].share - p[i - 1].share);

	return (uint64_t)(p[i - 1].bytes + way * (p[i].bytes - p[i - 1].bytes) + 0.5);
}

bool poisson_add(struct build *b)
{
	const struct weft_workload_spec *spec = b->spec;
	const struct weft_topo_shape *s = weft_topo_shape(b->topo);
	double line = (double)s->host_bps * s->planes / 8e12; /* bytes per ps */
	double rate = line * b->n * spec->load_permille / 1000 / mean_bytes(spec);
	double at = 0, flows = rate * (double)spec->for_ps;

	if (!spec->load_permille || !spec->for_ps)
		return build_fail(b, "poisson wants load (0.6) and for (1ms)");
	if (flows * 2 > WEFT_WORKLOAD_FLOWS_MAX)
		return build_fail(b, "%.0f flows, allowed are %u", flows,
			(unsigned)WEFT_WORKLOAD_FLOWS_MAX / 2);
	for (;;) {
		at += exponential(b) / rate;
		if (at >= (double)spec->for_ps || b->load->broken)
			return true;
		uint32_t src = (uint32_t)weft_rng_below(&b->rng, b->n);
		uint32_t dst = (uint32_t)weft_rng_below(&b->rng, b->n - 1);

		dst += dst >= src;
		build_send(b, b->hosts[src], b->hosts[dst], draw_bytes(b));
		build_last(b)->start_ps += (uint64_t)at;
	}
}
