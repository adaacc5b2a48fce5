/* SPDX-License-Identifier: BSD-2-Clause */
#include "demos.h"

#define START UINT64_C(5000000000)
#define MS UINT64_C(1000000)

static struct demo_run run;
static uint64_t bins[1000];
static char page[1 << 20];

static void read_page(void)
{
	FILE *in = fopen(in_folder("report.html"), "r");

	REQUIRE(in);
	page[fread(page, 1, sizeof(page) - 1, in)] = 0;
	fclose(in);
}

TEST(report_write__page_and_json_tell_the_same)
{
	struct term term;
	struct demo demo;

	demo_up(&demo, &term);
	plan_all(&demo.plan, false);
	demo.plan.n = 2; /* the second is never made */
	demo.plan.hold_ns = demo.plan.gap_ns = 100 * MS;
	run.transport = DEMO_MPTCP;
	run.zero_ns = START;
	run.done = true;
	run.hits[0] = (struct demo_hit){ .text = "</script><b>" };
	for (unsigned t = 0; t < 3; t++)
		run.hits[0].strikes[t].record =
			(struct weft_lab_record){ .on_ns = START + (300 + 40 * t) * MS,
				.lift_ns = START + (320 + 40 * t) * MS,
				.off_ns = START + (320 + 40 * t) * MS };
	fill_series(&run.series, bins, 1000, START, 300, 350);
	run_measure(&demo, &run);
	json_t *json = report_json(&demo, &run, 1);
	REQUIRE(json);
	CHECK_EQ(report_write(&demo, json), 0);
	json_t *file = json_load_file(in_folder("report.json"), 0, NULL);
	const json_t *first = json_array_get(json_object_get(file, "runs"), 0);
	CHECK_STR(json_string_value(json_object_get(first, "transport")), "MPTCP");
	CHECK_NEAR(json_integer_value(json_object_get(first, "bytes")), 650000, 2000);
	CHECK(json_is_false(json_object_get(file, "as_planned")));
	CHECK(json_is_false(json_object_get(first, "as_planned")));
	const json_t *hit = json_array_get(json_object_get(first, "faults"), 0);
	const json_t *stall = json_object_get(hit, "stall");
	CHECK_NEAR(json_real_value(json_object_get(stall, "ms")), 51.0, 1.0);
	CHECK_STR(json_string_value(json_object_get(hit, "verdict")), "made");
	CHECK_NEAR(json_real_value(json_object_get(hit, "from_s")), 0.2995, 0.001);
	hit = json_array_get(json_object_get(first, "faults"), 1);
	CHECK_STR(json_string_value(json_object_get(hit, "verdict")), "not made");
	CHECK_STR(json_string_value(json_object_get(hit, "why")), "all was over by then");
	CHECK(!json_object_get(hit, "from_s") && !json_object_get(hit, "stall"));
	json_decref(file);
	json_decref(json);

	read_page();
	char *data = strstr(page, "application/json\">");
	REQUIRE(data);
	data += strlen("application/json\">");
	char *end = strstr(data, "</script>"); /* the data must not have one of its own */
	REQUIRE(end);
	json_t *inside = json_loadb(data, (size_t)(end - data), 0, NULL);
	CHECK(inside);
	CHECK_EQ(json_array_size(json_object_get(inside, "runs")), 1);
	CHECK(!strstr(page, "http://") && !strstr(page, "https://"));
	json_decref(inside);
	demo_lab_down(&demo);
	leave_folder();
}
