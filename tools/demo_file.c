/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_file - a real file to copy, and the comparison that does not trust the copier.
 *
 * Random bytes would do, but a file of this machine's own programs is what people move: it has
 * zeroes, text and compressed pieces.  Files are taken in the order of their names, so two runs
 * on one machine copy the same bytes.  After a copy every byte is compared here, beside the
 * SHA-256 that both ends computed for themselves.
 */
#include "demo.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weft/base.h>

#define PIECE_BYTES (UINT64_C(1) << 16)

static int fail(char *error, size_t error_bytes, const char *what)
{
	(void)snprintf(error, error_bytes, "%s: %s", what, strerror(errno));
	return -1;
}

int file_folder(const char *path, char *error, size_t error_bytes)
{
	char part[4096];
	size_t n = strlen(path);

	if (n >= sizeof(part)) {
		errno = ENAMETOOLONG;
		return fail(error, error_bytes, path);
	}
	for (size_t i = 1; i <= n; i++) {
		if (path[i] != '/' && path[i])
			continue;
		memcpy(part, path, i);
		part[i] = 0;
		if (mkdir(part, 0777) && errno != EEXIST)
			return fail(error, error_bytes, part);
	}
	return 0;
}

int file_bytes(const char *path, uint64_t *bytes, char *error, size_t error_bytes)
{
	struct stat info;

	if (stat(path, &info))
		return fail(error, error_bytes, path);
	if (!S_ISREG(info.st_mode)) {
		(void)snprintf(error, error_bytes, "%s: is not a regular file", path);
		return -1;
	}
	*bytes = (uint64_t)info.st_size;
	return 0;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* -1: cannot be written. */
static int append(int out, const char *path, uint64_t *left)
{
	int in = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = 1;

	while (in >= 0 && *left && n > 0) {
		n = sendfile(out, in, NULL, WEFT_MIN(*left, UINT64_C(1) << 24));
		if (n > 0)
			*left -= (uint64_t)n;
	}
	int why = errno;
	if (in >= 0)
		(void)close(in);
	/* What cannot be read is left out; only what cannot be written matters. */
	return in >= 0 && n < 0 && (why == ENOSPC || why == EDQUOT || why == EFBIG) ? -1 : 0;
}

static int append_machine(int out, uint64_t *left)
{
	static char paths[][16] = { "/usr/bin", "/usr/lib", "/usr/share" };
	char *const roots[] = { paths[0], paths[1], paths[2], NULL };
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, by_name);
	int result = 0;
	FTSENT *e;

	while (tree && !result && *left && !demo_stopped && (e = fts_read(tree)))
		if (e->fts_info == FTS_F && e->fts_statp->st_size)
			result = append(out, e->fts_path, left);
	if (tree)
		(void)fts_close(tree);
	return result;
}

int file_assemble(const char *path, uint64_t bytes, char *error, size_t error_bytes)
{
	char temporary[4096];
	struct stat info;
	uint64_t left = bytes, before;

	if (!stat(path, &info) && S_ISREG(info.st_mode) && (uint64_t)info.st_size == bytes)
		return 0;
	(void)snprintf(temporary, sizeof(temporary), "%s.part", path);
	int out = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (out < 0)
		return fail(error, error_bytes, temporary);
	/* A small machine has too little: then it comes twice. */
	do
		before = left;
	while (!append_machine(out, &left) && left && left < before && !demo_stopped);
	if (left)
		(void)fail(error, error_bytes, temporary);
	if (close(out) && !left) {
		left = 1;
		(void)fail(error, error_bytes, temporary);
	}
	if (!left && !rename(temporary, path))
		return 0;
	(void)unlink(temporary);
	return -1;
}

struct view {
	uint8_t *data;
	uint64_t bytes;
};

static int view_open(struct view *view, const char *path, char *error, size_t error_bytes)
{
	*view = (struct view){ 0 };
	if (file_bytes(path, &view->bytes, error, error_bytes))
		return -1;
	if (!view->bytes)
		return 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *data = fd < 0 ? MAP_FAILED : mmap(NULL, view->bytes, PROT_READ, MAP_SHARED, fd, 0);
	int result = data == MAP_FAILED ? fail(error, error_bytes, path) : 0;

	if (fd >= 0)
		(void)close(fd);
	view->data = result ? NULL : data;
	return result;
}

static void view_close(struct view *view)
{
	if (view->data)
		(void)munmap(view->data, view->bytes);
}

static uint64_t count_wrong(const uint8_t *a, const uint8_t *b, uint64_t bytes)
{
	uint64_t wrong = 0;

	for (uint64_t at = 0; at < bytes; at += PIECE_BYTES) {
		uint64_t n = WEFT_MIN(bytes - at, PIECE_BYTES);

		if (!memcmp(a + at, b + at, n))
			continue;
		for (uint64_t i = at; i < at + n; i++)
			wrong += a[i] != b[i];
	}
	return wrong;
}

int file_compare(const char *a, const char *b, uint64_t *wrong, char *error, size_t error_bytes)
{
	struct view one, two = { 0 };

	if (view_open(&one, a, error, error_bytes))
		return -1;
	if (view_open(&two, b, error, error_bytes)) {
		view_close(&one);
		return -1;
	}
	uint64_t shorter = WEFT_MIN(one.bytes, two.bytes);

	*wrong = WEFT_MAX(one.bytes, two.bytes) - shorter;
	if (shorter)
		*wrong += count_wrong(one.data, two.data, shorter);
	view_close(&one);
	view_close(&two);
	return 0;
}
