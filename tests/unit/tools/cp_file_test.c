/* SPDX-License-Identifier: BSD-2-Clause */
#include "cp.h"

#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static char error[CP_TEXT_BYTES];
static char outside[] = "/tmp/weft-cp-test-XXXXXX";

static void leave(void)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf %s", outside);
	if (system(command))
		fprintf(stderr, "%s is left behind\n", outside);
}

/* outside/ has served/, served/sub/, served/out -> .. and served/in -> sub; returns served's fd. */
static int folder(void)
{
	static bool made;
	char path[200];

	if (!made) {
		REQUIRE(mkdtemp(outside));
		atexit(leave);
		snprintf(path, sizeof(path),
			"cd %s && mkdir -p served/sub && ln -s .. served/out && "
			"ln -s sub served/in && ln -s /etc served/etc",
			outside);
		REQUIRE(!system(path));
		made = true;
	}
	snprintf(path, sizeof(path), "%s/served", outside);
	return open(path, O_RDONLY | O_DIRECTORY);
}

int __real_fsync(int fd);

static struct {
	dev_t dev;
	ino_t ino;
} synced;
static int sync_error; /* of the next ones; 0: none */

int __wrap_fsync(int fd)
{
	struct stat st;

	if (!fstat(fd, &st)) {
		synced.dev = st.st_dev;
		synced.ino = st.st_ino;
	}
	errno = sync_error;
	return sync_error ? -1 : __real_fsync(fd);
}

static bool is_there(int root, const char *path)
{
	return !faccessat(root, path, F_OK, AT_SYMLINK_NOFOLLOW);
}

static unsigned entries(int root)
{
	char command[200];

	snprintf(command, sizeof(command), "test $(ls -A /proc/%d/fd/%d/ | wc -l) -eq 4", getpid(),
		root);
	return system(command) ? 0 : 4;
}

TEST(cp_file_create__appears_only_when_kept)
{
	int root = folder();
	struct cp_file file;
	struct stat st;

	REQUIRE(!cp_file_create(&file, root, "sub/new", 10000, 0640, error, sizeof(error)));
	memset(file.data, 7, 10000);
	CHECK(!is_there(root, "sub/new"));
	CHECK(!file.temporary[0]); /* nothing to be left behind */
	CHECK_EQ(cp_file_keep(&file, error, sizeof(error)), 0);
	cp_file_close(&file);
	REQUIRE(!fstatat(root, "sub/new", &st, 0));
	CHECK_EQ(st.st_size, 10000);
	CHECK_EQ(st.st_mode & 0777, 0640);
	/* Again over the old one, and given up: the old one stays, nothing else does. */
	REQUIRE(!cp_file_create(&file, root, "sub/new", 5, 0600, error, sizeof(error)));
	cp_file_close(&file);
	REQUIRE(!fstatat(root, "sub/new", &st, 0));
	CHECK_EQ(st.st_size, 10000);
	unlinkat(root, "sub/new", 0);
	CHECK_EQ(entries(root), 4);
	REQUIRE(!cp_file_create(&file, root, "in/linked", 0, 0600, error, sizeof(error)));
	CHECK(!file.data);
	CHECK_EQ(cp_file_keep(&file, error, sizeof(error)), 0);
	cp_file_close(&file);
	CHECK(is_there(root, "sub/linked"));
	unlinkat(root, "sub/linked", 0);
	close(root);
}

/* A name that is only in memory is gone after a power failure, whatever its file has on disk. */
TEST(cp_file_keep__has_the_folder_on_disk)
{
	int root = folder();
	struct cp_file file;
	struct stat st;

	REQUIRE(!cp_file_create(&file, root, "sub/kept", 10, 0600, error, sizeof(error)));
	CHECK_EQ(cp_file_keep(&file, error, sizeof(error)), 0);
	REQUIRE(!fstatat(root, "sub", &st, 0));
	CHECK(synced.dev == st.st_dev && synced.ino == st.st_ino);
	cp_file_close(&file);
	REQUIRE(!cp_file_create(&file, root, "sub/kept", 10, 0600, error, sizeof(error)));
	sync_error = EIO;
	CHECK_EQ(cp_file_keep(&file, error, sizeof(error)), -1);
	CHECK(strstr(error, "its folder cannot be written to disk"));
	sync_error = EINVAL;
	cp_file_close(&file);
	REQUIRE(!cp_file_create(&file, root, "sub/kept", 10, 0600, error, sizeof(error)));
	CHECK_EQ(cp_file_keep(&file, error, sizeof(error)), 0);
	sync_error = 0;
	cp_file_close(&file);
	unlinkat(root, "sub/kept", 0);
	close(root);
}

TEST(cp_file_create__never_leaves_the_folder)
{
	static const char *const bad[] = { "../x", "/etc/x", "/x", "out/x", "etc/x", "sub/../../x",
		"in/../../x", "", ".", "..", "sub/", "sub/..", "nowhere/x", "/", "../served/x",
		"/proc/self/cwd/x" };
	int root = folder();

	for (size_t i = 0; i < WEFT_COUNT(bad); i++) {
		struct cp_file file;

		error[0] = 0;
		if (!cp_file_create(&file, root, bad[i], 1, 0600, error, sizeof(error)))
			CHECK_FAIL("\"%s\" was taken", bad[i]);
		CHECK(strlen(error) > 0);
	}
	CHECK_EQ(entries(root), 4);
	close(root);
}

TEST(cp_file_create__replaces_a_link_instead_of_following_it)
{
	int root = folder();
	struct cp_file file;
	struct stat st;

	REQUIRE(!symlinkat("../victim", root, "link"));
	REQUIRE(!cp_file_create(&file, root, "link", 1, 0600, error, sizeof(error)));
	CHECK_EQ(cp_file_keep(&file, error, sizeof(error)), 0);
	cp_file_close(&file);
	REQUIRE(!fstatat(root, "link", &st, AT_SYMLINK_NOFOLLOW));
	CHECK(S_ISREG(st.st_mode));
	CHECK(!is_there(root, "../victim"));
	unlinkat(root, "link", 0);
	close(root);
}

TEST(cp_file_create__more_than_the_disk_has_is_refused_at_once)
{
	int root = folder();
	struct cp_file file;

	CHECK_EQ(cp_file_create(&file, root, "huge", UINT64_C(1) << 60, 0600, error, sizeof(error)),
		-1);
	CHECK(strlen(error) > 0);
	CHECK_EQ(entries(root), 4);
	close(root);
}

TEST(cp_file_create__takes_names_as_long_as_the_system_does)
{
	int root = folder();
	struct cp_file file;
	char name[300];

	for (unsigned turn = 0; turn < 2; turn++) /* the second time it is there already */
		for (unsigned length = 230; length <= 256; length++) {
			memset(name, 'n', length);
			name[length] = 0;
			int rc = cp_file_create(&file, root, name, 1, 0600, error, sizeof(error));

			CHECK_EQ(rc, length > 255 ? -1 : 0);
			if (rc) {
				CHECK_STR(error, "File name too long");
				continue;
			}
			CHECK_EQ(cp_file_keep(&file, error, sizeof(error)), 0);
			cp_file_close(&file);
			CHECK(is_there(root, name));
			if (turn)
				CHECK_EQ(unlinkat(root, name, 0), 0);
		}
	CHECK_EQ(entries(root), 4);
	close(root);
}

TEST(cp_file_room__keeps_what_others_need)
{
	struct cp_limits limits = {
		.max_bytes = 1000, .keep_free_bytes = 0, .has_keep_free = true
	};
	int root = folder();
	struct statvfs fs;

	CHECK_EQ(cp_file_room(root, &limits, 1000, error, sizeof(error)), 0);
	CHECK_EQ(cp_file_room(root, &limits, 1001, error, sizeof(error)), -1);
	CHECK_STR(error, "1001 B is more than one file may have here (1000 B)");
	REQUIRE(!fstatvfs(root, &fs));
	uint64_t all = (uint64_t)fs.f_bavail * fs.f_frsize;

	limits.max_bytes = 0;
	CHECK_EQ(cp_file_room(root, &limits, all / 4, error, sizeof(error)), 0);
	CHECK_EQ(cp_file_room(root, &limits, 2 * all, error, sizeof(error)), -1);
	limits.keep_free_bytes = all - all / 8;
	CHECK_EQ(cp_file_room(root, &limits, all / 4, error, sizeof(error)), -1);
	CHECK(strstr(error, "No space left on device: "));
	CHECK_EQ(cp_file_room(root, &limits, 0, error, sizeof(error)), 0);
	limits.has_keep_free = false; /* a share stays free nevertheless */
	CHECK_EQ(cp_file_room(root, &limits, all, error, sizeof(error)), -1);
	close(root);
}

/* ramfs is one of those that do not know fallocate(). */
TEST(cp_file_reserve__says_where_the_file_system_cannot)
{
	struct cp_file file;
	char path[100];

	close(folder());
	snprintf(path, sizeof(path), "%s/ramfs", outside);
	REQUIRE(!mkdir(path, 0700));
	if (unshare(getuid() ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS) ||
		mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		mount("none", path, "ramfs", 0, NULL))
		SKIP("no mounts here");
	int root = open(path, O_RDONLY | O_DIRECTORY);

	REQUIRE(!cp_file_create(&file, root, "x", 100000, 0600, error, sizeof(error)));
	CHECK_EQ(cp_file_reserve(&file, 0, 100000), EOPNOTSUPP);
	cp_file_close(&file);
	close(root);
	umount(path);
	rmdir(path);
}

TEST(cp_file_open__reads_what_has_neither_size_nor_pages)
{
	struct cp_file file;
	char line[64] = "";

	REQUIRE(!cp_file_open(&file, "/proc/self/status", error, sizeof(error)));
	CHECK(file.bytes > 100);
	REQUIRE(file.data);
	CHECK(!memcmp(file.data, "Name:", 5));
	cp_file_close(&file);
	/* sysfs says 4096 bytes and has a few; it cannot be mapped. */
	FILE *mtu = fopen("/sys/class/net/lo/mtu", "r");

	REQUIRE(mtu && fgets(line, sizeof(line), mtu));
	fclose(mtu);
	REQUIRE(!cp_file_open(&file, "/sys/class/net/lo/mtu", error, sizeof(error)));
	CHECK_EQ(file.bytes, strlen(line));
	CHECK(!memcmp(file.data, line, strlen(line)));
	cp_file_close(&file);
}

TEST(cp_file_open__takes_regular_files_only)
{
	struct cp_file file;

	CHECK_EQ(cp_file_open(&file, "/nowhere/at/all", error, sizeof(error)), -1);
	CHECK(strstr(error, "/nowhere/at/all") != NULL);
	CHECK_EQ(cp_file_open(&file, "/tmp", error, sizeof(error)), -1);
	CHECK_EQ(cp_file_open(&file, "/proc/self/exe", error, sizeof(error)), 0);
	CHECK(file.bytes > 1000 && !memcmp(file.data, "\177ELF", 4));
	cp_file_close(&file);
}

TEST(cp_file_open__does_not_wait_at_a_pipe)
{
	struct cp_file file;
	char path[200];

	close(folder());
	snprintf(path, sizeof(path), "%s/pipe", outside);
	REQUIRE(!mkfifo(path, 0600));
	CHECK_EQ(cp_file_open(&file, path, error, sizeof(error)), -1);
	CHECK(strstr(error, "not a regular file") != NULL);
	unlink(path);
}
