/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "device_local.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/topo.h>

static char error[256];
static struct weft_dev_name list[WEFT_DEV_MAX];

static int list_config(const char *text)
{
	char path[] = "/tmp/weft-list-test-XXXXXX";
	int fd = mkstemp(path);

	REQUIRE(fd >= 0);
	REQUIRE(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	setenv("WEFT_CONFIG", path, 1);
	error[0] = 0;
	int n = weft_dev_list(list, error, sizeof(error));

	unsetenv("WEFT_CONFIG");
	unlink(path);
	return n;
}

static void forget(void)
{
	unsetenv("WEFT_CONFIG");
	unsetenv("WEFT_PLANES");
	unsetenv("WEFT_FABRIC");
	unsetenv("WEFT_HOST");
}

TEST(weft_dev_list__is_empty_where_nothing_says_so)
{
	forget();
	CHECK_EQ(weft_dev_list(list, error, sizeof(error)), 0);
}

TEST(weft_dev_list__reads_addresses)
{
	forget();
	CHECK_EQ(list_config("# mine\n\n  a 10.0.0.1,fd00::7   # two planes\nb\tfd00::9\n"), 2);
	CHECK(!strcmp(list[0].name, "a"));
	CHECK(!strcmp(list[0].planes, "10.0.0.1,fd00::7"));
	CHECK_EQ(list[0].gid[10], 0xff);
	CHECK_EQ(list[0].gid[15], 1);
	CHECK_EQ(list[1].gid[0], 0xfd);
	CHECK(list[0].guid != list[1].guid);
	setenv("WEFT_PLANES", "127.0.0.1", 1);
	CHECK_EQ(weft_dev_list(list, error, sizeof(error)), 1);
	CHECK(!strcmp(list[0].name, "mrc0"));
	forget();
}

TEST(weft_dev_list__says_which_line_is_wrong)
{
	forget();
	CHECK_EQ(list_config("a 10.0.0.1\na 10.0.0.2\n"), -1);
	CHECK(strstr(error, ":2: name: \"a\""));
	CHECK_EQ(list_config("a\n"), -1);
	CHECK(strstr(error, ":1: \"a\""));
	CHECK_EQ(list_config("a 10.0.0.1,10.0.0.300\n"), -1);
	CHECK(strstr(error, "\"10.0.0.300\""));
	CHECK_EQ(list_config("a nosuchif1,nosuchif0\n"), -1);
	CHECK(strstr(error, "\"nosuchif1\""));
	setenv("WEFT_CONFIG", "/nonexistent/weft", 1);
	CHECK_EQ(weft_dev_list(list, error, sizeof(error)), -1);
	CHECK(strstr(error, "/nonexistent/weft"));
	forget();
}

TEST(weft_dev_list__asks_for_the_host_of_a_fabric)
{
	forget();
	setenv("WEFT_FABRIC", "/nonexistent/fabric", 1);
	CHECK_EQ(weft_dev_list(list, error, sizeof(error)), -1);
	CHECK(strstr(error, "WEFT_HOST"));
	forget();
}

/* In a process of its own: 0, if the device is this host's; 77 where names cannot be given. */
static int is_device_of(const char *host_name, const char *owner)
{
	uint8_t gid[16];
	struct weft_topo *topo;

	if (unshare(CLONE_NEWUSER | CLONE_NEWUTS) || sethostname(host_name, strlen(host_name)))
		return 77;
	if (weft_topo_open(&topo, getenv("WEFT_FABRIC"), error, sizeof(error)))
		return 1;
	weft_topo_host_addr(topo, weft_topo_node_find(topo, owner), 0, gid);
	weft_topo_close(topo);
	return weft_dev_list(list, error, sizeof(error)) != 1 || memcmp(list[0].gid, gid, 16);
}

TEST(weft_dev_list__believes_a_lab_s_host_name_rather_than_a_launcher_s_environment)
{
	static const struct {
		const char *lab, *host_name, *owner;
	} rows[] = {
		{ "lab", "bob", "bob" },
		{ "lab", "carol", "alice" }, /* no host of the fabric */
		{ NULL, "bob", "alice" },
	};

	static const char text[] = "name: two\nplanes: 1\nt0s: 1\nt1s: 1\nhosts: [alice, bob]\n";
	char path[] = "/tmp/weft-list-test-XXXXXX";
	int fd = mkstemp(path);

	REQUIRE(fd >= 0);
	REQUIRE(write(fd, text, sizeof(text) - 1) == (ssize_t)sizeof(text) - 1);
	close(fd);
	forget();
	setenv("WEFT_FABRIC", path, 1);
	setenv("WEFT_HOST", "alice", 1);
	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		int status = -1;
		pid_t child = fork();

		if (!child) {
			if (rows[i].lab)
				setenv("WEFT_LAB", rows[i].lab, 1);
			_exit(is_device_of(rows[i].host_name, rows[i].owner));
		}
		REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status));
		CHECK(!WEXITSTATUS(status) || WEXITSTATUS(status) == 77);
	}
	forget();
	unlink(path);
}

TEST(weft_dev_list__does_without_an_interface_that_may_come)
{
	uint8_t gid[16];

	REQUIRE(weft_plane_address("10.0.0.1", gid));
	CHECK_EQ(list_config("a nosuchif0,10.0.0.1,nosuchif1\n"), 1);
	CHECK_STR(list[0].planes, "nosuchif0,10.0.0.1,nosuchif1");
	CHECK_MEM(list[0].gid, gid, 16);
}
