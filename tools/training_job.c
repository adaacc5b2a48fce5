/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * training_job - mpirun on host h0 of the lab, one rank on each host.
 *
 * Nothing of Open MPI, UCX, PyTorch or Python is changed.  mpirun reaches the hosts by a "remote
 * shell" that is `weft lab run`, over the hosts' front-end network, which is not part of what is
 * broken: job start-up is not the question.  Weft gets the job by `weft run`; UCX sees an RDMA
 * device with verbs and nothing else.  TCP gets an address per plane (by VXLAN, since Open MPI
 * wants one interface per network) and Open MPI stripes over all eight: more than one socket could.
 */
#include "training.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/base.h>

#define VXLAN_BYTES 70            /* IPv6, UDP, VXLAN and the inner Ethernet header */
#define PYTHON "/usr/bin/python3" /* Debian's, which its PyTorch belongs to */
#define ARGS_MAX 64

struct training_job {
	pid_t pid;
	int out;
	char line[4096];
	size_t used;
	uint64_t again_before;
	char stats[4096]; /* where Weft's devices say what they did */
	char last[401];   /* of what is not ours */
};

/* ---- TCP over all planes ---- */

static int address_planes(const struct demo *demo, uint32_t host)
{
	const struct weft_topo *topo = weft_lab_topo(demo->lab);
	const struct weft_topo_shape *shape = weft_topo_shape(topo);
	char own[INET6_ADDRSTRLEN], peer[INET6_ADDRSTRLEN], command[512];
	uint8_t address[16];
	int bad = 0;

	for (uint32_t p = 0; p < shape->planes; p++) {
		weft_topo_host_addr(topo, host, p, address);
		(void)inet_ntop(AF_INET6, address, own, sizeof(own));
		(void)snprintf(command, sizeof(command),
			"ip link add vx%u mtu %u type vxlan id %u local %s dstport 4789 &&"
			"ip addr add 10.%u.0.%u/24 dev vx%u && ip link set vx%u up",
			p, shape->mtu_bytes - VXLAN_BYTES, p + 1, own, p + 1, host + 1, p, p);
		bad |= system(command);
		for (uint32_t h = 0; h < shape->hosts; h++) {
			if (h == host)
				continue;
			weft_topo_host_addr(topo, h, p, address);
			(void)inet_ntop(AF_INET6, address, peer, sizeof(peer));
			(void)snprintf(command, sizeof(command),
				"bridge fdb append 00:00:00:00:00:00 dev vx%u dst %s", p, peer);
			bad |= system(command);
		}
	}
	return bad ? 1 : 0;
}

int training_tcp_planes(struct demo *demo, char *error, size_t error_bytes)
{
	int status;

	for (uint32_t host = 0; host < TRAINING_RANKS; host++) {
		pid_t pid = run_fork(demo, host);

		if (!pid)
			_exit(address_planes(demo, host));
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status) {
			(void)snprintf(error, error_bytes, "h%u: no VXLAN for TCP's planes", host);
			return -1;
		}
	}
	return 0;
}

/* ---- what was sent again ---- */

/* Of the network that this process is in; Tcp: lines of /proc/net/snmp, names and then values. */
static uint64_t tcp_retransmits(void)
{
	char names[1024] = "", values[1024], *name, *value, *a, *b;
	FILE *in = fopen("/proc/self/net/snmp", "r");
	uint64_t found = 0;

	while (in && fgets(values, sizeof(values), in)) {
		if (strncmp(values, "Tcp:", 4))
			continue;
		if (!*names) {
			(void)snprintf(names, sizeof(names), "%s", values);
			continue;
		}
		name = strtok_r(names, " \n", &a);
		value = strtok_r(values, " \n", &b);
		while (name && value) {
			if (!strcmp(name, "RetransSegs"))
				found = strtoull(value, NULL, 10);
			name = strtok_r(NULL, " \n", &a);
			value = strtok_r(NULL, " \n", &b);
		}
		break;
	}
	if (in)
		(void)fclose(in);
	return found;
}

static uint64_t all_retransmits(const struct demo *demo)
{
	uint64_t *shared = mmap(
		NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t sum = 0;

	if (shared == MAP_FAILED)
		return 0;
	for (uint32_t host = 0; host < TRAINING_RANKS; host++) {
		pid_t pid = run_fork(demo, host);

		if (!pid) {
			*shared += tcp_retransmits();
			_exit(0);
		}
		if (pid > 0)
			(void)waitpid(pid, NULL, 0);
	}
	sum = *shared;
	(void)munmap(shared, sizeof(*shared));
	return sum;
}

/* One line of JSON per device of the job, each with the engine's counters. */
static uint64_t weft_again(const char *path)
{
	FILE *in = fopen(path, "r");
	uint64_t sum = 0;
	json_t *json;

	while (in && (json = json_loadf(in, JSON_DISABLE_EOF_CHECK, NULL))) {
		sum += (uint64_t)json_integer_value(json_object_get(json, "tx_rtx_pkts"));
		json_decref(json);
	}
	if (in)
		(void)fclose(in);
	return sum;
}

/* ---- the job ---- */

static int write_agent(const struct demo *demo, const char *self, char *path, size_t path_bytes)
{
	(void)snprintf(path, path_bytes, "%s/agent", demo->folder);
	FILE *out = fopen(path, "w");

	if (!out)
		return -1;
	/* mpirun says: HOST COMMAND..., to be joined as a shell would. */
	fprintf(out,
		"#!/bin/sh\nhost=$1\nshift\n"
		"exec '%s' lab run --name '%s' \"$host\" -- sh -c \"$*\"\n",
		self, demo->lab_name);
	return fclose(out) || chmod(path, 0755) ? -1 : 0;
}

struct command {
	const char *args[ARGS_MAX];
	unsigned n;
	char text[8][4352];
	unsigned texts;
};

static void add(struct command *c, const char *arg)
{
	WEFT_ASSERT(c->n + 1 < ARGS_MAX);
	c->args[c->n++] = arg;
}

static void add_all(struct command *c, const char *const args[])
{
	for (; *args; args++)
		add(c, *args);
}

__attribute__((format(printf, 2, 3))) static void add_text(
	struct command *c, const char *format, ...)
{
	va_list list;

	WEFT_ASSERT(c->texts < WEFT_COUNT(c->text));
	va_start(list, format);
	(void)vsnprintf(c->text[c->texts], sizeof(c->text[0]), format, list);
	va_end(list);
	add(c, c->text[c->texts++]);
}

static void compose(struct command *c, enum training_net net, const char *agent, const char *self,
	const char *script, const char *stats, unsigned steps)
{
	static const char *const start[] = { "mpirun", "--allow-run-as-root", "-np", "4", "--host",
		"h0,h1,h2,h3", "--mca", "plm_rsh_no_tree_spawn", "1", "--mca", "oob_tcp_if_include",
		"front0", "--mca", "btl_base_warn_component_unused", "0", "-x", "PMIX_MCA_gds=hash",
		"--mca", "plm_rsh_agent", NULL };
	static const char *const tcp[] = { "--mca", "pml", "ob1", "--mca", "btl", "tcp,self",
		"--mca", "btl_tcp_if_include", "vx0,vx1,vx2,vx3,vx4,vx5,vx6,vx7", NULL };
	static const char *const ucx[] = { "--mca", "pml", "ucx", "--mca", "osc", "ucx", "--mca",
		"btl", "^openib", "-x", "UCX_TLS=rc_v,ud_v,self", "-x", "UCX_NET_DEVICES=mrc0:1",
		"-x", NULL };

	add_all(c, start);
	add(c, agent);
	add_all(c, net == TRAINING_TCP ? tcp : ucx);
	if (net == TRAINING_WEFT) {
		add_text(c, "WEFT_STATS=%s", stats);
		add(c, self);
		add(c, "run");
		add(c, "--");
	}
	add(c, PYTHON);
	add_text(c, "%s/train.py", script);
	add(c, "--steps");
	add_text(c, "%u", steps);
	c->args[c->n] = NULL;
}

int training_start(struct demo *demo, const char *self, const char *script,
	const struct training_plan *plan, struct training_run *run, struct training_job **out)
{
	struct training_job *job = calloc(1, sizeof(*job));
	struct command *c = calloc(1, sizeof(*c));
	char agent[4352];
	int pipes[2];

	if (!job || !c || write_agent(demo, self, agent, sizeof(agent)) || pipe(pipes)) {
		(void)snprintf(
			run->error, sizeof(run->error), "%s: %s", demo->folder, strerror(errno));
		free(job);
		free(c);
		return -1;
	}
	(void)snprintf(job->stats, sizeof(job->stats), "%s/stats.jsonl", demo->folder);
	(void)unlink(job->stats);
	compose(c, run->net, agent, self, script, job->stats, plan->steps);
	job->again_before = run->net == TRAINING_TCP ? all_retransmits(demo) : 0;
	job->pid = run_fork(demo, 0);
	if (!job->pid) {
		(void)setenv("PMIX_MCA_gds", "hash", 1);
		(void)setenv("TMPDIR", "/tmp", 1); /* its session folder's path must be short */
		(void)dup2(pipes[1], 1);
		(void)dup2(pipes[1], 2);
		(void)close(pipes[0]);
		(void)close(pipes[1]);
		(void)freopen("/dev/null", "r", stdin);
		(void)execvp(c->args[0], (char *const *)(uintptr_t)c->args);
		printf("mpirun: %s\n", strerror(errno));
		fflush(stdout);
		_exit(127);
	}
	(void)close(pipes[1]);
	free(c);
	job->out = pipes[0];
	*out = job;
	if (job->pid > 0)
		return 0;
	(void)snprintf(run->error, sizeof(run->error), "fork: %s", strerror(errno));
	return -1;
}

static void take_lines(struct training_job *job, struct training_run *run)
{
	char *end;

	job->line[job->used] = 0;
	while ((end = memchr(job->line, '\n', job->used))) {
		*end = 0;
		if (!training_line(run, job->line) && *job->line)
			(void)snprintf(job->last, sizeof(job->last), "%.400s", job->line);
		job->used -= (size_t)(end + 1 - job->line);
		memmove(job->line, end + 1, job->used);
	}
	if (job->used == sizeof(job->line) - 1)
		job->used = 0; /* nobody's line is that long */
}

int training_read(struct training_job *job, struct training_run *run, int wait_ms)
{
	struct pollfd out = { .fd = job->out, .events = POLLIN };

	if (poll(&out, 1, wait_ms) <= 0)
		return 1;
	ssize_t got = read(job->out, job->line + job->used, sizeof(job->line) - 1 - job->used);

	if (got <= 0)
		return got < 0 && errno == EINTR;
	job->used += (size_t)got;
	take_lines(job, run);
	return 1;
}

void training_stop(struct demo *demo, struct training_job *job, struct training_run *run)
{
	int status = 0;

	if (!job)
		return;
	/* mpirun takes its ranks down when it is asked to; what does not go ends with the lab. */
	for (unsigned i = 0; i < 300 && !run_gone(&job->pid, &status); i++) {
		if (i == 50)
			(void)kill(job->pid, SIGTERM);
		usleep(20000);
	}
	run_kill(&job->pid);
	(void)close(job->out);
	run->again = run->net == TRAINING_TCP ? all_retransmits(demo) - job->again_before
					      : weft_again(job->stats);
	if (!run->done && !*run->error)
		(void)snprintf(run->error, sizeof(run->error), "the job did not end well: %s",
			*job->last ? job->last : "it said nothing");
	free(job);
}
