/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "play.h"

static const char scenario[] =
	"name: small\nstop: 1ms\nfabric: {planes: 2, hosts: 8, radix: 4}\nload: [ring]\n"
	"faults: [link-down h1.p0 at 20us for 10us, link-down h2.p0 at 90us]\n"
	"expect: [completed == 8]\n";

TEST(play_json_write__is_one_object_per_line)
{
	struct weft_scenario_options options = { .seed = 1 };
	struct weft_scenario *play = NULL;
	char error[256], *text = NULL;
	size_t bytes;
	unsigned samples = 0, lines = 0;

	REQUIRE(!weft_scenario_open_text(
		&play, scenario, strlen(scenario), "s.yaml", "", error, sizeof(error)));
	struct weft_scenario_result *r = weft_scenario_run(play, &options, error, sizeof(error));
	FILE *out = open_memstream(&text, &bytes);

	REQUIRE(r && out);
	CHECK(play_json_write(out, play, r, "sim"));
	(void)fclose(out);
	for (char *rest = text, *line; (line = strsep(&rest, "\n")) && *line; lines++) {
		json_t *object = json_loads(line, 0, NULL);
		const char *kind = json_string_value(json_object_get(object, "kind"));

		REQUIRE(object && kind);
		CHECK_EQ(!strcmp(kind, "run"), lines == 0);
		samples += !strcmp(kind, "sample");
		if (!strcmp(kind, "event"))
			CHECK_EQ(!json_object_get(object, "end_us"), lines == 3);
		if (!strcmp(kind, "result")) {
			CHECK_EQ(json_integer_value(json_object_get(object, "completed")), 8);
			CHECK_EQ(json_integer_value(json_object_get(object, "lost")),
				(json_int_t)r->totals.lost);
		}
		json_decref(object);
	}
	CHECK_EQ(samples, r->rows);
	CHECK_EQ(r->n_recoveries, 2); /* one per event, with its figures or why there are none */
	CHECK_EQ(lines, 1 + 1 + 2 + r->n_recoveries + r->rows + 1 + 1);
	free(text);
	weft_scenario_result_free(r);
	weft_scenario_close(play);
}
