/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "local.h"

static const char scenario[] =
	"title: a <ring>\nstop: 1ms\nfabric: {planes: 2, hosts: 8, radix: 4}\nload: [ring]\n"
	"faults: [link-down h1.p0 at 20us for 10us]\nexpect: [completed == 8, lost == 9999]\n";

TEST(weft_report_page__needs_nothing_from_elsewhere)
{
	struct weft_play_options options = { .seed = 1 };
	struct weft_play_result *runs[2];
	struct weft_play *play = NULL;
	char error[256], *text = NULL;
	size_t bytes;

	REQUIRE(!weft_play_open_text(
		&play, scenario, strlen(scenario), "s.yaml", "", error, sizeof(error)));
	for (options.seed = 1; options.seed <= 2; options.seed++) {
		runs[options.seed - 1] = weft_play_run(play, &options, error, sizeof(error));
		REQUIRE(runs[options.seed - 1]);
	}
	FILE *out = open_memstream(&text, &bytes);

	REQUIRE(out);
	CHECK(weft_report_page(out, play, runs, 2, "sim"));
	(void)fclose(out);
	CHECK(strstr(text, "<h1>a &lt;ring&gt;</h1>"));
	CHECK(strstr(text, "data-name=\"seed 2\""));
	CHECK(strstr(text, "class=\"failed\">failed"));
	CHECK(strstr(text, "class=\"passed\">passed"));
	CHECK(!strstr(text, "src=") && !strstr(text, "href=") && !strstr(text, "url("));
	CHECK(strstr(text, "</body></html>\n"));
	free(text);
	for (unsigned i = 0; i < 2; i++)
		weft_play_result_free(runs[i]);
	weft_play_close(play);
}
