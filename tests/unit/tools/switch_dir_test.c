/* SPDX-License-Identifier: BSD-2-Clause */
#include "switch_dir.h"

#include "check.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char base[64], dir[SWITCH_DIR_BYTES], error[256];

static void begin(void)
{
	snprintf(base, sizeof(base), "/tmp/switch-dir-XXXXXX");
	REQUIRE(mkdtemp(base));
	setenv("XDG_RUNTIME_DIR", base, 1);
	unsetenv("WEFT_SWITCH");
}

static void end(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", base);
	CHECK_EQ(system(command), 0);
}

/* A folder where something listens, as a switch would. */
static int be_switch(const char *where)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/control", where);
	REQUIRE(!bind(fd, (struct sockaddr *)&address, sizeof(address)) && !listen(fd, 8));
	return fd;
}

TEST(switch_dir_make__makes_folders_for_us_alone)
{
	struct stat st;

	begin();
	CHECK(switch_dir_make(dir, NULL, "small2", error, sizeof(error)));
	CHECK(!strncmp(dir, base, strlen(base)));
	CHECK_STR(dir + strlen(base), "/weft-switch/small2");
	CHECK(!stat(dir, &st));
	CHECK_EQ(st.st_mode & 0777, 0700);
	CHECK(switch_dir_make(dir, NULL, "small2", error, sizeof(error))); /* again */
	end();
}

TEST(switch_dir_make__takes_what_it_is_given)
{
	char given[128];

	begin();
	snprintf(given, sizeof(given), "%s/mine", base);
	CHECK(switch_dir_make(dir, given, "small2", error, sizeof(error)));
	CHECK_STR(dir, given);
	setenv("WEFT_SWITCH", base, 1);
	CHECK(switch_dir_make(dir, NULL, "small2", error, sizeof(error)));
	CHECK_STR(dir, base);
	CHECK(!switch_dir_make(dir, "/proc/nope", "x", error, sizeof(error)));
	CHECK_STR(error, "/proc/nope: No such file or directory");
	CHECK(!switch_dir_make(dir, "/dev/null", "x", error, sizeof(error)));
	CHECK_STR(error, "/dev/null: not a folder of ours");
	memset(given, 'a', sizeof(given) - 1);
	given[sizeof(given) - 1] = 0;
	CHECK(!switch_dir_make(dir, given, "x", error, sizeof(error)));
	CHECK(strstr(error, "too long for a socket's path"));
	end();
}

/* By the name that everybody can guess, and by its folder among ours. */
TEST(switch_dir_find__does_not_believe_in_others_folders)
{
	char one[SWITCH_DIR_BYTES], others[128];

	begin();
	snprintf(others, sizeof(others), "%s/weft-switch", base);
	REQUIRE(switch_dir_make(one, NULL, "one", error, sizeof(error)));
	int fd = be_switch(one);

	CHECK(switch_dir_find(dir, NULL, error, sizeof(error)));
	REQUIRE(!chmod(others, 0777));
	CHECK(!switch_dir_find(dir, NULL, error, sizeof(error)));
	CHECK(strstr(error, "weft-switch: others may write there"));
	REQUIRE(!chmod(others, 0700) && !chmod(one, 0770));
	CHECK(!switch_dir_find(dir, NULL, error, sizeof(error)));
	CHECK(strstr(error, "no switch runs in"));
	REQUIRE(!chmod(one, 0700));
	if (!getuid()) {
		REQUIRE(!chown(others, 65534, 65534));
		CHECK(!switch_dir_find(dir, NULL, error, sizeof(error)));
		CHECK(strstr(error, "weft-switch: not a folder of ours"));
	}
	close(fd);
	end();
}

TEST(switch_dir_find__takes_the_only_one_that_answers)
{
	char one[SWITCH_DIR_BYTES], two[SWITCH_DIR_BYTES];

	begin();
	CHECK(!switch_dir_find(dir, NULL, error, sizeof(error)));
	CHECK(strstr(error, "no switch runs in ") && strstr(error, base));
	CHECK(switch_dir_make(one, NULL, "one", error, sizeof(error)));
	CHECK(switch_dir_make(two, NULL, "two", error, sizeof(error)));
	CHECK(!switch_dir_find(dir, NULL, error, sizeof(error)));
	int fd = be_switch(one);
	CHECK(switch_dir_find(dir, NULL, error, sizeof(error)));
	CHECK_STR(dir, one);
	int other = be_switch(two);
	CHECK(!switch_dir_find(dir, NULL, error, sizeof(error)));
	CHECK(strstr(error, "2 switches run in ") && strstr(error, "--dir"));
	CHECK(switch_dir_find(dir, two, error, sizeof(error)));
	CHECK_STR(dir, two);
	setenv("WEFT_SWITCH", one, 1);
	CHECK(switch_dir_find(dir, NULL, error, sizeof(error)));
	CHECK_STR(dir, one);
	close(other);
	/* One that is stopped: as many wait for it as can, and it is found without waiting. */
	unsetenv("WEFT_SWITCH");
	alarm(20);
	for (unsigned i = 0; i < 8; i++) {
		CHECK(switch_dir_find(dir, NULL, error, sizeof(error)));
		CHECK_STR(dir, one);
	}
	alarm(0);
	close(fd);
	end();
}
