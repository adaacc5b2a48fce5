/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "training.h"

#include <sys/stat.h>
#include <unistd.h>

static struct training_run runs[2];
static struct training_plan plan;
static char page[1 << 20];

static void setup(void)
{
	training_plan_fill(&plan, 50);
	for (unsigned k = 0; k < 2; k++) {
		runs[k] = (struct training_run){ .is_faulty = k, .done = true, .began_ns = 1000 };
		runs[k].n = 50;
		runs[k].again = 7 * k;
		for (unsigned i = 0; i < 50; i++)
			runs[k].steps[i] = (struct training_step){ .at_ns = 1000 + i * 1000000,
				.ns = 900000 + (k && i == 20 ? 50000000 : 0),
				.loss = 4.0 / (i + 1) };
		snprintf(runs[k].sha256, sizeof(runs[k].sha256), "%064d", 5);
	}
	runs[1].n_hits = 1;
	runs[1].hits[0] = (struct training_hit){ .step = 20,
		.judged = { .verdict = DEMO_MADE, .from_ns = 20001000, .to_ns = 40001000 } };
	snprintf(runs[1].hits[3].judged.why, DEMO_WHY_BYTES, "all was over by then");
}

TEST(training_json__tells_each_step_and_each_fault)
{
	setup();
	json_t *json = training_json(&plan, runs, 2);

	REQUIRE(json);
	const json_t *run = json_array_get(json_object_get(json, "runs"), 1);
	const json_t *hit = json_array_get(json_object_get(run, "hits"), 0);

	CHECK_EQ(json_array_size(json_object_get(run, "step_ms")), 50);
	CHECK_EQ(json_integer_value(json_object_get(run, "longest_step")), 20);
	CHECK_EQ(json_integer_value(json_object_get(run, "sent_again")), 7);
	CHECK_NEAR(json_real_value(json_object_get(run, "longest_ms")), 50.9, 1e-6);
	CHECK_STR(json_string_value(json_object_get(hit, "name")), "plane flaps");
	CHECK_NEAR(json_real_value(json_object_get(hit, "from_s")), 0.02, 1e-9);
	CHECK_STR(json_string_value(json_object_get(hit, "verdict")), "made");
	CHECK_EQ(json_array_size(json_object_get(run, "hits")), plan.n);
	hit = json_array_get(json_object_get(run, "hits"), 3);
	CHECK_STR(json_string_value(json_object_get(hit, "verdict")), "not made");
	CHECK_STR(json_string_value(json_object_get(hit, "why")), "all was over by then");
	CHECK(!json_object_get(hit, "from_s"));
	run = json_array_get(json_object_get(json, "runs"), 0);
	CHECK_EQ(json_array_size(json_object_get(run, "hits")), 0);
	json_decref(json);
}

TEST(training_write__makes_a_page_that_holds_the_report)
{
	char folder[64], path[128];
	json_t *json = training_json(&plan, runs, 2);

	(void)snprintf(folder, sizeof(folder), "/tmp/weft-training-%d", (int)getpid());
	REQUIRE(!mkdir(folder, 0700));
	CHECK_EQ(training_write(folder, json), 0);
	(void)snprintf(path, sizeof(path), "%s/report.html", folder);
	FILE *in = fopen(path, "r");

	REQUIRE(in);
	page[fread(page, 1, sizeof(page) - 1, in)] = 0;
	fclose(in);
	CHECK(strstr(page, "\"longest_step\":20"));
	CHECK(strstr(page, "function steps()"));
	json_decref(json);
	unlink(path);
	(void)snprintf(path, sizeof(path), "%s/report.json", folder);
	unlink(path);
	rmdir(folder);
}

TEST(training_tables__prints_both)
{
	struct term term;
	char text[4096];
	FILE *out = tmpfile();

	setup();
	term_open(&term, out);
	fflush(stdout);
	training_tables(&term, &plan, runs, 2); /* headings and digests go to stdout */
	rewind(out);
	text[fread(text, 1, sizeof(text) - 1, out)] = 0;
	fclose(out);
	CHECK(strstr(text, "Weft, faults"));
	CHECK(strstr(text, "50.9 ms"));
}
