/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef COMMANDS_H
#define COMMANDS_H
/*
 * commands - what `weft` can do.  A verb is one file, cmd_NAME.c, and one line of the table in
 * main.c.  It gets argv with argv[0] = "weft NAME", so that argp's messages name it whole.
 */

struct verb {
	const char *name, *help;           /* help: one line, for `weft help` */
	int (*run)(int argc, char **argv); /* returns the exit status */
};

/* Exit statuses; argp's own for wrong usage is the same. */
enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 64 };

/* Finds argv[1] among verbs and runs it; lists them for "help", --help, or nothing.  Used by
 * `weft` itself and by verbs that have verbs of their own.
 */
int verb_run(
	const char *program, const char *purpose, const struct verb verbs[], int argc, char **argv);

/*
 * The command behind "--", which is replaced by the end of argv (*argc with it), so that argp does
 * not take the command's options for its own; NULL: there is none.
 */
char **verb_command(int *argc, char **argv);

int cmd_cp(int argc, char **argv);
int cmd_decode(int argc, char **argv);
int cmd_demo(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_fabric(int argc, char **argv);
int cmd_lab(int argc, char **argv);
int cmd_perf(int argc, char **argv);
int cmd_play(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_sim(int argc, char **argv);
int cmd_switch(int argc, char **argv);

#endif
