/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs - from a word on the command line to the function behind it.
 *
 * Options belong to verbs and are argp's business; here is only the table walk that argp has no
 * word for.  A wrong verb prints the right ones, to stderr, because that is the next question.
 */
#include "commands.h"

#include <argp.h>
#include <stdio.h>
#include <weft/version.h>
#include <string.h>

#define NAME_BYTES 64

/* By this name argp finds what -V and --version of every verb print. */
const char *argp_program_version = "weft " WEFT_VERSION;

static void print_verbs(
	FILE *out, const char *program, const char *purpose, const struct verb verbs[])
{
	fprintf(out, "%s - %s\n\n", program, purpose);
	for (const struct verb *v = verbs; v->name; v++)
		fprintf(out, "  %s %-8s %s\n", program, v->name, v->help);
	fprintf(out, "\n%s VERB --help tells more.\n", program);
}

int verb_run(
	const char *program, const char *purpose, const struct verb verbs[], int argc, char **argv)
{
	static char name[NAME_BYTES]; /* argp keeps pointers to argv[0] until the end */
	const char *word = argc > 1 ? argv[1] : "help";

	argp_err_exit_status = EXIT_USAGE;
	for (const struct verb *v = verbs; v->name; v++) {
		if (strcmp(v->name, word))
			continue;
		/* name may be program itself when a verb has verbs: build beside it. */
		char whole[NAME_BYTES];

		(void)snprintf(whole, sizeof(whole), "%.40s %.20s", program, v->name);
		memcpy(name, whole, sizeof(name));
		argv[1] = name;
		return v->run(argc - 1, argv + 1);
	}
	if (!strcmp(word, "help") || !strcmp(word, "--help") || !strcmp(word, "-h")) {
		print_verbs(stdout, program, purpose, verbs);
		return argc > 1 ? EXIT_OK : EXIT_USAGE;
	}
	if (!strcmp(word, "version") || !strcmp(word, "--version") || !strcmp(word, "-V")) {
		puts(argp_program_version);
		return EXIT_OK;
	}
	fprintf(stderr, "%s: no verb '%s'\n\n", program, word);
	print_verbs(stderr, program, purpose, verbs);
	return EXIT_USAGE;
}

char **verb_command(int *argc, char **argv)
{
	int cut = 1;

	while (cut < *argc && strcmp(argv[cut], "--"))
		cut++;
	if (cut >= *argc)
		return NULL;
	char **command = cut + 1 < *argc ? argv + cut + 1 : NULL;
	argv[cut] = NULL;
	*argc = cut;
	return command;
}
