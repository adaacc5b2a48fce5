/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <weft/panic.h>

#include <sys/wait.h>
#include <unistd.h>

/* What a child with the hook says to stderr on its way down. */
static int die(const char *file, const char *expr, char said[2048])
{
	int fds[2], status;
	size_t got = 0;
	ssize_t n;

	REQUIRE(!pipe(fds));
	pid_t pid = fork();

	if (!pid) {
		(void)dup2(fds[1], 2);
		(void)weft_panic_hook(weft_panic_say);
		weft_panic(file, 12, expr);
	}
	close(fds[1]);
	while ((n = read(fds[0], said + got, 2047 - got)) > 0)
		got += (size_t)n;
	said[got] = 0;
	close(fds[0]);
	REQUIRE(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(weft_panic_say__names_file_line_and_expression)
{
	char said[2048];

	CHECK(die("/some/where/src/fabric/network/network_run.c", "n > 0", said));
	CHECK_STR(said, "weft: src/fabric/network/network_run.c:12: broken assertion: n > 0\n");
	CHECK(die("tools/cmd_cp.c", "a && b", said));
	CHECK_STR(said, "weft: tools/cmd_cp.c:12: broken assertion: a && b\n");
}

TEST(weft_panic_say__is_one_line_of_any_expression)
{
	char said[2048], expr[1000];

	memset(expr, 'x', sizeof(expr) - 1);
	expr[sizeof(expr) - 1] = 0;
	CHECK(die("src/a.c", expr, said));
	CHECK_EQ(strlen(said), 512);
	CHECK(strchr(said, '\n') == said + 511);
}
