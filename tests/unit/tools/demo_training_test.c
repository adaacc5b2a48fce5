/* SPDX-License-Identifier: BSD-2-Clause */
#include "demos.h"
#include "commands.h"

/* Its status: argp ends the program where it is asked for what cannot be. */
static int status_of(const char *option, const char *value)
{
	char words[3][64] = { "training" };
	char *argv[] = { words[0], words[1], words[2], NULL };
	int status;

	snprintf(words[1], sizeof(words[1]), "%s", option);
	snprintf(words[2], sizeof(words[2]), "%s", value);
	fflush(NULL);
	pid_t pid = fork();

	if (!pid)
		exit(demo_training(3, argv));
	REQUIRE(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(demo_training__wants_sane_options)
{
	CHECK_EQ(status_of("--steps", "9"), EXIT_USAGE);
	CHECK_EQ(status_of("--steps", "99999"), EXIT_USAGE);
	CHECK_EQ(status_of("--only", "udp"), EXIT_USAGE);
}

TEST(demo_training__says_what_is_missing)
{
	CHECK_EQ(status_of("--script", "/nowhere/at/all"), EXIT_FAILED);
}
