/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cp_file - where a received file may come to lie, and when it gets its name.
 *
 * The sender chooses the name, so the kernel decides whether it stays inside the served folder:
 * openat2() with RESOLVE_BENEATH judges "..", absolute names and symbolic links in one place, with
 * no gap between looking and opening.  Bytes go to a file without a name, which gets one when the
 * digest has been checked: a name never stands for half a file, and whatever ends this process,
 * nothing is left behind.  Where the file system has no nameless files, one with a dot stands in.
 */
#include "cp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int map(struct cp_file *file, int protection)
{
	if (!file->bytes)
		return 0;
	file->data = mmap(NULL, file->bytes, protection, MAP_SHARED, file->fd, 0);
	if (file->data == MAP_FAILED) {
		file->data = NULL;
		return -1;
	}
	/* The kernel's own read-ahead may be 8 MiB per fault, 17 ms during which nothing else
	 * runs on that CPU, the pump included: cp_work asks for what it needs, piece by piece. */
	(void)madvise(file->data, file->bytes, MADV_RANDOM);
	return 0;
}

int cp_file_open(struct cp_file *file, const char *path, char *error, size_t error_bytes)
{
	struct stat st;

	/* Without O_NONBLOCK a pipe without a writer would keep us here. */
	*file = (struct cp_file){ .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), .dir = -1 };
	if (file->fd < 0 || fstat(file->fd, &st)) {
		snprintf(error, error_bytes, "%s: %s", path, strerror(errno));
		cp_file_close(file);
		return -1;
	}
	if (!S_ISREG(st.st_mode)) {
		snprintf(error, error_bytes, "%s: not a regular file", path);
		cp_file_close(file);
		return -1;
	}
	file->bytes = (uint64_t)st.st_size;
	if (map(file, PROT_READ)) {
		snprintf(error, error_bytes, "%s: cannot be mapped: %s", path, strerror(errno));
		cp_file_close(file);
		return -1;
	}
	return 0;
}

/* Opens the folder that path lies in, beneath root, and copies the last part of path to name. */
static int open_folder(struct cp_file *file, int root, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
	char folder[4096];

	if (!*name || !strcmp(name, ".") || !strcmp(name, "..") ||
		strlen(name) >= sizeof(file->name) - 16) {
		errno = EINVAL;
		return -1;
	}
	snprintf(file->name, sizeof(file->name), "%s", name);
	if (slash && (size_t)(slash - path) >= sizeof(folder)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) : 1,
		slash ? path : ".");
	if (slash == path) {
		errno = EXDEV; /* "/name": as the kernel answers to any other absolute path */
		return -1;
	}
	file->dir = (int)syscall(SYS_openat2, root, folder, &how, sizeof(how));
	return file->dir < 0 ? -1 : 0;
}

static void choose_temporary(struct cp_file *file)
{
	snprintf(file->temporary, sizeof(file->temporary), ".%s.weft-%x", file->name,
		(unsigned)weft_clock_now(NULL));
}

static int make_temporary(struct cp_file *file, uint64_t bytes, unsigned mode)
{
	file->fd = openat(file->dir, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, mode & 0777);
	if (file->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
		choose_temporary(file);
		file->fd = openat(file->dir, file->temporary,
			O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode & 0777);
		if (file->fd < 0)
			file->temporary[0] = 0;
	}
	if (file->fd < 0)
		return -1;
	file->bytes = bytes;
	/* Ask for the space now: a full disk must not become a SIGBUS in the middle. */
	if (bytes && (errno = posix_fallocate(file->fd, 0, (off_t)bytes)))
		return -1;
	return map(file, PROT_READ | PROT_WRITE);
}

int cp_file_create(struct cp_file *file, int root, const char *path, uint64_t bytes, unsigned mode,
	char *error, size_t error_bytes)
{
	*file = (struct cp_file){ .fd = -1, .dir = -1 };
	if (bytes > INT64_MAX || open_folder(file, root, path)) {
		const char *why = errno == EXDEV    ? "leaves the served folder"
				  : errno == EINVAL ? "is not a file's name"
						    : strerror(errno);

		snprintf(error, error_bytes, "%s", why);
		cp_file_close(file);
		return -1;
	}
	if (make_temporary(file, bytes, mode | 0600)) {
		snprintf(error, error_bytes, "%s", strerror(errno));
		cp_file_close(file);
		return -1;
	}
	return 0;
}

/* A link cannot replace a file and a nameless file cannot be renamed, so it takes both. */
static int give_name(struct cp_file *file)
{
	char path[64];

	if (!file->temporary[0]) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd);
		choose_temporary(file);
		if (linkat(AT_FDCWD, path, file->dir, file->temporary, AT_SYMLINK_FOLLOW)) {
			file->temporary[0] = 0;
			return -1;
		}
	}
	return renameat(file->dir, file->temporary, file->dir, file->name);
}

int cp_file_keep(struct cp_file *file, char *error, size_t error_bytes)
{
	if (give_name(file)) {
		snprintf(error, error_bytes, "%s", strerror(errno));
		return -1;
	}
	file->temporary[0] = 0;
	return 0;
}

void cp_file_close(struct cp_file *file)
{
	if (file->data)
		munmap(file->data, file->bytes);
	if (file->temporary[0])
		(void)unlinkat(file->dir, file->temporary, 0);
	if (file->fd >= 0)
		close(file->fd);
	if (file->dir >= 0)
		close(file->dir);
	*file = (struct cp_file){ .fd = -1, .dir = -1 };
}
