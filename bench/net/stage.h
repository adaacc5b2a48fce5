/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef STAGE_H
#define STAGE_H
/* stage - whose turn it is among processes that measure one after the other on few cores. */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

struct stage {             /* shared by all processes */
	atomic_int active; /* the contender whose turn it is */
	atomic_int ready;  /* whose child has woken up */
};
static struct stage *stage;

static inline void be_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set); /* one core is all there may be */
}

static inline bool stage_open(void)
{
	stage = mmap(
		NULL, sizeof(*stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (stage == MAP_FAILED)
		return false;
	atomic_store(&stage->active, -1);
	return true;
}

/* A child's place while others are on stage; true: it is our turn. */
static inline bool on_stage(int self)
{
	if (atomic_load_explicit(&stage->active, memory_order_acquire) == self) {
		atomic_store(&stage->ready, self);
		return true;
	}
	usleep(100);
	return false;
}

static inline void call(int who)
{
	atomic_store(&stage->ready, -1);
	atomic_store(&stage->active, who);
	while (who >= 0 && atomic_load(&stage->ready) != who)
		sched_yield();
}

static inline pid_t spawn(void (*run)(int self), int self)
{
	pid_t child = fork();

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	be_on(1);
	run(self);
	_exit(0);
}

#endif
