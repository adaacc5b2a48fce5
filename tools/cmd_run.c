/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run - an RDMA program over Weft instead of an RDMA card.
 *
 * Nothing stays between the program and its libraries: the environment is set and the program
 * takes this one's place, so signals, exit statuses and process numbers are its own.
 */
#include "run_env.h"
#include "commands.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXIT_NOT_FOUND 127

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct run_env *run = state->input;

	switch (key) {
	case 'd':
		run->device = arg;
		return 0;
	case 's':
		run->strict = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "%s: the program comes behind \"--\"", arg);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ "device", 'd', "FILE", 0, "devices of this host (default: $WEFT_CONFIG, else the lab's)",
		0 },
	{ "strict", 's', NULL, 0, "only what MRC has: writes, and writes with immediate", 0 },
	{ 0 },
};

int cmd_run(int argc, char **argv)
{
	struct argp argp = { options, parse_option, "-- PROGRAM [ARGUMENT...]",
		"Run a program with Weft's libibverbs and librdmacm.", NULL, NULL, NULL };
	struct run_env run = { 0 };
	char **command = verb_command(&argc, argv);
	char exe[PATH_MAX], error[PATH_MAX + 128];

	if (argp_parse(&argp, argc, argv, 0, NULL, &run))
		return EXIT_USAGE;
	if (!command) {
		fprintf(stderr, "weft run: wants -- PROGRAM...\n");
		return EXIT_USAGE;
	}
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	exe[n > 0 ? n : 0] = 0;
	if (!run_env_set(&run, exe, error, sizeof(error))) {
		fprintf(stderr, "weft run: %s\n", error);
		return EXIT_FAILED;
	}
	execvp(command[0], command);
	fprintf(stderr, "weft run: %s: %s\n", command[0], strerror(errno));
	return EXIT_NOT_FOUND;
}
