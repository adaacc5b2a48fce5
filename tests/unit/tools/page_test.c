/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "page.h"

#include <sys/stat.h>
#include <unistd.h>

static const unsigned char template[] =
	"<script id=\"data\">{\"report\": \"goes here\"}</script><p>and on</p>";

static char folder[64], text[4096];

static const char *file(const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

TEST(page_write__puts_the_same_json_into_both)
{
	json_t *json = json_pack("{s:s, s:f}", "name", "</script><b>", "share", 0.123456789);
	char error[256] = "";

	(void)snprintf(folder, sizeof(folder), "/tmp/weft-page-%d", (int)getpid());
	REQUIRE(!mkdir(folder, 0700));
	CHECK_EQ(page_write(folder, template, json, error, sizeof(error)), 0);
	CHECK_STR(error, "");
	json_t *beside = json_load_file(file("report.json"), 0, NULL);
	FILE *in = fopen(file("report.html"), "r");

	REQUIRE(in);
	text[fread(text, 1, sizeof(text) - 1, in)] = 0;
	fclose(in);
	char *data = strchr(text, '{'),
	     *end = strstr(text, "</script>"); /* the first is the page's */

	REQUIRE(data && end && data < end);
	json_t *inside = json_loadb(data, (size_t)(end - data), 0, NULL);

	CHECK(json_equal(inside, beside));
	CHECK(json_equal(inside, json));
	CHECK_STR(end, "</script><p>and on</p>");
	json_decref(inside);
	json_decref(beside);
	unlink(file("report.json"));
	unlink(file("report.html"));
	rmdir(folder);
	CHECK_EQ(page_write(folder, template, json, error, sizeof(error)), -1);
	CHECK(strstr(error, "cannot be written"));
	json_decref(json);
}

TEST(page_machine__knows_where_it_is)
{
	json_t *machine = page_machine();

	CHECK(json_integer_value(json_object_get(machine, "cpus")) >= 1);
	CHECK(json_real_value(json_object_get(machine, "memory_gib")) > 0);
	CHECK(*json_string_value(json_object_get(machine, "kernel")));
	json_decref(machine);
}
