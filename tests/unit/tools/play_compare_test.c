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
	CHECK(!strstr(text, "more"));
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

/* Loads and steps beside each other, what is not done, runs without a partner, and weft sim's. */
TEST(play_compare__leaves_nothing_out)
{
	char folder[] = "/tmp/weft-compare-XXXXXX", paths[2][64], error[256], *text = NULL;
	size_t bytes;
	struct term term = { 0 };

	REQUIRE(mkdtemp(folder));
	for (unsigned i = 0; i < 2; i++)
		(void)snprintf(paths[i], sizeof(paths[i]), "%s/%u", folder, i);
	write_file(paths[0], "{\"kind\":\"load\",\"name\":\"job\",\"steps\":4,\"step_p50_us\":20}\n"
			     "{\"kind\":\"recovery\",\"felt_us\":8}\n{\"kind\":\"recovery\",\"felt_"
			     "us\":2}\n" RESULT("1", "100", "0") RESULT("2", "1", "0"));
	write_file(paths[1], "{\"kind\":\"load\",\"name\":\"job\",\"steps\":4,\"step_p50_us\":30}\n"
			     "{\"kind\":\"recovery\",\"felt_us\":null}\n" RESULT("1", "null", "3"));
	term.out = open_memstream(&text, &bytes);
	REQUIRE(term.out);
	CHECK(play_compare(paths[0], paths[1], &term, error, sizeof(error)));
	(void)fclose(term.out);
	CHECK(strstr(text, "job.step_p50_us    20.00     30.00         1.500"));
	CHECK(strstr(text, "longest felt_us     8.00  not done             -"));
	CHECK(strstr(text, "fct_max_us        100.00  not done             -"));
	CHECK(strstr(text, "/0 has 1 run more"));
	free(text);
	write_file(paths[1],
		"{\"transport\":\"roce\",\"load\":\"ring\",\"seed\":5,\"fct_us\":{\"slowest\":250},"
		"\"packets\":{\"lost\":0}}\n");
	term.out = open_memstream(&text, &bytes);
	REQUIRE(term.out);
	CHECK(play_compare(paths[0], paths[1], &term, error, sizeof(error)));
	(void)fclose(term.out);
	CHECK(strstr(text, "ring roce 5"));
	CHECK(strstr(text, "2.500"));
	free(text);
	for (unsigned i = 0; i < 2; i++)
		(void)unlink(paths[i]);
	(void)rmdir(folder);
}
