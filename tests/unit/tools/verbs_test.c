/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "commands.h"

#include <unistd.h>

static int seen_argc;
static char seen[4][32];

static int note(int argc, char **argv)
{
	seen_argc = argc;
	for (int i = 0; i < argc && i < 4; i++)
		snprintf(seen[i], sizeof(seen[i]), "%s", argv[i]);
	return 7;
}

static const struct verb inner[] = { { "up", "goes up", note }, { NULL, NULL, NULL } };

static int nest(int argc, char **argv)
{
	return verb_run(argv[0], "nested", inner, argc, argv);
}

static const struct verb verbs[] = {
	{ "go", "goes", note },
	{ "lab", "has verbs", nest },
	{ NULL, NULL, NULL },
};

/* Runs verb_run with stdout and stderr in text. */
static int run(int argc, char **argv, char *text, size_t bytes)
{
	FILE *file = tmpfile();
	int saved[2] = { dup(1), dup(2) };

	REQUIRE(file);
	fflush(stdout);
	dup2(fileno(file), 1);
	dup2(fileno(file), 2);
	int result = verb_run("prog", "tries", verbs, argc, argv);
	fflush(stdout);
	dup2(saved[0], 1);
	dup2(saved[1], 2);
	close(saved[0]);
	close(saved[1]);
	rewind(file);
	text[fread(text, 1, bytes - 1, file)] = 0;
	fclose(file);
	return result;
}

TEST(verb_run__gives_the_verb_its_arguments_and_whole_name)
{
	char *argv[] = { (char *)"prog", (char *)"go", (char *)"-x", (char *)"y", NULL };

	CHECK_EQ(verb_run("prog", "tries", verbs, 4, argv), 7);
	CHECK_EQ(seen_argc, 3);
	CHECK_STR(seen[0], "prog go");
	CHECK_STR(seen[1], "-x");
}

TEST(verb_run__nests)
{
	char *argv[] = { (char *)"prog", (char *)"lab", (char *)"up", (char *)"f.yaml", NULL };

	CHECK_EQ(verb_run("prog", "tries", verbs, 4, argv), 7);
	CHECK_EQ(seen_argc, 2);
	CHECK_STR(seen[0], "prog lab up");
	CHECK_STR(seen[1], "f.yaml");
}

TEST(verb_run__lists_the_verbs)
{
	char *help[] = { (char *)"prog", (char *)"help", NULL }, *none[] = { (char *)"prog", NULL };
	char *wrong[] = { (char *)"prog", (char *)"og", NULL };
	char text[512];

	CHECK_EQ(run(2, help, text, sizeof(text)), EXIT_OK);
	CHECK(strstr(text, "prog go") && strstr(text, "has verbs"));
	CHECK_EQ(run(1, none, text, sizeof(text)), EXIT_USAGE);
	CHECK(strstr(text, "prog lab"));
	CHECK_EQ(run(2, wrong, text, sizeof(text)), EXIT_USAGE);
	CHECK(strstr(text, "no verb 'og'") && strstr(text, "prog go"));
}

TEST(verb_run__says_which_version_it_is)
{
	char *argv[] = { (char *)"prog", (char *)"--version", NULL };
	char *word[] = { (char *)"prog", (char *)"version", NULL };
	char text[64];
	unsigned part[3];

	CHECK_EQ(run(2, argv, text, sizeof(text)), EXIT_OK);
	CHECK_EQ(sscanf(text, "weft %u.%u.%u", part, part + 1, part + 2), 3);
	CHECK_EQ(run(2, word, text, sizeof(text)), EXIT_OK);
	CHECK(!strncmp(text, "weft ", 5));
}

TEST(verb_command__cuts_the_line)
{
	char verb[] = "v", host[] = "h0", cut[] = "--", ls[] = "ls", l[] = "-l";
	char *with[] = { verb, host, cut, ls, l, NULL };
	char *none[] = { verb, host, NULL }, *empty[] = { verb, cut, NULL };
	int argc = 5;

	CHECK(verb_command(&argc, with) == with + 3);
	CHECK_EQ(argc, 2);
	CHECK(!with[2]);
	CHECK(!verb_command(&argc, none));
	CHECK_EQ(argc, 2);
	CHECK(!verb_command(&argc, empty));
	CHECK_EQ(argc, 1);
}
