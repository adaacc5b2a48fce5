/* SPDX-License-Identifier: BSD-2-Clause */
#include "labs.h"

static char folder[64];

static void use_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/weft-state-XXXXXX");
	REQUIRE(mkdtemp(folder));
	setenv("XDG_RUNTIME_DIR", folder, 1);
}

TEST(state_path__follows_the_environment)
{
	char path[STATE_PATH_BYTES];

	setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
	CHECK(state_path(path, "a", "sock"));
	CHECK_STR(path, "/run/user/7/weft/a/sock");
	CHECK(state_path(path, NULL, NULL));
	CHECK_STR(path, "/run/user/7/weft");
	unsetenv("XDG_RUNTIME_DIR");
	CHECK(state_path(path, "a", NULL));
	CHECK(!strcmp(path, "/run/weft/a") || !strncmp(path, "/tmp/weft-", 10));
	setenv("XDG_RUNTIME_DIR",
		"/a/path/that/is/much/too/long/for/the/address/of/a/socket/in/the/local/domain/of/"
		"any/kernel",
		1);
	CHECK(!state_path(path, "some-lab", "fabric.yaml"));
}

TEST(state_pin__outlives_a_change_of_who_we_are)
{
	char path[STATE_PATH_BYTES];

	setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
	CHECK(state_pin());
	unsetenv("XDG_RUNTIME_DIR");
	CHECK(state_path(path, "a", NULL));
	CHECK_STR(path, "/run/user/7/weft/a");
	unsetenv("WEFT_LABS");
}

TEST(state_name_ok__keeps_names_inside_the_folder)
{
	CHECK(state_name_ok("lab8"));
	CHECK(!state_name_ok(""));
	CHECK(!state_name_ok(".."));
	CHECK(!state_name_ok("a/b"));
	CHECK(state_name_ok("My_lab-8.1"));
	CHECK(!state_name_ok("two\nlabs")); /* as weft lab list would print it */
	CHECK(!state_name_ok("a b"));
	CHECK(!state_name_ok("\x1b[2J"));
	CHECK(!state_name_ok("-x"));
	CHECK(!state_name_ok("a-name-of-more-than-31-characters"));
}

TEST(state_take__gives_a_name_to_one_only)
{
	char error[256] = "", names[4][WEFT_TOPO_NAME_BYTES], path[STATE_PATH_BYTES];

	use_folder();
	int fd = state_take("one", error, sizeof(error));
	CHECK(fd >= 0);
	CHECK_EQ(state_take("one", error, sizeof(error)), -1);
	CHECK_STR(error, "a lab named one is up already");
	CHECK(state_is_alive("one"));
	CHECK_EQ(weft_lab_list(names, 4, error, sizeof(error)), 1);
	CHECK_STR(names[0], "one");
	int other = state_take("two", error, sizeof(error));
	CHECK_EQ(weft_lab_list(names, 4, error, sizeof(error)), 2);
	CHECK(state_path(path, "one", "switch") && !mkdir(path, 0700));
	CHECK(state_path(path, "one", "switch/h0.7")); /* of an endpoint that was killed, too */
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	close(fd); /* as if its keeper had been killed */
	CHECK(!state_is_alive("one"));
	CHECK(state_path(path, "one", NULL) && access(path, F_OK));
	CHECK_EQ(weft_lab_list(names, 4, error, sizeof(error)), 1);
	close(other);
	CHECK_EQ(weft_lab_list(names, 4, error, sizeof(error)), 0);
	CHECK(state_path(path, NULL, NULL) && access(path, F_OK));
	CHECK(!rmdir(folder));
}

TEST(weft_lab_list__says_where_nobody_can_look)
{
	char error[256] = "", names[4][WEFT_TOPO_NAME_BYTES], longest[400];

	memset(longest, 'd', sizeof(longest) - 1);
	longest[0] = '/';
	longest[sizeof(longest) - 1] = 0;
	setenv("XDG_RUNTIME_DIR", longest, 1);
	unsetenv("WEFT_LABS");
	CHECK_EQ(weft_lab_list(names, 4, error, sizeof(error)), -1);
	CHECK(strstr(error, "XDG_RUNTIME_DIR"));
	setenv("WEFT_LABS", "/proc/self/environ", 1);
	CHECK_EQ(weft_lab_list(names, 4, error, sizeof(error)), -1);
	CHECK(strstr(error, "/proc/self/environ: Not a directory"));
	unsetenv("WEFT_LABS");
}

TEST(state_take__refuses_a_bad_name)
{
	char error[256] = "";

	use_folder();
	CHECK_EQ(state_take("../x", error, sizeof(error)), -1);
	CHECK_STR(error, "'../x' is too long or no name for a lab");
	CHECK(!rmdir(folder));
	setenv("XDG_RUNTIME_DIR",
		"/a/runtime/folder/that/leaves/just/too/little/for/the/name/of/a/lab/and/for/its/"
		"sockets",
		1);
	CHECK_EQ(state_take("some-lab", error, sizeof(error)), -1);
	CHECK(strstr(error, "/its/sockets/weft/some-lab: too long for the path"));
	CHECK(strstr(error, "XDG_RUNTIME_DIR"));
}

/* A keeper's lock and socket in it would be believed. */
TEST(state_is_ours__does_not_believe_in_others_folders)
{
	char error[256] = "", path[STATE_PATH_BYTES], names[4][WEFT_TOPO_NAME_BYTES];

	use_folder();
	CHECK(state_is_ours(error, sizeof(error))); /* nothing is there */
	int fd = state_take("one", error, sizeof(error));

	REQUIRE(fd >= 0);
	CHECK(state_is_alive("one"));
	CHECK(state_path(path, NULL, NULL));
	REQUIRE(!chmod(path, 0770));
	CHECK(!state_is_ours(error, sizeof(error)));
	CHECK(strstr(error, "others may write there"));
	CHECK(!state_is_alive("one"));
	*error = 0;
	CHECK_EQ(weft_lab_list(names, 4, error, sizeof(error)), -1);
	CHECK(strstr(error, "others may write there"));
	CHECK_EQ(state_take("two", error, sizeof(error)), -1);
	REQUIRE(!chmod(path, 0700));
	CHECK_EQ(weft_lab_list(names, 4, error, sizeof(error)), 1);
	close(fd);
	CHECK(!state_is_alive("one"));
	CHECK(!rmdir(folder));
}
