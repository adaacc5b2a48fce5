/* SPDX-License-Identifier: BSD-2-Clause */
#include "demos.h"
#include "commands.h"

#include <argp.h>

/* argp leaves the process. */
static int status_of(int argc, char **argv)
{
	int status;

	fflush(NULL);
	pid_t child = fork();
	if (!child) {
		argp_err_exit_status = EXIT_USAGE;
		(void)!freopen("/dev/null", "w", stderr);
		exit(demo_stalls(argc, argv));
	}
	REQUIRE(child > 0);
	REQUIRE(waitpid(child, &status, 0) == child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(demo_stalls__refuses_what_it_does_not_know)
{
	/* Of no run at all everything would hold. */
	static const char *const runs[] = { "many", "0", "4294967296", "4294967297", "-1" };

	for (size_t i = 0; i < WEFT_COUNT(runs); i++) {
		char *argv[] = { (char *)"stalls", (char *)"--runs", (char *)runs[i], NULL };

		CHECK_EQ(status_of(3, argv), EXIT_USAGE);
	}
}

TEST(demo_stalls__fails_where_it_cannot_write)
{
	char *argv[] = { (char *)"stalls", (char *)"--out", (char *)"/proc/none", NULL };

	CHECK_EQ(status_of(3, argv), EXIT_FAILED);
}
