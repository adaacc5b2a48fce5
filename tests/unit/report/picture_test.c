/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "report_local.h"

static const char scenario[] =
	"name: small\nstop: 1ms\nfabric: {planes: 2, hosts: 8, radix: 4}\nengine: {paths: 4}\n"
	"load: [ring, {incast: {fan_in: 4}}]\nfaults: [link-down h1.p0 at 20us for 10us]\n";

static char *picture(const struct weft_scenario_result *r, const char *kind)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	REQUIRE(out);
	bool good = weft_report_picture(out, kind, r, false);

	(void)fclose(out);
	if (good)
		return text;
	free(text);
	return NULL;
}

TEST(weft_report_picture__draws_every_kind)
{
	struct weft_scenario_options options = { .seed = 1 };
	struct weft_scenario *play = NULL;
	char error[256];

	REQUIRE(!weft_scenario_open_text(
		&play, scenario, strlen(scenario), "s.yaml", "", error, sizeof(error)));
	struct weft_scenario_result *r = weft_scenario_run(play, &options, error, sizeof(error));

	REQUIRE(r);
	for (const struct weft_report_kind *k = weft_report_kinds; k->word; k++) {
		char *text = picture(r, k->word), *again = picture(r, k->word);

		REQUIRE(text && again);
		CHECK_STR(text, again);
		CHECK(strstr(text, "</svg>\n"));
		CHECK(!strstr(text, "nan") && !strstr(text, "inf"));
		free(text);
		free(again);
	}
	CHECK(!picture(r, "portrait"));
	char *text = picture(r, "goodput");

	CHECK(strstr(text, ">ring</text>") && strstr(text, ">incast</text>"));
	CHECK(strstr(text, "link-down h1.p0"));
	free(text);
	text = picture(r, "paths");
	CHECK(strstr(text, ">p1."));
	free(text);
	text = picture(r, "states");
	CHECK(strstr(text, "<title>p1: good</title>"));
	CHECK(strstr(text, "link-down h1.p0"));
	free(text);
	text = picture(r, "planes");
	CHECK(strstr(text, ">T0 \xe2\x86\x91 p0<") && strstr(text, ">T1 \xe2\x86\x93 p1<") &&
		strstr(text, ">T0 \xe2\x86\x93 p1<"));
	free(text);
	text = picture(r, "drops");
	CHECK(strstr(text, ">T0 p1<") && strstr(text, ">T1 p0<") && !strstr(text, ">T0 \xe2"));
	free(text);
	CHECK_STR(weft_report_kind_usual(r), "goodput");
	weft_scenario_result_free(r);
	weft_scenario_close(play);
}
