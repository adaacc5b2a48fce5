/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * switch_dir - where a switch is found by whoever did not say.
 *
 * The folder must be ours, for whoever makes it and for whoever looks for it: /tmp is everybody's,
 * the sockets in there give orders, and who asks believes the answers.  A folder whose switch has
 * died holds nothing that would answer, so it is passed over.
 */
#include "switch_dir.h"

#include <weft/switchd.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define ENV "WEFT_SWITCH"

static bool fits(
	char dir[SWITCH_DIR_BYTES], const char *a, const char *b, char *error, size_t error_bytes)
{
	int n = snprintf(dir, SWITCH_DIR_BYTES, "%s%s%s", a, *b ? "/" : "", b);

	if (n > 0 && n < SWITCH_DIR_BYTES)
		return true;
	(void)snprintf(error, error_bytes, "%s/%s: too long for a socket's path", a, b);
	return false;
}

static void find_base(char base[SWITCH_DIR_BYTES])
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char error[8];

	if (runtime && *runtime == '/' && fits(base, runtime, "weft-switch", error, sizeof(error)))
		return;
	if (geteuid())
		(void)snprintf(base, SWITCH_DIR_BYTES, "/tmp/weft-switch-%u", (unsigned)geteuid());
	else
		(void)snprintf(base, SWITCH_DIR_BYTES, "/run/weft-switch");
}

bool switch_dir_make(char dir[SWITCH_DIR_BYTES], const char *given, const char *name, char *error,
	size_t error_bytes)
{
	char base[SWITCH_DIR_BYTES];

	if (!given)
		given = getenv(ENV);
	if (given && *given)
		return fits(dir, given, "", error, error_bytes) &&
		       weft_switchd_folder(dir, true, error, error_bytes);
	find_base(base);
	return weft_switchd_folder(base, true, error, error_bytes) &&
	       fits(dir, base, name, error, error_bytes) &&
	       weft_switchd_folder(dir, true, error, error_bytes);
}

static bool answers(const char *dir)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/control", dir);
	/* EAGAIN: others wait there already; it may be stopped, but it is one. */
	bool ok = fd >= 0 &&
		  (!connect(fd, (struct sockaddr *)&address, sizeof(address)) || errno == EAGAIN);
	if (fd >= 0)
		(void)close(fd);
	return ok;
}

bool switch_dir_find(char dir[SWITCH_DIR_BYTES], const char *given, char *error, size_t error_bytes)
{
	char base[SWITCH_DIR_BYTES], one[SWITCH_DIR_BYTES];
	struct dirent *entry;
	unsigned n = 0;

	if (!given)
		given = getenv(ENV);
	if (given && *given)
		return fits(dir, given, "", error, error_bytes);
	find_base(base);
	if (!access(base, F_OK) && !weft_switchd_folder(base, false, error, error_bytes))
		return false;
	DIR *folder = opendir(base);

	while (folder && (entry = readdir(folder)) != NULL) {
		if (*entry->d_name == '.' || !fits(one, base, entry->d_name, error, error_bytes) ||
			!weft_switchd_folder(one, false, error, error_bytes) || !answers(one))
			continue;
		memcpy(dir, one, sizeof(one));
		n++;
	}
	if (folder)
		(void)closedir(folder);
	if (n == 1)
		return true;
	if (n)
		(void)snprintf(
			error, error_bytes, "%u switches run in %s: say which with --dir", n, base);
	else
		(void)snprintf(error, error_bytes, "no switch runs in %s", base);
	return false;
}
