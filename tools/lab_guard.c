/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lab_guard - a process that takes a lab down, whatever way this program ends.
 *
 * It waits for the end of a pipe that nobody else holds.  A handler for signals alone would not do,
 * since SIGKILL and a crash have none.
 */
#include "lab_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/lab.h>

/* The guard's whole life; it must outlive the Ctrl-C that ends its parent. */
static void guard(const char *lab_name, int end_fd)
{
	char error[512], byte;
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

bool lab_guard_start(const char *lab_name)
{
	int fds[2];

	(void)fflush(NULL);
	if (pipe(fds) || (guard_pid = fork()) < 0)
		return false;
	if (!guard_pid) {
		(void)close(fds[1]);
		guard(lab_name, fds[0]);
	}
	(void)close(fds[0]);
	guard_fd = fds[1];
	(void)fcntl(guard_fd, F_SETFD, FD_CLOEXEC);
	return true;
}

void lab_guard_end(void)
{
	if (guard_fd >= 0)
		(void)close(guard_fd);
	while (guard_pid > 0 && waitpid(guard_pid, NULL, 0) < 0 && errno == EINTR)
		;
	guard_fd = -1;
	guard_pid = 0;
}
