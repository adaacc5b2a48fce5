/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device_stats - the devices that a process has, for its end: counters for whoever runs the
 * program, and a proper farewell.
 *
 * One line of JSON per device, when it is closed or the process ends, is appended to the file that
 * $WEFT_STATS names.  Programs end without closing (perftest does, where rdma_cm opened the
 * device): their peers shall have their last ACKs all the same.
 */
#include "device_local.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct weft_lock lock = WEFT_LOCK_INIT;
static struct weft_dev *first, *closed;
static bool is_told;
static const char *const reasons[GREET_REASONS] = { [GREET_MALFORMED] = "malformed",
	[GREET_FORGED] = "forged",
	[GREET_FLOOD] = "over_limit",
	[GREET_UNASKED] = "unasked" };

static void write_line(struct weft_dev *dev)
{
	const char *path = getenv("WEFT_STATS");
	FILE *file = path && *path && !device_is_dead(dev) ? fopen(path, "ae") : NULL;

	if (!file && path && *path && !device_is_dead(dev))
		say_no_stats(path, strerror(errno));
	if (!file)
		return;
	weft_lock_take(&dev->lock);
	const struct weft_counters *counters = weft_stats(dev->ep);
	const struct datagrams *ud = &dev->datagrams;

	setvbuf(file, NULL, _IOFBF, 16384); /* one write: processes share the file */
	fprintf(file, "{\"pid\": %ld, \"host\": \"%s\", \"device\": \"%s\"", (long)getpid(),
		weft_live_host(dev->live), dev->name.name);
	for (unsigned i = 0; weft_counter_name(i); i++)
		fprintf(file, ", \"%s\": %llu", weft_counter_name(i),
			(unsigned long long)weft_counter_value(counters, i));
	fprintf(file,
		", \"datagrams_too_long\": %llu, \"datagrams_refused\": %llu, "
		"\"datagrams_lost\": %llu, \"multicast_copies\": %llu, "
		"\"multicast_copies_refused\": %llu, \"members_refused\": %llu",
		(unsigned long long)ud->too_long, (unsigned long long)ud->refused,
		(unsigned long long)ud->lost, (unsigned long long)ud->copies,
		(unsigned long long)ud->copies_refused, (unsigned long long)ud->members_refused);
	/* What was dropped before the engine saw it: strangers' packets, and malformed ones. */
	const struct weft_port_stats *port = &weft_live_port(dev->live)->stats;

	for (unsigned i = 0; i < WEFT_DROP_COUNT; i++) {
		if (port->drops[i])
			fprintf(file, ", \"port_drop_%s\": %llu", weft_drop_name((enum weft_drop)i),
				(unsigned long long)port->drops[i]);
	}
	for (unsigned i = 0; i < GREET_REASONS; i++)
		fprintf(file, ", \"greetings_%s\": %llu", reasons[i],
			(unsigned long long)dev->greetings.refused[i]);
	fprintf(file, "}\n");
	weft_lock_give(&dev->lock);
	if (fclose(file))
		say_no_stats(path, strerror(errno));
}

static void at_end(void)
{
	weft_lock_take(&lock);
	for (struct weft_dev *dev = first; dev; dev = dev->next) {
		if (device_leave(dev))
			write_line(dev);
	}
	first = NULL;
	weft_lock_give(&lock);
}

/* Another thread of the parent may have had it. */
void stats_in_child(void)
{
	weft_lock_open(&lock);
}

void stats_register(struct weft_dev *dev)
{
	weft_lock_take(&lock);
	dev->next = first;
	first = dev;
	if (!is_told)
		is_told = !atexit(at_end);
	weft_lock_give(&lock);
}

void stats_forget(struct weft_dev *dev)
{
	struct weft_dev **at = &first;

	weft_lock_take(&lock);
	while (*at && *at != dev)
		at = &(*at)->next;
	if (*at) {
		*at = dev->next;
		write_line(dev);
	}
	weft_lock_give(&lock);
}

void stats_keep(struct weft_dev *dev)
{
	weft_lock_take(&lock);
	dev->next = closed;
	closed = dev;
	weft_lock_give(&lock);
}
