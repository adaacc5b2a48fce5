/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "gpu_local.h"
#include "standin/cuda.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* It looks once per process: each case is one of its own. */
static bool is_there_where(const char *failing, int devices)
{
	pid_t child = fork();
	int status = 1;

	if (!child) {
		snprintf(standin.fail, sizeof(standin.fail), "%s", failing);
		standin.nth = -1;
		standin.error = 999;
		standin.devices = devices;
		_exit(weft_gpu_is_there());
	}
	REQUIRE(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
	return WEXITSTATUS(status);
}

TEST(weft_gpu_is_there__wants_a_driver_with_a_gpu)
{
	CHECK(is_there_where("", 1));
	CHECK(!is_there_where("", 0));
	CHECK(!is_there_where("cuInit", 1));
	CHECK(!is_there_where("cuDeviceGetCount", 1));
}

TEST(weft_gpu_error__has_a_word_for_each)
{
	CHECK(weft_gpu_is_there());
	CHECK_STR(weft_gpu_error(600), "not ready");
	CHECK(*weft_gpu_error(12345));
}
