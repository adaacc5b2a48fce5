/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "play.h"

#include <unistd.h>

static void write_file(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");

	REQUIRE(out);
	(void)fputs(text, out);
	(void)fclose(out);
}

#define RESULT(seed, fct, lost)                                                                    \
	"{\"kind\":\"sample\",\"us\":1}\n{\"kind\":\"result\",\"name\":\"x\",\"transport\":"       \
	"\"mrc\","                                                                                 \
	"\"seed\":" seed ",\"fct_max_us\":" fct ",\"lost\":" lost "}\n"

TEST(play_compare__pairs_runs_in_their_order)
{
	char folder[] = "/tmp/weft-compare-XXXXXX", paths[2][64], error[256], *text = NULL;
	size_t bytes;
	struct term term = { 0 };

	REQUIRE(mkdtemp(folder));
	for (unsigned i = 0; i < 2; i++)
		(void)snprintf(paths[i], sizeof(paths[i]), "%s/%u", folder, i);
	write_file(paths[0], RESULT("1", "100", "0") RESULT("2", "10", "4"));
	write_file(paths[1], RESULT("1", "150", "3") RESULT("2", "5", "4"));
	term.out = open_memstream(&text, &bytes);
	REQUIRE(term.out);
	CHECK(play_compare(paths[0], paths[1], &term, error, sizeof(error)));
	(void)fclose(term.out);
	CHECK(strstr(text, "x mrc 1"));
	CHECK(strstr(text, "1.500"));
	CHECK(strstr(text, "0.500"));
	free(text);
	term.out = stderr;
	write_file(paths[1], "no json\n");
	CHECK(!play_compare(paths[0], paths[1], &term, error, sizeof(error)));
	CHECK(strstr(error, "not JSON lines"));
	write_file(paths[1], "");
	CHECK(!play_compare(paths[0], paths[1], &term, error, sizeof(error)));
	CHECK(strstr(error, "no run to compare"));
	(void)unlink(paths[1]);
	CHECK(!play_compare(paths[0], paths[1], &term, error, sizeof(error)));
	CHECK(strstr(error, "No such file"));
	(void)unlink(paths[0]);
	(void)rmdir(folder);
}
