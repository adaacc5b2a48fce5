/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * paths - answers for device nodes and sysfs entries that are not there.
 *
 * As little as possible: a table of names, and the calls by which programs look at them, each
 * passed on to the C library with another path, or answered.  A name that the machine does have is
 * left to it.  A library that is preloaded into every process of a job must not need anything and
 * must not do anything at its start.
 *
 * Folders can be asked about and have a real name, but cannot be listed: nothing is in them.
 */
#include <weft/paths.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CLASS "/sys/class/infiniband/mrc#"
#define VIRTUAL "/sys/devices/virtual/infiniband/mrc#"
#define NUMBER_DIGITS 9

/* '#' stands for a device's number, '@' for the index of a GID that a device has. */
static const struct row {
	const char *name;
	const char *leads_to; /* of the same kind, for whoever asks what it is */
	const char *real;     /* what it is a link to; NULL: it is none */
	const char *text;     /* what is in it; NULL: nobody reads it */
} rows[] = {
	{ "/dev/infiniband/uverbs#", "/dev/null", NULL, NULL }, /* UCX: a character device */
	{ CLASS, "/sys/class", VIRTUAL, NULL },
	/* NCCL: where on the PCI bus.  Nowhere, and no two devices in one place. */
	{ CLASS "/device", "/sys/class", VIRTUAL "/device", NULL },
	{ VIRTUAL, "/sys/class", VIRTUAL, NULL },
	{ VIRTUAL "/device", "/sys/class", VIRTUAL "/device", NULL },
	{ CLASS "/device/numa_node", "/proc/version", NULL, "-1\n" },
	{ VIRTUAL "/device/numa_node", "/proc/version", NULL, "-1\n" },
	{ CLASS "/node_type", "/proc/version", NULL, "1: CA\n" },
	{ CLASS "/ports/1/link_layer", "/proc/version", NULL, "Ethernet\n" },
	/* NCCL, where there are several addresses to choose from; as verbs say it. */
	{ CLASS "/ports/1/gid_attrs/types/@", "/proc/version", NULL, "RoCE v2\n" },
};

/* Whether path is such a name.  number: of its device, as it is written there. */
static bool is_like(const char *pattern, const char *path, char number[NUMBER_DIGITS + 1])
{
	for (; *pattern; pattern++) {
		size_t n = strspn(path, "0123456789");

		if (*pattern == '#') {
			if (!n || n > NUMBER_DIGITS)
				return false;
			memcpy(number, path, n);
			number[n] = 0;
			path += n;
		} else if (*pattern == '@') {
			if (n != 1 || *path > '3')
				return false;
			path++;
		} else if (*path++ != *pattern) {
			return false;
		}
	}
	return !*path;
}

static const struct row *find(const char *path, char number[NUMBER_DIGITS + 1])
{
	if (!path || (strncmp(path, "/dev/", 5) && strncmp(path, "/sys/", 5)))
		return NULL;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (!is_like(rows[i].name, path, number))
			continue;
		/* Not access(): that is ours. */
		return syscall(SYS_faccessat, AT_FDCWD, path, F_OK) ? &rows[i] : NULL;
	}
	return NULL;
}

const char *weft_paths_map(const char *path)
{
	char number[NUMBER_DIGITS + 1];
	const struct row *row = find(path, number);

	return row ? row->leads_to : path;
}

/* Length of the real name of path, or 0: it is none of ours, or no link. */
static size_t real_name(const char *path, char real[PATH_MAX])
{
	char number[NUMBER_DIGITS + 1];
	const struct row *row = find(path, number);
	const char *hash = row && row->real ? strchr(row->real, '#') : NULL;

	return hash ? (size_t)snprintf(real, PATH_MAX, "%.*s%s%s", (int)(hash - row->real),
			      row->real, number, hash + 1)
		    : 0;
}

/* A descriptor of what is in it.  -2: it is none of ours, or has nothing in it. */
static int open_text(const char *path, int flags)
{
	char number[NUMBER_DIGITS + 1];
	const struct row *row = find(path, number);

	if (!row || !row->text)
		return -2;
	if ((flags & O_ACCMODE) != O_RDONLY) {
		errno = EACCES;
		return -1;
	}
	int fd = memfd_create("weft-paths", flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
	ssize_t n = (ssize_t)strlen(row->text);

	if (fd >= 0 && (write(fd, row->text, (size_t)n) != n || lseek(fd, 0, SEEK_SET))) {
		(void)close(fd);
		fd = -1;
	}
	return fd;
}

/* The C library's own; a function pointer cannot be had from dlsym() without this detour. */
#define NEXT(type, name)                                                                           \
	static void *_Atomic known;                                                                \
	void *found = atomic_load_explicit(&known, memory_order_relaxed);                          \
	type next;                                                                                 \
	if (!found) {                                                                              \
		found = dlsym(RTLD_NEXT, name);                                                    \
		atomic_store_explicit(&known, found, memory_order_relaxed);                        \
	}                                                                                          \
	memcpy(&next, &found, sizeof(next))

typedef int stat_fn(const char *, struct stat *);
typedef int fstatat_fn(int, const char *, struct stat *, int);
typedef int statx_fn(int, const char *, int, unsigned, struct statx *);
typedef int access_fn(const char *, int);
typedef int openat_fn(int, const char *, int, ...);
typedef FILE *fopen_fn(const char *, const char *);
typedef char *realpath_fn(const char *, char *);
typedef ssize_t readlinkat_fn(int, const char *, char *, size_t);

int stat(const char *path, struct stat *st)
{
	NEXT(stat_fn *, "stat");
	return next(weft_paths_map(path), st);
}

int lstat(const char *path, struct stat *st)
{
	NEXT(stat_fn *, "lstat");
	return next(weft_paths_map(path), st);
}

int fstatat(int dir, const char *path, struct stat *st, int flags)
{
	NEXT(fstatat_fn *, "fstatat");
	return next(dir, weft_paths_map(path), st, flags);
}

int statx(int dir, const char *path, int flags, unsigned mask, struct statx *st)
{
	NEXT(statx_fn *, "statx");
	return next(dir, weft_paths_map(path), flags, mask, st);
}

int access(const char *path, int mode)
{
	NEXT(access_fn *, "access");
	return next(weft_paths_map(path), mode);
}

int openat(int dir, const char *path, int flags, ...)
{
	int fd = open_text(path, flags);
	mode_t mode = 0;
	va_list list;

	if (fd != -2)
		return fd;
	if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {
		va_start(list, flags);
		mode = va_arg(list, mode_t);
		va_end(list);
	}
	NEXT(openat_fn *, "openat");
	return next(dir, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list list;

	if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {
		va_start(list, flags);
		mode = va_arg(list, mode_t);
		va_end(list);
	}
	return openat(AT_FDCWD, path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
	int fd = open_text(path, mode[strcspn(mode, "wa+")] ? O_RDWR : O_RDONLY);

	if (fd == -1)
		return NULL;
	if (fd >= 0)
		return fdopen(fd, mode);
	NEXT(fopen_fn *, "fopen");
	return next(path, mode);
}

char *realpath(const char *path, char *resolved)
{
	char real[PATH_MAX];
	size_t n = real_name(path, real);

	if (n)
		return resolved ? memcpy(resolved, real, n + 1) : strdup(real);
	NEXT(realpath_fn *, "realpath");
	return next(path, resolved);
}

ssize_t readlinkat(int dir, const char *path, char *to, size_t bytes)
{
	char real[PATH_MAX];
	size_t n = real_name(path, real);

	if (n) {
		n = n < bytes ? n : bytes;
		memcpy(to, real, n);
		return (ssize_t)n;
	}
	NEXT(readlinkat_fn *, "readlinkat");
	return next(dir, path, to, bytes);
}

ssize_t readlink(const char *path, char *to, size_t bytes)
{
	return readlinkat(AT_FDCWD, path, to, bytes);
}

/* What the calls above become where a program is built with _FORTIFY_SOURCE. */
char *__realpath_chk(const char *path, char *resolved, size_t room);
ssize_t __readlink_chk(const char *path, char *to, size_t bytes, size_t room);
int __open_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);

char *__realpath_chk(const char *path, char *resolved, size_t room)
{
	if (room < PATH_MAX)
		abort(); /* as the C library does */
	return realpath(path, resolved);
}

ssize_t __readlink_chk(const char *path, char *to, size_t bytes, size_t room)
{
	if (bytes > room)
		abort();
	return readlink(path, to, bytes);
}

int __open_2(const char *path, int flags)
{
	return open(path, flags);
}

int __openat_2(int dir, const char *path, int flags)
{
	return openat(dir, path, flags);
}

/* And where it is built for large files, which here all are. */
#define LARGE(name, type, params, args)                                                            \
	type large_##name params __asm__(#name);                                                   \
	type large_##name params                                                                   \
	{                                                                                          \
		return args;                                                                       \
	}

LARGE(stat64, int, (const char *path, struct stat *st), stat(path, st))
LARGE(lstat64, int, (const char *path, struct stat *st), lstat(path, st))
LARGE(fstatat64, int, (int dir, const char *path, struct stat *st, int flags),
	fstatat(dir, path, st, flags))
LARGE(open64, int, (const char *path, int flags, mode_t mode), open(path, flags, mode))
LARGE(openat64, int, (int dir, const char *path, int flags, mode_t mode),
	openat(dir, path, flags, mode))
LARGE(fopen64, FILE *, (const char *path, const char *mode), fopen(path, mode))
LARGE(__open64_2, int, (const char *path, int flags), open(path, flags))
LARGE(__openat64_2, int, (int dir, const char *path, int flags), openat(dir, path, flags))
