/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main - one program, many verbs.
 *
 * One binary instead of a dozen: one thing to install, one --help to start from, and what it
 * does is this table.  To add a verb: cmd_NAME.c, a prototype in verbs.h, a line here, and the
 * file's name in the weft_tool(weft ...) row of CMakeLists.txt.
 */
#include "commands.h"

#include <signal.h>
#include <stdio.h>

static const struct verb verbs[] = {
	{ "cp", "copy a file to another host over all planes at once", cmd_cp },
	{ "decode", "show the MRC packets of a capture or of hex text", cmd_decode },
	{ "demo", "a file crosses a fabric that breaks; beside it TCP and MPTCP", cmd_demo },
	{ "doctor", "what of this machine, or the way to another, stands in the way", cmd_doctor },
	{ "fabric", "check and read a fabric file: nodes, paths, tables", cmd_fabric },
	{ "lab", "an emulated fabric on this machine: up, run, fault, down", cmd_lab },
	{ "perf", "measure bandwidth and latency between two hosts", cmd_perf },
	{ "play", "a scenario file: fabric, load, faults, and whether its claims hold", cmd_play },
	{ "run", "an RDMA program over Weft instead of an RDMA card", cmd_run },
	{ "sim", "a load over a fabric of any size, in virtual time", cmd_sim },
	{ "switch", "all switches of a fabric in one program", cmd_switch },
	{ NULL, NULL, NULL },
};

/* Nothing to do: write() fails with EFBIG then, which is told. */
static void beyond_the_limit(int signal)
{
	(void)signal;
}

int main(int argc, char **argv)
{
	/* A handler and not SIG_IGN, which programs that we start would inherit. */
	(void)signal(SIGXFSZ, beyond_the_limit);
	int rc = verb_run("weft", "multipath reliable connections", verbs, argc, argv);

	/* A full disk shows when the last bytes go. */
	if ((fflush(stdout) || ferror(stdout)) && rc == EXIT_OK) {
		perror("weft: standard output");
		rc = EXIT_FAILED;
	}
	return rc;
}
