/* SPDX-License-Identifier: BSD-2-Clause */
#include "few.h"

#include <unistd.h>

TEST(reader_next__splits_lines_and_knows_comments)
{
	static const char text[] = "# nothing\n\n a  b\tc // d\r\n//\nlast";
	struct reader r;
	char error[200] = "";
	uint64_t value;

	REQUIRE(reader_open(&r, "name", text, sizeof(text) - 1, error, sizeof(error)));
	CHECK(reader_next(&r));
	CHECK_EQ(r.n, 3);
	CHECK_EQ(r.line, 3);
	CHECK_STR(r.words[2], "c");
	CHECK(!reader_number(&r, "count", "7x", 9, &value));
	CHECK_STR(error, "name:3: count: \"7x\", wanted is a whole number");
	CHECK(!reader_number(&r, "count", "-1", 9, &value));
	CHECK(!reader_number(&r, "count", "10", 9, &value));
	CHECK_STR(error, "name:3: count: 10, allowed is 0 to 9");
	CHECK(reader_number(&r, "count", "9", 9, &value));
	CHECK_EQ(value, 9);
	CHECK(reader_next(&r));
	CHECK_STR(r.words[0], "last");
	CHECK_EQ(r.line, 5);
	CHECK(!reader_next(&r));
	reader_close(&r);
}

TEST(reader_next__knows_comments_as_c_has_them)
{
	static const char text[] = "a/* b */c # no /* here\n/* one\ntwo // */ d\n//* e\n/**/f";
	struct reader r;
	char error[200] = "";

	REQUIRE(reader_open(&r, "name", text, sizeof(text) - 1, error, sizeof(error)));
	CHECK(reader_next(&r));
	CHECK_EQ(r.n, 2);
	CHECK_STR(r.words[1], "c");
	CHECK(reader_next(&r));
	CHECK_EQ(r.line, 3);
	CHECK_STR(r.words[0], "d");
	CHECK(reader_next(&r));
	CHECK_EQ(r.line, 5);
	CHECK_STR(r.words[0], "f");
	reader_close(&r);
	CHECK(!reader_open(&r, "name", "a\nb /*/ c\n", 10, error, sizeof(error)));
	CHECK_STR(error, "name:2: a comment without an end");
}

TEST(reader_next__refuses_what_is_not_text)
{
	struct reader r;
	char error[200] = "", many[200];

	REQUIRE(reader_open(&r, "name", "a\0b", 3, error, sizeof(error)));
	CHECK(!reader_next(&r));
	CHECK_STR(error, "name:1: a byte of 0: this is not text");
	reader_close(&r);
	for (unsigned i = 0; i < sizeof(many); i++)
		many[i] = i % 2 ? ' ' : 'x';
	REQUIRE(reader_open(&r, "name", many, sizeof(many), error, sizeof(error)));
	CHECK(!reader_next(&r));
	CHECK_STR(error, "name:1: more than 64 words");
	reader_close(&r);
}

TEST(reader_load__takes_a_whole_file_or_says_why_not)
{
	char path[] = "/tmp/weft-reader-XXXXXX", error[200];
	int fd = mkstemp(path);
	size_t bytes = 0, want = 300000;
	char *text = malloc(want);

	REQUIRE(fd >= 0 && text);
	memset(text, 'x', want);
	REQUIRE(write(fd, text, want) == (ssize_t)want);
	free(text);
	text = reader_load(path, &bytes, error, sizeof(error));
	REQUIRE(text);
	CHECK_EQ(bytes, want);
	CHECK_EQ(text[want], 0);
	free(text);
	(void)close(fd);
	(void)unlink(path);
	CHECK(!reader_load(path, &bytes, error, sizeof(error)));
	CHECK(strstr(error, "No such file or directory"));
}
