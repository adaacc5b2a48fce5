/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft - all switches in one process, and the far ends of the hosts' cables in front of it.
 *
 *   h0: p0 ===veth=== h0.p0 \                                        one namespace, one process:
 *   h0: p1 ===veth=== h0.p1  >  weft-switch: network, AF_PACKET, shm    a child of the keeper
 *   h1: p0 ===veth=== h1.p0 /
 *
 * A process of its own, since it must not wait while the keeper does something slow, and the keeper
 * must answer when it is busy, stopped or dead.  It dies with the keeper.  That it died is told
 * (`weft lab status`) and seen by hosts as lost carriers.  It is not started again by itself: what
 * it had counted and been told would be gone, and whoever looks for the reason wants it still.
 *
 * Its namespace has no IPv6: what arrives is the process's, and the kernel need not look at it.
 */
#include "lab_local.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/switchd.h>

#define IFINDEX 100
#define END_WAIT_MS 500
#define IFNAMES "h%u.p%u"

static volatile int stopped;

static void on_term(int number)
{
	(void)number;
	stopped = 1;
}

/* ---- the namespace ---- */

struct end soft_end(struct world *world, uint32_t link)
{
	const struct weft_topo_shape *s = weft_topo_shape(world->topo);
	struct end e = { 0 };

	if (link >= s->hosts * s->planes) /* between switches there are no interfaces */
		return e;
	e.at = &world->soft.at;
	e.ifindex = IFINDEX + 2 * (int)link + 1;
	(void)snprintf(e.name, sizeof(e.name), IFNAMES, (uint16_t)(link / s->planes),
		(uint8_t)(link % s->planes));
	return e;
}

bool soft_make(struct world *world)
{
	const struct weft_topo_shape *s = weft_topo_shape(world->topo);
	struct soft *soft = &world->soft;

	soft->told = calloc(s->links, sizeof(*soft->told));
	soft->stats = calloc(s->links, sizeof(*soft->stats));
	if (!soft->told || !soft->stats)
		return world_fail(world, "out of memory");
	return node_open(world, &soft->at) &&
	       (world_sysctl("ipv6/conf/all/disable_ipv6", "1") ||
		       world_fail(world, "cannot turn IPv6 off: %s", strerror(errno)));
}

bool soft_finish(struct world *world)
{
	const struct weft_topo_shape *s = weft_topo_shape(world->topo);
	struct batch batch;

	batch_begin(&batch, &world->soft.at.netlink);
	for (uint32_t i = 0; i < s->hosts * s->planes; i++) {
		struct end end = link_end(world, i, 1);

		if (!end.at)
			continue;
		if (!offloads_off(world, end.at, end.name))
			return false;
		request_link_state(&batch, end.ifindex, true);
	}
	return batch_end(&batch) || world_fail(world, "%s", batch.text);
}

/* ---- the process ---- */

static void run_child(struct world *world, const char *fabric, pid_t parent, int ready_fd)
{
	char error[ERROR_BYTES] = "", path[STATE_PATH_BYTES + 8];
	struct sigaction action = { .sa_handler = on_term };
	struct weft_switchd_config config = {
		.fabric = fabric,
		.dir = world->soft.dir,
		.rate_bps = WEFT_MIN(world->rate_bps, WEFT_TOPO_FREE_BPS),
		.ifname_format = IFNAMES,
	};
	struct weft_switchd *sw;
	sigset_t none;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	(void)prctl(PR_SET_NAME, "weft-switch");
	(void)snprintf(path, sizeof(path), "%s/log", world->soft.dir);
	int log_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
	bool is_inside = !setns(world->soft.at.ns_fd, CLONE_NEWNET);
	if (log_fd >= 0)
		(void)dup2(log_fd, 2);
	(void)dup2(ready_fd, 3);
	(void)close_range(4, ~0u, 0);
	(void)sigaction(SIGTERM, &action, NULL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	bool ok = is_inside && !weft_switchd_open(&sw, &config, error, sizeof(error));
	if (!ok && !*error)
		(void)snprintf(error, sizeof(error), "cannot enter a namespace");
	(void)!write(3, error, strlen(error) + 1);
	(void)close(3);
	if (ok) {
		weft_switchd_run(sw, &stopped);
		weft_switchd_close(sw);
	}
	_exit(!ok);
}

bool soft_start(struct world *world, const char *name)
{
	char fabric[STATE_PATH_BYTES], error[ERROR_BYTES];
	struct soft *soft = &world->soft;
	pid_t parent = getpid();
	int pipe_fds[2];

	if (!name || !state_path(soft->dir, name, "switch") ||
		!state_path(fabric, name, "fabric.yaml"))
		return world_fail(world, "soft switches: no place for their sockets");
	if (mkdir(soft->dir, 0700) && errno != EEXIST)
		return world_fail(world, "%s: %s", soft->dir, strerror(errno));
	if (pipe2(pipe_fds, O_CLOEXEC))
		return world_fail(world, "soft switches: %s", strerror(errno));
	soft->pid = fork();
	if (!soft->pid)
		run_child(world, fabric, parent, pipe_fds[1]);
	(void)close(pipe_fds[1]);
	ssize_t n = soft->pid > 0 ? read(pipe_fds[0], error, sizeof(error) - 1) : -1;
	(void)close(pipe_fds[0]);
	if (soft->pid < 0) {
		soft->pid = 0;
		return world_fail(world, "cannot start the switches: %s", strerror(errno));
	}
	soft->pid_fd = pidfd_open(soft->pid, 0);
	error[n > 0 ? n : 0] = 0;
	if (n == 1 && !*error && soft->pid_fd >= 0)
		return true;
	return world_fail(
		world, "soft switches: %s", *error ? error : "they ended before they were ready");
}

/* What it said last, if anything: assertions do. */
static void read_log(const struct soft *soft, char line[ERROR_BYTES])
{
	char path[STATE_PATH_BYTES + 8];

	(void)snprintf(path, sizeof(path), "%s/log", soft->dir);
	FILE *in = fopen(path, "re");
	*line = 0;
	while (in && fgets(line, ERROR_BYTES, in))
		line[strcspn(line, "\n")] = 0;
	if (in)
		(void)fclose(in);
}

void soft_reap(struct world *world)
{
	const struct weft_topo_shape *s = weft_topo_shape(world->topo);
	struct soft *soft = &world->soft;
	char line[ERROR_BYTES];
	struct batch batch;
	int status;

	if (!soft->pid || waitpid(soft->pid, &status, WNOHANG) != soft->pid)
		return;
	soft->pid = 0;
	(void)close(soft->pid_fd);
	soft->pid_fd = -1;
	read_log(soft, line);
	if (WIFSIGNALED(status))
		(void)snprintf(soft->end, sizeof(soft->end), "killed by SIG%s%s%.150s",
			sigabbrev_np(WTERMSIG(status)), *line ? ": " : "", line);
	else
		(void)snprintf(soft->end, sizeof(soft->end), "ended with %d%s%.150s",
			WEXITSTATUS(status), *line ? ": " : "", line);
	batch_begin(&batch, &soft->at.netlink);
	for (uint32_t i = 0; i < s->hosts * s->planes; i++) {
		struct end end = link_end(world, i, 1);

		if (end.at)
			request_link_state(&batch, end.ifindex, false);
	}
	(void)batch_end(&batch);
	for (uint32_t i = 0; i < s->hosts * s->planes; i++)
		link_sync(world, i);
}

void soft_close(struct world *world)
{
	struct soft *soft = &world->soft;
	struct pollfd end = { .fd = soft->pid_fd, .events = POLLIN };

	if (soft->pid) {
		(void)kill(soft->pid, SIGTERM);
		if (poll(&end, 1, END_WAIT_MS) != 1)
			(void)kill(soft->pid, SIGKILL);
		(void)waitpid(soft->pid, NULL, 0);
		(void)close(soft->pid_fd);
	}
	node_close(&soft->at);
	free(soft->told);
	free(soft->stats);
}
