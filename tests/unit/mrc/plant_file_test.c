/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "plant.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAMILY "/dev/shm/weft-t-"
#define FILE_ FAMILY "7-1"
#define FAMILY_BYTES (sizeof(FAMILY) - 1)

/* A /dev/shm of its own, which ends with the test program. */
static void folder(const char *options)
{
	if (unshare(CLONE_NEWNS)) /* root is needed: nobody's files are nobody's */
		SKIP("no namespace for mounts");
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		mount("tmpfs", "/dev/shm", "tmpfs", 0, options))
		SKIP("no mounts");
}

static unsigned files(void)
{
	DIR *dir = opendir("/dev/shm");
	unsigned n = 0;

	for (struct dirent *e; dir && (e = readdir(dir));)
		n += e->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return n;
}

static bool is_there(const char *path)
{
	return !access(path, F_OK);
}

TEST(plant_open__begins_anew_where_nobody_was)
{
	struct plant_file first, second;

	folder("size=8m");
	REQUIRE(!plant_open(&first, FILE_, true));
	plant_cc_take(first.plant, 5)->state = MRC_CTL_PROFILE_OFFLINE;
	REQUIRE(!plant_open(&second, FILE_, true));
	plant_close(&first);
	CHECK(plant_cc_find(second.plant, 5) != NULL); /* one of us stayed */
	CHECK(is_there(FILE_));
	plant_close(&second);
	CHECK(!is_there(FILE_));
	CHECK_EQ(plant_open(&first, FILE_, false), ENOENT);
	REQUIRE(!plant_open(&first, FILE_, true));
	CHECK(!plant_cc_find(first.plant, 5));
	plant_close(&first);
}

TEST(plant_open__says_so_where_there_is_no_room)
{
	struct plant_file file;
	char text[32];

	folder("size=4k");
	CHECK_EQ(plant_open(&file, FILE_, true), ENOSPC);
	CHECK(!is_there(FILE_));
	/* Room for all but the last page. */
	snprintf(text, sizeof(text), "size=%zu", (sizeof(struct plant) - 1) / 4096 * 4096);
	REQUIRE(!mount("tmpfs", "/dev/shm", "tmpfs", 0, text));
	CHECK_EQ(plant_open(&file, FILE_, true), ENOSPC);
	/* A hole where a maker died, or somebody made the file longer. */
	int fd = open(FILE_, O_RDWR | O_CREAT, 0600);

	REQUIRE(fd >= 0 && !ftruncate(fd, sizeof(struct plant)));
	close(fd);
	CHECK_EQ(plant_open(&file, FILE_, true), ENOSPC);
	REQUIRE(!mount("tmpfs", "/dev/shm", "tmpfs", MS_RDONLY, "size=8m"));
	CHECK_EQ(plant_open(&file, FILE_, true), EROFS);
	CHECK_EQ(plant_open(&file, "/dev/shm/none/x", true), ENOENT);
}

TEST(plant_open__keeps_within_the_processs_limit)
{
	struct plant_file file;
	struct rlimit old, limit;

	folder("size=8m");
	REQUIRE(!getrlimit(RLIMIT_FSIZE, &old));
	limit = (struct rlimit){ 4096, old.rlim_max };
	REQUIRE(!setrlimit(RLIMIT_FSIZE, &limit));
	CHECK_EQ(plant_open(&file, FILE_, true), EFBIG); /* not SIGXFSZ */
	REQUIRE(!setrlimit(RLIMIT_FSIZE, &old));
	CHECK_EQ(files(), 0);
}

TEST(plant_open__refuses_what_is_none)
{
	struct plant_file file;

	folder("size=8m");
	int fd = open(FILE_, O_RDWR | O_CREAT, 0600);

	REQUIRE(fd >= 0 && write(fd, "something else", 14) == 14);
	close(fd);
	CHECK_EQ(plant_open(&file, FILE_, true), EPROTO);
	CHECK(is_there(FILE_)); /* nor is it taken away */
	unlink(FILE_);
	REQUIRE(!symlink("/dev/null", FILE_));
	CHECK_EQ(plant_open(&file, FILE_, true), ELOOP);
	unlink(FILE_);
	REQUIRE(!mkfifo(FILE_, 0600));
	CHECK_EQ(plant_open(&file, FILE_, true), EPERM); /* and does not wait for its other end */
	unlink(FILE_);
	REQUIRE(!plant_open(&file, FILE_, true) && !link(FILE_, FAMILY "twin"));
	struct plant_file twin;

	CHECK_EQ(plant_open(&twin, FAMILY "twin", true), EPERM); /* another name's */
	unlink(FAMILY "twin");
	plant_close(&file);
}

/* Killed in the middle of everything: the next one goes on, and the last one tidies up. */
TEST(plant_open__outlives_those_who_are_killed)
{
	struct plant_file file, other;
	int up[2], status;
	char c;

	folder("size=16m");
	REQUIRE(!pipe(up));
	for (int i = 0; i < 2; i++) {
		pid_t child = fork();

		REQUIRE(child >= 0);
		if (!child) {
			char path[64];

			/* One under the same name, one of a network that is gone by now. */
			snprintf(path, sizeof(path), FAMILY "%d-1", 7 + i);
			if (!plant_open(&file, path, true)) {
				plant_lock(file.plant);
				plant_cc_take(file.plant, 5)->state = MRC_CTL_PROFILE_OFFLINE;
				if (write(up[1], "x", 1) == 1)
					pause();
			}
			_exit(1);
		}
		REQUIRE(read(up[0], &c, 1) == 1);
		kill(child, SIGKILL);
		REQUIRE(waitpid(child, &status, 0) == child);
	}
	CHECK_EQ(files(), 2);
	REQUIRE(!plant_open_own(&file, FILE_, FAMILY_BYTES));
	CHECK_EQ(files(), 1);
	CHECK(!plant_cc_find(file.plant, 5));
	REQUIRE(!plant_open_own(&other, FAMILY "9-1", FAMILY_BYTES));
	CHECK_EQ(files(), 2); /* who lives is not swept away */
	plant_close(&file);
	plant_close(&other);
	CHECK_EQ(files(), 0);
}

/* Openers, closers and deaths at once: whoever has it open shares it with all others. */
TEST(plant_open__many_come_and_go)
{
	struct plant_file keeper, file;
	int status, bad = 0;

	/* Each of the six may still have open what another has taken away: seven at once. */
	folder("size=32m");
	for (int round = 0; round < 2; round++) { /* with one who stays, and without */
		if (!round)
			REQUIRE(!plant_open(&keeper, FILE_, true));
		for (int p = 0; p < 6; p++) {
			pid_t child = fork();

			REQUIRE(child >= 0);
			for (int i = 0; !child && i < 100; i++) {
				struct stat named, held;

				if (plant_open(&file, FILE_, true) || stat(FILE_, &named) ||
					fstat(file.fd, &held) || named.st_ino != held.st_ino)
					_exit(1);
				if (p == 5 && i == 50)
					kill(getpid(), SIGKILL);
				plant_close(&file);
			}
			if (!child)
				_exit(0);
		}
		for (int p = 0; p < 6; p++) {
			REQUIRE(wait(&status) > 0);
			bad += status && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		}
		CHECK_EQ(bad, 0);
		CHECK(round || is_there(FILE_));
		/* Without one who stays the one that was killed may have been the last: whoever
		 * comes next tidies up. */
		if (round)
			REQUIRE(!plant_open(&keeper, FILE_, true));
		plant_close(&keeper);
		CHECK_EQ(files(), 0);
	}
}

/* Whoever holds it and has been stopped is not waited for. */
TEST(plant_open__gives_up_on_one_that_is_stopped)
{
	struct plant_file file;

	folder("size=8m");
	int fd = open(FILE_, O_RDWR | O_CREAT, 0600);

	REQUIRE(fd >= 0 && !flock(fd, LOCK_EX));
	CHECK_EQ(plant_open(&file, FILE_, true), EBUSY);
	close(fd);
	REQUIRE(!plant_open(&file, FILE_, true));
	plant_close(&file);
}

TEST(plant_open_own__passes_by_who_sits_there)
{
	struct plant_file file, other;

	if (geteuid())
		SKIP("only root can be two users");
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=8m"))
		SKIP("no mounts");
	int fd = open(FILE_, O_RDWR | O_CREAT, 0666);

	REQUIRE(fd >= 0 && !fchown(fd, 12345, 12345) && !mkfifo(FILE_ ".1", 0666));
	REQUIRE(!chown(FILE_ ".1", 12345, 12345) && !symlink(FILE_, FILE_ ".2"));
	REQUIRE(!lchown(FILE_ ".2", 12345, 12345) && !mkdir(FILE_ ".3", 0777));
	REQUIRE(!chown(FILE_ ".3", 12345, 12345));
	CHECK_EQ(plant_open(&file, FILE_, true), EPERM);
	REQUIRE(!plant_open_own(&file, FILE_, FAMILY_BYTES));
	CHECK_STR(file.path, FILE_ ".4");
	/* The squatter leaves: those who come now still meet the others. */
	unlink(FILE_);
	REQUIRE(!plant_open_own(&other, FILE_, FAMILY_BYTES));
	CHECK_STR(other.path, FILE_ ".4");
	plant_close(&file);
	plant_close(&other);
	CHECK_EQ(files(), 3); /* his */
	for (int i = 0; i < 40; i++) {
		char path[64];

		snprintf(path, sizeof(path), i ? FILE_ ".%d" : FILE_, i);
		(void)remove(path);
		REQUIRE(!symlink("/dev/null", path) && !lchown(path, 12345, 12345));
	}
	CHECK_EQ(plant_open_own(&file, FILE_, FAMILY_BYTES), EPERM);
	close(fd);
}

/* A child that lives on does not keep its parent's file alive. */
TEST(plant_disown__leaves_the_lock_to_the_parent)
{
	struct plant_file file;
	int down[2], up[2], status;
	char c;

	folder("size=8m");
	REQUIRE(!pipe(down) && !pipe(up) && !plant_open(&file, FILE_, true));
	pid_t child = fork();

	REQUIRE(child >= 0);
	if (!child) {
		plant_disown(&file);
		_exit(write(up[1], "x", 1) == 1 && read(down[0], &c, 1) == 1 ? 0 : 1);
	}
	REQUIRE(read(up[0], &c, 1) == 1);
	plant_close(&file);
	CHECK(!is_there(FILE_));
	REQUIRE(write(down[1], "x", 1) == 1 && waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
}
