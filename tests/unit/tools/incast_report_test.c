/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "incast.h"

#include <sys/stat.h>
#include <unistd.h>

static struct incast_run runs[2];
static struct incast_plan plan;
static char page[1 << 20];

static void setup(void)
{
	incast_plan_fill(&plan, true, false);
	plan.bursts = 1;
	for (unsigned i = 0; i < 2; i++) {
		runs[i] = (struct incast_run){ .kind = (enum incast_kind)i, .is_done = true };
		for (uint64_t at = 0; at <= incast_total_ns(&plan); at += plan.step_ns) {
			struct incast_sample *s = incast_add(&runs[i], at);

			for (uint32_t f = 0; f < INCAST_FLOWS; f++)
				s->bytes[f] = at / 1000 * (f + 1);
			s->trimmed = i ? 0 : at / plan.step_ns * 2;
		}
		runs[i].counts = (struct incast_counts){ .nacks = 7, .again = 7, .data = 100 };
		runs[i].burst_ns[0][6] = 12500000;
	}
}

TEST(incast_json__tells_each_step_and_each_claim)
{
	setup();
	json_t *json = incast_json(&plan, runs, 2, "virtual");

	REQUIRE(json);
	const json_t *run = json_array_get(json_object_get(json, "runs"), 0);
	const json_t *series = json_object_get(run, "series");
	const json_t *flow = json_array_get(json_object_get(series, "flow_bytes"), 2);

	CHECK_STR(json_string_value(json_object_get(run, "full")), "trim");
	CHECK_EQ(json_array_size(flow), runs[0].n - 1);
	CHECK_EQ(json_integer_value(json_array_get(flow, 5)), plan.step_ns / 1000 * 3);
	CHECK_EQ(json_integer_value(json_array_get(json_object_get(series, "trimmed"), 9)), 2);
	CHECK_EQ(json_array_size(json_object_get(run, "claims")), INCAST_CLAIMS);
	CHECK_EQ(json_integer_value(json_object_get(json_object_get(run, "counts"), "sent_again")),
		7);
	const json_t *burst = json_array_get(json_object_get(run, "burst_ms"), 0);

	CHECK_NEAR(json_real_value(json_array_get(burst, 6)), 12.5, 1e-9);
	json_decref(json);
}

TEST(incast_write__makes_a_page_that_holds_the_report)
{
	char folder[64], path[128];
	json_t *json = incast_json(&plan, runs, 2, "virtual");

	(void)snprintf(folder, sizeof(folder), "/tmp/weft-incast-%d", (int)getpid());
	REQUIRE(!mkdir(folder, 0700));
	CHECK_EQ(incast_write(folder, json), 0);
	(void)snprintf(path, sizeof(path), "%s/report.html", folder);
	FILE *in = fopen(path, "r");

	REQUIRE(in);
	page[fread(page, 1, sizeof(page) - 1, in)] = 0;
	fclose(in);
	char *data = strstr(page, "application/json\">");

	REQUIRE(data);
	data += strlen("application/json\">");
	char *end = strstr(data, "</script>");

	REQUIRE(end);
	json_t *inside = json_loadb(data, (size_t)(end - data), 0, NULL);

	CHECK_EQ(json_array_size(json_object_get(inside, "runs")), 2);
	CHECK(strstr(end, "function flows()"));
	json_decref(inside);
	json_decref(json);
	unlink(path);
	(void)snprintf(path, sizeof(path), "%s/report.json", folder);
	unlink(path);
	rmdir(folder);
}

/* What stdout got of a call. */
static char *captured(void (*call)(const struct term *term))
{
	FILE *file = tmpfile();
	struct term term = { .out = stdout, .columns = 100 };
	int saved = dup(1);

	REQUIRE(file);
	fflush(stdout);
	dup2(fileno(file), 1);
	call(&term);
	fflush(stdout);
	dup2(saved, 1);
	close(saved);
	rewind(file);
	page[fread(page, 1, sizeof(page) - 1, file)] = 0;
	fclose(file);
	return page;
}

static void tables(const struct term *term)
{
	incast_tables(term, &plan, runs, 2);
}

static void picture(const struct term *term)
{
	incast_picture(term, &plan, runs, 2);
}

TEST(incast_tables__say_yes_or_no_for_each_claim_and_one_row_per_run)
{
	char *text = captured(tables);

	CHECK(strstr(text, "yes   no timeout fires (0)"));
	CHECK(strstr(text, "yes   every NACK is one packet sent again, and nothing else is (7"));
	CHECK(strstr(text, "NO    shares are within 10 % of each other"));
	CHECK(strstr(text, "\ntrim "));
	CHECK(strstr(text, "\ndrop "));
}

TEST(incast_picture__draws_three_lines_per_run)
{
	char *text = captured(picture);

	CHECK(strstr(text, "trim  into the one NIC"));
	CHECK(strstr(text, "trim  trimmed"));
	CHECK(strstr(text, "drop  dropped"));
	for (unsigned i = 0; i < 2; i++)
		incast_end(&runs[i]);
}
