/* SPDX-License-Identifier: BSD-2-Clause */
#include "live_args.h"

#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

/* Parses in a child, because argp ends the process; its exit status, or what the option gave. */
static int parse(const char *const words[], struct live_args *args)
{
	int n = 0;

	while (words[n])
		n++;
	weft_live_defaults(&args->config);
	return argp_parse(&live_argp, n, (char **)(uintptr_t)words, ARGP_SILENT, NULL, args);
}

static int status_of(const char *option)
{
	const char *words[] = { "test", option, NULL };
	pid_t child = fork();
	int status = 0;

	if (!child) {
		struct live_args args = { 0 };

		fclose(stderr);
		_exit(parse(words, &args));
	}
	waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}

TEST(live_argp__fills_the_configuration)
{
	struct live_args args = { 0 };
	const char *words[] = { "test", "--fabric=f.yaml", "--host=h3", "--rtt=250", "--rate=1600",
		"--paths=64", "--give-up=500", "-p", "4000", "--mtu=4096", "--cc=fixed", NULL };

	CHECK_EQ(parse(words, &args), 0);
	CHECK_STR(args.config.fabric, "f.yaml");
	CHECK_STR(args.config.host, "h3");
	CHECK_EQ(args.config.rtt_ns, 250000);
	CHECK_EQ(args.config.rate_bps, 1600000000);
	CHECK_EQ(args.config.paths, 64);
	CHECK_EQ(args.config.timeout_ms, 500);
	CHECK_EQ(args.config.mtu_bytes, 4096);
	CHECK_EQ(args.tcp_port, 4000);
	CHECK_STR(args.config.cc, "fixed");
}

TEST(arg_number__refuses_what_is_no_number_in_range)
{
	static const char *const bad[] = { "--port=0", "--port=65536", "--port=x", "--port=12x",
		"--port=-1", "--port=", "--rtt=99999999999999999999", "--paths=513", "--mtu=9k" };

	/* ARGP_SILENT hands the status back instead of exiting; argp_error() still refuses. */
	CHECK_EQ(status_of("--port=65535"), 0);
	CHECK_EQ(status_of("--mtu=4k"), 0);
	for (size_t i = 0; i < WEFT_COUNT(bad); i++) {
		const char *words[] = { "test", bad[i], NULL };
		pid_t child = fork();
		int status = 0;

		if (!child) {
			struct live_args args = { 0 };

			fclose(stderr);
			argp_parse(&live_argp, 2, (char **)(uintptr_t)words, 0, NULL, &args);
			_exit(0);
		}
		waitpid(child, &status, 0);
		if (!WEXITSTATUS(status))
			CHECK_FAIL("%s was taken", bad[i]);
	}
}

TEST(live_hurry__does_no_harm)
{
	live_hurry();
}
