/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "trace_local.h"

#include <errno.h>

static char text[256];
static size_t len, room;

static int write_text(void *user, const void *bytes, size_t len_bytes)
{
	(void)user;
	if (len + len_bytes > room)
		return -ENOSPC;
	memcpy(text + len, bytes, len_bytes);
	len += len_bytes;
	text[len] = '\0';
	return 0;
}

static struct weft_sink open_text(size_t bytes)
{
	len = 0;
	room = bytes;
	text[0] = '\0';
	return (struct weft_sink){ .write = write_text };
}

TEST(sink_bytes__keeps_the_first_error)
{
	struct weft_sink sink = open_text(3);

	sink_text(&sink, "abc");
	CHECK_EQ(sink.error, 0);
	sink_text(&sink, "d");
	CHECK_EQ(sink.error, -ENOSPC);
	room = 100;
	sink_text(&sink, "e"); /* there is room again, but a gap would be worse than an end */
	CHECK_STR(text, "abc");
	CHECK_EQ(sink.error, -ENOSPC);
}

TEST(sink_u64__prints_all_of_it)
{
	struct weft_sink sink = open_text(100);

	sink_u64(&sink, 0);
	sink_text(&sink, " ");
	sink_u64(&sink, 10);
	sink_text(&sink, " ");
	sink_u64(&sink, UINT64_MAX);
	CHECK_STR(text, "0 10 18446744073709551615");
}

TEST(sink_escaped__leaves_the_rest_alone)
{
	struct weft_sink sink = open_text(100);

	sink_escaped(&sink, "a\"b\\\nc", "\\\"\n");
	sink_escaped(&sink, "", "\\");
	sink_escaped(&sink, "\"", "\"");
	CHECK_STR(text, "a\\\"b\\\\\\nc\\\"");
}

TEST(weft_sink_file__writes_and_reports)
{
	char page[16] = "";
	FILE *file = fmemopen(page, sizeof(page), "w");
	struct weft_sink sink;

	weft_sink_file(&sink, file);
	sink_text(&sink, "hello");
	fclose(file);
	CHECK_STR(page, "hello");
	CHECK_EQ(sink.error, 0);
	file = fopen("/dev/full", "w");
	REQUIRE(file);
	setvbuf(file, NULL, _IONBF, 0);
	weft_sink_file(&sink, file);
	sink_text(&sink, "hello");
	CHECK_EQ(sink.error, -ENOSPC);
	fclose(file);
}
