/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lab_clock - when a fault began and ends.
 *
 * The product's clock is net's; taking that room along for one number would make a keeper of
 * namespaces depend on the engine.  Nothing that is measured uses this one.
 */
#include "lab_local.h"

#include <time.h>

uint64_t clock_now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}
