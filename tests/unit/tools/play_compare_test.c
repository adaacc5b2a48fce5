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

/* Two files of a folder of their own, and what is said of them. */
struct pair {
	char folder[32], paths[2][64], error[256], *text;
	bool is_good;
};

static struct pair pair_open(void)
{
	struct pair p = { .folder = "/tmp/weft-compare-XXXXXX" };

	REQUIRE(mkdtemp(p.folder));
	for (unsigned i = 0; i < 2; i++)
		(void)snprintf(p.paths[i], sizeof(p.paths[i]), "%s/%u", p.folder, i);
	return p;
}

/* NULL: that file is not there. */
static void pair_compare(struct pair *p, const char *left, const char *right)
{
	const char *const texts[] = { left, right };
	struct term term = { 0 };
	size_t bytes;

	for (unsigned i = 0; i < 2; i++) {
		(void)unlink(p->paths[i]);
		if (texts[i])
			write_file(p->paths[i], texts[i]);
	}
	free(p->text);
	p->text = NULL;
	*p->error = 0;
	term.out = open_memstream(&p->text, &bytes);
	REQUIRE(term.out);
	p->is_good = play_compare(p->paths[0], p->paths[1], &term, p->error, sizeof(p->error));
	(void)fclose(term.out);
}

static void pair_close(struct pair *p)
{
	free(p->text);
	for (unsigned i = 0; i < 2; i++)
		(void)unlink(p->paths[i]);
	(void)rmdir(p->folder);
}

TEST(play_compare__pairs_runs_in_their_order)
{
	struct pair p = pair_open();

	pair_compare(&p, RESULT("1", "100", "0") RESULT("2", "10", "4"),
		RESULT("1", "150", "3") RESULT("2", "5", "4"));
	CHECK(p.is_good);
	CHECK(strstr(p.text, "x mrc 1"));
	CHECK(strstr(p.text, "1.500"));
	CHECK(strstr(p.text, "0.500"));
	CHECK(!strstr(p.text, "more"));
	pair_close(&p);
}

TEST(play_compare__says_what_is_wrong_with_a_file)
{
	struct pair p = pair_open();

	pair_compare(&p, RESULT("1", "100", "0"), "no json\n");
	CHECK(!p.is_good && strstr(p.error, "not JSON lines"));
	pair_compare(&p, RESULT("1", "100", "0"), "");
	CHECK(!p.is_good && strstr(p.error, "no run to compare"));
	pair_compare(&p, RESULT("1", "100", "0"), NULL);
	CHECK(!p.is_good && strstr(p.error, "No such file"));
	pair_close(&p);
}

/* Loads and steps beside each other, what is not done, runs without a partner, and weft sim's. */
TEST(play_compare__leaves_nothing_out)
{
	struct pair p = pair_open();

	pair_compare(&p,
		"{\"kind\":\"load\",\"name\":\"job\",\"steps\":4,\"step_p50_us\":20}\n"
		"{\"kind\":\"recovery\",\"felt_us\":8}\n"
		"{\"kind\":\"recovery\",\"felt_us\":2}\n" RESULT("1", "100", "0")
			RESULT("2", "1", "0"),
		"{\"kind\":\"load\",\"name\":\"job\",\"steps\":4,\"step_p50_us\":30}\n"
		"{\"kind\":\"recovery\",\"felt_us\":null}\n" RESULT("1", "null", "3"));
	CHECK(p.is_good);
	CHECK(strstr(p.text, "job.step_p50_us    20.00     30.00         1.500"));
	CHECK(strstr(p.text, "longest felt_us     8.00  not done             -"));
	CHECK(strstr(p.text, "fct_max_us        100.00  not done             -"));
	CHECK(strstr(p.text, "/0 has 1 run more"));
	pair_compare(&p, RESULT("1", "100", "0"),
		"{\"transport\":\"roce\",\"load\":\"ring\",\"seed\":5,\"fct_us\":{\"slowest\":250},"
		"\"packets\":{\"lost\":0}}\n");
	CHECK(p.is_good);
	CHECK(strstr(p.text, "ring roce 5"));
	CHECK(strstr(p.text, "2.500"));
	pair_close(&p);
}
