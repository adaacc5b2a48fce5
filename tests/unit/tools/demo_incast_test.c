/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "demo.h"
#include "commands.h"

#include <unistd.h>

static char folder[64];

static const char *file(const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

/* The claims, from one command; its seed is fixed, so this is about the protocol and not luck. */
TEST(demo_incast__in_virtual_time_holds_what_it_claims)
{
	char words[5][16] = { "incast", "--virtual", "--only", "trim", "--out" };
	char *argv[] = { words[0], words[1], words[2], words[3], words[4], folder, NULL };

	(void)snprintf(folder, sizeof(folder), "/tmp/weft-demo-incast-%d", (int)getpid());
	CHECK_EQ(demo_incast(6, argv), EXIT_OK);
	json_t *json = json_load_file(file("report.json"), 0, NULL);
	const json_t *runs = json_object_get(json, "runs");

	REQUIRE(json_array_size(runs) == 1);
	const json_t *claims = json_object_get(json_array_get(runs, 0), "claims"), *claim;
	size_t i;

	CHECK_EQ(json_array_size(claims), 4);
	json_array_foreach(claims, i, claim)
	{
		CHECK(json_is_true(json_object_get(claim, "holds")));
	}
	CHECK_STR(json_string_value(json_object_get(json, "world")), "virtual");
	json_decref(json);
	CHECK(!access(file("report.html"), R_OK));
	unlink(file("report.html"));
	unlink(file("report.json"));
	rmdir(folder);
}
