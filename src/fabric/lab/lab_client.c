/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lab_client - bringing a lab up, and asking its keeper for things.
 *
 * The keeper is forked, not a program of its own: there is one binary, and the fabric has been
 * read and checked before anything is made.  It closes whatever it inherited, so that a lab
 * brought up by a test does not hold that test's pipes open.
 */
#include "lab_local.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define DOWN_WAIT_MS 10000
/* For an answer.  A plane of the largest lab is down in a second; the rest is for busy machines. */
#define ANSWER_WAIT_S 10

struct weft_lab {
	int fd, keeper_pid, switch_pid;
	enum weft_lab_switches switches;
	struct weft_topo *topo;
	char name[WEFT_TOPO_NAME_BYTES];
	char fabric[STATE_PATH_BYTES];
	char trouble[ERROR_BYTES], switch_dir[STATE_PATH_BYTES];
};

static int fail(char *error, size_t error_bytes, const char *what, const char *why)
{
	(void)snprintf(error, error_bytes, "%s%s%s", what, *why ? ": " : "", why);
	return -1;
}

/* ---- up ---- */

static bool copy_file(const char *from, const char *to)
{
	char buf[65536];
	ssize_t n = -1;
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);

	while (in >= 0 && out >= 0 && (n = read(in, buf, sizeof(buf))) > 0) {
		if (write(out, buf, (size_t)n) != n) {
			n = -1;
			break;
		}
	}
	if (in >= 0)
		(void)close(in);
	if (out >= 0)
		(void)close(out);
	return !n;
}

/* Out of the caller's session, with nothing of his but the two descriptors, moved to 3 and 4. */
static void detach(int *lock_fd, int *ready_fd)
{
	int null = open("/dev/null", O_RDWR);
	int lock = fcntl(*lock_fd, F_DUPFD, 16), ready = fcntl(*ready_fd, F_DUPFD, 16);

	for (int i = 0; i < 3; i++)
		(void)dup2(null, i);
	(void)dup2(lock, 3);
	(void)dup2(ready, 4);
	(void)close_range(5, ~0u, 0);
	(void)fcntl(3, F_SETFD, FD_CLOEXEC);
	(void)fcntl(4, F_SETFD, FD_CLOEXEC);
	*lock_fd = 3;
	*ready_fd = 4;
	(void)setsid();
	(void)!chdir("/");
}

/* Forks twice, so that the keeper is nobody's child; -1 or the reading end of its report. */
static int fork_keeper(const char *name, struct weft_topo *topo,
	const struct weft_lab_options *options, int lock_fd)
{
	int pipe_fds[2];

	if (pipe2(pipe_fds, O_CLOEXEC))
		return -1;
	pid_t child = fork();
	if (!child) {
		pid_t keeper = fork();

		if (keeper)
			_exit(keeper < 0);
		detach(&lock_fd, &pipe_fds[1]);
		keeper_run(name, topo, options, lock_fd, pipe_fds[1]);
	}
	(void)close(pipe_fds[1]);
	int status = 1;
	if (child > 0)
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
	if (status) {
		(void)close(pipe_fds[0]);
		return -1;
	}
	return pipe_fds[0];
}

/* What --rate made of the links, for programs inside: the file does not know. */
static bool write_rate(const char *name, uint64_t rate_bps)
{
	char path[STATE_PATH_BYTES];
	FILE *out = state_path(path, name, "rate") ? fopen(path, "we") : NULL;
	bool ok = out && fprintf(out, "%" PRIu64 "\n", rate_bps) > 0;

	return out && !fclose(out) && ok;
}

static bool export_rate(const char *name)
{
	char path[STATE_PATH_BYTES], text[32] = "";
	FILE *in = state_path(path, name, "rate") ? fopen(path, "re") : NULL;

	if (!in)
		return !unsetenv("WEFT_RATE");
	if (!fgets(text, sizeof(text), in))
		text[0] = 0;
	(void)fclose(in);
	text[strcspn(text, "\n")] = 0;
	return !setenv("WEFT_RATE", text, 1);
}

int weft_lab_up(const struct weft_lab_options *options, char *error, size_t error_bytes)
{
	char path[STATE_PATH_BYTES], text[ERROR_BYTES];
	struct weft_topo *topo;
	int result = -1;

	if (weft_topo_open(&topo, options->fabric, error, error_bytes))
		return -1;
	const char *name = options->name ? options->name : weft_topo_shape(topo)->name;
	int lock_fd = state_take(name, error, error_bytes);
	if (lock_fd < 0)
		goto out;
	if (!state_path(path, name, "fabric.yaml") || !copy_file(options->fabric, path) ||
		!front_write_names(name, topo) ||
		(options->rate_bps && !write_rate(name, options->rate_bps))) {
		fail(error, error_bytes, path, "cannot be written");
		state_remove(name);
		goto out;
	}
	int ready_fd = fork_keeper(name, topo, options, lock_fd);
	if (ready_fd < 0) {
		fail(error, error_bytes, "cannot start a keeper", strerror(errno));
		state_remove(name);
		goto out;
	}
	ssize_t n = read(ready_fd, text, sizeof(text) - 1);
	(void)close(ready_fd);
	text[n > 0 ? n : 0] = 0;
	if (n == 1 && !*text)
		result = 0;
	else
		fail(error, error_bytes, *text ? text : "the keeper ended before it was ready", "");
out:
	if (lock_fd >= 0)
		(void)close(lock_fd);
	weft_topo_close(topo);
	return result;
}

/* ---- asking ---- */

/* Sends a request, waits for the reply; descriptors that come with it go to fds (or are lost). */
static int ask(struct weft_lab *lab, const struct lab_request *request, struct lab_reply *reply,
	void *tail, size_t tail_bytes, int fds[2], char *error, size_t error_bytes)
{
	struct iovec parts[2] = { { reply, sizeof(*reply) }, { tail, tail_bytes } };
	union {
		char buf[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr message = { .msg_iov = parts,
		.msg_iovlen = tail ? 2 : 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf) };
	ssize_t n = send(lab->fd, request, sizeof(*request), MSG_NOSIGNAL);

	/* A keeper that has refused and hung up: its reason lies ready to be read. */
	if (n == (ssize_t)sizeof(*request) || (n < 0 && errno == EPIPE)) {
		do
			n = recvmsg(lab->fd, &message, MSG_CMSG_CLOEXEC);
		while (n < 0 && errno == EINTR);
	}
	if (n < (ssize_t)sizeof(*reply)) {
		const char *why = n >= 0 ? "" : errno == EAGAIN ? "not in time" : strerror(errno);

		/* Whatever it still says would be taken for the answer to the next question. */
		(void)shutdown(lab->fd, SHUT_RDWR);
		return fail(error, error_bytes, "the lab's keeper does not answer", why);
	}
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	if (fds && c && c->cmsg_type == SCM_RIGHTS)
		memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	reply->text[sizeof(reply->text) - 1] = 0;
	(void)weft_text_clean(reply->text);
	return reply->result ? fail(error, error_bytes, reply->text, "") : 0;
}

static int ask_plain(struct weft_lab *lab, const struct lab_request *request,
	struct lab_reply *reply, char *error, size_t error_bytes)
{
	return ask(lab, request, reply, NULL, 0, NULL, error, error_bytes);
}

static int find_only(char name[WEFT_TOPO_NAME_BYTES], char *error, size_t error_bytes)
{
	char names[2][WEFT_TOPO_NAME_BYTES];
	int n = weft_lab_list(names, 2, error, error_bytes);

	if (n < 0)
		return -1;
	if (n != 1)
		return fail(error, error_bytes,
			n ? "several labs are up, say which" : "no lab is up", "");
	memcpy(name, names[0], sizeof(names[0]));
	return 0;
}

int weft_lab_open(struct weft_lab **out, const char *name, char *error, size_t error_bytes)
{
	struct lab_request hello = { .protocol = LAB_PROTOCOL, .op = LAB_HELLO };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const struct timeval wait = { .tv_sec = ANSWER_WAIT_S };
	struct lab_reply reply;
	struct weft_lab *lab = calloc(1, sizeof(*lab));

	if (!lab)
		return fail(error, error_bytes, "out of memory", "");
	lab->fd = -1;
	if (!state_is_ours(error, error_bytes))
		goto failed;
	if (!name && find_only(lab->name, error, error_bytes))
		goto failed;
	if (name) {
		if (!state_is_alive(name)) {
			(void)snprintf(error, error_bytes, "no lab named %s is up", name);
			goto failed;
		}
		(void)snprintf(lab->name, sizeof(lab->name), "%s", name);
	}
	lab->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (!state_path(address.sun_path, lab->name, "sock") ||
		!state_path(lab->fabric, lab->name, "fabric.yaml") ||
		!state_path(lab->switch_dir, lab->name, "switch") || lab->fd < 0 ||
		setsockopt(lab->fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) ||
		setsockopt(lab->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) ||
		connect(lab->fd, (struct sockaddr *)&address, sizeof(address))) {
		fail(error, error_bytes, address.sun_path, strerror(errno));
		goto failed;
	}
	if (ask_plain(lab, &hello, &reply, error, error_bytes) ||
		weft_topo_open(&lab->topo, lab->fabric, error, error_bytes))
		goto failed;
	lab->keeper_pid = (int)reply.n;
	lab->switches = (enum weft_lab_switches)reply.switches;
	lab->switch_pid = (int)reply.switch_pid;
	memcpy(lab->trouble, reply.text, sizeof(lab->trouble));
	*out = lab;
	return 0;
failed:
	weft_lab_close(lab);
	return -1;
}

void weft_lab_close(struct weft_lab *lab)
{
	if (!lab)
		return;
	if (lab->fd >= 0)
		(void)close(lab->fd);
	weft_topo_close(lab->topo);
	free(lab);
}

int weft_lab_down(struct weft_lab *lab, char *error, size_t error_bytes)
{
	struct lab_request request = { .protocol = LAB_PROTOCOL, .op = LAB_DOWN };
	struct pollfd end = { .fd = lab->fd, .events = POLLIN };
	struct lab_reply reply;
	char byte;

	if (ask_plain(lab, &request, &reply, error, error_bytes))
		return -1;
	/* The connection ends when the keeper has. */
	if (poll(&end, 1, DOWN_WAIT_MS) != 1 || recv(lab->fd, &byte, 1, 0) > 0)
		return fail(error, error_bytes, "the lab's keeper does not end", "");
	return 0;
}

const char *weft_lab_name(const struct weft_lab *lab)
{
	return lab->name;
}

const char *weft_lab_fabric(const struct weft_lab *lab)
{
	return lab->fabric;
}

const struct weft_topo *weft_lab_topo(const struct weft_lab *lab)
{
	return lab->topo;
}

enum weft_lab_switches weft_lab_switches(const struct weft_lab *lab)
{
	return lab->switches;
}

int weft_lab_keeper_pid(const struct weft_lab *lab)
{
	return lab->keeper_pid;
}

int weft_lab_switch_pid(const struct weft_lab *lab)
{
	return lab->switch_pid;
}

const char *weft_lab_switch_dir(const struct weft_lab *lab)
{
	return lab->switches == WEFT_LAB_SWITCHES_SOFT ? lab->switch_dir : NULL;
}

const char *weft_lab_trouble(const struct weft_lab *lab)
{
	return lab->trouble;
}

/* Where programs inside find the switches; with others, that is nowhere but on their wires. */
static bool export_switch(const struct weft_lab *lab)
{
	const char *dir = weft_lab_switch_dir(lab);

	return dir ? !setenv("WEFT_SWITCH", dir, 1) : !unsetenv("WEFT_SWITCH");
}

/* A process cannot enter the user namespace that it is in; that is no failure. */
static bool enter_user(int fd)
{
	struct stat mine, theirs;

	if (fd < 0 || (!stat("/proc/self/ns/user", &mine) && !fstat(fd, &theirs) &&
			      mine.st_ino == theirs.st_ino && mine.st_dev == theirs.st_dev))
		return true;
	return !setns(fd, CLONE_NEWUSER);
}

int weft_lab_enter(struct weft_lab *lab, uint32_t node, char *error, size_t error_bytes)
{
	struct lab_request request = { .protocol = LAB_PROTOCOL, .op = LAB_ENTER, .arg = node };
	char name[WEFT_TOPO_NAME_BYTES];
	struct lab_reply reply;
	int fds[2] = { -1, -1 };

	if (ask(lab, &request, &reply, NULL, 0, fds, error, error_bytes))
		return -1;
	(void)state_pin();
	bool ok = enter_user(fds[1]) && !setns(fds[0], CLONE_NEWNET);
	int why = errno;
	for (int i = 0; i < 2; i++) {
		if (fds[i] >= 0)
			(void)close(fds[i]);
	}
	weft_topo_node_name(lab->topo, node, name, sizeof(name));
	if (!ok)
		return fail(error, error_bytes, name, strerror(why));
	if (setenv("WEFT_FABRIC", lab->fabric, 1) || setenv("WEFT_LAB", lab->name, 1) ||
		setenv("WEFT_HOST", name, 1) || !export_rate(lab->name) || !export_switch(lab) ||
		!front_export(lab->topo, node))
		return fail(error, error_bytes, "setenv", strerror(errno));
	return 0;
}

int weft_lab_use_names(struct weft_lab *lab, uint32_t node, char *error, size_t error_bytes)
{
	char name[WEFT_TOPO_NAME_BYTES];

	weft_topo_node_name(lab->topo, node, name, sizeof(name));
	return front_use_names(lab->name, name, error, error_bytes);
}

int weft_lab_fault(struct weft_lab *lab, const struct weft_lab_fault *fault, uint32_t *id,
	char *error, size_t error_bytes)
{
	struct lab_request request = { .protocol = LAB_PROTOCOL, .op = LAB_FAULT, .fault = *fault };
	struct lab_reply reply;

	if (ask_plain(lab, &request, &reply, error, error_bytes))
		return -1;
	if (id)
		*id = reply.n;
	return 0;
}

int weft_lab_undo(struct weft_lab *lab, uint32_t id, char *error, size_t error_bytes)
{
	struct lab_request request = { .protocol = LAB_PROTOCOL, .op = LAB_UNDO, .arg = id };
	struct lab_reply reply;

	return ask_plain(lab, &request, &reply, error, error_bytes);
}

int weft_lab_faults(struct weft_lab *lab, struct weft_lab_fault faults[], size_t n)
{
	struct lab_request request = { .protocol = LAB_PROTOCOL, .op = LAB_FAULTS };
	struct lab_reply reply;
	char error[ERROR_BYTES];

	if (ask(lab, &request, &reply, faults, n * sizeof(*faults), NULL, error, sizeof(error)))
		return -1;
	return (int)WEFT_MIN((size_t)reply.n, n);
}

int weft_lab_record(struct weft_lab *lab, uint32_t id, struct weft_lab_record *record, char *error,
	size_t error_bytes)
{
	struct lab_request request = { .protocol = LAB_PROTOCOL, .op = LAB_RECORD, .arg = id };
	struct lab_reply reply;

	if (ask_plain(lab, &request, &reply, error, error_bytes))
		return -1;
	*record = reply.record;
	return 0;
}

int weft_lab_link_stats(struct weft_lab *lab, uint32_t link, struct weft_lab_end_stats ends[2])
{
	struct lab_request request = { .protocol = LAB_PROTOCOL, .op = LAB_STATS, .arg = link };
	struct lab_reply reply;
	char error[ERROR_BYTES];

	if (ask_plain(lab, &request, &reply, error, sizeof(error)))
		return -1;
	memcpy(ends, reply.ends, sizeof(reply.ends));
	return 0;
}

int weft_lab_sids(struct weft_lab *lab, uint32_t node, struct weft_lab_sid sids[], size_t n,
	char *error, size_t error_bytes)
{
	struct lab_request request = { .protocol = LAB_PROTOCOL, .op = LAB_SIDS, .arg = node };
	struct lab_reply reply;

	if (ask(lab, &request, &reply, sids, n * sizeof(*sids), NULL, error, error_bytes))
		return -1;
	return (int)WEFT_MIN((size_t)reply.n, n);
}
