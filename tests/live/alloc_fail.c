/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * alloc_fail - to be preloaded: one allocation of Weft's libraries fails.
 *
 * Calls of malloc, calloc, realloc, aligned_alloc, posix_memalign, strdup, mmap and
 * pthread_create are counted if the caller's code lies in a file whose name contains one of the
 * words of $ALLOC_FAIL_IN (separated by blanks), and number $ALLOC_FAIL of them fails.  When the
 * process ends, or at the failure, a line goes to the file $ALLOC_FAIL_LOG: "count N" or "failed N
 * FUNCTION CALLER".
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The C library's own, by the names that it exports for this. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *at, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);

static atomic_long calls;
static long fails_at = -1; /* not looked up so far */
static const char *words;

static void say(const char *format, ...)
{
	const char *path = getenv("ALLOC_FAIL_LOG");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
	char line[512];
	va_list list;

	if (fd < 0)
		return;
	va_start(list, format);
	int n = vsnprintf(line, sizeof(line), format, list);

	va_end(list);
	(void)!write(fd, line, (size_t)n);
	(void)close(fd);
}

__attribute__((constructor)) static void begin(void)
{
	const char *at = getenv("ALLOC_FAIL");

	words = getenv("ALLOC_FAIL_IN");
	fails_at = at && words ? strtol(at, NULL, 10) : -1;
}

__attribute__((destructor)) static void end(void)
{
	if (fails_at == 0)
		say("count %ld\n", (long)calls);
}

static bool is_counted(const char *file)
{
	const char *at = words;

	while (*at) {
		size_t n = strcspn(at, " ");
		const void *found = memmem(file, strlen(file), at, n);

		if (n && found)
			return true;
		at += n + strspn(at + n, " ");
	}
	return false;
}

/* Whether this call is the one. */
static bool fails(const char *name, const void *caller)
{
	Dl_info info;

	if (fails_at < 0 || !dladdr(caller, &info) || !info.dli_fname ||
		!is_counted(info.dli_fname))
		return false;
	long number = atomic_fetch_add(&calls, 1) + 1;

	if (number != fails_at)
		return false;
	say("failed %ld %s %s+0x%zx\n", number, name,
		info.dli_sname ? info.dli_sname : info.dli_fname,
		(size_t)((const char *)caller - (const char *)info.dli_fbase));
	errno = ENOMEM;
	return true;
}

#define FAILS(name) fails(name, __builtin_return_address(0))

void *malloc(size_t bytes)
{
	return FAILS("malloc") ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
	return FAILS("calloc") ? NULL : __libc_calloc(n, bytes);
}

void *realloc(void *at, size_t bytes)
{
	return FAILS("realloc") ? NULL : __libc_realloc(at, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
	return FAILS("aligned_alloc") ? NULL : __libc_memalign(align, bytes);
}

int posix_memalign(void **out, size_t align, size_t bytes)
{
	if (FAILS("posix_memalign"))
		return ENOMEM;
	*out = __libc_memalign(align, bytes);
	return *out ? 0 : ENOMEM;
}

char *strdup(const char *text)
{
	size_t n = strlen(text) + 1;
	char *copy = FAILS("strdup") ? NULL : __libc_malloc(n);

	return copy ? memcpy(copy, text, n) : NULL;
}

void *mmap(void *at, size_t bytes, int access, int flags, int fd, off_t offset)
{
	return FAILS("mmap") ? MAP_FAILED
			     : (void *)syscall(SYS_mmap, at, bytes, access, flags, fd, offset);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	void *found = dlsym(RTLD_NEXT, "pthread_create");

	memcpy(&next, &found, sizeof(next));
	return FAILS("pthread_create") ? EAGAIN : next(thread, attr, run, arg);
}
