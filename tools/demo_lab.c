/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_lab - a fabric for one demo, and its certain end.
 *
 * Its name has our process id in it, so demos do not meet.
 */
#include "demo.h"
#include "lab_guard.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <weft/base.h>

#define MTU_BYTES 4252

volatile sig_atomic_t demo_stopped;

static void on_signal(int number)
{
	(void)number;
	demo_stopped = 1;
}

void demo_catch_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = on_signal };

	for (size_t i = 0; i < WEFT_COUNT(numbers); i++)
		(void)sigaction(numbers[i], &action, NULL);
}

static int write_fabric(const struct demo *demo, const char *path, char *error, size_t error_bytes)
{
	FILE *out = fopen(path, "w");

	if (out)
		fprintf(out,
			"# Written by weft demo: examples/fabrics/lab8.yaml with other speeds.\n"
			"name: demo\nplanes: %d\nt0s: 2\nt1s: 2\nhosts: 4\nmtu: %d\n"
			"host_links: {speed: %uMb/s, delay: 0ns}\n"
			"core_links: {speed: %uMb/s, delay: 0ns}\n"
			"switch: {queue: 500KB}\n",
			DEMO_PLANES, MTU_BYTES, (unsigned)(demo->rate_bps / 1000000),
			(unsigned)(demo->rate_bps / 1000000));
	if (out && !fclose(out))
		return 0;
	(void)snprintf(error, error_bytes, "%s: %s", path, strerror(errno));
	return -1;
}

int demo_lab_up(struct demo *demo, char *error, size_t error_bytes)
{
	static char name[WEFT_TOPO_NAME_BYTES];
	char path[4096];
	const struct weft_lab_options up = {
		.fabric = path, .name = name, .switches = demo->switches
	};

	(void)snprintf(name, sizeof(name), "demo-%d", (int)getpid());
	demo->lab_name = name;
	(void)snprintf(path, sizeof(path), "%s/fabric.yaml", demo->folder);
	if (write_fabric(demo, path, error, error_bytes))
		return -1;
	if (!lab_guard_start(name)) {
		(void)snprintf(error, error_bytes, "fork: %s", strerror(errno));
		return -1;
	}
	if (weft_lab_up(&up, error, error_bytes) ||
		weft_lab_open(&demo->lab, name, error, error_bytes))
		return -1;
	demo->sender = weft_topo_node_find(weft_lab_topo(demo->lab), "h0");
	demo->receiver = weft_topo_node_find(weft_lab_topo(demo->lab), "h2");
	return 0;
}

void demo_lab_down(struct demo *demo)
{
	weft_lab_close(demo->lab);
	demo->lab = NULL;
	lab_guard_end();
}
