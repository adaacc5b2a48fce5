/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/net.h>
#include <weft/session.h>

enum { N = 64 };

static bool all_differ(void)
{
	uint64_t list[N], ones = 0;

	for (unsigned i = 0; i < N; i++) {
		list[i] = weft_random();
		ones |= list[i];
		for (unsigned k = 0; k < i; k++) {
			if (list[k] == list[i])
				return false;
		}
	}
	return ones == UINT64_MAX;
}

TEST(weft_random__does_not_repeat_itself)
{
	CHECK(all_differ());
}

/* As a sandbox that its author wrote before glibc asked for random bytes. */
static bool deny_getrandom(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { WEFT_COUNT(code), code };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int in_child(void)
{
	if (!deny_getrandom())
		return 77;
	struct weft_live_config config;

	weft_live_defaults(&config);
	if (!all_differ() || config.engine.seed == weft_random())
		return 1;
	/* A child has the parent's bytes, and must not have its numbers. */
	int pipes[2];
	uint64_t one, two = 0;

	if (pipe(pipes))
		return 2;
	pid_t child = fork();
	one = weft_random();
	if (!child)
		_exit(write(pipes[1], &one, sizeof(one)) != sizeof(one));
	return read(pipes[0], &two, sizeof(two)) != sizeof(two) || one == two ? 3 : 0;
}

TEST(weft_random__ends_no_program_that_may_not_ask)
{
	int status = 0;
	pid_t child = fork();

	if (!child)
		_exit(in_child());
	REQUIRE(waitpid(child, &status, 0) == child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("no seccomp here");
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
}
