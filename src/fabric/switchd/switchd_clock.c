/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * switchd_clock - real time, three times.
 *
 * CLOCK_MONOTONIC is what hosts stamp their descriptors with; the kernel stamps packets of
 * interfaces with CLOCK_REALTIME, so that one is asked too, and only the difference between two
 * readings close together is used.  The product's clock is net's; that room would bring the engine
 * along, which a switch has no use for.
 */
#include "switchd_local.h"

#include <time.h>

static uint64_t read_ns(clockid_t id)
{
	struct timespec t;

	(void)clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t real_now_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

uint64_t real_unix_ns(void)
{
	return read_ns(CLOCK_REALTIME);
}

void real_sleep_ns(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}
