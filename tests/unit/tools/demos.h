/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DEMOS_H
#define DEMOS_H
/* What the tests of demo_*.c share: a folder of their own, a series by hand, a fabric. */
#include "check.h"
#include "demo.h"

#include <dirent.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

static char demo_folder[64];

static inline void leave_folder(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", demo_folder);
	if (*demo_folder && system(command))
		perror(command);
	*demo_folder = 0;
}

static pid_t demo_owner; /* of the folder: children leave it alone */

/* A test that fails half-way leaves nothing either. */
static inline void leave_at_exit(void)
{
	if (getpid() == demo_owner)
		leave_folder();
}

static inline const char *use_folder(void)
{
	if (!*demo_folder) {
		if (!demo_owner)
			atexit(leave_at_exit);
		demo_owner = getpid();
		snprintf(demo_folder, sizeof(demo_folder), "/tmp/weft-demo-test-XXXXXX");
		REQUIRE(mkdtemp(demo_folder));
	}
	return demo_folder;
}

static inline const char *in_folder(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", use_folder(), name);
	return path;
}

static inline void write_file(const char *path, const void *data, size_t n)
{
	FILE *out = fopen(path, "w");

	REQUIRE(out);
	CHECK_EQ(fwrite(data, 1, n, out), n);
	fclose(out);
}

/* 1000 bytes in each bin of 1 ms from at_ns on, but none in [quiet_from, quiet_to). */
static inline void fill_series(struct demo_series *series, uint64_t bins[], size_t n,
	uint64_t at_ns, size_t quiet_from, size_t quiet_to)
{
	series_begin(series, bins, n);
	for (size_t i = 0; i < n; i++)
		if (i < quiet_from || i >= quiet_to)
			series_add(series, 1000, at_ns + i * DEMO_BIN_NS + DEMO_BIN_NS / 2);
}

static inline void need_namespaces(void)
{
	pid_t child = fork();
	int status;

	if (!child)
		_exit(unshare(geteuid() ? CLONE_NEWUSER | CLONE_NEWNET : CLONE_NEWNET) ? 1 : 0);
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		SKIP("network namespaces cannot be made here");
}

/* A demo without faults on a fabric that is up; the file is the first MiB of nothing special. */
static inline void demo_up(struct demo *demo, struct term *term)
{
	static uint8_t data[1 << 20];
	static char file[128];
	char error[DEMO_TEXT_BYTES] = "";

	need_namespaces();
	term_open(term, stdout);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + i / 4099);
	snprintf(file, sizeof(file), "%s", in_folder("input"));
	write_file(file, data, sizeof(data));
	*demo = (struct demo){ .term = term,
		.folder = use_folder(),
		.file = file,
		.file_bytes = sizeof(data),
		.rate_bps = 100000000,
		.quiet = true };
	demo->plan.lead_ns = 300000000;
	if (demo_lab_up(demo, error, sizeof(error)))
		fprintf(stderr, "%s\n", error);
	REQUIRE(demo->lab);
}

#endif
