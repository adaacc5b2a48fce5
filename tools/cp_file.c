/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cp_file - where a received file may come to lie, and when it gets its name.
 *
 * The sender chooses the name, so the kernel decides whether it stays inside the served folder:
 * openat2() with RESOLVE_BENEATH judges "..", absolute names and symbolic links in one place, with
 * no gap between looking and opening.  Bytes go to a file without a name, which gets one when the
 * digest has been checked: a name never stands for half a file, and whatever ends this process,
 * nothing is left behind.  Where the file system has no nameless files, one with a dot stands in.
 *
 * A name must not stand for half a file after a power failure either: bytes are synced before the
 * name is given, and the folder after it.  Space is reserved before the first byte, since a full
 * disk would be a SIGBUS in the middle; by fallocate() and not posix_fallocate(), which where the
 * file system cannot reserve writes to each of its blocks.
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
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define READ_BYTES_MAX (UINT64_C(64) << 20) /* of what cannot be mapped: it is held in memory */
#define KEEP_DIVISOR 32u                    /* without --keep-free: this part of the file system, */
#define KEEP_BYTES_MAX (UINT64_C(1) << 30)  /* but no more than a system wants to live on */

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

/* Files of /proc have no size and no pages: what there is to read now is the file. */
static int read_whole(struct cp_file *file)
{
	uint8_t *data = mmap(NULL, READ_BYTES_MAX, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t bytes = 0;
	ssize_t n = 1;

	if (data == MAP_FAILED)
		return -1;
	while (n > 0 && bytes < READ_BYTES_MAX) {
		n = read(file->fd, data + bytes, READ_BYTES_MAX - bytes);
		bytes += n > 0 ? (uint64_t)n : 0;
	}
	if (n < 0 || bytes == READ_BYTES_MAX) {
		int why = n < 0 ? errno : EFBIG;

		munmap(data, READ_BYTES_MAX);
		errno = why;
		return -1;
	}
	uint64_t used = WEFT_ALIGN_UP(bytes, (uint64_t)sysconf(_SC_PAGESIZE));

	munmap(data + used, READ_BYTES_MAX - used);
	file->bytes = bytes;
	file->data = bytes ? data : NULL;
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
	int rc = file->bytes ? map(file, PROT_READ) : read_whole(file);

	if (rc && file->bytes && errno == ENODEV)
		rc = read_whole(file);
	if (rc) {
		snprintf(error, error_bytes, "%s: can be neither mapped nor read: %s", path,
			strerror(errno));
		cp_file_close(file);
		return -1;
	}
	return 0;
}

int cp_file_room(
	int root, const struct cp_limits *limits, uint64_t bytes, char *error, size_t error_bytes)
{
	char one[HUMAN_MAX], other[HUMAN_MAX];
	struct statvfs fs;

	if (limits->max_bytes && bytes > limits->max_bytes) {
		snprintf(error, error_bytes, "%s is more than one file may have here (%s)",
			human_bytes(one, bytes), human_bytes(other, limits->max_bytes));
		return -1;
	}
	if (fstatvfs(root, &fs)) {
		snprintf(error, error_bytes, "%s", strerror(errno));
		return -1;
	}
	if (!bytes || !fs.f_blocks) /* one that has no end, as ramfs says of itself */
		return 0;
	uint64_t free = (uint64_t)fs.f_bavail * fs.f_frsize, keep = limits->keep_free_bytes;

	if (!limits->has_keep_free)
		keep = WEFT_MIN((uint64_t)fs.f_blocks * fs.f_frsize / KEEP_DIVISOR, KEEP_BYTES_MAX);
	if (bytes <= free && free - bytes >= keep)
		return 0;
	snprintf(error, error_bytes, "No space left on device: %s are free, and %s stay so",
		human_bytes(one, free), human_bytes(other, keep));
	return -1;
}

static int open_beneath(int root, const char *folder)
{
	struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, root, folder, &how, sizeof(how));
}

int cp_file_probe(int root, char *error, size_t error_bytes)
{
	int fd = open_beneath(root, ".");

	if (fd < 0) {
		snprintf(error, error_bytes,
			"openat2: %s: without this call nothing would keep names inside the "
			"folder; it needs Linux 5.6, and a seccomp filter that lets it pass",
			strerror(errno));
		return -1;
	}
	close(fd);
	return 0;
}

/* Opens the folder that path lies in, beneath root, and copies the last part of path to name. */
static int open_folder(struct cp_file *file, int root, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char folder[4096];

	if (!*name || !strcmp(name, ".") || !strcmp(name, "..") ||
		strlen(name) >= sizeof(file->name)) {
		errno = strlen(name) < sizeof(file->name) ? EINVAL : ENAMETOOLONG;
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
	file->dir = open_beneath(root, folder);
	return file->dir < 0 ? -1 : 0;
}

static void choose_temporary(struct cp_file *file)
{
	/* Not of the final name, which may be as long as a name can be. */
	snprintf(file->temporary, sizeof(file->temporary), ".weft-%x-%llx", (unsigned)getpid(),
		(unsigned long long)weft_clock_now(NULL));
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
	if (ftruncate(file->fd, (off_t)bytes))
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

int cp_file_reserve(const struct cp_file *file, uint64_t from, uint64_t to)
{
	int rc;

	do
		rc = fallocate(file->fd, 0, (off_t)from, (off_t)(to - from));
	while (rc && errno == EINTR);
	return rc ? errno : 0;
}

int cp_file_sync(const struct cp_file *file)
{
	return fsync(file->fd) ? errno : 0;
}

/* A link cannot replace a file and a nameless file cannot be renamed, so it may take both. */
static int give_name(struct cp_file *file)
{
	char path[64];

	if (!file->temporary[0]) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd);
		if (!linkat(AT_FDCWD, path, file->dir, file->name, AT_SYMLINK_FOLLOW))
			return 0;
		if (errno != EEXIST)
			return -1;
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
	if (fsync(file->dir) && errno != EINVAL) { /* there are file systems that cannot */
		snprintf(error, error_bytes, "its folder cannot be written to disk: %s",
			strerror(errno));
		return -1;
	}
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
