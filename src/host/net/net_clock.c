/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * net_clock - the one file that asks the operating system what time it is.
 *
 * CLOCK_MONOTONIC, because the engine wants a time that never runs backwards and because it is the
 * same for every process of a machine, so that reports of two ends can be laid side by side.  A
 * raw cycle counter is 10 ns cheaper per read, but the pump reads once per burst and would have
 * to calibrate it.
 */
#include <weft/base.h>
#include <weft/net.h>

#include <time.h>

static uint64_t read_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t weft_clock_now(void *arg)
{
	(void)arg;
	return read_ns(CLOCK_MONOTONIC);
}

uint64_t weft_clock_cpu_ns(void)
{
	return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t weft_clock_thread_ns(void)
{
	return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t weft_clock_unix_ns(void)
{
	return read_ns(CLOCK_REALTIME);
}

void weft_clock_sleep(uint64_t ns)
{
	struct timespec ts = { .tv_sec = (time_t)(ns / 1000000000u),
		.tv_nsec = (long)(ns % 1000000000u) };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

int weft_clock_left_ms(uint64_t deadline_ns)
{
	uint64_t now = weft_clock_now(NULL);

	if (deadline_ns <= now)
		return 0;
	return (int)WEFT_MIN((deadline_ns - now + 999999) / 1000000, (uint64_t)3600000);
}
