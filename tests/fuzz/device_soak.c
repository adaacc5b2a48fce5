/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device_soak SECONDS [SEED] - programs that do everything wrong with a device, and die of it.
 *
 * Three processes, two threads each, on one device per process over the loopback interface: they
 * open, connect, post, poll, deregister and close at random, with right and wrong keys, lengths and
 * states, and name each other's queue pairs by a table in shared memory.  Every half a second one
 * of them is killed with -9 and another takes its place.  What must hold: no process ends but by
 * our hand (sanitizers and asserts see to the rest), none hangs, and at the end each can close all
 * it has.  Memory is freed as soon as it is deregistered.
 */
#include <weft/base.h>
#include <weft/device.h>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSES = 3, THREADS = 2, QPS = 8, MRS = 6, MWS = 4, CQS = 2, NAMES = 64, LIMIT_S = 60 };
#define BYTES 20000u

struct name { /* torn reads are as good as any other guess */
	uint32_t qpn, rkey;
	uint64_t va;
	uint8_t gid[16];
};

static struct shared {
	_Atomic bool stop;
	struct name names[NAMES];
} *shared;

struct slot {
	pthread_mutex_t lock;
	void *it;
	uint8_t *memory;
};

static struct weft_dev *dev;
static struct weft_dev_pd *pd;
static struct slot cqs[CQS], mrs[MRS], mws[MWS], qps[QPS], srq;

struct worker {
	struct weft_rng rng;
	pthread_t thread;
};

static uint32_t below(struct worker *w, uint32_t n)
{
	return (uint32_t)(weft_rng_u64(&w->rng) >> 33) % n;
}

/* Another thread's, at this moment: false. */
static bool enter(struct slot *slot)
{
	return !pthread_mutex_trylock(&slot->lock);
}

static void leave(struct slot *slot)
{
	pthread_mutex_unlock(&slot->lock);
}

/* ---- what a program may do ---- */

static void change_mr(struct worker *w)
{
	struct slot *slot = &mrs[below(w, MRS)];

	if (!enter(slot))
		return;
	if (slot->it && below(w, 200)) {
		leave(slot);
		return;
	}
	if (slot->it) {
		if (!weft_dev_mr_close(slot->it)) { /* else a window is bound to it */
			free(slot->memory);
			slot->it = slot->memory = NULL;
		}
	} else {
		struct weft_dev_mr *mr = NULL;

		slot->memory = malloc(BYTES);
		WEFT_ASSERT(slot->memory);
		if (weft_dev_mr_open(pd, slot->memory, BYTES, (uintptr_t)slot->memory,
			    below(w, 4) ? 31 : below(w, 32), &mr)) {
			free(slot->memory);
			slot->memory = NULL;
		}
		slot->it = mr;
		struct name *name = &shared->names[below(w, NAMES)];

		if (mr) {
			name->rkey = weft_dev_mr_key(mr);
			name->va = (uintptr_t)slot->memory;
		}
	}
	leave(slot);
}

static void change_mw(struct worker *w)
{
	struct slot *slot = &mws[below(w, MWS)];
	struct weft_dev_mw *mw = NULL;

	if (!enter(slot))
		return;
	if (slot->it && !below(w, 50)) {
		WEFT_ASSERT(!weft_dev_mw_close(slot->it));
		slot->it = NULL;
	} else if (!slot->it) {
		WEFT_ASSERT(!weft_dev_mw_open(pd, 1 + below(w, 2), &mw));
		slot->it = mw;
	}
	leave(slot);
}

/* Binds a window, or takes one back, or is wrong about it. */
static void post_mw(struct worker *w)
{
	struct slot *slot = &mws[below(w, MWS)], *qp = &qps[below(w, QPS)];
	struct slot *mr = &mrs[below(w, MRS)];
	struct name *name = &shared->names[below(w, NAMES)];

	if (!enter(slot))
		return;
	if (slot->it && enter(qp)) {
		if (qp->it && enter(mr)) {
			uint32_t key = weft_dev_mw_key(slot->it) ^ below(w, 2);
			struct weft_dev_bind bind = { .mw = slot->it,
				.addr = (uintptr_t)mr->memory + below(w, 100),
				.len_bytes = below(w, BYTES),
				.mr_key = mr->it ? weft_dev_mr_key(mr->it) : 3,
				.access = 14, .zero_based = below(w, 2) };
			struct weft_dev_send send = { .id = 3, .rkey = key, .bind = &bind,
				.op = WEFT_DEV_LOCAL_INV + below(w, 3), .flags = below(w, 4) };

			if (!weft_dev_post_send(qp->it, &send, !below(w, 4))) {
				name->rkey = weft_dev_mw_key(slot->it);
				name->va = bind.zero_based ? 0 : bind.addr;
			}
			leave(mr);
		}
		leave(qp);
	}
	leave(slot);
}

static void open_qp(struct worker *w, struct slot *slot)
{
	struct slot *cq = &cqs[below(w, CQS)];
	struct weft_dev_qp *qp = NULL;

	if (!enter(cq))
		return;
	if (!cq->it) {
		struct weft_dev_cq *it = NULL;

		(void)weft_dev_cq_open(
			dev, below(w, 4) ? 4096 : 1 + below(w, 99), NULL, cq, &it);
		cq->it = it;
	}
	if (cq->it) {
		struct weft_dev_qp_init init = { .profile = (uint8_t)below(w, 3),
			.cq_tx = cq->it, .cq_rx = cq->it,
			.signal_all = below(w, 2), .sq_depth = 1 + below(w, 64),
			.rq_depth = 1 + below(w, 64), .sq_sges = 3, .rq_sges = 3,
			.inline_bytes = 64, .user = slot };

		if (init.profile == WEFT_DEV_EXTENDED && below(w, 2) && enter(&srq)) {
			init.srq = srq.it;
			(void)weft_dev_qp_open(pd, &init, &qp);
			leave(&srq);
		} else {
			(void)weft_dev_qp_open(pd, &init, &qp);
		}
	}
	leave(cq);
	slot->it = qp;
}

static void move(struct worker *w, struct weft_dev_qp *qp, uint8_t to)
{
	struct name *name = &shared->names[below(w, NAMES)];
	struct weft_dev_qp_attr attr = { .state = to,
		.access = below(w, 4) ? 15 : below(w, 16),
		.qkey = 5,
		.peer_qpn = name->qpn,
		.timeout = (uint8_t)below(w, 20),
		.retry = (uint8_t)below(w, 8),
		.rnr_retry = (uint8_t)below(w, 8),
		.rnr_timer = 1,
		.rd_tx = 4 };
	uint32_t mask = WEFT_DEV_SET_STATE;

	memcpy(attr.gid, name->gid, 16);
	if (to == WEFT_DEV_INIT)
		mask |= WEFT_DEV_SET_ACCESS | WEFT_DEV_SET_QKEY;
	if (to == WEFT_DEV_RTR)
		mask |= WEFT_DEV_SET_PEER | WEFT_DEV_SET_PEER_QPN;
	if (to == WEFT_DEV_RTS)
		mask |= WEFT_DEV_SET_TIMEOUT | WEFT_DEV_SET_RETRY | WEFT_DEV_SET_RNR_RETRY |
			WEFT_DEV_SET_RNR_TIMER | WEFT_DEV_SET_RD_TX;
	(void)weft_dev_qp_modify(qp, &attr, mask);
}

/* To one that is likely to want to be called: both name each other only by chance, so here they
 * look for somebody who has named them. */
static void connect(struct worker *w, struct weft_dev_qp *qp)
{
	struct name *name = &shared->names[below(w, NAMES)];

	for (uint8_t to = WEFT_DEV_INIT; to <= WEFT_DEV_RTS; to++)
		move(w, qp, to);
	name->qpn = weft_dev_qp_number(qp);
	weft_dev_gid(dev, name->gid);
}

/* Two of this process, with each other: so that there is always traffic. */
static void marry(struct worker *w, struct weft_dev_qp *a, struct weft_dev_qp *b)
{
	struct weft_dev_qp *both[] = { a, b };

	for (unsigned i = 0; i < 2; i++) {
		struct weft_dev_qp_attr attr = { .access = 15, .qkey = 5, .timeout = 14,
			.retry = 3, .rnr_retry = (uint8_t)below(w, 8), .rnr_timer = 1,
			.rd_tx = 4, .peer_qpn = weft_dev_qp_number(both[!i]) };

		weft_dev_gid(dev, attr.gid);
		for (uint8_t to = WEFT_DEV_RESET; to <= WEFT_DEV_RTS; to++) {
			attr.state = to;
			(void)weft_dev_qp_modify(both[i], &attr,
				WEFT_DEV_SET_STATE | WEFT_DEV_SET_ACCESS | WEFT_DEV_SET_QKEY |
					WEFT_DEV_SET_PEER | WEFT_DEV_SET_PEER_QPN |
					WEFT_DEV_SET_TIMEOUT | WEFT_DEV_SET_RETRY |
					WEFT_DEV_SET_RNR_RETRY | WEFT_DEV_SET_RD_TX);
		}
	}
}

static void change_qp(struct worker *w)
{
	uint32_t at = below(w, QPS);
	struct slot *slot = &qps[at], *other = &qps[at + 1];

	if (!enter(slot))
		return;
	struct weft_dev_qp_attr now = { .state = WEFT_DEV_RESET };

	if (slot->it)
		weft_dev_qp_query(slot->it, &now, NULL);
	bool busy = now.state >= WEFT_DEV_RTR && now.state <= WEFT_DEV_SQD;

	if (!slot->it) {
		open_qp(w, slot);
	} else if (busy && below(w, 100)) {
		leave(slot); /* let it do something first */
		return;
	} else if (!below(w, 8)) {
		WEFT_ASSERT(!weft_dev_qp_close(slot->it));
		slot->it = NULL;
	} else if (!below(w, 4)) {
		move(w, slot->it, (uint8_t)below(w, 7));
	} else if (below(w, 4) && at + 1 < QPS && enter(other)) {
		if (other->it)
			marry(w, slot->it, other->it);
		leave(other);
	} else {
		connect(w, slot->it);
	}
	leave(slot);
}

static uint32_t choose_sges(struct worker *w, struct weft_dev_sge sges[3], struct slot *held[3])
{
	uint32_t n = below(w, 4), used = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct slot *mr = &mrs[below(w, MRS)];

		if (!enter(mr))
			continue;
		if (!mr->it) {
			leave(mr);
			continue;
		}
		held[used] = mr;
		sges[used++] = (struct weft_dev_sge){
			(uintptr_t)mr->memory + below(w, 5000), below(w, below(w, 8) ? 9000 : 64),
			weft_dev_mr_key(mr->it) ^ !below(w, 500) };
	}
	return used;
}

static void post(struct worker *w)
{
	struct slot *slot = &qps[below(w, QPS)], *held[3];
	const struct name *name = &shared->names[below(w, NAMES)];
	struct weft_dev_sge sges[3];

	if (!enter(slot))
		return;
	uint32_t n = choose_sges(w, sges, held);
	struct weft_dev_send send = { .id = 1, .sges = sges, .n_sges = n, .op = below(w, 7),
		.flags = below(w, 8), .imm = 7, .remote_va = name->va + below(w, 64) * 8,
		.rkey = name->rkey ^ !below(w, 50), .operand = { 1, 2 } };
	struct weft_dev_recv recv = { .id = 2, .sges = sges, .n_sges = n };

	if (n && below(w, 100)) { /* the partner is of this process more often than not */
		send.rkey = weft_dev_mr_key(held[0]->it);
		send.remote_va = (uintptr_t)held[0]->memory + below(w, 64) * 8;
	}
	if (send.op >= WEFT_DEV_CMP_SWAP && n)
		sges[0].len_bytes = 8;
	if (slot->it && below(w, 2))
		(void)weft_dev_post_recv(slot->it, &recv);
	else if (slot->it)
		(void)weft_dev_post_send(slot->it, &send, !below(w, 4));
	else if (enter(&srq)) {
		if (srq.it)
			(void)weft_dev_srq_post(srq.it, &recv);
		leave(&srq);
	}
	while (n--)
		leave(held[n]);
	leave(slot);
}

static void poll_cq(struct worker *w)
{
	struct slot *slot = &cqs[below(w, CQS)];
	struct weft_dev_wc wc[16];

	if (!enter(slot))
		return;
	if (slot->it && !below(w, 500)) {
		if (!weft_dev_cq_close(slot->it))
			slot->it = NULL;
	} else if (slot->it) {
		for (unsigned i = 0; i < 20; i++)
			(void)weft_dev_cq_poll(slot->it, wc, 16);
		(void)weft_dev_cq_arm(slot->it, below(w, 2));
		if (!below(w, 32))
			(void)weft_dev_cq_resize(slot->it, 1 + below(w, 300));
	}
	leave(slot);
}

static void look_around(struct worker *w)
{
	struct weft_dev_event event;

	while (!weft_dev_event_get(dev, &event))
		continue;
	if (!enter(&srq))
		return;
	if (srq.it && !below(w, 16)) {
		if (!weft_dev_srq_close(srq.it))
			srq.it = NULL;
	} else if (!srq.it) {
		struct weft_dev_srq_attr attr = { .depth = 1 + below(w, 64), .sges = 3 };
		struct weft_dev_srq *it = NULL;

		(void)weft_dev_srq_open(pd, &attr, NULL, &it);
		srq.it = it;
	}
	leave(&srq);
}

/* ---- a life ---- */

static void *work(void *arg)
{
	static void (*const deeds[])(struct worker *w) = { change_mr, change_qp, post, post, post,
		change_mw, post_mw, poll_cq, poll_cq, look_around };
	struct worker *w = arg;

	while (!shared->stop)
		deeds[below(w, WEFT_COUNT(deeds))](w);
	return NULL;
}

static void end(void)
{
	for (unsigned i = 0; i < QPS; i++)
		WEFT_ASSERT(!qps[i].it || !weft_dev_qp_close(qps[i].it));
	for (unsigned i = 0; i < MWS; i++)
		WEFT_ASSERT(!mws[i].it || !weft_dev_mw_close(mws[i].it));
	for (unsigned i = 0; i < MRS; i++) {
		WEFT_ASSERT(!mrs[i].it || !weft_dev_mr_close(mrs[i].it));
		free(mrs[i].memory);
	}
	for (unsigned i = 0; i < CQS; i++)
		WEFT_ASSERT(!cqs[i].it || !weft_dev_cq_close(cqs[i].it));
	WEFT_ASSERT(!srq.it || !weft_dev_srq_close(srq.it));
	WEFT_ASSERT(!weft_dev_pd_close(pd));
	WEFT_ASSERT(!weft_dev_close(dev));
}

static pid_t start(uint64_t seed)
{
	struct weft_dev_name name = { .name = "soak0", .planes = "127.0.0.1,::1" };
	static struct worker workers[THREADS];
	char error[256];
	pid_t pid = fork();

	if (pid)
		return pid;
	alarm(LIMIT_S + 120); /* a hang is a death of its own */
	if (weft_dev_open(&dev, &name, error, sizeof(error)) || weft_dev_pd_open(dev, &pd)) {
		fprintf(stderr, "%s\n", error);
		_exit(3);
	}
	(void)fcntl(weft_dev_event_fd(dev), F_SETFL, O_NONBLOCK);
	for (unsigned i = 0; i < THREADS; i++) {
		weft_rng_seed(&workers[i].rng, seed * THREADS + i);
		WEFT_ASSERT(!pthread_create(&workers[i].thread, NULL, work, &workers[i]));
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	end();
	exit(0);
}

static int judge(int status, uint64_t seed)
{
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	fprintf(stderr, "seed %llu: a process ended with status 0x%x\n", (unsigned long long)seed,
		(unsigned)status);
	return 1;
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 0) : 5;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1, turns, kills = 0;
	pid_t pids[PROCESSES];
	int status, faults = 0;

	if (unshare(getuid() ? CLONE_NEWUSER | CLONE_NEWNET : CLONE_NEWNET) ||
		system("ip link set lo up")) /* NOLINT: our own constant */
		return 77; /* no network namespaces here */
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		-1, 0);
	WEFT_ASSERT(shared != MAP_FAILED && seconds <= LIMIT_S);
	for (unsigned i = 0; i < PROCESSES; i++)
		pids[i] = start(seed++);
	for (turns = 0; turns < seconds * 2 && !faults; turns++) {
		unsigned victim = (unsigned)(turns % PROCESSES);

		usleep(500000);
		if (waitpid(pids[victim], &status, WNOHANG) == pids[victim]) {
			faults += judge(status ? status : 1, seed);
		} else {
			kill(pids[victim], SIGKILL);
			waitpid(pids[victim], &status, 0);
			kills++;
		}
		pids[victim] = start(seed++);
	}
	shared->stop = true;
	for (unsigned i = 0; i < PROCESSES; i++) {
		waitpid(pids[i], &status, 0);
		faults += judge(status, seed);
	}
	printf("%llu killed, %d faults\n", (unsigned long long)kills, faults);
	return faults != 0;
}
