/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * keeper - the process that is the lab.
 *
 * It holds the only references to the namespaces and does everything that changes them, one
 * request at a time: two users cannot half-apply two faults, a fault that ends by itself needs
 * no one to wait for it, and whatever ends this process takes the whole fabric with it.
 *
 * Requests are structs over a local seqpacket socket, since both ends are this very program; a
 * number in front tells apart versions that are not.  Whoever has not asked anything yet has a
 * deadline; who has may be a demonstration that asks again after an hour, and is hung up on when
 * all places are taken and nobody has been silent for longer.
 */
#include "lab_local.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <weft/accept.h>

#define CLIENTS_MAX 64
#define FIRST_NS UINT64_C(2000000000)    /* to ask the first thing: it is asked at once */
#define IDLE_NS UINT64_C(86400000000000) /* between requests: longer than any run has paused */
/* Above the switches and the pumps of our programs, which have 2 (live_hurry, loop_real_time): who
 * breaks and mends has next to nothing to do, but must do it when it is due. */
#define REAL_TIME_PRIORITY 3
#define KILL_WAIT_MS 500
#define SIDS_MAX 4096
#define FDS 3 /* that are waited for, beside clients */

struct keeper {
	struct world world;
	const char *name;
	int user_ns_fd; /* -1: root's lab, no user namespace of its own */
	int signal_fd;
	struct weft_listener listener;
	int clients[CLIENTS_MAX];
	uint64_t until_ns[CLIENTS_MAX]; /* 0: no client */
	bool done;
};

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	bool ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	(void)close(fd);
	return ok;
}

/* Without root: a user namespace in which we are. */
static bool become_root(struct keeper *k)
{
	unsigned uid = geteuid(), gid = getegid();
	char map[64];

	k->user_ns_fd = -1;
	if (!uid)
		return true;
	if (!state_pin())
		return world_fail(&k->world, "out of memory");
	if (unshare(CLONE_NEWUSER))
		return world_fail(&k->world,
			"cannot make a user namespace: %s (as root it would "
			"not be needed)",
			strerror(errno));
	(void)write_file("/proc/self/setgroups", "deny");
	(void)snprintf(map, sizeof(map), "0 %u 1\n", uid);
	if (!write_file("/proc/self/uid_map", map))
		return world_fail(&k->world, "cannot write uid_map: %s", strerror(errno));
	(void)snprintf(map, sizeof(map), "0 %u 1\n", gid);
	if (!write_file("/proc/self/gid_map", map))
		return world_fail(&k->world, "cannot write gid_map: %s", strerror(errno));
	k->user_ns_fd = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	return k->user_ns_fd >= 0 ||
	       world_fail(&k->world, "cannot open the user namespace: %s", strerror(errno));
}

static bool open_sockets(struct keeper *k)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	k->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	k->listener.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	WEFT_ASSERT(sizeof(address.sun_path) >= STATE_PATH_BYTES);
	if (k->signal_fd < 0 || k->listener.fd < 0 ||
		!state_path(address.sun_path, k->name, "sock"))
		return world_fail(&k->world, "cannot make a socket: %s", strerror(errno));
	(void)unlink(address.sun_path);
	if (bind(k->listener.fd, (struct sockaddr *)&address, sizeof(address)) ||
		listen(k->listener.fd, CLIENTS_MAX))
		return world_fail(&k->world, "%s: %s", address.sun_path, strerror(errno));
	return true;
}

/* ---- ending ---- */

static bool is_inside(const struct keeper *k, const struct stat *ns)
{
	struct stat st;

	for (uint32_t i = 0; i < k->world.n_nodes; i++) {
		if (!fstat(k->world.nodes[i].ns_fd, &st) && st.st_ino == ns->st_ino &&
			st.st_dev == ns->st_dev)
			return true;
	}
	return false;
}

/* Sends a signal to every process in the lab's namespaces; how many there are. */
static unsigned signal_inside(const struct keeper *k, int signal)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	unsigned n = 0;

	while (proc && (entry = readdir(proc)) != NULL) {
		int pid = (int)strtoul(entry->d_name, NULL, 10); /* 0: no process */
		char path[64];
		struct stat ns;

		if (pid <= 1 || pid == getpid())
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
		if (stat(path, &ns) || !is_inside(k, &ns))
			continue;
		n++;
		(void)kill(pid, signal);
	}
	if (proc)
		(void)closedir(proc);
	return n;
}

static void end_inside(const struct keeper *k)
{
	if (!signal_inside(k, SIGTERM))
		return;
	for (unsigned ms = 0; ms < KILL_WAIT_MS; ms += 10) {
		(void)poll(NULL, 0, 10);
		if (!signal_inside(k, 0))
			return;
	}
	(void)signal_inside(k, SIGKILL);
}

/* ---- requests ---- */

static void send_reply(int client, const struct lab_reply *reply, const void *tail,
	size_t tail_bytes, const int fds[], unsigned n_fds)
{
	struct iovec parts[2] = {
		{ (void *)(uintptr_t)reply, sizeof(*reply) },
		{ (void *)(uintptr_t)tail, tail_bytes },
	};
	union {
		char buf[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control = { { 0 } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = tail_bytes ? 2 : 1 };

	if (n_fds) {
		message.msg_control = control.buf;
		message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&message);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
	}
	(void)sendmsg(client, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void reply_faults(struct keeper *k, int client, struct lab_reply *reply)
{
	static struct weft_lab_fault faults[WEFT_LAB_FAULTS_MAX];
	uint64_t now_ns = clock_now_ns();

	reply->n = k->world.n_faults;
	memcpy(faults, k->world.faults, reply->n * sizeof(*faults));
	for (uint32_t i = 0; i < reply->n; i++)
		faults[i].age_ns = now_ns - faults[i].age_ns;
	send_reply(client, reply, faults, reply->n * sizeof(*faults), NULL, 0);
}

static void reply_sids(struct keeper *k, int client, uint32_t node, struct lab_reply *reply)
{
	static struct weft_lab_sid sids[SIDS_MAX];
	const struct weft_topo_shape *s = weft_topo_shape(k->world.topo);
	int n = -1;

	if (node < s->hosts || node >= s->nodes)
		world_fail(&k->world, "uSIDs: no switch number %u", node);
	else if (k->world.switches == WEFT_LAB_SWITCHES_SOFT)
		n = soft_sids(&k->world, node, sids, SIDS_MAX);
	else if (k->world.nodes[node].xdp)
		n = program_sids(&k->world, node, sids, SIDS_MAX);
	else if ((n = sids_read(&k->world.nodes[node].netlink, sids, SIDS_MAX)) < 0)
		world_fail(&k->world, "uSIDs: %s", strerror(errno));
	reply->n = n < 0 ? 0 : (uint32_t)n;
	reply->result = n < 0 ? -1 : 0;
	if (n < 0)
		memcpy(reply->text, k->world.error, sizeof(reply->text));
	send_reply(client, reply, sids, reply->n * sizeof(*sids), NULL, 0);
}

static void reply_enter(struct keeper *k, int client, uint32_t node, struct lab_reply *reply)
{
	int fds[2] = { -1, k->user_ns_fd };

	if (node >= k->world.n_nodes || k->world.nodes[node].ns_fd < 0) {
		reply->result = -1;
		(void)snprintf(reply->text, sizeof(reply->text),
			node < k->world.n_nodes
				? "soft switches have no network of their own, `weft switch` "
				  "shows what they do"
				: "no node number %u",
			node);
		send_reply(client, reply, NULL, 0, NULL, 0);
		return;
	}
	fds[0] = k->world.nodes[node].ns_fd;
	send_reply(client, reply, NULL, 0, fds, k->user_ns_fd < 0 ? 1 : 2);
}

static void answer(struct keeper *k, int client, const struct lab_request *request)
{
	struct lab_reply reply = { 0 };
	bool ok = true;

	switch ((enum lab_op)request->op) {
	case LAB_HELLO:
		reply.n = (uint32_t)getpid();
		reply.switches = k->world.switches;
		reply.switch_pid = k->world.soft.pid;
		(void)snprintf(reply.text, sizeof(reply.text), "%s", k->world.soft.end);
		break;
	case LAB_DOWN:
		k->done = true;
		break;
	case LAB_ENTER:
		reply_enter(k, client, request->arg, &reply);
		return;
	case LAB_FAULT:
		ok = fault_add(&k->world, &request->fault, clock_now_ns(), &reply.n);
		if (ok)
			fault_since(&k->world, reply.n, clock_now_ns());
		break;
	case LAB_UNDO:
		ok = fault_undo(&k->world, request->arg);
		break;
	case LAB_FAULTS:
		reply_faults(k, client, &reply);
		return;
	case LAB_SIDS:
		reply_sids(k, client, request->arg, &reply);
		return;
	case LAB_RECORD:
		ok = fault_record(&k->world, request->arg, &reply.record);
		break;
	case LAB_STATS:
		ok = link_stats(&k->world, request->arg, reply.ends);
		break;
	default:
		ok = world_fail(&k->world, "no such request");
		break;
	}
	if (!ok) {
		reply.result = -1;
		memcpy(reply.text, k->world.error, sizeof(reply.text));
	}
	send_reply(client, &reply, NULL, 0, NULL, 0);
}

/* False: the client is gone. */
static bool serve(struct keeper *k, int client)
{
	struct lab_request request;
	struct lab_reply reply = { .result = -1 };
	ssize_t n = recv(client, &request, sizeof(request), MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (!n)
		return false;
	if (n == (ssize_t)sizeof(request) && request.protocol == LAB_PROTOCOL) {
		answer(k, client, &request);
		return true;
	}
	(void)snprintf(reply.text, sizeof(reply.text),
		"the lab was brought up by another version of weft");
	send_reply(client, &reply, NULL, 0, NULL, 0);
	return false;
}

static void drop(struct keeper *k, uint32_t place)
{
	(void)close(k->clients[place]);
	k->until_ns[place] = 0;
}

static void accept_client(struct keeper *k, uint64_t now_ns)
{
	int fd = weft_accept(&k->listener, now_ns);
	uint32_t place = weft_waiting_place(k->until_ns, CLIENTS_MAX);

	if (fd < 0)
		return;
	if (k->until_ns[place])
		drop(k, place);
	k->clients[place] = fd;
	k->until_ns[place] = now_ns + FIRST_NS;
}

static int wait_ms(const struct keeper *k, uint64_t now_ns)
{
	uint64_t next_ns = fault_next_ns(&k->world);

	next_ns = WEFT_MIN(next_ns, weft_waiting_next_ns(k->until_ns, CLIENTS_MAX));
	if (k->listener.again_ns)
		next_ns = WEFT_MIN(next_ns, k->listener.again_ns);
	if (next_ns == UINT64_MAX)
		return -1;
	if (next_ns <= now_ns)
		return 0;
	return (int)WEFT_MIN((next_ns - now_ns + 999999) / 1000000, UINT64_C(3600000));
}

/* polls: those of clients, in the order of their places. */
static void serve_clients(struct keeper *k, const struct pollfd *polls)
{
	uint32_t late;

	for (uint32_t i = 0; i < CLIENTS_MAX; i++) {
		if (!k->until_ns[i] || !polls++->revents)
			continue;
		if (serve(k, k->clients[i]))
			k->until_ns[i] = clock_now_ns() + IDLE_NS;
		else
			drop(k, i);
	}
	while ((late = weft_waiting_late(k->until_ns, CLIENTS_MAX, clock_now_ns())) < CLIENTS_MAX)
		drop(k, late);
}

/* Where it is allowed. */
static void go_first(void)
{
	const struct sched_param param = { .sched_priority = REAL_TIME_PRIORITY };

	(void)sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &param);
}

static void keep(struct keeper *k)
{
	go_first();
	while (!k->done) {
		uint64_t now_ns = clock_now_ns();
		bool listens = weft_listener_is_open(&k->listener, now_ns);
		struct pollfd polls[FDS + CLIENTS_MAX] = {
			{ .fd = listens ? k->listener.fd : -1, .events = POLLIN },
			{ .fd = k->signal_fd, .events = POLLIN },
			{ .fd = k->world.soft.pid_fd, .events = POLLIN },
		};

		uint32_t n = FDS;

		/* Free places are left out: poll() takes no more than we may have descriptors. */
		for (uint32_t i = 0; i < CLIENTS_MAX; i++) {
			if (k->until_ns[i])
				polls[n++] =
					(struct pollfd){ .fd = k->clients[i], .events = POLLIN };
		}
		if (poll(polls, n, wait_ms(k, now_ns)) < 0 && errno != EINTR)
			return;
		(void)fault_expire(&k->world, clock_now_ns());
		if (polls[1].revents)
			k->done = true;
		if (polls[2].revents)
			soft_reap(&k->world);
		serve_clients(k, polls + FDS);
		if (polls[0].revents)
			accept_client(k, clock_now_ns());
	}
}

/* False: whoever waited for it has been killed or interrupted. */
static bool report(int fd, const char *text)
{
	bool heard = write(fd, text, strlen(text) + 1) > 0;

	(void)close(fd);
	return heard;
}

void keeper_run(const char *name, struct weft_topo *topo, const struct weft_lab_options *options,
	int lock_fd, int ready_fd)
{
	static struct keeper keeper;
	struct weft_lab_options own = *options;

	keeper.name = own.name = name;
	(void)prctl(PR_SET_NAME, "weft-lab");
	(void)weft_files_raise(); /* each node costs some, each client one */
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	bool ok = open_sockets(&keeper) && become_root(&keeper) &&
		  world_open(&keeper.world, topo, &own);
	if (ok && report(ready_fd, "")) {
		keep(&keeper);
		end_inside(&keeper);
	}
	state_remove(name);
	if (!ok) /* whoever reads this may try again at once */
		(void)report(ready_fd, keeper.world.error);
	world_close(&keeper.world);
	(void)close(lock_fd);
	/* Clients that wait for the end see it when this process has really gone. */
	_exit(ok ? 0 : 1);
}
