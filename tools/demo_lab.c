/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_lab - a fabric for one demo, and its certain end.
 *
 * Its name has our process id in it, so demos do not meet.  Whatever way this program ends, a guard
 * process takes the lab down: it waits for the end of a pipe that nobody else holds.  A handler for
 * signals alone would not do, since SIGKILL and a crash have none.
 */
#include "demo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
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

/* The guard's whole life; it must outlive the Ctrl-C that ends its parent. */
static void guard(const char *lab_name, int end_fd)
{
	char error[DEMO_TEXT_BYTES], byte;
	struct weft_lab *lab;

	(void)setsid();
	(void)signal(SIGHUP, SIG_IGN);
	while (read(end_fd, &byte, 1) < 0 && errno == EINTR)
		;
	if (!weft_lab_open(&lab, lab_name, error, sizeof(error)))
		(void)weft_lab_down(lab, error, sizeof(error));
	_exit(0);
}

static pid_t guard_pid;
static int guard_fd = -1;

int demo_lab_up(struct demo *demo, char *error, size_t error_bytes)
{
	static char name[WEFT_TOPO_NAME_BYTES];
	char path[4096];
	int fds[2];
	const struct weft_lab_options up = {
		.fabric = path, .name = name, .switches = demo->switches
	};

	(void)snprintf(name, sizeof(name), "demo-%d", (int)getpid());
	demo->lab_name = name;
	(void)snprintf(path, sizeof(path), "%s/fabric.yaml", demo->folder);
	if (write_fabric(demo, path, error, error_bytes))
		return -1;
	fflush(NULL);
	if (pipe(fds) || (guard_pid = fork()) < 0) {
		(void)snprintf(error, error_bytes, "fork: %s", strerror(errno));
		return -1;
	}
	if (!guard_pid) {
		(void)close(fds[1]);
		guard(name, fds[0]);
	}
	(void)close(fds[0]);
	guard_fd = fds[1];
	(void)fcntl(guard_fd, F_SETFD, FD_CLOEXEC);
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
	if (guard_fd >= 0)
		(void)close(guard_fd);
	while (guard_pid > 0 && waitpid(guard_pid, NULL, 0) < 0 && errno == EINTR)
		;
	guard_fd = -1;
	guard_pid = 0;
}
