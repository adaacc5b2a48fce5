/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_env - the environment in which a program finds Weft's libraries before the system's.
 *
 * The libraries have the names of the system's (libibverbs.so.1, librdmacm.so.1), so they live in a
 * folder of their own and LD_LIBRARY_PATH leads there; with it, programs that are linked and those
 * that load the library by either name find the same file.  LD_PRELOAD takes only the small one
 * that answers for device nodes: preloading a whole transport into every shell that a job script
 * starts would cost each of them its start.
 *
 * The AddressSanitizer's runtime ends a program in which a preloaded library comes before it, lest
 * that one replaces the allocator.  This one does not, so the runtime is told not to look; it is
 * told by the environment, since the program may be started by a script or a launcher of jobs.
 *
 * What was in these variables stays, behind ours.  Setuid programs ignore them.
 */
#include "run_env.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libibverbs.so.1"
#define SHIM "libweft-paths.so"
#define TEXT_BYTES (PATH_MAX + 64)

static bool fail(char *error, size_t error_bytes, const char *what, const char *why)
{
	(void)snprintf(error, error_bytes, "%s: %s", what, why);
	return false;
}

/* In a build they lie in lib/ beside the program; installed, in ../lib/weft. */
static bool find_folder(const char *exe, char folder[PATH_MAX], char *error, size_t error_bytes)
{
	static const char *const places[] = { "lib", "../lib/weft" };
	const char *slash = strrchr(exe, '/');
	char file[TEXT_BYTES];

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		(void)snprintf(file, sizeof(file), "%.*s/%s/" LIBRARY,
			slash ? (int)(slash - exe) : 1, slash ? exe : ".", places[i]);
		if (!realpath(file, folder))
			continue;
		*strrchr(folder, '/') = 0;
		return true;
	}
	return fail(error, error_bytes, LIBRARY, "neither in lib/ nor in ../lib/weft of weft");
}

/* Puts value before what the variable has, unless it begins with it. */
static bool put_first(const char *name, const char *value, char separator)
{
	const char *old = getenv(name);
	size_t n = strlen(value);

	if (!old || !*old)
		return !setenv(name, value, 1);
	if (!strncmp(old, value, n) && (!old[n] || old[n] == separator))
		return true;
	size_t bytes = n + strlen(old) + 2;
	char *all = malloc(bytes);
	if (!all)
		return false;
	(void)snprintf(all, bytes, "%s%c%s", value, separator, old);
	bool ok = !setenv(name, all, 1);
	free(all);
	return ok;
}

bool run_env_set(const struct run_env *run, const char *exe, char *error, size_t error_bytes)
{
	char folder[PATH_MAX], file[TEXT_BYTES];

	if (!find_folder(exe, folder, error, error_bytes))
		return false;
	bool ok = put_first("LD_LIBRARY_PATH", folder, ':');
	(void)snprintf(file, sizeof(file), "%s/" SHIM, folder);
	if (ok && !access(file, R_OK))
		ok = put_first("LD_PRELOAD", file, ':') &&
		     put_first("ASAN_OPTIONS", "verify_asan_link_order=0", ':');
	if (run->device) {
		if (!realpath(run->device, folder) || access(folder, R_OK))
			return fail(error, error_bytes, run->device, strerror(errno));
		ok = ok && !setenv("WEFT_CONFIG", folder, 1);
	}
	if (run->strict)
		ok = ok && !setenv("WEFT_PROFILE", "strict", 1);
	return ok || fail(error, error_bytes, "setenv", strerror(errno));
}
