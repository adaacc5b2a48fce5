/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cuda - a stand-in for libcuda.so.1, for tests on machines without a GPU.
 *
 * Two devices whose memory no CPU can touch: the address handed out is PROT_NONE, the bytes lie
 * elsewhere.  Copies go on by themselves, late and each at another speed, in the order of their
 * stream, and read and write the host's bytes when they are due and not before: memory that is used
 * again too early shows.  Whoever calls without a context, without having pinned the host's memory
 * or outside an allocation gets an error, as of the driver.
 *
 * Environment: STANDIN_DELAY_US=N, a copy takes up to so long (300); STANDIN_FAIL=CALL:NTH:ERROR;
 * STANDIN_POOLED=1, memory belongs to no context; STANDIN_DEVICES=N; STANDIN_REPORT=1, counts on
 * stderr in the end; STANDIN_DMABUF=map|none, a device's memory is to be had as a DMA-BUF, which
 * a CPU may map or may not (a pipe plays that one); without it there is none.  A test in the same
 * process has struct standin.
 */
#include "cuda.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { OK = 0, INVALID = 1, NO_MEMORY = 2, NO_DEVICE = 100, NO_CONTEXT = 201, NOT_READY = 600 };
enum { THINGS_MAX = 4096, DEPTH_MAX = 16 };

struct memory { /* a device's, or the host's where it is pinned (then at = contents) */
	uint8_t *at, *contents;
	int fd; /* contents, as a file */
	size_t bytes;
	void *context;
	int device;
};
struct event {
	uint64_t waits_for; /* number of the last thing in its stream; 0: of nothing */
	void *stream;
};
struct stream {
	uint64_t last, done;
};
struct thing { /* to be done: a copy */
	struct stream *stream;
	uint64_t number, due_us;
	uint8_t *to;
	const uint8_t *from;
	size_t bytes;
};

struct standin standin = { .devices = 2, .delay_us = 300 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct memory memories[THINGS_MAX], pinned[THINGS_MAX];
static struct thing things[THINGS_MAX];
static unsigned n_things;
static uint64_t now_us, seed = 1;
static char primary[8], other; /* contexts: their addresses */
static __thread void *stack[DEPTH_MAX];
static __thread int depth;

static void report(void)
{
	fprintf(stderr,
		"standin: %d pushed, %d popped, %d memories, %d pinned, %d streams, %d events, "
		"%d retained, %lu copies, %lu bytes\n",
		standin.pushes, standin.pops, standin.memories, standin.pinned, standin.streams,
		standin.events, standin.retained, standin.copies, standin.bytes);
}

static void do_due(void)
{
	for (unsigned i = 0; i < n_things; i++) {
		struct thing *t = &things[i];

		if (t->due_us > now_us || standin.hangs || t->number != t->stream->done + 1)
			continue;
		memcpy(t->to, t->from, t->bytes);
		t->stream->done = t->number;
		standin.under_way--;
		memmove(t, t + 1, (--n_things - i) * sizeof(*t));
		i = UINT32_MAX; /* from the start: the next one of its stream */
	}
}

/* Its clock is how often it looks, which is as good as any here. */
static void *work(void *arg)
{
	for (;;) {
		usleep(20);
		pthread_mutex_lock(&lock);
		now_us += 50;
		do_due();
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void start(void)
{
	const char *delay = getenv("STANDIN_DELAY_US"), *fail = getenv("STANDIN_FAIL");
	const char *devices = getenv("STANDIN_DEVICES");
	pthread_t thread;

	if (delay)
		standin.delay_us = (unsigned)strtoul(delay, NULL, 10);
	if (devices)
		standin.devices = (int)strtoul(devices, NULL, 10);
	standin.pooled = getenv("STANDIN_POOLED") != NULL;
	if (fail)
		sscanf(fail, "%63[^:]:%d:%d", standin.fail, &standin.nth, &standin.error);
	if (getenv("STANDIN_REPORT"))
		atexit(report);
	pthread_create(&thread, NULL, work, NULL);
}

/* Whether this call is the one that is to fail. */
static int fails(const char *call)
{
	int error = OK;

	pthread_once(&once, start);
	pthread_mutex_lock(&lock);
	if (!strcmp(standin.fail, call) && standin.nth > 0 && !--standin.nth)
		error = standin.error;
	if (!strcmp(standin.fail, call) && standin.nth < 0) /* all of them */
		error = standin.error;
	pthread_mutex_unlock(&lock);
	return error;
}

#define MAY_FAIL                                                                                   \
	do {                                                                                       \
		int error = fails(__func__);                                                       \
		if (error)                                                                         \
			return error;                                                              \
	} while (0)
#define WANTS_CONTEXT                                                                              \
	do {                                                                                       \
		MAY_FAIL;                                                                          \
		if (!depth)                                                                        \
			return NO_CONTEXT;                                                         \
	} while (0)

int cuInit(unsigned flags)
{
	MAY_FAIL;
	return flags ? INVALID : OK;
}

int cuDeviceGetCount(int *n)
{
	MAY_FAIL;
	*n = standin.devices;
	return standin.devices ? OK : NO_DEVICE;
}

int cuDeviceGet(int *device, int ordinal)
{
	MAY_FAIL;
	*device = ordinal;
	return ordinal >= 0 && ordinal < standin.devices ? OK : INVALID;
}

int cuDeviceGetName(char *name, int bytes, int device)
{
	snprintf(name, (size_t)bytes, "stand-in %d", device);
	return OK;
}

int cuGetErrorString(int error, const char **text)
{
	*text = error == NOT_READY ? "not ready" : "stand-in error";
	return OK;
}

/* ---- contexts ---- */

int cuDevicePrimaryCtxRetain(void **context, int device)
{
	MAY_FAIL;
	*context = &primary[device];
	__atomic_add_fetch(&standin.retained, 1, __ATOMIC_RELAXED);
	return OK;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
	MAY_FAIL;
	__atomic_sub_fetch(&standin.retained, 1, __ATOMIC_RELAXED);
	return device < standin.devices ? OK : INVALID;
}

int cuCtxCreate_v2(void **context, unsigned flags, int device)
{
	(void)flags;
	(void)device;
	*context = &other;
	return cuCtxPushCurrent_v2(&other);
}

int cuCtxPushCurrent_v2(void *context)
{
	MAY_FAIL;
	if (!context || depth == DEPTH_MAX)
		return INVALID;
	stack[depth++] = context;
	__atomic_add_fetch(&standin.pushes, 1, __ATOMIC_RELAXED);
	return OK;
}

int cuCtxPopCurrent_v2(void **context)
{
	MAY_FAIL;
	if (!depth)
		return NO_CONTEXT;
	*context = stack[--depth];
	__atomic_add_fetch(&standin.pops, 1, __ATOMIC_RELAXED);
	return OK;
}

/* ---- memory ---- */

static struct memory *find(struct memory *list, uint64_t at, size_t bytes)
{
	for (unsigned i = 0; i < THINGS_MAX; i++) {
		uint64_t begin = (uintptr_t)list[i].at;

		if (list[i].at && at >= begin && at - begin < list[i].bytes &&
			bytes <= list[i].bytes - (at - begin))
			return &list[i];
	}
	return NULL;
}

static struct memory *unused(struct memory *list)
{
	for (unsigned i = 0; i < THINGS_MAX; i++) {
		if (!list[i].at)
			return &list[i];
	}
	return NULL;
}

int cuMemAlloc_v2(uint64_t *at, size_t bytes)
{
	WANTS_CONTEXT;
	pthread_mutex_lock(&lock);
	struct memory *m = unused(memories);

	m->fd = memfd_create("standin", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (m->fd < 0 || ftruncate(m->fd, (off_t)bytes) ||
		fcntl(m->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		abort();
	m->contents = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	m->at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	m->bytes = bytes;
	m->context = standin.pooled ? NULL : stack[depth - 1];
	m->device = stack[depth - 1] == &primary[1];
	standin.memories++;
	pthread_mutex_unlock(&lock);
	*at = (uintptr_t)m->at;
	return OK;
}

/* The driver waits for all that the GPU does. */
int cuMemFree_v2(uint64_t at)
{
	WANTS_CONTEXT;
	while (standin.under_way && !standin.hangs)
		usleep(100);
	pthread_mutex_lock(&lock);
	struct memory *m = find(memories, at, 1);

	if (m) {
		munmap(m->at, m->bytes);
		munmap(m->contents, m->bytes);
		close(m->fd);
		m->at = NULL;
		standin.memories--;
	}
	pthread_mutex_unlock(&lock);
	return m ? OK : INVALID;
}

int cuMemGetHandleForAddressRange(
	void *handle, uint64_t at, size_t bytes, int type, unsigned long long flags)
{
	const char *how = getenv("STANDIN_DMABUF");
	int fd[2] = { -1, -1 };

	WANTS_CONTEXT;
	pthread_mutex_lock(&lock);
	struct memory *m = find(memories, at, bytes);

	if (m && how && !strcmp(how, "map")) {
		fd[0] = dup(m->fd);
	} else if (m && how && !pipe(fd)) {
		close(fd[1]);
	}
	pthread_mutex_unlock(&lock);
	*(int *)handle = fd[0];
	return fd[0] >= 0 && type == 1 && !flags ? OK : INVALID;
}

int cuPointerGetAttribute(void *value, int attribute, uint64_t at)
{
	MAY_FAIL;
	pthread_mutex_lock(&lock);
	const struct memory *m = find(memories, at, 1), *p = find(pinned, at, 1);

	if (m && attribute == 1)
		*(void **)value = m->context;
	else if (m && attribute == 9)
		*(int *)value = m->device;
	else if (attribute == 2)
		*(unsigned *)value = m ? 2 : 1;
	pthread_mutex_unlock(&lock);
	if (m && attribute == 1 && !m->context)
		return INVALID;
	return m || (p && attribute == 2) ? OK : INVALID;
}

int cuMemHostRegister_v2(void *host, size_t bytes, unsigned flags)
{
	WANTS_CONTEXT;
	if (flags != 1)
		return INVALID; /* for one context only */
	pthread_mutex_lock(&lock);
	*unused(pinned) = (struct memory){ .at = host, .contents = host, .bytes = bytes };
	standin.pinned++;
	standin.pinned_bytes += bytes;
	pthread_mutex_unlock(&lock);
	return OK;
}

int cuMemHostUnregister(void *host)
{
	WANTS_CONTEXT;
	pthread_mutex_lock(&lock);
	struct memory *m = find(pinned, (uintptr_t)host, 1);

	if (m) {
		m->at = NULL;
		standin.pinned--;
		standin.pinned_bytes -= m->bytes;
	}
	pthread_mutex_unlock(&lock);
	return m ? OK : INVALID;
}

/* ---- streams ---- */

int cuStreamCreate(void **stream, unsigned flags)
{
	WANTS_CONTEXT;
	if (flags != 1)
		return INVALID; /* it would wait for the program's kernels */
	*stream = calloc(1, sizeof(struct stream));
	__atomic_add_fetch(&standin.streams, 1, __ATOMIC_RELAXED);
	return OK;
}

int cuStreamDestroy_v2(void *stream)
{
	WANTS_CONTEXT;
	__atomic_sub_fetch(&standin.streams, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&lock);
	bool busy = ((struct stream *)stream)->done != ((struct stream *)stream)->last;

	pthread_mutex_unlock(&lock);
	if (busy) {
		standin.torn++;
		return OK; /* and it is lost: what is under way names it */
	}
	free(stream);
	return OK;
}

int cuEventCreate(void **event, unsigned flags)
{
	WANTS_CONTEXT;
	(void)flags;
	*event = calloc(1, sizeof(struct event));
	__atomic_add_fetch(&standin.events, 1, __ATOMIC_RELAXED);
	return OK;
}

int cuEventDestroy_v2(void *event)
{
	WANTS_CONTEXT;
	__atomic_sub_fetch(&standin.events, 1, __ATOMIC_RELAXED);
	free(event);
	return OK;
}

int cuEventRecord(void *event, void *stream)
{
	WANTS_CONTEXT;
	struct event *e = event;

	pthread_mutex_lock(&lock);
	e->stream = stream;
	e->waits_for = ((struct stream *)stream)->last;
	pthread_mutex_unlock(&lock);
	return OK;
}

int cuEventQuery(void *event)
{
	WANTS_CONTEXT;
	struct event *e = event;

	pthread_mutex_lock(&lock);
	bool done = !e->stream || ((struct stream *)e->stream)->done >= e->waits_for;

	pthread_mutex_unlock(&lock);
	return done ? OK : NOT_READY;
}

/* ---- copies ---- */

static int later(uint8_t *to, const uint8_t *from, size_t bytes, struct stream *stream)
{
	if (n_things == THINGS_MAX)
		return NO_MEMORY;
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	things[n_things++] = (struct thing){ .stream = stream,
		.number = ++stream->last,
		.due_us = now_us + (standin.delay_us ? (seed >> 33) % standin.delay_us : 0),
		.to = to,
		.from = from,
		.bytes = bytes };
	standin.under_way++;
	standin.copies++;
	standin.bytes += bytes;
	return OK;
}

static int copy(uint64_t gpu, uint8_t *host, size_t bytes, bool to_gpu, struct stream *stream)
{
	int rc = INVALID;

	pthread_mutex_lock(&lock);
	struct memory *m = find(memories, gpu, bytes);
	bool is_pinned = find(pinned, (uintptr_t)host, bytes) != NULL;
	uint8_t *inside = m ? m->contents + (gpu - (uintptr_t)m->at) : NULL;

	if (m && !stream) {
		memcpy(to_gpu ? inside : host, to_gpu ? host : inside, bytes);
		rc = OK;
	} else if (m && is_pinned) {
		rc = later(to_gpu ? inside : host, to_gpu ? host : inside, bytes, stream);
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
	WANTS_CONTEXT;
	return copy(to, (uint8_t *)(uintptr_t)from, bytes, true, stream);
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
	WANTS_CONTEXT;
	return copy(from, to, bytes, false, stream);
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
	WANTS_CONTEXT;
	return copy(to, (uint8_t *)(uintptr_t)from, bytes, true, NULL);
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
	WANTS_CONTEXT;
	return copy(from, to, bytes, false, NULL);
}
