/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * incast_live - the incast live: the switches of the fabric in one process, the endpoints in two,
 * rings of shared memory between them, and the machine's own clock.
 *
 *   parent: samples, counters --control socket--> [switch] <--shm--> [8 that receive]
 *                                                          <--shm--> [8 that send]
 *
 * No privilege, no namespaces.  Samples come from the T0 switches of the one NIC only, where the
 * queues are; asking all switches fifty times a second would be work that they must do meanwhile.
 * Totals are asked for at the end.
 */
#include "demo.h"
#include "incast.h"
#include "live_args.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/base.h>
#include <weft/net.h>
#include <weft/switchd.h>

#define PATIENCE_NS UINT64_C(15000000000)
#define LEAD_NS UINT64_C(20000000) /* from "go" to time 0 */
#define LOOK_NS UINT64_C(5000000)
#define PLANES 2

enum { CHILD_SWITCH, CHILD_RECEIVERS, CHILD_TRANSMITTERS, CHILDREN };

struct live {
	const struct incast_plan *plan;
	struct incast_run *run;
	struct incast_shared *shared;
	char dir[64], fabric[4096]; /* dir: short, there are sockets in it */
	pid_t child[CHILDREN];
};

/* ---- children ---- */

static void run_switch(const struct live *l)
{
	const struct weft_switchd_config config = { .fabric = l->fabric, .dir = l->dir };
	static const volatile int never;
	struct weft_switchd *sw;
	char error[INCAST_TEXT_BYTES];

	if (weft_switchd_open(&sw, &config, error, sizeof(error))) {
		fprintf(stderr, "weft demo incast: switch: %s\n", error);
		_exit(1);
	}
	weft_switchd_run(sw, &never);
	weft_switchd_close(sw);
}

/*
 * Before compilers and the like, where one may: what they take is no network's doing.  All three
 * processes nap whenever they have nothing to do, and take less than one CPU together.
 */
static void go_first(void)
{
	const struct sched_param least = { .sched_priority = 1 };

	(void)sched_setscheduler(0, SCHED_RR, &least);
}

static int start_child(struct live *l, unsigned which)
{
	pid_t parent = getpid();

	fflush(NULL);
	l->child[which] = fork();
	if (l->child[which] < 0) {
		(void)snprintf(l->run->error, sizeof(l->run->error), "fork: %s", strerror(errno));
		return -1;
	}
	if (l->child[which])
		return 0;
	(void)signal(SIGINT, SIG_IGN); /* the parent decides */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	go_first();
	(void)unsetenv("WEFT_RATE"); /* of a lab that we may be run in */
	if (getppid() != parent)
		_exit(126);
	if (which == CHILD_SWITCH)
		run_switch(l);
	else
		incast_side_run(l->plan, which - CHILD_RECEIVERS, l->fabric, l->dir, l->shared);
	_exit(0);
}

/* Each child ends by itself when asked; what does not is killed. */
static void end_children(struct live *l)
{
	json_t *stop = json_pack("{s:s}", "op", "stop"), *answer = NULL;
	char error[INCAST_TEXT_BYTES];

	atomic_store(&l->shared->stop, true);
	for (unsigned i = CHILDREN; i-- > 0;) {
		uint64_t deadline_ns = weft_clock_now(NULL) + UINT64_C(2000000000);
		int status;

		if (l->child[i] <= 0)
			continue;
		if (i == CHILD_SWITCH) {
			(void)weft_switchd_ask(l->dir, stop, &answer, error, sizeof(error));
			json_decref(answer);
		}
		while (!waitpid(l->child[i], &status, WNOHANG)) {
			if (weft_clock_now(NULL) > deadline_ns)
				(void)kill(l->child[i], SIGKILL);
			weft_clock_sleep(LOOK_NS);
		}
	}
	json_decref(stop);
}

static bool has_failed(struct live *l)
{
	for (unsigned i = 0; i < INCAST_SIDES; i++) {
		const struct incast_side *side = &l->shared->side[i];
		int status;

		if (atomic_load(&side->has_failed)) {
			(void)snprintf(l->run->error, sizeof(l->run->error), "%s", side->error);
			return true;
		}
		if (waitpid(l->child[CHILD_RECEIVERS + i], &status, WNOHANG) > 0) {
			l->child[CHILD_RECEIVERS + i] = 0;
			(void)snprintf(l->run->error, sizeof(l->run->error),
				"a process of endpoints has died");
			return true;
		}
	}
	if (demo_stopped)
		(void)snprintf(l->run->error, sizeof(l->run->error), "interrupted");
	return demo_stopped;
}

static int await_side(struct live *l, unsigned which)
{
	uint64_t deadline_ns = weft_clock_now(NULL) + PATIENCE_NS;

	if (start_child(l, CHILD_RECEIVERS + which))
		return -1;
	while (!atomic_load(&l->shared->side[which].is_ready)) {
		weft_clock_sleep(LOOK_NS);
		if (l->child[CHILD_TRANSMITTERS] ? has_failed(l)
						 : atomic_load(&l->shared->side[which].has_failed))
			return -1;
		if (weft_clock_now(NULL) > deadline_ns) {
			(void)snprintf(l->run->error, sizeof(l->run->error),
				"endpoints are not ready after 15 s");
			return -1;
		}
	}
	return 0;
}

/* ---- questions to the switch ---- */

static json_t *ask(const struct live *l, const char *op, const char *node)
{
	json_t *request = json_pack("{s:s, s:s*}", "op", op, "node", node), *answer = NULL;
	char error[INCAST_TEXT_BYTES];

	if (weft_switchd_ask(l->dir, request, &answer, error, sizeof(error))) {
		json_decref(answer);
		answer = NULL;
	}
	json_decref(request);
	return answer;
}

static int await_switch(struct live *l)
{
	uint64_t deadline_ns = weft_clock_now(NULL) + PATIENCE_NS;
	json_t *answer;

	while (!(answer = ask(l, "hello", NULL))) {
		if (weft_clock_now(NULL) > deadline_ns || demo_stopped) {
			(void)snprintf(l->run->error, sizeof(l->run->error), "%s",
				demo_stopped ? "interrupted" : "the switch does not answer");
			return -1;
		}
		weft_clock_sleep(LOOK_NS);
	}
	json_decref(answer);
	return 0;
}

static uint64_t number(const json_t *object, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(object, key));
}

/* What the ports of these switches have counted. */
static void add_ports(const json_t *answer, struct incast_counts *c, uint32_t *queue_bytes)
{
	size_t i, k;
	json_t *sw, *port;

	json_array_foreach(json_object_get(answer, "switches"), i, sw)
	{
		json_array_foreach(json_object_get(sw, "ports"), k, port)
		{
			const char *link = json_string_value(json_object_get(port, "link"));

			c->trimmed += number(port, "SAI_PORT_STAT_TRIM_PACKETS");
			c->marked += number(port, "SAI_PORT_STAT_ECN_MARKED_PACKETS");
			c->pauses += number(port, "SAI_PORT_STAT_PFC_3_TX_PKTS");
			c->dropped += number(port, "SAI_PORT_STAT_IF_OUT_DISCARDS");
			if (link && !strncmp(link, "h0.", 3))
				*queue_bytes += (uint32_t)number(
					json_array_get(json_object_get(port, "queues"), 0),
					"depth_bytes");
		}
	}
}

/* Without the switches' numbers there is nothing to say. */
static int no_answer(struct live *l)
{
	if (!l->run->error[0])
		(void)snprintf(l->run->error, sizeof(l->run->error),
			"the switch does not tell its counters");
	return -1;
}

static int sample(struct live *l, uint64_t at_ns)
{
	static const char *const nodes[PLANES] = { "p0.t0-0", "p1.t0-0" };
	struct incast_counts c = { 0 };
	uint32_t queue_bytes = 0;
	struct incast_sample *s = incast_add(l->run, at_ns);

	if (!s)
		return -1;
	for (uint32_t flow = 0; flow < INCAST_FLOWS; flow++)
		s->bytes[flow] = atomic_load(&l->shared->bytes[flow]);
	for (unsigned p = 0; p < PLANES; p++) {
		json_t *answer = ask(l, "counters", nodes[p]);

		if (!answer)
			return no_answer(l);
		add_ports(answer, &c, &queue_bytes);
		json_decref(answer);
	}
	s->trimmed = c.trimmed;
	s->marked = c.marked;
	s->dropped = c.dropped;
	s->queue_bytes = queue_bytes;
	return 0;
}

static void add_sides(const struct live *l, struct incast_counts *c)
{
	for (unsigned i = 0; i < INCAST_SIDES; i++) {
		const struct incast_counts *side = &l->shared->side[i].counts;

		c->data += side->data;
		c->again += side->again;
		c->nacks += side->nacks;
		c->timeouts += side->timeouts;
		c->tail_probes += side->tail_probes;
		c->spurious += side->spurious;
	}
}

static int count(struct live *l, struct incast_counts *c)
{
	json_t *answer = ask(l, "counters", NULL);
	uint32_t queue_bytes = 0;

	if (!answer)
		return no_answer(l);
	*c = (struct incast_counts){ 0 };
	add_ports(answer, c, &queue_bytes);
	c->dropped = number(json_object_get(answer, "fabric"), "dropped");
	json_decref(answer);
	add_sides(l, c);
	return 0;
}

/* ---- a run ---- */

static int watch(struct live *l)
{
	uint64_t start_ns = weft_clock_now(NULL) + LEAD_NS;
	bool has_stopped = false;

	atomic_store(&l->shared->start_ns, start_ns);
	for (uint64_t at_ns = 0; at_ns <= incast_total_ns(l->plan); at_ns += l->plan->step_ns) {
		uint64_t now;

		while ((now = weft_clock_now(NULL)) < start_ns + at_ns)
			weft_clock_sleep(start_ns + at_ns - now);
		if (has_failed(l) || sample(l, now - start_ns))
			return -1;
		if (!has_stopped && at_ns >= incast_burst_ns(l->plan, 0) - l->plan->step_ns) {
			if (count(l, &l->run->at_stop))
				return -1;
			has_stopped = true;
		}
	}
	return 0;
}

static int write_fabric(struct live *l, const char *folder)
{
	char text[INCAST_FABRIC_BYTES];

	incast_fabric(l->plan, l->run->kind, text);
	(void)snprintf(l->fabric, sizeof(l->fabric), "%s/fabric-%s.yaml", folder,
		incast_words[l->run->kind]);
	FILE *out = fopen(l->fabric, "w");
	bool bad = !out || fputs(text, out) < 0;

	if (out && fclose(out))
		bad = true;
	if (bad)
		(void)snprintf(l->run->error, sizeof(l->run->error), "%.400s: %s", l->fabric,
			strerror(errno));
	return bad ? -1 : 0;
}

static int collect(struct live *l)
{
	struct incast_run *run = l->run;

	if (count(l, &run->counts))
		return -1;
	for (uint32_t f = 0; f < INCAST_SENDERS; f++)
		for (uint32_t b = 0; b < l->plan->bursts; b++)
			run->burst_ns[b][f] = l->shared->took_ns[f][b];
	for (unsigned i = 0; i < INCAST_SIDES; i++)
		run->late_ns = WEFT_MAX(run->late_ns, atomic_load(&l->shared->side[i].late_ns));
	return 0;
}

/* A lock, and the sockets of whoever had to be killed. */
static void remove_dir(const char *path)
{
	DIR *dir = opendir(path);

	for (struct dirent *entry; dir && (entry = readdir(dir));)
		(void)unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		(void)closedir(dir);
	(void)rmdir(path);
}

int incast_live(const struct incast_plan *plan, const char *folder, struct incast_run *run)
{
	struct live l = { .plan = plan, .run = run };
	const char *tmp = getenv("TMPDIR");
	int n = snprintf(l.dir, sizeof(l.dir), "%s/weft-incast-XXXXXX", tmp && *tmp ? tmp : "/tmp");

	if (n >= (int)sizeof(l.dir)) {
		(void)snprintf(run->error, sizeof(run->error),
			"TMPDIR: %s: too long for the sockets that go there", tmp);
		return -1;
	}
	l.shared = mmap(
		NULL, sizeof(*l.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (l.shared == MAP_FAILED) {
		(void)snprintf(run->error, sizeof(run->error), "out of memory");
		return -1;
	}
	if (!mkdtemp(l.dir)) {
		(void)snprintf(run->error, sizeof(run->error), "%s: %s", l.dir, strerror(errno));
		(void)munmap(l.shared, sizeof(*l.shared));
		return -1;
	}
	live_direct(true); /* samples are taken at their time */
	if (!write_fabric(&l, folder) && !start_child(&l, CHILD_SWITCH) && !await_switch(&l) &&
		!await_side(&l, INCAST_RECEIVERS) && !await_side(&l, INCAST_TRANSMITTERS) &&
		!watch(&l) && !collect(&l)) {
		run->is_done = true;
	} else if (!run->error[0]) {
		for (unsigned i = 0; i < INCAST_SIDES; i++)
			if (l.shared->side[i].error[0])
				(void)snprintf(run->error, sizeof(run->error), "%s",
					l.shared->side[i].error);
	}
	live_direct(false);
	end_children(&l);
	remove_dir(l.dir);
	(void)munmap(l.shared, sizeof(*l.shared));
	return run->is_done ? 0 : -1;
}
