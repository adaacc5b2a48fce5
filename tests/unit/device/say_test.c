/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "device_local.h"

#include <fcntl.h>
#include <unistd.h>

static int pipes[2], old_stderr;

static void catch_stderr(void)
{
	REQUIRE(!pipe2(pipes, O_NONBLOCK));
	old_stderr = dup(STDERR_FILENO);
	REQUIRE(old_stderr >= 0 && dup2(pipes[1], STDERR_FILENO) == STDERR_FILENO);
}

/* What has been written since the last call. */
static const char *said(void)
{
	static char text[4096];
	ssize_t n = read(pipes[0], text, sizeof(text) - 1);

	text[WEFT_MAX(n, 0)] = 0;
	return text;
}

static void let_stderr_go(void)
{
	dup2(old_stderr, STDERR_FILENO);
	close(old_stderr);
	close(pipes[0]);
	close(pipes[1]);
}

TEST(weft_dev_say__writes_one_clean_line)
{
	char line[1024], *copy;

	catch_stderr();
	weft_dev_say("%s: %d planes", "mrc0\033[2J", 4);
	copy = strdup(said());
	weft_dev_say("%0900d", 7);
	snprintf(line, sizeof(line), "%s", said());
	setenv("WEFT_LOG", "quiet", 1);
	weft_dev_say("not this");
	unsetenv("WEFT_LOG");
	const char *quiet = said();

	let_stderr_go();
	CHECK(!strncmp(copy, "weft: mrc0", 10) && strstr(copy, ": 4 planes\n"));
	CHECK(!strchr(copy, '\033'));
	CHECK(strlen(line) <= 400 && line[strlen(line) - 1] == '\n');
	CHECK_STR(quiet, "");
	free(copy);
}

/* A program that never empties its stderr loses the line, and nothing waits. */
TEST(weft_dev_say__does_not_wait_for_room)
{
	static char much[4096];

	catch_stderr();
	fcntl(pipes[1], F_SETFL, 0); /* a write would block now */
	fcntl(pipes[1], F_SETPIPE_SZ, 4096);
	ssize_t n = write(pipes[1], much, sizeof(much));

	weft_dev_say("nobody reads this");
	let_stderr_go();
	CHECK_EQ(n, (ssize_t)sizeof(much));
}

TEST(say_lost__names_address_planes_port_eight_times)
{
	static struct weft_port port = { .planes = 4 };
	static struct weft_dev dev = { .name = { .name = "mrc0" }, .port = &port, .planes_up = 1 };
	struct weft_dev_qp qp = { .dev = &dev, .number = 17 };
	unsigned lines = 0, last = 0, dark = 0;
	char first[512];

	memcpy(qp.attr.gid, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\x07", 16);
	catch_stderr();
	say_lost(&qp);
	snprintf(first, sizeof(first), "%s", said());
	dev.end.home = 1; /* of 10.0.0.7, too, as far as one knows here */
	for (unsigned i = 1; i < 12; i++) {
		dev.planes_up = i > 1;
		say_lost(&qp);
		const char *text = said();

		dark += strstr(text, "none of this host's planes has a link") != NULL;
		lines += *text != 0;
		if (i == 1)
			CHECK(strstr(text, "10.0.0.7 (plane 1 of 4, down here) does not answer"));
		last += strstr(text, "more are not told") != NULL;
	}
	let_stderr_go();
	CHECK(strstr(first, "weft: mrc0: queue pair 17: 10.0.0.7 (plane 0 of 4) does not answer on "
			    "UDP port "));
	CHECK(strstr(first, "the program there has ended"));
	CHECK_EQ(lines, 7);
	CHECK_EQ(last, 1);
	CHECK_EQ(dark, 1);
}

TEST(say_too_long__tells_the_limit_once)
{
	char first[512], second[512];

	catch_stderr();
	say_too_long(UINT64_C(3) << 30);
	snprintf(first, sizeof(first), "%s", said());
	say_too_long(UINT64_C(3) << 30);
	snprintf(second, sizeof(second), "%s", said());
	let_stderr_go();
	CHECK(strstr(first, "3221225472 bytes: at most "));
	CHECK_STR(second, "");
}

TEST(say_no_stats__names_the_file_once)
{
	char first[512], second[512];

	catch_stderr();
	say_no_stats("/nowhere/x", "No such file or directory");
	snprintf(first, sizeof(first), "%s", said());
	say_no_stats("/nowhere/x", "No such file or directory");
	snprintf(second, sizeof(second), "%s", said());
	let_stderr_go();
	CHECK(strstr(first, "WEFT_STATS: /nowhere/x: No such file or directory: "));
	CHECK_STR(second, "");
}
