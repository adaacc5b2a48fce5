/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * state - where a lab can be found, and whether it still lives.
 *
 * A folder per lab with the keeper's socket, its lock and a copy of the fabric file.  The lock
 * is the truth: the kernel drops it when the keeper ends in whatever way, so a folder whose lock
 * can be had is litter and is swept away by whoever comes by.  A process id in a file could
 * belong to someone else by then.
 */
#include "lab_local.h"

#include <weft/switchd.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Who has become root of a user namespace would look in root's place: he is told where it was. */
#define PINNED "WEFT_LABS"

static const char *const files[] = { "switch/lock", "switch/ports", "switch/control", "switch/log",
	"lock", "sock", "fabric.yaml", "rate", "hosts" };

bool state_name_ok(const char *name)
{
	size_t n =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");

	return n && n < WEFT_TOPO_NAME_BYTES && !name[n] && *name != '-' && *name != '.';
}

bool state_path(char path[STATE_PATH_BYTES], const char *name, const char *file)
{
	const char *pinned = getenv(PINNED), *runtime = getenv("XDG_RUNTIME_DIR");
	char base[STATE_PATH_BYTES];
	int n;

	if (pinned && *pinned == '/')
		n = snprintf(base, sizeof(base), "%s", pinned);
	else if (runtime && *runtime == '/')
		n = snprintf(base, sizeof(base), "%s/weft", runtime);
	else if (!geteuid())
		n = snprintf(base, sizeof(base), "/run/weft");
	else
		n = snprintf(base, sizeof(base), "/tmp/weft-%u", (unsigned)geteuid());
	if (n < 0 || (size_t)n >= sizeof(base))
		return false;
	n = snprintf(path, STATE_PATH_BYTES, "%s%s%s%s%s", base, name ? "/" : "", name ? name : "",
		file ? "/" : "", file ? file : "");
	return n > 0 && n < STATE_PATH_BYTES;
}

bool state_pin(void)
{
	char path[STATE_PATH_BYTES];

	return state_path(path, NULL, NULL) && !setenv(PINNED, path, 1);
}

bool state_is_ours(char *error, size_t error_bytes)
{
	const char *pinned = getenv(PINNED);
	char path[STATE_PATH_BYTES];

	if (!state_path(path, NULL, NULL)) {
		(void)snprintf(error, error_bytes,
			"the folder of labs ($XDG_RUNTIME_DIR or $" PINNED ") has too long a name");
		return false;
	}
	return (pinned && *pinned == '/') || access(path, F_OK) ||
	       weft_switchd_folder(path, false, error, error_bytes);
}

int state_take(const char *name, char *error, size_t error_bytes)
{
	char path[STATE_PATH_BYTES];

	if (!state_name_ok(name)) {
		(void)snprintf(error, error_bytes, "'%s' is too long or no name for a lab", name);
		return -1;
	}
	if (!state_path(path, name, "fabric.yaml")) {
		bool fits = state_path(path, NULL, NULL);

		(void)snprintf(error, error_bytes,
			"%s/%s: too long for the path of a lab's socket: set a shorter "
			"XDG_RUNTIME_DIR, or " PINNED,
			fits ? path : "$XDG_RUNTIME_DIR/weft", name);
		return -1;
	}
	if (!state_path(path, NULL, NULL) || !weft_switchd_folder(path, true, error, error_bytes) ||
		!state_path(path, name, NULL) ||
		!weft_switchd_folder(path, true, error, error_bytes))
		return -1;
	(void)state_path(path, name, "lock");
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB)) {
		(void)snprintf(error, error_bytes,
			fd >= 0 && errno == EWOULDBLOCK ? "a lab named %s is up already"
							: "%s: cannot be locked",
			fd >= 0 && errno == EWOULDBLOCK ? name : path);
		if (fd >= 0)
			(void)close(fd);
		return -1;
	}
	return fd;
}

/* Endpoints that were killed leave their sockets where the switch was met. */
static void empty(const char *folder)
{
	DIR *dir = opendir(folder);

	for (struct dirent *entry; dir && (entry = readdir(dir));)
		(void)unlinkat(dirfd(dir), entry->d_name, 0); /* no folder: that is left alone */
	if (dir)
		closedir(dir);
}

void state_remove(const char *name)
{
	char path[STATE_PATH_BYTES];

	for (size_t i = 0; i < WEFT_COUNT(files); i++) {
		if (state_path(path, name, files[i]))
			(void)unlink(path);
	}
	if (state_path(path, name, "switch")) {
		empty(path);
		(void)rmdir(path);
	}
	if (state_path(path, name, NULL))
		(void)rmdir(path);
	if (state_path(path, NULL, NULL))
		(void)rmdir(path); /* stays while there are others */
}

bool state_is_alive(const char *name)
{
	char path[STATE_PATH_BYTES];

	if (!state_is_ours(path, sizeof(path)) || !state_name_ok(name) ||
		!state_path(path, name, "lock"))
		return false;
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return false;
	bool alive = flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
	if (!alive)
		state_remove(name);
	(void)close(fd);
	return alive;
}

int weft_lab_list(
	char names[][WEFT_TOPO_NAME_BYTES], size_t n, char *error, size_t error_bytes)
{
	char path[STATE_PATH_BYTES];
	size_t found = 0;
	struct dirent *entry;

	if (!state_is_ours(error, error_bytes) || !state_path(path, NULL, NULL))
		return -1;
	DIR *dir = opendir(path);
	if (!dir && errno == ENOENT)
		return 0;
	if (!dir) {
		(void)snprintf(error, error_bytes, "%s: %s", path, strerror(errno));
		return -1;
	}
	while (found < n && (entry = readdir(dir)) != NULL) {
		if (state_name_ok(entry->d_name) && state_is_alive(entry->d_name))
			(void)snprintf(
				names[found++], WEFT_TOPO_NAME_BYTES, "%.31s", entry->d_name);
	}
	(void)closedir(dir);
	return (int)found;
}
