/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "run_env.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64], exe[80], error[256];

static void touch(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *out = fopen(path, "w");
	REQUIRE(out && !fclose(out));
}

/* A folder with the program in it and, in lib/, the libraries. */
static void make_tree(void)
{
	char lib[80];

	snprintf(dir, sizeof(dir), "/tmp/weft-run-XXXXXX");
	REQUIRE(mkdtemp(dir));
	snprintf(exe, sizeof(exe), "%s/weft", dir);
	snprintf(lib, sizeof(lib), "%s/lib", dir);
	REQUIRE(!mkdir(lib, 0700));
	unsetenv("LD_LIBRARY_PATH");
	unsetenv("LD_PRELOAD");
	unsetenv("WEFT_CONFIG");
	unsetenv("WEFT_PROFILE");
}

static void clear_tree(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r '%s'", dir);
	CHECK(!system(command));
}

TEST(run_env_set__fails_where_there_are_no_libraries)
{
	struct run_env run = { 0 };

	make_tree();
	CHECK(!run_env_set(&run, exe, error, sizeof(error)));
	CHECK(strstr(error, "libibverbs.so.1"));
	CHECK(!getenv("LD_LIBRARY_PATH"));
	clear_tree();
}

TEST(run_env_set__puts_its_libraries_first_and_once)
{
	struct run_env run = { 0 };
	char wanted[160];

	make_tree();
	touch("lib/libibverbs.so.1");
	setenv("LD_LIBRARY_PATH", "/x", 1);
	for (int i = 0; i < 2; i++)
		CHECK(run_env_set(&run, exe, error, sizeof(error)));
	snprintf(wanted, sizeof(wanted), "%s/lib:/x", dir);
	CHECK_STR(getenv("LD_LIBRARY_PATH"), wanted);
	CHECK(!getenv("LD_PRELOAD")); /* there is none to preload */
	CHECK(!getenv("WEFT_PROFILE"));
	touch("lib/libweft-paths.so");
	CHECK(run_env_set(&run, exe, error, sizeof(error)));
	snprintf(wanted, sizeof(wanted), "%s/lib/libweft-paths.so", dir);
	CHECK_STR(getenv("LD_PRELOAD"), wanted);
	CHECK_STR(getenv("ASAN_OPTIONS"), "verify_asan_link_order=0");
	setenv("ASAN_OPTIONS", "exitcode=3", 1);
	CHECK(run_env_set(&run, exe, error, sizeof(error)));
	CHECK_STR(getenv("ASAN_OPTIONS"), "verify_asan_link_order=0:exitcode=3");
	unsetenv("ASAN_OPTIONS");
	unsetenv("LD_PRELOAD");
	clear_tree();
}

TEST(run_env_set__names_the_profile_and_the_device_file)
{
	struct run_env run = { .device = "/nowhere.conf", .strict = true };
	char wanted[160];

	make_tree();
	touch("lib/libibverbs.so.1");
	touch("devices");
	CHECK(!run_env_set(&run, exe, error, sizeof(error)));
	CHECK_STR(error, "/nowhere.conf: No such file or directory");
	snprintf(wanted, sizeof(wanted), "%s/lib/../devices", dir);
	run.device = wanted;
	CHECK(run_env_set(&run, exe, error, sizeof(error)));
	CHECK_STR(getenv("WEFT_PROFILE"), "strict");
	snprintf(wanted, sizeof(wanted), "%s/devices", dir);
	CHECK_STR(getenv("WEFT_CONFIG"), wanted);
	clear_tree();
}
