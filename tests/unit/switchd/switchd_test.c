/* SPDX-License-Identifier: BSD-2-Clause */
#include "switches.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static int try_open(const char *fabric, const char *dir, char error[256])
{
	struct weft_switchd_config config = { .fabric = fabric, .dir = dir };
	struct weft_switchd *sw = NULL;
	int result = weft_switchd_open(&sw, &config, error, 256);

	weft_switchd_close(sw);
	return result;
}

TEST(weft_switchd_open__says_what_is_wrong)
{
	char error[256], long_dir[200];
	struct place place;

	place_open(&place, SMALL2);
	CHECK_EQ(try_open("/nonexistent.yaml", place.dir, error), -1);
	CHECK(strstr(error, "/nonexistent.yaml"));
	CHECK_EQ(try_open(place.fabric, "/nonexistent", error), -1);
	CHECK_STR(error, "/nonexistent/lock: No such file or directory");
	memset(long_dir, 'd', sizeof(long_dir) - 1);
	long_dir[sizeof(long_dir) - 1] = 0;
	CHECK_EQ(try_open(place.fabric, long_dir, error), -1);
	CHECK(strstr(error, "too long for a socket's path"));
	struct weft_switchd_config fast = {
		.fabric = place.fabric, .dir = place.dir, .rate_bps = WEFT_TOPO_BPS_MAX + 1
	};
	struct weft_switchd *sw;
	CHECK_EQ(weft_switchd_open(&sw, &fast, error, sizeof(error)), -1);
	CHECK_STR(error, "a rate of 10000000000001 b/s, allowed: 1Mb/s to 10Tb/s");
	place_close(&place);
}

TEST(weft_switchd_open__leaves_a_running_one_alone)
{
	struct place place;
	char error[256];
	struct stat st;

	place_open(&place, SMALL2);
	struct weft_switchd *sw = switch_open(&place, NULL);
	CHECK_EQ(try_open(place.fabric, place.dir, error), -1);
	CHECK(strstr(error, ": another switch runs there"));
	CHECK_EQ(stat(sw->control_path, &st), 0);
	CHECK_EQ(stat(sw->ports_path, &st), 0);
	weft_switchd_close(sw);
	sw = switch_open(&place, NULL);
	weft_switchd_close(sw);
	place_close(&place);
}

/* Killed, it leaves its sockets; the next takes their place and its hosts see the end. */
TEST(weft_switchd_open__sweeps_up_after_one_that_was_killed)
{
	struct program program = { .hello = { .host = "alice" } };
	struct place place;

	place_open(&place, SMALL2);
	pid_t child = fork();

	if (!child) {
		volatile int never = 0;

		weft_switchd_run(switch_open(&place, NULL), &never);
		_exit(0);
	}
	snprintf(program.path, sizeof(program.path), "%s/ports", place.dir);
	for (unsigned i = 0; i < 300 && !program.link; i++) {
		(void)program_dial(&program);
		if (!program.link)
			usleep(10000);
	}
	REQUIRE(program.link);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	usleep(1000);
	CHECK(!weft_shm_bell_clear(program.link));
	struct weft_switchd *sw = switch_open(&place, NULL);
	struct program again;
	CHECK_EQ(program_open(&again, sw, "alice", 4000), 0);
	program_close(&again);
	program_close(&program);
	weft_switchd_close(sw);
	place_close(&place);
}

TEST(weft_switchd_close__of_nothing)
{
	weft_switchd_close(NULL);
}
