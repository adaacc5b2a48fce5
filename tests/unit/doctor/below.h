/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BELOW_H
#define BELOW_H
/* below - a folder that plays the root of /proc and /sys. */
#include "check.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static inline void root_begin(void)
{
	snprintf(root, sizeof(root), "/tmp/weft-doctor-XXXXXX");
	REQUIRE(mkdtemp(root));
}

/* A file with its folders. */
static inline void root_put(const char *path, const char *text)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = 0;
		(void)mkdir(whole, 0700);
		*at = '/';
	}
	FILE *out = fopen(whole, "w");

	REQUIRE(out);
	fputs(text, out);
	fclose(out);
}

static inline int root_remove(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st, (void)kind, (void)ftw;
	return remove(path);
}

static inline void root_end(void)
{
	nftw(root, root_remove, 8, FTW_DEPTH | FTW_PHYS);
}

#endif
