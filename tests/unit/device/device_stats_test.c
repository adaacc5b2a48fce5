/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

TEST(stats_forget__appends_a_line_of_counters)
{
	char path[] = "/tmp/weft-stats-test-XXXXXX", line[8192];
	int fd = mkstemp(path);
	unsigned lines = 0;

	REQUIRE(fd >= 0);
	close(fd);
	setenv("WEFT_STATS", path, 1);
	for (unsigned i = 0; i < 2; i++) {
		struct side *side = side_open();

		weft_live_port(side->dev->live)->stats.drops[WEFT_DROP_BAD_ICRC] = 17;
		side_close(side);
	}
	unsetenv("WEFT_STATS");
	FILE *file = fopen(path, "r");

	REQUIRE(file);
	while (fgets(line, sizeof(line), file)) {
		lines++;
		CHECK(strstr(line, "\"pid\": ") && strstr(line, "\"tx_data_pkts\": 0"));
		CHECK(strstr(line, "\"port_drop_bad_icrc\": 17"));
		CHECK(!strstr(line, "port_drop_oversized"));
		CHECK(strstr(line, "}\n"));
	}
	fclose(file);
	unlink(path);
	CHECK_EQ(lines, 2);
}

static void *close_it(void *dev)
{
	weft_dev_close(dev);
	return NULL;
}

/* A thread of the parent is in the middle of writing its line: it stands at a pipe that nobody
 * reads yet. */
TEST(stats_in_child__opens_devices_whatever_the_parent_was_doing)
{
	char path[] = "/tmp/weft-statsXXXXXX";
	struct weft_dev *dev = pair_device();
	pthread_t thread;
	int status = -1;

	REQUIRE(dev && mkdtemp(path));
	char pipe_path[64];
	snprintf(pipe_path, sizeof(pipe_path), "%s/pipe", path);
	REQUIRE(!mkfifo(pipe_path, 0600));
	setenv("WEFT_STATS", pipe_path, 1);
	WEFT_ASSERT(!pthread_create(&thread, NULL, close_it, dev));
	weft_clock_sleep(300000000);
	pid_t child = fork();
	if (!child) {
		alarm(10);
		_exit(!pair_device());
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	int fd = open(pipe_path, O_RDONLY);
	pthread_join(thread, NULL);
	close(fd);
	unsetenv("WEFT_STATS");
	unlink(pipe_path);
	rmdir(path);
}
