/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * paths - answers for device nodes that are not there.
 *
 * As little as possible: the calls by which programs look at a node, each passed on to the C
 * library with another path.  A library that is preloaded into every process of a job must not
 * need anything and must not do anything at its start.  A machine that has real nodes keeps them.
 */
#include <weft/paths.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NODES "/dev/infiniband/uverbs"

const char *weft_paths_map(const char *path)
{
	if (!path || strncmp(path, NODES, sizeof(NODES) - 1))
		return path;
	/* Not access(): that is ours. */
	return syscall(SYS_faccessat, AT_FDCWD, path, F_OK) ? "/dev/null" : path;
}

/* The C library's own; a function pointer cannot be had from dlsym() without this detour. */
#define NEXT(type, name) \
	type next; \
	void *found = dlsym(RTLD_NEXT, name); \
	memcpy(&next, &found, sizeof(next))

typedef int stat_fn(const char *, struct stat *);
typedef int fstatat_fn(int, const char *, struct stat *, int);
typedef int statx_fn(int, const char *, int, unsigned, struct statx *);
typedef int access_fn(const char *, int);

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
