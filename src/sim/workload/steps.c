/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * steps - how long each step of a job took.
 *
 *   step 0 |-----------|            its flows, computing included, from the job's start on
 *   step 1             |---------|  counted from the end of the one before
 *   step 2             .......|     inside it: no time of its own
 *
 * That is what a person who trains sees.  A step of which one flow has not ended is not over, and
 * neither is any after it.
 */
#include "workload_local.h"

#include <stdlib.h>

static int by_time(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

uint64_t *weft_workload_steps(
	const struct weft_sim_flow flows[], const uint64_t end_ps[], uint32_t n, uint32_t *n_steps)
{
	enum { STEPS = UINT16_MAX + 1 };
	uint64_t *ends = calloc(STEPS, sizeof(*ends)), before_ps = n ? flows[0].start_ps : 0;

	*n_steps = 0;
	if (!ends)
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t *end = &ends[flows[i].step];

		*end = WEFT_MAX(*end, end_ps[i] ? end_ps[i] : WEFT_NEVER);
		before_ps = WEFT_MIN(before_ps, flows[i].start_ps);
	}
	for (uint32_t i = 0; i < STEPS; i++) {
		if (!ends[i]) /* a number that no flow has */
			continue;
		uint64_t end_of_it = ends[i];
		bool is_over = end_of_it != WEFT_NEVER && before_ps != WEFT_NEVER;

		ends[(*n_steps)++] = !is_over                ? WEFT_NEVER
				     : end_of_it > before_ps ? end_of_it - before_ps
							     : 0;
		before_ps = is_over ? WEFT_MAX(before_ps, end_of_it) : WEFT_NEVER;
	}
	qsort(ends, *n_steps, sizeof(*ends), by_time);
	return ends;
}
